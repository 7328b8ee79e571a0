/* results.h - an open results file: its handles, rows by blocks of trials, single values of the own columns.
 */
#ifndef PESWEEP_SRC_STORE_RESULTS_H
#define PESWEEP_SRC_STORE_RESULTS_H

#include "table.h"

enum results_mode {
    RESULTS_READ,    /* serial, read-only */
    RESULTS_HEADS,   /* the same of a file of heads, which has models for trials and none of the columns */
    RESULTS_WRITE,   /* serial */
    RESULTS_PARALLEL /* MPI-IO, collective */
};

struct results {
    const char *path; /* borrowed */
    hid_t file;
    size_t num_trials;
    hid_t columns[NUM_COLUMNS];
    const struct pes_layout *layout; /* borrowed, NULL until the fields are open */
    hid_t *fields;
};

/* What can be seen without the library: a plain file that can be read and begins like HDF5. */
enum pes_status results_check(const char *path);

/* Opens a file and the store's own columns.  PES_INPUT if it isn't a results file of this schema version,
 * with the reason (missing, a folder, empty, text, truncated, another program's, older, newer, damaged);
 * PES_IO if it can't be read.  On error everything is closed. */
enum pes_status results_open(const char *path, enum results_mode mode, struct results *results);
/* The layout of a file as it describes itself (provenance/variable_path and variable_dimensions), so that a
 * program whose own variables have changed can read it; opens its datasets.  The arena owns it. */
enum pes_status results_read_layout(struct results *results, struct pes_arena *arena,
                                    struct pes_layout **layout);
/* The texts of a dataset; the arena owns them. */
enum pes_status results_read_texts(const struct results *results, const char *group, const char *name,
                                   struct pes_arena *arena, char ***texts, size_t *num);
/* Opens the datasets of a layout; PES_INPUT if the file hasn't them as the layout says. */
enum pes_status results_open_fields(struct results *results, const struct pes_layout *layout);
/* Collective as the opening; PES_IO if the library reports an error.  Can be called twice. */
enum pes_status results_close(struct results *results);

/* Any dataset of a group; -1 if there is none. */
hid_t results_open_dataset(const struct results *results, const char *group, const char *name);

/* Rows of trials [first, first + count), one after another: [count][layout->row_bytes].  Reading sets the
 * padding to zero. */
enum pes_status results_read_rows(const struct results *results, size_t first, size_t count,
                                  unsigned char *rows);
enum pes_status results_write_rows(const struct results *results, size_t first, size_t count,
                                   const unsigned char *rows);
/* How many rows make a block of reasonable size. */
size_t results_block(const struct pes_layout *layout);

/* Entries of an own column, in its element type. */
enum pes_status results_read_column(const struct results *results, enum column column, size_t first,
                                    size_t count, void *values);
enum pes_status results_write_column(const struct results *results, enum column column, size_t first,
                                     size_t count, const void *values);

#endif
