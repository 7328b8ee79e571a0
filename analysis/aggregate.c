/* aggregate.c - intervals of locations, and the aggregates over several tasks of Agarwal et al. 2021. */
#include "internal.h"

#include <math.h>

struct located {
    enum pes_location location;
    const double *a, *b;
    size_t n; /* values of a */
};

static double locate(enum pes_location location, size_t n, double *x)
{
    switch (location) {
    case PES_LOCATION_MEDIAN:
        return pes_stat_median(n, x);
    case PES_LOCATION_IQM:
        return pes_stat_iqm(n, x);
    case PES_LOCATION_MEAN:
        break;
    }
    return pes_stat_mean(n, x);
}

static double location_of(const void *data, const size_t *count, const size_t *index, double *scratch)
{
    const struct located *located = data;
    for (size_t i = 0; i < count[0]; i++)
        scratch[i] = located->a[index[i]];
    return locate(located->location, count[0], scratch);
}

static double difference_of(const void *data, const size_t *count, const size_t *index, double *scratch)
{
    const struct located *located = data;
    double first = location_of(data, count, index, scratch);
    for (size_t i = 0; i < count[1]; i++)
        scratch[i] = located->b[index[count[0] + i] - located->n];
    return first - locate(located->location, count[1], scratch);
}

/* Standard error of the mean of what is left when floor(n/4) sorted values are cut at each end: the
 * winsorised deviation over sqrt(n) times the share that is kept. */
static double iqm_error(size_t n, const double *sorted)
{
    size_t cut = n / 4, kept = n - 2 * cut;
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += sorted[PES_MAX(cut, PES_MIN(i, n - 1 - cut))] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double away = sorted[PES_MAX(cut, PES_MIN(i, n - 1 - cut))] - mean;
        squares += away * away;
    }
    return sqrt(squares / (double)(n - 1)) * sqrt((double)n) / (double)kept;
}

static enum pes_status by_theory(enum pes_location location, size_t n, const double *x, double level,
                                 struct pes_interval *interval)
{
    if (location == PES_LOCATION_MEAN || !pes_stat_finite(n, x)) {
        *interval = pes_stat_t_interval(n, x, level);
        interval->flags |= PES_INTERVAL_THEORY;
        return PES_OK;
    }
    double *sorted = pes_allocate(n, sizeof *sorted), share = (1 + level) / 2;
    if (!sorted) return PES_MEMORY;
    for (size_t i = 0; i < n; i++)
        sorted[i] = x[i];
    pes_stat_sort(n, sorted);
    *interval = (struct pes_interval){locate(location, n, sorted), NAN, NAN, PES_INTERVAL_THEORY};
    if (location == PES_LOCATION_MEDIAN) {
        /* Fewer than k of n values fall below the median with a probability of (1 - level)/2 at most. */
        double k = floor(((double)n - pes_stat_normal_quantile(share) * sqrt((double)n)) / 2);
        interval->low = sorted[(size_t)k - 1];
        interval->high = sorted[n - (size_t)k];
    } else {
        double reach = pes_stat_t_quantile(share, (double)(n - 2 * (n / 4) - 1)) * iqm_error(n, sorted);
        interval->low = interval->estimate - reach;
        interval->high = interval->estimate + reach;
    }
    pes_free(sorted);
    return PES_OK;
}

static struct pes_interval welch(size_t n, const double *a, size_t m, const double *b, double level)
{
    double sa = pes_stat_sd(n, a), sb = pes_stat_sd(m, b);
    double va = sa * sa / (double)n, vb = sb * sb / (double)m;
    double freedom = (va + vb) * (va + vb) / (va * va / (double)(n - 1) + vb * vb / (double)(m - 1));
    double difference = pes_stat_mean(n, a) - pes_stat_mean(m, b);
    double reach = va + vb > 0 ? pes_stat_t_quantile((1 + level) / 2, freedom) * sqrt(va + vb) : 0;
    return (struct pes_interval){difference, difference - reach, difference + reach, PES_INTERVAL_THEORY};
}

enum pes_status pes_stat_location_interval(enum pes_location location, size_t n, const double *x,
                                           const struct pes_resampling *resampling,
                                           struct pes_interval *interval)
{
    if (n > PES_STAT_MANY) return by_theory(location, n, x, resampling->level, interval);
    struct located located = {location, x, NULL, n};
    return pes_stat_bootstrap(location_of, &located, 1, &n, n, resampling, interval);
}

enum pes_status pes_stat_difference_interval(enum pes_location location, size_t n, const double *a, size_t m,
                                             const double *b, const struct pes_resampling *resampling,
                                             struct pes_interval *interval)
{
    if (PES_MIN(n, m) > PES_STAT_MANY && location == PES_LOCATION_MEAN) {
        *interval = welch(n, a, m, b, resampling->level);
        return PES_OK;
    }
    struct located located = {location, a, b, n};
    size_t count[2] = {n, m};
    return pes_stat_bootstrap(difference_of, &located, 2, count, PES_MAX(n, m), resampling, interval);
}

struct runs {
    size_t num_tasks, total;
    const double *x;
    double level;
};

