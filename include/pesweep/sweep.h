/* sweep.h - a sweep file: read, checked, expanded to trials, each with its identity and cost.
 *
 * Every error is one line `file:line:column: what is wrong; what is allowed; did you mean ...`, before
 * anything runs.  What is decided where YAML or the file leave a choice:
 *
 * YAML.  One document of UTF-8 or marked UTF-16, at most 16 MiB, a map at the top; no anchors, aliases, tags
 * or merge keys; no key twice in a map; no tab in the indentation.
 *
 * Scalars.  Numbers are plain decimal (+5, .5e-2 and 5E-5 too): no leading zeros, hex, octal, underscores,
 * nan or inf; an integer has neither point nor exponent.  true and false (True, TRUE, False, FALSE) alone are
 * bools; yes, no, on and off are refused.  Whatever is quoted is text.  A scalar for a block of keys is its
 * `kind`.
 *
 * Axes.  Each element is one value: keys that take lists take lists of lists.  0..15 is an inclusive range of
 * an integer key, alone or inside a list.  `grid` is a product, its first key slowest; `zip` (a map of lists,
 * or a list of such maps) counts as axes behind the grid's; `include` adds trials after both, their other
 * values come from the blocks; with `include` alone the blocks by themselves are no trial.
 *
 * Meaning.  Errors are: a value twice on an axis; a constant that axes hide in every trial; a term of
 * `exclude` that matches nothing; a value that has no effect in any trial (model.max_length alone may stand
 * beside schemes without a table); a combination that makes no sense (odd rotary width, ...), which refuses
 * the whole file.  Elsewhere what has no effect is set back to its default, and of trials that then are the
 * same one runs; the others stand in `skipped`. */
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

enum pes_claim_test {
    PES_CLAIM_PERMUTATION,
    PES_CLAIM_MANN_WHITNEY,
    PES_CLAIM_SIGN_FLIP,
    PES_CLAIM_LOG_RANK
};

/* A selection of trials: axis values that must match. */
struct pes_selection {
    size_t num_terms;
    const size_t *slots;
    const struct pes_value *values;
};

/* claims: - checked here, judged by the analysis.  See `pesweep help claims`. */
struct pes_claim {
    const char *name, *text;       /* text: the YAML of the claim on one line */
    const char *metric;            /* "final.test_accuracy", "steps_to(test_accuracy, 0.9)" */
    const char *axis;              /* NULL unless the comparison is by an axis */
    const char *better, *than;     /* values of the axis; than may be "others" */
    struct pes_selection ratio[2]; /* ratio of the metric between two selections; 0 terms = not a ratio */
    bool is_ratio;
    int bound_side; /* 1: the metric is above `bound`, -1: below it, 0: the claim compares trials */
    double bound;
    struct pes_selection where;
    enum pes_claim_test test;
    double threshold; /* smallest effect that counts; 0 = any */
    double alpha;     /* default 0.05 */
    int line, column; /* of the metric */
};

struct pes_sweep {
    struct pes_arena *arena;
    const char *name;
    const char *path; /* as given */
    const char *text; /* the file in UTF-8, without a byte order mark; no NUL before its end */
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

/* From a file, or from text that `path` names in messages; the caller destroys the sweep.  PES_IO, PES_INPUT
 * with the place, PES_MEMORY. */
enum pes_status pes_sweep_load(const char *path, struct pes_sweep **sweep);
enum pes_status pes_sweep_parse(const char *path, const char *text, size_t bytes, struct pes_sweep **sweep);
void pes_sweep_destroy(struct pes_sweep *sweep);

/* Whether every claim's metric is one of `names` (result variables with one number per trial, or per
 * evaluation for steps_to).  PES_INPUT at the place of the first that isn't.  Called by whoever knows the
 * variables. */
enum pes_status pes_sweep_check_metrics(const struct pes_sweep *sweep, const char *const *names,
                                        size_t count);

/* Typed views of a trial.  They were checked when the sweep was read, so an error here is one of memory. */
enum pes_status pes_trial_model(const struct pes_trial *trial, struct pes_model_config *model);
enum pes_status pes_trial_optimizer(const struct pes_trial *trial, struct pes_optimizer *optimizer);

/* Steps at which curves are evaluated and checkpoints taken, ascending, both with 0 and the last step.
 * Returns how many; `steps` NULL asks for their number alone.  Evaluations stand every measure.evaluate_every
 * steps (0: the hundredth part of the steps, rounded up) and at the end.  Checkpoints are
 * min(measure.checkpoints, steps + 1) different steps, spaced evenly in step or from step 1 in its logarithm.
 */
size_t pes_trial_evaluations(const struct pes_sweep *sweep, const struct pes_trial *trial, int64_t *steps);
size_t pes_trial_checkpoints(const struct pes_sweep *sweep, const struct pes_trial *trial, int64_t *steps);

/* Cost of a trial before anything has been measured.  The rate is a guess for one core with AVX-512, in
 * FLOP/s: what models of width 32 reach with all that is measured; from width 128 on it is about twice as
 * much, with AVX2 half. */
#define PES_COST_RATE 6e10
struct pes_cost {
    size_t parameters;
    double train_flops, evaluate_flops, probe_flops; /* whole trial */
    double seconds;                                  /* at PES_COST_RATE */
    size_t memory_bytes;                             /* of one rank that trains it */
};
enum pes_status pes_sweep_cost(const struct pes_sweep *sweep, const struct pes_trial *trial,
                               struct pes_cost *cost);

/* Reference of the sweep file from the key table (`pesweep help sweep-file`); markdown for the README. */
void pes_sweep_print_reference(FILE *out, bool markdown);

/* The sweep file as a JSON Schema (draft 2020-12), a new reference to a Jansson object; NULL: no memory. */
struct json_t *pes_sweep_schema(void);

#endif
