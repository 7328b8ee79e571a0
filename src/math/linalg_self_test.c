/* linalg_self_test.c - is this BLAS right on this machine?  Detection of new processors has gone wrong
 * before, and a kernel that computes wrongly would spoil every result silently.
 *
 * Sizes straddle the blocks of the library's kernels.  Every answer is known beforehand. */
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdio.h>

#include "pesweep/linalg.h"

enum { N = 97 };

/* Small whole numbers without a pattern that a wrong stride would repeat. */
static double entry(size_t i, size_t j)
{
    return (double)((i * i * 7 + j * j * 13 + i * j * 5 + 3 * i) % 17) - 8;
}

static void fill(double *a)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            a[i * N + j] = entry(i, j);
}

/* All products and sums are whole numbers below 2^53: the result has to be exact. */
static double product_error(double *a, double *out)
{
    double largest = 0;
    for (int trans = 0; trans < 4; trans++) {
        bool ta = trans & 1, tb = trans & 2;
        pes_dgemm(ta, tb, N, N, N, 1, a, N, a, N, 0, out, N);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t k = 0; k < N; k++)
                    sum += (ta ? a[k * N + i] : a[i * N + k]) * (tb ? a[j * N + k] : a[k * N + j]);
                largest = fmax(largest, fabs(out[i * N + j] - sum));
            }
    }
    return largest;
}

/* (a + 100 I) x = b with x = 1, 2, ..., N. */
static double solve_error(double *a, double *b)
{
    lapack_int pivots[N];
    for (size_t i = 0; i < N; i++)
        a[i * N + i] += 100;
    for (size_t i = 0; i < N; i++) {
        b[i] = 0;
        for (size_t j = 0; j < N; j++)
            b[i] += a[i * N + j] * (double)(j + 1);
    }
    /* LAPACK sees the transpose, so it solves with the transpose of that. */
    if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, N, N, a, N, pivots) ||
        LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'T', N, 1, a, N, pivots, b, N))
        return INFINITY;
    double largest = 0;
    for (size_t i = 0; i < N; i++)
        largest = fmax(largest, fabs(b[i] - (double)(i + 1)) / N);
    return largest;
}

/* The cyclic shift has the N-th roots of unity, and all singular values 1. */
static double shift_error(double *a, double *values, struct pes_arena *arena)
{
    double off_norm = 0, largest = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            a[i * N + j] = j == (i + 1) % N;
    if (!pes_schur(N, a, values, &off_norm, NULL, arena)) return INFINITY;
    for (size_t k = 0; k < N; k++) {
        double angle = 2 * acos(-1) * (double)k / N, nearest = INFINITY;
        for (size_t i = 0; i < N; i++)
            nearest = fmin(nearest, hypot(values[2 * i] - cos(angle), values[2 * i + 1] - sin(angle)));
        largest = fmax(largest, nearest);
    }
    if (!pes_singular_values(N, N, a, values, NULL, NULL, arena)) return INFINITY;
    for (size_t i = 0; i < N; i++)
        largest = fmax(largest, fabs(values[i] - 1));
    return fmax(largest, off_norm);
}

/* Second differences: 2 - 2 cos(k pi / (N + 1)). */
static double symmetric_error(double *a, double *values, struct pes_arena *arena)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            a[i * N + j] = i == j ? 2 : i + 1 == j || j + 1 == i ? -1 : 0;
    if (!pes_symmetric_eigenvalues(N, a, values, arena)) return INFINITY;
    double largest = 0;
    for (size_t k = 0; k < N; k++)
        largest = fmax(largest, fabs(values[k] - (2 - 2 * cos((double)(k + 1) * acos(-1) / (N + 1)))));
    return largest;
}

/* a = q r. */
static double qr_error(const double *a, double *q, double *r, double *out, struct pes_arena *arena)
{
    if (!pes_qr(N, N, a, q, r, arena)) return INFINITY;
    pes_dgemm(false, false, N, N, N, 1, q, N, r, N, 0, out, N);
    double largest = 0;
    for (size_t i = 0; i < (size_t)N * N; i++)
        largest = fmax(largest, fabs(out[i] - a[i]) / 100);
    return largest;
}

enum pes_status pes_linalg_self_test(void)
{
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    double *x[4] = {NULL};
    enum pes_status status = PES_OK;
    for (size_t i = 0; i < PES_COUNT(x) && !status; i++)
        if (!(x[i] = pes_arena_take(arena, (size_t)N * N, sizeof(double)))) status = PES_MEMORY;
    if (!status) {
        fill(x[0]);
        double product = product_error(x[0], x[1]);
        double factors = qr_error(x[0], x[1], x[2], x[3], arena);
        double solve = solve_error(x[0], x[1]);
        double general = shift_error(x[0], x[1], arena);
        double symmetric = symmetric_error(x[0], x[1], arena);
        double most = N * 100 * DBL_EPSILON;
        /* Written so that NaN fails too. */
        if (!(product == 0 && factors <= most && solve <= most && general <= most && symmetric <= most))
            status = pes_fail(
                PES_INTERNAL,
                "the linear algebra library computes wrongly here (%s, core %s): error of products %g, "
                "QR %g, solves %g, eigenvalues %g, symmetric eigenvalues %g; try OPENBLAS_CORETYPE=Haswell",
                pes_blas_config(), pes_blas_core(), product, factors, solve, general, symmetric);
    }
    pes_arena_destroy(arena);
    return status;
}
