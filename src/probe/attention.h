/* attention.h - what is gathered from attention as it is computed (attention.c, behaviour.c, maps.c). */
#ifndef PESWEEP_PROBE_ATTENTION_H
#define PESWEEP_PROBE_ATTENTION_H

#include <stdlib.h>

#include "probe.h"

/* Real tokens of sequence b; padding stands at the end. */
static inline int pes_behaviour_length(const struct pes_batch *batch, int b)
{
    int length = batch->T;
    while (batch->mask && length > 0 && !batch->mask[(size_t)b * (size_t)batch->T + (size_t)length - 1])
        length--;
    return length;
}

/* --- behaviour.c: averages over queries --- */
struct pes_behaviour_sums {
    double previous, next, induction, duplicate, first, entropy, distance;
};
struct pes_behaviour {
    const struct pes_model_config *model;
    const struct pes_task_shape *task;
    struct pes_batch batch;             /* the micro-batch at work */
    uint8_t *counted;                   /* [B][T] 1 = a query that is averaged over */
    int32_t *earlier;                   /* [B][T] last earlier position of the same token, -1 = none */
    int32_t *latest;                    /* [V] scratch */
    int64_t queries, queries_with_next; /* averaged over so far, per head */
    double uniform;                     /* sum over queries of 1 / visible keys */
    struct pes_behaviour_sums *sums;    /* [L][H] */
};
enum pes_status pes_behaviour_create(const struct pes_measurement *m, struct pes_behaviour *behaviour);
/* Before the pass over a micro-batch; then every observation of it. */
void pes_behaviour_batch(struct pes_behaviour *behaviour, const struct pes_batch *batch);
void pes_behaviour_observe(struct pes_behaviour *behaviour, const struct pes_observation *seen);

/* --- maps.c: mean attention and mean raw scores, padding and all: definitions count the whole T x T --- */
struct pes_maps {
    size_t T, L, H;
    double *attention, *scores; /* [L][H][T][T] sums, then means */
};
enum pes_status pes_maps_create(const struct pes_measurement *m, struct pes_maps *maps);
void pes_maps_observe(struct pes_maps *maps, const struct pes_observation *seen);
/* Means over `sequences`, and what is made of them: attention/ *, Toeplitz measures and relative kernels in
 * `probes`. */
enum pes_status pes_maps_finish(struct pes_maps *maps, const struct pes_measurement *m, int64_t sequences);

#endif
