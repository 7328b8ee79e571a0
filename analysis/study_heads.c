/* study_heads.c - a file of heads as the analysis sees it: models are trials, training steps of one model its
 * checkpoints.
 *
 * A model's final variables are those of its last step. */
#include <math.h>
#include <string.h>

#include "internal.h"
#include "pesweep/measure.h"
#include "pesweep/study.h"
#include "pesweep/text.h"

enum { AXIS_NAME, AXIS_SCHEME, NUM_STUDY_AXES };

struct build {
    struct pes_study *study;
    const struct pes_heads *heads;
    size_t *rows;  /* [num_models] rows of the file, trial after trial, steps ascending */
    size_t *first; /* [num_trials + 1] where a trial's rows start */
    size_t num_trials, most_steps;
};

static enum pes_status sort_rows(struct build *b)
{
    size_t n = b->heads->num_models, used = 0;
    struct pes_arena *arena = b->study->arena;
    bool *taken = pes_arena_take(arena, n, sizeof *taken);
    b->rows = pes_arena_take(arena, n, sizeof *b->rows);
    b->first = pes_arena_take(arena, n + 1, sizeof *b->first);
    if (!taken || !b->rows || !b->first) return PES_MEMORY;
    for (size_t m = 0; m < n; m++) {
        if (taken[m]) continue;
        size_t start = used;
        for (size_t o = m; o < n; o++) {
            const struct pes_heads_model *models = b->heads->models;
            if (taken[o] || (o != m && !pes_heads_same_model(&models[m], &models[o]))) continue;
            taken[o] = true;
            size_t place = used++;
            for (; place > start && models[b->rows[place - 1]].step > models[o].step; place--)
                b->rows[place] = b->rows[place - 1];
            b->rows[place] = o;
        }
        b->most_steps = PES_MAX(b->most_steps, used - start);
        b->first[++b->num_trials] = used;
    }
    return PES_OK;
}

/* "probes" holds what heads do in results files, "behaviours" in files of heads. */
static const char *study_group(const char *group)
{
    return strcmp(group, "behaviours") ? group : "probes";
}

/* Whether a variable of heads makes a curve over steps; its name there. */
static bool makes_curve(const struct pes_variable *variable, char name[96])
{
    bool by_head = variable->rank == 2 && variable->dimensions[0] == PES_DIM_LAYER &&
                   variable->dimensions[1] == PES_DIM_HEAD && variable->type == PES_F64;
    snprintf(name, 96, "%s%s", strcmp(variable->group, "spectra_folded") ? "" : "folded_", variable->name);
    return by_head;
}

static enum pes_status make_layout(struct build *b)
{
    const struct pes_layout *from = b->heads->layout;
    struct pes_arena *arena = b->study->arena;
    struct pes_variable *variables = pes_arena_take(arena, 2 * from->num_fields + 2, sizeof *variables), *v;
    size_t size[PES_NUM_DIMENSIONS];
    struct pes_layout *layout;
    if (!variables) return PES_MEMORY;
    memcpy(size, from->size, sizeof size);
    v = variables;
    for (size_t f = 0; f < from->num_fields; f++) {
        *v = from->fields[f].variable;
        v->group = study_group(v->group);
        v++;
    }
    bool curves = b->most_steps > 1;
    size[PES_DIM_CHECKPOINT] = curves ? b->most_steps : 0;
    *v++ = (struct pes_variable){"curves", "checkpoint_step",           PES_I64, 1, {PES_DIM_CHECKPOINT},
                                 "steps",  "training step of the model"};
    for (size_t f = 0; f < from->num_fields && curves; f++) {
        char name[96];
        *v = from->fields[f].variable;
        if (!makes_curve(v, name)) continue;
        v->group = "curves";
        v->name = pes_arena_copy_text(arena, name);
        if (!v->name) return PES_MEMORY;
        v->rank = 3;
        v->dimensions[0] = PES_DIM_CHECKPOINT;
        v->dimensions[1] = PES_DIM_LAYER;
        v++->dimensions[2] = PES_DIM_HEAD;
    }
    v->name = NULL;
    const struct pes_variable *arrays[] = {variables, pes_measure_onset.variables};
    TRY(pes_layout_create(size, arrays, curves ? 2 : 1, arena, &layout));
    b->study->layout = layout;
    return PES_OK;
}

static const unsigned char *field_of(const struct build *b, size_t model, const struct pes_field *field)
{
    return b->heads->rows + model * b->heads->layout->row_bytes + field->offset;
}

