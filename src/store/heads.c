/* heads.c - the file of spectra of checkpoints: made as a results file is, then filled by one process; read
 * whole. */
#include "pesweep/heads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "create.h"
#include "files.h"
#include "results.h"

/* X(name, meaning): one text or number per checkpoint. */
#define MODEL_TEXTS(X)                                                                                       \
    X(label, "short name")                                                                                   \
    X(name, "the same for all training steps of one model")                                                  \
    X(path, "where it was read")                                                                             \
    X(architecture, "model_type of its config.json; pesweep for an exported trial")                          \
    X(scheme, "positional scheme")                                                                           \
    X(notes, "what is worth knowing about its files")
#define MODEL_NUMBERS(X)                                                                                     \
    X(layers, "transformer blocks")                                                                          \
    X(heads, "query heads of a block")                                                                       \
    X(key_heads, "key heads of a block")                                                                     \
    X(width, "of the residual stream")                                                                       \
    X(head_width, "rows of a head's W_q and W_k")                                                            \
    X(value_width, "rows of a head's W_v")
#define MODEL_FLAGS(X)                                                                                       \
    X(causal, "1: a query sees no later key")                                                                \
    X(inner_norm, "1: queries or keys are normalised; M is exact up to a positive factor per token")

#define OWN(from, of, named, type, dimensions, axis, text)                                                   \
    {.content = from,                                                                                        \
     .which = NUM_COLUMNS,                                                                                   \
     .group = of,                                                                                            \
     .name = named,                                                                                          \
     .element = type,                                                                                        \
     .rank = dimensions,                                                                                     \
     .axes = {axis},                                                                                         \
     .unit = "",                                                                                             \
     .help = text},

/* What a file has besides the layout's variables. */
/* clang-format off */
static const struct dataset own[] = {
#define X(field, help) OWN(CONTENT_COLUMN, "models", #field, ELEMENT_TEXT, 1, AXIS_MODEL, help)
    MODEL_TEXTS(X)
#undef X
#define X(field, help) OWN(CONTENT_COLUMN, "models", #field, ELEMENT_I32, 1, AXIS_MODEL, help)
    MODEL_NUMBERS(X)
    MODEL_FLAGS(X)
#undef X
    OWN(CONTENT_COLUMN, "models", "step", ELEMENT_F64, 1, AXIS_MODEL,
        "training step that the path names; NaN if it names none")
    OWN(CONTENT_COLUMN, "provenance", "settings", ELEMENT_TEXT, 0, AXIS_MODEL, "what was asked for, as JSON")
    OWN(CONTENT_VARIABLE_PATH, "provenance", "variable_path", ELEMENT_TEXT, 1, AXIS_VARIABLE,
        "group and name of a variable")
    OWN(CONTENT_VARIABLE_AXES, "provenance", "variable_dimensions", ELEMENT_TEXT, 1, AXIS_VARIABLE,
        "its dimensions after model, slowest first")
};
/* clang-format on */

bool pes_heads_same_model(const struct pes_heads_model *a, const struct pes_heads_model *b)
{
    return !isnan(a->step) && !isnan(b->step) && !strcmp(a->name, b->name) && !strcmp(a->scheme, b->scheme) &&
           a->layers == b->layers && a->heads == b->heads && a->width == b->width;
}

static void add_field(struct file_table *table, size_t which)
{
    const struct pes_variable *variable = &table->layout->fields[which].variable;
    struct dataset *dataset = &table->datasets[table->num_datasets++];
    *dataset = (struct dataset){
        .content = CONTENT_FIELD,
        .which = which,
        .group = variable->group,
        .name = variable->name,
        .element = (enum element)variable->type,
        .rank = variable->rank + 1,
        .axes = {AXIS_MODEL},
        .fill = (double)NAN,
        .filled = variable->type == PES_F32 || variable->type == PES_F64,
        .unit = variable->unit,
        .help = variable->help,
    };
    for (int d = 0; d < variable->rank; d++)
        dataset->axes[d + 1] = (enum axis)variable->dimensions[d];
}

