/* rng.h - random numbers as a function, not a sequence.
 *
 * Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; Random123): the words are
 * a function of (seed, purpose, step, element), so they don't depend on rank, thread count, order or resume.
 * key = (low, high word of seed); counter = (low, high word of element, step, purpose). */
#ifndef PESWEEP_RNG_H
#define PESWEEP_RNG_H

#include "pesweep/base.h"

/* Each use of randomness has a number of its own, for ever: results depend on it.  Families of streams
 * (dropout sites, named tensors) put the number of the member into `step` or the upper bits of `element`. */
enum pes_purpose {
    PES_RNG_INIT = 1,         /* initial weights: element in tensor; seed mixed with the tensor's name */
    PES_RNG_DROPOUT = 2,      /* + site << 8, site = see model/dropout */
    PES_RNG_DATA = 3,         /* one stream per sample: element = sample << 20 + draw */
    PES_RNG_DATA_SET = 4,     /* what is drawn once per data set */
    PES_RNG_SPLIT = 5,        /* train/test permutation */
    PES_RNG_ORDER = 6,        /* batch order: step = epoch */
    PES_RNG_NULL_MODEL = 7,   /* matched nulls of the spectra */
    PES_RNG_PERTURBATION = 8, /* conditioning test of nearly nilpotent spectra */
    PES_RNG_STATISTICS = 9,   /* bootstrap and Monte-Carlo permutations */
    PES_RNG_TEST = 10
};

struct pes_rng {
    uint64_t seed;
    uint32_t purpose;
    uint32_t step;
};

/* The four 32-bit words of one counter; of Philox4x32 with other than ten rounds, the second. */
void pes_rng_words(const struct pes_rng *rng, uint64_t element, uint32_t words[4]);
void pes_rng_words_of_rounds(const struct pes_rng *rng, unsigned rounds, uint64_t element, uint32_t words[4]);

double pes_rng_uniform(const struct pes_rng *rng, uint64_t element); /* [0, 1), 53 bits */
double pes_rng_normal(const struct pes_rng *rng, uint64_t element);  /* N(0, 1), Box-Muller in double */

/* A sequence over one counter, for data generation. */
struct pes_stream {
    struct pes_rng rng;
    uint64_t next;
};
double pes_stream_uniform(struct pes_stream *stream);
double pes_stream_normal(struct pes_stream *stream);
/* count of them, two to an element of the counter: half the cost. */
void pes_stream_normals(struct pes_stream *stream, size_t count, double *out);
uint64_t pes_stream_below(struct pes_stream *stream, uint64_t n); /* unbiased over 0 .. n-1; n >= 1 */

/* Fisher-Yates. */
void pes_stream_shuffle(struct pes_stream *stream, int32_t *values, size_t count);

/* A seed for a named thing: XXH3-64 of the name, seeded. */
uint64_t pes_rng_named_seed(uint64_t seed, const char *name);

#endif
