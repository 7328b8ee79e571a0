/* permutation.c - permutation and sign-flip tests whose ties are ties.
 *
 * 0.1 + 0.2 and 0.3 are one number on paper and two in binary, and a sum depends on its order.  So values go
 * onto an integer grid of up to 2^-48 of their range: sums are exact and free of order, and two arrangements
 * count as equal when they differ by no more than the rounding of the values can explain. */
#include "internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* q[i] = (x[i] - origin) in grid units, |q| <= 2^bits; returns the largest error of one q, rounding included.
 */
static double to_grid(size_t n, const double *x, double origin, double rounding, int bits, int64_t *q)
{
    double range = 0, size = fabs(origin);
    int exponent;
    for (size_t i = 0; i < n; i++) {
        range = PES_MAX(range, fabs(x[i] - origin));
        size = PES_MAX(size, fabs(x[i]));
    }
    if (range == 0) range = DBL_MIN;
    (void)frexp(range, &exponent);
    for (size_t i = 0; i < n; i++)
        q[i] = llrint(ldexp(x[i] - origin, bits - exponent));
    return 1 + ldexp(2 * PES_MAX(rounding, DBL_EPSILON) * size, bits - exponent);
}

/* Bits left for a value when sums of n^2 of them stay below 2^61. */
static int grid_bits(size_t n)
{
    int exponent;
    (void)frexp((double)n, &exponent);
    return PES_MIN(48, 61 - 2 * exponent);
}

/* Whole grid units, and never so many that adding them to a sum overflows. */
static int64_t slack_of(double units)
{
    return (int64_t)PES_MIN(ceil(units), 4e18);
}

/* Counts arrangements at least as extreme as the one seen, and those as extreme as any. */
struct tally {
    enum pes_side side;
    int64_t seen, slack; /* in units of the side: larger = more extreme */
    int64_t furthest;
    double total, extreme, at_furthest;
};

static int64_t extremeness(enum pes_side side, int64_t sum)
{
    if (side == PES_LESS) return -sum;
    return side == PES_TWO_SIDED && sum < 0 ? -sum : sum;
}

static void count_one(struct tally *tally, int64_t sum)
{
    int64_t far = extremeness(tally->side, sum);
    tally->total++;
    tally->extreme += far >= tally->seen - tally->slack;
    if (far > tally->furthest + tally->slack) tally->at_furthest = 0;
    if (far > tally->furthest) tally->furthest = far;
    tally->at_furthest += far >= tally->furthest - tally->slack;
}

static void finish_exact(const struct tally *tally, struct pes_test *test)
{
    test->p = tally->extreme / tally->total;
    test->p_smallest = tally->at_furthest / tally->total;
    test->arrangements = tally->total;
    test->exact = true;
}

/* All k-subsets of c[n] in lexicographic order; sums[j] = sum of the first j members. */
static void enumerate_subsets(size_t n, size_t k, const int64_t *c, uint32_t *member, int64_t *sums,
                              struct tally *tally)
{
    for (size_t j = 0; j < k; j++) {
        member[j] = (uint32_t)j;
        sums[j + 1] = sums[j] + c[j];
    }
    for (;;) {
        for (; member[k - 1] < n; member[k - 1]++)
            count_one(tally, sums[k - 1] + c[member[k - 1]]);
        size_t j = k - 1;
        while (j > 0 && member[j - 1] == n - k + j - 1)
            j--;
        if (j == 0) return;
        uint32_t next = member[j - 1] + 1;
        for (j--; j < k; j++) {
            member[j] = next++;
            sums[j + 1] = sums[j] + c[member[j]];
        }
    }
}

/* The k-subset of a resample, place[0 .. k-1]: the front of a partial Fisher-Yates shuffle of place[n]. */
static void draw_subset(size_t n, size_t k, const struct pes_resampling *resampling, size_t resample,
                        uint32_t *place)
{
    struct pes_stream stream = pes_stat_stream(resampling, resample);
    for (size_t i = 0; i < n; i++)
        place[i] = (uint32_t)i;
    for (size_t i = 0; i < k; i++) {
        size_t j = i + (size_t)pes_stream_below(&stream, n - i);
        uint32_t chosen = place[j];
        place[j] = place[i];
        place[i] = chosen;
    }
}

