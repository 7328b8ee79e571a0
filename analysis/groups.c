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

/* "symmetry=none lr=0.001"; axes that don't apply are left out, and those that go with the series. */
static const char *panel_label(struct pes_study *study, size_t trial, const bool *splits)
{
    const char *label = "";
    for (size_t a = 0; a < study->sweep->num_axes; a++) {
        const struct pes_axis *axis = &study->sweep->axes[a];
        if (!splits[a]) continue;
        const char *value = pes_study_axis_text(study, trial, a);
        if (value && *value)
            label = pes_arena_printf(study->arena, "%s%s%s=%s", label, *label ? " " : "", axis->name, value);
        if (!value || !label) return NULL;
    }
    return label;
}

/* Number of a label in a list, which grows by it if it's new; likely the one of the trial before. */
static size_t place_of(const char **labels, size_t *count, size_t likely, const char *label)
{
    if (likely < *count && !strcmp(labels[likely], label)) return likely;
    for (size_t i = 0; i < *count; i++)
        if (!strcmp(labels[i], label)) return i;
    labels[*count] = label;
    return (*count)++;
}

/* Axes that split the trials into panels.  One that has a single value in each series, such as a rate per
 * scheme, doesn't: most of the cells would be empty. */
static enum pes_status choose_splits(struct pes_study *study, const struct groups *groups, long series_axis,
                                     bool *splits)
{
    const char **first = pes_arena_take(study->arena, PES_MAX(groups->num_series, 1), sizeof *first);
    if (!first) return PES_MEMORY;
    for (size_t a = 0; a < study->sweep->num_axes; a++) {
        splits[a] = false;
        if ((long)a == series_axis || pes_axis_is_seed(&study->sweep->axes[a])) continue;
        memset(first, 0, groups->num_series * sizeof *first);
        for (size_t t = 0; t < study->num_trials && !splits[a]; t++) {
            struct pes_arena_mark mark = pes_arena_mark(study->arena);
            const char *value = pes_study_axis_text(study, t, a), **seen = &first[groups->series_of[t]];
            if (!value) return PES_MEMORY;
            if (!*seen) {
                *seen = value;
                continue;
            }
            splits[a] = strcmp(*seen, value) != 0;
            pes_arena_rewind(study->arena, mark);
        }
    }
    return PES_OK;
}

/* Finished trials sorted by group: a counting sort, so they stay in order. */
static enum pes_status sort_members(struct pes_study *study, struct groups *groups)
{
    size_t cells = groups->num_series * groups->num_panels, n = study->num_trials, sum = 0;
    groups->start = pes_arena_take(study->arena, cells + 2, sizeof *groups->start);
    groups->members = pes_arena_take(study->arena, n, sizeof *groups->members);
    if (!groups->start || !groups->members) return PES_MEMORY;
    size_t *next = groups->start + 1; /* ends one place late, as each group's start */
    for (size_t t = 0; t < n; t++)
        if (pes_study_finished(study, t))
            next[groups->panel_of[t] * groups->num_series + groups->series_of[t]]++;
    for (size_t g = 0; g < cells; g++) {
        size_t count = next[g];
        next[g] = sum;
        sum += count;
    }
    for (size_t t = 0; t < n; t++)
        if (pes_study_finished(study, t))
            groups->members[next[groups->panel_of[t] * groups->num_series + groups->series_of[t]]++] = t;
    groups->start[0] = 0;
    return PES_OK;
}

const size_t *groups_members(const struct groups *groups, size_t series, size_t panel, size_t *count)
{
    size_t g = panel * groups->num_series + series;
    *count = groups->start[g + 1] - groups->start[g];
    return groups->members + groups->start[g];
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
    bool *splits = pes_arena_take(study->arena, PES_MAX(study->sweep->num_axes, 1), sizeof *splits);
    if (!groups->series || !groups->panels || !groups->series_of || !groups->panel_of || !splits)
        return PES_MEMORY;
    for (size_t t = 0; t < n; t++) {
        const char *series = axis < 0 ? "all trials" : pes_study_axis_text(study, t, (size_t)axis);
        if (!series) return PES_MEMORY;
        groups->series_of[t] = place_of(groups->series, &groups->num_series, groups->series_of[t ? t - 1 : 0],
                                        *series ? series : "-");
    }
    TRY(choose_splits(study, groups, axis, splits));
    for (size_t t = 0; t < n; t++) {
        const char *panel = panel_label(study, t, splits);
        if (!panel) return PES_MEMORY;
        groups->panel_of[t] =
            place_of(groups->panels, &groups->num_panels, groups->panel_of[t ? t - 1 : 0], panel);
    }
    return sort_members(study, groups);
}

enum pes_status groups_values(struct pes_study *study, const struct groups *groups, size_t series,
                              size_t panel, const struct pes_metric *metric, size_t *n, double *values,
                              bool *reached)
{
    size_t count;
    const size_t *member = groups_members(groups, series, panel, &count);
    *n = 0;
    for (size_t i = 0; i < count; i++) {
        double value;
        bool there;
        TRY(pes_metric_evaluate(study, metric, member[i], &value, &there));
        if (isnan(value)) continue;
        values[*n] = value;
        if (reached) reached[*n] = there;
        ++*n;
    }
    return PES_OK;
}

enum pes_status groups_collect(struct pes_study *study, const struct groups *groups,
                               const struct pes_metric *metric, struct group_values *values)
{
    size_t cells = groups->num_series * groups->num_panels;
    values->value = pes_arena_take(study->arena, study->num_trials, sizeof *values->value);
    values->reached = pes_arena_take(study->arena, study->num_trials, sizeof *values->reached);
    values->start = pes_arena_take(study->arena, cells + 1, sizeof *values->start);
    if (!values->value || !values->reached || !values->start) return PES_MEMORY;
    for (size_t g = 0; g < cells; g++) {
        size_t n, first = values->start[g];
        TRY(groups_values(study, groups, g % groups->num_series, g / groups->num_series, metric, &n,
                          values->value + first, values->reached + first));
        values->start[g + 1] = first + n;
    }
    return PES_OK;
}
