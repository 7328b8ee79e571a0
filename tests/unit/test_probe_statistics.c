/* test_probe_statistics.c - concentration and onset, against values worked out by hand or elsewhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "pesweep/measure.h"

static void assert_close(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12)) fail_msg("%.17g is not %.17g", a, b);
}

/* Values of tests/golden/statistics.json. */
static void gini_is_the_mean_difference_over_twice_the_mean(void **unused)
{
    (void)unused;
    assert_close(pes_probe_gini((double[]){0, 0, 0, 1}, 4), 0.75);
    assert_close(pes_probe_gini((double[]){1, 1, 1, 1}, 4), 0);
    assert_close(pes_probe_gini((double[]){0.1, 0.2, 0.3, 0.4}, 4), 0.25);
    assert_close(pes_probe_gini((double[]){0.4, 0.1, 0.3, 0.2}, 4), 0.25);
    assert_close(pes_probe_gini((double[]){3}, 1), 0);
    assert_true(isnan(pes_probe_gini((double[]){0, 0}, 2)));
}

static void herfindahl_is_normalised_to_0_and_1(void **unused)
{
    (void)unused;
    assert_close(pes_probe_herfindahl((double[]){0, 0, 0, 1}, 4), 1);
    assert_close(pes_probe_herfindahl((double[]){1, 1, 1, 1}, 4), 0);
    assert_close(pes_probe_herfindahl((double[]){0.1, 0.2, 0.3, 0.4}, 4), 0.06666666666666665);
    assert_true(isnan(pes_probe_herfindahl((double[]){1}, 1)));
    assert_true(isnan(pes_probe_herfindahl((double[]){0, 0, 0}, 3)));
}

static void a_deposit_counts_positive_drops_alone(void **unused)
{
    (void)unused;
    const double drops[] = {0.3, -0.2, 0.1, 0}, errors[] = {0.01, 0.01, 0.01, 0.01};
    struct pes_deposit deposit = pes_probe_deposit(drops, errors, 4, 0x5); /* heads 0 and 2 */
    assert_close(deposit.share, 0.75);
    /* Shares 3/4, 0, 1/4, 0: pairs differ by 3/4 1/2 3/4 1/4 0 1/4, sum 5/2, over 4. */
    assert_close(deposit.gini, 0.625);
    assert_close(deposit.herfindahl, (9. / 16 + 1. / 16 - 0.25) / 0.75);
    assert_close(deposit.rotated_share, 1);
    assert_close(pes_probe_deposit(drops, errors, 4, 0x4).rotated_share, 0.25);
    assert_close(pes_probe_deposit(drops, errors, 4, 0).rotated_share, 0);
}

static void a_deposit_within_noise_is_undefined(void **unused)
{
    (void)unused;
    const double small[] = {0.0099, 0.001}, exact[] = {0, 0}, clear[] = {0.03, 0.02},
                 noisy[] = {0.0101, 0.0001};
    assert_true(isnan(pes_probe_deposit(small, exact, 2, 3).share));
    struct pes_deposit deposit = pes_probe_deposit(clear, noisy, 2, 3); /* 0.03 < 3 x 0.0101 */
    assert_true(isnan(deposit.share) && isnan(deposit.gini) && isnan(deposit.herfindahl));
    assert_true(isnan(deposit.rotated_share));
    const double enough[] = {0.0099, 0.5}; /* the error of the largest counts, not the others' */
    assert_close(pes_probe_deposit(clear, enough, 2, 3).share, 0.6);
    const double nothing[] = {NAN, NAN};
    assert_true(isnan(pes_probe_deposit(nothing, nothing, 2, 3).share));
}

static void an_onset_is_the_last_crossing_of_half_the_change(void **unused)
{
    (void)unused;
    const double steps[] = {0, 1, 2, 4, 8, 16, 32, 64};
    /* Half is 0.5; it is crossed at 1..2, again downwards, and for good between 8 (0.4) and 16 (0.9): at 8 +
     * 8/5. */
    const double up[] = {0, 0.2, 0.8, 0.1, 0.4, 0.9, 1, 1.1};
    assert_close(pes_probe_onset(steps, up, 8), 9.6);
    double down[8];
    for (int i = 0; i < 8; i++)
        down[i] = 1 - up[i];
    assert_close(pes_probe_onset(steps, down, 8), 9.6);
    /* At once: between the first two values. */
    const double early[] = {0, 1, 1, 1};
    assert_close(pes_probe_onset(steps, early, 4), 0.5);
}

static void an_onset_without_enough_change_is_undefined(void **unused)
{
    (void)unused;
    const double steps[] = {0, 10, 20, 30, 40};
    const double flat[] = {0.5, 0.5, 0.59, 0.59, 0.59}, missing[] = {0, 0, NAN, 1, 1};
    const double unsettled[] = {0, 1, 1, 1, 0.2};
    assert_true(isnan(pes_probe_onset(steps, flat, 5)));
    assert_true(isnan(pes_probe_onset(steps, missing, 5)));
    assert_true(isnan(pes_probe_onset(steps, unsettled, 5)));
    assert_true(isnan(pes_probe_onset(steps, (double[]){0, 1, 1}, 3)));
    assert_true(isnan(pes_probe_onset(steps, unsettled, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gini_is_the_mean_difference_over_twice_the_mean),
        cmocka_unit_test(herfindahl_is_normalised_to_0_and_1),
        cmocka_unit_test(a_deposit_counts_positive_drops_alone),
        cmocka_unit_test(a_deposit_within_noise_is_undefined),
        cmocka_unit_test(an_onset_is_the_last_crossing_of_half_the_change),
        cmocka_unit_test(an_onset_without_enough_change_is_undefined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
