/* penalty_symmetry.c - how far a head's M is from symmetric, or from antisymmetric.
 *
 * M = W_q^T W_k = S + A.  With P = W_k W_q^T, G_q = W_q W_q^T, G_k = W_k W_k^T (all D x D):
 *   ||M||^2 = sum G_q o G_k,  tr(M M) = sum P o P^T,  ||A||^2, ||S||^2 = (||M||^2 -+ tr(M M)) / 2.
 * Gradient of ||A||^2 (upper sign) and ||S||^2 (lower), never forming the C x C matrix:
 *   dW_q = G_k W_q -+ P W_k,   dW_k = G_q W_k -+ P^T W_q. */
#include "pesweep/linalg.h"
#include "pesweep/symmetry.h"

#include <math.h>

size_t pes_penalty_scratch(int D, int C)
{
    return (size_t)D * (size_t)(3 * D + 3 * C);
}

/* d[D, C] += scale * (gram own + sign * product other), by way of `sum` [D, C]. */
static void add_gradient(size_t D, size_t C, const double *gram, const double *own, double sign,
                         bool transposed, const double *product, const double *other, double scale,
                         double *sum, real *d)
{
    pes_dgemm(false, false, D, C, D, scale, gram, D, own, C, 0, sum, C);
    pes_dgemm(transposed, false, D, C, D, scale * sign, product, D, other, C, 1, sum, C);
    for (size_t i = 0; i < D * C; i++)
        d[i] = (real)((double)d[i] + sum[i]);
}

/* sign +1: ||S||^2 / ||M||^2; -1: ||A||^2 / ||M||^2. */
static double ratio(double sign, int width, int columns, const real *wq, const real *wk, double scale,
                    real *dwq, real *dwk, double *scratch)
{
    size_t D = (size_t)width, C = (size_t)columns;
    double *q = scratch, *k = q + D * C, *sum = k + D * C;
    double *gram_q = sum + D * C, *gram_k = gram_q + D * D, *product = gram_k + D * D;
    for (size_t i = 0; i < D * C; i++) {
        q[i] = (double)wq[i];
        k[i] = (double)wk[i];
    }
    pes_dgemm(false, true, D, D, C, 1, q, C, q, C, 0, gram_q, D);
    pes_dgemm(false, true, D, D, C, 1, k, C, k, C, 0, gram_k, D);
    pes_dgemm(false, true, D, D, C, 1, k, C, q, C, 0, product, D);
    double norm = 0, trace = 0;
    for (size_t a = 0; a < D; a++)
        for (size_t b = 0; b < D; b++) {
            norm += gram_q[a * D + b] * gram_k[a * D + b];
            trace += product[a * D + b] * product[b * D + a];
        }
    double part = fmax(norm + sign * trace, 0) / 2;
    norm += PES_PENALTY_FLOOR;
    if (dwq) {
        add_gradient(D, C, gram_k, q, sign, false, product, k, scale / norm, sum, dwq);
        add_gradient(D, C, gram_q, k, sign, true, product, q, scale / norm, sum, dwk);
    }
    return part / norm;
}

static double symmetry(int D, int C, const real *wq, const real *wk, double scale, real *dwq, real *dwk,
                       double *scratch)
{
    return ratio(-1, D, C, wq, wk, scale, dwq, dwk, scratch);
}

static double antisymmetry(int D, int C, const real *wq, const real *wk, double scale, real *dwq, real *dwk,
                           double *scratch)
{
    return ratio(1, D, C, wq, wk, scale, dwq, dwk, scratch);
}

const struct pes_penalty pes_penalty_symmetry = {
    .name = "symmetry",
    .summary = "||A||^2 / ||M||^2: pulls M towards a symmetric matrix",
    .source = "Li 2026, arXiv 2607.06621",
    .head = symmetry,
};

const struct pes_penalty pes_penalty_antisymmetry = {
    .name = "antisymmetry",
    .summary = "||S||^2 / ||M||^2: pulls M towards an antisymmetric matrix",
    .source = "the counterpart of the symmetry penalty of Li 2026, arXiv 2607.06621",
    .head = antisymmetry,
};
