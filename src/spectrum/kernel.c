/* kernel.c - what a positional scheme puts into the scores before any content: T x T, nearly or exactly
 * Toeplitz. */
#include <math.h>
#include <stdlib.h>

#include "pesweep/spectrum.h"

/* Extremes of the symbol a_0 + 2 sum_k a_k cos(k theta) of the symmetric Toeplitz matrix with diagonals a:
 * the least and the largest over a fine grid, then by golden section around each.  The eigenvalues lie
 * between them. */
static double symbol(int T, const double *a, double theta)
{
    /* Clenshaw's recurrence. */
    double twice = 2 * cos(theta), next = 0, after = 0;
    for (int k = T - 1; k >= 1; k--) {
        double here = 2 * a[k] + twice * next - after;
        after = next;
        next = here;
    }
    return a[0] + twice / 2 * next - after;
}

static double refine(int T, const double *a, double low, double high, double sign)
{
    const double golden = (sqrt(5) - 1) / 2;
    double x = high - golden * (high - low), y = low + golden * (high - low);
    double at_x = sign * symbol(T, a, x), at_y = sign * symbol(T, a, y);
    while (high - low > 1e-9) {
        if (at_x > at_y) {
            high = y, y = x, at_y = at_x;
            x = high - golden * (high - low);
            at_x = sign * symbol(T, a, x);
        } else {
            low = x, x = y, at_x = at_y;
            y = low + golden * (high - low);
            at_y = sign * symbol(T, a, y);
        }
    }
    return sign * fmax(at_x, at_y);
}

static void symbol_range(int T, const double *a, double *min, double *max)
{
    /* A trigonometric polynomial of degree T - 1 has at most T - 1 extremes in (0, pi): 8 points each. */
    int points = 8 * T, lowest = 0, highest = 0;
    double step = acos(-1) / points;
    *min = INFINITY;
    *max = -INFINITY;
    for (int i = 0; i <= points; i++) {
        double value = symbol(T, a, i * step);
        if (value < *min) *min = value, lowest = i;
        if (value > *max) *max = value, highest = i;
    }
    *min = fmin(*min, refine(T, a, fmax(lowest - 1, 0) * step, fmin(lowest + 1, points) * step, -1));
    *max = fmax(*max, refine(T, a, fmax(highest - 1, 0) * step, fmin(highest + 1, points) * step, 1));
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The angles are those at which a tridiagonal Toeplitz matrix has exactly its symbol's values. */
static double szego_distance(int T, const double *a, const struct pes_kernel *kernel, double *sampled)
{
    double sum = 0;
    for (int k = 0; k < T; k++)
        sampled[k] = symbol(T, a, acos(-1) * (k + 1) / (T + 1));
    qsort(sampled, (size_t)T, sizeof *sampled, ascending);
    for (int k = 0; k < T; k++)
        sum += fabs(kernel->eigenvalues[k] - sampled[k]);
    double range = kernel->symbol_max - kernel->symbol_min;
    return range > 0 ? sum / T / range : NAN;
}

enum pes_status pes_spectrum_kernel(int T, const double *kernel, struct pes_arena *arena,
                                    struct pes_kernel *out)
{
    size_t t = (size_t)T;
    struct pes_toeplitz toeplitz;
    TRY(pes_spectrum_toeplitz(T, kernel, false, arena, &toeplitz));
    double *values = pes_arena_take(arena, t, sizeof *values);
    if (!values) return PES_MEMORY;
    *out = (struct pes_kernel){toeplitz.diagonals, toeplitz.fraction, values, NAN, NAN, NAN, NAN, NAN};
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *symmetric = pes_arena_take(arena, t * t, sizeof *symmetric);
    double *a = pes_arena_take(arena, 2 * t, sizeof *a);
    if (!symmetric || !a) return PES_MEMORY;
    for (size_t i = 0; i < t; i++)
        for (size_t j = i; j < t; j++)
            symmetric[i * t + j] = (kernel[i * t + j] + kernel[j * t + i]) / 2;
    if (pes_symmetric_eigenvalues(t, symmetric, values, arena)) {
        out->eigenvalue_min = values[0];
        out->eigenvalue_max = values[t - 1];
        for (size_t k = 0; k < t; k++)
            a[k] = (out->diagonals[t - 1 + k] + out->diagonals[t - 1 - k]) / 2;
        symbol_range(T, a, &out->symbol_min, &out->symbol_max);
        out->szego_distance = szego_distance(T, a, out, a + t);
    } else {
        TRY(pes_linalg_status());
        for (size_t i = 0; i < t; i++)
            values[i] = NAN;
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}
