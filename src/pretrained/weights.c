/* weights.c - a checkpoint as one sorted list of tensors, whatever the number of its files. */
#include "pesweep/weights.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gguf.h"

#define INDEX_NAME  "model.safetensors.index.json"
#define SINGLE_NAME "model.safetensors"

struct pes_weights {
    struct pes_arena *arena;
    const char *folder;
    size_t num_mappings;
    struct pes_mapping *mappings;
    size_t count;
    struct pes_weight *tensors; /* sorted by name */
    json_t *metadata;
    json_t *config; /* a GGUF file's own */
};

enum pes_status pes_mapping_open(const char *path, struct pes_mapping *mapping)
{
    *mapping = (struct pes_mapping){0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return pes_fail(errno == ENOENT ? PES_INPUT : PES_IO, "%s: %s", path, strerror(errno));
    struct stat about;
    enum pes_status status = PES_OK;
    if (fstat(file, &about))
        status = pes_fail(PES_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        status = pes_fail(PES_INPUT, "%s: not a regular file", path);
    else if (about.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes == MAP_FAILED)
            status = pes_fail(PES_IO, "%s: cannot be mapped: %s", path, strerror(errno));
        else
            *mapping = (struct pes_mapping){bytes, (uint64_t)about.st_size};
    }
    close(file);
    return status;
}

void pes_mapping_close(struct pes_mapping *mapping)
{
    if (mapping->bytes) munmap((void *)(uintptr_t)mapping->bytes, (size_t)mapping->size);
    *mapping = (struct pes_mapping){0};
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct pes_weight *)left)->name, ((const struct pes_weight *)right)->name);
}

static enum pes_status open_file(struct pes_weights *weights, const char *path, struct pes_weight **tensors,
                                 size_t *count, json_t **metadata)
{
    struct pes_mapping *mapping = &weights->mappings[weights->num_mappings];
    TRY(pes_mapping_open(path, mapping));
    weights->num_mappings++;
    return pes_safetensors_parse(path, mapping, weights->arena, tensors, count, metadata);
}

static enum pes_status open_single(struct pes_weights *weights, const char *path)
{
    weights->mappings = pes_arena_take(weights->arena, 1, sizeof *weights->mappings);
    if (!weights->mappings) return PES_MEMORY;
    TRY(open_file(weights, path, &weights->tensors, &weights->count, &weights->metadata));
    qsort(weights->tensors, weights->count, sizeof *weights->tensors, by_name);
    return PES_OK;
}

static enum pes_status open_gguf(struct pes_weights *weights, const char *path)
{
    weights->mappings = pes_arena_take(weights->arena, 1, sizeof *weights->mappings);
    if (!weights->mappings) return PES_MEMORY;
    TRY(pes_mapping_open(path, &weights->mappings[0]));
    weights->num_mappings = 1;
    TRY(gguf_parse(path, &weights->mappings[0], weights->arena, &weights->tensors, &weights->count,
                   &weights->config));
    qsort(weights->tensors, weights->count, sizeof *weights->tensors, by_name);
    return PES_OK;
}

/* A shard is a plain name in the folder of the index: no path may lead out of it. */
static bool plain_name(const char *name)
{
    return name[0] && name[0] != '.' && !strchr(name, '/') && !strchr(name, '\\');
}

struct shard {
    const char *name;
    struct pes_weight *tensors;
    size_t count;
};

