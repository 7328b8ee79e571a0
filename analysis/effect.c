/* effect.c - how large a difference is: Hodges-Lehmann shift and Cliff's delta. */
#include "internal.h"

#include <math.h>
#include <string.h>

/* Largest c with P(U <= c - 1) <= tail without ties: the c-th difference from either end bounds the interval.
 * 0 if the sizes can't reach the level. */
static enum pes_status depth_of(size_t n, size_t m, double tail, size_t *depth)
{
    size_t N = n + m, k = PES_MIN(n, m), largest;
    double *counts, cumulated = 0;
    int64_t *ranks = pes_allocate(N, sizeof *ranks);
    if (!ranks) return PES_MEMORY;
    for (size_t i = 0; i < N; i++)
        ranks[i] = (int64_t)i;
    enum pes_status status = pes_stat_rank_sums(N, ranks, k, &counts, &largest);
    pes_free(ranks);
    if (status != PES_OK) return status;
    *depth = 0;
    if (counts) {
        double allowed = tail * pes_stat_choose(N, k) * (1 + 1e-12);
        size_t least = k * (k - 1) / 2;
        while (least + *depth <= largest && cumulated + counts[least + *depth] <= allowed)
            cumulated += counts[least + (*depth)++];
        pes_free(counts);
    } else {
        double mean = (double)n * (double)m / 2, sd = sqrt((double)n * (double)m * (double)(N + 1) / 12);
        *depth = (size_t)PES_MAX(0, floor(mean + pes_stat_normal_quantile(tail) * sd));
    }
    return PES_OK;
}

/* Doubles and integers in the same order. */
static int64_t order_of(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static double double_of(int64_t order)
{
    int64_t bits = order < 0 ? INT64_MIN - order : order;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* How many of the differences a_i - b_j are <= x; a and b sorted: as a grows, the least b that will do grows.
 */
static size_t count_up_to(size_t n, const double *a, size_t m, const double *b, double x)
{
    size_t count = 0;
    for (size_t i = 0, j = 0; i < n; i++) {
        while (j < m && a[i] - b[j] > x)
            j++;
        count += m - j;
    }
    return count;
}

/* The k-th smallest (from 1) of the nm differences without making them, by bisection over all doubles. */
static double difference_at(size_t n, const double *a, size_t m, const double *b, size_t k)
{
    int64_t low = order_of(a[0] - b[m - 1]), high = order_of(a[n - 1] - b[0]);
    while (low < high) {
        int64_t middle = (low & high) + ((low ^ high) >> 1); /* floor of the mean, without overflow */
        if (count_up_to(n, a, m, b, double_of(middle)) >= k)
            high = middle;
        else
            low = middle + 1;
    }
    return double_of(low);
}

enum pes_status pes_stat_shift(size_t n, const double *a, size_t m, const double *b, double level,
                               struct pes_interval *interval)
{
    *interval = (struct pes_interval){NAN, NAN, NAN, n < 5 || m < 5 ? PES_INTERVAL_SMALL_N : 0};
    size_t depth;
    if (!n || !m || !pes_stat_finite(n, a) || !pes_stat_finite(m, b)) {
        interval->flags |= PES_INTERVAL_NOT_AVAILABLE;
        return PES_OK;
    }
    TRY(depth_of(n, m, (1 - level) / 2, &depth));
    double *sorted = pes_allocate(n + m, sizeof *sorted);
    if (!sorted) return PES_MEMORY;
    double *other = sorted + n;
    memcpy(sorted, a, n * sizeof *sorted);
    memcpy(other, b, m * sizeof *other);
    pes_stat_sort(n, sorted);
    pes_stat_sort(m, other);
    size_t half = n * m / 2;
    interval->estimate = difference_at(n, sorted, m, other, half + 1);
    if (n * m % 2 == 0)
        interval->estimate = (interval->estimate + difference_at(n, sorted, m, other, half)) / 2;
    if (depth) {
        interval->low = difference_at(n, sorted, m, other, depth);
        interval->high = difference_at(n, sorted, m, other, n * m + 1 - depth);
    } else {
        interval->flags |= PES_INTERVAL_NOT_AVAILABLE;
    }
    pes_free(sorted);
    return PES_OK;
}

/* Newcombe 2006, method 5: theta = P(a > b) + P(a = b)/2 is inside as long as
 * |theta^ - theta| <= z sqrt(theta (1 - theta) (1 + s (1 - theta)/(2 - theta) + s theta/(1 + theta)) / (nm)),
 * s = (n + m)/2 - 1. */
static double newcombe(double estimate, double n, double m, double z, double end)
{
    double inside = estimate, outside = end, s = (n + m) / 2 - 1;
    for (int i = 0; i < 100; i++) {
        double theta = (inside + outside) / 2;
        double shape = 1 + s * (1 - theta) / (2 - theta) + s * theta / (1 + theta);
        if (fabs(estimate - theta) <= z * sqrt(theta * (1 - theta) * shape / (n * m)))
            inside = theta;
        else
            outside = theta;
    }
    return (inside + outside) / 2;
}

struct pes_interval pes_stat_cliff(size_t n, const double *a, size_t m, const double *b, double level)
{
    struct pes_interval interval = {NAN, NAN, NAN, n < 5 || m < 5 ? PES_INTERVAL_SMALL_N : 0};
    if (!n || !m || !pes_stat_finite(n, a) || !pes_stat_finite(m, b)) {
        interval.flags |= PES_INTERVAL_NOT_AVAILABLE;
        return interval;
    }
    double more = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            more += (a[i] > b[j]) - (a[i] < b[j]);
    interval.estimate = more / ((double)n * (double)m);
    if (n < 2 || m < 2) {
        interval.flags |= PES_INTERVAL_NOT_AVAILABLE;
        return interval;
    }
    double theta = (1 + interval.estimate) / 2, z = pes_stat_normal_quantile((1 + level) / 2);
    interval.low = 2 * newcombe(theta, (double)n, (double)m, z, 0) - 1;
    interval.high = 2 * newcombe(theta, (double)n, (double)m, z, 1) - 1;
    return interval;
}
