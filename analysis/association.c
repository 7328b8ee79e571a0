/* association.c - rank correlations over clustered values, and where the top members of one measure stand in
 * another. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Members of cluster c are order[start[c]] .. order[start[c + 1] - 1]. */
struct problem {
    size_t n, num_variables; /* x, y, controls */
    const double *const *variables;
    size_t num_clusters;
    const size_t *start, *order;
};

/* Partial correlation of variables 0 and 1 given the others from their correlation matrix: eliminate the
 * others. */
static double partial(size_t v, double *r)
{
    for (size_t c = v; c-- > 2;) {
        double pivot = r[c * v + c];
        if (!(pivot > 1e-12)) return NAN;
        for (size_t i = 0; i < c; i++)
            for (size_t j = 0; j < c; j++)
                r[i * v + j] -= r[i * v + c] * r[c * v + j] / pivot;
    }
    double value = r[1] / sqrt(r[0] * r[v + 1]);
    return r[0] > 1e-12 && r[v + 1] > 1e-12 ? PES_MAX(-1, PES_MIN(1, value)) : NAN;
}

/* Product-moment correlations of v variables ranks[v][n] into r[v][v]; false if one is constant. */
static bool correlations(size_t v, size_t n, double *ranks, double *r)
{
    for (size_t a = 0; a < v; a++) {
        double mean = pes_stat_mean(n, ranks + a * n), squares = 0;
        if (isnan(mean)) return false;
        for (size_t i = 0; i < n; i++) {
            ranks[a * n + i] -= mean;
            squares += ranks[a * n + i] * ranks[a * n + i];
        }
        if (squares == 0) return false;
        for (size_t i = 0; i < n; i++)
            ranks[a * n + i] /= sqrt(squares);
    }
    for (size_t a = 0; a < v; a++)
        for (size_t b = 0; b < v; b++) {
            r[a * v + b] = 0;
            for (size_t i = 0; i < n; i++)
                r[a * v + b] += ranks[a * n + i] * ranks[b * n + i];
        }
    return true;
}

/* Ranks without memory of their own, by merging: order[n] and spare[n] are scratch. */
static void rank_into(size_t n, const double *x, double *ranks, size_t *order, size_t *spare)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t middle = PES_MIN(from + width, n), to = PES_MIN(from + 2 * width, n);
            for (size_t a = from, b = middle, k = from; k < to; k++)
                spare[k] = b == to || (a < middle && x[order[a]] <= x[order[b]]) ? order[a++] : order[b++];
        }
        memcpy(order, spare, n * sizeof *order);
    }
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && x[order[to]] == x[order[from]]; to++) {
        }
        for (size_t i = from; i < to; i++)
            ranks[order[i]] = (double)(from + 1 + to) / 2;
    }
}

/* A cluster can be drawn again and again, so a resample can be larger than n: up to num_clusters times the
 * largest cluster.  Scratch: values and ranks of all variables, correlations, two orders. */
static double spearman_of(const void *data, const size_t *count, const size_t *index, double *scratch)
{
    const struct problem *problem = data;
    size_t v = problem->num_variables, n = 0;
    for (size_t c = 0; c < count[0]; c++)
        n += problem->start[index[c] + 1] - problem->start[index[c]];
    if (n < 2) return NAN;
    double *ranks = scratch, *r = ranks + v * n, *x = r + v * v;
    size_t *order = (size_t *)(void *)(x + n), *spare = order + n;
    for (size_t a = 0; a < v; a++) {
        for (size_t c = 0, k = 0; c < count[0]; c++)
            for (size_t i = problem->start[index[c]]; i < problem->start[index[c] + 1]; i++)
                x[k++] = problem->variables[a][problem->order[i]];
        rank_into(n, x, ranks + a * n, order, spare);
    }
    return correlations(v, n, ranks, r) ? partial(v, r) : NAN;
}

struct member {
    size_t cluster, i;
};

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->cluster != b->cluster) return (a->cluster > b->cluster) - (a->cluster < b->cluster);
    return (a->i > b->i) - (a->i < b->i);
}

/* Clusters in the order in which their numbers first appear, by sorting twice; cluster NULL: each its own.
 * members[n] is scratch. */
