/* measure_head.h - how the spectral families walk over heads and store what they find; private to
 * src/spectrum. */
#ifndef PESWEEP_SPECTRUM_MEASURE_HEAD_H
#define PESWEEP_SPECTRUM_MEASURE_HEAD_H

#include "pesweep/spectrum.h"

#define PES_FLAGS_MEANING                                                                                    \
    "bits: 1 non-finite weights, 2 zero, 4 ill-conditioned eigenvalues, 8 no convergence, 16 broken "        \
    "invariant, 32 silent frequency, 64 no symmetric part, 128 no phase"

#define PES_HEAD_CURVE(name, type, unit, meaning)                                                            \
    {                                                                                                        \
        "curves", name, type, 3, {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD}, unit, meaning            \
    }
#define PES_HEAD_FINAL(group, name, type, unit, meaning)                                                     \
    {                                                                                                        \
        group, name, type, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, unit, meaning                                   \
    }

/* Where a head's numbers go: "curves" at a checkpoint (folded ones under folded_<name>), "spectra" or
 * "spectra_folded" at the end. */
struct pes_head_place {
    const struct pes_measurement *m;
    size_t layer, head;
    bool folded;
};
void pes_head_put(const struct pes_head_place *place, const char *name, double value);
/* The same for a block along the `inner` last dimensions. */
void pes_head_put_block(const struct pes_head_place *place, const char *name, int inner, const size_t *extent,
                        const double *block);

#define PES_PERCENTILE(name) "share of the model's heads with a " name " up to this head's"

/* Every head, raw and folded, in order; then the ranks of heads, if the measurement is the final one.  What
 * `measure` takes from the arena is given back after each head. */
enum pes_status pes_head_each(const struct pes_measurement *m, const struct pes_head_source *source,
                              enum pes_status (*measure)(const struct pes_head_place *place,
                                                         const struct pes_head *head));

/* PES_STOPPED if the run is to end. */
enum pes_status pes_head_poll(const struct pes_measurement *m);

/* The measured model as a source; borrows from the measurement. */
struct pes_head_source pes_head_source(const struct pes_measurement *m);

#endif
