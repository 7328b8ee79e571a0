/* safetensors.c - the format: 8 bytes of header length, a JSON header, the data; nothing is believed
 * unchecked.
 *
 * Rules as the reference implementation's (huggingface/safetensors): entries sorted by offset leave no hole
 * and no overlap, start at 0 and end at the end of the file, and each has exactly the bytes its shape and
 * type need.  Stricter where the format's text is: the header starts with '{', and no name stands twice. */
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 100000000, LENGTH_BYTES = 8 };

const char *pes_dtype_name(enum pes_dtype dtype)
{
#define X(symbol, name, bits, readable) name,
    static const char *const names[] = {PES_DTYPES(X)};
#undef X
    return names[dtype];
}

static uint64_t dtype_bits(enum pes_dtype dtype)
{
#define X(symbol, name, bits, readable) bits,
    static const uint64_t all[] = {PES_DTYPES(X)};
#undef X
    return all[dtype];
}

static bool find_dtype(const char *name, enum pes_dtype *dtype)
{
    for (int d = 0; d < PES_NUM_DTYPES; d++)
        if (!strcmp(pes_dtype_name((enum pes_dtype)d), name)) {
            *dtype = (enum pes_dtype)d;
            return true;
        }
    return false;
}

const char *pes_weight_safe_name(const char *name, char buffer[96])
{
    size_t length = strlen(name), kept = PES_MIN(length, 80);
    for (size_t i = 0; i < kept; i++)
        buffer[i] = name[i] >= 0x20 && name[i] < 0x7f ? name[i] : '?';
    memcpy(buffer + kept, length > kept ? "..." : "", length > kept ? 4 : 1);
    return buffer;
}

/* One dimension or offset: a JSON integer that isn't negative. */
static bool get_number(const json_t *value, uint64_t *number)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

static enum pes_status parse_entry(const char *path, const char *name, const json_t *entry,
                                   uint64_t data_bytes, uint64_t *begin, struct pes_weight *tensor)
{
    char safe[96];
    pes_weight_safe_name(name, safe);
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    if (!json_is_string(dtype) || !json_is_array(shape) || !json_is_array(offsets) ||
        json_array_size(offsets) != 2)
        return pes_fail(PES_INPUT, "%s: tensor '%s' needs dtype, shape and two data_offsets", path, safe);
    if (!find_dtype(json_string_value(dtype), &tensor->dtype)) {
        char type[96];
        return pes_fail(PES_INPUT, "%s: tensor '%s' has unknown dtype '%s'", path, safe,
                        pes_weight_safe_name(json_string_value(dtype), type));
    }
    if (json_array_size(shape) > PES_WEIGHT_MAX_RANK)
        return pes_fail(PES_INPUT, "%s: tensor '%s' has %zu dimensions, at most %d are read", path, safe,
                        json_array_size(shape), PES_WEIGHT_MAX_RANK);
    tensor->rank = (int)json_array_size(shape);
    tensor->count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        if (!get_number(json_array_get(shape, (size_t)d), &tensor->shape[d]))
            return pes_fail(PES_INPUT, "%s: tensor '%s': dimension %d is not a whole number of at least 0",
                            path, safe, d);
        if (__builtin_mul_overflow(tensor->count, tensor->shape[d], &tensor->count))
            return pes_fail(PES_INPUT, "%s: tensor '%s': the product of its shape passes 64 bits", path,
                            safe);
    }
    uint64_t end, bits;
    if (!get_number(json_array_get(offsets, 0), begin) || !get_number(json_array_get(offsets, 1), &end))
        return pes_fail(PES_INPUT, "%s: tensor '%s': data_offsets are not whole numbers of at least 0", path,
                        safe);
    if (end < *begin)
        return pes_fail(PES_INPUT, "%s: tensor '%s' ends (%llu) before it begins (%llu)", path, safe,
                        (unsigned long long)end, (unsigned long long)*begin);
    if (end > data_bytes)
        return pes_fail(PES_INPUT, "%s: tensor '%s' ends at byte %llu, but the file has %llu bytes of data",
                        path, safe, (unsigned long long)end, (unsigned long long)data_bytes);
    if (__builtin_mul_overflow(tensor->count, dtype_bits(tensor->dtype), &bits))
        return pes_fail(PES_INPUT, "%s: tensor '%s': its size passes 64 bits", path, safe);
    tensor->bytes = end - *begin;
    if (bits % 8 || bits / 8 != tensor->bytes)
        return pes_fail(PES_INPUT, "%s: tensor '%s' needs %llu bytes for its shape, its offsets span %llu",
                        path, safe, (unsigned long long)((bits + 7) / 8), (unsigned long long)tensor->bytes);
    return PES_OK;
}

