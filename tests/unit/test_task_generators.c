/* test_task_generators.c - what each task's samples are, checked against its description. */
#include "task_support.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 4096 };

static struct {
    const struct pes_task *task;
    const struct pes_config *config;
    struct pes_task_shape shape;
    void *state;
    int32_t ids[MOST], labels[MOST], answers[MOST];
    uint8_t mask[MOST], scored[MOST];
    struct pes_sample sample;
} now;

static enum pes_status use(const char *kind, const char *settings)
{
    const struct pes_config *config = configure(kind, settings);
    now.task = pes_task_find(kind);
    now.config = config;
    enum pes_status status = now.task->shape(config, &now.shape);
    if (status != PES_OK) return status;
    assert_true(now.shape.T <= MOST);
    now.state = NULL;
    if (now.task->open) status = now.task->open(config, &now.shape, arena, &now.state);
    now.sample = (struct pes_sample){now.ids, now.labels, now.shape.padded ? now.mask : NULL,
                                     now.shape.has_scored ? now.scored : NULL};
    return status;
}

static void draw(uint64_t number)
{
    struct pes_stream stream =
        pes_task_stream((uint64_t)pes_config_int(now.config, "task.data_seed"), number);
    now.task->sample(now.config, &now.shape, now.state, number, &stream, &now.sample);
}

static int real_words(void)
{
    int n = 0;
    while (n < now.shape.T && (!now.shape.padded || now.mask[n]))
        n++;
    return n;
}

static int occurrences(int first, int end, int32_t word)
{
    int n = 0;
    for (int t = first; t < end; t++)
        n += now.ids[t] == word;
    return n;
}

/* The two words that stand once in every one of many clean samples. */
static void find_triggers(int32_t triggers[2])
{
    bool always[MOST];
    for (int v = 0; v < now.shape.V; v++)
        always[v] = v > 0;
    for (uint64_t n = 0; n < 300; n++) {
        draw(n);
        for (int v = 1; v < now.shape.V; v++)
            always[v] = always[v] && occurrences(0, real_words(), v) == 1;
    }
    int count = 0, place[2] = {0};
    for (int v = 1; v < now.shape.V; v++)
        if (always[v]) {
            assert_true(count < 2);
            triggers[count++] = v;
        }
    assert_int_equal(count, 2);
    for (int i = 0; i < 2; i++)
        while (now.ids[place[i]] != triggers[i])
            place[i]++;
    if (place[0] > place[1]) {
        int32_t swapped = triggers[0];
        triggers[0] = triggers[1], triggers[1] = swapped;
    }
}

static int place_of(int32_t word)
{
    int t = 0;
    while (now.ids[t] != word)
        t++;
    return t;
}

/* --- relative_distance
 * ------------------------------------------------------------------------------------------ */

static void the_distance_is_the_number_of_words_between_two_triggers(void **unused)
{
    (void)unused;
    assert_int_equal(use("relative_distance", "task.vocab=12 task.between=6 task.between_min=2 task.side=3"),
                     PES_OK);
    assert_int_equal(now.shape.T, 6 + 2 * 3 + 2);
    assert_int_equal(now.shape.classes, 5);
    int32_t triggers[2];
    find_triggers(triggers);
    int seen_class[5] = {0}, seen_left[4] = {0}, seen_right[4] = {0};
    for (uint64_t n = 0; n < 500; n++) {
        draw(n);
        int a = place_of(triggers[0]), b = place_of(triggers[1]);
        assert_int_equal(now.labels[0], b - a - 1 - 2);
        seen_class[now.labels[0]]++;
        assert_in_range(a, 1, 3);
        assert_in_range(real_words() - b - 1, 1, 3);
        seen_left[a]++, seen_right[real_words() - b - 1]++;
    }
    for (int c = 0; c < 5; c++)
        assert_in_range(seen_class[c], 60, 140);
    for (int s = 1; s < 4; s++) {
        assert_in_range(seen_left[s], 120, 220);
        assert_in_range(seen_right[s], 120, 220);
    }
}

