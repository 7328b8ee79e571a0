/* test_store_results.c - a results file from creation to reading: bytes, order, resume, extension. */
#include "store_fixture.h"

static void a_new_file_has_every_trial_pending_and_no_leftovers(void **state)
{
    (void)state;
    const char *path = in_folder("new.h5");
    struct fixture f = setup(SIX_TRIALS);
    write_bytes(in_folder("new.h5.part"), "left by a killed start", 22);
    struct pes_store *store = open_store(path, &f);
    assert_true(exists(in_folder("new.h5.lock")));
    uint8_t status[6], reason[6];
    memset(status, 9, sizeof status);
    assert_ok(pes_store_read_status(store, status, reason));
    for (size_t t = 0; t < 6; t++) {
        assert_int_equal(status[t], PES_OUTCOME_PENDING);
        assert_int_equal(reason[t], PES_REASON_NONE);
    }
    assert_ok(pes_store_close(store));
    assert_false(exists(in_folder("new.h5.lock")));
    assert_false(exists(in_folder("new.h5.part")));
    teardown(&f);
}

static void what_was_written_is_read_back(void **state)
{
    (void)state;
    const char *path = in_folder("back.h5");
    struct fixture f = setup(SIX_TRIALS);
    struct pes_store *store = open_store(path, &f);
    int number = -1;
    assert_ok(pes_store_write_run(store, &number, "{\"command\": \"test\"}"));
    assert_int_equal(number, 0);
    finish(store, &f, 1, PES_OUTCOME_DONE);
    finish(store, &f, 4, PES_OUTCOME_DIVERGED);
    assert_ok(pes_store_mark_running(store, 5, 2));
    assert_ok(pes_store_close(store));

    struct pes_reader *reader;
    assert_ok(pes_reader_open(path, &reader));
    assert_int_equal(pes_reader_num_trials(reader), 6);
    static const uint8_t expected[6] = {0, 2, 0, 0, 4, 1};
    assert_memory_equal(pes_reader_status(reader), expected, 6);
    assert_int_equal(pes_reader_reason(reader)[4], PES_REASON_LOSS_BOUND);
    assert_string_equal(pes_reader_message(reader, 4), "loss 2e+04 at step 7");
    assert_string_equal(pes_reader_message(reader, 1), "");
    assert_string_equal(pes_reader_key(reader, 3), f.sweep->trials[3].key);
    assert_row(reader, 1, f.sweep->trials[1].key, 4);
    assert_row(reader, 4, f.sweep->trials[4].key, 4);
    uint64_t stored, computed;
    assert_ok(pes_reader_checksum(reader, 4, &stored, &computed));
    assert_true(stored == computed);
    assert_int_equal(pes_reader_num_runs(reader), 1);
    assert_string_equal(pes_reader_run(reader, 0), "{\"command\": \"test\"}");
    const struct pes_sweep *sweep = pes_reader_sweep(reader);
    assert_non_null(sweep);
    assert_string_equal(sweep->trials[5].label, f.sweep->trials[5].label);
    pes_reader_close(reader);
    teardown(&f);
}

static void the_layout_of_a_file_is_the_one_it_was_made_with(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("layout.h5"), &f, 0, 0);
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("layout.h5"), &reader));
    const struct pes_layout *layout = pes_reader_layout(reader);
    assert_int_equal(layout->row_bytes, f.layout->row_bytes);
    assert_int_equal(layout->num_fields, f.layout->num_fields);
    for (size_t i = 0; i < layout->num_fields; i++) {
        const struct pes_field *a = &layout->fields[i], *b = &f.layout->fields[i];
        assert_string_equal(a->variable.group, b->variable.group);
        assert_string_equal(a->variable.name, b->variable.name);
        assert_string_equal(a->variable.unit, b->variable.unit);
        assert_string_equal(a->variable.help, b->variable.help);
        assert_int_equal(a->variable.type, b->variable.type);
        assert_int_equal(a->offset, b->offset);
    }
    pes_reader_close(reader);
    teardown(&f);
}

