/* figures_spectra.c - spectra: eigenvalues in the plane, phase energy, Toeplitz symbols. */
#include "output.h"

#include <math.h>
#include <string.h>

#include "pesweep/linalg.h"

enum { MOST_EIGENVALUES = 2500, MOST_RINGS = 300 };

/* Eigenvalues of a series, each head's scaled to its spectral radius, whole heads left out evenly where there
 * are too many; with scores those of the best head of each trial alone.  Returns the number of points. */
static size_t cloud_block(struct canvas *canvas, const struct pes_column *eigenvalues,
                          const struct pes_column *scores, size_t series, size_t *trials)
{
    size_t modes = eigenvalues->field->extent[2], heads = eigenvalues->field->count / PES_MAX(2 * modes, 1);
    size_t place = 0, points = 0, each = scores ? 1 : heads;
    *trials = 0;
    for (size_t t = 0; t < canvas->study->num_trials; t++)
        *trials += canvas->groups->series_of[t] == series && pes_study_finished(canvas->study, t) ? 1 : 0;
    size_t every = figure_every(canvas, *trials * each * modes, scores ? MOST_RINGS : MOST_EIGENVALUES);
    for (size_t t = 0; t < canvas->study->num_trials; t++) {
        if (canvas->groups->series_of[t] != series || !pes_study_finished(canvas->study, t)) continue;
        size_t best = heads;
        for (size_t h = 0; scores && h < heads; h++) {
            const double *score = pes_column_of(scores, t);
            if (!isnan(score[h]) && (best == heads || score[h] > score[best])) best = h;
        }
        for (size_t h = 0; h < heads; h++) {
            const double *value = pes_column_of(eigenvalues, t) + 2 * modes * h;
            double radius = hypot(value[0], value[1]); /* the first is the largest */
            if ((scores && h != best) || place++ % every || !(radius > 0)) continue;
            for (size_t i = 0; i < modes && isfinite(value[2 * i]); i++, points++)
                fprintf(canvas->data, "%.5g %.5g\n", value[2 * i] / radius, value[2 * i + 1] / radius);
        }
    }
    return points;
}

static enum pes_status draw_eigenvalues(struct canvas *canvas, const char **missing)
{
    const struct groups *groups = canvas->groups;
    const struct pes_column *eigenvalues;
    TRY(pes_study_column(canvas->study, "spectra_folded", "eigenvalues", &eigenvalues));
    if (!eigenvalues) {
        *missing = "spectra weren't measured (measure.spectra)";
        return PES_OK;
    }
    const struct pes_column *scores;
    TRY(pes_study_column(canvas->study, "probes", "previous_token_score", &scores));
    size_t panels = PES_MIN(groups->num_series, (size_t)FIGURE_MOST_SERIES),
           columns = PES_MIN(panels, (size_t)4);
    TRY(figure_begin(canvas, "eigenvalues", 280 * (int)columns + 40,
                     300 * (int)((panels + columns - 1) / columns) + 30));
    figure_layout(canvas, panels, columns, false);
    fputs("set xlabel 'Re / radius'\nset ylabel 'Im / radius'\nset xrange [-1.05:1.05]\nset yrange "
          "[-1.05:1.05]\nset size square\n"
          "set grid xtics ytics\nset xtics 0.5\nset ytics 0.5\n",
          canvas->script);
    for (size_t s = 0; s < panels; s++) {
        size_t block = figure_block(canvas, groups->series[s]), trials = 0;
        size_t points = cloud_block(canvas, eigenvalues, NULL, s, &trials);
        size_t marked = figure_block(canvas, "head with the largest previous-token score of each trial");
        size_t rings = scores ? cloud_block(canvas, eigenvalues, scores, s, &trials) : 0;
        fprintf(canvas->script, "set title '%s, n = %zu'\nplot NaN notitle",
                figure_quote(canvas, groups->series[s]), trials);
        if (points)
            fprintf(canvas->script,
                    ", \\\n  data index %zu using 1:2 with points pt 7 ps 0.2 lc rgb '%s' notitle", block,
                    figure_color(s));
        if (rings)
            fprintf(canvas->script,
                    ", \\\n  data index %zu using 1:2 with points pt 6 ps 0.5 lc rgb '#000000' notitle",
                    marked);
        fputs("\n", canvas->script);
    }
    return figure_end(canvas);
}

/* Mean over heads and trials of a variable along its last dimension, with an interval over trials. */
static enum pes_status last_dimension_block(struct canvas *canvas, const struct pes_column *column,
                                            size_t series, size_t panel, bool *any)
{
    const struct pes_field *field = column->field;
    size_t extent = field->extent[field->variable.rank - 1], rows = field->count / PES_MAX(extent, 1);
    double *values = pes_allocate(canvas->study->num_trials, sizeof *values);
    if (!values) return PES_MEMORY;
    size_t count;
    const size_t *member = groups_members(canvas->groups, series, panel, &count);
    *any = false;
    for (size_t k = 0; k < extent; k++) {
        size_t n = 0;
        for (size_t t = 0; t < count; t++) {
            double sum = 0;
            size_t known = 0;
            for (size_t r = 0; r < rows; r++) {
                double value = pes_column_of(column, member[t])[r * extent + k];
                if (isfinite(value)) {
                    sum += value;
                    known++;
                }
            }
            if (known) values[n++] = sum / (double)known;
        }
        if (!n) continue;
        struct pes_interval interval = pes_stat_t_interval(n, values, canvas->resampling.level);
        fprintf(canvas->data, "%zu %.9g ", k, interval.estimate);
        figure_number(canvas, isnan(interval.low) ? interval.estimate : interval.low);
        figure_number(canvas, isnan(interval.high) ? interval.estimate : interval.high);
        fputs("\n", canvas->data);
        *any = true;
    }
    pes_free(values);
    return PES_OK;
}

