/* none.c - both factors are free. */
#include "pesweep/symmetry.h"

#include <string.h>

static enum pes_status declare(const struct pes_product *product, const struct pes_config *config,
                               const struct pes_shape *shape, int layer, struct pes_tensor_table *table)
{
    (void)config;
    size_t C = (size_t)shape->C, matrix[2] = {C, C};
    TRY(pes_tensor_add_layer(table, layer, product->second, PES_TENSOR_WEIGHT, C, 0, 2, matrix));
    return pes_tensor_add_layer(table, layer, product->second_bias, PES_TENSOR_BIAS, C, 0, 1, matrix);
}

static void expand(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters, real *w,
                   real *b)
{
    (void)config;
    size_t C = (size_t)shape->C;
    memcpy(w, pes_parameters_get(parameters, layer, product->second), C * C * sizeof *w);
    memcpy(b, pes_parameters_get(parameters, layer, product->second_bias), C * sizeof *b);
}

static void reduce(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters,
                   const real *dw, const real *db)
{
    (void)config;
    size_t C = (size_t)shape->C;
    real *weight = pes_parameters_gradient(parameters, layer, product->second);
    real *bias = pes_parameters_gradient(parameters, layer, product->second_bias);
    for (size_t i = 0; i < C * C; i++)
        weight[i] += dw[i];
    for (size_t i = 0; i < C; i++)
        bias[i] += db[i];
}

const struct pes_symmetry pes_symmetry_none = {
    .name = "none",
    .summary = "queries and keys have matrices of their own",
    .source = "Vaswani et al. 2017, arXiv 1706.03762",
    .declare = declare,
    .expand = expand,
    .reduce = reduce,
};
