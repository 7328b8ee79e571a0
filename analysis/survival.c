/* survival.c - steps to a threshold when some runs never get there.
 *
 * A run that hasn't reached the threshold by its last step is censored there: it is neither dropped nor
 * counted as if it had arrived.  Kaplan & Meier 1958; log-rank scores and their permutation: Peto & Peto
 * 1972. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>

struct member {
    double time;
    bool reached;
};

/* Arrivals before censorings of the same time: who is censored at t was still under way at t. */
static int compare(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->time != b->time) return (a->time > b->time) - (a->time < b->time);
    return (int)b->reached - (int)a->reached;
}

/* Median of sorted members: where the curve falls below 1/2, or the midpoint of the stretch at exactly 1/2.
 * The product over event times of (1 - d/n) is kept as a fraction of whole numbers where nobody is censored
 * in between, so that 1/2 is met exactly. */
static bool median_of(size_t n, const struct member *sorted, double *median)
{
    double share = 1, half = NAN; /* half: time at which exactly 1/2 was reached */
    size_t at_risk_start = n;     /* at risk when the present product began */
    double share_start = 1;
    for (size_t i = 0; i < n;) {
        double time = sorted[i].time;
        size_t events = 0, j = i;
        for (; j < n && sorted[j].time == time; j++)
            events += sorted[j].reached;
        if (events) {
            if (!isnan(half)) {
                *median = (half + time) / 2;
                return true;
            }
            share = share_start * (double)(n - i - events) / (double)at_risk_start;
            if (share < 0.5 - 1e-12) {
                *median = time;
                return true;
            }
            if (share <= 0.5 + 1e-12) half = time;
        }
        if (j - i > events) { /* the denominator changes: a new product begins */
            share_start = share;
            at_risk_start = n - j;
        }
        i = j;
    }
    /* Flat at 1/2 to the end: the median lies at or after `half`; else after the last time. */
    *median = !isnan(half) ? half : n ? sorted[n - 1].time : NAN;
    return false;
}

static bool usable(const struct pes_survival *survival)
{
    return survival->n && pes_stat_finite(survival->n, survival->time);
}

static void sort_members(size_t n, struct member *members)
{
    qsort(members, n, sizeof *members, compare);
}

static enum pes_status sorted_members(const struct pes_survival *survival, struct member **members)
{
    *members = pes_allocate(survival->n, sizeof **members);
    if (!*members) return PES_MEMORY;
    for (size_t i = 0; i < survival->n; i++)
        (*members)[i] = (struct member){survival->time[i], survival->reached[i]};
    sort_members(survival->n, *members);
    return PES_OK;
}

enum pes_status pes_stat_survival_median(const struct pes_survival *survival, double *median, bool *found)
{
    struct member *members;
    *median = NAN;
    *found = false;
    if (!usable(survival)) return PES_OK;
    TRY(sorted_members(survival, &members));
    *found = median_of(survival->n, members, median);
    pes_free(members);
    return PES_OK;
}

enum pes_status pes_stat_survival_curve(const struct pes_survival *survival, size_t *num_steps, double *time,
                                        double *share)
{
    struct member *members;
    *num_steps = 0;
    if (!usable(survival)) return PES_OK;
    TRY(sorted_members(survival, &members));
    double left = 1;
    for (size_t i = 0, j; i < survival->n; i = j) {
        size_t events = 0;
        for (j = i; j < survival->n && members[j].time == members[i].time; j++)
            events += members[j].reached;
        if (!events) continue;
        left *= 1 - (double)events / (double)(survival->n - i);
        time[*num_steps] = members[i].time;
        share[(*num_steps)++] = left;
    }
    pes_free(members);
    return PES_OK;
}

/* Score of a member: arrived (0 or 1) less the Nelson-Aalen hazard sum d/n up to its time.  Their sum over a
 * group is the group's observed less expected arrivals. */
static void log_rank_scores(size_t n, const double *time, const bool *reached, const struct member *sorted,
                            double *score)
{
    for (size_t k = 0; k < n; k++) {
        double hazard = 0;
        for (size_t i = 0, j; i < n && sorted[i].time <= time[k]; i = j) {
            size_t events = 0;
            for (j = i; j < n && sorted[j].time == sorted[i].time; j++)
                events += sorted[j].reached;
            hazard += (double)events / (double)(n - i);
        }
        score[k] = (reached[k] ? 1 : 0) - hazard;
    }
}

