/* kernel_dropout.h - dropout masks in vectors: the mapping of kernels.h, eight rows at a time.
 *
 * Philox4x32-7 (Salmon et al. 2011) runs in 64-bit lanes, one counter each, of which the low halves count:
 * the 32 x 32 -> 64 bit product ignores the high ones.  Column c has a counter of its own, and its 128 bits
 * serve the eight rows of a group, so lanes are columns and nothing needs to be transposed. */
#ifndef PESWEEP_MATH_KERNEL_DROPOUT_H
#define PESWEEP_MATH_KERNEL_DROPOUT_H

#include "kernel_vector.h"
#include "pesweep/kernels.h"

#include <math.h>

typedef uint64_t wide __attribute__((vector_size(KERNEL_VECTOR_BYTES)));

enum {
    WIDE_LANES = KERNEL_VECTOR_BYTES / 8,
    WIDES = LANES / WIDE_LANES, /* counters of a vec of columns fill this many */
    PHILOX_ROUNDS = 7,
    ROW_GROUP = 8
};
static const uint32_t PHILOX_M0 = 0xd2511f53, PHILOX_M1 = 0xcd9e8d57;
static const uint32_t PHILOX_W0 = 0x9e3779b9, PHILOX_W1 = 0xbb67ae85;

struct dropper {
    const struct pes_dropout *dropout;
    uint32_t threshold; /* 0: nothing is dropped */
    real factor;        /* of what is kept */
};

INLINE struct dropper dropper_of(const struct pes_dropout *dropout)
{
    uint32_t threshold = (uint32_t)lrint(dropout->rate * 65536.0);
    return (struct dropper){dropout, threshold, (real)(65536.0 / (65536.0 - threshold))};
}

INLINE wide wide_set(uint64_t x)
{
    return x - (wide){0};
}

INLINE wide wide_product(wide a, uint32_t b)
{
#if defined(KERNEL_AVX512)
    return (wide)_mm512_mul_epu32((__m512i)a, (__m512i)wide_set(b));
#elif defined(KERNEL_AVX2)
    return (wide)_mm256_mul_epu32((__m256i)a, (__m256i)wide_set(b));
#else
    return (a & 0xffffffff) * b;
#endif
}

/* The high half of each lane in the low one; a shuffle where shifts compete with products for a port. */
INLINE wide wide_high(wide x)
{
#if defined(KERNEL_AVX512)
    return (wide)_mm512_shuffle_epi32((__m512i)x, _MM_PERM_CDAB);
#elif defined(KERNEL_AVX2)
    return (wide)_mm256_shuffle_epi32((__m256i)x, 0xb1);
#else
    return x >> 32;
#endif
}

INLINE wide wide_xor3(wide a, wide b, uint32_t c)
{
#if defined(KERNEL_AVX512)
    return (wide)_mm512_ternarylogic_epi64((__m512i)a, (__m512i)b, (__m512i)wide_set(c), 0x96);
#else
    return a ^ b ^ c;
#endif
}

/* x[chain][4] = words of the counters {column, group, step, purpose} in the low halves of the lanes.  After
 * one round only words 2 and 3 differ between columns, so that the first two rounds need one product each. */
INLINE void philox(wide x[][4], const int chains, const wide *columns, uint64_t group,
                   const struct pes_rng *rng)
{
    uint32_t key0 = (uint32_t)rng->seed, key1 = (uint32_t)(rng->seed >> 32);
    uint64_t second = (uint64_t)PHILOX_M1 * rng->step;
    uint32_t word0 = (uint32_t)(second >> 32) ^ (uint32_t)group ^ key0, word1 = (uint32_t)second;
    uint64_t first = (uint64_t)PHILOX_M0 * word0;
    uint32_t carried = (uint32_t)(first >> 32) ^ (key1 + PHILOX_W1);
    UNROLL
    for (int n = 0; n < chains; n++) {
        wide low = wide_product(columns[n], PHILOX_M0);
        wide word2 = wide_high(low) ^ (rng->purpose ^ key1);
        wide product = wide_product(word2, PHILOX_M1);
        x[n][0] = wide_high(product) ^ (word1 ^ (key0 + PHILOX_W0));
        x[n][1] = product;
        x[n][2] = low ^ carried;
        x[n][3] = wide_set((uint32_t)first);
    }
    key0 += 2 * PHILOX_W0;
    key1 += 2 * PHILOX_W1;
    UNROLL
    for (int round = 2; round < PHILOX_ROUNDS; round++) {
        UNROLL
        for (int n = 0; n < chains; n++) {
            wide low = wide_product(x[n][0], PHILOX_M0), high = wide_product(x[n][2], PHILOX_M1);
            x[n][0] = wide_xor3(wide_high(high), x[n][1], key0);
            x[n][2] = wide_xor3(wide_high(low), x[n][3], key1);
            x[n][1] = high;
            x[n][3] = low;
        }
        key0 += PHILOX_W0;
        key1 += PHILOX_W1;
    }
}