enum pes_status pes_stat_subsets_create(size_t n, size_t k, const struct pes_resampling *resampling,
                                        struct pes_subsets *subsets)
{
    enum { MOST_BYTES = 64 << 20 };
    *subsets = (struct pes_subsets){n, k, resampling->resamples, resampling->seed, NULL};
    if (pes_stat_choose(n, k) <= PES_MOST_ARRANGEMENTS ||
        (double)k * (double)resampling->resamples * sizeof *subsets->member > MOST_BYTES)
        return PES_OK;
    uint32_t *places = pes_allocate((size_t)pes_stat_threads() * n, sizeof *places);
    subsets->member = pes_allocate(k * resampling->resamples, sizeof *subsets->member);
    if (places && subsets->member) {
#pragma omp parallel for schedule(static) if (resampling->resamples * n > PES_STAT_WORTH_THREADS)
        for (size_t r = 0; r < resampling->resamples; r++) {
            uint32_t *place = places + pes_stat_thread() * n;
            draw_subset(n, k, resampling, r, place);
            memcpy(subsets->member + r * k, place, k * sizeof *place);
        }
    } else {
        pes_stat_subsets_destroy(subsets);
    }
    pes_free(places);
    return subsets->member ? PES_OK : PES_MEMORY;
}

void pes_stat_subsets_destroy(struct pes_subsets *subsets)
{
    pes_free(subsets->member);
    subsets->member = NULL;
}

/* Those drawn beforehand, if they are what this test would draw. */
static const uint32_t *known_subsets(size_t n, size_t k, const struct pes_resampling *resampling)
{
    const struct pes_subsets *known = resampling->subsets;
    bool same = known && known->n == n && known->k == k && known->resamples == resampling->resamples &&
                known->seed == resampling->seed;
    return same ? known->member : NULL;
}

static double draw_subsets(size_t n, size_t k, const int64_t *c, uint32_t *places,
                           const struct pes_resampling *resampling, const struct tally *tally)
{
    const uint32_t *known = known_subsets(n, k, resampling);
    size_t extreme = 0;
#pragma omp parallel for schedule(static) reduction(+ : extreme) if (resampling->resamples * n > PES_STAT_WORTH_THREADS)
    for (size_t r = 0; r < resampling->resamples; r++) {
        uint32_t *place = places + pes_stat_thread() * n;
        const uint32_t *member = known ? known + r * k : place;
        int64_t sum = 0;
        if (!known) draw_subset(n, k, resampling, r, place);
        for (size_t i = 0; i < k; i++)
            sum += c[member[i]];
        extreme += extremeness(tally->side, sum) >= tally->seen - tally->slack;
    }
    return (double)extreme;
}

static void finish_drawn(double extreme, size_t drawn, struct pes_test *test)
{
    test->p = (extreme + 1) / ((double)drawn + 1);
    test->p_smallest = 1 / ((double)drawn + 1);
    test->arrangements = (double)drawn;
    test->exact = false;
}

/* Sum over a of n q_i - sum q: zero on average, and proportional to the difference of means. */
static void permute(size_t n, size_t m, int64_t *c, double error, uint32_t *member, int64_t *sums,
                    enum pes_side side, const struct pes_resampling *resampling, struct pes_test *test)
{
    size_t N = n + m;
    int64_t total = 0, seen = 0;
    for (size_t i = 0; i < N; i++)
        total += c[i];
    for (size_t i = 0; i < N; i++) {
        c[i] = (int64_t)N * c[i] - total;
        if (i < n) seen += c[i];
    }
    struct tally tally = {side, extremeness(side, seen), 0, INT64_MIN / 2, 0, 0, 0};
    tally.slack = slack_of(4 * (double)n * (double)m * error);
    if (pes_stat_choose(N, n) <= PES_MOST_ARRANGEMENTS) {
        /* The smaller side is enumerated; its sum is minus the other's. */
        if (n > m) tally.side = side == PES_GREATER ? PES_LESS : side == PES_LESS ? PES_GREATER : side;
        enumerate_subsets(N, PES_MIN(n, m), c, member, sums, &tally);
        finish_exact(&tally, test);
    } else {
        finish_drawn(draw_subsets(N, n, c, member, resampling, &tally), resampling->resamples, test);
    }
}

