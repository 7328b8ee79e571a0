/* checkpoint.c - opens a checkpoint: its configuration, its architecture, the place of its tensors. */
#include "checkpoint.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "pesweep/text.h"
#include "safetensors.h"

/* What may stand in front of a block's name, depending on which class saved the model. */
static const char *const prefixes[] = {"",
                                       "transformer.",
                                       "model.",
                                       "gpt_neox.",
                                       "bert.",
                                       "roberta.",
                                       "model.decoder.",
                                       "decoder.",
                                       "language_model.model.",
                                       "model.language_model."};

/* --- tensors --- */

static const struct pes_weight *find_under(const struct pes_pretrained *model, const char *prefix, int layer,
                                           const char *name, const char *ending)
{
    char block[64], path[256];
    const char *pattern = model->architecture->block, *number = strstr(pattern, "%d");
    CHECK(number);
    snprintf(block, sizeof block, "%.*s%d%s", (int)(number - pattern), pattern, layer, number + 2);
    snprintf(path, sizeof path, "%s%s%s%s", prefix, block, name, ending);
    return pes_weights_find(model->weights, path);
}

const struct pes_weight *checkpoint_find(const struct pes_pretrained *model, int layer, const char *name,
                                         const char *ending)
{
    return find_under(model, model->prefix, layer, name, ending);
}

static enum pes_status missing(const struct pes_pretrained *model, int layer, const char *name,
                               const char *ending)
{
    const char *pattern = model->architecture->block, *number = strstr(pattern, "%d");
    return pes_fail(PES_INPUT, "%s: layer %d has no tensor '%s%.*s%d%s%s%s'", model->about.path, layer,
                    model->prefix, (int)(number - pattern), pattern, layer, number + 2, name, ending);
}

enum pes_status checkpoint_need(const struct pes_pretrained *model, int layer, const char *name,
                                const char *ending, size_t rows, size_t columns,
                                const struct pes_weight **weight)
{
    const struct pes_weight *found = checkpoint_find(model, layer, name, ending);
    if (!found) return missing(model, layer, name, ending);
    bool fits = found->rank == (columns ? 2 : 1) && found->shape[0] == rows &&
                (!columns || found->shape[1] == columns);
    if (!fits) {
        struct pes_text shape = {0};
        for (int d = 0; d < found->rank; d++)
            pes_text_append(&shape, "%s%llu", d ? ", " : "", (unsigned long long)found->shape[d]);
        char wanted[64];
        snprintf(wanted, sizeof wanted, columns ? "%zu, %zu" : "%zu", rows, columns);
        pes_fail(PES_INPUT, "%s: layer %d: '%s' has the shape [%s], but by %s it is [%s]", found->file, layer,
                 found->name, pes_text_get(&shape), model->config_path, wanted);
        pes_text_destroy(&shape);
        return PES_INPUT;
    }
    *weight = found;
    return PES_OK;
}

enum pes_status checkpoint_rows(const struct pes_weight *weight, size_t first, size_t count, size_t columns,
                                double *out)
{
    return pes_weight_read(weight, first * columns, count * columns, out);
}

/* The one prefix under which any layer's queries stand. */
static enum pes_status find_prefix(struct pes_pretrained *model)
{
    const char *name = model->architecture->q;
    /* Whoever asks for more layers than there are tensors is told of the first that is missing. */
    int layers = (int)PES_MIN((size_t)model->about.L, pes_weights_count(model->weights));
    for (size_t p = 0; p < PES_COUNT(prefixes); p++)
        for (int layer = 0; layer < layers; layer++)
            if (find_under(model, prefixes[p], layer, name, ".weight")) {
                if (model->prefix)
                    return pes_fail(PES_INPUT, "%s: there are two models in it, under '%s' and under '%s'",
                                    model->about.path, model->prefix, prefixes[p]);
                model->prefix = prefixes[p];
                break;
            }
    if (model->prefix) return PES_OK;
    model->prefix = "";
    return missing(model, 0, name, ".weight");
}

/* --- norms --- */

enum pes_status front_norm(const struct pes_pretrained *model, int layer, struct pes_arena *arena,
                           struct pes_head *out)
{
    const struct architecture *row = model->architecture;
    if (model->post_norm || !row->front_norm) return PES_OK;
    size_t C = (size_t)model->about.C;
    const struct pes_weight *weight = NULL;
    /* Two norms side by side: Falcon's newer blocks have one of their own for attention. */
    bool own = checkpoint_find(model, layer, "ln_attn", ".weight") != NULL;
    TRY(checkpoint_need(model, layer, own ? "ln_attn" : row->front_norm, ".weight", C, 0, &weight));
    double *gain = pes_arena_take(arena, C, sizeof *gain);
    if (!gain) return PES_MEMORY;
    TRY(pes_weight_read(weight, 0, C, gain));
    for (size_t c = 0; c < C && row->norm == NORM_RMS_PLUS_ONE; c++)
        gain[c] += 1;
    out->gain = gain;
    out->query_folds = out->key_folds = true;
    out->centred = row->norm == NORM_LAYER;
    return PES_OK;
}

