/* statistics.c - what the groups have in common and how they differ: the tables of the report that are
 * computed. */
#include "output.h"

#include <math.h>
#include <string.h>

static void put_interval(struct table *table, const struct pes_interval *interval)
{
    table_number(table, interval->low);
    table_number(table, interval->high);
}

static const char *flag_text(unsigned flags)
{
    return flags & PES_INTERVAL_NOT_AVAILABLE ? "not available"
           : flags & PES_INTERVAL_THEORY      ? "no resampling: many values"
           : flags & PES_INTERVAL_PERCENTILE  ? "percentile"
           : flags & PES_INTERVAL_SMALL_N     ? "small n"
                                              : "";
}

/* Location of one group three times over. */
struct located {
    struct pes_interval mean, median, iqm;
    enum pes_status status;
};

static void locate_all(size_t num_groups, const struct group_values *values,
                       const struct pes_resampling *resampling, struct located *located)
{
#pragma omp parallel for schedule(dynamic)
    for (size_t g = 0; g < num_groups; g++) {
        size_t n = values->start[g + 1] - values->start[g];
        const double *x = values->value + values->start[g];
        struct located *l = &located[g];
        if (!n) continue;
        l->status = pes_stat_location_interval(PES_LOCATION_MEAN, n, x, resampling, &l->mean);
        if (l->status == PES_OK)
            l->status = pes_stat_location_interval(PES_LOCATION_MEDIAN, n, x, resampling, &l->median);
        if (l->status == PES_OK)
            l->status = pes_stat_location_interval(PES_LOCATION_IQM, n, x, resampling, &l->iqm);
    }
}

static enum pes_status put_location(struct table *table, size_t n, const double *x, double level,
                                    const struct located *located)
{
    struct pes_interval t = pes_stat_t_interval(n, x, level);
    TRY(located->status);
    table_number(table, t.estimate);
    table_number(table, pes_stat_sd(n, x));
    put_interval(table, &t);
    put_interval(table, &located->mean);
    table_number(table, located->median.estimate);
    put_interval(table, &located->median);
    table_number(table, located->iqm.estimate);
    put_interval(table, &located->iqm);
    table_text(table, flag_text(located->mean.flags));
    return PES_OK;
}

/* Steps have a Kaplan-Meier median alone. */
static enum pes_status put_median(struct table *table, size_t n, const double *x, const bool *reached)
{
    double median;
    bool found;
    TRY(pes_stat_survival_median(&(struct pes_survival){n, x, reached}, &median, &found));
    for (int i = 0; i < 6; i++)
        table_number(table, NAN);
    table_number(table, median);
    for (int i = 0; i < 5; i++)
        table_number(table, NAN);
    table_text(table, found ? "" : "at least, censored");
    return PES_OK;
}

enum pes_status tables_groups(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {
        "series",   "group",  "metric",     "n",           "mean", "sd",      "t_low",    "t_high", "bca_low",
        "bca_high", "median", "median_low", "median_high", "iqm",  "iqm_low", "iqm_high", "note"};
    struct pes_study *study = tables->study;
    const struct groups *groups = tables->groups;
    char threshold[32];
    const char *steps = pes_arena_printf(study->arena, "steps_to(test_accuracy, %s)",
                                         pes_text_format_real(tables->threshold, threshold));
    if (!steps) return PES_MEMORY;
    static const char *const of_models[] = {
        "final.rotational_fraction", "final.rotational_fraction_z", "final.directional_fraction",
        "final.phase_fraction",      "final.effective_rank",        "final.rotational_percentile_5",
        "final.layer_symmetry",      "final.layer_directionality",  "final.phase_onset_lag"};
    const char *const of_sweeps[] = {
        "final.test_accuracy",       "final.test_loss",           steps,
        "final.first_deposit_share", "final.contraction_change",  "final.rotational_percentile",
        "final.phase_onset_lag",     "final.symmetrisation_ratio"};
    const char *const *metrics = study->heads ? of_models : of_sweeps;
    size_t num_metrics = study->heads ? PES_COUNT(of_models) : PES_COUNT(of_sweeps);
    size_t cells = groups->num_panels * groups->num_series;
    struct located *located = pes_arena_take(study->arena, cells, sizeof *located);
    struct table table;
    if (!located) return PES_MEMORY;
    TRY(table_open(&table, tables, "groups", columns, PES_COUNT(columns), html));
    enum pes_status status = PES_OK;
    for (size_t k = 0; k < num_metrics && status == PES_OK; k++) {
        struct pes_metric metric;
        struct group_values values;
        if (pes_metric_resolve(study, metrics[k], &metric) != PES_OK) continue;
        status = groups_collect(study, groups, &metric, &values);
        if (status == PES_OK && !metric.times) locate_all(cells, &values, &tables->resampling, located);
        for (size_t g = 0; g < cells && status == PES_OK; g++) {
            size_t first = values.start[g], n = values.start[g + 1] - first;
            if (!n) continue;
            table_text(&table, groups->series[g % groups->num_series]);
            table_text(&table, groups->panels[g / groups->num_series]);
            table_text(&table, metrics[k]);
            table_count(&table, n);
            status = metric.times ? put_median(&table, n, values.value + first, values.reached + first)
                                  : put_location(&table, n, values.value + first, tables->resampling.level,
                                                 &located[g]);
        }
    }
    if (status == PES_OK) return table_close(&table);
    table_abandon(&table);
    return status;
}

