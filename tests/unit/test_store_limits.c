/* test_store_limits.c - what goes wrong from outside: no memory, no room, large transfers, texts that aren't
 * UTF-8. */
#include "store_fixture.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "pesweep/log.h"

#include "../../src/store/create.h"
#include "../../src/store/files.h"

static void rows_that_go_in_pieces_are_the_same(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("whole.h5"), &f, 0, 6);
    size_t usual = hdf_piece_bytes;
    hdf_piece_bytes = 56; /* cuts every axis of the rows, and is no multiple of anything */
    make_file(in_folder("pieces.h5"), &f, 0, 6);
    struct pes_reader *pieces, *whole;
    assert_ok(pes_reader_open(in_folder("whole.h5"), &whole));
    for (size_t t = 0; t < 6; t++)
        assert_row(whole, t, f.sweep->trials[t].key, 4);
    hdf_piece_bytes = usual;
    assert_ok(pes_reader_open(in_folder("pieces.h5"), &pieces));
    for (size_t t = 0; t < 6; t++)
        assert_row(pieces, t, f.sweep->trials[t].key, 4);
    pes_reader_close(pieces);
    pes_reader_close(whole);
    teardown(&f);
}

/* --- no memory --- */

/* Checks its rows, and finds that it has all variables of the layout. */
static enum pes_status check_and_fit(struct pes_reader *reader, const struct fixture *f)
{
    bool right[9], keep[64];
    size_t num_lacking = 0;
    struct pes_layout *layout;
    memset(keep, true, sizeof keep);
    struct pes_arena *arena = pes_arena_create();
    enum pes_status status = arena ? pes_reader_verify(reader, right) : PES_MEMORY;
    if (status == PES_OK) status = pes_reader_fit(reader, f->sweep->settings, f->layout, keep, &num_lacking);
    if (status == PES_OK) status = pes_layout_select(f->layout, keep, arena, &layout);
    if (status == PES_OK) {
        assert_int_equal(num_lacking, 0);
        assert_int_equal(layout->row_bytes, f->layout->row_bytes);
    }
    pes_arena_destroy(arena);
    return status;
}

static void every_allocation_may_fail_while_a_file_is_made_and_read(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS), more = setup(NINE_TRIALS);
    bool done = false;
    assert_ok(pes_log_open(NULL, true, false));
    /* The first ones one by one, the many alike ones later in steps. */
    for (long n = 1; !done; n += 1 + n / 12) {
        unlink(in_folder("memory.h5"));
        pes_allocate_fail_after(n);
        struct pes_store *store = NULL;
        struct pes_reader *reader = NULL;
        enum pes_status status = pes_store_prepare(in_folder("memory.h5"), f.sweep, f.layout);
        if (status == PES_OK)
            status = pes_store_open(in_folder("memory.h5"), f.sweep, f.layout, PES_WRITER_RANK0, &store);
        if (status == PES_OK) {
            pes_store_close(store);
            status = pes_store_prepare(in_folder("memory.h5"), more.sweep, more.layout);
        }
        if (status == PES_OK)
            status =
                pes_store_open(in_folder("memory.h5"), more.sweep, more.layout, PES_WRITER_RANK0, &store);
        if (status == PES_OK) {
            pes_store_close(store);
            status = pes_reader_open(in_folder("memory.h5"), &reader);
        }
        if (status == PES_OK && (status = check_and_fit(reader, &more)) != PES_OK) pes_reader_close(reader);
        const struct pes_sweep *sweep = status == PES_OK ? pes_reader_sweep(reader) : NULL;
        done = pes_allocate_fail_after(0) < n; /* it came to its end without a failure */
        if (status == PES_OK) pes_reader_close(reader);
        assert_true(!done || (sweep && n > 50));
        if (status != PES_OK && status != PES_MEMORY) fail_msg("allocation %ld: %s", n, pes_error_message());
        assert_false(exists(in_folder("memory.h5.part")));
        assert_false(exists(in_folder("memory.h5.lock")));
        assert_int_equal(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
    }
    pes_log_close();
    teardown(&f);
    teardown(&more);
}

/* --- no room --- */

/* Runs `work` in a child whose files may not grow beyond `bytes`; its exit code. */
static int with_file_limit(rlim_t bytes, int (*work)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, bytes});
        _exit(work());
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 100 + WTERMSIG(how);
}