static void full_length_samples_have_no_padding_and_a_first_trigger_anywhere(void **unused)
{
    (void)unused;
    assert_int_equal(use("relative_distance",
                         "task.vocab=12 task.between=6 task.side=3 task.full_length=true "
                         "task.length=20"),
                     PES_OK);
    assert_false(now.shape.padded);
    assert_int_equal(now.shape.T, 20);
    int32_t triggers[2];
    find_triggers(triggers);
    int seen[20] = {0};
    for (uint64_t n = 0; n < 2000; n++) {
        draw(n);
        assert_int_equal(now.labels[0], place_of(triggers[1]) - place_of(triggers[0]) - 2);
        assert_in_range(place_of(triggers[1]), 3, 18);
        seen[place_of(triggers[0])]++;
    }
    for (int t = 1; t <= 16; t++)
        assert_true(seen[t] > 0);
}

static void published_fillers_differ_within_a_segment_and_can_be_triggers(void **unused)
{
    (void)unused;
    const char *sizes = "task.vocab=24 task.between=8 task.side=4 task.length=32";
    assert_int_equal(use("relative_distance", sizes), PES_OK);
    int32_t triggers[2];
    find_triggers(triggers); /* the same for the same data_seed */
    assert_int_equal(use("relative_distance",
                         "task.vocab=24 task.between=8 task.side=4 task.length=32 task.published=true"),
                     PES_OK);
    assert_int_equal(now.shape.T, 32);
    assert_int_equal(now.shape.classes, 24);
    int ambiguous = 0;
    for (uint64_t n = 0; n < 1000; n++) {
        draw(n);
        int end = real_words();
        /* The label is words between + 1; the pair that makes it so has three segments of different words. */
        bool found = false;
        for (int a = 1; a <= 4 && !found; a++) {
            int b = a + now.labels[0];
            if (now.ids[a] != triggers[0] || now.ids[b] != triggers[1]) continue;
            found = true;
            for (int t = 0; t < end; t++) {
                int first = t < a ? 0 : t < b ? a + 1 : b + 1, last = t < a ? a : t < b ? b : end;
                if (t != a && t != b) assert_int_equal(occurrences(first, last, now.ids[t]), 1);
            }
        }
        assert_true(found);
        assert_in_range(now.labels[0], 2, 9);
        ambiguous += occurrences(0, end, triggers[0]) + occurrences(0, end, triggers[1]) > 2;
    }
    /* Per filler 2 of 23 words are triggers; 9.5 fillers on average. */
    assert_in_range(ambiguous, 450, 700);
}

static void sizes_of_relative_distance_that_make_no_sense_are_refused(void **unused)
{
    (void)unused;
    assert_int_equal(use("relative_distance", "task.between=3 task.between_min=4"), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "4"));
    assert_int_equal(use("relative_distance", "task.side=3 task.side_min=4"), PES_INPUT);
    assert_int_equal(use("relative_distance", "task.length=37"), PES_INPUT); /* 38 are needed */
    assert_int_equal(use("relative_distance", "task.length=38"), PES_OK);
    assert_int_equal(use("relative_distance", "task.vocab=21 task.published=true"), PES_INPUT);
    assert_int_equal(use("relative_distance", "task.vocab=22 task.published=true"), PES_OK);
    assert_int_equal(use("relative_distance", "task.samples=10 task.test_fraction=0.01"), PES_INPUT);
    assert_int_equal(use("relative_distance", "task.samples=10 task.test_fraction=1"), PES_INPUT);
}

/* --- count
 * -------------------------------------------------------------------------------------------------------- */

static void the_count_is_the_number_of_trigger_words_in_any_order(void **unused)
{
    (void)unused;
    assert_int_equal(use("count", "task.vocab=20 task.triggers=4 task.words=10 task.count=6 task.count_min=1 "
                                  "task.length=12"),
                     PES_OK);
    assert_int_equal(now.shape.T, 12);
    assert_int_equal(now.shape.classes, 6);
    /* Words whose numbers add up to the label in every sample are the triggers: find them by regression on
     * counts, here simply by trying which words stand where the label says there are as many as possible. */
    double with[20] = {0}, without[20] = {0};
    int first_is[2] = {0};
    for (uint64_t n = 0; n < 3000; n++) {
        draw(n);
        assert_int_equal(real_words(), 10);
        for (int v = 1; v < 20; v++)
            (now.labels[0] >= 3 ? with : without)[v] += occurrences(0, 10, v);
    }
    bool trigger[20] = {false};
    int triggers = 0;
    for (int v = 1; v < 20; v++)
        if (with[v] > without[v]) trigger[v] = true, triggers++;
    assert_int_equal(triggers, 4);
    for (uint64_t n = 0; n < 1000; n++) {
        draw(n);
        int count = 0;
        for (int t = 0; t < 10; t++)
            count += trigger[now.ids[t]];
        assert_int_equal(now.labels[0], count - 1);
        first_is[trigger[now.ids[0]]]++;
    }
    /* Shuffled: 3.5 of 10 words are triggers on average, at the first place too. */
    assert_in_range(first_is[true], 290, 410);
}

