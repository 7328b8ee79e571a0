/* create.c - the tensors of a model, where they stand, and how they start. */
#include "internal.h"

#include <math.h>
#include <string.h>

struct pes_position_site pes_model_site(const struct pes_model_config *config)
{
    return (struct pes_position_site){config->config, config->shape, config->pe_heads, config->pe_layers};
}

bool pes_model_acts(const struct pes_model_config *config, int layer, int head)
{
    return pes_has(config->pe_layers, layer) && pes_has(config->pe_heads, head);
}

void pes_model_sizes(const struct pes_model_config *config, struct pes_sizes *sizes)
{
    const struct pes_shape *shape = &config->shape;
    const struct pes_position *position = config->position;
    struct pes_position_site site = pes_model_site(config);
    int rotary_width = config->mla ? config->d_rope : shape->D;
    size_t H = (size_t)shape->H, latent = (size_t)config->d_latent;
    *sizes = (struct pes_sizes){.W = config->mla ? shape->D + config->d_rope : shape->D, .Dv = shape->D};
    if (position->rotation_pairs) sizes->pairs = position->rotation_pairs(&site, rotary_width);
    sizes->rotated_first = config->mla ? shape->D : 0;
    sizes->drops_phase = position->drops_phase && position->drops_phase(&site);
    sizes->q_columns = H * (size_t)sizes->W;
    sizes->k_columns = sizes->q_columns;
    sizes->v_columns = H * (size_t)sizes->Dv;
    sizes->qkv_columns = sizes->q_columns + sizes->k_columns + sizes->v_columns;
    sizes->stage_q = config->mla ? latent : sizes->q_columns;
    sizes->stage_kv = config->mla ? latent + (size_t)config->d_rope : sizes->k_columns + sizes->v_columns;
    sizes->stage_columns = sizes->stage_q + sizes->stage_kv;
    sizes->biased = !config->mla;
}

/* --- tensors ------------------------------------------------------------------------------------------ */

/* Adds a tensor and notes its place; layer < 0: not a layer's. */
static enum pes_status add(struct pes_tensor_table *table, int layer, const char *name,
                           enum pes_tensor_role role, size_t fan_in, size_t rows, size_t columns,
                           size_t *place)
{
    size_t shape[2] = {rows, columns};
    size_t index = table->num_tensors;
    TRY(pes_tensor_add_layer(table, layer, name, role, fan_in, 0, columns ? 2 : 1, shape));
    *place = table->tensors[index].offset;
    return PES_OK;
}

static enum pes_status add_norm(struct pes_tensor_table *table, int layer, const char *gain, const char *bias,
                                size_t C, size_t places[2])
{
    TRY(add(table, layer, gain, PES_TENSOR_GAIN, 1, C, 0, &places[0]));
    return add(table, layer, bias, PES_TENSOR_SHIFT, 1, C, 0, &places[1]);
}

/* Weight [out, in] and bias [out]. */
static enum pes_status add_linear(struct pes_tensor_table *table, int layer, const char *weight,
                                  const char *bias, size_t out, size_t in, size_t places[2])
{
    TRY(add(table, layer, weight, PES_TENSOR_WEIGHT, in, out, in, &places[0]));
    return add(table, layer, bias, PES_TENSOR_BIAS, in, out, 0, &places[1]);
}

static enum pes_status add_attention(const struct pes_model_config *config, struct pes_tensor_table *table,
                                     int layer, struct pes_layer_places *at)
{
    size_t C = (size_t)config->shape.C, place[2];
    TRY(add_linear(table, layer, "attn.wq", "attn.bq", C, C, place));
    at->wq = place[0], at->bq = place[1];
    if (config->symmetry->declare)
        TRY(config->symmetry->declare(&pes_product_query_key, config->config, &config->shape, layer, table));
    TRY(add_linear(table, layer, "attn.wv", "attn.bv", C, C, place));
    at->wv = place[0], at->bv = place[1];
    return PES_OK;
}

static enum pes_status add_latent_attention(const struct pes_model_config *config,
                                            struct pes_tensor_table *table, int layer,
                                            struct pes_layer_places *at)
{
    size_t C = (size_t)config->shape.C, H = (size_t)config->shape.H, D = (size_t)config->shape.D;
    size_t latent = (size_t)config->d_latent, rope = (size_t)config->d_rope;
    const enum pes_tensor_role weight = PES_TENSOR_WEIGHT;
    TRY(add(table, layer, "attn.w_dq", weight, C, latent, C, &at->w_dq));
    TRY(add(table, layer, "attn.w_dkv", weight, C, latent, C, &at->w_dkv));
    TRY(add(table, layer, "attn.w_uq", weight, latent, H * D, latent, &at->w_uq));
    TRY(add(table, layer, "attn.w_uk", weight, latent, H * D, latent, &at->w_uk));
    TRY(add(table, layer, "attn.w_uv", weight, latent, H * D, latent, &at->w_uv));
    if (rope) {
        size_t queries = config->published.query ? 1 : H;
        TRY(add(table, layer, "attn.w_qr", weight, latent, queries * rope, latent, &at->w_qr));
        TRY(add(table, layer, "attn.w_kr", weight, C, rope, C, &at->w_kr));
    }
    if (config->latent_norm) {
        TRY(add(table, layer, "attn.q_norm.weight", PES_TENSOR_GAIN, 1, latent, 0, &at->q_norm));
        TRY(add(table, layer, "attn.kv_norm.weight", PES_TENSOR_GAIN, 1, latent, 0, &at->kv_norm));
    }
    return PES_OK;
}

