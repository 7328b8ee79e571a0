/* figures_heads.c - what heads do: ablation, deposit, onsets, rotation against previous-token attention. */
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of one series, panel and layer over all trials: a variable [layer] or [layer, head], or the
 * difference of two of them. */
struct layered {
    const struct pes_column *column, *minus; /* minus NULL = none */
    size_t layers, heads;                    /* heads 1 for variables without them */
};

static enum pes_status layered_find(struct pes_study *study, const char *group, const char *name,
                                    const char *minus, struct layered *layered)
{
    *layered = (struct layered){0};
    TRY(pes_study_column(study, group, name, &layered->column));
    if (minus) TRY(pes_study_column(study, group, minus, &layered->minus));
    if (!layered->column || (minus && !layered->minus)) {
        layered->column = NULL;
        return PES_OK;
    }
    const struct pes_field *field = layered->column->field;
    layered->layers = field->extent[0];
    layered->heads = field->count / PES_MAX(layered->layers, 1);
    return PES_OK;
}

static size_t layered_values(const struct canvas *canvas, const struct layered *layered, size_t series,
                             size_t panel, size_t layer, double *values)
{
    size_t n = 0, count;
    const size_t *member = groups_members(canvas->groups, series, panel, &count);
    for (size_t k = 0; k < count; k++) {
        for (size_t h = 0; h < layered->heads; h++) {
            size_t i = layer * layered->heads + h;
            double value = pes_column_of(layered->column, member[k])[i];
            if (layered->minus) value -= pes_column_of(layered->minus, member[k])[i];
            if (isfinite(value)) values[n++] = value;
        }
    }
    return n;
}

/* Outline of a violin around `place`: Gaussian kernel density (Silverman's width), 0.4 wide at its widest. */
static void violin_block(struct canvas *canvas, size_t n, double *values, double place)
{
    enum { POINTS = 81 };
    double density[POINTS], widest = 0;
    pes_stat_sort(n, values);
    double sd = n > 1 ? pes_stat_sd(n, values) : 0;
    double spread =
        (pes_stat_quantile_sorted(n, values, 0.75) - pes_stat_quantile_sorted(n, values, 0.25)) / 1.34;
    double width = 0.9 * (spread > 0 ? PES_MIN(sd, spread) : sd) * pow((double)PES_MAX(n, 1), -0.2);
    double range = values[n - 1] - values[0];
    width = PES_MAX(width, PES_MAX(range / 60, 1e-4));
    double from = values[0], step = range / (POINTS - 1); /* no further than there are values */
    for (int k = 0; k < POINTS; k++) {
        density[k] = 0;
        for (size_t i = 0; i < n; i++) {
            double z = (from + k * step - values[i]) / width;
            density[k] += exp(-z * z / 2);
        }
        widest = PES_MAX(widest, density[k]);
    }
    for (int k = 0; k < 2 * POINTS; k++) {
        int at = k < POINTS ? k : 2 * POINTS - 1 - k;
        fprintf(canvas->data, "%.5f %.9g\n", place + (k < POINTS ? 0.4 : -0.4) * density[at] / widest,
                from + at * step);
    }
}

/* A panel for each layer and panel of the groups, the series side by side in it: single points over violins
 * or over nothing, and the median. */
static enum pes_status draw_layered(struct canvas *canvas, const char *name, const struct layered *layered,
                                    const char *settings, bool violins, const char **missing)
{
    const struct groups *groups = canvas->groups;
    size_t layers = PES_MIN(layered->layers, (size_t)6);
    size_t combinations =
        PES_MIN(groups->num_panels, PES_MAX((size_t)FIGURE_MOST_PANELS / layers, (size_t)1));
    size_t panels = layers * combinations, any = 0;
    double *values = pes_allocate(canvas->study->num_trials * layered->heads, sizeof *values);
    if (!values) return PES_MEMORY;
    for (size_t s = 0; s < groups->num_series; s++)
        for (size_t p = 0; p < panels; p++)
            any += layered_values(canvas, layered, s, p / layers, p % layers, values);
    if (!any) {
        pes_free(values);
        *missing = "no head has a value";
        return PES_OK;
    }
    size_t columns = layers > 3 ? 3 : layers;
    int width = PES_MIN(PES_MAX(260, 80 * (int)groups->num_series), 600);
    enum pes_status status = figure_begin(canvas, name, width * (int)columns + 60,
                                          280 * (int)((panels + columns - 1) / columns) + 40);
    if (status != PES_OK) {
        pes_free(values);
        return status;
    }
    figure_layout(canvas, panels, columns, false);
    fputs(settings, canvas->script);
    figure_series_tics(canvas);
    for (size_t p = 0; p < panels; p++) {
        const char *combination = groups->panels[p / layers];
        char sizes[64];
        fprintf(canvas->script, "set title 'layer %zu%s%s, %s'\nplot NaN notitle", p % layers,
                *combination ? ", " : "", figure_quote(canvas, combination),
                figure_sizes(canvas, p / layers, sizes));
        for (size_t s = 0; s < groups->num_series; s++) {
            size_t n = layered_values(canvas, layered, s, p / layers, p % layers, values);
            if (!n) continue;
            if (violins) {
                size_t outline = figure_block(canvas, groups->series[s]);
                violin_block(canvas, n, values, (double)s);
                fprintf(canvas->script,
                        ", \\\n  data index %zu using 1:2 with filledcurves closed fc rgb '%s' notitle",
                        outline, figure_color(s));
            }
            size_t points = figure_block(canvas, groups->series[s]);
            size_t every = figure_every(canvas, n, FIGURE_MOST_POINTS);
            for (size_t i = 0; i < n; i += every)
                fprintf(canvas->data, "%.4f %.9g\n", (double)s + 0.15 * figure_jitter(i), values[i]);
            size_t median = figure_block(canvas, "median");
            fprintf(canvas->data, "%zu %.9g\n", s, pes_stat_median(n, values));
            fprintf(canvas->script,
                    ", \\\n  data index %zu using 1:2 with points pt 7 ps 0.35 lc rgb '%s' notitle, \\\n"
                    "  data index %zu using ($1 + 0.3):2 with points pt 13 ps 0.9 lc rgb '#000000' notitle",
                    points, figure_color(s), median);
        }
        fputs("\n", canvas->script);
    }
    pes_free(values);
    return figure_end(canvas);
}

