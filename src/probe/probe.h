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
    int64_t lost, scored; /* drop = lost / scored */
};

/* Compares each case with the unchanged model over samples [first, end): the test set, and training samples
 * after it.  All NaN without a label. effects: [num_cases]. */
enum pes_status pes_probe_compare(const struct pes_measurement *m, int64_t first, int64_t end,
                                  size_t num_cases, const struct pes_probe_case *cases,
                                  struct pes_probe_effect *effects);

/* The rows of an effect in a table of variables: `name`_drop, _drop_error, _loss_change, _loss_change_error
 * in `probes`.  `how` says what was changed and on what; last come rank and dimensions. */
/* clang-format off */
#define PES_EFFECT_VARIABLES(name, how, ...) \
    {"probes", name "_drop", PES_F64, __VA_ARGS__, "", "accuracy lost " how}, \
    {"probes", name "_drop_error", PES_F64, __VA_ARGS__, "", "paired standard error of " name "_drop"}, \
    {"probes", name "_loss_change", PES_F64, __VA_ARGS__, "nat", "loss gained " how}, \
    {"probes", name "_loss_change_error", PES_F64, __VA_ARGS__, "nat", "paired standard error of " name "_loss_change"}
/* clang-format on */

/* Puts them, those that the group has. */
void pes_probe_put(const struct pes_measurement *m, const char *group, const char *name, const size_t *at,
                   const struct pes_probe_effect *effect);

/* One set of heads per layer with a single member: sets[L], zero elsewhere.  NULL: no memory. */
uint64_t *pes_probe_single_head(const struct pes_measurement *m, size_t layer, size_t head);

#endif
