/* reference.c - each kernel as its formula, slowly and in double: what the tests compare the fast ones with.
 *
 * Attention stands in reference_attention.c.  Invariant: sums are double sums in index order. */
#include "kernel_table.h"
#include "pesweep/arena.h"
#include "reference.h"

#include <lapacke.h>
#include <math.h>

/* Bits of a half-word below which an element is dropped. */
static uint32_t dropped_below(double rate)
{
    return (uint32_t)lrint(rate * 65536.0);
}

double pes_dropout_factor(const struct pes_dropout *dropout, size_t row, size_t column)
{
    uint32_t threshold = dropped_below(dropout->rate);
    if (threshold == 0) return 1.0;
    uint64_t global_row = dropout->first_row + row;
    uint32_t words[4];
    pes_rng_words_of_rounds(&dropout->rng, 7, (uint32_t)column | global_row / 8 << 32, words);
    uint32_t half = global_row % 8;
    uint32_t bits = words[half / 2] >> (half % 2 * 16) & 0xffff;
    return bits < threshold ? 0.0 : 65536.0 / (65536.0 - threshold);
}

static double activate(double x, enum pes_activation activation)
{
    switch (activation) {
    case PES_ACTIVATION_RELU:
        return x > 0.0 || isnan(x) ? x : 0.0;
    case PES_ACTIVATION_GELU:
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    case PES_ACTIVATION_NONE:
        break;
    }
    return x;
}

/* GELU' = Phi(x) + x phi(x). */
static double activation_slope(double x, enum pes_activation activation)
{
    switch (activation) {
    case PES_ACTIVATION_RELU:
        return x > 0.0 ? 1.0 : 0.0;
    case PES_ACTIVATION_GELU:
        return 0.5 * erfc(-x * 0.70710678118654752440) + x * exp(-0.5 * x * x) * 0.39894228040143267794;
    case PES_ACTIVATION_NONE:
        break;
    }
    return 1.0;
}

static void gemm_nn(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                    size_t n, size_t k, const struct pes_epilogue *epilogue)
{
    static const struct pes_epilogue plain;
    const struct pes_epilogue *e = epilogue ? epilogue : &plain;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t l = 0; l < k; l++)
                sum += (double)a[i * lda + l] * (double)b[l * ldb + j];
            if (e->bias) sum += (double)e->bias[j];
            if (e->before) e->before[i * ldo + j] = (real)sum;
            sum = activate(sum, e->activation) * pes_dropout_factor(&e->dropout, i, j);
            if (e->slope_of) sum *= activation_slope((double)e->slope_of[i * ldo + j], e->slope);
            if (e->residual) sum += (double)e->residual[i * ldo + j];
            out[i * ldo + j] = (real)sum;
        }
    }
}

static void gemm_tn_add(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                        size_t n, size_t k)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t l = 0; l < k; l++)
                sum += (double)a[l * lda + i] * (double)b[l * ldb + j];
            out[i * ldo + j] = (real)((double)out[i * ldo + j] + sum);
        }
    }
}

static void transpose(real *out, size_t ldo, const real *in, size_t ldi, size_t m, size_t n)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++)
            out[j * ldo + i] = in[i * ldi + j];
    }
}

static void layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *gain,
                              const real *bias, size_t N, size_t C)
{
    for (size_t i = 0; i < N; i++) {
        double sum = 0.0, squares = 0.0;
        for (size_t j = 0; j < C; j++)
            sum += (double)x[i * C + j];
        double centre = sum / (double)C;
        for (size_t j = 0; j < C; j++)
            squares += pow((double)x[i * C + j] - centre, 2.0);
        double inverse = 1.0 / sqrt(squares / (double)C + 1e-5);
        for (size_t j = 0; j < C; j++) {
            y[i * C + j] =
                (real)(((double)x[i * C + j] - centre) * inverse * (double)gain[j] + (double)bias[j]);
        }
        mean[i] = (real)centre;
        rstd[i] = (real)inverse;
    }
}

/* With z = (x - mean) rstd and g = dy gain: dx = rstd (g - mean(g) - z mean(g z)). */
static void layernorm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *x,
                               const real *mean, const real *rstd, const real *gain, size_t N, size_t C)
{
    for (size_t i = 0; i < N; i++) {
        double mean_g = 0.0, mean_gz = 0.0;
        for (size_t j = 0; j < C; j++) {
            double z = ((double)x[i * C + j] - (double)mean[i]) * (double)rstd[i];
            double g = (double)dy[i * C + j] * (double)gain[j];
            mean_g += g / (double)C;
            mean_gz += g * z / (double)C;
        }
        for (size_t j = 0; j < C; j++) {
            double z = ((double)x[i * C + j] - (double)mean[i]) * (double)rstd[i];
            double g = (double)dy[i * C + j] * (double)gain[j];
            dx[i * C + j] = (real)((double)dx[i * C + j] + (double)rstd[i] * (g - mean_g - z * mean_gz));
        }
    }
    for (size_t j = 0; j < C; j++) {
        double sum = 0.0, sum_z = 0.0;
        for (size_t i = 0; i < N; i++) {
            sum += (double)dy[i * C + j];
            sum_z += (double)dy[i * C + j] * ((double)x[i * C + j] - (double)mean[i]) * (double)rstd[i];
        }
        dbias[j] = (real)((double)dbias[j] + sum);
        dgain[j] = (real)((double)dgain[j] + sum_z);
    }
}

