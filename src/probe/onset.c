/* onset.c - when behaviours and spectral signatures of a head turned, from the curves already in the row.
 *
 * The lag of a signature behind a behaviour is the difference of their onsets, in the same head. */
#include "pesweep/measure.h"

#include <math.h>
#include <stdio.h>

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

/* Signatures are those of the raw and the folded weights. */
/* clang-format off */
#define BEHAVIOURS(X)                                                                                        \
    X(previous_token_score) X(induction_score)
#define SIGNATURES(X)                                                                                        \
    X(phase_fraction) X(folded_phase_fraction)                                                               \
    X(rotational_fraction) X(folded_rotational_fraction)                                                     \
    X(directional_fraction) X(folded_directional_fraction)
#define BY_HEAD PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "steps"
#define ONSET(curve)                                                                                         \
    {"probes", "onset_" #curve, BY_HEAD,                                                                     \
     "first step, interpolated, after which curves/" #curve " stays beyond half of its change"},
#define LAG(signature, behaviour)                                                                            \
    {"probes", "lag_" #signature "_behind_" #behaviour, BY_HEAD,                                             \
     "onset_" #signature " - onset_" #behaviour " of the same head; NaN without both"},
#define LAG_1(signature) LAG(signature, previous_token_score)
#define LAG_2(signature) LAG(signature, induction_score)
static const struct pes_variable variables[] = {
    BEHAVIOURS(ONSET)
    SIGNATURES(ONSET)
    SIGNATURES(LAG_1)
    SIGNATURES(LAG_2)
    {.name = NULL},
};
#define NAME(curve) #curve,
static const char *const behaviours[] = {BEHAVIOURS(NAME)};
static const char *const signatures[] = {SIGNATURES(NAME)};
/* clang-format on */
enum { NUM_BEHAVIOURS = PES_COUNT(behaviours), NUM_SIGNATURES = PES_COUNT(signatures) };

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.behaviours") || pes_config_bool(settings, "measure.spectra");
}

/* Onset of one head's curve, stored; `values` is scratch. */
static double measure(const struct pes_row *row, const char *curve, const size_t *at, size_t n,
                      const double *steps, double *values)
{
    char name[96];
    for (size_t c = 0; c < n; c++)
        values[c] = pes_row_get(row, "curves", curve, (size_t[]){c, at[0], at[1]});
    double onset = pes_probe_onset(steps, values, n);
    snprintf(name, sizeof name, "onset_%s", curve);
    pes_row_put(row, "probes", name, at, onset);
    return onset;
}

static void measure_head(const struct pes_row *row, const size_t *at, size_t n, const double *steps,
                         double *values)
{
    double behaviour[NUM_BEHAVIOURS];
    for (int b = 0; b < NUM_BEHAVIOURS; b++)
        behaviour[b] = measure(row, behaviours[b], at, n, steps, values);
    for (int s = 0; s < NUM_SIGNATURES; s++) {
        double onset = measure(row, signatures[s], at, n, steps, values);
        for (int b = 0; b < NUM_BEHAVIOURS; b++) {
            char name[128];
            snprintf(name, sizeof name, "lag_%s_behind_%s", signatures[s], behaviours[b]);
            pes_row_put(row, "probes", name, at, onset - behaviour[b]);
        }
    }
}

enum pes_status pes_probe_onsets(const struct pes_row *row, size_t num_checkpoints, size_t layers,
                                 size_t heads, struct pes_arena *arena)
{
    double *steps = pes_arena_take(arena, num_checkpoints, sizeof *steps),
           *values = pes_arena_take(arena, num_checkpoints, sizeof *values);
    if (!steps || !values) return PES_MEMORY;
    for (size_t c = 0; c < num_checkpoints; c++)
        steps[c] = pes_row_get(row, "curves", "checkpoint_step", &c);
    for (size_t l = 0; l < layers; l++)
        for (size_t h = 0; h < heads; h++)
            measure_head(row, (size_t[]){l, h}, num_checkpoints, steps, values);
    return PES_OK;
}

static enum pes_status run(const struct pes_measurement *m)
{
    const struct pes_shape *shape = &m->model->config.shape;
    if (!m->final) return PES_OK;
    return pes_probe_onsets(m->row, m->num_checkpoints, (size_t)shape->L, (size_t)shape->H, m->arena);
}

const struct pes_measure pes_measure_onset = {
    .name = "onset",
    .summary = "when each head's behaviours and spectral signatures turned",
    .source = "Li, arXiv 2607.06621, section on checkpoints",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
