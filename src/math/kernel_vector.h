/* kernel_vector.h - vectors of `real` and lane masks for the kernel text.
 *
 * The including file defines KERNEL_VECTOR_BYTES, and KERNEL_AVX512 or KERNEL_AVX2 where those may be used.
 * Without either everything is written with the compilers' vector extension alone.  All functions are static,
 * since each instruction set includes this text once. */
#ifndef PESWEEP_MATH_KERNEL_VECTOR_H
#define PESWEEP_MATH_KERNEL_VECTOR_H

#include "pesweep/base.h"

#include <math.h>
#include <string.h>
#if defined(KERNEL_AVX512) || defined(KERNEL_AVX2)
#include <immintrin.h>
#endif

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define UNROLL   _Pragma("GCC unroll 32")

#ifdef PES_DOUBLE
typedef int64_t lane_int;
typedef uint64_t lane_bits;
#else
typedef int32_t lane_int;
typedef uint32_t lane_bits;
#endif

typedef real vec __attribute__((vector_size(KERNEL_VECTOR_BYTES)));
typedef real vec_unaligned
    __attribute__((vector_size(KERNEL_VECTOR_BYTES), aligned(sizeof(real)), may_alias));
typedef lane_int ivec __attribute__((vector_size(KERNEL_VECTOR_BYTES)));
typedef lane_bits bvec __attribute__((vector_size(KERNEL_VECTOR_BYTES)));

enum { LANES = KERNEL_VECTOR_BYTES / sizeof(real) };

INLINE vec v_set(real x)
{
    return x - (vec){0};
}

INLINE vec v_load(const real *p)
{
    return *(const vec_unaligned *)p;
}

INLINE void v_store(real *p, vec x)
{
    *(vec_unaligned *)p = x;
}

INLINE ivec v_lane_index(void)
{
    ivec index;
    for (int l = 0; l < LANES; l++)
        index[l] = l;
    return index;
}

/* --- masks: one bit or one all-ones lane each --------------------------------------------------------------
 */
#if defined(KERNEL_AVX512)

#ifdef PES_DOUBLE
#define NATIVE(name)      _mm512_##name##_pd
#define NATIVE_MASK(name) _mm512_##name##_pd_mask
#define NATIVE_INT(name)  _mm512_##name##_epi64_mask
typedef __m512d native;
typedef __mmask8 lane_mask;
#else
#define NATIVE(name)      _mm512_##name##_ps
#define NATIVE_MASK(name) _mm512_##name##_ps_mask
#define NATIVE_INT(name)  _mm512_##name##_epi32_mask
typedef __m512 native;
typedef __mmask16 lane_mask;
#endif

INLINE vec v_max(vec a, vec b) /* b if either is NaN */
{
    return (vec)NATIVE(max)((native)a, (native)b);
}

/* Lanes 0 .. n-1, n <= LANES. */
INLINE lane_mask m_first(size_t n)
{
    return (lane_mask)((1u << n) - 1);
}

INLINE vec v_sqrt(vec x)
{
    return (vec)NATIVE(sqrt)((native)x);
}

INLINE lane_mask m_less(vec a, vec b)
{
    return NATIVE_MASK(cmp)((native)a, (native)b, _CMP_LT_OQ);
}

INLINE lane_mask m_int_at_least(ivec a, ivec b)
{
    return NATIVE_INT(cmpge)((__m512i)a, (__m512i)b);
}

INLINE vec v_select(lane_mask mask, vec yes, vec no)
{
    return (vec)NATIVE(mask_mov)((native)no, mask, (native)yes);
}

INLINE vec v_keep(lane_mask mask, vec x)
{
    return (vec)NATIVE(maskz_mov)(mask, (native)x);
}

INLINE vec v_load_masked(const real *p, lane_mask mask)
{
    return (vec)NATIVE(maskz_loadu)(mask, p);
}

INLINE void v_store_masked(real *p, lane_mask mask, vec x)
{
    NATIVE(mask_storeu)(p, mask, (native)x);
}

#else

typedef ivec lane_mask;

INLINE lane_mask m_first(size_t n)
{
    return v_lane_index() < (lane_int)n;
}

INLINE lane_mask m_less(vec a, vec b)
{
    return a < b;
}

INLINE lane_mask m_int_at_least(ivec a, ivec b)
{
    return a >= b;
}

