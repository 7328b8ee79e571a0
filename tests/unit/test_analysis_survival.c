/* Steps to a threshold with censoring, associations, designs; values by hand or by SciPy and NumPy.
 */
#include "analysis_support.h"

static const struct pes_resampling resampling = {0, 10000, 0.95, false, NULL};

static void median(size_t n, const double *time, const bool *reached, double expected, bool expected_found)
{
    double value;
    bool found;
    assert_ok(pes_stat_survival_median(&(struct pes_survival){n, time, reached}, &value, &found));
    assert_near(value, expected, 1e-15);
    assert_int_equal(found, expected_found);
}

static void medians_without_censoring_are_ordinary(void **state)
{
    (void)state;
    const bool all[7] = {true, true, true, true, true, true, true};
    const double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 8}, tied[] = {600, 600, 600, 900, 600};
    const double seven[] = {7, 6, 5, 4, 3, 2, 1};
    median(3, odd, all, 3, true);
    median(4, even, all, 3.5, true);
    median(5, tied, all, 600, true);
    median(7, seven, all, 4, true);
}

static void censored_runs_are_neither_dropped_nor_counted_as_arrived(void **state)
{
    (void)state;
    const double time[] = {100, 200, 300, 3000, 3000};
    const bool reached[] = {true, true, true, false, false};
    median(5, time, reached, 300, true); /* dropped: 200; counted as arrived: 300 as well, but see below */
    const bool two[] = {true, true, false, false, false};
    median(5, time, two, 3000, false);
    /* An early censoring: shares 4/5, then 4/5 2/3 = 8/15, then 8/15 1/2. */
    const double early[] = {1, 2, 3, 4, 5};
    const bool events[] = {true, false, true, true, true};
    median(5, early, events, 4, true);
    /* 4/6, then 4/6 2/3 = 4/9. */
    const double pair[] = {1, 1, 2, 3, 4, 5};
    const bool pair_events[] = {true, true, false, true, true, true};
    median(6, pair, pair_events, 3, true);
    /* Exactly half arrive and the rest never does: the median is at least the last arrival. */
    const bool half[] = {true, true, false, false};
    median(4, time, half, 200, false);
}

static void survival_curve_follows_kaplan_and_meier(void **state)
{
    (void)state;
    const double time[] = {1, 2, 3, 4, 5};
    const bool reached[] = {true, false, true, true, true};
    double times[5], shares[5];
    size_t steps;
    assert_ok(pes_stat_survival_curve(&(struct pes_survival){5, time, reached}, &steps, times, shares));
    assert_int_equal(steps, 4);
    assert_near(shares[0], 0.8, 1e-15);
    assert_near(shares[1], 8.0 / 15, 1e-15);
    assert_near(shares[3], 0, 1e-15);
    assert_near(times[1], 3, 0);
}

static void log_rank_matches_enumeration_of_its_statistic(void **state)
{
    (void)state;
    /* Observed less expected recomputed at each of the 462 arrangements. */
    const double ta[] = {5, 8, 10, 12, 20}, tb[] = {2, 3, 5, 6, 9, 11};
    const bool ea[] = {true, true, false, true, false}, eb[] = {true, true, true, true, false, true};
    struct pes_survival a = {5, ta, ea}, b = {6, tb, eb};
    struct pes_test test;
    assert_ok(pes_stat_log_rank(&a, &b, PES_TWO_SIDED, &resampling, &test));
    assert_near(test.statistic, -1.97041847041847, 1e-12);
    assert_near(test.p, 0.1471861471861472, 1e-13);
    assert_ok(pes_stat_log_rank(&a, &b, PES_GREATER, &resampling, &test));
    assert_near(test.p, 0.07792207792207792, 1e-13);
}

