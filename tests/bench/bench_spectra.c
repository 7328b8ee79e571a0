/* bench_spectra.c - measures of one head from its D x D core against the eigenvalues of the C x C matrix.
 *
 *   bench_spectra [C [D]]           default 1024 64
 *
 * Prints the kernels in use, processor times of one thread, their ratio and the largest difference of the
 * eigenvalues from the dense ones as a share of the spectral radius; exits
 * with 1 if the answers differ by more than 1e-9 of the spectral radius or, at the default size, the ratio is
 * below 100. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine.h"
#include "pesweep/rng.h"
#include "pesweep/spectrum.h"

static double *take(struct pes_arena *arena, size_t count)
{
    double *x = pes_arena_take(arena, count, sizeof *x);
    if (!x) exit(2);
    return x;
}

static double *take_normal(struct pes_arena *arena, size_t count, uint32_t step)
{
    struct pes_rng rng = {1, PES_RNG_TEST, step};
    double *x = take(arena, count);
    for (size_t i = 0; i < count; i++)
        x[i] = pes_rng_normal(&rng, i);
    return x;
}

/* Fastest of several runs of all measures; the last run's eigenvalues stay. */
static double time_core(const struct pes_form *form, struct pes_arena *arena, struct pes_content *content)
{
    double best = INFINITY;
    for (int run = 0; run < 7; run++) {
        double start = machine_now();
        if (pes_spectrum_form_content(form, 1, arena, content)) exit(2);
        best = fmin(best, machine_now() - start);
    }
    return best;
}

/* The eigenvalues alone, those of right left^T.  Fastest of several runs. */
static double time_small(const struct pes_form *form, struct pes_arena *arena)
{
    size_t D = form->n, C = form->C;
    double *m = take(arena, D * D), *values = take(arena, 2 * D), best = INFINITY;
    for (int run = 0; run < 7; run++) {
        double start = machine_now();
        pes_dgemm(false, true, D, D, C, 1, form->right, C, form->left, C, 0, m, D);
        if (!pes_eigenvalues(D, m, values, arena)) exit(2);
        best = fmin(best, machine_now() - start);
    }
    return best;
}

/* M = left^T right and its eigenvalues. */
static double time_dense(const struct pes_form *form, struct pes_arena *arena, double *values)
{
    size_t C = form->C;
    double *m = take(arena, C * C), start = machine_now();
    pes_dgemm(true, false, C, C, form->n, 1, form->left, C, form->right, C, 0, m, C);
    if (!pes_eigenvalues(C, m, values, arena)) exit(2);
    return machine_now() - start;
}

int main(int argc, char **argv)
{
    size_t C = argc > 1 ? (size_t)atol(argv[1]) : 1024, D = argc > 2 ? (size_t)atol(argv[2]) : 64;
    if (C < 1 || D < 1 || C > 8192 || D > C) {
        fprintf(stderr, "usage: bench_spectra [C [D]] with D <= C <= 8192\n");
        return 2;
    }
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return 2;
    pes_blas_set_threads(1);
    machine_use_cpu_time();
    machine_pin();
    printf("%s\n", machine_description());
    struct pes_form form = {D, C, take_normal(arena, D * C, 0), take_normal(arena, D * C, 1), C};
    struct pes_content content;
    double *dense = take(arena, 2 * C), difference = 0;
    double core_seconds = time_core(&form, arena, &content), small_seconds = time_small(&form, arena);
    double dense_seconds = time_dense(&form, arena, dense);
    for (size_t i = 0; i < 2 * D; i++)
        difference = fmax(difference, fabs(dense[i] - content.eigenvalues[i]) / content.spectral_radius);
    printf("C %zu, D %zu: eigenvalues of the C x C matrix %.1f ms, of the D x D one %.3f ms, ratio %.0f; all "
           "measures %.3f ms, ratio %.0f; difference %.1e\n",
           C, D, 1e3 * dense_seconds, 1e3 * small_seconds, dense_seconds / small_seconds, 1e3 * core_seconds,
           dense_seconds / core_seconds, difference);
    double ratio = dense_seconds / small_seconds;
    pes_arena_destroy(arena);
    bool fast = ratio >= 100 || argc > 1;
    return difference <= 1e-9 && fast ? 0 : 1;
}