static void whole_variables_come_as_doubles(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("doubles.h5"), &f, 2, 3);
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("doubles.h5"), &reader));
    double *values;
    size_t count;
    assert_ok(pes_reader_variable(reader, "attention", "relative_kernel", &values, &count));
    assert_int_equal(count, 6 * 4 * 4 * 9);
    struct pes_row row = new_row(f.layout);
    fill_row(&row, f.sweep->trials[2].key, 4);
    for (size_t i = 0; i < 144; i++) {
        assert_true(isnan(values[i]));
        assert_true(values[2 * 144 + i] ==
                    pes_row_get(&row, "attention", "relative_kernel", (size_t[]){i / 36, i / 9 % 4, i % 9}));
    }
    free(values);
    assert_ok(pes_reader_variable(reader, "trials", "seed", &values, &count));
    assert_int_equal(count, 6);
    assert_true(values[2] == 0 && values[3] == 1);
    free(values);
    assert_ok(pes_reader_variable(reader, "provenance", "train_seconds", &values, &count));
    assert_true(isnan(values[0]) && values[2] == 1.5);
    free(values);
    assert_int_equal(pes_reader_variable(reader, "curves", "nonsense", &values, &count), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "curves/nonsense"));
    assert_int_equal(pes_reader_variable(reader, "trials", "pe", &values, &count), PES_INPUT);
    free(row.bytes);
    pes_reader_close(reader);
    teardown(&f);
}

static void the_same_sweep_makes_the_same_bytes(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS), g = setup(SIX_TRIALS);
    assert_ok(pes_store_prepare(in_folder("a.h5"), f.sweep, f.layout));
    struct pes_store *store;
    assert_ok(pes_store_open(in_folder("a.h5"), f.sweep, f.layout, PES_WRITER_SHARED, &store));
    assert_ok(pes_store_close(store));
    make_file(in_folder("b.h5"), &g, 0, 0);
    size_t a_size, b_size;
    unsigned char *a = read_bytes(in_folder("a.h5"), &a_size), *b = read_bytes(in_folder("b.h5"), &b_size);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    free(a);
    free(b);
    teardown(&f);
    teardown(&g);
}

static void order_and_interruption_leave_no_trace_in_the_results(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("straight.h5"), &f, 0, 6);
    static const size_t order[] = {4, 0, 5, 2, 1, 3};
    for (size_t i = 0; i < 6; i += 2) {
        struct pes_store *store = open_store(in_folder("broken.h5"), &f);
        finish(store, &f, order[i], PES_OUTCOME_DONE);
        finish(store, &f, order[i + 1], PES_OUTCOME_DONE);
        assert_ok(pes_store_close(store));
    }
    assert_same_results(in_folder("straight.h5"), in_folder("broken.h5"));
    teardown(&f);
}

static void each_start_has_an_entry_of_its_own(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    for (int start = 0; start < 3; start++) {
        struct pes_store *store = open_store(in_folder("starts.h5"), &f);
        int number = -1;
        char json[32];
        snprintf(json, sizeof json, "{\"start\": %d}", start);
        assert_ok(pes_store_write_run(store, &number, json));
        assert_int_equal(number, start);
        finish(store, &f, (size_t)start, PES_OUTCOME_DONE);
        assert_ok(pes_store_close(store));
    }
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("starts.h5"), &reader));
    assert_int_equal(pes_reader_num_runs(reader), 3);
    assert_string_equal(pes_reader_run(reader, 2), "{\"start\": 2}");
    double *runs;
    size_t count;
    assert_ok(pes_reader_variable(reader, "provenance", "run", &runs, &count));
    assert_true(runs[0] == 0 && runs[1] == 1 && runs[2] == 2 && runs[3] == -1);
    free(runs);
    pes_reader_close(reader);
    teardown(&f);
}

static void after_64_starts_the_ones_that_finished_something_are_kept(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    for (int start = 0; start < 66; start++) {
        struct pes_store *store = open_store(in_folder("many.h5"), &f);
        int number = -1;
        assert_ok(pes_store_write_run(store, &number, "{}"));
        assert_int_equal(number, start < 64 ? start : start - 63);
        if (start == 0 || start >= 64) finish(store, &f, start ? (size_t)start - 63 : 0, PES_OUTCOME_DONE);
        assert_ok(pes_store_close(store));
    }
    teardown(&f);
}

