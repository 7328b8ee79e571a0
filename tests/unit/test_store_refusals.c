/* test_store_refusals.c - what stands at the path of a results file and isn't one: refused with the reason,
 * untouched. */
#include "store_fixture.h"

#include <hdf5.h>

/* HDF5 itself loses memory when it opens a damaged file. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

/* Prepare and read must both refuse `path` with `expected` in one line, leave its bytes and no other file
 * behind. */
static void assert_refused(const char *path, const char *expected)
{
    struct fixture f = setup(SIX_TRIALS);
    struct stat facts;
    bool is_file = !stat(path, &facts) && S_ISREG(facts.st_mode);
    size_t before_size = 0, after_size;
    unsigned char *before = is_file ? read_bytes(path, &before_size) : NULL;
    struct pes_reader *reader = NULL;
    for (int reading = 0; reading < 2; reading++) {
        enum pes_status status =
            reading ? pes_reader_open(path, &reader) : pes_store_prepare(path, f.sweep, f.layout);
        assert_int_equal(status, PES_INPUT);
        if (!strstr(pes_error_message(), expected) || !strstr(pes_error_message(), path) ||
            strchr(pes_error_message(), '\n'))
            fail_msg("expected '%s', got '%s'", expected, pes_error_message());
    }
    if (is_file) {
        unsigned char *after = read_bytes(path, &after_size);
        assert_int_equal(before_size, after_size);
        assert_memory_equal(before, after, before_size);
        free(after);
        free(before);
    }
    char name[300];
    snprintf(name, sizeof name, "%s.lock", path);
    assert_false(exists(name));
    snprintf(name, sizeof name, "%s.part", path);
    assert_false(exists(name));
    teardown(&f);
}

static void make_good_file(const char *path)
{
    struct fixture f = setup(SIX_TRIALS);
    make_file(path, &f, 0, 2);
    teardown(&f);
}

static void a_truncated_file_is_refused_with_both_sizes(void **state)
{
    (void)state;
    const char *path = in_folder("cut.h5");
    make_good_file(path);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    write_bytes(path, bytes, size / 2);
    char expected[80];
    snprintf(expected, sizeof expected, "truncated, %zu bytes of %zu are there", size / 2, size);
    assert_refused(path, expected);
    for (size_t kept = 8; kept < 2048; kept += 136) {
        write_bytes(path, bytes, kept);
        assert_refused(path, kept < 96 ? "cannot open" : "truncated");
    }
    free(bytes);
}

static void an_empty_file_is_refused(void **state)
{
    (void)state;
    write_bytes(in_folder("empty.h5"), "", 0);
    assert_refused(in_folder("empty.h5"), "is empty");
}

static void a_text_file_is_refused(void **state)
{
    (void)state;
    write_bytes(in_folder("text.h5"), SIX_TRIALS, strlen(SIX_TRIALS));
    assert_refused(in_folder("text.h5"), "is not an HDF5 file");
    write_bytes(in_folder("short.h5"), "\x89H", 2);
    assert_refused(in_folder("short.h5"), "is not an HDF5 file");
}

static void another_programs_hdf5_file_is_refused(void **state)
{
    (void)state;
    const char *path = in_folder("foreign.h5");
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    hid_t group = H5Gcreate2(file, "trials", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
    H5Fclose(file);
    assert_refused(path, "not one of pesweep's results");
}

static void set_version(const char *path, int version)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, "schema_version", H5P_DEFAULT);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT, &version) >= 0);
    H5Aclose(attribute);
    H5Fclose(file);
}

static void older_and_newer_schema_versions_are_refused_by_number(void **state)
{
    (void)state;
    const char *path = in_folder("version.h5");
    make_good_file(path);
    set_version(path, PES_SCHEMA_VERSION - 1);
    assert_refused(path, "older schema version 0");
    set_version(path, PES_SCHEMA_VERSION + 1);
    assert_refused(path, "newer schema version 2");
}

static void a_folder_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("folder.h5"), 0777), 0);
    assert_refused(in_folder("folder.h5"), "is a folder");
}