static void ratio_of_medians_says_when_censoring_bounds_it(void **state)
{
    (void)state;
    const double slow[] = {1400, 1600, 1800, 1900, 2000}, fast[] = {600, 600, 600, 600, 600};
    const bool all[] = {true, true, true, true, true}, few[] = {true, true, false, false, false};
    const double late[] = {1400, 1600, 3000, 3000, 3000};
    struct pes_survival a = {5, slow, all}, b = {5, fast, all}, censored = {5, late, few};
    struct pes_interval ratio;
    assert_ok(pes_stat_median_ratio(&a, &b, &resampling, &ratio));
    assert_near(ratio.estimate, 3, 1e-15);
    assert_near(ratio.low, 1400.0 / 600, 1e-12);
    assert_near(ratio.high, 2000.0 / 600, 1e-12);
    assert_false(ratio.flags & (PES_INTERVAL_AT_LEAST | PES_INTERVAL_AT_MOST));
    assert_ok(pes_stat_median_ratio(&censored, &b, &resampling, &ratio));
    assert_near(ratio.estimate, 5, 1e-15);
    assert_true(ratio.flags & PES_INTERVAL_AT_LEAST);
    assert_near(ratio.high, INFINITY, 0);
    assert_true(ratio.low >= 1400.0 / 600 && ratio.low < 5);
    assert_ok(pes_stat_median_ratio(&b, &censored, &resampling, &ratio));
    assert_near(ratio.estimate, 0.2, 1e-15);
    assert_true(ratio.flags & PES_INTERVAL_AT_MOST);
    assert_near(ratio.low, 0, 0);
    assert_ok(pes_stat_median_ratio(&censored, &censored, &resampling, &ratio));
    assert_near(ratio.estimate, NAN, 0);
    assert_true(ratio.flags & PES_INTERVAL_AT_LEAST && ratio.flags & PES_INTERVAL_AT_MOST);
}

static void steps_to_a_threshold_are_censored_at_the_last_evaluation(void **state)
{
    (void)state;
    const double step[] = {0, 100, 200, 300, 400}, accuracy[] = {0.1, 0.5, 0.92, 0.88, NAN};
    const double loss[] = {4, 3, 2, 1, NAN};
    bool reached;
    assert_near(pes_stat_steps_to(5, step, accuracy, 0.9, false, &reached), 200, 0);
    assert_true(reached);
    assert_near(pes_stat_steps_to(5, step, accuracy, 0.95, false, &reached), 300, 0);
    assert_false(reached);
    assert_near(pes_stat_steps_to(5, step, loss, 2.5, true, &reached), 200, 0);
    assert_true(reached);
}

static void rank_correlations_match_scipy(void **state)
{
    (void)state;
    const double x[] = {1.2, 0.4, 3.3, 2.2, 5.1, 4.0, 2.7, 0.9}, y[] = {2, 1, 2.5, 2.5, 6, 3, 1.5, 1.2};
    const double z[] = {3, 1, 4, 1, 5, 9, 2, 6}, w[] = {2, 7, 1, 8, 2, 8, 1, 8};
    const double *controls[] = {z, w};
    struct pes_interval interval;
    assert_ok(pes_stat_spearman(8, x, y, 0, NULL, NULL, &resampling, &interval));
    assert_near(interval.estimate, 0.9101959590540767, 1e-12);
    assert_true(interval.low < interval.estimate && interval.high <= 1 && interval.high >= interval.estimate);
    assert_ok(pes_stat_spearman(8, x, y, 1, controls, NULL, &resampling, &interval));
    assert_near(interval.estimate, 0.8873627223507171, 1e-12);
    assert_ok(pes_stat_spearman(8, x, y, 2, controls, NULL, &resampling, &interval));
    assert_near(interval.estimate, 0.9332373872844217, 1e-12);
}

/* Values repeated within a cluster carry no news: the clustered interval is that of one value each. */
static void clusters_are_resampled_together(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5, 6, 7, 8}, y[] = {2, 1, 4, 3, 7, 5, 8, 6};
    double xx[32], yy[32];
    size_t cluster[32];
    struct pes_interval once, clustered, naive;
    for (size_t i = 0; i < 32; i++)
        xx[i] = x[i % 8], yy[i] = y[i % 8], cluster[i] = 10 + i % 8;
    assert_ok(pes_stat_spearman(8, x, y, 0, NULL, NULL, &resampling, &once));
    assert_ok(pes_stat_spearman(32, xx, yy, 0, NULL, cluster, &resampling, &clustered));
    assert_ok(pes_stat_spearman(32, xx, yy, 0, NULL, NULL, &resampling, &naive));
    assert_near(clustered.estimate, once.estimate, 1e-12);
    assert_near(clustered.low, once.low, 1e-9);
    assert_near(clustered.high, once.high, 1e-9);
    assert_true(naive.high - naive.low < 0.7 * (clustered.high - clustered.low));
}

