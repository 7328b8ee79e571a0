/* variable.h - what a trial leaves behind: result variables, their layout in memory, one row per trial.
 *
 * A variable is a row {group, name, type, dimensions, unit, meaning}.  Modules and plug-ins carry their own
 * arrays; train/variables.c assembles them for a sweep into a layout, which fixes the size of every dimension
 * and the place of every variable in a row.  The results file has one dataset per variable, [trial, ...]; a
 * row is the bytes of all of them for one trial, in table order, and the row checksum is taken over those
 * bytes. */
#ifndef PESWEEP_VARIABLE_H
#define PESWEEP_VARIABLE_H

#include "pesweep/arena.h"

enum pes_type { PES_F32, PES_F64, PES_I64, PES_I32, PES_U8 };
size_t pes_type_bytes(enum pes_type type);

/* X(symbol, name in the file, meaning) */
#define PES_DIMENSIONS(X)                                                                                    \
    X(EVALUATION, "evaluation", "dense grid of accuracy and loss, every measure.evaluate_every steps")       \
    X(CHECKPOINT, "checkpoint", "sparse grid of spectra, behaviours and probes")                             \
    X(LAYER, "layer", "transformer block, from 0")                                                           \
    X(HEAD, "head", "attention head, from 0")                                                                \
    X(MODE, "mode", "eigenvalue or singular value of a head, largest first")                                 \
    X(RE_IM, "re_im", "real and imaginary part")                                                             \
    X(EIGENVALUE, "eigenvalue", "eigenvalue of a matrix over positions, smallest first")                     \
    X(FREQUENCY, "frequency", "RoPE frequency, fastest first")                                               \
    X(QUERY, "query", "position of the query")                                                               \
    X(KEY, "key", "position of the key")                                                                     \
    X(DIAGONAL, "diagonal", "key position - query position + length - 1")                                    \
    X(OFFSET, "offset", "key position - query position: -8 .. 0")                                            \
    X(LAYER_FROM, "layer_from", "earlier block, whose output is read")                                       \
    X(HEAD_FROM, "head_from", "head of the earlier block")                                                   \
    X(PARAMETER, "parameter", "place in the flat parameter vector")                                          \
    X(PART, "part", "symmetric and antisymmetric part")                                                      \
    X(OTHER_HEAD, "other_head", "second head of a pair in the same block, from 0")                           \
    X(LIST, "list", "list of heads of measure.ablate_lists, from 0")

enum pes_dimension {
#define X(symbol, name, meaning) PES_DIM_##symbol,
    PES_DIMENSIONS(X)
#undef X
        PES_NUM_DIMENSIONS
};
const char *pes_dimension_name(enum pes_dimension dimension);
const char *pes_dimension_meaning(enum pes_dimension dimension);

#define PES_MAX_RANK 5 /* dimensions of a variable beside the trial */

struct pes_variable {
    const char *group, *name; /* "curves", "test_loss"; name NULL ends an array */
    enum pes_type type;
    int rank;
    enum pes_dimension dimensions[PES_MAX_RANK]; /* slowest first, the trial in front not named */
    const char *unit;                            /* "" if none; "s" for seconds */
    const char *help;                            /* meaning, one sentence */
};

struct pes_field {
    struct pes_variable variable;
    size_t extent[PES_MAX_RANK];
    size_t count;  /* elements: product of the extents */
    size_t offset; /* bytes from the start of the row; 8-byte aligned */
};

struct pes_layout {
    size_t size[PES_NUM_DIMENSIONS];
    size_t num_fields;
    struct pes_field *fields; /* in table order: the order of datasets and of the checksum */
    size_t row_bytes;
    size_t *by_path; /* field numbers sorted by group/name */
};

/* Variables with a dimension of size 0 are left out.  The arena owns the layout; the names are copied. */
enum pes_status pes_layout_create(const size_t size[PES_NUM_DIMENSIONS],
                                  const struct pes_variable *const *arrays, size_t num_arrays,
                                  struct pes_arena *arena, struct pes_layout **layout);

/* The layout of those fields whose keep[field] is true, in their order. */
enum pes_status pes_layout_select(const struct pes_layout *layout, const bool *keep, struct pes_arena *arena,
                                  struct pes_layout **selected);

/* NULL if the layout doesn't have it (switched off, or a dimension of size 0). */
const struct pes_field *pes_layout_find(const struct pes_layout *layout, const char *group, const char *name);

struct pes_row {
    const struct pes_layout *layout;
    unsigned char *bytes; /* [layout->row_bytes] */
};

/* Fills floats with NaN and integers with -1 (u8 with 0). */
void pes_row_clear(struct pes_row *row);
uint64_t pes_row_checksum(const struct pes_row *row); /* XXH3-64 of the bytes */

/* Address of an element, NULL if the layout doesn't have the variable.  index[rank] counts from the slowest
 * dimension; an index beyond the extent is a fault of the program. */
void *pes_row_at(const struct pes_row *row, const char *group, const char *name, const size_t *index);

/* Stores one number, converted to the variable's type; does nothing if the layout doesn't have it. */
void pes_row_put(const struct pes_row *row, const char *group, const char *name, const size_t *index,
                 double value);

/* Stores a block of doubles along the last `inner` dimensions at index[rank - inner]: block[n0][n1]... of the
 * given extents, each <= the variable's; the rest keeps its fill value. */
void pes_row_put_block(const struct pes_row *row, const char *group, const char *name, const size_t *index,
                       int inner, const size_t *extent, const double *block);
double pes_row_get(const struct pes_row *row, const char *group, const char *name, const size_t *index);
/* All elements of a field of the row's layout as doubles: values[field->count]. */
void pes_row_values(const struct pes_row *row, const struct pes_field *field, double *values);

#endif
