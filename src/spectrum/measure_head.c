/* measure_head.c - rows and sources of heads. */
#include "measure_head.h"

#include <math.h>
#include <stdio.h>

void pes_head_put(const struct pes_head_place *place, const char *name, double value)
{
    const struct pes_measurement *m = place->m;
    if (m->final) {
        const size_t index[] = {place->layer, place->head};
        pes_row_put(m->row, place->folded ? "spectra_folded" : "spectra", name, index, value);
        return;
    }
    char folded_name[96];
    snprintf(folded_name, sizeof folded_name, "folded_%s", name);
    const size_t index[] = {m->checkpoint, place->layer, place->head};
    pes_row_put(m->row, "curves", place->folded ? folded_name : name, index, value);
}

void pes_head_put_block(const struct pes_head_place *place, const char *name, int inner, const size_t *extent,
                        const double *block)
{
    const struct pes_measurement *m = place->m;
    if (m->final) {
        const size_t index[PES_MAX_RANK] = {place->layer, place->head};
        pes_row_put_block(m->row, place->folded ? "spectra_folded" : "spectra", name, index, inner, extent,
                          block);
        return;
    }
    char folded_name[96];
    snprintf(folded_name, sizeof folded_name, "folded_%s", name);
    const size_t index[PES_MAX_RANK] = {m->checkpoint, place->layer, place->head};
    pes_row_put_block(m->row, "curves", place->folded ? folded_name : name, index, inner, extent, block);
}

static void rank_heads(const struct pes_row *row, const char *group, const char *name, const char *percentile,
                       size_t L, size_t H)
{
    if (!pes_layout_find(row->layout, group, percentile)) return;
    for (size_t i = 0; i < L * H; i++) {
        double own = pes_row_get(row, group, name, (size_t[]){i / H, i % H});
        size_t valid = 0, below = 0;
        for (size_t j = 0; !isnan(own) && j < L * H; j++) {
            double other = pes_row_get(row, group, name, (size_t[]){j / H, j % H});
            if (!isnan(other)) valid++;
            if (other <= own) below++;
        }
        pes_row_put(row, group, percentile, (size_t[]){i / H, i % H},
                    valid ? (double)below / (double)valid : NAN);
    }
}

void pes_spectrum_rank_heads(const struct pes_row *row, int num_layers, int num_heads)
{
    static const char *const groups[] = {"spectra", "spectra_folded"};
    for (size_t g = 0; g < PES_COUNT(groups); g++) {
#define X(ratio, unit, meaning)                                                                              \
    rank_heads(row, groups[g], #ratio, #ratio "_percentile", (size_t)num_layers, (size_t)num_heads);
        PES_CONTENT_RATIOS(X)
        X(phase_fraction, , )
#undef X
    }
}

enum pes_status pes_head_poll(const struct pes_measurement *m)
{
    return m->interrupted && m->interrupted(m->context) ? PES_STOPPED : PES_OK;
}

enum pes_status pes_head_each(const struct pes_measurement *m, const struct pes_head_source *source,
                              enum pes_status (*measure)(const struct pes_head_place *place,
                                                         const struct pes_head *head))
{
    struct pes_arena_mark mark = pes_arena_mark(m->arena);
    for (int layer = 0; layer < source->L; layer++)
        for (int h = 0; h < source->H; h++) {
            struct pes_head head;
            TRY(pes_head_poll(m));
            TRY(source->get(source->context, layer, h, m->arena, &head));
            for (int folded = 0; folded < 2; folded++)
                TRY(measure(&(struct pes_head_place){m, (size_t)layer, (size_t)h, folded}, &head));
            pes_arena_rewind(m->arena, mark);
        }
    if (m->final) pes_spectrum_rank_heads(m->row, source->L, source->H);
    return PES_OK;
}

static enum pes_status get(const void *context, int layer, int head, struct pes_arena *arena,
                           struct pes_head *out)
{
    const struct pes_measurement *m = context;
    return pes_model_head(m->model, m->parameters, layer, head, arena, out);
}

struct pes_head_source pes_head_source(const struct pes_measurement *m)
{
    const struct pes_model_config *config = &m->model->config;
    const struct pes_shape *shape = &config->shape;
    const struct pes_parameters parameters = {&m->model->tensors, m->parameters, NULL};
    struct pes_head_source source = {.L = shape->L, .H = shape->H, .get = get, .context = m};
    /* Only a language model's outputs are the tokens that it reads. */
    if (config->objective == PES_OBJECTIVE_LM && shape->classes == shape->V) {
        source.V = (size_t)shape->V;
        source.C = (size_t)shape->C;
        source.embed = pes_parameters_get(&parameters, -1, "embed.tokens");
        source.unembed = pes_parameters_get(&parameters, -1, "head.weight");
        source.final_norm = config->final_norm;
        if (config->final_norm) source.final_gain = pes_parameters_get(&parameters, -1, "norm_f.weight");
    }
    return source;
}
