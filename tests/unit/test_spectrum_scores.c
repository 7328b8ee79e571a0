/* Toeplitz measures, spread, relative kernel and positional kernels on matrices known by hand. */
#include "spectrum_support.h"

static struct pes_toeplitz toeplitz_of(struct pes_arena *arena, int T, const double *scores, bool causal)
{
    struct pes_toeplitz out;
    assert_int_equal(pes_spectrum_toeplitz(T, scores, causal, arena, &out), PES_OK);
    return out;
}

static void diagonals_are_indexed_by_key_minus_query(void **state)
{
    const double scores[9] = {1, 2, 3, 4, 5, 6, 7, 8, 12};
    struct pes_toeplitz t = toeplitz_of(*state, 3, scores, false);
    const double right[5] = {7, 6, 6, 4, 3};
    for (size_t i = 0; i < 5; i++)
        assert_near(t.diagonals[i], right[i], 1e-15);
    assert_near(t.fraction, (49 + 2 * 36 + 3 * 36 + 2 * 16 + 9) / 348.0, 1e-15);
}

static void causal_diagonals_stop_at_the_query(void **state)
{
    const double scores[9] = {1, NAN, NAN, 4, 5, NAN, 7, 8, 12};
    struct pes_toeplitz t = toeplitz_of(*state, 3, scores, true);
    assert_near(t.diagonals[0], 7, 0);
    assert_near(t.diagonals[1], 6, 0);
    assert_near(t.diagonals[2], 6, 0);
    assert_true(isnan(t.diagonals[3]) && isnan(t.diagonals[4]));
    assert_near(t.fraction, (49 + 72 + 108) / (1 + 16 + 25 + 49 + 64 + 144.0), 1e-15);
    /* Rows less their visible means: 0 | -1/2 1/2 | -2 -1 3. */
    assert_near(t.fraction_centred, (4 + 2 * 0.75 * 0.75 + 3 * pow(3.5 / 3, 2)) / (0.5 + 14), 1e-14);
}

static void toeplitz_matrices_survive_whole(void **state)
{
    struct pes_arena *arena = *state;
    enum { T = 12 };
    double *a = take(arena, T * T);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            a[i * T + j] = sin(3 * (i - j)) + 1;
    for (int causal = 0; causal < 2; causal++)
        assert_near(toeplitz_of(arena, T, a, causal).fraction, 1, 1e-14);
    /* Shifts of whole rows don't matter to the centred fraction, but do to the other. */
    double centred = toeplitz_of(arena, T, a, false).fraction_centred;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++)
            a[i * T + j] += 5 * cos(i);
    assert_near(toeplitz_of(arena, T, a, false).fraction_centred, centred, 1e-13);
    assert_true(toeplitz_of(arena, T, a, false).fraction < 0.5);
    double zero[4] = {0};
    assert_true(isnan(toeplitz_of(arena, 2, zero, false).fraction));
    double one[1] = {3};
    assert_near(toeplitz_of(arena, 1, one, true).fraction, 1, 0);
}

static void the_relative_kernel_ends_at_the_query_itself(void **state)
{
    (void)state;
    double scores[16], kernel[PES_KERNEL_OFFSETS];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            scores[4 * i + j] = 10 * i + j;
    pes_spectrum_relative_kernel(4, scores, kernel);
    for (int k = 0; k < 5; k++)
        assert_true(isnan(kernel[k]));
    assert_near(kernel[5], 30, 0);
    assert_near(kernel[6], (20 + 31) / 2.0, 0);
    assert_near(kernel[7], (10 + 21 + 32) / 3.0, 1e-15);
    assert_near(kernel[8], (0 + 11 + 22 + 33) / 4.0, 1e-15);
}

static void the_spread_is_that_of_the_row_centred_symmetric_part(void **state)
{
    struct pes_arena *arena = *state;
    /* Centred rows (1/2, -1/2), (-1, 1): symmetric part [[1/2, -3/4], [-3/4, 1]]: spread sqrt(1/4 + 9/4). */
    const real scores[4] = {3, 2, 5, 7};
    assert_near(pes_spectrum_spread(2, scores, arena), sqrt(2.5), 1e-14);
    /* Shifting rows and adding an antisymmetric matrix without row sums change nothing. */
    const real shifted[4] = {103, 102, 5, 7};
    assert_near(pes_spectrum_spread(2, shifted, arena), sqrt(2.5), 1e-13);
    const real bad[4] = {1, 2, (real)NAN, 4};
    assert_true(isnan(pes_spectrum_spread(2, bad, arena)));
    const real constant[4] = {2, 2, 9, 9};
    assert_near(pes_spectrum_spread(2, constant, arena), 0, 0);
}

static void mean_scores_have_the_spectrum_of_the_same_matrix(void **state)
{
    struct pes_arena *arena = *state;
    /* [[1/2, -3/4], [-3/4, 1]] again: eigenvalues 3/4 -+ sqrt(10)/4. */
    const double scores[4] = {3, 2, 5, 7}, constant[4] = {2, 2, 9, 9}, bad[4] = {1, INFINITY, 3, 4};
    double low = 0.75 - sqrt(10) / 4, high = 0.75 + sqrt(10) / 4;
    struct pes_scores out;
    assert_int_equal(pes_spectrum_scores(2, scores, arena, &out), PES_OK);
    assert_near(out.eigenvalues[0], low, 1e-15);
    assert_near(out.eigenvalues[1], high, 1e-15);
    assert_near(out.spread, sqrt(2.5), 1e-15);
    assert_near(out.condition, high / -low, 1e-12);
    assert_int_equal(pes_spectrum_scores(2, constant, arena, &out), PES_OK);
    assert_near(out.spread, 0, 0);
    assert_true(isnan(out.condition));
    assert_int_equal(pes_spectrum_scores(2, bad, arena, &out), PES_OK);
    assert_true(isnan(out.spread) && isnan(out.condition) && isnan(out.eigenvalues[0]));
}

