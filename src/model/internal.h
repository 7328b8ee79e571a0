/* internal.h - what the files of src/model share: places of tensors, derived sizes, the workspace. */
#ifndef PESWEEP_MODEL_INTERNAL_H
#define PESWEEP_MODEL_INTERNAL_H

#include "pesweep/model.h"

enum {
    PES_MAX_LAYERS = 64,
    PES_MAX_HEADS = 64,
    PES_BIAS_MARGIN = 64, /* elements that attention may read beyond either end of a bias */
    PES_MAX_SECTIONS = 3  /* copies of q and k side by side in a symmetrised head */
};

/* Offsets in the flat vector; PES_NO_TENSOR where the model has none. */
#define PES_NO_TENSOR SIZE_MAX
struct pes_layer_places {
    size_t norm1, norm1_bias, wq, bq, wv, bv, wo, bo, norm2, norm2_bias, w1, b1, w2, b2;
    size_t w_dq, w_dkv, w_uq, w_uk, w_uv, w_qr, w_kr, q_norm, kv_norm; /* mla */
};
struct pes_model_places {
    size_t tokens, positions, norm_f, norm_f_bias, head, head_bias;
    struct pes_layer_places layers[PES_MAX_LAYERS];
};

/* Widths that follow from a configuration.  Rows of q, k, v stand side by side: [q: H W][k: H W][v: H Dv]. */
struct pes_sizes {
    int W, Dv;                /* of a head's query and key; of its value */
    int pairs, rotated_first; /* rotated columns of a head that rotates */
    bool drops_phase;         /* trained without the sin terms */
    size_t q_columns, k_columns, v_columns, qkv_columns;
    /* First stage of the projections, [stage_q + stage_kv, C]: q, k, v themselves, or the latents of mla
     * [c_q: d_latent][c_kv: d_latent][k_r: d_rope], from which the second stage makes q, k, v. */
    size_t stage_q, stage_kv, stage_columns;
    bool biased; /* the first stage has biases */
};

/* One layer: what prepare makes of its parameters, what forward saves for backward.  In evaluation workspaces
 * the layers share everything but the prepared transposes. */
struct pes_layer_work {
    real *w, *wt, *b;                    /* first stage, its transpose, its bias */
    real *up_q, *up_qt;                  /* mla: [q_columns, d_latent] */
    real *up_kv, *up_kvt;                /* mla: [k_columns + v_columns, d_latent + d_rope] */
    real *wo_t, *w1_t, *w2_t;            /* transposes */
    real *wo, *dwo_t;                    /* of an output that follows from the values: [C][H Dv], [H Dv][C] */
    real *dw, *db, *dup_q, *dup_kv;      /* gradients of the above until pes_model_finish */
    real *x, *n1, *mean1, *rstd1;        /* [N][C] stream entering, normalised */
    real *latent, *normed, *latent_rstd; /* [N][stage_columns], after the latent norms, [N][2] */
    real *qkv, *o, *log_sum_exp;         /* [N][qkv_columns], [N][H Dv], [B][H][T] */
    real *xm, *n2, *mean2, *rstd2;       /* stream after attention */
    real *before, *h;                    /* [N][F] before and after the activation */
};

/* Scratch of one thread inside attention. */
struct pes_thread_work {
    real *attention;
    real *q, *k, *dq, *dk; /* expanded rows of one head */
    real *section;         /* [PES_MAX_SECTIONS][2][W] */
    real *bias, *dbias;    /* dense, of content biases */
};

/* Rotation tables of heads whose rows are expanded: frequencies that drop their phase take two pairs, and a
 * symmetrised head has three sections. */
struct pes_expansion {
    int sections, pairs; /* pairs of all sections */
    real *rotation_q, *rotation_k;
};

struct pes_workspace {
    const struct pes_model *model;
    struct pes_sizes sizes;
    int B, threads;
    bool training;
    const real *parameters; /* as prepared */

    struct pes_layer_work *layers;
    struct pes_thread_work *thread;
    real *head_t;
    real *position;                  /* [T][C] added to the embedding, or NULL */
    real *bias;                      /* [L][H][bias_stride] with margins, or NULL */
    size_t bias_stride, bias_middle; /* offset of bias(0, 0) */
    ptrdiff_t bias_key_stride;
    real *rotation_q, *rotation_k; /* [T][pairs][2] */

    /* Heads by what is done to them, per layer; all zero without an intervention. */
    uint64_t ablate[PES_MAX_LAYERS], zeroed[PES_MAX_LAYERS], symmetrised[PES_MAX_LAYERS];
    uint64_t latent[PES_MAX_LAYERS]; /* columns of the latents, by the head of the same number */
    uint64_t frequencies;            /* that lose their phase; all of them if drops_phase or 0 */
    bool intervenes;
    double part_sign;                      /* +1 symmetric, -1 antisymmetric part */
    struct pes_expansion expansions[2][2]; /* [zeroed][symmetrised] */

