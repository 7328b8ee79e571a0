/* learned.c - a learned vector per position added to the embedding. */
#include "pesweep/position.h"

#include <string.h>

static const struct pes_key keys[] = {
    {.path = "model.position_std",
     .type = PES_VALUE_REAL,
     .min = 0,
     .max = 100,
     .fallback = "0",
     .unit = "",
     .help =
         "standard deviation of the starting table; 0: as the token embedding (1, or init_std under init: "
         "normal)"},
    {.path = NULL}};

static enum pes_status declare(const struct pes_position_site *site, struct pes_tensor_table *table)
{
    size_t shape[2] = {(size_t)site->shape.T, (size_t)site->shape.C};
    return pes_tensor_add(table, "embed.positions", PES_TENSOR_EMBEDDING, (size_t)site->shape.C,
                          pes_config_real(site->config, "model.position_std"), 2, shape);
}

static void embed_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int T, real *table)
{
    size_t count = (size_t)T * (size_t)site->shape.C;
    memcpy(table, pes_parameters_get(parameters, -1, "embed.positions"), count * sizeof *table);
}

static void embed_backward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                           int T, const real *dtable)
{
    real *gradient = pes_parameters_gradient(parameters, -1, "embed.positions");
    size_t count = (size_t)T * (size_t)site->shape.C;
    for (size_t i = 0; i < count; i++)
        gradient[i] += dtable[i];
}

const struct pes_position pes_position_learned = {
    .name = "learned",
    .summary = "a learned vector per position added to the embedding",
    .source = "Gehring et al. 2017, arXiv 1705.03122, sec. 3.1",
    .family = PES_POSITION_ABSOLUTE,
    .keys = keys,
    .tabled = true,
    .declare = declare,
    .embed_forward = embed_forward,
    .embed_backward = embed_backward,
};