enum pes_status pes_stat_permutation(size_t n, const double *a, size_t m, const double *b, enum pes_side side,
                                     double rounding, const struct pes_resampling *resampling,
                                     struct pes_test *test)
{
    size_t N = n + m;
    *test = (struct pes_test){pes_stat_mean(n, a) - pes_stat_mean(m, b), NAN, NAN, 0, false};
    if (isnan(test->statistic) || N > 1000000) return PES_OK;
    double *pooled = pes_allocate(N, sizeof *pooled);
    int64_t *c = pes_allocate(2 * N + 1, sizeof *c);
    uint32_t *member = pes_allocate((size_t)pes_stat_threads() * N, sizeof *member);
    enum pes_status status = pooled && c && member ? PES_OK : PES_MEMORY;
    if (status == PES_OK) {
        for (size_t i = 0; i < N; i++)
            pooled[i] = i < n ? a[i] : b[i - n];
        double error = to_grid(N, pooled, pooled[0], rounding, grid_bits(N), c);
        permute(n, m, c, error, member, c + N, side, resampling, test);
    }
    pes_free(pooled);
    pes_free(c);
    pes_free(member);
    return status;
}

/* All 2^n signs by Gray code: one sign changes at a time. */
static void enumerate_signs(size_t n, const int64_t *q, struct tally *tally)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += q[i];
    count_one(tally, sum);
    for (uint64_t code = 1; code < (uint64_t)1 << n; code++) {
        size_t bit = 0;
        while (!(code >> bit & 1))
            bit++;
        bool negative = !((code ^ code >> 1) >> bit & 1);
        sum += negative ? 2 * q[bit] : -2 * q[bit];
        count_one(tally, sum);
    }
}

static double draw_signs(size_t n, const int64_t *q, const struct pes_resampling *resampling,
                         const struct tally *tally)
{
    size_t extreme = 0;
#pragma omp parallel for schedule(static) reduction(+ : extreme) if (resampling->resamples * n > PES_STAT_WORTH_THREADS)
    for (size_t r = 0; r < resampling->resamples; r++) {
        struct pes_stream stream = pes_stat_stream(resampling, r);
        int64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t words[4];
            pes_rng_words(&stream.rng, i / 128, words);
            sum += words[i / 32 % 4] >> i % 32 & 1 ? -q[i] : q[i];
        }
        extreme += extremeness(tally->side, sum) >= tally->seen - tally->slack;
    }
    return (double)extreme;
}

enum pes_status pes_stat_sign_flip(size_t n, const double *a, const double *b, enum pes_side side,
                                   double rounding, const struct pes_resampling *resampling,
                                   struct pes_test *test)
{
    *test = (struct pes_test){NAN, NAN, NAN, 0, false};
    if (!n || n > 1000000 || !pes_stat_finite(n, a) || !pes_stat_finite(n, b)) return PES_OK;
    double *difference = pes_allocate(n, sizeof *difference), size = 0;
    int64_t *q = pes_allocate(n, sizeof *q), seen = 0;
    enum pes_status status = difference && q ? PES_OK : PES_MEMORY;
    if (status == PES_OK) {
        double range = 0;
        for (size_t i = 0; i < n; i++) {
            difference[i] = a[i] - b[i];
            range = PES_MAX(range, fabs(difference[i]));
            size = PES_MAX(size, PES_MAX(fabs(a[i]), fabs(b[i])));
        }
        test->statistic = pes_stat_mean(n, difference);
        /* The difference carries the rounding of the values it is made of, not of itself. */
        double relative = range > 0 ? 2 * PES_MAX(rounding, DBL_EPSILON) * size / range : 0;
        double error = to_grid(n, difference, 0, relative, grid_bits(n), q);
        for (size_t i = 0; i < n; i++)
            seen += q[i];
        struct tally tally = {side, extremeness(side, seen), 0, INT64_MIN / 2, 0, 0, 0};
        tally.slack = slack_of(2 * (double)n * error);
        if (ldexp(1, (int)n) <= PES_MOST_ARRANGEMENTS) {
            enumerate_signs(n, q, &tally);
            finish_exact(&tally, test);
        } else {
            finish_drawn(draw_signs(n, q, resampling, &tally), resampling->resamples, test);
        }
    }
    pes_free(difference);
    pes_free(q);
    return status;
}
