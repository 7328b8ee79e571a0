/* figures_maps.c - what heads look at: mean attention and mean scores of one trial of each series. */
#include "output.h"

#include <math.h>
#include <string.h>

enum { MOST_LAYERS = 2, MOST_HEADS_SHOWN = 4, MOST_ROWS = 8 };

/* The trial of a series whose final accuracy is the (lower) median; its first one if there is no accuracy;
 * num_trials if none has finished. */
static enum pes_status typical_trial(const struct canvas *canvas, size_t series, size_t *trial)
{
    struct pes_study *study = canvas->study;
    struct pes_metric metric;
    bool known = pes_metric_resolve(study, "final.test_accuracy", &metric) == PES_OK, reached;
    double *values = pes_allocate(2 * study->num_trials, sizeof *values),
           *sorted = values + study->num_trials;
    size_t n = 0;
    enum pes_status status = values ? PES_OK : PES_MEMORY;
    *trial = study->num_trials;
    for (size_t t = 0; t < study->num_trials && status == PES_OK; t++) {
        values[t] = NAN;
        if (canvas->groups->series_of[t] != series || !pes_study_finished(study, t)) continue;
        if (*trial == study->num_trials) *trial = t;
        if (known) status = pes_metric_evaluate(study, &metric, t, &values[t], &reached);
        if (!isnan(values[t])) sorted[n++] = values[t];
    }
    if (n && status == PES_OK) {
        pes_stat_sort(n, sorted);
        for (*trial = 0; values[*trial] != sorted[(n - 1) / 2];)
            ++*trial;
    }
    pes_free(values);
    return status;
}

/* What orders the heads of a layer, largest first. */
struct order {
    const struct pes_column *column; /* NULL: as they come */
    const char *name;
};

static enum pes_status find_order(struct pes_study *study, struct order *order)
{
    static const struct {
        const char *variable, *name;
    } known[] = {{"ablation_drop", "drop"}, {"previous_token_score", "previous"}};
    *order = (struct order){NULL, ""};
    for (size_t i = 0; i < PES_COUNT(known) && !order->column; i++) {
        TRY(pes_study_column(study, "probes", known[i].variable, &order->column));
        order->name = known[i].name;
    }
    return PES_OK;
}

/* The head that is number `rank` of its layer. */
static size_t head_of_rank(const struct order *order, size_t trial, size_t layer, size_t heads, size_t rank)
{
    if (!order->column) return rank;
    const double *value = pes_column_of(order->column, trial) + layer * heads;
    for (size_t h = 0; h < heads; h++) {
        size_t above = 0;
        for (size_t o = 0; o < heads; o++)
            above += value[o] > value[h] || (isnan(value[h]) && !isnan(value[o])) ||
                     (o < h && (value[o] == value[h] || (isnan(value[o]) && isnan(value[h]))));
        if (above == rank) return h;
    }
    return rank;
}

static void draw_map(struct canvas *canvas, const struct pes_field *field, const double *maps,
                     const struct order *order, size_t series, size_t trial, size_t layer, size_t rank)
{
    size_t T = field->extent[2], heads = field->extent[1];
    size_t head = head_of_rank(order, trial, layer, heads, rank), known = 0;
    size_t block = figure_block(canvas, canvas->groups->series[series]);
    const double *map = maps + (layer * heads + head) * T * field->extent[3];
    for (size_t q = 0; q < T; q++)
        for (size_t k = 0; k < field->extent[3]; k++)
            if (isfinite(map[q * field->extent[3] + k])) {
                fprintf(canvas->data, "%zu %zu %.4g\n", k, q, map[q * field->extent[3] + k]);
                known++;
            }
    char number[48] = "";
    double value = order->column ? pes_column_of(order->column, trial)[layer * heads + head] : NAN;
    if (!isnan(value)) snprintf(number, sizeof number, ", %s %.2f", order->name, value);
    fprintf(canvas->script, "set title '%s %zu.%zu%s' font ',9'\n",
            figure_quote(canvas, canvas->groups->series[series]), layer, head, number);
    if (known)
        fprintf(canvas->script, "plot data index %zu using 1:2:3 with image notitle\n", block);
    else
        fputs("plot NaN notitle\n", canvas->script);
}

