/* gguf.c - the format: magic, version, counts; metadata as key, type, value; descriptions of tensors; the
 * data, aligned, in the order of the descriptions without holes.  Nothing is believed unchecked. */
#include "gguf.h"

#include <stdlib.h>
#include <string.h>

/* Metadata types of the file. */
enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64, NUM_TYPES };
static const size_t type_bytes[NUM_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

struct cursor {
    const char *path;
    const unsigned char *bytes;
    uint64_t size, at;
    bool broken; /* the file ended too early; everything read since is 0 */
};

static const unsigned char *take(struct cursor *cursor, uint64_t count)
{
    static const unsigned char none[8] = {0};
    if (cursor->broken || count > cursor->size - cursor->at) {
        cursor->broken = true;
        return none;
    }
    cursor->at += count;
    return cursor->bytes + cursor->at - count;
}

static uint64_t take_number(struct cursor *cursor, size_t bytes)
{
    const unsigned char *at = take(cursor, bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static enum pes_status ended(const struct cursor *cursor)
{
    return pes_fail(PES_INPUT, "%s: it ends at byte %llu within its header: truncated, or not a GGUF file",
                    cursor->path, (unsigned long long)cursor->size);
}

/* A text of at most `most` bytes into a buffer, the rest of a longer one passed over. */
static void take_text(struct cursor *cursor, char *out, size_t most)
{
    uint64_t length = take_number(cursor, 8);
    const unsigned char *text = take(cursor, length);
    size_t kept = cursor->broken ? 0 : (size_t)PES_MIN(length, (uint64_t)most - 1);
    memcpy(out, text, kept);
    out[kept] = 0;
}

/* --- metadata --- */

static json_t *take_scalar(struct cursor *cursor, uint32_t type)
{
    uint64_t bits = take_number(cursor, type_bytes[type]);
    float narrow;
    double wide;
    uint32_t word = (uint32_t)bits;
    switch (type) {
    case BOOL:
        return json_boolean(bits != 0);
    case F32:
        memcpy(&narrow, &word, sizeof narrow);
        return json_real((double)narrow);
    case F64:
        memcpy(&wide, &bits, sizeof wide);
        return json_real(wide);
    case I8:
        return json_integer((int8_t)bits);
    case I16:
        return json_integer((int16_t)bits);
    case I32:
        return json_integer((int32_t)word);
    default:
        return json_integer((json_int_t)bits);
    }
}

/* Lists, of tokens for the most part, are passed over. */
static enum pes_status skip_array(struct cursor *cursor)
{
    uint32_t type = (uint32_t)take_number(cursor, 4);
    uint64_t count = take_number(cursor, 8), bytes;
    if (type >= NUM_TYPES || type == ARRAY)
        return pes_fail(PES_INPUT, "%s: metadata: a list of type %u", cursor->path, type);
    if (type != STRING) {
        if (__builtin_mul_overflow(count, (uint64_t)type_bytes[type], &bytes)) cursor->broken = true;
        (void)take(cursor, cursor->broken ? 0 : bytes);
        return PES_OK;
    }
    for (uint64_t i = 0; i < count && !cursor->broken; i++)
        (void)take(cursor, take_number(cursor, 8));
    return PES_OK;
}

static enum pes_status take_metadata(struct cursor *cursor, uint64_t count, json_t *metadata)
{
    for (uint64_t i = 0; i < count && !cursor->broken; i++) {
        char key[128], text[512], safe[96];
        take_text(cursor, key, sizeof key);
        uint32_t type = (uint32_t)take_number(cursor, 4);
        if (type >= NUM_TYPES)
            return pes_fail(PES_INPUT, "%s: metadata '%s' has the unknown type %u", cursor->path,
                            pes_weight_safe_name(key, safe), type);
        if (type == ARRAY) {
            TRY(skip_array(cursor));
        } else if (type == STRING) {
            take_text(cursor, text, sizeof text);
            json_object_set_new(metadata, key, json_string(text)); /* one that isn't UTF-8 is left out */
        } else {
            json_object_set_new(metadata, key, take_scalar(cursor, type));
        }
    }
    return cursor->broken ? ended(cursor) : PES_OK;
}

/* --- tensors --- */

/* Bytes of the data; types of no known size are refused by number. */
static enum pes_status set_type(const struct cursor *cursor, uint32_t type, struct pes_weight *tensor)
{
    size_t elements = 1, bytes;
    if (gguf_block_size(type, &elements, &bytes)) {
        tensor->packing = (unsigned char)type;
        tensor->dtype = PES_DTYPE_U8;
    } else if (type == 0 || type == 1 || type == 30) {
        tensor->dtype = type == 0 ? PES_DTYPE_F32 : type == 1 ? PES_DTYPE_F16 : PES_DTYPE_BF16;
        bytes = type == 0 ? 4 : 2;
    } else {
        return pes_fail(PES_INPUT,
                        "%s: tensor '%s' has type %u; F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q5_K and Q6_K "
                        "are read",
                        cursor->path, tensor->name, type);
    }
    uint64_t columns = tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
    if (columns % elements)
        return pes_fail(PES_INPUT, "%s: tensor '%s' has rows of %llu numbers, not of whole blocks of %zu",
                        cursor->path, tensor->name, (unsigned long long)columns, elements);
    if (__builtin_mul_overflow(tensor->count / elements, (uint64_t)bytes, &tensor->bytes))
        return pes_fail(PES_INPUT, "%s: tensor '%s': its size passes 64 bits", cursor->path, tensor->name);
    return PES_OK;
}

static enum pes_status take_tensor(struct cursor *cursor, struct pes_arena *arena, struct pes_weight *tensor,
                                   uint64_t *offset)
{
    char name[128], renamed[128], safe[96];
    take_text(cursor, name, sizeof name);
    gguf_rename(name, renamed);
    *tensor = (struct pes_weight){.name = pes_arena_copy_text(arena, pes_weight_safe_name(renamed, safe)),
                                  .file = cursor->path,
                                  .count = 1};
    if (!tensor->name) return PES_MEMORY;
    uint32_t rank = (uint32_t)take_number(cursor, 4);
    if (rank > 4)
        return pes_fail(PES_INPUT, "%s: tensor '%s' has %u dimensions", cursor->path, tensor->name, rank);
    tensor->rank = (int)rank;
    /* The file counts from the fastest dimension. */
    for (int d = tensor->rank - 1; d >= 0; d--) {
        tensor->shape[d] = take_number(cursor, 8);
        if (__builtin_mul_overflow(tensor->count, tensor->shape[d], &tensor->count))
            return pes_fail(PES_INPUT, "%s: tensor '%s': the product of its shape passes 64 bits",
                            cursor->path, tensor->name);
    }
    uint32_t type = (uint32_t)take_number(cursor, 4);
    *offset = take_number(cursor, 8);
    if (cursor->broken) return ended(cursor);
    return set_type(cursor, type, tensor);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static enum pes_status refuse_doubles(const char *path, const struct pes_weight *tensors, size_t count,
                                      struct pes_arena *arena)
{
    const char **names = pes_arena_take(arena, count, sizeof *names);
    if (!names) return PES_MEMORY;
    for (size_t i = 0; i < count; i++)
        names[i] = tensors[i].name;
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(names[i - 1], names[i]))
            return pes_fail(PES_INPUT, "%s: tensor '%s' stands twice", path, names[i]);
    return PES_OK;
}

static uint64_t align(uint64_t at, uint64_t alignment)
{
    return (at + alignment - 1) / alignment * alignment;
}

static enum pes_status take_tensors(struct cursor *cursor, uint64_t count, uint64_t alignment,
                                    struct pes_arena *arena, struct pes_weight **out)
{
    struct pes_weight *tensors = pes_arena_take(arena, (size_t)count, sizeof *tensors);
    uint64_t due = 0, offset = 0;
    if (!tensors) return PES_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        TRY(take_tensor(cursor, arena, &tensors[i], &offset));
        if (offset != due)
            return pes_fail(PES_INPUT, "%s: tensor '%s' begins at byte %llu where %llu is due", cursor->path,
                            tensors[i].name, (unsigned long long)offset, (unsigned long long)due);
        if (tensors[i].bytes > cursor->size || due > cursor->size)
            return pes_fail(PES_INPUT, "%s: tensor '%s' is larger than the file", cursor->path,
                            tensors[i].name);
        due = align(offset + tensors[i].bytes, alignment);
    }
    uint64_t start = align(cursor->at, alignment);
    offset = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (start > cursor->size || offset > cursor->size - start ||
            tensors[i].bytes > cursor->size - start - offset)
            return pes_fail(PES_INPUT, "%s: tensor '%s' goes past the end of the file: truncated",
                            cursor->path, tensors[i].name);
        tensors[i].data = cursor->bytes + start + offset;
        offset = align(offset + tensors[i].bytes, alignment);
    }
    *out = tensors;
    return refuse_doubles(cursor->path, tensors, (size_t)count, arena);
}

static enum pes_status parse(struct cursor *cursor, struct pes_arena *arena, json_t *metadata,
                             struct pes_weight **tensors, size_t *count, json_t **config)
{
    const unsigned char *magic = take(cursor, 4);
    uint32_t version = (uint32_t)take_number(cursor, 4);
    if (cursor->broken || memcmp(magic, "GGUF", 4))
        return pes_fail(PES_INPUT, "%s: it doesn't begin as a GGUF file", cursor->path);
    if (version != 2 && version != 3)
        return pes_fail(PES_INPUT, "%s: version %u of GGUF; 2 and 3 are read", cursor->path, version);
    uint64_t num_tensors = take_number(cursor, 8), num_values = take_number(cursor, 8);
    /* A description takes 24 bytes at least. */
    if (num_tensors > cursor->size / 24 || num_values > cursor->size / 12) return ended(cursor);
    TRY(take_metadata(cursor, num_values, metadata));
    const json_t *given = json_object_get(metadata, "general.alignment");
    json_int_t alignment = given ? json_integer_value(given) : 32;
    if (alignment < 1 || alignment > 1 << 20 || (alignment & (alignment - 1)))
        return pes_fail(PES_INPUT, "%s: general.alignment is not a power of two", cursor->path);
    TRY(take_tensors(cursor, num_tensors, (uint64_t)alignment, arena, tensors));
    *count = (size_t)num_tensors;
    bool factors = false;
    for (size_t i = 0; i < *count; i++)
        factors = factors || !strcmp((*tensors)[i].name, "rope_freqs.weight");
    return gguf_config(cursor->path, metadata, factors, config);
}

enum pes_status gguf_parse(const char *path, const struct pes_mapping *mapping, struct pes_arena *arena,
                           struct pes_weight **tensors, size_t *count, json_t **config)
{
    struct cursor cursor = {.path = path, .bytes = mapping->bytes, .size = mapping->size};
    json_t *metadata = json_object();
    *config = NULL;
    enum pes_status status = metadata ? parse(&cursor, arena, metadata, tensors, count, config) : PES_MEMORY;
    json_decref(metadata);
    return status;
}
