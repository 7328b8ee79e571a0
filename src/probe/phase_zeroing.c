/* phase_zeroing.c - what rotary heads lose without the sine terms of their scores.
 *
 * Every frequency keeps cos(w_t D) alone, which says how far but not in which direction. */
#include "probe.h"

#include <math.h>

/* clang-format off */
#define BY_HEAD 2, {PES_DIM_LAYER, PES_DIM_HEAD}
static const struct pes_variable variables[] = {
    {"curves", "phase_zeroing_drop", PES_F64, 1, {PES_DIM_CHECKPOINT}, "",
     "accuracy lost when the sine terms of all rotating heads are dropped, on measure.probe_sequences test sequences"},
    {"curves", "phase_zeroing_loss_change", PES_F64, 1, {PES_DIM_CHECKPOINT}, "nat",
     "loss gained when the sine terms of all rotating heads are dropped, on measure.probe_sequences test sequences"},
    PES_EFFECT_VARIABLES("phase_zeroing_all",
                         "when the sine terms of all rotating heads are dropped, on the whole test set", 0, {0}),
    PES_EFFECT_VARIABLES("phase_zeroing",
                         "without the sine terms of the head, on measure.probe_sequences test sequences", 2,
                         {PES_DIM_LAYER, PES_DIM_HEAD}),
    {"probes", "phase_zeroing_frequency_drop", PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_FREQUENCY}, "",
     "accuracy lost without the sine term of one frequency of the head, on the same sequences"},
    {"probes", "phase_zeroing_frequency_loss_change", PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_FREQUENCY}, "nat",
     "loss gained without the sine term of one frequency of the head"},
    {.name = NULL},
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.phase_zeroing");
}

/* Heads of each layer that rotate, and how many pairs of columns do. */
static enum pes_status find_rotating(const struct pes_measurement *m, uint64_t *heads, int *pairs)
{
    const struct pes_shape *shape = &m->model->config.shape;
    *pairs = 0;
    for (int l = 0; l < shape->L; l++)
        for (int h = 0; h < shape->H; h++) {
            struct pes_arena_mark mark = pes_arena_mark(m->arena);
            struct pes_head head;
            TRY(pes_model_head(m->model, m->parameters, l, h, m->arena, &head));
            if (head.rotates) {
                heads[l] |= UINT64_C(1) << h;
                *pairs = PES_MAX(*pairs, head.pairs);
            }
            pes_arena_rewind(m->arena, mark);
        }
    return PES_OK;
}

static enum pes_status all_heads(const struct pes_measurement *m, const uint64_t *heads, int64_t sequences)
{
    struct pes_probe_case one = {.change.phase_zeroed = heads};
    struct pes_probe_effect effect;
    TRY(pes_probe_compare(m, 0, sequences, 1, &one, &effect));
    if (!m->final) {
        pes_row_put(m->row, "curves", "phase_zeroing_drop", &m->checkpoint, effect.drop);
        pes_row_put(m->row, "curves", "phase_zeroing_loss_change", &m->checkpoint, effect.loss_change);
        return PES_OK;
    }
    pes_probe_put(m, "probes", "phase_zeroing_all", NULL, &effect);
    return PES_OK;
}

/* Cases of one layer: each rotating head as a whole, then each of its frequencies. */
static enum pes_status one_layer(const struct pes_measurement *m, size_t layer, uint64_t heads, size_t pairs,
                                 int64_t sequences)
{
    size_t H = (size_t)m->model->config.shape.H, most = H * (pairs + 1), count = 0;
    struct pes_probe_case *cases = pes_arena_take(m->arena, most, sizeof *cases);
    struct pes_probe_effect *effects = pes_arena_take(m->arena, most, sizeof *effects);
    if (!cases || !effects) return PES_MEMORY;
    for (size_t h = 0; h < H; h++) {
        if (!(heads >> h & 1)) continue;
        const uint64_t *sets = pes_probe_single_head(m, layer, h);
        if (!sets) return PES_MEMORY;
        for (size_t f = 0; f <= pairs; f++)
            cases[count++] = (struct pes_probe_case){
                (int)layer, {.phase_zeroed = sets, .frequencies = f ? UINT64_C(1) << (f - 1) : 0}};
    }
    TRY(pes_probe_compare(m, 0, sequences, count, cases, effects));
    const struct pes_probe_effect *effect = effects;
    for (size_t h = 0; h < H; h++) {
        if (!(heads >> h & 1)) continue;
        const size_t at[] = {layer, h};
        pes_probe_put(m, "probes", "phase_zeroing", at, effect);
        effect++;
        for (size_t f = 0; f < pairs; f++, effect++) {
            const size_t place[] = {layer, h, f};
            pes_row_put(m->row, "probes", "phase_zeroing_frequency_drop", place, effect->drop);
            pes_row_put(m->row, "probes", "phase_zeroing_frequency_loss_change", place, effect->loss_change);
        }
    }
    return PES_OK;
}

static enum pes_status run(const struct pes_measurement *m)
{
    size_t L = (size_t)m->model->config.shape.L;
    uint64_t *heads = pes_arena_take(m->arena, L, sizeof *heads);
    if (!heads) return PES_MEMORY;
    int pairs;
    TRY(find_rotating(m, heads, &pairs));
    if (!pairs) return PES_OK;
    int64_t sequences = pes_probe_sequences(m, pes_config_int(m->settings, "measure.probe_sequences"));
    TRY(all_heads(m, heads, m->final ? pes_data_num_test(m->data) : sequences));
    /* An intervention names at most 64 frequencies. */
    for (size_t l = 0; m->final && l < L; l++)
        if (heads[l]) TRY(one_layer(m, l, heads[l], (size_t)PES_MIN(pairs, 64), sequences));
    return PES_OK;
}

const struct pes_measure pes_measure_phase_zeroing = {
    .name = "phase_zeroing",
    .summary = "accuracy and loss without the sine terms of rotary heads",
    .source = "Li, arXiv 2607.06621, section on phase zeroing",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