static enum pes_status draw_ablation(struct canvas *canvas, const char **missing)
{
    struct layered layered;
    TRY(layered_find(canvas->study, "probes", "ablation_drop", NULL, &layered));
    if (layered.column)
        return draw_layered(canvas, "ablation", &layered, "set ylabel 'accuracy lost without the head'\n",
                            true, missing);
    *missing = "heads weren't ablated (measure.ablate_heads)";
    return PES_OK;
}

static enum pes_status draw_deposit(struct canvas *canvas, const char **missing)
{
    struct layered layered;
    TRY(layered_find(canvas->study, "probes", "deposit_share", NULL, &layered));
    if (layered.column)
        return draw_layered(canvas, "deposit", &layered, "set ylabel 'deposit share'\nset yrange [0:1.02]\n",
                            false, missing);
    *missing = "heads weren't ablated (measure.ablate_heads)";
    return PES_OK;
}

static enum pes_status draw_onsets(struct canvas *canvas, const char **missing)
{
    struct layered layered;
    TRY(layered_find(canvas->study, "probes", "onset_folded_phase_fraction", "onset_previous_token_score",
                     &layered));
    if (layered.column)
        return draw_layered(canvas, "onsets", &layered, "set ylabel 'onset lag of phase (steps)'\n", false,
                            missing);
    *missing = "onsets weren't measured (measure.spectra, measure.behaviours)";
    return PES_OK;
}

static int descending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

/* Mean over trials of a layer's drops, largest first in each trial: which head it is differs from seed to
 * seed. */
static size_t sorted_drops(const struct canvas *canvas, const struct layered *layered, size_t series,
                           size_t panel, size_t layer, double *mean, double *one)
{
    size_t trials = 0, most = 0, count;
    const size_t *member = groups_members(canvas->groups, series, panel, &count);
    memset(mean, 0, layered->heads * sizeof *mean);
    for (size_t k = 0; k < count; k++) {
        memcpy(one, pes_column_of(layered->column, member[k]) + layer * layered->heads,
               layered->heads * sizeof *one);
        size_t n = pes_stat_compact(layered->heads, one);
        if (!n || (most && n != most)) continue;
        most = n;
        qsort(one, n, sizeof *one, descending);
        for (size_t h = 0; h < n; h++)
            mean[h] += one[h];
        trials++;
    }
    for (size_t h = 0; h < most; h++)
        mean[h] /= (double)trials;
    return most;
}

