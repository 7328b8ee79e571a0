/* status.c - `pesweep status`: how a sweep stands, from its results file alone, while it runs or after. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "pesweep/command.h"
#include "pesweep/store.h"

enum { NUM_OUTCOMES = PES_OUTCOME_DIVERGED + 1, MOST_LISTED = 20 };

struct overview {
    size_t num_trials, count[NUM_OUTCOMES];
    bool alive; /* a run holds the lock */
    char owner[512];
    /* of the trials; NAN or -1 where not known */
    double *run, *rank, *started, *ended, *steps;
    double trials_per_hour, seconds_left; /* NAN if nothing can be said */
};

static enum pes_status read_columns(struct pes_reader *reader, struct overview *overview)
{
    size_t count;
    TRY(pes_reader_variable(reader, "provenance", "run", &overview->run, &count));
    TRY(pes_reader_variable(reader, "provenance", "rank", &overview->rank, &count));
    TRY(pes_reader_variable(reader, "provenance", "started", &overview->started, &count));
    TRY(pes_reader_variable(reader, "provenance", "ended", &overview->ended, &count));
    return pes_reader_variable(reader, "trials", "steps", &overview->steps, &count);
}

static void free_columns(struct overview *overview)
{
    free(overview->run);
    free(overview->rank);
    free(overview->started);
    free(overview->ended);
    free(overview->steps);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Speed of the latest start, and what is left at that speed, both weighted by the trials' estimated costs. */
static void estimate(struct pes_reader *reader, struct overview *overview)
{
    const uint8_t *status = pes_reader_status(reader);
    const struct pes_sweep *sweep = pes_reader_sweep(reader);
    double latest = -1, newest = -INFINITY, begin = INFINITY, end = -INFINITY, made = 0, left = 0;
    size_t num_made = 0;
    overview->trials_per_hour = overview->seconds_left = NAN;
    for (size_t t = 0; t < overview->num_trials; t++)
        if (overview->started[t] > newest) {
            newest = overview->started[t];
            latest = overview->run[t];
        }
    for (size_t t = 0; t < overview->num_trials; t++) {
        struct pes_cost cost = {.seconds = 1};
        if (sweep && pes_sweep_cost(sweep, &sweep->trials[t], &cost) != PES_OK) return;
        bool finished = status[t] >= PES_OUTCOME_DONE;
        if (!finished) left += cost.seconds;
        if (overview->run[t] != latest || latest < 0) continue;
        begin = fmin(begin, overview->started[t]);
        if (!finished) continue;
        end = fmax(end, overview->ended[t]);
        made += cost.seconds;
        num_made++;
    }
    if (!num_made || !(end > begin)) return;
    if (overview->alive) end = now();
    overview->trials_per_hour = 3600 * (double)num_made / (end - begin);
    if (overview->alive && made > 0) overview->seconds_left = left * (end - begin) / made;
}

static enum pes_status look(struct pes_reader *reader, const char *path, struct overview *overview)
{
    *overview = (struct overview){.num_trials = pes_reader_num_trials(reader)};
    overview->alive = pes_store_is_running(path, overview->owner);
    for (size_t t = 0; t < overview->num_trials; t++) {
        uint8_t status = pes_reader_status(reader)[t];
        overview->count[status < NUM_OUTCOMES ? status : PES_OUTCOME_PENDING]++;
    }
    enum pes_status status = read_columns(reader, overview);
    if (status == PES_OK) estimate(reader, overview);
    return status;
}

/* --- for people --- */

static const char *duration(double seconds, char buffer[32])
{
    if (seconds < 100)
        snprintf(buffer, 32, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(buffer, 32, "%.0f min", seconds / 60);
    else if (seconds < 360000)
        snprintf(buffer, 32, "%.1f h", seconds / 3600);
    else
        snprintf(buffer, 32, "%.1f days", seconds / 86400);
    return buffer;
}

static void print_running(struct pes_reader *reader, const struct overview *overview)
{
    size_t listed = 0;
    char buffer[32];
    for (size_t t = 0; t < overview->num_trials; t++) {
        if (pes_reader_status(reader)[t] != PES_OUTCOME_RUNNING) continue;
        if (!listed) printf("%s:\n", overview->alive ? "running" : "interrupted");
        if (listed++ == MOST_LISTED) {
            printf("  ... and %zu more\n", overview->count[PES_OUTCOME_RUNNING] - MOST_LISTED);
            return;
        }
        printf("  %zu (%s) on rank %.0f", t, pes_reader_label(reader, t), overview->rank[t]);
        if (overview->alive) printf(" for %s", duration(fmax(0, now() - overview->started[t]), buffer));
        printf("\n");
    }
}

static void print_ended(struct pes_reader *reader, const struct overview *overview, enum pes_outcome outcome)
{
    size_t listed = 0;
    for (size_t t = 0; t < overview->num_trials; t++) {
        if (pes_reader_status(reader)[t] != outcome) continue;
        if (!listed) printf("%s:\n", pes_outcome_name(outcome));
        if (listed++ == MOST_LISTED) {
            printf("  ... and %zu more (--json lists all)\n", overview->count[outcome] - MOST_LISTED);
            return;
        }
        const char *message = pes_reader_message(reader, t);
        printf("  %zu (%s) at step %.0f: %s%s%s\n", t, pes_reader_label(reader, t), overview->steps[t],
               pes_reason_name((enum pes_reason)pes_reader_reason(reader)[t]), message[0] ? ": " : "",
               message);
    }
}

static void print_text(struct pes_reader *reader, const char *path, const struct overview *overview)
{
    char buffer[32];
    const char *separator = ": ";
    printf("%s, %zu trials", path, overview->num_trials);
    for (int outcome = NUM_OUTCOMES - 1; outcome >= 0; outcome--)
        if (overview->count[outcome]) {
            bool interrupted = outcome == PES_OUTCOME_RUNNING && !overview->alive;
            printf("%s%zu %s", separator, overview->count[outcome],
                   interrupted ? "interrupted" : pes_outcome_name((enum pes_outcome)outcome));
            separator = ", ";
        }
    printf("\n");
    if (overview->alive)
        printf("being written by %s\n", overview->owner);
    else if (overview->count[PES_OUTCOME_PENDING] + overview->count[PES_OUTCOME_RUNNING])
        printf("no run is writing it now: the same 'pesweep run' goes on\n");
    if (!isnan(overview->trials_per_hour))
        printf("%.3g trials an hour in the latest run", overview->trials_per_hour);
    if (!isnan(overview->seconds_left)) printf(", about %s left", duration(overview->seconds_left, buffer));
    if (!isnan(overview->trials_per_hour)) printf("\n");
    print_running(reader, overview);
    print_ended(reader, overview, PES_OUTCOME_FAILED);
    print_ended(reader, overview, PES_OUTCOME_DIVERGED);
}

/* --- for programs --- */

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *list_trials(struct pes_reader *reader, const struct overview *overview)
{
    json_t *list = json_array();
    for (size_t t = 0; t < overview->num_trials; t++) {
        enum pes_outcome outcome = (enum pes_outcome)pes_reader_status(reader)[t];
        if (outcome == PES_OUTCOME_PENDING || outcome == PES_OUTCOME_DONE) continue;
        json_array_append_new(
            list, json_pack("{s:I, s:s, s:s, s:s, s:s, s:I, s:s, s:I, s:o}", "trial", (json_int_t)t, "key",
                            pes_reader_key(reader, t), "label", pes_reader_label(reader, t), "status",
                            pes_outcome_name(outcome), "reason",
                            pes_reason_name((enum pes_reason)pes_reader_reason(reader)[t]), "steps",
                            (json_int_t)overview->steps[t], "message", pes_reader_message(reader, t), "rank",
                            (json_int_t)overview->rank[t], "started", number_or_null(overview->started[t])));
    }
    return list;
}

/* The latest start's own record, null if it isn't there. */
static json_t *latest_run(struct pes_reader *reader)
{
    size_t num = pes_reader_num_runs(reader);
    json_t *run = num ? json_loads(pes_reader_run(reader, num - 1), 0, NULL) : NULL;
    return run ? run : json_null();
}

static enum pes_status print_json(struct pes_reader *reader, const char *path,
                                  const struct overview *overview, bool pretty)
{
    json_t *counts = json_object();
    for (int outcome = 0; outcome < NUM_OUTCOMES; outcome++)
        json_object_set_new(counts, pes_outcome_name((enum pes_outcome)outcome),
                            json_integer((json_int_t)overview->count[outcome]));
    json_t *object =
        json_pack("{s:s, s:I, s:o, s:b, s:s, s:o, s:o, s:o, s:o}", "file", path, "trials",
                  (json_int_t)overview->num_trials, "counts", counts, "being_written", overview->alive,
                  "writer", overview->owner, "trials_per_hour", number_or_null(overview->trials_per_hour),
                  "seconds_left", number_or_null(overview->seconds_left), "latest_run", latest_run(reader),
                  "unfinished_and_failed", list_trials(reader, overview));
    char *text = object ? json_dumps(object, pretty ? JSON_INDENT(2) : JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text) return pes_fail(PES_MEMORY, "no memory for the answer");
    puts(text);
    free(text);
    return PES_OK;
}

/* --- command --- */

struct request {
    const char *path;
    bool json, watch;
    double interval;
};

/* One look; *over: every trial is finished. */
static enum pes_status report(const struct request *request, bool *over)
{
    struct pes_reader *reader;
    struct overview overview;
    TRY(pes_reader_open(request->path, &reader));
    enum pes_status status = look(reader, request->path, &overview);
    if (status == PES_OK && request->watch && !request->json && isatty(STDOUT_FILENO)) printf("\033[H\033[J");
    if (status == PES_OK && request->json)
        status = print_json(reader, request->path, &overview, !request->watch);
    else if (status == PES_OK)
        print_text(reader, request->path, &overview);
    *over = !overview.count[PES_OUTCOME_PENDING] && !overview.count[PES_OUTCOME_RUNNING];
    free_columns(&overview);
    pes_reader_close(reader);
    if (status == PES_OK && fflush(stdout)) status = pes_fail(PES_IO, "standard output can't be written");
    return status;
}

static enum pes_status run(int argc, char **argv)
{
    struct request request = {.interval = 2};
    const struct pes_option options[] = {
        {"--watch", "-w", PES_OPTION_FLAG, &request.watch, 0, 0, NULL},
        {"--interval", NULL, PES_OPTION_REAL, &request.interval, 0.1, 86400, NULL},
        {"--json", NULL, PES_OPTION_FLAG, &request.json, 0, 0, NULL},
    };
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &request.path, 1, 1, "one results file"));
    for (;;) {
        bool over;
        TRY(report(&request, &over));
        if (!request.watch || over) return PES_OK;
        double whole = floor(request.interval);
        nanosleep(&(struct timespec){(time_t)whole, (long)(1e9 * (request.interval - whole))}, NULL);
    }
}

const struct pes_command pes_command_status = {
    .name = "status",
    .usage = "pesweep status RESULTS.h5 [--watch]",
    .summary = "how a sweep stands, also while it runs and from any node",
    .help = "  -w, --watch        look again until every trial is finished\n"
            "      --interval S   seconds between two looks (default 2)\n"
            "      --json         the answer as JSON; with --watch one line per look\n",
    .run = run,
};
