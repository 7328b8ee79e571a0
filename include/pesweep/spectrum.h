/* spectrum.h - the spectral measures of one head's bilinear form M = W_q^T W_k, in double.
 *
 * Never a C x C matrix: eigenvalues of the D x D product W_k W_q^T, norms and traces from D x D cores (two QRs).
 * Definitions and degenerate cases follow the project's list of measures (README, measures); sources are named
 * at each field.  A ratio whose denominator vanishes is NaN with a flag. */
#ifndef PESWEEP_SPECTRUM_H
#define PESWEEP_SPECTRUM_H

#include "pesweep/linalg.h"
#include "pesweep/measure.h"

/* Bits of the stored flags. */
enum pes_spectrum_flag {
    PES_FLAG_NON_FINITE = 1,       /* weights with NaN or infinity: no spectrum */
    PES_FLAG_ZERO = 2,             /* ||M|| = 0 */
    PES_FLAG_ILL_CONDITIONED = 4,  /* eigenvalue ratios change by more than 1e-6 under rounding-size noise */
    PES_FLAG_NO_CONVERGENCE = 8,   /* LAPACK gave up */
    PES_FLAG_INVARIANT = 16,       /* trace, conjugate pairs or order don't hold */
    PES_FLAG_SILENT_FREQUENCY = 32 /* a rotary frequency without energy */
};

struct pes_content {
    int n;                   /* D */
    double *eigenvalues;     /* [2n] re, im; |lambda| down */
    double *singular_values; /* [n] descending */
    double fro2, symmetry_score, directional_fraction, departure_from_normality;
    double rotational_fraction, rotational_energy, positive_fraction, imaginary_mass, spectral_radius;
    double content_positive_fraction, effective_rank, principal_angle_mean, principal_angle_max;
    double eigenvector_condition;
    unsigned flags;
};

/* Measures of M, raw or with the norm's gain folded in and centred.  Arrays of *out live in the arena. */
enum pes_status pes_spectrum_content(const struct pes_head *head, bool folded, uint64_t seed,
                                     struct pes_arena *arena, struct pes_content *out);

struct pes_phase {
    int pairs;
    double *frequency_energy, *phase_energy, *phase_angle; /* [pairs] */
    double phase_fraction, frequency_centroid, high_frequency_fraction;
    unsigned flags;
};
enum pes_status pes_spectrum_phase(const struct pes_head *head, bool folded, struct pes_arena *arena,
                                   struct pes_phase *out);

/* Mean score matrix S[T][T] of a head -> Toeplitz measures over visible entries. */
struct pes_toeplitz {
    double *diagonals; /* [2T - 1] means along diagonals at index j - i + T - 1; NaN where nothing is visible */
    double fraction, fraction_centred;
};
enum pes_status pes_spectrum_toeplitz(int T, const double *mean_scores, bool causal, struct pes_arena *arena,
                                      struct pes_toeplitz *out);

/* lambda_max - lambda_min of the symmetric part of the row-centred matrix; NaN if not finite. */
double pes_spectrum_spread(int T, const real *scores, struct pes_arena *arena);

#endif
