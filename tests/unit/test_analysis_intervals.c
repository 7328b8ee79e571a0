/* Distributions, descriptions and intervals; values by SciPy 1.17 unless a comment says otherwise. */
#include "analysis_support.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static void normal_and_t_distributions_match_scipy(void **state)
{
    (void)state;
    assert_near(pes_stat_normal_quantile(0.975), 1.959963984540054, 1e-14);
    assert_near(pes_stat_normal_quantile(1e-10), -6.361340902404056, 1e-14);
    assert_near(pes_stat_normal_quantile(0.3), -0.5244005127080409, 1e-14);
    assert_near(pes_stat_normal_quantile(1 - 1e-6), 4.753424308817087, 1e-10);
    assert_near(pes_stat_t_cdf(2.1, 3), 0.9367173987251577, 1e-13);
    assert_near(pes_stat_t_cdf(-0.5, 1), 0.35241638234956674, 1e-13);
    assert_near(pes_stat_t_cdf(10, 7), 0.9999893028985546, 1e-13);
    assert_near(pes_stat_t_cdf(1.5, 0.5), 0.7460491046759459, 1e-13);
    assert_near(pes_stat_t_quantile(0.975, 1), 12.706204736174694, 1e-12);
    assert_near(pes_stat_t_quantile(0.975, 15), 2.131449545559776, 1e-12);
    assert_near(pes_stat_t_quantile(0.01, 4), -3.746947387979197, 1e-12);
    assert_near(pes_stat_t_quantile(0.9999, 2), 70.70007107496818, 1e-11);
}

static void one_seed_has_a_mean_and_nothing_else(void **state)
{
    (void)state;
    const double x[] = {0.9};
    struct pes_interval interval;
    assert_near(pes_stat_mean(1, x), 0.9, 0);
    assert_near(pes_stat_sd(1, x), NAN, 0);
    interval = pes_stat_t_interval(1, x, 0.95);
    assert_near(interval.estimate, 0.9, 0);
    assert_near(interval.low, NAN, 0);
    assert_true(interval.flags & PES_INTERVAL_NOT_AVAILABLE);
    assert_ok(pes_stat_location_interval(PES_LOCATION_IQM, 1, x, &PES_RESAMPLING_DEFAULT, &interval));
    assert_near(interval.estimate, 0.9, 0);
    assert_near(interval.low, NAN, 0);
    assert_near(interval.high, NAN, 0);
    assert_true(interval.flags & PES_INTERVAL_NOT_AVAILABLE);
    assert_ok(
        pes_stat_difference_interval(PES_LOCATION_MEAN, 1, x, 1, x, &PES_RESAMPLING_DEFAULT, &interval));
    assert_near(interval.estimate, 0, 0);
    assert_true(interval.flags & PES_INTERVAL_NOT_AVAILABLE);
}

static void equal_values_give_a_flagged_percentile_interval(void **state)
{
    (void)state;
    const double x[] = {0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7, 0.7};
    struct pes_interval interval;
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEAN, 10, x, &PES_RESAMPLING_DEFAULT, &interval));
    assert_near(interval.low, 0.7, 1e-15);
    assert_near(interval.high, 0.7, 1e-15);
    assert_int_equal(interval.flags, PES_INTERVAL_PERCENTILE);
    assert_near(pes_stat_sd(10, x), 0, 1e-15);
}

static void deviation_divides_by_one_less_than_the_number(void **state)
{
    (void)state;
    const double three[] = {0.10, 0.12, 0.30}, two[] = {1, 3};
    assert_near(pes_stat_sd(3, three), 0.110151, 1e-6);
    assert_near(pes_stat_sd(2, two), sqrt(2), 1e-15);
    struct pes_interval interval = pes_stat_t_interval(2, two, 0.95);
    assert_near(interval.low, 2 - 12.706204736174694, 1e-11);
    assert_true(interval.flags & PES_INTERVAL_SMALL_N);
}

