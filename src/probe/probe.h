/* probe.h - what probes share: passes over test sequences, and comparison of the model with changed ones. */
#ifndef PESWEEP_PROBE_PROBE_H
#define PESWEEP_PROBE_PROBE_H

#include "pesweep/measure.h"

/* The first `wanted` test sequences, or all there are. */
int64_t pes_probe_sequences(const struct pes_measurement *m, int64_t wanted);

/* PES_STOPPED if the run is to end. */
enum pes_status pes_probe_poll(const struct pes_measurement *m);

/* A change of heads and the first layer that it touches; layers below are computed once for all. */
struct pes_probe_case {
    int first_layer;
    struct pes_intervention change;
};

/* What a change does, over scored labels: accuracy lost, mean loss gained.  Standard errors are paired, with
 * the sequence as the unit (labels of a sequence depend on each other); NaN for fewer than two sequences. */
struct pes_probe_effect {
    double drop, drop_error, loss_change, loss_change_error;
};

/* Compares each case with the unchanged model over the first `sequences` test sequences, and over training
 * samples after them if there are more than the test set has.  All NaN without a label. effects: [num_cases].
 */
enum pes_status pes_probe_compare(const struct pes_measurement *m, int64_t sequences, size_t num_cases,
                                  const struct pes_probe_case *cases, struct pes_probe_effect *effects);

/* One set of heads per layer with a single member: sets[L], zero elsewhere.  NULL: no memory. */
uint64_t *pes_probe_single_head(const struct pes_measurement *m, size_t layer, size_t head);

#endif
