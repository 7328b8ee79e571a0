/* check_spectrum.c - every measure of a group against its golden values. */
#include "check_spectrum.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_heads.h"
#include "pesweep/spectrum.h"

static const double tolerance = 1e-10;
/* Scores come from a model in `real`. */
static const double score_tolerance = sizeof(real) == sizeof(double) ? 1e-10 : 2e-5;

struct check {
    const struct golden_file *file;
    const char *group;
    struct pes_arena *arena;
    size_t L, H;
    const struct pes_head *heads;
    bool folded;
    int failures;
    char covered[64][64]; /* names looked at */
    size_t num_covered;
};

static double *take(struct check *c, size_t count)
{
    double *x = pes_arena_take(c->arena, count, sizeof *x);
    if (!x) exit(2);
    return x;
}

static void report(struct check *c, const char *name, double error, double allowed)
{
    bool ok = error <= allowed;
    printf("%s %s/%s/%s %.1e\n", ok ? "ok  " : "FAIL", c->group, c->folded ? "spectrum_folded" : "spectrum",
           name, error);
    c->failures += !ok;
}

static bool read_expected(struct check *c, const char *name, struct golden_array *expected)
{
    char path[128];
    snprintf(path, sizeof path, "expect/%s/%s", c->folded ? "spectrum_folded" : "spectrum", name);
    if (!golden_read(c->file, c->group, path, expected)) return false;
    if (c->num_covered == PES_COUNT(c->covered)) exit(2);
    snprintf(c->covered[c->num_covered++], sizeof c->covered[0], "%s", name);
    return true;
}

/* `natural`: a size below which the values are rounding noise, so that errors relative to the largest of them
 * mean nothing (ratios: 1; angles: 1 degree). */
static void compare(struct check *c, const char *name, const double *ours, size_t count, double natural,
                    double allowed)
{
    struct golden_array expected;
    if (!read_expected(c, name, &expected)) return;
    double error = INFINITY, largest = 0;
    if (expected.count == count) {
        for (size_t i = 0; i < count; i++)
            if (fabs(expected.values[i]) > largest) largest = fabs(expected.values[i]);
        error = golden_error(ours, expected.values, count);
        if (largest > 0 && largest < natural && isfinite(error)) error *= largest / natural;
    }
    report(c, name, error, allowed);
    golden_free(&expected);
}

/* --- content and phase
 * ------------------------------------------------------------------------------------------- */

/* Distance of two spectra as sets: each of ours takes the nearest expected one that is left. */
static double set_error(size_t n, const double *ours, const double *re, const double *im)
{
    bool used[256] = {false};
    double largest = 0, worst = 0;
    if (n > PES_COUNT(used)) return INFINITY;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, hypot(re[i], im[i]));
    for (size_t i = 0; i < n; i++) {
        double nearest = INFINITY;
        size_t which = 0;
        for (size_t j = 0; j < n; j++) {
            double distance = hypot(ours[2 * i] - re[j], ours[2 * i + 1] - im[j]);
            if (!used[j] && distance < nearest) nearest = distance, which = j;
        }
        used[which] = true;
        worst = fmax(worst, nearest);
    }
    return largest > 0 ? worst / largest : worst;
}

static void compare_eigenvalues(struct check *c, size_t n, const double *ours)
{
    struct golden_array re, im;
    if (!read_expected(c, "eig_re", &re) || !read_expected(c, "eig_im", &im)) return;
    double set = 0, order = 0, *pairs = take(c, 2 * n);
    for (size_t head = 0; head < c->L * c->H; head++) {
        const double *x = re.values + head * n, *y = im.values + head * n;
        set = fmax(set, set_error(n, ours + head * 2 * n, x, y));
        for (size_t i = 0; i < n; i++) {
            pairs[2 * i] = x[i];
            pairs[2 * i + 1] = y[i];
        }
        order = fmax(order, golden_error(ours + head * 2 * n, pairs, 2 * n));
    }
    report(c, "eigenvalues as a set", set, tolerance);
    report(c, "eigenvalues in order", order, tolerance);
    golden_free(&re);
    golden_free(&im);
}

