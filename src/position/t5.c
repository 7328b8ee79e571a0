/* t5.c - a learned scalar per bucket of offsets and head, one table for all layers. */
#include "common.h"

static enum pes_status declare(const struct pes_position_site *site, struct pes_tensor_table *table)
{
    size_t shape[2] = {(size_t)pes_config_int(site->config, "model.t5_buckets"), (size_t)site->shape.H};
    return pes_tensor_add(table, "t5_bias", PES_TENSOR_TABLE, 1, 0.02, 2, shape);
}

static void bias_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                         int layer, int head, int T, real *bias)
{
    (void)layer;
    pes_position_bucket_forward(site, pes_parameters_get(parameters, -1, "t5_bias"), head, T, bias);
}

static void bias_backward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int layer, int head, int T, const real *dbias)
{
    (void)layer;
    pes_position_bucket_backward(site, pes_parameters_gradient(parameters, -1, "t5_bias"), head, T, dbias);
}

const struct pes_position pes_position_t5 = {
    .name = "t5",
    .summary = "a learned scalar per bucket of offsets and head, one table for all layers",
    .source = "Raffel et al. 2020, arXiv 1910.10683, sec. 2.1",
    .family = PES_POSITION_ADDITIVE,
    .keys = pes_position_bucket_keys,
    .check = pes_position_check_buckets,
    .declare = declare,
    .bias_forward = bias_forward,
    .bias_backward = bias_backward,
};
