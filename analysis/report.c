/* report.c - everything that `pesweep analyze` writes, in order. */
#include "output.h"

#include <math.h>
#include <string.h>

enum { LEAST_RESAMPLES = 1000, DRAWS_A_METRIC = 10000000 };

static const struct figure *const families[] = {figures_training, figures_heads, figures_spectra,
                                                figures_maps,     figures_flow,  figures_claims};

static size_t count_figures(void)
{
    size_t count = 0;
    for (size_t f = 0; f < PES_COUNT(families); f++)
        for (const struct figure *figure = families[f]; figure->name; figure++)
            count++;
    return count;
}

/* A figure that can't be drawn is said so; only a lack of memory ends the report. */
static enum pes_status draw_all(struct canvas *canvas, struct pes_report *report)
{
    report->figures = pes_arena_take(canvas->study->arena, count_figures(), sizeof *report->figures);
    if (!report->figures) return PES_MEMORY;
    for (size_t f = 0; f < PES_COUNT(families); f++)
        for (const struct figure *figure = families[f]; figure->name; figure++) {
            if (canvas->study->heads && !figure->of_heads) continue;
            struct pes_report_figure *shown = &report->figures[report->num_figures++];
            *shown = (struct pes_report_figure){figure->question, figure->name,       figure->title,
                                                figure->caption,  report->no_figures, false};
            if (report->no_figures) continue;
            canvas->shown = shown;
            canvas->thinned = false;
            enum pes_status status = figure->draw(canvas, &shown->missing);
            shown->thinned = canvas->thinned;
            if (status == PES_MEMORY) return status;
            if (status != PES_OK)
                shown->missing = pes_arena_copy_text(canvas->study->arena, pes_error_message());
        }
    return PES_OK;
}

/* The threshold of the first claim about steps to an accuracy. */
static double threshold_of(const struct pes_sweep *sweep)
{
    static const char start[] = "steps_to(test_accuracy, ";
    for (size_t i = 0; i < sweep->num_claims; i++) {
        char number[32] = "";
        double value;
        if (strncmp(sweep->claims[i].metric, start, strlen(start))) continue;
        snprintf(number, sizeof number, "%s", sweep->claims[i].metric + strlen(start));
        number[strcspn(number, ")")] = '\0';
        if (pes_text_parse_real(number, &value)) return value;
    }
    return 0.9;
}

static enum pes_status make_figures(struct canvas *canvas, const struct pes_report_options *options,
                                    struct pes_report *report)
{
    if (!options->figures)
        report->no_figures = "not asked for";
    else if (!figure_gnuplot_works(canvas->gnuplot))
        report->no_figures =
            pes_arena_printf(canvas->study->arena, "%s isn't installed or doesn't start", canvas->gnuplot);
    else
        TRY(write_folder(canvas->folder));
    enum pes_status status = draw_all(canvas, report);
    figure_wait(canvas, 0);
    return status;
}

static enum pes_status write_tables(const struct tables *tables)
{
    TRY(write_folder(tables->folder));
    if (!tables->study->heads) {
        TRY(tables_claims(tables));
        TRY(tables_claim_values(tables));
        TRY(tables_curves(tables));
    } else {
        TRY(tables_steps(tables));
    }
    TRY(tables_heads(tables));
    TRY(tables_probes(tables));
    TRY(tables_latex(tables));
    return tables_dictionary(tables);
}

enum pes_status pes_report_write(struct pes_study *study, const struct pes_report_options *options,
                                 struct pes_report *report)
{
    struct groups groups;
    struct canvas canvas = {.study = study, .groups = &groups, .resampling = options->resampling};
    struct tables tables = {study, &groups, report, options->resampling, 0, NULL, options->json};
    *report = (struct pes_report){0};
    tables.threshold = isnan(options->threshold) ? threshold_of(study->sweep) : options->threshold;
    canvas.threshold = tables.threshold;
    canvas.gnuplot = options->gnuplot ? options->gnuplot : "gnuplot";
    canvas.folder = pes_arena_printf(study->arena, "%s/figures", options->folder);
    tables.folder = pes_arena_printf(study->arena, "%s/tables", options->folder);
    if (!canvas.folder || !tables.folder) return PES_MEMORY;
    TRY(groups_make(study, &groups));
    /* Judged with all resamples; tables over very many trials make do with fewer. */
    size_t enough = PES_MAX((size_t)LEAST_RESAMPLES, DRAWS_A_METRIC / PES_MAX(study->num_trials, (size_t)1));
    tables.resampling.resamples = canvas.resampling.resamples =
        PES_MIN(options->resampling.resamples, enough);
    TRY(pes_study_judge(study, &options->resampling, &report->claims, &report->num_claims));
    TRY(models_judge(study, report));
    TRY(write_tables(&tables));
    if (!study->heads) TRY(verdicts_write(&tables, options->folder));
    TRY(make_figures(&canvas, options, report));
    return html_write(&tables, options->folder, canvas.folder);
}
