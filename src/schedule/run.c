/* run.c - a run from its options to its end: agree, prepare, train, close.
 *
 * Until trials run, and after they have, every step is collective and an error of one rank becomes the status
 * and message of all (pes_comm_worst), so that no rank waits for one that has gone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"
#include "pesweep/comm.h"
#include "pesweep/kernels.h"
#include "pesweep/linalg.h"
#include "pesweep/log.h"
#include "pesweep/text.h"
#include "run.h"

bool pes_run_wants(enum pes_retry retry, uint8_t status)
{
    switch (status) {
    case PES_OUTCOME_DONE:
        return false;
    case PES_OUTCOME_FAILED:
        return retry != PES_RETRY_NONE;
    case PES_OUTCOME_DIVERGED:
        return retry == PES_RETRY_ALL;
    default: /* pending, or marked as running by a start that has ended */
        return true;
    }
}

/* All ranks must be the same program with the same options, or they would wait for each other for ever. */
static enum pes_status agree_on_program(const struct pes_run_options *options)
{
    TRY(pes_comm_agree(pes_build(), strlen(pes_build()), "different builds of pesweep"));
    char text[256];
    snprintf(text, sizeof text, "%d %d %.17g %.17g %d %d %d %d %d %s", options->threads,
             options->dedicated_scheduler, options->time_limit, options->checkpoint_every,
             (int)options->retry, options->part, options->num_parts, options->writer, options->dry_run,
             sizeof(real) == sizeof(double) ? "double" : "float");
    TRY(pes_comm_agree(text, strlen(text), "the options of pesweep run"));
    const char *output = options->output_path ? options->output_path : "";
    return pes_comm_agree(output, strlen(output), "the results file");
}

/* Files that tasks read: there on every rank, with the same contents. */
static enum pes_status check_files(const struct pes_sweep *sweep)
{
    uint64_t together = 0, number = 0;
    const char *before = NULL;
    enum pes_status status = PES_OK;
    for (size_t t = 0; t < sweep->num_trials && status == PES_OK; t++) {
        const struct pes_config *config = sweep->trials[t].config;
        if (!pes_data_reads_files(config)) continue;
        const char *path = pes_config_text(config, "task.path");
        if (!before || strcmp(path, before) != 0) status = pes_data_fingerprint(config, &number);
        together = 31 * together + number;
        before = path;
    }
    TRY(pes_comm_worst(status));
    return pes_comm_agree(&together, sizeof together, "different contents of the files at task.path");
}

static enum pes_status load_sweep(struct run *run)
{
    const struct pes_run_options *options = run->options;
    TRY(pes_comm_worst(pes_sweep_load(options->sweep_path, &run->sweep)));
    TRY(pes_comm_agree(run->sweep->hash, strlen(run->sweep->hash), "different contents of the sweep file"));
    TRY(check_files(run->sweep));
    int length = options->output_path
                     ? snprintf(run->output_path, sizeof run->output_path, "%s", options->output_path)
                     : snprintf(run->output_path, sizeof run->output_path, "%s.h5", run->sweep->name);
    if (length >= (int)sizeof run->output_path)
        return pes_fail(PES_INPUT, "the name of the results file is too long");

    run->arena = pes_arena_create();
    enum pes_status status = run->arena ? pes_train_layout(run->sweep, run->arena, &run->layout) : PES_MEMORY;
    if (status == PES_OK && options->check) status = options->check(run->sweep, run->layout);
    if (status == PES_OK) {
        int num_parts = options->num_parts;
        run->mine = pes_arena_take(run->arena, run->sweep->num_trials, sizeof *run->mine);
        status = run->mine ? pes_run_split(run->sweep, num_parts ? options->part : 1, PES_MAX(num_parts, 1),
                                           run->mine)
                           : PES_MEMORY;
    }
    if (status == PES_OK) {
        run->row_bytes = pes_allocate(RUN_ROW_MESSAGE_BYTES(run), 1);
        run->row = (struct pes_row){run->layout, run->row_bytes + sizeof(struct report)};
        if (!run->row_bytes) status = PES_MEMORY;
    }
    return pes_comm_worst(status);
}

