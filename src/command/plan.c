/* plan.c - `pesweep plan`: what a sweep is and will cost, before anything runs and without MPI. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "claims.h"
#include "options.h"
#include "pesweep/command.h"
#include "pesweep/schedule.h"

/* What the simulation assumes between trials: a message and a row. */
#define LATENCY_SECONDS  0.01
#define OVERHEAD_SECONDS 0.05

struct plan {
    struct pes_sweep *sweep;
    struct pes_arena *arena;
    struct pes_layout *layout;
    struct pes_cost *costs;
    double *seconds;
    double flops, evaluate_flops, probe_flops, total_seconds, longest;
    size_t memory_bytes; /* of the largest trial, its row included */
    uint64_t file_bytes;
    bool dedicated;
};

static double trial_flops(const struct pes_cost *cost)
{
    return cost->train_flops + cost->evaluate_flops + cost->probe_flops;
}

static enum pes_status make_plan(const char *path, struct plan *plan)
{
    TRY(pes_sweep_load(path, &plan->sweep));
    size_t num_trials = plan->sweep->num_trials;
    plan->arena = pes_arena_create();
    if (!plan->arena) return PES_MEMORY;
    plan->costs = pes_arena_take(plan->arena, num_trials, sizeof *plan->costs);
    plan->seconds = pes_arena_take(plan->arena, num_trials, sizeof *plan->seconds);
    if (!plan->costs || !plan->seconds) return PES_MEMORY;
    TRY(pes_train_layout(plan->sweep, plan->arena, &plan->layout));
    TRY(pes_claims_check(plan->sweep, plan->layout));
    for (size_t t = 0; t < num_trials; t++) {
        struct pes_cost *cost = &plan->costs[t];
        TRY(pes_sweep_cost(plan->sweep, &plan->sweep->trials[t], cost));
        plan->seconds[t] = cost->seconds;
        plan->flops += trial_flops(cost);
        plan->evaluate_flops += cost->evaluate_flops;
        plan->probe_flops += cost->probe_flops;
        plan->total_seconds += cost->seconds;
        plan->longest = PES_MAX(plan->longest, cost->seconds);
        plan->memory_bytes = PES_MAX(plan->memory_bytes, cost->memory_bytes + plan->layout->row_bytes);
    }
    plan->file_bytes = pes_store_file_bytes(plan->sweep, plan->layout);
    return PES_OK;
}

static void free_plan(struct plan *plan)
{
    pes_arena_destroy(plan->arena);
    pes_sweep_destroy(plan->sweep);
}

static enum pes_status simulate(const struct plan *plan, int ranks, struct pes_makespan *makespan)
{
    return pes_schedule_simulate(plan->seconds, plan->sweep->num_trials, ranks, plan->dedicated,
                                 LATENCY_SECONDS, OVERHEAD_SECONDS, makespan);
}

/* "3.2 kB", "1.5 GB". */
static const char *bytes_text(double bytes, char text[32])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t u = 0;
    for (; bytes >= 999.5 && u + 1 < PES_COUNT(units); u++)
        bytes /= 1000;
    snprintf(text, 32, "%.3g %s", bytes, units[u]);
    return text;
}

static const char *seconds_text(double seconds, char text[32])
{
    if (seconds < 120)
        snprintf(text, 32, "%.3g s", seconds);
    else if (seconds < 7200)
        snprintf(text, 32, "%.3g min", seconds / 60);
    else if (seconds < 172800)
        snprintf(text, 32, "%.3g h", seconds / 3600);
    else
        snprintf(text, 32, "%.3g d", seconds / 86400);
    return text;
}

static void print_trials(const struct plan *plan)
{
    printf("%6s  %-12s  %12s  %12s  %10s  %s\n", "trial", "key", "parameters", "GFLOP", "seconds", "label");
    for (size_t t = 0; t < plan->sweep->num_trials; t++) {
        const struct pes_trial *trial = &plan->sweep->trials[t];
        printf("%6zu  %.12s  %12zu  %12.4g  %10.3g  %s\n", t, trial->key, plan->costs[t].parameters,
               trial_flops(&plan->costs[t]) / 1e9, plan->seconds[t], trial->label);
    }
    for (size_t s = 0; s < plan->sweep->num_skipped; s++)
        printf("skipped: %s: %s\n", plan->sweep->skipped[s].label, plan->sweep->skipped[s].reason);
    printf("\n");
}

/* One number of ranks, or a row for each power of two as long as more ranks are of use. */
static enum pes_status print_scaling(const struct plan *plan, int ranks)
{
    struct pes_makespan makespan;
    char text[32];
    printf("%8s  %12s  %10s\n", "ranks", "wall time", "efficiency");
    for (int n = ranks ? ranks : 1;; n *= 2) {
        TRY(simulate(plan, n, &makespan));
        printf("%8d  %12s  %8.1f %%\n", n, seconds_text(makespan.seconds, text), 100 * makespan.efficiency);
        if (ranks || makespan.seconds <= makespan.longest * 1.01 || (size_t)n >= plan->sweep->num_trials)
            return PES_OK;
    }
}

