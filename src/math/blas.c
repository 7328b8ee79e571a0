/* blas.c - matrix products in double, and what is known of the BLAS in use. */
#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pesweep/linalg.h"

void pes_blas_set_threads(int threads)
{
    CHECK(threads >= 1);
    openblas_set_num_threads(threads);
}

const char *pes_blas_config(void)
{
    static char text[256];
    static const char *const threading[] = {"sequential", "pthreads", "OpenMP"};
    int parallel = openblas_get_parallel();
    snprintf(text, sizeof text, "%s (%s)", openblas_get_config(),
             parallel >= 0 && parallel < (int)PES_COUNT(threading) ? threading[parallel]
                                                                   : "unknown threading");
    return text;
}

const char *pes_blas_core(void)
{
    return openblas_get_corename();
}

static int blas_int(size_t n)
{
    CHECK(n <= INT_MAX);
    return (int)n;
}

void pes_dgemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, double alpha, const double *a,
               size_t lda, const double *b, size_t ldb, double beta, double *out, size_t ldo)
{
    if (!m || !n) return;
    cblas_dgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans, trans_b ? CblasTrans : CblasNoTrans,
                blas_int(m), blas_int(n), blas_int(k), alpha, a, blas_int(lda), b, blas_int(ldb), beta, out,
                blas_int(ldo));
}

bool pes_all_finite(size_t count, const double *x)
{
    /* x - x is 0 for finite x and NaN else; one sum keeps the loop free of branches. */
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] - x[i];
    return sum == 0;
}

double pes_dot(size_t count, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

double pes_norm(size_t count, const double *x)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(x[i]));
    if (largest == 0 || !isfinite(largest)) return largest;
    int exponent = ilogb(largest);
    if (abs(exponent) < 400) return sqrt(pes_dot(count, x, x));
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double scaled = scalbn(x[i], -exponent);
        sum += scaled * scaled;
    }
    return scalbn(sqrt(sum), exponent);
}
