/* forward.h - a forward pass of some of the architectures, layer by layer, in double; inside pretrained.
 *
 * The stream x[S T, C] is the only thing that is kept; a layer's matrices are read when it is their turn, a
 * head or a block of rows at a time. */
#ifndef PESWEEP_PRETRAINED_FORWARD_H
#define PESWEEP_PRETRAINED_FORWARD_H

#include "checkpoint.h"

struct forward;

/* PES_INPUT for an architecture, or a variant of one, that has no forward pass here, with those that have. */
enum pes_status forward_create(const struct pes_pretrained *model, struct pes_arena *arena,
                               struct forward **forward);

size_t forward_vocabulary(const struct forward *forward);
int32_t forward_beginning(const struct forward *forward); /* token that begins a text */

/* S sequences of T tokens each. */
enum pes_status forward_embed(const struct forward *forward, size_t S, size_t T, const int32_t *tokens,
                              double *x);

/* What is done to a head's scores. */
enum change { CHANGE_NONE, CHANGE_PHASE_ZEROED, CHANGE_SYMMETRIC, CHANGE_ANTISYMMETRIC };

/* Sees a head's attention[S][T][T]; NULL = nobody does. */
typedef void watching(void *context, int head, const double *attention);

/* out[S T, C] = what attention adds to the stream, given the stream x in front of the block. */
enum pes_status forward_attention(const struct forward *forward, int layer, size_t S, size_t T,
                                  const double *x, watching *watch, void *context, double *out);
/* One head's part of it, its bias left out; added to out. */
enum pes_status forward_head(const struct forward *forward, int layer, int head, enum change change, size_t S,
                             size_t T, const double *x, watching *watch, void *context, double *out);
/* x = the stream behind the block, given what attention adds. */
enum pes_status forward_finish(const struct forward *forward, int layer, size_t rows, const double *attention,
                               double *x);
/* logits[rows, V]. */
enum pes_status forward_logits(const struct forward *forward, size_t rows, const double *x, double *logits);

#endif