static void missing_values_make_no_numbers(void **state)
{
    (void)state;
    double x[] = {1, NAN, 3};
    struct pes_interval interval;
    struct pes_test test;
    assert_near(pes_stat_mean(3, x), NAN, 0);
    assert_near(pes_stat_median(3, x), NAN, 0);
    assert_near(pes_stat_mean(0, x), NAN, 0);
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEDIAN, 3, x, &PES_RESAMPLING_DEFAULT, &interval));
    assert_true(isnan(interval.estimate) && interval.flags & PES_INTERVAL_NOT_AVAILABLE);
    assert_ok(pes_stat_permutation(3, x, 3, x, PES_TWO_SIDED, 0, &PES_RESAMPLING_DEFAULT, &test));
    assert_near(test.p, NAN, 0);
    assert_ok(pes_stat_mann_whitney(0, x, 3, x, PES_TWO_SIDED, &PES_RESAMPLING_DEFAULT, &test));
    assert_near(test.p, NAN, 0);
    assert_int_equal(pes_stat_compact(3, x), 2);
    assert_near(x[1], 3, 0);
}

static void interquartile_mean_cuts_a_quarter_at_each_end(void **state)
{
    (void)state;
    double ten[] = {30, 2, 9, 4, 5, 6, 7, 8, 3, 1}, three[] = {9, 2, 1};
    assert_near(pes_stat_iqm(10, ten), 5.5, 1e-15);
    assert_near(pes_stat_iqm(3, three), 4, 1e-15);
}

static void bca_of_skewed_and_of_two_samples_matches_scipy(void **state)
{
    (void)state;
    const double skewed[] = {1, 2, 3, 5, 9, 20};
    const double a[] = {0.61, 0.72, 0.55, 0.81, 0.67}, b[] = {0.58, 0.69, 0.52, 0.7, 0.63};
    struct pes_resampling resampling = {3, 100000, 0.95, false, NULL};
    struct pes_interval interval;
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEAN, 6, skewed, &resampling, &interval));
    assert_near(interval.low, 3, 0.01);
    assert_near(interval.high, 14.5, 0.01);
    assert_ok(pes_stat_difference_interval(PES_LOCATION_MEAN, 5, a, 5, b, &resampling, &interval));
    assert_near(interval.low, -0.044, 0.003);
    assert_near(interval.high, 0.152, 0.003);
}

static void intervals_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    const double x[] = {0.61, 0.72, 0.55, 0.81, 0.67, 0.9, 0.3};
    struct pes_resampling many = {0, 100000, 0.95, false, NULL}; /* enough to be worth threads */
    struct pes_interval first, again;
    struct pes_test one, other;
    double y[40];
    for (int i = 0; i < 40; i++)
        y[i] = i * 0.37 - floor(i * 0.37);
#ifdef _OPENMP
    omp_set_num_threads(1);
#endif
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEDIAN, 7, x, &many, &first));
    assert_ok(pes_stat_permutation(20, y, 20, y + 20, PES_TWO_SIDED, 0, &many, &one));
#ifdef _OPENMP
    omp_set_num_threads(3);
#endif
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEDIAN, 7, x, &many, &again));
    assert_ok(pes_stat_permutation(20, y, 20, y + 20, PES_TWO_SIDED, 0, &many, &other));
    assert_true(first.low == again.low && first.high == again.high && first.estimate == again.estimate);
    assert_false(one.exact);
    assert_true(one.p == other.p);
    struct pes_resampling seeded = {7, 10000, 0.95, true, NULL};
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEAN, 7, x, &PES_RESAMPLING_DEFAULT, &first));
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEAN, 7, x, &seeded, &again));
    assert_true(first.low != again.low);
}

/* The level is what it says: of 400 normal samples of 10, a 95 % interval misses the mean in about 5 % (t) or
 * somewhat more (BCa is short at n = 10; Efron & Tibshirani 1993, ch. 14). */
static void intervals_cover_the_truth_as_often_as_they_say(void **state)
{
    (void)state;
    int t_misses = 0, bca_misses = 0;
    uint64_t lcg = 12345;
    for (int study = 0; study < 400; study++) {
        double x[10];
        for (int i = 0; i < 10; i++) {
            x[i] = 0;
            for (int k = 0; k < 12; k++) {
                lcg = lcg * 6364136223846793005u + 1442695040888963407u;
                x[i] += (double)(lcg >> 11) * 0x1p-53 - 0.5;
            }
        }
        struct pes_resampling resampling = {(uint64_t)study, 1000, 0.95, false, NULL};
        struct pes_interval t = pes_stat_t_interval(10, x, 0.95), bca;
        assert_ok(pes_stat_location_interval(PES_LOCATION_MEAN, 10, x, &resampling, &bca));
        t_misses += t.low > 0 || t.high < 0;
        bca_misses += bca.low > 0 || bca.high < 0;
    }
    assert_in_range(t_misses, 9, 32);    /* 99 % range of binomial(400, 0.05) */
    assert_in_range(bca_misses, 18, 55); /* of binomial(400, 0.09) */
}