static enum pes_status draw_heat(struct canvas *canvas, const char **missing)
{
    const struct groups *groups = canvas->groups;
    struct layered layered;
    TRY(layered_find(canvas->study, "probes", "ablation_drop", NULL, &layered));
    size_t panels = PES_MIN(groups->num_series * groups->num_panels, (size_t)FIGURE_MOST_SERIES);
    if (!layered.column) {
        *missing = "heads weren't ablated (measure.ablate_heads)";
        return PES_OK;
    }
    double *mean = pes_allocate(2 * layered.heads, sizeof *mean), largest = 0;
    if (!mean) return PES_MEMORY;
    for (size_t p = 0; p < panels; p++)
        for (size_t l = 0; l < layered.layers; l++)
            if (sorted_drops(canvas, &layered, p % groups->num_series, p / groups->num_series, l, mean,
                             mean + layered.heads))
                largest = PES_MAX(largest, mean[0]);
    if (!(largest > 0)) {
        pes_free(mean);
        *missing = "no head has a value";
        return PES_OK;
    }
    size_t columns = PES_MIN(panels, (size_t)4);
    int rows = (int)((panels + columns - 1) / columns);
    enum pes_status status = figure_begin(canvas, "ablation-map", 260 * (int)columns + 60,
                                          rows * (110 + 28 * (int)layered.layers) + 40);
    if (status != PES_OK) {
        pes_free(mean);
        return status;
    }
    figure_layout(canvas, panels, columns, false);
    /* Viridis, at nine points (van der Walt & Smith 2015). */
    fprintf(
        canvas->script,
        "set palette defined (0 '#440154', 1 '#472c7a', 2 '#3b518b', 3 '#2c718e', 4 '#21908d', 5 '#27ad81', "
        "6 '#5cc863', 7 '#aadc32', 8 '#fde725')\n"
        "set cbrange [0:%.9g]\nset xlabel 'head, largest drop first'\nset ylabel 'layer'\nunset grid\n"
        "set xrange [-0.5:%zu.5]\nset yrange [-0.5:%zu.5]\nset xtics %zu\nset ytics 1\nset style fill solid "
        "1\nset border 0\nset cbtics %.2g\n",
        largest, layered.heads - 1, layered.layers - 1, 1 + layered.heads / 9, largest / 2);
    for (size_t p = 0; p < panels; p++) {
        size_t series = p % groups->num_series, combination = p / groups->num_series;
        size_t block = figure_block(canvas, groups->series[series]);
        for (size_t l = 0; l < layered.layers; l++) {
            size_t n = sorted_drops(canvas, &layered, series, combination, l, mean, mean + layered.heads);
            for (size_t h = 0; h < layered.heads; h++)
                fprintf(canvas->data, "%zu %zu %.9g\n", h, l, h < n ? mean[h] : 0);
        }
        size_t trials;
        (void)groups_members(groups, series, combination, &trials);
        fprintf(canvas->script,
                "set title '%s %s, n = %zu'\nplot data index %zu using 1:2:3 with image notitle\n",
                figure_quote(canvas, groups->series[series]),
                figure_quote(canvas, groups->panels[combination]), trials, block);
    }
    pes_free(mean);
    return figure_end(canvas);
}

struct rotation {
    const struct pes_column *scores, *fractions;
};

/* Previous-token score, folded rotational fraction; of very many trials some alone. */
static size_t rotation_points(struct canvas *canvas, const void *data, size_t series, size_t panel)
{
    const struct rotation *rotation = data;
    size_t count, points = 0, heads = rotation->scores->field->count;
    const size_t *member = groups_members(canvas->groups, series, panel, &count);
    size_t every = figure_every(canvas, count * heads, FIGURE_MOST_POINTS);
    for (size_t k = 0; k < count; k += every) {
        const double *x = pes_column_of(rotation->scores, member[k]),
                     *y = pes_column_of(rotation->fractions, member[k]);
        for (size_t i = 0; i < heads; i++)
            if (isfinite(x[i]) && isfinite(y[i])) {
                fprintf(canvas->data, "%.6g %.6g\n", x[i], y[i]);
                points++;
            }
    }
    return points;
}

static enum pes_status draw_rotation(struct canvas *canvas, const char **missing)
{
    struct rotation rotation;
    size_t panels = figure_panels(canvas);
    TRY(pes_study_column(canvas->study, "probes", "previous_token_score", &rotation.scores));
    TRY(pes_study_column(canvas->study, "spectra_folded", "rotational_fraction", &rotation.fractions));
    if (!rotation.scores || !rotation.fractions) {
        *missing = "spectra or behaviours weren't measured";
        return PES_OK;
    }
    TRY(figure_begin(canvas, "rotation", figure_width(panels, 420), figure_height(panels, 340)));
    figure_layout(canvas, panels, figure_columns(panels), true);
    fputs("set xlabel 'previous-token score'\nset ylabel 'rotational fraction (folded)'\nset xrange [0:*]\n"
          "set yrange [0:1]\n",
          canvas->script);
    enum pes_status status = PES_OK;
    for (size_t p = 0; p < panels && status == PES_OK; p++)
        status = figure_scatter(canvas, p, rotation_points, &rotation, "NaN");
    enum pes_status ended = figure_end(canvas);
    return status != PES_OK ? status : ended;
}

const struct figure figures_heads[] = {
    {QUESTION_WORK, "ablation", "Head ablation",
     "Accuracy lost when one head's values are set to zero: a point per head and trial, violins over all of "
     "them, "
     "diamonds at the medians.",
     draw_ablation, false},
    {QUESTION_WORK, "ablation-map", "Ablation by layer and head",
     "Mean accuracy lost over trials; heads of each layer in the order of their loss, since which head "
     "carries the "
     "work differs between seeds.",
     draw_heat, false},
    {QUESTION_WORK, "deposit", "Single-head deposit",
     "Share of the largest drop in all drops of a layer, a point per trial; trials whose largest drop is "
     "noise have "
     "none.",
     draw_deposit, false},
    {QUESTION_POSITION, "rotation", "Rotation and previous-token attention",
     "Every head: rotational fraction of its folded query-key form against its attention to the previous "
     "token.",
     draw_rotation, true},
    {QUESTION_POSITION, "onsets", "Onset lags",
     "Steps from the onset of a head's previous-token attention to that of its phase fraction; only heads in "
     "which "
     "both changed.",
     draw_onsets, true},
    {.name = NULL},
};
