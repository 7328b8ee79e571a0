/* store.h - the only place with HDF5: the results file, its reader, and the trials' checkpoints.
 *
 * Rank 0 creates the file alone under a temporary name and renames it; afterwards ranks only ever write raw
 * data of their own trials' rows.  Order per trial: row and checksum, fdatasync, status, fdatasync, then the
 * checkpoint goes.  What isn't `done` is not believed.  Messages name the file and the cause. */
#ifndef PESWEEP_STORE_H
#define PESWEEP_STORE_H

#include <stdio.h>

#include "pesweep/train.h"

#define PES_SCHEMA_VERSION 1

struct pes_store;

/* Whose bytes go to the file: every rank's own (shared), or all through rank 0 (for NFS from several nodes).
 */
enum pes_writer { PES_WRITER_SHARED, PES_WRITER_RANK0 };

/* Rank 0 only, serial, before pes_store_open.  Takes the lock on <path>.lock (PES_BUSY naming the owner),
 * creates the file if there is none, resumes it if its trials are this sweep's, extends it (new file, copied
 * rows, rename) if the sweep has more; refuses (PES_INPUT) a foreign or damaged file, one of another schema
 * or with other variables than the layout's, and differing measure or store values, both named.  Nothing is
 * touched on refusal. */
enum pes_status pes_store_prepare(const char *path, const struct pes_sweep *sweep,
                                  const struct pes_layout *layout);

/* Collective.  Shared and with more than one rank, the file is open on all of them (MPI-IO over the
 * communicator of comm); otherwise on rank 0 alone, and the others get a store that can't write.  All ranks
 * return the worst status; if the file was shared and not all could open it, it stays open on those that did,
 * so the job must end by pes_comm_abort.  sweep and layout must outlive the store. */
enum pes_status pes_store_open(const char *path, const struct pes_sweep *sweep,
                               const struct pes_layout *layout, enum pes_writer writer,
                               struct pes_store **store);
enum pes_status pes_store_close(struct pes_store *store); /* collective as open; gives the lock back */

/* Writer that suits the file system and the number of nodes; *reason says why. */
enum pes_writer pes_store_choose_writer(const char *path, int num_nodes, const char **reason);

/* Status and reason of every trial as they stand; the caller's arrays have sweep->num_trials entries. */
enum pes_status pes_store_read_status(struct pes_store *store, uint8_t *status, uint8_t *reason);

/* A hint for `status` alone. */
enum pes_status pes_store_mark_running(struct pes_store *store, size_t trial, int rank);

/* Writes a finished trial in the order above.  PES_IO: nothing of this trial counts. */
enum pes_status pes_store_write_trial(struct pes_store *store, size_t trial, const struct pes_row *row,
                                      const struct pes_train_result *result, int rank);

/* Adds one JSON text of at most 8191 bytes to /provenance/runs (rank 0) and gives its number, or changes it
 * (number >= 0).  Beyond 64 starts those give way that no trial refers to. */
enum pes_status pes_store_write_run(struct pes_store *store, int *number, const char *json);

/* Checkpoints: <path>.ckpt/<key>.h5, atomic, with a checksum. */
enum pes_status pes_checkpoint_save(const char *path, const char *key, const struct pes_train_state *state);
/* PES_OK and *found; an unreadable one is PES_IO with a message (start again and say so). */
enum pes_status pes_checkpoint_load(const char *path, const char *key, struct pes_train_state *state,
                                    bool *found);
void pes_checkpoint_remove(const char *path, const char *key);
/* Files of other trials' keys in the folder, for a report; removes the folder if it is empty. */
void pes_checkpoint_tidy(const char *path, const struct pes_sweep *sweep, size_t *stale);

/* Reader: serial, read-only, locking off, no MPI; sees a running sweep's file as it is at open.  The caller
 * closes it.  PES_IO, or PES_INPUT for what isn't there, isn't a results file, is damaged, or is of another
 * version.  Texts and arrays that the functions below return belong to the reader. */
struct pes_reader;
enum pes_status pes_reader_open(const char *path, struct pes_reader **reader);
void pes_reader_close(struct pes_reader *reader);
size_t pes_reader_num_trials(const struct pes_reader *reader);
/* Parsed from the stored text; NULL with a message if this program reads it differently or not at all. */
const struct pes_sweep *pes_reader_sweep(struct pes_reader *reader);
const struct pes_layout *pes_reader_layout(struct pes_reader *reader); /* as the file itself describes it */
/* Can trials of this layout stand beside the file's?  PES_INPUT naming both values if they were measured or
 * stored with other settings.  Clears keep[field] of the variables that the file's own trials should have and
 * an older pesweep didn't write, and adds to *num_lacking: all rows of a file have the same variables, so who
 * goes on with it leaves them out (pes_layout_select). */
