/* checkpoint.c - the state of an unfinished trial: <results>.ckpt/<key>.h5.
 *
 * Written under a name of its own, synced, renamed over the old one: what stands under the final name is
 * whole or damaged by the disk, and the checksum over every byte that matters says which.  An extension of
 * the sweep may give rows another layout; the row of a checkpoint then moves to its new places. */
#include "copy.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "describe.h"
#include "files.h"

static const char format[] = "pesweep checkpoint 1";
static const char folder_ending[] = ".ckpt", file_ending[] = ".h5", part_ending[] = ".part";

/* The numbers of a state, as one array. */
enum { STEP, UPDATES, EVALUATIONS, CHECKPOINTS, PARAMETERS, ROW_BYTES, INTERVAL_COUNT, NUM_COUNTERS };
enum { TRAIN_SECONDS, MEASURE_SECONDS, INTERVAL_LOSS, NUM_REALS };

struct image {
    int64_t counters[NUM_COUNTERS];
    double reals[NUM_REALS];
    uint64_t layout, checksum; /* of the row's layout; of everything */
};

static enum element real_element(void)
{
    return sizeof(real) == sizeof(double) ? ELEMENT_F64 : ELEMENT_F32;
}

/* Rows of equal length may still mean different things: 0 without memory. */
static uint64_t hash_layout(const struct pes_layout *layout)
{
    struct pes_text text = {0};
    store_describe_layout(layout, &text);
    uint64_t hash = text.failed ? 0 : pes_hash(pes_text_get(&text), text.length);
    pes_text_destroy(&text);
    return hash;
}

static uint64_t checksum(const char *key, const struct image *image, const struct pes_train_state *state,
                         const struct pes_row *row)
{
    XXH3_state_t *hash = XXH3_createState();
    if (!hash) return 0;
    size_t bytes = state->num_parameters * sizeof(real);
    XXH3_64bits_reset(hash);
    XXH3_64bits_update(hash, key, strlen(key));
    XXH3_64bits_update(hash, image->counters, sizeof image->counters);
    XXH3_64bits_update(hash, image->reals, sizeof image->reals);
    XXH3_64bits_update(hash, &image->layout, sizeof image->layout);
    XXH3_64bits_update(hash, state->parameters, bytes);
    XXH3_64bits_update(hash, state->m, bytes);
    XXH3_64bits_update(hash, state->v, bytes);
    XXH3_64bits_update(hash, row->bytes, row->layout->row_bytes);
    uint64_t digest = XXH3_64bits_digest(hash);
    XXH3_freeState(hash);
    return digest;
}

/* --- saving --- */

static bool write_array(hid_t file, const char *name, enum element element, size_t count, const void *values)
{
    hsize_t extent = count;
    hid_t type = hdf_file_type(element), space = H5Screate_simple(1, &extent, NULL), dataset = -1;
    if (type >= 0 && space >= 0)
        dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = dataset >= 0 && hdf_write(dataset, element, 0, count, values);
    hdf_close(&type);
    hdf_close(&space);
    return hdf_close(&dataset) && ok;
}

/* The layout of the row goes along as text, for a start whose sweep has another one. */
static bool write_row(hid_t file, const struct pes_row *row)
{
    struct pes_text text = {0};
    store_describe_layout(row->layout, &text);
    bool ok = !text.failed &&
              write_array(file, "row_layout", ELEMENT_U8, text.length + 1, pes_text_get(&text)) &&
              write_array(file, "row", ELEMENT_U8, row->layout->row_bytes, row->bytes);
    pes_text_destroy(&text);
    return ok;
}

static enum pes_status write_file(const char *path, const struct image *image,
                                  const struct pes_train_state *state)
{
    hdf_start();
    hid_t access = hdf_access(false), file = -1;
    if (access >= 0) file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hdf_close(&access);
    bool ok = file >= 0 && hdf_put_text(file, "format", format) &&
              hdf_put_number(file, "layout", ELEMENT_U64, &image->layout) &&
              hdf_put_number(file, "checksum", ELEMENT_U64, &image->checksum) &&
              write_array(file, "counters", ELEMENT_I64, NUM_COUNTERS, image->counters) &&
              write_array(file, "reals", ELEMENT_F64, NUM_REALS, image->reals) &&
              write_array(file, "parameters", real_element(), state->num_parameters, state->parameters) &&
              write_array(file, "m", real_element(), state->num_parameters, state->m) &&
              write_array(file, "v", real_element(), state->num_parameters, state->v) &&
              write_row(file, &state->row);
    /* The message first, while the cause is known. */
    enum pes_status status = ok ? PES_OK : hdf_fail(PES_IO, path, "write");
    if (!ok) store_give_up(path);
    if (!hdf_close(&file) && ok) status = hdf_fail(PES_IO, path, "write");
    return status;
}

/* Creates the folder if it isn't there, durably. */
static enum pes_status make_folder(const char *path, char folder[PATH_MAX])
{
    TRY(store_name(folder, path, folder_ending));
    if (!mkdir(folder, 0777)) return store_sync_folder(folder);
    if (errno == EEXIST) return PES_OK;
    return pes_fail(PES_IO, "%s: cannot create: %s", folder, strerror(errno));
}