static int create_a_file(void)
{
    struct fixture f = setup(SIX_TRIALS);
    if (pes_store_prepare(in_folder("room.h5"), f.sweep, f.layout) != PES_IO) return 1;
    if (!strstr(pes_error_message(), "File too large") || strchr(pes_error_message(), '\n')) return 2;
    return exists(in_folder("room.h5")) || exists(in_folder("room.h5.part")) ? 3 : 0;
}

static void a_file_that_cannot_be_completed_is_not_left_behind(void **state)
{
    (void)state;
    static const rlim_t limits[] = {50, 3000, 40000, 200000, 600000};
    for (size_t i = 0; i < PES_COUNT(limits); i++)
        assert_int_equal(with_file_limit(limits[i], create_a_file), 0);
}

static int write_a_trial(void)
{
    struct fixture f = setup(SIX_TRIALS);
    struct pes_store *store = open_store(in_folder("full.h5"), &f);
    struct pes_row row = new_row(f.layout);
    fill_row(&row, f.sweep->trials[2].key, 4);
    struct pes_train_result result = {.outcome = PES_OUTCOME_DONE, .steps = 10};
    if (pes_store_write_trial(store, 2, &row, &result, 0) != PES_IO) return 1;
    if (!strstr(pes_error_message(), "of trial 2: File too large")) return 2;
    return pes_store_close(store) == PES_OK ? 0 : 3;
}

static void a_row_that_cannot_be_written_leaves_the_trial_unfinished(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("full.h5"), &f, 0, 1);
    assert_int_equal(with_file_limit(48000, write_a_trial), 0);
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("full.h5"), &reader));
    assert_int_equal(pes_reader_status(reader)[2], PES_OUTCOME_PENDING);
    assert_row(reader, 0, f.sweep->trials[0].key, 4);
    pes_reader_close(reader);
    teardown(&f);
}

static int replace_a_trial(void)
{
    struct fixture f = setup(SIX_TRIALS);
    struct pes_store *store = open_store(in_folder("replaced.h5"), &f);
    struct pes_row row = new_row(f.layout);
    fill_row(&row, "another row", 4);
    struct pes_train_result result = {.outcome = PES_OUTCOME_DONE, .steps = 10};
    return pes_store_write_trial(store, 2, &row, &result, 0) == PES_IO ? 0 : 1;
}

static void a_finished_row_that_is_half_replaced_is_no_longer_believed(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    make_file(in_folder("replaced.h5"), &f, 0, 6);
    assert_int_equal(with_file_limit(48000, replace_a_trial), 0);
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("replaced.h5"), &reader));
    static const uint8_t expected[6] = {2, 2, 1, 2, 2, 2};
    assert_memory_equal(pes_reader_status(reader), expected, 6);
    uint64_t stored, computed;
    assert_ok(pes_reader_checksum(reader, 2, &stored, &computed));
    assert_true(stored != computed);
    pes_reader_close(reader);
    teardown(&f);
}

static void a_file_larger_than_the_room_there_is_is_refused_at_once(void **state)
{
    (void)state;
    assert_ok(store_check_room(in_folder("any.h5"), 4096));
    assert_int_equal(store_check_room(in_folder("any.h5"), UINT64_C(1) << 60), PES_IO);
    assert_non_null(strstr(pes_error_message(), "there is room for"));
}

/* --- texts --- */

static void a_message_is_cut_between_characters_and_never_breaks_utf_8(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    struct pes_store *store = open_store(in_folder("message.h5"), &f);
    struct pes_row row = new_row(f.layout);
    pes_row_clear(&row);
    struct pes_train_result result = {.outcome = PES_OUTCOME_FAILED, .reason = PES_REASON_DATA};
    memset(result.message, 'a', sizeof result.message);
    memcpy(result.message + 254, "\xC3\xBC", 2); /* would need byte 255, which the final NUL has */
    assert_ok(pes_store_write_trial(store, 0, &row, &result, 0));
    strcpy(result.message, "broken \xFF, \xE2\x82, whole \xE2\x82\xAC");
    assert_ok(pes_store_write_trial(store, 1, &row, &result, 0));
    assert_ok(pes_store_close(store));
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("message.h5"), &reader));
    assert_int_equal(strlen(pes_reader_message(reader, 0)), 254);
    assert_string_equal(pes_reader_message(reader, 1), "broken ?, ??, whole \xE2\x82\xAC");
    pes_reader_close(reader);
    free(row.bytes);
    teardown(&f);
}