static void activation_backward(real *dx, const real *dy, const real *saved, enum pes_activation activation,
                                size_t count)
{
    for (size_t i = 0; i < count; i++)
        dx[i] = (real)((double)dy[i] * activation_slope((double)saved[i], activation));
}

static void dropout_copy(real *out, const real *x, size_t N, size_t C, const struct pes_dropout *dropout)
{
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < C; j++) {
            out[i * C + j] = (real)((double)x[i * C + j] * pes_dropout_factor(dropout, i, j));
        }
    }
}

static void column_sum_add(real *db, const real *dy, size_t ld, size_t m, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < m; i++)
            sum += (double)dy[i * ld + j];
        db[j] = (real)((double)db[j] + sum);
    }
}

static void cross_entropy(double *loss_sum, int64_t *count, int64_t *correct, real *dlogits,
                          const real *logits, const int32_t *labels, size_t N, size_t classes, double scale,
                          double *row_loss, uint8_t *row_correct)
{
    for (size_t i = 0; i < N; i++) {
        const real *row = logits + i * classes;
        size_t largest = 0;
        for (size_t j = 1; j < classes; j++) {
            if (row[j] > row[largest]) largest = j;
        }
        double top = (double)row[largest], sum = 0.0, loss = 0.0;
        bool labelled = labels[i] >= 0, right = labelled && (size_t)labels[i] == largest;
        for (size_t j = 0; j < classes; j++)
            sum += exp((double)row[j] - top);
        if (labelled) {
            loss = log(sum) - ((double)row[labels[i]] - top);
            *loss_sum += loss;
            *count += 1;
            *correct += right;
        }
        if (row_loss) row_loss[i] = loss;
        if (row_correct) row_correct[i] = right;
        if (!dlogits) continue;
        for (size_t j = 0; j < classes; j++) {
            double p = exp((double)row[j] - top) / sum,
                   onehot = labelled && (size_t)labels[i] == j ? 1.0 : 0.0;
            dlogits[i * classes + j] = labelled ? (real)(scale * (p - onehot)) : 0;
        }
    }
}

static void adamw_update(real *p, real *m, real *v, const real *g, size_t n, const struct pes_adamw *w)
{
    for (size_t i = 0; i < n; i++) {
        double gradient = (double)g[i] * w->gradient_scale;
        double first = w->beta1 * (double)m[i] + (1.0 - w->beta1) * gradient;
        double second = w->beta2 * (double)v[i] + (1.0 - w->beta2) * gradient * gradient;
        double step = w->lr * (first / w->correction1) / (sqrt(second / w->correction2) + w->eps);
        m[i] = (real)first;
        v[i] = (real)second;
        p[i] = (real)((double)p[i] * (1.0 - w->lr * w->decay) - step);
    }
}

static double sum_squares(const real *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

/* One matrix through LAPACK. */
static bool hessenberg_eigenvalues(double *h, size_t n, double *values)
{
    lapack_int size = (lapack_int)n;
    double *memory = pes_allocate(n * n + 13 * n, sizeof *memory), unused = 0;
    if (!memory) return false;
    double *re = memory + n * n, *im = re + n, *work = im + n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            memory[j * n + i] = h[i * (n + 1) + j];
    bool ok = LAPACKE_dhseqr_work(LAPACK_COL_MAJOR, 'E', 'N', size, 1, size, memory, size, re, im, &unused, 1,
                                  work, 11 * size) == 0;
    for (size_t i = 0; i < n; i++) {
        values[2 * i] = re[i];
        values[2 * i + 1] = im[i];
    }
    pes_free(memory);
    return ok;
}

const struct pes_kernel_table pes_kernels_reference = {
    .isa = "reference",
    .gemm_nn = gemm_nn,
    .gemm_tn_add = gemm_tn_add,
    .transpose = transpose,
    .attention_scratch = pes_reference_attention_scratch,
    .attention_forward = pes_reference_attention_forward,
    .attention_backward = pes_reference_attention_backward,
    .attention_scores = pes_reference_attention_scores,
    .layernorm_forward = layernorm_forward,
    .layernorm_backward = layernorm_backward,
    .activation_backward = activation_backward,
    .dropout_copy = dropout_copy,
    .column_sum_add = column_sum_add,
    .cross_entropy = cross_entropy,
    .adamw_update = adamw_update,
    .sum_squares = sum_squares,
    .eigenvalue_lanes = 1,
    .hessenberg_eigenvalues = hessenberg_eigenvalues,
};
