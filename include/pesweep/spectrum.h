/* spectrum.h - the spectral measures of a head's bilinear form M = W_q^T W_k and what goes with it, in
 * double.
 *
 * Never a C x C matrix: M = left^T right with D rows each, so all of M lives in the space of those 2D rows.
 * Norms, traces and spectra come from the core, M in an orthonormal basis of that space, at D x 2D.  Every
 * measure exists for the raw weights and folded: the gain of the norm in front multiplied into the columns,
 * then centred under LayerNorm.  A ratio whose denominator vanishes is NaN with a flag.  Numerical trouble is
 * a stored flag, never an error: the functions return PES_OK or PES_MEMORY.  Arrays of results live in the
 * arena.  Nothing is collective. */
#ifndef PESWEEP_SPECTRUM_H
#define PESWEEP_SPECTRUM_H

#include "pesweep/linalg.h"
#include "pesweep/measure.h"

/* Bits of the stored flags. */
enum pes_spectrum_flag {
    PES_FLAG_NON_FINITE = 1,        /* weights with NaN or infinity: no spectrum */
    PES_FLAG_ZERO = 2,              /* ||M|| = 0 to rounding */
    PES_FLAG_ILL_CONDITIONED = 4,   /* eigenvalue ratios change by more than 1e-6 under rounding-size noise */
    PES_FLAG_NO_CONVERGENCE = 8,    /* LAPACK gave up */
    PES_FLAG_INVARIANT = 16,        /* trace, norm, conjugate pairs or order don't hold */
    PES_FLAG_SILENT_FREQUENCY = 32, /* a rotary frequency without energy */
    PES_FLAG_NO_SYMMETRIC_PART = 64, /* sum of |eigenvalues| of S is 0 to rounding */
    PES_FLAG_NO_PHASE = 128          /* ||Im M_t|| = 0 to rounding at every frequency */
};

/* Two factors of a form M = left^T right of C x C. */
struct pes_form {
    size_t n, C;
    const double *left, *right; /* [n, C] */
    size_t dimension; /* of the space in which frames are random under the null: C, or C - 1 if centred */
};

/* M = W_q^T W_k of a head, and its value-output product O = W_O W_V (centred over outputs if folded). */
enum pes_status pes_spectrum_form(const struct pes_head *head, bool folded, struct pes_arena *arena,
                                  struct pes_form *form);
enum pes_status pes_spectrum_value_form(const struct pes_head *head, bool folded, struct pes_arena *arena,
                                        struct pes_form *form);

/* X(name, unit, meaning).  Ratios have a null distribution; lambda = eigenvalues of M, S and A its symmetric
 * and antisymmetric part, norms are Frobenius's. */
#define PES_CONTENT_RATIOS(X)                                                                                \
    X(symmetry_score, "", "(||S||^2 - ||A||^2) / ||M||^2")                                                   \
    X(directional_fraction, "", "||A|| / ||M||")                                                             \
    X(departure_from_normality, "", "Henrici's: sqrt(||M||^2 - sum |lambda|^2) / ||M||")                     \
    X(rotational_fraction, "", "sum |Im lambda| / sum |lambda|")                                             \
    X(rotational_energy, "", "sum (Im lambda)^2 / sum |lambda|^2")                                           \
    X(positive_fraction, "", "sum Re lambda / sum |lambda|")                                                 \
    X(imaginary_mass, "", "sum |Im lambda| / ||M||")                                                         \
    X(content_positive_fraction, "", "sum of the positive eigenvalues of S / sum of all absolute ones")
#define PES_CONTENT_SCALARS(X)                                                                               \
    PES_CONTENT_RATIOS(X)                                                                                    \
    X(fro2, "", "||M||^2; infinite beyond the range of double")                                              \
    X(spectral_radius, "", "largest |lambda|")                                                               \
    X(effective_rank, "", "exp of the entropy of the normalised singular values")                            \
    X(principal_angle_mean, "degree", "mean angle between the row spaces of W_q and W_k")                    \
    X(principal_angle_max, "degree", "largest angle between the row spaces of W_q and W_k")                  \
    X(eigenvector_condition, "", "largest / smallest singular value of the unit eigenvectors of the core")

enum pes_ratio {
#define X(name, unit, meaning) PES_RATIO_##name,
    PES_CONTENT_RATIOS(X)
#undef X
        PES_NUM_RATIOS
};

struct pes_content {
    int n;                   /* D */
    double *eigenvalues;     /* [2n] re, im; |lambda| down */
    double *singular_values; /* [n] descending */
#define X(name, unit, meaning) double name;
    PES_CONTENT_SCALARS(X)
#undef X
    unsigned flags;
};