/* W_o and its bias; where a constraint makes W_o from W_v, the constraint's scales take its place. */
static enum pes_status add_attention_output(const struct pes_model_config *config,
                                            struct pes_tensor_table *table, int layer,
                                            struct pes_layer_places *at)
{
    size_t C = (size_t)config->shape.C, columns = (size_t)config->shape.H * (size_t)config->shape.D, place[2];
    if (!pes_output_follows(config)) {
        TRY(add_linear(table, layer, "attn.wo", "attn.bo", C, columns, place));
        at->wo = place[0], at->bo = place[1];
        return PES_OK;
    }
    if (config->value_symmetry->declare)
        TRY(config->value_symmetry->declare(&pes_product_value_output, config->config, &config->shape, layer,
                                            table));
    return add(table, layer, "attn.bo", PES_TENSOR_BIAS, columns, C, 0, &at->bo);
}

static enum pes_status add_layer(const struct pes_model_config *config, struct pes_tensor_table *table,
                                 int layer, struct pes_layer_places *at)
{
    size_t C = (size_t)config->shape.C, F = (size_t)config->shape.F, place[2];
    memset(at, 0xff, sizeof *at); /* every place is PES_NO_TENSOR */
    TRY(add_norm(table, layer, "norm1.weight", "norm1.bias", C, place));
    at->norm1 = place[0], at->norm1_bias = place[1];
    if (config->mla)
        TRY(add_latent_attention(config, table, layer, at));
    else
        TRY(add_attention(config, table, layer, at));
    TRY(add_attention_output(config, table, layer, at));
    if (!F) return PES_OK;
    TRY(add_norm(table, layer, "norm2.weight", "norm2.bias", C, place));
    at->norm2 = place[0], at->norm2_bias = place[1];
    TRY(add_linear(table, layer, "ffn.w1", "ffn.b1", F, C, place));
    at->w1 = place[0], at->b1 = place[1];
    TRY(add_linear(table, layer, "ffn.w2", "ffn.b2", C, F, place));
    at->w2 = place[0], at->b2 = place[1];
    return PES_OK;
}

static enum pes_status add_all(struct pes_model *model)
{
    const struct pes_model_config *config = &model->config;
    struct pes_tensor_table *table = &model->tensors;
    struct pes_model_places *at = model->places;
    size_t C = (size_t)config->shape.C, place[2];
    TRY(add(table, -1, "embed.tokens", PES_TENSOR_EMBEDDING, C, (size_t)config->shape.V, C, &at->tokens));
    at->positions = PES_NO_TENSOR;
    if (config->published.positions)
        TRY(add(table, -1, "embed.positions", PES_TENSOR_TABLE, C, (size_t)config->shape.T, C,
                &at->positions));
    struct pes_position_site site = pes_model_site(config);
    if (config->position->declare) TRY(config->position->declare(&site, table));
    for (int layer = 0; layer < config->shape.L; layer++)
        TRY(add_layer(config, table, layer, &at->layers[layer]));
    at->norm_f = at->norm_f_bias = PES_NO_TENSOR;
    if (config->final_norm) {
        TRY(add_norm(table, -1, "norm_f.weight", "norm_f.bias", C, place));
        at->norm_f = place[0], at->norm_f_bias = place[1];
    }
    TRY(add_linear(table, -1, "head.weight", "head.bias", (size_t)config->shape.classes, C, place));
    at->head = place[0], at->head_bias = place[1];
    return PES_OK;
}

enum pes_status pes_model_create(const struct pes_model_config *config, struct pes_arena *arena,
                                 struct pes_model **model)
{
    TRY(pes_model_check(config));
    struct pes_model *created = pes_arena_take(arena, 1, sizeof *created);
    if (!created) return PES_MEMORY;
    created->config = *config;
    created->tensors.arena = arena;
    created->places = pes_arena_take(arena, 1, sizeof *created->places);
    if (!created->places) return PES_MEMORY;
    TRY(add_all(created));
    *model = created;
    return PES_OK;
}

/* --- initial values ----------------------------------------------------------------------------------- */

static double initial_value(const struct pes_model_config *config, const struct pes_tensor *tensor,
                            const struct pes_rng *rng, uint64_t element)
{
    bool normal = config->init == PES_INIT_NORMAL;
    double uniform_bound = 1 / sqrt((double)tensor->fan_in);
    switch (tensor->role) {
    case PES_TENSOR_WEIGHT:
        if (normal) return config->init_std * pes_rng_normal(rng, element);
        return uniform_bound * (2 * pes_rng_uniform(rng, element) - 1);
    case PES_TENSOR_BIAS:
        return normal ? 0 : uniform_bound * (2 * pes_rng_uniform(rng, element) - 1);
    case PES_TENSOR_GAIN:
        return 1;
    case PES_TENSOR_SHIFT:
        return 0;
    case PES_TENSOR_EMBEDDING:
        if (tensor->std > 0) return tensor->std * pes_rng_normal(rng, element);
        return (normal ? config->init_std : 1) * pes_rng_normal(rng, element);
    case PES_TENSOR_TABLE:
        return tensor->std * pes_rng_normal(rng, element);
    case PES_TENSOR_SCALE:
        return tensor->alternate_sign && element % 2 ? -1 : 1;
    }
    return 0;
}

void pes_model_init(const struct pes_model *model, uint64_t seed, real *parameters)
{
    const struct pes_tensor_table *table = &model->tensors;
    memset(parameters, 0, table->num_parameters * sizeof *parameters);
    for (size_t i = 0; i < table->num_tensors; i++) {
        const struct pes_tensor *tensor = &table->tensors[i];
        struct pes_rng rng = {.seed = pes_rng_named_seed(seed, tensor->name), .purpose = PES_RNG_INIT};
        for (size_t e = 0; e < tensor->count; e++)
            parameters[tensor->offset + e] = (real)initial_value(&model->config, tensor, &rng, e);
    }
}
