/* phase.c - the rotary frequencies of a head, each a pair of rows of W_q and of W_k.
 *
 * Re M_t = q_a k_a^T + q_b k_b^T, Im M_t = q_a k_b^T - q_b k_a^T: rank 2, so norms and eigenvalues come from
 * 2 x 2 matrices.  Norms go through the rows' 2 x 2 triangles, not their Gram matrices, which would leave
 * ||Im M_t|| no better than 1e-8 of ||Re M_t||. */
#include <float.h>
#include <limits.h>
#include <math.h>

#include "core.h"

/* Two rows [2, C] scaled by 2^-exponent, and the triangle r of their Gram-Schmidt: rows = r^T basis. */
struct pair {
    double *rows;
    int exponent;
    double r[2][2]; /* r[0][1]: component of row 1 along row 0 */
};

static void make_pair(size_t C, double *rows, struct pair *pair)
{
    double largest = pes_largest(2 * C, rows);
    pair->exponent = largest > 0 ? ilogb(largest) : 0;
    pes_scale_exponent(2 * C, rows, -pair->exponent);
    pair->rows = rows;
    double length = pes_norm(C, rows), along = length > 0 ? pes_dot(C, rows, rows + C) / length : 0;
    pair->r[0][0] = length;
    pair->r[0][1] = along;
    pair->r[1][0] = 0;
    pair->r[1][1] = pes_distance(C, rows + C, rows, length > 0 ? along / length : 0);
}

/* ||R_q Z R_k^T|| with Z the identity (real part) or [[0, 1], [-1, 0]] (imaginary part). */
static double part_norm(const struct pair *q, const struct pair *k, bool imaginary)
{
    double sum = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            double x = imaginary ? q->r[i][0] * k->r[j][1] - q->r[i][1] * k->r[j][0]
                                 : q->r[i][0] * k->r[j][0] + q->r[i][1] * k->r[j][1];
            sum += x * x;
        }
    return sqrt(sum);
}

/* Eigenvalues of [[a, b], [c, d]], in the order of pes_eigenvalues_sort; values[4]. */
static void eigenvalues_2x2(double a, double b, double c, double d, int exponent, double *values)
{
    double middle = (a + d) / 2, half = (a - d) / 2, square = half * half + b * c;
    if (square >= 0) {
        /* The larger root without cancellation, the other from the determinant. */
        double large = middle + copysign(sqrt(square), middle);
        double small = large != 0 ? (a * d - b * c) / large : 0;
        values[0] = large;
        values[2] = small;
        values[1] = values[3] = 0;
    } else {
        values[0] = values[2] = middle;
        values[1] = sqrt(-square);
        values[3] = -values[1];
    }
    pes_eigenvalues_sort(2, values);
    for (int i = 0; i < 4; i++)
        values[i] = scalbn(values[i], exponent);
}

/* Spectra of frequency t: non-zero eigenvalues of left^T right are those of right left^T.  g = rows of k
 * times rows of q; Im M_t pairs q_a with k_b and q_b with -k_a.  tr M_t = g_aa + g_bb + i (g_ba - g_ab). */
static void pair_spectra(size_t C, size_t t, const struct pair *q, const struct pair *k,
                         struct pes_phase *out)
{
    double g[2][2];
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 2; j++)
            g[i][j] = pes_dot(C, k->rows + i * C, q->rows + j * C);
    int exponent = q->exponent + k->exponent;
    eigenvalues_2x2(g[0][0], g[0][1], g[1][0], g[1][1], exponent, out->real_eigenvalues + 4 * t);
    eigenvalues_2x2(g[1][0], g[1][1], -g[0][0], -g[0][1], exponent, out->imaginary_eigenvalues + 4 * t);
    out->phase_angle[t] = atan2(g[1][0] - g[0][1], g[0][0] + g[1][1]);
}

/* What the sums over frequencies need, relative to 2^exponent. */
struct norms {
    double real, imaginary;
    int exponent;
};

