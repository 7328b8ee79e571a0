/* rng.c - Philox4x32-10 and what is made from its words. */
#include "pesweep/rng.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#endif
#include <Random123/philox.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

void pes_rng_words_of_rounds(const struct pes_rng *rng, unsigned rounds, uint64_t element, uint32_t words[4])
{
    philox4x32_ctr_t counter = {{(uint32_t)element, (uint32_t)(element >> 32), rng->step, rng->purpose}};
    philox4x32_key_t key = {{(uint32_t)rng->seed, (uint32_t)(rng->seed >> 32)}};
    philox4x32_ctr_t out = philox4x32_R(rounds, counter, key);
    memcpy(words, out.v, 4 * sizeof *words);
}

void pes_rng_words(const struct pes_rng *rng, uint64_t element, uint32_t words[4])
{
    pes_rng_words_of_rounds(rng, 10, element, words);
}

static double uniform_of(uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
    return (double)bits * 0x1p-53;
}

double pes_rng_uniform(const struct pes_rng *rng, uint64_t element)
{
    uint32_t words[4];
    pes_rng_words(rng, element, words);
    return uniform_of(words[0], words[1]);
}

/* Box & Muller 1958; 1 - u lies in (0, 1], so the logarithm is finite. */
static double polar(const struct pes_rng *rng, uint64_t element, double *angle)
{
    uint32_t words[4];
    pes_rng_words(rng, element, words);
    *angle = 6.283185307179586476925 * uniform_of(words[2], words[3]);
    return sqrt(-2.0 * log(1.0 - uniform_of(words[0], words[1])));
}

double pes_rng_normal(const struct pes_rng *rng, uint64_t element)
{
    double angle, radius = polar(rng, element, &angle);
    return radius * cos(angle);
}

double pes_stream_uniform(struct pes_stream *stream)
{
    return pes_rng_uniform(&stream->rng, stream->next++);
}

double pes_stream_normal(struct pes_stream *stream)
{
    return pes_rng_normal(&stream->rng, stream->next++);
}

void pes_stream_normals(struct pes_stream *stream, size_t count, double *out)
{
    for (size_t i = 0; i < count; i += 2) {
        double angle, radius = polar(&stream->rng, stream->next++, &angle);
        out[i] = radius * cos(angle);
        if (i + 1 < count) out[i + 1] = radius * sin(angle);
    }
}

/* Rejection keeps it unbiased: words below 2^64 mod n are drawn again. */
uint64_t pes_stream_below(struct pes_stream *stream, uint64_t n)
{
    CHECK(n >= 1);
    for (;;) {
        uint32_t words[4];
        pes_rng_words(&stream->rng, stream->next++, words);
        for (int pair = 0; pair < 4; pair += 2) {
            uint64_t bits = (uint64_t)words[pair] << 32 | words[pair + 1];
            /* 2^64 mod n is below n, so that it is hardly ever needed. */
            if (bits >= n || bits >= (0 - n) % n) return bits % n;
        }
    }
}

void pes_stream_shuffle(struct pes_stream *stream, int32_t *values, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)pes_stream_below(stream, i);
        int32_t swapped = values[i - 1];
        values[i - 1] = values[j];
        values[j] = swapped;
    }
}

uint64_t pes_rng_named_seed(uint64_t seed, const char *name)
{
    return XXH3_64bits_withSeed(name, strlen(name), seed);
}
