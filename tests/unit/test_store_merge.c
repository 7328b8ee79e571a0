/* test_store_merge.c - results files united by key: whose rows are taken, what is refused, which sweep comes
 * out. */
#include "store_fixture.h"

#include <hdf5.h>

#define TWO_SCHEMES "name: store\n" BLOCKS "grid: {pe: [nope, rope], seed: 0..1}\n"
#define MORE_SEEDS                                                                                           \
    "name: store\n" BLOCKS                                                                                   \
    "grid: {pe: [rope, learned], seed: 1..2, penalty: [none, {kind: symmetry, weight: 3}]}\n"                \
    "claims: [{name: c, metric: final.test_accuracy, axis: pe, better: rope, than: others, test: "           \
    "permutation}]\n"

static struct pes_reader *reader_of(const char *path)
{
    struct pes_reader *reader;
    assert_ok(pes_reader_open(path, &reader));
    return reader;
}

/* Merges two files for the union of their sweeps; the layout is the fixture's. */
static enum pes_status merge_two(const char *a, const char *b, const char *out, struct pes_merge *merge)
{
    struct pes_reader *readers[] = {reader_of(a), reader_of(b)};
    struct pes_sweep *sweep;
    assert_ok(pes_store_union(readers, 2, &sweep));
    struct pes_arena *arena = pes_arena_create();
    size_t layers = PES_MAX(pes_reader_layout(readers[0])->size[PES_DIM_LAYER],
                            pes_reader_layout(readers[1])->size[PES_DIM_LAYER]);
    enum pes_status status = pes_store_merge(out, sweep, make_layout(arena, layers, 4000), readers, 2, merge);
    pes_arena_destroy(arena);
    pes_sweep_destroy(sweep);
    pes_reader_close(readers[0]);
    pes_reader_close(readers[1]);
    return status;
}

static void trials_of_both_files_come_together_under_a_sweep_that_names_them(void **state)
{
    (void)state;
    struct fixture a = setup(TWO_SCHEMES), b = setup_sized(MORE_SEEDS, 6);
    make_file(in_folder("a.h5"), &a, 0, 3);
    make_file(in_folder("b.h5"), &b, 0, 8);
    struct pes_merge merge;
    assert_ok(merge_two(in_folder("a.h5"), in_folder("b.h5"), in_folder("ab.h5"), &merge));
    /* Both have rope with seed 1 and no penalty; it is not finished in a. */
    assert_int_equal(merge.num_trials, 4 + 8 - 1);
    assert_int_equal(merge.num_finished, 3 + 8);
    assert_int_equal(merge.num_twice, 0);
    struct pes_reader *reader = reader_of(in_folder("ab.h5"));
    const struct pes_sweep *sweep = pes_reader_sweep(reader);
    assert_non_null(sweep);
    assert_string_equal(sweep->name, "store");
    assert_int_equal(sweep->num_claims, 1);
    for (size_t t = 0; t < 11; t++) {
        assert_int_equal(pes_reader_status(reader)[t], PES_OUTCOME_DONE);
        assert_row(reader, t, pes_reader_key(reader, t), 4);
        uint64_t stored, computed;
        assert_ok(pes_reader_checksum(reader, t, &stored, &computed));
        assert_true(stored == computed);
    }
    for (size_t t = 0; t < 4; t++)
        assert_string_equal(pes_reader_key(reader, t), a.sweep->trials[t].key);
    assert_string_equal(pes_reader_key(reader, 10), b.sweep->trials[7].key);
    pes_reader_close(reader);
    teardown(&a);
    teardown(&b);
}

static void the_same_results_in_two_files_are_taken_once_and_runs_keep_their_trials(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    const char *paths[] = {in_folder("first.h5"), in_folder("second.h5")};
    for (int i = 0; i < 2; i++) {
        struct pes_store *store = open_store(paths[i], &f);
        int number = -1;
        assert_ok(pes_store_write_run(store, &number, i ? "{\"second\": 1}" : "{\"first\": 1}"));
        for (size_t t = 0; t < 4; t++)
            finish(store, &f, t + (size_t)(2 * i), PES_OUTCOME_DONE);
        assert_ok(pes_store_close(store));
    }
    struct pes_merge merge;
    assert_ok(merge_two(paths[0], paths[1], in_folder("once.h5"), &merge));
    assert_int_equal(merge.num_finished, 6);
    assert_int_equal(merge.num_twice, 2);
    struct pes_reader *reader = reader_of(in_folder("once.h5"));
    double *runs;
    size_t count;
    assert_ok(pes_reader_variable(reader, "provenance", "run", &runs, &count));
    assert_int_equal(pes_reader_num_runs(reader), 2);
    for (size_t t = 0; t < 6; t++)
        assert_string_equal(pes_reader_run(reader, (size_t)runs[t]),
                            t < 4 ? "{\"first\": 1}" : "{\"second\": 1}");
    free(runs);
    pes_reader_close(reader);
    teardown(&f);
}

