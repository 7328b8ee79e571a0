/* describe.c - location and spread of a list of numbers. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>

bool pes_stat_finite(size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

size_t pes_stat_compact(size_t n, double *x)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) x[kept++] = x[i];
    return kept;
}

/* Two passes: the second takes out what rounding left of the first. */
double pes_stat_mean(size_t n, const double *x)
{
    if (!n || !pes_stat_finite(n, x)) return NAN;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    double mean = sum / (double)n, rest = 0;
    for (size_t i = 0; i < n; i++)
        rest += x[i] - mean;
    return mean + rest / (double)n;
}

double pes_stat_sd(size_t n, const double *x)
{
    if (n < 2) return NAN;
    double mean = pes_stat_mean(n, x), squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return sqrt(squares / (double)(n - 1));
}

/* NaN last, so that the order is total whatever comes. */
static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

/* Shell's sort with Ciura's gaps: resamples are short, and sorting them is most of what an interval costs. */
static void sort_short(size_t n, double *x)
{
    static const size_t gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < PES_COUNT(gaps); g++)
        for (size_t gap = gaps[g], i = gap; i < n; i++) {
            double value = x[i];
            size_t j = i;
            for (; j >= gap && x[j - gap] > value; j -= gap)
                x[j] = x[j - gap];
            x[j] = value;
        }
}

void pes_stat_sort(size_t n, double *x)
{
    enum { SHORT = 2000 };
    if (n > SHORT) {
        qsort(x, n, sizeof *x, compare);
        return;
    }
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        double value = x[i];
        if (isnan(value)) continue;
        x[i] = x[known];
        x[known++] = value;
    }
    sort_short(known, x);
}

double pes_stat_quantile_sorted(size_t n, const double *sorted, double share)
{
    if (!n || isnan(sorted[n - 1]) || !(share >= 0 && share <= 1)) return NAN;
    double place = share * (double)(n - 1);
    size_t below = (size_t)floor(place);
    size_t above = PES_MIN(below + 1, n - 1);
    double part = place - (double)below;
    /* Equal neighbours first: infinite ones must not be subtracted. */
    if (part == 0 || sorted[below] == sorted[above]) return sorted[below];
    return sorted[below] + part * (sorted[above] - sorted[below]);
}

double pes_stat_median(size_t n, double *x)
{
    if (!n || !pes_stat_finite(n, x)) return NAN;
    pes_stat_sort(n, x);
    return n % 2 ? x[n / 2] : x[n / 2 - 1] + (x[n / 2] - x[n / 2 - 1]) / 2;
}

double pes_stat_iqm(size_t n, double *x)
{
    if (!n || !pes_stat_finite(n, x)) return NAN;
    pes_stat_sort(n, x);
    return pes_stat_mean(n - 2 * (n / 4), x + n / 4);
}

struct pes_interval pes_stat_t_interval(size_t n, const double *x, double level)
{
    struct pes_interval interval = {pes_stat_mean(n, x), NAN, NAN, n < 5 ? PES_INTERVAL_SMALL_N : 0};
    if (n < 2 || isnan(interval.estimate)) {
        interval.flags |= PES_INTERVAL_NOT_AVAILABLE;
        return interval;
    }
    double half = pes_stat_t_quantile((1 + level) / 2, (double)(n - 1)) * pes_stat_sd(n, x) / sqrt((double)n);
    interval.low = interval.estimate - half;
    interval.high = interval.estimate + half;
    return interval;
}
