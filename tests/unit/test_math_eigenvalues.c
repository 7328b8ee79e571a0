/* test_math_eigenvalues.c - many eigenvalue problems together against known spectra and LAPACK's dgeev, on
 * every instruction set; orthonormal rows by Cholesky. */
#include "kernel_cases.h"
#include "linalg_fixture.h"

enum { MOST = 130, MANY = 11 };

/* Each right value has one of its own among the found ones, within `tolerance`. */
static void assert_same_spectrum(size_t n, const double *found, const double *right, double tolerance)
{
    bool used[MOST] = {false};
    for (size_t i = 0; i < n; i++) {
        size_t best = n;
        double least = INFINITY;
        for (size_t j = 0; j < n; j++) {
            double distance = hypot(found[2 * j] - right[2 * i], found[2 * j + 1] - right[2 * i + 1]);
            if (!used[j] && distance < least) {
                least = distance;
                best = j;
            }
        }
        if (!(least <= tolerance))
            fail_msg("%s, n = %zu: %g + %gi is missing by %g", pes_kernels_isa(), n, right[2 * i],
                     right[2 * i + 1], least);
        used[best] = true;
    }
}

static void all_matrices_of_a_batch_have_the_eigenvalues_that_lapack_finds(void **state)
{
    const size_t sizes[] = {1, 2, 3, 4, 5, 17, 64, 128};
    FOR_EACH_ISA({
        for (size_t s = 0; s < PES_COUNT(sizes); s++) {
            struct pes_arena *arena = *state;
            struct pes_arena_mark mark = pes_arena_mark(arena);
            size_t n = sizes[s];
            double *a = take(arena, MANY * n * n);
            double *found = take(arena, MANY * 2 * n);
            double *right = take(arena, 2 * n);
            struct pes_stream stream = {{s, PES_RNG_TEST, 3}, 0};
            pes_stream_normals(&stream, MANY * n * n, a);
            assert_true(pes_eigenvalues_many(MANY, n, a, found, arena));
            for (size_t m = 0; m < MANY; m++) {
                assert_true(pes_eigenvalues(n, a + m * n * n, right, arena));
                assert_same_spectrum(n, found + 2 * n * m, right, 1e-12 * (double)n);
                /* Alone, in the first lane, it has the same bits. */
                assert_true(pes_eigenvalues_many(1, n, a + m * n * n, right, arena));
                assert_memory_equal(found + 2 * n * m, right, 2 * n * sizeof *right);
            }
            pes_arena_rewind(arena, mark);
        }
    })
}

/* Shifts alone don't move it: every eigenvalue has the modulus 1. */
static void the_cyclic_shift_has_the_roots_of_unity(void **state)
{
    enum { N = 40 };
    struct pes_arena *arena = *state;
    double *a = take(arena, 2 * N * N), *found = take(arena, 4 * N), *right = take(arena, 2 * N);
    for (size_t i = 0; i < N; i++) {
        a[i * N + (i + 1) % N] = 1;
        a[N * N + (i + 1) % N * N + i] = 1;
        right[2 * i] = cos(2 * acos(-1) * (double)i / N);
        right[2 * i + 1] = sin(2 * acos(-1) * (double)i / N);
    }
    FOR_EACH_ISA({
        assert_true(pes_eigenvalues_many(2, N, a, found, arena));
        assert_same_spectrum(N, found, right, 1e-13);
        assert_same_spectrum(N, found + 2 * N, right, 1e-13);
    })
}

/* Blocks that split, a triangle, zeros, equal values and a wide range stand side by side in one batch. */
static void easy_and_hard_matrices_share_a_batch(void **state)
{
    enum { N = 12, KINDS = 5 };
    struct pes_arena *arena = *state;
    double *a = take(arena, KINDS * N * N), *found = take(arena, KINDS * 2 * N), *right = take(arena, 2 * N);
    for (size_t i = 0; i < N; i++) {
        size_t at = i * N + i;
        a[at] = (double)i; /* diagonal */
        for (size_t j = i; j < N; j++)
            a[N * N + i * N + j] = j == i ? (double)(i % 3) : 1; /* triangle, each value four times */
        a[2 * N * N + at] = 0;                                   /* zero */
        a[3 * N * N + i * N + (i ^ 1)] = i % 2 ? -1 - (double)i : (double)i + 2; /* turns */
        a[4 * N * N + at] = pow(10, -(double)i);                                 /* graded */
        if (i + 1 < N) a[4 * N * N + at + 1] = pow(10, -(double)i - 1);
    }
    FOR_EACH_ISA({
        assert_true(pes_eigenvalues_many(KINDS, N, a, found, arena));
        for (size_t k = 0; k < KINDS; k++) {
            for (size_t i = 0; i < N; i++) {
                right[2 * i] = k == 0   ? (double)i
                               : k == 1 ? (double)(i % 3)
                               : k == 4 ? pow(10, -(double)i)
                                        : 0;
                double turn = (double)(i | 1) + 1;
                right[2 * i + 1] = k == 3 ? (i % 2 ? -turn : turn) : 0;
            }
            /* A value of multiplicity four moves by the fourth root of a rounding error. */
            double tolerance = k == 1 ? 1e-3 : 1e-13;
            assert_same_spectrum(N, found + 2 * N * k, right, tolerance);
        }
    })
}

