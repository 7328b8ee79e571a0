/* comm.h - the only place with MPI: launch checks, messages, abort.
 *
 * Works without MPI_Init too (plan, status, export, analyze never call pes_comm_start). */
#ifndef PESWEEP_COMM_H
#define PESWEEP_COMM_H

#include "pesweep/base.h"

/* Initialises MPI (a singleton without mpirun is one rank).  Signal handlers must already be installed.
 * Collective.  PES_INPUT with the repair named if the launcher meant more ranks than there are (srun that
 * started N singletons), or ranks are bound to fewer cores than `threads`. */
enum pes_status pes_comm_start(int *argc, char ***argv, int threads);
void pes_comm_stop(void); /* collective, sleeping barrier, then MPI_Finalize */

int pes_comm_rank(void); /* 0 before the start */
int pes_comm_size(void); /* 1 before the start */
int pes_comm_num_nodes(void);
const char *pes_comm_host(void);
const char *pes_comm_library(void); /* "Open MPI v4.1.4, ..." */
const void *pes_comm_handle(void);  /* const MPI_Comm *, for store's parallel open */

/* Ends every rank with an exit code. */
_Noreturn void pes_comm_abort(int exit_code);

/* Collective.  All ranks compare `count` bytes with rank 0's: PES_INPUT naming host and rank that differ, on
 * every rank.  `what` goes into the message. */
enum pes_status pes_comm_agree(const void *bytes, size_t count, const char *what);
/* Collective: rank 0's bytes to all. */
void pes_comm_broadcast(void *bytes, size_t count);
/* Collective: the largest status of all ranks to all, with its message (pes_error_message) unless it is
 * PES_OK. */
enum pes_status pes_comm_worst(enum pes_status status);
/* Collective: fixed-size texts of all ranks to rank 0 (all[size][bytes], NULL elsewhere). */
void pes_comm_gather(const void *mine, size_t bytes, void *all);

/* Point to point, bytes, any size up to 1 GiB (PES_INTERNAL beyond).  Tags are the scheduler's. */
enum pes_status pes_comm_send(int rank, int tag, const void *bytes, size_t count);
/* True and the sender, tag and size if a message waits. */
bool pes_comm_probe(int *rank, int *tag, size_t *count);
void pes_comm_receive(int rank, int tag, void *bytes, size_t count);

/* Sleeps until a message waits or `seconds` have passed; never spins. */
bool pes_comm_wait(double seconds);
/* Collective barrier that sleeps (1 ms) between tests. */
void pes_comm_barrier(void);

/* Signals: a handler that only sets a flag, for USR1, TERM, INT (HUP and PIPE ignored); installed before
 * pes_comm_start.  A second INT ends the process at once with 130; batch systems repeat TERM, which changes
 * nothing. */
void pes_signals_install(void);
int pes_signals_caught(void); /* number of the signal, 0 if none */
/* A process that isn't busy ends with 75 when it is still there so many seconds after TERM: it waits for a
 * rank that has died.  Busy is who trains, saves or writes a row, but not while a message waits to be taken.
 */
extern unsigned pes_signals_patience;
bool pes_signals_set_busy(bool busy); /* returns what it was */

double pes_clock(void); /* monotonic seconds */

/* Cores this process may run on. */
int pes_cores_allowed(void);

#endif
