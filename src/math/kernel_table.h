/* kernel_table.h - the kernels of one instruction set.  One constant table per build of the kernel text, and
 * one for the slow reference; members have the signatures and meanings of kernels.h. */
#ifndef PESWEEP_MATH_KERNEL_TABLE_H
#define PESWEEP_MATH_KERNEL_TABLE_H

#include "pesweep/kernels.h"

struct pes_kernel_table {
    const char *isa;
    void (*gemm_nn)(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                    size_t n, size_t k, const struct pes_epilogue *epilogue);
    void (*gemm_tn_add)(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                        size_t n, size_t k);
    void (*transpose)(real *out, size_t ldo, const real *in, size_t ldi, size_t m, size_t n);
    size_t (*attention_scratch)(int T, int width, int value_width);
    void (*attention_forward)(const struct pes_attention *attention, real *o, size_t o_ld, real *log_sum_exp,
                              real *scratch);
    void (*attention_backward)(const struct pes_attention *attention, const real *o, size_t o_ld,
                               const real *log_sum_exp, const real *d_o, size_t d_o_ld, real *dq, real *dk,
                               real *dv, real *dbias, real *scratch);
    void (*attention_scores)(const struct pes_attention *attention, real *scores, real *probabilities,
                             real *scratch);
    void (*layernorm_forward)(real *y, real *mean, real *rstd, const real *x, const real *gain,
                              const real *bias, size_t N, size_t C);
    void (*layernorm_backward)(real *dx, real *dgain, real *dbias, const real *dy, const real *x,
                               const real *mean, const real *rstd, const real *gain, size_t N, size_t C);
    void (*activation_backward)(real *dx, const real *dy, const real *saved, enum pes_activation activation,
                                size_t count);
    void (*dropout_copy)(real *out, const real *x, size_t N, size_t C, const struct pes_dropout *dropout);
    void (*column_sum_add)(real *db, const real *dy, size_t ld, size_t m, size_t n);
    void (*cross_entropy)(double *loss_sum, int64_t *count, int64_t *correct, real *dlogits,
                          const real *logits, const int32_t *labels, size_t N, size_t classes, double scale,
                          double *row_loss, uint8_t *row_correct);
    void (*adamw_update)(real *p, real *m, real *v, const real *g, size_t n, const struct pes_adamw *adamw);
    double (*sum_squares)(const real *x, size_t n);
    size_t eigenvalue_lanes;
    bool (*hessenberg_eigenvalues)(double *h, size_t n, double *values);
};

extern const struct pes_kernel_table pes_kernels_reference, pes_kernels_portable;
#if defined(__x86_64__)
extern const struct pes_kernel_table pes_kernels_avx2, pes_kernels_avx512;
#endif

#endif
