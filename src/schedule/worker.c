/* worker.c - one rank's part: train what it is told, save in time, write the row, report.
 *
 * Nothing here depends on which rank it is but the way a report takes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pesweep/comm.h"
#include "pesweep/log.h"
#include "run.h"

#define LOOK_SECONDS     5e-3 /* between two looks for messages while training; a look may yield the core */
#define PROGRESS_SECONDS 1.0  /* between two reports of progress; longer where many ranks report */
#define PROGRESS_RANKS   1000 /* reports a second that rank 0 takes in without noticing */
#define IDLE_SECONDS     0.05 /* longest sleep between two looks at the clock and for signals */
#define SAVE_SHARE       0.05 /* of the time at most goes into checkpoints */

static void report(struct run *run, const struct report *report)
{
    if (pes_comm_rank() == 0)
        pes_scheduler_report(run, 0, report);
    else
        pes_comm_send(0, RUN_TAG_REPORT, report, sizeof *report);
}

void pes_worker_obey(struct run *run, const struct order *order)
{
    struct worker *worker = &run->worker;
    switch (order->kind) {
    case ORDER_TRAIN:
        CHECK(worker->next == PES_NO_TRIAL && order->trial < run->sweep->num_trials);
        worker->next = (size_t)order->trial;
        return;
    case ORDER_FINISH:
        worker->finish = true;
        return;
    case ORDER_STOP:
        if (worker->stop == STOP_NONE) worker->stop = (enum stop_cause)order->trial;
        return;
    default:
        CHECK(order->kind == ORDER_BYE);
        worker->bye = true;
    }
}

/* Takes in what there is to know: messages, signals, the clock. */
static void look(struct run *run)
{
    struct worker *worker = &run->worker;
    if (pes_comm_rank() == 0) {
        pes_scheduler_serve(run);
    } else {
        int rank, tag;
        size_t bytes;
        while (pes_comm_probe(&rank, &tag, &bytes)) {
            struct order order;
            CHECK(rank == 0 && tag == RUN_TAG_ORDER && bytes == sizeof order);
            pes_comm_receive(rank, tag, &order, sizeof order);
            pes_worker_obey(run, &order);
        }
    }
    if (worker->stop != STOP_NONE) return;
    if (pes_signals_caught())
        worker->stop = STOP_SIGNAL;
    else if (pes_clock() >= run->deadline)
        worker->stop = STOP_LIMIT;
}

static enum pes_tick tick(void *context, int64_t step, int64_t steps)
{
    struct run *run = context;
    struct worker *worker = &run->worker;
    double now = pes_clock();
    if (now - worker->last_look < LOOK_SECONDS && !pes_signals_caught()) return PES_TICK_GO;
    look(run);
    worker->last_look = pes_clock();
    if (worker->stop != STOP_NONE) return PES_TICK_STOP;
    if (now - worker->last_progress >= PES_MAX(PROGRESS_SECONDS, (double)pes_comm_size() / PROGRESS_RANKS)) {
        worker->last_progress = now;
        report(run, &(struct report){.kind = REPORT_PROGRESS,
                                     .trial = worker->trial,
                                     .fraction = steps > 0 ? (double)step / (double)steps : 1});
    }
    return now >= worker->next_checkpoint ? PES_TICK_CHECKPOINT : PES_TICK_GO;
}

static enum pes_status save(void *context, const struct pes_train_state *state)
{
    struct run *run = context;
    struct worker *worker = &run->worker;
    const struct pes_trial *trial = &run->sweep->trials[worker->trial];
    double start = pes_clock();
    enum pes_status status = pes_checkpoint_save(run->output_path, trial->key, state);
    double end = pes_clock();
    worker->next_checkpoint = end + PES_MAX(run->options->checkpoint_every, (end - start) / SAVE_SHARE);
    if (status != PES_OK && !worker->checkpoint_warned) {
        worker->checkpoint_warned = true;
        pes_log_warning("trial %zu (%s) goes on without a checkpoint: %s", worker->trial, trial->label,
                        pes_error_message());
    }
    return status;
}

