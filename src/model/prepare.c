/* prepare.c - what one set of parameters and one intervention fix for all micro-batches. */
#include "internal.h"

#include <string.h>

static struct pes_parameters parameters_of(const struct pes_model *model, const real *values)
{
    return (struct pes_parameters){.table = &model->tensors, .values = values};
}

/* --- weights ------------------------------------------------------------------------------------------ */

void pes_prepare_stage(const struct pes_model *model, const struct pes_parameters *parameters, int layer,
                       real *w, real *b)
{
    const struct pes_model_config *config = &model->config;
    const struct pes_layer_places *at = &model->places->layers[layer];
    const real *values = parameters->values;
    size_t C = (size_t)config->shape.C, bytes = sizeof *w;
    if (config->mla) {
        size_t latent = (size_t)config->d_latent, rope = (size_t)config->d_rope;
        memcpy(w, values + at->w_dq, latent * C * bytes);
        memcpy(w + latent * C, values + at->w_dkv, latent * C * bytes);
        if (rope) memcpy(w + 2 * latent * C, values + at->w_kr, rope * C * bytes);
        return;
    }
    memcpy(w, values + at->wq, C * C * bytes);
    memcpy(b, values + at->bq, C * bytes);
    config->symmetry->expand(&pes_product_query_key, config->config, &config->shape, layer, parameters,
                             w + C * C, b + C);
    memcpy(w + 2 * C * C, values + at->wv, C * C * bytes);
    memcpy(b + 2 * C, values + at->bv, C * bytes);
}

/* Rows of head h: D of u_q then rope of w_qr; of u_kv: D of u_k and unit rows for k_r, then all heads' u_v.
 */
static void prepare_second_stage(const struct pes_model *model, const real *values, int layer, real *up_q,
                                 real *up_kv)
{
    const struct pes_model_config *config = &model->config;
    const struct pes_layer_places *at = &model->places->layers[layer];
    size_t H = (size_t)config->shape.H, D = (size_t)config->shape.D, latent = (size_t)config->d_latent;
    size_t rope = (size_t)config->d_rope, in = latent + rope;
    memset(up_kv, 0, (H * (D + rope) + H * D) * in * sizeof *up_kv);
    for (size_t h = 0; h < H; h++) {
        real *q = up_q + h * (D + rope) * latent, *k = up_kv + h * (D + rope) * in;
        memcpy(q, values + at->w_uq + h * D * latent, D * latent * sizeof *q);
        size_t rotary = config->published.query ? 0 : h * rope * latent;
        if (rope) memcpy(q + D * latent, values + at->w_qr + rotary, rope * latent * sizeof *q);
        for (size_t r = 0; r < D; r++)
            memcpy(k + r * in, values + at->w_uk + (h * D + r) * latent, latent * sizeof *k);
        for (size_t r = 0; r < rope; r++)
            k[(D + r) * in + latent + r] = 1;
    }
    real *v = up_kv + H * (D + rope) * in;
    for (size_t r = 0; r < H * D; r++)
        memcpy(v + r * in, values + at->w_uv + r * latent, latent * sizeof *v);
}

/* The output projection [C][H Dv] and its transpose, or what a constraint makes of the values. */
static void prepare_output(const struct pes_workspace *workspace, const struct pes_parameters *parameters,
                           int index)
{
    const struct pes_model_config *config = &workspace->model->config;
    const struct pes_layer_places *at = &workspace->model->places->layers[index];
    const struct pes_layer_work *layer = &workspace->layers[index];
    size_t C = (size_t)config->shape.C, columns = workspace->sizes.v_columns;
    if (!pes_output_follows(config)) {
        pes_transpose(layer->wo_t, C, parameters->values + at->wo, columns, C, columns);
        return;
    }
    config->value_symmetry->expand(&pes_product_value_output, config->config, &config->shape, index,
                                   parameters, layer->wo_t, NULL);
    if (workspace->training) pes_transpose(layer->wo, columns, layer->wo_t, C, columns, C);
}