static enum pes_status make_table(const struct pes_heads *heads, struct pes_arena *arena,
                                  struct file_table *table)
{
    static const struct pes_sweep none = {.name = "inspect"};
    *table = (struct file_table){.format = STORE_HEADS_FORMAT, .sweep = &none, .layout = heads->layout};
    table->datasets =
        pes_arena_take(arena, heads->layout->num_fields + PES_COUNT(own), sizeof *table->datasets);
    if (!table->datasets) return PES_MEMORY;
    for (int d = 0; d < PES_NUM_DIMENSIONS; d++)
        table->size[d] = heads->layout->size[d];
    table->size[AXIS_MODEL] = heads->num_models;
    table->size[AXIS_VARIABLE] = heads->layout->num_fields;
    memcpy(table->datasets, own, sizeof own);
    table->num_datasets = PES_COUNT(own);
    for (size_t f = 0; f < heads->layout->num_fields; f++)
        add_field(table, f);
    return PES_OK;
}

const struct dataset *store_heads_columns(size_t *count)
{
    *count = PES_COUNT(own);
    return own;
}

/* --- values --- */

static bool write_value(hid_t file, const struct dataset *dataset, size_t count, const void *values)
{
    char path[128];
    snprintf(path, sizeof path, "/%s/%s", dataset->group, dataset->name);
    hid_t id = H5Dopen2(file, path, H5P_DEFAULT);
    bool ok = id >= 0 && hdf_write(id, dataset->element, 0, count, values);
    return hdf_close(&id) && ok;
}

