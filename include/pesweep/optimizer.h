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
    int64_t hold_steps;    /* further steps at the peak before a falling schedule falls */
    bool published_warmup; /* rate of warm-up step s is s/w, not (s+1)/w */
    bool decay_all;        /* every tensor decays, not matrices only */
};
/* PES_INPUT where the numbers make no sense together (warm-up beyond the steps, lr_min above lr, ...). */
enum pes_status pes_optimizer_configure(const struct pes_config *config, struct pes_optimizer *optimizer);

/* Learning rate of step s (from 0).  Warm-up over w steps: (s + 1)/w of the peak.  A falling schedule then
 * goes from the peak, at step w + hold_steps, to lr_min, which is reached after the last step and kept. */
double pes_optimizer_rate(const struct pes_optimizer *optimizer, int64_t step);
bool pes_optimizer_decays(const struct pes_optimizer *optimizer, const struct pes_tensor *tensor);

/* One step with `rate`; `update` counts from 1 (bias correction).  Returns the gradient's norm before
 * clipping; if that isn't finite nothing is changed. */
double pes_optimizer_step(const struct pes_optimizer *optimizer, const struct pes_tensor_table *table,
                          double rate, int64_t update, real *parameters, real *m, real *v,
                          const real *gradient);

#endif
