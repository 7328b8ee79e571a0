/* deposit.c - how concentrated a layer's work is on its heads. */
#include "pesweep/measure.h"

#include <math.h>

static double sum_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

double pes_probe_gini(const double *x, size_t n)
{
    double sum = sum_of(x, n), differences = 0;
    if (!(sum > 0)) return NAN;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            differences += fabs(x[i] - x[j]);
    return differences / ((double)n * sum);
}

double pes_probe_herfindahl(const double *x, size_t n)
{
    double sum = sum_of(x, n), squares = 0, least = 1 / (double)n;
    if (n < 2 || !(sum > 0)) return NAN;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] / sum) * (x[i] / sum);
    return (squares - least) / (1 - least);
}

struct pes_deposit pes_probe_deposit(const double *drops, const double *errors, size_t num_heads,
                                     uint64_t rotated)
{
    struct pes_deposit deposit = {NAN, NAN, NAN, NAN};
    double positive[64], on_rotated = 0;
    size_t largest = 0;
    CHECK(num_heads >= 1 && num_heads <= 64);
    for (size_t h = 0; h < num_heads; h++) {
        if (drops[h] > drops[largest]) largest = h;
        positive[h] = PES_MAX(drops[h], 0);
        if (rotated >> h & 1) on_rotated += positive[h];
    }
    /* Written so that NaN is not enough. */
    if (!(drops[largest] >= 0.01 && drops[largest] >= 3 * errors[largest])) return deposit;
    double sum = sum_of(positive, num_heads);
    deposit.share = drops[largest] / sum;
    deposit.gini = pes_probe_gini(positive, num_heads);
    deposit.herfindahl = pes_probe_herfindahl(positive, num_heads);
    deposit.rotated_share = on_rotated / sum;
    return deposit;
}
