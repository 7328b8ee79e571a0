/* golden_model.c - attributes to a configuration, datasets to parameters and a batch. */
#include "golden_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The keys that plug-ins read, with the plug-ins' own rows. */
static const struct pes_key_table *keys(struct pes_arena *arena)
{
    static const struct pes_key pe[] = {{.path = "model.pe",
                                         .type = PES_VALUE_CHOICE,
                                         .choices = pes_position_names,
                                         .fallback = "nope",
                                         .unit = "",
                                         .help = "positional scheme"},
                                        {.path = NULL}};
    struct pes_key_source sources[64] = {{.keys = pe}};
    size_t used = 1;
    for (size_t i = 0; pes_positions[i]; i++)
        sources[used++] = (struct pes_key_source){pes_positions[i]->keys, "model.pe", pes_positions[i]->name};
    return pes_key_table_create(sources, used, arena);
}

static int integer(const struct golden_file *file, const char *group, const char *name)
{
    return (int)golden_int(file, group, name);
}

static bool is(const struct golden_file *file, const char *group, const char *name, const char *value)
{
    return strcmp(golden_text(file, group, name), value) == 0;
}

static bool has_set(const struct golden_file *file, const char *group, const char *name)
{
    return golden_has(file, group, name) && golden_bool(file, group, name);
}

static enum pes_status configure_plugins(const struct golden_file *file, const char *group,
                                         struct pes_arena *arena, const struct pes_config **config)
{
    const struct pes_key_table *table = keys(arena);
    if (!table) return PES_MEMORY;
    struct pes_config *created = pes_config_create(table, arena);
    if (!created) return PES_MEMORY;
    TRY(pes_config_set(created, arena, "model.pe", golden_text(file, group, "pe")));
    if (golden_bool(file, group, "rope_add_sinusoid"))
        TRY(pes_config_set(created, arena, "model.rope_add_sinusoid", "true"));
    if (is(file, group, "pe", "alibi") && golden_has(file, group, "alibi_slopes"))
        TRY(pes_config_set(created, arena, "model.alibi_slopes", golden_text(file, group, "alibi_slopes")));
    *config = created;
    return pes_config_resolve(created, arena);
}

/* One of two values of a text attribute; anything else isn't supported. */
static enum pes_status choose(const struct golden_file *file, const char *group, const char *name,
                              const char *first, const char *second, bool *is_second)
{
    *is_second = is(file, group, name, second);
    if (*is_second || is(file, group, name, first)) return PES_OK;
    return pes_fail(PES_INPUT, "attribute %s is %s", name, golden_text(file, group, name));
}

static uint64_t head_set(const struct golden_file *file, const char *group)
{
    int64_t heads[64];
    uint64_t set = 0;
    size_t count = golden_ints(file, group, "pe_heads", heads, 64);
    for (size_t i = 0; i < count; i++)
        set |= (uint64_t)1 << heads[i];
    return set;
}

static enum pes_status configure(const struct golden_file *file, const char *group,
                                 const struct pes_config *config, struct pes_model_config *out)
{
    bool lm, mask, embedding, gelu, mla;
    TRY(choose(file, group, "objective", "classify", "lm", &lm));
    TRY(choose(file, group, "pad", "attend", "mask", &mask));
    TRY(choose(file, group, "kv_source", "residual", "embedding", &embedding));
    TRY(choose(file, group, "activation", "relu", "gelu", &gelu));
    TRY(choose(file, group, "attention", "mha", "mla", &mla));
    *out = (struct pes_model_config){
        .shape = {.T = integer(file, group, "seq_len"),
                  .C = integer(file, group, "d_model"),
                  .H = integer(file, group, "n_heads"),
                  .L = integer(file, group, "n_layers"),
                  .F = integer(file, group, "d_ff"),
                  .V = integer(file, group, "vocab"),
                  .classes = integer(file, group, "n_classes"),
                  .causal = golden_bool(file, group, "causal")},
        .objective = lm ? PES_OBJECTIVE_LM : PES_OBJECTIVE_CLASSIFY,
        .pad = mask ? PES_PAD_MASK : PES_PAD_ATTEND,
        .kv_source = embedding ? PES_KV_EMBEDDING : PES_KV_RESIDUAL,
        .activation = gelu ? PES_ACTIVATION_GELU : PES_ACTIVATION_RELU,
        .final_norm = golden_bool(file, group, "final_norm"),
        .mla = mla,
        .position = pes_position_find(golden_text(file, group, "pe")),
        .pe_heads = head_set(file, group),
        .pe_layers = UINT64_MAX,
        .symmetry = pes_symmetry_find(golden_text(file, group, "symmetry")),
        .value_symmetry = pes_symmetry_find(
            golden_has(file, group, "value_symmetry") ? golden_text(file, group, "value_symmetry") : "none"),
        .penalty = pes_penalty_find(golden_text(file, group, "penalty")),
        .penalty_weight = golden_real(file, group, "penalty_weight"),
        .config = config,
    };
    out->shape.D = out->shape.C / out->shape.H;
    /* Schemes that don't act inside attention have no heads to choose. */
    bool inside = out->position && out->position->family >= PES_POSITION_ADDITIVE;
    if (!inside || mla) out->pe_heads = UINT64_MAX;
    if (mla) {
        out->d_latent = integer(file, group, "d_latent");
        out->d_rope = integer(file, group, "d_rope");
        out->published = (struct pes_published_latent){
            .rotation = has_set(file, group, "published_rotation"),
            .query = has_set(file, group, "published_query"),
            .positions = has_set(file, group, "published_positions"),
        };
    }
    if (!out->position || !out->symmetry || !out->value_symmetry || !out->penalty)
        return pes_fail(PES_INPUT, "unknown scheme, constraint or penalty");
    return PES_OK;
}

