/* sweep.h - a sweep file: read, checked, expanded to trials, each with its identity and cost.
 *
 * Every error is one line `file:line:column: what is wrong, what is allowed`, before anything runs. */
#ifndef PESWEEP_SWEEP_H
#define PESWEEP_SWEEP_H

#include <stdio.h>

#include "pesweep/config.h"
#include "pesweep/model.h"
#include "pesweep/optimizer.h"

/* The one key table: core rows plus every plug-in's. Built at the first call; lives for ever. */
const struct pes_key_table *pes_sweep_keys(void);

/* One column of /trials: a key that the grid, zip or include varies. */
struct pes_axis {
    const char *name; /* "pe", "seed", "penalty_kind" */
    const char *path; /* "model.pe" */
    size_t slot;
};

struct pes_trial {
    struct pes_config *config; /* resolved: blocks task, model, train */
    char key[33];              /* XXH3-128 of the canonical configuration */
    const char *label;         /* "pe=rope seed=3" */
};

struct pes_skipped {
    const char *label, *reason; /* excluded by line N; same trial as ... */
};

enum pes_claim_test { PES_CLAIM_PERMUTATION, PES_CLAIM_MANN_WHITNEY, PES_CLAIM_SIGN_FLIP, PES_CLAIM_LOG_RANK };

/* A selection of trials: axis values that must match. */
struct pes_selection {
    size_t num_terms;
    const size_t *slots;
    const struct pes_value *values;
};

/* claims: - checked here, judged by the analysis.  See `pesweep help claims`. */
struct pes_claim {
    const char *name, *text; /* text: the YAML of the claim on one line */
    const char *metric;      /* "final.test_accuracy", "steps_to(test_accuracy, 0.9)" */
    const char *axis;        /* NULL unless the comparison is by an axis */
    const char *better, *than; /* values of the axis; than may be "others" */
    struct pes_selection ratio[2]; /* ratio of the metric between two selections; 0 terms = not a ratio */
    bool is_ratio;
    struct pes_selection where;
    enum pes_claim_test test;
    double threshold; /* smallest effect that counts; 0 = any */
    double alpha;     /* default 0.05 */
    int line;
};

struct pes_sweep {
    struct pes_arena *arena;
    const char *name;
    const char *path, *text; /* as given, and the file's bytes */
    size_t text_bytes;
    struct pes_config *settings; /* blocks measure and store, resolved */
    size_t num_axes;
    struct pes_axis *axes;
    size_t num_trials;
    struct pes_trial *trials; /* grid order: first axis slowest */
    size_t num_skipped;
    struct pes_skipped *skipped;
    size_t num_claims;
    struct pes_claim *claims;
    char hash[33]; /* over all trial keys and the settings: what ranks compare at start */
};

enum pes_status pes_sweep_load(const char *path, struct pes_sweep **sweep);
enum pes_status pes_sweep_parse(const char *path, const char *text, size_t bytes, struct pes_sweep **sweep);
void pes_sweep_destroy(struct pes_sweep *sweep);

/* Typed views of a trial.  They were checked when the sweep was read, so an error here is one of memory. */
enum pes_status pes_trial_model(const struct pes_trial *trial, struct pes_model_config *model);
enum pes_status pes_trial_optimizer(const struct pes_trial *trial, struct pes_optimizer *optimizer);

/* Steps at which curves are evaluated and checkpoints taken, ascending, both with 0 and the last step; the
 * caller's arrays must hold pes_trial_num_... entries. */
size_t pes_trial_evaluations(const struct pes_sweep *sweep, const struct pes_trial *trial, int64_t *steps);
size_t pes_trial_checkpoints(const struct pes_sweep *sweep, const struct pes_trial *trial, int64_t *steps);

/* Cost of a trial before anything has been measured. */
struct pes_cost {
    size_t parameters;
    double train_flops, evaluate_flops, probe_flops; /* whole trial */
    double seconds;                                  /* at pes_cost_rate FLOP/s */
    size_t memory_bytes;                             /* of one rank that trains it */
};
enum pes_status pes_sweep_cost(const struct pes_sweep *sweep, const struct pes_trial *trial, struct pes_cost *cost);

/* Reference of the sweep file from the key table (`pesweep help sweep-file`); markdown for the README. */
void pes_sweep_print_reference(FILE *out, bool markdown);

#endif