static double iqm_of(const void *data, const size_t *count, const size_t *index, double *scratch)
{
    const struct runs *runs = data;
    size_t n = 0;
    for (size_t t = 0; t < runs->num_tasks; t++)
        for (size_t i = 0; i < count[t]; i++, n++)
            scratch[n] = runs->x[index[n]];
    return pes_stat_iqm(n, scratch);
}

static double share_above(const void *data, const size_t *count, const size_t *index, double *scratch)
{
    const struct runs *runs = data;
    size_t n = 0;
    double above = 0;
    (void)scratch;
    for (size_t t = 0; t < runs->num_tasks; t++)
        for (size_t i = 0; i < count[t]; i++, n++) {
            if (isnan(runs->x[index[n]])) return NAN;
            above += runs->x[index[n]] > runs->level;
        }
    return n ? above / (double)n : NAN;
}

/* A share by theory: the stratified bootstrap's variance is that of independent binomials, a normal
 * distribution where there are many runs. */
static struct pes_interval share_by_theory(const struct runs *runs, const size_t *count, double level)
{
    double variance = 0, total = (double)runs->total, above = 0;
    for (size_t t = 0, i = 0; t < runs->num_tasks; t++) {
        double n = (double)count[t], here = 0;
        for (size_t end = i + count[t]; i < end; i++) {
            if (isnan(runs->x[i])) return (struct pes_interval){NAN, NAN, NAN, PES_INTERVAL_NOT_AVAILABLE};
            here += runs->x[i] > runs->level;
        }
        if (count[t]) variance += here * (n - here) / n;
        above += here;
    }
    double share = above / total, reach = pes_stat_normal_quantile((1 + level) / 2) * sqrt(variance) / total;
    return (struct pes_interval){share, PES_MAX(0, share - reach), PES_MIN(1, share + reach),
                                 PES_INTERVAL_THEORY};
}

static size_t total_of(size_t num_tasks, const size_t *count)
{
    size_t total = 0;
    for (size_t t = 0; t < num_tasks; t++)
        total += count[t];
    return total;
}

enum pes_status pes_stat_iqm_stratified(size_t num_tasks, const size_t *count, const double *x,
                                        const struct pes_resampling *resampling,
                                        struct pes_interval *interval)
{
    struct runs runs = {num_tasks, total_of(num_tasks, count), x, 0};
    struct pes_resampling percentile = *resampling;
    percentile.percentile = true;
    return pes_stat_bootstrap(iqm_of, &runs, num_tasks, count, runs.total, &percentile, interval);
}

enum pes_status pes_stat_profile(size_t num_tasks, const size_t *count, const double *x, size_t num_levels,
                                 const double *levels, const struct pes_resampling *resampling,
                                 struct pes_interval *profile)
{
    struct runs runs = {num_tasks, total_of(num_tasks, count), x, 0};
    struct pes_resampling percentile = *resampling;
    percentile.percentile = true;
    for (size_t i = 0; i < num_levels; i++) {
        runs.level = levels[i];
        if (runs.total > PES_STAT_MANY) {
            profile[i] = share_by_theory(&runs, count, resampling->level);
            continue;
        }
        TRY(pes_stat_bootstrap(share_above, &runs, num_tasks, count, 0, &percentile, &profile[i]));
    }
    return PES_OK;
}

/* Groups are task 0 of a, task 0 of b, task 1 of a, ...: place[g] is where group g's values start in its
 * array. */
struct pairs {
    size_t num_tasks;
    const double *a, *b;
    const size_t *shift; /* [2 num_tasks]: element number - shift = place in a or b */
};

static double improvement_of(const void *data, const size_t *count, const size_t *index, double *scratch)
{
    const struct pairs *pairs = data;
    double sum = 0;
    (void)scratch;
    for (size_t t = 0; t < pairs->num_tasks; t++) {
        size_t n = count[2 * t], m = count[2 * t + 1];
        double better = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m; j++) {
                double a = pairs->a[index[i] - pairs->shift[2 * t]];
                double b = pairs->b[index[n + j] - pairs->shift[2 * t + 1]];
                if (isnan(a) || isnan(b)) return NAN;
                better += a > b ? 1 : a == b ? 0.5 : 0;
            }
        sum += better / ((double)n * (double)m);
        index += n + m;
    }
    return sum / (double)pairs->num_tasks;
}

enum pes_status pes_stat_improvement(size_t num_tasks, const size_t *count_a, const double *a,
                                     const size_t *count_b, const double *b,
                                     const struct pes_resampling *resampling, struct pes_interval *interval)
{
    size_t *count = pes_allocate(4 * num_tasks, sizeof *count);
    if (!count) return PES_MEMORY;
    size_t *shift = count + 2 * num_tasks, in_a = 0, in_b = 0;
    for (size_t t = 0; t < num_tasks; t++) {
        count[2 * t] = count_a[t];
        count[2 * t + 1] = count_b[t];
        /* Elements are numbered through both arrays in turn, so each array lags by what the other had before.
         */
        shift[2 * t] = in_b;
        in_a += count_a[t];
        shift[2 * t + 1] = in_a;
        in_b += count_b[t];
    }
    struct pairs pairs = {num_tasks, a, b, shift};
    struct pes_resampling percentile = *resampling;
    percentile.percentile = true;
    enum pes_status status =
        pes_stat_bootstrap(improvement_of, &pairs, 2 * num_tasks, count, 0, &percentile, interval);
    pes_free(count);
    return status;
}
