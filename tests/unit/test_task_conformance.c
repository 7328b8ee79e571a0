/* test_task_conformance.c - what every row of the table of tasks promises. */
#include "task_support.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static char text_path[64];

/* The text task needs a file to read. */
static struct pes_config *configured(const char *kind, const char *settings)
{
    char all[128];
    snprintf(all, sizeof all, "task.path=%s %s", text_path, settings);
    return configure(kind, strcmp(kind, "text") ? settings : all);
}

struct opened {
    const struct pes_task *task;
    const struct pes_config *config;
    struct pes_task_shape shape;
    void *state;
    int32_t *ids, *labels, *answers;
    uint8_t *mask, *scored;
    struct pes_sample sample;
};

static struct opened open_task(const struct pes_task *task, const struct pes_config *config)
{
    struct opened o = {.task = task, .config = config};
    assert_int_equal(task->shape(config, &o.shape), PES_OK);
    if (task->open) assert_int_equal(task->open(config, &o.shape, arena, &o.state), PES_OK);
    size_t T = (size_t)o.shape.T;
    o.ids = pes_arena_take(arena, T, sizeof(int32_t));
    o.labels = pes_arena_take(arena, T, sizeof(int32_t));
    o.answers = pes_arena_take(arena, T, sizeof(int32_t));
    o.mask = pes_arena_take(arena, T, 1);
    o.scored = pes_arena_take(arena, T, 1);
    o.sample = (struct pes_sample){.ids = o.ids,
                                   .labels = o.labels,
                                   .mask = o.shape.padded ? o.mask : NULL,
                                   .scored = o.shape.has_scored ? o.scored : NULL};
    return o;
}

static void close_task(struct opened *o)
{
    if (o->task->close) o->task->close(o->state);
}

static void draw(struct opened *o, uint64_t number)
{
    struct pes_stream stream = pes_task_stream((uint64_t)pes_config_int(o->config, "task.data_seed"), number);
    o->task->sample(o->config, &o->shape, o->state, number, &stream, &o->sample);
}

static int rows(const struct opened *o)
{
    return o->shape.objective == PES_OBJECTIVE_LM ? o->shape.T : 1;
}

static bool is_scored(const struct opened *o, int row)
{
    return o->labels[row] >= 0 && (!o->shape.has_scored || o->scored[row]);
}

/* --- every row
 * ------------------------------------------------------------------------------------------------ */

static void every_task_says_what_it_is_and_is_found_by_name(void **unused)
{
    (void)unused;
    for (size_t i = 0; pes_tasks[i]; i++) {
        assert_string_equal(pes_tasks[i]->name, pes_task_names[i]);
        assert_ptr_equal(pes_task_find(pes_task_names[i]), pes_tasks[i]);
        assert_true(strlen(pes_tasks[i]->summary) > 10);
        assert_true(strlen(pes_tasks[i]->source) > 10);
    }
    assert_null(pes_task_find("no such task"));
}

static void every_shape_is_sane(void **unused)
{
    (void)unused;
    for (size_t i = 0; pes_tasks[i]; i++) {
        struct opened o = open_task(pes_tasks[i], configured(pes_tasks[i]->name, ""));
        assert_true(o.shape.T >= 1 && o.shape.V >= 2 && o.shape.classes >= 2 && o.shape.num_test >= 1);
        assert_true(isnan(o.shape.chance) || (o.shape.chance > 0 && o.shape.chance < 1));
        assert_true(o.shape.behaviour_from >= 0 && o.shape.behaviour_from < o.shape.T);
        if (o.shape.objective == PES_OBJECTIVE_LM) assert_int_equal(o.shape.classes, o.shape.V);
        if (o.shape.num_samples) assert_true(o.shape.num_test < o.shape.num_samples);
        close_task(&o);
    }
}

static void every_sample_stays_within_vocabulary_and_classes(void **unused)
{
    (void)unused;
    for (size_t i = 0; pes_tasks[i]; i++) {
        struct opened o = open_task(pes_tasks[i], configured(pes_tasks[i]->name, ""));
        bool shorter = false;
        for (uint64_t n = 0; n < 300; n++) {
            draw(&o, n % 2                 ? n
                     : o.shape.num_samples ? n
                                           : PES_TASK_FIRST_TEST + n % (uint64_t)o.shape.num_test);
            bool labelled = false;
            for (int t = 0; t < o.shape.T; t++)
                assert_in_range(o.ids[t], 0, o.shape.V - 1);
            for (int r = 0; r < rows(&o); r++) {
                assert_true(o.labels[r] >= -1 && o.labels[r] < o.shape.classes);
                labelled = labelled || o.labels[r] >= 0;
                if (o.shape.has_scored && o.scored[r]) assert_true(o.labels[r] >= 0);
            }
            assert_true(labelled);
            /* Padding stands at the end, has id 0, and no label is there. */
            for (int t = 0; o.shape.padded && t < o.shape.T; t++) {
                if (t) assert_true(o.mask[t] <= o.mask[t - 1]);
                if (o.mask[t]) continue;
                shorter = true;
                assert_int_equal(o.ids[t], 0);
                if (o.shape.objective == PES_OBJECTIVE_LM) assert_int_equal(o.labels[t], -1);
            }
        }
        assert_int_equal(shorter, o.shape.padded);
        close_task(&o);
    }
}