/* Measures of M, raw or folded.  `seed` is that of the perturbation that tests conditioning. */
enum pes_status pes_spectrum_content(const struct pes_head *head, bool folded, uint64_t seed,
                                     struct pes_arena *arena, struct pes_content *out);
enum pes_status pes_spectrum_form_content(const struct pes_form *form, uint64_t seed, struct pes_arena *arena,
                                          struct pes_content *out);

/* Null distributions of the ratios: mean and standard deviation over draws (NaN below two draws). */
struct pes_null {
    double mean[PES_NUM_RATIOS], deviation[PES_NUM_RATIOS];
};

/* M with the given singular values and Haar-distributed left and right frames of `dimension`. */
enum pes_status pes_spectrum_null_matched(size_t n, const double *singular_values, size_t dimension,
                                          int draws, const struct pes_rng *rng, struct pes_arena *arena,
                                          struct pes_null *out);
/* W_q and W_k with independent normal entries, n rows in `dimension`. */
enum pes_status pes_spectrum_null_gaussian(size_t n, size_t dimension, int draws, const struct pes_rng *rng,
                                           struct pes_arena *arena, struct pes_null *out);
/* (value - mean) / deviation; NaN where there is no spread. */
double pes_spectrum_z(const struct pes_null *null, enum pes_ratio ratio, double value);
double pes_spectrum_ratio(const struct pes_content *content, enum pes_ratio ratio);

/* Frequency t of the rotary pairs, M_t = (q_a - i q_b)(k_a + i k_b)^T with rows a = 2t, b = 2t + 1: the score
 * at distance D = query - key is sum_t x^T Re(M_t) y cos(w_t D) + x^T Im(M_t) y sin(w_t D) (RoFormer, Su et
 * al. 2021, regrouped).  Heads that don't rotate: the same numbers "as if paired". */
#define PES_PHASE_SCALARS(X)                                                                                 \
    X(phase_fraction, "", "sum_t ||Im M_t|| / sum_t (||Re M_t|| + ||Im M_t||)")                              \
    X(frequency_centroid, "rad", "sum_t w_t ||Im M_t|| / sum_t ||Im M_t||")                                  \
    X(high_frequency_fraction, "", "share of sum_t ||Im M_t|| in the faster half of the frequencies")
struct pes_phase {
    int pairs;
    double *frequency_energy; /* [pairs] ||Re M_t||^2 + ||Im M_t||^2 */
    double *phase_energy;     /* [pairs] ||Im M_t||^2 / frequency_energy */
    /* [pairs] rad, in (-pi, pi]: argument of tr M_t, M_t's one eigenvalue; equal contents score highest at
     * w_t D = angle */
    double *phase_angle;
    double *real_eigenvalues;      /* [pairs][2][re, im] of Re M_t, a matrix of rank 2 */
    double *imaginary_eigenvalues; /* [pairs][2][re, im] of Im M_t */
#define X(name, unit, meaning) double name;
    PES_PHASE_SCALARS(X)
#undef X
    unsigned flags;
};
enum pes_status pes_spectrum_phase(const struct pes_head *head, bool folded, struct pes_arena *arena,
                                   struct pes_phase *out);

/* ||M_2 O_1|| / (||M_2|| ||O_1||) for all heads of a later and an earlier layer, scores[H2][H1] (Elhage et
 * al. 2021, K-composition): folded M_2; O_1 = W_O W_V, W_V folded, W_O centred over its outputs under
 * LayerNorm.  NaN where the later layer's keys don't read the stream or a norm is 0. */
enum pes_status pes_spectrum_k_composition(int H2, const struct pes_head *later, int H1,
                                           const struct pes_head *earlier, struct pes_arena *arena,
                                           double *scores);

/* Share of eigenvalues with positive real part of the circuit from token to logit through one head,
 * W_U W_O W_V W_E^T (Elhage et al. 2021), from its D x D form.  token[C, C] = W_E^T W_U, made once for a
 * model; final_gain[C] = gain of the last norm or NULL, used when folded and `final_norm`.  NaN if the
 * circuit is 0. */
enum pes_status pes_spectrum_token_product(size_t V, size_t C, const real *embed, const real *unembed,
                                           struct pes_arena *arena, double **token);
enum pes_status pes_spectrum_copying(const struct pes_head *head, bool folded, const double *token,
                                     bool final_norm, const real *final_gain, struct pes_arena *arena,
                                     double *share);

