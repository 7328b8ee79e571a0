/* results.c - opens results files and moves rows and columns. */
#include "results.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "create.h"
#include "files.h"

/* --- opening --- */

static bool has_signature(const char *path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1A, '\n'};
    unsigned char start[8] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool same = read(file, start, sizeof start) == sizeof start && !memcmp(start, signature, sizeof start);
    close(file);
    return same;
}

enum pes_status results_check(const char *path)
{
    struct stat facts;
    if (stat(path, &facts))
        return pes_fail(errno == ENOENT ? PES_INPUT : PES_IO, "%s: cannot open: %s", path, strerror(errno));
    if (S_ISDIR(facts.st_mode)) return pes_fail(PES_INPUT, "%s is a folder, not a results file", path);
    if (!S_ISREG(facts.st_mode)) return pes_fail(PES_INPUT, "%s is not a plain file", path);
    if (access(path, R_OK)) return pes_fail(PES_IO, "%s: cannot read: %s", path, strerror(errno));
    if (!facts.st_size) return pes_fail(PES_INPUT, "%s is empty, not a results file", path);
    if (!has_signature(path)) return pes_fail(PES_INPUT, "%s is not an HDF5 file", path);
    return PES_OK;
}

static enum pes_status check_format(const struct results *results, const char *wanted)
{
    char format[64];
    int version = 0;
    if (!hdf_get_text(results->file, "format", format, sizeof format) || strcmp(format, wanted))
        return pes_fail(PES_INPUT, "%s is an HDF5 file, but not one of pesweep's results%s", results->path,
                        H5Lexists(results->file, "models", H5P_DEFAULT) > 0
                            ? ": it holds heads of models, which `pesweep analyze` shows"
                            : "");
    if (!hdf_get_int(results->file, "schema_version", &version))
        return pes_fail(PES_INPUT, "%s is damaged: its schema version is missing", results->path);
    if (version != PES_SCHEMA_VERSION)
        return pes_fail(PES_INPUT, "%s has the %s schema version %d; this pesweep (%s) reads version %d",
                        results->path, version < PES_SCHEMA_VERSION ? "older" : "newer", version, pes_build(),
                        PES_SCHEMA_VERSION);
    return PES_OK;
}

static enum pes_status open_columns(struct results *results)
{
    for (int c = 0; c < NUM_COLUMNS; c++) {
        const struct dataset *column = store_column((enum column)c);
        size_t extents[2] = {1, 1};
        results->columns[c] = results_open_dataset(results, column->group, column->name);
        int rank = results->columns[c] < 0 ? -1 : hdf_extents(results->columns[c], extents, 2);
        if (c == COLUMN_STATUS) results->num_trials = extents[0];
        bool right = rank == column->rank && hdf_has_type(results->columns[c], column->element);
        if (right && rank && column->axes[0] == AXIS_TRIAL) right = extents[0] == results->num_trials;
        if (right && c == COLUMN_MESSAGE) right = extents[1] == STORE_MESSAGE_BYTES;
        if (right && c == COLUMN_RUNS) right = extents[0] == STORE_RUNS && extents[1] == STORE_RUN_BYTES;
        if (!right) {
            hdf_forget();
            return pes_fail(PES_INPUT, "%s is damaged: %s/%s is missing or not what it should be",
                            results->path, column->group, column->name);
        }
    }
    return PES_OK;
}

/* As many entries as there are models. */
static enum pes_status open_models(struct results *results)
{
    hid_t labels = results_open_dataset(results, "models", "label");
    bool right = labels >= 0 && hdf_extents(labels, &results->num_trials, 1) == 1;
    hdf_close(&labels);
    hdf_forget();
    return right ? PES_OK : pes_fail(PES_INPUT, "%s is damaged: models/label is missing", results->path);
}

enum pes_status results_open(const char *path, enum results_mode mode, struct results *results)
{
    *results = (struct results){.path = path, .file = -1};
    for (int c = 0; c < NUM_COLUMNS; c++)
        results->columns[c] = -1;
    hdf_start();
    TRY(results_check(path));
    hid_t access = hdf_access(mode == RESULTS_PARALLEL);
    bool heads = mode == RESULTS_HEADS, reads = heads || mode == RESULTS_READ;
    if (access >= 0) results->file = H5Fopen(path, reads ? H5F_ACC_RDONLY : H5F_ACC_RDWR, access);
    hdf_close(&access);
    if (results->file < 0) return hdf_fail(PES_INPUT, path, "open");
    enum pes_status status = check_format(results, heads ? STORE_HEADS_FORMAT : STORE_FORMAT);
    if (status == PES_OK) status = heads ? open_models(results) : open_columns(results);
    if (status != PES_OK) results_close(results);
    return status;
}

hid_t results_open_dataset(const struct results *results, const char *group, const char *name)
{
    if (H5Lexists(results->file, group, H5P_DEFAULT) <= 0) return -1;
    hid_t parent = H5Gopen2(results->file, group, H5P_DEFAULT), dataset = -1;
    if (parent >= 0 && H5Lexists(parent, name, H5P_DEFAULT) > 0)
        dataset = H5Dopen2(parent, name, H5P_DEFAULT);
    hdf_close(&parent);
    return dataset;
}

