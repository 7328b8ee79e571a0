/* gguf_names.c - GGUF's names of tensors and metadata in the words of safetensors and config.json.
 *
 * LLaMA's queries and keys stand in the file with the rows of each head permuted to adjacent pairs, those of
 * the other families as they are elsewhere. */
#include <string.h>

#include "gguf.h"

static const char *const blocks[][2] = {
    {"attn_q.", "self_attn.q_proj."},      {"attn_k.", "self_attn.k_proj."},
    {"attn_v.", "self_attn.v_proj."},      {"attn_output.", "self_attn.o_proj."},
    {"attn_q_norm.", "self_attn.q_norm."}, {"attn_k_norm.", "self_attn.k_norm."},
    {"attn_norm.", "input_layernorm."},    {"ffn_norm.", "post_attention_layernorm."},
    {"ffn_gate.", "mlp.gate_proj."},       {"ffn_up.", "mlp.up_proj."},
    {"ffn_down.", "mlp.down_proj."},
};
static const char *const wholes[][2] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};

void gguf_rename(const char *name, char out[128])
{
    snprintf(out, 128, "%s", name);
    for (size_t i = 0; i < PES_COUNT(wholes); i++)
        if (!strcmp(name, wholes[i][0])) snprintf(out, 128, "%s", wholes[i][1]);
    if (strncmp(name, "blk.", 4)) return;
    const char *rest = strchr(name + 4, '.');
    if (!rest) return;
    for (size_t i = 0; i < PES_COUNT(blocks); i++) {
        size_t length = strlen(blocks[i][0]);
        if (!strncmp(rest + 1, blocks[i][0], length))
            snprintf(out, 128, "model.layers.%.*s.%s%s", (int)PES_MIN(rest - name - 4, 20), name + 4,
                     blocks[i][1], rest + 1 + length);
    }
}

/* X(key behind the architecture's name, key of config.json) */
#define KEYS(X)                                                                                              \
    X("block_count", "num_hidden_layers")                                                                    \
    X("embedding_length", "hidden_size")                                                                     \
    X("attention.head_count", "num_attention_heads")                                                         \
    X("attention.head_count_kv", "num_key_value_heads")                                                      \
    X("attention.key_length", "head_dim")                                                                    \
    X("attention.layer_norm_rms_epsilon", "rms_norm_eps")                                                    \
    X("context_length", "max_position_embeddings")                                                           \
    X("rope.dimension_count", "rotary_dim")

static const json_t *get(const json_t *metadata, const char *architecture, const char *key)
{
    char full[192];
    snprintf(full, sizeof full, "%s.%s", architecture, key);
    return json_object_get(metadata, full);
}

static void copy(json_t *to, const char *name, const json_t *value)
{
    if (value) json_object_set(to, name, (json_t *)(uintptr_t)value);
}

enum pes_status gguf_config(const char *path, const json_t *metadata, bool has_factors, json_t **out)
{
    static const char *const known[] = {"llama", "qwen2", "qwen3"};
    const char *architecture = json_string_value(json_object_get(metadata, "general.architecture"));
    bool found = false;
    for (size_t i = 0; i < PES_COUNT(known) && architecture; i++)
        found = found || !strcmp(architecture, known[i]);
    if (!found) {
        char safe[96];
        return pes_fail(PES_INPUT,
                        "%s: the architecture '%s' is not read from GGUF; llama, qwen2 and qwen3 are", path,
                        pes_weight_safe_name(architecture ? architecture : "", safe));
    }
    json_t *config = json_pack("{s:s, s:b}", "model_type", architecture, "gguf_adjacent_pairs",
                               !strcmp(architecture, "llama"));
    json_t *rope = json_object();
    if (!config || !rope) {
        json_decref(config);
        json_decref(rope);
        return pes_fail(PES_MEMORY, "%s: no memory for its metadata", path);
    }
#define X(key, name) copy(config, name, get(metadata, architecture, key));
    KEYS(X)
#undef X
    /* The format's own default, which its writers leave out. */
    const json_t *base = get(metadata, architecture, "rope.freq_base");
    if (base)
        copy(rope, "rope_theta", base);
    else
        json_object_set_new(rope, "rope_theta", json_real(10000));
    const char *scaling = json_string_value(get(metadata, architecture, "rope.scaling.type"));
    json_object_set_new(rope, "rope_type",
                        json_string(has_factors                          ? "factors"
                                    : scaling && strcmp(scaling, "none") ? scaling
                                                                         : "default"));
    copy(rope, "factor", get(metadata, architecture, "rope.scaling.factor"));
    copy(rope, "original_max_position_embeddings",
         get(metadata, architecture, "rope.scaling.original_context_length"));
    json_object_set_new(config, "rope_parameters", rope);
    copy(config, "bos_token_id", json_object_get(metadata, "tokenizer.ggml.bos_token_id"));
    *out = config;
    return PES_OK;
}
