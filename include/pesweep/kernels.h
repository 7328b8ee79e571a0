/* kernels.h - the arithmetic of training: matrix products with epilogues, fused attention, norms, losses,
 * AdamW.
 *
 * Letters as in model.h: B sequences, T positions, C width, H heads, D head width, N = B*T rows.  Matrices
 * are row-major; `ld` is the distance between rows in elements.  Every kernel is built for several
 * instruction sets (math/kernels_*.c) and chosen once at run time; math/reference.c holds a slow double
 * version of each, which the tests compare with.  Kernels allocate nothing, do no I/O and never call MPI.
 * Results are the same bits for a given instruction set, whatever the number of threads: threads divide
 * output elements only. */
#ifndef PESWEEP_KERNELS_H
#define PESWEEP_KERNELS_H

#include "pesweep/rng.h"

/* Instruction set in use: "avx512", "avx2" or "portable".  Chosen from the processor at the first call;
 * PESWEEP_ISA in the environment lowers it (for tests).  Stored with the results, since bits depend on it. */
const char *pes_kernels_isa(void);
enum pes_status pes_kernels_select(const char *isa); /* PES_INPUT if unknown or beyond this processor */
void pes_kernels_set_threads(int threads);           /* OpenMP threads inside kernels; default 1 */
int pes_kernels_threads(void);

enum pes_activation { PES_ACTIVATION_NONE, PES_ACTIVATION_RELU, PES_ACTIVATION_GELU };

/* Inverted dropout: an element is kept with probability 1 - rate and then scaled by 1/(1 - rate).  Masks are
 * never stored: forward and backward draw the same words again.  The mask is a function of (rng, row,
 * column), row = first_row + row of the call: with w[4] = Philox4x32-7 of key and counter as in rng.h, the
 * element being (row / 8) * 2^32 + column, and h = row % 8, the element is dropped if the low (h even) or
 * high (h odd) half of w[h / 2] is below round(rate * 2^16).  The scale is that of this rounded rate.  rate 0
 * = off.  Seven rounds are the fewest that pass BigCrush (Salmon et al. 2011); masks need no more, and they
 * are most of dropout's cost. */
struct pes_dropout {
    double rate; /* [0, 1) */
    struct pes_rng rng;
    uint64_t first_row; /* number of row 0 within the optimizer batch, so that micro-batches don't matter */
};

/* 0 where dropped, else the scale: the mapping above, one element at a time. */
double pes_dropout_factor(const struct pes_dropout *dropout, size_t row, size_t column);

/* What follows a product, in this order: + bias, save, activation, dropout, x slope, + residual. */
struct pes_epilogue {
    const real *bias; /* [n], or NULL */
    enum pes_activation activation;
    real *before; /* [m, n] value before the activation (ld as the output's), or NULL: saved for GELU */
    struct pes_dropout dropout;
    /* Backward through an activation: times activation'(.) at slope_of[m, n] (ld as the output's), which is
     * what pes_activation_backward takes as `saved`; NULL = no slope. */
    const real *slope_of;
    enum pes_activation slope;
    const real *residual; /* [m, n] (ld as the output's; may be the output itself), or NULL */
};

/* out[m, n] = epilogue(a[m, k] b[k, n]).  `epilogue` may be NULL. */
void pes_gemm_nn(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                 size_t n, size_t k, const struct pes_epilogue *epilogue);

/* out[m, n] += a[k, m]^T b[k, n]: weight gradients, dW[out, in] += dY[N, out]^T X[N, in]. */
void pes_gemm_tn_add(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                     size_t n, size_t k);

/* out[n, m] = in[m, n]^T: weights [out, in] become the b of pes_gemm_nn once per optimizer step. */
void pes_transpose(real *out, size_t ldo, const real *in, size_t ldi, size_t m, size_t n);

/* One (sequence, head) of attention.  scores(i, j) = scale * (R_i q_i) . (R'_j k_j) + bias(i, j) for visible
 * keys; probabilities = softmax over visible keys; o_i = sum_j dropout(p_ij) v_j. Visible: j <= i when
 * causal; mask[j] != 0 when there is a mask.  A query without a visible key gets o = 0 and no gradient.
 * Nothing of size T x T is stored. */