/* Rank 0 decides how rows get into the file, and says why if that isn't the fast way. */
static void choose_writer(struct run *run)
{
    int32_t writer = run->options->writer;
    if (writer < 0 && pes_comm_rank() == 0) {
        const char *reason = "";
        writer = (int32_t)pes_store_choose_writer(run->output_path, pes_comm_num_nodes(), &reason);
        if (writer == PES_WRITER_RANK0 && pes_comm_size() > 1)
            pes_log_info("rank 0 writes all rows: %s", reason);
    }
    pes_comm_broadcast(&writer, sizeof writer);
    run->writer = (enum pes_writer)writer;
}

/* A file that an older pesweep began may have fewer variables: so has the rest of it, then. */
static enum pes_status fit_layout(struct run *run)
{
    struct pes_layout *layout = run->layout;
    struct pes_reader *reader = NULL;
    size_t num_fields = layout->num_fields, num_lacking = 0, first = 0;
    bool *keep = pes_allocate(num_fields, sizeof *keep);
    enum pes_status status = keep ? PES_OK : PES_MEMORY;
    if (status == PES_OK) memset(keep, true, num_fields);
    if (status == PES_OK && pes_comm_rank() == 0 && access(run->output_path, F_OK) == 0) {
        status = pes_reader_open(run->output_path, &reader);
        if (status == PES_OK)
            status = pes_reader_fit(reader, run->sweep->settings, layout, keep, &num_lacking);
        pes_reader_close(reader);
    }
    status = pes_comm_worst(status);
    if (status == PES_OK) {
        while (num_lacking && keep[first])
            first++;
        if (num_lacking)
            pes_log_warning("%s was begun by an older pesweep: %zu of %zu variables stay out of it (%s/%s%s)",
                            run->output_path, num_lacking, num_fields, layout->fields[first].variable.group,
                            layout->fields[first].variable.name, num_lacking > 1 ? ", ..." : "");
        pes_comm_broadcast(keep, num_fields);
        status = pes_layout_select(layout, keep, run->arena, &run->layout);
        run->row.layout = run->layout;
        if (status == PES_OK && run->options->check) status = run->options->check(run->sweep, run->layout);
        status = pes_comm_worst(status);
    }
    pes_free(keep);
    return status;
}

/* The clock at which trials are left, from the option or from SLURM, as seen by rank 0 and started now. */
static void set_deadline(struct run *run)
{
    double limit = run->options->time_limit,
           left = limit > 0 ? run->options->started + limit - pes_clock() : INFINITY;
    if (limit <= 0 && pes_comm_rank() == 0) left = pes_limit_of_job();
    pes_comm_broadcast(&left, sizeof left);
    run->deadline = isinf(left) ? INFINITY : pes_clock() + left - pes_limit_margin(left);
}

static enum pes_status open_store(struct run *run)
{
    TRY(pes_comm_worst(pes_comm_rank() == 0 ? pes_store_prepare(run->output_path, run->sweep, run->layout)
                                            : PES_OK));
    if (pes_comm_rank() == 0) pes_run_compare_machines(run);
    enum pes_status status =
        pes_store_open(run->output_path, run->sweep, run->layout, run->writer, &run->store);
    status = pes_comm_worst(status);
    if (status != PES_OK) {
        /* Ranks that did open it can't close it without the others. */
        if (pes_comm_rank() == 0) pes_log_error("%s", pes_error_message());
        pes_comm_abort(pes_status_exit_code(status));
    }
    return PES_OK;
}

/* Of the trials that are this run's. */
struct count {
    size_t all, wanted, finished, failed;
};

/* Rank 0: what there is to do.  wanted[num_trials]. */
static enum pes_status read_status(const struct run *run, bool *wanted, struct count *count)
{
    size_t num_trials = run->sweep->num_trials;
    uint8_t *status = pes_allocate(2 * num_trials, 1);
    if (!status) return PES_MEMORY;
    enum pes_status result = pes_store_read_status(run->store, status, status + num_trials);
    *count = (struct count){0};
    for (size_t t = 0; result == PES_OK && t < num_trials; t++) {
        if (!run->mine[t]) continue;
        bool wants = pes_run_wants(run->options->retry, status[t]);
        if (wanted) wanted[t] = wants;
        count->all++;
        count->wanted += wants;
        count->finished += status[t] == PES_OUTCOME_DONE || status[t] == PES_OUTCOME_DIVERGED;
        count->failed += status[t] == PES_OUTCOME_FAILED;
    }
    pes_free(status);
    return result;
}

