/* A request to stop is a flag; only a second INT ends the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pesweep/comm.h"

/* Runs `body` in a child and returns its wait status, so that flags and handlers don't leak between tests. */
static int in_child(void (*body)(void))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pes_signals_install();
        body();
        _exit(99);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void raise_usr1(void)
{
    raise(SIGUSR1);
    _exit(pes_signals_caught() == SIGUSR1 ? 0 : 1);
}

static void raise_term_three_times(void)
{
    for (int i = 0; i < 3; i++) {
        raise(SIGTERM);
        raise(SIGCONT);
    }
    _exit(pes_signals_caught() == SIGTERM ? 0 : 1);
}

static void raise_int_twice(void)
{
    raise(SIGINT);
    raise(SIGINT);
}

/* As a rank that waits for a dead one: nobody ends it. */
static void wait_after_term(void)
{
    pes_signals_patience = 1;
    raise(SIGTERM);
    for (;;)
        pause();
}

/* Two seconds of saving are not cut short, and the waiting after them is. */
static void save_after_term(void)
{
    pes_signals_patience = 1;
    pes_signals_set_busy(true);
    raise(SIGTERM);
    double start = pes_clock();
    while (pes_clock() < start + 2)
        usleep(1000);
    pes_signals_set_busy(false);
    wait_after_term();
}

static void raise_what_is_ignored(void)
{
    raise(SIGHUP);
    raise(SIGPIPE);
    _exit(pes_signals_caught());
}

static void nothing_happened(void)
{
    _exit(pes_signals_caught());
}

static void usr1_sets_a_flag(void **state)
{
    (void)state;
    assert_int_equal(in_child(nothing_happened), 0);
    assert_int_equal(in_child(raise_usr1), 0);
}

static void the_repeated_term_of_a_batch_system_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(in_child(raise_term_three_times), 0);
}

static void the_second_int_ends_the_process_with_130(void **state)
{
    (void)state;
    int status = in_child(raise_int_twice);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
}

static void a_rank_that_waits_after_term_ends_by_itself_but_not_while_it_saves(void **state)
{
    (void)state;
    int status = in_child(wait_after_term);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 75);
    double start = pes_clock();
    status = in_child(save_after_term);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 75);
    assert_true(pes_clock() - start >= 2);
}

static void hangups_and_broken_pipes_are_ignored(void **state)
{
    (void)state;
    assert_int_equal(in_child(raise_what_is_ignored), 0);
}

static void cores_and_clock_make_sense_without_mpi(void **state)
{
    (void)state;
    assert_true(pes_cores_allowed() >= 1);
    double before = pes_clock();
    assert_true(pes_clock() >= before);
    assert_int_equal(pes_comm_rank(), 0);
    assert_int_equal(pes_comm_size(), 1);
    assert_null(pes_comm_handle());
    /* Alone, everything collective is trivial. */
    assert_int_equal(pes_comm_worst(PES_IO), PES_IO);
    assert_int_equal(pes_comm_agree("x", 1, "x"), PES_OK);
    int from = 7, to = 0;
    pes_comm_gather(&from, sizeof from, &to);
    assert_int_equal(to, 7);
    assert_false(pes_comm_wait(0.002));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usr1_sets_a_flag),
        cmocka_unit_test(the_repeated_term_of_a_batch_system_changes_nothing),
        cmocka_unit_test(the_second_int_ends_the_process_with_130),
        cmocka_unit_test(a_rank_that_waits_after_term_ends_by_itself_but_not_while_it_saves),
        cmocka_unit_test(hangups_and_broken_pipes_are_ignored),
        cmocka_unit_test(cores_and_clock_make_sense_without_mpi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
