/* core_measure.c - the ratios of a core: shared by the heads themselves and by draws of their null
 * distributions. */
#include "core.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Norms of the symmetric and antisymmetric part of M: b[p, p] has its own, the p x (r - p) rest stands halved
 * in two places of either. */
struct parts {
    double symmetric, antisymmetric, rest; /* rest = ||b[p, p..r]|| */
};

static struct parts split(const struct pes_core *core)
{
    size_t p = core->p, r = core->r;
    double symmetric = 0, antisymmetric = 0, rest = 0;
    for (size_t i = 0; i < p; i++) {
        for (size_t j = 0; j < p; j++) {
            double x = core->b[i * r + j], y = core->b[j * r + i];
            symmetric += (x + y) * (x + y) / 4;
            antisymmetric += (x - y) * (x - y) / 4;
        }
        for (size_t j = p; j < r; j++)
            rest += core->b[i * r + j] * core->b[i * r + j];
    }
    return (struct parts){sqrt(symmetric + rest / 2), sqrt(antisymmetric + rest / 2), sqrt(rest)};
}

/* (b + sign b^T) / 2 of the square part. */
static void half_sum(const struct pes_core *core, double sign, double *out)
{
    size_t p = core->p, r = core->r;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            out[i * p + j] = (core->b[i * r + j] + sign * core->b[j * r + i]) / 2;
}

/* A form that is symmetric or antisymmetric to rounding gets exactly real or exactly imaginary eigenvalues:
 * from the symmetric solver, or from the singular values, which come in pairs.  Then M is normal. */
static bool normal_eigenvalues(const struct pes_core *core, bool symmetric, double *scratch, double *values,
                               struct pes_arena *arena)
{
    size_t p = core->p;
    double *square = scratch, *found = scratch + p * p;
    half_sum(core, symmetric ? 1 : -1, square);
    if (symmetric) {
        if (!pes_symmetric_eigenvalues(p, square, found, arena)) return false;
        for (size_t i = 0; i < p; i++) {
            values[2 * i] = found[i];
            values[2 * i + 1] = 0;
        }
    } else {
        if (!pes_singular_values(p, p, square, found, NULL, NULL, arena)) return false;
        for (size_t i = 0; i + 1 < p; i += 2) {
            double imaginary = (found[i] + found[i + 1]) / 2;
            values[2 * i] = values[2 * i + 2] = 0;
            values[2 * i + 1] = imaginary;
            values[2 * i + 3] = -imaginary;
        }
        if (p % 2) values[2 * p - 2] = values[2 * p - 1] = 0;
    }
    pes_eigenvalues_sort(p, values);
    return true;
}

static void eigenvalue_ratios(size_t n, const double *values, double norm, struct pes_content *out)
{
    double modulus = 0, imaginary = 0, sum = 0, squares = 0, imaginary_squares = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        double re = values[2 * i], im = values[2 * i + 1], size = hypot(re, im);
        modulus += size;
        imaginary += fabs(im);
        sum += re;
        squares += size * size;
        imaginary_squares += im * im;
        largest = fmax(largest, size);
    }
    bool none = modulus == 0;
    out->rotational_fraction = none ? NAN : imaginary / modulus;
    out->rotational_energy = squares == 0 ? NAN : imaginary_squares / squares;
    out->positive_fraction = none ? NAN : sum / modulus;
    out->imaginary_mass = imaginary / norm;
    out->spectral_radius = largest;
}

/* Eigenvalues of S in the r x r core [[S_pp, rest/2], [rest^T/2, 0]]. */
static bool content_positive_fraction(const struct pes_core *core, double *scratch, struct pes_arena *arena,
                                      struct pes_content *out)
{
    size_t p = core->p, r = core->r;
    double *s = scratch, *values = scratch + r * r;
    memset(s, 0, r * r * sizeof *s);
    for (size_t i = 0; i < p; i++)
        for (size_t j = i; j < r; j++)
            s[i * r + j] = j < p ? (core->b[i * r + j] + core->b[j * r + i]) / 2 : core->b[i * r + j] / 2;
    if (!pes_symmetric_eigenvalues(r, s, values, arena)) return false;
    double positive = 0, all = 0;
    for (size_t i = 0; i < r; i++) {
        positive += fmax(values[i], 0);
        all += fabs(values[i]);
    }
    bool none = all <= (double)core->n * 1e-12 * core->norm;
    out->content_positive_fraction = none ? NAN : positive / all;
    if (none) out->flags |= PES_FLAG_NO_SYMMETRIC_PART;
    return true;
}

static void symmetry_ratios(struct parts parts, double norm, struct pes_content *out)
{
    out->directional_fraction = parts.antisymmetric / norm;
    out->symmetry_score = (parts.symmetric / norm - parts.antisymmetric / norm) *
                          (parts.symmetric / norm + parts.antisymmetric / norm);
}

