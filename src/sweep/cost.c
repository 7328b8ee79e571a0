/* cost.c - what a trial will cost, from its dimensions alone. */
#include "pesweep/sweep.h"

#include <string.h>

#include "pesweep/arena.h"
#include "pesweep/measure.h"

/* Forward passes over the whole model that changing one head of each layer makes, per sequence: half of the
 * layers above it, on average, and in its own layer what follows the heads, the output product and the
 * feed-forward part, alone; the queries, keys and values too if the change is to its scores. */
static double changed_passes(const struct pes_shape *shape, bool scores)
{
    double C = shape->C, after = C * C + 2 * C * shape->F, before = 3 * C * C;
    double own = (after + (scores ? before : 0)) / (after + before + 2 * C * shape->T);
    return (shape->L - 1) / 2.0 + own;
}

/* Forward passes that the probes of one measurement make, per sequence; those at the end that have the whole
 * test set apart. */
static double probe_passes(const struct pes_config *settings, const struct pes_model_config *model,
                           bool final)
{
    const struct pes_shape *shape = &model->shape;
    bool rotates = model->position->family == PES_POSITION_ROTARY;
    double passes = pes_config_bool(settings, "measure.behaviours") ? 1 : 0;
    if (pes_config_bool(settings, "measure.ablate_heads") && !final)
        passes += 1 + shape->H * changed_passes(shape, false);
    if (pes_config_bool(settings, "measure.phase_zeroing") && rotates)
        passes += final ? 1 + shape->H * changed_passes(shape, true) * (1 + shape->D / 2.0) : 2;
    if (pes_config_bool(settings, "measure.symmetrisation") && final)
        passes += 1 + 2 * shape->H * changed_passes(shape, true);
    return passes;
}

/* Forward passes of the ablations that are made at the end alone: pairs and lists of heads over the test set;
 * the published way over all samples of a finite set. */
static double group_passes(const struct pes_config *settings, const struct pes_model_config *model,
                           double test, double all)
{
    const struct pes_shape *shape = &model->shape;
    const char *ablate = pes_config_text(settings, "measure.ablate");
    double changed = changed_passes(shape, false), passes = 0;
    size_t num_lists = 0;
    if (!strcmp(ablate, "pairs")) passes += test * (1 + shape->H * (shape->H - 1) / 2.0 * changed);
    if (!strcmp(ablate, "lists") && pes_probe_read_lists(pes_config_text(settings, "measure.ablate_lists"),
                                                         shape->L, shape->H, &num_lists, NULL) == PES_OK)
        passes += test * (1 + (double)num_lists); /* one that starts at the first layer is a whole pass */
    if (pes_config_bool(settings, "measure.published_ablation")) {
        all = PES_MAX(all, test);
        passes += all * (1 + shape->H * changed);
        if (model->mla) passes += all * (1 + shape->H * changed_passes(shape, true));
    }
    return passes;
}

/* Spectra of all heads, raw and folded: two QRs of [C, D], then Schur forms and singular values of [D, D],
 * about 30 D^3, once and for each draw of the null. */
static double spectral_flops(const struct pes_config *settings, const struct pes_shape *shape)
{
    if (!pes_config_bool(settings, "measure.spectra")) return 0;
    double C = shape->C, D = shape->D, nulls = (double)pes_config_int(settings, "measure.nulls");
    return 2.0 * shape->L * shape->H * (4 * C * D * D + (1 + nulls) * 30 * D * D * D);
}

static enum pes_status count_parameters(const struct pes_model_config *model, size_t *parameters,
                                        size_t *padded)
{
    struct pes_arena *arena = pes_arena_create();
    struct pes_model *built;
    if (!arena) return PES_MEMORY;
    enum pes_status status = pes_model_create(model, arena, &built);
    if (status == PES_OK) {
        *parameters = pes_tensor_table_count(&built->tensors);
        *padded = built->tensors.num_parameters;
    }
    pes_arena_destroy(arena);
    return status;
}

enum pes_status pes_sweep_cost(const struct pes_sweep *sweep, const struct pes_trial *trial,
                               struct pes_cost *cost)
{
    const struct pes_config *settings = sweep->settings, *config = trial->config;
    struct pes_task_shape shape = {0};
    struct pes_model_config model;
    size_t data_bytes = 0, padded = 0;
    *cost = (struct pes_cost){0};
    TRY(pes_task_find(pes_config_text(config, "task.kind"))->shape(config, &shape));
    TRY(pes_model_configure(config, &shape, &model));
    TRY(count_parameters(&model, &cost->parameters, &padded));
    TRY(pes_data_bytes(config, &data_bytes));

    double forward = pes_model_flops(&model, shape.T), test = (double)shape.num_test;
    double batch = (double)pes_config_int(config, "train.batch");
    cost->train_flops = 3 * forward * batch * (double)pes_config_int(config, "train.steps");
    double evaluated = (double)pes_config_int(settings, "measure.evaluate_sequences");
    evaluated = evaluated > 0 ? PES_MIN(test, evaluated) : test;
    /* The last evaluation takes the whole test set. */
    cost->evaluate_flops =
        forward * (evaluated * (double)(pes_trial_evaluations(sweep, trial, NULL) - 1) + test);

    double checkpoints = (double)pes_trial_checkpoints(sweep, trial, NULL);
    double probed = PES_MIN(test, (double)pes_config_int(settings, "measure.probe_sequences"));
    double mapped = PES_MIN(test, (double)pes_config_int(settings, "measure.attention_maps"));
    double sequences = checkpoints * probed * probe_passes(settings, &model, false) +
                       probed * probe_passes(settings, &model, true) + mapped;
    /* At the end over the whole test set. */
    if (pes_config_bool(settings, "measure.phase_zeroing") && model.position->family == PES_POSITION_ROTARY)
        sequences += 2 * test;
    if (pes_config_bool(settings, "measure.ablate_heads"))
        sequences += test * (1 + model.shape.H * changed_passes(&model.shape, false));
    sequences += group_passes(settings, &model, test, (double)shape.num_samples);
    cost->probe_flops = forward * sequences + (checkpoints + 1) * spectral_flops(settings, &model.shape);

    int64_t micro_batch = pes_config_int(config, "train.micro_batch");
    if (!micro_batch) micro_batch = pes_model_micro_batch(&model);
    micro_batch = PES_MIN(micro_batch, pes_config_int(config, "train.batch"));
    /* Training, with its gradient, and measuring take turns in the same memory. */
    cost->memory_bytes = PES_MAX(pes_workspace_bytes(&model, (int)micro_batch, true) + padded * sizeof(real),
                                 pes_workspace_bytes(&model, (int)micro_batch, false)) +
                         data_bytes + 3 * padded * sizeof(real);
    cost->seconds = (cost->train_flops + cost->evaluate_flops + cost->probe_flops) / PES_COST_RATE;
    return PES_OK;
}
