/* test_command_results.c - the commands that look into a results file: status, verify, export. */
#include "store_fixture.h"

#include <hdf5.h>
#include <jansson.h>

#include "pesweep/command.h"

/* Runs a command line of at most 12 words; its output stands in *out (to be freed). */
static enum pes_status run_command(const char *line, char **out)
{
    char words[1024], *argv[16] = {NULL};
    int argc = 0;
    snprintf(words, sizeof words, "pesweep %s", line);
    for (char *word = strtok(words, " "); word && argc < 15; word = strtok(NULL, " "))
        argv[argc++] = word;
    const char *path = in_folder("output");
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    assert_true(saved >= 0);
    assert_non_null(freopen(path, "wb", stdout));
    enum pes_status status = pes_command_dispatch(argc, argv);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    bytes[size] = 0;
    if (out)
        *out = (char *)bytes;
    else
        free(bytes);
    return status;
}

static char line[600];
#define LINE(...) (snprintf(line, sizeof line, __VA_ARGS__), line)

/* Six trials: 0, 1 done, 2 diverged, 3 failed, 4 left running, 5 pending. */
static void make_mixed_file(const char *path, bool damaged)
{
    struct fixture f = setup(SIX_TRIALS);
    struct pes_store *store = open_store(path, &f);
    int number = -1;
    assert_ok(pes_store_write_run(store, &number, "{\"command\": [\"run\"]}"));
    finish(store, &f, 0, PES_OUTCOME_DONE);
    finish(store, &f, 1, PES_OUTCOME_DONE);
    finish(store, &f, 2, PES_OUTCOME_DIVERGED);
    finish(store, &f, 3, PES_OUTCOME_FAILED);
    assert_ok(pes_store_mark_running(store, 4, 1));
    assert_ok(pes_store_close(store));
    if (damaged) {
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
              dataset = H5Dopen2(file, "curves/test_loss", H5P_DEFAULT);
        haddr_t place = H5Dget_offset(dataset) + 24;
        H5Dclose(dataset);
        H5Fclose(file);
        size_t size;
        unsigned char *bytes = read_bytes(path, &size);
        bytes[place] ^= 1; /* trial 1 */
        write_bytes(path, bytes, size);
        free(bytes);
    }
    teardown(&f);
}

static void status_counts_and_names_what_is_not_done(void **state)
{
    (void)state;
    make_mixed_file(in_folder("s.h5"), false);
    char *out;
    assert_ok(run_command(LINE("status %s", in_folder("s.h5")), &out));
    assert_non_null(strstr(out, "6 trials: 1 diverged, 1 failed, 2 done, 1 interrupted, 1 pending"));
    assert_non_null(strstr(out, "4 (pe=rope seed=0) on rank 1"));
    assert_non_null(strstr(out, "2 (pe=learned seed=0) at step 7: loss_bound: loss 2e+04 at step 7"));
    free(out);
    assert_ok(run_command(LINE("status --json %s", in_folder("s.h5")), &out));
    json_t *answer = json_loads(out, 0, NULL);
    assert_non_null(answer);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(answer, "counts"), "done")), 2);
    assert_int_equal(json_array_size(json_object_get(answer, "unfinished_and_failed")), 3);
    assert_true(json_is_false(json_object_get(answer, "being_written")));
    assert_true(json_is_object(json_object_get(answer, "latest_run")));
    json_decref(answer);
    free(out);
}

static void status_says_who_is_writing(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    struct pes_store *store = open_store(in_folder("w.h5"), &f);
    finish(store, &f, 0, PES_OUTCOME_DONE);
    assert_ok(pes_store_mark_running(store, 1, 0));
    char *out, process[48];
    assert_ok(run_command(LINE("status %s", in_folder("w.h5")), &out));
    snprintf(process, sizeof process, "process %ld", (long)getpid());
    assert_non_null(strstr(out, process));
    assert_non_null(strstr(out, "1 running"));
    assert_non_null(strstr(out, "trials an hour"));
    free(out);
    assert_ok(pes_store_close(store));
    teardown(&f);
}

