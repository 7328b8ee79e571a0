/* table.c - the tensor table: every tensor starts on a 64-byte boundary of the flat vector. */
#include "pesweep/tensor.h"

#include <stdio.h>
#include <string.h>

/* Elements between possible starts: 64 bytes of the narrower type, so that float and double builds agree on
 * the layout. */
enum { ALIGNMENT = 16, FIRST_CAPACITY = 64, NAME_BYTES = 128 };

static enum pes_status grow(struct pes_tensor_table *table)
{
    if (table->num_tensors < table->capacity) return PES_OK;
    size_t capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY;
    struct pes_tensor *tensors = pes_arena_take(table->arena, capacity, sizeof *tensors);
    if (!tensors) return PES_MEMORY;
    if (table->num_tensors) memcpy(tensors, table->tensors, table->num_tensors * sizeof *tensors);
    table->tensors = tensors;
    table->capacity = capacity;
    return PES_OK;
}

enum pes_status pes_tensor_add(struct pes_tensor_table *table, const char *name, enum pes_tensor_role role,
                               size_t fan_in, double std, int rank, const size_t *shape)
{
    CHECK(rank >= 1 && rank <= 3);
    CHECK(!pes_tensor_find(table, name));
    TRY(grow(table));
    struct pes_tensor tensor = {.role = role, .rank = rank, .fan_in = fan_in, .std = std, .count = 1};
    tensor.name = pes_arena_copy_text(table->arena, name);
    if (!tensor.name) return PES_MEMORY;
    for (int d = 0; d < rank; d++) {
        if (shape[d] && tensor.count > SIZE_MAX / 16 / shape[d])
            return pes_fail(PES_INPUT, "tensor %s is too large", name);
        tensor.shape[d] = shape[d];
        tensor.count *= shape[d];
    }
    tensor.offset = table->num_parameters;
    size_t padded = (tensor.count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (padded > SIZE_MAX / 16 - table->num_parameters)
        return pes_fail(PES_INPUT, "the model is too large at tensor %s", name);
    table->num_parameters += padded;
    table->tensors[table->num_tensors++] = tensor;
    return PES_OK;
}

static void layer_name(char full[NAME_BYTES], int layer, const char *name)
{
    int length = layer < 0 ? snprintf(full, NAME_BYTES, "%s", name)
                           : snprintf(full, NAME_BYTES, "layers.%d.%s", layer, name);
    CHECK(length > 0 && length < NAME_BYTES);
}

enum pes_status pes_tensor_add_layer(struct pes_tensor_table *table, int layer, const char *name,
                                     enum pes_tensor_role role, size_t fan_in, double std, int rank,
                                     const size_t *shape)
{
    char full[NAME_BYTES];
    layer_name(full, layer, name);
    return pes_tensor_add(table, full, role, fan_in, std, rank, shape);
}

const struct pes_tensor *pes_tensor_find(const struct pes_tensor_table *table, const char *name)
{
    for (size_t i = 0; i < table->num_tensors; i++)
        if (strcmp(table->tensors[i].name, name) == 0) return &table->tensors[i];
    return NULL;
}

size_t pes_tensor_table_count(const struct pes_tensor_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->num_tensors; i++)
        count += table->tensors[i].count;
    return count;
}

static size_t offset_of(const struct pes_parameters *parameters, int layer, const char *name)
{
    char full[NAME_BYTES];
    layer_name(full, layer, name);
    const struct pes_tensor *tensor = pes_tensor_find(parameters->table, full);
    CHECK(tensor);
    return tensor->offset;
}

const real *pes_parameters_get(const struct pes_parameters *parameters, int layer, const char *name)
{
    return parameters->values + offset_of(parameters, layer, name);
}

real *pes_parameters_gradient(const struct pes_parameters *parameters, int layer, const char *name)
{
    CHECK(parameters->gradient);
    return parameters->gradient + offset_of(parameters, layer, name);
}
