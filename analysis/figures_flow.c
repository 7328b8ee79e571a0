/* figures_flow.c - heads and layers together: sums over layers, which heads read which, what emerges when. */
#include "output.h"

#include <math.h>
#include <string.h>

/* ---- sums over layers ---- */

/* Layers of a group: layer, mean over its trials. */
static size_t layer_block(struct canvas *canvas, const struct pes_column *column, size_t group)
{
    const struct groups *groups = canvas->groups;
    size_t count, points = 0, block = figure_block(canvas, groups->series[group % groups->num_series]);
    const size_t *member =
        groups_members(groups, group % groups->num_series, group / groups->num_series, &count);
    for (size_t l = 0; l < column->field->count; l++) {
        double sum = 0;
        size_t known = 0;
        for (size_t k = 0; k < count; k++) {
            double value = pes_column_of(column, member[k])[l];
            if (!isfinite(value)) continue;
            sum += value;
            known++;
        }
        if (!known) continue;
        fprintf(canvas->data, "%zu %.9g\n", l, sum / (double)known);
        points++;
    }
    return points ? block : SIZE_MAX;
}

static enum pes_status draw_layers(struct canvas *canvas, const char **missing)
{
    static const struct {
        const char *name, *title;
    } sums[] = {{"layer_symmetry", "symmetry: tr(M^2) / ||M||^2"},
                {"layer_directionality", "directionality: (R - C) / (R + C)"}};
    const struct groups *groups = canvas->groups;
    const struct pes_column *columns[PES_COUNT(sums)];
    for (size_t i = 0; i < PES_COUNT(sums); i++) {
        TRY(pes_study_column(canvas->study, "spectra_folded", sums[i].name, &columns[i]));
        if (!columns[i]) {
            *missing = canvas->study->heads ? "not measured (inspect --composition)"
                                            : "not measured (measure.spectra)";
            return PES_OK;
        }
    }
    size_t trials = 0, shown = PES_MIN(groups->num_panels, (size_t)FIGURE_MOST_LINES) * groups->num_series;
    for (size_t g = 0; g < shown; g++) {
        size_t count;
        (void)groups_members(groups, g % groups->num_series, g / groups->num_series, &count);
        trials += count;
    }
    TRY(figure_begin(canvas, "layers", 900, 360));
    figure_layout(canvas, PES_COUNT(sums), 2, true);
    fprintf(
        canvas->script,
        "set xlabel 'layer'\nset xrange [-0.2:%zu.2]\nset xtics %zu\nset yrange [-1:1]\nset ylabel 'of the "
        "sum of the layer''s forms'\n",
        columns[0]->field->count - 1, 1 + columns[0]->field->count / 12);
    for (size_t i = 0; i < PES_COUNT(sums); i++) {
        fprintf(canvas->script, "set title '%s, n = %zu %ss'\nplot 0 lc rgb '#808080' notitle", sums[i].title,
                trials, study_unit(canvas->study));
        for (size_t g = 0; g < shown; g++) {
            size_t block = layer_block(canvas, columns[i], g), s = g % groups->num_series;
            if (block != SIZE_MAX)
                fprintf(canvas->script,
                        ", \\\n  data index %zu using 1:2 with linespoints pt %d ps 0.5 lw 1.5 lc rgb '%s' "
                        "notitle",
                        block, s < 8 ? 7 : 9, figure_color(s));
        }
        figure_key(canvas, "linespoints pt 7 ps 0.5 lw 1.5");
    }
    return figure_end(canvas);
}

/* ---- composition ---- */

struct composition {
    const struct pes_column *with, *inductions, *scores; /* with: k_composition */
};

/* A point per head that has earlier layers: its induction score, and its composition with the strongest
 * previous-token head before it over the mean of those with all heads before it. */
static size_t composition_points(struct canvas *canvas, const void *data, size_t series, size_t panel)
{
    const struct composition *composition = data;
    const struct pes_field *field = composition->scores->field;
    size_t count, points = 0, H = field->extent[1], n = field->count;
    const size_t *member = groups_members(canvas->groups, series, panel, &count);
    size_t every = figure_every(canvas, count * n, FIGURE_MOST_POINTS);
    for (size_t k = 0; k < count; k += every) {
        const double *induction = pes_column_of(composition->inductions, member[k]),
                     *score = pes_column_of(composition->scores, member[k]);
        for (size_t reader = H; reader < n; reader++) {
            const double *with = pes_column_of(composition->with, member[k]) + reader * n;
            size_t earlier = reader / H * H, read = SIZE_MAX, known = 0;
            double sum = 0;
            for (size_t i = 0; i < earlier; i++) {
                if (isnan(with[i]) || isnan(score[i])) continue;
                if (read == SIZE_MAX || score[i] > score[read]) read = i;
                sum += with[i];
                known++;
            }
            if (known < 2 || isnan(induction[reader]) || !(sum > 0)) continue;
            fprintf(canvas->data, "%.6g %.6g\n", induction[reader], with[read] * (double)known / sum);
            points++;
        }
    }
    return points;
}

