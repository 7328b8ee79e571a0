/* onset.c - when behaviours and spectral signatures of a head turned, from the curves already in the row.
 *
 * The lag of a signature behind a behaviour is the difference of their onsets. */
#include "pesweep/measure.h"

#include <math.h>
#include <string.h>

double pes_probe_onset(const double *steps, const double *values, size_t n)
{
    if (n < 4) return NAN;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(values[i])) return NAN;
    double start = values[0], final = (values[n - 1] + values[n - 2] + values[n - 3]) / 3;
    if (fabs(final - start) < 0.1) return NAN;
    double half = start + (final - start) / 2, side = final > start ? 1 : -1;
    size_t after = n;
    while (after > 0 && side * (values[after - 1] - half) > 0)
        after--;
    /* The first value lies on the start's side, so after > 0; a last value on that side means no onset. */
    if (after == n) return NAN;
    double before = values[after - 1], share = (half - before) / (values[after] - before);
    return steps[after - 1] + share * (steps[after] - steps[after - 1]);
}

/* Behaviours, then signatures of the raw and the folded weights. */
/* clang-format off */
#define ONSETS(X)                                                                                            \
    X(previous_token_score) X(induction_score)                                                               \
    X(phase_fraction) X(folded_phase_fraction)                                                               \
    X(rotational_fraction) X(folded_rotational_fraction)                                                     \
    X(directional_fraction) X(folded_directional_fraction)
#define ONSET(curve)                                                                                         \
    {"probes", "onset_" #curve, PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "steps",                          \
     "first step, interpolated, after which curves/" #curve " stays beyond half of its change"},
static const struct pes_variable variables[] = {
    ONSETS(ONSET)
    {.name = NULL},
};
/* clang-format on */

static const char *const curves[] = {
#define X(curve) #curve,
    ONSETS(X)
#undef X
};

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.behaviours") || pes_config_bool(settings, "measure.spectra");
}

static enum pes_status run(const struct pes_measurement *m)
{
    if (!m->final) return PES_OK;
    const struct pes_shape *shape = &m->model->config.shape;
    size_t n = m->num_checkpoints;
    double *steps = pes_arena_take(m->arena, n, sizeof *steps),
           *values = pes_arena_take(m->arena, n, sizeof *values);
    if (!steps || !values) return PES_MEMORY;
    for (size_t c = 0; c < n; c++)
        steps[c] = pes_row_get(m->row, "curves", "checkpoint_step", &c);
    for (size_t v = 0; v < PES_COUNT(curves); v++)
        for (size_t l = 0; l < (size_t)shape->L; l++)
            for (size_t h = 0; h < (size_t)shape->H; h++) {
                for (size_t c = 0; c < n; c++)
                    values[c] = pes_row_get(m->row, "curves", curves[v], (size_t[]){c, l, h});
                pes_row_put(m->row, "probes", variables[v].name, (size_t[]){l, h},
                            pes_probe_onset(steps, values, n));
            }
    return PES_OK;
}

const struct pes_measure pes_measure_onset = {
    .name = "onset",
    .summary = "when each head's behaviours and spectral signatures turned",
    .source = "Li, arXiv 2607.06621, section on checkpoints",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
