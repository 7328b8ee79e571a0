/* kerple.c - kernelised relative positions: a bias from a conditionally positive definite kernel of the
 * distance.
 *
 * log:   bias(d) = -r1 log(1 + r2 |d|),  r1, r2 > 0
 * power: bias(d) = -a |d|^p,             a > 0, 0 < p < 2
 * Per layer and head; r1 = e^x, r2 = e^y, a = e^x, p = 2 / (1 + e^-y), x and y from N(0, 1). */
#include "pesweep/position.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"log", "power", NULL};

static const struct pes_key keys[] = {{.path = "model.kerple_kernel",
                                       .type = PES_VALUE_CHOICE,
                                       .choices = kinds,
                                       .fallback = "log",
                                       .unit = "",
                                       .help = "log: -r1 log(1 + r2 d); power: -a d^p with p below 2"},
                                      {.path = NULL}};

static enum pes_status declare(const struct pes_position_site *site, struct pes_tensor_table *table)
{
    size_t shape[2] = {2, (size_t)site->shape.H};
    for (int layer = 0; layer < site->shape.L; layer++)
        if (site->layers >> layer & 1)
            TRY(pes_tensor_add_layer(table, layer, "attn.kerple", PES_TENSOR_TABLE, 1, 1.0, 2, shape));
    return PES_OK;
}

/* The bias at a distance and its derivatives with respect to x and y. */
struct kernel {
    bool power;
    double x, y;
};

static struct kernel kernel_of(const struct pes_position_site *site, const struct pes_parameters *parameters,
                               int layer, int head)
{
    const real *table = pes_parameters_get(parameters, layer, "attn.kerple");
    return (struct kernel){strcmp(pes_config_text(site->config, "model.kerple_kernel"), "power") == 0,
                           (double)table[head], (double)table[site->shape.H + head]};
}

static double evaluate(const struct kernel *kernel, int distance, double *dx, double *dy)
{
    double value;
    if (kernel->power) {
        double scale = exp(kernel->x), exponent = 2 / (1 + exp(-kernel->y));
        value = distance ? -scale * pow(distance, exponent) : 0;
        *dy = distance ? value * log(distance) * exponent * (1 - exponent / 2) : 0;
    } else {
        double scale = exp(kernel->x), rate = exp(kernel->y) * distance;
        value = -scale * log1p(rate);
        *dy = -scale * rate / (1 + rate);
    }
    *dx = value;
    return value;
}

static void bias_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                         int layer, int head, int T, real *bias)
{
    struct kernel kernel = kernel_of(site, parameters, layer, head);
    double dx, dy;
    for (int d = 1 - T; d < T; d++)
        bias[d + T - 1] = (real)evaluate(&kernel, abs(d), &dx, &dy);
}

static void bias_backward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int layer, int head, int T, const real *dbias)
{
    struct kernel kernel = kernel_of(site, parameters, layer, head);
    double sum_x = 0, sum_y = 0, dx, dy;
    for (int d = 1 - T; d < T; d++) {
        (void)evaluate(&kernel, abs(d), &dx, &dy);
        sum_x += dx * (double)dbias[d + T - 1];
        sum_y += dy * (double)dbias[d + T - 1];
    }
    real *gradient = pes_parameters_gradient(parameters, layer, "attn.kerple");
    gradient[head] += (real)sum_x;
    gradient[site->shape.H + head] += (real)sum_y;
}

const struct pes_position pes_position_kerple = {
    .name = "kerple",
    .summary = "a bias from a kernel of the distance with two trained numbers per layer and head",
    .source = "Chi et al. 2022, arXiv 2205.09921, logarithmic and power variants",
    .family = PES_POSITION_ADDITIVE,
    .keys = keys,
    .declare = declare,
    .bias_forward = bias_forward,
    .bias_backward = bias_backward,
};
