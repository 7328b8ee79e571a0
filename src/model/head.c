/* head.c - one head's matrices in double, for the spectra.
 *
 * Latent attention is composed: with gains g of the latent norms, W_q = U_q diag(g_q) W_dq and so on; the
 * rotary rows are W_qr diag(g_q) W_dq of the head and the shared W_kr. */
#include "internal.h"

#include <math.h>
#include <string.h>

static double *take(struct pes_arena *arena, size_t count)
{
    return pes_arena_take(arena, count, sizeof(double));
}

static double *copy(struct pes_arena *arena, const real *from, size_t count)
{
    double *out = take(arena, count);
    for (size_t i = 0; out && i < count; i++)
        out[i] = (double)from[i];
    return out;
}

/* up[rows, latent] diag(gain) down[latent, C]. */
static double *compose(struct pes_arena *arena, const real *up, const real *gain, const real *down,
                       size_t rows, size_t latent, size_t C)
{
    double *out = take(arena, rows * C);
    for (size_t r = 0; out && r < rows; r++)
        for (size_t m = 0; m < latent; m++) {
            double factor = (double)up[r * latent + m] * (gain ? (double)gain[m] : 1);
            for (size_t c = 0; c < C; c++)
                out[r * C + c] += factor * (double)down[m * C + c];
        }
    return out;
}

/* rows x length numbers of the second factor under a constraint, from row `first_row` on: products of two
 * single-precision numbers, which double holds exactly, so that M is as symmetric as the constraint says. */
static double *constrained(const struct pes_model *model, const real *values,
                           const struct pes_symmetry *symmetry, const struct pes_product *product,
                           const char *tensor, int layer, size_t first_row, size_t rows, size_t length,
                           struct pes_arena *arena)
{
    const struct pes_parameters parameters = {.table = &model->tensors, .values = values};
    const real *from = pes_parameters_get(&parameters, layer, tensor);
    double *out = take(arena, rows * length);
    for (size_t row = 0; out && row < rows; row++) {
        size_t source;
        real factor;
        symmetry->map_row(product, model->config.config, layer, &parameters, first_row + row, &source,
                          &factor);
        for (size_t c = 0; c < length; c++)
            out[row * length + c] = (double)factor * (double)from[source * length + c];
    }
    return out;
}

/* This head's columns of W_o [C, H Dv], or of what a constraint makes of the values. */
static double *output_columns(const struct pes_model *model, const real *values, int layer, int head,
                              struct pes_arena *arena)
{
    const struct pes_model_config *config = &model->config;
    size_t C = (size_t)config->shape.C, D = (size_t)config->shape.D, columns = D * (size_t)config->shape.H;
    size_t first = (size_t)head * D;
    const real *wo = values + model->places->layers[layer].wo;
    double *out = take(arena, C * D), *rows = NULL;
    bool follows = pes_output_follows(config);
    if (follows)
        rows = constrained(model, values, config->value_symmetry, &pes_product_value_output,
                           pes_product_value_output.first, layer, first, D, C, arena);
    if (follows && !rows) return NULL;
    for (size_t row = 0; out && row < C; row++)
        for (size_t c = 0; c < D; c++)
            out[row * D + c] = follows ? rows[c * C + row] : (double)wo[row * columns + first + c];
    return out;
}

static void fill_plain(const struct pes_model *model, const real *values, int layer, int head,
                       struct pes_arena *arena, struct pes_head *out)
{
    const struct pes_symmetry *symmetry = model->config.symmetry;
    const struct pes_product *product = &pes_product_query_key;
    const struct pes_layer_places *at = &model->places->layers[layer];
    size_t C = (size_t)model->config.shape.C, D = (size_t)model->config.shape.D, row = (size_t)head * D;
    const struct pes_parameters parameters = {.table = &model->tensors, .values = values};
    out->wq = copy(arena, values + at->wq + row * C, D * C);
    out->wv = copy(arena, values + at->wv + row * C, D * C);
    out->bq = copy(arena, values + at->bq + row, D);
    if (symmetry->map_row) {
        out->wk = constrained(model, values, symmetry, product, product->first, layer, row, D, C, arena);
        out->bk = constrained(model, values, symmetry, product, product->first_bias, layer, row, D, 1, arena);
    } else {
        out->wk = copy(arena, pes_parameters_get(&parameters, layer, product->second) + row * C, D * C);
        out->bk = copy(arena, pes_parameters_get(&parameters, layer, product->second_bias) + row, D);
    }
    out->rq = out->wq;
    out->rk = out->wk;
}

