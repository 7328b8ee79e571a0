/* Statistics against values computed outside: SciPy and enumeration in exact arithmetic. */
#include "analysis_support.h"

#include <jansson.h>
#include <stdio.h>

#include "pesweep/measure.h"

#ifndef GOLDEN
#define GOLDEN PES_SOURCE_DIR "/tests/golden/statistics.json"
#endif

static json_t *golden;
static const double tolerance = 1e-9;

static int load(void **state)
{
    (void)state;
    json_error_t error;
    const char *path = getenv("PESWEEP_STATISTICS");
    golden = json_load_file(path ? path : GOLDEN, 0, &error);
    if (!golden) print_error("%s: %s\n", error.source, error.text);
    return golden ? 0 : -1;
}

static int unload(void **state)
{
    (void)state;
    json_decref(golden);
    return 0;
}

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    assert_non_null(value);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static size_t numbers(const json_t *object, const char *name, double values[64])
{
    const json_t *array = json_object_get(object, name);
    assert_true(json_is_array(array) && json_array_size(array) <= 64);
    for (size_t i = 0; i < json_array_size(array); i++)
        values[i] = json_number_value(json_array_get(array, i));
    return json_array_size(array);
}

static void describes_one_group(const json_t *sample, const char *group)
{
    double x[64], interval[64];
    char name[32];
    size_t n = numbers(sample, group, x);
    snprintf(name, sizeof name, "mean_%s", group);
    assert_near(pes_stat_mean(n, x), number(sample, name), tolerance);
    snprintf(name, sizeof name, "sd_%s", group);
    assert_near(pes_stat_sd(n, x), number(sample, name), tolerance);
    snprintf(name, sizeof name, "t_ci95_mean_%s", group);
    struct pes_interval t = pes_stat_t_interval(n, x, 0.95);
    assert_int_equal(numbers(sample, name, interval), 2);
    assert_near(t.low, interval[0], tolerance);
    assert_near(t.high, interval[1], tolerance);
    snprintf(name, sizeof name, "median_%s", group);
    if (json_object_get(sample, name)) assert_near(pes_stat_median(n, x), number(sample, name), tolerance);
}

static void two_samples_have_their_published_statistics(void **state)
{
    (void)state;
    const json_t *samples = json_object_get(golden, "two_sample"), *sample;
    size_t i;
    assert_true(json_array_size(samples) > 0);
    json_array_foreach(samples, i, sample)
    {
        double a[64], b[64];
        size_t n = numbers(sample, "a", a), m = numbers(sample, "b", b);
        struct pes_test test;
        struct pes_interval shift;
        describes_one_group(sample, "a");
        describes_one_group(sample, "b");
        assert_ok(pes_stat_permutation(n, a, m, b, PES_TWO_SIDED, 0, &PES_RESAMPLING_DEFAULT, &test));
        assert_true(test.exact);
        assert_near(test.p, number(sample, "permutation_p_two_sided"), tolerance);
        assert_near(test.arrangements, number(sample, "permutations"), 0);
        assert_near(pes_stat_cliff(n, a, m, b, 0.95).estimate, number(sample, "cliffs_delta"), tolerance);
        assert_ok(pes_stat_shift(n, a, m, b, 0.95, &shift));
        assert_near(shift.estimate, number(sample, "hodges_lehmann"), tolerance);
    }
}

static void paired_samples_have_their_sign_flip_p(void **state)
{
    (void)state;
    const json_t *paired = json_object_get(golden, "paired");
    double a[64], b[64];
    size_t n = numbers(paired, "a", a);
    struct pes_test test;
    assert_int_equal(numbers(paired, "b", b), n);
    assert_ok(pes_stat_sign_flip(n, a, b, PES_TWO_SIDED, 0, &PES_RESAMPLING_DEFAULT, &test));
    assert_near(test.p, number(paired, "sign_flip_p_two_sided"), tolerance);
    assert_near(test.arrangements, number(paired, "flips"), 0);
}

static void families_of_p_values_are_adjusted(void **state)
{
    (void)state;
    const json_t *multiple = json_object_get(golden, "multiple");
    double p[64], expected[64], adjusted[64];
    size_t n = numbers(multiple, "p", p);
    assert_int_equal(numbers(multiple, "holm", expected), n);
    assert_ok(pes_stat_holm(n, p, adjusted));
    for (size_t i = 0; i < n; i++)
        assert_near(adjusted[i], expected[i], tolerance);
    assert_int_equal(numbers(multiple, "benjamini_hochberg", expected), n);
    assert_ok(pes_stat_benjamini_hochberg(n, p, adjusted));
    for (size_t i = 0; i < n; i++)
        assert_near(adjusted[i], expected[i], tolerance);
}

static void bca_interval_of_a_mean_is_within_its_tolerance(void **state)
{
    (void)state;
    const json_t *bca = json_object_get(golden, "bca_mean");
    double x[64];
    size_t n = numbers(bca, "x", x);
    struct pes_resampling resampling = {1, 100000, 0.95, false, NULL};
    struct pes_interval interval;
    assert_ok(pes_stat_location_interval(PES_LOCATION_MEAN, n, x, &resampling, &interval));
    assert_true(fabs(interval.low - number(bca, "low")) <= number(bca, "tolerance"));
    assert_true(fabs(interval.high - number(bca, "high")) <= number(bca, "tolerance"));
    assert_int_equal(interval.flags, 0);
}

static void concentration_has_its_known_values(void **state)
{
    (void)state;
    const json_t *cases = json_object_get(golden, "gini"), *one;
    double x[64];
    size_t i;
    json_array_foreach(cases, i, one)
    {
        size_t n = numbers(one, "x", x);
        assert_near(pes_probe_gini(x, n), number(one, "gini"), tolerance);
    }
    cases = json_object_get(golden, "normalised_herfindahl");
    json_array_foreach(cases, i, one)
    {
        size_t n = numbers(one, "x", x);
        assert_near(pes_probe_herfindahl(x, n), number(one, "value"), tolerance);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_samples_have_their_published_statistics),
        cmocka_unit_test(paired_samples_have_their_sign_flip_p),
        cmocka_unit_test(families_of_p_values_are_adjusted),
        cmocka_unit_test(bca_interval_of_a_mean_is_within_its_tolerance),
        cmocka_unit_test(concentration_has_its_known_values),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
