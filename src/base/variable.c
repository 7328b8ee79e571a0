/* variable.c - layouts and rows. */
#include "pesweep/variable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/text.h"

size_t pes_type_bytes(enum pes_type type)
{
    switch (type) {
    case PES_F64:
    case PES_I64:
        return 8;
    case PES_F32:
    case PES_I32:
        return 4;
    default:
        return 1;
    }
}

const char *pes_dimension_name(enum pes_dimension dimension)
{
#define X(symbol, name, meaning) name,
    static const char *const names[] = {PES_DIMENSIONS(X)};
#undef X
    return names[dimension];
}

const char *pes_dimension_meaning(enum pes_dimension dimension)
{
#define X(symbol, name, meaning) meaning,
    static const char *const meanings[] = {PES_DIMENSIONS(X)};
#undef X
    return meanings[dimension];
}

static int compare_path(const struct pes_variable *variable, const char *group, const char *name)
{
    int order = strcmp(variable->group, group);
    return order ? order : strcmp(variable->name, name);
}

/* Insertion sort: a few hundred fields, once per sweep. */
static void sort_paths(struct pes_layout *layout)
{
    for (size_t i = 0; i < layout->num_fields; i++) {
        const struct pes_variable *variable = &layout->fields[i].variable;
        size_t place = i;
        while (place && compare_path(&layout->fields[layout->by_path[place - 1]].variable, variable->group,
                                     variable->name) > 0) {
            layout->by_path[place] = layout->by_path[place - 1];
            place--;
        }
        layout->by_path[place] = i;
    }
}

enum pes_status pes_layout_create(const size_t size[PES_NUM_DIMENSIONS],
                                  const struct pes_variable *const *arrays, size_t num_arrays,
                                  struct pes_arena *arena, struct pes_layout **out)
{
    size_t most = 0;
    for (size_t a = 0; a < num_arrays; a++)
        for (const struct pes_variable *v = arrays[a]; v->name; v++)
            most++;
    struct pes_layout *layout = pes_arena_take(arena, 1, sizeof *layout);
    if (!layout) return PES_MEMORY;
    memcpy(layout->size, size, sizeof layout->size);
    layout->fields = pes_arena_take(arena, most, sizeof *layout->fields);
    layout->by_path = pes_arena_take(arena, most, sizeof *layout->by_path);
    if (!layout->fields || !layout->by_path) return PES_MEMORY;

    size_t offset = 0;
    for (size_t a = 0; a < num_arrays; a++)
        for (const struct pes_variable *v = arrays[a]; v->name; v++) {
            struct pes_field field = {.variable = *v, .count = 1, .offset = offset};
            CHECK(v->rank <= PES_MAX_RANK);
            for (int d = 0; d < v->rank; d++) {
                field.extent[d] = size[v->dimensions[d]];
                if (field.extent[d] && field.count > SIZE_MAX / 16 / field.extent[d])
                    return pes_fail(PES_INPUT, "a trial's %s/%s would be too large", v->group, v->name);
                field.count *= field.extent[d];
            }
            if (!field.count) continue;
            field.variable.group = pes_arena_copy_text(arena, v->group);
            field.variable.name = pes_arena_copy_text(arena, v->name);
            if (!field.variable.group || !field.variable.name) return PES_MEMORY;
            layout->fields[layout->num_fields++] = field;
            size_t bytes = field.count * pes_type_bytes(v->type);
            if (bytes > SIZE_MAX / 2 - offset)
                return pes_fail(PES_INPUT, "a trial's results would be too large");
            offset += (bytes + 7) / 8 * 8;
        }
    layout->row_bytes = offset;
    sort_paths(layout);
    *out = layout;
    return PES_OK;
}

enum pes_status pes_layout_select(const struct pes_layout *layout, const bool *keep, struct pes_arena *arena,
                                  struct pes_layout **selected)
{
    struct pes_variable *kept = pes_arena_take(arena, layout->num_fields + 1, sizeof *kept);
    if (!kept) return PES_MEMORY;
    size_t count = 0;
    for (size_t f = 0; f < layout->num_fields; f++)
        if (keep[f]) kept[count++] = layout->fields[f].variable;
    const struct pes_variable *arrays[] = {kept}; /* ended by the zeros behind the last */
    return pes_layout_create(layout->size, arrays, 1, arena, selected);
}

