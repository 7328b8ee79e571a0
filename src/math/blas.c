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

/* Sums `term` over i in eight parts, so that an addition needn't wait for the last one; the order is fixed.
 */
enum { LANES = 8 };
#define SUM(count, term, sum)                                                                                \
    do {                                                                                                     \
        double part[LANES] = {0};                                                                            \
        size_t whole = (count) / LANES * LANES;                                                              \
        for (size_t first = 0; first < whole; first += LANES)                                                \
            for (size_t lane = 0, i = first; lane < LANES; lane++, i++)                                      \
                part[lane] += (term);                                                                        \
        for (size_t i = whole; i < (count); i++)                                                             \
            part[i - whole] += (term);                                                                       \
        (sum) = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));   \
    } while (0)

bool pes_all_finite(size_t count, const double *x)
{
    /* x - x is 0 for finite x and NaN else; one sum keeps the loop free of branches. */
    double sum;
    SUM(count, x[i] - x[i], sum);
    return sum == 0;
}

double pes_dot(size_t count, const double *x, const double *y)
{
    double sum;
    SUM(count, x[i] * y[i], sum);
    return sum;
}

double pes_distance(size_t count, const double *x, const double *y, double factor)
{
    double sum;
    SUM(count, (x[i] - factor * y[i]) * (x[i] - factor * y[i]), sum);
    return sqrt(sum);
}

double pes_largest(size_t count, const double *x)
{
    double part[LANES] = {0};
    size_t whole = count / LANES * LANES;
    for (size_t first = 0; first < whole; first += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            part[lane] = fabs(x[first + lane]) > part[lane] ? fabs(x[first + lane]) : part[lane];
    for (size_t i = whole; i < count; i++)
        part[0] = fabs(x[i]) > part[0] ? fabs(x[i]) : part[0];
    for (size_t lane = 1; lane < LANES; lane++)
        part[0] = part[lane] > part[0] ? part[lane] : part[0];
    return part[0];
}

void pes_scale_exponent(size_t count, double *x, int exponent)
{
    if (abs(exponent) < 1000) {
        double factor = scalbn(1, exponent);
        for (size_t i = 0; i < count; i++)
            x[i] *= factor;
    } else { /* the factor itself would leave the range of double */
        for (size_t i = 0; i < count; i++)
            x[i] = scalbn(x[i], exponent);
    }
}

double pes_norm(size_t count, const double *x)
{
    double largest = pes_largest(count, x), sum;
    if (largest == 0 || !isfinite(largest)) return largest;
    int exponent = ilogb(largest);
    if (abs(exponent) < 400) return sqrt(pes_dot(count, x, x));
    SUM(count, scalbn(x[i], -exponent) * scalbn(x[i], -exponent), sum);
    return scalbn(sqrt(sum), exponent);
}
