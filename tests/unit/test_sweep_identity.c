/* What a trial is known by, and what doesn't change it. */
#include "sweep_fixture.h"

#include <stdlib.h>

#include "pesweep/text.h"

/* The text is written by hand after the rule of config.h; its hash is python-xxhash's xxh3_128. */
static void the_key_is_the_hash_of_the_canonical_text(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(
        "train: {seed: 3, weight_decay: 1.0e-5, betas: [0.90, 0.98], lr: 5e-4, steps: 100, batch: 128}\n"
        "model: {d_model: 32, heads: 2, pe: rope, pe_heads: [0], penalty: {weight: 3.0, kind: symmetry}}\n"
        "task: {data_seed: 7, kind: count}\n"
        "measure: {checkpoints: 5}\n");
    assert_string_equal(pes_config_canonical(sweep->trials[0].config, sweep->arena),
                        "model.d_model=32\n"
                        "model.heads=2\n"
                        "model.pe=rope\n"
                        "model.pe_heads=[0]\n"
                        "model.penalty.kind=symmetry\n"
                        "model.penalty.weight=3\n"
                        "task.data_seed=7\n"
                        "task.kind=count\n"
                        "train.betas=[0.9, 0.98]\n"
                        "train.lr=0.0005\n"
                        "train.seed=3\n"
                        "train.steps=100\n"
                        "train.weight_decay=1e-05\n");
    assert_string_equal(sweep->trials[0].key, "7248f3266af28e20b810235093acc7ae");
    pes_sweep_destroy(sweep);
}

static void assert_same(const char *a, const char *b, bool same_key, bool same_hash)
{
    struct pes_sweep *one = parse(a), *two = parse(b);
    bool key = !strcmp(one->trials[0].key, two->trials[0].key), hash = !strcmp(one->hash, two->hash);
    if (key != same_key) fail_msg("keys are %s for\n%s\nand\n%s", key ? "equal" : "different", a, b);
    if (hash != same_hash) fail_msg("hashes are %s for\n%s\nand\n%s", hash ? "equal" : "different", a, b);
    pes_sweep_destroy(one);
    pes_sweep_destroy(two);
}

static void the_way_of_writing_does_not_matter(void **state)
{
    (void)state;
    assert_same(BASE, "train:\n  steps: +10\ntask:\n  kind: count\n", true, true);
    assert_same(BASE, "{\"train\": {\"steps\": 10}, \"task\": \"count\"}", true, true);
    assert_same(BASE, "name: other\n" BASE, true, true);
    assert_same(BASE, BASE "grid: {seed: [0]}\n", true, true);
    assert_same(BASE, BASE "model: {heads: 4, pe: nope, penalty: none}\n", true, true);
    assert_same(BASE "model: {penalty: {kind: phase}}\n", BASE "model:\n  penalty.kind: phase\n", true, true);
    assert_same(BASE "model: {pe: rope, pe_heads: []}\n", BASE "model: {pe: rope, pe_heads: none}\n", true,
                true);
}

static void settings_change_the_sweep_but_not_its_trials(void **state)
{
    (void)state;
    assert_same(BASE, BASE "measure: {checkpoints: 5}\n", true, false);
    assert_same(BASE, BASE "store: {weights: none}\n", true, false);
    assert_same(BASE, BASE "measure: {checkpoints: 24}\n", true, true);
}

static void every_value_of_the_configuration_changes_the_trial(void **state)
{
    (void)state;
    assert_same(BASE, "task: count\ntrain: {steps: 11}\n", false, false);
    assert_same(BASE, BASE "model: {d_model: 32}\n", false, false);
    assert_same(BASE, "task: {kind: count, data_seed: 1}\ntrain: {steps: 10}\n", false, false);
    assert_same(BASE "model: {pe: rope, pe_heads: [0]}\n", BASE "model: {pe: rope, pe_heads: [1]}\n", false,
                false);
}

/* --- encodings --- */

static const char good[] =
    "name: d\xc3\xa9j\xc3\xa0 vu\n" /* a key first: a mark before it is no indentation */
    "# pr\xc3\xa9sentation\n"
    "task: count # the task\n"
    "train:\n"
    "  steps: 10\n"
    "  lr: 1e-3\n"
    "grid:\n"
    "  pe: [rope, nope]\n";