enum pes_status results_open_fields(struct results *results, const struct pes_layout *layout)
{
    results->fields = pes_allocate(layout->num_fields, sizeof *results->fields);
    if (!results->fields) return PES_MEMORY;
    results->layout = layout;
    for (size_t f = 0; f < layout->num_fields; f++)
        results->fields[f] = -1;
    for (size_t f = 0; f < layout->num_fields; f++) {
        const struct pes_field *field = &layout->fields[f];
        const struct pes_variable *variable = &field->variable;
        size_t extents[PES_MAX_RANK + 1];
        results->fields[f] = results_open_dataset(results, variable->group, variable->name);
        bool right = results->fields[f] >= 0 &&
                     hdf_extents(results->fields[f], extents, PES_MAX_RANK + 1) == variable->rank + 1 &&
                     extents[0] == results->num_trials &&
                     hdf_has_type(results->fields[f], (enum element)variable->type);
        for (int d = 0; d < variable->rank && right; d++)
            right = extents[d + 1] == field->extent[d];
        if (!right) {
            hdf_forget();
            return pes_fail(PES_INPUT, "%s: %s/%s is missing or has another type or size than this sweep's",
                            results->path, variable->group, variable->name);
        }
    }
    return PES_OK;
}

enum pes_status results_close(struct results *results)
{
    bool ok = true;
    for (size_t f = 0; results->fields && f < results->layout->num_fields; f++)
        ok = hdf_close(&results->fields[f]) && ok;
    pes_free(results->fields);
    results->fields = NULL;
    for (int c = 0; c < NUM_COLUMNS; c++)
        ok = hdf_close(&results->columns[c]) && ok;
    ok = hdf_close(&results->file) && ok;
    return ok ? PES_OK : hdf_fail(PES_IO, results->path, "close");
}

/* --- rows --- */

/* Rows of about this size together are moved at once. */
enum { BLOCK_BYTES = 32 << 20 };

size_t results_block(const struct pes_layout *layout)
{
    return PES_MAX((size_t)1, BLOCK_BYTES / PES_MAX(layout->row_bytes, (size_t)1));
}

/* One field of several trials stands together in the file and apart in rows: through a buffer, or directly
 * for a single trial. */
static enum pes_status move_rows(const struct results *results, size_t first, size_t count,
                                 unsigned char *rows, bool write)
{
    const struct pes_layout *layout = results->layout;
    unsigned char *buffer = NULL;
    if (count > 1) {
        size_t most = 0;
        for (size_t f = 0; f < layout->num_fields; f++)
            most = PES_MAX(most, layout->fields[f].count * pes_type_bytes(layout->fields[f].variable.type));
        buffer = pes_allocate(count, most);
        if (!buffer) return PES_MEMORY;
    }
    enum pes_status status = PES_OK;
    for (size_t f = 0; f < layout->num_fields && status == PES_OK; f++) {
        const struct pes_field *field = &layout->fields[f];
        enum element element = (enum element)field->variable.type;
        size_t bytes = field->count * pes_type_bytes(field->variable.type);
        if (write && f == layout->num_fields / 2) store_linger("half");
        unsigned char *from = buffer ? buffer : rows + field->offset;
        for (size_t i = 0; write && buffer && i < count; i++)
            memcpy(buffer + i * bytes, rows + i * layout->row_bytes + field->offset, bytes);
        bool ok = write ? hdf_write(results->fields[f], element, first, count, from)
                        : hdf_read(results->fields[f], element, first, count, from);
        if (!ok)
            status = hdf_fail(PES_IO, results->path, "%s %s/%s of trial %zu", write ? "write" : "read",
                              field->variable.group, field->variable.name, first);
        for (size_t i = 0; !write && buffer && i < count; i++)
            memcpy(rows + i * layout->row_bytes + field->offset, buffer + i * bytes, bytes);
    }
    pes_free(buffer);
    return status;
}

enum pes_status results_read_rows(const struct results *results, size_t first, size_t count,
                                  unsigned char *rows)
{
    memset(rows, 0, count * results->layout->row_bytes);
    return move_rows(results, first, count, rows, false);
}

enum pes_status results_write_rows(const struct results *results, size_t first, size_t count,
                                   const unsigned char *rows)
{
    /* Nothing writes through the pointer in this direction. */
    return move_rows(results, first, count, (unsigned char *)(uintptr_t)rows, true);
}

/* --- columns --- */

enum pes_status results_read_column(const struct results *results, enum column column, size_t first,
                                    size_t count, void *values)
{
    const struct dataset *dataset = store_column(column);
    if (hdf_read(results->columns[column], dataset->element, first, count, values)) return PES_OK;
    return hdf_fail(PES_IO, results->path, "read %s/%s", dataset->group, dataset->name);
}

enum pes_status results_write_column(const struct results *results, enum column column, size_t first,
                                     size_t count, const void *values)
{
    const struct dataset *dataset = store_column(column);
    if (hdf_write(results->columns[column], dataset->element, first, count, values)) return PES_OK;
    return hdf_fail(PES_IO, results->path, "write %s/%s", dataset->group, dataset->name);
}
