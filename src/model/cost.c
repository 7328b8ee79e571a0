/* cost.c - what a model costs before it is built: operations, and the size of a micro-batch. */
#include "internal.h"

/* Tokens that keep a layer's activations in the last-level cache while matrix products stay long enough. */
enum { MICRO_BATCH_TOKENS = 256 };

int pes_model_micro_batch(const struct pes_model_config *config)
{
    int T = config->shape.T;
    return PES_MAX(1, (MICRO_BATCH_TOKENS + T / 2) / T);
}

double pes_model_flops(const struct pes_model_config *config, int T)
{
    const struct pes_shape *shape = &config->shape;
    struct pes_sizes sizes;
    pes_model_sizes(config, &sizes);
    double C = shape->C, H = shape->H, tokens = T;
    double visible = shape->causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
    double per_token = C * (double)sizes.stage_columns; /* multiply-adds */
    if (config->mla)
        per_token += (double)config->d_latent * ((double)sizes.q_columns + 2 * (double)sizes.v_columns);
    per_token += (double)sizes.v_columns * C + 2 * C * shape->F;
    double attention = visible * H * (sizes.W + sizes.Dv);
    double rows = config->objective == PES_OBJECTIVE_LM ? tokens : 1;
    return 2 * (shape->L * (tokens * per_token + attention) + rows * C * shape->classes);
}