/* `good` with other line ends and in UTF-16 (its characters all lie below U+0800). */
static size_t encode(const char *line_end, const char *mark, bool utf16, bool big, char *out)
{
    size_t used = strlen(mark);
    memcpy(out, mark, used);
    for (const unsigned char *c = (const unsigned char *)good; *c; c++) {
        unsigned units[2] = {*c, 0}, count = 1;
        if (*c == '\n') {
            count = 0;
            for (const char *e = line_end; *e; e++)
                units[count++] = (unsigned char)*e;
        } else if (utf16 && *c >= 0xC0) {
            units[0] = (*c & 0x1Fu) << 6 | (c[1] & 0x3Fu);
            c++;
        }
        for (unsigned u = 0; u < count; u++) {
            if (utf16) out[used++] = (char)(big ? units[u] >> 8 : units[u] & 0xFF);
            out[used++] = (char)(utf16 && !big ? units[u] >> 8 : units[u] & 0xFF);
        }
    }
    return used;
}

static void six_encodings_are_one_sweep(void **state)
{
    (void)state;
    struct pes_sweep *plain = parse(good);
    static char bytes[7][1024];
    size_t counts[7] = {
        encode("\n", "\xEF\xBB\xBF", false, false, bytes[0]),
        encode("\n", "---\n\xEF\xBB\xBF", false, false, bytes[1]),
        encode("\r\n", "", false, false, bytes[2]),
        encode("\r", "", false, false, bytes[3]),
        encode("\n", "\xFF\xFE", true, false, bytes[4]),
        encode("\r\n", "\xFE\xFF", true, true, bytes[5]),
    };
    /* a tab between a value and its comment */
    const char *comment = strstr(good, " # the task");
    counts[6] =
        (size_t)snprintf(bytes[6], sizeof bytes[6], "%.*s\t%s", (int)(comment - good), good, comment + 1);
    for (size_t i = 0; i < 7; i++) {
        struct pes_sweep *sweep = parse_bytes(bytes[i], counts[i]);
        assert_string_equal(sweep->name, "d\xc3\xa9j\xc3\xa0 vu");
        assert_string_equal(sweep->hash, plain->hash);
        assert_int_equal(sweep->num_trials, 2);
        for (size_t t = 0; t < 2; t++) {
            assert_string_equal(sweep->trials[t].key, plain->trials[t].key);
            assert_string_equal(sweep->trials[t].label, plain->trials[t].label);
        }
        /* the text is kept in UTF-8, as it was but for marks */
        assert_int_equal(sweep->text_bytes, strlen(sweep->text));
        const char *text = i == 4 ? good : i == 5 ? bytes[2] : bytes[i] + (i == 0 ? 3 : 0);
        if (i == 1) text = memcpy(bytes[1] + 3, "---\n", 4);
        assert_string_equal(sweep->text, text);
        pes_sweep_destroy(sweep);
    }
    pes_sweep_destroy(plain);
}

static void a_file_is_read_like_its_bytes(void **state)
{
    (void)state;
    char path[] = "/tmp/pesweep-test-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    assert_non_null(file);
    fputs(BASE, file);
    assert_int_equal(fclose(file), 0);
    struct pes_sweep *sweep, *same = parse(BASE);
    assert_int_equal(pes_sweep_load(path, &sweep), PES_OK);
    assert_string_equal(sweep->hash, same->hash);
    assert_string_equal(sweep->path, path);
    pes_sweep_destroy(sweep);
    pes_sweep_destroy(same);
    remove(path);
    assert_int_equal(pes_sweep_load(path, &sweep), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), path));
    assert_non_null(strstr(pes_error_message(), "No such file"));
    assert_int_equal(pes_sweep_load("/tmp", &sweep), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "folder"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_is_the_hash_of_the_canonical_text),
        cmocka_unit_test(the_way_of_writing_does_not_matter),
        cmocka_unit_test(settings_change_the_sweep_but_not_its_trials),
        cmocka_unit_test(every_value_of_the_configuration_changes_the_trial),
        cmocka_unit_test(six_encodings_are_one_sweep),
        cmocka_unit_test(a_file_is_read_like_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