static enum pes_status find_shard(struct pes_weights *weights, const char *index, struct shard *shards,
                                  size_t *num_shards, const char *tensor, const char *name,
                                  struct shard **found)
{
    char safe[96], safe_tensor[96];
    pes_weight_safe_name(name, safe);
    pes_weight_safe_name(tensor, safe_tensor);
    if (!plain_name(name))
        return pes_fail(PES_INPUT, "%s: tensor '%s' is said to be in '%s'; a plain file name is allowed",
                        index, safe_tensor, safe);
    for (size_t i = 0; i < *num_shards; i++)
        if (!strcmp(shards[i].name, name)) {
            *found = &shards[i];
            return PES_OK;
        }
    const char *path = pes_arena_printf(weights->arena, "%s/%s", weights->folder, name);
    if (!path) return PES_MEMORY;
    if (access(path, F_OK))
        return pes_fail(PES_INPUT, "%s: shard file missing: %s (tensor '%s' is listed in it)", index, path,
                        safe_tensor);
    struct shard *shard = &shards[*num_shards];
    json_t *metadata;
    TRY(open_file(weights, path, &shard->tensors, &shard->count, &metadata));
    json_decref(metadata);
    qsort(shard->tensors, shard->count, sizeof *shard->tensors, by_name);
    shard->name = name;
    ++*num_shards;
    *found = shard;
    return PES_OK;
}

static enum pes_status load_map(struct pes_weights *weights, const char *index, const json_t *map)
{
    size_t most = json_object_size(map), num_shards = 0;
    struct shard *shards = pes_arena_take(weights->arena, most, sizeof *shards);
    weights->mappings = pes_arena_take(weights->arena, most, sizeof *weights->mappings);
    weights->tensors = pes_arena_take(weights->arena, most, sizeof *weights->tensors);
    if (!shards || !weights->mappings || !weights->tensors) return PES_MEMORY;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map, name, value)
    {
        char safe[96], safe_shard[96];
        pes_weight_safe_name(name, safe);
        if (!json_is_string(value))
            return pes_fail(PES_INPUT, "%s: weight_map of '%s' is not the name of a file", index, safe);
        struct shard *shard = NULL;
        TRY(find_shard(weights, index, shards, &num_shards, name, json_string_value(value), &shard));
        struct pes_weight key = {.name = name};
        const struct pes_weight *found = bsearch(&key, shard->tensors, shard->count, sizeof key, by_name);
        if (!found)
            return pes_fail(PES_INPUT,
                            "%s: tensor '%s' is listed in shard %s, which is there but does not hold it",
                            index, safe, pes_weight_safe_name(shard->name, safe_shard));
        weights->tensors[weights->count++] = *found;
    }
    qsort(weights->tensors, weights->count, sizeof *weights->tensors, by_name);
    return PES_OK;
}

