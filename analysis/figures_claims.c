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
static enum pes_status draw_metric(struct canvas *canvas, const struct pes_metric *metric)
{
    const struct groups *groups = canvas->groups;
    size_t cells = PES_MIN(groups->num_panels * groups->num_series, (size_t)MOST_CELLS);
    struct group_values values;
    TRY(groups_collect(canvas->study, groups, metric, &values));
    fprintf(canvas->script, "set title '%s'\nset ylabel '%s'\nset xrange [-0.6:%zu.6]\n",
            figure_quote(canvas, metric->text), pes_metric_unit(metric), cells - 1);
    fputs("set offsets 0, 0, graph 0.05, graph 0.05\nset xtics rotate by -35 (", canvas->script);
    for (size_t c = 0; c < cells; c++) {
        const char *panel = groups->panels[c / groups->num_series];
        size_t n = 0;
        for (size_t i = values.start[c]; i < values.start[c + 1]; i++)
            n += isfinite(values.value[i]) ? 1 : 0;
        fprintf(canvas->script, "%s'%s", c ? ", " : "",
                figure_quote(canvas, groups->series[c % groups->num_series]));
        fprintf(canvas->script, "%s%s, n = %zu' %zu", *panel ? " " : "", figure_quote(canvas, panel), n, c);
    }
    fputs(")\nplot NaN notitle", canvas->script);
    for (size_t c = 0; c < cells; c++)
        write_points(canvas, values.start[c + 1] - values.start[c], values.value + values.start[c],
                     values.reached + values.start[c], c, c % groups->num_series);
    fputs("\n", canvas->script);
    return PES_OK;
}

static enum pes_status draw_claims(struct canvas *canvas, const char **missing)
{
    const struct pes_sweep *sweep = canvas->study->sweep;
    struct pes_metric *metrics = pes_arena_take(canvas->study->arena, FIGURE_MOST_PANELS, sizeof *metrics);
    if (!metrics) return PES_MEMORY;
    size_t panels = 0;
    for (size_t c = 0; c < sweep->num_claims && panels < FIGURE_MOST_PANELS; c++)
        panels += !earlier(sweep, c) &&
                  pes_metric_resolve(canvas->study, sweep->claims[c].metric, &metrics[panels]) == PES_OK;
    if (!panels) {
        *missing = "the sweep makes no claim that this file can judge";
        return PES_OK;
    }
    TRY(figure_begin(canvas, "claims", figure_width(panels, 360), figure_height(panels, 320)));
    figure_layout(canvas, panels, figure_columns(panels), false);
    for (size_t i = 0; i < panels; i++)
        TRY(draw_metric(canvas, &metrics[i]));
    return figure_end(canvas);
}

const struct figure figures_claims[] = {
    {QUESTION_SURE, "claims", "What the claims were judged by",
     "Each metric that a claim is about, a point per trial; triangles stand where steps to a level ended "
     "without reaching it.",
     draw_claims, false},
    {.name = NULL},
};
