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

#define SELF_ATTENTION                                                                                       \
    .q = "self_attn.q_proj", .k = "self_attn.k_proj", .v = "self_attn.v_proj", .o = "self_attn.o_proj"
#define LLAMA_NAMES                                                                                          \
    .block = "layers.%d.", .front_norm = "input_layernorm", .embed = "embed_tokens.weight",                  \
    .head = "lm_head.weight"

const struct architecture pes_architectures[] = {
    {
        .model_types = "gpt2",
        .summary = "GPT-2: learned positions, fused projections stored [in, out]",
        .block = "h.%d.",
        .q = "attn.c_attn",
        .o = "attn.c_proj",
        .front_norm = "ln_1",
        .embed = "wte.weight",
        .head = "lm_head.weight",
        .scheme = "learned",
        .layout = LAYOUT_CONTIGUOUS,
        .transposed = true,
        .adjust = adjust_gpt2,
    },
    {
        .model_types = "gpt_neo",
        .summary = "GPT-Neo: learned positions, scores not scaled",
        .block = "h.%d.",
        .q = "attn.attention.q_proj",
        .k = "attn.attention.k_proj",
        .v = "attn.attention.v_proj",
        .o = "attn.attention.out_proj",
        .front_norm = "ln_1",
        .embed = "wte.weight",
        .head = "lm_head.weight",
        .scheme = "learned",
        .unscaled = true,
    },
    {
        .model_types = "gpt_neox",
        .summary = "GPT-NeoX, Pythia: rotation of a part of each head, projections fused by head",
        .block = "layers.%d.",
        .q = "attention.query_key_value",
        .o = "attention.dense",
        .front_norm = "input_layernorm",
        .embed = "embed_in.weight",
        .head = "embed_out.weight",
        .scheme = "rope",
        .layout = LAYOUT_GROUPED,
    },
    {
        .model_types = "gptj",
        .summary = "GPT-J: rotation of adjacent pairs in a part of each head",
        .block = "h.%d.",
        .q = "attn.q_proj",
        .k = "attn.k_proj",
        .v = "attn.v_proj",
        .o = "attn.out_proj",
        .front_norm = "ln_1",
        .embed = "wte.weight",
        .head = "lm_head.weight",
        .scheme = "rope",
        .adjacent = true,
        .theta = 10000,
    },
    {
        .model_types = "bloom",
        .summary = "BLOOM: ALiBi, projections fused by head",
        .block = "h.%d.",
        .q = "self_attention.query_key_value",
        .o = "self_attention.dense",
        .front_norm = "input_layernorm",
        .embed = "word_embeddings.weight",
        .head = "lm_head.weight",
        .scheme = "alibi",
        .layout = LAYOUT_GROUPED,
    },
    {
        .model_types = "mpt",
        .summary = "MPT: ALiBi or learned positions, fused projections",
        .block = "blocks.%d.",
        .q = "attn.Wqkv",
        .o = "attn.out_proj",
        .front_norm = "norm_1",
        .embed = "wte.weight",
        .head = "lm_head.weight",
        .scheme = "alibi",
        .layout = LAYOUT_CONTIGUOUS,
        .adjust = adjust_mpt,
    },
    {
        .model_types = "falcon RefinedWeb RefinedWebModel",
        .summary = "Falcon: rotation or ALiBi, projections fused by head, by group or with one key head",
        .block = "h.%d.",
        .q = "self_attention.query_key_value",
        .o = "self_attention.dense",
        .front_norm = "input_layernorm",
        .embed = "word_embeddings.weight",
        .head = "lm_head.weight",
        .scheme = "rope",
        .layout = LAYOUT_GROUPED,
        .theta = 10000,
        .adjust = adjust_falcon,
    },
    {
        .model_types = "opt",
        .summary = "OPT: learned positions; norm behind attention in the 350m model",
        .block = "layers.%d.",
        .q = "self_attn.q_proj",
        .k = "self_attn.k_proj",
        .v = "self_attn.v_proj",
        .o = "self_attn.out_proj",
        .front_norm = "self_attn_layer_norm",
        .embed = "embed_tokens.weight",
        .head = "lm_head.weight",
        .scheme = "learned",
        .adjust = adjust_opt,
    },
    {
        .model_types = "llama mistral qwen2",
        .summary = "LLaMA, Mistral, Qwen2: rotation, grouped keys",
        LLAMA_NAMES,
        SELF_ATTENTION,
        .scheme = "rope",
        .norm = NORM_RMS,
    },
    {
        .model_types = "qwen3",
        .summary = "Qwen3: rotation, grouped keys, norms on queries and keys",
        LLAMA_NAMES,
        SELF_ATTENTION,
        .q_norm = "self_attn.q_norm",
        .k_norm = "self_attn.k_norm",
        .scheme = "rope",
        .norm = NORM_RMS,
    },
    {
        .model_types = "phi",
        .summary = "Phi-1, Phi-1.5, Phi-2: rotation of a part of each head, biases",
        LLAMA_NAMES,
        .q = "self_attn.q_proj",
        .k = "self_attn.k_proj",
        .v = "self_attn.v_proj",
        .o = "self_attn.dense",
        .scheme = "rope",
        .adjust = adjust_phi,
    },
    {
        .model_types = "phi3",
        .summary = "Phi-3, Phi-4: rotation, fused projections, grouped keys",
        LLAMA_NAMES,
        .q = "self_attn.qkv_proj",
        .o = "self_attn.o_proj",
        .scheme = "rope",
        .norm = NORM_RMS,
        .layout = LAYOUT_CONTIGUOUS,
    },
    {
        .model_types = "gemma",
        .summary = "Gemma: rotation, gains of 1 + weight",
        LLAMA_NAMES,
        SELF_ATTENTION,
        .scheme = "rope",
        .norm = NORM_RMS_PLUS_ONE,
    },
    {
        .model_types = "gemma2",
        .summary = "Gemma 2: the same with a scale of its own and scores through a tanh",
        LLAMA_NAMES,
        SELF_ATTENTION,
        .scheme = "rope",
        .norm = NORM_RMS_PLUS_ONE,
        .adjust = adjust_gemma2,
    },
    {
        .model_types = "gemma3_text gemma3",
        .summary = "Gemma 3: two rotary bases, norms on queries and keys",
        LLAMA_NAMES,
        SELF_ATTENTION,
        .q_norm = "self_attn.q_norm",
        .k_norm = "self_attn.k_norm",
        .scheme = "rope",
        .norm = NORM_RMS_PLUS_ONE,
        .adjust = adjust_gemma2,
    },
    {
        .model_types = "bert roberta",
        .summary = "BERT, RoBERTa: learned positions, norm behind attention, bidirectional",
        .block = "encoder.layer.%d.",
        .q = "attention.self.query",
        .k = "attention.self.key",
        .v = "attention.self.value",
        .o = "attention.output.dense",
        .embed = "embeddings.word_embeddings.weight",
        .head = "cls.predictions.decoder.weight",
        .scheme = "learned",
        .bidirectional = true,
        .adjust = adjust_bert,
    },
    {
        .model_types = "t5 mt5",
        .summary = "T5: bucketed position bias, scores not scaled; the encoder's self-attention",
        .block = "encoder.block.%d.",
        .q = "layer.0.SelfAttention.q",
        .k = "layer.0.SelfAttention.k",
        .v = "layer.0.SelfAttention.v",
        .o = "layer.0.SelfAttention.o",
        .front_norm = "layer.0.layer_norm",
        .embed = "shared.weight",
        .head = "lm_head.weight",
        .scheme = "t5",
        .norm = NORM_RMS,
        .unscaled = true,
        .bidirectional = true,
    },
    {
        .model_types = "deepseek_v2 deepseek_v3",
        .summary = "DeepSeek: multi-head latent attention with a rotary key shared by all heads",
        LLAMA_NAMES,
        .q = "self_attn.kv_b_proj",
        .o = "self_attn.o_proj",
        .scheme = "mla",
        .norm = NORM_RMS,
        .adjacent = true,
    },
    {0},
};

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
