/* optimizer.h - AdamW with a learning-rate schedule over a tensor table. */
#ifndef PESWEEP_OPTIMIZER_H
#define PESWEEP_OPTIMIZER_H

#include "pesweep/config.h"
#include "pesweep/tensor.h"

enum pes_schedule { PES_SCHEDULE_CONSTANT, PES_SCHEDULE_LINEAR, PES_SCHEDULE_COSINE };

struct pes_optimizer {
    double lr, lr_min, beta1, beta2, eps, weight_decay, clip; /* clip 0 = none */
    enum pes_schedule schedule;
    int64_t steps, warmup_steps;
    bool published_warmup; /* rate of warm-up step s is s/w, not (s+1)/w */
    bool decay_all;        /* every tensor decays, not matrices only */
};
enum pes_status pes_optimizer_configure(const struct pes_config *config, struct pes_optimizer *optimizer);

/* Learning rate of step s (from 0).  After the last step it stays at the end of the curve. */
double pes_optimizer_rate(const struct pes_optimizer *optimizer, int64_t step);
bool pes_optimizer_decays(const struct pes_optimizer *optimizer, const struct pes_tensor *tensor);

/* One step with `rate`; `update` counts from 1 (bias correction).  Returns the gradient's norm before clipping. */
double pes_optimizer_step(const struct pes_optimizer *optimizer, const struct pes_tensor_table *table, double rate,
                          int64_t update, real *parameters, real *m, real *v, const real *gradient);

#endif
