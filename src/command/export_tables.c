/* export_tables.c - results as CSV. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "output.h"
#include "pesweep/text.h"

/* A number in the fewest digits that read back; nothing for NaN. */
static void put_number(FILE *file, enum pes_type type, double value)
{
    char text[32];
    if (isnan(value)) return;
    if (type != PES_F32 && type != PES_F64) {
        fprintf(file, "%.0f", value);
        return;
    }
    if (type == PES_F64 || isinf(value)) {
        fputs(pes_text_format_real(value, text), file);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        double read;
        if (digits == 9 || (pes_text_parse_real(text, &read) && (float)read == (float)value)) break;
    }
    fputs(text, file);
}

static double element(const struct pes_field *field, const struct pes_row *row, size_t i)
{
    const unsigned char *at = row->bytes + field->offset + i * pes_type_bytes(field->variable.type);
    switch (field->variable.type) {
    case PES_F32:
        return (double)*(const float *)(const void *)at;
    case PES_F64:
        return *(const double *)(const void *)at;
    case PES_I64:
        return (double)*(const int64_t *)(const void *)at;
    case PES_I32:
        return *(const int32_t *)(const void *)at;
    default:
        return *at;
    }
}

/* The swept values of a trial, each followed by a comma. */
static enum pes_status put_axes(FILE *file, const struct pes_sweep *sweep, size_t trial,
                                struct pes_arena *arena)
{
    const struct pes_config *config = sweep->trials[trial].config;
    for (size_t a = 0; a < sweep->num_axes; a++) {
        size_t slot = sweep->axes[a].slot;
        const struct pes_value *value = &config->values[slot];
        bool plain = value->type == PES_VALUE_CHOICE || value->type == PES_VALUE_TEXT;
        const char *text = !config->applies[slot] ? "" : plain ? value->text : pes_value_format(value, arena);
        if (!text) return PES_MEMORY;
        pes_output_csv_text(file, text);
        putc(',', file);
    }
    return PES_OK;
}

static bool is_finished(uint8_t status)
{
    return status >= PES_OUTCOME_DONE;
}

/* --- one row per trial --- */

static enum pes_status put_trial(struct pes_reader *reader, const struct pes_sweep *sweep, size_t trial,
                                 struct pes_row *row, double steps, struct pes_arena *arena, FILE *file)
{
    uint8_t status = pes_reader_status(reader)[trial];
    fprintf(file, "%zu,%s,", trial, pes_reader_key(reader, trial));
    TRY(put_axes(file, sweep, trial, arena));
    fprintf(file, "%s,%s,%.0f", pes_outcome_name((enum pes_outcome)status),
            pes_reason_name((enum pes_reason)pes_reader_reason(reader)[trial]), steps);
    if (is_finished(status)) TRY(pes_reader_row(reader, trial, row));
    for (size_t f = 0; f < row->layout->num_fields; f++) {
        const struct pes_field *field = &row->layout->fields[f];
        if (strcmp(field->variable.group, "trials") || field->variable.rank) continue;
        putc(',', file);
        if (is_finished(status)) put_number(file, field->variable.type, element(field, row, 0));
    }
    putc('\n', file);
    return PES_OK;
}

enum pes_status pes_export_trials(struct pes_reader *reader, FILE *file)
{
    const struct pes_layout *layout = pes_reader_layout(reader);
    const struct pes_sweep *sweep = pes_reader_sweep(reader);
    if (!sweep) return PES_INPUT;
    double *steps;
    size_t count;
    TRY(pes_reader_variable(reader, "trials", "steps", &steps, &count));
    struct pes_arena *arena = pes_arena_create();
    struct pes_row row = {layout, pes_allocate(layout->row_bytes, 1)};
    enum pes_status status = arena && row.bytes ? PES_OK : PES_MEMORY;
    fputs("trial,key,", file);
    for (size_t a = 0; a < sweep->num_axes; a++)
        fprintf(file, "%s,", sweep->axes[a].name);
    fputs("status,reason,steps", file);
    for (size_t f = 0; f < layout->num_fields; f++)
        if (!strcmp(layout->fields[f].variable.group, "trials") && !layout->fields[f].variable.rank)
            fprintf(file, ",%s", layout->fields[f].variable.name);
    putc('\n', file);
    for (size_t t = 0; t < count && status == PES_OK; t++)
        status = put_trial(reader, sweep, t, &row, steps[t], arena, file);
    pes_free(row.bytes);
    pes_arena_destroy(arena);
    free(steps);
    return status;
}

/* --- one number per row --- */

struct table {
    const struct pes_sweep *sweep;
    const struct pes_layout *layout;
    const char *const *groups;
    bool used[PES_NUM_DIMENSIONS]; /* dimensions that some variable has */
    FILE *file;
};

static bool is_wanted(const struct table *table, const struct pes_field *field)
{
    for (const char *const *group = table->groups; *group; group++)
        if (!strcmp(*group, field->variable.group)) return true;
    return false;
}

