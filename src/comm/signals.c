/* signals.c - a request to stop is a flag and nothing else.
 *
 * A batch system sends TERM several times for one event (time limit: TERM, CONT, TERM), so a repeated TERM or
 * USR1 changes nothing; only the second INT, a person at a keyboard, ends the process at once.
 *
 * TERM is also what the other ranks of a dead one get from srun.  They save and would then wait for it,
 * inside MPI, until SLURM's KillWait is over; so a clock is started that ends a rank which has nothing left
 * to save. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pesweep/comm.h"

static volatile sig_atomic_t caught, busy, counting;

unsigned pes_signals_patience = 5;

static void remember(int number)
{
    if (number == SIGINT && caught == SIGINT) _exit(128 + number);
    caught = number;
    if (number == SIGTERM && !counting) {
        counting = 1;
        alarm(pes_signals_patience);
    }
}

static void leave(int number)
{
    (void)number;
    if (busy) {
        alarm(1);
        return;
    }
    static const char text[] =
        "pesweep: after TERM not all ranks came to the end: one has died, or is slow\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(pes_status_exit_code(PES_STOPPED));
}

void pes_signals_install(void)
{
    static const int stopping[] = {SIGUSR1, SIGTERM, SIGINT}, ignored[] = {SIGHUP, SIGPIPE};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = remember;
    action.sa_flags = SA_RESTART; /* writes to the results file aren't cut short */
    for (size_t i = 0; i < PES_COUNT(stopping); i++)
        CHECK(sigaction(stopping[i], &action, NULL) == 0);
    action.sa_handler = leave;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    action.sa_handler = SIG_IGN;
    for (size_t i = 0; i < PES_COUNT(ignored); i++)
        CHECK(sigaction(ignored[i], &action, NULL) == 0);
}

bool pes_signals_set_busy(bool is_busy)
{
    bool before = busy;
    busy = is_busy;
    return before;
}

int pes_signals_caught(void)
{
    return (int)caught;
}

double pes_clock(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
