/* Permutation, sign-flip and rank tests: known shares of arrangements, ties, smallest reachable p. */
#include "analysis_support.h"

static const struct pes_resampling resampling = {0, 10000, 0.95, false, NULL};

static struct pes_test permutation(size_t n, const double *a, size_t m, const double *b, enum pes_side side)
{
    struct pes_test test;
    assert_ok(pes_stat_permutation(n, a, m, b, side, 0, &resampling, &test));
    return test;
}

static void separated_groups_have_the_smallest_reachable_p(void **state)
{
    (void)state;
    const double low[] = {1, 2, 3, 4, 5}, high[] = {11, 12, 13, 14, 15};
    const double expected[] = {1, 2.0 / 6, 2.0 / 20, 2.0 / 70, 2.0 / 252};
    for (size_t n = 1; n <= 5; n++) {
        struct pes_test test = permutation(n, low, n, high, PES_TWO_SIDED);
        assert_near(test.p, expected[n - 1], 1e-15);
        assert_near(test.p_smallest, expected[n - 1], 1e-15);
        assert_near(test.statistic, -10, 1e-15);
        test = permutation(n, low, n, high, PES_LESS);
        assert_near(test.p, expected[n - 1] / 2, 1e-15);
        test = permutation(n, low, n, high, PES_GREATER);
        assert_near(test.p, 1, 1e-15);
    }
}

static void four_against_three_has_one_arrangement_in_thirty_five(void **state)
{
    (void)state;
    const double a[] = {0.208, 0.230, 0.141, 0.263}, b[] = {0.885, 0.849, 0.790};
    struct pes_test test = permutation(4, a, 3, b, PES_LESS);
    assert_near(test.p, 1.0 / 35, 1e-15);
    assert_near(permutation(3, b, 4, a, PES_GREATER).p, 1.0 / 35, 1e-15);
    assert_near(permutation(3, b, 4, a, PES_LESS).p, 1, 1e-15);
}

static void subsets_drawn_beforehand_give_the_same_p(void **state)
{
    (void)state;
    double x[60];
    for (int i = 0; i < 60; i++)
        x[i] = i * 37 % 61 + (i < 30 ? 4 : 0);
    struct pes_resampling with = resampling;
    struct pes_subsets subsets, few;
    assert_ok(pes_stat_subsets_create(60, 30, &resampling, &subsets));
    assert_non_null(subsets.member);
    with.subsets = &subsets;
    struct pes_test own, shared;
    assert_ok(pes_stat_permutation(30, x, 30, x + 30, PES_TWO_SIDED, 0, &resampling, &own));
    assert_ok(pes_stat_permutation(30, x, 30, x + 30, PES_TWO_SIDED, 0, &with, &shared));
    assert_true(own.p > 0.01 && own.p < 0.5);
    assert_true(own.p == shared.p);
    assert_ok(pes_stat_mann_whitney(30, x, 30, x + 30, PES_TWO_SIDED, &resampling, &own));
    assert_ok(pes_stat_mann_whitney(30, x, 30, x + 30, PES_TWO_SIDED, &with, &shared));
    assert_true(own.p == shared.p);
    /* A test of another size, or with another seed, draws its own. */
    assert_ok(pes_stat_permutation(29, x, 30, x + 29, PES_TWO_SIDED, 0, &resampling, &own));
    assert_ok(pes_stat_permutation(29, x, 30, x + 29, PES_TWO_SIDED, 0, &with, &shared));
    assert_true(own.p == shared.p);
    struct pes_resampling seeded = resampling;
    seeded.seed = 5;
    assert_ok(pes_stat_permutation(30, x, 30, x + 30, PES_TWO_SIDED, 0, &seeded, &own));
    seeded.subsets = &subsets;
    assert_ok(pes_stat_permutation(30, x, 30, x + 30, PES_TWO_SIDED, 0, &seeded, &shared));
    assert_true(own.p == shared.p);
    /* They are what the test looks at. */
    for (size_t i = 0; i < 30 * resampling.resamples; i++)
        subsets.member[i] = (uint32_t)(i % 30);
    assert_ok(pes_stat_permutation(30, x, 30, x + 30, PES_TWO_SIDED, 0, &with, &shared));
    assert_true(shared.p == 1);
    pes_stat_subsets_destroy(&subsets);
    /* None where all arrangements are looked at. */
    assert_ok(pes_stat_subsets_create(10, 5, &resampling, &few));
    assert_null(few.member);
}

