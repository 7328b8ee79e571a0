/* hdf.c - types, handles, properties, attributes and slabs of HDF5.
 *
 * Invariant: every handle opened here is closed here on every path. */
#include "hdf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "pesweep/comm.h"

size_t hdf_piece_bytes = (size_t)1 << 30;

/* --- types --- */

size_t hdf_element_bytes(enum element element)
{
    switch (element) {
    case ELEMENT_F64:
    case ELEMENT_I64:
    case ELEMENT_U64:
        return 8;
    case ELEMENT_F32:
    case ELEMENT_I32:
        return 4;
    case ELEMENT_TEXT:
        return sizeof(char *);
    default:
        return 1;
    }
}

static hid_t text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, size) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) hdf_close(&type);
    return type;
}

/* Handles of the library; ELEMENT_TEXT's is a copy that hdf_close gives back. */
static hid_t memory_type(enum element element)
{
    switch (element) {
    case ELEMENT_F32:
        return H5Tcopy(H5T_NATIVE_FLOAT);
    case ELEMENT_F64:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case ELEMENT_I64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case ELEMENT_I32:
        return H5Tcopy(H5T_NATIVE_INT32);
    case ELEMENT_U8:
        return H5Tcopy(H5T_NATIVE_UINT8);
    case ELEMENT_U64:
        return H5Tcopy(H5T_NATIVE_UINT64);
    case ELEMENT_BOOL:
        return H5Tcopy(H5T_NATIVE_INT8);
    case ELEMENT_CHAR:
        return H5Tcopy(H5T_C_S1);
    default:
        return text_type(H5T_VARIABLE);
    }
}

hid_t hdf_file_type(enum element element)
{
    switch (element) {
    case ELEMENT_F32:
        return H5Tcopy(H5T_IEEE_F32LE);
    case ELEMENT_F64:
        return H5Tcopy(H5T_IEEE_F64LE);
    case ELEMENT_I64:
        return H5Tcopy(H5T_STD_I64LE);
    case ELEMENT_I32:
        return H5Tcopy(H5T_STD_I32LE);
    case ELEMENT_U8:
        return H5Tcopy(H5T_STD_U8LE);
    case ELEMENT_U64:
        return H5Tcopy(H5T_STD_U64LE);
    case ELEMENT_BOOL:
        return H5Tcopy(H5T_STD_I8LE);
    default:
        return memory_type(element);
    }
}

bool hdf_has_type(hid_t dataset, enum element element)
{
    hid_t found = H5Dget_type(dataset), wanted = hdf_file_type(element);
    bool same = found >= 0 && wanted >= 0 && H5Tequal(found, wanted) > 0;
    hdf_close(&found);
    hdf_close(&wanted);
    return same;
}

/* --- handles and errors --- */

/* Why the library's last failing call failed.  Kept here, since the next call wipes the library's own record.
 */
static struct cause {
    char first[256]; /* description where the error arose */
    int system;      /* errno, if a description gives it */
    unsigned long long size, expected;
    bool truncated;
} cause;

static herr_t look_at_error(unsigned n, const H5E_error2_t *error, void *context)
{
    (void)context;
    const char *text = error->desc ? error->desc : "";
    if (!n || !cause.first[0]) snprintf(cause.first, sizeof cause.first, "%s", text);
    const char *number = strstr(text, "errno = ");
    if (number && !cause.system && sscanf(number, "errno = %d", &cause.system) != 1) cause.system = 0;
    if (strncmp(text, "truncated file", 14) == 0) {
        const char *sizes = strstr(text, "eof = "), *end = strstr(text, "stored_eof = ");
        cause.truncated = sizes && end && sscanf(sizes, "eof = %llu", &cause.size) == 1 &&
                          sscanf(end, "stored_eof = %llu", &cause.expected) == 1;
    }
    return 0;
}

static herr_t keep_cause(hid_t stack, void *context)
{
    cause = (struct cause){.system = 0};
    return H5Ewalk2(stack, H5E_WALK_UPWARD, look_at_error, context);
}

void hdf_start(void)
{
    /* Everything is closed where it was opened; at exit the library would only complain about damaged files.
     */
    static bool started;
    if (!started) H5dont_atexit();
    started = true;
    H5open();
    H5Eset_auto2(H5E_DEFAULT, keep_cause, NULL);
    hdf_forget();
}

void hdf_forget(void)
{
    cause = (struct cause){.system = 0};
}

bool hdf_close(hid_t *id)
{
    bool ok = *id < 0 || H5Idec_ref(*id) >= 0;
    *id = -1;
    return ok;
}

