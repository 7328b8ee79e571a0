/* xpos.c - RoPE whose pairs also shrink with the distance, the faster the higher their frequency.
 *
 * score of pair t: zeta_t^((i - j)/s) times RoPE's, zeta_t = (2t/r + gamma) / (1 + gamma), gamma = 0.4.  The
 * factor is split between the tables of queries (+i) and keys (-j), both counted from the middle to keep
 * powers small.  For keys after the query it would grow, so models must be causal. */
#include "common.h"

#include <math.h>

static const struct pes_key keys[] = {{.path = "model.rope_base",
                                       .type = PES_VALUE_REAL,
                                       .min = 1,
                                       .max = 1e12,
                                       .min_open = true,
                                       .fallback = "10000",
                                       .unit = "",
                                       .help = "w_t = base^(-2t/r) for pair t of r rotated columns"},
                                      {.path = "model.rotary_fraction",
                                       .type = PES_VALUE_REAL,
                                       .min = 0,
                                       .max = 1,
                                       .min_open = true,
                                       .fallback = "1",
                                       .unit = "",
                                       .help = "share of each head's columns that rotates, from the first"},
                                      {.path = "model.xpos_scale_base",
                                       .type = PES_VALUE_REAL,
                                       .min = 1,
                                       .max = 1e9,
                                       .fallback = "512",
                                       .unit = "token",
                                       .help = "distance over which pair t shrinks by zeta_t"},
                                      {.path = NULL}};

static const double gamma_constant = 0.4;

static enum pes_status check(const struct pes_position_site *site)
{
    TRY(pes_position_check_rotation("xpos", site->shape.D,
                                    pes_config_real(site->config, "model.rotary_fraction")));
    if (!site->shape.causal)
        return pes_fail(PES_INPUT, "xpos grows towards later keys, so model.causal must be true");
    return PES_OK;
}

static int rotation_pairs(const struct pes_position_site *site, int width)
{
    return pes_position_rotated_columns(width, pes_config_real(site->config, "model.rotary_fraction")) / 2;
}

static void rotation(const struct pes_position_site *site, int T, int pairs, real *table_q, real *table_k,
                     double *frequencies)
{
    double base = pes_config_real(site->config, "model.rope_base");
    double scale_base = pes_config_real(site->config, "model.xpos_scale_base");
    for (int t = 0; t < pairs; t++) {
        double w = pow(base, -(double)t / pairs);
        double zeta = ((double)t / pairs + gamma_constant) / (1 + gamma_constant);
        if (frequencies) frequencies[t] = w;
        for (int i = 0; i < T; i++) {
            size_t at = 2 * ((size_t)i * (size_t)pairs + (size_t)t);
            double scale = pow(zeta, (i - T / 2) / scale_base), c = cos(i * w), s = sin(i * w);
            if (table_q) table_q[at] = (real)(c * scale), table_q[at + 1] = (real)(s * scale);
            if (table_k) table_k[at] = (real)(c / scale), table_k[at + 1] = (real)(s / scale);
        }
    }
}

const struct pes_position pes_position_xpos = {
    .name = "xpos",
    .summary = "rope whose pairs shrink with the distance, the faster the higher their frequency",
    .source = "Sun et al. 2022, arXiv 2212.10554, algorithm 1",
    .family = PES_POSITION_ROTARY,
    .keys = keys,
    .check = check,
    .rotation_pairs = rotation_pairs,
    .rotation = rotation,
};