static void a_sweep_with_more_trials_extends_the_file(void **state)
{
    (void)state;
    struct fixture small = setup(SIX_TRIALS), large = setup(NINE_TRIALS);
    make_file(in_folder("grow.h5"), &small, 1, 5);
    struct pes_store *store = open_store(in_folder("grow.h5"), &large);
    uint8_t status[9], reason[9];
    assert_ok(pes_store_read_status(store, status, reason));
    /* Grid order with three seeds: the old trials (pe, seed) move apart. */
    static const uint8_t expected[9] = {0, 2, 0, 2, 2, 0, 2, 0, 0};
    assert_memory_equal(status, expected, 9);
    for (size_t t = 0; t < 9; t++)
        if (!status[t]) finish(store, &large, t, PES_OUTCOME_DONE);
    assert_ok(pes_store_close(store));
    make_file(in_folder("whole.h5"), &large, 0, 9);
    assert_same_results(in_folder("grow.h5"), in_folder("whole.h5"));
    assert_false(exists(in_folder("grow.h5.part")));
    teardown(&small);
    teardown(&large);
}

static void rows_are_padded_where_an_extension_has_larger_models(void **state)
{
    (void)state;
    struct fixture small = setup(SIX_TRIALS), large = setup_sized(NINE_TRIALS, 6);
    make_file(in_folder("pad.h5"), &small, 0, 6);
    struct pes_store *store = open_store(in_folder("pad.h5"), &large);
    assert_ok(pes_store_close(store));
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("pad.h5"), &reader));
    assert_int_equal(pes_reader_layout(reader)->size[PES_DIM_LAYER], 6);
    assert_row(reader, 0, large.sweep->trials[0].key, 4);
    assert_row(reader, 7, large.sweep->trials[7].key, 4);
    uint64_t stored, computed;
    assert_ok(pes_reader_checksum(reader, 7, &stored, &computed));
    assert_true(stored == computed);
    pes_reader_close(reader);
    teardown(&small);
    teardown(&large);
}

static void a_sweep_without_a_finished_trial_is_refused_and_nothing_is_touched(void **state)
{
    (void)state;
    struct fixture all = setup(SIX_TRIALS), fewer = setup(THREE_TRIALS);
    make_file(in_folder("fewer.h5"), &all, 0, 6);
    size_t before_size, after_size;
    unsigned char *before = read_bytes(in_folder("fewer.h5"), &before_size);
    assert_int_equal(pes_store_prepare(in_folder("fewer.h5"), fewer.sweep, fewer.layout), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "holds 3 finished trials"));
    unsigned char *after = read_bytes(in_folder("fewer.h5"), &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    assert_false(exists(in_folder("fewer.h5.lock")));
    free(before);
    free(after);
    teardown(&all);
    teardown(&fewer);
}

static void trials_that_never_ran_may_be_dropped(void **state)
{
    (void)state;
    struct fixture all = setup(SIX_TRIALS), fewer = setup(THREE_TRIALS);
    struct pes_store *store = open_store(in_folder("drop.h5"), &all);
    finish(store, &all, 2, PES_OUTCOME_DONE); /* learned, seed 0 */
    assert_ok(pes_store_mark_running(store, 3, 0));
    assert_ok(pes_store_close(store));
    store = open_store(in_folder("drop.h5"), &fewer);
    uint8_t status[3], reason[3];
    assert_ok(pes_store_read_status(store, status, reason));
    static const uint8_t expected[3] = {0, 2, 0};
    assert_memory_equal(status, expected, 3);
    assert_ok(pes_store_close(store));
    teardown(&all);
    teardown(&fewer);
}

static void another_measure_value_is_refused_with_both_values(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS), g = setup(SIX_TRIALS "measure: {checkpoints: 7}\n");
    make_file(in_folder("measure.h5"), &f, 0, 1);
    assert_int_equal(pes_store_prepare(in_folder("measure.h5"), g.sweep, g.layout), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "measure.checkpoints: 24"));
    assert_non_null(strstr(pes_error_message(), "says 7"));
    teardown(&f);
    teardown(&g);
}