static enum pes_status draw_phase(struct canvas *canvas, const char **missing)
{
    const struct groups *groups = canvas->groups;
    const struct pes_column *energy;
    size_t panels = figure_panels(canvas);
    TRY(pes_study_column(canvas->study, "spectra_folded", "phase_energy", &energy));
    if (!energy) {
        *missing = "spectra weren't measured (measure.spectra)";
        return PES_OK;
    }
    size_t *block = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *block);
    bool *any = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *any);
    if (!block || !any) return PES_MEMORY;
    TRY(figure_begin(canvas, "phase", figure_width(panels, 420), figure_height(panels, 300)));
    figure_layout(canvas, panels, figure_columns(panels), true);
    fprintf(canvas->script,
            "set xlabel 'frequency, fastest first'\nset ylabel 'phase energy (folded)'\nset yrange [0:1]\n"
            "set xtics %zu\n",
            1 + energy->field->extent[2] / 10);
    enum pes_status status = PES_OK;
    for (size_t p = 0; p < panels && status == PES_OK; p++) {
        figure_title(canvas, p);
        for (size_t s = 0; s < groups->num_series && status == PES_OK; s++) {
            block[s] = figure_block(canvas, groups->series[s]);
            status = last_dimension_block(canvas, energy, s, p, &any[s]);
        }
        figure_bands(canvas, block, any, "linespoints pt 7 ps 0.4");
    }
    enum pes_status ended = figure_end(canvas);
    return status != PES_OK ? status : ended;
}

/* Mean and spread at each place of a sorted sequence, over heads. */
struct ranked {
    double *mean, *square; /* [T] sums over heads */
};

static void rank_down(size_t T, double *values, double scale, struct ranked *ranked)
{
    pes_stat_sort(T, values);
    for (size_t i = 0; i < T; i++) {
        double x = values[T - 1 - i] / scale;
        ranked->mean[i] += x;
        ranked->square[i] += x * x;
    }
}

static void ranked_block(struct canvas *canvas, size_t T, size_t used, const struct ranked *ranked)
{
    for (size_t i = 0; i < T && used; i++) {
        double m = ranked->mean[i] / (double)used;
        double sd = sqrt(PES_MAX(0, ranked->square[i] / (double)used - m * m));
        fprintf(canvas->data, "%.6g %.6g %.6g %.6g\n", ((double)i + 0.5) / (double)T, m, m - sd, m + sd);
    }
}

/* One head's symmetric part from its diagonals d[2T - 1]: the coefficients c[T], the symbol
 * f(w) = c_0 + 2 sum_k c_k cos(k w) at T angles, and the eigenvalues of the T x T Toeplitz matrix of c. False
 * if there is nothing.  matrix is scratch. */
static bool symbol_and_spectrum(size_t T, const double *d, double *c, double *f, double *values,
                                double *matrix, struct pes_arena *arena)
{
    const double pi = 3.14159265358979323846;
    double largest = 0;
    for (size_t k = 0; k < T; k++) {
        double back = d[T - 1 - k], ahead = d[T - 1 + k];
        /* Causal models see one side alone: it stands for both. */
        bool both = isfinite(back) && isfinite(ahead);
        c[k] = both ? (back + ahead) / 2 : isfinite(back) ? back : isfinite(ahead) ? ahead : 0;
    }
    for (size_t a = 0; a < T; a++) {
        f[a] = c[0];
        for (size_t k = 1; k < T; k++)
            f[a] += 2 * c[k] * cos((double)k * pi * ((double)a + 0.5) / (double)T);
        largest = PES_MAX(largest, fabs(f[a]));
    }
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            matrix[i * T + j] = c[i > j ? i - j : j - i];
    return largest > 0 && pes_symmetric_eigenvalues(T, matrix, values, arena);
}

