/* copy.h - a new results file from the finished trials of others. */
#ifndef PESWEEP_SRC_STORE_COPY_H
#define PESWEEP_SRC_STORE_COPY_H

#include "reader.h"

/* Where a trial of the new file comes from; source -1: nowhere, it is to be trained. */
struct pick {
    int source;
    size_t trial;
};

/* PES_INPUT naming both values if the file's blocks measure and store are not these settings. */
enum pes_status store_check_settings(struct pes_reader *reader, const struct pes_config *settings,
                                     struct pes_arena *arena);

/* PES_INPUT if the source has a variable that this layout doesn't know, or as one of another kind; with
 * `whole` also if its own trials should have one that they lack. */
enum pes_status store_check_layout(const struct pes_reader *source, const struct pes_layout *layout,
                                   bool whole);

/* Whether rows of both have the same bytes: every variable at the same place with the same extents. */
bool store_same_layout(const struct pes_layout *a, const struct pes_layout *b);

/* One row in the new layout: every variable at its place, padded along axes that have grown.  Clears `target`
 * first. */
void store_embed_row(const struct pes_layout *from, const unsigned char *source, struct pes_row *target);

/* Creates `target` through `<target>.part` with the picked trials' rows and provenance, makes it durable,
 * renames it. Rows whose checksum is wrong are not copied (*num_damaged).  The sources stay as they are. */
enum pes_status store_copy(const char *target, const struct pes_sweep *sweep, const struct pes_layout *layout,
                           struct pes_reader *const *sources, size_t num_sources, const struct pick *picks,
                           size_t *num_damaged);

/* Trials by key. */
struct key_index;
/* keys[num] must outlive the index.  NULL: no memory. */
struct key_index *key_index_create(char *const *keys, size_t num);
void key_index_destroy(struct key_index *index);
long key_index_find(const struct key_index *index, const char *key); /* -1: not there */

#endif