static void a_file_that_lacks_a_dataset_is_refused_by_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {"trials/status", "trials/key", "provenance/runs", "curves/test_loss",
                                        "provenance/variable_path"};
    for (size_t i = 0; i < PES_COUNT(names); i++) {
        const char *path = in_folder("lacks.h5");
        unlink(path);
        make_good_file(path);
        hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
        assert_true(H5Ldelete(file, names[i], H5P_DEFAULT) >= 0);
        H5Fclose(file);
        assert_refused(path, names[i]);
    }
}

static void a_folder_that_cannot_be_written_is_an_error_of_output(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    assert_int_equal(pes_store_prepare(in_folder("missing/x.h5"), f.sweep, f.layout), PES_IO);
    assert_non_null(strstr(pes_error_message(), "No such file or directory"));
    assert_int_equal(pes_store_prepare("/proc/pesweep.h5", f.sweep, f.layout), PES_IO);
    assert_non_null(strstr(pes_error_message(), "cannot write in its folder"));
    teardown(&f);
}

static void a_missing_file_cannot_be_read(void **state)
{
    (void)state;
    struct pes_reader *reader;
    assert_int_equal(pes_reader_open(in_folder("nowhere.h5"), &reader), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "No such file or directory"));
}

static void a_damaged_head_leads_to_a_message_or_to_right_rows(void **state)
{
    (void)state;
    make_good_file(in_folder("sound.h5"));
    size_t size, refused = 0;
    unsigned char *bytes = read_bytes(in_folder("sound.h5"), &size);
    const char *path = in_folder("damaged.h5");
    for (size_t place = 8; place < 1024; place += 31) {
        bytes[place] ^= 0x55;
        write_bytes(path, bytes, size);
        bytes[place] ^= 0x55;
        struct pes_reader *reader;
        if (pes_reader_open(path, &reader) != PES_OK) {
            assert_non_null(strstr(pes_error_message(), path));
            refused++;
            continue;
        }
        uint64_t stored, computed;
        assert_ok(pes_reader_checksum(reader, 1, &stored, &computed));
        assert_true(stored == computed);
        pes_reader_close(reader);
    }
    assert_true(refused > 5);
    free(bytes);
}

/* Bits of one byte of a dataset, so many bytes from its start. */
static void flip(const char *path, const char *name, size_t at, unsigned char bits)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    haddr_t place = H5Dget_offset(dataset);
    H5Dclose(dataset);
    H5Fclose(file);
    size_t size;
    unsigned char *bytes = read_bytes(path, &size);
    bytes[place + at] ^= bits;
    write_bytes(path, bytes, size);
    free(bytes);
}

static void a_flipped_bit_in_a_row_shows_in_its_checksum_and_the_trial_is_not_carried_over(void **state)
{
    (void)state;
    const char *path = in_folder("flipped.h5");
    struct fixture f = setup(SIX_TRIALS), more = setup(NINE_TRIALS);
    make_file(path, &f, 0, 6);
    struct pes_reader *reader;
    flip(path, "spectra/eigenvalues", 2 * 1024 + 77, 1); /* trial 2: learned, seed 0 */
    assert_ok(pes_reader_open(path, &reader));
    for (size_t t = 0; t < 6; t++) {
        uint64_t stored, computed;
        assert_ok(pes_reader_checksum(reader, t, &stored, &computed));
        assert_int_equal(stored == computed, t != 2);
    }
    pes_reader_close(reader);
    struct pes_store *store = open_store(path, &more);
    uint8_t status[9], reason[9];
    static const uint8_t expected[9] = {2, 2, 0, 0, 2, 0, 2, 2, 0};
    assert_ok(pes_store_read_status(store, status, reason));
    assert_memory_equal(status, expected, 9);
    assert_ok(pes_store_close(store));
    teardown(&f);
    teardown(&more);
}