static void lack_of_memory_is_no_missing_value(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    real *scores = pes_arena_take(arena, 200 * 200, sizeof *scores);
    (void)pes_allocate_fail_after(1);
    double spread = pes_spectrum_spread(200, scores, arena);
    (void)pes_allocate_fail_after(0);
    assert_true(isnan(spread));
    assert_int_equal(pes_linalg_status(), PES_MEMORY);
    assert_near(pes_spectrum_spread(200, scores, arena), 0, 0);
    assert_int_equal(pes_linalg_status(), PES_OK);
    pes_arena_destroy(arena);
}

static struct pes_kernel kernel_of(struct pes_arena *arena, int T, const double *matrix)
{
    struct pes_kernel out;
    assert_int_equal(pes_spectrum_kernel(T, matrix, arena, &out), PES_OK);
    return out;
}

/* Second differences: symbol 2 - 2 cos theta in [0, 4], eigenvalues 2 - 2 cos(k pi / (T + 1)). */
static void eigenvalues_of_second_differences_fill_the_symbol(void **state)
{
    struct pes_arena *arena = *state;
    for (int T = 2; T <= 60; T += 29) {
        double *a = take(arena, (size_t)(T * T));
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                a[i * T + j] = i == j ? 2 : i == j + 1 || j == i + 1 ? -1 : 0;
        struct pes_kernel k = kernel_of(arena, T, a);
        assert_near(k.symbol_min, 0, 1e-12);
        assert_near(k.symbol_max, 4, 1e-12);
        assert_near(k.eigenvalue_min, 2 - 2 * cos(acos(-1) / (T + 1)), 1e-13);
        assert_near(k.eigenvalue_max, 2 + 2 * cos(acos(-1) / (T + 1)), 1e-13);
        for (int i = 0; i < T; i++)
            assert_near(k.eigenvalues[i], 2 - 2 * cos((i + 1) * acos(-1) / (T + 1)), 1e-13);
        assert_near(k.szego_distance, 0, 1e-14);
        assert_near(k.toeplitz_fraction, 1, 1e-14);
    }
}

/* a_k = rho^|k| (Kac, Murdock & Szego 1953): the distance from the symbol falls as 1/T. */
static void eigenvalues_approach_the_symbol(void **state)
{
    struct pes_arena *arena = *state;
    double before = INFINITY;
    for (int T = 8; T <= 128; T *= 4) {
        double *a = take(arena, (size_t)(T * T));
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                a[i * T + j] = pow(0.6, fabs((double)(i - j)));
        struct pes_kernel k = kernel_of(arena, T, a);
        assert_true(k.szego_distance > 0 && k.szego_distance < before / 2);
        before = k.szego_distance;
    }
    assert_true(before < 0.01);
    struct pes_kernel flat = kernel_of(arena, 2, (const double[]){3, 0, 0, 3});
    assert_true(isnan(flat.szego_distance));
}

/* a_0 + 2 a_1 cos + 2 a_2 cos 2x with an extreme inside (0, pi): -1 + 2 cos x + 2 cos 2x has its minimum
 * where cos x = -1/4: -1 - 1/2 + 2 (1/8 - 1) = -13/4; maximum 3 at 0. */
static void extremes_of_the_symbol_are_found_between_grid_points(void **state)
{
    enum { T = 3 };
    const double a[T * T] = {-1, 1, 1, 1, -1, 1, 1, 1, -1};
    struct pes_kernel k = kernel_of(*state, T, a);
    assert_near(k.symbol_min, -3.25, 1e-13);
    assert_near(k.symbol_max, 3, 1e-13);
    assert_near(k.eigenvalue_min, -2, 1e-14);
    assert_near(k.eigenvalue_max, 1, 1e-14);
}

/* Szego: whatever the diagonals, no eigenvalue leaves the range; a skew part plays no role. */
static void eigenvalues_stay_within_the_symbol(void **state)
{
    struct pes_arena *arena = *state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        int T = 2 + 3 * (int)seed;
        const double *diagonal = take_normal(arena, (size_t)(2 * T), seed);
        double *a = take(arena, (size_t)(T * T));
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++)
                a[i * T + j] = diagonal[j - i + T - 1];
        struct pes_kernel k = kernel_of(arena, T, a);
        assert_true(k.eigenvalue_min >= k.symbol_min - 1e-9 && k.eigenvalue_max <= k.symbol_max + 1e-9);
        assert_true(k.symbol_max - k.symbol_min < 1000);
        assert_near(k.diagonals[0], diagonal[0], 1e-15);
        assert_near(k.diagonals[2 * T - 2], diagonal[2 * T - 2], 1e-15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagonals_are_indexed_by_key_minus_query),
        cmocka_unit_test(causal_diagonals_stop_at_the_query),
        cmocka_unit_test(toeplitz_matrices_survive_whole),
        cmocka_unit_test(the_relative_kernel_ends_at_the_query_itself),
        cmocka_unit_test(the_spread_is_that_of_the_row_centred_symmetric_part),
        cmocka_unit_test(mean_scores_have_the_spectrum_of_the_same_matrix),
        cmocka_unit_test(lack_of_memory_is_no_missing_value),
        cmocka_unit_test(eigenvalues_of_second_differences_fill_the_symbol),
        cmocka_unit_test(eigenvalues_approach_the_symbol),
        cmocka_unit_test(extremes_of_the_symbol_are_found_between_grid_points),
        cmocka_unit_test(eigenvalues_stay_within_the_symbol),
    };
    return cmocka_run_group_tests_name("scores", tests, set_up_arena, tear_down_arena);
}
