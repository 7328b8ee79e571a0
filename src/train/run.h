/* run.h - one trial while it runs: what the files of src/train share. */
#ifndef PESWEEP_TRAIN_RUN_H
#define PESWEEP_TRAIN_RUN_H

#include "pesweep/measure.h"
#include "pesweep/train.h"

struct pes_run {
    const struct pes_sweep *sweep;
    const struct pes_config *config, *settings;
    const struct pes_train_hooks *hooks;
    struct pes_train_result *result;
    struct pes_arena *arena;   /* lives as long as the trial */
    struct pes_arena *scratch; /* rewound after every step and evaluation */
    struct pes_arena *work;    /* what training needs, or evaluating and the family that is being measured */

    struct pes_data *data;
    uint64_t data_hash; /* of the task's files; 0 = it reads none */
    struct pes_model_config model_config;
    struct pes_model *model;
    struct pes_optimizer optimizer;
    struct pes_workspace *training, *evaluation; /* one of them at a time, the other is NULL */
    real *gradient;                              /* beside `training` */
    int64_t steps;
    int batch, micro_batch;
    uint64_t seed;
    double loss_bound;

    int64_t *evaluations, *checkpoints; /* steps, ascending */
    size_t num_evaluations, num_checkpoints;

    struct pes_train_state state; /* of the last finished step: the only thing that changes */
    bool save_wanted;
};

/* Makes `training` and `gradient`, or `evaluation`, in the memory of the other: both together would be a
 * third of what a large trial takes. */
enum pes_status pes_run_take_workspace(struct pes_run *run, bool training);

/* Asks the caller whether to go on: PES_STOPPED if not. */
enum pes_status pes_run_tick(struct pes_run *run);

/* One optimizer step, all or nothing.  A trial that diverges has that as its result and stays where it is. */
enum pes_status pes_run_step(struct pes_run *run);
bool pes_run_diverged(const struct pes_run *run);

/* The next entry of the dense curves; the last one takes the whole test set and fills the final metrics. */
enum pes_status pes_run_evaluate(struct pes_run *run);

/* Every family at the next checkpoint, or at the end. */
enum pes_status pes_run_measure(struct pes_run *run, bool final);

#endif