/* Changes one byte of a trial's eigenvalues; with `believed` its checksum is made to fit. */
static void change_row(const char *path, size_t trial, bool believed)
{
    struct pes_reader *reader = reader_of(path);
    pes_reader_close(reader);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
          dataset = H5Dopen2(file, "spectra/eigenvalues", H5P_DEFAULT),
          checksum = H5Dopen2(file, "trials/checksum", H5P_DEFAULT);
    haddr_t row = H5Dget_offset(dataset) + trial * 1024, sum = H5Dget_offset(checksum) + trial * 8;
    H5Dclose(dataset);
    H5Dclose(checksum);
    H5Fclose(file);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    bytes[row + 100] ^= 1;
    write_bytes(path, bytes, size);
    if (believed) {
        uint64_t stored, computed;
        reader = reader_of(path);
        assert_ok(pes_reader_checksum(reader, trial, &stored, &computed));
        pes_reader_close(reader);
        memcpy(bytes + sum, &computed, sizeof computed);
        write_bytes(path, bytes, size);
    }
    free(bytes);
}

static void different_results_for_one_trial_are_refused_and_nothing_is_written(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("x.h5"), &f, 0, 6);
    make_file(in_folder("y.h5"), &f, 0, 6);
    change_row(in_folder("y.h5"), 4, true);
    struct pes_merge merge;
    assert_int_equal(merge_two(in_folder("x.h5"), in_folder("y.h5"), in_folder("xy.h5"), &merge),
                     PES_DIFFERENT);
    assert_non_null(strstr(pes_error_message(), f.sweep->trials[4].key));
    assert_false(exists(in_folder("xy.h5")));
    assert_false(exists(in_folder("xy.h5.part")));
    assert_false(exists(in_folder("xy.h5.lock")));
    teardown(&f);
}

static void a_damaged_row_gives_way_to_the_sound_one_of_the_other_file(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("p.h5"), &f, 0, 6);
    make_file(in_folder("q.h5"), &f, 0, 5);
    change_row(in_folder("p.h5"), 4, false);
    change_row(in_folder("p.h5"), 5, false);
    change_row(in_folder("q.h5"), 3, false);
    struct pes_merge merge;
    assert_ok(merge_two(in_folder("p.h5"), in_folder("q.h5"), in_folder("pq.h5"), &merge));
    assert_int_equal(merge.num_finished, 5);
    assert_int_equal(merge.num_damaged, 1);
    struct pes_reader *reader = reader_of(in_folder("pq.h5"));
    for (size_t t = 0; t < 5; t++)
        assert_row(reader, t, f.sweep->trials[t].key, 4);
    assert_int_equal(pes_reader_status(reader)[5], PES_OUTCOME_PENDING);
    pes_reader_close(reader);
    teardown(&f);
}

static void a_result_is_preferred_to_a_failure(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    struct pes_store *store = open_store(in_folder("failed.h5"), &f);
    finish(store, &f, 0, PES_OUTCOME_FAILED);
    finish(store, &f, 1, PES_OUTCOME_FAILED);
    assert_ok(pes_store_close(store));
    make_file(in_folder("done.h5"), &f, 1, 2);
    struct pes_merge merge;
    assert_ok(merge_two(in_folder("failed.h5"), in_folder("done.h5"), in_folder("either.h5"), &merge));
    struct pes_reader *reader = reader_of(in_folder("either.h5"));
    static const uint8_t expected[6] = {3, 2, 0, 0, 0, 0};
    assert_memory_equal(pes_reader_status(reader), expected, 6);
    pes_reader_close(reader);
    teardown(&f);
}

static void files_measured_differently_are_refused(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS), g = setup(SIX_TRIALS "measure: {checkpoints: 7}\n");
    make_file(in_folder("m24.h5"), &f, 0, 1);
    make_file(in_folder("m7.h5"), &g, 0, 1);
    struct pes_merge merge;
    assert_int_equal(merge_two(in_folder("m24.h5"), in_folder("m7.h5"), in_folder("m.h5"), &merge),
                     PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "measure.checkpoints: 7"));
    teardown(&f);
    teardown(&g);
}

static void a_file_that_exists_is_not_replaced(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("there.h5"), &f, 0, 1);
    struct pes_merge merge;
    assert_int_equal(merge_two(in_folder("there.h5"), in_folder("there.h5"), in_folder("there.h5"), &merge),
                     PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "exists already"));
    teardown(&f);
}

