/* alibi.c - a penalty on the scores that is linear in the distance, with a fixed slope per head.
 *
 * bias(i, j) = -slope_h |i - j|.  Slopes belong to the head's number among all H heads, whichever heads the
 * scheme acts on. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const slope_rules[] = {"power_of_two", "exponential", NULL};

static const struct pes_key keys[] = {
    {.path = "model.alibi_slopes",
     .type = PES_VALUE_CHOICE,
     .choices = slope_rules,
     .fallback = "power_of_two",
     .unit = "",
     .help = "power_of_two: 2^(-8(h+1)/H), interleaved where H is no power of two; exponential: exp(-h/H)"},
    {.path = NULL}};

/* H heads: the c slopes of the largest power of two c <= H, then the odd-numbered ones of 2c. */
double pes_position_alibi_slope(int head, int H)
{
    int power = 1;
    while (2 * power <= H)
        power *= 2;
    if (head < power) return exp2(-8.0 * (head + 1) / power);
    return exp2(-8.0 * (2 * (head - power) + 1) / (2 * power));
}

static void bias_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                         int layer, int head, int T, real *bias)
{
    (void)parameters, (void)layer;
    bool exponential = strcmp(pes_config_text(site->config, "model.alibi_slopes"), "exponential") == 0;
    int H = site->shape.H;
    double slope = exponential ? exp(-(double)head / H) : pes_position_alibi_slope(head, H);
    for (int d = 1 - T; d < T; d++)
        bias[d + T - 1] = (real)(-slope * abs(d));
}

const struct pes_position pes_position_alibi = {
    .name = "alibi",
    .summary = "scores fall linearly with the distance, a fixed slope per head",
    .source = "Press et al. 2022, arXiv 2108.12409, sec. 3",
    .family = PES_POSITION_ADDITIVE,
    .keys = keys,
    .bias_forward = bias_forward,
};
