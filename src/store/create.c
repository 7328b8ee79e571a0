/* create.c - makes a results file: groups, scales, datasets, attributes, and what is known beforehand.
 *
 * Earliest format, contiguous datasets allocated at once, no object times, creation order tracked: the same
 * sweep gives the same bytes, and later writes of raw data change no other byte.  Every axis of every dataset
 * has a scale in its own group, as netCDF wants it. */
#include "create.h"

#include <hdf5_hl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "pesweep/text.h"

enum { MAX_GROUPS = 32, ENTRIES_AT_ONCE = 4096 };

struct group {
    const char *name;
    hid_t id, scales[NUM_AXES];
};

struct creation {
    const char *path;
    const struct file_table *table;
    hid_t file;
    size_t num_groups;
    struct group groups[MAX_GROUPS];
};

static enum pes_status failed(const struct creation *creation, const char *what)
{
    return hdf_fail(PES_IO, creation->path, "create %s", what);
}

/* Creation properties of any object: no times, order of attributes tracked. */
static hid_t object_properties(hid_t class)
{
    const unsigned tracked = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    hid_t properties = H5Pcreate(class);
    if (properties >= 0 &&
        (H5Pset_attr_creation_order(properties, tracked) < 0 ||
         H5Pset_obj_track_times(properties, false) < 0 ||
         (class != H5P_DATASET_CREATE && H5Pset_link_creation_order(properties, tracked) < 0)))
        hdf_close(&properties);
    return properties;
}

/* --- scales --- */

static bool has_values(enum axis axis)
{
    return axis != (enum axis)PES_DIM_PARAMETER && axis != AXIS_RUN_TEXT && axis != AXIS_MESSAGE_TEXT &&
           axis != AXIS_TENSOR_AXIS;
}

static bool write_places(hid_t scale, enum axis axis, size_t size)
{
    const char *const *names = store_place_names(axis);
    if (names) {
        CHECK(size <= 2);
        return hdf_write(scale, ELEMENT_TEXT, 0, size, names);
    }
    int64_t start = store_first_place(axis, size), values[ENTRIES_AT_ONCE];
    for (size_t first = 0; first < size; first += ENTRIES_AT_ONCE) {
        size_t count = PES_MIN(size - first, (size_t)ENTRIES_AT_ONCE);
        for (size_t i = 0; i < count; i++)
            values[i] = start + (int64_t)(first + i);
        if (!hdf_write(scale, ELEMENT_I64, first, count, values)) return false;
    }
    return true;
}

/* A dimension without coordinate values is, by netCDF's convention, a scale with this name and no data. */
static bool create_scale(hid_t group, enum axis axis, size_t size, hid_t *scale)
{
    char phrase[80];
    snprintf(phrase, sizeof phrase, "This is a netCDF dimension but not a netCDF variable.%10zu", size);
    const char *name = store_axis_name(axis);
    enum element element = !has_values(axis)         ? ELEMENT_F32
                           : store_place_names(axis) ? ELEMENT_TEXT
                                                     : ELEMENT_I64;
    hsize_t extent = size;
    hid_t type = hdf_file_type(element), space = H5Screate_simple(1, &extent, NULL),
          properties = object_properties(H5P_DATASET_CREATE);
    bool ok =
        type >= 0 && space >= 0 && properties >= 0 &&
        H5Pset_alloc_time(properties, has_values(axis) ? H5D_ALLOC_TIME_EARLY : H5D_ALLOC_TIME_LATE) >= 0;
    if (ok) *scale = H5Dcreate2(group, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ok = ok && *scale >= 0 && H5DSset_scale(*scale, has_values(axis) ? name : phrase) >= 0;
    if (ok && has_values(axis))
        ok = hdf_put_text(*scale, "long_name", store_axis_meaning(axis)) && write_places(*scale, axis, size);
    hdf_close(&type);
    hdf_close(&space);
    hdf_close(&properties);
    return ok;
}

/* --- groups --- */

static enum pes_status get_group(struct creation *creation, const char *name, struct group **group)
{
    for (size_t g = 0; g < creation->num_groups; g++)
        if (!strcmp(creation->groups[g].name, name)) {
            *group = &creation->groups[g];
            return PES_OK;
        }
    CHECK(creation->num_groups < MAX_GROUPS);
    *group = &creation->groups[creation->num_groups++];
    (*group)->name = name;
    (*group)->id = -1;
    for (int axis = 0; axis < NUM_AXES; axis++)
        (*group)->scales[axis] = -1;
    hid_t properties = object_properties(H5P_GROUP_CREATE);
    if (properties >= 0)
        (*group)->id = H5Gcreate2(creation->file, name, H5P_DEFAULT, properties, H5P_DEFAULT);
    hdf_close(&properties);
    const struct store_group *known = store_groups;
    while (known->name && strcmp(known->name, name))
        known++;
    if ((*group)->id < 0 || (known->name && !hdf_put_text((*group)->id, "comment", known->help)))
        return failed(creation, name);
    return PES_OK;
}

static bool close_groups(struct creation *creation)
{
    bool ok = true;
    for (size_t g = 0; g < creation->num_groups; g++) {
        for (int axis = 0; axis < NUM_AXES; axis++)
            ok = hdf_close(&creation->groups[g].scales[axis]) && ok;
        ok = hdf_close(&creation->groups[g].id) && ok;
    }
    return ok;
}

/* --- datasets --- */

static bool set_fill(hid_t properties, const struct dataset *dataset)
{
    if (dataset->element == ELEMENT_TEXT) return true; /* written in full at once */
    if (H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY) < 0) return false;
    bool given = dataset->content > CONTENT_COLUMN;
    if (given || !dataset->filled) return H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER) >= 0;
    if (H5Pset_fill_time(properties, H5D_FILL_TIME_ALLOC) < 0) return false;
    return dataset->element == ELEMENT_CHAR || dataset->fill == 0 ||
           H5Pset_fill_value(properties, H5T_NATIVE_DOUBLE, &dataset->fill) >= 0;
}