static void a_file_with_all_trials_lends_its_own_text(void **state)
{
    (void)state;
    struct fixture f = setup(THREE_TRIALS), all = setup("# all of them\n" SIX_TRIALS);
    make_file(in_folder("few.h5"), &f, 0, 3);
    make_file(in_folder("all.h5"), &all, 0, 3);
    struct pes_reader *readers[] = {reader_of(in_folder("few.h5")), reader_of(in_folder("all.h5"))};
    struct pes_sweep *sweep;
    assert_ok(pes_store_union(readers, 2, &sweep));
    assert_int_equal(strncmp(sweep->text, "# all of them\n", 14), 0);
    pes_sweep_destroy(sweep);
    pes_reader_close(readers[0]);
    pes_reader_close(readers[1]);
    teardown(&f);
    teardown(&all);
}

static void a_trial_of_defaults_alone_can_be_named_too(void **state)
{
    (void)state;
    struct fixture a = setup("name: plain\n" BLOCKS),
                   b = setup("name: plain\n" BLOCKS "grid: {pe: [rope]}\n");
    make_file(in_folder("plain.h5"), &a, 0, 1);
    make_file(in_folder("rope.h5"), &b, 0, 1);
    struct pes_merge merge;
    assert_ok(merge_two(in_folder("plain.h5"), in_folder("rope.h5"), in_folder("two.h5"), &merge));
    assert_int_equal(merge.num_finished, 2);
    teardown(&a);
    teardown(&b);
}

static void with_too_many_starts_those_that_trials_refer_to_are_kept(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    const char *paths[] = {in_folder("often1.h5"), in_folder("often2.h5")};
    for (int i = 0; i < 2; i++)
        for (int start = 0; start < 40; start++) {
            struct pes_store *store = open_store(paths[i], &f);
            int number = -1;
            char json[48];
            snprintf(json, sizeof json, "{\"file\": %d, \"start\": %d}", i, start);
            assert_ok(pes_store_write_run(store, &number, json));
            if (start == 17) finish(store, &f, (size_t)i, PES_OUTCOME_DONE);
            if (start == 30) finish(store, &f, (size_t)i + 2, PES_OUTCOME_DONE);
            assert_ok(pes_store_close(store));
        }
    struct pes_merge merge;
    assert_ok(merge_two(paths[0], paths[1], in_folder("often.h5"), &merge));
    struct pes_reader *reader = reader_of(in_folder("often.h5"));
    assert_int_equal(pes_reader_num_runs(reader), 4);
    double *runs;
    size_t count;
    assert_ok(pes_reader_variable(reader, "provenance", "run", &runs, &count));
    assert_string_equal(pes_reader_run(reader, (size_t)runs[0]), "{\"file\": 0, \"start\": 17}");
    assert_string_equal(pes_reader_run(reader, (size_t)runs[3]), "{\"file\": 1, \"start\": 30}");
    free(runs);
    pes_reader_close(reader);
    teardown(&f);
}

static void a_merged_file_is_resumed_by_its_own_sweep(void **state)
{
    (void)state;
    struct fixture a = setup(TWO_SCHEMES), b = setup(MORE_SEEDS);
    make_file(in_folder("r1.h5"), &a, 0, 2);
    make_file(in_folder("r2.h5"), &b, 0, 5);
    struct pes_merge merge;
    assert_ok(merge_two(in_folder("r1.h5"), in_folder("r2.h5"), in_folder("r.h5"), &merge));
    struct pes_reader *reader = reader_of(in_folder("r.h5"));
    struct fixture c = {.arena = pes_arena_create(), .sweep = parse(pes_reader_sweep(reader)->text)};
    c.layout = make_layout(c.arena, 4, 4000);
    pes_reader_close(reader);
    struct pes_store *store = open_store(in_folder("r.h5"), &c);
    uint8_t status[11], reason[11];
    assert_ok(pes_store_read_status(store, status, reason));
    size_t finished = 0;
    for (size_t t = 0; t < 11; t++)
        finished += status[t] == PES_OUTCOME_DONE;
    assert_int_equal(finished, 7);
    assert_ok(pes_store_close(store));
    teardown(&a);
    teardown(&b);
    teardown(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_of_both_files_come_together_under_a_sweep_that_names_them),
        cmocka_unit_test(the_same_results_in_two_files_are_taken_once_and_runs_keep_their_trials),
        cmocka_unit_test(different_results_for_one_trial_are_refused_and_nothing_is_written),
        cmocka_unit_test(a_damaged_row_gives_way_to_the_sound_one_of_the_other_file),
        cmocka_unit_test(a_result_is_preferred_to_a_failure),
        cmocka_unit_test(files_measured_differently_are_refused),
        cmocka_unit_test(a_file_that_exists_is_not_replaced),
        cmocka_unit_test(a_file_with_all_trials_lends_its_own_text),
        cmocka_unit_test(a_trial_of_defaults_alone_can_be_named_too),
        cmocka_unit_test(with_too_many_starts_those_that_trials_refer_to_are_kept),
        cmocka_unit_test(a_merged_file_is_resumed_by_its_own_sweep),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