static enum pes_status print_plan(const struct plan *plan, int ranks, bool summary)
{
    char longest[32], total[32], memory[32], file[32];
    if (!summary) print_trials(plan);
    size_t trials = plan->sweep->num_trials, claims = plan->sweep->num_claims;
    printf("%s: %zu trial%s, %zu skipped, %zu claim%s\n", plan->sweep->name, trials, trials == 1 ? "" : "s",
           plan->sweep->num_skipped, claims, claims == 1 ? "" : "s");
    printf("arithmetic: %.4g GFLOP, about %s on one core (at %g GFLOP/s); longest trial %s\n",
           plan->flops / 1e9, seconds_text(plan->total_seconds, total), PES_COST_RATE / 1e9,
           seconds_text(plan->longest, longest));
    printf("of it: evaluations %.1f %%, spectra and probes %.1f %%, training the rest\n",
           100 * plan->evaluate_flops / plan->flops, 100 * plan->probe_flops / plan->flops);
    printf("memory: %s per rank; results file: %s\n\n", bytes_text((double)plan->memory_bytes, memory),
           bytes_text((double)plan->file_bytes, file));
    return print_scaling(plan, ranks);
}

static json_t *describe_trial(const struct plan *plan, size_t t)
{
    const struct pes_trial *trial = &plan->sweep->trials[t];
    const struct pes_cost *cost = &plan->costs[t];
    return json_pack("{s:I, s:s, s:s, s:I, s:f, s:f, s:f, s:f, s:I}", "trial", (json_int_t)t, "key",
                     trial->key, "label", trial->label, "parameters", (json_int_t)cost->parameters,
                     "train_flops", cost->train_flops, "evaluate_flops", cost->evaluate_flops, "probe_flops",
                     cost->probe_flops, "seconds", cost->seconds, "memory_bytes",
                     (json_int_t)cost->memory_bytes);
}

static enum pes_status print_json(const struct plan *plan, int ranks, bool summary)
{
    struct pes_makespan makespan;
    TRY(simulate(plan, PES_MAX(ranks, 1), &makespan));
    json_t *trials = json_array(), *skipped = json_array();
    for (size_t t = 0; !summary && t < plan->sweep->num_trials; t++)
        json_array_append_new(trials, describe_trial(plan, t));
    for (size_t s = 0; s < plan->sweep->num_skipped; s++)
        json_array_append_new(skipped, json_pack("{s:s, s:s}", "label", plan->sweep->skipped[s].label,
                                                 "reason", plan->sweep->skipped[s].reason));
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:{s:i, s:b, s:f, s:f}, s:o, s:o}", "name",
        plan->sweep->name, "hash", plan->sweep->hash, "num_trials", (json_int_t)plan->sweep->num_trials,
        "num_claims", (json_int_t)plan->sweep->num_claims, "flops", plan->flops, "evaluate_share",
        plan->evaluate_flops / plan->flops, "probe_share", plan->probe_flops / plan->flops, "rank_seconds",
        plan->total_seconds, "longest_seconds", plan->longest, "memory_bytes", (json_int_t)plan->memory_bytes,
        "file_bytes", (json_int_t)plan->file_bytes, "makespan", "ranks", PES_MAX(ranks, 1),
        "dedicated_scheduler", plan->dedicated, "seconds", makespan.seconds, "efficiency",
        makespan.efficiency, "trials", trials, "skipped", skipped);
    if (!object) return pes_fail(PES_MEMORY, "no memory for the plan");
    bool ok = json_dumpf(object, stdout, JSON_INDENT(1)) == 0 && printf("\n") > 0;
    json_decref(object);
    return ok ? PES_OK : pes_fail(PES_IO, "standard output can't be written");
}

static enum pes_status run(int argc, char **argv)
{
    int64_t ranks = 0;
    bool json = false, summary = false;
    const char *path = NULL;
    struct plan plan = {0};
    const struct pes_option options[] = {
        {"--ranks", "-n", PES_OPTION_INT, &ranks, 1, 1000000, NULL},
        {"--dedicated-scheduler", NULL, PES_OPTION_FLAG, &plan.dedicated, 0, 0, NULL},
        {"--summary", "-s", PES_OPTION_FLAG, &summary, 0, 0, NULL},
        {"--json", NULL, PES_OPTION_FLAG, &json, 0, 0, NULL},
    };
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &path, 1, 1, "one sweep file"));
    enum pes_status status = make_plan(path, &plan);
    if (status == PES_OK)
        status = json ? print_json(&plan, (int)ranks, summary) : print_plan(&plan, (int)ranks, summary);
    free_plan(&plan);
    return status;
}

const struct pes_command pes_command_plan = {
    .name = "plan",
    .usage = "pesweep plan SWEEP.yaml [--ranks N] [options]",
    .summary = "check a sweep file; show its trials, cost, memory, file size and the time it will take",
    .help = "  -n, --ranks N               simulate the run on N ranks (default: a table of powers of two)\n"
            "      --dedicated-scheduler   as the run would have it\n"
            "  -s, --summary               leave the table of trials out\n"
            "      --json                  as one JSON object\n",
    .run = run,
};