/* One trial's row from those of its steps. */
static enum pes_status fill_row(const struct build *b, size_t trial, struct pes_row *row)
{
    const struct pes_layout *from = b->heads->layout;
    const size_t *rows = b->rows + b->first[trial];
    size_t steps = b->first[trial + 1] - b->first[trial];
    const struct pes_heads_model *model = &b->heads->models[rows[steps - 1]];
    pes_row_clear(row);
    for (size_t f = 0; f < from->num_fields; f++) {
        const struct pes_field *field = &from->fields[f];
        const struct pes_variable *variable = &field->variable;
        size_t bytes = field->count * pes_type_bytes(variable->type);
        const struct pes_field *to =
            pes_layout_find(row->layout, study_group(variable->group), variable->name);
        CHECK(to && to->count == field->count);
        memcpy(row->bytes + to->offset, field_of(b, rows[steps - 1], field), bytes);
        char name[96];
        if (!makes_curve(variable, name)) continue;
        const struct pes_field *curve = pes_layout_find(row->layout, "curves", name);
        for (size_t c = 0; c < steps && curve; c++)
            memcpy(row->bytes + curve->offset + c * bytes, field_of(b, rows[c], field), bytes);
    }
    if (b->most_steps < 2) return PES_OK;
    for (size_t c = 0; c < steps; c++)
        pes_row_put(row, "curves", "checkpoint_step", &c, b->heads->models[rows[c]].step);
    return pes_probe_onsets(row, steps, (size_t)model->layers, (size_t)model->heads, b->study->arena);
}

static enum pes_status fill_rows(struct build *b)
{
    size_t row_bytes = b->study->layout->row_bytes;
    unsigned char *rows = pes_arena_take(b->study->arena, b->num_trials, row_bytes);
    if (!rows) return PES_MEMORY;
    for (size_t t = 0; t < b->num_trials; t++)
        TRY(fill_row(b, t, &(struct pes_row){b->study->layout, rows + t * row_bytes}));
    b->study->rows = rows;
    return PES_OK;
}

static enum pes_status make_sweep(struct build *b, const char *path)
{
    static struct pes_axis axes[NUM_STUDY_AXES] = {
        [AXIS_NAME] = {"model", "model", AXIS_NAME}, [AXIS_SCHEME] = {"pe", "model.pe", AXIS_SCHEME}};
    struct pes_arena *arena = b->study->arena;
    size_t n = b->num_trials, *model_of = pes_arena_take(arena, n, sizeof *model_of);
    size_t *trial_of = pes_arena_take(arena, b->heads->num_models, sizeof *trial_of);
    struct pes_sweep *sweep = pes_arena_take(arena, 1, sizeof *sweep);
    struct pes_trial *trials = pes_arena_take(arena, n, sizeof *trials);
    struct pes_config *configs = pes_arena_take(arena, n, sizeof *configs);
    struct pes_value *values = pes_arena_take(arena, n * NUM_STUDY_AXES, sizeof *values);
    bool *applies = pes_arena_take(arena, NUM_STUDY_AXES, sizeof *applies);
    uint8_t *status = pes_arena_take(arena, n, sizeof *status);
    const char *slash = strrchr(path, '/'), *name = pes_arena_copy_text(arena, slash ? slash + 1 : path);
    if (!model_of || !trial_of || !sweep || !trials || !configs || !values || !applies || !status || !name)
        return PES_MEMORY;
    memset(applies, true, NUM_STUDY_AXES * sizeof *applies);
    for (size_t t = 0; t < n; t++) {
        for (size_t i = b->first[t]; i < b->first[t + 1]; i++)
            trial_of[b->rows[i]] = t;
        model_of[t] = b->rows[b->first[t + 1] - 1];
        const struct pes_heads_model *model = &b->heads->models[model_of[t]];
        struct pes_value *of = values + t * NUM_STUDY_AXES;
        of[AXIS_NAME] = (struct pes_value){.type = PES_VALUE_CHOICE, .text = model->name};
        of[AXIS_SCHEME] = (struct pes_value){.type = PES_VALUE_CHOICE, .text = model->scheme};
        configs[t] = (struct pes_config){.values = of, .applies = applies};
        trials[t] = (struct pes_trial){.config = &configs[t], .label = model->label};
        status[t] = PES_OUTCOME_DONE;
    }
    *sweep = (struct pes_sweep){.name = name,
                                .path = name,
                                .text = b->heads->settings,
                                .num_axes = NUM_STUDY_AXES,
                                .axes = axes,
                                .num_trials = n,
                                .trials = trials};
    b->study->sweep = sweep;
    b->study->model_of = model_of;
    b->study->trial_of = trial_of;
    b->study->status = status;
    b->study->num_trials = n;
    return PES_OK;
}

enum pes_status study_open_heads(struct pes_study *study, const char *path)
{
    struct pes_heads *heads = pes_arena_take(study->arena, 1, sizeof *heads);
    if (!heads) return PES_MEMORY;
    TRY(pes_heads_read(path, study->arena, heads));
    struct build build = {.study = study, .heads = heads};
    study->heads = heads;
    TRY(sort_rows(&build));
    TRY(make_layout(&build));
    TRY(fill_rows(&build));
    return make_sweep(&build, path);
}