static void the_published_count_ignores_samples_without_a_trigger(void **unused)
{
    (void)unused;
    const char *sizes = "task.vocab=20 task.triggers=4 task.words=10 task.count=3 task.published=true";
    assert_int_equal(use("count", sizes), PES_OK);
    assert_int_equal(now.shape.classes, 20);
    assert_true(fabs(now.shape.chance - 1.0 / 3) < 1e-12);
    int ignored = 0;
    for (uint64_t n = 0; n < 1000; n++) {
        draw(n);
        now.task->oracle(now.config, &now.shape, now.state, &now.sample, now.answers);
        if (now.labels[0] < 0)
            assert_int_equal(now.answers[0], 0), ignored++;
        else
            assert_int_equal(now.answers[0], now.labels[0]);
        assert_int_not_equal(now.labels[0], 0);
    }
    assert_in_range(ignored, 200, 300);
}

static void sizes_of_count_that_make_no_sense_are_refused(void **unused)
{
    (void)unused;
    assert_int_equal(use("count", "task.vocab=10 task.triggers=9"), PES_INPUT);
    assert_int_equal(use("count", "task.vocab=10 task.triggers=8"), PES_OK);
    assert_int_equal(use("count", "task.words=10 task.count=11"), PES_INPUT);
    assert_int_equal(use("count", "task.count=5 task.count_min=6"), PES_INPUT);
    assert_int_equal(use("count", "task.vocab=20 task.count=20 task.published=true"), PES_INPUT);
}

/* --- random_map
 * --------------------------------------------------------------------------------------------------- */

static void a_random_map_without_noise_scores_every_repeated_token(void **unused)
{
    (void)unused;
    assert_int_equal(use("random_map", "task.vocab=16 task.length=64 task.noise=0"), PES_OK);
    assert_int_equal(now.shape.behaviour_from, 16);
    for (uint64_t n = 0; n < 50; n++) {
        draw(n);
        int32_t map[16];
        memset(map, -1, sizeof map);
        for (int t = 0; t < 63; t++) {
            bool seen = map[now.ids[t]] >= 0;
            if (seen) assert_int_equal(now.ids[t + 1], map[now.ids[t]]);
            map[now.ids[t]] = now.ids[t + 1];
            assert_int_equal(now.labels[t], now.ids[t + 1]);
            assert_int_equal(now.scored[t], seen);
        }
        assert_int_equal(now.labels[63], -1);
        assert_int_equal(now.scored[63], 0);
    }
}

static void random_map_steps_follow_the_map_nine_times_of_ten(void **unused)
{
    (void)unused;
    assert_int_equal(use("random_map", ""), PES_OK);
    assert_int_equal(now.shape.T, 256);
    assert_int_equal(now.shape.V, 64);
    assert_int_equal(now.shape.num_test, 64);
    double seen = 0, scored = 0, image_uniform[64] = {0}, steps = 0;
    for (uint64_t n = 0; n < 400; n++) {
        draw(n);
        bool before[64] = {false};
        for (int t = 0; t < 255; t++) {
            seen += before[now.ids[t]], scored += now.scored[t];
            if (now.scored[t]) assert_true(before[now.ids[t]]);
            before[now.ids[t]] = true;
        }
        image_uniform[now.ids[1]]++, steps++;
    }
    assert_true(fabs(scored / seen - 0.9) < 0.005);
    for (int v = 0; v < 64; v++)
        assert_true(image_uniform[v] < 25); /* 400/64 = 6.25 expected */
    /* With nothing but noise no step is predictable. */
    assert_int_equal(use("random_map", "task.noise=1"), PES_OK);
    draw(0);
    for (int t = 0; t < 256; t++)
        assert_int_equal(now.scored[t], 0);
}

/* --- induction, recall, copy, reverse
 * --------------------------------------------------------------------------------- */

