/* hdf.h - HDF5 as the files of store/ use it: typed elements, trial slabs, attributes, errors in one line.
 *
 * The library's own error stack is never printed: hdf_fail() turns it into the one message of pes_fail(). */
#ifndef PESWEEP_SRC_STORE_HDF_H
#define PESWEEP_SRC_STORE_HDF_H

#include <hdf5.h>

#include "pesweep/variable.h"

/* The types of enum pes_type under the same numbers, and those that only the store itself uses. */
enum element {
    ELEMENT_F32 = PES_F32,
    ELEMENT_F64 = PES_F64,
    ELEMENT_I64 = PES_I64,
    ELEMENT_I32 = PES_I32,
    ELEMENT_U8 = PES_U8,
    ELEMENT_U64,
    ELEMENT_BOOL, /* int8 that xarray decodes to bool */
    ELEMENT_CHAR, /* characters of fixed-size texts: the last axis counts bytes */
    ELEMENT_TEXT  /* variable-length UTF-8: written at creation only */
};
size_t hdf_element_bytes(enum element element); /* in memory */

/* The library's handle of the type in files, little-endian; the caller gives it to hdf_close. */
hid_t hdf_file_type(enum element element);
/* False if the type of a dataset isn't the element's as we write it. */
bool hdf_has_type(hid_t dataset, enum element element);

/* Makes the library keep the cause of an error for hdf_fail instead of printing it; before any other call. */
void hdf_start(void);
void hdf_forget(void); /* after a failure that was expected */

/* Closes any handle and sets it to -1; false if the library reports an error (data could not be written). */
bool hdf_close(hid_t *id);

/* pes_fail(status, "<path>: cannot <action>: <cause>") with the cause of the library's last failure. */
enum pes_status hdf_fail(enum pes_status status, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Access with locking off by property and no sieve buffer, so that every read is fresh and every write
 * reaches the system at once.  `parallel`: MPI-IO over the communicator of comm. */
hid_t hdf_access(bool parallel);

/* Attributes; false on error. */
bool hdf_put_text(hid_t object, const char *name, const char *text);
bool hdf_put_numbers(hid_t object, const char *name, enum element element, size_t count, const void *values);
/* One number; a single value isn't an array, as netCDF wants it for _FillValue and the like. */
bool hdf_put_number(hid_t object, const char *name, enum element element, const void *value);
/* Text of an attribute into a buffer; false if there is none or it isn't a text. */
bool hdf_get_text(hid_t object, const char *name, char *buffer, size_t size);
bool hdf_get_int(hid_t object, const char *name, int *value);

/* Extents of a dataset; its rank, -1 on error or if there are more than `most`. */
int hdf_extents(hid_t dataset, size_t *extents, int most);

/* Reads or writes entries [first, first + count) along the slowest axis of a dataset; `bytes` holds them one
 * after another.  A scalar dataset has one entry.  At most hdf_piece_bytes go into one call of the library.
 */
bool hdf_read(hid_t dataset, enum element element, size_t first, size_t count, void *bytes);
bool hdf_write(hid_t dataset, enum element element, size_t first, size_t count, const void *bytes);
extern size_t hdf_piece_bytes; /* 1 GiB: MPI-IO fails at 2 GiB and above */

/* Reads a dataset of texts; *texts points to num texts in the arena. */
enum pes_status hdf_read_texts(const char *path, hid_t dataset, struct pes_arena *arena, char ***texts,
                               size_t *num);

#endif
