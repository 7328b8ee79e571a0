/* antisymmetric.c - the second factor is the first turned by a right angle: k = J S q, so M = W_q^T J S W_q
 * is antisymmetric.
 *
 * Per adjacent pair of rows (a, b) with one s: k_a = s q_b, k_b = -s q_a.  J S commutes with rotations of the
 * pair. s starts at 1: its sign is that of the order of the pair. */
#include "pesweep/symmetry.h"

static enum pes_status check(const struct pes_product *product, const struct pes_config *config,
                             const struct pes_shape *shape)
{
    (void)config;
    if (shape->D % 2)
        return pes_fail(PES_INPUT, "%s antisymmetric pairs the rows of a head, but heads are %d wide",
                        product->label, shape->D);
    return PES_OK;
}

static enum pes_status declare(const struct pes_product *product, const struct pes_config *config,
                               const struct pes_shape *shape, int layer, struct pes_tensor_table *table)
{
    (void)config;
    size_t count[1] = {(size_t)shape->C / 2};
    return pes_tensor_add_layer(table, layer, product->scale, PES_TENSOR_SCALE, 1, 0, 1, count);
}

static void expand(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters, real *w,
                   real *b)
{
    (void)config;
    const real *first = pes_parameters_get(parameters, layer, product->first);
    const real *bias = b ? pes_parameters_get(parameters, layer, product->first_bias) : NULL;
    const real *scale = pes_parameters_get(parameters, layer, product->scale);
    size_t C = (size_t)shape->C;
    for (size_t row = 0; row < C; row++) {
        size_t other = row ^ 1;
        real s = row % 2 ? -scale[row / 2] : scale[row / 2];
        if (b) b[row] = s * bias[other];
        for (size_t c = 0; c < C; c++)
            w[row * C + c] = s * first[other * C + c];
    }
}

static void map_row(const struct pes_product *product, const struct pes_config *config, int layer,
                    const struct pes_parameters *parameters, size_t row, size_t *source, real *factor)
{
    (void)config;
    real scale = pes_parameters_get(parameters, layer, product->scale)[row / 2];
    *source = row ^ 1;
    *factor = row % 2 ? -scale : scale;
}

static void reduce(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters,
                   const real *dw, const real *db)
{
    (void)config;
    const real *first = pes_parameters_get(parameters, layer, product->first);
    const real *bias = db ? pes_parameters_get(parameters, layer, product->first_bias) : NULL;
    const real *scale = pes_parameters_get(parameters, layer, product->scale);
    real *dfirst = pes_parameters_gradient(parameters, layer, product->first);
    real *dbias = db ? pes_parameters_gradient(parameters, layer, product->first_bias) : NULL;
    real *dscale = pes_parameters_gradient(parameters, layer, product->scale);
    size_t C = (size_t)shape->C;
    for (size_t row = 0; row < C; row++) {
        size_t other = row ^ 1;
        real sign = row % 2 ? -1 : 1, s = sign * scale[row / 2];
        double sum = db ? (double)db[row] * (double)bias[other] : 0;
        if (db) dbias[other] += s * db[row];
        for (size_t c = 0; c < C; c++) {
            sum += (double)dw[row * C + c] * (double)first[other * C + c];
            dfirst[other * C + c] += s * dw[row * C + c];
        }
        dscale[row / 2] += (real)((double)sign * sum);
    }
}

const struct pes_symmetry pes_symmetry_antisymmetric = {
    .name = "antisymmetric",
    .summary = "keys are queries turned by a right angle, with a learned number per pair of rows",
    .source = "an antisymmetric matrix of rank D is W^T J S W; constraint after arXiv 2607.06621",
    .check = check,
    .declare = declare,
    .expand = expand,
    .map_row = map_row,
    .reduce = reduce,
};