static enum pes_status draw_composition(struct canvas *canvas, const char **missing)
{
    struct composition composition;
    size_t panels = figure_panels(canvas);
    TRY(pes_study_column(canvas->study, "spectra_folded", "k_composition", &composition.with));
    TRY(pes_study_column(canvas->study, "probes", "induction_score", &composition.inductions));
    TRY(pes_study_column(canvas->study, "probes", "previous_token_score", &composition.scores));
    if (!composition.with || !composition.inductions || !composition.scores ||
        composition.scores->field->extent[0] < 2) {
        *missing = canvas->study->heads ? "not measured (inspect --composition --behaviour)"
                                        : "not measured (measure.spectra, measure.behaviours)";
        return PES_OK;
    }
    TRY(figure_begin(canvas, "composition", figure_width(panels, 420), figure_height(panels, 320)));
    figure_layout(canvas, panels, figure_columns(panels), true);
    fputs("set xlabel 'induction score'\nset ylabel 'K-composition / mean'\nset xrange [0:*]\nset yrange "
          "[0:*]\n",
          canvas->script);
    enum pes_status status = PES_OK;
    for (size_t p = 0; p < panels && status == PES_OK; p++)
        status = figure_scatter(canvas, p, composition_points, &composition, "1 lc rgb '#808080'");
    enum pes_status ended = figure_end(canvas);
    return status != PES_OK ? status : ended;
}

/* ---- emergence ---- */

enum { EMERGE_SCORE, EMERGE_PERCENTILE, EMERGE_MEDIAN, NUM_EMERGE };
static const struct {
    const char *curve, *title;
} emerging[NUM_EMERGE] = {{"previous_token_score", "score of the previous-token head"},
                          {"folded_phase_fraction", "phase_fraction of that head, percentile"},
                          {"folded_rotational_fraction", "median rotational fraction, all heads"}};

/* One number of a trial's checkpoint; `values` are those of all heads. */
static double emerged(int which, size_t heads, const double *values, size_t head, double *scratch)
{
    return which == EMERGE_SCORE        ? values[head]
           : which == EMERGE_PERCENTILE ? study_percentile(heads, values, head)
                                        : study_median(heads, values, scratch);
}

/* The previous-token head of every trial at its end; SIZE_MAX where there is none. */
static enum pes_status find_heads(struct pes_study *study, size_t **heads)
{
    *heads = pes_arena_take(study->arena, study->num_trials, sizeof **heads);
    if (!*heads) return PES_MEMORY;
    for (size_t t = 0; t < study->num_trials; t++) {
        (*heads)[t] = SIZE_MAX;
        if (pes_study_finished(study, t)) TRY(study_previous_token_head(study, t, &(*heads)[t]));
    }
    return PES_OK;
}

static enum pes_status emergence_block(struct canvas *canvas, int which, const struct pes_column *curve,
                                       const struct pes_column *steps, const size_t *head_of, size_t series,
                                       size_t panel, bool from_one, bool *any)
{
    size_t n = steps->field->count, heads = curve->field->count / PES_MAX(n, (size_t)1), count;
    const size_t *member = groups_members(canvas->groups, series, panel, &count);
    double *values = pes_allocate(count + heads, sizeof *values);
    *any = false;
    if (!values) return PES_MEMORY;
    double *scratch = values + count;
    for (size_t c = 0; c < n; c++) {
        size_t used = 0;
        double step = NAN;
        for (size_t k = 0; k < count; k++) {
            double at = pes_column_of(steps, member[k])[c];
            size_t head = head_of[member[k]];
            if (head == SIZE_MAX || at < 0) continue;
            if (isnan(step)) step = at;
            values[used] = emerged(which, heads, pes_column_of(curve, member[k]) + c * heads, head, scratch);
            used += at == step && !isnan(values[used]) ? 1 : 0;
        }
        if (!used) continue;
        struct pes_interval interval = pes_stat_t_interval(used, values, canvas->resampling.level);
        fprintf(canvas->data, "%.9g %.9g ", step + from_one, interval.estimate);
        figure_number(canvas, isnan(interval.low) ? interval.estimate : interval.low);
        figure_number(canvas, isnan(interval.high) ? interval.estimate : interval.high);
        fputs("\n", canvas->data);
        *any = true;
    }
    pes_free(values);
    return PES_OK;
}

