/* study.c - a results file opened for the analysis; variables are read whole, once. */
#include "pesweep/study.h"

#include <stdlib.h>
#include <string.h>

enum pes_status pes_study_open(const char *path, struct pes_study **result)
{
    *result = NULL;
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    struct pes_study *study = pes_arena_take(arena, 1, sizeof *study);
    if (!study) {
        pes_arena_destroy(arena);
        return PES_MEMORY;
    }
    study->arena = arena;
    enum pes_status status = pes_reader_open(path, &study->reader);
    if (status == PES_OK) {
        study->sweep = pes_reader_sweep(study->reader);
        study->layout = pes_reader_layout(study->reader);
        if (!study->sweep || !study->layout) status = PES_INPUT;
    }
    if (status != PES_OK) {
        pes_study_close(study);
        return status;
    }
    study->num_trials = pes_reader_num_trials(study->reader);
    study->status = pes_reader_status(study->reader);
    CHECK(study->num_trials == study->sweep->num_trials);
    for (size_t t = 0; t < study->num_trials; t++)
        study->num_outcomes[PES_MIN(study->status[t], PES_OUTCOME_DIVERGED)]++;
    *result = study;
    return PES_OK;
}

void pes_study_close(struct pes_study *study)
{
    if (!study) return;
    for (struct pes_column *column = study->columns; column; column = column->next)
        free(column->values);
    if (study->reader) pes_reader_close(study->reader);
    pes_arena_destroy(study->arena);
}

bool pes_study_finished(const struct pes_study *study, size_t trial)
{
    return study->status[trial] == PES_OUTCOME_DONE || study->status[trial] == PES_OUTCOME_DIVERGED;
}

enum pes_status pes_study_column(struct pes_study *study, const char *group, const char *name,
                                 const struct pes_column **result)
{
    const struct pes_field *field = pes_layout_find(study->layout, group, name);
    *result = NULL;
    if (!field) return PES_OK;
    for (struct pes_column *column = study->columns; column; column = column->next)
        if (column->field == field) {
            *result = column;
            return PES_OK;
        }
    struct pes_column *column = pes_arena_take(study->arena, 1, sizeof *column);
    size_t count;
    if (!column) return PES_MEMORY;
    TRY(pes_reader_variable(study->reader, group, name, &column->values, &count));
    if (count != study->num_trials * field->count) {
        free(column->values);
        return pes_fail(PES_INPUT, "%s/%s has %zu values, %zu trials of %zu should have", group, name, count,
                        study->num_trials, field->count);
    }
    column->field = field;
    column->next = study->columns;
    study->columns = column;
    *result = column;
    return PES_OK;
}

const double *pes_column_of(const struct pes_column *column, size_t trial)
{
    return column ? column->values + trial * column->field->count : NULL;
}

bool pes_axis_is_seed(const struct pes_axis *axis)
{
    return !strcmp(axis->path, "train.seed") || !strcmp(axis->path, "task.data_seed");
}

const char *pes_study_axis_text(struct pes_study *study, size_t trial, size_t axis)
{
    const struct pes_config *config = study->sweep->trials[trial].config;
    size_t slot = study->sweep->axes[axis].slot;
    return config->applies[slot] ? pes_value_format(&config->values[slot], study->arena) : "";
}