static void an_induction_sample_repeats_and_labels_start_with_the_second_copy(void **unused)
{
    (void)unused;
    assert_int_equal(use("induction", "task.vocab=20 task.length=32 task.period=12 task.period_min=5"),
                     PES_OK);
    bool periods[13] = {false};
    for (uint64_t n = 0; n < 400; n++) {
        draw(n);
        int period = 1;
        while (now.ids[1 + period] != now.ids[1])
            period++;
        assert_in_range(period, 5, 12);
        periods[period] = true;
        assert_int_equal(now.ids[0], 0);
        assert_int_equal(occurrences(0, 32, 0), 1);
        for (int t = 1; t <= period; t++)
            assert_int_equal(occurrences(1, period + 1, now.ids[t]), 1);
        for (int t = 0; t < 32; t++)
            assert_int_equal(now.labels[t], t > period && t < 31 ? now.ids[t + 1 - period] : -1);
    }
    for (int p = 5; p <= 12; p++)
        assert_true(periods[p]);
    assert_int_equal(use("induction", "task.vocab=12 task.period=12 task.period_min=5"), PES_INPUT);
    assert_int_equal(use("induction", "task.length=14 task.period=12 task.period_min=5"), PES_INPUT);
}

static void recall_asks_for_every_key_once_after_the_pairs(void **unused)
{
    (void)unused;
    assert_int_equal(
        use("associative_recall", "task.vocab=40 task.length=32 task.pairs=4 task.random_fill=false"),
        PES_OK);
    double soon = 0, late = 0;
    for (uint64_t n = 0; n < 1000; n++) {
        draw(n);
        int asked = 0;
        for (int t = 0; t < 8; t += 2) {
            assert_in_range(now.ids[t], 1, 19);
            assert_in_range(now.ids[t + 1], 20, 39);
            assert_int_equal(occurrences(0, 8, now.ids[t]), 1);
            assert_int_equal(occurrences(0, 8, now.ids[t + 1]), 1);
            assert_int_equal(occurrences(8, 32, now.ids[t]), 1);
        }
        for (int t = 0; t < 32; t++) {
            if (now.labels[t] < 0) {
                if (t >= 8) assert_int_equal(now.ids[t], 0);
                continue;
            }
            assert_true(t >= 8 && t % 2 == 0);
            assert_int_equal(now.labels[t], now.ids[place_of(now.ids[t]) + 1]);
            asked++, soon += t == 8, late += t == 30;
        }
        assert_int_equal(asked, 4);
    }
    /* Places 1 .. 12 have weight ~1/place: the first is nearly always among four drawn, the last seldom. */
    assert_true(soon > 700 && late < 300);
    assert_int_equal(use("associative_recall", "task.length=31"), PES_INPUT);
    assert_int_equal(use("associative_recall", "task.length=30"), PES_INPUT);
    assert_int_equal(use("associative_recall", "task.vocab=17"), PES_INPUT);
}

/* P(the first place is drawn among `pairs` of `space`) for weights 1/place, by exact enumeration of pairs
 * = 2. */
static void recall_places_have_the_stated_weights(void **unused)
{
    (void)unused;
    /* Two questions, four places, power 0: weights 1, 1/2, 1/3, 1/4, sum 25/12. */
    assert_int_equal(use("associative_recall", "task.vocab=20 task.length=12 task.pairs=2 task.power=0"),
                     PES_OK);
    double weight[4] = {1, 1. / 2, 1. / 3, 1. / 4}, sum = 25. / 12, expected[4] = {0}, counted[4] = {0};
    for (int first = 0; first < 4; first++)
        for (int second = 0; second < 4; second++) {
            if (first == second) continue;
            double p = weight[first] / sum * weight[second] / (sum - weight[first]);
            expected[first] += p, expected[second] += p;
        }
    for (uint64_t n = 0; n < 20000; n++) {
        draw(n);
        for (int place = 0; place < 4; place++)
            counted[place] += now.labels[4 + 2 * place] >= 0;
    }
    for (int place = 0; place < 4; place++)
        assert_true(fabs(counted[place] / 20000 - expected[place]) < 0.015);
}

