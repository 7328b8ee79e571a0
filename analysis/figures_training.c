/* figures_training.c - what training looks like: curves, steps to a threshold, final accuracy, profiles,
 * variance. */
#include "output.h"

#include <math.h>
#include <string.h>

static const char nothing_finished[] = "no trial has finished";

/* Mean and interval over seeds at every evaluation of one group: step, mean, low, high, n. */
static enum pes_status curve_block(struct canvas *canvas, const struct pes_column *curve,
                                   const struct pes_column *steps, size_t series, size_t panel, bool *any)
{
    size_t n = steps->field->count, members, count;
    const size_t *member = groups_members(canvas->groups, series, panel, &count);
    double *values = pes_allocate(canvas->study->num_trials, sizeof *values);
    const double *step = NULL;
    if (!values) return PES_MEMORY;
    enum pes_status status = PES_OK;
    *any = false;
    for (size_t i = 0; i < n && status == PES_OK; i++) {
        members = 0;
        for (size_t k = 0; k < count; k++) {
            if (!step) step = pes_column_of(steps, member[k]);
            double value = pes_column_of(curve, member[k])[i];
            if (isfinite(value) && pes_column_of(steps, member[k])[i] == step[i]) values[members++] = value;
        }
        if (!members || step[i] < 0) continue;
        struct pes_resampling quick = canvas->resampling;
        struct pes_interval interval;
        quick.resamples = PES_MIN(quick.resamples, (size_t)1000);
        quick.percentile = true;
        status = pes_stat_location_interval(PES_LOCATION_MEAN, members, values, &quick, &interval);
        figure_number(canvas, step[i]);
        figure_number(canvas, interval.estimate);
        figure_number(canvas, isnan(interval.low) ? interval.estimate : interval.low);
        figure_number(canvas, isnan(interval.high) ? interval.estimate : interval.high);
        fprintf(canvas->data, "%zu\n", members);
        *any = true;
    }
    pes_free(values);
    return status;
}

static enum pes_status draw_curve(struct canvas *canvas, const char *name, const char *variable,
                                  const char *settings, const char **missing)
{
    const struct groups *groups = canvas->groups;
    const struct pes_column *curve, *steps;
    size_t panels = figure_panels(canvas);
    TRY(pes_study_column(canvas->study, "curves", variable, &curve));
    TRY(pes_study_column(canvas->study, "curves", "evaluation_step", &steps));
    if (!curve || !steps) {
        *missing = "the file has no such curve";
        return PES_OK;
    }
    size_t *block = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *block);
    bool *any = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *any);
    if (!block || !any) return PES_MEMORY;
    TRY(figure_begin(canvas, name, figure_width(panels, 420), figure_height(panels, 300)));
    figure_layout(canvas, panels, figure_columns(panels), true);
    fprintf(canvas->script, "set xlabel 'step'\n%s", settings);
    enum pes_status status = PES_OK;
    for (size_t p = 0; p < panels && status == PES_OK; p++) {
        figure_title(canvas, p);
        for (size_t s = 0; s < groups->num_series && status == PES_OK; s++) {
            char comment[256];
            snprintf(comment, sizeof comment, "%s %s: step mean low high n", groups->series[s],
                     groups->panels[p]);
            block[s] = figure_block(canvas, comment);
            status = curve_block(canvas, curve, steps, s, p, &any[s]);
        }
        figure_bands(canvas, block, any, "lines");
    }
    enum pes_status ended = figure_end(canvas);
    return status != PES_OK ? status : ended;
}

static enum pes_status draw_accuracy(struct canvas *canvas, const char **missing)
{
    return draw_curve(canvas, "accuracy", "test_accuracy",
                      "set ylabel 'test accuracy'\nset yrange [0:1.02]\n", missing);
}

static enum pes_status draw_loss(struct canvas *canvas, const char **missing)
{
    return draw_curve(canvas, "loss", "test_loss", "set ylabel 'test loss (nat)'\nset logscale y\n", missing);
}

/* Seeds as points, their location and its interval beside them.  Blocks of a panel: points (series, place,
 * value, reached), then locations (series, value, low, high). */