/* MPI-IO doesn't pass errno on; a full file system is the one cause that can be seen afterwards. */
static bool is_full(const char *path)
{
    struct statvfs system;
    return !statvfs(path, &system) && system.f_blocks && system.f_bavail * system.f_frsize < 4096;
}

enum pes_status hdf_fail(enum pes_status status, const char *path, const char *format, ...)
{
    char action[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(action, sizeof action, format, arguments);
    va_end(arguments);
    struct cause found = cause;
    hdf_forget();
    if (found.truncated)
        return pes_fail(status, "%s: cannot %s: the file is truncated, %llu bytes of %llu are there", path,
                        action, found.size, found.expected);
    if (!found.system && strstr(found.first, "write failed") && is_full(path)) found.system = ENOSPC;
    const char *why = found.system ? strerror(found.system) : found.first;
    return pes_fail(status, "%s: cannot %s: %s", path, action, why[0] ? why : "HDF5 gives no reason");
}

hid_t hdf_access(bool parallel)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) return -1;
    bool ok = H5Pset_fclose_degree(access, H5F_CLOSE_SEMI) >= 0 && H5Pset_sieve_buf_size(access, 0) >= 0 &&
              H5Pset_file_locking(access, false, true) >= 0;
    if (ok && parallel) {
        const MPI_Comm *communicator = pes_comm_handle();
        CHECK(communicator);
        ok = H5Pset_fapl_mpio(access, *communicator, MPI_INFO_NULL) >= 0;
    }
    if (!ok) hdf_close(&access);
    return access;
}

/* --- attributes --- */

static bool put(hid_t object, const char *name, hid_t type, hid_t memory, hid_t space, const void *values)
{
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = attribute >= 0 && H5Awrite(attribute, memory, values) >= 0;
    return hdf_close(&attribute) && ok;
}

bool hdf_put_text(hid_t object, const char *name, const char *text)
{
    hid_t type = text_type(PES_MAX(strlen(text), (size_t)1)), space = H5Screate(H5S_SCALAR);
    /* Padding with NUL lets the text fill its bytes; an empty one is a single NUL. */
    bool ok = type >= 0 && space >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0 &&
              put(object, name, type, type, space, text);
    hdf_close(&type);
    hdf_close(&space);
    return ok;
}

static bool put_numbers(hid_t object, const char *name, enum element element, hid_t space, const void *values)
{
    hid_t type = hdf_file_type(element), memory = memory_type(element);
    bool ok = type >= 0 && memory >= 0 && space >= 0 && put(object, name, type, memory, space, values);
    hdf_close(&type);
    hdf_close(&memory);
    hdf_close(&space);
    return ok;
}

bool hdf_put_numbers(hid_t object, const char *name, enum element element, size_t count, const void *values)
{
    hsize_t extent = count;
    return put_numbers(object, name, element, H5Screate_simple(1, &extent, NULL), values);
}

bool hdf_put_number(hid_t object, const char *name, enum element element, const void *value)
{
    return put_numbers(object, name, element, H5Screate(H5S_SCALAR), value);
}

bool hdf_get_text(hid_t object, const char *name, char *buffer, size_t size)
{
    if (H5Aexists(object, name) <= 0) return false;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = attribute < 0 ? -1 : H5Aget_type(attribute);
    memset(buffer, 0, size);
    bool ok = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
              H5Tget_size(type) < size && H5Aread(attribute, type, buffer) >= 0;
    hdf_close(&type);
    hdf_close(&attribute);
    return ok;
}

bool hdf_get_int(hid_t object, const char *name, int *value)
{
    if (H5Aexists(object, name) <= 0) return false;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT),
          space = attribute < 0 ? -1 : H5Aget_space(attribute);
    bool ok = space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
              H5Aread(attribute, H5T_NATIVE_INT, value) >= 0;
    hdf_close(&space);
    hdf_close(&attribute);
    return ok;
}

/* --- datasets --- */

int hdf_extents(hid_t dataset, size_t *extents, int most)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t sizes[H5S_MAX_RANK];
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, sizes, NULL);
    hdf_close(&space);
    if (rank > most) return -1;
    for (int d = 0; d < rank; d++)
        extents[d] = (size_t)sizes[d];
    return rank;
}

struct slab {
    hid_t dataset, type, space;
    int rank;
    hsize_t start[H5S_MAX_RANK], extent[H5S_MAX_RANK];
    size_t element_bytes;
    bool write;
};

