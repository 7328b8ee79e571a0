/* scheduler.c - rank 0's other half: takes reports, gives orders.
 *
 * It never waits: it is called between rank 0's own micro-batches, does what there is to do, and returns.
 * Messages it sends are a few bytes, so that sending doesn't wait for the receiver either. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pesweep/comm.h"
#include "pesweep/log.h"
#include "run.h"

#define OFFER_SECONDS 0.05 /* between two looks at ranks that are about to be free */
#define WAIT_SECONDS  0.05
#define EVENT_SECONDS 10.0 /* between two progress events for programs */
#define START_STEPS   2    /* a trial is started only if it can make this many steps before the limit */
#define START_SECONDS 0.5  /* and has this long to set itself up */

struct peer {
    double started;  /* pes_clock; of the trial it trains */
    double busy_sum; /* seconds spent on trials that have ended */
    bool running, told, left;
};

struct scheduler {
    struct pes_policy *policy;
    struct peer *peer; /* [ranks] */
    int ranks, num_left;
    bool closed; /* nothing more is started: too close to the limit */
    bool stopping;
    double start, last_offer, last_event;
    unsigned char *message; /* room for a row that another rank sends */
    struct run_tally tally;
};

/* The kernel ends a node's processes when memory runs out, without a word: better said before. */
static void warn_about_memory(size_t bytes_per_rank)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
    int nodes = pes_comm_num_nodes(), per_node = (pes_comm_size() + nodes - 1) / nodes;
    double have = (double)pages * (double)page, want = (double)bytes_per_rank * per_node;
    if (pages > 0 && page > 0 && want > have)
        pes_log_warning(
            "%d ranks on a node may need %.3g GB of memory, and there are %.3g GB: use fewer ranks per node",
            per_node, want / 1e9, have / 1e9);
}

struct scheduler *pes_scheduler_create(struct run *run, const bool *wanted)
{
    const struct pes_sweep *sweep = run->sweep;
    struct scheduler *scheduler = pes_allocate(1, sizeof *scheduler);
    double *seconds = pes_allocate(sweep->num_trials, sizeof *seconds);
    size_t memory = 0;
    bool ok = scheduler && seconds;
    for (size_t t = 0; ok && t < sweep->num_trials; t++) {
        struct pes_cost cost;
        ok = pes_sweep_cost(sweep, &sweep->trials[t], &cost) == PES_OK;
        if (!ok) break;
        seconds[t] = cost.seconds;
        if (wanted[t]) memory = PES_MAX(memory, cost.memory_bytes + run->layout->row_bytes);
    }
    if (ok) {
        scheduler->ranks = pes_comm_size();
        scheduler->policy = pes_policy_create(seconds, wanted, sweep->num_trials, scheduler->ranks,
                                              run->options->dedicated_scheduler);
        scheduler->peer = pes_allocate((size_t)scheduler->ranks, sizeof *scheduler->peer);
        if (run->writer == PES_WRITER_RANK0 && scheduler->ranks > 1)
            scheduler->message = pes_allocate(RUN_ROW_MESSAGE_BYTES(run), 1);
        ok = scheduler->policy && scheduler->peer &&
             (scheduler->message || run->writer != PES_WRITER_RANK0 || scheduler->ranks == 1);
    }
    pes_free(seconds);
    if (!ok) {
        pes_scheduler_destroy(scheduler);
        return NULL;
    }
    warn_about_memory(memory);
    scheduler->tally.wanted = pes_policy_pending(scheduler->policy);
    scheduler->start = scheduler->last_event = pes_clock();
    return scheduler;
}

void pes_scheduler_destroy(struct scheduler *scheduler)
{
    if (!scheduler) return;
    pes_policy_destroy(scheduler->policy);
    pes_free(scheduler->peer);
    pes_free(scheduler->message);
    pes_free(scheduler);
}

const struct run_tally *pes_scheduler_tally(const struct scheduler *scheduler)
{
    return &scheduler->tally;
}

