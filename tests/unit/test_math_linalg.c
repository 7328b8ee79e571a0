/* Eigenvalues, Schur norms, singular values and factors: known matrices, edges of range, and bad input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
/* cmocka wants the three above first */
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg_fixture.h"
#include "pesweep/rng.h"

enum { MOST = 130 };

static double *take_normal(struct pes_arena *arena, size_t count, uint64_t seed)
{
    struct pes_rng rng = {seed, PES_RNG_TEST, 0};
    double *x = take(arena, count);
    for (size_t i = 0; i < count; i++)
        x[i] = pes_rng_normal(&rng, i);
    return x;
}

static void assert_near(double value, double right, double tolerance)
{
    if (!(fabs(value - right) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, right, tolerance);
}

static void the_self_test_passes_here(void **state)
{
    (void)state;
    assert_int_equal(pes_linalg_self_test(), PES_OK);
    assert_non_null(strstr(pes_blas_config(), "OpenBLAS"));
    assert_true(strlen(pes_blas_core()) > 0);
}

static void products_agree_with_sums_for_every_transposition(void **state)
{
    struct pes_arena *arena = *state;
    enum { M = 7, N = 5, K = 11 };
    const double *a = take_normal(arena, M * K, 1), *b = take_normal(arena, K * N, 2);
    for (int trans = 0; trans < 4; trans++) {
        bool ta = trans & 1, tb = trans & 2;
        double out[M * N];
        for (size_t i = 0; i < M * N; i++)
            out[i] = 3;
        pes_dgemm(ta, tb, M, N, K, 2, a, ta ? M : K, b, tb ? K : N, 0.5, out, N);
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t k = 0; k < K; k++)
                    sum += (ta ? a[k * M + i] : a[i * K + k]) * (tb ? b[j * K + k] : b[k * N + j]);
                assert_near(out[i * N + j], 2 * sum + 1.5, 1e-13);
            }
    }
}

static void eigenvalues_of_a_quarter_turn_are_plus_i_then_minus_i(void **state)
{
    const double turn[4] = {0, -1, 1, 0};
    double values[4];
    assert_true(pes_eigenvalues(2, turn, values, *state));
    const double right[4] = {0, 1, 0, -1};
    for (size_t i = 0; i < 4; i++)
        assert_near(values[i], right[i], 1e-15);
}

static void eigenvalues_are_sorted_by_modulus_then_real_then_imaginary_part(void **state)
{
    (void)state;
    /* Moduli 5 (four of them, one pair shifted by rounding), 2, 0. */
    double values[] = {0, 0, 3, -4, -5, 0, 2, 0, 3 + 1e-15, 4, 5, 1e-20};
    const double right[] = {5, 0, 3, 4, 3, -4, -5, 0, 2, 0, 0, 0};
    pes_eigenvalues_sort(6, values);
    for (size_t i = 0; i < 12; i++)
        assert_near(values[i], right[i], 1e-14);
}

