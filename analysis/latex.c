/* latex.c - tables for a paper, for \usepackage{booktabs}: one line per group, one line per claim. */
#include "output.h"

#include <math.h>
#include <string.h>

static void put_text(FILE *file, const char *plain)
{
    for (; *plain; plain++) {
        if (strchr("#$%&_{}", *plain))
            fprintf(file, "\\%c", *plain);
        else if (*plain == '\\' || *plain == '~' || *plain == '^')
            fprintf(file, "\\char`\\%c{}", *plain);
        else
            fputc(*plain, file);
    }
}

static enum pes_status put_mean(FILE *file, const struct tables *tables, size_t series, size_t panel,
                                const char *text, double *values)
{
    struct pes_metric metric;
    size_t n = 0;
    fputs(" & ", file);
    if (pes_metric_resolve(tables->study, text, &metric) == PES_OK)
        TRY(groups_values(tables->study, tables->groups, series, panel, &metric, &n, values, NULL));
    if (!n) {
        fputs("--", file);
        return PES_OK;
    }
    struct pes_interval mean;
    TRY(pes_stat_location_interval(PES_LOCATION_MEAN, n, values, &tables->resampling, &mean));
    fprintf(file, "%.3f", mean.estimate);
    if (!isnan(mean.low)) fprintf(file, " [%.3f, %.3f]", mean.low, mean.high);
    return PES_OK;
}

static enum pes_status put_steps(FILE *file, const struct tables *tables, size_t series, size_t panel,
                                 const char *text, double *values, bool *reached)
{
    struct pes_metric metric;
    size_t n = 0;
    double median = NAN;
    bool found = true;
    if (pes_metric_resolve(tables->study, text, &metric) == PES_OK)
        TRY(groups_values(tables->study, tables->groups, series, panel, &metric, &n, values, reached));
    TRY(pes_stat_survival_median(&(struct pes_survival){n, values, reached}, &median, &found));
    if (isnan(median))
        fputs(" & --", file);
    else
        fprintf(file, found ? " & %.0f" : " & $\\geq$ %.0f", median);
    return PES_OK;
}

/* Columns of the summary: of sweeps, of models.  NULL: steps to the threshold. */
struct summary {
    const char *title, *metric;
};
static const struct summary of_sweeps[] = {{"test accuracy", "final.test_accuracy"},
                                           {"test loss", "final.test_loss"},
                                           {NULL, NULL},
                                           {"deposit share, layer 0", "final.first_deposit_share"}};
static const struct summary of_models[] = {{"rotational fraction", "final.rotational_fraction"},
                                           {"$z$", "final.rotational_fraction_z"},
                                           {"directional fraction", "final.directional_fraction"},
                                           {"phase fraction", "final.phase_fraction"},
                                           {"effective rank", "final.effective_rank"},
                                           {"percentile, top 5", "final.rotational_percentile_5"}};

static const struct summary *summary_of(const struct pes_study *study, size_t *count)
{
    *count = study->heads ? PES_COUNT(of_models) : PES_COUNT(of_sweeps);
    return study->heads ? of_models : of_sweeps;
}

static enum pes_status put_rows(FILE *file, const struct tables *tables)
{
    struct pes_study *study = tables->study;
    const struct groups *groups = tables->groups;
    double *values = pes_arena_take(study->arena, study->num_trials, sizeof *values);
    bool *reached = pes_arena_take(study->arena, study->num_trials, sizeof *reached);
    char threshold[32];
    size_t num_columns;
    const struct summary *columns = summary_of(study, &num_columns);
    const char *steps = pes_arena_printf(study->arena, "steps_to(test_accuracy, %s)",
                                         pes_text_format_real(tables->threshold, threshold));
    if (!values || !reached || !steps) return PES_MEMORY;
    for (size_t p = 0; p < groups->num_panels; p++)
        for (size_t s = 0; s < groups->num_series; s++) {
            size_t n;
            (void)groups_members(groups, s, p, &n);
            if (!n) continue;
            put_text(file, groups->series[s]);
            fputs(" & ", file);
            put_text(file, groups->panels[p]);
            fprintf(file, " & %zu", n);
            for (size_t c = 0; c < num_columns; c++)
                TRY(columns[c].metric ? put_mean(file, tables, s, p, columns[c].metric, values)
                                      : put_steps(file, tables, s, p, steps, values, reached));
            fputs(" \\\\\n", file);
        }
    return PES_OK;
}

