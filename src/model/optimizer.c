/* optimizer.c - AdamW (Loshchilov & Hutter 2019, arXiv 1711.05101) and its learning rate. */
#include "pesweep/optimizer.h"

#include <math.h>
#include <string.h>

#include "pesweep/kernels.h"

static const char *const schedule_names[] = {
    [PES_SCHEDULE_CONSTANT] = "constant", [PES_SCHEDULE_LINEAR] = "linear", [PES_SCHEDULE_COSINE] = "cosine"};

static enum pes_schedule schedule_of(const struct pes_config *config)
{
    const char *name = pes_config_text(config, "train.schedule");
    for (size_t i = 0; i < PES_COUNT(schedule_names); i++)
        if (strcmp(name, schedule_names[i]) == 0) return (enum pes_schedule)i;
    pes_check_failed(__FILE__, __LINE__, "train.schedule is one of the names");
}

static enum pes_status check(const struct pes_optimizer *optimizer)
{
    long long warmup = (long long)optimizer->warmup_steps, hold = (long long)optimizer->hold_steps;
    long long steps = (long long)optimizer->steps;
    if (warmup > steps)
        return pes_fail(PES_INPUT, "warm-up of %lld steps is longer than the %lld steps of training", warmup,
                        steps);
    if (hold > steps - warmup)
        return pes_fail(
            PES_INPUT, "hold_steps %lld and warm-up of %lld steps are longer than the %lld steps of training",
            hold, warmup, steps);
    if (optimizer->lr_min > optimizer->lr)
        return pes_fail(PES_INPUT, "lr_min %g is above the peak lr %g", optimizer->lr_min, optimizer->lr);
    return PES_OK;
}

enum pes_status pes_optimizer_configure(const struct pes_config *config, struct pes_optimizer *optimizer)
{
    const struct pes_value *betas = pes_config_value(config, "train.betas");
    CHECK(betas->type == PES_VALUE_REALS && betas->count == 2);
    *optimizer = (struct pes_optimizer){
        .lr = pes_config_real(config, "train.lr"),
        .beta1 = betas->reals[0],
        .beta2 = betas->reals[1],
        .eps = pes_config_real(config, "train.eps"),
        .weight_decay = pes_config_real(config, "train.weight_decay"),
        .clip = pes_config_real(config, "train.clip"),
        .schedule = schedule_of(config),
        .steps = pes_config_int(config, "train.steps"),
        .warmup_steps = pes_config_int(config, "train.warmup_steps"),
        .published_warmup = pes_config_bool(config, "train.published"),
        .decay_all = strcmp(pes_config_text(config, "train.decay"), "all") == 0,
    };
    double share = pes_config_real(config, "train.warmup");
    if (share > 0 && optimizer->warmup_steps >= 0)
        return pes_fail(PES_INPUT, "warmup %g and warmup_steps %lld both say how long warm-up is: give one",
                        share, (long long)optimizer->warmup_steps);
    if (optimizer->warmup_steps < 0)
        optimizer->warmup_steps = (int64_t)llround(share * (double)optimizer->steps);
    if (optimizer->schedule != PES_SCHEDULE_CONSTANT) {
        optimizer->lr_min = pes_config_real(config, "train.lr_min");
        optimizer->hold_steps = pes_config_int(config, "train.hold_steps");
    }
    return check(optimizer);
}

double pes_optimizer_rate(const struct pes_optimizer *optimizer, int64_t step)
{
    double peak = optimizer->lr, warmup = (double)optimizer->warmup_steps, s = (double)step;
    if (step < optimizer->warmup_steps) return peak * (s + (optimizer->published_warmup ? 0 : 1)) / warmup;
    int64_t start = optimizer->warmup_steps + optimizer->hold_steps;
    if (optimizer->schedule == PES_SCHEDULE_CONSTANT || step < start) return peak;
    if (step >= optimizer->steps) return optimizer->lr_min;
    double done = (double)(step - start) / (double)(optimizer->steps - start);
    double left = optimizer->schedule == PES_SCHEDULE_LINEAR ? 1 - done : 0.5 * (1 + cos(M_PI * done));
    return optimizer->lr_min + (peak - optimizer->lr_min) * left;
}

bool pes_optimizer_decays(const struct pes_optimizer *optimizer, const struct pes_tensor *tensor)
{
    return optimizer->decay_all || tensor->role == PES_TENSOR_WEIGHT;
}

double pes_optimizer_step(const struct pes_optimizer *optimizer, const struct pes_tensor_table *table,
                          double rate, int64_t update, real *parameters, real *m, real *v,
                          const real *gradient)
{
    CHECK(update >= 1);
    double norm = sqrt(pes_sum_squares(gradient, table->num_parameters));
    if (!isfinite(norm)) return norm;
    struct pes_adamw adamw = {
        .lr = rate,
        .beta1 = optimizer->beta1,
        .beta2 = optimizer->beta2,
        .eps = optimizer->eps,
        .correction1 = 1 - pow(optimizer->beta1, (double)update),
        .correction2 = 1 - pow(optimizer->beta2, (double)update),
        .gradient_scale = optimizer->clip > 0 && norm > optimizer->clip ? optimizer->clip / norm : 1,
    };
    for (size_t i = 0; i < table->num_tensors; i++) {
        const struct pes_tensor *tensor = &table->tensors[i];
        adamw.decay = pes_optimizer_decays(optimizer, tensor) ? optimizer->weight_decay : 0;
        pes_adamw_update(parameters + tensor->offset, m + tensor->offset, v + tensor->offset,
                         gradient + tensor->offset, tensor->count, &adamw);
    }
    return norm;
}