static bool put_flags(hid_t id, enum column column)
{
#define X(symbol, value, name, meaning) value,
    static const uint8_t outcomes[] = {PES_OUTCOMES(X)}, reasons[] = {PES_REASONS(X)};
#undef X
#define X(symbol, value, name, meaning) name " "
    static const char outcome_names[] = PES_OUTCOMES(X), reason_names[] = PES_REASONS(X);
#undef X
    bool is_status = column == COLUMN_STATUS;
    char names[512];
    snprintf(names, sizeof names, "%s", is_status ? outcome_names : reason_names);
    names[strlen(names) - 1] = 0;
    return hdf_put_numbers(id, "flag_values", ELEMENT_U8,
                           is_status ? PES_COUNT(outcomes) : PES_COUNT(reasons),
                           is_status ? outcomes : reasons) &&
           hdf_put_text(id, "flag_meanings", names);
}

static bool put_attributes(hid_t id, const struct dataset *dataset, const struct pes_sweep *sweep)
{
    bool ok = hdf_put_text(id, "long_name", dataset->help);
    if (dataset->unit[0]) ok = ok && hdf_put_text(id, "units", dataset->unit);
    if (dataset->content == CONTENT_AXIS)
        ok = ok && hdf_put_text(id, "swept_key", sweep->axes[dataset->which].path);
    if (dataset->element == ELEMENT_BOOL) ok = ok && hdf_put_text(id, "dtype", "bool");
    if (dataset->element == ELEMENT_CHAR) ok = ok && hdf_put_text(id, "_Encoding", "utf-8");
    if (dataset->content == CONTENT_COLUMN &&
        (dataset->which == COLUMN_STATUS || dataset->which == COLUMN_REASON))
        ok = ok && put_flags(id, (enum column)dataset->which);
    if (dataset->content == CONTENT_FIELD && !dataset->filled)
        ok = ok && hdf_put_text(id, "unfinished_trials", "are zero here: select by trials/status");
    if (dataset->filled && dataset->element == ELEMENT_F32)
        ok = ok && hdf_put_numbers(id, "_FillValue", ELEMENT_F32, 1, &(float){NAN});
    if (dataset->filled && dataset->element == ELEMENT_F64)
        ok = ok && hdf_put_numbers(id, "_FillValue", ELEMENT_F64, 1, &(double){NAN});
    return ok;
}

static enum pes_status write_content(const struct creation *creation, const struct dataset *dataset, hid_t id)
{
    const struct file_table *table = creation->table;
    size_t num_entries = dataset->rank ? table->size[dataset->axes[0]] : 1;
    size_t entry_bytes = store_entry_elements(table, dataset) * hdf_element_bytes(dataset->element);
    struct pes_arena *arena = pes_arena_create();
    void *values = pes_allocate(ENTRIES_AT_ONCE, entry_bytes);
    enum pes_status status = arena && values ? PES_OK : PES_MEMORY;
    for (size_t first = 0; first < num_entries && status == PES_OK; first += ENTRIES_AT_ONCE) {
        size_t count = PES_MIN(num_entries - first, (size_t)ENTRIES_AT_ONCE);
        struct pes_arena_mark mark = pes_arena_mark(arena);
        status = store_fill_content(table, dataset, first, count, arena, values);
        if (status == PES_OK && !hdf_write(id, dataset->element, first, count, values))
            status = failed(creation, dataset->name);
        pes_arena_rewind(arena, mark);
    }
    pes_free(values);
    pes_arena_destroy(arena);
    return status;
}