static void what_is_not_finite_is_refused(void **state)
{
    enum { N = 6 };
    struct pes_arena *arena = *state;
    double *a = take(arena, 3 * N * N), *found = take(arena, 6 * N);
    a[2 * N * N + 7] = NAN;
    assert_false(pes_eigenvalues_many(3, N, a, found, arena));
    assert_int_equal(pes_linalg_status(), PES_OK);
    assert_false(pes_orthonormal_rows(N, N, a + 2 * N * N, found, arena));
}

static void rows_become_orthonormal_in_their_order_and_keep_their_sign(void **state)
{
    enum { M = 9, N = 40 };
    struct pes_arena *arena = *state;
    double *a = take(arena, M * N), *q = take(arena, M * N), *l = take(arena, M * M),
           *right = take(arena, M * N);
    struct pes_stream stream = {{5, PES_RNG_TEST, 0}, 0};
    pes_stream_normals(&stream, M * N, a);
    assert_true(pes_orthonormal_rows(M, N, a, q, arena));
    assert_true(pes_lq(M, N, a, l, right, arena));
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++)
            assert_true(fabs(q[i * N + j] - copysign(1, l[i * M + i]) * right[i * N + j]) < 1e-14);
}

static void a_stream_of_pairs_is_normal_and_uncorrelated(void **state)
{
    enum { COUNT = 100001 };
    struct pes_arena *arena = *state;
    double *x = take(arena, COUNT), mean = 0, variance = 0, fourth = 0, pairs = 0;
    struct pes_stream stream = {{8, PES_RNG_TEST, 1}, 0};
    pes_stream_normals(&stream, COUNT, x);
    assert_int_equal(stream.next, COUNT / 2 + 1);
    for (size_t i = 0; i < COUNT; i++) {
        mean += x[i] / COUNT;
        variance += x[i] * x[i] / COUNT;
        fourth += pow(x[i], 4) / COUNT;
        if (i) pairs += x[i] * x[i - 1] / COUNT;
    }
    /* Four standard errors: 1, sqrt 2, sqrt 96 and 1 over the root of the count. */
    double error = 4 / sqrt(COUNT);
    assert_true(fabs(mean) < error && fabs(pairs) < error);
    assert_true(fabs(variance - 1) < error * sqrt(2) && fabs(fourth - 3) < error * sqrt(96));
}

static void every_lack_of_memory_is_reported(void **state)
{
    (void)state;
    enum { N = 30 };
    for (int which = 0; which < 2; which++)
        for (long n = 1;; n++) {
            struct pes_arena *arena = pes_arena_create();
            double *a = take(arena, N * N), *out = take(arena, N * N);
            for (size_t i = 0; i < N; i++)
                a[i * N + i] = 1;
            size_t before = pes_arena_bytes(arena);
            (void)pes_allocate_fail_after(n);
            bool ok =
                which ? pes_orthonormal_rows(N, N, a, out, arena) : pes_eigenvalues_many(1, N, a, out, arena);
            bool failed = pes_allocate_fail_after(0) >= n;
            assert_int_equal(pes_linalg_status(), failed ? PES_MEMORY : PES_OK);
            assert_int_equal(ok, !failed);
            assert_int_equal(pes_arena_bytes(arena), before);
            pes_arena_destroy(arena);
            if (!failed) break;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_matrices_of_a_batch_have_the_eigenvalues_that_lapack_finds),
        cmocka_unit_test(the_cyclic_shift_has_the_roots_of_unity),
        cmocka_unit_test(easy_and_hard_matrices_share_a_batch),
        cmocka_unit_test(what_is_not_finite_is_refused),
        cmocka_unit_test(rows_become_orthonormal_in_their_order_and_keep_their_sign),
        cmocka_unit_test(a_stream_of_pairs_is_normal_and_uncorrelated),
        cmocka_unit_test(every_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests_name("many eigenvalue problems", tests, set_up, tear_down);
}