enum pes_status pes_checkpoint_save(const char *path, const char *key, const struct pes_train_state *state)
{
    struct image image = {.counters = {[STEP] = state->step,
                                       [UPDATES] = state->updates,
                                       [EVALUATIONS] = (int64_t)state->num_evaluations,
                                       [CHECKPOINTS] = (int64_t)state->num_checkpoints,
                                       [PARAMETERS] = (int64_t)state->num_parameters,
                                       [ROW_BYTES] = (int64_t)state->row.layout->row_bytes,
                                       [INTERVAL_COUNT] = state->interval_count},
                          .reals = {[TRAIN_SECONDS] = state->train_seconds,
                                    [MEASURE_SECONDS] = state->measure_seconds,
                                    [INTERVAL_LOSS] = state->interval_loss},
                          .layout = hash_layout(state->row.layout)};
    image.checksum = checksum(key, &image, state, &state->row);
    char folder[PATH_MAX], name[PATH_MAX], part[PATH_MAX], host[64] = "";
    static unsigned counter;
    gethostname(host, sizeof host - 1);
    TRY(make_folder(path, folder));
    int length = snprintf(name, sizeof name, "%s/%s%s", folder, key, file_ending);
    int part_length =
        snprintf(part, sizeof part, "%s.%s.%ld.%u%s", name, host, (long)getpid(), counter++, part_ending);
    if (length >= PATH_MAX || part_length >= PATH_MAX)
        return pes_fail(PES_INPUT, "the path of the results file is too long");
    /* HDF5 leaves traces of a file that it could not even begin. */
    TRY(store_check_room(part,
                         3 * state->num_parameters * sizeof(real) + state->row.layout->row_bytes + 16384));
    enum pes_status status = write_file(part, &image, state);
    if (status == PES_OK) status = store_replace(part, name);
    if (status != PES_OK) unlink(part);
    return status;
}

/* --- loading --- */

static enum pes_status damaged(const char *path, const char *why)
{
    hdf_forget();
    return pes_fail(PES_IO, "%s cannot be used: %s", path, why);
}

static bool read_array(hid_t file, const char *name, enum element element, size_t count, void *values)
{
    hid_t dataset = H5Lexists(file, name, H5P_DEFAULT) > 0 ? H5Dopen2(file, name, H5P_DEFAULT) : -1;
    size_t extent = 0;
    bool ok = dataset >= 0 && hdf_extents(dataset, &extent, 1) == 1 && extent == count &&
              hdf_has_type(dataset, element) && hdf_read(dataset, element, 0, count, values);
    hdf_close(&dataset);
    return ok;
}

static bool read_number(hid_t file, const char *name, uint64_t *value)
{
    hid_t attribute = H5Aexists(file, name) > 0 ? H5Aopen(file, name, H5P_DEFAULT) : -1;
    bool ok = attribute >= 0 && H5Aread(attribute, H5T_NATIVE_UINT64, value) >= 0;
    hdf_close(&attribute);
    return ok;
}

/* The layout of the row in the file: the sweep's, or another that the file describes, in the arena. */
static enum pes_status find_layout(hid_t file, const char *path, const struct image *image,
                                   const struct pes_layout *present, struct pes_arena *arena,
                                   const struct pes_layout **layout)
{
    *layout = present;
    if (image->layout == hash_layout(present)) return PES_OK;
    hid_t dataset =
        H5Lexists(file, "row_layout", H5P_DEFAULT) > 0 ? H5Dopen2(file, "row_layout", H5P_DEFAULT) : -1;
    size_t bytes = 0;
    bool there = dataset >= 0 && hdf_extents(dataset, &bytes, 1) == 1;
    hdf_close(&dataset);
    if (!there)
        return damaged(path,
                       "it doesn't say what its row holds, and the sweep's results have another layout now");
    char *text = pes_arena_take(arena, bytes + 1, 1);
    struct pes_layout *earlier = NULL;
    if (!text) return PES_MEMORY;
    if (!read_array(file, "row_layout", ELEMENT_U8, bytes, text)) return damaged(path, "it is damaged");
    enum pes_status status = store_parse_layout(text, arena, &earlier);
    if (status == PES_INPUT || (status == PES_OK && image->layout != hash_layout(earlier)))
        return damaged(path, "what it says of its row is damaged");
    *layout = earlier;
    return status;
}

/* What the trial has measured so far, at its place in the sweep's layout: an extension may have moved it. */
static enum pes_status read_row(hid_t file, const char *path, const char *key, const struct image *image,
                                struct pes_train_state *state, struct pes_arena *arena)
{
    struct pes_row row = {0};
    TRY(find_layout(file, path, image, state->row.layout, arena, &row.layout));
    size_t row_bytes = row.layout->row_bytes;
    row.bytes = pes_arena_take(arena, row_bytes, 1);
    if (!row.bytes) return PES_MEMORY;
    if (image->counters[ROW_BYTES] != (int64_t)row_bytes ||
        !read_array(file, "row", ELEMENT_U8, row_bytes, row.bytes))
        return damaged(path, "it is damaged");
    if (image->checksum != checksum(key, image, state, &row)) return damaged(path, "its checksum is wrong");
    store_embed_row(row.layout, row.bytes, &state->row);
    return PES_OK;
}

