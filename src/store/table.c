/* table.c - assembles the list of datasets of a results file. */
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pesweep/text.h"

const struct store_group store_groups[] = {
    {"trials", "one row per trained model: the swept keys under their names, how it ended, final metrics",
     false},
    {"models", "one row per checkpoint that inspect has read: where it lies and what it is", true},
    {"curves",
     "through training: accuracy and losses on the evaluation grid, measures on the checkpoint grid", false},
    {"spectra", "M = W_q^T W_k of every head, raw, final weights", false},
    {"spectra_folded", "the same with the norm's gain folded in and centred under LayerNorm", false},
    {"attention", "mean attention maps and mean raw scores", false},
    {"behaviours", "what the heads of inspected checkpoints attend to on random tokens that repeat", true},
    {"probes", "ablation, phase zeroing, symmetrisation and behaviours of the final model", false},
    {"weights", "final parameters as flat vectors, and the table that cuts them into tensors", false},
    {"provenance",
     "sweep text, every value in use, versions, hosts, times; the only group that differs between runs",
     false},
    {NULL, NULL, false},
};

const char *store_axis_name(enum axis axis)
{
#define X(symbol, name, meaning) name,
    static const char *const names[] = {STORE_AXES(X)};
#undef X
    return axis < AXIS_TRIAL ? pes_dimension_name((enum pes_dimension)axis) : names[axis - AXIS_TRIAL];
}

const char *store_axis_meaning(enum axis axis)
{
#define X(symbol, name, meaning) meaning,
    static const char *const meanings[] = {STORE_AXES(X)};
#undef X
    return axis < AXIS_TRIAL ? pes_dimension_meaning((enum pes_dimension)axis) : meanings[axis - AXIS_TRIAL];
}

const char *const *store_place_names(enum axis axis)
{
    static const char *const re_im[] = {"re", "im"}, *const parts[] = {"symmetric", "antisymmetric"};
    if (axis == (enum axis)PES_DIM_RE_IM) return re_im;
    if (axis == (enum axis)PES_DIM_PART) return parts;
    return NULL;
}

int64_t store_first_place(enum axis axis, size_t size)
{
    return axis == (enum axis)PES_DIM_OFFSET ? 1 - (int64_t)size : 0;
}

const char *pes_store_place(enum pes_dimension dimension, size_t size, size_t place, char buffer[24])
{
    CHECK(place < size);
    const char *const *names = store_place_names((enum axis)dimension);
    if (names) return names[place];
    snprintf(buffer, 24, "%lld", (long long)(store_first_place((enum axis)dimension, size) + (int64_t)place));
    return buffer;
}

const struct dataset *store_column(enum column column)
{
#define X(symbol, group_, name_, element_, rank_, axis0, axis1, fill_, unit_, help_)                         \
    {.content = CONTENT_COLUMN,                                                                              \
     .which = COLUMN_##symbol,                                                                               \
     .group = group_,                                                                                        \
     .name = name_,                                                                                          \
     .element = ELEMENT_##element_,                                                                          \
     .rank = rank_,                                                                                          \
     .axes = {axis0, axis1},                                                                                 \
     .fill = fill_,                                                                                          \
     .filled = true,                                                                                         \
     .unit = unit_,                                                                                          \
     .help = help_},
    static const struct dataset columns[] = {STORE_COLUMNS(X)};
#undef X
    return &columns[column];
}

size_t store_entry_elements(const struct file_table *table, const struct dataset *dataset)
{
    size_t count = 1;
    for (int d = 1; d < dataset->rank; d++)
        count *= table->size[dataset->axes[d]];
    return count;
}

size_t store_num_elements(const struct file_table *table, const struct dataset *dataset)
{
    return dataset->rank ? table->size[dataset->axes[0]] * store_entry_elements(table, dataset) : 1;
}

const char *const store_trial_blocks[] = {"task.", "model.", "train.", NULL};
const char *const store_setting_blocks[] = {"measure.", "store.", NULL};

const char *store_config_text(const struct pes_config *config, const char *const *blocks,
                              struct pes_arena *arena)
{
    struct pes_text text = {0};
    for (size_t slot = 0; slot < config->table->num_slots; slot++) {
        const char *path = config->table->paths[slot];
        bool wanted = false;
        for (const char *const *block = blocks; *block && !wanted; block++)
            wanted = !strncmp(path, *block, strlen(*block));
        if (!wanted || !config->applies[slot]) continue;
        const char *value = pes_value_format(&config->values[slot], arena);
        if (!value) text.failed = true;
        pes_text_append(&text, "%s=%s\n", path, value ? value : "");
    }
    const char *copy = text.failed ? NULL : pes_arena_copy_text(arena, pes_text_get(&text));
    pes_text_destroy(&text);
    return copy;
}

/* --- datasets --- */

static void add(struct file_table *table, struct dataset dataset)
{
    table->datasets[table->num_datasets++] = dataset;
}

