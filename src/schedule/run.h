/* run.h - what the files of this module share while a sweep runs.
 *
 * Every rank that trains is a worker; rank 0 holds the scheduler too.  Workers report what happened, the
 * scheduler gives orders; between rank 0's own two halves reports and orders are function calls instead of
 * messages.
 *
 *   worker -> scheduler   READY, then per trial STARTED, PROGRESS..., ENDED or STOPPED; at last LEAVING
 *   scheduler -> worker   TRAIN a trial next; FINISH (nothing more will come) or STOP (save and leave); BYE,
 * the answer to LEAVING, after which no message of either is under way */
#ifndef PESWEEP_SRC_SCHEDULE_RUN_H
#define PESWEEP_SRC_SCHEDULE_RUN_H

#include "pesweep/schedule.h"
#include "policy.h"

enum run_tag { RUN_TAG_REPORT = 1, RUN_TAG_ORDER, RUN_TAG_ROW /* an ENDED report and the row behind it */ };

enum report_kind {
    REPORT_READY,
    REPORT_STARTED,
    REPORT_PROGRESS,
    REPORT_ENDED,
    REPORT_STOPPED,
    REPORT_LEAVING
};
enum stop_cause { STOP_NONE, STOP_SIGNAL, STOP_LIMIT, STOP_OUTPUT };

struct report {
    int32_t kind;
    int32_t cause;         /* LEAVING: why, enum stop_cause */
    int32_t signal_number; /* LEAVING because of STOP_SIGNAL */
    int32_t unused;
    uint64_t trial;
    double fraction;    /* PROGRESS: share of the steps done */
    int64_t first_step; /* ENDED: where a checkpoint let it go on; 0 = from the start */
    double seconds;     /* ENDED, STOPPED: of this part of the trial, writing included */
    struct pes_train_result result;
};

enum order_kind { ORDER_TRAIN, ORDER_FINISH, ORDER_STOP, ORDER_BYE };

struct order {
    int32_t kind;
    uint32_t unused;
    uint64_t trial;
};

struct worker {
    size_t trial, next; /* in hand; held; PES_NO_TRIAL = none */
    bool finish, bye;
    enum stop_cause stop;                             /* STOP_NONE = go on */
    double last_look, last_progress, next_checkpoint; /* pes_clock */
    double busy_seconds;
    int64_t first_step; /* of the trial in hand */
    bool checkpoint_warned;
};

struct run {
    const struct pes_run_options *options;
    char output_path[4096];
    struct pes_sweep *sweep;
    struct pes_arena *arena;
    struct pes_layout *layout;
    bool *mine; /* [num_trials] whether this run is to train the trial: see part.c */
    struct pes_store *store;
    enum pes_writer writer;
    struct pes_row row;       /* of the trial in hand */
    unsigned char *row_bytes; /* a report with its row behind it: what RUN_TAG_ROW carries */
    double deadline;          /* pes_clock at which trials are left; infinity = never */
    struct worker worker;
    struct scheduler *scheduler; /* rank 0; NULL elsewhere */
};

/* run.row points behind the report. */
#define RUN_ROW_MESSAGE_BYTES(run) (sizeof(struct report) + (run)->layout->row_bytes)

/* Trains what it is told until it is told to leave. */
void pes_worker_run(struct run *run);
void pes_worker_obey(struct run *run, const struct order *order);

/* Rank 0.  `wanted` as for the policy.  NULL: no memory. */
struct scheduler *pes_scheduler_create(struct run *run, const bool *wanted);
void pes_scheduler_destroy(struct scheduler *scheduler);
void pes_scheduler_report(struct run *run, int rank, const struct report *report);
/* Takes in the messages that wait, gives out what can be given, shows progress. */
void pes_scheduler_serve(struct run *run);
/* Serves until every other rank has left. */
void pes_scheduler_finish(struct run *run);

/* How it went. */
struct run_tally {
    size_t wanted, done, failed, diverged; /* of this start */
    size_t pending;                        /* never given out */
    enum stop_cause stop;
    int signal_number;
    double serve_seconds; /* that rank 0 spent on messages */
    char output_error[1024];
};
const struct run_tally *pes_scheduler_tally(const struct scheduler *scheduler);

/* provenance.c.  Collective: what is known of this start, as one JSON text on rank 0 (NULL elsewhere, or
 * without memory), which the caller frees.  Warns if ranks differ in what the bits of results depend on. */
char *pes_run_describe(const struct run *run);
/* Rank 0, between prepare and open: warns if earlier starts used other kernels, so that one file mixes bits.
 */
void pes_run_compare_machines(const struct run *run);
/* Rank 0: the same text with how it ended; the caller frees it.  NULL: no memory. */
char *pes_run_describe_end(const char *start, const struct run_tally *tally, double seconds,
                           double idle_share, enum pes_status status);

/* events.c, on rank 0: lines for people, JSON events for programs. */
void pes_event_run_started(const struct run *run, const char *description, size_t wanted, size_t finished);
void pes_event_trial_started(const struct run *run, size_t trial, int rank);
void pes_event_trial_ended(const struct run *run, int rank, const struct report *report,
                           const struct run_tally *tally);
void pes_event_run_ended(enum pes_status status, const struct run_tally *tally, double seconds,
                         double idle_share);

struct run_progress {
    int running;
    double seconds, idle_share, seconds_left;
};
void pes_progress_show(const struct run_tally *tally, const struct run_progress *progress);
void pes_event_progress(const struct run_tally *tally, const struct run_progress *progress);

/* dry_run.c, on rank 0: what a run would do, on standard output. */
enum pes_status pes_run_rehearse(const struct run *run);

/* part.c: mine[num_trials] = whether a trial belongs to part `part` of 1..num_parts.  Every trial belongs to
 * one, and the parts' sizes differ by one at most. */
enum pes_status pes_run_split(const struct pes_sweep *sweep, int part, int num_parts, bool *mine);

/* Which trials are to be trained, given their status. */
bool pes_run_wants(enum pes_retry retry, uint8_t status);

#endif
