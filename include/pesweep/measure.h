/* measure.h - what is measured on a model during and after training: families of measures and probes.
 *
 * A family is one row: its result variables and a function that fills them from (model, parameters, data).
 * Spectral families stand in src/spectrum, those that need forward passes in src/probe.  train runs every
 * family at every checkpoint and once more at the end. */
#ifndef PESWEEP_MEASURE_H
#define PESWEEP_MEASURE_H

#include "pesweep/model.h"
#include "pesweep/variable.h"

struct pes_measurement {
    const struct pes_config *settings; /* the blocks measure and store of the sweep */
    const struct pes_model *model;
    const real *parameters;
    struct pes_workspace *workspace; /* a family prepares it and leaves it as it likes */
    int micro_batch;                 /* sequences it holds */
    struct pes_data *data;           /* probes use the first sequences of the test set */
    bool final;
    size_t checkpoint;         /* index along the checkpoint dimension when not final */
    size_t num_checkpoints;    /* entries of the checkpoint dimension filled when final */
    uint64_t seed;             /* trial's seed, for nulls and perturbations */
    const struct pes_row *row; /* results go here */
    struct pes_arena *arena;   /* scratch, rewound by the caller */
    /* Polled between micro-batches; true: return PES_STOPPED.  NULL = never. */
    bool (*interrupted)(void *context);
    void *context;
};

struct pes_measure {
    const char *name, *summary, *source;
    const struct pes_variable *variables; /* ended by name NULL */
    bool (*wanted)(const struct pes_config *settings);
    /* PES_OK, PES_MEMORY or PES_STOPPED; what isn't defined for the model stays NaN in the row. */
    enum pes_status (*run)(const struct pes_measurement *measurement);
};

/* In the order in which they run and stand in the file; ended by NULL. */
#define PES_MEASURES(X)                                                                                      \
    X(content)                                                                                               \
    X(phase)                                                                                                 \
    X(composition)                                                                                           \
    X(kernel)                                                                                                \
    X(attention)                                                                                             \
    X(ablation)                                                                                              \
    X(ablation_groups)                                                                                       \
    X(published_ablation)                                                                                    \
    X(phase_zeroing)                                                                                         \
    X(symmetrisation)                                                                                        \
    X(onset)

#define X(identifier) extern const struct pes_measure pes_measure_##identifier;
PES_MEASURES(X)
#undef X
extern const struct pes_measure *const pes_measures[];

/* Of n values >= 0.  Gini's coefficient: sum over pairs |x_i - x_j| / (2 n sum x), from 0 (equal) to (n -
 * 1)/n (one has all).  Herfindahl's index of the shares, normalised to 0 (equal) .. 1 (one has all).  NaN if
 * the sum is 0; Herfindahl NaN for n = 1. */
double pes_probe_gini(const double *x, size_t n);
double pes_probe_herfindahl(const double *x, size_t n);

/* How a layer's accuracy depends on its heads, from the drop (accuracy with all heads - accuracy without head
 * h) of each and its standard error.  Only drops above 0 count.  Everything is NaN unless the largest drop is
 * at least 0.01 and three of its standard errors: below that it is the maximum of noise. */
struct pes_deposit {
    double share; /* largest drop / sum of drops */
    double gini, herfindahl;
    double rotated_share; /* part of the sum on the heads of the set `rotated` */
};
struct pes_deposit pes_probe_deposit(const double *drops, const double *errors, size_t num_heads,
                                     uint64_t rotated);

/* Lists of heads as measure.ablate_lists has them: "0.1 0.3, 1.0" is {heads 1 and 3 of layer 0}, {head 0 of
 * layer 1}.  *num_lists of them; bit h of sets[list * L + l] stands for head h of layer l.  sets may be NULL:
 * counted and checked only.  PES_INPUT in words: no number, a head twice, a layer or head beyond L, H. */
enum pes_status pes_probe_read_lists(const char *text, int L, int H, size_t *num_lists, uint64_t *sets);

/* First step, interpolated, after which the curve stays on the final side of start + (final - start)/2, where
 * final is the mean of the last three values; NaN if |final - start| < 0.1, for fewer than four values or
 * with a NaN. */
double pes_probe_onset(const double *steps, const double *values, size_t n);
/* The variables of pes_measure_onset of every head, from the first num_checkpoints of the row's curves. */
enum pes_status pes_probe_onsets(const struct pes_row *row, size_t num_checkpoints, size_t layers,
                                 size_t heads, struct pes_arena *arena);

#endif
