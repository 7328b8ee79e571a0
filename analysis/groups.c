/* groups.c - trials by series and panel. */
#include "output.h"

#include <math.h>
#include <string.h>

static long main_axis(const struct pes_sweep *sweep)
{
    long first = -1;
    for (size_t a = 0; a < sweep->num_axes; a++) {
        if (!strcmp(sweep->axes[a].path, "model.pe")) return (long)a;
        if (first < 0 && !pes_axis_is_seed(&sweep->axes[a])) first = (long)a;
    }
    return first;
}

/* "symmetry=none lr=0.001"; axes that don't apply are left out. */
static const char *panel_label(struct pes_study *study, size_t trial, long series_axis)
{
    const char *label = "";
    for (size_t a = 0; a < study->sweep->num_axes; a++) {
        const struct pes_axis *axis = &study->sweep->axes[a];
        if ((long)a == series_axis || pes_axis_is_seed(axis)) continue;
        const char *value = pes_study_axis_text(study, trial, a);
        if (value && *value)
            label = pes_arena_printf(study->arena, "%s%s%s=%s", label, *label ? " " : "", axis->name, value);
        if (!value || !label) return NULL;
    }
    return label;
}

/* Number of a label in a list, which grows by it if it's new. */
static size_t place_of(const char **labels, size_t *count, const char *label)
{
    for (size_t i = 0; i < *count; i++)
        if (!strcmp(labels[i], label)) return i;
    labels[*count] = label;
    return (*count)++;
}

enum pes_status groups_make(struct pes_study *study, struct groups *groups)
{
    size_t n = study->num_trials;
    long axis = main_axis(study->sweep);
    *groups = (struct groups){.axis = axis < 0 ? "" : study->sweep->axes[axis].name};
    groups->series = pes_arena_take(study->arena, n, sizeof *groups->series);
    groups->panels = pes_arena_take(study->arena, n, sizeof *groups->panels);
    groups->series_of = pes_arena_take(study->arena, n, sizeof *groups->series_of);
    groups->panel_of = pes_arena_take(study->arena, n, sizeof *groups->panel_of);
    if (!groups->series || !groups->panels || !groups->series_of || !groups->panel_of) return PES_MEMORY;
    for (size_t t = 0; t < n; t++) {
        const char *series = axis < 0 ? "all trials" : pes_study_axis_text(study, t, (size_t)axis);
        const char *panel = panel_label(study, t, axis);
        if (!series || !panel) return PES_MEMORY;
        groups->series_of[t] = place_of(groups->series, &groups->num_series, *series ? series : "-");
        groups->panel_of[t] = place_of(groups->panels, &groups->num_panels, panel);
    }
    return PES_OK;
}

enum pes_status groups_values(struct pes_study *study, const struct groups *groups, size_t series,
                              size_t panel, const struct pes_metric *metric, size_t *n, double *values,
                              bool *reached, size_t *trials)
{
    *n = 0;
    for (size_t t = 0; t < study->num_trials; t++) {
        double value;
        bool there;
        if (groups->series_of[t] != series || groups->panel_of[t] != panel) continue;
        TRY(pes_metric_evaluate(study, metric, t, &value, &there));
        if (isnan(value)) continue;
        values[*n] = value;
        if (reached) reached[*n] = there;
        if (trials) trials[*n] = t;
        ++*n;
    }
    return PES_OK;
}