static enum pes_status draw_points(struct canvas *canvas, const char *name, const char *metric_text,
                                   const char *settings, const char **missing)
{
    const struct groups *groups = canvas->groups;
    struct pes_study *study = canvas->study;
    struct pes_metric metric;
    size_t panels = figure_panels(canvas), n, any = 0;
    if (pes_metric_resolve(study, metric_text, &metric) != PES_OK) {
        *missing = "the file has no such curve";
        return PES_OK;
    }
    double *values = pes_arena_take(study->arena, study->num_trials, sizeof *values);
    bool *reached = pes_arena_take(study->arena, study->num_trials, sizeof *reached);
    if (!values || !reached) return PES_MEMORY;
    for (size_t s = 0; s < groups->num_series; s++)
        for (size_t p = 0; p < panels; p++) {
            TRY(groups_values(study, groups, s, p, &metric, &n, values, reached));
            any += n;
        }
    if (!any) {
        *missing = nothing_finished;
        return PES_OK;
    }
    int each = PES_MAX(320, 90 * (int)groups->num_series);
    TRY(figure_begin(canvas, name, figure_width(panels, PES_MIN(each, 700)), figure_height(panels, 320)));
    figure_layout(canvas, panels, figure_columns(panels), false);
    fputs(settings, canvas->script);
    figure_series_tics(canvas);
    enum pes_status status = PES_OK;
    for (size_t p = 0; p < panels && status == PES_OK; p++) {
        size_t points = figure_block(canvas, "series place value reached");
        for (size_t s = 0; s < groups->num_series && status == PES_OK; s++) {
            status = groups_values(study, groups, s, p, &metric, &n, values, reached);
            size_t every = figure_every(canvas, n, FIGURE_MOST_POINTS);
            for (size_t i = 0; i < n; i += every)
                fprintf(canvas->data, "%zu %.4f %.9g %d\n", s, (double)s + 0.18 * figure_jitter(i), values[i],
                        reached[i]);
        }
        size_t locations = figure_block(canvas, "series location low high hidden");
        for (size_t s = 0; s < groups->num_series && status == PES_OK; s++) {
            struct pes_interval interval = {NAN, NAN, NAN, 0};
            bool found = true;
            status = groups_values(study, groups, s, p, &metric, &n, values, reached);
            if (status != PES_OK || !n) continue;
            if (metric.times)
                status = pes_stat_survival_median(&(struct pes_survival){n, values, reached},
                                                  &interval.estimate, &found);
            else
                status =
                    pes_stat_location_interval(PES_LOCATION_MEAN, n, values, &canvas->resampling, &interval);
            fprintf(canvas->data, "%zu ", s);
            figure_number(canvas, interval.estimate);
            figure_number(canvas, isnan(interval.low) ? interval.estimate : interval.low);
            figure_number(canvas, isnan(interval.high) ? interval.estimate : interval.high);
            fprintf(canvas->data, "%d\n", !found);
        }
        figure_title(canvas, p);
        fprintf(
            canvas->script,
            "plot data index %zu using 2:($4 == 1 ? $3 : NaN) with points pt 7 ps 0.5 lc rgb '#0072b2' "
            "notitle, \\\n"
            "  data index %zu using 2:($4 == 0 ? $3 : NaN) with points pt 8 ps 0.8 lc rgb '#d55e00' "
            "notitle, \\\n"
            "  data index %zu using ($1 + 0.32):($5 == 0 ? $2 : NaN):3:4 with yerrorbars pt 13 ps 0.9 lw 1.5 "
            "lc rgb '#000000' notitle, \\\n"
            "  data index %zu using ($1 + 0.32):($5 == 1 ? $2 : NaN) with points pt 12 ps 1.1 lc rgb "
            "'#000000' "
            "notitle\n",
            points, points, locations, locations);
    }
    enum pes_status ended = figure_end(canvas);
    return status != PES_OK ? status : ended;
}

static enum pes_status draw_seeds(struct canvas *canvas, const char **missing)
{
    return draw_points(canvas, "seeds", "final.test_accuracy",
                       "set ylabel 'final test accuracy'\nset offsets 0, 0, graph 0.04, graph 0.04\n",
                       missing);
}

static enum pes_status draw_steps(struct canvas *canvas, const char **missing)
{
    char threshold[32];
    const char *metric = pes_arena_printf(canvas->study->arena, "steps_to(test_accuracy, %s)",
                                          pes_text_format_real(canvas->threshold, threshold));
    const char *settings = pes_arena_printf(
        canvas->study->arena,
        "set ylabel 'steps to test accuracy %s'\nset yrange [0:*]\nset offsets 0, 0, graph 0.06, 0\n",
        threshold);
    return metric && settings ? draw_points(canvas, "steps", metric, settings, missing) : PES_MEMORY;
}