struct entry {
    uint64_t begin;
    struct pes_weight tensor;
};

static int by_offset(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->tensor.bytes > b->tensor.bytes) - (a->tensor.bytes < b->tensor.bytes);
}

static enum pes_status parse_entries(const char *path, const json_t *header, const unsigned char *data,
                                     uint64_t data_bytes, struct pes_arena *arena,
                                     struct pes_weight **tensors, size_t *count)
{
    size_t most = json_object_size(header), used = 0;
    struct entry *entries = pes_arena_take(arena, most, sizeof *entries);
    if (!entries) return PES_MEMORY;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)header, name, value)
    {
        if (!strcmp(name, "__metadata__")) continue;
        struct entry *entry = &entries[used++];
        TRY(parse_entry(path, name, value, data_bytes, &entry->begin, &entry->tensor));
        entry->tensor.name = pes_arena_copy_text(arena, name);
        if (!entry->tensor.name) return PES_MEMORY;
        entry->tensor.file = path;
        entry->tensor.data = data + entry->begin;
    }
    qsort(entries, used, sizeof *entries, by_offset);
    uint64_t at = 0;
    for (size_t i = 0; i < used; i++) {
        char safe[96];
        if (entries[i].begin != at)
            return pes_fail(PES_INPUT, "%s: tensor '%s' begins at byte %llu where %llu is due: %s", path,
                            pes_weight_safe_name(entries[i].tensor.name, safe),
                            (unsigned long long)entries[i].begin, (unsigned long long)at,
                            entries[i].begin < at ? "an overlap" : "a hole");
        at += entries[i].tensor.bytes;
    }
    if (at != data_bytes)
        return pes_fail(PES_INPUT, "%s: the tensors end at byte %llu of %llu: %llu bytes belong to none",
                        path, (unsigned long long)at, (unsigned long long)data_bytes,
                        (unsigned long long)(data_bytes - at));
    *tensors = pes_arena_take(arena, used, sizeof **tensors);
    if (!*tensors) return PES_MEMORY;
    for (size_t i = 0; i < used; i++)
        (*tensors)[i] = entries[i].tensor;
    *count = used;
    return PES_OK;
}

enum pes_status pes_safetensors_parse(const char *path, const struct pes_mapping *mapping,
                                      struct pes_arena *arena, struct pes_weight **tensors, size_t *count,
                                      json_t **metadata)
{
    *metadata = NULL;
    if (mapping->size < LENGTH_BYTES)
        return pes_fail(PES_INPUT, "%s: %llu bytes are too few for a safetensors file", path,
                        (unsigned long long)mapping->size);
    uint64_t length = 0;
    for (int byte = LENGTH_BYTES - 1; byte >= 0; byte--)
        length = length << 8 | mapping->bytes[byte];
    if (length > HEADER_MAX)
        return pes_fail(PES_INPUT, "%s: its header would be %llu bytes long; at most %d are allowed", path,
                        (unsigned long long)length, HEADER_MAX);
    if (length > mapping->size - LENGTH_BYTES)
        return pes_fail(PES_INPUT,
                        "%s: its header would be %llu bytes long, the file has %llu: truncated, or not a "
                        "safetensors file",
                        path, (unsigned long long)length, (unsigned long long)mapping->size);
    const char *text = (const char *)mapping->bytes + LENGTH_BYTES;
    if (!length || text[0] != '{')
        return pes_fail(PES_INPUT, "%s: its header does not start with '{': not a safetensors file", path);
    json_error_t error;
    json_t *header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (!header) {
        char safe[96];
        return pes_fail(PES_INPUT, "%s: header, byte %d: %s", path, error.position,
                        pes_weight_safe_name(error.text, safe));
    }
    const json_t *about = json_object_get(header, "__metadata__");
    enum pes_status status = PES_OK;
    const char *key;
    json_t *value;
    if (about && !json_is_object(about))
        status = pes_fail(PES_INPUT, "%s: __metadata__ is not an object", path);
    json_object_foreach((json_t *)(uintptr_t)about, key, value) if (!json_is_string(value)) status =
        pes_fail(PES_INPUT, "%s: __metadata__ has values that are not texts", path);
    if (status == PES_OK)
        status = parse_entries(path, header, mapping->bytes + LENGTH_BYTES + length,
                               mapping->size - LENGTH_BYTES - length, arena, tensors, count);
    if (status == PES_OK && about) *metadata = json_incref((json_t *)(uintptr_t)about);
    json_decref(header);
    return status;
}