INLINE vec v_select(lane_mask mask, vec yes, vec no)
{
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

INLINE vec v_keep(lane_mask mask, vec x)
{
    return (vec)(mask & (ivec)x);
}

#if defined(KERNEL_AVX2)

#ifdef PES_DOUBLE
#define NATIVE(name) _mm256_##name##_pd
typedef __m256d native;
#else
#define NATIVE(name) _mm256_##name##_ps
typedef __m256 native;
#endif

INLINE vec v_max(vec a, vec b) /* b if either is NaN */
{
    return (vec)NATIVE(max)((native)a, (native)b);
}

INLINE vec v_sqrt(vec x)
{
    return (vec)NATIVE(sqrt)((native)x);
}

INLINE vec v_load_masked(const real *p, lane_mask mask)
{
    return (vec)NATIVE(maskload)(p, (__m256i)mask);
}

INLINE void v_store_masked(real *p, lane_mask mask, vec x)
{
    NATIVE(maskstore)(p, (__m256i)mask, (native)x);
}

#else

INLINE vec v_max(vec a, vec b) /* b if either is NaN */
{
    return v_select(a > b, a, b);
}

INLINE vec v_sqrt(vec x)
{
    for (int l = 0; l < LANES; l++)
        x[l] = (real)sqrt((double)x[l]);
    return x;
}

INLINE vec v_load_masked(const real *p, lane_mask mask)
{
    vec x = {0};
    for (int l = 0; l < LANES; l++) {
        if (mask[l]) x[l] = p[l];
    }
    return x;
}

INLINE void v_store_masked(real *p, lane_mask mask, vec x)
{
    for (int l = 0; l < LANES; l++) {
        if (mask[l]) p[l] = x[l];
    }
}

#endif
#endif

/* Columns [c, c + LANES) of a row of `width`, zeros behind its end. */
INLINE vec row_part(const real *row, size_t c, size_t width)
{
    if (c + LANES <= width) return v_load(row + c);
    return c < width ? v_load_masked(row + c, m_first(width - c)) : (vec){0};
}

INLINE void put_part(real *row, size_t c, size_t width, vec x)
{
    if (c + LANES <= width) {
        v_store(row + c, x);
    } else {
        v_store_masked(row + c, m_first(width - c), x);
    }
}

/* --- permutations ------------------------------------------------------------------------------------------
 */
#if KERNEL_VECTOR_BYTES == 64 && !defined(PES_DOUBLE)
#define SHUFFLE_LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define SHUFFLE_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define SHUFFLE_EVEN 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14
#define SHUFFLE_ODD  1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15
#define SHUFFLE_SWAP 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#define ALTERNATE(first, second)                                                                             \
    first, second, first, second, first, second, first, second, first, second, first, second, first, second, \
        first, second
#elif KERNEL_VECTOR_BYTES == 64 || (KERNEL_VECTOR_BYTES == 32 && !defined(PES_DOUBLE))
#define SHUFFLE_LOW              0, 8, 1, 9, 2, 10, 3, 11
#define SHUFFLE_HIGH             4, 12, 5, 13, 6, 14, 7, 15
#define SHUFFLE_EVEN             0, 0, 2, 2, 4, 4, 6, 6
#define SHUFFLE_ODD              1, 1, 3, 3, 5, 5, 7, 7
#define SHUFFLE_SWAP             1, 0, 3, 2, 5, 4, 7, 6
#define ALTERNATE(first, second) first, second, first, second, first, second, first, second
#elif KERNEL_VECTOR_BYTES == 32 || !defined(PES_DOUBLE)
#define SHUFFLE_LOW              0, 4, 1, 5
#define SHUFFLE_HIGH             2, 6, 3, 7
#define SHUFFLE_EVEN             0, 0, 2, 2
#define SHUFFLE_ODD              1, 1, 3, 3
#define SHUFFLE_SWAP             1, 0, 3, 2
#define ALTERNATE(first, second) first, second, first, second
#else
#define SHUFFLE_LOW              0, 2
#define SHUFFLE_HIGH             1, 3
#define SHUFFLE_EVEN             0, 0
#define SHUFFLE_ODD              1, 1
#define SHUFFLE_SWAP             1, 0
#define ALTERNATE(first, second) first, second
#endif

/* rows[r][c] <- rows[c][r].  Each pass deals lane 2l, 2l+1 of row 2r, 2r+1 from the two halves, a perfect
 * shuffle of the index bits; log2(LANES) passes exchange row and column bits. */
INLINE void v_transpose(vec rows[LANES])
{
    UNROLL
    for (int pass = 1; pass < LANES; pass *= 2) {
        vec next[LANES];
        UNROLL
        for (int r = 0; r < LANES / 2; r++) {
            next[2 * r] = __builtin_shufflevector(rows[r], rows[r + LANES / 2], SHUFFLE_LOW);
            next[2 * r + 1] = __builtin_shufflevector(rows[r], rows[r + LANES / 2], SHUFFLE_HIGH);
        }
        UNROLL
        for (int r = 0; r < LANES; r++)
            rows[r] = next[r];
    }
}

/* Lane r = sum over the lanes of rows[r]: the passes of a transpose, adding up what it would deal. */
INLINE vec v_row_sums(vec rows[LANES])
{
    UNROLL
    for (int half = LANES / 2; half > 0; half /= 2) {
        UNROLL
        for (int r = 0; r < half; r++) {
            rows[r] = __builtin_shufflevector(rows[r], rows[r + half], SHUFFLE_LOW) +
                      __builtin_shufflevector(rows[r], rows[r + half], SHUFFLE_HIGH);
        }
    }
    return rows[0];
}

/* Sum over lanes, by halves. */
INLINE real v_sum(vec x)
{
    real lanes[LANES];
    memcpy(lanes, &x, sizeof lanes);
    UNROLL
    for (int half = LANES / 2; half > 0; half /= 2) {
        UNROLL
        for (int l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    }
    return lanes[0];
}

#endif
