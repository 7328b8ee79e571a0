/* curve.c - first step at which a curve reaches a threshold. */
#include "internal.h"

#include <math.h>

/* Number of the next point that has a value, from i on; n if there is none. */
static size_t next_known(size_t n, const double *value, size_t i)
{
    while (i < n && isnan(value[i]))
        i++;
    return i;
}

double pes_stat_steps_to(size_t n, const double *step, const double *value, double threshold, bool falling,
                         bool *reached)
{
    double last = NAN;
    *reached = false;
    for (size_t i = next_known(n, value, 0); i < n; i = next_known(n, value, i + 1)) {
        last = step[i];
        *reached = falling ? value[i] <= threshold : value[i] >= threshold;
        if (*reached) break;
    }
    return last;
}