/* A companion matrix has the roots that its polynomial was made of: 1 +- 2i, -3, 0.5. */
static void eigenvalues_of_a_companion_matrix_are_the_roots(void **state)
{
    /* (x^2 - 2x + 5)(x + 3)(x - 1/2) = x^4 + 0.5 x^3 - 1.5 x^2 + 15.5 x - 7.5 */
    const double companion[16] = {-0.5, 1.5, -15.5, 7.5, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    const double right[8] = {-3, 0, 1, 2, 1, -2, 0.5, 0};
    double values[8], off_norm, condition;
    assert_true(pes_eigenvalues(4, companion, values, *state));
    for (size_t i = 0; i < 8; i++)
        assert_near(values[i], right[i], 1e-13);
    assert_true(pes_schur(4, companion, values, &off_norm, &condition, *state));
    for (size_t i = 0; i < 8; i++)
        assert_near(values[i], right[i], 1e-13);
    /* ||A||^2 - sum |lambda|^2 has no cancellation to speak of here. */
    double squares = 3 + 0.25 + 2.25 + 15.5 * 15.5 + 7.5 * 7.5;
    assert_near(off_norm, sqrt(squares - 9 - 10 - 0.25), 1e-12);
}

static void the_schur_norm_of_a_triangle_is_that_of_its_corner(void **state)
{
    const double triangle[9] = {1, 2, -2, 0, 5, 1, 0, 0, -7};
    double values[6], off_norm;
    assert_true(pes_schur(3, triangle, values, &off_norm, NULL, *state));
    assert_near(off_norm, 3, 1e-14);
}

/* a pair block that isn't normal: [[0, 4], [-1, 0]] has +-2i and departure 4 - 1. */
static void the_schur_norm_of_a_pair_is_the_difference_of_its_corners(void **state)
{
    const double block[4] = {0, 4, -1, 0};
    double values[4], off_norm;
    assert_true(pes_schur(2, block, values, &off_norm, NULL, *state));
    assert_near(values[1], 2, 1e-14);
    assert_near(off_norm, 3, 1e-14);
}

/* Normal matrices: departure at rounding level where the difference of squares would give 1e-8. */
static void the_schur_norm_of_a_normal_matrix_has_no_cancellation(void **state)
{
    struct pes_arena *arena = *state;
    enum { N = 24 };
    const double *g = take_normal(arena, N * N, 3);
    double *a = take(arena, N * N), values[2 * N], off_norm, condition;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            a[i * N + j] = g[i * N + j] - g[j * N + i];
    assert_true(pes_schur(N, a, values, &off_norm, &condition, arena));
    assert_true(off_norm < 1e-13 * pes_norm(N * N, a));
    assert_near(condition, 1, 1e-11);
}

/* [[1, k], [0, 2]]: unit eigenvectors (1, 0) and (k, 1)/sqrt(k^2 + 1), cosine c between them: sqrt((1 + c)/(1
 * - c)). */
static void the_eigenvector_condition_of_a_triangle_follows_from_its_angle(void **state)
{
    for (int e = 0; e < 6; e++) {
        double k = pow(10, e), a[4] = {1, k, 0, 2}, values[4], off_norm, condition;
        /* (1 + c)/(1 - c) with c = k / sqrt(k^2 + 1) is (k + sqrt(k^2 + 1))^2 */
        double right = k + sqrt(k * k + 1);
        assert_true(pes_schur(2, a, values, &off_norm, &condition, *state));
        assert_near(condition / right, 1, 1e-9);
    }
    /* Rows and columns differ in which vectors they have: the left ones of this have another angle. */
    const double b[9] = {1, 1, 0, 0, 2, 5, 0, 0, 3};
    /* Right vectors (1,0,0), (1,1,0)/sqrt 2, (5/2,5,1)/norm: condition by NumPy. */
    double values[6], off_norm, condition;
    assert_true(pes_schur(3, b, values, &off_norm, &condition, *state));
    assert_near(condition, 14.747769953833721, 1e-9);
}

static void a_pair_counts_as_two_complex_eigenvectors(void **state)
{
    /* [[0, 4], [-1, 0]]: vectors (2, +-i)/sqrt 5, Gram off-diagonal 3/5: sqrt(1.6 / 0.4) = 2. */
    const double block[4] = {0, 4, -1, 0};
    double values[4], off_norm, condition;
    assert_true(pes_schur(2, block, values, &off_norm, &condition, *state));
    assert_near(condition, 2, 1e-13);
}

static void a_jordan_block_is_flagged_by_its_condition(void **state)
{
    enum { N = 6 };
    double a[N * N] = {0}, values[2 * N], off_norm, condition;
    for (size_t i = 0; i < N; i++) {
        a[i * N + i] = 2;
        if (i + 1 < N) a[i * N + i + 1] = 1;
    }
    assert_true(pes_schur(N, a, values, &off_norm, &condition, *state));
    assert_near(off_norm, sqrt(N - 1), 1e-14);
    assert_true(condition > 1e12);
}

static void symmetric_eigenvalues_are_ascending_and_read_the_upper_triangle(void **state)
{
    const double a[9] = {2, 1, 0, 99, 2, 1, 99, 99, 2};
    double values[3];
    assert_true(pes_symmetric_eigenvalues(3, a, values, *state));
    assert_near(values[0], 2 - sqrt(2), 1e-15);
    assert_near(values[1], 2, 1e-15);
    assert_near(values[2], 2 + sqrt(2), 1e-15);
}

static void singular_vectors_rebuild_the_matrix_in_both_shapes(void **state)
{
    struct pes_arena *arena = *state;
    const size_t shapes[][2] = {{9, 4}, {4, 9}, {1, 3}, {6, 6}};
    for (size_t s = 0; s < PES_COUNT(shapes); s++) {
        size_t m = shapes[s][0], n = shapes[s][1], r = PES_MIN(m, n);
        const double *a = take_normal(arena, m * n, 40 + s);
        double *values = take(arena, r), *u = take(arena, m * r), *vt = take(arena, r * n),
               *alone = take(arena, r);
        assert_true(pes_singular_values(m, n, a, values, u, vt, arena));
        assert_true(pes_singular_values(m, n, a, alone, NULL, NULL, arena));
        for (size_t k = 0; k < r; k++) {
            assert_near(values[k], alone[k], 1e-13);
            if (k) assert_true(values[k] <= values[k - 1]);
        }
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t k = 0; k < r; k++)
                    sum += u[i * r + k] * values[k] * vt[k * n + j];
                assert_near(sum, a[i * n + j], 1e-13);
            }
        double *vt_alone = take(arena, r * n);
        assert_true(pes_singular_values(m, n, a, values, NULL, vt_alone, arena));
        for (size_t i = 0; i < r * n; i++)
            assert_near(vt_alone[i], vt[i], 1e-13);
    }
}