/* The variable that tells the steps of a dimension ("evaluation_step"), NULL if there is none. */
static const struct pes_field *step_of(const struct pes_layout *layout, enum pes_dimension dimension)
{
    char name[64];
    snprintf(name, sizeof name, "%s_step", pes_dimension_name(dimension));
    return pes_layout_find(layout, "curves", name);
}

static bool tells_steps(const struct pes_layout *layout, const struct pes_field *field)
{
    return field->variable.rank == 1 && step_of(layout, field->variable.dimensions[0]) == field;
}

static void put_places(const struct table *table, const struct pes_field *field, const size_t *index)
{
    for (int d = 0; d < PES_NUM_DIMENSIONS; d++) {
        if (!table->used[d]) continue;
        for (int own = 0; own < field->variable.rank; own++) {
            char buffer[24];
            if (field->variable.dimensions[own] == (enum pes_dimension)d)
                fputs(pes_store_place((enum pes_dimension)d, field->extent[own], index[own], buffer),
                      table->file);
        }
        putc(',', table->file);
    }
}

/* `start` is what all rows of a trial begin with. */
static void put_field(const struct table *table, const struct pes_field *field, const struct pes_row *row,
                      const char *start)
{
    enum pes_type type = field->variable.type;
    const struct pes_field *steps = NULL;
    int stepped = 0;
    for (int d = 0; d < field->variable.rank && !steps; d++) {
        steps = step_of(table->layout, field->variable.dimensions[d]);
        stepped = d;
    }
    for (size_t i = 0; i < field->count; i++) {
        double value = element(field, row, i);
        bool whole = type == PES_I64 || type == PES_I32;
        if (isnan(value) || (whole && value == -1)) continue;
        size_t index[PES_MAX_RANK] = {0}, rest = i;
        for (int d = field->variable.rank - 1; d >= 0; d--) {
            index[d] = rest % field->extent[d];
            rest /= field->extent[d];
        }
        fprintf(table->file, "%s%s,%s,", start, field->variable.group, field->variable.name);
        if (steps) put_number(table->file, steps->variable.type, element(steps, row, index[stepped]));
        putc(',', table->file);
        put_places(table, field, index);
        put_number(table->file, type, value);
        putc('\n', table->file);
    }
}

/* What a trial's rows begin with: its number and swept values. */
static enum pes_status start_of(const struct table *table, size_t trial, struct pes_arena *arena,
                                char **start)
{
    size_t size;
    FILE *memory = open_memstream(start, &size);
    if (!memory) return pes_fail(PES_MEMORY, "no memory for a row");
    fprintf(memory, "%zu,", trial);
    enum pes_status status = put_axes(memory, table->sweep, trial, arena);
    if (fclose(memory) && status == PES_OK) status = pes_fail(PES_MEMORY, "no memory for a row");
    return status;
}

static enum pes_status put_trial_numbers(const struct table *table, struct pes_reader *reader, size_t trial,
                                         struct pes_row *row, struct pes_arena *arena)
{
    char *start = NULL;
    enum pes_status status = pes_reader_row(reader, trial, row);
    if (status == PES_OK) status = start_of(table, trial, arena, &start);
    for (size_t f = 0; f < table->layout->num_fields && status == PES_OK; f++) {
        const struct pes_field *field = &table->layout->fields[f];
        if (is_wanted(table, field) && !tells_steps(table->layout, field))
            put_field(table, field, row, start);
    }
    free(start);
    return status;
}

enum pes_status pes_export_groups(struct pes_reader *reader, const char *const *groups, FILE *file)
{
    struct table table = {.sweep = pes_reader_sweep(reader),
                          .layout = pes_reader_layout(reader),
                          .groups = groups,
                          .file = file};
    if (!table.sweep) return PES_INPUT;
    bool any = false;
    for (size_t f = 0; f < table.layout->num_fields; f++) {
        const struct pes_field *field = &table.layout->fields[f];
        if (!is_wanted(&table, field)) continue;
        any = true;
        for (int d = 0; d < field->variable.rank; d++)
            table.used[field->variable.dimensions[d]] = true;
    }
    if (!any) return pes_fail(PES_INPUT, "the file has no variables in %s", groups[0]);
    fputs("trial,", file);
    for (size_t a = 0; a < table.sweep->num_axes; a++)
        fprintf(file, "%s,", table.sweep->axes[a].name);
    fputs("group,variable,step,", file);
    for (int d = 0; d < PES_NUM_DIMENSIONS; d++)
        if (table.used[d]) fprintf(file, "%s,", pes_dimension_name((enum pes_dimension)d));
    fputs("value\n", file);
    struct pes_arena *arena = pes_arena_create();
    struct pes_row row = {table.layout, pes_allocate(table.layout->row_bytes, 1)};
    enum pes_status status = arena && row.bytes ? PES_OK : PES_MEMORY;
    for (size_t t = 0; t < pes_reader_num_trials(reader) && status == PES_OK; t++)
        if (is_finished(pes_reader_status(reader)[t]))
            status = put_trial_numbers(&table, reader, t, &row, arena);
    pes_free(row.bytes);
    pes_arena_destroy(arena);
    return status;
}
