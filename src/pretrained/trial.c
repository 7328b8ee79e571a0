/* trial.c - trials that `pesweep export` wrote: the header's texts are the trial's whole configuration, so
 * the model is made again from it and its heads are the model's own. */
#include <string.h>

#include "checkpoint.h"
#include "pesweep/sweep.h"
#include "pesweep/text.h"

bool trial_is(const struct pes_pretrained *model)
{
    return pes_weights_metadata(model->weights, "pesweep.key") != NULL;
}

/* Every key of the blocks task and model that the header has. */
static enum pes_status read_config(const struct pes_pretrained *model, struct pes_config **out)
{
    const struct pes_key_table *table = pes_sweep_keys();
    struct pes_config *config = table ? pes_config_create(table, model->arena) : NULL;
    if (!config) return PES_MEMORY;
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        const char *path = table->paths[slot], *text = pes_weights_metadata(model->weights, path);
        if (!text || (strncmp(path, "task.", 5) && strncmp(path, "model.", 6) && strncmp(path, "train.", 6)))
            continue;
        if (pes_config_set(config, model->arena, path, text) != PES_OK) {
            char reason[512];
            snprintf(reason, sizeof reason, "%s", pes_error_message());
            return pes_fail(PES_INPUT, "%s: __metadata__: %s: %s", model->about.path, path, reason);
        }
    }
    TRY(pes_config_resolve_loosely(config, NULL));
    *out = config;
    return PES_OK;
}

static enum pes_status read_parameters(struct pes_pretrained *model, const struct pes_tensor_table *table)
{
    real *values = pes_arena_take(model->arena, table->num_parameters, sizeof *values);
    if (!values) return PES_MEMORY;
    for (size_t i = 0; i < table->num_tensors; i++) {
        const struct pes_tensor *tensor = &table->tensors[i];
        const struct pes_weight *weight = pes_weights_find(model->weights, tensor->name);
        if (!weight) return pes_fail(PES_INPUT, "%s: it has no tensor '%s'", model->about.path, tensor->name);
        bool fits = weight->rank == tensor->rank;
        for (int d = 0; fits && d < tensor->rank; d++)
            fits = weight->shape[d] == tensor->shape[d];
        if (!fits)
            return pes_fail(PES_INPUT, "%s: '%s' has not the shape that its own configuration asks for",
                            weight->file, tensor->name);
        struct pes_arena_mark mark = pes_arena_mark(model->arena);
        double *numbers = pes_arena_take(model->arena, tensor->count, sizeof *numbers);
        if (!numbers) return PES_MEMORY;
        TRY(pes_weight_read(weight, 0, tensor->count, numbers));
        for (size_t n = 0; n < tensor->count; n++)
            values[tensor->offset + n] = (real)numbers[n];
        pes_arena_rewind(model->arena, mark);
    }
    model->parameters = values;
    return PES_OK;
}

enum pes_status trial_read(struct pes_pretrained *model)
{
    struct pes_config *config = NULL;
    struct pes_model_config settings;
    struct pes_model *trial;
    TRY(read_config(model, &config));
    const struct pes_trial described = {.config = config};
    TRY(pes_trial_model(&described, &settings));
    TRY(pes_model_create(&settings, model->arena, &trial));
    TRY(read_parameters(model, &trial->tensors));
    model->trial = trial;
    const struct pes_shape *shape = &settings.shape;
    model->about.architecture = "pesweep";
    model->about.scheme = settings.position->name;
    model->about.L = shape->L;
    model->about.H = model->about.num_key_heads = shape->H;
    model->about.C = shape->C;
    model->about.D = model->about.Dv = shape->D;
    model->about.causal = shape->causal;
    model->about.inner_norm = settings.mla && settings.latent_norm;
    for (int layer = 0; layer < shape->L; layer++)
        for (int h = 0; h < shape->H; h++) {
            struct pes_arena_mark mark = pes_arena_mark(model->arena);
            struct pes_head head;
            TRY(pes_model_head(trial, model->parameters, layer, h, model->arena, &head));
            model->about.pairs = PES_MAX(model->about.pairs, head.pairs);
            pes_arena_rewind(model->arena, mark);
        }
    return PES_OK;
}
