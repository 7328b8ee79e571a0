/* variance.c - where the variance of a crossed design comes from.
 *
 * One value per cell, factors random.  With S a set of factors and n_T the product of the levels of T,
 *   MS_S = (sum over cells of the S-effect)^2 / df_S,   E[MS_S] = sum over T including S of (N/n_T)
 * variance_T, so variance_S = (n_S/N) sum over T including S of (-1)^(|T|-|S|) MS_T. */
#include "internal.h"

#include <math.h>

static size_t bits_of(size_t set)
{
    size_t bits = 0;
    for (; set; set &= set - 1)
        bits++;
    return bits;
}

/* Place of a cell among the means over everything outside `set`. */
static size_t place_in(size_t num_factors, const size_t *levels, size_t set, size_t cell)
{
    size_t place = 0, stride = 1;
    for (size_t f = num_factors; f-- > 0; cell /= levels[f]) {
        if (!(set >> f & 1)) continue;
        place += cell % levels[f] * stride;
        stride *= levels[f];
    }
    return place;
}

/* Sum over cells of the squared mean over everything outside `set`. */
static double squares_of_means(size_t num_factors, const size_t *levels, size_t N, const double *values,
                               size_t set, double *sums)
{
    size_t places = 1;
    for (size_t f = 0; f < num_factors; f++)
        if (set >> f & 1) places *= levels[f];
    for (size_t p = 0; p < places; p++)
        sums[p] = 0;
    for (size_t i = 0; i < N; i++)
        sums[place_in(num_factors, levels, set, i)] += values[i];
    double squares = 0, each = (double)N / (double)places;
    for (size_t p = 0; p < places; p++)
        squares += sums[p] * sums[p] / each;
    return squares;
}

enum pes_status pes_stat_variance_components(size_t num_factors, const size_t *levels, const double *values,
                                             double *component)
{
    CHECK(num_factors >= 1 && num_factors <= PES_MAX_FACTORS);
    size_t N = 1, sets = (size_t)1 << num_factors;
    bool defined = true;
    for (size_t f = 0; f < num_factors; f++) {
        N *= levels[f];
        defined &= levels[f] >= 2;
    }
    for (size_t s = 0; s < sets; s++)
        component[s] = NAN;
    if (!defined || !pes_stat_finite(N, values)) return PES_OK;

    double *centred = pes_allocate(2 * N + sets, sizeof *centred);
    if (!centred) return PES_MEMORY;
    double *sums = centred + N, *square = sums + N, mean = pes_stat_mean(N, values);
    for (size_t i = 0; i < N; i++)
        centred[i] = values[i] - mean;
    for (size_t s = 0; s < sets; s++)
        square[s] = squares_of_means(num_factors, levels, N, centred, s, sums);
    double mean_square[1 << PES_MAX_FACTORS] = {0};
    for (size_t s = 1; s < sets; s++) {
        double sum = 0, freedom = 1;
        for (size_t t = 0; t < sets; t++)
            if ((t & s) == t) sum += (bits_of(s ^ t) % 2 ? -1 : 1) * square[t];
        for (size_t f = 0; f < num_factors; f++)
            if (s >> f & 1) freedom *= (double)(levels[f] - 1);
        mean_square[s] = sum / freedom;
    }
    for (size_t s = 1; s < sets; s++) {
        double sum = 0, repeats = (double)N;
        for (size_t t = s; t < sets; t++)
            if ((t & s) == s) sum += (bits_of(s ^ t) % 2 ? -1 : 1) * mean_square[t];
        for (size_t f = 0; f < num_factors; f++)
            if (s >> f & 1) repeats /= (double)levels[f];
        component[s] = PES_MAX(0, sum / repeats);
    }
    component[0] = mean;
    pes_free(centred);
    return PES_OK;
}