static void a_status_that_means_nothing_is_refused_with_its_place(void **state)
{
    (void)state;
    const char *path = in_folder("status.h5");
    make_good_file(path);
    flip(path, "trials/status", 3, 5); /* 0: not begun */
    assert_refused(path, "trials/status of trial 3 is 5");
}

/* The fixture's layout without one variable. */
static struct pes_layout *layout_without(const struct fixture *f, const char *name)
{
    bool keep[64];
    for (size_t i = 0; i < f->layout->num_fields; i++)
        keep[i] = strcmp(f->layout->fields[i].variable.name, name) != 0;
    struct pes_layout *layout;
    assert_ok(pes_layout_select(f->layout, keep, f->arena, &layout));
    assert_int_equal(layout->num_fields, f->layout->num_fields - 1);
    assert_null(pes_layout_find(layout, "spectra", name));
    return layout;
}

static void a_variable_that_this_program_does_not_know_is_refused_by_its_name(void **state)
{
    (void)state;
    const char *path = in_folder("newer.h5");
    struct fixture f = setup(SIX_TRIALS);
    make_file(path, &f, 0, 2);
    size_t size, size_now;
    unsigned char *before = read_bytes(path, &size);
    assert_int_equal(pes_store_prepare(path, f.sweep, layout_without(&f, "singular_values")), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "its spectra/singular_values is unknown to this one"));
    assert_non_null(strstr(pes_error_message(), path));
    unsigned char *now = read_bytes(path, &size_now);
    assert_int_equal(size, size_now);
    assert_memory_equal(before, now, size);
    free(before);
    free(now);
    teardown(&f);
}

static void a_variable_that_an_older_program_did_not_write_stays_out_and_rows_stay_as_they_are(void **state)
{
    (void)state;
    const char *path = in_folder("older.h5");
    struct fixture f = setup(SIX_TRIALS);
    struct pes_layout *whole = f.layout;
    f.layout = layout_without(&f, "singular_values");
    make_file(path, &f, 0, 2);
    struct pes_reader *reader;
    bool keep[64];
    size_t num_lacking = 0;
    memset(keep, true, sizeof keep);
    assert_ok(pes_reader_open(path, &reader));
    assert_ok(pes_reader_fit(reader, f.sweep->settings, whole, keep, &num_lacking));
    pes_reader_close(reader);
    assert_int_equal(num_lacking, 1);
    for (size_t i = 0; i < whole->num_fields; i++)
        assert_int_equal(keep[i], strcmp(whole->fields[i].variable.name, "singular_values") != 0);
    assert_int_equal(pes_store_prepare(path, f.sweep, whole), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "its spectra/singular_values is missing, but known"));
    struct pes_store *store = open_store(path, &f);
    for (size_t t = 2; t < 6; t++)
        finish(store, &f, t, PES_OUTCOME_DONE);
    assert_ok(pes_store_close(store));
    make_file(in_folder("at-once.h5"), &f, 0, 6);
    assert_same_results(path, in_folder("at-once.h5"));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_truncated_file_is_refused_with_both_sizes),
        cmocka_unit_test(an_empty_file_is_refused),
        cmocka_unit_test(a_text_file_is_refused),
        cmocka_unit_test(another_programs_hdf5_file_is_refused),
        cmocka_unit_test(older_and_newer_schema_versions_are_refused_by_number),
        cmocka_unit_test(a_folder_is_refused),
        cmocka_unit_test(a_variable_that_this_program_does_not_know_is_refused_by_its_name),
        cmocka_unit_test(a_variable_that_an_older_program_did_not_write_stays_out_and_rows_stay_as_they_are),
        cmocka_unit_test(a_status_that_means_nothing_is_refused_with_its_place),
        cmocka_unit_test(a_file_that_lacks_a_dataset_is_refused_by_its_name),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_an_error_of_output),
        cmocka_unit_test(a_missing_file_cannot_be_read),
        cmocka_unit_test(a_damaged_head_leads_to_a_message_or_to_right_rows),
        cmocka_unit_test(a_flipped_bit_in_a_row_shows_in_its_checksum_and_the_trial_is_not_carried_over),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
