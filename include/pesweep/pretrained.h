/* pretrained.h - heads of checkpoints from elsewhere, as the spectral measures want them.
 *
 * A checkpoint is a folder with config.json and safetensors weights (or one such file beside its
 * config.json), or a trial that `pesweep export` wrote.  Its architecture is a row of a table that knows the
 * names of tensors, how queries and keys are packed, which rows a rotation pairs, and which norm stands in
 * front. Nothing here is collective; several ranks may read one checkpoint. */
#ifndef PESWEEP_PRETRAINED_H
#define PESWEEP_PRETRAINED_H

#include <stdio.h>

#include "pesweep/model.h"
#include "pesweep/variable.h"
#include "pesweep/weights.h"

struct pes_pretrained;

struct pes_pretrained_about {
    const char *path;
    const char *architecture; /* "llama", as config.json has it; "pesweep" for an exported trial */
    const char *scheme;       /* of positions: learned, alibi, rope, t5, mla; of a trial its model.pe */
    int L, H;
    int num_key_heads; /* query head h reads key head h / (H / num_key_heads) */
    int C, D, Dv;      /* width of the stream; rows of a head's W_q and W_k; of W_v */
    int pairs;         /* most rotary pairs of a head, as-if-paired ones included */
    bool causal;
    bool inner_norm;   /* queries and keys are normalised: M is exact up to a positive factor per token */
    const char *notes; /* what is worth knowing about the file, sentences ended by newlines; "" if nothing */
};

/* Reads and checks everything about a checkpoint but the numbers: every query and key tensor of every layer
 * is there and has the shape that config.json asks for.  rope_theta > 0 stands in for a base that config.json
 * lacks.  PES_INPUT or PES_IO, naming file, layer and key; for an unknown architecture those that are known.
 */
enum pes_status pes_pretrained_open(const char *path, double rope_theta, struct pes_pretrained **model);

/* The same for an architecture described by the JSON file `layout` (NULL: by the table), whose keys are
 *   block      name of a block with %d for its number, e.g. "h.%d."
 *   q k v o    tensors of a block, without ".weight"; where they are fused, q alone
 *   packing    separate | contiguous (all q, all k, all v) | grouped (per key head: its queries, key, value)
 *   transposed matrices are stored [in, out] (false)
 *   scheme     nope | learned | alibi | t5 | rope;  adjacent: rows (2t, 2t + 1) turn together, else halves
 *   front_norm in front of attention, with norm: layer | rms | rms_plus_one;  q_norm, k_norm: of each head
 *   unscaled   scores aren't divided by the root of the head's width;  bidirectional
 *   embed head token tables;  config: an object with keys of config.json, which it adds to or stands in for
 */
enum pes_status pes_pretrained_open_as(const char *path, const char *layout, double rope_theta,
                                       struct pes_pretrained **model);
void pes_pretrained_close(struct pes_pretrained *model); /* NULL is allowed */

const struct pes_pretrained_about *pes_pretrained_about(const struct pes_pretrained *model);

/* One head in double, in the arena; only its own bytes are read.  Rows of wq, wk, bq, bk that a rotation
 * pairs come first and adjacent.  Gains of norms on queries, keys and latents are multiplied in, and so is
 * the factor some frequency rules put on rotated coordinates.  Without `values` wv and wo are NULL. PES_INPUT
 * where a tensor can't be read, PES_MEMORY. */
enum pes_status pes_pretrained_head(const struct pes_pretrained *model, int layer, int head, bool values,
                                    struct pes_arena *arena, struct pes_head *out);

/* One line per known architecture. */
void pes_pretrained_list(FILE *out);

/* What is measured of the heads of checkpoints. */
struct pes_inspection {
    bool raw, folded; /* of the weights as they are; with the norm in front folded in */
    int nulls;        /* draws of the matched null per head, 0 = none */
    bool composition; /* value-output spectra, K-composition, sums over layers */
    uint64_t seed;    /* of the null draws */
};

/* Result variables under the names of results files, sized for the largest of the models; `more` (ended by
 * name NULL, or NULL itself) come after them. */
enum pes_status pes_inspect_layout(const struct pes_pretrained *const *models, size_t num_models,
                                   const struct pes_inspection *inspection, const struct pes_variable *more,
                                   struct pes_arena *arena, struct pes_layout **layout);

/* Collective: heads (layers, with composition) are dealt out over the ranks; rank 0 gets all in its row,
 * which the caller has cleared; elsewhere the row is not used.  Results don't depend on the number of ranks.
 * All ranks return the worst status. */
enum pes_status pes_inspect_run(const struct pes_pretrained *model, const struct pes_inspection *inspection,
                                const struct pes_row *row);

/* Logits[T, V] of one sequence, in the arena; V in *vocabulary.  PES_INPUT for an architecture without a
 * forward pass here: gpt2, gpt_neo, gpt_neox, bloom, opt, llama, mistral and qwen2 have one. */
enum pes_status pes_pretrained_logits(const struct pes_pretrained *model, size_t T, const int32_t *tokens,
                                      struct pes_arena *arena, size_t *vocabulary, double **logits);

/* What heads do on a beginning token and a random segment that comes twice. */
struct pes_behaviour {
    size_t sequences, segment;
    uint64_t seed;
    bool intervene; /* also change one head at a time and see what the loss on repeated tokens does */
};
extern const struct pes_variable pes_behaviour_variables[];    /* of behaviours alone; ended by name NULL */
extern const struct pes_variable pes_intervention_variables[]; /* of both */

/* PES_INPUT if the model has no forward pass here. */
enum pes_status pes_behaviour_check(const struct pes_pretrained *model);

/* Collective; rank 0 gets all in its row.  Only queries of the second copy count (Li 2026, arXiv 2607.06621).
 * PES_INPUT as above. */
enum pes_status pes_behaviour_run(const struct pes_pretrained *model, const struct pes_behaviour *behaviour,
                                  const struct pes_row *row);

#endif
