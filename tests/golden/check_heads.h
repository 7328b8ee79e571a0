/* check_heads.h - heads in double from a golden file's parameters. */
#ifndef PESWEEP_TESTS_CHECK_HEADS_H
#define PESWEEP_TESTS_CHECK_HEADS_H

#include "golden_reader.h"
#include "pesweep/model.h"

/* heads[n_layers][n_heads] of a group, in the arena; ends the program with a message where a tensor is
 * missing. */
struct pes_head *golden_heads(const struct golden_file *file, const char *group, struct pes_arena *arena);

#endif
