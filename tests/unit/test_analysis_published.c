/* Numbers that others obtained from published tables (Li 2026, "Fingerprint, Not Blueprint", arXiv
 * 2607.06621; data CC-BY-4.0): the tables' folder is named by the environment variable PESWEEP_PUBLISHED. */
#include "analysis_support.h"

#include <stdio.h>

#include "pesweep/spectrum.h"

static struct pes_arena *arena;
static const char *folder;
static const struct pes_resampling resampling = {0, 10000, 0.95, false, NULL};

static int setup(void **state)
{
    (void)state;
    arena = pes_arena_create();
    return arena ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pes_arena_destroy(arena);
    return 0;
}

static struct pes_table table_of(const char *name)
{
    struct pes_table table;
    assert_ok(pes_table_read(pes_arena_printf(arena, "%s/%s", folder, name), arena, &table));
    return table;
}

static double *numbers(const struct pes_table *table, const char *name)
{
    double *values;
    assert_ok(pes_table_numbers(table, name, arena, &values));
    return values;
}

static const char *text(const struct pes_table *table, size_t row, const char *name)
{
    long column = pes_table_find(table, name);
    assert_true(column >= 0);
    return table->cells[row * table->num_columns + (size_t)column];
}

/* Median percentile of `measure` over the k heads of a model with the highest previous-token score. */
static double percentile(const struct pes_table *heads, const char *model, const char *measure, size_t k)
{
    double *value = numbers(heads, measure), *previous = numbers(heads, "prev"), top[16];
    size_t n = 0;
    for (size_t r = 0; r < heads->num_rows; r++)
        if (!strcmp(text(heads, r, "model"), model)) {
            value[n] = value[r];
            previous[n++] = previous[r];
        }
    assert_ok(pes_stat_top_percentiles(n, value, previous, k, top));
    return pes_stat_median(k, top);
}

/* Smallest, mean and largest of a column, without its empty cells. */
struct range {
    double low, mean, high;
};

static struct range range_of(const struct pes_table *table, const char *name)
{
    const double *values = numbers(table, name);
    struct range range = {INFINITY, 0, -INFINITY};
    size_t n = 0;
    for (size_t r = 0; r < table->num_rows; r++) {
        if (isnan(values[r])) continue;
        range.low = fmin(range.low, values[r]);
        range.high = fmax(range.high, values[r]);
        range.mean += values[r];
        n++;
    }
    assert_int_equal(n, 144); /* GPT-2's heads alone */
    range.mean /= (double)n;
    return range;
}

/* The nulls of 144 heads of 64 rows in 768 dimensions, centred, each with its own singular values, which the
 * table doesn't have: equal ones are the upper end, decaying ones lie within. */
static void null_columns_are_those_of_matched_draws(void **state)
{
    (void)state;
    struct pes_table heads = table_of("heads.csv");
    struct range rotational = range_of(&heads, "D_head_null_mean"),
                 directional = range_of(&heads, "dir_frac_null_mean"),
                 rotational_spread = range_of(&heads, "D_head_null_std"),
                 directional_spread = range_of(&heads, "dir_frac_null_std");
    enum { ROWS = 64, DRAWS = 300 };
    double sigma[ROWS];
    for (int decaying = 0; decaying < 2; decaying++) {
        for (int i = 0; i < ROWS; i++)
            sigma[i] = decaying ? exp(-i / 20.0) : 1;
        struct pes_rng rng = {11, PES_RNG_TEST, (uint32_t)decaying};
        struct pes_null null;
        assert_ok(pes_spectrum_null_matched(ROWS, sigma, 767, DRAWS, &rng, arena, &null));
        double mean = null.mean[PES_RATIO_rotational_fraction],
               spread = null.deviation[PES_RATIO_rotational_fraction];
        double way = null.mean[PES_RATIO_directional_fraction],
               way_spread = null.deviation[PES_RATIO_directional_fraction];
        if (!decaying)
            assert_true(fabs(mean - rotational.high) < 0.002);
        else
            assert_true(mean > rotational.low && mean < rotational.high - 0.005);
        assert_true(spread > rotational_spread.low && spread < rotational_spread.high);
        assert_true(fabs(way - directional.mean) < 2e-4);
        assert_true(way_spread > directional_spread.low && way_spread < directional_spread.high);
    }
}

static void previous_token_heads_separate_the_schemes(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2",        "opt-1.3b",    "gpt-neo-1.3b", "bloom-1b1",
                                         "pythia-410m", "pythia-1.4b", "llama-3-8b"};
    const double published[] = {0.208, 0.230, 0.141, 0.263, 0.885, 0.849, 0.790};
    const size_t ks[] = {1, 3, 5, 10};
    struct pes_table heads = table_of("heads.csv");
    for (size_t i = 0; i < PES_COUNT(ks); i++) {
        double value[7];
        for (int m = 0; m < 7; m++) {
            value[m] = percentile(&heads, models[m], "D_head", ks[i]);
            if (ks[i] == 5) assert_true(fabs(value[m] - published[m]) <= 0.0006);
        }
        struct pes_test test;
        assert_ok(pes_stat_permutation(3, value + 4, 4, value, PES_GREATER, 0, &resampling, &test));
        assert_near(test.p, 1.0 / 35, 1e-15);
        assert_near(test.p_smallest, 1.0 / 35, 1e-15);
    }
}