/* What the file says now decides how the run ended. */
static enum pes_status judge(const struct run *run, const struct run_tally *tally)
{
    struct count count;
    TRY(read_status(run, NULL, &count));
    size_t left = count.all - count.finished - count.failed;
    if (tally->stop == STOP_OUTPUT)
        return pes_fail(
            PES_IO,
            "a trial's row could not be written: %s (%zu of %zu trials are finished; the same command goes "
            "on from there)",
            tally->output_error, count.finished, count.all);
    if (tally->stop != STOP_NONE || left > 0) {
        char cause[64] = "by the time limit";
        if (tally->stop == STOP_SIGNAL) snprintf(cause, sizeof cause, "by signal %d", tally->signal_number);
        return pes_fail(PES_STOPPED,
                        "stopped %s: %zu of %zu trials are finished; run the same command again to go on",
                        cause, count.finished, count.all);
    }
    if (count.failed)
        return pes_fail(PES_SOME_FAILED, "%zu of %zu trials failed; pesweep status %s tells why",
                        count.failed, count.all, run->output_path);
    return PES_OK;
}

/* Share of the training ranks' time that wasn't spent on trials; collective, right on rank 0. */
static double measure_idle(const struct run *run, double seconds, const struct run_tally *tally)
{
    int ranks = pes_comm_size();
    double mine = run->worker.busy_seconds - (tally ? tally->serve_seconds : 0);
    double *all = pes_comm_rank() == 0 ? pes_allocate((size_t)ranks, sizeof *all) : NULL;
    if (pes_comm_worst(pes_comm_rank() == 0 && !all ? PES_MEMORY : PES_OK) != PES_OK) return 0;
    pes_comm_gather(&mine, sizeof mine, all);
    if (pes_comm_rank() != 0) return 0;
    bool dedicated = run->options->dedicated_scheduler && ranks > 1;
    double busy = 0;
    for (int r = dedicated ? 1 : 0; r < ranks; r++)
        busy += PES_MAX(all[r], 0);
    pes_free(all);
    double whole = seconds * (dedicated ? ranks - 1 : ranks);
    return whole > 0 ? PES_MIN(1, PES_MAX(0, 1 - busy / whole)) : 0;
}

/* Everything between the open file and its end; collective. */
static enum pes_status train_all(struct run *run, const bool *wanted, struct count count)
{
    bool root = pes_comm_rank() == 0;
    TRY(pes_comm_worst(root && !(run->scheduler = pes_scheduler_create(run, wanted)) ? PES_MEMORY : PES_OK));
    char *description = pes_run_describe(run);
    int number = -1;
    if (root) {
        if (!description || pes_store_write_run(run->store, &number, description) != PES_OK)
            pes_log_warning("this start isn't noted in the results file: %s", pes_error_message());
        pes_log_info("%s: %zu of %zu trials to train on %d rank%s x %d thread%s, results in %s",
                     run->sweep->name, count.wanted, count.all, pes_comm_size(),
                     pes_comm_size() == 1 ? "" : "s", run->options->threads,
                     run->options->threads == 1 ? "" : "s", run->output_path);
        pes_event_run_started(run, description, count.wanted, count.finished);
    }
    pes_comm_barrier();

    double start = pes_clock();
    pes_worker_run(run);
    if (root) pes_scheduler_finish(run);
    pes_comm_barrier();
    double seconds = pes_clock() - start;

    const struct run_tally *tally = root ? pes_scheduler_tally(run->scheduler) : NULL;
    double idle = measure_idle(run, seconds, tally);
    enum pes_status status = PES_OK;
    if (root) {
        status = judge(run, tally);
        char *ending = description ? pes_run_describe_end(description, tally, seconds, idle, status) : NULL;
        if (number >= 0 && ending) {
            char message[1024];
            snprintf(message, sizeof message, "%s", pes_error_message());
            if (pes_store_write_run(run->store, &number, ending) != PES_OK)
                pes_log_warning("the end of this start isn't noted in the results file: %s",
                                pes_error_message());
            if (status != PES_OK) pes_fail(status, "%s", message);
        }
        pes_log_info("%zu done, %zu diverged, %zu failed in %.1f s, idle share %.1f %%", tally->done,
                     tally->diverged, tally->failed, seconds, 100 * idle);
        pes_event_run_ended(status, tally, seconds, idle);
        free(ending);
    }
    free(description);
    return pes_comm_worst(status);
}

