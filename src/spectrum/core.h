/* core.h - a bilinear form in the space of its own rows; private to src/spectrum. */
#ifndef PESWEEP_SPECTRUM_CORE_H
#define PESWEEP_SPECTRUM_CORE_H

#include "pesweep/spectrum.h"

/* M = 2^exponent Q^T [b; 0] Q, Q[r, C] with orthonormal rows, b[p, r], p <= r.  So the eigenvalues of M are
 * those of the square part b[p, p] and zeros, its singular values those of b, and its departure from
 * normality that of the square part and the norm of the rest. */
struct pes_core {
    size_t n;    /* rows of either factor: as many eigenvalues are reported, p of them can differ from 0 */
    size_t p, r; /* p = min(n, r) */
    double *b;
    double norm;  /* ||b|| */
    double size;  /* sum over rows of |left_i| |right_i|: rounding errors of b are relative to this */
    double trace; /* of M, straight from the factors */
    const double
        *rows; /* [2n, r] the factors' rows in the basis Q, each up to a scale; NULL for null draws */
    int exponent;
    unsigned flags; /* NON_FINITE, NO_CONVERGENCE: nothing else is valid; ZERO */
};

/* out[n, C] = rows diag(gain), then each row less its mean if centred: what W is to the stream before a
 * LayerNorm, whose shift and division by the deviation aside.  gain NULL: ones. */
void pes_form_fold(size_t n, size_t C, const double *rows, const double *gain, bool centred, double *out);

enum pes_status pes_core_build(const struct pes_form *form, struct pes_arena *arena, struct pes_core *core);

/* The eigenvalues in order, every ratio, spectral_radius and, if wanted, eigenvector_condition of `out`,
 * scaled as the core is.  out->eigenvalues[2n] belongs to the caller; other fields are left alone. */
enum pes_status pes_core_measure(const struct pes_core *core, bool with_condition, struct pes_arena *arena,
                                 struct pes_content *out);

/* The same ratios from the eigenvalues of b[p, p], in any order; out->eigenvalues may be overwritten.  Where
 * the departure from normality would be a difference of nearly equal numbers all is measured as above. */
enum pes_status pes_core_measure_known(const struct pes_core *core, const double *values,
                                       struct pes_arena *arena, struct pes_content *out);

/* The ratios that depend on eigenvalues alone (and on ||M||), recomputed on b + n eps ||b|| G, ||G|| = 1,
 * differ by more than 1e-6 from those in `content`. */
enum pes_status pes_core_is_noise(const struct pes_core *core, const struct pes_content *content,
                                  uint64_t seed, struct pes_arena *arena, bool *noise);

/* What must hold whatever LAPACK did: order, conjugate pairs, the trace and the norm of M.  `content` is
 * scaled as the core is. */
bool pes_core_holds(const struct pes_core *core, const struct pes_content *content);

/* PES_MEMORY if the last call to linalg failed for that, else PES_OK with `flag` set. */
enum pes_status pes_core_failed(unsigned flag, unsigned *flags);

#endif
