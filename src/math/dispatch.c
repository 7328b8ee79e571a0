/* dispatch.c - picks the kernels of one instruction set at the first call, and passes every call on to them.
 */
#include "kernel_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The best first; the reference is for tests alone. */
static const struct pes_kernel_table *const tables[] = {
#if defined(__x86_64__)
    &pes_kernels_avx512, &pes_kernels_avx2,
#endif
    &pes_kernels_portable, &pes_kernels_reference};

static _Atomic(const struct pes_kernel_table *) active;
static atomic_int num_threads = 1;

static bool supported(const struct pes_kernel_table *table)
{
#if defined(__x86_64__)
    if (table == &pes_kernels_avx512) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && supported(&pes_kernels_avx2);
    }
    if (table == &pes_kernels_avx2) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi2");
    }
#endif
    return table != NULL;
}

static const struct pes_kernel_table *find(const char *isa)
{
    for (size_t i = 0; i < PES_COUNT(tables); i++) {
        if (!strcmp(tables[i]->isa, isa) && supported(tables[i])) return tables[i];
    }
    return NULL;
}

static const struct pes_kernel_table *kernels(void)
{
    const struct pes_kernel_table *table = atomic_load_explicit(&active, memory_order_acquire);
    if (table) return table;
    const char *wanted = getenv("PESWEEP_ISA");
    if (wanted) table = find(wanted);
    for (size_t i = 0; !table && i < PES_COUNT(tables); i++)
        table = find(tables[i]->isa);
    atomic_store_explicit(&active, table, memory_order_release);
    return table;
}

const char *pes_kernels_isa(void)
{
    return kernels()->isa;
}

enum pes_status pes_kernels_select(const char *isa)
{
    const struct pes_kernel_table *table = find(isa);
    if (!table) return pes_fail(PES_INPUT, "instruction set %s is unknown or beyond this processor", isa);
    atomic_store_explicit(&active, table, memory_order_release);
    return PES_OK;
}

void pes_kernels_set_threads(int threads)
{
    CHECK(threads >= 1);
    atomic_store_explicit(&num_threads, threads, memory_order_relaxed);
}

int pes_kernels_threads(void)
{
    return atomic_load_explicit(&num_threads, memory_order_relaxed);
}

size_t pes_attention_scratch(int T, int width, int value_width)
{
    size_t most = 0;
    for (size_t i = 0; i < PES_COUNT(tables); i++) {
        if (!supported(tables[i])) continue;
        size_t needed = tables[i]->attention_scratch(T, width, value_width);
        most = PES_MAX(most, needed);
    }
    return most;
}

void pes_gemm_nn(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                 size_t n, size_t k, const struct pes_epilogue *epilogue)
{
    kernels()->gemm_nn(out, ldo, a, lda, b, ldb, m, n, k, epilogue);
}

void pes_gemm_tn_add(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                     size_t n, size_t k)
{
    kernels()->gemm_tn_add(out, ldo, a, lda, b, ldb, m, n, k);
}

void pes_transpose(real *out, size_t ldo, const real *in, size_t ldi, size_t m, size_t n)
{
    kernels()->transpose(out, ldo, in, ldi, m, n);
}

void pes_attention_forward(const struct pes_attention *attention, real *o, size_t o_ld, real *log_sum_exp,
                           real *scratch)
{
    kernels()->attention_forward(attention, o, o_ld, log_sum_exp, scratch);
}

void pes_attention_backward(const struct pes_attention *attention, const real *o, size_t o_ld,
                            const real *log_sum_exp, const real *d_o, size_t d_o_ld, real *dq, real *dk,
                            real *dv, real *dbias, real *scratch)
{
    kernels()->attention_backward(attention, o, o_ld, log_sum_exp, d_o, d_o_ld, dq, dk, dv, dbias, scratch);
}

void pes_attention_scores(const struct pes_attention *attention, real *scores, real *probabilities,
                          real *scratch)
{
    kernels()->attention_scores(attention, scores, probabilities, scratch);
}

void pes_layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *gain, const real *bias,
                           size_t N, size_t C)
{
    kernels()->layernorm_forward(y, mean, rstd, x, gain, bias, N, C);
}

void pes_layernorm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *x,
                            const real *mean, const real *rstd, const real *gain, size_t N, size_t C)
{
    kernels()->layernorm_backward(dx, dgain, dbias, dy, x, mean, rstd, gain, N, C);
}

void pes_activation_backward(real *dx, const real *dy, const real *saved, enum pes_activation activation,
                             size_t count)
{
    kernels()->activation_backward(dx, dy, saved, activation, count);
}

void pes_dropout_apply(real *x, size_t N, size_t C, const struct pes_dropout *dropout)
{
    kernels()->dropout_copy(x, x, N, C, dropout);
}

void pes_dropout_copy(real *out, const real *x, size_t N, size_t C, const struct pes_dropout *dropout)
{
    kernels()->dropout_copy(out, x, N, C, dropout);
}

void pes_column_sum_add(real *db, const real *dy, size_t ld, size_t m, size_t n)
{
    kernels()->column_sum_add(db, dy, ld, m, n);
}

void pes_cross_entropy(double *loss_sum, int64_t *count, int64_t *correct, real *dlogits, const real *logits,
                       const int32_t *labels, size_t N, size_t classes, double scale, double *row_loss,
                       uint8_t *row_correct)
{
    kernels()->cross_entropy(loss_sum, count, correct, dlogits, logits, labels, N, classes, scale, row_loss,
                             row_correct);
}

void pes_adamw_update(real *p, real *m, real *v, const real *g, size_t n, const struct pes_adamw *adamw)
{
    kernels()->adamw_update(p, m, v, g, n, adamw);
}

double pes_sum_squares(const real *x, size_t n)
{
    return kernels()->sum_squares(x, n);
}

size_t pes_eigenvalue_lanes(void)
{
    return kernels()->eigenvalue_lanes;
}

bool pes_hessenberg_eigenvalues(double *h, size_t n, double *values)
{
    return kernels()->hessenberg_eigenvalues(h, n, values);
}