/* A whole layer, M = sum of its heads' (Saponati et al. 2025, arXiv 2502.10927): symmetry = tr(M^2)/||M||^2;
 * directionality = (R - C)/(R + C), R and C the sums over rows (query side) and columns (key side) of the
 * excess of their norms over mean + 2 sample deviations, 0 if neither has any.  NaN if ||M|| = 0 or not
 * finite. */
enum pes_status pes_spectrum_layer(int H, const struct pes_head *heads, bool folded, struct pes_arena *arena,
                                   double *symmetry, double *directionality);

/* Mean score matrix S[T][T] of a head -> Toeplitz measures over visible entries. */
struct pes_toeplitz {
    double
        *diagonals;  /* [2T - 1] means along diagonals at index j - i + T - 1; NaN where nothing is visible */
    double fraction; /* share of ||S||^2 that survives averaging along diagonals */
    double fraction_centred; /* the same after each row's mean over its visible entries is taken out */
};
enum pes_status pes_spectrum_toeplitz(int T, const double *mean_scores, bool causal, struct pes_arena *arena,
                                      struct pes_toeplitz *out);

/* lambda_max - lambda_min of the symmetric part of the row-centred matrix; NaN if not finite, or for lack of
 * memory (pes_linalg_status). */
double pes_spectrum_spread(int T, const real *scores, struct pes_arena *arena);

/* The whole spectrum of the symmetric part of row-centred mean scores; NaN if they aren't finite. */
struct pes_scores {
    double *eigenvalues; /* [T] ascending */
    double spread;       /* lambda_max - lambda_min */
    double condition;    /* max |lambda| / min |lambda|; infinite if singular, NaN for scores of 0 */
};
enum pes_status pes_spectrum_scores(int T, const double *mean_scores, struct pes_arena *arena,
                                    struct pes_scores *out);

/* Mean raw score at offsets key - query = -8 .. 0; NaN beyond the length. */
enum { PES_KERNEL_OFFSETS = 9 };
void pes_spectrum_relative_kernel(int T, const double *mean_scores, double kernel[PES_KERNEL_OFFSETS]);

/* The positional kernel alone, T x T: bias of an additive scheme, mean over frequencies of cos(w_t (i - j))
 * of a rotary one, P P^T of an added table.  By Szego (Grenander & Szego 1958) the eigenvalues of a symmetric
 * Toeplitz matrix lie within [min, max] of its symbol, the cosine series of its diagonals. */
struct pes_kernel {
    double *diagonals; /* [2T - 1] at index key - query + T - 1 */
    double toeplitz_fraction;
    double *eigenvalues; /* [T] ascending, of the symmetric part */
    double eigenvalue_min, eigenvalue_max;
    double symbol_min, symbol_max; /* of the symmetric part's diagonal means */
    /* Mean |eigenvalue - symbol| against the symbol at angles k pi/(T + 1), k = 1 .. T, both sorted, over the
     * symbol's range: by Szego's theorem it goes to 0 as T grows.  NaN for a constant symbol. */
    double szego_distance;
};
enum pes_status pes_spectrum_kernel(int T, const double *kernel, struct pes_arena *arena,
                                    struct pes_kernel *out);

/* Where heads come from: a model that was trained here, or a checkpoint from elsewhere. */
struct pes_head_source {
    int L, H;
    /* Head `head` of layer `layer`, in the arena. */
    enum pes_status (*get)(const void *context, int layer, int head, struct pes_arena *arena,
                           struct pes_head *out);
    const void *context;
    /* Token circuit, if outputs are tokens, else V = 0: embed[V, C], unembed[V, C]. */
    size_t V, C;
    const real *embed, *unembed;
    bool final_norm;
    const real *final_gain; /* [C] or NULL */
};

/* What the spectral families do with the heads of a source; of the measurement they use neither model nor
 * data. PES_OK, PES_MEMORY or PES_STOPPED. */
enum pes_status pes_spectrum_run_content(const struct pes_measurement *m,
                                         const struct pes_head_source *source);
enum pes_status pes_spectrum_run_phase(const struct pes_measurement *m, const struct pes_head_source *source);
enum pes_status pes_spectrum_run_composition(const struct pes_measurement *m,
                                             const struct pes_head_source *source);

/* Each head's rank in its model, <name>_percentile = heads with a value <= its own / heads with a value, from
 * what stands under spectra/ and spectra_folded/ of a whole model's row.  The families call it themselves;
 * who puts a row together from parts calls it at the end. */
void pes_spectrum_rank_heads(const struct pes_row *row, int num_layers, int num_heads);

#endif
