/* analysis.h - statistics for studies with few seeds: on arrays of doubles, deterministic, without I/O.
 *
 * Random numbers are functions of (seed, resample), so every result is the same for any number of threads.
 * Inputs are read only.  A number that can't be given (one seed, a missing or infinite input, a vanishing
 * denominator) is NaN, never 0 and never a crash.  Functions that need memory return a status; the others
 * can't fail.  n counts values; arrays are [n] unless another size is named. */
#ifndef PESWEEP_ANALYSIS_H
#define PESWEEP_ANALYSIS_H

#include "pesweep/arena.h"

/* ---- description
 * --------------------------------------------------------------------------------------------- */

/* Moves the finite values of x to its front, in order; returns how many there are. */
size_t pes_stat_compact(size_t n, double *x);

double pes_stat_mean(size_t n, const double *x);
double pes_stat_sd(size_t n, const double *x); /* n - 1 in the denominator; NaN for n < 2 */

/* These sort x in place.  quantile: linear interpolation between order statistics (Hyndman & Fan 1996, type
 * 7). iqm: mean of what is left when floor(n/4) values are cut at each end (Agarwal et al. 2021). */
void pes_stat_sort(size_t n, double *x);
double pes_stat_quantile_sorted(size_t n, const double *sorted, double share);
double pes_stat_median(size_t n, double *x);
double pes_stat_iqm(size_t n, double *x);

/* ---- distributions
 * --------------------------------------------------------------------------------------------- */

double pes_stat_normal_cdf(double z);
double pes_stat_normal_quantile(double p);
double pes_stat_t_cdf(double t, double freedom);
double pes_stat_t_quantile(double p, double freedom);

/* ---- intervals
 * --------------------------------------------------------------------------------------------------- */

enum pes_interval_flag {
    PES_INTERVAL_NOT_AVAILABLE = 1, /* too few values for the level: low and high are NaN */
    PES_INTERVAL_PERCENTILE = 2,    /* BCa is undefined (constant values): percentile interval */
    PES_INTERVAL_SMALL_N = 4,       /* fewer than 5 values in a group */
    PES_INTERVAL_AT_LEAST = 8,      /* censoring: the estimate is a lower bound */
    PES_INTERVAL_AT_MOST = 16,      /* censoring: the estimate is an upper bound */
    PES_INTERVAL_UNDEFINED = 32,    /* some resamples had no value and were left out */
    PES_INTERVAL_THEORY = 64        /* many values: by theory, not by resampling */
};
struct pes_interval {
    double estimate, low, high;
    unsigned flags;
};

/* mean +- t(level, n - 1) sd/sqrt(n). */
struct pes_interval pes_stat_t_interval(size_t n, const double *x, double level);

struct pes_subsets;
struct pes_resampling {
    uint64_t seed;
    size_t resamples;                  /* >= 1, below 2^32 */
    double level;                      /* of the interval, in (0, 1) */
    bool percentile;                   /* percentile interval even where BCa is defined */
    const struct pes_subsets *subsets; /* drawn beforehand for permutation tests of their size; NULL: none */
};
#define PES_RESAMPLING_DEFAULT ((struct pes_resampling){0, 10000, 0.95, false, NULL})

/* A statistic of resampled elements: `index` holds count[0] elements of the first group (numbers 0 ..), then
 * count[1] of the second (numbers from the first group's size on), ...  `scratch` belongs to the call. Called
 * from several threads at once. */
typedef double pes_statistic(const void *data, const size_t *count, const size_t *index, double *scratch);

/* Bootstrap interval of a statistic, elements resampled within each group (strata): bias-corrected and
 * accelerated (Efron 1987; several samples as in Davison & Hinkley 1997, 5.4), or percentile where that is
 * undefined. scratch: doubles that one call of the statistic needs. */
enum pes_status pes_stat_bootstrap(pes_statistic *statistic, const void *data, size_t num_groups,
                                   const size_t *count, size_t scratch,
                                   const struct pes_resampling *resampling, struct pes_interval *interval);

/* Above so many values a location's interval comes from theory, which then agrees with the bootstrap at a
 * thousandth of its cost: mean +- t se; order statistics of the binomial distribution for the median; the
 * trimmed mean's standard error from the winsorised deviation for the interquartile mean (Tukey & McLaughlin
 * 1963); Welch's interval for a difference of means; independent binomials for a performance profile. */
#define PES_STAT_MANY 200

enum pes_location { PES_LOCATION_MEAN, PES_LOCATION_MEDIAN, PES_LOCATION_IQM };
enum pes_status pes_stat_location_interval(enum pes_location location, size_t n, const double *x,
                                           const struct pes_resampling *resampling,
                                           struct pes_interval *interval);