static enum pes_status run_opened(struct run *run)
{
    bool root = pes_comm_rank() == 0;
    bool *wanted = NULL;
    struct count count = {0};
    enum pes_status status = PES_OK;
    if (root) {
        wanted = pes_allocate(run->sweep->num_trials, sizeof *wanted);
        status = wanted ? read_status(run, wanted, &count) : PES_MEMORY;
    }
    status = pes_comm_worst(status);
    uint64_t work = count.wanted;
    if (status == PES_OK) pes_comm_broadcast(&work, sizeof work);
    if (status == PES_OK && work == 0) {
        if (root) pes_log_info("%s: nothing left to train in %s", run->sweep->name, run->output_path);
        if (count.failed)
            status = pes_fail(PES_SOME_FAILED, "%zu of %zu trials failed; pesweep status %s tells why",
                              count.failed, count.all, run->output_path);
        status = pes_comm_worst(status);
    } else if (status == PES_OK) {
        status = train_all(run, wanted, count);
    }
    pes_free(wanted);
    return status;
}

/* Rank 0: a process killed right after a trial's status was written leaves the trial's checkpoint; those of
 * trials that this sweep doesn't have are kept, and told of. */
static void tidy(const struct run *run)
{
    size_t stale = 0, num_trials = run->sweep->num_trials;
    uint8_t *status = pes_allocate(2 * num_trials, 1);
    if (status && pes_store_read_status(run->store, status, status + num_trials) == PES_OK)
        for (size_t t = 0; t < num_trials; t++)
            if (status[t] == PES_OUTCOME_DONE || status[t] == PES_OUTCOME_DIVERGED)
                pes_checkpoint_remove(run->output_path, run->sweep->trials[t].key);
    pes_free(status);
    pes_checkpoint_tidy(run->output_path, run->sweep, &stale);
    if (stale)
        pes_log_info("%s.ckpt holds %zu checkpoint%s of trials that aren't in this sweep", run->output_path,
                     stale, stale == 1 ? "" : "s");
}

static enum pes_status run_prepared(struct run *run)
{
    bool root = pes_comm_rank() == 0;
    choose_writer(run);
    TRY(fit_layout(run));
    if (run->options->dry_run) return pes_comm_worst(root ? pes_run_rehearse(run) : PES_OK);
    set_deadline(run);
    TRY(open_store(run));
    char log_path[sizeof run->output_path + 8];
    snprintf(log_path, sizeof log_path, "%s.log", run->output_path);
    if (pes_log_open(root ? log_path : NULL, run->options->quiet || !root, run->options->json && root) !=
        PES_OK)
        pes_log_warning("%s", pes_error_message());

    enum pes_status status = run_opened(run);
    char message[1024];
    snprintf(message, sizeof message, "%s", pes_error_message());
    if (root) tidy(run);
    pes_comm_barrier();
    enum pes_status closed = pes_comm_worst(pes_store_close(run->store));
    pes_log_close();
    if (closed != PES_OK && (status == PES_OK || status == PES_SOME_FAILED)) return closed;
    return status == PES_OK ? PES_OK : pes_fail(status, "%s", message);
}

enum pes_status pes_schedule_run(const struct pes_run_options *options)
{
    struct run run = {.options = options, .deadline = INFINITY};
    char speaker[300];
    snprintf(speaker, sizeof speaker, "rank %d on %s", pes_comm_rank(), pes_comm_host());
    if (pes_comm_size() > 1 && pes_comm_rank() > 0) pes_log_set_speaker(speaker);
    /* Spectra must not depend on the number of threads, and they are small: the BLAS has one. */
    pes_blas_set_threads(1);
    pes_kernels_set_threads(options->threads);
    if (options->dedicated_scheduler && pes_comm_size() == 1)
        pes_log_warning("--dedicated-scheduler means nothing with one rank: it trains");

    enum pes_status status = agree_on_program(options);
    if (status == PES_OK) status = pes_comm_worst(pes_linalg_self_test());
    if (status == PES_OK) status = load_sweep(&run);
    if (status == PES_OK) status = run_prepared(&run);
    pes_scheduler_destroy(run.scheduler);
    pes_free(run.row_bytes);
    pes_arena_destroy(run.arena);
    pes_sweep_destroy(run.sweep);
    return status;
}
