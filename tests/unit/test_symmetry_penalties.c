/* Soft penalties against the C x C matrices that they are defined on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/rng.h"
#include "pesweep/symmetry.h"

enum { C = 7, D = 4, COUNT = C * D };

static double normal(uint64_t element)
{
    struct pes_rng rng = {.seed = 8, .purpose = PES_RNG_TEST};
    return pes_rng_normal(&rng, element);
}

static void fill(real *wq, real *wk)
{
    for (size_t i = 0; i < COUNT; i++) {
        wq[i] = (real)normal(i);
        wk[i] = (real)normal(100 + i);
    }
}

/* The parts of a ratio, from the definitions. */
struct parts {
    double symmetric, antisymmetric, imaginary, real, energy;
};

static struct parts parts_of(const real *wq, const real *wk)
{
    struct parts parts = {0};
    for (int x = 0; x < C; x++)
        for (int y = 0; y < C; y++) {
            double forward = 0, transposed = 0;
            for (int a = 0; a < D; a++) {
                forward += (double)wq[a * C + x] * (double)wk[a * C + y];
                transposed += (double)wq[a * C + y] * (double)wk[a * C + x];
            }
            parts.symmetric += pow((forward + transposed) / 2, 2);
            parts.antisymmetric += pow((forward - transposed) / 2, 2);
            parts.energy += forward * forward;
            for (int t = 0; t < D / 2; t++) {
                double complex q = (double)wq[2 * t * C + x] - I * (double)wq[(2 * t + 1) * C + x];
                double complex k = (double)wk[2 * t * C + y] + I * (double)wk[(2 * t + 1) * C + y];
                parts.imaginary += pow(cimag(q * k), 2);
                parts.real += pow(creal(q * k), 2);
            }
        }
    return parts;
}

static double numerator(const char *name, const struct parts *parts)
{
    if (!strcmp(name, "symmetry")) return parts->antisymmetric;
    if (!strcmp(name, "antisymmetry")) return parts->symmetric;
    return parts->imaginary;
}

static double denominator(const char *name, const struct parts *parts)
{
    return strcmp(name, "phase") ? parts->energy : parts->real + parts->imaginary;
}

static double evaluate(const struct pes_penalty *penalty, const real *wq, const real *wk, double scale,
                       real *dwq, real *dwk)
{
    double *scratch = malloc(pes_penalty_scratch(D, C) * sizeof *scratch);
    assert_non_null(scratch);
    double ratio = penalty->head(D, C, wq, wk, scale, dwq, dwk, scratch);
    free(scratch);
    return ratio;
}

static void ratios_are_those_of_the_whole_matrices(void **state)
{
    (void)state;
    real wq[COUNT], wk[COUNT];
    fill(wq, wk);
    struct parts parts = parts_of(wq, wk);
    for (size_t p = 0; pes_penalties[p]; p++) {
        if (!pes_penalties[p]->head) continue;
        const char *name = pes_penalties[p]->name;
        double expected = numerator(name, &parts) / (denominator(name, &parts) + 1e-8);
        assert_true(fabs(evaluate(pes_penalties[p], wq, wk, 1, NULL, NULL) - expected) < 1e-13);
    }
}

static void a_constrained_head_has_the_extreme_values(void **state)
{
    (void)state;
    real wq[COUNT], turned[COUNT], dq[COUNT] = {0}, dk[COUNT] = {0};
    fill(wq, turned);
    for (int a = 0; a < D; a++) /* k = J q */
        for (int c = 0; c < C; c++)
            turned[a * C + c] = (a % 2 ? -1 : 1) * wq[(a ^ 1) * C + c];
    assert_true(fabs(evaluate(&pes_penalty_symmetry, wq, wq, 1, dq, dk)) < 1e-8);
    assert_true(fabs(evaluate(&pes_penalty_antisymmetry, wq, wq, 0, NULL, NULL) - 1) < 1e-7);
    assert_true(fabs(evaluate(&pes_penalty_symmetry, wq, turned, 0, NULL, NULL) - 1) < 1e-7);
    assert_true(fabs(evaluate(&pes_penalty_antisymmetry, wq, turned, 0, NULL, NULL)) < 1e-7);
    for (int i = 0; i < COUNT; i++) /* the least value is where the gradient vanishes */
        assert_true(fabs((double)dq[i]) < 1e-6 && fabs((double)dk[i]) < 1e-6);
}

/* The numerator is a polynomial of degree 2 in W_q (and in W_k): a central difference is exact. */
static void gradients_hold_the_denominator_fixed(void **state)
{
    (void)state;
    const double scale = 3, h = 0.25, tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;
    for (size_t p = 0; pes_penalties[p]; p++) {
        if (!pes_penalties[p]->head) continue;
        const char *name = pes_penalties[p]->name;
        real w[2][COUNT], d[2][COUNT];
        fill(w[0], w[1]);
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < COUNT; i++)
                d[side][i] = 2; /* gradients are added */
        struct parts here = parts_of(w[0], w[1]);
        (void)evaluate(pes_penalties[p], w[0], w[1], scale, d[0], d[1]);
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < COUNT; i++) {
                real kept = w[side][i];
                w[side][i] = kept + (real)h;
                struct parts above = parts_of(w[0], w[1]);
                w[side][i] = kept - (real)h;
                struct parts below = parts_of(w[0], w[1]);
                w[side][i] = kept;
                double slope = (numerator(name, &above) - numerator(name, &below)) / (2 * h);
                double expected = 2 + scale * slope / (denominator(name, &here) + 1e-8);
                assert_true(fabs((double)d[side][i] - expected) < tolerance * 10);
            }
    }
}

static void a_silent_head_counts_as_0(void **state)
{
    (void)state;
    real wq[COUNT] = {0}, wk[COUNT] = {0}, dq[COUNT] = {0}, dk[COUNT] = {0};
    for (size_t p = 0; pes_penalties[p]; p++)
        if (pes_penalties[p]->head) assert_true(evaluate(pes_penalties[p], wq, wk, 1, dq, dk) == 0);
    for (int i = 0; i < COUNT; i++)
        assert_true(dq[i] == 0 && dk[i] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_those_of_the_whole_matrices),
        cmocka_unit_test(a_constrained_head_has_the_extreme_values),
        cmocka_unit_test(gradients_hold_the_denominator_fixed),
        cmocka_unit_test(a_silent_head_counts_as_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