/* The heads of the first layers of one trial per series. */
static enum pes_status draw_maps(struct canvas *canvas, const char *name, const char *variable,
                                 const char *settings, const char **missing)
{
    const struct groups *groups = canvas->groups;
    const struct pes_field *field = pes_layout_find(canvas->study->layout, "attention", variable);
    struct order order;
    if (!field) {
        *missing = "attention maps weren't stored (measure.attention_maps, store.attention)";
        return PES_OK;
    }
    TRY(find_order(canvas->study, &order));
    size_t layers = PES_MIN(field->extent[0], (size_t)MOST_LAYERS),
           heads = PES_MIN(field->extent[1], (size_t)MOST_HEADS_SHOWN),
           rows = PES_MIN(groups->num_series, (size_t)MOST_ROWS), T = field->extent[2];
    double *maps = pes_allocate(field->count, sizeof *maps);
    if (!maps) return PES_MEMORY;
    enum pes_status status =
        figure_begin(canvas, name, 176 * (int)(layers * heads) + 40, 204 * (int)rows + 30);
    if (status == PES_OK) {
        figure_layout(canvas, rows * layers * heads, layers * heads, true); /* for the first titles */
        fprintf(canvas->script,
                "%sunset grid\nunset xtics\nunset ytics\nset border 15 lc rgb '#a0a0a0'\nset size square\n"
                "set xrange [-0.5:%zu.5]\nset yrange [%zu.5:-0.5]\nunset colorbox\nset tmargin 1.6\n"
                "set bmargin 2\nset lmargin 2.4\nset rmargin 0.6\n"
                "set label 1 'key (0 to %zu)' at graph 0.5, -0.08 center font ',8'\n"
                "set label 2 'query' at graph -0.07, 0.5 center rotate by 90 font ',8'\n",
                settings, T - 1, T - 1, T - 1);
        for (size_t s = 0; s < rows && status == PES_OK; s++) {
            size_t trial;
            status = typical_trial(canvas, s, &trial);
            if (status != PES_OK) break;
            bool there = trial < canvas->study->num_trials;
            if (there) status = pes_study_part(canvas->study, field, trial, 1, maps);
            for (size_t p = 0; p < layers * heads && status == PES_OK; p++)
                if (there)
                    draw_map(canvas, field, maps, &order, s, trial, p / heads, p % heads);
                else
                    fputs("set multiplot next\n", canvas->script);
        }
        enum pes_status ended = figure_end(canvas);
        if (status == PES_OK) status = ended;
    }
    pes_free(maps);
    return status;
}

static enum pes_status draw_attention(struct canvas *canvas, const char **missing)
{
    return draw_maps(
        canvas, "attention", "map",
        "set palette defined (0 '#ffffff', 1 '#c6dbef', 2 '#6baed6', 3 '#2171b5', 4 '#08306b')\n", missing);
}

static enum pes_status draw_scores(struct canvas *canvas, const char **missing)
{
    return draw_maps(
        canvas, "scores", "scores",
        "set palette defined (-2 '#542788', -1 '#b2abd2', 0 '#f7f7f7', 1 '#fdb863', 2 '#b35806')\n", missing);
}

const struct figure figures_maps[] = {
    {QUESTION_LOOK, "attention", "Mean attention",
     "Mean attention, of each series' trial with the median final accuracy: the heads of the first layers "
     "(layer.head) that matter most, by accuracy lost without them or by previous-token score, the number "
     "beside "
     "each. Every map has its own scale.",
     draw_attention, false},
    {QUESTION_LOOK, "scores", "Mean scores",
     "Mean raw scores of the same heads, before mask and softmax; every map has its own scale.", draw_scores,
     false},
    {.name = NULL},
};