static void fill_latent(const struct pes_model *model, const real *values, int layer, int head,
                        struct pes_arena *arena, struct pes_head *out)
{
    const struct pes_model_config *config = &model->config;
    const struct pes_layer_places *at = &model->places->layers[layer];
    size_t C = (size_t)config->shape.C, D = (size_t)config->shape.D, latent = (size_t)config->d_latent;
    size_t rope = (size_t)config->d_rope, row = (size_t)head * D * latent,
           rotary_row = config->published.query ? 0 : (size_t)head * rope * latent;
    const real *gain_q = config->latent_norm ? values + at->q_norm : NULL;
    const real *gain_kv = config->latent_norm ? values + at->kv_norm : NULL;
    out->wq = compose(arena, values + at->w_uq + row, gain_q, values + at->w_dq, D, latent, C);
    out->wk = compose(arena, values + at->w_uk + row, gain_kv, values + at->w_dkv, D, latent, C);
    out->wv = compose(arena, values + at->w_uv + row, gain_kv, values + at->w_dkv, D, latent, C);
    out->bq = take(arena, D);
    out->bk = take(arena, D);
    out->rq = out->wq;
    out->rk = out->wk;
    if (!rope) return;
    out->rq = compose(arena, values + at->w_qr + rotary_row, gain_q, values + at->w_dq, rope, latent, C);
    out->rk = copy(arena, values + at->w_kr, rope * C);
}

/* Heads without rotation are read as if all their rows were paired, with the usual frequencies. */
static const double *frequencies_of(const struct pes_model *model, bool rotates, int pairs,
                                    struct pes_arena *arena)
{
    double *frequencies = take(arena, (size_t)pairs);
    if (!frequencies) return NULL;
    struct pes_position_site site = pes_model_site(&model->config);
    if (rotates)
        model->config.position->rotation(&site, 0, pairs, NULL, NULL, frequencies);
    else
        for (int t = 0; t < pairs; t++)
            frequencies[t] = pow(10000, -2.0 * t / model->config.shape.D);
    return frequencies;
}

enum pes_status pes_model_head(const struct pes_model *model, const real *parameters, int layer, int head,
                               struct pes_arena *arena, struct pes_head *out)
{
    const struct pes_model_config *config = &model->config;
    const struct pes_layer_places *at = &model->places->layers[layer];
    CHECK(layer >= 0 && layer < config->shape.L && head >= 0 && head < config->shape.H);
    struct pes_sizes sizes;
    pes_model_sizes(config, &sizes);
    bool stream_keys = config->kv_source == PES_KV_RESIDUAL;
    *out = (struct pes_head){
        .D = config->shape.D,
        .C = config->shape.C,
        .Dv = sizes.Dv,
        .query_folds = true,
        .key_folds = stream_keys,
        .centred = true,
        .rotates = sizes.pairs && pes_model_acts(config, layer, head),
        .scale = 1 / sqrt((double)sizes.W),
    };
    out->pairs = out->rotates ? sizes.pairs : out->D / 2;
    if (config->mla)
        fill_latent(model, parameters, layer, head, arena, out);
    else
        fill_plain(model, parameters, layer, head, arena, out);
    out->wo = output_columns(model, parameters, layer, head, arena);
    out->gain = copy(arena, parameters + at->norm1, (size_t)out->C);
    out->frequencies = frequencies_of(model, out->rotates, out->pairs, arena);
    bool complete = out->wq && out->wk && out->wv && out->wo && out->bq && out->bk && out->gain && out->rq &&
                    out->rk && out->frequencies;
    return complete ? PES_OK : PES_MEMORY;
}
