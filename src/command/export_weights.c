/* export_weights.c - safetensors: 8 bytes little-endian length of the header, the header in JSON padded with
 * spaces to a multiple of 8, then the tensors one after another without holes. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

/* "path=value\n" lines to members; the arena isn't needed, values are cut in place. */
static bool put_config(json_t *metadata, char *lines)
{
    bool ok = true;
    for (char *line = lines, *next; *line && ok; line = next) {
        char *equals = strchr(line, '='), *end = line + strcspn(line, "\n");
        next = *end ? end + 1 : end;
        *end = 0;
        if (!equals || equals > end) continue;
        *equals = 0;
        ok = !json_object_set_new(metadata, line, json_string(equals + 1));
    }
    return ok;
}

static json_t *describe_trial(struct pes_reader *reader, size_t trial)
{
    char *config = pes_reader_config(reader, trial);
    if (!config) return NULL;
    json_t *metadata = json_object();
    bool ok = metadata &&
              !json_object_set_new(metadata, "pesweep.key", json_string(pes_reader_key(reader, trial))) &&
              !json_object_set_new(metadata, "pesweep.label", json_string(pes_reader_label(reader, trial))) &&
              !json_object_set_new(metadata, "pesweep.version", json_string(pes_build())) &&
              put_config(metadata, config);
    pes_free(config);
    if (ok) return metadata;
    json_decref(metadata);
    pes_fail(PES_MEMORY, "no memory for the header");
    return NULL;
}

static bool put_tensor(json_t *header, const struct pes_stored_tensor *tensor, const char *type,
                       size_t *offset, size_t element_bytes)
{
    json_t *shape = json_array();
    for (int d = 0; d < tensor->rank; d++)
        json_array_append_new(shape, json_integer((json_int_t)tensor->shape[d]));
    size_t end = *offset + tensor->count * element_bytes;
    json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", type, "shape", shape, "data_offsets",
                              (json_int_t)*offset, (json_int_t)end);
    *offset = end;
    return entry && !json_object_set_new(header, tensor->name, entry);
}

static enum pes_status write_header(const json_t *header, FILE *file)
{
    char *text = json_dumps(header, JSON_COMPACT);
    if (!text) return pes_fail(PES_MEMORY, "no memory for the header");
    size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    unsigned char size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    fwrite(size, 1, sizeof size, file);
    fwrite(text, 1, length, file);
    for (; length < padded; length++)
        putc(' ', file);
    free(text);
    return PES_OK;
}

enum pes_status pes_export_weights(struct pes_reader *reader, size_t trial, FILE *file)
{
    const struct pes_stored_tensor *tensors;
    size_t num, offset = 0;
    TRY(pes_reader_tensors(reader, trial, &tensors, &num));
    const struct pes_layout *layout = pes_reader_layout(reader);
    const struct pes_field *weights = pes_reader_weights(reader);
    struct pes_row row = {layout, pes_allocate(layout->row_bytes, 1)};
    if (!row.bytes) return PES_MEMORY;
    enum pes_status status = pes_reader_row(reader, trial, &row);
    json_t *header = json_object(), *metadata = status == PES_OK ? describe_trial(reader, trial) : NULL;
    size_t element_bytes = pes_type_bytes(weights->variable.type);
    if (status == PES_OK && !metadata) status = PES_INPUT;
    bool ok = header && metadata && !json_object_set_new(header, "__metadata__", metadata);
    for (size_t i = 0; i < num && ok; i++)
        ok = put_tensor(header, &tensors[i], weights->variable.type == PES_F64 ? "F64" : "F32", &offset,
                        element_bytes);
    if (status == PES_OK)
        status = ok ? write_header(header, file) : pes_fail(PES_MEMORY, "no memory for the header");
    for (size_t i = 0; i < num && status == PES_OK; i++)
        fwrite(row.bytes + weights->offset + tensors[i].offset * element_bytes, element_bytes,
               tensors[i].count, file);
    json_decref(header);
    pes_free(row.bytes);
    return status;
}
