/* spectrum_support.h - heads with random or given rows, and the dense C x C answers they are compared with.
 */
#ifndef PESWEEP_TESTS_SPECTRUM_SUPPORT_H
#define PESWEEP_TESTS_SPECTRUM_SUPPORT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after what it needs */
#include <cmocka.h>

#include "pesweep/rng.h"
#include "pesweep/spectrum.h"

static inline void assert_near(double value, double right, double tolerance)
{
    if (!(fabs(value - right) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, right, tolerance);
}

static inline int set_up_arena(void **state)
{
    pes_blas_set_threads(1);
    *state = pes_arena_create();
    return *state ? 0 : -1;
}

static inline int tear_down_arena(void **state)
{
    pes_arena_destroy(*state);
    return 0;
}

static inline double *take(struct pes_arena *arena, size_t count)
{
    double *x = pes_arena_take(arena, count, sizeof *x);
    assert_non_null(x);
    return x;
}

static inline double *take_normal(struct pes_arena *arena, size_t count, uint64_t seed)
{
    struct pes_rng rng = {seed, PES_RNG_TEST, 0};
    double *x = take(arena, count);
    for (size_t i = 0; i < count; i++)
        x[i] = pes_rng_normal(&rng, i);
    return x;
}

/* A head of normal entries; every pair rotates at w_t = 10000^(-2t/D). */
static inline struct pes_head random_head(struct pes_arena *arena, int D, int C, uint64_t seed)
{
    size_t d = (size_t)D, c = (size_t)C;
    double *gain = take_normal(arena, c, seed + 4), *frequencies = take(arena, d);
    for (size_t i = 0; i < c; i++)
        gain[i] = 1 + 0.3 * gain[i];
    for (size_t t = 0; t < d / 2; t++)
        frequencies[t] = pow(10000, -2.0 * (double)t / (double)(d / 2 * 2));
    struct pes_head head = {.D = D, .C = C, .Dv = D, .wq = take_normal(arena, d * c, seed), .gain = gain};
    head.wk = take_normal(arena, d * c, seed + 1);
    head.wv = take_normal(arena, d * c, seed + 2);
    head.wo = take_normal(arena, d * c, seed + 3);
    head.query_folds = head.key_folds = head.centred = true;
    head.pairs = D / 2;
    head.rq = head.wq;
    head.rk = head.wk;
    head.frequencies = frequencies;
    return head;
}

static inline struct pes_head head_of(int D, int C, const double *wq, const double *wk)
{
    return (struct pes_head){
        .D = D, .C = C, .Dv = D, .wq = wq, .wk = wk, .wv = wk, .wo = wq, .pairs = D / 2, .rq = wq, .rk = wk};
}

/* M[C, C] = left^T right, by the definition. */
static inline double *dense_form(struct pes_arena *arena, const struct pes_form *form)
{
    size_t C = form->C;
    double *m = take(arena, C * C);
    for (size_t i = 0; i < C; i++)
        for (size_t j = 0; j < C; j++)
            for (size_t k = 0; k < form->n; k++)
                m[i * C + j] += form->left[k * C + i] * form->right[k * C + j];
    return m;
}

static inline struct pes_content content_of(struct pes_arena *arena, const struct pes_head *head, bool folded)
{
    struct pes_content content;
    assert_int_equal(pes_spectrum_content(head, folded, 1, arena, &content), PES_OK);
    return content;
}

#endif