/* location(a) - location(b), both resampled. */
enum pes_status pes_stat_difference_interval(enum pes_location location, size_t n, const double *a, size_t m,
                                             const double *b, const struct pes_resampling *resampling,
                                             struct pes_interval *interval);

/* ---- many tasks at once (Agarwal et al. 2021, "Deep RL at the edge of the statistical precipice")
 * --------------- */

/* x holds the runs of task 0, then of task 1, ...: count[num_tasks] of them.  Runs are resampled within
 * tasks; percentile intervals. */
enum pes_status pes_stat_iqm_stratified(size_t num_tasks, const size_t *count, const double *x,
                                        const struct pes_resampling *resampling,
                                        struct pes_interval *interval);

/* Performance profile: share of runs with a score above each of `num_levels` levels. */
enum pes_status pes_stat_profile(size_t num_tasks, const size_t *count, const double *x, size_t num_levels,
                                 const double *levels, const struct pes_resampling *resampling,
                                 struct pes_interval *profile);

/* Probability of improvement: mean over tasks of P(a > b) + P(a = b)/2. */
enum pes_status pes_stat_improvement(size_t num_tasks, const size_t *count_a, const double *a,
                                     const size_t *count_b, const double *b,
                                     const struct pes_resampling *resampling, struct pes_interval *interval);

/* ---- effects
 * ----------------------------------------------------------------------------------------------------- */

/* Hodges-Lehmann shift: median of all a_i - b_j; interval by order statistics of the differences at the exact
 * distribution of Mann-Whitney's U (normal approximation above about 150 values).  Not available where the
 * sizes can't reach the level. */
enum pes_status pes_stat_shift(size_t n, const double *a, size_t m, const double *b, double level,
                               struct pes_interval *interval);

/* Cliff's delta = P(a > b) - P(a < b) = the rank-biserial correlation; interval by method 5 of Newcombe 2006,
 * which doesn't shrink to a point at -1 and 1. */
struct pes_interval pes_stat_cliff(size_t n, const double *a, size_t m, const double *b, double level);

/* ---- tests
 * ------------------------------------------------------------------------------------------------------- */

enum pes_side { PES_TWO_SIDED, PES_GREATER, PES_LESS }; /* a greater (less) than b */

struct pes_test {
    double statistic;
    double p;            /* share of arrangements at least as extreme, ties included */
    double p_smallest;   /* of these very values: no arrangement of them can have a smaller p */
    double arrangements; /* enumerated or, if not exact, drawn */
    bool exact;          /* else Monte Carlo: p = (as extreme + 1) / (drawn + 1) */
};

/* Above this many arrangements a test draws resampling->resamples of them instead of enumerating. */
#define PES_MOST_ARRANGEMENTS 1e7

/* The subsets of k of n that a permutation test with this seed draws where there are too many arrangements:
 * tests of the same size share them instead of drawing each for itself, with the same results.  An empty set,
 * which serves no test, where all arrangements are looked at, and above 64 MB.  The caller destroys it. */
struct pes_subsets {
    size_t n, k, resamples;
    uint64_t seed;
    uint32_t *member; /* [resamples][k]; NULL: empty */
};
enum pes_status pes_stat_subsets_create(size_t n, size_t k, const struct pes_resampling *resampling,
                                        struct pes_subsets *subsets);
void pes_stat_subsets_destroy(struct pes_subsets *subsets);

/* Two-sample permutation test of the difference of means (the statistic).  Arrangements are compared in
 * integers on a grid finer than the values' rounding, so sums that are equal on paper count as ties.
 * rounding: relative rounding of the values, 0 for doubles, 6e-8 for values that were once floats. */
enum pes_status pes_stat_permutation(size_t n, const double *a, size_t m, const double *b, enum pes_side side,
                                     double rounding, const struct pes_resampling *resampling,
                                     struct pes_test *test);

/* Paired sign-flip test of the mean difference (the statistic) of a[n] - b[n]; zero differences stay in. */
enum pes_status pes_stat_sign_flip(size_t n, const double *a, const double *b, enum pes_side side,
                                   double rounding, const struct pes_resampling *resampling,
                                   struct pes_test *test);

/* Mann-Whitney test from the exact permutation distribution of the rank sum with its ties; statistic = U of
 * a. Two-sided: distance of U from its mean. */
enum pes_status pes_stat_mann_whitney(size_t n, const double *a, size_t m, const double *b,
                                      enum pes_side side, const struct pes_resampling *resampling,
                                      struct pes_test *test);

/* Adjusted p values; NaN stays NaN and isn't counted.  Holm 1979; Benjamini & Hochberg 1995. */
enum pes_status pes_stat_holm(size_t n, const double *p, double *adjusted);
enum pes_status pes_stat_benjamini_hochberg(size_t n, const double *p, double *adjusted);

/* ---- association
 * --------------------------------------------------------------------------------------------------- */