/* Zeroes the columns of the second stage that read the latents' columns of the given heads' numbers. */
static void drop_latent_columns(const struct pes_model_config *config, uint64_t heads, real *up_q,
                                real *up_kv)
{
    size_t H = (size_t)config->shape.H, D = (size_t)config->shape.D, latent = (size_t)config->d_latent;
    size_t rope = (size_t)config->d_rope, in = latent + rope, W = D + rope;
    for (size_t column = 0; column < PES_MIN(latent, H * D); column++) {
        if (!pes_has(heads, (int)(column / D))) continue;
        for (size_t r = 0; r < H * D; r++) {
            size_t row = r / D * W + r % D;
            up_q[row * latent + column] = 0;
            up_kv[row * in + column] = 0;
            up_kv[(H * W + r) * in + column] = 0;
        }
    }
}

static void prepare_layer(const struct pes_workspace *workspace, const struct pes_parameters *parameters,
                          int index)
{
    const struct pes_model *model = workspace->model;
    const struct pes_layer_places *at = &model->places->layers[index];
    const struct pes_sizes *sizes = &workspace->sizes;
    struct pes_layer_work *layer = &workspace->layers[index];
    size_t C = (size_t)model->config.shape.C, F = (size_t)model->config.shape.F, stage = sizes->stage_columns;
    pes_prepare_stage(model, parameters, index, layer->w, layer->b);
    pes_transpose(layer->wt, stage, layer->w, C, stage, C);
    if (model->config.mla) {
        size_t q = sizes->q_columns, kv = sizes->k_columns + sizes->v_columns;
        prepare_second_stage(model, parameters->values, index, layer->up_q, layer->up_kv);
        if (workspace->latent[index])
            drop_latent_columns(&model->config, workspace->latent[index], layer->up_q, layer->up_kv);
        pes_transpose(layer->up_qt, q, layer->up_q, sizes->stage_q, q, sizes->stage_q);
        pes_transpose(layer->up_kvt, kv, layer->up_kv, sizes->stage_kv, kv, sizes->stage_kv);
    }
    prepare_output(workspace, parameters, index);
    if (!F) return;
    pes_transpose(layer->w1_t, F, parameters->values + at->w1, C, F, C);
    pes_transpose(layer->w2_t, C, parameters->values + at->w2, F, C, F);
}

/* --- positions ---------------------------------------------------------------------------------------- */

static void prepare_embedding(const struct pes_workspace *workspace, const struct pes_position_site *site,
                              const struct pes_parameters *parameters)
{
    const struct pes_model_config *config = &workspace->model->config;
    size_t count = (size_t)config->shape.T * (size_t)config->shape.C;
    if (config->position->embed_forward)
        config->position->embed_forward(site, parameters, config->shape.T, workspace->position);
    else
        memset(workspace->position, 0, count * sizeof *workspace->position);
    if (!config->published.positions) return;
    const real *positions = parameters->values + workspace->model->places->positions;
    for (size_t i = 0; i < count; i++)
        workspace->position[i] += positions[i];
}

static void prepare_position(const struct pes_workspace *workspace, const struct pes_parameters *parameters)
{
    const struct pes_model_config *config = &workspace->model->config;
    const struct pes_position *position = config->position;
    struct pes_position_site site = pes_model_site(config);
    int T = config->shape.T, H = config->shape.H;
    if (workspace->position) prepare_embedding(workspace, &site, parameters);
    for (int layer = 0; workspace->bias && layer < config->shape.L; layer++)
        for (int head = 0; head < H; head++) {
            real *bias = workspace->bias + (size_t)(layer * H + head) * workspace->bias_stride;
            if (pes_model_acts(config, layer, head))
                position->bias_forward(&site, parameters, layer, head, T, bias + PES_BIAS_MARGIN);
        }
}

/* One section's angles are the plain ones, twice where a pair (a, b) becomes (a, 0), (b, 0). */
static void expand_rotation(const struct pes_workspace *workspace, struct pes_expansion *expansion,
                            bool zeroed)
{
    int T = workspace->model->config.shape.T, pairs = workspace->sizes.pairs, per_section = 0;
    for (int t = 0; t < pairs; t++)
        per_section += zeroed && pes_drops_phase(workspace, t) ? 2 : 1;
    expansion->pairs = per_section * expansion->sections;
    for (int i = 0; i < T; i++) {
        size_t to = 2 * (size_t)i * (size_t)expansion->pairs;
        for (int section = 0; section < expansion->sections; section++)
            for (int t = 0; t < pairs; t++) {
                size_t from = 2 * ((size_t)i * (size_t)pairs + (size_t)t);
                int copies = zeroed && pes_drops_phase(workspace, t) ? 2 : 1;
                for (int copy = 0; copy < copies; copy++, to += 2) {
                    memcpy(expansion->rotation_q + to, workspace->rotation_q + from, 2 * sizeof(real));
                    memcpy(expansion->rotation_k + to, workspace->rotation_k + from, 2 * sizeof(real));
                }
            }
    }
}

