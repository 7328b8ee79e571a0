/* content.c - the values that a results file has from the beginning: keys, swept values, configurations,
 * tensors. */
#include "create.h"

#include <math.h>
#include <string.h>

#include "pesweep/text.h"

/* --- the sweep file's text --- */

static size_t put_utf8(char *out, uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    out[0] = (char)((0xF0U << (3 - more) & 0xFF) | point >> (6 * more));
    for (int i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (point >> (6 * (more - i)) & 0x3F));
    return (size_t)more + 1;
}

static uint32_t utf16_unit(const unsigned char *bytes, bool big_endian)
{
    return big_endian ? (uint32_t)(bytes[0] << 8 | bytes[1]) : (uint32_t)(bytes[1] << 8 | bytes[0]);
}

char *store_text_as_utf8(const char *bytes, size_t count, struct pes_arena *arena)
{
    const unsigned char *in = (const unsigned char *)bytes;
    bool big_endian = count >= 2 && in[0] == 0xFE && in[1] == 0xFF;
    bool little_endian = count >= 2 && in[0] == 0xFF && in[1] == 0xFE;
    if (!big_endian && !little_endian) {
        bool mark = count >= 3 && in[0] == 0xEF && in[1] == 0xBB && in[2] == 0xBF;
        char *text = pes_arena_take(arena, count + 1, 1);
        if (text && count) memcpy(text, bytes + (mark ? 3 : 0), count - (mark ? 3 : 0));
        return text;
    }
    char *text = pes_arena_take(arena, 2 * count + 1, 1); /* at most 3 bytes for a unit of 2 */
    if (!text) return NULL;
    size_t used = 0;
    for (size_t i = 2; i + 1 < count; i += 2) {
        uint32_t point = utf16_unit(in + i, big_endian);
        if (point >= 0xD800 && point < 0xDC00 && i + 3 < count) {
            uint32_t low = utf16_unit(in + i + 2, big_endian);
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            i += 2;
        }
        used += put_utf8(text + used, point);
    }
    return text;
}

/* --- one entry --- */

static double axis_real(const struct pes_config *config, size_t slot)
{
    return config->applies[slot] ? config->values[slot].real : NAN;
}

static const char *axis_text(const struct pes_config *config, size_t slot, struct pes_arena *arena)
{
    if (!config->applies[slot]) return "";
    const struct pes_value *value = &config->values[slot];
    bool plain = value->type == PES_VALUE_CHOICE || value->type == PES_VALUE_TEXT;
    return plain ? value->text : pes_value_format(value, arena);
}

static const char *variable_axes(const struct pes_variable *variable, struct pes_arena *arena)
{
    struct pes_text text = {0};
    for (int d = 0; d < variable->rank; d++)
        pes_text_append(&text, "%s%s", d ? " " : "", pes_dimension_name(variable->dimensions[d]));
    const char *copy = text.failed ? NULL : pes_arena_copy_text(arena, pes_text_get(&text));
    pes_text_destroy(&text);
    return copy;
}

static const char *entry_text(const struct file_table *table, const struct dataset *dataset, size_t entry,
                              struct pes_arena *arena)
{
    const struct pes_sweep *sweep = table->sweep;
    switch (dataset->content) {
    case CONTENT_KEY:
        return sweep->trials[entry].key;
    case CONTENT_LABEL:
        return sweep->trials[entry].label;
    case CONTENT_AXIS:
        return axis_text(sweep->trials[entry].config, sweep->axes[dataset->which].slot, arena);
    case CONTENT_CONFIG:
        return store_config_text(sweep->trials[entry].config, store_trial_blocks, arena);
    case CONTENT_SETTINGS:
        return store_config_text(sweep->settings, store_setting_blocks, arena);
    case CONTENT_SWEEP_TEXT:
        return store_text_as_utf8(sweep->text, sweep->text_bytes, arena);
    case CONTENT_VARIABLE_PATH: {
        const struct pes_variable *variable = &table->layout->fields[entry].variable;
        return pes_arena_printf(arena, "%s/%s", variable->group, variable->name);
    }
    case CONTENT_VARIABLE_AXES:
        return variable_axes(&table->layout->fields[entry].variable, arena);
    default:
        CHECK(dataset->content == CONTENT_TENSOR_NAME);
        return table->tensors[entry].name;
    }
}

static int64_t entry_integer(const struct file_table *table, const struct dataset *dataset, size_t entry)
{
    const struct tensor_row *tensor = table->tensors ? &table->tensors[entry] : NULL;
    switch (dataset->content) {
    case CONTENT_AXIS:
        return table->sweep->trials[entry].config->values[table->sweep->axes[dataset->which].slot].integer;
    case CONTENT_PARAMETER_SET:
        return table->sets[entry];
    case CONTENT_TENSOR_SET:
        return tensor->set;
    case CONTENT_TENSOR_RANK:
        return tensor->rank;
    case CONTENT_TENSOR_OFFSET:
        return tensor->offset;
    case CONTENT_TENSOR_COUNT:
        return tensor->count;
    default:
        CHECK(dataset->content == CONTENT_TENSOR_DECAYS);
        return tensor->decays;
    }
}

enum pes_status store_fill_content(const struct file_table *table, const struct dataset *dataset,
                                   size_t first, size_t count, struct pes_arena *arena, void *values)
{
    for (size_t i = 0; i < count; i++) {
        size_t entry = first + i;
        if (dataset->element == ELEMENT_TEXT) {
            const char *text = entry_text(table, dataset, entry, arena);
            if (!text) return PES_MEMORY;
            ((const char **)values)[i] = text;
        } else if (dataset->element == ELEMENT_F64) {
            ((double *)values)[i] =
                axis_real(table->sweep->trials[entry].config, table->sweep->axes[dataset->which].slot);
        } else if (dataset->content == CONTENT_TENSOR_SHAPE) {
            memcpy((int64_t *)values + i * STORE_TENSOR_AXES, table->tensors[entry].shape,
                   sizeof table->tensors[entry].shape);
        } else if (dataset->element == ELEMENT_I64) {
            ((int64_t *)values)[i] = entry_integer(table, dataset, entry);
        } else if (dataset->element == ELEMENT_I32) {
            ((int32_t *)values)[i] = (int32_t)entry_integer(table, dataset, entry);
        } else {
            CHECK(dataset->element == ELEMENT_BOOL);
            ((int8_t *)values)[i] = (int8_t)entry_integer(table, dataset, entry);
        }
    }
    return PES_OK;
}
