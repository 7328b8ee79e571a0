/* Values, key tables and configurations, on a small table of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "pesweep/config.h"

static const char *const schemes[] = {"nope", "rope", "alibi", NULL};
static const char *const tasks[] = {"count", "copy", NULL};
static const char *const rules[] = {"none", "yarn", NULL};

static const struct pes_key core[] = {
    {"model.pe", PES_VALUE_CHOICE, .choices = schemes, .fallback = "nope", .unit = "", .help = "scheme"},
    {"task.kind", PES_VALUE_CHOICE, .choices = tasks, .unit = "", .help = "task"},
    {"model.heads", PES_VALUE_INT, .min = 1, .max = 64, .fallback = "4", .unit = "", .help = "heads"},
    {"train.lr", PES_VALUE_REAL, .max = 10, .min_open = true, .fallback = "1e-3", .unit = "", .help = "rate"},
    {"train.betas", PES_VALUE_REALS, .max = 1, .length = 2, .fallback = "[0.9, 0.999]", .unit = "",
     .help = "b"},
    {"model.pe_heads", PES_VALUE_SET, .fallback = "all", .unit = "", .help = "set"},
    {"model.causal", PES_VALUE_BOOL, .fallback = "false", .unit = "", .help = "bool"},
    {"model.sizes", PES_VALUE_INTS, .min = -9, .max = 99, .fallback = "[]", .unit = "", .help = "list"},
    {"model.note", PES_VALUE_TEXT, .fallback = "\"\"", .unit = "", .help = "text"},
    {"measure.every", PES_VALUE_INT, .max = 9, .fallback = "0", .unit = "", .help = "setting"},
    {0},
};
static const struct pes_key rope[] = {
    {"model.rule", PES_VALUE_CHOICE, .choices = rules, .fallback = "none", .unit = "", .help = "rule"},
    {0},
};
static const struct pes_key yarn[] = {
    {"model.factor", PES_VALUE_REAL, .min = 1, .max = 64, .fallback = "2", .unit = "", .help = "factor"},
    {0},
};
static const struct pes_key count[] = {
    {"task.length", PES_VALUE_INT, .min = 1, .max = 100, .fallback = "20", .unit = "", .help = "length"},
    {0},
};
static const struct pes_key copy[] = {
    {"task.length", PES_VALUE_INT, .min = 10, .max = 1000, .fallback = "64", .unit = "", .help = "length"},
    {0},
};

static struct pes_arena *arena;
static const struct pes_key_table *table;

static int setup(void **state)
{
    (void)state;
    const struct pes_key_source sources[] = {
        {core, NULL, NULL},           {rope, "model.pe", "rope"},
        {yarn, "model.rule", "yarn"}, {count, "task.kind", "count"},
        {copy, "task.kind", "copy"},  {NULL, "model.pe", "alibi"},
    };
    arena = pes_arena_create();
    table = pes_key_table_create(sources, PES_COUNT(sources), arena);
    return table ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pes_arena_destroy(arena);
    return 0;
}

static struct pes_config *make(void)
{
    struct pes_config *config = pes_config_create(table, arena);
    assert_non_null(config);
    return config;
}

static void set(struct pes_config *config, const char *path, const char *text)
{
    if (pes_config_set(config, arena, path, text) != PES_OK) fail_msg("%s", pes_error_message());
}

static void resolve(struct pes_config *config)
{
    if (pes_config_resolve(config, arena) != PES_OK) fail_msg("%s", pes_error_message());
}

static void refused(const char *path, const char *text, const char *message)
{
    struct pes_config *config = make();
    assert_int_equal(pes_config_set(config, arena, path, text), PES_INPUT);
    if (!strstr(pes_error_message(), message))
        fail_msg("%s = %s: '%s' isn't in '%s'", path, text, message, pes_error_message());
}

static void every_default_is_filled_in(void **state)
{
    (void)state;
    struct pes_config *config = make();
    set(config, "task.kind", "copy");
    resolve(config);
    assert_string_equal(pes_config_text(config, "model.pe"), "nope");
    assert_int_equal(pes_config_int(config, "model.heads"), 4);
    assert_true(pes_config_real(config, "train.lr") == 0.001);
    assert_true(pes_config_set_of(config, "model.pe_heads") == UINT64_MAX);
    assert_false(pes_config_bool(config, "model.causal"));
    assert_int_equal(pes_config_value(config, "train.betas")->count, 2);
    assert_true(pes_config_value(config, "train.betas")->reals[1] == 0.999);
    assert_string_equal(pes_config_text(config, "model.note"), "");
    assert_int_equal(pes_config_value(config, "model.sizes")->count, 0);
}

static void values_are_read_back_as_given(void **state)
{
    (void)state;
    struct pes_config *config = make();
    set(config, "task.kind", "count");
    set(config, "model.pe_heads", "[0, 3..5]");
    set(config, "model.sizes", "[1..3, -2, +7]");
    set(config, "model.note", "\"a, \\\"b\\\"\\n\"");
    set(config, "model.causal", "True");
    set(config, "heads", "8");
    set(config, "betas", "[.9, 0.98]");
    resolve(config);
    assert_true(pes_config_set_of(config, "model.pe_heads") == 0x39);
    const struct pes_value *sizes = pes_config_value(config, "model.sizes");
    static const int64_t wanted[] = {1, 2, 3, -2, 7};
    assert_int_equal(sizes->count, 5);
    assert_memory_equal(sizes->integers, wanted, sizeof wanted);
    assert_string_equal(pes_config_text(config, "model.note"), "a, \"b\"\n");
    assert_true(pes_config_bool(config, "model.causal"));
    assert_int_equal(pes_config_int(config, "model.heads"), 8);
}

static void wrong_values_are_refused_with_the_plain_form(void **state)
{
    (void)state;
    refused("train.lr", "0x10", "write 16");
    refused("train.lr", "nan", "not a finite number");
    refused("train.lr", "-1e-3", "out of range; allowed: a number > 0 and <= 10");
    refused("train.lr", "0", "out of range");
    refused("train.lr", "\"1e-3\"", "because of its quotes");
    refused("train.lr", "1e-3x", "not a finite number");
    refused("train.lr", "", "there is no value");
    refused("train.lr", "~", "there is no value");
    refused("model.heads", "010", "write 10");
    refused("model.heads", "0o10", "write 8");
    refused("model.heads", "1_000", "write 1000");
    refused("model.heads", "5.0", "write 5");
    refused("model.heads", "1e1", "write 10");
    refused("model.heads", "65", "allowed: a whole number from 1 to 64");
    refused("model.heads", "99999999999999999999", "too large for 64 bits");
    refused("model.heads", "0..3", "range");
    refused("model.heads", "[1]", "a list stands where one value belongs");
    refused("model.causal", "yes", "write true");
    refused("model.causal", "off", "write false");
    refused("model.causal", "\"false\"", "because of its quotes");
    refused("model.pe", "ropee", "did you mean rope?");
    refused("model.pe", "no", "unknown value 'no'; allowed: nope, rope, alibi");
    refused("train.betas", "0.9", "one value stands where a list belongs");
    refused("train.betas", "[0.9]", "1 element; allowed: exactly 2");
    refused("train.betas", "[0.9, 1.5]", "'1.5' is out of range");
    refused("train.betas", "[0.9, 0.9", "not closed");
    refused("model.pe_heads", "[0, 0]", "twice");
    refused("model.pe_heads", "[0, 64]", "'64' is out of range");
    refused("model.pe_heads", "[3..1]", "backwards");
    refused("model.pe_heads", "\"all\"", "because of its quotes");
    refused("model.pe_heads", "2", "write [2]");
    refused("model.sizes", "[0..200000]", "out of range");
    refused("hads", "3", "unknown key 'hads'; did you mean heads?");
    refused("note", "\"a", "not closed");
}

static void formatted_values_read_back_equal(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"model.heads", "7"},
        {"train.lr", "1e-05"},
        {"train.lr", "0.30000000000000004"},
        {"model.pe", "alibi"},
        {"model.pe_heads", "[0, 63]"},
        {"model.pe_heads", "none"},
        {"model.pe_heads", "all"},
        {"model.sizes", "[-9, 99, 0]"},
        {"model.sizes", "[]"},
        {"model.causal", "true"},
        {"train.betas", "[0.1, 0]"},
        {"model.note", "\"tab\\t, quote \\\" \\\\ # \""},
        {"model.note", "plain/text"},
        {"model.note", "\"null\""},
    };
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        struct pes_config *config = make(), *again = make();
        set(config, cases[i][0], cases[i][1]);
        long slot = pes_key_table_find(table, cases[i][0]);
        const char *text = pes_value_format(&config->values[slot], arena);
        assert_string_equal(text, cases[i][1]);
        set(again, cases[i][0], text);
        assert_true(pes_value_equal(&config->values[slot], &again->values[slot]));
    }
}

static void a_list_of_nothing_is_none_and_of_all_64_is_all(void **state)
{
    (void)state;
    struct pes_config *config = make();
    long slot = pes_key_table_find(table, "pe_heads");
    set(config, "pe_heads", "[]");
    assert_string_equal(pes_value_format(&config->values[slot], arena), "none");
    set(config, "pe_heads", "[0..63]");
    assert_string_equal(pes_value_format(&config->values[slot], arena), "all");
}

static void names_are_found_by_their_end_where_that_is_unique(void **state)
{
    (void)state;
    assert_string_equal(table->paths[pes_key_table_find(table, "pe")], "model.pe");
    assert_string_equal(table->paths[pes_key_table_find(table, "model.pe")], "model.pe");
    assert_int_equal(pes_key_table_find(table, "e"), -1);
    assert_int_equal(pes_key_table_find(table, "l.pe"), -1);
    static const struct pes_key twins[] = {
        {"a.kind", PES_VALUE_BOOL, .fallback = "true", .unit = "", .help = ""},
        {"b.c.kind", PES_VALUE_BOOL, .fallback = "true", .unit = "", .help = ""},
        {0},
    };
    const struct pes_key_source source = {twins, NULL, NULL};
    const struct pes_key_table *two = pes_key_table_create(&source, 1, arena);
    assert_int_equal(pes_key_table_find(two, "kind"), -2);
    assert_string_equal(two->paths[pes_key_table_find(two, "c.kind")], "b.c.kind");
}

static void rows_of_a_plug_in_apply_where_it_is_chosen(void **state)
{
    (void)state;
    struct pes_config *config = make();
    set(config, "task.kind", "copy");
    resolve(config);
    assert_false(pes_config_applies(config, "model.rule"));
    assert_false(pes_config_applies(config, "model.factor"));
    set(config, "model.pe", "rope");
    resolve(config);
    assert_true(pes_config_applies(config, "model.rule"));
    assert_false(pes_config_applies(config, "model.factor"));
    set(config, "model.rule", "yarn");
    resolve(config);
    assert_true(pes_config_real(config, "model.factor") == 2);
}

static void a_given_value_that_does_not_apply_is_refused_or_dropped(void **state)
{
    (void)state;
    struct pes_config *config = make();
    set(config, "task.kind", "copy");
    set(config, "model.factor", "4");
    assert_int_equal(pes_config_resolve(config, arena), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "model.factor"));
    assert_non_null(strstr(pes_error_message(), "model.rule: yarn"));
    assert_int_equal(pes_config_resolve_loosely(config, NULL), PES_OK);
    assert_false(pes_config_applies(config, "model.factor"));
}

static void rows_that_share_a_path_keep_their_own_range_and_default(void **state)
{
    (void)state;
    struct pes_config *config = make();
    set(config, "task.kind", "count");
    resolve(config);
    assert_int_equal(pes_config_int(config, "task.length"), 20);
    set(config, "task.kind", "copy");
    resolve(config);
    assert_int_equal(pes_config_int(config, "task.length"), 64);
    set(config, "task.length", "5"); /* fine for count */
    size_t bad = 0;
    assert_int_equal(pes_config_resolve_loosely(config, &bad), PES_INPUT);
    assert_string_equal(table->paths[bad], "task.length");
    assert_non_null(strstr(pes_error_message(), "from 10 to 1000"));
    refused("task.length", "2000", "from 1 to 100");
}

