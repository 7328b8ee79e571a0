/* symmetrisation.c - what heads lose when M = W_q^T W_k is replaced by its symmetric or antisymmetric part.
 */
#include "probe.h"

/* clang-format off */
#define BY_PART 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_PART}
static const struct pes_variable variables[] = {
    {"probes", "symmetrisation_drop", PES_F64, BY_PART, "",
     "accuracy lost when the head keeps one part of M alone, on measure.probe_sequences test sequences"},
    {"probes", "symmetrisation_drop_error", PES_F64, BY_PART, "",
     "paired standard error of symmetrisation_drop"},
    {"probes", "symmetrisation_loss_change", PES_F64, BY_PART, "nat",
     "loss gained when the head keeps one part of M alone"},
    {"probes", "symmetrisation_loss_change_error", PES_F64, BY_PART, "nat",
     "paired standard error of symmetrisation_loss_change"},
    {.name = NULL},
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.symmetrisation");
}

static enum pes_status run(const struct pes_measurement *m)
{
    if (!m->final) return PES_OK;
    const struct pes_shape *shape = &m->model->config.shape;
    size_t L = (size_t)shape->L, H = (size_t)shape->H, count = L * H * 2;
    int64_t sequences = pes_probe_sequences(m, pes_config_int(m->settings, "measure.probe_sequences"));
    struct pes_probe_case *cases = pes_arena_take(m->arena, count, sizeof *cases);
    struct pes_probe_effect *effects = pes_arena_take(m->arena, count, sizeof *effects);
    if (!cases || !effects) return PES_MEMORY;
    static const enum pes_part parts[] = {PES_PART_SYMMETRIC, PES_PART_ANTISYMMETRIC};
    for (size_t c = 0; c < count; c++) {
        size_t layer = c / 2 / H, head = c / 2 % H;
        const uint64_t *sets = pes_probe_single_head(m, layer, head);
        if (!sets) return PES_MEMORY;
        cases[c] = (struct pes_probe_case){(int)layer, {.symmetrised = sets, .part = parts[c % 2]}};
    }
    TRY(pes_probe_compare(m, sequences, count, cases, effects));
    for (size_t c = 0; c < count; c++) {
        const size_t at[] = {c / 2 / H, c / 2 % H, c % 2};
        pes_row_put(m->row, "probes", "symmetrisation_drop", at, effects[c].drop);
        pes_row_put(m->row, "probes", "symmetrisation_drop_error", at, effects[c].drop_error);
        pes_row_put(m->row, "probes", "symmetrisation_loss_change", at, effects[c].loss_change);
        pes_row_put(m->row, "probes", "symmetrisation_loss_change_error", at, effects[c].loss_change_error);
    }
    return PES_OK;
}

const struct pes_measure pes_measure_symmetrisation = {
    .name = "symmetrisation",
    .summary = "accuracy and loss with the symmetric or antisymmetric part of each head's M alone",
    .source = "Li, arXiv 2607.06621, section on GPT-2",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