static void unlucky_draws_never_give_a_p_of_zero(void **state)
{
    (void)state;
    double a[20], b[20];
    for (int i = 0; i < 20; i++)
        a[i] = i, b[i] = 1000 + i;
    struct pes_resampling few = {0, 99, 0.95, false, NULL};
    struct pes_test test;
    assert_ok(pes_stat_permutation(20, a, 20, b, PES_TWO_SIDED, 0, &few, &test));
    assert_false(test.exact);
    assert_near(test.p, 0.01, 1e-15);
    assert_near(test.p_smallest, 0.01, 1e-15);
    assert_ok(pes_stat_sign_flip(20, a, b, PES_TWO_SIDED, 0, &few, &test));
    assert_true(test.exact); /* 2^20 signs */
    assert_near(test.p, 2 / 1048576.0, 1e-15);
    double c[30], d[30];
    for (int i = 0; i < 30; i++)
        c[i] = i, d[i] = 1000 + i;
    assert_ok(pes_stat_sign_flip(30, c, d, PES_TWO_SIDED, 0, &few, &test));
    assert_false(test.exact);
    assert_near(test.p, 0.01, 1e-15);
}

static void sums_equal_on_paper_are_ties(void **state)
{
    (void)state;
    /* 0.1 + 0.2 = 0.3 + 0: of the 6 pairs, {0.1, 0.2} and {0, 0.3} sum to 0.3, the least distant from the
     * mean. */
    const double a[] = {0.1, 0.2}, b[] = {0.3, 0.0};
    assert_near(permutation(2, a, 2, b, PES_TWO_SIDED).p, 1, 1e-15);
    assert_near(permutation(2, b, 2, a, PES_GREATER).p, 4.0 / 6, 1e-15);
    assert_near(permutation(2, a, 2, b, PES_GREATER).p, 4.0 / 6, 1e-15);
    /* The same far from 0, and in tenths of a unit: the shares can't change. */
    const double x[] = {61, 72, 55, 81, 67}, y[] = {58, 69, 52, 70, 63};
    double u[5], v[5];
    for (double scale = 1e-9; scale < 1e9; scale *= 7)
        for (double shift = -3; shift < 4; shift += 0.7) {
            for (int i = 0; i < 5; i++)
                u[i] = (x[i] / 100 + shift) * scale, v[i] = (y[i] / 100 + shift) * scale;
            assert_near(permutation(5, u, 5, v, PES_TWO_SIDED).p, 110.0 / 252, 1e-15);
        }
}

static void floats_are_compared_with_the_rounding_of_floats(void **state)
{
    (void)state;
    const double a[] = {0.1f, 0.2f}, b[] = {0.3f, 0.0f};
    struct pes_test test;
    assert_ok(pes_stat_permutation(2, b, 2, a, PES_GREATER, 6e-8, &resampling, &test));
    assert_near(test.p, 4.0 / 6, 1e-15);
    const double apart[] = {0.5, 0.5000001};
    assert_ok(pes_stat_permutation(1, apart, 1, apart + 1, PES_LESS, 0, &resampling, &test));
    assert_near(test.p, 0.5, 1e-15);
}

static void constant_groups_differ_in_nothing(void **state)
{
    (void)state;
    const double a[] = {0.5, 0.5, 0.5}, b[] = {0.5, 0.5, 0.5, 0.5};
    struct pes_test test = permutation(3, a, 4, b, PES_TWO_SIDED);
    assert_near(test.p, 1, 0);
    assert_near(test.p_smallest, 1, 0);
    assert_ok(pes_stat_mann_whitney(3, a, 4, b, PES_TWO_SIDED, &resampling, &test));
    assert_near(test.p, 1, 0);
    assert_ok(pes_stat_sign_flip(3, a, b, PES_TWO_SIDED, 0, &resampling, &test));
    assert_near(test.p, 1, 0);
}

