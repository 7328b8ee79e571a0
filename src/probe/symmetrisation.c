/* symmetrisation.c - what heads lose when M = W_q^T W_k is replaced by its symmetric or antisymmetric part.
 */
#include "probe.h"

/* clang-format off */
static const struct pes_variable variables[] = {
    PES_EFFECT_VARIABLES("symmetrisation",
                         "when the head keeps one part of M alone, on measure.probe_sequences test sequences",
                         3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_PART}),
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
    TRY(pes_probe_compare(m, 0, sequences, count, cases, effects));
    for (size_t c = 0; c < count; c++) {
        const size_t at[] = {c / 2 / H, c / 2 % H, c % 2};
        pes_probe_put(m, "probes", "symmetrisation", at, &effects[c]);
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
