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

static void put(const struct pes_measurement *m, const char *name, size_t c, double drop)
{
    size_t H = (size_t)m->model->config.shape.H;
    pes_row_put(m->row, "probes", name, (size_t[]){c / H, c % H}, drop);
}

static enum pes_status run(const struct pes_measurement *m)
{
    if (!m->final) return PES_OK;
    size_t H = (size_t)m->model->config.shape.H, count = (size_t)m->model->config.shape.L * H;
    int64_t num_test = pes_data_num_test(m->data), all = pes_data_num_samples(m->data);
    struct pes_probe_case *cases = pes_arena_take(m->arena, count, sizeof *cases);
    struct pes_probe_effect *test = pes_arena_take(m->arena, 2 * count, sizeof *test);
    if (!cases || !test) return PES_MEMORY;
    struct pes_probe_effect *train = test + count;
    for (size_t c = 0; c < count; c++) {
        cases[c].first_layer = (int)(c / H);
        cases[c].change.ablate = pes_probe_single_head(m, c / H, c % H);
        if (!cases[c].change.ablate) return PES_MEMORY;
    }
    TRY(pes_probe_compare(m, 0, all, count, cases, test));
    for (size_t c = 0; c < count; c++) {
        put(m, "published_drop_all", c, test[c].drop);
        cases[c].change = (struct pes_intervention){.latent = cases[c].change.ablate};
    }
    if (!m->model->config.mla) return PES_OK;
    TRY(pes_probe_compare(m, 0, num_test, count, cases, test));
    TRY(pes_probe_compare(m, num_test, all, count, cases, train));
    for (size_t c = 0; c < count; c++) {
        put(m, "published_drop_latent", c, test[c].drop);
        put(m, "published_drop_latent_all", c,
            (double)(test[c].lost + train[c].lost) / (double)(test[c].scored + train[c].scored));
    }
    return PES_OK;
}

const struct pes_measure pes_measure_published_ablation = {
    .name = "published_ablation",
    .summary = "head ablation as the published code does it: over all samples, and by latent columns",
    .source = "Gu et al., arXiv 2505.13027, public code",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