/* Halves the slab along its slowest axis longer than 1 until a piece is small enough. */
static bool transfer(struct slab *slab, unsigned char *bytes)
{
    size_t size = slab->element_bytes;
    for (int d = 0; d < slab->rank; d++)
        size *= (size_t)slab->extent[d];
    if (!size) return true;
    int axis = 0;
    while (axis < slab->rank && slab->extent[axis] == 1)
        axis++;
    if (size > hdf_piece_bytes && axis < slab->rank) {
        hsize_t start = slab->start[axis], extent = slab->extent[axis], half = extent / 2;
        slab->extent[axis] = half;
        bool ok = transfer(slab, bytes);
        slab->start[axis] = start + half;
        slab->extent[axis] = extent - half;
        ok = ok && transfer(slab, bytes + size / extent * half);
        slab->start[axis] = start;
        slab->extent[axis] = extent;
        return ok;
    }
    hsize_t count = size / slab->element_bytes;
    hid_t memory = slab->rank ? H5Screate_simple(1, &count, NULL) : H5Screate(H5S_SCALAR);
    bool ok = memory >= 0;
    if (ok && slab->rank)
        ok = H5Sselect_hyperslab(slab->space, H5S_SELECT_SET, slab->start, NULL, slab->extent, NULL) >= 0;
    if (ok)
        ok = slab->write ? H5Dwrite(slab->dataset, slab->type, memory, slab->space, H5P_DEFAULT, bytes) >= 0
                         : H5Dread(slab->dataset, slab->type, memory, slab->space, H5P_DEFAULT, bytes) >= 0;
    hdf_close(&memory);
    return ok;
}

static bool move(hid_t dataset, enum element element, size_t first, size_t count, void *bytes, bool write)
{
    struct slab slab = {.dataset = dataset, .write = write, .element_bytes = hdf_element_bytes(element)};
    slab.type = memory_type(element);
    slab.space = H5Dget_space(dataset);
    slab.rank = slab.space < 0 ? -1 : H5Sget_simple_extent_dims(slab.space, slab.extent, NULL);
    bool ok = slab.type >= 0 && slab.rank >= 0;
    if (ok && slab.rank) {
        slab.start[0] = first;
        slab.extent[0] = count;
    }
    ok = ok && transfer(&slab, bytes);
    hdf_close(&slab.type);
    hdf_close(&slab.space);
    return ok;
}

bool hdf_read(hid_t dataset, enum element element, size_t first, size_t count, void *bytes)
{
    return move(dataset, element, first, count, bytes, false);
}

bool hdf_write(hid_t dataset, enum element element, size_t first, size_t count, const void *bytes)
{
    /* The library doesn't change what it writes from; one function serves both directions. */
    return move(dataset, element, first, count, (void *)(uintptr_t)bytes, true);
}

enum { TEXTS_AT_ONCE = 4096 };

enum pes_status hdf_read_texts(const char *path, hid_t dataset, struct pes_arena *arena, char ***texts,
                               size_t *num)
{
    size_t extent = 1;
    int rank = hdf_extents(dataset, &extent, 1);
    if (rank < 0) return hdf_fail(PES_IO, path, "read texts");
    char **list = pes_arena_take(arena, extent, sizeof *list);
    char **block = pes_allocate(TEXTS_AT_ONCE, sizeof *block);
    hid_t type = memory_type(ELEMENT_TEXT);
    enum pes_status status = list && block ? PES_OK : PES_MEMORY;
    if (status == PES_OK && type < 0) status = hdf_fail(PES_IO, path, "read texts");
    for (size_t first = 0; first < extent && status == PES_OK; first += TEXTS_AT_ONCE) {
        size_t count = PES_MIN(extent - first, (size_t)TEXTS_AT_ONCE);
        hsize_t number = count;
        if (!hdf_read(dataset, ELEMENT_TEXT, first, count, block)) {
            status = hdf_fail(PES_IO, path, "read texts");
            break;
        }
        for (size_t i = 0; i < count && status == PES_OK; i++) {
            list[first + i] = pes_arena_copy_text(arena, block[i] ? block[i] : "");
            if (!list[first + i]) status = PES_MEMORY;
        }
        hid_t space = H5Screate_simple(1, &number, NULL);
        if (space >= 0) H5Dvlen_reclaim(type, space, H5P_DEFAULT, block);
        hdf_close(&space);
    }
    hdf_close(&type);
    pes_free(block);
    *texts = list;
    *num = extent;
    return status;
}