static void profile_and_improvement_of_two_tasks(void **state)
{
    (void)state;
    /* By hand: scores above 0.5 are 3 of 5; task means of P(a > b): 1 and 1/2. */
    const double a[] = {0.9, 0.8, 0.4, 0.2, 0.6}, b[] = {0.1, 0.15, 0.4, 0.6};
    const size_t count_a[] = {2, 3}, count_b[] = {2, 2};
    const double levels[] = {0, 0.5, 0.6, 1};
    struct pes_interval profile[4], improvement;
    assert_ok(pes_stat_profile(2, count_a, a, 4, levels, &PES_RESAMPLING_DEFAULT, profile));
    assert_near(profile[0].estimate, 1, 1e-15);
    assert_near(profile[0].low, 1, 1e-15);
    assert_near(profile[1].estimate, 0.6, 1e-15);
    assert_near(profile[2].estimate, 0.4, 1e-15); /* strictly above */
    assert_near(profile[3].estimate, 0, 1e-15);
    assert_near(profile[1].low, 0.4, 1e-12); /* the first task always has both above */
    assert_near(profile[1].high, 1, 1e-12);
    assert_ok(pes_stat_improvement(2, count_a, a, count_b, b, &PES_RESAMPLING_DEFAULT, &improvement));
    /* Task 2: 0.4 against 0.4, 0.6: tie, loss; 0.2: two losses; 0.6: win, tie: 2 of 6. */
    assert_near(improvement.estimate, (1 + 2.0 / 6) / 2, 1e-14);
    assert_ok(pes_stat_iqm_stratified(2, count_a, a, &PES_RESAMPLING_DEFAULT, &profile[0]));
    assert_near(profile[0].estimate, (0.4 + 0.6 + 0.8) / 3, 1e-14);
    assert_true(profile[0].low >= 0.2 && profile[0].high <= 0.9 && profile[0].low < profile[0].high);
}

static void effects_have_intervals_that_do_not_collapse(void **state)
{
    (void)state;
    const double a[] = {0.61, 0.72, 0.55, 0.81, 0.67}, b[] = {0.58, 0.69, 0.52, 0.7, 0.63};
    const double high[] = {11, 12, 13, 14, 15}, low[] = {1, 2, 3, 4, 5};
    struct pes_interval shift;
    /* Third smallest and largest of the 25 differences: P(U <= 2) = 4/252 <= 0.025 < P(U <= 3). */
    assert_ok(pes_stat_shift(5, a, 5, b, 0.95, &shift));
    assert_near(shift.estimate, 0.03, 1e-12);
    assert_near(shift.low, -0.09, 1e-12);
    assert_near(shift.high, 0.2, 1e-12);
    assert_ok(pes_stat_shift(3, a, 3, b, 0.95, &shift)); /* 3 against 3 can't reach 95 % */
    assert_true(shift.flags & PES_INTERVAL_NOT_AVAILABLE);
    assert_near(shift.low, NAN, 0);

    /* Roots of Newcombe's equation by Brent's method. */
    struct pes_interval cliff = pes_stat_cliff(5, high, 5, low, 0.95);
    assert_near(cliff.estimate, 1, 0);
    assert_near(cliff.low, 0.2854056478620861, 1e-10);
    assert_near(cliff.high, 1, 1e-12);
    const double even_a[] = {1, 4, 5, 8, 9, 12, 13, 16}, even_b[] = {2, 3, 6, 7, 10, 11, 14, 15};
    cliff = pes_stat_cliff(8, even_a, 8, even_b, 0.95);
    assert_near(cliff.estimate, 0, 0);
    assert_near(cliff.low, -0.4949463602897066, 1e-10);
    assert_near(cliff.high, 0.4949463602897066, 1e-10);
}

static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    const double x[] = {1, 2, 4, 8, 16};
    struct pes_interval interval;
    struct pes_test test;
    for (long k = 1; k <= 3; k++) {
        pes_allocate_fail_after(k);
        assert_int_equal(
            pes_stat_location_interval(PES_LOCATION_MEAN, 5, x, &PES_RESAMPLING_DEFAULT, &interval),
            PES_MEMORY);
        pes_allocate_fail_after(k);
        assert_int_equal(
            pes_stat_permutation(2, x, 3, x + 2, PES_TWO_SIDED, 0, &PES_RESAMPLING_DEFAULT, &test),
            PES_MEMORY);
        pes_allocate_fail_after(k);
        assert_int_equal(pes_stat_mann_whitney(2, x, 3, x + 2, PES_TWO_SIDED, &PES_RESAMPLING_DEFAULT, &test),
                         PES_MEMORY);
    }
    pes_allocate_fail_after(0);
}