static void add_columns(struct file_table *table, const char *group)
{
    for (int c = 0; c < NUM_COLUMNS; c++)
        if (!strcmp(store_column((enum column)c)->group, group)) add(table, *store_column((enum column)c));
}

/* Something written at creation: [axis], or one text. */
static void add_given(struct file_table *table, enum content content, const char *group, const char *name,
                      enum element element, int rank, enum axis axis, const char *help)
{
    add(table, (struct dataset){.content = content,
                                .group = group,
                                .name = name,
                                .element = element,
                                .rank = rank,
                                .axes = {axis, AXIS_TENSOR_AXIS},
                                .unit = "",
                                .help = help});
}

static void add_fields(struct file_table *table, bool trials)
{
    const struct pes_layout *layout = table->layout;
    for (size_t f = 0; f < layout->num_fields; f++) {
        const struct pes_variable *variable = &layout->fields[f].variable;
        if (trials != !strcmp(variable->group, "trials")) continue;
        struct dataset dataset = {.content = CONTENT_FIELD,
                                  .which = f,
                                  .group = variable->group,
                                  .name = variable->name,
                                  .element = (enum element)variable->type,
                                  .rank = variable->rank + 1,
                                  .axes = {AXIS_TRIAL},
                                  .unit = variable->unit,
                                  .help = variable->help};
        for (int d = 0; d < variable->rank; d++)
            dataset.axes[d + 1] = (enum axis)variable->dimensions[d];
        dataset.fill = variable->type == PES_F32 || variable->type == PES_F64 ? NAN
                       : variable->type == PES_U8                             ? 0
                                                                              : -1;
        add(table, dataset);
    }
}

/* A name of /trials that an axis may not take. */
static bool is_taken(const struct file_table *table, const char *name)
{
    if (!strcmp(name, store_axis_name(AXIS_TRIAL)) || !strcmp(name, "key") || !strcmp(name, "label"))
        return true;
    for (int c = 0; c < NUM_COLUMNS; c++) {
        const struct dataset *column = store_column((enum column)c);
        if (!strcmp(column->group, "trials") && !strcmp(column->name, name)) return true;
    }
    for (size_t d = 0; d < PES_NUM_DIMENSIONS; d++)
        if (!strcmp(pes_dimension_name((enum pes_dimension)d), name)) return true;
    return pes_layout_find(table->layout, "trials", name) != NULL;
}

/* The key as the first trial has it to which it applies, for type and unit; NULL if it applies to none. */
static const struct pes_key *axis_key(const struct pes_sweep *sweep, size_t slot, bool *always)
{
    const struct pes_key *key = NULL;
    *always = true;
    for (size_t t = 0; t < sweep->num_trials; t++) {
        const struct pes_config *config = sweep->trials[t].config;
        if (!config->applies[slot])
            *always = false;
        else if (!key)
            key = pes_config_key(config, slot);
    }
    return key;
}

static enum pes_status add_axes(struct file_table *table, struct pes_arena *arena)
{
    const struct pes_sweep *sweep = table->sweep;
    for (size_t a = 0; a < sweep->num_axes; a++) {
        const struct pes_axis *axis = &sweep->axes[a];
        bool always;
        const struct pes_key *key = axis_key(sweep, axis->slot, &always);
        /* Without a value for some trial only reals (NaN) and texts (empty) can say so. */
        enum element element = ELEMENT_TEXT;
        if (key && key->type == PES_VALUE_REAL)
            element = ELEMENT_F64;
        else if (key && key->type == PES_VALUE_INT && always)
            element = ELEMENT_I64;
        else if (key && key->type == PES_VALUE_BOOL && always)
            element = ELEMENT_BOOL;
        char *name = pes_arena_copy_text(arena, is_taken(table, axis->name) ? axis->path : axis->name);
        if (!name) return PES_MEMORY;
        for (char *c = name; *c; c++)
            if (*c == '.') *c = '_';
        add_given(table, CONTENT_AXIS, "trials", name, element, 1, AXIS_TRIAL, key ? key->help : axis->path);
        table->datasets[table->num_datasets - 1].which = a;
        if (key) table->datasets[table->num_datasets - 1].unit = key->unit;
    }
    return PES_OK;
}

/* Fill values are written where that stays cheap: the smallest variables first, up to this many bytes in all.
 */
#define FILL_BYTES ((uint64_t)256 << 20)

static void choose_filled(struct file_table *table)
{
    uint64_t left = FILL_BYTES;
    for (;;) {
        struct dataset *next = NULL;
        uint64_t least = UINT64_MAX;
        for (size_t d = 0; d < table->num_datasets; d++) {
            struct dataset *dataset = &table->datasets[d];
            uint64_t bytes =
                (uint64_t)store_num_elements(table, dataset) * hdf_element_bytes(dataset->element);
            if (dataset->filled || dataset->content != CONTENT_FIELD || bytes >= least) continue;
            next = dataset;
            least = bytes;
        }
        if (!next || least > left) return;
        next->filled = true;
        left -= least;
    }
}