static void every_sample_is_a_function_of_seed_and_number(void **unused)
{
    (void)unused;
    enum { N = 40 };
    for (size_t i = 0; pes_tasks[i]; i++) {
        struct opened a = open_task(pes_tasks[i], configured(pes_tasks[i]->name, "task.data_seed=7"));
        struct opened b = open_task(pes_tasks[i], configured(pes_tasks[i]->name, "task.data_seed=7"));
        size_t T = (size_t)a.shape.T;
        int32_t *ids = malloc(N * T * sizeof *ids), *labels = malloc(N * T * sizeof *labels);
        assert_true(ids && labels);
        for (uint64_t n = 0; n < N; n++) {
            draw(&a, n);
            memcpy(ids + n * T, a.ids, T * sizeof *ids);
            memcpy(labels + n * T, a.labels, (size_t)rows(&a) * sizeof *labels);
        }
        int differing = 0;
        for (uint64_t n = N; n-- > 0;) {
            draw(&b, n);
            assert_memory_equal(ids + n * T, b.ids, T * sizeof *ids);
            assert_memory_equal(labels + n * T, b.labels, (size_t)rows(&b) * sizeof *labels);
            if (n) differing += memcmp(ids + n * T, ids + (n - 1) * T, T * sizeof *ids) != 0;
        }
        assert_true(differing > N / 2);
        close_task(&a);
        close_task(&b);
        free(ids);
        free(labels);
    }
}

static void another_data_seed_gives_other_samples(void **unused)
{
    (void)unused;
    for (size_t i = 0; pes_tasks[i]; i++) {
        struct opened a = open_task(pes_tasks[i], configured(pes_tasks[i]->name, ""));
        struct opened b = open_task(pes_tasks[i], configured(pes_tasks[i]->name, "task.data_seed=7"));
        int differing = 0;
        for (uint64_t n = 0; n < 20; n++) {
            draw(&a, n);
            draw(&b, n);
            differing += memcmp(a.ids, b.ids, (size_t)a.shape.T * sizeof *a.ids) != 0;
        }
        assert_true(differing > 15);
        close_task(&a);
        close_task(&b);
    }
}

/* Where the labels follow from the tokens, the perfect solver is right every time. */
static void every_oracle_answers_all_scored_labels(void **unused)
{
    (void)unused;
    for (size_t i = 0; pes_tasks[i]; i++) {
        if (!pes_tasks[i]->oracle) continue;
        bool noisy = !strcmp(pes_tasks[i]->name, "random_map");
        struct opened o =
            open_task(pes_tasks[i], configured(pes_tasks[i]->name, noisy ? "task.noise=0" : ""));
        for (uint64_t n = 0; n < 200; n++) {
            draw(&o, n);
            o.task->oracle(o.config, &o.shape, o.state, &o.sample, o.answers);
            for (int r = 0; r < rows(&o); r++)
                if (is_scored(&o, r)) assert_int_equal(o.answers[r], o.labels[r]);
        }
        close_task(&o);
    }
}

/* Labels are uniform over their support, so the best blind guess is right as often as two labels of different
 * samples agree: sum n_c (n_c - 1) / (N (N - 1)) for uncorrelated draws. */
static void every_chance_level_agrees_with_simulation(void **unused)
{
    (void)unused;
    for (size_t i = 0; pes_tasks[i]; i++) {
        struct opened o = open_task(pes_tasks[i], configured(pes_tasks[i]->name, ""));
        int64_t *counts = calloc((size_t)o.shape.classes, sizeof *counts);
        assert_non_null(counts);
        double N = 0, agreeing = 0;
        /* One scored label per sample, at a place that varies, since labels of one sample may depend on each
         * other. */
        for (uint64_t n = 0; n < 60000 && !isnan(o.shape.chance); n++) {
            draw(&o, n);
            int found = 0, wanted = (int)(n % 5);
            for (int r = 0; r < rows(&o); r++)
                if (is_scored(&o, r) && found++ == wanted % PES_MAX(rows(&o), 1)) counts[o.labels[r]]++, N++;
        }
        for (int c = 0; c < o.shape.classes; c++)
            agreeing += (double)counts[c] * ((double)counts[c] - 1);
        if (!isnan(o.shape.chance)) {
            double simulated = agreeing / (N * (N - 1));
            if (fabs(simulated / o.shape.chance - 1) > 0.03)
                fail_msg("%s: chance %g, simulated %g", pes_tasks[i]->name, o.shape.chance, simulated);
        }
        free(counts);
        close_task(&o);
    }
}

static void a_sample_uses_no_more_numbers_than_it_has(void **unused)
{
    (void)unused;
    struct opened o = open_task(&pes_task_random_map, configured("random_map", "task.length=32768"));
    struct pes_stream stream = pes_task_stream(0, 3);
    o.task->sample(o.config, &o.shape, o.state, 3, &stream, &o.sample);
    assert_true(stream.next < pes_task_stream(0, 4).next);
    close_task(&o);
}

static int set_up(void **unused)
{
    if (make_keys(unused)) return -1;
    snprintf(text_path, sizeof text_path, "/tmp/pes_test_text_XXXXXX");
    int descriptor = mkstemp(text_path);
    if (descriptor < 0) return -1;
    for (int line = 0; line < 2000; line++)
        if (dprintf(descriptor, "line %d of some text, %d squared is %d\n", line, line, line * line) < 0)
            return -1;
    return close(descriptor);
}

static int tear_down(void **unused)
{
    unlink(text_path);
    return drop_keys(unused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_says_what_it_is_and_is_found_by_name),
        cmocka_unit_test(every_shape_is_sane),
        cmocka_unit_test(every_sample_stays_within_vocabulary_and_classes),
        cmocka_unit_test(every_sample_is_a_function_of_seed_and_number),
        cmocka_unit_test(another_data_seed_gives_other_samples),
        cmocka_unit_test(every_oracle_answers_all_scored_labels),
        cmocka_unit_test(every_chance_level_agrees_with_simulation),
        cmocka_unit_test(a_sample_uses_no_more_numbers_than_it_has),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
