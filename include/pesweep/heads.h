/* heads.h - the file of spectra that `pesweep inspect` writes: a results file's groups and names with one row
 * per checkpoint instead of one per trial.
 *
 * Written by one process, whole or not at all.  Every dataset of the layout has `model` as its slowest
 * dimension; /models describes the checkpoints, /provenance how the file came about. */
#ifndef PESWEEP_HEADS_H
#define PESWEEP_HEADS_H

#include <stdio.h>

#include "pesweep/variable.h"

struct pes_heads_model {
    const char *label, *path, *architecture, *scheme, *notes;
    const char *name; /* the label without its step: the same for all steps of one model */
    int layers, heads, key_heads, width, head_width, value_width;
    bool causal, inner_norm;
    double step; /* of training, if the path ends in one ("step512"); NaN if not */
};

struct pes_heads {
    size_t num_models;
    const struct pes_heads_model *models;
    const struct pes_layout *layout;
    const unsigned char *rows; /* [num_models][layout->row_bytes] */
    const char *settings;      /* one JSON text: what was asked for */
    const char *made_by;       /* read: the program that wrote it */
};

/* Whether both are training steps of one model: of one name, scheme and shape. */
bool pes_heads_same_model(const struct pes_heads_model *a, const struct pes_heads_model *b);

/* PES_IO or PES_MEMORY with a message; an older file of this name is replaced at the end. */
enum pes_status pes_heads_write(const char *path, const struct pes_heads *heads);

/* Reads one whole; the arena owns what heads points to.  PES_INPUT if it isn't one or is damaged. */
enum pes_status pes_heads_read(const char *path, struct pes_arena *arena, struct pes_heads *heads);
/* Whether a file is one, as far as its first attribute tells; no message. */
bool pes_heads_found(const char *path);

/* What such a file holds besides the spectra, whose variables are a results file's; `variables` (ended by
 * name NULL) are those of behaviours and interventions. */
void pes_heads_print_reference(FILE *out, bool markdown, const struct pes_variable *variables);
/* The same as a list of {group, name, dimensions, type, unit, meaning}: see pes_store_describe. */
struct json_t *pes_heads_describe(const struct pes_variable *variables);

#endif