static void measure_frequencies(const struct pes_head *head, const struct norms *norms, struct pes_phase *out)
{
    int pairs = out->pairs, common = INT_MIN, fast = PES_MAX(1, pairs / 2);
    for (int t = 0; t < pairs; t++)
        if (norms[t].real > 0 || norms[t].imaginary > 0) common = PES_MAX(common, norms[t].exponent);
    double all = 0, imaginary = 0, weighted = 0, high = 0;
    for (int t = 0; t < pairs; t++) {
        double re = norms[t].real, im = norms[t].imaginary, energy = re * re + im * im;
        out->frequency_energy[t] = scalbn(energy, 2 * norms[t].exponent);
        out->phase_energy[t] = energy > 0 ? im * im / energy : NAN;
        if (!(energy > 0)) {
            out->flags |= PES_FLAG_SILENT_FREQUENCY;
            out->phase_angle[t] = NAN;
            continue;
        }
        re = scalbn(re, norms[t].exponent - common);
        im = scalbn(im, norms[t].exponent - common);
        all += re + im;
        imaginary += im;
        weighted += head->frequencies[t] * im;
        if (t < fast) high += im;
    }
    if (all > 0) out->phase_fraction = imaginary / all;
    if (imaginary > 8 * DBL_EPSILON * all) {
        out->frequency_centroid = weighted / imaginary;
        out->high_frequency_fraction = high / imaginary;
    } else {
        out->flags |= PES_FLAG_NO_PHASE;
    }
}

/* rows[2 * pairs, C] of one side, folded where that side reads the normalised stream. */
static double *take_rows(const struct pes_head *head, bool query, bool folded, struct pes_arena *arena)
{
    size_t count = (size_t)head->pairs * 2, C = (size_t)head->C;
    const double *rows = query ? head->rq : head->rk;
    double *out = pes_arena_take(arena, count * C, sizeof *out);
    bool folds = folded && (query ? head->query_folds : head->key_folds);
    if (out) pes_form_fold(count, C, rows, folds ? head->gain : NULL, folds && head->centred, out);
    return out;
}

enum pes_status pes_spectrum_phase(const struct pes_head *head, bool folded, struct pes_arena *arena,
                                   struct pes_phase *out)
{
    size_t pairs = (size_t)head->pairs, C = (size_t)head->C;
    *out = (struct pes_phase){.pairs = head->pairs};
#define X(name, unit, meaning) out->name = NAN;
    PES_PHASE_SCALARS(X)
#undef X
    double *memory = pes_arena_take(arena, 11 * pairs, sizeof *memory);
    if (!memory) return PES_MEMORY;
    out->frequency_energy = memory;
    out->phase_energy = memory + pairs;
    out->phase_angle = memory + 2 * pairs;
    out->real_eigenvalues = memory + 3 * pairs;
    out->imaginary_eigenvalues = memory + 7 * pairs;
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *q = take_rows(head, true, folded, arena), *k = take_rows(head, false, folded, arena);
    struct norms *norms = pes_arena_take(arena, pairs, sizeof *norms);
    if (!q || !k || !norms) return PES_MEMORY;
    if (pes_all_finite(2 * pairs * C, q) && pes_all_finite(2 * pairs * C, k)) {
        for (size_t t = 0; t < pairs; t++) {
            struct pair pair_q, pair_k;
            make_pair(C, q + 2 * t * C, &pair_q);
            make_pair(C, k + 2 * t * C, &pair_k);
            norms[t] = (struct norms){part_norm(&pair_q, &pair_k, false), part_norm(&pair_q, &pair_k, true),
                                      pair_q.exponent + pair_k.exponent};
            pair_spectra(C, t, &pair_q, &pair_k, out);
        }
        measure_frequencies(head, norms, out);
    } else {
        out->flags |= PES_FLAG_NON_FINITE;
        for (size_t i = 0; i < 11 * pairs; i++)
            memory[i] = NAN;
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}