    real *x0;                        /* the embedding; layer 0's x */
    real *last, *nf, *meanf, *rstdf; /* stream after the last layer, after the final norm */
    real *pooled, *logits;           /* [B][C]; [rows][classes] */
    double *row_loss;
    uint8_t *row_correct;
    real *unbiased, *swapped;               /* [N][qkv_columns] for symmetrised heads */
    real *scores, *content, *probabilities; /* [T][T] for observers */

    real *d, *branch, *dn, *dh, *dqkv, *dlatent, *dx0, *dpooled; /* backward */
    real *dposition, *dbias;                                     /* until pes_model_finish */
    double *penalty_scratch;
};

/* Whether a pair of a head in `zeroed` loses its sin term. */
static inline bool pes_drops_phase(const struct pes_workspace *workspace, int pair)
{
    uint64_t chosen = workspace->frequencies;
    return workspace->sizes.drops_phase || !chosen || (pair < 64 && (chosen >> pair & 1));
}

void pes_model_sizes(const struct pes_model_config *config, struct pes_sizes *sizes);
struct pes_position_site pes_model_site(const struct pes_model_config *config);
static inline bool pes_has(uint64_t set, int member)
{
    return member < 64 && (set >> member & 1);
}
/* Whether W_o is no parameter but follows from W_v. */
static inline bool pes_output_follows(const struct pes_model_config *config)
{
    return config->value_symmetry != &pes_symmetry_none;
}
/* Whether the scheme acts on a head. */
bool pes_model_acts(const struct pes_model_config *config, int layer, int head);

/* From tables [T][pairs][2] of {cos, sin} to those that the public code reads in their place. */
void pes_published_rotation(real *table, int T, int pairs);

/* First-stage rows of a layer from the parameters: w [stage_columns, C], b [stage_columns] if biased. */
void pes_prepare_stage(const struct pes_model *model, const struct pes_parameters *parameters, int layer,
                       real *w, real *b);

/* qkv[N] from the sources of queries and of keys and values; saves the latents. */
void pes_project_forward(const struct pes_workspace *workspace, int layer, const real *x_q, const real *x_kv,
                         bool biased, real *qkv, size_t N);
/* From dqkv: gradients of the projections, dn[N][C] of the normalised stream, adds to dx0 if keys come from
 * there. */
void pes_project_backward(const struct pes_workspace *workspace, int layer, real *gradient, size_t N);

/* The layer whose other heads keep what pass->attended holds; none where all heads read changed latents. */
static inline bool pes_keeps_heads(const struct pes_workspace *workspace, const struct pes_pass *pass,
                                   int layer)
{
    return pass->attended && !pass->save_streams && layer == pass->first_layer && !workspace->latent[layer];
}
void pes_attend_forward(const struct pes_workspace *workspace, int layer, const struct pes_batch *batch,
                        const struct pes_pass *pass);
/* From d_o = workspace->dn: dqkv. */
void pes_attend_backward(const struct pes_workspace *workspace, int layer, const struct pes_batch *batch,
                         const struct pes_pass *pass);

void pes_backward(const struct pes_workspace *workspace, const struct pes_batch *batch,
                  const struct pes_pass *pass);

/* Rows of an embedding lie anywhere: brings one that is needed soon near.  C elements. */
enum { PES_ROWS_AHEAD = 6 };
static inline void pes_fetch_row(const real *row, size_t C)
{
    for (size_t c = 0; c < C; c += 64 / sizeof *row)
        __builtin_prefetch(row + c);
}

/* Dropout sites: 0 the embedding, then attention, attention branch and feed-forward branch of each layer. */
enum pes_dropout_part {
    PES_DROPOUT_ATTENTION,
    PES_DROPOUT_ATTENTION_BRANCH,
    PES_DROPOUT_FEED_FORWARD_BRANCH
};
static inline struct pes_dropout pes_model_dropout(const struct pes_workspace *workspace,
                                                   const struct pes_pass *pass, int site, uint64_t first_row)
{
    double rate = pass->training ? workspace->model->config.dropout : 0;
    uint32_t purpose = PES_RNG_DROPOUT + ((uint32_t)site << 8);
    return (struct pes_dropout){rate, {pass->seed, purpose, pass->step}, first_row};
}
static inline int pes_dropout_site(int layer, enum pes_dropout_part part)
{
    return 1 + 3 * layer + (int)part;
}

/* Keys that may be attended to and positions that count in the mean: NULL = all. */
const uint8_t *pes_model_mask(const struct pes_model_config *config, const struct pes_batch *batch);

#endif