static bool measure(const struct pes_core *core, bool with_condition, double *scratch,
                    struct pes_arena *arena, struct pes_content *out)
{
    size_t p = core->p;
    struct parts parts = split(core);
    double norm = core->norm, least = (double)core->n * DBL_EPSILON * core->size, off_norm = 0;
    bool symmetric = parts.antisymmetric <= least, antisymmetric = parts.symmetric <= least;
    symmetry_ratios(parts, norm, out);
    if (symmetric || antisymmetric) {
        if (!normal_eigenvalues(core, symmetric, scratch, out->eigenvalues, arena)) return false;
        out->departure_from_normality = 0;
        if (with_condition) out->eigenvector_condition = 1;
    } else {
        for (size_t i = 0; i < p; i++)
            memcpy(scratch + i * p, core->b + i * core->r, p * sizeof *scratch);
        if (!pes_schur(p, scratch, out->eigenvalues, &off_norm,
                       with_condition ? &out->eigenvector_condition : NULL, arena))
            return false;
        out->departure_from_normality = hypot(off_norm, parts.rest) / norm;
    }
    eigenvalue_ratios(core->n, out->eigenvalues, norm, out);
    return content_positive_fraction(core, scratch, arena, out);
}

enum pes_status pes_core_measure(const struct pes_core *core, bool with_condition, struct pes_arena *arena,
                                 struct pes_content *out)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    /* r^2 + r holds the p^2 + p of the eigenvalues too. */
    double *scratch = pes_arena_take(arena, core->r * (core->r + 1), sizeof *scratch);
    if (!scratch) return PES_MEMORY;
    memset(out->eigenvalues, 0, 2 * core->n * sizeof *out->eigenvalues);
    enum pes_status status = PES_OK;
    if (!measure(core, with_condition, scratch, arena, out))
        status = pes_core_failed(PES_FLAG_NO_CONVERGENCE, &out->flags);
    pes_arena_rewind(arena, mark);
    return status;
}

enum pes_status pes_core_measure_known(const struct pes_core *core, const double *values,
                                       struct pes_arena *arena, struct pes_content *out)
{
    double squares = pes_norm(2 * core->p, values) / core->norm, departure2 = 1 - squares * squares;
    if (!(departure2 > 1e-4)) return pes_core_measure(core, false, arena, out);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *scratch = pes_arena_take(arena, core->r * (core->r + 1), sizeof *scratch);
    if (!scratch) return PES_MEMORY;
    symmetry_ratios(split(core), core->norm, out);
    out->departure_from_normality = sqrt(departure2);
    eigenvalue_ratios(core->p, values, core->norm, out);
    enum pes_status status = PES_OK;
    if (!content_positive_fraction(core, scratch, arena, out))
        status = pes_core_failed(PES_FLAG_NO_CONVERGENCE, &out->flags);
    pes_arena_rewind(arena, mark);
    return status;
}

/* NaN counts as different from everything. */
static bool differ(double a, double b)
{
    return !(fabs(a - b) <= 1e-6);
}

enum pes_status pes_core_is_noise(const struct pes_core *core, const struct pes_content *content,
                                  uint64_t seed, struct pes_arena *arena, bool *noise)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    size_t p = core->p, r = core->r;
    struct pes_rng rng = {seed, PES_RNG_PERTURBATION, 0};
    double *g = pes_arena_take(arena, p * p, sizeof *g),
           *values = pes_arena_take(arena, 2 * p, sizeof *values);
    *noise = true;
    if (!g || !values) return PES_MEMORY;
    for (size_t i = 0; i < p * p; i++)
        g[i] = pes_rng_normal(&rng, i);
    double scale = (double)core->n * DBL_EPSILON * core->norm / pes_norm(p * p, g);
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            g[i * p + j] = core->b[i * r + j] + scale * g[i * p + j];
    enum pes_status status = PES_OK;
    struct pes_content moved = {0};
    if (pes_eigenvalues(p, g, values, arena)) {
        eigenvalue_ratios(p, values, core->norm, &moved);
        *noise = differ(moved.rotational_fraction, content->rotational_fraction) ||
                 differ(moved.rotational_energy, content->rotational_energy) ||
                 differ(moved.positive_fraction, content->positive_fraction) ||
                 differ(moved.imaginary_mass, content->imaginary_mass);
    } else {
        status = pes_linalg_status();
    }
    pes_arena_rewind(arena, mark);
    return status;
}

bool pes_core_holds(const struct pes_core *core, const struct pes_content *content)
{
    size_t n = core->n;
    const double *values = content->eigenvalues;
    double trace = 0, squares = 0, slack = 1e-10 * core->size;
    for (size_t i = 0; i < n; i++) {
        double re = values[2 * i], im = values[2 * i + 1];
        trace += re;
        squares += content->singular_values[i] * content->singular_values[i];
        if (i && hypot(re, im) > hypot(values[2 * i - 2], values[2 * i - 1]) * (1 + 2e-12)) return false;
        if (i && content->singular_values[i] > content->singular_values[i - 1]) return false;
        bool paired = im == 0;
        for (size_t j = 0; !paired && j < n; j++)
            paired = values[2 * j] == re && values[2 * j + 1] == -im;
        if (!paired) return false;
    }
    return fabs(trace - core->trace) <= slack && fabs(sqrt(squares) - core->norm) <= slack;
}
