/* files.h - names, locks and durable replacement of the files that belong to one results file. */
#ifndef PESWEEP_SRC_STORE_FILES_H
#define PESWEEP_SRC_STORE_FILES_H

#include <limits.h>

#include "pesweep/base.h"

/* `path` with an ending into a buffer; PES_INPUT if it is too long. */
enum pes_status store_name(char name[PATH_MAX], const char *path, const char *ending);
/* The name behind symbolic links; of a file that isn't there yet, the real folder and its name. */
enum pes_status store_resolve(char resolved[PATH_MAX], const char *path);

enum pes_status store_sync_folder(const char *path); /* makes the folder's entry of `path` durable */
/* fsync of `from`, rename to `to` in the same folder, fsync of the folder. */
enum pes_status store_replace(const char *from, const char *to);

/* Gives the space of a file that failed back before it is closed: on a full file system HDF5 can't close a
 * file that it can't complete, and would keep it for ever. */
void store_give_up(const char *path);

/* For tests alone: where the folder $PESWEEP_TEST_LINGER holds a file named as the point that the writing of
 * a trial has come to (half, row, checksum, status), leaves a file <point>.<process number> there and waits
 * for a second, so that the process can be killed right there. */
void store_linger(const char *point);

/* PES_IO if the file system of `path` plainly hasn't room for `bytes`. */
enum pes_status store_check_room(const char *path, uint64_t bytes);

/* The lock on <path>.lock: one at a time in a process.  PES_BUSY names the owner.  *locked is false on a file
 * system without locks, where only the fencing number tells two runs apart. */
enum pes_status store_lock(const char *path, bool *locked);
void store_lock_name_fence(int64_t fence); /* writes the number into the lock file, for people */
void store_unlock(void);                   /* removes the lock file; nothing if there is no lock */

#endif