struct pes_attention {
    int T;
    int width, value_width; /* of q and k; of v and o */
    const real *q, *k, *v;  /* [T] rows, not rotated */
    size_t q_ld, k_ld, v_ld;
    double scale; /* 1/sqrt(width) as a rule */
    bool causal;
    const uint8_t *mask; /* [T], 1 = real token; NULL = all */
    /* Rotation of columns [rotated_first, rotated_first + 2 * pairs), pair t = two adjacent columns (x0, x1):
     * (c x0 - s x1, s x0 + c x1), {c, s} = table[position][t].  A scale may be in the table (xPos). */
    int pairs, rotated_first;
    const real *rotation_q, *rotation_k; /* [T][pairs][2]; NULL = none */
    /* Bias of query i and key j = bias[i + j * bias_key_stride].  Toeplitz: bias_key_stride = -1 and `bias`
     * at the middle of a table of 2T - 1.  Dense, [key][query]: stride >= T.  64 elements beyond either end
     * of what is addressed are readable.  NULL = none. */
    const real *bias;
    ptrdiff_t bias_key_stride;
    struct pes_dropout
        dropout; /* of the probabilities: row = key, column = query, first_row = (sequence * H + head) * T */
    /* Elements from q, k and v, and from o and d_o, to those of the next call: fetched meanwhile.  0 = none.
     */
    ptrdiff_t next, next_o;
};

/* Scratch a call needs, in elements, for the given sizes; one per thread, 64-byte aligned. */
size_t pes_attention_scratch(int T, int width, int value_width);

/* o[T] rows of value_width; log_sum_exp[T]: natural log of sum_j exp(score_ij), -inf for rows without keys.
 */
void pes_attention_forward(const struct pes_attention *attention, real *o, size_t o_ld, real *log_sum_exp,
                           real *scratch);

/* Given d_o: writes (not adds) dq, dk, dv with the same leading dimensions as q, k, v, and adds to dbias,
 * addressed as the bias, if it isn't NULL. */
void pes_attention_backward(const struct pes_attention *attention, const real *o, size_t o_ld,
                            const real *log_sum_exp, const real *d_o, size_t d_o_ld, real *dq, real *dk,
                            real *dv, real *dbias, real *scratch);

/* Raw scores and probabilities of one (sequence, head), for analysis: scores[T][T] (query, key) unmasked,
 * with the bias and rotation as above; probabilities[T][T], 0 where not visible.  Either may be NULL. */
void pes_attention_scores(const struct pes_attention *attention, real *scores, real *probabilities,
                          real *scratch);

/* y = (x - mean) * rstd * gain + bias over rows of C, eps 1e-5 inside the root.  mean, rstd [N] saved. */
void pes_layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *gain, const real *bias,
                           size_t N, size_t C);
/* dx += ...; dgain, dbias += ... */
void pes_layernorm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *x,
                            const real *mean, const real *rstd, const real *gain, size_t N, size_t C);

/* dx = dy * activation'(.), in place allowed.  saved: the output for ReLU, the value before for GELU. */
void pes_activation_backward(real *dx, const real *dy, const real *saved, enum pes_activation activation,
                             size_t count);

/* x[N, C] *= mask / (1 - rate), the mask of the same struct in an epilogue (columns from 0). */
void pes_dropout_apply(real *x, size_t N, size_t C, const struct pes_dropout *dropout);
/* The same from x to out; rate 0 copies. */
void pes_dropout_copy(real *out, const real *x, size_t N, size_t C, const struct pes_dropout *dropout);

/* db[n] += column sums of dy[m, n]. */
void pes_column_sum_add(real *db, const real *dy, size_t ld, size_t m, size_t n);

/* Softmax cross-entropy over rows [N, classes] of logits, labels[N] (-1 = ignored).  Adds to *loss_sum the
 * sum of -log p(label), to *count the labels, to *correct the rows whose largest logit (first on ties) is the
 * label. If dlogits isn't NULL (may be logits itself): dlogits = scale * (p - onehot), 0 for ignored rows.
 * row_loss[N], if not NULL, gets each row's loss (0 where ignored) and row_correct[N] 1/0. */
void pes_cross_entropy(double *loss_sum, int64_t *count, int64_t *correct, real *dlogits, const real *logits,
                       const int32_t *labels, size_t N, size_t classes, double scale, double *row_loss,
                       uint8_t *row_correct);

/* AdamW (Loshchilov & Hutter 2019) over n elements: p *= 1 - lr*decay first; then moments of g *
 * gradient_scale and p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps).  correction1 = 1 -
 * beta1^t and so on. */
struct pes_adamw {
    double lr, beta1, beta2, eps, decay, correction1, correction2, gradient_scale;
};
void pes_adamw_update(real *p, real *m, real *v, const real *g, size_t n, const struct pes_adamw *adamw);

/* Sum of squares in double, in an order that depends on n alone. */
double pes_sum_squares(const real *x, size_t n);

/* Eigenvalues of `lanes` upper Hessenberg matrices of order n in double, in no order: values[lanes][n][re,
 * im]. Entry (i, j) of matrix l stands at h[(i (n + 1) + j) lanes + l], 64-byte aligned; row n and column n
 * are zeros; all is overwritten.  Entries are finite and far from the ends of the range.  False if one of
 * them doesn't converge.  A matrix has the same eigenvalues, bit by bit, in any lane and whatever is beside
 * it. */
size_t pes_eigenvalue_lanes(void);
bool pes_hessenberg_eigenvalues(double *h, size_t n, double *values);

#endif
