/* none.c - W_q and W_k are free. */
#include "pesweep/symmetry.h"

#include <string.h>

static enum pes_status declare(const struct pes_config *config, const struct pes_shape *shape, int layer,
                               struct pes_tensor_table *table)
{
    (void)config;
    size_t C = (size_t)shape->C, matrix[2] = {C, C};
    TRY(pes_tensor_add_layer(table, layer, "attn.wk", PES_TENSOR_WEIGHT, C, 0, 2, matrix));
    return pes_tensor_add_layer(table, layer, "attn.bk", PES_TENSOR_BIAS, C, 0, 1, matrix);
}

static void expand(const struct pes_config *config, const struct pes_shape *shape, int layer,
                   const struct pes_parameters *parameters, real *wk, real *bk)
{
    (void)config;
    size_t C = (size_t)shape->C;
    memcpy(wk, pes_parameters_get(parameters, layer, "attn.wk"), C * C * sizeof *wk);
    memcpy(bk, pes_parameters_get(parameters, layer, "attn.bk"), C * sizeof *bk);
}

static void reduce(const struct pes_config *config, const struct pes_shape *shape, int layer,
                   const struct pes_parameters *parameters, const real *dwk, const real *dbk)
{
    (void)config;
    size_t C = (size_t)shape->C;
    real *weight = pes_parameters_gradient(parameters, layer, "attn.wk");
    real *bias = pes_parameters_gradient(parameters, layer, "attn.bk");
    for (size_t i = 0; i < C * C; i++)
        weight[i] += dwk[i];
    for (size_t i = 0; i < C; i++)
        bias[i] += dbk[i];
}

const struct pes_symmetry pes_symmetry_none = {
    .name = "none",
    .summary = "queries and keys have matrices of their own",
    .source = "Vaswani et al. 2017, arXiv 1706.03762",
    .declare = declare,
    .expand = expand,
    .reduce = reduce,
};
