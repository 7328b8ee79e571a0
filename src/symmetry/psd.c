/* psd.c - keys are queries: M = W_q^T W_q is symmetric and positive semidefinite. */
#include "pesweep/symmetry.h"

#include <string.h>

static void expand(const struct pes_config *config, const struct pes_shape *shape, int layer,
                   const struct pes_parameters *parameters, real *wk, real *bk)
{
    (void)config;
    size_t C = (size_t)shape->C;
    memcpy(wk, pes_parameters_get(parameters, layer, "attn.wq"), C * C * sizeof *wk);
    memcpy(bk, pes_parameters_get(parameters, layer, "attn.bq"), C * sizeof *bk);
}

static void reduce(const struct pes_config *config, const struct pes_shape *shape, int layer,
                   const struct pes_parameters *parameters, const real *dwk, const real *dbk)
{
    (void)config;
    size_t C = (size_t)shape->C;
    real *weight = pes_parameters_gradient(parameters, layer, "attn.wq");
    real *bias = pes_parameters_gradient(parameters, layer, "attn.bq");
    for (size_t i = 0; i < C * C; i++)
        weight[i] += dwk[i];
    for (size_t i = 0; i < C; i++)
        bias[i] += dbk[i];
}

const struct pes_symmetry pes_symmetry_psd = {
    .name = "psd",
    .summary = "keys equal queries: M = W_q^T W_q",
    .source = "Kitaev et al. 2020, arXiv 2001.04451, sec. 2 (shared QK); Tsai et al. 2019, arXiv 1908.11775, "
              "sec. 3.1",
    .expand = expand,
    .reduce = reduce,
};
