/* measure_phase.c - the family of rotary frequencies. */
#include <math.h>

#include "measure_head.h"

#define CURVE(name, unit, meaning)                                                                           \
    PES_HEAD_CURVE(#name, PES_F32, unit, meaning), PES_HEAD_CURVE("folded_" #name, PES_F32, unit, meaning),
#define BOTH(name, unit, meaning)                                                                            \
    PES_HEAD_FINAL("spectra", #name, PES_F64, unit, meaning),                                                \
        PES_HEAD_FINAL("spectra_folded", #name, PES_F64, unit, meaning),
#define FREQUENCY(group, name, unit, meaning)                                                                \
    {group, name, PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_FREQUENCY}, unit, meaning},
/* clang-format off */
#define FREQUENCY_CURVE(prefix, name, unit, meaning)                                                         \
    {"curves", prefix name, PES_F32, 4, {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_FREQUENCY}, \
     unit, meaning},
/* clang-format on */
#define ENERGIES(X, place)                                                                                   \
    X(place, "frequency_energy", "", "||Re M_t||^2 + ||Im M_t||^2")                                          \
    X(place, "phase_energy", "", "||Im M_t||^2 / frequency_energy")                                          \
    X(place, "phase_angle", "rad", "argument of tr M_t: equal contents score highest at w_t D")
#define PAIR(group, name, meaning)                                                                           \
    {group, name, PES_F64, 4, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_FREQUENCY, PES_DIM_RE_IM}, "", meaning},
#define FREQUENCIES(group)                                                                                   \
    FREQUENCY(group, "angular_frequency", "rad",                                                             \
              "angle w_t per position; as if paired for heads that don't rotate")                            \
    ENERGIES(FREQUENCY, group)                                                                               \
    PAIR(group, "real_eigenvalue_1", "larger non-zero eigenvalue of Re M_t")                                 \
    PAIR(group, "real_eigenvalue_2", "smaller non-zero eigenvalue of Re M_t")                                \
    PAIR(group, "imaginary_eigenvalue_1", "larger non-zero eigenvalue of Im M_t")                            \
    PAIR(group, "imaginary_eigenvalue_2", "smaller non-zero eigenvalue of Im M_t")                           \
    PES_HEAD_FINAL(group, "phase_flags", PES_U8, "", PES_FLAGS_MEANING),

/* clang-format off */
static const struct pes_variable variables[] = {
    PES_PHASE_SCALARS(CURVE)
    PES_HEAD_CURVE("phase_flags", PES_U8, "", PES_FLAGS_MEANING),
    PES_HEAD_CURVE("folded_phase_flags", PES_U8, "", PES_FLAGS_MEANING),
    ENERGIES(FREQUENCY_CURVE, "")
    ENERGIES(FREQUENCY_CURVE, "folded_")
    PES_PHASE_SCALARS(BOTH)
    BOTH(phase_fraction_percentile, "", PES_PERCENTILE("phase_fraction"))
    FREQUENCIES("spectra")
    FREQUENCIES("spectra_folded")
    {0}
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.spectra");
}

static void put_pair(const struct pes_head_place *place, const char *first, const char *second, size_t pairs,
                     const double *values, double *scratch)
{
    for (size_t which = 0; which < 2; which++) {
        for (size_t t = 0; t < pairs; t++) {
            scratch[2 * t] = values[4 * t + 2 * which];
            scratch[2 * t + 1] = values[4 * t + 2 * which + 1];
        }
        pes_head_put_block(place, which ? second : first, 2, (const size_t[]){pairs, 2}, scratch);
    }
}

static enum pes_status measure_head(const struct pes_head_place *place, const struct pes_head *head)
{
    struct pes_phase phase;
    TRY(pes_spectrum_phase(head, place->folded, place->m->arena, &phase));
#define X(name, unit, meaning) pes_head_put(place, #name, phase.name);
    PES_PHASE_SCALARS(X)
#undef X
    pes_head_put(place, "phase_flags", phase.flags);
    size_t pairs = (size_t)phase.pairs;
    pes_head_put_block(place, "frequency_energy", 1, &pairs, phase.frequency_energy);
    pes_head_put_block(place, "phase_energy", 1, &pairs, phase.phase_energy);
    pes_head_put_block(place, "phase_angle", 1, &pairs, phase.phase_angle);
    if (!place->m->final) return PES_OK;
    double *scratch = pes_arena_take(place->m->arena, 2 * pairs, sizeof *scratch);
    if (!scratch) return PES_MEMORY;
    pes_head_put_block(place, "angular_frequency", 1, &pairs, head->frequencies);
    put_pair(place, "real_eigenvalue_1", "real_eigenvalue_2", pairs, phase.real_eigenvalues, scratch);
    put_pair(place, "imaginary_eigenvalue_1", "imaginary_eigenvalue_2", pairs, phase.imaginary_eigenvalues,
             scratch);
    return PES_OK;
}

enum pes_status pes_spectrum_run_phase(const struct pes_measurement *m, const struct pes_head_source *source)
{
    return pes_head_each(m, source, measure_head);
}

static enum pes_status run(const struct pes_measurement *m)
{
    struct pes_head_source source = pes_head_source(m);
    return pes_spectrum_run_phase(m, &source);
}

const struct pes_measure pes_measure_phase = {
    .name = "phase",
    .summary = "real and imaginary part of M at every rotary frequency, raw and folded",
    .source = "Li 2026, arXiv 2607.06621 (phase fraction)",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
