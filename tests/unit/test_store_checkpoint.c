/* test_store_checkpoint.c - checkpoints: kept whole, refused when torn or of another trial, moved with the
 * layout. */
#define _GNU_SOURCE /* memmem */
#include "store_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

enum { PARAMETERS = 5000 };

static struct pes_train_state new_state(const struct pes_layout *layout, size_t num_parameters)
{
    struct pes_train_state state = {.num_parameters = num_parameters,
                                    .parameters = calloc(num_parameters, sizeof(real)),
                                    .m = calloc(num_parameters, sizeof(real)),
                                    .v = calloc(num_parameters, sizeof(real)),
                                    .row = new_row(layout)};
    assert_true(state.parameters && state.m && state.v);
    return state;
}

static void free_state(struct pes_train_state *state)
{
    free(state->parameters);
    free(state->m);
    free(state->v);
    free(state->row.bytes);
}

static struct pes_train_state example_state(const struct pes_layout *layout, int64_t step)
{
    struct pes_train_state state = new_state(layout, PARAMETERS);
    for (size_t i = 0; i < PARAMETERS; i++) {
        state.parameters[i] = (real)i + (real)step;
        state.m[i] = (real)-0.5 * (real)i;
        state.v[i] = (real)0.25 * (real)i;
    }
    fill_row(&state.row, "checkpoint", 4);
    state.step = step;
    state.updates = step - 2;
    state.num_evaluations = 3;
    state.num_checkpoints = 2;
    state.train_seconds = 12.5;
    state.measure_seconds = 0.75;
    state.interval_loss = 3.25;
    state.interval_count = 640;
    return state;
}

static void assert_same_state(const struct pes_train_state *a, const struct pes_train_state *b)
{
    size_t bytes = a->num_parameters * sizeof(real);
    assert_memory_equal(a->parameters, b->parameters, bytes);
    assert_memory_equal(a->m, b->m, bytes);
    assert_memory_equal(a->v, b->v, bytes);
    assert_memory_equal(a->row.bytes, b->row.bytes, a->row.layout->row_bytes);
    assert_true(a->step == b->step && a->updates == b->updates);
    assert_true(a->num_evaluations == b->num_evaluations && a->num_checkpoints == b->num_checkpoints);
    assert_true(a->train_seconds == b->train_seconds && a->measure_seconds == b->measure_seconds);
    assert_true(a->interval_loss == b->interval_loss && a->interval_count == b->interval_count);
}

static const char *path_of(const char *results, const char *key)
{
    static char path[512];
    snprintf(path, sizeof path, "%s.ckpt/%s.h5", results, key);
    return path;
}

static void what_was_saved_is_loaded(void **unused)
{
    (void)unused;
    struct fixture f = setup(SIX_TRIALS);
    const char *path = in_folder("a.h5"), *key = f.sweep->trials[0].key;
    struct pes_train_state saved = example_state(f.layout, 400), loaded = new_state(f.layout, PARAMETERS);
    bool found = true;
    assert_ok(pes_checkpoint_load(path, key, &loaded, &found));
    assert_false(found);
    assert_ok(pes_checkpoint_save(path, key, &saved));
    saved.step = 500;
    assert_ok(pes_checkpoint_save(path, key, &saved));
    assert_ok(pes_checkpoint_load(path, key, &loaded, &found));
    assert_true(found);
    assert_same_state(&saved, &loaded);
    pes_checkpoint_remove(path, key);
    assert_ok(pes_checkpoint_load(path, key, &loaded, &found));
    assert_false(found);
    free_state(&saved);
    free_state(&loaded);
    teardown(&f);
}

static void assert_unusable(const char *path, const char *key, struct pes_train_state *state, const char *why)
{
    bool found = true;
    assert_int_equal(pes_checkpoint_load(path, key, state, &found), PES_IO);
    assert_false(found);
    if (!strstr(pes_error_message(), why) || !strstr(pes_error_message(), ".ckpt/"))
        fail_msg("expected '%s', got '%s'", why, pes_error_message());
}