/* Share of runs above each level of accuracy, all panels of a series being tasks in the sense of Agarwal et
 * al. */
static enum pes_status profile_block(struct canvas *canvas, const struct pes_metric *metric, size_t series,
                                     bool *any)
{
    enum { LEVELS = 41 };
    const struct groups *groups = canvas->groups;
    struct pes_study *study = canvas->study;
    double levels[LEVELS], *values = pes_allocate(study->num_trials, sizeof *values);
    size_t *count = pes_allocate(groups->num_panels, sizeof *count), total = 0, tasks = 0;
    struct pes_interval profile[LEVELS];
    enum pes_status status = values && count ? PES_OK : PES_MEMORY;
    for (size_t p = 0; p < groups->num_panels && status == PES_OK; p++) {
        status = groups_values(study, groups, series, p, metric, &count[tasks], values + total, NULL);
        total += count[tasks];
        tasks += count[tasks] > 0;
    }
    for (int i = 0; i < LEVELS; i++)
        levels[i] = i / (double)(LEVELS - 1);
    struct pes_resampling quick = canvas->resampling;
    quick.resamples = PES_MIN(quick.resamples, (size_t)2000);
    *any = total > 0;
    if (status == PES_OK && total)
        status = pes_stat_profile(tasks, count, values, LEVELS, levels, &quick, profile);
    for (int i = 0; i < LEVELS && status == PES_OK && total; i++) {
        double low = isnan(profile[i].low) ? profile[i].estimate : profile[i].low;
        double high = isnan(profile[i].high) ? profile[i].estimate : profile[i].high;
        fprintf(canvas->data, "%.9g %.9g %.9g %.9g\n", levels[i], profile[i].estimate, low, high);
    }
    pes_free(values);
    pes_free(count);
    return status;
}

static enum pes_status draw_profiles(struct canvas *canvas, const char **missing)
{
    const struct groups *groups = canvas->groups;
    struct pes_metric metric;
    if (pes_metric_resolve(canvas->study, "final.test_accuracy", &metric) != PES_OK) {
        *missing = "the file has no test accuracy";
        return PES_OK;
    }
    size_t *block = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *block);
    bool *any = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *any);
    if (!block || !any) return PES_MEMORY;
    TRY(figure_begin(canvas, "profiles", 600, 420));
    figure_layout(canvas, 1, 1, true);
    size_t runs = 0, count;
    for (size_t s = 0; s < groups->num_series * groups->num_panels; s++) {
        (void)groups_members(groups, s % groups->num_series, s / groups->num_series, &count);
        runs += count;
    }
    fprintf(canvas->script,
            "set xlabel 'test accuracy (n = %zu runs in all)'\nset ylabel 'share of runs above it'\n"
            "set yrange [0:1.02]\nset xrange [0:1]\n",
            runs);
    enum pes_status status = PES_OK;
    for (size_t s = 0; s < groups->num_series && status == PES_OK; s++) {
        block[s] = figure_block(canvas, groups->series[s]);
        status = profile_block(canvas, &metric, s, &any[s]);
    }
    figure_bands(canvas, block, any, "lines");
    enum pes_status ended = figure_end(canvas);
    return status != PES_OK ? status : ended;
}

const struct figure figures_training[] = {
    {QUESTION_LEARNS, "accuracy", "Accuracy during training",
     "Mean test accuracy over seeds and its 95 % bootstrap interval, at every evaluation.", draw_accuracy,
     false},
    {QUESTION_LEARNS, "loss", "Loss during training",
     "Mean test loss over seeds and its 95 % bootstrap interval.", draw_loss, false},
    {QUESTION_LEARNS, "steps", "Steps to a threshold",
     "First evaluation at the threshold, a point per trial; open triangles never got there (censored at "
     "their last "
     "step). Diamonds: Kaplan-Meier medians; an open one is a lower bound.",
     draw_steps, false},
    {QUESTION_SURE, "seeds", "Variance over seeds",
     "Final test accuracy, a point per trial; diamonds and bars: mean and BCa interval.", draw_seeds, false},
    {QUESTION_SURE, "profiles", "Performance profiles",
     "Share of runs above each accuracy, with stratified-bootstrap bands (Agarwal et al. 2021).",
     draw_profiles, false},
    {.name = NULL},
};