static void large_enumerations_agree_with_drawing(void **state)
{
    (void)state;
    double a[11], b[11];
    for (int i = 0; i < 11; i++)
        a[i] = sin(i) + 0.4, b[i] = sin(i + 20);
    struct pes_test exact = permutation(11, a, 11, b, PES_TWO_SIDED);
    assert_true(exact.exact);
    assert_near(exact.arrangements, 705432, 0);
    /* 12 against 12 with the same share of extremes is drawn: a constant pair adds nothing. */
    double c[13], d[13];
    memcpy(c, a, sizeof a);
    memcpy(d, b, sizeof b);
    c[11] = c[12] = d[11] = d[12] = 0.2;
    struct pes_test drawn = permutation(13, c, 13, d, PES_TWO_SIDED);
    assert_false(drawn.exact);
    assert_true(fabs(drawn.p - exact.p) < 0.03);
}

static void mann_whitney_counts_ties(void **state)
{
    (void)state;
    /* Enumerated over the 462 arrangements of midranks. */
    const double a[] = {600, 700, 700, 800, 900}, b[] = {500, 700, 600, 600, 700, 400};
    struct pes_test test;
    assert_ok(pes_stat_mann_whitney(5, a, 6, b, PES_GREATER, &resampling, &test));
    assert_near(test.statistic, 25, 0);
    assert_near(test.p, 24.0 / 462, 1e-14);
    assert_near(test.p_smallest, 4.0 / 462, 1e-14);
    assert_ok(pes_stat_mann_whitney(5, a, 6, b, PES_LESS, &resampling, &test));
    assert_near(test.p, 457.0 / 462, 1e-14);
    assert_ok(pes_stat_mann_whitney(5, a, 6, b, PES_TWO_SIDED, &resampling, &test));
    assert_near(test.p, 37.0 / 462, 1e-14);
    assert_near(test.arrangements, 462, 0);
}

static void mann_whitney_of_large_groups_matches_scipy(void **state)
{
    (void)state;
    const double a[] = {-0.502, -1.024, 0.052,  0.72, 1.436, 0.41,   -0.253, -0.485, 1.049,  1.935,
                        0.573,  -0.933, -0.658, 1.9,  0.503, -1.432, 0.216,  -0.863, -0.329, -0.188};
    const double b[] = {-0.713, 0.553,  -0.063, -0.589, 0.411,  0.83,   -1.643, -0.257, -0.981,
                        -0.173, -1.289, 0.021,  -0.038, -0.304, -1.048, -0.396, -1.091, -1.355};
    struct pes_test test;
    assert_ok(pes_stat_mann_whitney(20, a, 18, b, PES_TWO_SIDED, &resampling, &test));
    assert_true(test.exact);
    assert_near(test.statistic, 239, 0);
    assert_near(test.p, 0.08731363406810062, 1e-12);
    assert_ok(pes_stat_mann_whitney(20, a, 18, b, PES_GREATER, &resampling, &test));
    assert_near(test.p, 0.04365681703405031, 1e-12);
}

static void adjustments_leave_out_what_is_missing(void **state)
{
    (void)state;
    const double p[] = {0.01, NAN, 0.04};
    double adjusted[3];
    assert_ok(pes_stat_holm(3, p, adjusted));
    assert_near(adjusted[0], 0.02, 1e-15);
    assert_near(adjusted[1], NAN, 0);
    assert_near(adjusted[2], 0.04, 1e-15);
    assert_ok(pes_stat_benjamini_hochberg(3, p, adjusted));
    assert_near(adjusted[0], 0.02, 1e-15);
    assert_near(adjusted[2], 0.04, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(separated_groups_have_the_smallest_reachable_p),
        cmocka_unit_test(four_against_three_has_one_arrangement_in_thirty_five),
        cmocka_unit_test(subsets_drawn_beforehand_give_the_same_p),
        cmocka_unit_test(unlucky_draws_never_give_a_p_of_zero),
        cmocka_unit_test(sums_equal_on_paper_are_ties),
        cmocka_unit_test(floats_are_compared_with_the_rounding_of_floats),
        cmocka_unit_test(constant_groups_differ_in_nothing),
        cmocka_unit_test(large_enumerations_agree_with_drawing),
        cmocka_unit_test(mann_whitney_counts_ties),
        cmocka_unit_test(mann_whitney_of_large_groups_matches_scipy),
        cmocka_unit_test(adjustments_leave_out_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