static void give(struct run *run, int rank, enum order_kind kind, uint64_t trial)
{
    struct order order = {.kind = (int32_t)kind, .trial = trial};
    if (rank == 0)
        pes_worker_obey(run, &order);
    else
        pes_comm_send(rank, RUN_TAG_ORDER, &order, sizeof order);
}

static void stop_all(struct run *run, enum stop_cause cause, int signal_number)
{
    struct scheduler *scheduler = run->scheduler;
    if (scheduler->stopping) return;
    scheduler->stopping = true;
    scheduler->tally.stop = cause;
    scheduler->tally.signal_number = signal_number;
    for (int r = 0; r < scheduler->ranks; r++)
        if (!scheduler->peer[r].left) give(run, r, ORDER_STOP, (uint64_t)cause);
}

/* Whether the next trial could get far enough before the limit to be saved. */
static bool time_to_start(struct run *run, double now)
{
    if (isinf(run->deadline)) return true;
    size_t trial = pes_policy_peek(run->scheduler->policy);
    if (trial == PES_NO_TRIAL) return true;
    double steps = (double)pes_config_int(run->sweep->trials[trial].config, "train.steps");
    double step_seconds = pes_policy_predicted(run->scheduler->policy, trial) / PES_MAX(steps, 1);
    return run->deadline - now > START_SECONDS + START_STEPS * step_seconds;
}

static void offer_all(struct run *run)
{
    struct scheduler *scheduler = run->scheduler;
    double now = scheduler->last_offer = pes_clock();
    if (scheduler->stopping) return;
    if (!scheduler->closed && !time_to_start(run, now)) scheduler->closed = true;
    for (int r = 0; r < scheduler->ranks; r++) {
        struct peer *peer = &scheduler->peer[r];
        if (peer->left || peer->told) continue;
        size_t trial = scheduler->closed ? PES_NO_TRIAL : pes_policy_offer(scheduler->policy, r, now);
        if (trial != PES_NO_TRIAL) {
            give(run, r, ORDER_TRAIN, trial);
        } else if (scheduler->closed || pes_policy_finished(scheduler->policy, r)) {
            /* A rank that still trains, or holds a trial, ends that first. */
            peer->told = true;
            give(run, r, ORDER_FINISH, 0);
        }
    }
}

static void ended(struct run *run, int rank, const struct report *report)
{
    struct scheduler *scheduler = run->scheduler;
    struct run_tally *tally = &scheduler->tally;
    const struct pes_train_result *result = &report->result;
    size_t trial = (size_t)report->trial;
    scheduler->peer[rank].running = false;
    scheduler->peer[rank].busy_sum += report->seconds;
    bool stopped = report->kind == REPORT_STOPPED, done = !stopped && result->outcome == PES_OUTCOME_DONE;
    pes_policy_ended(scheduler->policy, rank, trial,
                     done ? result->train_seconds + result->measure_seconds : 0);
    if (stopped) return;
    tally->done += done;
    tally->diverged += result->outcome == PES_OUTCOME_DIVERGED;
    tally->failed += result->outcome == PES_OUTCOME_FAILED;
    pes_event_trial_ended(run, rank, report, tally);
    if (result->reason == PES_REASON_OUTPUT) {
        /* The next row would fare no better, and hours would go into it first. */
        snprintf(tally->output_error, sizeof tally->output_error, "%s", result->message);
        stop_all(run, STOP_OUTPUT, 0);
    }
}

void pes_scheduler_report(struct run *run, int rank, const struct report *report)
{
    struct scheduler *scheduler = run->scheduler;
    struct peer *peer = &scheduler->peer[rank];
    size_t trial = (size_t)report->trial;
    double now = pes_clock();
    switch (report->kind) {
    case REPORT_READY:
        break;
    case REPORT_STARTED:
        pes_policy_started(scheduler->policy, rank, trial, now);
        peer->running = true;
        peer->started = now;
        if (run->writer == PES_WRITER_RANK0 && pes_store_mark_running(run->store, trial, rank) != PES_OK)
            pes_log_warning("trial %zu can't be marked as running: %s", trial, pes_error_message());
        pes_event_trial_started(run, trial, rank);
        break;
    case REPORT_PROGRESS:
        pes_policy_progress(scheduler->policy, rank, report->fraction, now);
        return;
    case REPORT_ENDED:
    case REPORT_STOPPED:
        ended(run, rank, report);
        break;
    default:
        CHECK(report->kind == REPORT_LEAVING && !peer->left);
        peer->left = true;
        scheduler->num_left++;
        if (rank != 0) give(run, rank, ORDER_BYE, 0);
        if (report->cause != STOP_NONE) stop_all(run, (enum stop_cause)report->cause, report->signal_number);
    }
    offer_all(run);
}

