/* kernel_cases.h - what the kernel tests share: instruction sets to walk, random inputs, comparison. */
#ifndef PESWEEP_TESTS_KERNEL_CASES_H
#define PESWEEP_TESTS_KERNEL_CASES_H

#include "pesweep/arena.h"
#include "pesweep/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#ifdef PES_DOUBLE
#define ROUNDING 2.3e-16
#else
#define ROUNDING 1.2e-7
#endif

static const char *const ALL_ISAS[] = {"avx512", "avx2", "portable"};

/* Runs `body` once for each instruction set of this machine. */
#define FOR_EACH_ISA(...)                                                                                    \
    for (size_t isa_ = 0; isa_ < PES_COUNT(ALL_ISAS); isa_++) {                                              \
        if (pes_kernels_select(ALL_ISAS[isa_]) == PES_OK) {                                                  \
            __VA_ARGS__;                                                                                     \
        }                                                                                                    \
    }

static inline void use(const char *isa)
{
    assert_int_equal(pes_kernels_select(isa), PES_OK);
}

/* `count` normal values; the same for the same number. */
static inline real *random_values(struct pes_arena *arena, size_t count, uint64_t number, double size)
{
    struct pes_rng rng = {number, PES_RNG_TEST, 0};
    real *x = pes_arena_take(arena, count, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < count; i++)
        x[i] = (real)(size * pes_rng_normal(&rng, i));
    return x;
}

static inline real *copied(struct pes_arena *arena, const real *x, size_t count)
{
    real *y = pes_arena_take(arena, count, sizeof *y);
    assert_non_null(y);
    memcpy(y, x, count * sizeof *y);
    return y;
}

/* |x - wanted| <= tolerance (in units of rounding) * size. */
static inline void assert_near(const char *what, const real *x, const real *wanted, size_t count,
                               double tolerance, double size)
{
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)x[i] - (double)wanted[i]);
        bool same = x[i] == wanted[i] || difference <= tolerance * ROUNDING * size;
        if (!same) {
            fail_msg("%s, %s: element %zu is %.9g, should be %.9g (allowed difference %.3g)",
                     pes_kernels_isa(), what, i, (double)x[i], (double)wanted[i],
                     tolerance * ROUNDING * size);
        }
    }
}

static inline void assert_same_bytes(const char *what, const real *x, const real *y, size_t count)
{
    if (memcmp(x, y, count * sizeof *x) != 0) fail_msg("%s, %s: the bits differ", pes_kernels_isa(), what);
}

#endif
