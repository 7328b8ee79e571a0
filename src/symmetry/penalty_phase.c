/* penalty_phase.c - the share of a head's energy that sits in the sin terms of its rotary frequencies.
 *
 * M_t = (q_a - i q_b)(k_a + i k_b)^T for pair t, rows a = 2t, b = 2t + 1.
 *   ||Im M_t||^2 = |q_a|^2 |k_b|^2 + |q_b|^2 |k_a|^2 - 2 (q_a . q_b)(k_a . k_b)
 *   ||Re M_t||^2 + ||Im M_t||^2 = (|q_a|^2 + |q_b|^2)(|k_a|^2 + |k_b|^2) */
#include "pesweep/symmetry.h"

/* Squared norms and inner product of a pair of rows. */
struct pair {
    double aa, bb, ab;
};

static struct pair products(const real *a, const real *b, int C)
{
    struct pair sum = {0};
    for (int c = 0; c < C; c++) {
        sum.aa += (double)a[c] * (double)a[c];
        sum.bb += (double)b[c] * (double)b[c];
        sum.ab += (double)a[c] * (double)b[c];
    }
    return sum;
}

/* Gradient of ||Im M_t||^2 with respect to one side's rows, given the other side's products. */
static void add_gradient(const real *a, const real *b, struct pair other, double scale, int C, real *da,
                         real *db)
{
    for (int c = 0; c < C; c++) {
        double at_a = (double)a[c], at_b = (double)b[c];
        da[c] = (real)((double)da[c] + 2 * scale * (at_a * other.bb - at_b * other.ab));
        db[c] = (real)((double)db[c] + 2 * scale * (at_b * other.aa - at_a * other.ab));
    }
}

static double phase(int D, int C, const real *wq, const real *wk, double scale, real *dwq, real *dwk,
                    double *scratch)
{
    double imaginary = 0, energy = 0;
    int pairs = D / 2;
    struct pair *q = (struct pair *)(void *)scratch, *k = q + pairs;
    for (int t = 0; t < pairs; t++) {
        size_t row = 2 * (size_t)t * (size_t)C, next = row + (size_t)C;
        q[t] = products(wq + row, wq + next, C);
        k[t] = products(wk + row, wk + next, C);
        imaginary += q[t].aa * k[t].bb + q[t].bb * k[t].aa - 2 * q[t].ab * k[t].ab;
        energy += (q[t].aa + q[t].bb) * (k[t].aa + k[t].bb);
    }
    energy += PES_PENALTY_FLOOR;
    for (int t = 0; dwq && t < pairs; t++) {
        size_t row = 2 * (size_t)t * (size_t)C, next = row + (size_t)C;
        add_gradient(wq + row, wq + next, k[t], scale / energy, C, dwq + row, dwq + next);
        add_gradient(wk + row, wk + next, q[t], scale / energy, C, dwk + row, dwk + next);
    }
    return imaginary / energy;
}

const struct pes_penalty pes_penalty_phase = {
    .name = "phase",
    .summary = "sum_t ||Im M_t||^2 / sum_t (||Re M_t||^2 + ||Im M_t||^2): suppresses the sin terms",
    .source = "Li 2026, arXiv 2607.06621",
    .paired = true,
    .head = phase,
};