static void watching_ends_with_the_last_trial(void **state)
{
    (void)state;
    struct fixture f = setup(THREE_TRIALS);
    make_file(in_folder("end.h5"), &f, 0, 3);
    char *out;
    assert_ok(run_command(LINE("status --watch %s", in_folder("end.h5")), &out));
    assert_non_null(strstr(out, "3 trials: 3 done"));
    free(out);
    teardown(&f);
}

static void verify_finds_the_damaged_row(void **state)
{
    (void)state;
    char *out;
    make_mixed_file(in_folder("sound.h5"), false);
    assert_ok(run_command(LINE("verify %s", in_folder("sound.h5")), &out));
    assert_non_null(strstr(out, "4 of 6 trials are finished"));
    free(out);
    make_mixed_file(in_folder("damaged.h5"), true);
    assert_int_equal(run_command(LINE("verify %s", in_folder("damaged.h5")), &out), PES_DIFFERENT);
    assert_int_equal(pes_status_exit_code(PES_DIFFERENT), 1);
    assert_non_null(strstr(out, "trial 1 (pe=nope seed=1): its row does not fit its checksum"));
    free(out);
    assert_int_equal(run_command(LINE("verify %s --json", in_folder("damaged.h5")), &out), PES_DIFFERENT);
    json_t *answer = json_loads(out, 0, NULL);
    assert_non_null(answer);
    assert_int_equal(json_array_size(json_object_get(answer, "damaged")), 1);
    json_decref(answer);
    free(out);
}

static void exported_weights_and_tables_are_what_python_reads(void **state)
{
    (void)state;
    make_mixed_file(in_folder("e.h5"), false);
    struct fixture f = setup(SIX_TRIALS);
    char path[256], command[1024];
    snprintf(path, sizeof path, "%s", in_folder("e.h5"));
    assert_ok(run_command(LINE("export %s --trial 2 -o %s", path, in_folder("model.safetensors")), NULL));
    assert_ok(run_command(
        LINE("export %s --key %.12s -o %s", path, f.sweep->trials[2].key, in_folder("key.safetensors")),
        NULL));
    assert_ok(run_command(LINE("export %s --trials -o %s", path, in_folder("trials.csv")), NULL));
    assert_ok(run_command(LINE("export %s --curves -o %s", path, in_folder("curves.csv")), NULL));
    assert_ok(run_command(LINE("export %s --spectra -o %s", path, in_folder("spectra.csv")), NULL));
    assert_false(exists(in_folder("model.safetensors.part")));
    teardown(&f);
    if (system("/usr/bin/python3 -c 'import h5py, pandas' >/dev/null 2>&1") != 0) skip();
    snprintf(command, sizeof command, "/usr/bin/python3 %s/tests/python/check_export.py %s", PES_SOURCE_DIR,
             folder);
    assert_int_equal(system(command), 0);
}

static void export_refuses_what_has_no_weights(void **state)
{
    (void)state;
    make_mixed_file(in_folder("n.h5"), false);
    char path[256];
    snprintf(path, sizeof path, "%s", in_folder("n.h5"));
    static const char *const refused[][2] = {
        {"--trial 3", "trial 3 is failed"},
        {"--trial 5", "trial 5 is pending"},
        {"--trial 6", "no trial 6"},
        {"--key zz", "a key that begins"},
        {"--trial 1 --curves", "needs one of"},
        {"", "needs one of"},
    };
    for (size_t i = 0; i < PES_COUNT(refused); i++) {
        assert_int_equal(run_command(LINE("export %s %s -o %s", path, refused[i][0], in_folder("x")), NULL),
                         PES_INPUT);
        if (!strstr(pes_error_message(), refused[i][1]))
            fail_msg("%s: %s", refused[i][0], pes_error_message());
        assert_false(exists(in_folder("x")));
    }
    assert_int_equal(run_command(LINE("export %s --trial 1", path), NULL), PES_INPUT);
    assert_int_equal(run_command(LINE("export %s --trials -o %s", path, in_folder("missing/x.csv")), NULL),
                     PES_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_counts_and_names_what_is_not_done),
        cmocka_unit_test(status_says_who_is_writing),
        cmocka_unit_test(watching_ends_with_the_last_trial),
        cmocka_unit_test(verify_finds_the_damaged_row),
        cmocka_unit_test(exported_weights_and_tables_are_what_python_reads),
        cmocka_unit_test(export_refuses_what_has_no_weights),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