static void torn_and_damaged_checkpoints_are_refused(void **unused)
{
    (void)unused;
    struct fixture f = setup(SIX_TRIALS);
    const char *path = in_folder("torn.h5"), *key = f.sweep->trials[0].key;
    struct pes_train_state saved = example_state(f.layout, 400), loaded = new_state(f.layout, PARAMETERS);
    assert_ok(pes_checkpoint_save(path, key, &saved));
    size_t size;
    unsigned char *bytes = read_bytes(path_of(path, key), &size);
    write_bytes(path_of(path, key), bytes, size / 2);
    assert_unusable(path, key, &loaded, "truncated");
    write_bytes(path_of(path, key), bytes, 0);
    assert_unusable(path, key, &loaded, "cannot open");
    /* Every byte of the arrays counts. */
    size_t refused = 0, tried = 0;
    for (size_t place = size - 64; place > size / 2; place -= 997) {
        bytes[place] ^= 0x10;
        write_bytes(path_of(path, key), bytes, size);
        bytes[place] ^= 0x10;
        bool found;
        refused += pes_checkpoint_load(path, key, &loaded, &found) == PES_IO;
        tried++;
    }
    assert_int_equal(refused, tried);
    write_bytes(path_of(path, key), bytes, size);
    bool found;
    assert_ok(pes_checkpoint_load(path, key, &loaded, &found));
    free(bytes);
    free_state(&saved);
    free_state(&loaded);
    teardown(&f);
}

static void a_checkpoint_of_another_model_or_trial_is_refused(void **unused)
{
    (void)unused;
    struct fixture f = setup(SIX_TRIALS);
    const char *path = in_folder("other.h5"), *key = f.sweep->trials[0].key, *other = f.sweep->trials[1].key;
    struct pes_train_state saved = example_state(f.layout, 400), wide = new_state(f.layout, PARAMETERS + 1),
                           loaded = new_state(f.layout, PARAMETERS);
    assert_ok(pes_checkpoint_save(path, key, &saved));
    assert_unusable(path, key, &wide, "number of parameters");
    char from[512];
    snprintf(from, sizeof from, "%s", path_of(path, key));
    assert_int_equal(rename(from, path_of(path, other)), 0);
    assert_unusable(path, other, &loaded, "checksum");
    free_state(&saved);
    free_state(&wide);
    free_state(&loaded);
    teardown(&f);
}

static void the_row_of_a_checkpoint_moves_with_the_layout_of_the_sweep(void **unused)
{
    (void)unused;
    struct fixture f = setup(SIX_TRIALS), deep = setup_sized(SIX_TRIALS, 6);
    const char *path = in_folder("moved.h5"), *key = f.sweep->trials[0].key;
    struct pes_train_state saved = example_state(f.layout, 400), padded = new_state(deep.layout, PARAMETERS),
                           expected = example_state(deep.layout, 400);
    assert_ok(pes_checkpoint_save(path, key, &saved));
    bool found;
    assert_ok(pes_checkpoint_load(path, key, &padded, &found));
    assert_true(found);
    assert_same_state(&expected, &padded); /* layers 4 and 5 have their fill */
    /* Rows of the same length whose variables stand in another order, and one that the old layout lacks. */
    const struct pes_variable new = {"curves", "more", PES_F64, 1, {PES_DIM_EVALUATION}, "", "one more"};
    const struct pes_variable first[] = {fixture_variables[0], new, fixture_variables[1], {.name = NULL}};
    const struct pes_variable *arrays[] = {fixture_variables + 2, first};
    struct pes_layout *turned;
    assert_ok(pes_layout_create(f.layout->size, arrays, 2, f.arena, &turned));
    struct pes_train_state other_order = new_state(turned, PARAMETERS);
    assert_ok(pes_checkpoint_load(path, key, &other_order, &found));
    struct pes_train_state turned_row = example_state(turned, 400);
    for (size_t e = 0; e < 3; e++)
        pes_row_put(&turned_row.row, "curves", "more", &e, (double)NAN);
    assert_same_state(&turned_row, &other_order);
    /* A description that was tampered with isn't believed. */
    size_t size;
    unsigned char *bytes = read_bytes(path_of(path, key), &size);
    unsigned char *text = memmem(bytes, size, "evaluation:3", 12);
    assert_non_null(text);
    text[11] = '4';
    write_bytes(path_of(path, key), bytes, size);
    assert_unusable(path, key, &padded, "what it says of its row is damaged");
    text[10] = 'x';
    write_bytes(path_of(path, key), bytes, size);
    assert_unusable(path, key, &padded, "what it says of its row is damaged");
    free(bytes);
    free_state(&saved);
    free_state(&padded);
    free_state(&expected);
    free_state(&other_order);
    free_state(&turned_row);
    teardown(&f);
    teardown(&deep);
}