static bool has_weights(const struct pes_layout *layout)
{
    for (size_t f = 0; f < layout->num_fields; f++)
        if (!strcmp(layout->fields[f].variable.group, "weights")) return true;
    return false;
}

static void add_tensors(struct file_table *table)
{
    static const struct {
        enum content content;
        const char *name, *help;
        enum element element;
        int rank;
    } columns[] = {
        {CONTENT_TENSOR_NAME, "tensor_name", "name of the tensor", ELEMENT_TEXT, 1},
        {CONTENT_TENSOR_SET, "tensor_set", "parameter set the tensor belongs to", ELEMENT_I32, 1},
        {CONTENT_TENSOR_RANK, "tensor_rank", "number of its axes", ELEMENT_I32, 1},
        {CONTENT_TENSOR_SHAPE, "tensor_shape", "its extents, slowest first; 1 beyond its axes", ELEMENT_I64,
         2},
        {CONTENT_TENSOR_OFFSET, "tensor_offset", "place of its first element along parameter", ELEMENT_I64,
         1},
        {CONTENT_TENSOR_COUNT, "tensor_count", "number of its elements", ELEMENT_I64, 1},
        {CONTENT_TENSOR_DECAYS, "tensor_decays", "whether weight decay acts on it", ELEMENT_BOOL, 1},
    };
    add_given(table, CONTENT_PARAMETER_SET, "weights", "parameter_set", ELEMENT_I32, 1, AXIS_TRIAL,
              "which tensors the trial's parameter vector is made of: those with this tensor_set");
    for (size_t c = 0; c < PES_COUNT(columns); c++)
        add_given(table, columns[c].content, "weights", columns[c].name, columns[c].element, columns[c].rank,
                  AXIS_TENSOR, columns[c].help);
}

static void add_provenance(struct file_table *table)
{
    static const char group[] = "provenance";
    add_given(table, CONTENT_SWEEP_TEXT, group, "sweep_text", ELEMENT_TEXT, 0, 0, "the sweep file");
    add_given(table, CONTENT_SETTINGS, group, "settings", ELEMENT_TEXT, 0, 0,
              "every value of the blocks measure and store, defaults included");
    add_given(table, CONTENT_CONFIG, group, "config", ELEMENT_TEXT, 1, AXIS_TRIAL,
              "every value of the blocks task, model and train, defaults included");
    add_given(table, CONTENT_VARIABLE_PATH, group, "variable_path", ELEMENT_TEXT, 1, AXIS_VARIABLE,
              "group and name of a result variable");
    add_given(table, CONTENT_VARIABLE_AXES, group, "variable_dimensions", ELEMENT_TEXT, 1, AXIS_VARIABLE,
              "its dimensions after trial, slowest first");
    add_columns(table, group);
}

enum pes_status store_table_create(const struct pes_sweep *sweep, const struct pes_layout *layout,
                                   struct pes_arena *arena, struct file_table **out)
{
    struct file_table *table = pes_arena_take(arena, 1, sizeof *table);
    if (!table) return PES_MEMORY;
    table->sweep = sweep;
    table->layout = layout;
    table->datasets = pes_arena_take(arena, layout->num_fields + sweep->num_axes + NUM_COLUMNS + 32,
                                     sizeof *table->datasets);
    if (!table->datasets) return PES_MEMORY;
    if (has_weights(layout)) {
        struct tensor_row *tensors;
        int32_t *sets;
        TRY(store_list_tensors(sweep, arena, &tensors, &table->num_tensors, &sets));
        table->tensors = tensors;
        table->sets = sets;
    }
    for (size_t d = 0; d < PES_NUM_DIMENSIONS; d++)
        table->size[d] = layout->size[d];
    table->size[AXIS_TRIAL] = sweep->num_trials;
    table->size[AXIS_RUN] = STORE_RUNS;
    table->size[AXIS_RUN_TEXT] = STORE_RUN_BYTES;
    table->size[AXIS_MESSAGE_TEXT] = STORE_MESSAGE_BYTES;
    table->size[AXIS_VARIABLE] = layout->num_fields;
    table->size[AXIS_TENSOR] = table->num_tensors;
    table->size[AXIS_TENSOR_AXIS] = STORE_TENSOR_AXES;

    add_given(table, CONTENT_KEY, "trials", "key", ELEMENT_TEXT, 1, AXIS_TRIAL,
              "identity: XXH3-128 of the values that differ from their defaults");
    add_given(table, CONTENT_LABEL, "trials", "label", ELEMENT_TEXT, 1, AXIS_TRIAL,
              "the swept values in one line");
    TRY(add_axes(table, arena));
    add_columns(table, "trials");
    add_fields(table, true);
    add_fields(table, false);
    if (table->num_tensors) add_tensors(table);
    add_provenance(table);
    choose_filled(table);
    *out = table;
    return PES_OK;
}
