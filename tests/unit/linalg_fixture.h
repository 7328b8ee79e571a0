/* linalg_fixture.h - one BLAS thread and an arena for each test of linear algebra. */
#ifndef PESWEEP_TESTS_LINALG_FIXTURE_H
#define PESWEEP_TESTS_LINALG_FIXTURE_H

#include "pesweep/arena.h"
#include "pesweep/linalg.h"

static int set_up(void **state)
{
    pes_blas_set_threads(1);
    *state = pes_arena_create();
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    pes_arena_destroy(*state);
    return 0;
}

static double *take(struct pes_arena *arena, size_t count)
{
    double *x = pes_arena_take(arena, count, sizeof *x);
    assert_non_null(x);
    return x;
}

#endif
