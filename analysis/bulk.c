/* bulk.c - the tables that grow with trials times heads or steps: curves, heads, probes.
 *
 * A part of the trials at a time is read from the file and turned into text by all threads, so that neither
 * memory nor time is that of the whole. */
#include "output.h"

#include <math.h>
#include <string.h>

enum { BYTES_AT_ONCE = 32 << 20, TRIALS_A_TASK = 16 };

struct bulk {
    const struct tables *tables;
    size_t leading, count; /* columns of the table's own; fields */
    const struct pes_field **fields;
    const char **names; /* [leading + count] */
    double **values;    /* of the trials from `first` on: values[field][trial][element] */
    size_t first;
    void (*rows)(const struct bulk *bulk, size_t trial, struct table *table);
};

/* Room for every variable after `leading` columns of the table's own. */
static enum pes_status start(const struct tables *tables, size_t leading, const char *const *names,
                             struct bulk *bulk)
{
    struct pes_study *study = tables->study;
    size_t most = study->layout->num_fields + leading;
    *bulk = (struct bulk){.tables = tables, .leading = leading};
    bulk->fields = pes_arena_take(study->arena, most, sizeof *bulk->fields);
    bulk->names = pes_arena_take(study->arena, most, sizeof *bulk->names);
    bulk->values = pes_arena_take(study->arena, most, sizeof *bulk->values);
    if (!bulk->fields || !bulk->names || !bulk->values) return PES_MEMORY;
    for (size_t i = 0; i < leading; i++)
        bulk->names[i] = names[i];
    return PES_OK;
}

/* All variables of a group with these dimensions become columns; names get a prefix. */
static enum pes_status add_columns(struct bulk *bulk, const char *group, int rank,
                                   const enum pes_dimension *dimensions, const char *prefix)
{
    struct pes_study *study = bulk->tables->study;
    for (size_t i = 0; i < study->layout->num_fields; i++)
        if (tables_fits(&study->layout->fields[i].variable, group, rank, dimensions)) {
            const char *name =
                pes_arena_printf(study->arena, "%s%s", prefix, study->layout->fields[i].variable.name);
            if (!name) return PES_MEMORY;
            bulk->names[bulk->leading + bulk->count] = name;
            bulk->fields[bulk->count++] = &study->layout->fields[i];
        }
    return PES_OK;
}

static const double *values_of(const struct bulk *bulk, size_t field, size_t trial)
{
    return bulk->values[field] + (trial - bulk->first) * bulk->fields[field]->count;
}

/* Number of the field with this name; count if there is none. */
static size_t field_named(const struct bulk *bulk, const char *name)
{
    size_t f = 0;
    while (f < bulk->count && strcmp(bulk->names[bulk->leading + f], name))
        f++;
    return f;
}

static enum pes_status read_part(struct bulk *bulk, size_t first, size_t trials)
{
    bulk->first = first;
    for (size_t f = 0; f < bulk->count; f++)
        TRY(pes_study_part(bulk->tables->study, bulk->fields[f], first, trials, bulk->values[f]));
    return PES_OK;
}

static void write_part(const struct bulk *bulk, size_t trials, struct table *parts, struct table *table)
{
    size_t num_parts = (trials + TRIALS_A_TASK - 1) / TRIALS_A_TASK;
#pragma omp parallel for schedule(dynamic)
    for (size_t p = 0; p < num_parts; p++) {
        table_part(table, &parts[p]);
        for (size_t t = p * TRIALS_A_TASK; t < PES_MIN(trials, (p + 1) * TRIALS_A_TASK); t++)
            if (pes_study_finished(bulk->tables->study, bulk->first + t))
                bulk->rows(bulk, bulk->first + t, &parts[p]);
    }
    for (size_t p = 0; p < num_parts; p++)
        table_join(table, &parts[p]);
}

static enum pes_status write_all(struct bulk *bulk, const char *name, const char *const *columns,
                                 size_t num_columns)
{
    size_t bytes = 1, num_trials = bulk->tables->study->num_trials;
    for (size_t f = 0; f < bulk->count; f++)
        bytes += bulk->fields[f]->count * sizeof(double);
    size_t at_once = PES_MIN(num_trials, 1 + BYTES_AT_ONCE / bytes);
    struct table table, *parts = pes_allocate(1 + at_once / TRIALS_A_TASK, sizeof *parts);
    enum pes_status status = parts ? PES_OK : PES_MEMORY;
    for (size_t f = 0; f < bulk->count && status == PES_OK; f++) {
        bulk->values[f] = pes_allocate(at_once * bulk->fields[f]->count, sizeof(double));
        if (!bulk->values[f]) status = PES_MEMORY;
    }
    if (status == PES_OK) status = table_open(&table, bulk->tables, name, columns, num_columns, NULL);
    if (status == PES_OK) {
        for (size_t first = 0; first < num_trials && status == PES_OK; first += at_once) {
            size_t trials = PES_MIN(at_once, num_trials - first);
            status = read_part(bulk, first, trials);
            if (status == PES_OK) write_part(bulk, trials, parts, &table);
        }
        if (status == PES_OK)
            status = table_close(&table);
        else
            table_abandon(&table);
    }
    for (size_t f = 0; f < bulk->count; f++)
        pes_free(bulk->values[f]);
    pes_free(parts);
    return status;
}

static void put_evaluations(const struct bulk *bulk, size_t trial, struct table *table)
{
    size_t steps = field_named(bulk, "evaluation_step");
    for (size_t i = 0; steps < bulk->count && i < bulk->fields[steps]->count; i++) {
        if (values_of(bulk, steps, trial)[i] < 0) continue; /* beyond this trial's last evaluation */
        table_count(table, trial);
        table_count(table, i);
        for (size_t f = 0; f < bulk->count; f++)
            table_number(table, values_of(bulk, f, trial)[i]);
    }
}