/* One pair of series within a panel. */
struct comparison {
    size_t panel, first, second, n, m, seeds;
    struct pes_interval difference, shift, cliff;
    struct pes_test permutation, ranks;
    enum pes_status status;
};

static enum pes_status compare(const struct groups *groups, const struct group_values *values,
                               const struct pes_resampling *resampling, struct comparison *c)
{
    size_t first = c->panel * groups->num_series + c->first, second = first - c->first + c->second;
    const double *a = values->value + values->start[first], *b = values->value + values->start[second];
    c->n = values->start[first + 1] - values->start[first];
    c->m = values->start[second + 1] - values->start[second];
    if (!c->n || !c->m) return PES_OK;
    TRY(pes_stat_difference_interval(PES_LOCATION_MEAN, c->n, a, c->m, b, resampling, &c->difference));
    TRY(pes_stat_shift(c->n, a, c->m, b, resampling->level, &c->shift));
    c->cliff = pes_stat_cliff(c->n, a, c->m, b, resampling->level);
    TRY(pes_stat_permutation(c->n, a, c->m, b, PES_TWO_SIDED, 0, resampling, &c->permutation));
    TRY(pes_stat_mann_whitney(c->n, a, c->m, b, PES_TWO_SIDED, resampling, &c->ranks));
    double va = pes_stat_sd(c->n, a), vb = pes_stat_sd(c->m, b);
    c->seeds = pes_stat_seeds_needed(c->difference.estimate / sqrt((va * va + vb * vb) / 2), 0.05, 0.8);
    return PES_OK;
}

static enum pes_status put_comparisons(const struct tables *tables, size_t count,
                                       const struct comparison *list, const char *metric,
                                       struct pes_text *html)
{
    static const char *const columns[] = {"metric",     "group",
                                          "first",      "second",
                                          "n",          "n_second",
                                          "difference", "low",
                                          "high",       "shift",
                                          "shift_low",  "shift_high",
                                          "cliff",      "cliff_low",
                                          "cliff_high", "improvement",
                                          "p",          "p_smallest",
                                          "p_ranks",    "p_holm",
                                          "q_bh",       "seeds_for_80_percent_power"};
    double *p = pes_allocate(3 * count, sizeof *p);
    if (!p) return PES_MEMORY;
    double *holm = p + count, *bh = holm + count;
    for (size_t i = 0; i < count; i++)
        p[i] = list[i].permutation.p;
    enum pes_status status = pes_stat_holm(count, p, holm);
    if (status == PES_OK) status = pes_stat_benjamini_hochberg(count, p, bh);
    struct table table;
    if (status == PES_OK)
        status = table_open(&table, tables, "comparisons", columns, PES_COUNT(columns), html);
    for (size_t i = 0; i < count && status == PES_OK; i++) {
        const struct comparison *c = &list[i];
        table_text(&table, metric);
        table_text(&table, tables->groups->panels[c->panel]);
        table_text(&table, tables->groups->series[c->first]);
        table_text(&table, tables->groups->series[c->second]);
        table_count(&table, c->n);
        table_count(&table, c->m);
        table_number(&table, c->difference.estimate);
        put_interval(&table, &c->difference);
        table_number(&table, c->shift.estimate);
        put_interval(&table, &c->shift);
        table_number(&table, c->cliff.estimate);
        put_interval(&table, &c->cliff);
        table_number(&table, (1 + c->cliff.estimate) / 2); /* P(a > b) + P(a = b)/2 */
        table_number(&table, c->permutation.p);
        table_number(&table, c->permutation.p_smallest);
        table_number(&table, c->ranks.p);
        table_number(&table, holm[i]);
        table_number(&table, bh[i]);
        table_number(&table, c->seeds ? (double)c->seeds : NAN);
    }
    pes_free(p);
    return status == PES_OK ? table_close(&table) : status;
}