/* The i-th of a sequence that is spread evenly over [0, 1). */
static double spread(size_t i, double step)
{
    double x = (double)(i + 1) * step;
    return x - floor(x);
}

/* Values from SciPy 1.x: t.interval, binom.cdf, mstats.trimmed_mean_ci, ttest_ind(equal_var=False). */
static void with_many_values_intervals_are_those_of_theory(void **state)
{
    (void)state;
    double x[300], y[250];
    struct pes_interval i;
    for (size_t k = 0; k < 300; k++)
        x[k] = spread(k, 0.6180339887) * spread(k, 0.6180339887);
    for (size_t k = 0; k < 250; k++)
        y[k] = 1.3 * spread(k, 0.4142135624);
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEAN, 300, x, &PES_RESAMPLING_DEFAULT, &i));
    assert_near(i.low, 0.2997390025605431, 1e-9);
    assert_near(i.high, 0.3674657549581245, 1e-9);
    assert_true(i.flags & PES_INTERVAL_THEORY);
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEDIAN, 300, x, &PES_RESAMPLING_DEFAULT, &i));
    assert_near(i.estimate, 0.2509669171844454, 1e-12);
    assert_near(i.low, 0.19600019796306137, 1e-12); /* P(Bin(300, 1/2) <= 132) = 0.0216, <= 133: 0.0283 */
    assert_near(i.high, 0.3127049431983253, 1e-12);
    assert_ok(pes_stat_location_interval(PES_LOCATION_IQM, 300, x, &PES_RESAMPLING_DEFAULT, &i));
    assert_near(i.estimate, 0.2714481634665137, 1e-12);
    assert_near(i.low, 0.22479560019698636, 1e-9);
    assert_near(i.high, 0.318100726736041, 1e-9);
    assert_ok(pes_stat_difference_interval(PES_LOCATION_MEAN, 300, x, 250, y, &PES_RESAMPLING_DEFAULT, &i));
    assert_near(i.estimate, -0.3161403268006681, 1e-12);
    assert_near(i.low, -0.3736869392771527, 1e-9);
    assert_near(i.high, -0.25859371432418354, 1e-9);
}

static void a_shift_is_read_off_all_differences(void **state)
{
    (void)state;
    enum { N = 23, M = 18 };
    double a[N], b[M], all[N * M];
    struct pes_interval i;
    for (size_t k = 0; k < N; k++)
        a[k] = floor(12 * spread(k, 0.7548776662)) - 5; /* with ties */
    for (size_t k = 0; k < M; k++)
        b[k] = floor(12 * spread(k, 0.5698402910)) / 3;
    for (size_t k = 0; k < N * M; k++)
        all[k] = a[k / M] - b[k % M];
    assert_ok(pes_stat_shift(N, a, M, b, 0.95, &i));
    assert_near(i.estimate, pes_stat_median(N * M, all), 0);
    /* 132 is the 2.5 % point of U for 23 and 18 values: the interval ends at the 132nd difference from each
     * end (Hollander & Wolfe 1999, normal approximation to within one place). */
    assert_true(i.low >= all[129] && i.low <= all[134]);
    assert_true(i.high <= all[N * M - 130] && i.high >= all[N * M - 135]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_many_values_intervals_are_those_of_theory),
        cmocka_unit_test(a_shift_is_read_off_all_differences),
        cmocka_unit_test(normal_and_t_distributions_match_scipy),
        cmocka_unit_test(one_seed_has_a_mean_and_nothing_else),
        cmocka_unit_test(equal_values_give_a_flagged_percentile_interval),
        cmocka_unit_test(deviation_divides_by_one_less_than_the_number),
        cmocka_unit_test(missing_values_make_no_numbers),
        cmocka_unit_test(interquartile_mean_cuts_a_quarter_at_each_end),
        cmocka_unit_test(bca_of_skewed_and_of_two_samples_matches_scipy),
        cmocka_unit_test(intervals_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(intervals_cover_the_truth_as_often_as_they_say),
        cmocka_unit_test(profile_and_improvement_of_two_tasks),
        cmocka_unit_test(effects_have_intervals_that_do_not_collapse),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
