/* study.c - a results file opened for the analysis; variables are read whole, once. */
#include "pesweep/study.h"

#include <string.h>

#include "internal.h"

static enum pes_status open_results(struct pes_study *study, const char *path)
{
    TRY(pes_reader_open(path, &study->reader));
    study->sweep = pes_reader_sweep(study->reader);
    study->layout = pes_reader_layout(study->reader);
    if (!study->sweep || !study->layout) return PES_INPUT;
    study->num_trials = pes_reader_num_trials(study->reader);
    study->status = pes_reader_status(study->reader);
    return PES_OK;
}

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
    enum pes_status status =
        pes_heads_found(path) ? study_open_heads(study, path) : open_results(study, path);
    if (status != PES_OK) {
        pes_study_close(study);
        return status;
    }
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
        pes_free(column->values);
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
    if (!column) return PES_MEMORY;
    column->values = pes_allocate(study->num_trials * field->count, sizeof *column->values);
    if (!column->values) return PES_MEMORY;
    enum pes_status status = pes_study_part(study, field, 0, study->num_trials, column->values);
    if (status != PES_OK) {
        pes_free(column->values);
        return status;
    }
    column->field = field;
    column->next = study->columns;
    study->columns = column;
    *result = column;
    return PES_OK;
}

enum pes_status pes_study_part(struct pes_study *study, const struct pes_field *field, size_t first,
                               size_t count, double *values)
{
    const struct pes_variable *variable = &field->variable;
    if (study->reader)
        return pes_reader_part(study->reader, variable->group, variable->name, first, count, values);
    for (size_t t = 0; t < count; t++) {
        size_t bytes = (first + t) * study->layout->row_bytes;
        const struct pes_row row = {study->layout, (unsigned char *)(uintptr_t)study->rows + bytes};
        pes_row_values(&row, field, values + t * field->count);
    }
    return PES_OK;
}

const double *pes_column_of(const struct pes_column *column, size_t trial)
{
    return column ? column->values + trial * column->field->count : NULL;
}

const char *study_unit(const struct pes_study *study)
{
    return study->heads ? "model" : "trial";
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
