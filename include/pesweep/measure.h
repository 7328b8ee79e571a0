/* measure.h - what is measured on a model during and after training: families of measures and probes.
 *
 * A family is one row: its result variables and a function that fills them from (model, parameters, data).  Spectral
 * families stand in src/spectrum, those that need forward passes in src/probe.  train runs every family at every
 * checkpoint and once more at the end. */
#ifndef PESWEEP_MEASURE_H
#define PESWEEP_MEASURE_H

#include "pesweep/model.h"
#include "pesweep/variable.h"

struct pes_measurement {
    const struct pes_config *settings; /* the blocks measure and store of the sweep */
    const struct pes_model *model;
    const real *parameters;
    struct pes_workspace *workspace; /* evaluation workspace; a family prepares it and leaves it as it likes */
    int micro_batch;                 /* sequences it holds */
    struct pes_data *data;           /* probes use sequences [0, probe_sequences) of the test set, at the end all */
    bool final;
    size_t checkpoint;               /* index along the checkpoint dimension when not final */
    uint64_t seed;                   /* trial's seed, for nulls and perturbations */
    const struct pes_row *row;       /* results go here */
    struct pes_arena *arena;         /* scratch, rewound by the caller */
    bool (*interrupted)(void *context); /* polled between micro-batches; true: return PES_STOPPED */
    void *context;
};

struct pes_measure {
    const char *name, *summary, *source;
    const struct pes_variable *variables; /* ended by name NULL */
    bool (*wanted)(const struct pes_config *settings);
    enum pes_status (*run)(const struct pes_measurement *measurement);
};

/* In the order in which they run and stand in the file; ended by NULL. */
#define PES_MEASURES(X)                                                                                      \
    X(content)                                                                                               \
    X(phase)                                                                                                 \
    X(composition)                                                                                           \
    X(attention)                                                                                             \
    X(ablation)                                                                                              \
    X(phase_zeroing)                                                                                         \
    X(symmetrisation)

#define X(identifier) extern const struct pes_measure pes_measure_##identifier;
PES_MEASURES(X)
#undef X
extern const struct pes_measure *const pes_measures[];

#endif
