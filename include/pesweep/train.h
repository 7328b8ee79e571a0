/* train.h - one trial from configuration to row.  Knows neither MPI nor HDF5: hooks in, a row out. */
#ifndef PESWEEP_TRAIN_H
#define PESWEEP_TRAIN_H

#include "pesweep/sweep.h"
#include "pesweep/variable.h"

/* X(symbol, value in the file, name, meaning) */
#define PES_OUTCOMES(X)                                                                                      \
    X(PENDING, 0, "pending", "not run yet")                                                                  \
    X(RUNNING, 1, "running", "a rank was at it when last heard of")                                          \
    X(DONE, 2, "done", "finished")                                                                           \
    X(FAILED, 3, "failed", "could not be run; see reason")                                                   \
    X(DIVERGED, 4, "diverged", "loss not finite or over train.loss_bound; see reason and steps")
enum pes_outcome {
#define X(symbol, value, name, meaning) PES_OUTCOME_##symbol = value,
    PES_OUTCOMES(X)
#undef X
};
const char *pes_outcome_name(enum pes_outcome outcome);

#define PES_REASONS(X)                                                                                       \
    X(NONE, 0, "none", "")                                                                                   \
    X(LOSS_NOT_FINITE, 1, "loss_not_finite", "the training loss became NaN or infinite")                     \
    X(LOSS_BOUND, 2, "loss_bound", "the training loss passed train.loss_bound")                              \
    X(GRADIENT_NOT_FINITE, 3, "gradient_not_finite", "the gradient's norm became NaN or infinite")           \
    X(MEMORY, 4, "memory", "no memory for the trial")                                                        \
    X(DATA, 5, "data", "the task's data could not be read")                                                  \
    X(OUTPUT, 6, "output", "the trial's row could not be written")                                           \
    X(INTERNAL, 7, "internal", "a fault of pesweep")
enum pes_reason {
#define X(symbol, value, name, meaning) PES_REASON_##symbol = value,
    PES_REASONS(X)
#undef X
};
const char *pes_reason_name(enum pes_reason reason);

/* Training's own result variables; ended by name NULL. */
extern const struct pes_variable pes_train_variables[];
extern const struct pes_variable pes_train_file_variables[]; /* in sweeps whose tasks read files */

/* Layout of the rows of a sweep: sizes are the largest of any trial, smaller trials are padded. */
enum pes_status pes_train_layout(const struct pes_sweep *sweep, struct pes_arena *arena,
                                 struct pes_layout **layout);

/* Everything needed to go on with a trial: what a checkpoint holds.  Random numbers are functions of step. */
struct pes_train_state {
    int64_t step;           /* finished optimizer steps */
    int64_t updates;        /* optimizer updates made: steps less those without a labelled token */
    size_t num_evaluations; /* entries of the curves already filled */
    size_t num_checkpoints;
    size_t num_parameters;
    real *parameters, *m, *v;
    struct pes_row row;
    double train_seconds, measure_seconds; /* spent so far, all parts of the trial */
    double interval_loss;                  /* sum and labels of the training loss since the last evaluation */
    int64_t interval_count;
};

enum pes_tick { PES_TICK_GO, PES_TICK_CHECKPOINT, PES_TICK_STOP };

struct pes_train_hooks {
    void *context;
    /* Between micro-batches and probes.  CHECKPOINT: save at the end of this step and go on.  STOP: drop the
     * unfinished step, save the last finished one, leave with PES_STOPPED.  NULL = always GO. */
    enum pes_tick (*tick)(void *context, int64_t step, int64_t steps);
    /* Saves the state; NULL = nothing is saved.  An error is told by the hook; training goes on. */
    enum pes_status (*checkpoint)(void *context, const struct pes_train_state *state);
    /* The last checkpoint of this trial, if there is one: fills the state's arrays (sized by the caller) and
     * returns true.  NULL = start from step 0. */
    bool (*resume)(void *context, struct pes_train_state *state);
};

struct pes_train_result {
    enum pes_outcome outcome;
    enum pes_reason reason;
    char message[256];
    int64_t steps; /* finished optimizer steps */
    double train_seconds, measure_seconds;
};

/* Trains and measures one trial into `row` (cleared first).  PES_OK with an outcome: what goes wrong is one
 * too (its row is then empty; a diverged trial keeps its curves); PES_STOPPED if a tick said so. */
enum pes_status pes_train_trial(const struct pes_sweep *sweep, size_t trial, const struct pes_layout *layout,
                                const struct pes_train_hooks *hooks, struct pes_row *row,
                                struct pes_train_result *result);

#endif
