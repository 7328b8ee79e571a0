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

static enum pes_status put_rows(FILE *file, const struct tables *tables)
{
    struct pes_study *study = tables->study;
    const struct groups *groups = tables->groups;
    double *values = pes_arena_take(study->arena, study->num_trials, sizeof *values);
    bool *reached = pes_arena_take(study->arena, study->num_trials, sizeof *reached);
    char threshold[32];
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
            TRY(put_mean(file, tables, s, p, "final.test_accuracy", values));
            TRY(put_mean(file, tables, s, p, "final.test_loss", values));
            TRY(put_steps(file, tables, s, p, steps, values, reached));
            TRY(put_mean(file, tables, s, p, "final.first_deposit_share", values));
            fputs(" \\\\\n", file);
        }
    return PES_OK;
}

static enum pes_status write_summary(const struct tables *tables)
{
    static const char name[] = "summary.tex";
    FILE *file;
    TRY(write_open(tables->folder, name, &file));
    fputs("% \\usepackage{booktabs}.  Means over seeds with bootstrap intervals (BCa); Kaplan-Meier medians "
          "of steps.\n"
          "\\begin{tabular}{llrllrl}\n\\toprule\n",
          file);
    put_text(file, tables->groups->axis);
    fprintf(file,
            " & group & $n$ & test accuracy & test loss & steps to %.4g & deposit share, layer 0 "
            "\\\\\n\\midrule\n",
            tables->threshold);
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
    return write_claims(tables);
}