/* The state's arrays are overwritten even if the file turns out to be damaged. */
static enum pes_status read_file(hid_t file, const char *path, const char *key, struct pes_train_state *state)
{
    char text[64];
    struct image image;
    if (!hdf_get_text(file, "format", text, sizeof text) || strcmp(text, format))
        return damaged(path, "it is not a checkpoint of this version");
    if (!read_number(file, "layout", &image.layout) || !read_number(file, "checksum", &image.checksum) ||
        !read_array(file, "counters", ELEMENT_I64, NUM_COUNTERS, image.counters) ||
        !read_array(file, "reals", ELEMENT_F64, NUM_REALS, image.reals))
        return damaged(path, "it is damaged");
    if (image.counters[PARAMETERS] != (int64_t)state->num_parameters)
        return damaged(path, "the model has another number of parameters now");
    if (!read_array(file, "parameters", real_element(), state->num_parameters, state->parameters) ||
        !read_array(file, "m", real_element(), state->num_parameters, state->m) ||
        !read_array(file, "v", real_element(), state->num_parameters, state->v))
        return damaged(path, "it is damaged, or by a build with another precision");
    struct pes_arena *arena = pes_arena_create();
    enum pes_status status = arena ? read_row(file, path, key, &image, state, arena) : PES_MEMORY;
    pes_arena_destroy(arena);
    if (status != PES_OK) return status;
    state->step = image.counters[STEP];
    state->updates = image.counters[UPDATES];
    state->num_evaluations = (size_t)image.counters[EVALUATIONS];
    state->num_checkpoints = (size_t)image.counters[CHECKPOINTS];
    state->interval_count = image.counters[INTERVAL_COUNT];
    state->train_seconds = image.reals[TRAIN_SECONDS];
    state->measure_seconds = image.reals[MEASURE_SECONDS];
    state->interval_loss = image.reals[INTERVAL_LOSS];
    return PES_OK;
}

static enum pes_status checkpoint_name(char name[PATH_MAX], const char *path, const char *key)
{
    int length = snprintf(name, PATH_MAX, "%s%s/%s%s", path, folder_ending, key, file_ending);
    if (length >= 0 && length < PATH_MAX) return PES_OK;
    return pes_fail(PES_INPUT, "the path of the results file is too long");
}

enum pes_status pes_checkpoint_load(const char *path, const char *key, struct pes_train_state *state,
                                    bool *found)
{
    char name[PATH_MAX];
    *found = false;
    TRY(checkpoint_name(name, path, key));
    if (access(name, F_OK)) {
        if (errno == ENOENT || errno == ENOTDIR) return PES_OK;
        return pes_fail(PES_IO, "%s: cannot open: %s", name, strerror(errno));
    }
    hdf_start();
    hid_t properties = hdf_access(false), file = -1;
    if (properties >= 0) file = H5Fopen(name, H5F_ACC_RDONLY, properties);
    hdf_close(&properties);
    if (file < 0) return hdf_fail(PES_IO, name, "open");
    enum pes_status status = read_file(file, name, key, state);
    hdf_close(&file);
    *found = status == PES_OK;
    return status;
}

/* --- removing --- */

void pes_checkpoint_remove(const char *path, const char *key)
{
    char name[PATH_MAX];
    /* One that can't be removed is reported by the next start as stale. */
    if (checkpoint_name(name, path, key) == PES_OK) unlink(name);
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && !strcmp(text + length - end, ending);
}

static bool is_key_of(const struct pes_sweep *sweep, const char *name)
{
    for (size_t t = 0; t < sweep->num_trials; t++)
        if (!strncmp(sweep->trials[t].key, name, sizeof sweep->trials[t].key - 1) &&
            !strcmp(name + sizeof sweep->trials[t].key - 1, file_ending))
            return true;
    return false;
}

void pes_checkpoint_tidy(const char *path, const struct pes_sweep *sweep, size_t *stale)
{
    char folder[PATH_MAX], name[PATH_MAX];
    *stale = 0;
    if (store_name(folder, path, folder_ending) != PES_OK) return;
    DIR *directory = opendir(folder);
    if (!directory) return;
    size_t left = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        /* Half-written ones of processes that were killed: nobody else writes while this run has the lock. */
        if (ends_with(entry->d_name, part_ending) &&
            snprintf(name, sizeof name, "%s/%s", folder, entry->d_name) < PATH_MAX && !unlink(name))
            continue;
        left++;
        *stale += ends_with(entry->d_name, file_ending) && !is_key_of(sweep, entry->d_name);
    }
    closedir(directory);
    if (!left) rmdir(folder);
}
