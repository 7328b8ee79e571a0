/* reliability.c - series over several tasks at once (Agarwal et al. 2021, "Deep reinforcement learning at the
 * edge of the statistical precipice"): interquartile means, probability of improvement, both with the
 * stratified bootstrap.
 *
 * A task is a panel: a combination of all axes but the main one and the seeds. */
#include "output.h"

#include <math.h>

enum { MOST_DRAWS = 2000000 }; /* that an interval may cost */

static const char metric_name[] = "final.test_accuracy";

/* The metric's values by group; false in *there if the file doesn't have it. */
static enum pes_status collect(const struct tables *tables, struct group_values *values, bool *there)
{
    struct pes_metric metric;
    *there = pes_metric_resolve(tables->study, metric_name, &metric) == PES_OK;
    return *there ? groups_collect(tables->study, tables->groups, &metric, values) : PES_OK;
}

/* Runs of a series, task after task, and how many each has. */
struct runs {
    size_t tasks, total, *count;
    double *x;
};

static enum pes_status make_runs(const struct tables *tables, struct runs *runs)
{
    struct pes_arena *arena = tables->study->arena;
    runs->count = pes_arena_take(arena, tables->groups->num_panels, sizeof *runs->count);
    runs->x = pes_arena_take(arena, tables->study->num_trials, sizeof *runs->x);
    return runs->count && runs->x ? PES_OK : PES_MEMORY;
}

/* Tasks that the series has, and the other one too unless that is SIZE_MAX. */
static void take_runs(const struct tables *tables, const struct group_values *values, size_t series,
                      size_t other, struct runs *runs)
{
    size_t num_series = tables->groups->num_series;
    runs->tasks = runs->total = 0;
    for (size_t p = 0; p < tables->groups->num_panels; p++) {
        size_t g = p * num_series + series, o = p * num_series + other;
        size_t n = values->start[g + 1] - values->start[g];
        if (!n || (other != SIZE_MAX && values->start[o + 1] == values->start[o])) continue;
        runs->count[runs->tasks++] = n;
        for (size_t i = 0; i < n; i++)
            runs->x[runs->total++] = values->value[values->start[g] + i];
    }
}

enum pes_status tables_reliability(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {"series", "metric", "tasks",   "runs",
                                          "mean",   "iqm",    "iqm_low", "iqm_high"};
    struct group_values values;
    struct runs runs;
    struct table table;
    bool there;
    TRY(make_runs(tables, &runs));
    TRY(collect(tables, &values, &there));
    TRY(table_open(&table, tables, "reliability", columns, PES_COUNT(columns), html));
    enum pes_status status = PES_OK;
    for (size_t s = 0; s < tables->groups->num_series && there && status == PES_OK; s++) {
        take_runs(tables, &values, s, SIZE_MAX, &runs);
        if (!runs.total) continue;
        const struct pes_resampling resampling = tables_affordable(tables, (double)runs.total, MOST_DRAWS);
        struct pes_interval iqm;
        double mean = 0;
        for (size_t t = 0, first = 0; t < runs.tasks; first += runs.count[t++])
            mean += pes_stat_mean(runs.count[t], runs.x + first) / (double)runs.tasks;
        status = pes_stat_iqm_stratified(runs.tasks, runs.count, runs.x, &resampling, &iqm);
        table_text(&table, tables->groups->series[s]);
        table_text(&table, metric_name);
        table_count(&table, runs.tasks);
        table_count(&table, runs.total);
        table_number(&table, mean);
        table_number(&table, iqm.estimate);
        table_number(&table, iqm.low);
        table_number(&table, iqm.high);
    }
    enum pes_status closed = table_close(&table);
    return status != PES_OK ? status : closed;
}

/* By pairs of runs where these are few enough to be drawn again and again; else by ranks, without interval.
 */
static enum pes_status improve(const struct tables *tables, const struct runs *a, const struct runs *b,
                               struct pes_interval *improvement)
{
    double pairs = 0, sum = 0;
    for (size_t t = 0; t < a->tasks; t++)
        pairs += (double)a->count[t] * (double)b->count[t];
    const struct pes_resampling resampling = tables_affordable(tables, pairs, MOST_DRAWS);
    if (resampling.level > 0)
        return pes_stat_improvement(a->tasks, a->count, a->x, b->count, b->x, &resampling, improvement);
    for (size_t t = 0, i = 0, j = 0; t < a->tasks; i += a->count[t], j += b->count[t], t++)
        sum += (1 + pes_stat_cliff(a->count[t], a->x + i, b->count[t], b->x + j, 0.95).estimate) / 2;
    *improvement = (struct pes_interval){sum / (double)a->tasks, NAN, NAN, PES_INTERVAL_NOT_AVAILABLE};
    return PES_OK;
}

enum pes_status tables_improvement(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {"metric",   "first",       "second", "tasks", "n",
                                          "n_second", "improvement", "low",    "high"};
    const struct groups *groups = tables->groups;
    struct group_values values;
    struct runs a, b;
    struct table table;
    bool there;
    TRY(make_runs(tables, &a));
    TRY(make_runs(tables, &b));
    TRY(collect(tables, &values, &there));
    TRY(table_open(&table, tables, "improvement", columns, PES_COUNT(columns), html));
    enum pes_status status = PES_OK;
    for (size_t s = 0; s < groups->num_series && there; s++)
        for (size_t o = s + 1; o < groups->num_series && status == PES_OK; o++) {
            struct pes_interval improvement;
            take_runs(tables, &values, s, o, &a);
            take_runs(tables, &values, o, s, &b);
            if (!a.tasks) continue;
            status = improve(tables, &a, &b, &improvement);
            table_text(&table, metric_name);
            table_text(&table, groups->series[s]);
            table_text(&table, groups->series[o]);
            table_count(&table, a.tasks);
            table_count(&table, a.total);
            table_count(&table, b.total);
            table_number(&table, improvement.estimate);
            table_number(&table, improvement.low);
            table_number(&table, improvement.high);
        }
    enum pes_status closed = table_close(&table);
    return status != PES_OK ? status : closed;
}
