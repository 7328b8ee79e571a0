/* describe.h - a row's layout as text, so that a checkpoint outlives a change of the sweep's layout. */
#ifndef PESWEEP_SRC_STORE_DESCRIBE_H
#define PESWEEP_SRC_STORE_DESCRIBE_H

#include "pesweep/text.h"
#include "pesweep/variable.h"

/* A line per variable, in the order of the row: "curves/test_loss 1 evaluation:100\n". */
void store_describe_layout(const struct pes_layout *layout, struct pes_text *text);

/* The layout that a text describes, in the arena; PES_INPUT without a message if it describes none,
 * PES_MEMORY. */
enum pes_status store_parse_layout(const char *text, struct pes_arena *arena, struct pes_layout **layout);

bool store_find_dimension(const char *name, size_t length, enum pes_dimension *dimension);

#endif