static enum pes_status open_index(struct pes_weights *weights, const char *path)
{
    struct pes_mapping mapping;
    TRY(pes_mapping_open(path, &mapping));
    json_error_t error = {.text = "empty file"};
    json_t *index = mapping.size ? json_loadb((const char *)mapping.bytes, (size_t)mapping.size,
                                              JSON_REJECT_DUPLICATES, &error)
                                 : NULL;
    pes_mapping_close(&mapping);
    char safe[96];
    if (!index)
        return pes_fail(PES_INPUT, "%s:%d:%d: not valid JSON: %s", path, error.line, error.column,
                        pes_weight_safe_name(error.text, safe));
    const json_t *map = json_object_get(index, "weight_map");
    enum pes_status status = json_is_object(map) ? load_map(weights, path, map)
                                                 : pes_fail(PES_INPUT, "%s: it has no weight_map", path);
    json_decref(index);
    return status;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

static enum pes_status open_path(struct pes_weights *weights, const char *path)
{
    struct stat about;
    if (stat(path, &about)) return pes_fail(PES_INPUT, "%s: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode)) {
        weights->folder = pes_arena_copy_text(weights->arena, path);
        const char *index = pes_arena_printf(weights->arena, "%s/" INDEX_NAME, path);
        const char *single = pes_arena_printf(weights->arena, "%s/" SINGLE_NAME, path);
        if (!weights->folder || !index || !single) return PES_MEMORY;
        if (!access(index, F_OK)) return open_index(weights, index);
        if (!access(single, F_OK)) return open_single(weights, single);
        return pes_fail(PES_INPUT, "%s: neither " SINGLE_NAME " nor " INDEX_NAME " is in this folder", path);
    }
    const char *copy = pes_arena_copy_text(weights->arena, path);
    const char *slash = strrchr(path, '/');
    weights->folder = slash ? pes_arena_printf(weights->arena, "%.*s", (int)(slash - path), path) : ".";
    if (!copy || !weights->folder) return PES_MEMORY;
    if (ends_with(path, ".gguf")) return open_gguf(weights, copy);
    return ends_with(path, ".json") ? open_index(weights, copy) : open_single(weights, copy);
}

enum pes_status pes_weights_open(const char *path, struct pes_weights **out)
{
    struct pes_weights *weights = pes_allocate(1, sizeof *weights);
    if (!weights) return PES_MEMORY;
    weights->arena = pes_arena_create();
    enum pes_status status = weights->arena ? open_path(weights, path) : PES_MEMORY;
    if (status != PES_OK) {
        pes_weights_close(weights);
        return status;
    }
    *out = weights;
    return PES_OK;
}

void pes_weights_close(struct pes_weights *weights)
{
    if (!weights) return;
    for (size_t i = 0; i < weights->num_mappings; i++)
        pes_mapping_close(&weights->mappings[i]);
    json_decref(weights->metadata);
    json_decref(weights->config);
    pes_arena_destroy(weights->arena);
    pes_free(weights);
}

size_t pes_weights_count(const struct pes_weights *weights)
{
    return weights->count;
}

const struct pes_weight *pes_weights_get(const struct pes_weights *weights, size_t index)
{
    CHECK(index < weights->count);
    return &weights->tensors[index];
}

const struct pes_weight *pes_weights_find(const struct pes_weights *weights, const char *name)
{
    struct pes_weight key = {.name = name};
    return weights->count ? bsearch(&key, weights->tensors, weights->count, sizeof key, by_name) : NULL;
}

const char *pes_weights_folder(const struct pes_weights *weights)
{
    return weights->folder;
}

const json_t *pes_weights_config(const struct pes_weights *weights)
{
    return weights->config;
}

const char *pes_weights_metadata(const struct pes_weights *weights, const char *key)
{
    return json_string_value(json_object_get(weights->metadata, key));
}

/* IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits. */
double pes_weight_from_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

/* The upper half of a binary32. */
double pes_weight_from_bf16(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

/* Any part of a tensor in blocks. */
static void read_blocks(const struct pes_weight *weight, uint64_t first, uint64_t count, double *out)
{
    size_t elements, bytes;
    double block[256];
    CHECK(gguf_block_size(weight->packing, &elements, &bytes) && elements <= PES_COUNT(block));
    while (count) {
        uint64_t inside = first % elements, used = PES_MIN(elements - inside, count);
        gguf_block_read(weight->packing, weight->data + first / elements * bytes, block);
        memcpy(out, block + inside, used * sizeof *out);
        first += used;
        out += used;
        count -= used;
    }
}

enum pes_status pes_weight_read(const struct pes_weight *weight, uint64_t first, uint64_t count, double *out)
{
    CHECK(first <= weight->count && count <= weight->count - first);
    if (weight->packing) {
        read_blocks(weight, first, count, out);
        return PES_OK;
    }
    const unsigned char *data = weight->data;
    switch (weight->dtype) {
    case PES_DTYPE_F64:
        memcpy(out, data + 8 * first, 8 * count);
        return PES_OK;
    case PES_DTYPE_F32:
        for (uint64_t i = 0; i < count; i++) {
            float value;
            memcpy(&value, data + 4 * (first + i), sizeof value);
            out[i] = (double)value;
        }
        return PES_OK;
    case PES_DTYPE_F16:
    case PES_DTYPE_BF16:
        for (uint64_t i = 0; i < count; i++) {
            uint16_t bits;
            memcpy(&bits, data + 2 * (first + i), sizeof bits);
            out[i] = weight->dtype == PES_DTYPE_F16 ? pes_weight_from_f16(bits) : pes_weight_from_bf16(bits);
        }
        return PES_OK;
    default: {
        char safe[96];
        return pes_fail(PES_INPUT, "%s: tensor '%s' has dtype %s; F64, F32, F16 and BF16 are read",
                        weight->file, pes_weight_safe_name(weight->name, safe),
                        pes_dtype_name(weight->dtype));
    }
    }
}
