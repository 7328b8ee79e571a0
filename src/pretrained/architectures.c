/* architectures.c - the table of known architectures, one row each, and what single families decide by keys
 * of their own.
 *
 * Names, packing and rules are those of the families' published modelling code. */
#include <math.h>
#include <string.h>

#include "checkpoint.h"

/* Each layer counts its scores down by its number, or not at all (GPT-2's two switches). */
static enum pes_status adjust_gpt2(struct pes_pretrained *model)
{
    if (!checkpoint_flag(model, "scale_attn_weights", true)) model->scale = 1;
    model->by_layer = checkpoint_flag(model, "scale_attn_by_inverse_layer_idx", false);
    return PES_OK;
}

static enum pes_status adjust_mpt(struct pes_pretrained *model)
{
    const json_t *attention = json_object_get(model->config, "attn_config");
    model->about.scheme = json_is_false(checkpoint_key(attention, "alibi")) ? "learned" : "alibi";
    model->scale = checkpoint_real(attention, "softmax_scale", model->scale);
    if (json_is_true(checkpoint_key(attention, "qk_ln")))
        return pes_fail(PES_INPUT,
                        "%s: qk_ln normalises queries across all heads: no head has a matrix of its own",
                        model->config_path);
    if (checkpoint_key(attention, "clip_qkv"))
        checkpoint_note(model,
                        "clip_qkv cuts projections off: M describes the scores within its limits only");
    return PES_OK;
}

/* new_decoder_architecture goes before multi_query, which means one key head whatever num_kv_heads says. */
static enum pes_status adjust_falcon(struct pes_pretrained *model)
{
    struct pes_pretrained_about *about = &model->about;
    bool grouped =
        checkpoint_flag(model, "new_decoder_architecture", !strcmp(about->architecture, "RefinedWeb"));
    if (checkpoint_flag(model, "alibi", false)) about->scheme = "alibi";
    if (!grouped) {
        bool single = checkpoint_flag(model, "multi_query", true);
        about->num_key_heads = single ? 1 : about->H;
        model->layout = single ? LAYOUT_CONTIGUOUS : LAYOUT_GROUPED;
    }
    return PES_OK;
}

static enum pes_status adjust_opt(struct pes_pretrained *model)
{
    model->post_norm = !checkpoint_flag(model, "do_layer_norm_before", true);
    return PES_OK;
}

static enum pes_status adjust_bert(struct pes_pretrained *model)
{
    const char *kind = json_string_value(checkpoint_key(model->config, "position_embedding_type"));
    if (kind && strcmp(kind, "absolute"))
        checkpoint_note(model, "positions are %s: their additive part is not in M", kind);
    model->post_norm = true;
    return PES_OK;
}

static enum pes_status adjust_gemma2(struct pes_pretrained *model)
{
    double scalar = checkpoint_real(model->config, "query_pre_attn_scalar", 0);
    if (!(scalar > 0))
        return pes_fail(PES_INPUT, "%s: query_pre_attn_scalar is missing or not positive",
                        model->config_path);
    model->scale = 1 / sqrt(scalar);
    if (checkpoint_key(model->config, "attn_logit_softcapping"))
        checkpoint_note(model, "scores pass a tanh before the softmax (attn_logit_softcapping)");
    return PES_OK;
}

static enum pes_status adjust_phi(struct pes_pretrained *model)
{
    if (checkpoint_flag(model, "qk_layernorm", false))
        return pes_fail(PES_INPUT,
                        "%s: qk_layernorm is not read: its shift and mean have no place in a head's matrices",
                        model->config_path);
    return PES_OK;
}

/* Projections: one tensor for all three, or a tensor each. */
#define FUSED(tensor, output)        .q = tensor, .o = output
#define APART(place, q_, k_, v_, o_) .q = place q_, .k = place k_, .v = place v_, .o = place o_
#define PROJECTIONS(place, output)   APART(place, "q_proj", "k_proj", "v_proj", output)
#define SELF_ATTENTION               PROJECTIONS("self_attn.", "o_proj")
#define HEAD_NORMS                   .q_norm = "self_attn.q_norm", .k_norm = "self_attn.k_norm"
#define ROW(types, block_, front, tokens, output, positions, ...)                                            \
    {                                                                                                        \
        .model_types = types, .block = block_, .front_norm = front, .embed = tokens ".weight",               \
        .head = output ".weight", .scheme = positions, __VA_ARGS__                                           \
    }
#define LLAMA(types, positions, ...)                                                                         \
    ROW(types, "layers.%d.", "input_layernorm", "embed_tokens", "lm_head", positions, __VA_ARGS__)

