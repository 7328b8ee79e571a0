/* rank.c - midranks, the exact distribution of rank sums, and the Mann-Whitney test. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>

struct place {
    double x;
    size_t i;
};

static int compare(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->x != b->x) return (a->x > b->x) - (a->x < b->x);
    return (a->i > b->i) - (a->i < b->i);
}

/* Midranks from 1: equal values share the mean of their places. */
static enum pes_status midranks(size_t n, const double *x, double *ranks)
{
    if (!pes_stat_finite(n, x)) {
        for (size_t i = 0; i < n; i++)
            ranks[i] = NAN;
        return PES_OK;
    }
    struct place *places = pes_allocate(n, sizeof *places);
    if (!places) return PES_MEMORY;
    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){x[i], i};
    qsort(places, n, sizeof *places, compare);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && places[to].x == places[from].x; to++) {
        }
        for (size_t i = from; i < to; i++)
            ranks[places[i].i] = (double)(from + 1 + to) / 2;
    }
    pes_free(places);
    return PES_OK;
}

/* One thing after another: counts_j(s) += counts_{j-1}(s - rank), j descending so that each is used once. */
enum pes_status pes_stat_rank_sums(size_t n, const int64_t *ranks, size_t k, double **counts, size_t *largest)
{
    int64_t most = 0;
    *counts = NULL;
    *largest = 0;
    for (size_t i = 0; i < n; i++) {
        CHECK(ranks[i] >= 0);
        most = PES_MAX(most, ranks[i]);
    }
    double size = (double)k * (double)most + 1;
    if (size * (double)k * (double)n > 2e8 || n > 1000) return PES_OK;
    size_t width = (size_t)size;
    double *table = pes_allocate((k + 1) * width, sizeof *table);
    if (!table) return PES_MEMORY;
    table[0] = 1;
    for (size_t i = 0; i < n; i++) {
        size_t rank = (size_t)ranks[i];
        for (size_t j = PES_MIN(i + 1, k); j >= 1; j--) {
            double *to = table + j * width;
            const double *from = to - width;
            for (size_t s = rank; s < width; s++)
                to[s] += from[s - rank];
        }
    }
    for (size_t s = 0; s < width; s++)
        table[s] = table[k * width + s];
    *counts = table;
    *largest = width - 1;
    return PES_OK;
}

/* Tail shares of a distribution of doubled rank sums around its mean. */
static void tails(const double *counts, size_t largest, double mean, double seen, enum pes_side side,
                  struct pes_test *test)
{
    double total = 0, extreme = 0, furthest = -INFINITY, at_furthest = 0;
    for (size_t s = 0; s <= largest; s++) {
        if (counts[s] == 0) continue;
        double away = (double)s - mean, far = seen - mean;
        if (side == PES_TWO_SIDED) away = fabs(away), far = fabs(far);
        if (side == PES_LESS) away = -away, far = -far;
        total += counts[s];
        if (away >= far) extreme += counts[s];
        if (away > furthest) furthest = away, at_furthest = 0;
        if (away == furthest) at_furthest += counts[s];
    }
    test->p = extreme / total;
    test->p_smallest = at_furthest / total;
    test->arrangements = total;
    test->exact = true;
}

static enum pes_status mann_whitney(size_t n, size_t m, const double *pooled, double *ranks, int64_t *doubled,
                                    enum pes_side side, const struct pes_resampling *resampling,
                                    struct pes_test *test)
{
    TRY(midranks(n + m, pooled, ranks));
    double sum = 0, *counts;
    size_t largest;
    for (size_t i = 0; i < n + m; i++) {
        doubled[i] = (int64_t)(2 * ranks[i]);
        if (i < n) sum += 2 * ranks[i];
    }
    TRY(pes_stat_rank_sums(n + m, doubled, n, &counts, &largest));
    if (counts)
        tails(counts, largest, (double)n * (double)(n + m + 1), sum, side, test);
    else
        TRY(pes_stat_permutation(n, ranks, m, ranks + n, side, 0, resampling, test));
    pes_free(counts);
    test->statistic = sum / 2 - (double)n * (double)(n + 1) / 2;
    return PES_OK;
}

enum pes_status pes_stat_mann_whitney(size_t n, const double *a, size_t m, const double *b,
                                      enum pes_side side, const struct pes_resampling *resampling,
                                      struct pes_test *test)
{
    *test = (struct pes_test){NAN, NAN, NAN, 0, false};
    if (!n || !m || !pes_stat_finite(n, a) || !pes_stat_finite(m, b)) return PES_OK;
    double *pooled = pes_allocate(2 * (n + m), sizeof *pooled);
    int64_t *doubled = pes_allocate(n + m, sizeof *doubled);
    enum pes_status status = pooled && doubled ? PES_OK : PES_MEMORY;
    if (status == PES_OK) {
        for (size_t i = 0; i < n + m; i++)
            pooled[i] = i < n ? a[i] : b[i - n];
        status = mann_whitney(n, m, pooled, pooled + n + m, doubled, side, resampling, test);
    }
    pes_free(pooled);
    pes_free(doubled);
    return status;
}