/* A trial of the panel that has several steps; SIZE_MAX if there is none. */
static size_t with_steps(const struct groups *groups, const struct pes_column *steps, size_t panel)
{
    for (size_t s = 0; s < groups->num_series; s++) {
        size_t count;
        const size_t *member = groups_members(groups, s, panel, &count);
        if (count && pes_column_of(steps, member[0])[1] >= 0) return member[0];
    }
    return SIZE_MAX;
}

/* Whether steps are spread as if over their logarithm. */
static bool spread_by_logarithm(const struct pes_column *steps, size_t trial)
{
    const double *step = pes_column_of(steps, trial);
    size_t n = steps->field->count;
    while (n && step[n - 1] < 0)
        n--;
    return n > 2 && 20 * step[1] < step[n - 1];
}

static enum pes_status draw_emergence(struct canvas *canvas, const char **missing)
{
    const struct groups *groups = canvas->groups;
    const struct pes_column *steps, *curves[NUM_EMERGE];
    TRY(pes_study_column(canvas->study, "curves", "checkpoint_step", &steps));
    for (int e = 0; e < NUM_EMERGE; e++) {
        TRY(pes_study_column(canvas->study, "curves", emerging[e].curve, &curves[e]));
        if (!curves[e]) steps = NULL;
    }
    if (!steps || steps->field->count < 2) {
        *missing = canvas->study->heads
                       ? "no model has several steps with behaviours and folded spectra"
                       : "spectra and behaviours weren't measured along training (measure.checkpoints)";
        return PES_OK;
    }
    size_t panels[3], rows = 0, *head_of;
    TRY(find_heads(canvas->study, &head_of));
    for (size_t p = 0; p < groups->num_panels && rows < PES_COUNT(panels); p++)
        if (with_steps(groups, steps, p) != SIZE_MAX) panels[rows++] = p;
    size_t *block = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *block);
    bool *any = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *any);
    if (!block || !any) return PES_MEMORY;
    TRY(figure_begin(canvas, "emergence", 3 * 380 + 60, 300 * (int)rows + 40));
    figure_layout(canvas, rows * NUM_EMERGE, NUM_EMERGE, true);
    bool logarithm = rows && spread_by_logarithm(steps, with_steps(groups, steps, panels[0]));
    fputs("set xrange [*:*] noextend\nset yrange [0:1.02]\nset ylabel 'mean, 95 % interval'\n",
          canvas->script);
    fputs(logarithm ? "set xlabel 'step + 1'\nset logscale x\n" : "set xlabel 'step'\n", canvas->script);
    enum pes_status status = PES_OK;
    for (size_t r = 0; r < rows; r++)
        for (int e = 0; e < NUM_EMERGE && status == PES_OK; e++) {
            size_t p = panels[r];
            const char *name = groups->panels[p];
            char sizes[64];
            for (size_t s = 0; s < groups->num_series && status == PES_OK; s++) {
                block[s] = figure_block(canvas, groups->series[s]);
                status = emergence_block(canvas, e, curves[e], steps, head_of, s, p, logarithm, &any[s]);
            }
            fprintf(canvas->script, "set title '%s'.\"\\n\".'%s%s%s' font ',10'\n", emerging[e].title,
                    figure_quote(canvas, name), *name ? ", " : "", figure_sizes(canvas, p, sizes));
            figure_bands(canvas, block, any, "linespoints pt 7 ps 0.4");
        }
    enum pes_status ended = figure_end(canvas);
    return status != PES_OK ? status : ended;
}

const struct figure figures_flow[] = {
    {QUESTION_POSITION, "emergence", "What emerges when",
     "The head with the largest previous-token score at the end: that score along training, and where the "
     "head "
     "stands among all heads in phase fraction (folded); beside it the median rotational fraction (folded) "
     "of "
     "all heads.",
     draw_emergence, true},
    {QUESTION_FLOW, "composition", "Who reads the previous-token head",
     "A point per head with earlier layers: its K-composition with the strongest previous-token head before "
     "it, "
     "over its mean with all heads before it, against its induction score. Heads on the line read that head "
     "no "
     "more than others.",
     draw_composition, true},
    {QUESTION_FLOW, "layers", "Sums over layers",
     "The forms of a layer's heads added up (norm's gain folded in): symmetry, and the excess of heavy rows "
     "(queries) over heavy columns (keys). A line per group, mean over its trials.",
     draw_layers, true},
    {.name = NULL},
};
