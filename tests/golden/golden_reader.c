/* golden_reader.c - serial HDF5 reading of golden files. */
#include "golden_reader.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden_file {
    hid_t id;
    size_t num_groups;
    char **groups;
    char text[256];
};

static _Noreturn void stop(const char *group, const char *name)
{
    fprintf(stderr, "golden file: cannot read %s/%s\n", group, name);
    exit(2);
}

struct golden_file *golden_open(const char *path)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (id < 0) return NULL;
    struct golden_file *file = calloc(1, sizeof *file);
    if (!file) exit(2);
    file->id = id;
    H5G_info_t info;
    if (H5Gget_info(id, &info) < 0) stop("", path);
    file->num_groups = (size_t)info.nlinks;
    file->groups = calloc(file->num_groups, sizeof *file->groups);
    if (!file->groups) exit(2);
    for (size_t i = 0; i < file->num_groups; i++) {
        char name[256];
        if (H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) < 0)
            stop("", "names");
        file->groups[i] = strdup(name);
    }
    return file;
}

void golden_close(struct golden_file *file)
{
    if (!file) return;
    for (size_t i = 0; i < file->num_groups; i++)
        free(file->groups[i]);
    free(file->groups);
    H5Fclose(file->id);
    free(file);
}

size_t golden_num_groups(const struct golden_file *file)
{
    return file->num_groups;
}

const char *golden_group(const struct golden_file *file, size_t index)
{
    return file->groups[index];
}

static hid_t open_attribute(const struct golden_file *file, const char *group, const char *name)
{
    hid_t attribute = H5Aopen_by_name(file->id, group, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0) stop(group, name);
    return attribute;
}

int64_t golden_int(const struct golden_file *file, const char *group, const char *name)
{
    hid_t attribute = open_attribute(file, group, name);
    int64_t value = 0;
    if (H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0) stop(group, name);
    H5Aclose(attribute);
    return value;
}

double golden_real(const struct golden_file *file, const char *group, const char *name)
{
    hid_t attribute = open_attribute(file, group, name);
    double value = 0;
    if (H5Aread(attribute, H5T_NATIVE_DOUBLE, &value) < 0) stop(group, name);
    H5Aclose(attribute);
    return value;
}

/* h5py stores booleans as an enumeration of one byte. */
bool golden_bool(const struct golden_file *file, const char *group, const char *name)
{
    hid_t attribute = open_attribute(file, group, name), type = H5Aget_type(attribute);
    unsigned char value[16] = {0};
    if (H5Tget_size(type) > sizeof value || H5Aread(attribute, type, value) < 0) stop(group, name);
    H5Tclose(type);
    H5Aclose(attribute);
    return value[0] != 0;
}

const char *golden_text(const struct golden_file *file, const char *group, const char *name)
{
    struct golden_file *mutable = (struct golden_file *)(uintptr_t)file;
    hid_t attribute = open_attribute(file, group, name), type = H5Aget_type(attribute);
    if (H5Tis_variable_str(type) > 0) {
        char *text = NULL;
        if (H5Aread(attribute, type, &text) < 0 || !text) stop(group, name);
        snprintf(mutable->text, sizeof mutable->text, "%s", text);
        H5free_memory(text);
    } else {
        memset(mutable->text, 0, sizeof mutable->text);
        if (H5Tget_size(type) >= sizeof mutable->text || H5Aread(attribute, type, mutable->text) < 0)
            stop(group, name);
    }
    H5Tclose(type);
    H5Aclose(attribute);
    return mutable->text;
}

bool golden_has(const struct golden_file *file, const char *group, const char *name)
{
    return H5Aexists_by_name(file->id, group, name, H5P_DEFAULT) > 0;
}

size_t golden_ints(const struct golden_file *file, const char *group, const char *name, int64_t *values,
                   size_t most)
{
    hid_t attribute = open_attribute(file, group, name), space = H5Aget_space(attribute);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count < 0 || (size_t)count > most) stop(group, name);
    if (count && H5Aread(attribute, H5T_NATIVE_INT64, values) < 0) stop(group, name);
    H5Sclose(space);
    H5Aclose(attribute);
    return (size_t)count;
}

static void join(char path[512], const char *group, const char *name)
{
    snprintf(path, 512, "%s/%s", group, name);
}

static bool exists(const struct golden_file *file, const char *path)
{
    /* H5Lexists needs every parent to exist. */
    char part[512];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool there = H5Lexists(file->id, part, H5P_DEFAULT) > 0;
        *slash = '/';
        if (!there) return false;
    }
    return H5Lexists(file->id, part, H5P_DEFAULT) > 0;
}

bool golden_read(const struct golden_file *file, const char *group, const char *name,
                 struct golden_array *array)
{
    char path[512];
    join(path, group, name);
    memset(array, 0, sizeof *array);
    if (!exists(file, path)) return false;
    hid_t set = H5Dopen2(file->id, path, H5P_DEFAULT);
    if (set < 0) stop(group, name);
    hid_t space = H5Dget_space(set);
    hsize_t shape[GOLDEN_MAX_RANK];
    array->rank = H5Sget_simple_extent_ndims(space);
    if (array->rank > GOLDEN_MAX_RANK || H5Sget_simple_extent_dims(space, shape, NULL) < 0) stop(group, name);
    array->count = 1;
    for (int d = 0; d < array->rank; d++) {
        array->shape[d] = (size_t)shape[d];
        array->count *= array->shape[d];
    }
    array->values = malloc(sizeof(double) * (array->count ? array->count : 1));
    if (!array->values) exit(2);
    if (array->count && H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array->values) < 0)
        stop(group, name);
    H5Sclose(space);
    H5Dclose(set);
    return true;
}

void golden_free(struct golden_array *array)
{
    free(array->values);
    array->values = NULL;
}

size_t golden_num_members(const struct golden_file *file, const char *group, const char *name)
{
    char path[512];
    join(path, group, name);
    H5G_info_t info;
    if (!exists(file, path) || H5Gget_info_by_name(file->id, path, &info, H5P_DEFAULT) < 0) return 0;
    return (size_t)info.nlinks;
}

const char *golden_member(const struct golden_file *file, const char *group, const char *parent, size_t index,
                          char *name, size_t bytes)
{
    char path[512];
    join(path, group, parent);
    if (H5Lget_name_by_idx(file->id, path, H5_INDEX_NAME, H5_ITER_INC, index, name, bytes, H5P_DEFAULT) < 0)
        stop(group, parent);
    return name;
}

double golden_error(const double *a, const double *b, size_t n)
{
    double largest = 0, difference = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(a[i]) || isnan(b[i])) {
            if (isnan(a[i]) && isnan(b[i])) continue;
            return INFINITY;
        }
        if (a[i] != b[i]) difference = fmax(difference, fabs(a[i] - b[i]));
        largest = fmax(largest, fabs(b[i]));
    }
    return largest > 0 ? difference / largest : difference;
}