static void a_required_value_must_be_given(void **state)
{
    (void)state;
    struct pes_config *config = make();
    assert_int_equal(pes_config_resolve(config, arena), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "task.kind: must be given"));
}

static void the_canonical_text_has_what_differs_from_its_default(void **state)
{
    (void)state;
    struct pes_config *config = make();
    set(config, "task.kind", "count");
    set(config, "task.length", "20"); /* the default of count */
    set(config, "train.lr", "5.0E-4");
    set(config, "model.heads", "+4"); /* the default */
    set(config, "model.pe_heads", "[2, 0]");
    set(config, "measure.every", "3"); /* no part of the identity */
    set(config, "model.sizes", "[1..3]");
    resolve(config);
    assert_string_equal(pes_config_canonical(config, arena), "model.pe_heads=[0, 2]\n"
                                                             "model.sizes=[1, 2, 3]\n"
                                                             "task.kind=count\n"
                                                             "train.lr=0.0005\n");
}

static void a_copy_is_independent(void **state)
{
    (void)state;
    struct pes_config *config = make();
    set(config, "task.kind", "count");
    resolve(config);
    struct pes_config *other = pes_config_copy(config, arena);
    set(other, "model.heads", "2");
    resolve(other);
    assert_int_equal(pes_config_int(config, "model.heads"), 4);
    assert_int_equal(pes_config_int(other, "model.heads"), 2);
    pes_config_reset(other, (size_t)pes_key_table_find(table, "model.heads"));
    assert_int_equal(pes_config_int(other, "model.heads"), 4);
}