/* keep[2] of rows 2w and 2w + 1 of the group from word w of a vec of columns: low half, high half >=
 * threshold. */
INLINE void keep_of_word(lane_mask *keep, const wide *words, uint32_t threshold)
{
#ifdef PES_DOUBLE
    ivec low = (ivec)(words[0] & 0xffff), high = (ivec)(words[0] >> 16 & 0xffff),
         at_least = threshold - (ivec){0};
    keep[0] = m_int_at_least(low, at_least);
    keep[1] = m_int_at_least(high, at_least);
#else
    /* Even columns stand in words[0], odd ones in words[1]. */
    bvec both = (bvec)((words[0] & 0xffffffff) | words[1] << 32), at_least = threshold << 16 ^ (bvec) { 0 };
#if defined(KERNEL_AVX512)
    keep[0] = _mm512_cmpge_epu32_mask((__m512i)(both << 16), (__m512i)at_least);
    keep[1] = _mm512_cmpge_epu32_mask((__m512i)both, (__m512i)at_least);
#else
    keep[0] = (ivec)(both << 16 >= at_least);
    keep[1] = (ivec)(both >= at_least);
#endif
#endif
}

/* keep[row][v], rows `stride` apart: up to two vectors of columns from `column` on, rows [row, row + rows).
 */
INLINE void keep_columns(lane_mask *keep, size_t stride, const struct dropper *dropper, size_t row,
                         size_t rows, size_t column, const int vectors)
{
    const uint64_t first = dropper->dropout->first_row + row, end = first + rows;
    wide columns[2 * WIDES];
    UNROLL
    for (int n = 0; n < vectors * WIDES; n++) {
        columns[n] = wide_set(column + (size_t)(n / WIDES * LANES + n % WIDES));
        for (int l = 0; l < WIDE_LANES; l++)
            columns[n][l] += (uint64_t)(l * WIDES);
    }
    for (uint64_t group = first / ROW_GROUP; group * ROW_GROUP < end; group++) {
        wide x[2 * WIDES][4];
        philox(x, vectors * WIDES, columns, group, &dropper->dropout->rng);
        UNROLL
        for (int w = 0; w < 4; w++) {
            uint64_t even = group * ROW_GROUP + 2 * (uint64_t)w;
            UNROLL
            for (int v = 0; v < vectors; v++) {
                wide words[WIDES];
                for (int n = 0; n < WIDES; n++)
                    words[n] = x[v * WIDES + n][w];
                lane_mask pair[2];
                keep_of_word(pair, words, dropper->threshold);
                if (even >= first && even < end) keep[(even - first) * stride + (size_t)v] = pair[0];
                if (even + 1 >= first && even + 1 < end)
                    keep[(even + 1 - first) * stride + (size_t)v] = pair[1];
            }
        }
    }
}

/* keep[rows][vectors]: columns [column, column + vectors * LANES) of rows [row, row + rows) of the call; an
 * even number of vectors, two by two so that the generator's state stays in registers. */
INLINE void keep_fill(lane_mask *keep, const struct dropper *dropper, size_t row, size_t rows, size_t column,
                      const int vectors)
{
    for (int v = 0; v < vectors; v += 2) {
        keep_columns(keep + v, (size_t)vectors, dropper, row, rows, column + (size_t)(v * LANES), 2);
    }
}

static void dropout_copy(real *out, const real *x, size_t N, size_t C, const struct pes_dropout *dropout)
{
    struct dropper dropper = dropper_of(dropout);
    if (dropper.threshold == 0) {
        if (out != x) memcpy(out, x, N * C * sizeof *out);
        return;
    }
    for (size_t i = 0; i < N; i += ROW_GROUP) {
        size_t rows = PES_MIN(N - i, ROW_GROUP);
        for (size_t j = 0; j < C; j += 2 * LANES) {
            lane_mask keep[ROW_GROUP][2];
            keep_columns(keep[0], 2, &dropper, i, rows, j, 2);
            for (size_t v = 0; v < 2 && j + v * LANES < C; v++) {
                lane_mask inside = m_first(PES_MIN(C - j - v * LANES, LANES));
                for (size_t r = 0; r < rows; r++) {
                    size_t at = (i + r) * C + j + v * LANES;
                    vec kept = v_keep(keep[r][v], v_load_masked(x + at, inside) * dropper.factor);
                    v_store_masked(out + at, inside, kept);
                }
            }
        }
    }
}

#endif
