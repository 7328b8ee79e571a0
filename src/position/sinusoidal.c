/* sinusoidal.c - fixed sinusoids added to the embedding. */
#include "common.h"

static const struct pes_key keys[] = {{.path = "model.sinusoidal_base",
                                       .type = PES_VALUE_REAL,
                                       .min = 1,
                                       .max = 1e12,
                                       .min_open = true,
                                       .fallback = "10000",
                                       .unit = "",
                                       .help = "ratio of the longest to the shortest wavelength"},
                                      {.path = NULL}};

static void embed_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int T, real *table)
{
    (void)parameters;
    size_t count = (size_t)T * (size_t)site->shape.C;
    for (size_t i = 0; i < count; i++)
        table[i] = 0;
    pes_position_add_sinusoids(T, site->shape.C, pes_config_real(site->config, "model.sinusoidal_base"),
                               table);
}

const struct pes_position pes_position_sinusoidal = {
    .name = "sinusoidal",
    .summary = "fixed sines and cosines added to the embedding",
    .source = "Vaswani et al. 2017, arXiv 1706.03762, sec. 3.5",
    .family = PES_POSITION_ABSOLUTE,
    .keys = keys,
    .embed_forward = embed_forward,
};
