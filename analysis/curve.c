/* curve.c - when a curve changes: onset of its change, first step at a threshold. */
#include "internal.h"

#include <math.h>

/* Number of the next point that has a value, from i on; n if there is none. */
static size_t next_known(size_t n, const double *value, size_t i)
{
    while (i < n && isnan(value[i]))
        i++;
    return i;
}

double pes_stat_onset(size_t n, const double *step, const double *value, double smallest)
{
    size_t known = 0, first = next_known(n, value, 0), used = 0;
    double final = 0;
    for (size_t i = 0; i < n; i++)
        known += isnan(value[i]) ? 0 : 1;
    if (known < 4) return NAN;
    for (size_t i = n; i-- > 0 && used < 3;)
        if (!isnan(value[i])) {
            final += value[i] / 3;
            used++;
        }
    double change = final - value[first], middle = value[first] + change / 2;
    if (!(fabs(change) >= smallest) || change == 0) return NAN;
    /* From the end back to the last point on the starting side; the crossing follows it. */
    size_t after = n;
    for (size_t i = n; i-- > first;) {
        if (isnan(value[i])) continue;
        bool there = change > 0 ? value[i] >= middle : value[i] <= middle;
        if (!there) {
            if (after == n) return NAN;
            double part = (middle - value[i]) / (value[after] - value[i]);
            return step[i] + part * (step[after] - step[i]);
        }
        after = i;
    }
    return NAN;
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