const struct pes_field *pes_layout_find(const struct pes_layout *layout, const char *group, const char *name)
{
    size_t low = 0, high = layout->num_fields;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct pes_field *field = &layout->fields[layout->by_path[middle]];
        int order = compare_path(&field->variable, group, name);
        if (!order) return field;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void store_number(void *at, enum pes_type type, double value)
{
    switch (type) {
    case PES_F32:
        *(float *)at = (float)value;
        break;
    case PES_F64:
        *(double *)at = value;
        break;
    case PES_I64:
        *(int64_t *)at = (int64_t)value;
        break;
    case PES_I32:
        *(int32_t *)at = (int32_t)value;
        break;
    case PES_U8:
        *(uint8_t *)at = (uint8_t)value;
        break;
    }
}

void pes_row_clear(struct pes_row *row)
{
    const struct pes_layout *layout = row->layout;
    memset(row->bytes, 0, layout->row_bytes);
    for (size_t f = 0; f < layout->num_fields; f++) {
        const struct pes_field *field = &layout->fields[f];
        enum pes_type type = field->variable.type;
        if (type == PES_U8) continue;
        double fill = type == PES_F32 || type == PES_F64 ? NAN : -1;
        for (size_t i = 0; i < field->count; i++)
            store_number(row->bytes + field->offset + i * pes_type_bytes(type), type, fill);
    }
}

uint64_t pes_row_checksum(const struct pes_row *row)
{
    return pes_hash(row->bytes, row->layout->row_bytes);
}

static void *address(const struct pes_row *row, const struct pes_field *field, const size_t *index)
{
    size_t element = 0;
    for (int d = 0; d < field->variable.rank; d++) {
        CHECK(index[d] < field->extent[d]);
        element = element * field->extent[d] + index[d];
    }
    return row->bytes + field->offset + element * pes_type_bytes(field->variable.type);
}

void *pes_row_at(const struct pes_row *row, const char *group, const char *name, const size_t *index)
{
    const struct pes_field *field = pes_layout_find(row->layout, group, name);
    return field ? address(row, field, index) : NULL;
}

void pes_row_put(const struct pes_row *row, const char *group, const char *name, const size_t *index,
                 double value)
{
    const struct pes_field *field = pes_layout_find(row->layout, group, name);
    if (field) store_number(address(row, field, index), field->variable.type, value);
}

void pes_row_put_block(const struct pes_row *row, const char *group, const char *name, const size_t *index,
                       int inner, const size_t *extent, const double *block)
{
    const struct pes_field *field = pes_layout_find(row->layout, group, name);
    if (!field) return;
    int outer = field->variable.rank - inner;
    CHECK(outer >= 0);
    size_t at[PES_MAX_RANK] = {0}, count = 1;
    if (outer) memcpy(at, index, (size_t)outer * sizeof *at);
    for (int d = 0; d < inner; d++)
        count *= extent[d];
    for (size_t i = 0; i < count; i++) {
        size_t rest = i;
        for (int d = inner - 1; d >= 0; d--) {
            at[outer + d] = rest % extent[d];
            rest /= extent[d];
        }
        store_number(address(row, field, at), field->variable.type, block[i]);
    }
}

static double load_number(const void *at, enum pes_type type)
{
    switch (type) {
    case PES_F32:
        return (double)*(const float *)at;
    case PES_F64:
        return *(const double *)at;
    case PES_I64:
        return (double)*(const int64_t *)at;
    case PES_I32:
        return (double)*(const int32_t *)at;
    default:
        return (double)*(const uint8_t *)at;
    }
}

double pes_row_get(const struct pes_row *row, const char *group, const char *name, const size_t *index)
{
    const struct pes_field *field = pes_layout_find(row->layout, group, name);
    return field ? load_number(address(row, field, index), field->variable.type) : NAN;
}

void pes_row_values(const struct pes_row *row, const struct pes_field *field, double *values)
{
    enum pes_type type = field->variable.type;
    for (size_t i = 0; i < field->count; i++)
        values[i] = load_number(row->bytes + field->offset + i * pes_type_bytes(type), type);
}