static void lack_of_memory_is_reported_at_every_place(void **state)
{
    (void)state;
    enum pes_status status = PES_MEMORY;
    for (long n = 1; status == PES_MEMORY && n < 100; n++) {
        struct pes_arena *own = pes_arena_create();
        assert_non_null(own);
        (void)pes_allocate_fail_after(n);
        struct pes_config *config = pes_config_create(table, own);
        status = config ? PES_OK : PES_MEMORY;
        if (status == PES_OK) status = pes_config_set(config, own, "task.kind", "count");
        if (status == PES_OK) status = pes_config_set(config, own, "model.note", "some text");
        if (status == PES_OK) status = pes_config_resolve(config, own);
        if (status == PES_OK && !pes_config_canonical(config, own)) status = PES_MEMORY;
        (void)pes_allocate_fail_after(0);
        pes_arena_destroy(own);
    }
    assert_int_equal(status, PES_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_default_is_filled_in),
        cmocka_unit_test(values_are_read_back_as_given),
        cmocka_unit_test(wrong_values_are_refused_with_the_plain_form),
        cmocka_unit_test(formatted_values_read_back_equal),
        cmocka_unit_test(a_list_of_nothing_is_none_and_of_all_64_is_all),
        cmocka_unit_test(names_are_found_by_their_end_where_that_is_unique),
        cmocka_unit_test(rows_of_a_plug_in_apply_where_it_is_chosen),
        cmocka_unit_test(a_given_value_that_does_not_apply_is_refused_or_dropped),
        cmocka_unit_test(rows_that_share_a_path_keep_their_own_range_and_default),
        cmocka_unit_test(a_required_value_must_be_given),
        cmocka_unit_test(the_canonical_text_has_what_differs_from_its_default),
        cmocka_unit_test(a_copy_is_independent),
        cmocka_unit_test(lack_of_memory_is_reported_at_every_place),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
