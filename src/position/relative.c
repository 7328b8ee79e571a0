/* relative.c - one learned scalar per offset, head and layer added to the scores.
 *
 * Invariant: the table [2T - 1, H] is indexed by key - query + T - 1; the bias table runs the other way. */
#include "pesweep/position.h"

static enum pes_status declare(const struct pes_position_site *site, struct pes_tensor_table *table)
{
    size_t shape[2] = {(size_t)(2 * site->shape.T - 1), (size_t)site->shape.H};
    for (int layer = 0; layer < site->shape.L; layer++)
        if (site->layers >> layer & 1)
            TRY(pes_tensor_add_layer(table, layer, "attn.rel_bias", PES_TENSOR_TABLE, 1, 0.02, 2, shape));
    return PES_OK;
}

static void bias_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                         int layer, int head, int T, real *bias)
{
    const real *table = pes_parameters_get(parameters, layer, "attn.rel_bias");
    for (int d = 1 - T; d < T; d++)
        bias[d + T - 1] = table[(site->shape.T - 1 - d) * site->shape.H + head];
}

static void bias_backward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int layer, int head, int T, const real *dbias)
{
    real *gradient = pes_parameters_gradient(parameters, layer, "attn.rel_bias");
    for (int d = 1 - T; d < T; d++)
        gradient[(site->shape.T - 1 - d) * site->shape.H + head] += dbias[d + T - 1];
}

const struct pes_position pes_position_relative = {
    .name = "relative",
    .summary = "a learned scalar per offset, head and layer added to the scores",
    .source =
        "the unbucketed form of Raffel et al. 2020, arXiv 1910.10683, sec. 2.1; Gu et al., arXiv 2505.13027",
    .family = PES_POSITION_ADDITIVE,
    .tabled = true,
    .declare = declare,
    .bias_forward = bias_forward,
    .bias_backward = bias_backward,
};