/* --- what is worth knowing --- */

static const struct pes_weight *find_named(const struct pes_pretrained *model, const char *name,
                                           bool prefixed)
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", prefixed ? model->prefix : "", name);
    return pes_weights_find(model->weights, path);
}

static bool same_bytes(const struct pes_weight *a, const struct pes_weight *b)
{
    return a->dtype == b->dtype && a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes);
}

static void note_tying(struct pes_pretrained *model)
{
    const json_t *classes = checkpoint_key(model->config, "architectures");
    const char *class = json_string_value(json_array_get(classes, 0));
    if (!class || !strstr(class, "LM")) return;
    const struct pes_weight *embed = find_named(model, model->architecture->embed, true);
    const struct pes_weight *head = find_named(model, model->architecture->head, false);
    bool tied = checkpoint_flag(model, "tie_word_embeddings", true);
    if (tied && !head)
        checkpoint_note(model, "the output matrix is the token embedding (tie_word_embeddings)");
    if (!tied && !head)
        checkpoint_note(model,
                        "warning: tie_word_embeddings is false, but there is no '%s'; spectra of queries and "
                        "keys don't need it",
                        model->architecture->head);
    if (tied && head && embed && !same_bytes(embed, head))
        checkpoint_note(model,
                        "warning: tie_word_embeddings is true, but '%s' differs from the embedding; the "
                        "stored one counts",
                        model->architecture->head);
}

/* --- opening --- */

/* What the layout's "config" says goes before config.json. */
static enum pes_status load_config(struct pes_pretrained *model)
{
    json_t *more = json_object_get(model->by_hand, "config");
    const json_t *own = pes_weights_config(model->weights);
    if (own) {
        model->config = model->root = json_incref((json_t *)(uintptr_t)own);
        model->config_path = model->about.path;
        return PES_OK;
    }
    const char *path = pes_arena_printf(model->arena, "%s/config.json", pes_weights_folder(model->weights));
    if (!path) return PES_MEMORY;
    model->config_path = path;
    if (access(path, F_OK) && more) {
        model->config = model->root = json_incref(more);
        return PES_OK;
    }
    if (access(path, F_OK))
        return pes_fail(PES_INPUT, "%s: %s; it says what the tensors are", path, strerror(errno));
    struct pes_mapping mapping;
    TRY(pes_mapping_open(path, &mapping));
    json_error_t error = {.text = "empty file"};
    if (mapping.size)
        model->root =
            json_loadb((const char *)mapping.bytes, (size_t)mapping.size, JSON_REJECT_DUPLICATES, &error);
    pes_mapping_close(&mapping);
    char safe[96];
    if (!model->root)
        return pes_fail(PES_INPUT, "%s:%d:%d: not valid JSON: %s", path, error.line, error.column,
                        pes_weight_safe_name(error.text, safe));
    if (!json_is_object(model->root)) return pes_fail(PES_INPUT, "%s: it is not an object", path);
    /* A model of several kinds of input keeps its language model's keys apart. */
    json_t *text = json_object_get(model->root, "text_config");
    json_t *used = json_is_object(text) ? text : model->root;
    model->config = used;
    return more && json_object_update(used, more) ? PES_MEMORY : PES_OK;
}

static enum pes_status find_architecture(struct pes_pretrained *model)
{
    if (model->architecture) return PES_OK;
    const char *type = json_string_value(json_object_get(model->config, "model_type"));
    if (!type) type = json_string_value(json_object_get(model->root, "model_type"));
    if (!type) return pes_fail(PES_INPUT, "%s: it has no model_type", model->config_path);
    model->architecture = pes_architecture_find(type);
    if (!model->architecture) {
        struct pes_text known = {0};
        for (const struct architecture *row = pes_architectures; row->model_types; row++)
            pes_text_append(&known, "%s%s", row == pes_architectures ? "" : " ", row->model_types);
        char safe[96];
        pes_fail(PES_INPUT, "%s: the architecture '%s' is unknown; known are: %s; --layout describes another",
                 model->config_path, pes_weight_safe_name(type, safe), pes_text_get(&known));
        pes_text_destroy(&known);
        return PES_INPUT;
    }
    model->about.architecture = pes_arena_copy_text(model->arena, type);
    return model->about.architecture ? PES_OK : PES_MEMORY;
}