static enum pes_status create_dataset(struct creation *creation, const struct dataset *dataset)
{
    const struct file_table *table = creation->table;
    struct group *group;
    TRY(get_group(creation, dataset->group, &group));
    hsize_t extents[PES_MAX_RANK + 1];
    for (int d = 0; d < dataset->rank; d++) {
        enum axis axis = dataset->axes[d];
        extents[d] = table->size[axis];
        CHECK(strcmp(store_axis_name(axis), dataset->name) != 0);
        if (group->scales[axis] < 0 &&
            !create_scale(group->id, axis, table->size[axis], &group->scales[axis]))
            return failed(creation, store_axis_name(axis));
    }
    hid_t type = hdf_file_type(dataset->element), properties = object_properties(H5P_DATASET_CREATE), id = -1,
          space = dataset->rank ? H5Screate_simple(dataset->rank, extents, NULL) : H5Screate(H5S_SCALAR);
    bool ok = type >= 0 && properties >= 0 && space >= 0 && set_fill(properties, dataset);
    if (ok) id = H5Dcreate2(group->id, dataset->name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ok = ok && id >= 0;
    for (int d = 0; d < dataset->rank && ok; d++)
        ok = H5DSattach_scale(id, group->scales[dataset->axes[d]], (unsigned)d) >= 0;
    ok = ok && put_attributes(id, dataset, table->sweep);
    enum pes_status status = ok ? PES_OK : failed(creation, dataset->name);
    if (status == PES_OK && dataset->content > CONTENT_COLUMN) status = write_content(creation, dataset, id);
    hdf_close(&type);
    hdf_close(&properties);
    hdf_close(&space);
    if (!hdf_close(&id) && status == PES_OK) status = failed(creation, dataset->name);
    return status;
}

/* --- the file --- */

static bool put_root_attributes(hid_t file, const struct file_table *table)
{
    int32_t version = PES_SCHEMA_VERSION;
    return hdf_put_text(file, "format", table->format ? table->format : STORE_FORMAT) &&
           hdf_put_number(file, "schema_version", ELEMENT_I32, &version) &&
           hdf_put_text(file, "sweep", table->sweep->name);
}

static enum pes_status create_all(struct creation *creation)
{
    const struct file_table *table = creation->table;
    if (!put_root_attributes(creation->file, table)) return failed(creation, "attributes");
    for (size_t d = 0; d < table->num_datasets; d++)
        TRY(create_dataset(creation, &table->datasets[d]));
    struct group *provenance;
    TRY(get_group(creation, "provenance", &provenance));
    if (!hdf_put_text(provenance->id, "created_by", pes_build()) ||
        !hdf_put_text(provenance->id, "hdf5", pes_store_library()))
        return failed(creation, "attributes");
    return PES_OK;
}

enum pes_status store_create(const char *path, const struct file_table *table)
{
    hdf_start();
    struct creation creation = {.path = path, .table = table, .file = -1};
    hid_t access = hdf_access(false), properties = object_properties(H5P_FILE_CREATE);
    if (access >= 0 && properties >= 0) creation.file = H5Fcreate(path, H5F_ACC_TRUNC, properties, access);
    hdf_close(&access);
    hdf_close(&properties);
    if (creation.file < 0) {
        enum pes_status status = failed(&creation, "it");
        unlink(path);
        return status;
    }
    enum pes_status status = create_all(&creation);
    if (status != PES_OK) store_give_up(path);
    if (!close_groups(&creation) && status == PES_OK) status = failed(&creation, "a group");
    if (!hdf_close(&creation.file) && status == PES_OK) status = failed(&creation, "it");
    if (status != PES_OK) unlink(path);
    return status;
}

const char *pes_store_library(void)
{
    static char text[64];
    unsigned major, minor, release;
    if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
#ifdef H5_HAVE_PARALLEL
    snprintf(text, sizeof text, "%u.%u.%u, parallel", major, minor, release);
#else
    snprintf(text, sizeof text, "%u.%u.%u, serial", major, minor, release);
#endif
    return text;
}