static void a_sweep_file_in_utf_16_is_kept_as_utf_8(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    /* "a", u umlaut, euro sign, U+1D11E as a surrogate pair */
    static const char little[] = "\xFF\xFE"
                                 "a\0"
                                 "\xFC\0"
                                 "\xAC\x20"
                                 "\x34\xD8\x1E\xDD";
    static const char big[] = "\xFE\xFF"
                              "\0a"
                              "\0\xFC"
                              "\x20\xAC"
                              "\xD8\x34\xDD\x1E";
    static const char expected[] = "a\xC3\xBC\xE2\x82\xAC\xF0\x9D\x84\x9E";
    assert_string_equal(store_text_as_utf8(little, sizeof little - 1, arena), expected);
    assert_string_equal(store_text_as_utf8(big, sizeof big - 1, arena), expected);
    assert_string_equal(store_text_as_utf8("\xEF\xBB\xBFplain", 8, arena), "plain");
    assert_string_equal(store_text_as_utf8("", 0, arena), "");
    pes_arena_destroy(arena);
}

static void one_node_shares_and_an_unknown_folder_does_not(void **state)
{
    (void)state;
    const char *reason;
    assert_int_equal(pes_store_choose_writer(in_folder("x.h5"), 1, &reason), PES_WRITER_SHARED);
    assert_int_equal(pes_store_choose_writer(in_folder("missing/x.h5"), 2, &reason), PES_WRITER_RANK0);
    assert_non_null(reason);
}

static void a_run_is_seen_while_it_holds_the_file(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    char owner[512], process[32];
    snprintf(process, sizeof process, "process %ld", (long)getpid());
    assert_false(pes_store_is_running(in_folder("seen.h5"), owner));
    struct pes_store *store = open_store(in_folder("seen.h5"), &f);
    assert_true(pes_store_is_running(in_folder("seen.h5"), owner));
    assert_non_null(strstr(owner, process));
    assert_non_null(strstr(owner, "start 1 of this file"));
    /* By another name too. */
    assert_int_equal(symlink(in_folder("seen.h5"), in_folder("alias.h5")), 0);
    assert_true(pes_store_is_running(in_folder("alias.h5"), owner));
    assert_ok(pes_store_close(store));
    assert_false(pes_store_is_running(in_folder("seen.h5"), owner));
    teardown(&f);
}

static void an_extension_through_a_link_replaces_the_file_behind_it(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS), more = setup(NINE_TRIALS);
    make_file(in_folder("real.h5"), &f, 0, 6);
    assert_int_equal(symlink("real.h5", in_folder("link.h5")), 0);
    make_file(in_folder("link.h5"), &more, 0, 0);
    struct stat facts;
    assert_int_equal(lstat(in_folder("link.h5"), &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    struct pes_reader *reader;
    assert_ok(pes_reader_open(in_folder("real.h5"), &reader));
    assert_int_equal(pes_reader_num_trials(reader), 9);
    pes_reader_close(reader);
    teardown(&f);
    teardown(&more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_go_in_pieces_are_the_same),
        cmocka_unit_test(every_allocation_may_fail_while_a_file_is_made_and_read),
        cmocka_unit_test(a_file_that_cannot_be_completed_is_not_left_behind),
        cmocka_unit_test(a_row_that_cannot_be_written_leaves_the_trial_unfinished),
        cmocka_unit_test(a_finished_row_that_is_half_replaced_is_no_longer_believed),
        cmocka_unit_test(a_file_larger_than_the_room_there_is_is_refused_at_once),
        cmocka_unit_test(a_message_is_cut_between_characters_and_never_breaks_utf_8),
        cmocka_unit_test(a_sweep_file_in_utf_16_is_kept_as_utf_8),
        cmocka_unit_test(one_node_shares_and_an_unknown_folder_does_not),
        cmocka_unit_test(a_run_is_seen_while_it_holds_the_file),
        cmocka_unit_test(an_extension_through_a_link_replaces_the_file_behind_it),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
