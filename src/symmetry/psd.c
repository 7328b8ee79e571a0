/* psd.c - both factors are one: M = W_q^T W_q is symmetric and positive semidefinite. */
#include "pesweep/symmetry.h"

#include <string.h>

static void expand(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters, real *w,
                   real *b)
{
    (void)config;
    size_t C = (size_t)shape->C;
    memcpy(w, pes_parameters_get(parameters, layer, product->first), C * C * sizeof *w);
    if (b) memcpy(b, pes_parameters_get(parameters, layer, product->first_bias), C * sizeof *b);
}

static void map_row(const struct pes_product *product, const struct pes_config *config, int layer,
                    const struct pes_parameters *parameters, size_t row, size_t *source, real *factor)
{
    (void)product, (void)config, (void)layer, (void)parameters;
    *source = row;
    *factor = 1;
}

static void reduce(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters,
                   const real *dw, const real *db)
{
    (void)config;
    size_t C = (size_t)shape->C;
    real *weight = pes_parameters_gradient(parameters, layer, product->first);
    real *bias = db ? pes_parameters_gradient(parameters, layer, product->first_bias) : NULL;
    for (size_t i = 0; i < C * C; i++)
        weight[i] += dw[i];
    for (size_t i = 0; db && i < C; i++)
        bias[i] += db[i];
}

const struct pes_symmetry pes_symmetry_psd = {
    .name = "psd",
    .summary = "keys equal queries: M = W_q^T W_q",
    .source = "Kitaev et al. 2020, arXiv 2001.04451, sec. 2 (shared QK); Tsai et al. 2019, arXiv 1908.11775, "
              "sec. 3.1",
    .expand = expand,
    .map_row = map_row,
    .reduce = reduce,
};