enum pes_status tables_curves(const struct tables *tables)
{
    static const char *const own[] = {"trial", "evaluation"};
    struct bulk bulk;
    TRY(start(tables, PES_COUNT(own), own, &bulk));
    TRY(add_columns(&bulk, "curves", 1, (enum pes_dimension[]){PES_DIM_EVALUATION}, ""));
    bulk.rows = put_evaluations;
    return write_all(&bulk, "curves", bulk.names, bulk.leading + bulk.count);
}

static void put_heads(const struct bulk *bulk, size_t trial, struct table *table)
{
    const struct pes_layout *layout = bulk->tables->study->layout;
    size_t heads = layout->size[PES_DIM_HEAD], all = layout->size[PES_DIM_LAYER] * heads;
    for (size_t i = 0; i < all; i++) {
        bool known = false; /* smaller models are padded */
        for (size_t f = 0; f < bulk->count && !known; f++) {
            enum pes_type type = bulk->fields[f]->variable.type;
            known = (type == PES_F32 || type == PES_F64) && !isnan(values_of(bulk, f, trial)[i]);
        }
        if (!known) continue;
        table_count(table, trial);
        table_count(table, i / heads);
        table_count(table, i % heads);
        for (size_t f = 0; f < bulk->count; f++)
            table_number(table, values_of(bulk, f, trial)[i]);
    }
}

enum pes_status tables_heads(const struct tables *tables)
{
    static const enum pes_dimension by_head[] = {PES_DIM_LAYER, PES_DIM_HEAD};
    static const char *const own[] = {"trial", "layer", "head"};
    struct bulk bulk;
    TRY(start(tables, PES_COUNT(own), own, &bulk));
    TRY(add_columns(&bulk, "probes", 2, by_head, ""));
    TRY(add_columns(&bulk, "spectra_folded", 2, by_head, "folded_"));
    TRY(add_columns(&bulk, "spectra", 2, by_head, ""));
    bulk.rows = put_heads;
    return write_all(&bulk, "heads", bulk.names, bulk.leading + bulk.count);
}

static void put_steps(const struct bulk *bulk, size_t trial, struct table *table)
{
    const struct pes_layout *layout = bulk->tables->study->layout;
    size_t heads = layout->size[PES_DIM_HEAD], all = layout->size[PES_DIM_LAYER] * heads;
    const double *steps = values_of(bulk, 0, trial);
    for (size_t i = 0; i < bulk->fields[0]->count * all; i++) {
        bool known = false;
        for (size_t f = 1; f < bulk->count && !known; f++)
            known = !isnan(values_of(bulk, f, trial)[i]);
        if (!known || steps[i / all] < 0) continue;
        table_count(table, trial);
        table_number(table, steps[i / all]);
        table_count(table, i % all / heads);
        table_count(table, i % heads);
        for (size_t f = 1; f < bulk->count; f++)
            table_number(table, values_of(bulk, f, trial)[i]);
    }
}

/* Every head at every step of its model. */
enum pes_status tables_steps(const struct tables *tables)
{
    static const enum pes_dimension by_head[] = {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD};
    static const char *const own[] = {"trial", "step", "layer", "head"};
    struct bulk bulk;
    /* The steps are the first field; its name falls on the last of the table's own. */
    TRY(start(tables, PES_COUNT(own) - 1, own, &bulk));
    TRY(add_columns(&bulk, "curves", 1, by_head, ""));
    if (bulk.count != 1) return PES_OK;
    TRY(add_columns(&bulk, "curves", 3, by_head, ""));
    for (size_t i = 0; i < PES_COUNT(own); i++)
        bulk.names[i] = own[i];
    bulk.rows = put_steps;
    return write_all(&bulk, "steps", bulk.names, bulk.leading + bulk.count);
}

/* One value a row; `place` says where along the last dimension of three. */
static void put_probes(const struct bulk *bulk, size_t trial, struct table *table)
{
    for (size_t f = 0; f < bulk->count; f++) {
        const struct pes_field *field = bulk->fields[f];
        const struct pes_variable *variable = &field->variable;
        bool three = variable->rank == 3;
        size_t inner = three ? field->extent[2] : 1, heads = three ? field->extent[1] : 1;
        for (size_t i = 0; i < field->count; i++) {
            double value = values_of(bulk, f, trial)[i];
            char place[24];
            if (isnan(value)) continue;
            table_count(table, trial);
            table_text(table, variable->name);
            table_number(table, variable->rank ? (double)(i / inner / heads) : NAN);
            table_number(table, three ? (double)(i / inner % heads) : NAN);
            table_text(table, three ? pes_store_place(variable->dimensions[2], inner, i % inner, place) : "");
            table_number(table, value);
        }
    }
}

/* Everything of /probes that isn't a number per head. */
enum pes_status tables_probes(const struct tables *tables)
{
    static const char *const columns[] = {"trial", "variable", "layer", "head", "place", "value"};
    struct pes_study *study = tables->study;
    struct bulk bulk;
    TRY(start(tables, 0, NULL, &bulk));
    for (size_t i = 0; i < study->layout->num_fields; i++) {
        const struct pes_variable *variable = &study->layout->fields[i].variable;
        if (!strcmp(variable->group, "probes") && variable->rank != 2 && variable->rank <= 3)
            bulk.fields[bulk.count++] = &study->layout->fields[i];
    }
    bulk.rows = put_probes;
    return write_all(&bulk, "probes", columns, PES_COUNT(columns));
}
