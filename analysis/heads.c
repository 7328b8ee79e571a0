/* heads.c - tables over heads: where previous-token heads stand in a measure, and how the two go together. */
#include "output.h"

#include <math.h>
#include <string.h>

static const char *const measures[] = {"rotational_fraction", "rotational_energy", "phase_fraction",
                                       "directional_fraction", "rotational_fraction_z"};

/* Median percentile over the k heads of a trial with the largest previous-token scores. */
static enum pes_status percentile_of(const struct pes_column *measure, const struct pes_column *scores,
                                     size_t trial, size_t k, double *percentile)
{
    double top[16];
    CHECK(k <= PES_COUNT(top));
    TRY(pes_stat_top_percentiles(scores->field->count, pes_column_of(measure, trial),
                                 pes_column_of(scores, trial), k, top));
    *percentile = pes_stat_median(k, top);
    return PES_OK;
}

enum pes_status tables_percentiles(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {"series", "group", "measure", "k", "n", "median_percentile",
                                          "low",    "high"};
    static const size_t ks[] = {1, 3, 5, 10};
    struct pes_study *study = tables->study;
    const struct groups *groups = tables->groups;
    const struct pes_column *scores, *measure;
    TRY(pes_study_column(study, "probes", "previous_token_score", &scores));
    double *values = pes_arena_take(study->arena, study->num_trials, sizeof *values);
    if (!values) return PES_MEMORY;
    struct table table;
    TRY(table_open(&table, tables, "percentiles", columns, PES_COUNT(columns), html));
    enum pes_status status = PES_OK;
    for (size_t i = 0; i < PES_COUNT(measures) * PES_COUNT(ks) && status == PES_OK && scores; i++) {
        size_t k = ks[i % PES_COUNT(ks)];
        const char *name = measures[i / PES_COUNT(ks)];
        status = pes_study_column(study, "spectra_folded", name, &measure);
        if (status != PES_OK || !measure || 2 * k > scores->field->count) continue;
        for (size_t g = 0; g < groups->num_panels * groups->num_series && status == PES_OK; g++) {
            size_t n = 0, s = g % groups->num_series, p = g / groups->num_series, count;
            const size_t *member = groups_members(groups, s, p, &count);
            for (size_t i_member = 0; i_member < count && status == PES_OK; i_member++) {
                status = percentile_of(measure, scores, member[i_member], k, &values[n]);
                if (!isnan(values[n])) n++;
            }
            struct pes_interval median;
            if (status != PES_OK || !n) continue;
            status = pes_stat_location_interval(PES_LOCATION_MEDIAN, n, values, &tables->resampling, &median);
            table_text(&table, groups->series[s]);
            table_text(&table, groups->panels[p]);
            table_text(&table, name);
            table_count(&table, k);
            table_count(&table, n);
            table_number(&table, median.estimate);
            table_number(&table, median.low);
            table_number(&table, median.high);
        }
    }
    enum pes_status closed = table_close(&table);
    return status != PES_OK ? status : closed;
}

/* Heads of a group: measure, score and layer of each, and the trial it belongs to. */
static size_t collect(const struct tables *tables, const struct pes_column *measure,
                      const struct pes_column *scores, size_t group, double *x, double *y, double *layer,
                      size_t *trial)
{
    const struct groups *groups = tables->groups;
    size_t n = 0, heads = scores->field->extent[1], count;
    const size_t *member =
        groups_members(groups, group % groups->num_series, group / groups->num_series, &count);
    for (size_t k = 0; k < count; k++) {
        size_t t = member[k];
        for (size_t i = 0; i < scores->field->count; i++) {
            x[n] = pes_column_of(measure, t)[i];
            y[n] = pes_column_of(scores, t)[i];
            layer[n] = (double)(i / heads);
            trial[n] = t;
            if (isfinite(x[n]) && isfinite(y[n])) n++;
        }
    }
    return n;
}

enum pes_status tables_associations(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {"series",  "group",       "measure",     "heads",
                                          "trials",  "spearman",    "low",         "high",
                                          "partial", "partial_low", "partial_high"};
    struct pes_study *study = tables->study;
    const struct groups *groups = tables->groups;
    const struct pes_column *scores, *measure;
    TRY(pes_study_column(study, "probes", "previous_token_score", &scores));
    size_t most = scores ? study->num_trials * scores->field->count : 0;
    double *x = pes_arena_take(study->arena, 3 * most, sizeof *x), *y = x + most, *layer = y + most;
    size_t *trial = pes_arena_take(study->arena, most, sizeof *trial);
    if (!x || !trial) return PES_MEMORY;
    /* Every resample ranks all heads anew; where that takes too long, there are heads enough without. */
    const struct pes_resampling resampling = tables_affordable(tables, (double)most, 4e6);
    struct table table;
    TRY(table_open(&table, tables, "associations", columns, PES_COUNT(columns), html));
    enum pes_status status = PES_OK;
    for (size_t i = 0; i < PES_COUNT(measures) && status == PES_OK && scores; i++) {
        status = pes_study_column(study, "spectra_folded", measures[i], &measure);
        for (size_t g = 0; g < groups->num_panels * groups->num_series && status == PES_OK && measure; g++) {
            size_t n = collect(tables, measure, scores, g, x, y, layer, trial), clusters = 0;
            struct pes_interval simple, partial;
            if (n < 4) continue;
            for (size_t k = 0; k < n; k++)
                clusters += k == 0 || trial[k] != trial[k - 1];
            const double *controls[] = {layer};
            status = pes_stat_spearman(n, x, y, 0, NULL, trial, &resampling, &simple);
            if (status == PES_OK)
                status = pes_stat_spearman(n, x, y, 1, controls, trial, &resampling, &partial);
            if (status != PES_OK) break;
            table_text(&table, groups->series[g % groups->num_series]);
            table_text(&table, groups->panels[g / groups->num_series]);
            table_text(&table, measures[i]);
            table_count(&table, n);
            table_count(&table, clusters);
            table_number(&table, simple.estimate);
            table_number(&table, simple.low);
            table_number(&table, simple.high);
            table_number(&table, partial.estimate);
            table_number(&table, partial.low);
            table_number(&table, partial.high);
        }
    }
    enum pes_status closed = table_close(&table);
    return status != PES_OK ? status : closed;
}
