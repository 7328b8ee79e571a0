/* configure.c - from a resolved configuration to a typed one, and what makes no sense together. */
#include "internal.h"

#include <math.h>
#include <string.h>

static const uint64_t all = UINT64_MAX;

/* --- what must hold ----------------------------------------------------------------------------------- */

static enum pes_status check_shape(const struct pes_model_config *config)
{
    const struct pes_shape *shape = &config->shape;
    if (shape->H < 1 || shape->H > PES_MAX_HEADS || shape->L < 1 || shape->L > PES_MAX_LAYERS)
        return pes_fail(PES_INPUT, "a model has 1 to %d heads and 1 to %d layers, not %d and %d",
                        PES_MAX_HEADS, PES_MAX_LAYERS, shape->H, shape->L);
    if (shape->C % shape->H)
        return pes_fail(PES_INPUT, "d_model %d is not divisible by %d heads", shape->C, shape->H);
    CHECK(shape->D * shape->H == shape->C);
    CHECK(shape->T >= 1 && shape->V >= 1 && shape->classes >= 1 && shape->F >= 0);
    return PES_OK;
}

/* The members of a set must exist; `all` stands for those there are. */
static enum pes_status check_set(const char *key, uint64_t set, int count, const char *what)
{
    if (set == all || count >= 64 || !(set >> count)) return PES_OK;
    int member = 63;
    while (!pes_has(set, member))
        member--;
    return pes_fail(PES_INPUT, "%s names %s %d, but there are %d of them, from 0", key, what, member, count);
}

static bool is_all(uint64_t set, int count)
{
    uint64_t members = count >= 64 ? all : ((uint64_t)1 << count) - 1;
    return (set & members) == members;
}

static enum pes_status check_position(const struct pes_model_config *config)
{
    const struct pes_position *position = config->position;
    const struct pes_shape *shape = &config->shape;
    TRY(check_set("pe_heads", config->pe_heads, shape->H, "head"));
    TRY(check_set("pe_layers", config->pe_layers, shape->L, "layer"));
    bool inside = position->family == PES_POSITION_ADDITIVE || position->family == PES_POSITION_ROTARY;
    bool chosen = !is_all(config->pe_heads, shape->H) || !is_all(config->pe_layers, shape->L);
    if (chosen && !inside)
        return pes_fail(PES_INPUT,
                        "pe_heads and pe_layers have no meaning with pe %s, which doesn't act inside "
                        "attention",
                        position->name);
    if (chosen && config->mla && position->family == PES_POSITION_ROTARY)
        return pes_fail(PES_INPUT,
                        "pe_heads and pe_layers have no meaning with attention mla, whose heads share "
                        "one rotary key");
    struct pes_position_site site = pes_model_site(config);
    if (config->mla && position->family == PES_POSITION_ROTARY) site.shape.D = config->d_rope;
    return position->check ? position->check(&site) : PES_OK;
}

static enum pes_status check_latent(const struct pes_model_config *config)
{
    bool rotary = config->position->family == PES_POSITION_ROTARY;
    if (config->d_latent < 1)
        return pes_fail(PES_INPUT, "d_latent is %d, but must be positive", config->d_latent);
    if (rotary != (config->d_rope > 0))
        return pes_fail(
            PES_INPUT,
            rotary ? "attention mla with pe %s needs d_rope above 0 (now %d)"
                   : "attention mla has a rotary part only with pe rope: with pe %s d_rope must be 0, "
                     "not %d",
            config->position->name, config->d_rope);
    const struct pes_published_latent *published = &config->published;
    if (!rotary && (published->rotation || published->query || published->positions))
        return pes_fail(PES_INPUT, "%s is about the rotary part of attention mla, which pe %s doesn't have",
                        published->rotation ? "published_rotation"
                        : published->query  ? "published_query"
                                            : "published_positions",
                        config->position->name);
    if (config->symmetry != &pes_symmetry_none || config->penalty->head)
        return pes_fail(PES_INPUT,
                        "symmetry %s and penalty %s have no meaning with attention mla, whose queries and "
                        "keys are factored: both must be none",
                        config->symmetry->name, config->penalty->name);
    if (pes_output_follows(config))
        return pes_fail(PES_INPUT,
                        "value_symmetry %s has no meaning with attention mla, whose values are factored: it "
                        "must be none",
                        config->value_symmetry->name);
    return PES_OK;
}

static enum pes_status check_symmetry(const struct pes_symmetry *symmetry, const struct pes_product *product,
                                      const struct pes_model_config *config)
{
    return symmetry->check ? symmetry->check(product, config->config, &config->shape) : PES_OK;
}