static void a_new_name_or_claim_is_taken_into_the_file_and_a_comment_is_not_worth_it(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS), comment = setup("# a comment\n" SIX_TRIALS);
    struct fixture claim =
        setup(SIX_TRIALS "claims: [{name: c, metric: final.test_accuracy, axis: pe, better: rope, "
                         "than: others, test: permutation}]\n");
    const char *path = in_folder("text.h5");
    make_file(path, &f, 0, 2);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    make_file(path, &comment, 0, 0);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    make_file(path, &claim, 0, 0);
    struct pes_reader *reader;
    assert_ok(pes_reader_open(path, &reader));
    assert_int_equal(pes_reader_sweep(reader)->num_claims, 1);
    assert_row(reader, 1, f.sweep->trials[1].key, 4);
    assert_int_equal(pes_reader_status(reader)[1], PES_OUTCOME_DONE);
    pes_reader_close(reader);
    teardown(&f);
    teardown(&comment);
    teardown(&claim);
}

static void long_texts_are_kept_whole(void **state)
{
    (void)state;
    struct pes_text text = {0};
    for (int i = 0; i < 2500; i++)
        pes_text_append(&text, "# a comment line that says \xC3\xBC nothing, number %d\n", i);
    pes_text_append(&text, "%s", SIX_TRIALS);
    assert_true(text.length > 100000);
    struct fixture f = setup(text.data);
    make_file(in_folder("long.h5"), &f, 0, 1);
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("long.h5"), &reader));
    const struct pes_sweep *sweep = pes_reader_sweep(reader);
    assert_non_null(sweep);
    assert_int_equal(sweep->text_bytes, text.length);
    assert_memory_equal(sweep->text, text.data, text.length);
    pes_reader_close(reader);
    pes_text_destroy(&text);
    teardown(&f);
}

static void twenty_thousand_seeds_are_kept_as_numbers(void **state)
{
    (void)state;
    struct fixture f = {.arena = pes_arena_create(),
                        .sweep = parse("name: wide\n" BLOCKS "grid: {seed: 0..19999}\n")};
    f.layout = make_layout(f.arena, 1, 16);
    make_file(in_folder("wide.h5"), &f, 19999, 20000);
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("wide.h5"), &reader));
    double *seeds;
    size_t count;
    assert_ok(pes_reader_variable(reader, "trials", "seed", &seeds, &count));
    assert_int_equal(count, 20000);
    for (size_t i = 0; i < count; i++)
        assert_true(seeds[i] == (double)i);
    assert_row(reader, 19999, f.sweep->trials[19999].key, 4);
    free(seeds);
    pes_reader_close(reader);
    teardown(&f);
}

static void the_size_is_foretold_within_a_few_percent(void **state)
{
    (void)state;
    struct fixture f = setup(NINE_TRIALS);
    make_file(in_folder("size.h5"), &f, 0, 9);
    struct stat facts;
    assert_int_equal(stat(in_folder("size.h5"), &facts), 0);
    double foretold = (double)pes_store_file_bytes(f.sweep, f.layout);
    if (fabs(foretold / (double)facts.st_size - 1) > 0.05)
        fail_msg("foretold %.0f, found %.0f", foretold, (double)facts.st_size);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_has_every_trial_pending_and_no_leftovers),
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(the_layout_of_a_file_is_the_one_it_was_made_with),
        cmocka_unit_test(whole_variables_come_as_doubles),
        cmocka_unit_test(the_same_sweep_makes_the_same_bytes),
        cmocka_unit_test(order_and_interruption_leave_no_trace_in_the_results),
        cmocka_unit_test(each_start_has_an_entry_of_its_own),
        cmocka_unit_test(after_64_starts_the_ones_that_finished_something_are_kept),
        cmocka_unit_test(a_sweep_with_more_trials_extends_the_file),
        cmocka_unit_test(rows_are_padded_where_an_extension_has_larger_models),
        cmocka_unit_test(a_sweep_without_a_finished_trial_is_refused_and_nothing_is_touched),
        cmocka_unit_test(trials_that_never_ran_may_be_dropped),
        cmocka_unit_test(another_measure_value_is_refused_with_both_values),
        cmocka_unit_test(a_new_name_or_claim_is_taken_into_the_file_and_a_comment_is_not_worth_it),
        cmocka_unit_test(long_texts_are_kept_whole),
        cmocka_unit_test(twenty_thousand_seeds_are_kept_as_numbers),
        cmocka_unit_test(the_size_is_foretold_within_a_few_percent),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
