/* kernel_math.h - exponential, logarithm and the normal distribution function on vectors.
 *
 * No fast-math: rounding to an integer is done by adding a constant whose unit in the last place is 1, so the
 * rounding mode must be to nearest.  Polynomials are minimax (Remez), their relative errors stand beside
 * them. */
#ifndef PESWEEP_MATH_KERNEL_MATH_H
#define PESWEEP_MATH_KERNEL_MATH_H

#include "kernel_vector.h"

#include <math.h>

#define LOG2_E 1.44269504088896340736
#define LN_2   0.69314718055994530942

#ifdef PES_DOUBLE
enum { MANTISSA_BITS = 52, EXPONENT_BIAS = 1023 };
static const real ROUNDER = 0x1.8p52 + 1023; /* in x + ROUNDER the low bits are round(x) + EXPONENT_BIAS */
/* (2^f - 1)/f on [-1/2, 1/2]: 2^f within 8.7e-18. */
static const real EXP2[] = {0.69314718055994530909,    0.24022650695910098223,   0.055504108664821659774,
                            0.0096181291076068866343,  0.0013333558146395994843, 0.00015403530441738811456,
                            0.00001525273385329022749, 1.3215442586443144237e-6, 1.0178051723732433094e-7,
                            7.0725862125807785428e-9,  4.4566761605529840689e-10};
enum { LOG_TERMS = 11 };
#else
enum { MANTISSA_BITS = 23, EXPONENT_BIAS = 127 };
static const real ROUNDER = 0x1.8p23f + 127;
/* 2^f within 5.3e-9. */
static const real EXP2[] = {0.69314718802903592492f,   0.24022651084214560336f,   0.055503571054025983479f,
                            0.0096180307706956100508f, 0.0013390866883847953208f, 0.00015469735145024851642f};
enum { LOG_TERMS = 5 };
#endif

/* 2^f 2^n from the sum x + ROUNDER, whose low bits hold n. */
INLINE vec exp2_scaled(vec f, vec rounded)
{
    enum { TERMS = sizeof EXP2 / sizeof EXP2[0] };
    vec p = v_set(EXP2[TERMS - 1]);
    UNROLL
    for (int t = TERMS - 2; t >= 0; t--)
        p = p * f + EXP2[t];
    p = p * f + 1;
    return p * (vec)((ivec)rounded << MANTISSA_BITS);
}

/* 2^x for x <= 0, within 1.1 ulp; 0 below the smallest normal number; NaN stays. */
INLINE vec v_exp2_negative(vec x)
{
    x = v_max(v_set(-EXPONENT_BIAS), x);
    vec rounded = x + ROUNDER;
    return exp2_scaled(x - (rounded - ROUNDER), rounded);
}

/* e^x for x <= 0: the argument is reduced by ln 2 in two parts, so that the error stays near 1 ulp far out.
 */
INLINE vec v_exp_negative(vec x)
{
#ifdef PES_DOUBLE
    const real ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;
#else
    const real ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;
#endif
    x = v_max(v_set((real)(-EXPONENT_BIAS * LN_2)), x);
    vec rounded = x * (real)LOG2_E + ROUNDER;
    vec n = rounded - ROUNDER;
    vec remainder = (x - n * ln2_high) - n * ln2_low;
    return exp2_scaled(remainder * (real)LOG2_E, rounded);
}

/* ln x for positive normal x, within 2 ulp (absolute 1 ulp of 1 near x = 1): x = 2^e m with m in [1/sqrt 2,
 * sqrt 2), ln m = 2 artanh s, s = (m - 1)/(m + 1), |s| < 0.172. */
INLINE vec v_log(vec x)
{
#ifdef PES_DOUBLE
    const lane_int half_root = 0x3fe6a09e667f3bcd;
#else
    const lane_int half_root = 0x3f3504f3;
#endif
    ivec bits = (ivec)x, exponent = (bits - half_root) >> MANTISSA_BITS;
    vec m = (vec)(bits - (exponent << MANTISSA_BITS));
    vec s = (m - 1) / (m + 1), square = s * s, series = v_set((real)(1.0 / (2 * LOG_TERMS - 1)));
    UNROLL
    for (int t = LOG_TERMS - 2; t > 0; t--)
        series = series * square + (real)(1.0 / (2 * t + 1));
    vec power = __builtin_convertvector(exponent, vec);
    return power * (real)LN_2 + 2 * (s + s * square * series);
}

/* Normal distribution: *cdf = Phi(x), *density = exp(-x^2/2)/sqrt(2 pi).  In float Phi(-|x|) exp(x^2/2) is a
 * polynomial in t = 1/(1 + 0.35 |x|), relative error 2.8e-8 up to |x| = 10; Phi within 2e-7.  In double it is
 * the library's. */
INLINE void v_normal(vec *cdf, vec *density, vec x)
{
    vec bell = v_exp_negative(x * x * (real)-0.5);
#ifdef PES_DOUBLE
    for (int l = 0; l < LANES; l++)
        (*cdf)[l] = 0.5 * erfc(-0.70710678118654752440 * x[l]);
#else
    static const real TAIL[] = {0.139628260794f,  0.139750639006f,   0.120590115366f,
                                0.102676115016f,  -0.0167305692932f, 0.150286227676f,
                                -0.248214578813f, 0.140458470311f,   -0.0284446939573f};
    enum { TERMS = sizeof TAIL / sizeof TAIL[0] };
    vec t = 1 / (1 + (real)0.35 * v_max(x, -x)), p = v_set(TAIL[TERMS - 1]);
    UNROLL
    for (int i = TERMS - 2; i >= 0; i--)
        p = p * t + TAIL[i];
    vec tail = p * t * bell;
    *cdf = v_select(m_less(x, v_set(0)), tail, 1 - tail);
#endif
    *density = bell * (real)0.39894228040143267794;
}

#endif