enum pes_status pes_model_check(const struct pes_model_config *config)
{
    TRY(check_shape(config));
    TRY(check_position(config));
    if (config->mla) return check_latent(config);
    TRY(check_symmetry(config->symmetry, &pes_product_query_key, config));
    TRY(check_symmetry(config->value_symmetry, &pes_product_value_output, config));
    if (config->penalty->paired && config->shape.D % 2)
        return pes_fail(PES_INPUT, "penalty %s is about pairs of rows, but heads are %d wide",
                        config->penalty->name, config->shape.D);
    return PES_OK;
}

/* --- reading the values ------------------------------------------------------------------------------- */

static bool chosen(const struct pes_config *config, const char *path, const char *name)
{
    return strcmp(pes_config_text(config, path), name) == 0;
}

static int integer(const struct pes_config *config, const char *path)
{
    return (int)pes_config_int(config, path);
}

static struct pes_shape read_shape(const struct pes_config *config, const struct pes_task_shape *task)
{
    struct pes_shape shape = {
        .T = PES_MAX(task->T, integer(config, "model.max_length")),
        .C = integer(config, "model.d_model"),
        .H = integer(config, "model.heads"),
        .L = integer(config, "model.layers"),
        .F = integer(config, "model.d_ff"),
        .V = task->V,
        .classes = task->classes,
        .causal = pes_config_bool(config, "model.causal"),
    };
    shape.D = shape.C / shape.H;
    return shape;
}

static enum pes_status check_task(const struct pes_model_config *model, const struct pes_task_shape *task)
{
    int longest = integer(model->config, "model.max_length");
    if (model->position->tabled && longest && longest < task->T)
        return pes_fail(PES_INPUT, "pe %s has positions for max_length %d tokens, but sequences have %d",
                        model->position->name, longest, task->T);
    if (task->causal_only && !model->shape.causal)
        return pes_fail(PES_INPUT, "this task asks for the next token, so model.causal must be true");
    return PES_OK;
}

enum pes_status pes_model_configure(const struct pes_config *config, const struct pes_task_shape *task,
                                    struct pes_model_config *model)
{
    *model = (struct pes_model_config){
        .shape = read_shape(config, task),
        .objective = task->objective,
        .pad = chosen(config, "model.pad", "mask") ? PES_PAD_MASK : PES_PAD_ATTEND,
        .kv_source = chosen(config, "model.kv_source", "embedding") ? PES_KV_EMBEDDING : PES_KV_RESIDUAL,
        .activation = chosen(config, "model.activation", "relu") ? PES_ACTIVATION_RELU : PES_ACTIVATION_GELU,
        .final_norm = pes_config_bool(config, "model.final_norm"),
        .mla = chosen(config, "model.attention", "mla"),
        .position = pes_position_find(pes_config_text(config, "model.pe")),
        .pe_heads = pes_config_set_of(config, "model.pe_heads"),
        .pe_layers = pes_config_set_of(config, "model.pe_layers"),
        .symmetry = pes_symmetry_find(pes_config_text(config, "model.symmetry")),
        .value_symmetry = pes_symmetry_find(pes_config_text(config, "model.value_symmetry")),
        .penalty = pes_penalty_find(pes_config_text(config, "model.penalty.kind")),
        .init = chosen(config, "model.init", "normal") ? PES_INIT_NORMAL : PES_INIT_FRAMEWORK,
        .dropout = pes_config_real(config, "train.dropout"),
        .config = config,
    };
    CHECK(model->position && model->symmetry && model->value_symmetry && model->penalty);
    if (model->mla) {
        model->d_latent = integer(config, "model.d_latent");
        model->d_rope = integer(config, "model.d_rope");
        model->latent_norm = pes_config_bool(config, "model.latent_norm");
        model->published = (struct pes_published_latent){
            .rotation = pes_config_bool(config, "model.published_rotation"),
            .query = pes_config_bool(config, "model.published_query"),
            .positions = pes_config_bool(config, "model.published_positions"),
        };
    }
    if (model->penalty->head) model->penalty_weight = pes_config_real(config, "model.penalty.weight");
    if (model->init == PES_INIT_NORMAL) {
        model->init_std = pes_config_real(config, "model.init_std");
        if (model->init_std == 0) model->init_std = 0.8 / sqrt(model->shape.C);
    }
    TRY(check_task(model, task));
    return pes_model_check(model);
}