/* Every tensor of the model has its values in the file, and the other way round. */
static enum pes_status load_parameters(const struct golden_file *file, const char *group,
                                       struct golden_model *golden)
{
    const struct pes_tensor_table *table = &golden->model->tensors;
    golden->parameters = pes_arena_take(golden->arena, table->num_parameters, sizeof(real));
    if (!golden->parameters) return PES_MEMORY;
    size_t members = golden_num_members(file, group, "params");
    for (size_t i = 0; i < members; i++) {
        char name[128], path[160];
        struct golden_array array;
        golden_member(file, group, "params", i, name, sizeof name);
        const struct pes_tensor *tensor = pes_tensor_find(table, name);
        if (!tensor) return pes_fail(PES_INPUT, "the model has no tensor %s", name);
        snprintf(path, sizeof path, "params/%s", name);
        if (!golden_read(file, group, path, &array)) return pes_fail(PES_INPUT, "unreadable %s", path);
        size_t read = array.count;
        for (size_t e = 0; read == tensor->count && e < read; e++)
            golden->parameters[tensor->offset + e] = (real)array.values[e];
        golden_free(&array);
        if (read != tensor->count)
            return pes_fail(PES_INPUT, "%s has %zu elements, not %zu", name, read, tensor->count);
    }
    if (members != table->num_tensors)
        return pes_fail(PES_INPUT, "the file has %zu tensors, the model %zu", members, table->num_tensors);
    return PES_OK;
}

static int32_t *read_integers(const struct golden_file *file, const char *group, const char *path,
                              struct pes_arena *arena, struct golden_array *shape)
{
    if (!golden_read(file, group, path, shape)) return NULL;
    int32_t *values = pes_arena_take(arena, shape->count, sizeof *values);
    for (size_t i = 0; values && i < shape->count; i++)
        values[i] = (int32_t)shape->values[i];
    golden_free(shape);
    return values;
}

static enum pes_status load_batch(const struct golden_file *file, const char *group,
                                  struct golden_model *golden)
{
    struct golden_array shape;
    const int32_t *ids = read_integers(file, group, "batch/ids", golden->arena, &shape);
    if (!ids || shape.rank != 2) return pes_fail(PES_INPUT, "no batch/ids");
    golden->batch = (struct pes_batch){.B = (int)shape.shape[0], .T = (int)shape.shape[1], .ids = ids};
    golden->batch.labels = read_integers(file, group, "batch/labels", golden->arena, &shape);
    if (!golden->batch.labels) return pes_fail(PES_INPUT, "no batch/labels");
    golden->rows = shape.count;
    for (size_t i = 0; i < golden->rows; i++)
        golden->labels += golden->batch.labels[i] >= 0;
    const int32_t *mask = read_integers(file, group, "batch/mask", golden->arena, &shape);
    if (!mask) return PES_OK;
    uint8_t *bytes = pes_arena_take(golden->arena, shape.count, 1);
    if (!bytes) return PES_MEMORY;
    for (size_t i = 0; i < shape.count; i++)
        bytes[i] = mask[i] != 0;
    golden->batch.mask = bytes;
    return PES_OK;
}

static enum pes_status load(const struct golden_file *file, const char *group, struct golden_model *golden)
{
    const struct pes_config *plugins;
    struct pes_model_config config;
    TRY(configure_plugins(file, group, golden->arena, &plugins));
    TRY(configure(file, group, plugins, &config));
    TRY(pes_model_create(&config, golden->arena, &golden->model));
    TRY(load_parameters(file, group, golden));
    return load_batch(file, group, golden);
}

struct golden_model *golden_model_load(const struct golden_file *file, const char *group)
{
    struct golden_model *golden = calloc(1, sizeof *golden);
    if (!golden) exit(2);
    golden->arena = pes_arena_create();
    if (!golden->arena) exit(2);
    if (load(file, group, golden) == PES_OK) return golden;
    golden_model_free(golden);
    return NULL;
}

void golden_model_free(struct golden_model *golden)
{
    pes_arena_destroy(golden->arena);
    free(golden);
}