static size_t group(size_t n, const size_t *cluster, size_t *start, size_t *order, struct member *members)
{
    size_t num_clusters = 0, number = 0, first = 0;
    for (size_t i = 0; i < n; i++)
        members[i] = (struct member){cluster ? cluster[i] : i, i};
    qsort(members, n, sizeof *members, compare_members);
    for (size_t k = 0; k < n; k++) { /* the first member's place in the place of the cluster's number */
        if (k == 0 || members[k].cluster != number) {
            number = members[k].cluster;
            first = members[k].i;
        }
        members[k].cluster = first;
    }
    qsort(members, n, sizeof *members, compare_members);
    for (size_t k = 0; k < n; k++) {
        if (k == 0 || members[k].cluster != members[k - 1].cluster) start[num_clusters++] = k;
        order[k] = members[k].i;
    }
    start[num_clusters] = n;
    return num_clusters;
}

/* Without an interval one evaluation does. */
static enum pes_status estimate_alone(const struct problem *problem, size_t scratch,
                                      struct pes_interval *interval)
{
    size_t *index = pes_allocate(problem->num_clusters, sizeof *index);
    double *room = pes_allocate(scratch, sizeof *room);
    for (size_t c = 0; index && c < problem->num_clusters; c++)
        index[c] = c;
    if (index && room) {
        interval->estimate = spearman_of(problem, &problem->num_clusters, index, room);
        interval->flags = 0;
        if (isnan(interval->estimate)) interval->flags = PES_INTERVAL_NOT_AVAILABLE;
    }
    enum pes_status status = index && room ? PES_OK : PES_MEMORY;
    pes_free(index);
    pes_free(room);
    return status;
}

enum pes_status pes_stat_spearman(size_t n, const double *x, const double *y, size_t num_controls,
                                  const double *const *controls, const size_t *cluster,
                                  const struct pes_resampling *resampling, struct pes_interval *interval)
{
    *interval = (struct pes_interval){NAN, NAN, NAN, PES_INTERVAL_NOT_AVAILABLE};
    size_t v = 2 + num_controls;
    const double **variables = pes_allocate(v, sizeof *variables);
    size_t *order = pes_allocate(2 * n + 1, sizeof *order), *start = order ? order + n : NULL, largest = 0;
    struct member *members = pes_allocate(n, sizeof *members);
    bool finite = true;
    enum pes_status status = variables && order && members ? PES_OK : PES_MEMORY;
    if (status != PES_OK) goto done;
    for (size_t a = 0; a < v; a++) {
        variables[a] = a == 0 ? x : a == 1 ? y : controls[a - 2];
        finite &= pes_stat_finite(n, variables[a]);
    }
    if (!finite || n < 3) goto done;
    struct problem problem = {n, v, variables, group(n, cluster, start, order, members), start, order};
    for (size_t c = 0; c < problem.num_clusters; c++)
        largest = PES_MAX(largest, start[c + 1] - start[c]);
    size_t most = problem.num_clusters * largest;
    size_t scratch = (v + 3) * most + v * v;
    if (resampling->level > 0)
        status = pes_stat_bootstrap(spearman_of, &problem, 1, &problem.num_clusters, scratch, resampling,
                                    interval);
    else
        status = estimate_alone(&problem, scratch, interval);
done:
    pes_free(variables);
    pes_free(order);
    pes_free(members);
    return status;
}

enum pes_status pes_stat_top_percentiles(size_t n, const double *value, const double *by, size_t k,
                                         double *percentiles)
{
    bool *taken = pes_allocate(n, sizeof *taken);
    size_t known = 0;
    if (!taken) return PES_MEMORY;
    for (size_t i = 0; i < n; i++) {
        taken[i] = isnan(value[i]) || isnan(by[i]);
        known += taken[i] ? 0 : 1;
    }
    for (size_t j = 0; j < k; j++) {
        size_t best = n, below = 0;
        for (size_t i = 0; i < n; i++)
            if (!taken[i] && (best == n || by[i] > by[best])) best = i;
        percentiles[j] = NAN;
        if (best == n) continue;
        taken[best] = true;
        for (size_t i = 0; i < n; i++)
            below += !isnan(by[i]) && value[i] <= value[best] ? 1 : 0;
        percentiles[j] = (double)below / (double)known;
    }
    pes_free(taken);
    return PES_OK;
}