/* A row from a rank that doesn't write itself. */
static void take_row(struct run *run, int rank, size_t bytes)
{
    struct scheduler *scheduler = run->scheduler;
    CHECK(scheduler->message && bytes == RUN_ROW_MESSAGE_BYTES(run));
    pes_comm_receive(rank, RUN_TAG_ROW, scheduler->message, bytes);
    struct report report;
    memcpy(&report, scheduler->message, sizeof report);
    struct pes_row row = {run->layout, scheduler->message + sizeof report};
    enum pes_status status =
        pes_store_write_trial(run->store, (size_t)report.trial, &row, &report.result, rank);
    if (status == PES_BUSY) {
        pes_log_error("%s", pes_error_message());
        pes_comm_abort(pes_status_exit_code(status));
    }
    if (status != PES_OK) {
        report.result.outcome = PES_OUTCOME_FAILED;
        report.result.reason = PES_REASON_OUTPUT;
        snprintf(report.result.message, sizeof report.result.message, "%s", pes_error_message());
    } else {
        pes_checkpoint_remove(run->output_path, run->sweep->trials[report.trial].key);
    }
    pes_scheduler_report(run, rank, &report);
}

static void show_progress(struct run *run, double now)
{
    struct scheduler *scheduler = run->scheduler;
    bool event = now - scheduler->last_event >= EVENT_SECONDS;
    if (!event && !pes_log_progress_wanted()) return;
    if (event) scheduler->last_event = now;
    double busy = 0, elapsed = now - scheduler->start;
    for (int r = 0; r < scheduler->ranks; r++)
        busy +=
            scheduler->peer[r].busy_sum + (scheduler->peer[r].running ? now - scheduler->peer[r].started : 0);
    double idle = elapsed > 0 ? 1 - busy / (elapsed * pes_policy_num_training(scheduler->policy)) : 0;
    struct run_progress progress = {.running = pes_policy_num_busy(scheduler->policy),
                                    .seconds = elapsed,
                                    .idle_share = PES_MAX(idle, 0),
                                    .seconds_left = pes_policy_time_left(scheduler->policy, now)};
    pes_progress_show(&scheduler->tally, &progress);
    if (event) pes_event_progress(&scheduler->tally, &progress);
}

void pes_scheduler_serve(struct run *run)
{
    struct scheduler *scheduler = run->scheduler;
    double start = pes_clock();
    int rank, tag;
    size_t bytes;
    while (pes_comm_probe(&rank, &tag, &bytes)) {
        if (tag == RUN_TAG_ROW) {
            take_row(run, rank, bytes);
            continue;
        }
        struct report report;
        CHECK(tag == RUN_TAG_REPORT && bytes == sizeof report);
        pes_comm_receive(rank, tag, &report, sizeof report);
        pes_scheduler_report(run, rank, &report);
    }
    /* Other ranks may not have had the signal; and they are to save while this rank does. */
    if (pes_signals_caught())
        stop_all(run, STOP_SIGNAL, pes_signals_caught());
    else if (start >= run->deadline)
        stop_all(run, STOP_LIMIT, 0);
    if (start - scheduler->last_offer >= OFFER_SECONDS) offer_all(run);
    show_progress(run, start);
    scheduler->tally.serve_seconds += pes_clock() - start;
    scheduler->tally.pending = pes_policy_pending(scheduler->policy);
}

void pes_scheduler_finish(struct run *run)
{
    while (run->scheduler->num_left < run->scheduler->ranks) {
        pes_comm_wait(WAIT_SECONDS);
        pes_scheduler_serve(run);
    }
    pes_log_progress_end();
}