/* Formation: first evaluation with predictable cross-entropy below (ln 64 + 0.15)/2. */
static void formation_steps_follow_from_the_curves(void **state)
{
    (void)state;
    struct pes_table curves = table_of("constrained_curves.csv"), runs = table_of("constrained_runs.csv");
    double *step = numbers(&curves, "step"), *entropy = numbers(&curves, "ce_predictable");
    double *formation = numbers(&runs, "formation_step");
    const char *const names[] = {"scheme", "constraint", "lambda", "seed"};
    size_t found = 0;
    for (size_t r = 0; r < runs.num_rows; r++) {
        size_t n = 0, first = 0;
        for (size_t i = 0; i < curves.num_rows; i++) {
            bool same = true;
            for (size_t c = 0; c < PES_COUNT(names); c++)
                same &= !strcmp(text(&runs, r, names[c]), text(&curves, i, names[c]));
            if (same && !n++) first = i;
        }
        if (!n) continue;
        bool reached;
        double steps =
            pes_stat_steps_to(n, step + first, entropy + first, (log(64) + 0.15) / 2, true, &reached);
        assert_true(reached);
        assert_near(steps, formation[r], 0);
        found++;
    }
    assert_int_equal(found, 30);
}

static size_t formation(const struct pes_table *runs, const char *scheme, const char *constraint,
                        double lambda, double steps[8])
{
    double *step = numbers(runs, "formation_step"), *weight = numbers(runs, "lambda");
    size_t n = 0;
    for (size_t r = 0; r < runs->num_rows; r++)
        if (!strcmp(text(runs, r, "scheme"), scheme) && !strcmp(text(runs, r, "constraint"), constraint) &&
            weight[r] == lambda)
            steps[n++] = step[r];
    return n;
}

static void constraints_delay_formation_by_what_was_published(void **state)
{
    (void)state;
    static const struct {
        const char *slow[2], *fast[2];
        double weight, p, q, biserial, shift;
    } contrasts[] = {
        {{"rope", "free"}, {"learned", "free"}, 0, 1.0 / 252, 0.0053, 1, 300},
        {{"learned", "sym"}, {"learned", "free"}, 10, 1.0 / 252, 0.0053, 1, 1200},
        {{"rope", "sym"}, {"rope", "free"}, 10, 1.0 / 252, 0.0053, 1, 600},
        {{"rope", "imag"}, {"rope", "free"}, 10, 3.0 / 252, 0.0119, 0.92, 400},
    };
    struct pes_table runs = table_of("constrained_runs.csv");
    double p[4], q[4];
    for (size_t c = 0; c < 4; c++) {
        double slow[8], fast[8];
        size_t n = formation(&runs, contrasts[c].slow[0], contrasts[c].slow[1], contrasts[c].weight, slow);
        size_t m = formation(&runs, contrasts[c].fast[0], contrasts[c].fast[1], 0, fast);
        assert_int_equal(n, 5);
        assert_int_equal(m, 5);
        struct pes_test test;
        struct pes_interval shift;
        assert_ok(pes_stat_mann_whitney(n, slow, m, fast, PES_GREATER, &resampling, &test));
        assert_near(test.p, contrasts[c].p, 1e-14);
        assert_near(pes_stat_cliff(n, slow, m, fast, 0.95).estimate, contrasts[c].biserial, 1e-14);
        assert_ok(pes_stat_shift(n, slow, m, fast, 0.95, &shift));
        assert_near(shift.estimate, contrasts[c].shift, 1e-14);
        p[c] = test.p;
    }
    assert_ok(pes_stat_benjamini_hochberg(4, p, q));
    for (size_t c = 0; c < 4; c++)
        assert_true(fabs(q[c] - contrasts[c].q) <= 0.00005);
}

int main(void)
{
    folder = getenv("PESWEEP_PUBLISHED");
    if (!folder) {
        puts("skipped: PESWEEP_PUBLISHED doesn't name the folder of the published tables");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(null_columns_are_those_of_matched_draws, setup, teardown),
        cmocka_unit_test_setup_teardown(previous_token_heads_separate_the_schemes, setup, teardown),
        cmocka_unit_test_setup_teardown(formation_steps_follow_from_the_curves, setup, teardown),
        cmocka_unit_test_setup_teardown(constraints_delay_formation_by_what_was_published, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
