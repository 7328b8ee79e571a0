/* content.c - all measures of one form: the core's ratios, singular values, principal angles, and what is
 * checked. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core.h"

static void fill_nan(size_t count, double *x)
{
    for (size_t i = 0; i < count; i++)
        x[i] = NAN;
}

/* Principal angles between the factors' row spaces from both cosines and sines (Bjorck & Golub 1973): an arc
 * cosine alone has no digits below 1e-8.  Rows may be dependent, so either space comes with its own rank. */
static enum pes_status principal_angles(const struct pes_core *core, struct pes_arena *arena,
                                        struct pes_content *out)
{
    size_t n = core->n, r = core->r, most = PES_MIN(n, r);
    double *memory = pes_arena_take(arena, 3 * most * r + most * most + 2 * most, sizeof *memory);
    if (!memory) return PES_MEMORY;
    double *basis[2] = {memory, memory + most * r}, *residual = memory + 2 * most * r;
    double *product = memory + 3 * most * r, *cosines = product + most * most, *sines = cosines + most;
    size_t rank[2];
    for (size_t side = 0; side < 2; side++)
        if (!pes_row_basis(n, r, core->rows + side * n * r, basis[side], &rank[side], arena))
            return pes_core_failed(PES_FLAG_NO_CONVERGENCE, &out->flags);
    /* The smaller space is projected on the larger. */
    size_t small = rank[0] <= rank[1] ? 0 : 1, few = rank[small], many = rank[1 - small];
    if (!few) return PES_OK;
    memcpy(residual, basis[small], few * r * sizeof *residual);
    pes_dgemm(false, true, few, many, r, 1, basis[small], r, basis[1 - small], r, 0, product, many);
    pes_dgemm(false, false, few, r, many, -1, product, many, basis[1 - small], r, 1, residual, r);
    if (!pes_singular_values(few, many, product, cosines, NULL, NULL, arena) ||
        !pes_singular_values(few, r, residual, sines, NULL, NULL, arena))
        return pes_core_failed(PES_FLAG_NO_CONVERGENCE, &out->flags);
    double sum = 0, largest = 0;
    for (size_t i = 0; i < few; i++) {
        double angle = atan2(sines[few - 1 - i], cosines[i]) * (180 / acos(-1));
        sum += angle;
        largest = fmax(largest, angle);
    }
    out->principal_angle_mean = sum / (double)few;
    out->principal_angle_max = largest;
    return PES_OK;
}

static double effective_rank(size_t n, const double *singular_values)
{
    double sum = 0, entropy = 0;
    for (size_t i = 0; i < n; i++)
        sum += singular_values[i];
    for (size_t i = 0; i < n; i++) {
        double share = singular_values[i] / sum;
        if (share > 0) entropy -= share * log(share);
    }
    return exp(entropy);
}

/* From the balanced core's scale to M's. */
static void rescale(const struct pes_core *core, struct pes_content *out)
{
    int e = core->exponent;
    for (size_t i = 0; i < 2 * core->n; i++)
        out->eigenvalues[i] = scalbn(out->eigenvalues[i], e);
    for (size_t i = 0; i < core->n; i++)
        out->singular_values[i] = scalbn(out->singular_values[i], e);
    out->spectral_radius = scalbn(out->spectral_radius, e);
    out->fro2 = scalbn(core->norm * core->norm, 2 * e);
}

static enum pes_status measure_spectrum(const struct pes_core *core, uint64_t seed, struct pes_arena *arena,
                                        struct pes_content *out)
{
    size_t n = core->n;
    if (!pes_singular_values(core->p, core->r, core->b, out->singular_values, NULL, NULL, arena))
        return pes_core_failed(PES_FLAG_NO_CONVERGENCE, &out->flags);
    TRY(pes_core_measure(core, true, arena, out));
    if (out->flags & PES_FLAG_NO_CONVERGENCE) return PES_OK;
    out->effective_rank = effective_rank(n, out->singular_values);
    if (!pes_core_holds(core, out)) out->flags |= PES_FLAG_INVARIANT;
    /* A normal matrix moves no eigenvalue by more than the noise. */
    bool noise = false;
    if (out->departure_from_normality > 0) TRY(pes_core_is_noise(core, out, seed, arena, &noise));
    if (noise) {
        out->flags |= PES_FLAG_ILL_CONDITIONED;
        out->rotational_fraction = out->rotational_energy = out->positive_fraction = out->imaginary_mass =
            NAN;
    }
    return PES_OK;
}

enum pes_status pes_spectrum_form_content(const struct pes_form *form, uint64_t seed, struct pes_arena *arena,
                                          struct pes_content *out)
{
    size_t n = form->n;
    *out = (struct pes_content){.n = (int)n};
#define X(name, unit, meaning) out->name = NAN;
    PES_CONTENT_SCALARS(X)
#undef X
    out->eigenvalues = pes_arena_take(arena, 2 * n, sizeof *out->eigenvalues);
    out->singular_values = pes_arena_take(arena, n, sizeof *out->singular_values);
    if (!out->eigenvalues || !out->singular_values) return PES_MEMORY;
    struct pes_arena_mark mark = pes_arena_mark(arena);
    struct pes_core core;
    enum pes_status status = pes_core_build(form, arena, &core);
    out->flags = core.flags;
    bool usable = !status && !(core.flags & (PES_FLAG_NON_FINITE | PES_FLAG_NO_CONVERGENCE));
    if (usable) status = principal_angles(&core, arena, out);
    if (usable && core.flags & PES_FLAG_ZERO) {
        out->fro2 = out->spectral_radius = 0;
    } else if (usable && !status) {
        status = measure_spectrum(&core, seed, arena, out);
        usable = !(out->flags & PES_FLAG_NO_CONVERGENCE);
        if (!status) rescale(&core, out);
    }
    if (!usable) {
        fill_nan(2 * n, out->eigenvalues);
        fill_nan(n, out->singular_values);
    }
    pes_arena_rewind(arena, mark);
    return status;
}

enum pes_status pes_spectrum_content(const struct pes_head *head, bool folded, uint64_t seed,
                                     struct pes_arena *arena, struct pes_content *out)
{
    struct pes_form form;
    TRY(pes_spectrum_form(head, folded, arena, &form));
    return pes_spectrum_form_content(&form, seed, arena, out);
}

double pes_spectrum_ratio(const struct pes_content *content, enum pes_ratio ratio)
{
    switch (ratio) {
#define X(name, unit, meaning)                                                                               \
    case PES_RATIO_##name:                                                                                   \
        return content->name;
        PES_CONTENT_RATIOS(X)
#undef X
    default:
        return NAN;
    }
}