enum pes_status tables_comparisons(const struct tables *tables, struct pes_text *html)
{
    struct pes_study *study = tables->study;
    const struct groups *groups = tables->groups;
    const char *text = "final.test_accuracy";
    struct pes_metric metric;
    struct group_values values;
    size_t pairs = groups->num_series * (groups->num_series - 1) / 2 * groups->num_panels, all = 0, count = 0;
    if (pes_metric_resolve(study, text, &metric) != PES_OK) return PES_OK;
    struct comparison *list = pes_arena_take(study->arena, pairs, sizeof *list);
    if (!list) return PES_MEMORY;
    TRY(groups_collect(study, groups, &metric, &values));
    for (size_t p = 0; p < groups->num_panels; p++)
        for (size_t s = 0; s < groups->num_series; s++)
            for (size_t o = s + 1; o < groups->num_series; o++)
                list[all++] = (struct comparison){.panel = p, .first = s, .second = o};
    /* Most groups have as many trials as the first. */
    size_t each = all ? values.start[1] : 0;
    struct pes_resampling resampling = tables->resampling;
    struct pes_subsets subsets;
    TRY(pes_stat_subsets_create(2 * each, each, &resampling, &subsets));
    resampling.subsets = &subsets;
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < pairs; i++)
        list[i].status = compare(groups, &values, &resampling, &list[i]);
    pes_stat_subsets_destroy(&subsets);
    for (size_t i = 0; i < pairs; i++) {
        TRY(list[i].status);
        if (list[i].n && list[i].m) list[count++] = list[i];
    }
    return put_comparisons(tables, count, list, text, html);
}

/* Distinct values of every axis; false if there are too many axes. */
static enum pes_status find_levels(struct pes_study *study, size_t *axes, size_t *num_axes, size_t *levels,
                                   size_t *level_of, bool *crossed)
{
    const struct pes_sweep *sweep = study->sweep;
    *num_axes = 0;
    *crossed = true;
    const char **texts = pes_arena_take(study->arena, study->num_trials, sizeof *texts);
    if (!texts) return PES_MEMORY;
    for (size_t a = 0; a < sweep->num_axes; a++) {
        size_t count = 0;
        if (*num_axes == PES_MAX_FACTORS) {
            *crossed = false;
            return PES_OK;
        }
        for (size_t t = 0; t < study->num_trials; t++) {
            const char *text = pes_study_axis_text(study, t, a);
            if (!text) return PES_MEMORY;
            size_t i = 0;
            while (i < count && strcmp(texts[i], text))
                i++;
            if (i == count) texts[count++] = text;
            level_of[*num_axes * study->num_trials + t] = i;
        }
        if (count < 2) continue;
        axes[*num_axes] = a;
        levels[(*num_axes)++] = count;
    }
    return PES_OK;
}

static enum pes_status put_variance(const struct tables *tables, size_t num_axes, const size_t *axes,
                                    const size_t *levels, const double *cells, const char *metric,
                                    struct table *table)
{
    double component[1 << PES_MAX_FACTORS], total = 0;
    size_t sets = (size_t)1 << num_axes;
    TRY(pes_stat_variance_components(num_axes, levels, cells, component));
    if (isnan(component[0])) return PES_OK;
    for (size_t s = 1; s < sets; s++)
        total += component[s];
    for (size_t s = 1; s < sets; s++) {
        struct pes_text name = {0};
        for (size_t f = 0; f < num_axes; f++)
            if (s >> f & 1)
                pes_text_append(&name, "%s%s", name.length ? " x " : "",
                                tables->study->sweep->axes[axes[f]].name);
        if (s == sets - 1) pes_text_append(&name, " and residual");
        table_text(table, metric);
        table_text(table, pes_text_get(&name));
        table_number(table, component[s]);
        table_number(table, sqrt(component[s]));
        table_number(table, total > 0 ? component[s] / total : NAN);
        pes_text_destroy(&name);
    }
    return PES_OK;
}

/* Only for a complete crossed design of at most PES_MAX_FACTORS axes, all of whose trials have finished. */
enum pes_status tables_variance(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {"metric", "component", "variance", "sd", "share"};
    static const char *const metrics[] = {"final.test_accuracy", "final.test_loss"};
    struct pes_study *study = tables->study;
    size_t axes[PES_MAX_FACTORS], levels[PES_MAX_FACTORS], num_axes, cells = 1, n = study->num_trials;
    size_t *level_of = pes_arena_take(study->arena, n * (PES_MAX_FACTORS + 1), sizeof *level_of);
    bool crossed;
    if (!level_of) return PES_MEMORY;
    TRY(find_levels(study, axes, &num_axes, levels, level_of, &crossed));
    for (size_t f = 0; f < num_axes; f++)
        cells *= levels[f];
    struct table table;
    TRY(table_open(&table, tables, "variance", columns, PES_COUNT(columns), html));
    enum pes_status status = PES_OK;
    double *values = pes_arena_take(study->arena, n, sizeof *values);
    if (!values) status = PES_MEMORY;
    for (size_t k = 0; k < PES_COUNT(metrics) && status == PES_OK && crossed && num_axes && cells == n; k++) {
        struct pes_metric metric;
        if (pes_metric_resolve(study, metrics[k], &metric) != PES_OK) continue;
        for (size_t t = 0; t < n && status == PES_OK; t++) {
            size_t cell = 0;
            bool reached;
            for (size_t f = 0; f < num_axes; f++)
                cell = cell * levels[f] + level_of[f * n + t];
            status = pes_metric_evaluate(study, &metric, t, &values[cell], &reached);
        }
        if (status == PES_OK)
            status = put_variance(tables, num_axes, axes, levels, values, metrics[k], &table);
    }
    enum pes_status closed = table_close(&table);
    return status != PES_OK ? status : closed;
}
