/* Times as people and SLURM write them, and the end of a job as SLURM tells it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../src/schedule/limit.h"
#include "pesweep/schedule.h"

static void times_with_colons_and_dashes_are_read_as_slurm_does(void **state)
{
    (void)state;
    /* sbatch(1), --time: minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes,
     * days-hours:minutes:seconds. */
    static const struct {
        const char *text;
        double seconds;
    } right[] = {{"12:00:00", 43200},   {"1:30", 90},      {"2-12", 216000},
                 {"90:00", 5400},       {"1-0:30", 88200}, {"1-2:3:4", 93784},
                 {"100:00:00", 360000}, {"0:05", 5},       {"00:00:00", 0}};
    for (size_t i = 0; i < PES_COUNT(right); i++) {
        double seconds = -1;
        assert_true(pes_schedule_parse_time(right[i].text, &seconds));
        assert_true(seconds == right[i].seconds);
    }
}

static void bare_numbers_are_seconds_and_units_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double seconds;
    } right[] = {{"90", 90}, {"90s", 90}, {"30m", 1800}, {"1.5h", 5400}, {"2d", 172800}, {"0.25", 0.25}};
    for (size_t i = 0; i < PES_COUNT(right); i++) {
        double seconds = -1;
        assert_true(pes_schedule_parse_time(right[i].text, &seconds));
        assert_true(seconds == right[i].seconds);
    }
}

static void what_is_no_time_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",         "s",       "-5",  "1:",   ":30",          "1:2:3:4",
                                        "1:60",     "1:99:00", "1-",  "-1",   "1-24",         "1-2-3",
                                        "1e3x",     "nan",     "inf", "0x10", "12:0a",        "1 :2",
                                        "1:30 min", "1--2",    "2w",  "+5",   "9999999999:00"};
    for (size_t i = 0; i < PES_COUNT(wrong); i++) {
        double seconds;
        if (pes_schedule_parse_time(wrong[i], &seconds)) fail_msg("'%s' was read as %g s", wrong[i], seconds);
    }
}

static void the_margin_grows_with_the_limit_up_to_half_a_minute(void **state)
{
    (void)state;
    assert_true(pes_limit_margin(2) == 0.5);
    assert_true(pes_limit_margin(60) == 3);
    assert_true(fabs(pes_limit_margin(600) - 12) < 1e-12);
    assert_true(pes_limit_margin(86400) == 30);
}

/* Puts a squeue that runs `script` in front of the path. */
static char folder[] = "/tmp/pesweep-test-XXXXXX";
static void squeue_is(const char *script)
{
    char path[256];
    snprintf(path, sizeof path, "%s/squeue", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    char path[4096];
    snprintf(path, sizeof path, "%s:%s", folder, getenv("PATH"));
    return setenv("PATH", path, 1);
}

static int remove_folder(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s/squeue", folder);
    unlink(path);
    return rmdir(folder);
}

static void outside_a_job_there_is_no_limit(void **state)
{
    (void)state;
    unsetenv("SLURM_JOB_ID");
    squeue_is("echo 1:00");
    assert_true(isinf(pes_limit_of_job()));
}

static void squeue_tells_how_much_time_is_left(void **state)
{
    (void)state;
    setenv("SLURM_JOB_ID", "4711", 1);
    unsetenv("SLURM_JOB_END_TIME");
    squeue_is("[ \"$*\" = '--noheader --jobs 4711 --format=%L' ] && echo 1-02:03:04");
    assert_true(pes_limit_of_job() == 93784);
    squeue_is("echo UNLIMITED");
    assert_true(isinf(pes_limit_of_job()));
}

static void a_slurm_that_fails_or_talks_nonsense_means_no_limit(void **state)
{
    (void)state;
    setenv("SLURM_JOB_ID", "4711", 1);
    squeue_is("echo 5:00; exit 1");
    assert_true(isinf(pes_limit_of_job()));
    squeue_is("echo INVALID");
    assert_true(isinf(pes_limit_of_job()));
    squeue_is("exit 0");
    assert_true(isinf(pes_limit_of_job()));
}

static void the_end_time_of_newer_versions_is_used_without_asking(void **state)
{
    (void)state;
    setenv("SLURM_JOB_ID", "4711", 1);
    squeue_is("echo 5:00");
    char end[32];
    snprintf(end, sizeof end, "%lld", (long long)time(NULL) + 1000);
    setenv("SLURM_JOB_END_TIME", end, 1);
    assert_true(fabs(pes_limit_of_job() - 1000) <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_with_colons_and_dashes_are_read_as_slurm_does),
        cmocka_unit_test(bare_numbers_are_seconds_and_units_are_named),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(the_margin_grows_with_the_limit_up_to_half_a_minute),
        cmocka_unit_test(outside_a_job_there_is_no_limit),
        cmocka_unit_test(squeue_tells_how_much_time_is_left),
        cmocka_unit_test(a_slurm_that_fails_or_talks_nonsense_means_no_limit),
        cmocka_unit_test(the_end_time_of_newer_versions_is_used_without_asking),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
