/* create.h - a new results file, written serially under a temporary name. */
#ifndef PESWEEP_SRC_STORE_CREATE_H
#define PESWEEP_SRC_STORE_CREATE_H

#include "table.h"

/* Attributes of the root group by which a results file is known. */
#define STORE_FORMAT       "pesweep results"
#define STORE_HEADS_FORMAT "pesweep heads"

/* Creates `path` (replacing what is left of an earlier attempt) with every group, dataset, scale, attribute
 * and text; nothing has run.  Removed again on error.  Not yet durable under any other name. */
enum pes_status store_create(const char *path, const struct file_table *table);

/* Entries [first, first + count) of a dataset that is written at creation, in its element type; the texts
 * live in `arena`. */
enum pes_status store_fill_content(const struct file_table *table, const struct dataset *dataset,
                                   size_t first, size_t count, struct pes_arena *arena, void *values);

/* The sweep file's bytes as UTF-8 without a byte-order mark; the arena owns the text. */
char *store_text_as_utf8(const char *bytes, size_t count, struct pes_arena *arena);

#endif