/* What MODEL_TEXTS, MODEL_NUMBERS, MODEL_FLAGS and step name, by name. */
static const void *own_values(const struct pes_heads *heads, const struct dataset *dataset,
                              const char **texts, int32_t *numbers, double *steps)
{
    for (size_t m = 0; m < heads->num_models; m++) {
        const struct pes_heads_model *model = &heads->models[m];
#define X(field, help)                                                                                       \
    if (!strcmp(dataset->name, #field)) texts[m] = model->field;
        MODEL_TEXTS(X)
#undef X
#define X(field, help)                                                                                       \
    if (!strcmp(dataset->name, #field)) numbers[m] = (int32_t)model->field;
        MODEL_NUMBERS(X)
        MODEL_FLAGS(X)
#undef X
        steps[m] = model->step;
    }
    if (!strcmp(dataset->name, "settings")) texts[0] = heads->settings;
    return dataset->element == ELEMENT_TEXT  ? (const void *)texts
           : dataset->element == ELEMENT_I32 ? (const void *)numbers
                                             : (const void *)steps;
}

/* A field of all rows, one after another. */
static void take_field(const struct pes_heads *heads, const struct pes_field *field, unsigned char *values)
{
    size_t bytes = field->count * pes_type_bytes(field->variable.type);
    for (size_t m = 0; m < heads->num_models; m++)
        memcpy(values + m * bytes, heads->rows + m * heads->layout->row_bytes + field->offset, bytes);
}

static enum pes_status fill(const char *path, const struct pes_heads *heads, const struct file_table *table,
                            struct pes_arena *arena)
{
    const char **texts = pes_arena_take(arena, heads->num_models, sizeof *texts);
    int32_t *numbers = pes_arena_take(arena, heads->num_models, sizeof *numbers);
    double *steps = pes_arena_take(arena, heads->num_models, sizeof *steps);
    unsigned char *values = pes_arena_take(arena, heads->num_models, heads->layout->row_bytes);
    if (!texts || !numbers || !steps || !values) return PES_MEMORY;
    hid_t access = hdf_access(false), file = access < 0 ? -1 : H5Fopen(path, H5F_ACC_RDWR, access);
    hdf_close(&access);
    bool ok = file >= 0;
    for (size_t d = 0; d < table->num_datasets && ok; d++) {
        const struct dataset *dataset = &table->datasets[d];
        size_t count = dataset->rank ? heads->num_models : 1;
        if (dataset->content == CONTENT_FIELD) {
            take_field(heads, &heads->layout->fields[dataset->which], values);
            ok = write_value(file, dataset, count, values);
        } else if (dataset->content == CONTENT_COLUMN) { /* the rest was written at creation */
            ok = write_value(file, dataset, count, own_values(heads, dataset, texts, numbers, steps));
        }
    }
    enum pes_status status = ok ? PES_OK : hdf_fail(PES_IO, path, "write");
    if (!ok) store_give_up(path);
    if (!hdf_close(&file) && status == PES_OK) status = hdf_fail(PES_IO, path, "write");
    return status;
}

enum pes_status pes_heads_write(const char *path, const struct pes_heads *heads)
{
    char final[PATH_MAX], part[PATH_MAX];
    TRY(store_resolve(final, path));
    TRY(store_name(part, final, ".part"));
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    struct file_table table;
    enum pes_status status = make_table(heads, arena, &table);
    uint64_t bytes = (uint64_t)heads->num_models * heads->layout->row_bytes;
    if (status == PES_OK) status = store_check_room(final, bytes);
    if (status == PES_OK) status = store_create(part, &table);
    if (status == PES_OK) {
        status = fill(part, heads, &table, arena);
        if (status == PES_OK) status = store_replace(part, final);
        if (status != PES_OK) unlink(part);
    }
    pes_arena_destroy(arena);
    return status;
}

/* --- reading --- */

/* One number of every model, as doubles. */
static enum pes_status read_numbers(const struct results *results, const char *name, double *values)
{
    hid_t dataset = results_open_dataset(results, "models", name);
    size_t extent = 0;
    bool ok = dataset >= 0 && hdf_extents(dataset, &extent, 1) == 1 && extent == results->num_trials &&
              H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    hdf_close(&dataset);
    hdf_forget();
    return ok ? PES_OK : pes_fail(PES_INPUT, "%s is damaged: models/%s is missing", results->path, name);
}

static enum pes_status read_models(const struct results *results, struct pes_arena *arena,
                                   struct pes_heads_model *models)
{
    size_t n = results->num_trials, num;
    double *values = pes_arena_take(arena, n, sizeof *values);
    char **texts;
    if (!values) return PES_MEMORY;
#define X(field, help)                                                                                       \
    TRY(results_read_texts(results, "models", #field, arena, &texts, &num));                                 \
    for (size_t m = 0; m < n; m++)                                                                           \
        models[m].field = m < num ? texts[m] : "";
    MODEL_TEXTS(X)
#undef X
#define X(field, help)                                                                                       \
    TRY(read_numbers(results, #field, values));                                                              \
    for (size_t m = 0; m < n; m++)                                                                           \
        models[m].field = values[m] > 0;
    MODEL_FLAGS(X)
#undef X
#define X(field, help)                                                                                       \
    TRY(read_numbers(results, #field, values));                                                              \
    for (size_t m = 0; m < n; m++)                                                                           \
        models[m].field = (int)values[m];
    MODEL_NUMBERS(X)
#undef X
    TRY(read_numbers(results, "step", values));
    for (size_t m = 0; m < n; m++)
        models[m].step = values[m];
    return PES_OK;
}

static enum pes_status read_all(struct results *results, struct pes_arena *arena, struct pes_heads *heads)
{
    struct pes_layout *layout;
    char **settings, made_by[128] = "";
    size_t num, n = results->num_trials;
    struct pes_heads_model *models = pes_arena_take(arena, n, sizeof *models);
    if (!models) return PES_MEMORY;
    TRY(read_models(results, arena, models));
    TRY(results_read_texts(results, "provenance", "settings", arena, &settings, &num));
    TRY(results_read_layout(results, arena, &layout));
    unsigned char *rows = pes_arena_take(arena, n, layout->row_bytes);
    if (!rows) return PES_MEMORY;
    hid_t provenance = H5Gopen2(results->file, "provenance", H5P_DEFAULT);
    if (provenance >= 0) hdf_get_text(provenance, "created_by", made_by, sizeof made_by);
    hdf_close(&provenance);
    *heads = (struct pes_heads){n, models, layout, rows, settings[0], pes_arena_copy_text(arena, made_by)};
    if (!heads->made_by) return PES_MEMORY;
    return results_read_rows(results, 0, n, rows);
}

enum pes_status pes_heads_read(const char *path, struct pes_arena *arena, struct pes_heads *heads)
{
    struct results results;
    TRY(results_open(path, RESULTS_HEADS, &results));
    enum pes_status status = read_all(&results, arena, heads), closed = results_close(&results);
    return status == PES_OK ? closed : status;
}

bool pes_heads_found(const char *path)
{
    char format[64] = "";
    hdf_start();
    if (results_check(path) != PES_OK) return false;
    hid_t access = hdf_access(false), file = access < 0 ? -1 : H5Fopen(path, H5F_ACC_RDONLY, access);
    bool found = file >= 0 && hdf_get_text(file, "format", format, sizeof format) &&
                 !strcmp(format, STORE_HEADS_FORMAT);
    hdf_close(&access);
    hdf_close(&file);
    hdf_forget();
    return found;
}