enum pes_status pes_reader_fit(struct pes_reader *reader, const struct pes_config *settings,
                               const struct pes_layout *layout, bool *keep, size_t *num_lacking);
/* [num_trials] each; owned by the reader. */
const uint8_t *pes_reader_status(const struct pes_reader *reader);
const uint8_t *pes_reader_reason(const struct pes_reader *reader);
const char *pes_reader_key(const struct pes_reader *reader, size_t trial);
const char *pes_reader_message(const struct pes_reader *reader, size_t trial);
/* Number in the file of a trial of reader's sweep = its place; files extended keep grid order. */
enum pes_status pes_reader_row(struct pes_reader *reader, size_t trial, struct pes_row *row);
/* A whole variable as doubles, [trial, ...]: *values from malloc, the caller frees. */
enum pes_status pes_reader_variable(struct pes_reader *reader, const char *group, const char *name,
                                    double **values, size_t *count);
/* The same for trials [first, first + count) alone, into values[count][field->count] of the caller. */
enum pes_status pes_reader_part(struct pes_reader *reader, const char *group, const char *name, size_t first,
                                size_t count, double *values);
enum pes_status pes_reader_checksum(struct pes_reader *reader, size_t trial, uint64_t *stored,
                                    uint64_t *computed);
/* Which finished trials have a row that fits its checksum: right[num_trials], true for those that aren't
 * finished. Much faster than asking for each. */
enum pes_status pes_reader_verify(struct pes_reader *reader, bool *right);
const char *pes_reader_label(struct pes_reader *reader, size_t trial); /* "" on error */
/* Every value of a trial, the lines "path=value\n"; the caller frees it by pes_free.  NULL with a message on
 * error. */
char *pes_reader_config(struct pes_reader *reader, size_t trial);

/* A tensor of a trial's parameter vector, the variable pes_reader_weights() of /weights. */
struct pes_stored_tensor {
    const char *name;
    int rank;
    size_t shape[3], offset, count; /* elements */
    bool decays;
};
/* PES_INPUT if the file has no weights; *tensors is owned by the reader. */
enum pes_status pes_reader_tensors(struct pes_reader *reader, size_t trial,
                                   const struct pes_stored_tensor **tensors, size_t *num);
const struct pes_field *pes_reader_weights(struct pes_reader *reader); /* NULL if the file has none */

/* How a place along a dimension is called: "3", "-8", "re", "symmetric". */
const char *pes_store_place(enum pes_dimension dimension, size_t size, size_t place, char buffer[24]);

/* Starts that the file tells of, and the JSON text of each (see pes_store_write_run). */
size_t pes_reader_num_runs(struct pes_reader *reader);
const char *pes_reader_run(struct pes_reader *reader, size_t run);

/* Whether a run holds the lock of a results file now, and how its lock file describes it ("" if there is
 * none). */
bool pes_store_is_running(const char *path, char owner[512]);

/* A sweep with every trial of the files once, in their order; the caller owns it.  PES_INPUT if a file's
 * sweep can't be read any more. */
enum pes_status pes_store_union(struct pes_reader *const *readers, size_t num_readers,
                                struct pes_sweep **sweep);

struct pes_merge {
    size_t num_trials, num_finished; /* of the new file */
    size_t num_twice;                /* had results in two files */
    size_t num_damaged;              /* had a row with a wrong checksum only, and are to be trained again */
    size_t num_left_out;             /* variables of the layout that not all files have */
};
/* Unites finished trials in a new file for `sweep`.  PES_INPUT if `out` exists, a file was measured with
 * other settings or has a finished trial that the sweep lacks; PES_DIFFERENT if two files have different
 * results for one trial.  The file has the variables of the layout that all files have, and appears whole or
 * not at all. */
enum pes_status pes_store_merge(const char *out, const struct pes_sweep *sweep,
                                const struct pes_layout *layout, struct pes_reader *const *readers,
                                size_t num_readers, struct pes_merge *merge);

/* Bytes the results file of a sweep will have. */
uint64_t pes_store_file_bytes(const struct pes_sweep *sweep, const struct pes_layout *layout);

/* Every variable that a results file can hold, by group: `pesweep help results-file`; Markdown for the
 * README. */
void pes_store_print_reference(FILE *out, bool markdown);
/* The same as a list of {group, name, dimensions, type, unit, meaning}, a new reference to a Jansson object;
 * NULL: no memory. */
struct json_t *pes_store_describe(void);

/* Versions and build of HDF5 for provenance: "1.10.8, parallel". */
const char *pes_store_library(void);

#endif