static void factors_are_triangular_orthonormal_and_multiply_back(void **state)
{
    struct pes_arena *arena = *state;
    const size_t shapes[][2] = {{9, 4}, {4, 9}, {5, 5}, {MOST, 70}, {70, MOST}, {1, 1}};
    for (size_t s = 0; s < PES_COUNT(shapes); s++) {
        size_t m = shapes[s][0], n = shapes[s][1], k = PES_MIN(m, n);
        const double *a = take_normal(arena, m * n, 60 + s);
        double *l = take(arena, m * k), *q = take(arena, k * n), *product = take(arena, m * n);
        assert_true(pes_lq(m, n, a, l, q, arena));
        pes_dgemm(false, false, m, n, k, 1, l, k, q, n, 0, product, n);
        for (size_t i = 0; i < m * n; i++)
            assert_near(product[i], a[i], 1e-12);
        double *gram = take(arena, k * k);
        pes_dgemm(false, true, k, k, n, 1, q, n, q, n, 0, gram, k);
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < k; j++) {
                assert_near(gram[i * k + j], i == j, 1e-13);
                if (j > i) assert_true(l[i * k + j] == 0);
            }
        if (m < n) continue;
        double *r = take(arena, n * n), *left = take(arena, m * n);
        assert_true(pes_qr(m, n, a, left, r, arena));
        pes_dgemm(false, false, m, n, n, 1, left, n, r, n, 0, product, n);
        for (size_t i = 0; i < m * n; i++)
            assert_near(product[i], a[i], 1e-12);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++)
                assert_true(r[i * n + j] == 0);
    }
}

static void the_row_basis_finds_the_rank_whatever_the_rows_lengths(void **state)
{
    struct pes_arena *arena = *state;
    enum { M = 6, N = 10 };
    double *a = take_normal(arena, M * N, 7), *basis = take(arena, M * N);
    size_t rank;
    for (size_t j = 0; j < N; j++) {
        a[1 * N + j] = 0;
        a[4 * N + j] = 3 * a[j] - 2 * a[2 * N + j];
        a[5 * N + j] *= 1e-120;
    }
    assert_true(pes_row_basis(M, N, a, basis, &rank, arena));
    assert_int_equal(rank, 4);
    for (size_t i = 0; i < rank; i++)
        for (size_t k = 0; k < rank; k++)
            assert_near(pes_dot(N, basis + i * N, basis + k * N), i == k, 1e-14);
    /* Every row lies in the space: its coordinates have its length. */
    for (size_t i = 0; i < M; i++) {
        double sum = 0, length = pes_norm(N, a + i * N);
        for (size_t k = 0; k < rank && length > 0; k++)
            sum += pow(pes_dot(N, a + i * N, basis + k * N) / length, 2);
        assert_near(sum, length > 0, 1e-13);
    }
    memset(a, 0, M * N * sizeof *a);
    assert_true(pes_row_basis(M, N, a, basis, &rank, arena));
    assert_int_equal(rank, 0);
}

static void norms_neither_overflow_nor_vanish(void **state)
{
    (void)state;
    const double huge[2] = {3e200, 4e200}, tiny[2] = {3e-200, 4e-200}, none[2] = {0, 0};
    assert_near(pes_norm(2, huge) / 5e200, 1, 1e-15);
    assert_near(pes_norm(2, tiny) / 5e-200, 1, 1e-15);
    assert_true(pes_norm(2, none) == 0);
}

/* LAPACK would abort, read beyond its arrays, or not return. */
static void non_finite_matrices_are_refused_by_every_solver(void **state)
{
    struct pes_arena *arena = *state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t n = 1; n <= 40; n += 13)
        for (size_t b = 0; b < PES_COUNT(bad); b++)
            for (int everywhere = 0; everywhere < 2; everywhere++) {
                double *a = take_normal(arena, n * n, 5), *out = take(arena, 2 * n),
                       *square = take(arena, n * n);
                double off_norm, condition;
                size_t rank;
                for (size_t i = 0; i < n * n; i++)
                    if (everywhere || i == n * n / 2) a[i] = bad[b];
                assert_false(pes_all_finite(n * n, a));
                assert_false(pes_eigenvalues(n, a, out, arena));
                assert_false(pes_schur(n, a, out, &off_norm, &condition, arena));
                assert_false(pes_symmetric_eigenvalues(n, a, out, arena));
                assert_false(pes_singular_values(n, n, a, out, NULL, NULL, arena));
                assert_false(pes_lq(n, n, a, square, NULL, arena));
                assert_false(pes_qr(n, n, a, NULL, square, arena));
                assert_false(pes_row_basis(n, n, a, square, &rank, arena));
                assert_int_equal(pes_linalg_status(), PES_OK);
            }
}

