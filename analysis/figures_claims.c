/* figures_claims.c - the values that claims are judged by. */
#include "output.h"

#include <math.h>
#include <string.h>

enum { MOST_CELLS = 24 };

static bool earlier(const struct pes_sweep *sweep, size_t claim)
{
    for (size_t i = 0; i < claim; i++)
        if (!strcmp(sweep->claims[i].metric, sweep->claims[claim].metric)) return true;
    return false;
}

/* Points of one group at `place`: those that reached the level, and those that never did. */
static void write_points(struct canvas *canvas, size_t n, const double *values, const bool *reached,
                         size_t place, size_t series)
{
    for (int want = 1; want >= 0; want--) {
        size_t any = 0;
        for (size_t i = 0; i < n; i++)
            any += reached[i] == (want == 1) && isfinite(values[i]);
        if (!any) continue;
        size_t block = figure_block(canvas, want ? "values" : "never reached");
        size_t every = figure_every(canvas, n, FIGURE_MOST_POINTS);
        for (size_t i = 0; i < n; i += every)
            if (reached[i] == (want == 1) && isfinite(values[i]))
                fprintf(canvas->data, "%.4f %.9g\n", (double)place + 0.2 * figure_jitter(i), values[i]);
        fprintf(canvas->script,
                ", \\\n  data index %zu using 1:2 with points pt %d ps 0.5 lc rgb '%s' notitle", block,
                want ? 7 : 8, figure_color(series));
    }
}

/* One panel: every group of trials side by side. */
static enum pes_status draw_metric(struct canvas *canvas, const struct pes_metric *metric, double *values,
                                   bool *reached)
{
    const struct groups *groups = canvas->groups;
    size_t cells = PES_MIN(groups->num_panels * groups->num_series, (size_t)MOST_CELLS);
    fprintf(canvas->script, "set title '%s'\nset xrange [-0.6:%zu.6]\nset xtics rotate by -35 (",
            figure_quote(canvas, metric->text), cells - 1);
    for (size_t c = 0; c < cells; c++) {
        const char *panel = groups->panels[c / groups->num_series];
        fprintf(canvas->script, "%s'%s", c ? ", " : "",
                figure_quote(canvas, groups->series[c % groups->num_series]));
        fprintf(canvas->script, "%s%s' %zu", *panel ? " " : "", figure_quote(canvas, panel), c);
    }
    fputs(")\nplot NaN notitle", canvas->script);
    for (size_t c = 0; c < cells; c++) {
        size_t n, series = c % groups->num_series;
        memset(reached, 1, canvas->study->num_trials * sizeof *reached);
        TRY(groups_values(canvas->study, groups, series, c / groups->num_series, metric, &n, values,
                          metric->times ? reached : NULL));
        write_points(canvas, n, values, reached, c, series);
    }
    fputs("\n", canvas->script);
    return PES_OK;
}

static enum pes_status draw_panels(struct canvas *canvas, size_t panels, double *values, bool *reached)
{
    const struct pes_sweep *sweep = canvas->study->sweep;
    TRY(figure_begin(canvas, "claims", figure_width(panels, 360), figure_height(panels, 320)));
    figure_layout(canvas, panels, figure_columns(panels), false);
    for (size_t c = 0, drawn = 0; c < sweep->num_claims && drawn < panels; c++) {
        struct pes_metric metric;
        if (earlier(sweep, c) ||
            pes_metric_resolve(canvas->study, sweep->claims[c].metric, &metric) != PES_OK)
            continue;
        TRY(draw_metric(canvas, &metric, values, reached));
        drawn++;
    }
    return figure_end(canvas);
}

static enum pes_status draw_claims(struct canvas *canvas, const char **missing)
{
    const struct pes_sweep *sweep = canvas->study->sweep;
    size_t panels = 0, n = canvas->study->num_trials;
    for (size_t c = 0; c < sweep->num_claims; c++) {
        struct pes_metric metric;
        panels += !earlier(sweep, c) &&
                  pes_metric_resolve(canvas->study, sweep->claims[c].metric, &metric) == PES_OK;
    }
    if (!panels) {
        *missing = "the sweep makes no claim that this file can judge";
        return PES_OK;
    }
    double *values = pes_allocate(n, sizeof *values);
    bool *reached = pes_allocate(n, sizeof *reached);
    enum pes_status status = PES_MEMORY;
    if (values && reached)
        status = draw_panels(canvas, PES_MIN(panels, (size_t)FIGURE_MOST_PANELS), values, reached);
    pes_free(values);
    pes_free(reached);
    return status;
}

const struct figure figures_claims[] = {
    {QUESTION_SURE, "claims", "What the claims were judged by",
     "Each metric that a claim is about, a point per trial; triangles stand where steps to a level ended "
     "without reaching it.",
     draw_claims, false},
    {.name = NULL},
};
