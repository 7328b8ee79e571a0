/* layout.c - an architecture that the table doesn't know, described by hand in a JSON file.
 *
 * The keys are the columns of the table; "config" holds what config.json lacks or says under other names. */
#include <stddef.h>
#include <string.h>

#include "checkpoint.h"
#include "safetensors.h"

#define COLUMN(name)                                                                                         \
    {                                                                                                        \
#name, offsetof(struct architecture, name)                                                           \
    }
static const struct column {
    const char *name;
    size_t offset;
} texts[] = {COLUMN(block),  COLUMN(q),      COLUMN(k),     COLUMN(v),    COLUMN(o),     COLUMN(front_norm),
             COLUMN(q_norm), COLUMN(k_norm), COLUMN(embed), COLUMN(head), COLUMN(scheme)},
  flags[] = {COLUMN(transposed), COLUMN(adjacent), COLUMN(unscaled), COLUMN(bidirectional)};

static const char *const layouts[] = {
    [LAYOUT_SEPARATE] = "separate", [LAYOUT_CONTIGUOUS] = "contiguous", [LAYOUT_GROUPED] = "grouped"};
static const char *const norms[] = {
    [NORM_LAYER] = "layer", [NORM_RMS] = "rms", [NORM_RMS_PLUS_ONE] = "rms_plus_one"};
static const char *const schemes[] = {"nope", "learned", "alibi", "t5", "rope"};

/* Number of `text` among `words`, -1 if it isn't one. */
static int find_word(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; text && i < count; i++)
        if (!strcmp(text, words[i])) return (int)i;
    return -1;
}

static enum pes_status must_be(const char *path, const char *key, const char *what)
{
    return pes_fail(PES_INPUT, "%s: \"%s\" must be %s", path, key, what);
}

static enum pes_status read_column(const char *path, const char *key, const json_t *value,
                                   struct architecture *row)
{
    for (size_t i = 0; i < PES_COUNT(texts); i++)
        if (!strcmp(key, texts[i].name)) {
            const char *text = json_string_value(value);
            if (!text || strlen(text) > 128) return must_be(path, key, "a text of 128 bytes or less");
            *(const char **)(void *)((char *)row + texts[i].offset) = text;
            return PES_OK;
        }
    for (size_t i = 0; i < PES_COUNT(flags); i++)
        if (!strcmp(key, flags[i].name)) {
            if (!json_is_boolean(value)) return must_be(path, key, "true or false");
            *(bool *)(void *)((char *)row + flags[i].offset) = json_is_true(value);
            return PES_OK;
        }
    if (!strcmp(key, "packing")) {
        int word = find_word(json_string_value(value), layouts, PES_COUNT(layouts));
        if (word < 0) return must_be(path, key, "separate, contiguous or grouped");
        row->layout = (enum layout)word;
        return PES_OK;
    }
    if (!strcmp(key, "norm")) {
        int word = find_word(json_string_value(value), norms, PES_COUNT(norms));
        if (word < 0) return must_be(path, key, "layer, rms or rms_plus_one");
        row->norm = (enum norm)word;
        return PES_OK;
    }
    if (!strcmp(key, "config"))
        return json_is_object(value) ? PES_OK : must_be(path, key, "an object with keys of config.json");
    char safe[96];
    return pes_fail(
        PES_INPUT,
        "%s: unknown key \"%s\"; allowed: block q k v o front_norm q_norm k_norm embed head scheme "
        "packing norm transposed adjacent unscaled bidirectional config",
        path, pes_weight_safe_name(key, safe));
}

static enum pes_status check(const char *path, const struct architecture *row)
{
    const char *number = row->block ? strstr(row->block, "%d") : NULL;
    if (!number || strchr(row->block, '%') != number || strchr(number + 1, '%') || strlen(row->block) > 48)
        return must_be(path, "block", "the name of a block with %d for its number, like \"h.%d.\"");
    if (!row->q) return must_be(path, "q", "the name of the queries' tensor, without \".weight\"");
    bool separate = row->layout == LAYOUT_SEPARATE;
    if (separate != (row->k != NULL) || separate != (row->v != NULL))
        return pes_fail(PES_INPUT,
                        "%s: with packing \"separate\" q, k and v are tensors of their own; else q alone is "
                        "named and holds all three",
                        path);
    if (find_word(row->scheme, schemes, PES_COUNT(schemes)) < 0)
        return must_be(path, "scheme", "nope, learned, alibi, t5 or rope");
    if (!row->q_norm != !row->k_norm) return pes_fail(PES_INPUT, "%s: q_norm and k_norm come together", path);
    return PES_OK;
}

enum pes_status checkpoint_read_layout(struct pes_pretrained *model, const char *path)
{
    struct pes_mapping mapping;
    TRY(pes_mapping_open(path, &mapping));
    json_error_t error = {.text = "empty file"};
    if (mapping.size)
        model->by_hand =
            json_loadb((const char *)mapping.bytes, (size_t)mapping.size, JSON_REJECT_DUPLICATES, &error);
    pes_mapping_close(&mapping);
    char safe[96];
    if (!json_is_object(model->by_hand))
        return model->by_hand ? pes_fail(PES_INPUT, "%s: it is not an object", path)
                              : pes_fail(PES_INPUT, "%s:%d:%d: not valid JSON: %s", path, error.line,
                                         error.column, pes_weight_safe_name(error.text, safe));
    struct architecture *row = pes_arena_take(model->arena, 1, sizeof *row);
    if (!row) return PES_MEMORY;
    *row = (struct architecture){.model_types = "by hand", .embed = "", .head = ""};
    const char *key;
    json_t *value;
    json_object_foreach(model->by_hand, key, value) TRY(read_column(path, key, value, row));
    TRY(check(path, row));
    model->architecture = row;
    model->about.architecture = row->model_types;
    return PES_OK;
}
