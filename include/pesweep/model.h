/* model.h - a decoder/encoder block model: configuration, parameters, forward and backward by hand.
 *
 * Letters (here and in all kernels): B sequences, T positions, C width, H heads, D = C/H, L layers, V
 * vocabulary, F feed-forward width (0 = attention only), N = B*T rows.
 *
 *   x_0 = embed[ids] (+ position vector), dropout
 *   x'  = x + dropout(W_o attention(W_q n1(x), W_k s, W_v s) + b_o),  s = n1(x), or x_0 when kv_source:
 * embedding x'' = x' + dropout(W_2 act(W_1 n2(x') + b_1) + b_2) logits = W (mean over real positions, or each
 * position, of norm_f(x_L)) + b
 *
 * Work goes micro-batch by micro-batch; nothing of size [B, H, T, T] exists in training. */
#ifndef PESWEEP_MODEL_H
#define PESWEEP_MODEL_H

#include "pesweep/config.h"
#include "pesweep/kernels.h"
#include "pesweep/position.h"
#include "pesweep/symmetry.h"
#include "pesweep/task.h"
#include "pesweep/tensor.h"

enum pes_pad { PES_PAD_ATTEND, PES_PAD_MASK };
enum pes_kv_source { PES_KV_RESIDUAL, PES_KV_EMBEDDING };
enum pes_init { PES_INIT_FRAMEWORK, PES_INIT_NORMAL };

struct pes_model_config {
    struct pes_shape shape;
    enum pes_objective objective;
    enum pes_pad pad;
    enum pes_kv_source kv_source;
    enum pes_activation activation;
    bool final_norm, mla;
    int d_latent, d_rope; /* mla */
    bool latent_norm;     /* mla: RMSNorm on both latents (eps 1e-6) */
    struct pes_published_latent {
        bool rotation;  /* the tables of cos and sin are cut so that they don't rotate */
        bool query;     /* one rotary query for all heads */
        bool positions; /* a learned vector per position is added to the embedding, from 0 on */
    } published;        /* mla as in the public code beside arXiv 2505.13027 */
    const struct pes_position *position;
    uint64_t pe_heads, pe_layers;
    const struct pes_symmetry *symmetry, *value_symmetry; /* of W_q^T W_k and of W_o W_v */
    const struct pes_penalty *penalty;
    double penalty_weight;
    enum pes_init init;
    double init_std; /* normal; already resolved */
    double dropout;
    const struct pes_config *config; /* for the plug-ins' own keys; outlives the model */
};

/* Typed view of a resolved configuration; PES_INPUT where values are meaningless together, in words that name
 * the numbers (d_model 10 with 3 heads; odd rotated width; pe_heads beyond the heads; ...). */
enum pes_status pes_model_configure(const struct pes_config *config, const struct pes_task_shape *task,
                                    struct pes_model_config *model);

/* The same errors for a configuration filled by hand. */
enum pes_status pes_model_check(const struct pes_model_config *config);

struct pes_model {
    struct pes_model_config config;
    struct pes_tensor_table tensors;
    struct pes_model_places *places; /* where the model's own tensors stand */
};
/* The arena owns the model.  Errors: those of pes_model_check, PES_MEMORY. */
enum pes_status pes_model_create(const struct pes_model_config *config, struct pes_arena *arena,
                                 struct pes_model **model);

/* Initial weights by tensor name and element from `seed`: equal for tensors that two models share. */
void pes_model_init(const struct pes_model *model, uint64_t seed, real *parameters);

/* Changes made to heads at evaluation.  Bit h of entry l stands for head h of layer l; NULL = none.  They
 * combine. Under rotation the parts of M are those of the Hermitian and anti-Hermitian part of each M_t:
 * x_i^T W_k^T R W_q x_j takes the place of the transposed form, so that a symmetric model stays as it is. */
enum pes_part { PES_PART_SYMMETRIC, PES_PART_ANTISYMMETRIC };
struct pes_intervention {
    const uint64_t *ablate; /* [L] value vectors (bias included) are 0; the output bias stays */
    /* [L] mla: columns h D .. (h + 1) D - 1 of both latents, as far as they exist, are 0 for the queries,
     * keys and values of all heads, rotary ones apart; what the public code calls the ablation of head h */
    const uint64_t *latent;
    const uint64_t *phase_zeroed; /* [L] every frequency keeps its cos(w_t D) term only */
    uint64_t frequencies;         /* which frequencies phase_zeroed means; 0 = all */
    const uint64_t *symmetrised;  /* [L] M is replaced by one part; biases stay */
    enum pes_part part;
};

