/* bootstrap.c - one engine for every interval by resampling.
 *
 * Resample r draws its elements from the counter (seed, statistics, r), so replicate r doesn't depend on the
 * thread that makes it; the replicates are sorted before anything is read off them. */
#include "internal.h"

#include <math.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

int pes_stat_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

size_t pes_stat_thread(void)
{
#ifdef _OPENMP
    return (size_t)omp_get_thread_num();
#else
    return 0;
#endif
}

struct pes_stream pes_stat_stream(const struct pes_resampling *resampling, size_t resample)
{
    return (struct pes_stream){{resampling->seed, PES_RNG_STATISTICS, (uint32_t)resample}, 0};
}

struct problem {
    pes_statistic *statistic;
    const void *data;
    size_t num_groups, total;
    const size_t *count;
};

static void draw(const struct problem *problem, struct pes_stream *stream, size_t *index)
{
    size_t first = 0;
    for (size_t g = 0; g < problem->num_groups; g++) {
        for (size_t i = 0; i < problem->count[g]; i++)
            index[first + i] = first + (size_t)pes_stream_below(stream, problem->count[g]);
        first += problem->count[g];
    }
}

static double whole(const struct problem *problem, size_t *index, double *scratch)
{
    for (size_t i = 0; i < problem->total; i++)
        index[i] = i;
    return problem->statistic(problem->data, problem->count, index, scratch);
}

/* Acceleration by the jackknife, every element left out in turn:
 * sum_g sum_i (u_gi/n_g)^3 / (6 (sum_g sum_i (u_gi/n_g)^2)^(3/2)), u_gi = (n_g - 1)(mean_g - value without
 * i). `count` and `index` are scratch.  NaN if it is undefined. */
static double acceleration(const struct problem *problem, size_t *count, size_t *index, double *without,
                           double *scratch)
{
    double cubes = 0, squares = 0;
    memcpy(count, problem->count, problem->num_groups * sizeof *count);
    for (size_t g = 0, first = 0; g < problem->num_groups; first += problem->count[g++]) {
        size_t n = problem->count[g];
        if (n < 2) return NAN;
        count[g]--;
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0, to = 0; j < problem->total; j++)
                if (j != first + i) index[to++] = j;
            without[i] = problem->statistic(problem->data, count, index, scratch);
        }
        count[g]++;
        double mean = pes_stat_mean(n, without);
        for (size_t i = 0; i < n; i++) {
            double u = (double)(n - 1) * (mean - without[i]) / (double)n;
            squares += u * u;
            cubes += u * u * u;
        }
    }
    return squares > 0 ? cubes / (6 * squares * sqrt(squares)) : NAN;
}

/* Shares of the sorted replicates at which a BCa interval ends; false if it is undefined. */
static bool bca_shares(double estimate, size_t made, const double *sorted, double a, double level,
                       double share[2])
{
    double below = 0;
    for (size_t r = 0; r < made; r++)
        below += sorted[r] < estimate ? 1 : sorted[r] == estimate ? 0.5 : 0;
    double bias = pes_stat_normal_quantile(below / (double)made);
    if (!isfinite(a) || !isfinite(bias) || sorted[0] == sorted[made - 1]) return false;
    for (int side = 0; side < 2; side++) {
        double z = bias + pes_stat_normal_quantile(side ? (1 + level) / 2 : (1 - level) / 2);
        if (1 - a * z <= 0) return false;
        share[side] = pes_stat_normal_cdf(bias + z / (1 - a * z));
    }
    return true;
}

static void read_interval(const struct problem *problem, const struct pes_resampling *resampling, size_t made,
                          const double *sorted, double a, struct pes_interval *interval)
{
    if (!made) {
        interval->flags |= PES_INTERVAL_NOT_AVAILABLE;
        return;
    }
    for (size_t g = 0; g < problem->num_groups; g++)
        if (problem->count[g] < 5) interval->flags |= PES_INTERVAL_SMALL_N;
    double share[2] = {(1 - resampling->level) / 2, (1 + resampling->level) / 2};
    if (!resampling->percentile && !bca_shares(interval->estimate, made, sorted, a, resampling->level, share))
        interval->flags |= PES_INTERVAL_PERCENTILE;
    interval->low = pes_stat_quantile_sorted(made, sorted, share[0]);
    interval->high = pes_stat_quantile_sorted(made, sorted, share[1]);
}

enum pes_status pes_stat_bootstrap(pes_statistic *statistic, const void *data, size_t num_groups,
                                   const size_t *count, size_t scratch,
                                   const struct pes_resampling *resampling, struct pes_interval *interval)
{
    struct problem problem = {statistic, data, num_groups, 0, count};
    size_t most = 0;
    bool alone = false;
    for (size_t g = 0; g < num_groups; g++) {
        problem.total += count[g];
        most = PES_MAX(most, count[g]);
        alone |= count[g] < 2;
    }
    size_t threads = (size_t)pes_stat_threads(), total = problem.total, B = resampling->resamples;
    size_t *index = pes_allocate(threads * total, sizeof *index);
    size_t *fewer = pes_allocate(num_groups, sizeof *fewer);
    double *room = pes_allocate(threads * PES_MAX(scratch, 1), sizeof *room);
    double *replicate = pes_allocate(PES_MAX(B, most), sizeof *replicate);
    enum pes_status status = index && fewer && room && replicate ? PES_OK : PES_MEMORY;
    if (status != PES_OK) goto done;

    *interval = (struct pes_interval){whole(&problem, index, room), NAN, NAN, 0};
    if (!total || alone || isnan(interval->estimate)) {
        interval->flags = PES_INTERVAL_NOT_AVAILABLE;
        goto done;
    }
    double a = resampling->percentile ? NAN : acceleration(&problem, fewer, index, replicate, room);
#pragma omp parallel for schedule(static) if (B * total > PES_STAT_WORTH_THREADS)
    for (size_t r = 0; r < B; r++) {
        struct pes_stream stream = pes_stat_stream(resampling, r);
        size_t *mine = index + pes_stat_thread() * total;
        draw(&problem, &stream, mine);
        replicate[r] = statistic(data, count, mine, room + pes_stat_thread() * PES_MAX(scratch, 1));
    }
    pes_stat_sort(B, replicate);
    size_t made = B;
    while (made && isnan(replicate[made - 1]))
        made--;
    if (made < B) interval->flags |= PES_INTERVAL_UNDEFINED;
    read_interval(&problem, resampling, made, replicate, a, interval);
done:
    pes_free(index);
    pes_free(fewer);
    pes_free(room);
    pes_free(replicate);
    return status;
}
