/* test_store_python.c - the results file in h5py, xarray and netCDF4: see tests/python. */
#include "store_fixture.h"

static const char *const pythons[] = {"/usr/bin/python3", "python3"};

/* The first interpreter that has the modules; NULL if there is none. */
static const char *find_python(void)
{
    for (size_t i = 0; i < PES_COUNT(pythons); i++) {
        char command[160];
        snprintf(command, sizeof command, "%s -c 'import h5py, xarray, h5netcdf, netCDF4' >/dev/null 2>&1",
                 pythons[i]);
        if (system(command) == 0) return pythons[i];
    }
    return NULL;
}

static void run_python(const char *script, const char *file)
{
    const char *python = find_python();
    if (!python) skip();
    char command[512];
    snprintf(command, sizeof command, "%s %s/%s %s", python, PES_SOURCE_DIR, script, file);
    assert_int_equal(system(command), 0);
}

static void python_finds_named_dimensions_coordinates_and_texts(void **state)
{
    (void)state;
    struct fixture f = setup(SIX_TRIALS);
    struct pes_store *store = open_store(in_folder("python.h5"), &f);
    int number = -1;
    assert_ok(pes_store_write_run(store, &number, "{\"command\": \"test\"}"));
    finish(store, &f, 1, PES_OUTCOME_DONE);
    finish(store, &f, 4, PES_OUTCOME_DIVERGED);
    assert_ok(pes_store_mark_running(store, 5, 2));
    assert_ok(pes_store_close(store));
    run_python("tests/python/check_results.py", in_folder("python.h5"));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_finds_named_dimensions_coordinates_and_texts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
