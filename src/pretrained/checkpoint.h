/* checkpoint.h - a checkpoint and the row of its architecture, inside pretrained. */
#ifndef PESWEEP_PRETRAINED_CHECKPOINT_H
#define PESWEEP_PRETRAINED_CHECKPOINT_H

#include <jansson.h>

#include "pesweep/pretrained.h"
#include "pesweep/text.h"

/* Where the rows of a head stand, D each, R = H / (key heads) query heads to a key head g. */
enum layout {
    LAYOUT_SEPARATE,   /* a tensor each; query head h at h D, key head g at g D */
    LAYOUT_CONTIGUOUS, /* one tensor: all query heads, then all key heads, then all value heads */
    LAYOUT_GROUPED     /* one tensor: per g its R query heads, its key head, its value head */
};

enum norm { NORM_LAYER, NORM_RMS, NORM_RMS_PLUS_ONE /* gain is 1 + weight */ };

struct architecture {
    const char *model_types; /* values of config.json's model_type, spaces between */
    const char *summary;
    /* Prefix-free name of a block, with %d for its number; names behind it, without ".weight".  One fused
     * tensor: q alone.  k NULL and v NULL then. */
    const char *block, *q, *k, *v, *o;
    const char *front_norm;      /* in front of attention */
    const char *q_norm, *k_norm; /* RMS norms of each head before it is rotated, or NULL */
    const char *embed, *head;    /* token tables, prefix-free and whole name, for notes */
    const char *scheme;          /* learned, alibi, rope, t5, mla */
    enum layout layout;
    enum norm norm;
    bool transposed; /* matrices are stored [in, out] */
    bool adjacent;   /* a rotation pairs rows (2t, 2t + 1), else (t, t + half) */
    bool unscaled;   /* scores are not divided by the root of D */
    bool bidirectional;
    double theta; /* rotary base that the family's code fixes; 0 = config.json must say */
    /* Keys of its own; called when the sizes are known.  NULL: none. */
    enum pes_status (*adjust)(struct pes_pretrained *model);
};
extern const struct architecture pes_architectures[]; /* ended by model_types NULL */
const struct architecture *pes_architecture_find(const char *model_type);

/* One frequency rule: which coordinates of a head turn, and how fast. */
struct rotation {
    int pairs, half; /* pair t: rows t and t + half, or 2t and 2t + 1 where adjacent */
    double factor;   /* on both rotated queries and keys */
    double *frequencies;
};

struct pes_pretrained {
    struct pes_arena *arena;
    struct pes_weights *weights;
    json_t *root;         /* config.json */
    json_t *by_hand;      /* file of --layout, or NULL */
    const json_t *config; /* the part of it that describes the language model */
    const char *config_path;
    double rope_theta;
    struct pes_pretrained_about about;
    struct pes_text *notes;

    const struct architecture *architecture; /* NULL: an exported trial */
    const char *prefix;
    enum layout layout;
    bool adjacent, post_norm;
    double scale; /* of scores; layer N has scale / (N + 1) if by_layer */
    bool by_layer;
    int num_rotations;
    struct rotation rotations[2];
    const unsigned char *rotation_of; /* [L] */
    /* Latent attention: ranks (query 0 = not factored), rows of content and of rotation. */
    int q_rank, kv_rank, nope, rope;

    const struct pes_model *trial; /* an exported trial, with its parameters */
    const real *parameters;
};

/* Values of config.json by the first of `names` (spaces between) that is there; null is absence. */
const json_t *checkpoint_key(const json_t *config, const char *names);
/* fallback 0: must be there.  PES_INPUT unless it is a whole number from 1 to 2^24. */
enum pes_status checkpoint_count(const struct pes_pretrained *model, const char *names, int fallback,
                                 int *value);
double checkpoint_real(const json_t *config, const char *names, double fallback);
bool checkpoint_flag(const struct pes_pretrained *model, const char *names, bool fallback);
void checkpoint_note(struct pes_pretrained *model, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Tensor "<prefix><block><name><ending>" of a layer; NULL if there is none. */
const struct pes_weight *checkpoint_find(const struct pes_pretrained *model, int layer, const char *name,
                                         const char *ending);
/* The same with the shape [rows, columns], or [rows] for columns 0; a missing or other one is PES_INPUT with
 * layer and key. */
enum pes_status checkpoint_need(const struct pes_pretrained *model, int layer, const char *name,
                                const char *ending, size_t rows, size_t columns,
                                const struct pes_weight **weight);
/* rows [first, first + count) of a matrix with C columns. */
enum pes_status checkpoint_rows(const struct pes_weight *weight, size_t first, size_t count, size_t columns,
                                double *out);

/* The architecture that the file at `path` describes; its texts live as long as the model. */
enum pes_status checkpoint_read_layout(struct pes_pretrained *model, const char *path);

/* Rotations of all layers from the keys of config.json, for heads of `width` coordinates. */
enum pes_status checkpoint_read_rotations(struct pes_pretrained *model, int width);
/* The frequencies of heads that don't rotate, "as if paired". */
enum pes_status checkpoint_as_if_paired(struct pes_pretrained *model, int width);

/* Multi-head latent attention. */
enum pes_status latent_read(struct pes_pretrained *model);
enum pes_status latent_check_layer(const struct pes_pretrained *model, int layer);
enum pes_status latent_head(const struct pes_pretrained *model, int layer, int head, bool values,
                            struct pes_arena *arena, struct pes_head *out);

/* Every query and key tensor of a layer. */
enum pes_status packed_check_layer(const struct pes_pretrained *model, int layer);
enum pes_status packed_head(const struct pes_pretrained *model, int layer, int head, bool values,
                            struct pes_arena *arena, struct pes_head *out);

/* A head's part of the value bias, out[Dv], left alone if there is none. */
enum pes_status packed_value_bias(const struct pes_pretrained *model, int layer, size_t head, double *out);
/* A head's columns of W_o, out[C, Dv]. */
enum pes_status packed_output(const struct pes_pretrained *model, int layer, size_t head,
                              struct pes_arena *arena, double **out);

/* Gain of the norm in front, for pes_head; nothing if there is none. */
enum pes_status front_norm(const struct pes_pretrained *model, int layer, struct pes_arena *arena,
                           struct pes_head *out);

/* An exported trial: whether it is one; its model and parameters. */
bool trial_is(const struct pes_pretrained *model);
enum pes_status trial_read(struct pes_pretrained *model);

#endif
