/* scores.c - measures of T x T score matrices. */
#include <math.h>

#include "pesweep/spectrum.h"

/* Means along the diagonals of the visible entries, and the share of their squares that the means keep. */
static double average_diagonals(int T, const double *scores, bool causal, double *diagonals)
{
    double kept = 0, all = 0;
    for (int offset = 1 - T; offset < T; offset++) {
        int first = PES_MAX(0, -offset), end = T - PES_MAX(0, offset);
        double sum = 0, squares = 0, *mean = &diagonals[offset + T - 1];
        *mean = NAN;
        if (causal && offset > 0) continue;
        for (int i = first; i < end; i++) {
            double x = scores[(ptrdiff_t)i * T + i + offset];
            sum += x;
            squares += x * x;
        }
        *mean = sum / (end - first);
        kept += sum * *mean;
        all += squares;
    }
    return all > 0 ? kept / all : NAN;
}

enum pes_status pes_spectrum_toeplitz(int T, const double *mean_scores, bool causal, struct pes_arena *arena,
                                      struct pes_toeplitz *out)
{
    size_t t = (size_t)T;
    out->diagonals = pes_arena_take(arena, 2 * t - 1, sizeof *out->diagonals);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *centred = pes_arena_take(arena, t * t, sizeof *centred);
    double *unused = pes_arena_take(arena, 2 * t - 1, sizeof *unused);
    if (!out->diagonals || !centred || !unused) return PES_MEMORY;
    for (size_t i = 0; i < t; i++) {
        size_t visible = causal ? i + 1 : t;
        double sum = 0;
        for (size_t j = 0; j < visible; j++)
            sum += mean_scores[i * t + j];
        for (size_t j = 0; j < visible; j++)
            centred[i * t + j] = mean_scores[i * t + j] - sum / (double)visible;
    }
    out->fraction = average_diagonals(T, mean_scores, causal, out->diagonals);
    out->fraction_centred = average_diagonals(T, centred, causal, unused);
    pes_arena_rewind(arena, mark);
    return PES_OK;
}

void pes_spectrum_relative_kernel(int T, const double *mean_scores, double kernel[PES_KERNEL_OFFSETS])
{
    for (int k = 0; k < PES_KERNEL_OFFSETS; k++) {
        int back = PES_KERNEL_OFFSETS - 1 - k;
        double sum = 0;
        for (int i = back; i < T; i++)
            sum += mean_scores[(ptrdiff_t)i * T + i - back];
        kernel[k] = back < T ? sum / (T - back) : NAN;
    }
}

/* Eigenvalues, ascending, of the symmetric part of scores - row means. */
static bool centred_eigenvalues(size_t t, const double *scores, double *values, struct pes_arena *arena)
{
    double *symmetric = pes_linalg_take(arena, t * t), *means = symmetric ? pes_linalg_take(arena, t) : NULL;
    if (!means) return false;
    for (size_t i = 0; i < t; i++) {
        for (size_t j = 0; j < t; j++)
            means[i] += scores[i * t + j];
        means[i] /= (double)t;
    }
    for (size_t i = 0; i < t; i++)
        for (size_t j = i; j < t; j++)
            symmetric[i * t + j] = (scores[i * t + j] - means[i] + scores[j * t + i] - means[j]) / 2;
    return pes_symmetric_eigenvalues(t, symmetric, values, arena);
}

double pes_spectrum_spread(int T, const real *scores, struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    size_t t = (size_t)T;
    double *wide = pes_linalg_take(arena, t * t), *values = wide ? pes_linalg_take(arena, t) : NULL;
    double spread = NAN;
    for (size_t i = 0; values && i < t * t; i++)
        wide[i] = (double)scores[i];
    if (values && centred_eigenvalues(t, wide, values, arena)) spread = values[t - 1] - values[0];
    pes_arena_rewind(arena, mark);
    return spread;
}

enum pes_status pes_spectrum_scores(int T, const double *mean_scores, struct pes_arena *arena,
                                    struct pes_scores *out)
{
    size_t t = (size_t)T;
    *out = (struct pes_scores){pes_arena_take(arena, t, sizeof(double)), NAN, NAN};
    if (!out->eigenvalues) return PES_MEMORY;
    struct pes_arena_mark mark = pes_arena_mark(arena);
    if (centred_eigenvalues(t, mean_scores, out->eigenvalues, arena)) {
        double largest = 0, least = INFINITY;
        for (size_t i = 0; i < t; i++) {
            largest = fmax(largest, fabs(out->eigenvalues[i]));
            least = fmin(least, fabs(out->eigenvalues[i]));
        }
        out->spread = out->eigenvalues[t - 1] - out->eigenvalues[0];
        out->condition = largest > 0 ? largest / least : NAN;
    } else {
        TRY(pes_linalg_status());
        for (size_t i = 0; i < t; i++)
            out->eigenvalues[i] = NAN;
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}