static void copy_and_reverse_repeat_the_words_after_the_mark(void **unused)
{
    (void)unused;
    for (int backwards = 0; backwards < 2; backwards++) {
        assert_int_equal(use(backwards ? "reverse" : "copy", "task.vocab=9 task.words=5 task.words_min=2"),
                         PES_OK);
        assert_int_equal(now.shape.T, 10);
        for (uint64_t n = 0; n < 100; n++) {
            draw(n);
            int words = place_of(1);
            assert_in_range(words, 2, 5);
            assert_int_equal(real_words(), 2 * words);
            for (int i = 0; i < words; i++) {
                assert_in_range(now.ids[i], 2, 8);
                assert_int_equal(now.labels[i], -1);
                assert_int_equal(now.labels[words + i], now.ids[backwards ? words - 1 - i : i]);
                if (i + 1 < words) assert_int_equal(now.ids[words + 1 + i], now.labels[words + i]);
            }
        }
        assert_int_equal(use(backwards ? "reverse" : "copy", "task.words=5 task.words_min=6"), PES_INPUT);
    }
}

/* --- text
 * ---------------------------------------------------------------------------------------------------------------
 */

static void write_file(const char *path, int first, int count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = first; i < first + count; i++)
        assert_int_not_equal(fputc(i * 7 % 251, file), EOF);
    assert_int_equal(fclose(file), 0);
}

/* Byte i of the whole text is 7 i mod 251, so a window tells where it starts (mod 251). */
static void text_reads_a_folder_as_one_text_and_splits_it_by_place(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/pes_test_folder_XXXXXX", path[64], settings[160];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/sub", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    const char *names[] = {"a.txt", "b", "sub/c.txt", "z"};
    const int first[] = {0, 90, 90, 230}, count[] = {90, 0, 140, 20}; /* 250 bytes, one file empty */
    for (int f = 0; f < 4; f++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[f]);
        write_file(path, first[f], count[f]);
    }
    snprintf(path, sizeof path, "%s/.hidden", folder);
    write_file(path, 5, 100);

    snprintf(settings, sizeof settings,
             "task.path=%s task.length=16 task.test_fraction=0.2 task.test_samples=5", folder);
    assert_int_equal(use("text", settings), PES_OK);
    bool started[250] = {false};
    for (uint64_t n = 0; n < 4000 + 5; n++) {
        bool test = n >= 4000;
        draw(test ? PES_TASK_FIRST_TEST + n - 4000 : n);
        int start = 0;
        while (start * 7 % 251 != now.ids[0])
            start++;
        for (int t = 0; t < 16; t++) {
            assert_int_equal(now.ids[t], (start + t) * 7 % 251);
            assert_int_equal(now.labels[t], (start + t + 1) * 7 % 251);
        }
        if (!test) assert_true(start + 17 <= 200);
        if (test) assert_true(start >= 200 && start + 17 <= 250);
        started[start] = true;
    }
    assert_true(started[0] && started[183]); /* the first and the last training window */
    assert_true(started[200]);               /* the first test window */
    now.task->close(now.state);

    snprintf(settings, sizeof settings, "task.path=%s task.length=60 task.test_fraction=0.2", folder);
    assert_int_equal(use("text", settings), PES_INPUT);
    snprintf(settings, sizeof settings, "task.path=%s/nothing", folder);
    assert_int_equal(use("text", settings), PES_IO);
    assert_non_null(strstr(pes_error_message(), "nothing"));
    for (int f = 0; f < 4; f++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[f]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/.hidden", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/sub", folder);
    rmdir(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_distance_is_the_number_of_words_between_two_triggers),
        cmocka_unit_test(full_length_samples_have_no_padding_and_a_first_trigger_anywhere),
        cmocka_unit_test(published_fillers_differ_within_a_segment_and_can_be_triggers),
        cmocka_unit_test(sizes_of_relative_distance_that_make_no_sense_are_refused),
        cmocka_unit_test(the_count_is_the_number_of_trigger_words_in_any_order),
        cmocka_unit_test(the_published_count_ignores_samples_without_a_trigger),
        cmocka_unit_test(sizes_of_count_that_make_no_sense_are_refused),
        cmocka_unit_test(a_random_map_without_noise_scores_every_repeated_token),
        cmocka_unit_test(random_map_steps_follow_the_map_nine_times_of_ten),
        cmocka_unit_test(an_induction_sample_repeats_and_labels_start_with_the_second_copy),
        cmocka_unit_test(recall_asks_for_every_key_once_after_the_pairs),
        cmocka_unit_test(recall_places_have_the_stated_weights),
        cmocka_unit_test(copy_and_reverse_repeat_the_words_after_the_mark),
        cmocka_unit_test(text_reads_a_folder_as_one_text_and_splits_it_by_place),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