enum pes_status pes_stat_log_rank(const struct pes_survival *a, const struct pes_survival *b,
                                  enum pes_side side, const struct pes_resampling *resampling,
                                  struct pes_test *test)
{
    size_t n = a->n, m = b->n, N = n + m;
    *test = (struct pes_test){NAN, NAN, NAN, 0, false};
    if (!usable(a) || !usable(b)) return PES_OK;
    double *time = pes_allocate(2 * N, sizeof *time), *score = time ? time + N : NULL;
    bool *reached = pes_allocate(N, sizeof *reached);
    struct member *members = NULL;
    enum pes_status status = time && reached ? PES_OK : PES_MEMORY;
    if (status != PES_OK) goto done;
    for (size_t i = 0; i < N; i++) {
        time[i] = i < n ? a->time[i] : b->time[i - n];
        reached[i] = i < n ? a->reached[i] : b->reached[i - n];
    }
    status = sorted_members(&(struct pes_survival){N, time, reached}, &members);
    if (status != PES_OK) goto done;
    log_rank_scores(N, time, reached, members, score);
    /* Later arrivals have lower scores. */
    enum pes_side flipped = side == PES_GREATER ? PES_LESS : side == PES_LESS ? PES_GREATER : side;
    status = pes_stat_permutation(n, score, m, score + n, flipped, 0, resampling, test);
    test->statistic = pes_stat_mean(n, score) * (double)n;
done:
    pes_free(time);
    pes_free(reached);
    pes_free(members);
    return status;
}

/* The ratio, with what censoring hides taken at its lowest (upper false) or highest value. */
struct ratio {
    const struct pes_survival *a, *b;
    bool upper;
};

static double ratio_of(const void *data, const size_t *count, const size_t *index, double *scratch)
{
    const struct ratio *ratio = data;
    struct member *members = (struct member *)(void *)scratch;
    double median[2];
    bool found[2];
    for (int g = 0; g < 2; g++) {
        const struct pes_survival *survival = g ? ratio->b : ratio->a;
        size_t before = g ? ratio->a->n : 0, *n = &(size_t){count[g]};
        for (size_t i = 0; i < *n; i++) {
            size_t k = index[(g ? count[0] : 0) + i] - before;
            members[i] = (struct member){survival->time[k], survival->reached[k]};
        }
        sort_members(*n, members);
        found[g] = median_of(*n, members, &median[g]);
    }
    if (!found[0] && ratio->upper) return INFINITY;
    if (!found[1] && !ratio->upper) return 0;
    return median[1] > 0 ? median[0] / median[1] : NAN;
}

enum pes_status pes_stat_median_ratio(const struct pes_survival *a, const struct pes_survival *b,
                                      const struct pes_resampling *resampling, struct pes_interval *interval)
{
    double median[2];
    bool found[2];
    *interval = (struct pes_interval){NAN, NAN, NAN, PES_INTERVAL_NOT_AVAILABLE};
    TRY(pes_stat_survival_median(a, &median[0], &found[0]));
    TRY(pes_stat_survival_median(b, &median[1], &found[1]));
    if (!usable(a) || !usable(b) || !(median[1] > 0)) return PES_OK;

    size_t count[2] = {a->n, b->n};
    struct pes_resampling percentile = *resampling;
    percentile.percentile = true;
    struct ratio ratio = {a, b, false};
    struct pes_interval upper;
    size_t scratch = PES_MAX(a->n, b->n) * sizeof(struct member) / sizeof(double);
    TRY(pes_stat_bootstrap(ratio_of, &ratio, 2, count, scratch, &percentile, interval));
    ratio.upper = true;
    TRY(pes_stat_bootstrap(ratio_of, &ratio, 2, count, scratch, &percentile, &upper));
    interval->high = upper.high;
    interval->flags |= upper.flags;
    interval->estimate = median[0] / median[1];
    if (!found[0] && !found[1]) interval->estimate = NAN;
    if (!found[0]) interval->flags |= PES_INTERVAL_AT_LEAST;
    if (!found[1]) interval->flags |= PES_INTERVAL_AT_MOST;
    return PES_OK;
}
