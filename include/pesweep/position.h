/* position.h - positional schemes: one row and one file each (src/position/<name>.c).
 *
 * A scheme acts by any of four hooks: a vector added to the embedding; a bias on the scores that depends on
 * (query, key) alone; a rotation of q and k; a bias that depends on the query's content (Shaw).  A NULL hook
 * isn't used.  Inside attention a scheme acts only on the heads and layers it is given; the others have
 * none. */
#ifndef PESWEEP_POSITION_H
#define PESWEEP_POSITION_H

#include "pesweep/config.h"
#include "pesweep/tensor.h"

struct pes_position_site {
    const struct pes_config *config; /* the scheme's own keys are read from here */
    struct pes_shape shape;
    uint64_t heads, layers; /* where the scheme acts */
};

enum pes_position_family {
    PES_POSITION_NONE,
    PES_POSITION_ABSOLUTE,
    PES_POSITION_ADDITIVE,
    PES_POSITION_ROTARY
};

struct pes_position {
    const char *name;    /* value of model.pe, attribute in the file, line of `pesweep list` */
    const char *summary; /* one line */
    const char *source;  /* paper and equation */
    enum pes_position_family family;
    const struct pes_key *keys; /* NULL or ended by path NULL */
    bool tabled;                /* its tensors have shape.T positions: no sequence may be longer */

    /* PES_INPUT if the configuration makes no sense (odd width ...), in words that name both numbers. */
    enum pes_status (*check)(const struct pes_position_site *site);
    /* Adds the scheme's tensors. */
    enum pes_status (*declare)(const struct pes_position_site *site, struct pes_tensor_table *table);

    /* table[T][C] to be added to the embedding of every sequence of length T; gradient from the summed
     * dtable. */
    void (*embed_forward)(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int T, real *table);
    void (*embed_backward)(const struct pes_position_site *site, const struct pes_parameters *parameters,
                           int T, const real *dtable);

    /* Score bias of one layer and head, added after scaling.  Toeplitz (bias_dense false): bias[(i - j) + T -
     * 1], 2T - 1 values.  Dense: bias[j * T + i], key-major.  Backward adds parameter gradients from the
     * dbias summed over sequences. */
    bool bias_dense;
    void (*bias_forward)(const struct pes_position_site *site, const struct pes_parameters *parameters,
                         int layer, int head, int T, real *bias);
    void (*bias_backward)(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int layer, int head, int T, const real *dbias);

    /* Rotated pairs per head of `width` columns, and the tables [T][pairs][2] of {cos, sin} (times a scale)
     * for q and k; frequencies[pairs] gets w_t.  Any output may be NULL. */
    int (*rotation_pairs)(const struct pes_position_site *site, int width);
    void (*rotation)(const struct pes_position_site *site, int T, int pairs, real *table_q, real *table_k,
                     double *frequencies);
    /* Whether the model is trained without the sin terms: each pair scores cos(w (i - j)) (q_a k_a + q_b
     * k_b). */
    bool (*drops_phase)(const struct pes_position_site *site);

    /* Bias that depends on the query: bias[j * T + i] += scale * q_i . r(i - j) for one (sequence, head);
     * backward adds to dq[T] rows (q_ld apart) and to the parameters' gradient.  Heads may share parameters,
     * so backward is called by one thread at a time. */
    void (*content_bias_forward)(const struct pes_position_site *site,
                                 const struct pes_parameters *parameters, int layer, int head, int T,
                                 const real *q, size_t q_ld, double scale, real *bias);
    void (*content_bias_backward)(const struct pes_position_site *site,
                                  const struct pes_parameters *parameters, int layer, int head, int T,
                                  const real *q, size_t q_ld, double scale, const real *dbias, real *dq);
};

/* X(identifier): src/position/<identifier>.c defines `const struct pes_position pes_position_<identifier>`.
 * CMake stops if a file has no row. */
#define PES_POSITIONS(X)                                                                                     \
    X(nope)                                                                                                  \
    X(sinusoidal)                                                                                            \
    X(learned)                                                                                               \
    X(relative)                                                                                              \
    X(shaw)                                                                                                  \
    X(t5)                                                                                                    \
    X(t5_per_layer)                                                                                          \
    X(alibi)                                                                                                 \
    X(alibi_learned)                                                                                         \
    X(kerple)                                                                                                \
    X(fire)                                                                                                  \
    X(rope)                                                                                                  \
    X(xpos)

#define X(identifier) extern const struct pes_position pes_position_##identifier;
PES_POSITIONS(X)
#undef X

extern const struct pes_position *const pes_positions[]; /* ended by NULL */
extern const char *const pes_position_names[];           /* ended by NULL */
const struct pes_position *pes_position_find(const char *name);

#endif
