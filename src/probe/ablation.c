/* ablation.c - accuracy and loss without each head, and how concentrated a layer's work is on its heads.
 *
 * A head without its value vectors (bias included) adds nothing to the stream; the output bias stays. */
#include "probe.h"

/* clang-format off */
static const struct pes_variable variables[] = {
    {"curves", "ablation_drop", PES_F32, 3, {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD}, "",
     "accuracy lost without the head, on measure.probe_sequences test sequences"},
    {"curves", "ablation_loss_change", PES_F32, 3, {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD}, "nat",
     "loss gained without the head, on measure.probe_sequences test sequences"},
    {"curves", "deposit_share", PES_F32, 2, {PES_DIM_CHECKPOINT, PES_DIM_LAYER}, "",
     "largest share of a head in the layer's accuracy drops; NaN where no drop is significant"},
    {"curves", "deposit_gini", PES_F32, 2, {PES_DIM_CHECKPOINT, PES_DIM_LAYER}, "",
     "Gini coefficient of the layer's accuracy drops; NaN where no drop is significant"},
    PES_EFFECT_VARIABLES("ablation", "without the head, on the whole test set", 2, {PES_DIM_LAYER, PES_DIM_HEAD}),
    {"probes", "deposit_share", PES_F64, 1, {PES_DIM_LAYER}, "",
     "largest share of a head in the layer's accuracy drops; NaN where no drop is significant"},
    {"probes", "deposit_gini", PES_F64, 1, {PES_DIM_LAYER}, "",
     "Gini coefficient of the layer's accuracy drops; NaN where no drop is significant"},
    {"probes", "deposit_herfindahl", PES_F64, 1, {PES_DIM_LAYER}, "",
     "normalised Herfindahl index of the layer's accuracy drops; NaN where no drop is significant"},
    {"probes", "deposit_rotated_share", PES_F64, 1, {PES_DIM_LAYER}, "",
     "share of the layer's accuracy drops on the heads that the positional scheme acts on; NaN where no "
     "drop is significant"},
    {.name = NULL},
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.ablate_heads");
}

static void put_layer(const struct pes_measurement *m, size_t layer, const struct pes_probe_effect *effects)
{
    const struct pes_model_config *config = &m->model->config;
    size_t H = (size_t)config->shape.H;
    /* Indices are [checkpoint, layer, head] or, at the end, [layer, head]. */
    const char *group = m->final ? "probes" : "curves";
    const size_t skipped = m->final ? 1 : 0, of_layer[] = {m->checkpoint, layer, 0};
    double drops[64], errors[64];
    for (size_t h = 0; h < H; h++) {
        drops[h] = effects[h].drop;
        errors[h] = effects[h].drop_error;
        const size_t of_head[] = {m->checkpoint, layer, h};
        pes_probe_put(m, group, "ablation", of_head + skipped, &effects[h]);
    }
    uint64_t acting = config->pe_layers >> layer & 1 ? config->pe_heads : 0;
    struct pes_deposit deposit = pes_probe_deposit(drops, errors, H, acting);
    pes_row_put(m->row, group, "deposit_share", of_layer + skipped, deposit.share);
    pes_row_put(m->row, group, "deposit_gini", of_layer + skipped, deposit.gini);
    pes_row_put(m->row, group, "deposit_herfindahl", of_layer + skipped, deposit.herfindahl);
    pes_row_put(m->row, group, "deposit_rotated_share", of_layer + skipped, deposit.rotated_share);
}

static enum pes_status run(const struct pes_measurement *m)
{
    const struct pes_shape *shape = &m->model->config.shape;
    size_t L = (size_t)shape->L, H = (size_t)shape->H;
    int64_t sequences = pes_data_num_test(m->data);
    if (!m->final) sequences = pes_probe_sequences(m, pes_config_int(m->settings, "measure.probe_sequences"));
    struct pes_probe_case *cases = pes_arena_take(m->arena, L * H, sizeof *cases);
    struct pes_probe_effect *effects = pes_arena_take(m->arena, L * H, sizeof *effects);
    if (!cases || !effects) return PES_MEMORY;
    for (size_t l = 0; l < L; l++)
        for (size_t h = 0; h < H; h++) {
            struct pes_probe_case *one = &cases[l * H + h];
            one->first_layer = (int)l;
            one->change.ablate = pes_probe_single_head(m, l, h);
            if (!one->change.ablate) return PES_MEMORY;
        }
    TRY(pes_probe_compare(m, 0, sequences, L * H, cases, effects));
    for (size_t l = 0; l < L; l++)
        put_layer(m, l, effects + l * H);
    return PES_OK;
}

const struct pes_measure pes_measure_ablation = {
    .name = "ablation",
    .summary = "accuracy and loss without each head, and the single-head deposit of each layer",
    .source = "Gu et al., arXiv 2505.13027, section on the single-head deposit",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
