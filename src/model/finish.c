/* finish.c - after the last micro-batch: the soft penalty, and gradients of what prepare had expanded. */
#include "internal.h"

/* Mean over layers and heads of the ratio, with its gradient in the layers' dw. */
static double add_penalty(const struct pes_workspace *workspace, bool gradient)
{
    const struct pes_model *model = workspace->model;
    const struct pes_model_config *config = &model->config;
    const struct pes_parameters parameters = {.table = &model->tensors, .values = workspace->parameters};
    int L = config->shape.L, H = config->shape.H, D = config->shape.D, C = config->shape.C;
    double weight = config->penalty_weight / (L * H), sum = 0;
    for (int index = 0; index < L; index++) {
        const struct pes_layer_work *layer = &workspace->layers[index];
        if (!workspace->training) pes_prepare_stage(model, &parameters, index, layer->w, layer->b);
        for (int head = 0; head < H; head++) {
            bool rotates = workspace->sizes.pairs && pes_model_acts(config, index, head);
            int rows = config->penalty->paired && rotates ? 2 * workspace->sizes.pairs : D;
            size_t q = (size_t)(head * D) * (size_t)C, k = q + (size_t)C * (size_t)C;
            sum += config->penalty->head(rows, C, layer->w + q, layer->w + k, weight,
                                         gradient ? layer->dw + q : NULL, gradient ? layer->dw + k : NULL,
                                         workspace->penalty_scratch);
        }
    }
    return weight * sum;
}

static void add(real *to, const real *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void add_stage(const struct pes_workspace *workspace, const struct pes_parameters *parameters,
                      int index)
{
    const struct pes_model *model = workspace->model;
    const struct pes_model_config *config = &model->config;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &model->places->layers[index];
    real *gradient = parameters->gradient;
    size_t C = (size_t)config->shape.C, square = C * C;
    add(gradient + at->wq, layer->dw, square);
    add(gradient + at->bq, layer->db, C);
    add(gradient + at->wv, layer->dw + 2 * square, square);
    add(gradient + at->bv, layer->db + 2 * C, C);
    config->symmetry->reduce(&pes_product_query_key, config->config, &config->shape, index, parameters,
                             layer->dw + square, layer->db + C);
    if (pes_output_follows(config))
        config->value_symmetry->reduce(&pes_product_value_output, config->config, &config->shape, index,
                                       parameters, layer->dwo_t, NULL);
}

/* The rows of prepare_second_stage and prepare_stage, read backwards. */
static void add_latent_stages(const struct pes_workspace *workspace, real *gradient, int index)
{
    const struct pes_model_config *config = &workspace->model->config;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &workspace->model->places->layers[index];
    size_t C = (size_t)config->shape.C, H = (size_t)config->shape.H, D = (size_t)config->shape.D;
    size_t latent = (size_t)config->d_latent, rope = (size_t)config->d_rope, in = latent + rope;
    add(gradient + at->w_dq, layer->dw, latent * C);
    add(gradient + at->w_dkv, layer->dw + latent * C, latent * C);
    if (rope) add(gradient + at->w_kr, layer->dw + 2 * latent * C, rope * C);
    for (size_t h = 0; h < H; h++) {
        const real *q = layer->dup_q + h * (D + rope) * latent, *k = layer->dup_kv + h * (D + rope) * in;
        add(gradient + at->w_uq + h * D * latent, q, D * latent);
        size_t rotary = config->published.query ? 0 : h * rope * latent;
        if (rope) add(gradient + at->w_qr + rotary, q + D * latent, rope * latent);
        for (size_t r = 0; r < D; r++)
            add(gradient + at->w_uk + (h * D + r) * latent, k + r * in, latent);
    }
    const real *v = layer->dup_kv + H * (D + rope) * in;
    for (size_t r = 0; r < H * D; r++)
        add(gradient + at->w_uv + r * latent, v + r * in, latent);
}

static void add_position(const struct pes_workspace *workspace, const struct pes_parameters *parameters)
{
    const struct pes_model_config *config = &workspace->model->config;
    const struct pes_position *position = config->position;
    struct pes_position_site site = pes_model_site(config);
    int T = config->shape.T, H = config->shape.H;
    if (workspace->dposition && position->embed_backward)
        position->embed_backward(&site, parameters, T, workspace->dposition);
    if (config->published.positions)
        add(parameters->gradient + workspace->model->places->positions, workspace->dposition,
            (size_t)T * (size_t)config->shape.C);
    for (int layer = 0; workspace->dbias && layer < config->shape.L; layer++)
        for (int head = 0; head < H; head++) {
            const real *dbias = workspace->dbias + (size_t)(layer * H + head) * workspace->bias_stride;
            if (pes_model_acts(config, layer, head))
                position->bias_backward(&site, parameters, layer, head, T, dbias + PES_BIAS_MARGIN);
        }
}

double pes_model_finish(const struct pes_model *model, struct pes_workspace *workspace, real *gradient)
{
    CHECK(workspace->model == model && workspace->parameters);
    CHECK(!gradient || workspace->training);
    double penalty = model->config.penalty->head ? add_penalty(workspace, gradient != NULL) : 0;
    if (!gradient) return penalty;
    struct pes_parameters parameters = {&model->tensors, workspace->parameters, gradient};
    for (int layer = 0; layer < model->config.shape.L; layer++) {
        if (model->config.mla)
            add_latent_stages(workspace, gradient, layer);
        else
            add_stage(workspace, &parameters, layer);
    }
    add_position(workspace, &parameters);
    return penalty;
}