/* Sizes below which a scalar is noise. */
static double natural_size(const char *name)
{
    return !strcmp(name, "fro2") || !strcmp(name, "spectral_radius") || !strcmp(name, "effective_rank") ? 0
                                                                                                        : 1;
}

static void check_content(struct check *c)
{
    size_t heads = c->L * c->H, n = (size_t)c->heads[0].D;
    struct pes_content *content = pes_arena_take(c->arena, heads, sizeof *content);
    double *eigenvalues = take(c, heads * 2 * n), *singular = take(c, heads * n), *scalar = take(c, heads);
    if (!content) exit(2);
    for (size_t h = 0; h < heads; h++) {
        if (pes_spectrum_content(&c->heads[h], c->folded, 0, c->arena, &content[h])) exit(2);
        memcpy(eigenvalues + h * 2 * n, content[h].eigenvalues, 2 * n * sizeof *eigenvalues);
        memcpy(singular + h * n, content[h].singular_values, n * sizeof *singular);
    }
    compare_eigenvalues(c, n, eigenvalues);
    compare(c, "singular_values", singular, heads * n, 0, tolerance);
#define X(name, unit, meaning)                                                                               \
    for (size_t h = 0; h < heads; h++)                                                                       \
        scalar[h] = content[h].name;                                                                         \
    compare(c, #name, scalar, heads, natural_size(#name), tolerance);
    PES_CONTENT_SCALARS(X)
#undef X
}

static void check_phase(struct check *c)
{
    size_t heads = c->L * c->H, pairs = (size_t)c->heads[0].pairs;
    struct pes_phase *phase = pes_arena_take(c->arena, heads, sizeof *phase);
    double *energy = take(c, heads * pairs), *share = take(c, heads * pairs), *scalar = take(c, heads);
    if (!phase) exit(2);
    for (size_t h = 0; h < heads; h++) {
        if (pes_spectrum_phase(&c->heads[h], c->folded, c->arena, &phase[h])) exit(2);
        memcpy(energy + h * pairs, phase[h].frequency_energy, pairs * sizeof *energy);
        memcpy(share + h * pairs, phase[h].phase_energy, pairs * sizeof *share);
    }
    compare(c, "frequency_energy", energy, heads * pairs, 0, tolerance);
    compare(c, "phase_energy", share, heads * pairs, 1, tolerance);
#define X(name, unit, meaning)                                                                               \
    for (size_t h = 0; h < heads; h++)                                                                       \
        scalar[h] = phase[h].name;                                                                           \
    compare(c, #name, scalar, heads, 1, tolerance);
    PES_PHASE_SCALARS(X)
#undef X
}

static void check_composition(struct check *c)
{
    size_t L = c->L, H = c->H, heads = L * H;
    double *all = take(c, heads * heads), *scores = take(c, H * H);
    for (size_t i = 0; i < heads * heads; i++)
        all[i] = NAN;
    for (size_t to = 0; to < L; to++)
        for (size_t from = 0; from < to; from++) {
            if (pes_spectrum_k_composition((int)H, c->heads + to * H, (int)H, c->heads + from * H, c->arena,
                                           scores))
                exit(2);
            for (size_t h2 = 0; h2 < H; h2++)
                memcpy(all + ((to * H + h2) * L + from) * H, scores + h2 * H, H * sizeof *all);
        }
    compare(c, "k_composition", all, heads * heads, 0, tolerance);
}

/* --- measures of scores
 * ------------------------------------------------------------------------------------------ */

struct scores {
    struct check *check;
    size_t T;
    double *mean;        /* [L][H][T][T] */
    double *contraction; /* [L][H] */
    double sequences;
};

static void observe(void *context, const struct pes_observation *seen)
{
    struct scores *s = context;
    size_t T = (size_t)seen->T, head = (size_t)seen->layer * s->check->H + (size_t)seen->head;
    for (size_t i = 0; i < T * T; i++)
        s->mean[head * T * T + i] += (double)seen->scores[i] / s->sequences;
    double ratio = NAN;
    if (seen->content_scores)
        ratio = pes_spectrum_spread((int)T, seen->scores, s->check->arena) /
                pes_spectrum_spread((int)T, seen->content_scores, s->check->arena);
    s->contraction[head] += ratio / s->sequences;
}

static void check_scores(struct check *c, const struct pes_model *model, const real *parameters,
                         struct pes_workspace *workspace, const struct pes_batch *batch)
{
    size_t heads = c->L * c->H, T = (size_t)batch->T;
    struct scores s = {.check = c, .T = T, .sequences = (double)batch->B};
    s.mean = take(c, heads * T * T);
    s.contraction = take(c, heads);
    struct pes_observer observer = {&s, true, true, false, observe};
    struct pes_pass pass = {.observer = &observer};
    struct pes_loss loss = {0};
    pes_model_prepare(model, workspace, parameters, NULL);
    pes_model_run(model, workspace, batch, &pass, &loss);
    double *fraction = take(c, heads), *centred = take(c, heads), *diagonals = take(c, heads * (2 * T - 1));
    double *kernel = take(c, heads * PES_KERNEL_OFFSETS);
    for (size_t h = 0; h < heads; h++) {
        struct pes_toeplitz toeplitz;
        const double *mean = s.mean + h * T * T;
        if (pes_spectrum_toeplitz((int)T, mean, model->config.shape.causal, c->arena, &toeplitz)) exit(2);
        fraction[h] = toeplitz.fraction;
        centred[h] = toeplitz.fraction_centred;
        memcpy(diagonals + h * (2 * T - 1), toeplitz.diagonals, (2 * T - 1) * sizeof *diagonals);
        pes_spectrum_relative_kernel((int)T, mean, kernel + h * PES_KERNEL_OFFSETS);
    }
    compare(c, "toeplitz_fraction", fraction, heads, 1, score_tolerance);
    compare(c, "toeplitz_fraction_centred", centred, heads, 1, score_tolerance);
    compare(c, "toeplitz_diagonals", diagonals, heads * (2 * T - 1), 0, score_tolerance);
    compare(c, "relative_kernel", kernel, heads * PES_KERNEL_OFFSETS, 0, score_tolerance);
    compare(c, "contraction", s.contraction, heads, 1, score_tolerance);
}

/* Expected measures that nothing above has looked at. */
static void check_coverage(struct check *c)
{
    const char *path = c->folded ? "expect/spectrum_folded" : "expect/spectrum";
    size_t members = golden_num_members(c->file, c->group, path);
    for (size_t m = 0; m < members; m++) {
        char name[64];
        bool found = false;
        golden_member(c->file, c->group, path, m, name, sizeof name);
        for (size_t i = 0; i < c->num_covered; i++)
            found |= !strcmp(c->covered[i], name);
        if (!found) report(c, name, INFINITY, 0);
    }
}

int golden_check_spectrum(const struct golden_file *file, const char *group, const struct pes_model *model,
                          const real *parameters, struct pes_workspace *workspace,
                          const struct pes_batch *batch)
{
    struct pes_arena *arena = pes_arena_create();
    if (!arena) exit(2);
    struct check c = {.file = file, .group = group, .arena = arena};
    c.L = (size_t)golden_int(file, group, "n_layers");
    c.H = (size_t)golden_int(file, group, "n_heads");
    c.heads = golden_heads(file, group, arena);
    for (int folded = 0; folded < 2; folded++) {
        c.folded = folded;
        c.num_covered = 0;
        check_content(&c);
        check_phase(&c);
        if (folded)
            check_composition(&c);
        else if (model)
            check_scores(&c, model, parameters, workspace, batch);
        if (model) check_coverage(&c);
    }
    pes_arena_destroy(arena);
    return c.failures;
}
