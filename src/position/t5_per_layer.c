/* t5_per_layer.c - T5 buckets with a table of its own in every layer. */
#include "common.h"

static enum pes_status declare(const struct pes_position_site *site, struct pes_tensor_table *table)
{
    size_t shape[2] = {(size_t)pes_config_int(site->config, "model.t5_buckets"), (size_t)site->shape.H};
    for (int layer = 0; layer < site->shape.L; layer++)
        if (site->layers >> layer & 1)
            TRY(pes_tensor_add_layer(table, layer, "attn.t5_bias", PES_TENSOR_TABLE, 1, 0.02, 2, shape));
    return PES_OK;
}

static void bias_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                         int layer, int head, int T, real *bias)
{
    pes_position_bucket_forward(site, pes_parameters_get(parameters, layer, "attn.t5_bias"), head, T, bias);
}

static void bias_backward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int layer, int head, int T, const real *dbias)
{
    pes_position_bucket_backward(site, pes_parameters_gradient(parameters, layer, "attn.t5_bias"), head, T,
                                 dbias);
}

const struct pes_position pes_position_t5_per_layer = {
    .name = "t5_per_layer",
    .summary = "a learned scalar per bucket of offsets and head, a table for every layer",
    .source = "Raffel et al. 2020, arXiv 1910.10683, sec. 2.1, without the sharing across layers",
    .family = PES_POSITION_ADDITIVE,
    .keys = pes_position_bucket_keys,
    .check = pes_position_check_buckets,
    .declare = declare,
    .bias_forward = bias_forward,
    .bias_backward = bias_backward,
};
