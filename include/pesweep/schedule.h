/* schedule.h - who trains what: rank 0 hands out trials, longest first, and trains as well.
 *
 * The policy (which trial next, when) is one set of functions used by the run and by the simulation of
 * `plan`. */
#ifndef PESWEEP_SCHEDULE_H
#define PESWEEP_SCHEDULE_H

#include "pesweep/store.h"

/* Which trials of an earlier start are tried again beside those that never ended. */
enum pes_retry { PES_RETRY_NONE, PES_RETRY_FAILED, PES_RETRY_ALL /* failed and diverged */ };

struct pes_run_options {
    const char *sweep_path;
    const char *output_path;  /* NULL = <name of the sweep>.h5 */
    int threads;              /* per rank */
    bool dedicated_scheduler; /* rank 0 only schedules */
    double started;           /* pes_clock() when the program began; the time limit counts from here */
    double time_limit;        /* seconds; 0 = none (SLURM's end time is asked for) */
    double checkpoint_every;  /* seconds; default 300 */
    enum pes_retry retry;     /* default failed */
    int part, num_parts;      /* only the trials of part 1..num_parts; num_parts 0 = all */
    int writer;               /* enum pes_writer, or -1 = choose */
    bool json, quiet;         /* events as JSON lines on standard output; no progress */
    bool dry_run;             /* check everything, say what would be done, touch nothing */
    /* More to check once the rows' layout is known; NULL = nothing more.  Any rank's refusal is that of all.
     */
    enum pes_status (*check)(const struct pes_sweep *sweep, const struct pes_layout *layout);
    int argc;
    char **argv; /* for provenance */
};

/* Collective, after pes_comm_start: trains everything that isn't done.  PES_OK, PES_SOME_FAILED, PES_STOPPED
 * or an error, the same on every rank.  An error that one rank meets alone while trials run ends the job. */
enum pes_status pes_schedule_run(const struct pes_run_options *options);

/* Seconds of a time: "90" or "90s", "30m", "12h", "2d", or with colons and dashes as SLURM writes it: "1:30"
 * is min:s, "12:00:00" h:min:s, "2-12" days-hours, "2-12:30", "2-12:30:00".  False if it isn't one. */
bool pes_schedule_parse_time(const char *text, double *seconds);

/* The order in which trials are handed out: longest first, ties by number. */
enum pes_status pes_schedule_order(const double *seconds, size_t count, size_t *order);

struct pes_makespan {
    double seconds, busy_seconds; /* wall time; sum of the ranks' useful time */
    double efficiency;            /* busy / (ranks * wall) */
    double longest;               /* the lower bound: longest trial */
};
/* Discrete-event simulation of the policy: `ranks` ranks, rank 0 trains too unless dedicated; message latency
 * and per-trial overhead in seconds. */
enum pes_status pes_schedule_simulate(const double *seconds, size_t count, int ranks, bool dedicated,
                                      double latency, double overhead, struct pes_makespan *makespan);

#endif