/* --- interventions ------------------------------------------------------------------------------------ */

static void copy_sets(uint64_t *to, const uint64_t *from, int L, bool *any)
{
    for (int layer = 0; layer < L; layer++) {
        to[layer] = from ? from[layer] : 0;
        if (to[layer]) *any = true;
    }
}

static void prepare_intervention(struct pes_workspace *workspace, const struct pes_intervention *intervention)
{
    static const struct pes_intervention none;
    const struct pes_model_config *config = &workspace->model->config;
    int L = config->shape.L;
    if (!intervention) intervention = &none;
    bool ablates = false, zeroes = false, symmetrises = false, drops = false;
    copy_sets(workspace->ablate, intervention->ablate, L, &ablates);
    copy_sets(workspace->latent, intervention->latent, L, &drops);
    copy_sets(workspace->zeroed, intervention->phase_zeroed, L, &zeroes);
    copy_sets(workspace->symmetrised, intervention->symmetrised, L, &symmetrises);
    workspace->intervenes = ablates || zeroes || symmetrises || drops;
    CHECK(!drops || config->mla);
    CHECK(!workspace->training || !workspace->intervenes);
    workspace->frequencies = intervention->frequencies;
    workspace->part_sign = intervention->part == PES_PART_SYMMETRIC ? 1 : -1;
    for (int layer = 0; workspace->sizes.drops_phase && layer < L; layer++)
        workspace->zeroed[layer] = UINT64_MAX;
    if (zeroes || workspace->sizes.drops_phase)
        expand_rotation(workspace, &workspace->expansions[1][0], true);
    if (!symmetrises) return;
    expand_rotation(workspace, &workspace->expansions[0][1], false);
    expand_rotation(workspace, &workspace->expansions[1][1], true);
}

static void zero(real *gradient, size_t count)
{
    memset(gradient, 0, count * sizeof *gradient);
}

/* The gradients that pes_model_finish hands out. */
static void zero_gradients(const struct pes_workspace *workspace)
{
    const struct pes_shape *shape = &workspace->model->config.shape;
    const struct pes_sizes *sizes = &workspace->sizes;
    size_t C = (size_t)shape->C, stage = sizes->stage_columns;
    for (int index = 0; index < shape->L; index++) {
        const struct pes_layer_work *layer = &workspace->layers[index];
        zero(layer->dw, stage * C);
        if (sizes->biased) zero(layer->db, stage);
        if (layer->dwo_t) zero(layer->dwo_t, sizes->v_columns * C);
        if (!workspace->model->config.mla) continue;
        zero(layer->dup_q, sizes->q_columns * sizes->stage_q);
        zero(layer->dup_kv, (sizes->k_columns + sizes->v_columns) * sizes->stage_kv);
    }
    if (workspace->dposition) zero(workspace->dposition, (size_t)shape->T * C);
    if (workspace->dbias) zero(workspace->dbias, (size_t)(shape->L * shape->H) * workspace->bias_stride);
}

void pes_model_prepare(const struct pes_model *model, struct pes_workspace *workspace, const real *parameters,
                       const struct pes_intervention *intervention)
{
    CHECK(workspace->model == model);
    struct pes_parameters values = parameters_of(model, parameters);
    workspace->parameters = parameters;
    prepare_intervention(workspace, intervention);
    for (int layer = 0; layer < model->config.shape.L; layer++)
        prepare_layer(workspace, &values, layer);
    size_t C = (size_t)model->config.shape.C, classes = (size_t)model->config.shape.classes;
    pes_transpose(workspace->head_t, classes, parameters + model->places->head, C, classes, C);
    prepare_position(workspace, &values);
    if (workspace->training) zero_gradients(workspace);
}
