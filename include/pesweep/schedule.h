/* schedule.h - who trains what: rank 0 hands out trials, longest first, and trains as well.
 *
 * The policy (which trial next, when) is one set of functions used by the run and by the simulation of `plan`. */
#ifndef PESWEEP_SCHEDULE_H
#define PESWEEP_SCHEDULE_H

#include "pesweep/store.h"

enum pes_retry { PES_RETRY_NONE, PES_RETRY_FAILED, PES_RETRY_ALL };

struct pes_run_options {
    const char *sweep_path, *output_path;
    int threads;                /* per rank */
    bool dedicated_scheduler;   /* rank 0 only schedules */
    double time_limit;          /* seconds from the start; 0 = none (SLURM's end time is asked for) */
    double checkpoint_every;    /* seconds; default 300 */
    enum pes_retry retry;       /* default failed */
    int writer;                 /* enum pes_writer, or -1 = choose */
    bool json, quiet;           /* events as JSON lines on standard output; no progress */
    int argc;
    char **argv;                /* for provenance */
};

/* Collective: trains everything that isn't done.  PES_OK, PES_SOME_FAILED, PES_STOPPED or an error. */
enum pes_status pes_schedule_run(const struct pes_run_options *options);

/* The order in which trials are handed out: longest first, ties by number. */
void pes_schedule_order(const double *seconds, size_t count, size_t *order);

struct pes_makespan {
    double seconds, busy_seconds; /* wall time; sum of the ranks' useful time */
    double efficiency;            /* busy / (ranks * wall) */
    double longest;               /* the lower bound: longest trial */
};
/* Discrete-event simulation of the policy: `ranks` ranks, rank 0 trains too unless dedicated; message latency and
 * per-trial overhead in seconds. */
void pes_schedule_simulate(const double *seconds, size_t count, int ranks, bool dedicated, double latency,
                           double overhead, struct pes_makespan *makespan);

#endif