static enum pes_status read_sizes(struct pes_pretrained *model)
{
    struct pes_pretrained_about *about = &model->about;
    const struct architecture *row = model->architecture;
    TRY(checkpoint_count(model, "num_hidden_layers n_layer num_layers n_layers", 0, &about->L));
    TRY(checkpoint_count(model, "num_attention_heads n_head num_heads n_heads", 0, &about->H));
    TRY(checkpoint_count(model, "hidden_size n_embd d_model n_embed", 0, &about->C));
    TRY(checkpoint_count(model, "num_key_value_heads num_kv_heads n_head_kv", about->H,
                         &about->num_key_heads));
    if (!checkpoint_key(model->config, "head_dim d_kv") && about->C % about->H)
        return pes_fail(PES_INPUT,
                        "%s: a width of %d is not divisible by %d heads, and head_dim is not given",
                        model->config_path, about->C, about->H);
    TRY(checkpoint_count(model, "head_dim d_kv", PES_MAX(about->C / about->H, 1), &about->D));
    about->Dv = about->D;
    about->scheme = row->scheme;
    about->causal = !row->bidirectional;
    about->inner_norm = row->q_norm != NULL;
    model->layout = row->layout;
    model->adjacent = checkpoint_flag(model, "gguf_adjacent_pairs", row->adjacent);
    model->scale = row->unscaled ? 1 : 1 / sqrt((double)about->D);
    if (!strcmp(row->scheme, "mla")) return latent_read(model);
    if (row->layout == LAYOUT_GROUPED && !row->adjust) about->num_key_heads = about->H;
    if (row->adjust) TRY(row->adjust(model));
    if (about->H % about->num_key_heads)
        return pes_fail(PES_INPUT, "%s: %d heads can't share %d key heads evenly", model->config_path,
                        about->H, about->num_key_heads);
    return strcmp(about->scheme, "rope") ? checkpoint_as_if_paired(model, about->D)
                                         : checkpoint_read_rotations(model, about->D);
}

static enum pes_status open_published(struct pes_pretrained *model)
{
    TRY(load_config(model));
    TRY(find_architecture(model));
    TRY(read_sizes(model));
    TRY(find_prefix(model));
    bool latent = !strcmp(model->about.scheme, "mla");
    for (int layer = 0; layer < model->about.L; layer++) {
        TRY(latent ? latent_check_layer(model, layer) : packed_check_layer(model, layer));
        if (!model->post_norm && model->architecture->front_norm) {
            struct pes_arena_mark mark = pes_arena_mark(model->arena);
            struct pes_head ignored = {0};
            TRY(front_norm(model, layer, model->arena, &ignored));
            pes_arena_rewind(model->arena, mark);
        }
    }
    note_tying(model);
    return PES_OK;
}

static enum pes_status open_path(struct pes_pretrained *model, const char *path, const char *layout)
{
    model->about.path = pes_arena_copy_text(model->arena, path);
    if (!model->about.path) return PES_MEMORY;
    if (layout) TRY(checkpoint_read_layout(model, layout));
    TRY(pes_weights_open(path, &model->weights));
    TRY(!layout && trial_is(model) ? trial_read(model) : open_published(model));
    if (model->notes->failed) return PES_MEMORY;
    model->about.notes = pes_text_get(model->notes);
    return PES_OK;
}

enum pes_status pes_pretrained_open(const char *path, double rope_theta, struct pes_pretrained **out)
{
    return pes_pretrained_open_as(path, NULL, rope_theta, out);
}

enum pes_status pes_pretrained_open_as(const char *path, const char *layout, double rope_theta,
                                       struct pes_pretrained **out)
{
    *out = NULL;
    struct pes_pretrained *model = pes_allocate(1, sizeof *model);
    if (!model) return PES_MEMORY;
    model->rope_theta = rope_theta;
    model->arena = pes_arena_create();
    model->notes = pes_allocate(1, sizeof *model->notes);
    enum pes_status status = model->arena && model->notes ? open_path(model, path, layout) : PES_MEMORY;
    if (status == PES_OK)
        *out = model;
    else
        pes_pretrained_close(model);
    return status;
}

void pes_pretrained_close(struct pes_pretrained *model)
{
    if (!model) return;
    json_decref(model->root);
    json_decref(model->by_hand);
    pes_weights_close(model->weights);
    if (model->notes) pes_text_destroy(model->notes);
    pes_free(model->notes);
    pes_arena_destroy(model->arena);
    pes_free(model);
}

const struct pes_pretrained_about *pes_pretrained_about(const struct pes_pretrained *model)
{
    return &model->about;
}

enum pes_status pes_pretrained_head(const struct pes_pretrained *model, int layer, int head, bool values,
                                    struct pes_arena *arena, struct pes_head *out)
{
    CHECK(layer >= 0 && layer < model->about.L && head >= 0 && head < model->about.H);
    if (model->trial) return pes_model_head(model->trial, model->parameters, layer, head, arena, out);
    return model->rotations[0].half && !strcmp(model->about.scheme, "mla")
               ? latent_head(model, layer, head, values, arena, out)
               : packed_head(model, layer, head, values, arena, out);
}