/* clang-format off */
const struct architecture pes_architectures[] = {
/*  model_type, block, norm in front, token table, output matrix, positions; projections; the rest */
ROW("gpt2", "h.%d.", "ln_1", "wte", "lm_head", "learned",
    FUSED("attn.c_attn", "attn.c_proj"), .layout = LAYOUT_CONTIGUOUS, .transposed = true,
    .adjust = adjust_gpt2,
    .summary = "GPT-2: learned positions, fused projections stored [in, out]"),
ROW("gpt_neo", "h.%d.", "ln_1", "wte", "lm_head", "learned",
    PROJECTIONS("attn.attention.", "out_proj"), .unscaled = true,
    .summary = "GPT-Neo: learned positions, scores not scaled"),
ROW("gpt_neox", "layers.%d.", "input_layernorm", "embed_in", "embed_out", "rope",
    FUSED("attention.query_key_value", "attention.dense"), .layout = LAYOUT_GROUPED,
    .summary = "GPT-NeoX, Pythia: rotation of a part of each head, projections fused by head"),
ROW("gptj", "h.%d.", "ln_1", "wte", "lm_head", "rope",
    PROJECTIONS("attn.", "out_proj"), .adjacent = true, .theta = 10000,
    .summary = "GPT-J: rotation of adjacent pairs in a part of each head"),
ROW("bloom", "h.%d.", "input_layernorm", "word_embeddings", "lm_head", "alibi",
    FUSED("self_attention.query_key_value", "self_attention.dense"), .layout = LAYOUT_GROUPED,
    .summary = "BLOOM: ALiBi, projections fused by head"),
ROW("mpt", "blocks.%d.", "norm_1", "wte", "lm_head", "alibi",
    FUSED("attn.Wqkv", "attn.out_proj"), .layout = LAYOUT_CONTIGUOUS, .adjust = adjust_mpt,
    .summary = "MPT: ALiBi or learned positions, fused projections"),
ROW("falcon RefinedWeb RefinedWebModel", "h.%d.", "input_layernorm", "word_embeddings", "lm_head", "rope",
    FUSED("self_attention.query_key_value", "self_attention.dense"), .layout = LAYOUT_GROUPED, .theta = 10000,
    .adjust = adjust_falcon,
    .summary = "Falcon: rotation or ALiBi, projections fused by head, by group or with one key head"),
ROW("opt", "layers.%d.", "self_attn_layer_norm", "embed_tokens", "lm_head", "learned",
    PROJECTIONS("self_attn.", "out_proj"), .adjust = adjust_opt,
    .summary = "OPT: learned positions; norm behind attention in the 350m model"),
LLAMA("llama mistral qwen2", "rope", SELF_ATTENTION, .norm = NORM_RMS,
    .summary = "LLaMA, Mistral, Qwen2: rotation, grouped keys"),
LLAMA("qwen3", "rope", SELF_ATTENTION, HEAD_NORMS, .norm = NORM_RMS,
    .summary = "Qwen3: rotation, grouped keys, norms on queries and keys"),
LLAMA("phi", "rope", PROJECTIONS("self_attn.", "dense"), .adjust = adjust_phi,
    .summary = "Phi-1, Phi-1.5, Phi-2: rotation of a part of each head, biases"),
LLAMA("phi3", "rope", FUSED("self_attn.qkv_proj", "self_attn.o_proj"), .norm = NORM_RMS,
    .layout = LAYOUT_CONTIGUOUS,
    .summary = "Phi-3, Phi-4: rotation, fused projections, grouped keys"),
LLAMA("gemma", "rope", SELF_ATTENTION, .norm = NORM_RMS_PLUS_ONE,
    .summary = "Gemma: rotation, gains of 1 + weight"),
LLAMA("gemma2", "rope", SELF_ATTENTION, .norm = NORM_RMS_PLUS_ONE, .adjust = adjust_gemma2,
    .summary = "Gemma 2: the same with a scale of its own and scores through a tanh"),
LLAMA("gemma3_text gemma3", "rope", SELF_ATTENTION, HEAD_NORMS, .norm = NORM_RMS_PLUS_ONE,
    .adjust = adjust_gemma2,
    .summary = "Gemma 3: two rotary bases, norms on queries and keys"),
ROW("bert roberta", "encoder.layer.%d.", NULL, "embeddings.word_embeddings", "cls.predictions.decoder",
    "learned",
    APART("attention.", "self.query", "self.key", "self.value", "output.dense"), .bidirectional = true,
    .adjust = adjust_bert,
    .summary = "BERT, RoBERTa: learned positions, norm behind attention, bidirectional"),
ROW("t5 mt5", "encoder.block.%d.", "layer.0.layer_norm", "shared", "lm_head", "t5",
    APART("layer.0.SelfAttention.", "q", "k", "v", "o"), .norm = NORM_RMS, .unscaled = true,
    .bidirectional = true,
    .summary = "T5: bucketed position bias, scores not scaled; the encoder's self-attention"),
LLAMA("deepseek_v2 deepseek_v3", "mla", FUSED("self_attn.kv_b_proj", "self_attn.o_proj"), .norm = NORM_RMS,
    .adjacent = true,
    .summary = "DeepSeek: multi-head latent attention with a rotary key shared by all heads"),
{0},
};
/* clang-format on */

/* Whether `word` is one of the words of `list`. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) && length; at += length)
        if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
    return false;
}

const struct architecture *pes_architecture_find(const char *model_type)
{
    for (const struct architecture *row = pes_architectures; row->model_types; row++)
        if (has_word(row->model_types, model_type)) return row;
    return NULL;
}

void pes_pretrained_list(FILE *out)
{
    for (const struct architecture *row = pes_architectures; row->model_types; row++)
        fprintf(out, "  %-34s %s\n", row->model_types, row->summary);
}
