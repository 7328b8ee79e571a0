/* The launcher's promise against what MPI sees, by the variables that mpirun, mpiexec and srun leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/comm/launch.h"

static void set(const char *name, const char *value)
{
    assert_int_equal(setenv(name, value, 1), 0);
}

static int forget_launchers(void **state)
{
    (void)state;
    static const char *const names[] = {
        "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE",    "PMI_RANK", "PMI_FD", "PMIX_RANK",
        "SLURM_STEP_NUM_TASKS", "SLURM_PROCID",         "SLURM_JOB_ID"};
    for (size_t i = 0; i < PES_COUNT(names); i++)
        unsetenv(names[i]);
    return 0;
}

static void a_program_started_by_hand_is_one_rank(void **state)
{
    (void)state;
    struct pes_launch launch = pes_launch_read();
    assert_int_equal(launch.launcher, PES_LAUNCHER_NONE);
    assert_int_equal(launch.size, 1);
    assert_int_equal(pes_launch_check_wiring(&launch), PES_OK);
    assert_int_equal(pes_launch_check_size(&launch, 1, "Open MPI"), PES_OK);
}

static void mpirun_is_believed_before_the_srun_that_started_its_daemons(void **state)
{
    (void)state;
    set("OMPI_COMM_WORLD_SIZE", "8");
    set("OMPI_COMM_WORLD_RANK", "5");
    set("SLURM_STEP_NUM_TASKS", "2");
    set("SLURM_PROCID", "1");
    struct pes_launch launch = pes_launch_read();
    assert_int_equal(launch.launcher, PES_LAUNCHER_OMPI);
    assert_int_equal(launch.size, 8);
    assert_int_equal(launch.rank, 5);
    assert_int_equal(pes_launch_check_size(&launch, 8, "Open MPI"), PES_OK);
}

static void srun_that_started_singletons_is_refused_with_the_repair(void **state)
{
    (void)state;
    set("SLURM_STEP_NUM_TASKS", "4");
    set("SLURM_PROCID", "2");
    struct pes_launch launch = pes_launch_read();
    assert_int_equal(launch.rank, 2);
    assert_int_equal(pes_launch_check_wiring(&launch), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "srun --mpi=pmix"));
    /* Wired, but for another MPI library: it shows only once MPI has started. */
    set("PMI_RANK", "2");
    launch = pes_launch_read();
    assert_int_equal(pes_launch_check_wiring(&launch), PES_OK);
    assert_int_equal(pes_launch_check_size(&launch, 1, "Open MPI v4.1.4"), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "4 tasks"));
    assert_non_null(strstr(pes_error_message(), "sees 1"));
    assert_int_equal(pes_launch_check_size(&launch, 4, "Open MPI v4.1.4"), PES_OK);
}

static void one_task_of_srun_needs_no_wiring(void **state)
{
    (void)state;
    set("SLURM_STEP_NUM_TASKS", "1");
    set("SLURM_PROCID", "0");
    struct pes_launch launch = pes_launch_read();
    assert_int_equal(pes_launch_check_wiring(&launch), PES_OK);
}

static void the_batch_script_itself_is_no_step(void **state)
{
    (void)state;
    set("SLURM_JOB_ID", "77");
    set("SLURM_PROCID", "0");
    assert_int_equal(pes_launch_read().launcher, PES_LAUNCHER_NONE);
}

static void an_mpirun_of_another_library_is_refused(void **state)
{
    (void)state;
    set("PMI_SIZE", "4");
    set("PMI_RANK", "3");
    struct pes_launch launch = pes_launch_read();
    assert_int_equal(launch.launcher, PES_LAUNCHER_PMI);
    assert_int_equal(pes_launch_check_size(&launch, 1, "Open MPI v4.1.4"), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "mpirun that belongs to"));
}

static void variables_that_are_no_numbers_promise_nothing(void **state)
{
    (void)state;
    set("OMPI_COMM_WORLD_SIZE", "many");
    set("PMI_SIZE", "-3");
    assert_int_equal(pes_launch_read().size, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_program_started_by_hand_is_one_rank, forget_launchers),
        cmocka_unit_test_setup(mpirun_is_believed_before_the_srun_that_started_its_daemons, forget_launchers),
        cmocka_unit_test_setup(srun_that_started_singletons_is_refused_with_the_repair, forget_launchers),
        cmocka_unit_test_setup(one_task_of_srun_needs_no_wiring, forget_launchers),
        cmocka_unit_test_setup(the_batch_script_itself_is_no_step, forget_launchers),
        cmocka_unit_test_setup(an_mpirun_of_another_library_is_refused, forget_launchers),
        cmocka_unit_test_setup(variables_that_are_no_numbers_promise_nothing, forget_launchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
