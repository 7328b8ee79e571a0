/* shaw.c - learned vectors per clipped offset that the query is compared with, shared by the heads of a
 * layer.
 *
 * score(i, j) = scale * q_i . (k_j + a_clip(j - i)),  clip to [-k, k].  The value-side vectors of the paper
 * are left out: its table 3 finds no loss without them. */
#include "pesweep/position.h"

static const struct pes_key keys[] = {{.path = "model.shaw_clip",
                                       .type = PES_VALUE_INT,
                                       .min = 1,
                                       .max = 65536,
                                       .fallback = "16",
                                       .unit = "token",
                                       .help = "offsets beyond this share the last vector"},
                                      {.path = NULL}};

static enum pes_status declare(const struct pes_position_site *site, struct pes_tensor_table *table)
{
    size_t rows = 2 * (size_t)pes_config_int(site->config, "model.shaw_clip") + 1;
    size_t shape[2] = {rows, (size_t)site->shape.D};
    for (int layer = 0; layer < site->shape.L; layer++)
        if (site->layers >> layer & 1)
            TRY(pes_tensor_add_layer(table, layer, "attn.rel_keys", PES_TENSOR_TABLE, 1, 0.02, 2, shape));
    return PES_OK;
}

/* Keys [first, last] whose clipped offset from query i is r. */
static void keys_at(int i, int r, int clip, int T, int *first, int *last)
{
    *first = r == -clip ? 0 : i + r;
    *last = r == clip ? T - 1 : i + r;
    if (*first < 0) *first = 0;
    if (*last > T - 1) *last = T - 1;
}

/* Eight sums side by side, so that the compiler may use vectors without changing the order of additions. */
static real dot(const real *a, const real *b, int n)
{
    real parts[8] = {0}, sum = 0;
    int c = 0;
    for (; c + 8 <= n; c += 8)
        for (int lane = 0; lane < 8; lane++)
            parts[lane] += a[c + lane] * b[c + lane];
    for (; c < n; c++)
        sum += a[c] * b[c];
    for (int lane = 0; lane < 8; lane++)
        sum += parts[lane];
    return sum;
}

static void content_bias_forward(const struct pes_position_site *site,
                                 const struct pes_parameters *parameters, int layer, int head, int T,
                                 const real *q, size_t q_ld, double scale, real *bias)
{
    (void)head;
    int clip = (int)pes_config_int(site->config, "model.shaw_clip"), D = site->shape.D;
    const real *vectors = pes_parameters_get(parameters, layer, "attn.rel_keys");
    for (int i = 0; i < T; i++)
        for (int r = -clip; r <= clip; r++) {
            int first, last;
            keys_at(i, r, clip, T, &first, &last);
            if (first > last) continue;
            const real *query = q + (size_t)i * q_ld, *vector = vectors + (size_t)(r + clip) * (size_t)D;
            real value = (real)scale * dot(query, vector, D);
            for (int j = first; j <= last; j++)
                bias[(size_t)j * (size_t)T + (size_t)i] += value;
        }
}

static void content_bias_backward(const struct pes_position_site *site,
                                  const struct pes_parameters *parameters, int layer, int head, int T,
                                  const real *q, size_t q_ld, double scale, const real *dbias, real *dq)
{
    (void)head;
    int clip = (int)pes_config_int(site->config, "model.shaw_clip"), D = site->shape.D;
    const real *vectors = pes_parameters_get(parameters, layer, "attn.rel_keys");
    real *gradient = pes_parameters_gradient(parameters, layer, "attn.rel_keys");
    for (int i = 0; i < T; i++)
        for (int r = -clip; r <= clip; r++) {
            int first, last;
            keys_at(i, r, clip, T, &first, &last);
            double sum = 0;
            for (int j = first; j <= last; j++)
                sum += (double)dbias[(size_t)j * (size_t)T + (size_t)i];
            if (first > last || sum == 0) continue;
            const real *query = q + (size_t)i * q_ld, factor = (real)(scale * sum);
            size_t at = (size_t)(r + clip) * (size_t)D;
            for (int c = 0; c < D; c++) {
                dq[(size_t)i * q_ld + (size_t)c] += factor * vectors[at + (size_t)c];
                gradient[at + (size_t)c] += factor * query[c];
            }
        }
}

const struct pes_position pes_position_shaw = {
    .name = "shaw",
    .summary = "the query is also compared with a learned vector per clipped offset",
    .source = "Shaw et al. 2018, arXiv 1803.02155, eq. 4",
    .family = PES_POSITION_ADDITIVE,
    .keys = keys,
    .declare = declare,
    .content_bias_forward = content_bias_forward,
    .content_bias_backward = content_bias_backward,
};
