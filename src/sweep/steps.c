/* steps.c - the steps at which a trial is evaluated and at which checkpoints are taken. */
#include "pesweep/sweep.h"

#include <math.h>
#include <string.h>

size_t pes_trial_evaluations(const struct pes_sweep *sweep, const struct pes_trial *trial, int64_t *steps)
{
    int64_t last = pes_config_int(trial->config, "train.steps");
    int64_t every = pes_config_int(sweep->settings, "measure.evaluate_every");
    if (!every) every = (last + 99) / 100;
    size_t count = 0;
    for (int64_t step = 0; step < last; step += every, count++)
        if (steps) steps[count] = step;
    if (steps) steps[count] = last;
    return count + 1;
}

/* c_0 = 0, c_i = last^((i - 1)/(n - 2)) for i >= 1 (log) or last i/(n - 1) (linear), rounded, and moved apart
 * where neighbours meet: there is room since n <= last + 1. */
size_t pes_trial_checkpoints(const struct pes_sweep *sweep, const struct pes_trial *trial, int64_t *steps)
{
    int64_t last = pes_config_int(trial->config, "train.steps");
    int64_t n = PES_MIN(pes_config_int(sweep->settings, "measure.checkpoints"), last + 1);
    bool logarithmic = !strcmp(pes_config_text(sweep->settings, "measure.checkpoint_spacing"), "log");
    for (int64_t i = 0; steps && i < n; i++) {
        int64_t step = 0;
        if (i == n - 1)
            step = last;
        else if (i && logarithmic)
            step = (int64_t)llround(pow((double)last, (double)(i - 1) / (double)(n - 2)));
        else if (i)
            step = (int64_t)llround((double)last * (double)i / (double)(n - 1));
        if (i) step = PES_MAX(step, steps[i - 1] + 1);
        steps[i] = PES_MIN(step, last - (n - 1 - i));
    }
    return (size_t)n;
}
