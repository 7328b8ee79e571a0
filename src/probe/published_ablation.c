/* published_ablation.c - head ablation as the public code beside arXiv 2505.13027 does it, next to the clean
 * one.
 *
 * It differs in two things, kept apart here: accuracy is taken over training and test samples together; and
 * under latent attention columns h D .. (h + 1) D - 1 of the latents are zeroed for all heads' queries, keys
 * and values, which is no head, and nothing at all beyond the latents' width. */
#include "probe.h"

/* clang-format off */
#define BY_HEAD 2, {PES_DIM_LAYER, PES_DIM_HEAD}
static const struct pes_variable variables[] = {
    {"probes", "published_drop_all", PES_F64, BY_HEAD, "",
     "accuracy lost without the head, over training and test samples together"},
    {"probes", "published_drop_latent", PES_F64, BY_HEAD, "",
     "accuracy lost without the latent columns that the published code takes for the head, on the test set; NaN "
     "without latent attention"},
    {"probes", "published_drop_latent_all", PES_F64, BY_HEAD, "",
     "the same over training and test samples together"},
    {.name = NULL},
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.published_ablation");
}

static enum pes_status compare(const struct pes_measurement *m, const char *name, bool latent,
                               int64_t sequences)
{
    size_t L = (size_t)m->model->config.shape.L, H = (size_t)m->model->config.shape.H;
    struct pes_probe_case *cases = pes_arena_take(m->arena, L * H, sizeof *cases);
    struct pes_probe_effect *effects = pes_arena_take(m->arena, L * H, sizeof *effects);
    if (!cases || !effects) return PES_MEMORY;
    for (size_t c = 0; c < L * H; c++) {
        const uint64_t *sets = pes_probe_single_head(m, c / H, c % H);
        if (!sets) return PES_MEMORY;
        cases[c].first_layer = (int)(c / H);
        *(latent ? &cases[c].change.latent : &cases[c].change.ablate) = sets;
    }
    TRY(pes_probe_compare(m, sequences, L * H, cases, effects));
    for (size_t c = 0; c < L * H; c++)
        pes_row_put(m->row, "probes", name, (size_t[]){c / H, c % H}, effects[c].drop);
    return PES_OK;
}

static enum pes_status run(const struct pes_measurement *m)
{
    if (!m->final) return PES_OK;
    int64_t test = pes_data_num_test(m->data), all = pes_data_num_samples(m->data);
    TRY(compare(m, "published_drop_all", false, all));
    if (!m->model->config.mla) return PES_OK;
    TRY(compare(m, "published_drop_latent", true, test));
    return compare(m, "published_drop_latent_all", true, all);
}

const struct pes_measure pes_measure_published_ablation = {
    .name = "published_ablation",
    .summary = "head ablation as the published code does it: over all samples, and by latent columns",
    .source = "Gu et al., arXiv 2505.13027, public code",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
