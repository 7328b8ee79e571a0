/* test_store_kills.c - processes killed at any moment, and two processes on one file. */
#include "store_fixture.h"

#include <signal.h>
#include <sys/wait.h>

/* Runs until killed: writes trials one after the other, over and over. */
static _Noreturn void write_for_ever(const char *path, const struct fixture *f, int ready)
{
    struct pes_store *store;
    if (pes_store_prepare(path, f->sweep, f->layout) != PES_OK ||
        pes_store_open(path, f->sweep, f->layout, PES_WRITER_RANK0, &store) != PES_OK)
        _exit(1);
    for (size_t t = 0;; t = (t + 1) % f->sweep->num_trials) {
        struct pes_row row = new_row(f->layout);
        fill_row(&row, f->sweep->trials[t].key, 4);
        struct pes_train_result result = {.outcome = PES_OUTCOME_DONE, .steps = 10};
        if (pes_store_mark_running(store, t, 0) != PES_OK ||
            pes_store_write_trial(store, t, &row, &result, 0) != PES_OK)
            _exit(1);
        free(row.bytes);
        if (write(ready, "x", 1) != 1) _exit(1);
    }
}

static void a_writer_killed_at_any_moment_leaves_a_file_whose_finished_rows_are_right(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    const char *path = in_folder("killed.h5");
    size_t finished = 0;
    for (int attempt = 0; attempt < 12; attempt++) {
        int ready[2];
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) write_for_ever(path, &f, ready[1]);
        close(ready[1]);
        char byte;
        assert_int_equal(read(ready[0], &byte, 1), 1);
        usleep((useconds_t)(attempt * 700));
        kill(child, SIGKILL);
        int how;
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        close(ready[0]);
        struct pes_reader *reader;
        assert_ok(pes_reader_open(path, &reader));
        for (size_t t = 0; t < 6; t++) {
            if (pes_reader_status(reader)[t] != PES_OUTCOME_DONE) continue;
            assert_row(reader, t, f.sweep->trials[t].key, 4);
            finished++;
        }
        pes_reader_close(reader);
    }
    assert_true(finished > 0);
    make_file(path, &f, 0, 6);
    make_file(in_folder("unkilled.h5"), &f, 0, 6);
    assert_same_results(path, in_folder("unkilled.h5"));
    teardown(&f);
}

static void a_second_run_is_refused_and_told_who_has_the_file(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    const char *path = in_folder("busy.h5");
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) write_for_ever(path, &f, ready[1]);
    char byte, process[32];
    assert_int_equal(read(ready[0], &byte, 1), 1);
    enum pes_status status = pes_store_prepare(path, f.sweep, f.layout);
    char message[1024];
    snprintf(message, sizeof message, "%s", pes_error_message());
    /* Readers don't mind. */
    struct pes_reader *reader;
    assert_ok(pes_reader_open(path, &reader));
    pes_reader_close(reader);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(status, PES_BUSY);
    snprintf(process, sizeof process, "process %ld", (long)child);
    assert_non_null(strstr(message, process));
    /* The lock of a dead process is none, though its file is still there. */
    assert_true(exists(in_folder("busy.h5.lock")));
    make_file(path, &f, 0, 1);
    teardown(&f);
}

static void a_writer_that_was_overtaken_stops_writing(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    const char *path = in_folder("fence.h5");
    struct pes_store *old = open_store(path, &f), *new;
    finish(old, &f, 0, PES_OUTCOME_DONE);
    /* A later start on a file system without locks. */
    assert_ok(pes_store_open(path, f.sweep, f.layout, PES_WRITER_RANK0, &new));
    struct pes_row row = new_row(f.layout);
    fill_row(&row, "other", 4);
    struct pes_train_result result = {.outcome = PES_OUTCOME_DONE};
    assert_int_equal(pes_store_write_trial(old, 0, &row, &result, 0), PES_BUSY);
    assert_int_equal(pes_store_mark_running(old, 1, 0), PES_BUSY);
    finish(new, &f, 1, PES_OUTCOME_DONE);
    assert_ok(pes_store_close(new));
    assert_ok(pes_store_close(old));
    struct pes_reader *reader;
    assert_ok(pes_reader_open(path, &reader));
    assert_row(reader, 0, f.sweep->trials[0].key, 4);
    assert_row(reader, 1, f.sweep->trials[1].key, 4);
    pes_reader_close(reader);
    free(row.bytes);
    teardown(&f);
}

/* Brings a file and a sweep together in a child that is killed after some time; true if it got to its end. */
static bool prepare_and_kill(const char *path, const struct fixture *f, useconds_t delay)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) _exit(pes_store_prepare(path, f->sweep, f->layout) == PES_OK ? 0 : 1);
    usleep(delay);
    kill(child, SIGKILL);
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) || WEXITSTATUS(how) == 0);
    return WIFEXITED(how);
}

static void a_file_is_created_whole_or_not_at_all(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    const char *path = in_folder("born.h5");
    bool ended = false;
    for (useconds_t delay = 500; !ended && delay < 5000000; delay += delay / 2) {
        ended = prepare_and_kill(path, &f, delay);
        struct pes_reader *reader;
        if (!exists(path)) continue;
        assert_ok(pes_reader_open(path, &reader));
        assert_int_equal(pes_reader_num_trials(reader), 6);
        pes_reader_close(reader);
        unlink(path);
    }
    assert_true(ended);
    teardown(&f);
}

static void an_extension_that_is_killed_leaves_the_old_file_or_the_new_one(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS), more = setup(NINE_TRIALS);
    const char *path = in_folder("grown.h5");
    make_file(path, &f, 0, 6);
    bool ended = false;
    for (useconds_t delay = 500; !ended && delay < 5000000; delay += delay / 2) {
        ended = prepare_and_kill(path, &more, delay);
        struct pes_reader *reader;
        assert_ok(pes_reader_open(path, &reader));
        size_t num = pes_reader_num_trials(reader), finished = 0;
        assert_true(num == 9 || (num == 6 && !ended));
        for (size_t t = 0; t < num; t++) {
            if (pes_reader_status(reader)[t] != PES_OUTCOME_DONE) continue;
            assert_row(reader, t, pes_reader_key(reader, t), 4);
            finished++;
        }
        assert_int_equal(finished, 6);
        pes_reader_close(reader);
    }
    assert_true(ended);
    teardown(&f);
    teardown(&more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_writer_killed_at_any_moment_leaves_a_file_whose_finished_rows_are_right),
        cmocka_unit_test(a_file_is_created_whole_or_not_at_all),
        cmocka_unit_test(an_extension_that_is_killed_leaves_the_old_file_or_the_new_one),
        cmocka_unit_test(a_second_run_is_refused_and_told_who_has_the_file),
        cmocka_unit_test(a_writer_that_was_overtaken_stops_writing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