/* Spearman's correlation of x and y, with `num_controls` variables controls[c][n] held fixed (partial
 * correlation of ranks).  `cluster` (NULL = every value for itself): values of one cluster are resampled
 * together; level 0 of the resampling gives the estimate alone. */
enum pes_status pes_stat_spearman(size_t n, const double *x, const double *y, size_t num_controls,
                                  const double *const *controls, const size_t *cluster,
                                  const struct pes_resampling *resampling, struct pes_interval *interval);

/* Percentile (number of values <= it, over n) within `value` of each of the k members with the largest `by`,
 * the largest first; ties of `by` in order.  k <= n; values with a NaN in either are left out of n. */
enum pes_status pes_stat_top_percentiles(size_t n, const double *value, const double *by, size_t k,
                                         double *percentiles);

/* ---- steps to a threshold: survival with censoring
 * ------------------------------------------------------------------ */

/* Times and whether the event was seen (reached) then; otherwise the member is censored at that time. */
struct pes_survival {
    size_t n;
    const double *time;
    const bool *reached;
};

/* Kaplan-Meier median (midpoint where the curve is flat at 1/2).  Returns false, and the largest time known
 * to be below it, if censoring hides it. */
enum pes_status pes_stat_survival_median(const struct pes_survival *survival, double *median, bool *found);

/* Kaplan-Meier curve: share not yet there after each distinct event time; arrays of [n] from the caller. */
enum pes_status pes_stat_survival_curve(const struct pes_survival *survival, size_t *num_steps, double *time,
                                        double *share);

/* Log-rank test by permutation of the log-rank scores; statistic = observed - expected events of a.  GREATER:
 * a later than b. */
enum pes_status pes_stat_log_rank(const struct pes_survival *a, const struct pes_survival *b,
                                  enum pes_side side, const struct pes_resampling *resampling,
                                  struct pes_test *test);

/* median(a)/median(b).  A hidden median of a makes it a lower bound (AT_LEAST), one of b an upper bound
 * (AT_MOST); both: NaN.  Percentile bootstrap; high is infinite where resamples of a have no median, low 0
 * where those of b have none. */
enum pes_status pes_stat_median_ratio(const struct pes_survival *a, const struct pes_survival *b,
                                      const struct pes_resampling *resampling, struct pes_interval *interval);

/* ---- variance and power
 * ---------------------------------------------------------------------------------------------- */

#define PES_MAX_FACTORS 6

/* Variance components of a complete crossed design with one value per cell, all factors random (Searle,
 * Casella & McCulloch 1992, ch. 4): values[levels[0]][levels[1]]..., component[s] for every set s of factors
 * (bit f = factor f): the interaction of those factors; the full set includes the residual.  component[0] is
 * the grand mean. Negative estimates are cut to 0.  All NaN if a value is missing or a factor has one level.
 */
enum pes_status pes_stat_variance_components(size_t num_factors, const size_t *levels, const double *values,
                                             double *component);

/* Power of a two-sided two-sample t test with n seeds a side at standardised difference d = difference/sd. */
double pes_stat_power(size_t n, double d, double alpha);
/* Smallest n with that power (at least the smallest that can reach alpha in an exact test); 0 if over 1e6 or
 * d is 0 or NaN. */
size_t pes_stat_seeds_needed(double d, double alpha, double power);

/* ---- curves
 * ------------------------------------------------------------------------------------------------------------
 */

/* First step at which the value is >= threshold (falling: <=).  *reached false: the last step with a value.
 */
double pes_stat_steps_to(size_t n, const double *step, const double *value, double threshold, bool falling,
                         bool *reached);

/* ---- tables
 * ----------------------------------------------------------------------------------------------------------------
 */

/* A tidy table: the first line names the columns, every other line is a row. */
struct pes_table {
    size_t num_columns, num_rows;
    char **names; /* [num_columns] */
    char **cells; /* [num_rows][num_columns] */
};

/* Reads comma-separated values (RFC 4180: quotes, doubled quotes, line breaks in quotes; LF or CRLF; BOM
 * allowed; empty lines skipped).  The arena owns the table.  PES_IO if the file can't be read; PES_INPUT with
 * path:line for a row of another length, an open quote, a name given twice or an empty file. */
enum pes_status pes_table_read(const char *path, struct pes_arena *arena, struct pes_table *table);
enum pes_status pes_table_parse(const char *path, const char *text, size_t bytes, struct pes_arena *arena,
                                struct pes_table *table);
/* Number of a column; -1 if there is none. */
long pes_table_find(const struct pes_table *table, const char *name);
/* A column as numbers [num_rows]; a missing value (empty, NA, nan) is NaN.  PES_INPUT naming row and column
 * for any other text, and the nearest name for an unknown column. */
enum pes_status pes_table_numbers(const struct pes_table *table, const char *name, struct pes_arena *arena,
                                  double **numbers);

#endif