static void percentiles_of_the_top_members_are_shares_of_ranks(void **state)
{
    (void)state;
    const double value[] = {0.5, 0.1, 0.9, 0.5, NAN, 0.7}, by[] = {3, 9, 8, NAN, 10, 1};
    double top[3];
    /* Four are known: 0.5, 0.1, 0.9, 0.7; the top three by the other measure are 0.1, 0.9 and 0.5. */
    assert_ok(pes_stat_top_percentiles(6, value, by, 3, top));
    assert_near(top[0], 0.25, 0);
    assert_near(top[1], 1, 0);
    assert_near(top[2], 0.5, 0);
    const double tied[] = {2, 2, 1};
    assert_ok(pes_stat_top_percentiles(3, tied, tied, 1, top));
    assert_near(top[0], 1, 0);
}

static void variance_components_solve_the_mean_squares(void **state)
{
    (void)state;
    const double two[] = {1, 2, 3, 5, 2, 4, 5, 6, 4, 5, 9, 9};
    const size_t by[] = {3, 4};
    double component[8];
    assert_ok(pes_stat_variance_components(2, by, two, component));
    assert_near(component[0], 55.0 / 12, 1e-14);
    assert_near(component[1], 3.9166666666666665, 1e-13);
    assert_near(component[2], 3.5833333333333335, 1e-13);
    assert_near(component[3], 0.6666666666666666, 1e-13);
    const double three[] = {0.1, -0.1, 0.6, 1.1, 0.5, 1.4, 5.3, 4.9, 3.3,
                            1.7, 2.4,  3.0, 1.7, 3.8, 2.8, 6.3, 6.5, 6.7};
    const size_t by_three[] = {2, 3, 3};
    assert_ok(pes_stat_variance_components(3, by_three, three, component));
    assert_near(component[7], 0.463888888888889, 1e-12);
    assert_near(component[3], 0, 0); /* estimated at -0.134 */
    assert_near(component[5], 0.15722222222222226, 1e-12);
    assert_near(component[6], 0.01833333333333309, 1e-12);
    assert_near(component[1], 1.8966666666666663, 1e-12);
    assert_near(component[2], 5.187222222222221, 1e-12);
    assert_near(component[4], 0, 0);
    double missing[12];
    memcpy(missing, two, sizeof two);
    missing[5] = NAN;
    assert_ok(pes_stat_variance_components(2, by, missing, component));
    assert_near(component[1], NAN, 0);
}

/* Cohen 1988's sizes and exact noncentral t. */
static void seeds_needed_are_those_of_the_power_tables(void **state)
{
    (void)state;
    assert_near(pes_stat_power(64, 0.5, 0.05), 0.8014595579222541, 1e-8);
    assert_near(pes_stat_power(5, 1.5, 0.05), 0.549385597762396, 1e-8);
    assert_near(pes_stat_power(16, 1.0, 0.05), 0.7813977924664225, 1e-8);
    assert_near(pes_stat_power(4, 3.0, 0.05), 0.9389357455090208, 1e-8);
    assert_int_equal(pes_stat_seeds_needed(0.2, 0.05, 0.8), 394);
    assert_int_equal(pes_stat_seeds_needed(0.5, 0.05, 0.8), 64);
    assert_int_equal(pes_stat_seeds_needed(-0.8, 0.05, 0.8), 26);
    assert_int_equal(pes_stat_seeds_needed(1.0, 0.05, 0.8), 17);
    assert_int_equal(pes_stat_seeds_needed(2.0, 0.05, 0.8), 6);
    assert_int_equal(pes_stat_seeds_needed(50, 0.05, 0.8), 4); /* 3 against 3 can't reach 0.05 */
    assert_int_equal(pes_stat_seeds_needed(0, 0.05, 0.8), 0);
    assert_int_equal(pes_stat_seeds_needed(NAN, 0.05, 0.8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_without_censoring_are_ordinary),
        cmocka_unit_test(censored_runs_are_neither_dropped_nor_counted_as_arrived),
        cmocka_unit_test(survival_curve_follows_kaplan_and_meier),
        cmocka_unit_test(log_rank_matches_enumeration_of_its_statistic),
        cmocka_unit_test(ratio_of_medians_says_when_censoring_bounds_it),
        cmocka_unit_test(steps_to_a_threshold_are_censored_at_the_last_evaluation),
        cmocka_unit_test(rank_correlations_match_scipy),
        cmocka_unit_test(clusters_are_resampled_together),
        cmocka_unit_test(percentiles_of_the_top_members_are_shares_of_ranks),
        cmocka_unit_test(variance_components_solve_the_mean_squares),
        cmocka_unit_test(seeds_needed_are_those_of_the_power_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
