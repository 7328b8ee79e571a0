/* distribution.c - the normal and Student's t distribution, and the power of the t test. */
#include "internal.h"

#include <float.h>
#include <math.h>

#define SQRT_HALF 0.70710678118654752440
#define ROOT_2PI  2.50662827463100050242

double pes_stat_normal_cdf(double z)
{
    return 0.5 * erfc(-z * SQRT_HALF);
}

/* Halley's iteration from a rough start in the tail that keeps its digits. */
double pes_stat_normal_quantile(double p)
{
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
    double tail = p < 0.5 ? p : 1 - p;
    /* Hastings' rational start (Abramowitz & Stegun 26.2.23), error below 4.5e-4. */
    double t = sqrt(-2 * log(tail));
    double z = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                         (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int i = 0; i < 4; i++) {
        double error = (pes_stat_normal_cdf(z) - tail) * ROOT_2PI * exp(z * z / 2);
        z -= error / (1 + z * error / 2);
    }
    return p < 0.5 ? z : -z;
}

/* Continued fraction of the incomplete beta function by Lentz's method (Abramowitz & Stegun 26.5.8). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 10000; m++) {
        double factor = 1;
        for (int odd = 0; odd < 2; odd++) {
            double k = m, step = odd ? -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
                                     : k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
            d = 1 + step * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + step / c;
            if (fabs(c) < tiny) c = tiny;
            factor = c * d;
            value *= factor;
        }
        if (fabs(factor - 1) < DBL_EPSILON) break;
    }
    return value;
}

/* I_x(a, b); `complement` = 1 - x, given apart so that neither end loses digits. */
static double beta_share(double a, double b, double x, double complement)
{
    if (x <= 0) return 0;
    if (complement <= 0) return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(complement));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, complement) / b;
}

double pes_stat_t_cdf(double t, double freedom)
{
    if (isnan(t) || !(freedom > 0)) return NAN;
    if (isinf(t)) return t > 0;
    double whole = freedom + t * t;
    double tail = beta_share(freedom / 2, 0.5, freedom / whole, t * t / whole) / 2;
    return t > 0 ? 1 - tail : tail;
}

double pes_stat_t_quantile(double p, double freedom)
{
    if (!(p > 0 && p < 1) || !(freedom > 0)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    if (p == 0.5) return 0;
    double tail = p < 0.5 ? p : 1 - p, low = -1, high = 0;
    while (pes_stat_t_cdf(low, freedom) > tail && low > -1e300)
        low *= 2;
    for (int i = 0; i < 200 && high - low > DBL_EPSILON * -low; i++) {
        double middle = low + (high - low) / 2;
        if (pes_stat_t_cdf(middle, freedom) < tail)
            low = middle;
        else
            high = middle;
    }
    double t = low + (high - low) / 2;
    return p < 0.5 ? t : -t;
}

/* P(T > t) of the noncentral t with `freedom` and shift `delta`: the normal tail averaged over the density of
 * s = sqrt(chi^2 / freedom), by Simpson's rule over 12 standard deviations of s. */
static double noncentral_tail(double t, double freedom, double delta)
{
    double spread = sqrt(0.5 / freedom), from = PES_MAX(0, 1 - 12 * spread), to = 1 + 12 * spread;
    double constant = log(2) + (freedom / 2) * log(freedom / 2) - lgamma(freedom / 2), sum = 0;
    const int intervals = 2000;
    double width = (to - from) / intervals;
    for (int i = 0; i <= intervals; i++) {
        double s = from + i * width;
        if (s <= 0) continue;
        double density = exp(constant + (freedom - 1) * log(s) - freedom * s * s / 2);
        double weight = i == 0 || i == intervals ? 1 : i % 2 ? 4 : 2;
        sum += weight * density * pes_stat_normal_cdf(delta - t * s);
    }
    return PES_MIN(1, sum * width / 3);
}

double pes_stat_power(size_t n, double d, double alpha)
{
    if (n < 2 || isnan(d) || !(alpha > 0 && alpha < 1)) return NAN;
    double freedom = 2 * (double)n - 2, delta = fabs(d) * sqrt((double)n / 2);
    double t = pes_stat_t_quantile(1 - alpha / 2, freedom);
    return PES_MIN(1, noncentral_tail(t, freedom, delta) + noncentral_tail(t, freedom, -delta));
}

size_t pes_stat_seeds_needed(double d, double alpha, double power)
{
    const size_t most = 1000000;
    if (!(fabs(d) > 0) || !(alpha > 0 && alpha < 1) || !(power > 0 && power < 1)) return 0;
    size_t smallest = 2; /* so few can't reach alpha: two of the arrangements are the extreme ones */
    while (2 / pes_stat_choose(2 * smallest, smallest) >= alpha)
        smallest++;
    size_t high = smallest;
    while (high < most && pes_stat_power(high, d, alpha) < power)
        high *= 2;
    if (high >= most) return pes_stat_power(most, d, alpha) < power ? 0 : most;
    size_t low = high == smallest ? smallest - 1 : high / 2;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (pes_stat_power(middle, d, alpha) < power)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double pes_stat_choose(size_t n, size_t k)
{
    if (k > n) return 0;
    k = PES_MIN(k, n - k);
    double ways = 1;
    for (size_t i = 1; i <= k; i++)
        ways = rint(ways * (double)(n - k + i) / (double)i);
    return ways;
}