/* Sees attention as it is computed, per (sequence, layer, head); analysis only. */
struct pes_observation {
    int layer, head, T;
    int64_t sequence;    /* batch.first + b */
    const uint8_t *mask; /* [T] or NULL */
    const real *scores;  /* [T][T] raw, unmasked, biases and positions included */
    /* [T][T] the same head without the positional coupling; NULL where that isn't defined */
    const real *content_scores;
    const real *probabilities; /* [T][T] */
};
struct pes_observer {
    void *context;
    bool scores, content_scores, probabilities; /* what is wanted */
    void (*observe)(void *context, const struct pes_observation *observation);
};

/* Scratch for micro-batches of up to `B` sequences of up to T tokens, plus what is prepared once per step
 * (transposed weights, expanded keys, bias and rotation tables).  Evaluation needs less than training. */
struct pes_workspace;
enum pes_status pes_workspace_create(const struct pes_model *model, int B, bool training,
                                     struct pes_arena *arena, struct pes_workspace **workspace);

/* Sequences per micro-batch: about 256 tokens (see README, performance), at least 1; fixed, never timed. */
int pes_model_micro_batch(const struct pes_model_config *config);

/* Prepares the workspace for these parameters and this intervention (NULL = none; evaluation workspaces
 * only), and drops what an unfinished step has left.  Before any pes_model_run; the parameters stay as they
 * are until the last. */
void pes_model_prepare(const struct pes_model *model, struct pes_workspace *workspace, const real *parameters,
                       const struct pes_intervention *intervention);

/* Sums over labelled rows: never averages of averages. */
struct pes_loss {
    double sum, scored_sum;      /* of -log p(label); over scored positions only */
    int64_t count, scored_count; /* labels; scored positions (= labels without a scored array) */
    int64_t correct;             /* scored positions whose largest logit is the label */
};

struct pes_pass {
    real *gradient; /* flat vector to add to, or NULL: forward only */
    double scale;   /* of the loss in the gradient: 1 / labels of the whole optimizer batch */
    bool training;  /* dropout on */
    uint64_t seed;  /* of dropout */
    uint32_t step;
    const struct pes_observer *observer; /* or NULL; evaluation workspaces only */
    real *logits;                        /* out: [B][classes] or [B][T][classes]; NULL = not wanted */
    /* Residual stream entering each layer, [L][N][C]: written if save_streams, read if first_layer > 0, where
     * the pass then starts (forward only).  With kv_source embedding the caller also keeps layer 0's. */
    real *streams;
    /* What the heads of each layer put out, [L][N][C], or NULL: written if save_streams.  Read else, and the
     * pass starts from streams at first_layer 0 too: in that layer only heads that the intervention touches
     * are computed again, the others keep what they have here. */
    real *attended;
    bool save_streams;
    int first_layer;
    uint8_t *row_correct; /* out: per label row, 1 if right; NULL */
    double *row_loss;     /* out: per label row; NULL */
};

/* Forward, and backward if pass->gradient (training workspaces only), over one micro-batch (batch->B <= the
 * workspace's).  Adds to *loss.  Tokens and labels outside their range are faults of the program. */
void pes_model_run(const struct pes_model *model, struct pes_workspace *workspace,
                   const struct pes_batch *batch, const struct pes_pass *pass, struct pes_loss *loss);

/* After the last micro-batch, once per pes_model_prepare: hands out the gradients of projections, position
 * tables and biases and adds the penalty's; returns weight x penalty (0 without one).  gradient NULL: the
 * value only. */
double pes_model_finish(const struct pes_model *model, struct pes_workspace *workspace, real *gradient);

/* One head's matrices in double, composed where the model factors them (MLA): q = wq x + bq and so on.  For
 * pes_spectrum.  The arrays live in the arena. */
struct pes_head {
    int D, C;                        /* wq, wk are [D, C] */
    const double *wq, *wk, *wv, *wo; /* wv [Dv, C], wo [C, Dv] (this head's columns) */
    int Dv;
    const double *bq, *bk; /* [D], zeros if none */
    const double *gain;    /* [C] of the norm in front of q, NULL = none */
    /* Which sides read the normalised stream (kv_source embedding: keys don't). */
    bool query_folds, key_folds;
    bool centred;              /* LayerNorm centres; RMSNorm doesn't */
    int pairs;                 /* rotated pairs; without rotation D/2 "as if paired" */
    const double *rq, *rk;     /* rotary rows [2 * pairs, C]: the first rows of wq, wk, or MLA's own */
    const double *frequencies; /* [pairs] w_t */
    bool rotates;
    double scale; /* of the scores */
};
enum pes_status pes_model_head(const struct pes_model *model, const real *parameters, int layer, int head,
                               struct pes_arena *arena, struct pes_head *out);

/* Floating-point operations: 2 x multiply-adds of the matrix products of one sequence, forward; causal
 * attention counted by visible pairs.  A training step is three times that. */
double pes_model_flops(const struct pes_model_config *config, int T);

/* Bytes a training workspace for micro-batches of B sequences needs. */
size_t pes_workspace_bytes(const struct pes_model_config *config, int B, bool training);

#endif