/* Two blocks: the symbol and the eigenvalues, each sorted and divided by the head's largest |symbol|. */
static enum pes_status toeplitz_blocks(struct canvas *canvas, const struct pes_column *diagonals,
                                       size_t series, size_t *block, size_t *used)
{
    const struct pes_field *field = diagonals->field;
    size_t extent = field->extent[2], heads = field->count / PES_MAX(extent, 1), T = (extent + 1) / 2;
    double *room = pes_allocate(7 * T + T * T, sizeof *room);
    if (!room) return PES_MEMORY;
    double *c = room, *f = c + T, *values = f + T, *matrix = values + T;
    struct ranked symbol = {matrix + T * T, matrix + T * T + T},
                  spectrum = {symbol.square + T, symbol.square + 2 * T};
    size_t trials = 0, place = 0;
    for (size_t t = 0; t < canvas->study->num_trials; t++)
        trials += canvas->groups->series_of[t] == series && pes_study_finished(canvas->study, t) ? 1 : 0;
    /* Whole trials are left out evenly where the eigenvalues of all would take too long. */
    size_t every =
        figure_every(canvas, trials, 1 + (size_t)(2e9 / ((double)heads * (double)T * (double)T * (double)T)));
    memset(symbol.mean, 0, 4 * T * sizeof *room);
    const int threads = pes_stat_threads();
    pes_blas_set_threads(1); /* small matrices: waiting for threads would take longer than they do */
    *used = 0;
    for (size_t t = 0; t < canvas->study->num_trials; t++) {
        if (canvas->groups->series_of[t] != series || !pes_study_finished(canvas->study, t)) continue;
        if (place++ % every) continue;
        for (size_t h = 0; h < heads; h++) {
            const double *d = pes_column_of(diagonals, t) + h * extent;
            double largest = 0;
            if (!symbol_and_spectrum(T, d, c, f, values, matrix, canvas->study->arena)) continue;
            for (size_t a = 0; a < T; a++)
                largest = PES_MAX(largest, fabs(f[a]));
            rank_down(T, f, largest, &symbol);
            rank_down(T, values, largest, &spectrum);
            ++*used;
        }
    }
    pes_blas_set_threads(threads);
    block[0] = figure_block(canvas, "symbol, sorted: share of the spectrum, mean, mean - sd, mean + sd");
    ranked_block(canvas, T, *used, &symbol);
    block[1] = figure_block(canvas, "eigenvalues, sorted: the same");
    ranked_block(canvas, T, *used, &spectrum);
    pes_free(room);
    return PES_OK;
}

static enum pes_status draw_toeplitz(struct canvas *canvas, const char **missing)
{
    const struct groups *groups = canvas->groups;
    const struct pes_column *diagonals;
    TRY(pes_study_column(canvas->study, "attention", "score_diagonals", &diagonals));
    if (!diagonals) {
        *missing = "attention maps weren't measured (measure.attention_maps)";
        return PES_OK;
    }
    size_t panels = PES_MIN(groups->num_series, (size_t)FIGURE_MOST_SERIES),
           columns = PES_MIN(panels, (size_t)4);
    TRY(figure_begin(canvas, "toeplitz", 280 * (int)columns + 40,
                     260 * (int)((panels + columns - 1) / columns) + 30));
    figure_layout(canvas, panels, columns, false);
    fputs("set xlabel 'share of the spectrum, largest first'\nset ylabel 'value / largest symbol'\n"
          "set yrange [-1.1:1.1]\nset xrange [0:1]\n",
          canvas->script);
    enum pes_status status = PES_OK;
    for (size_t s = 0; s < panels && status == PES_OK; s++) {
        size_t block[2] = {0, 0}, used = 0;
        status = toeplitz_blocks(canvas, diagonals, s, block, &used);
        fprintf(canvas->script, "set title '%s, n = %zu heads'\nplot 0 lc rgb '#808080' notitle",
                figure_quote(canvas, groups->series[s]), used);
        if (used && status == PES_OK)
            fprintf(canvas->script,
                    ", \\\n  data index %zu using 1:3:4 with filledcurves fc rgb '%s' notitle, \\\n"
                    "  data index %zu using 1:2 with lines lw 2 lc rgb '%s' notitle, \\\n"
                    "  data index %zu using 1:2 with points pt 6 ps 0.5 lc rgb '#000000' notitle",
                    block[0], figure_color(s), block[0], figure_color(s), block[1]);
        fputs("\n", canvas->script);
    }
    enum pes_status ended = figure_end(canvas);
    return status != PES_OK ? status : ended;
}

const struct figure figures_spectra[] = {
    {QUESTION_POSITION, "eigenvalues", "Eigenvalues of the query-key forms",
     "Non-zero eigenvalues of every head's folded form in the complex plane, divided by the head's spectral "
     "radius; rings: the head with the largest previous-token score of each trial. n counts trials.",
     draw_eigenvalues, true},
    {QUESTION_POSITION, "phase", "Phase energy by frequency",
     "Share of each rotary frequency's energy in its imaginary part, mean over heads, interval over trials; "
     "as if "
     "paired for schemes that don't rotate.",
     draw_phase, true},
    {QUESTION_LOOK, "toeplitz", "Toeplitz spectra",
     "Symmetric part of the mean scores averaged along diagonals: its symbol (line, one standard deviation "
     "over "
     "heads as band) and the eigenvalues of its Toeplitz matrix (circles), both sorted, divided by the "
     "head's "
     "largest symbol, and averaged over heads. By Szeg\u0151's theorem they agree for long sequences; no "
     "eigenvalue lies outside the symbol's range.",
     draw_toeplitz, false},
    {.name = NULL},
};