static enum pes_status write_summary(const struct tables *tables)
{
    static const char name[] = "summary.tex";
    FILE *file;
    TRY(write_open(tables->folder, name, &file));
    size_t num_columns;
    const struct summary *columns = summary_of(tables->study, &num_columns);
    fputs(tables->study->heads
              ? "% \\usepackage{booktabs}.  Means over the heads of a model, norm's gain folded in.\n"
              : "% \\usepackage{booktabs}.  Means over seeds with bootstrap intervals (BCa); Kaplan-Meier "
                "medians of steps.\n",
          file);
    fputs("\\begin{tabular}{llr", file);
    for (size_t c = 0; c < num_columns; c++)
        fputc(columns[c].metric ? 'l' : 'r', file);
    fputs("}\n\\toprule\n", file);
    put_text(file, tables->groups->axis);
    fputs(" & group & $n$", file);
    for (size_t c = 0; c < num_columns; c++)
        if (columns[c].metric)
            fprintf(file, " & %s", columns[c].title);
        else
            fprintf(file, " & steps to %.4g", tables->threshold);
    fputs(" \\\\\n\\midrule\n", file);
    enum pes_status status = put_rows(file, tables);
    fputs("\\bottomrule\n\\end{tabular}\n", file);
    enum pes_status closed = write_close(file, tables->folder, name);
    return status != PES_OK ? status : closed;
}

static void put_interval(FILE *file, const struct pes_finding *f)
{
    bool least = f->effect.flags & PES_INTERVAL_AT_LEAST, most = f->effect.flags & PES_INTERVAL_AT_MOST;
    if (isnan(f->effect.estimate)) {
        fputs(" & --", file);
        return;
    }
    fprintf(file, " & %s%.3g",
            least && !most   ? "$\\geq$ "
            : most && !least ? "$\\leq$ "
                             : "",
            f->effect.estimate);
    if (isfinite(f->effect.low) && isfinite(f->effect.high))
        fprintf(file, " [%.3g, %.3g]", f->effect.low, f->effect.high);
}

static enum pes_status write_claims(const struct tables *tables)
{
    static const char name[] = "claims.tex";
    FILE *file;
    TRY(write_open(tables->folder, name, &file));
    fputs("% \\usepackage{booktabs}.  p after Holm's correction over all claims; n: seeds of the two sides.\n"
          "\\begin{tabular}{lllrr}\n\\toprule\nclaim & verdict & effect & $p$ & $n$ \\\\\n\\midrule\n",
          file);
    for (size_t i = 0; i < tables->report->num_claims; i++) {
        const struct pes_claim_result *result = &tables->report->claims[i];
        const struct pes_finding *f = &result->verdict.finding;
        put_text(file, result->claim->name);
        fprintf(file, " & %s", pes_decision_name(result->verdict.decision));
        put_interval(file, f);
        if (isnan(result->verdict.p_corrected))
            fputs(" & --", file);
        else
            fprintf(file, " & %.2g", result->verdict.p_corrected);
        fprintf(file, " & %zu / %zu \\\\\n", f->n, f->m);
    }
    fputs("\\bottomrule\n\\end{tabular}\n", file);
    return write_close(file, tables->folder, name);
}

enum pes_status tables_latex(const struct tables *tables)
{
    TRY(write_summary(tables));
    return tables->study->heads ? PES_OK : write_claims(tables);
}
