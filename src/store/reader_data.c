/* reader_data.c - rows, whole variables, messages and the record of starts, read when they are asked for. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "pesweep/text.h"

enum pes_status pes_reader_row(struct pes_reader *reader, size_t trial, struct pes_row *row)
{
    CHECK(trial < reader->results.num_trials && row->layout->row_bytes == reader->layout->row_bytes);
    return results_read_rows(&reader->results, trial, 1, row->bytes);
}

enum pes_status pes_reader_checksum(struct pes_reader *reader, size_t trial, uint64_t *stored,
                                    uint64_t *computed)
{
    struct pes_row row = {reader->layout, pes_allocate(reader->layout->row_bytes, 1)};
    if (!row.bytes) return PES_MEMORY;
    enum pes_status status = pes_reader_row(reader, trial, &row);
    *stored = reader->checksums[trial];
    if (status == PES_OK) *computed = pes_row_checksum(&row);
    pes_free(row.bytes);
    return status;
}

static bool is_finished(uint8_t status)
{
    return status >= PES_OUTCOME_DONE;
}

enum pes_status pes_reader_verify(struct pes_reader *reader, bool *right)
{
    const struct pes_layout *layout = reader->layout;
    size_t num_trials = reader->results.num_trials, block = PES_MIN(results_block(layout), num_trials);
    unsigned char *rows = pes_allocate(block, layout->row_bytes);
    enum pes_status status = rows ? PES_OK : PES_MEMORY;
    for (size_t first = 0; first < num_trials && status == PES_OK;) {
        size_t count = 0;
        while (count < block && first + count < num_trials && is_finished(reader->status[first + count]))
            count++;
        if (count) status = results_read_rows(&reader->results, first, count, rows);
        for (size_t i = 0; i < count && status == PES_OK; i++) {
            struct pes_row row = {layout, rows + i * layout->row_bytes};
            right[first + i] = pes_row_checksum(&row) == reader->checksums[first + i];
        }
        if (!count) right[first++] = true;
        first += count;
    }
    pes_free(rows);
    return status;
}

enum pes_status pes_reader_variable(struct pes_reader *reader, const char *group, const char *name,
                                    double **values, size_t *count)
{
    const char *path = reader->results.path;
    hid_t dataset = results_open_dataset(&reader->results, group, name);
    hid_t type = dataset < 0 ? -1 : H5Dget_type(dataset);
    H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    hdf_close(&type);
    size_t extents[H5S_MAX_RANK];
    int rank = dataset < 0 ? -1 : hdf_extents(dataset, extents, H5S_MAX_RANK);
    enum pes_status status = PES_OK;
    *values = NULL;
    if (rank < 0 || (class != H5T_FLOAT && class != H5T_INTEGER)) {
        status = pes_fail(PES_INPUT, "%s has no numbers %s/%s", path, group, name);
    } else {
        *count = 1;
        for (int d = 0; d < rank; d++)
            *count *= extents[d];
        *values = *count <= SIZE_MAX / sizeof **values ? malloc(PES_MAX(*count, (size_t)1) * sizeof **values)
                                                       : NULL;
        if (!*values)
            status = pes_fail(PES_MEMORY, "no memory for %zu values of %s/%s", *count, group, name);
        else if (H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) < 0)
            status = hdf_fail(PES_IO, path, "read %s/%s", group, name);
    }
    if (status != PES_OK) {
        free(*values);
        *values = NULL;
    }
    hdf_close(&dataset);
    hdf_forget();
    return status;
}

enum pes_status pes_reader_part(struct pes_reader *reader, const char *group, const char *name, size_t first,
                                size_t count, double *values)
{
    const struct pes_field *field = pes_layout_find(reader->layout, group, name);
    const char *path = reader->results.path;
    hsize_t start[PES_MAX_RANK + 1] = {first}, extent[PES_MAX_RANK + 1] = {count};
    CHECK(first <= reader->results.num_trials && count <= reader->results.num_trials - first);
    if (!field) return pes_fail(PES_INPUT, "%s has no variable %s/%s", path, group, name);
    if (!count || !field->count) return PES_OK;
    for (int r = 0; r < field->variable.rank; r++)
        extent[r + 1] = field->extent[r];
    hid_t dataset = results_open_dataset(&reader->results, group, name);
    hid_t space = dataset >= 0 ? H5Dget_space(dataset) : H5I_INVALID_HID;
    hid_t memory = H5Screate_simple(field->variable.rank + 1, extent, NULL);
    bool ok = space >= 0 && memory >= 0 && H5Sget_simple_extent_ndims(space) == field->variable.rank + 1 &&
              H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0 &&
              H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) >= 0;
    enum pes_status status = ok ? PES_OK : hdf_fail(PES_IO, path, "read %s/%s", group, name);
    hdf_close(&memory);
    hdf_close(&space);
    hdf_close(&dataset);
    hdf_forget();
    return status;
}

const char *pes_reader_message(const struct pes_reader *reader, size_t trial)
{
    CHECK(trial < reader->results.num_trials);
    /* Kept for the next call, which changes nothing that the caller sees. */
    struct pes_reader *keeper = (struct pes_reader *)(uintptr_t)reader;
    static const size_t size = STORE_MESSAGE_BYTES;
    if (!keeper->messages) {
        size_t num_trials = reader->results.num_trials;
        char *messages = pes_allocate(num_trials, size);
        if (!messages) return "";
        if (results_read_column(&reader->results, COLUMN_MESSAGE, 0, num_trials, messages) != PES_OK) {
            pes_free(messages);
            return "";
        }
        for (size_t t = 0; t < num_trials; t++)
            messages[t * size + size - 1] = 0;
        keeper->messages = messages;
    }
    return reader->messages + trial * size;
}

size_t pes_reader_num_runs(struct pes_reader *reader)
{
    static const size_t size = STORE_RUN_BYTES;
    if (!reader->runs) {
        char *runs = pes_allocate(STORE_RUNS, size);
        if (!runs) return 0;
        if (results_read_column(&reader->results, COLUMN_RUNS, 0, STORE_RUNS, runs) != PES_OK) {
            pes_free(runs);
            return 0;
        }
        for (size_t r = 0; r < STORE_RUNS; r++)
            runs[r * size + size - 1] = 0;
        reader->runs = runs;
    }
    size_t num = STORE_RUNS;
    while (num && !reader->runs[(num - 1) * size])
        num--;
    return num;
}

const char *pes_reader_run(struct pes_reader *reader, size_t run)
{
    return run < pes_reader_num_runs(reader) ? reader->runs + run * STORE_RUN_BYTES : "";
}
