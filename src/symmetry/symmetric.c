/* symmetric.c - the second factor is the first, scaled: k = s q, so M = W_q^T diag(s) W_q is symmetric, of
 * any signature.
 *
 * One s per row; per adjacent pair of rows under a rotary scheme (whichever heads it acts on), since only
 * then do scale and rotation commute.  Training can't easily move an s through 0, where its row is silent, so
 * s starts at +1, -1, +1 ...: as many positive as negative directions, like a random symmetric matrix. */
#include "pesweep/position.h"
#include "pesweep/symmetry.h"

static bool by_pairs(const struct pes_product *product, const struct pes_config *config)
{
    return product->rotates &&
           pes_position_find(pes_config_text(config, "model.pe"))->family == PES_POSITION_ROTARY;
}

static enum pes_status check(const struct pes_product *product, const struct pes_config *config,
                             const struct pes_shape *shape)
{
    if (by_pairs(product, config) && shape->D % 2)
        return pes_fail(PES_INPUT, "%s symmetric scales pairs of rows under %s, but heads are %d wide",
                        product->label, pes_config_text(config, "model.pe"), shape->D);
    return PES_OK;
}

static enum pes_status declare(const struct pes_product *product, const struct pes_config *config,
                               const struct pes_shape *shape, int layer, struct pes_tensor_table *table)
{
    size_t count[1] = {(size_t)shape->C / (by_pairs(product, config) ? 2 : 1)};
    TRY(pes_tensor_add_layer(table, layer, product->scale, PES_TENSOR_SCALE, 1, 0, 1, count));
    table->tensors[table->num_tensors - 1].alternate_sign = true;
    return PES_OK;
}

static void expand(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters, real *w,
                   real *b)
{
    const real *first = pes_parameters_get(parameters, layer, product->first);
    const real *bias = b ? pes_parameters_get(parameters, layer, product->first_bias) : NULL;
    const real *scale = pes_parameters_get(parameters, layer, product->scale);
    size_t C = (size_t)shape->C, group = by_pairs(product, config) ? 2 : 1;
    for (size_t row = 0; row < C; row++) {
        real s = scale[row / group];
        if (b) b[row] = s * bias[row];
        for (size_t c = 0; c < C; c++)
            w[row * C + c] = s * first[row * C + c];
    }
}

static void map_row(const struct pes_product *product, const struct pes_config *config, int layer,
                    const struct pes_parameters *parameters, size_t row, size_t *source, real *factor)
{
    *source = row;
    *factor =
        pes_parameters_get(parameters, layer, product->scale)[row / (by_pairs(product, config) ? 2 : 1)];
}

static void reduce(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters,
                   const real *dw, const real *db)
{
    const real *first = pes_parameters_get(parameters, layer, product->first);
    const real *bias = db ? pes_parameters_get(parameters, layer, product->first_bias) : NULL;
    const real *scale = pes_parameters_get(parameters, layer, product->scale);
    real *dfirst = pes_parameters_gradient(parameters, layer, product->first);
    real *dbias = db ? pes_parameters_gradient(parameters, layer, product->first_bias) : NULL;
    real *dscale = pes_parameters_gradient(parameters, layer, product->scale);
    size_t C = (size_t)shape->C, group = by_pairs(product, config) ? 2 : 1;
    for (size_t row = 0; row < C; row++) {
        real s = scale[row / group];
        double sum = db ? (double)db[row] * (double)bias[row] : 0;
        if (db) dbias[row] += s * db[row];
        for (size_t c = 0; c < C; c++) {
            sum += (double)dw[row * C + c] * (double)first[row * C + c];
            dfirst[row * C + c] += s * dw[row * C + c];
        }
        dscale[row / group] += (real)sum;
    }
}

const struct pes_symmetry pes_symmetry_symmetric = {
    .name = "symmetric",
    .summary = "keys are queries times a learned number per row (per pair under rotary schemes)",
    .source = "a symmetric matrix of rank D is W^T diag(s) W; constraint after arXiv 2607.06621",
    .check = check,
    .declare = declare,
    .expand = expand,
    .map_row = map_row,
    .reduce = reduce,
};