static void extreme_magnitudes_keep_their_relative_accuracy(void **state)
{
    for (int e = -150; e <= 150; e += 300) {
        double scale = pow(10, e), a[4] = {scale, 2 * scale, 0, 3 * scale}, values[4], sigma[2];
        assert_true(pes_eigenvalues(2, a, values, *state));
        assert_near(values[0] / scale, 3, 1e-14);
        assert_near(values[2] / scale, 1, 1e-14);
        assert_true(pes_singular_values(2, 2, a, sigma, NULL, NULL, *state));
        assert_near(sigma[0] * (sigma[1] / scale) / scale, 3, 1e-14);
    }
}

static void results_do_not_depend_on_the_number_of_threads_beyond_rounding(void **state)
{
    struct pes_arena *arena = *state;
    const double *a = take_normal(arena, MOST * MOST, 8);
    double *one = take(arena, 2 * MOST), *two = take(arena, 2 * MOST);
    assert_true(pes_eigenvalues(MOST, a, one, arena));
    pes_blas_set_threads(2);
    bool ok = pes_eigenvalues(MOST, a, two, arena);
    pes_blas_set_threads(1);
    assert_true(ok);
    for (size_t i = 0; i < 2 * MOST; i++)
        assert_near(one[i], two[i], 1e-10);
}

static void every_lack_of_memory_is_reported_and_gives_scratch_back(void **state)
{
    (void)state;
    enum { N = 100 };
    for (int which = 0; which < 6; which++)
        for (long n = 1;; n++) {
            struct pes_arena *arena = pes_arena_create();
            double *a = take_normal(arena, N * N, 9), *out = take(arena, N * N), off_norm, condition;
            size_t rank, before = pes_arena_bytes(arena);
            (void)pes_allocate_fail_after(n);
            bool ok = which == 0   ? pes_eigenvalues(N, a, out, arena)
                      : which == 1 ? pes_schur(N, a, out, &off_norm, &condition, arena)
                      : which == 2 ? pes_symmetric_eigenvalues(N, a, out, arena)
                      : which == 3 ? pes_singular_values(N, N, a, out, NULL, NULL, arena)
                      : which == 4 ? pes_qr(N, N, a, NULL, out, arena)
                                   : pes_row_basis(N, N, a, out, &rank, arena);
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
        cmocka_unit_test(the_self_test_passes_here),
        cmocka_unit_test(products_agree_with_sums_for_every_transposition),
        cmocka_unit_test(eigenvalues_of_a_quarter_turn_are_plus_i_then_minus_i),
        cmocka_unit_test(eigenvalues_are_sorted_by_modulus_then_real_then_imaginary_part),
        cmocka_unit_test(eigenvalues_of_a_companion_matrix_are_the_roots),
        cmocka_unit_test(the_schur_norm_of_a_triangle_is_that_of_its_corner),
        cmocka_unit_test(the_schur_norm_of_a_pair_is_the_difference_of_its_corners),
        cmocka_unit_test(the_schur_norm_of_a_normal_matrix_has_no_cancellation),
        cmocka_unit_test(the_eigenvector_condition_of_a_triangle_follows_from_its_angle),
        cmocka_unit_test(a_pair_counts_as_two_complex_eigenvectors),
        cmocka_unit_test(a_jordan_block_is_flagged_by_its_condition),
        cmocka_unit_test(symmetric_eigenvalues_are_ascending_and_read_the_upper_triangle),
        cmocka_unit_test(singular_vectors_rebuild_the_matrix_in_both_shapes),
        cmocka_unit_test(factors_are_triangular_orthonormal_and_multiply_back),
        cmocka_unit_test(the_row_basis_finds_the_rank_whatever_the_rows_lengths),
        cmocka_unit_test(norms_neither_overflow_nor_vanish),
        cmocka_unit_test(non_finite_matrices_are_refused_by_every_solver),
        cmocka_unit_test(extreme_magnitudes_keep_their_relative_accuracy),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads_beyond_rounding),
        cmocka_unit_test(every_lack_of_memory_is_reported_and_gives_scratch_back),
    };
    return cmocka_run_group_tests_name("linear algebra", tests, set_up, tear_down);
}
