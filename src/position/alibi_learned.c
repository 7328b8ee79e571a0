/* alibi_learned.c - ALiBi whose slopes are trained, per layer and head.
 *
 * slope = (ALiBi's slope) * exp(p), p from 0: slopes stay positive and start where ALiBi has them. */
#include "common.h"

#include <math.h>
#include <stdlib.h>

static enum pes_status declare(const struct pes_position_site *site, struct pes_tensor_table *table)
{
    size_t shape[1] = {(size_t)site->shape.H};
    for (int layer = 0; layer < site->shape.L; layer++)
        if (site->layers >> layer & 1)
            TRY(pes_tensor_add_layer(table, layer, "attn.log_slope", PES_TENSOR_SHIFT, 1, 0, 1, shape));
    return PES_OK;
}

static double slope_of(const struct pes_position_site *site, const struct pes_parameters *parameters,
                       int layer, int head)
{
    double log_factor = (double)pes_parameters_get(parameters, layer, "attn.log_slope")[head];
    return pes_position_alibi_slope(head, site->shape.H) * exp(log_factor);
}

static void bias_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                         int layer, int head, int T, real *bias)
{
    double slope = slope_of(site, parameters, layer, head);
    for (int d = 1 - T; d < T; d++)
        bias[d + T - 1] = (real)(-slope * abs(d));
}

/* d bias / d p = bias. */
static void bias_backward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int layer, int head, int T, const real *dbias)
{
    double slope = slope_of(site, parameters, layer, head), sum = 0;
    for (int d = 1 - T; d < T; d++)
        sum -= slope * abs(d) * (double)dbias[d + T - 1];
    pes_parameters_gradient(parameters, layer, "attn.log_slope")[head] += (real)sum;
}

const struct pes_position pes_position_alibi_learned = {
    .name = "alibi_learned",
    .summary = "ALiBi with a trained slope per layer and head",
    .source = "Press et al. 2022, arXiv 2108.12409, sec. 3 (trainable slopes)",
    .family = PES_POSITION_ADDITIVE,
    .declare = declare,
    .bias_forward = bias_forward,
    .bias_backward = bias_backward,
};