static void a_process_killed_while_saving_leaves_the_last_whole_checkpoint(void **unused)
{
    (void)unused;
    struct fixture f = setup(SIX_TRIALS);
    const char *path = in_folder("killed.h5"), *key = f.sweep->trials[0].key;
    for (int attempt = 0; attempt < 8; attempt++) {
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            for (int64_t step = 1;; step++) {
                struct pes_train_state state = example_state(f.layout, step);
                if (pes_checkpoint_save(path, key, &state) != PES_OK || write(ready[1], "x", 1) != 1)
                    _exit(1);
                free_state(&state);
            }
        }
        close(ready[1]);
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);
        usleep((useconds_t)(attempt * 1300));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ready[0]);
        struct pes_train_state loaded = new_state(f.layout, PARAMETERS);
        bool found;
        assert_ok(pes_checkpoint_load(path, key, &loaded, &found));
        assert_true(found);
        struct pes_train_state expected = example_state(f.layout, loaded.step);
        assert_same_state(&expected, &loaded);
        free_state(&expected);
        free_state(&loaded);
    }
    pes_checkpoint_remove(path, key);
    size_t stale;
    pes_checkpoint_tidy(path, f.sweep, &stale);
    assert_int_equal(stale, 0);
    char folder_name[300];
    snprintf(folder_name, sizeof folder_name, "%s.ckpt", path);
    assert_false(exists(folder_name));
    teardown(&f);
}

static void checkpoints_of_other_trials_are_counted_and_kept(void **unused)
{
    (void)unused;
    struct fixture f = setup(SIX_TRIALS), fewer = setup(THREE_TRIALS);
    const char *path = in_folder("stale.h5");
    struct pes_train_state saved = example_state(f.layout, 1);
    assert_ok(pes_checkpoint_save(path, f.sweep->trials[0].key, &saved));
    assert_ok(pes_checkpoint_save(path, f.sweep->trials[1].key, &saved)); /* seed 1: not among the three */
    char part[600];
    snprintf(part, sizeof part, "%s.host.1.0.part", path_of(path, f.sweep->trials[0].key));
    write_bytes(part, "torn", 4);
    size_t stale;
    pes_checkpoint_tidy(path, fewer.sweep, &stale);
    assert_int_equal(stale, 1);
    assert_true(exists(path_of(path, f.sweep->trials[1].key)));
    assert_false(exists(part));
    free_state(&saved);
    teardown(&f);
    teardown(&fewer);
}

static void a_checkpoint_that_cannot_be_written_says_so(void **unused)
{
    (void)unused;
    struct fixture f = setup(SIX_TRIALS);
    struct pes_train_state saved = example_state(f.layout, 1);
    assert_int_equal(pes_checkpoint_save(in_folder("missing/x.h5"), f.sweep->trials[0].key, &saved), PES_IO);
    assert_non_null(strstr(pes_error_message(), "No such file or directory"));
    free_state(&saved);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_saved_is_loaded),
        cmocka_unit_test(torn_and_damaged_checkpoints_are_refused),
        cmocka_unit_test(a_checkpoint_of_another_model_or_trial_is_refused),
        cmocka_unit_test(the_row_of_a_checkpoint_moves_with_the_layout_of_the_sweep),
        cmocka_unit_test(a_process_killed_while_saving_leaves_the_last_whole_checkpoint),
        cmocka_unit_test(checkpoints_of_other_trials_are_counted_and_kept),
        cmocka_unit_test(a_checkpoint_that_cannot_be_written_says_so),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
