/* metric.c - the number that a claim is about, for one trial. */
#include "internal.h"
#include "pesweep/study.h"
#include "pesweep/text.h"

#include <math.h>
#include <string.h>

static const char *const final_groups[] = {"trials", "probes", "spectra_folded", "spectra"};

static bool is_loss(const char *name)
{
    return strstr(name, "loss") || strstr(name, "penalty");
}

static enum pes_status unknown(struct pes_study *study, const char *text, const char *name)
{
    const char *const *names;
    size_t count;
    TRY(pes_metric_names(study->layout, study->arena, &names, &count));
    const char *near = pes_text_nearest(name, names, count);
    return pes_fail(PES_INPUT, "%s: the file has no '%s'%s%s%s", text, name, near ? "; did you mean '" : "",
                    near ? near : "", near ? "'?" : "");
}

static enum pes_status resolve_final(struct pes_study *study, struct pes_metric *metric)
{
    const char *name = metric->text + 6;
    for (const struct pes_derived *d = pes_derived; d->name; d++)
        if (!strcmp(d->name, name)) {
            metric->derived = d;
            metric->lower_is_better = d->lower_is_better;
            return PES_OK;
        }
    metric->lower_is_better = is_loss(name);
    for (size_t g = 0; g < PES_COUNT(final_groups) && !metric->column; g++) {
        TRY(pes_study_column(study, final_groups[g], name, &metric->column));
        metric->performance = metric->column && g == 0;
    }
    return metric->column ? PES_OK : unknown(study, metric->text, name);
}

static enum pes_status resolve_steps(struct pes_study *study, struct pes_metric *metric)
{
    const char *name = metric->text + 9, *comma = strchr(name, ',');
    char curve[128], number[64];
    size_t length = comma ? (size_t)(comma - name) : 0;
    if (!length || length >= sizeof curve || strlen(comma) >= sizeof number)
        return pes_fail(PES_INPUT, "%s: steps_to(<curve>, <number>) is meant", metric->text);
    memcpy(curve, name, length);
    curve[length] = '\0';
    strcpy(number, comma + 1 + strspn(comma + 1, " "));
    char *close = strchr(number, ')');
    if (close) *close = '\0';
    if (!close || !pes_text_parse_real(number, &metric->threshold))
        return pes_fail(PES_INPUT, "%s: steps_to(<curve>, <number>) is meant", metric->text);
    metric->times = metric->lower_is_better = metric->performance = true;
    metric->falling = is_loss(curve);
    TRY(pes_study_column(study, "curves", curve, &metric->column));
    if (!metric->column || metric->column->field->variable.rank == 0)
        return unknown(study, metric->text, curve);
    bool dense = metric->column->field->variable.dimensions[0] == PES_DIM_EVALUATION;
    TRY(pes_study_column(study, "curves", dense ? "evaluation_step" : "checkpoint_step", &metric->steps));
    return metric->steps ? PES_OK
                         : pes_fail(PES_INPUT, "%s: the file has no steps for this curve", metric->text);
}

enum pes_status pes_metric_resolve(struct pes_study *study, const char *text, struct pes_metric *metric)
{
    *metric = (struct pes_metric){.text = text};
    if (!strncmp(text, "final.", 6)) return resolve_final(study, metric);
    if (!strncmp(text, "steps_to(", 9)) return resolve_steps(study, metric);
    return pes_fail(PES_INPUT, "'%s' is no metric; final.<name> and steps_to(<curve>, <number>) are", text);
}

static double mean_of_known(size_t n, const double *x)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i])) {
            sum += x[i];
            known++;
        }
    return known ? sum / (double)known : NAN;
}

/* The largest value of each step (the smallest for a falling curve); steps beyond the trial's own have none.
 */
static enum pes_status steps_to(const struct pes_metric *metric, size_t trial, double *value, bool *reached)
{
    size_t n = metric->steps->field->count, inner = metric->column->field->count / PES_MAX(n, 1);
    const double *all = pes_column_of(metric->column, trial), *step = pes_column_of(metric->steps, trial);
    double *curve = pes_allocate(n, sizeof *curve);
    if (!curve) return PES_MEMORY;
    for (size_t i = 0; i < n; i++) {
        curve[i] = NAN;
        for (size_t j = 0; j < inner && step[i] >= 0; j++) {
            double x = all[i * inner + j];
            if (!isnan(x) && (isnan(curve[i]) || (metric->falling ? x < curve[i] : x > curve[i])))
                curve[i] = x;
        }
    }
    *value = pes_stat_steps_to(n, step, curve, metric->threshold, metric->falling, reached);
    pes_free(curve);
    return PES_OK;
}

const char *pes_metric_unit(const struct pes_metric *metric)
{
    return metric->times     ? "step"
           : metric->derived ? metric->derived->unit
                             : metric->column->field->variable.unit;
}

enum pes_status pes_metric_evaluate(struct pes_study *study, const struct pes_metric *metric, size_t trial,
                                    double *value, bool *reached)
{
    *value = NAN;
    *reached = true;
    if (!pes_study_finished(study, trial)) return PES_OK;
    if (metric->derived) return metric->derived->evaluate(study, trial, value);
    if (metric->times) return steps_to(metric, trial, value, reached);
    *value = mean_of_known(metric->column->field->count, pes_column_of(metric->column, trial));
    return PES_OK;
}

enum pes_status pes_metric_names(const struct pes_layout *layout, struct pes_arena *arena,
                                 const char *const **names, size_t *count)
{
    size_t num_derived = 0;
    while (pes_derived[num_derived].name)
        num_derived++;
    const char **all = pes_arena_take(arena, layout->num_fields + num_derived, sizeof *all);
    if (!all) return PES_MEMORY;
    for (*count = 0; *count < num_derived; ++*count)
        all[*count] = pes_derived[*count].name;
    for (size_t i = 0; i < layout->num_fields; i++) {
        const struct pes_variable *variable = &layout->fields[i].variable;
        bool fits = !strcmp(variable->group, "curves") && variable->rank > 0;
        for (size_t g = 0; g < PES_COUNT(final_groups); g++)
            fits |= !strcmp(variable->group, final_groups[g]);
        if (fits) all[(*count)++] = variable->name;
    }
    *names = all;
    return PES_OK;
}