static bool resume(void *context, struct pes_train_state *state)
{
    struct run *run = context;
    const struct pes_trial *trial = &run->sweep->trials[run->worker.trial];
    bool found = false;
    if (pes_checkpoint_load(run->output_path, trial->key, state, &found) == PES_OK) {
        if (found) run->worker.first_step = state->step;
        return found;
    }
    pes_log_warning("trial %zu (%s) starts again from step 0: %s", run->worker.trial, trial->label,
                    pes_error_message());
    return false;
}

/* Writes a finished trial, or hands it to rank 0; what can't be written becomes a failure of the trial. */
static void deliver(struct run *run, struct report *ended)
{
    size_t trial = run->worker.trial;
    if (run->writer == PES_WRITER_RANK0 && pes_comm_rank() != 0) {
        memcpy(run->row_bytes, ended, sizeof *ended);
        if (pes_comm_send(0, RUN_TAG_ROW, run->row_bytes, RUN_ROW_MESSAGE_BYTES(run)) != PES_OK)
            pes_comm_abort(pes_status_exit_code(PES_INTERNAL));
        return;
    }
    enum pes_status status =
        pes_store_write_trial(run->store, trial, &run->row, &ended->result, pes_comm_rank());
    if (status == PES_BUSY) { /* another run has taken the file over: not one more byte */
        pes_log_error("%s", pes_error_message());
        pes_comm_abort(pes_status_exit_code(status));
    }
    if (status != PES_OK) {
        ended->result.outcome = PES_OUTCOME_FAILED;
        ended->result.reason = PES_REASON_OUTPUT;
        snprintf(ended->result.message, sizeof ended->result.message, "%s", pes_error_message());
    } else {
        pes_checkpoint_remove(run->output_path, run->sweep->trials[trial].key);
    }
    report(run, ended);
}

static void train(struct run *run, size_t trial)
{
    struct worker *worker = &run->worker;
    double start = pes_clock();
    pes_signals_set_busy(true);
    worker->trial = trial;
    worker->first_step = 0;
    worker->last_look = worker->last_progress = start;
    worker->next_checkpoint = start + run->options->checkpoint_every;
    worker->checkpoint_warned = false;
    report(run, &(struct report){.kind = REPORT_STARTED, .trial = trial});
    if (run->writer == PES_WRITER_SHARED &&
        pes_store_mark_running(run->store, trial, pes_comm_rank()) != PES_OK)
        pes_log_warning("trial %zu can't be marked as running: %s", trial, pes_error_message());

    struct report ended = {.kind = REPORT_ENDED, .trial = trial};
    const struct pes_train_hooks hooks = {.context = run, .tick = tick, .checkpoint = save, .resume = resume};
    enum pes_status status =
        pes_train_trial(run->sweep, trial, run->layout, &hooks, &run->row, &ended.result);
    if (status == PES_STOPPED) {
        ended.kind = REPORT_STOPPED;
    } else if (status != PES_OK) {
        pes_row_clear(&run->row);
        ended.result = (struct pes_train_result){
            .outcome = PES_OUTCOME_FAILED,
            .reason = status == PES_MEMORY ? PES_REASON_MEMORY : PES_REASON_INTERNAL,
        };
        snprintf(ended.result.message, sizeof ended.result.message, "%s", pes_error_message());
    }
    ended.first_step = worker->first_step;
    ended.seconds = pes_clock() - start;
    if (ended.kind == REPORT_STOPPED)
        report(run, &ended);
    else
        deliver(run, &ended);
    worker->busy_seconds += pes_clock() - start;
    worker->trial = PES_NO_TRIAL;
    pes_signals_set_busy(false);
}

void pes_worker_run(struct run *run)
{
    struct worker *worker = &run->worker;
    worker->trial = worker->next = PES_NO_TRIAL;
    report(run, &(struct report){.kind = REPORT_READY});
    for (;;) {
        look(run);
        if (worker->stop != STOP_NONE) break;
        if (worker->next != PES_NO_TRIAL) {
            size_t trial = worker->next;
            worker->next = PES_NO_TRIAL;
            train(run, trial);
        } else if (worker->finish) {
            break;
        } else {
            pes_comm_wait(IDLE_SECONDS);
        }
    }
    report(run, &(struct report){.kind = REPORT_LEAVING,
                                 .cause = (int32_t)worker->stop,
                                 .signal_number = pes_signals_caught()});
    if (pes_comm_rank() == 0) return;
    while (!worker->bye) {
        pes_comm_wait(IDLE_SECONDS);
        look(run);
    }
}
