/* Verdicts on claims: each rule once, and how often they err in simulated studies. */
#include "analysis_support.h"

#include "pesweep/judge.h"
#include "pesweep/rng.h"

static struct pes_question question(enum pes_claim_test test, const struct pes_pair *pairs, size_t num_pairs)
{
    return (struct pes_question){.test = test,
                                 .alpha = 0.05,
                                 .num_pairs = num_pairs,
                                 .pairs = pairs,
                                 .resampling = {0, 1000, 0.95, false, NULL}};
}

static struct pes_pair pair(const char *against, size_t n, const double *first, size_t m, const double *other)
{
    return (struct pes_pair){against, {n, first, NULL}, {m, other, NULL}};
}

static struct pes_verdict judged(const struct pes_question *q)
{
    struct pes_finding findings[8];
    struct pes_verdict verdict;
    assert_ok(pes_judge_compare(q, findings, &verdict));
    assert_ok(pes_judge_family(1, &verdict));
    assert_true(strlen(verdict.rule) > 0);
    return verdict;
}

static const double high[] = {0.91, 0.93, 0.95, 0.92, 0.94}, low[] = {0.51, 0.55, 0.49, 0.60, 0.52};
static const double near_low[] = {0.50, 0.56, 0.48, 0.61, 0.53};

static void a_clear_difference_supports_the_claim(void **state)
{
    (void)state;
    struct pes_pair p = pair("low", 5, high, 5, low);
    struct pes_question q = question(PES_CLAIM_PERMUTATION, &p, 1);
    struct pes_verdict v = judged(&q);
    assert_int_equal(v.decision, PES_DECISION_SUPPORTED);
    assert_near(v.p, 2.0 / 252, 1e-14);
    assert_near(v.p_corrected, 2.0 / 252, 1e-14);
    assert_near(v.finding.effect.estimate, 0.396, 1e-12);
    assert_true(v.finding.effect.low > 0.3 && v.finding.effect.high < 0.5);
    q.lower_is_better = true;
    v = judged(&q);
    assert_int_equal(v.decision, PES_DECISION_REFUTED);
    assert_near(v.finding.effect.estimate, -0.396, 1e-12);
    assert_true(v.finding.effect.low < v.finding.effect.high);
}

static void an_effect_below_the_threshold_is_no_support(void **state)
{
    (void)state;
    struct pes_pair p = pair("low", 5, high, 5, low);
    struct pes_question q = question(PES_CLAIM_PERMUTATION, &p, 1);
    q.threshold = 0.39;
    assert_int_equal(judged(&q).decision, PES_DECISION_SUPPORTED);
    q.threshold = 0.40;
    assert_int_equal(judged(&q).decision, PES_DECISION_NOT_SUPPORTED);
}

static void no_difference_is_not_supported(void **state)
{
    (void)state;
    struct pes_pair p = pair("near", 5, low, 5, near_low);
    struct pes_question q = question(PES_CLAIM_PERMUTATION, &p, 1);
    struct pes_verdict v = judged(&q);
    assert_int_equal(v.decision, PES_DECISION_NOT_SUPPORTED);
    assert_true(v.p > 0.05);
}

static void three_seeds_are_too_few_to_tell(void **state)
{
    (void)state;
    struct pes_pair p = pair("low", 3, high, 3, low);
    struct pes_question q = question(PES_CLAIM_PERMUTATION, &p, 1);
    struct pes_verdict v = judged(&q);
    assert_int_equal(v.decision, PES_DECISION_TOO_FEW);
    assert_near(v.p, 0.1, 1e-14);
    assert_near(v.p_smallest, 0.1, 1e-14);
    p = pair("low", 1, high, 5, low);
    v = judged(&q);
    assert_int_equal(v.decision, PES_DECISION_TOO_FEW);
    assert_near(v.p, NAN, 0);
    p = pair("none", 5, high, 0, low);
    assert_int_equal(judged(&q).decision, PES_DECISION_TOO_FEW);
}

/* 4 against 4 reaches 2/70; among two claims it needs 0.025. */
static void correction_over_the_family_can_leave_too_few_seeds(void **state)
{
    (void)state;
    struct pes_pair clear = pair("low", 4, high, 4, low), flat = pair("near", 4, low, 4, near_low);
    struct pes_question q = question(PES_CLAIM_PERMUTATION, &clear, 1);
    struct pes_verdict v[2];
    struct pes_finding finding;
    assert_ok(pes_judge_compare(&q, &finding, &v[0]));
    q.pairs = &flat;
    assert_ok(pes_judge_compare(&q, &finding, &v[1]));
    assert_ok(pes_judge_family(2, v));
    assert_near(v[0].p, 2.0 / 70, 1e-14);
    assert_near(v[0].p_corrected, 4.0 / 70, 1e-14);
    assert_int_equal(v[0].decision, PES_DECISION_TOO_FEW);
    assert_ok(pes_judge_family(1, v));
    assert_int_equal(v[0].decision, PES_DECISION_SUPPORTED);
}

static void better_than_others_means_better_than_every_other(void **state)
{
    (void)state;
    const double same[] = {0.92, 0.93, 0.94, 0.91, 0.95}, higher[] = {0.99, 0.98, 0.97, 0.99, 0.98};
    struct pes_pair all[] = {pair("low", 5, high, 5, low), pair("near", 5, high, 5, near_low)};
    struct pes_question q = question(PES_CLAIM_PERMUTATION, all, 2);
    assert_int_equal(judged(&q).decision, PES_DECISION_SUPPORTED);
    all[1] = pair("same", 5, high, 5, same);
    struct pes_verdict v = judged(&q);
    assert_int_equal(v.decision, PES_DECISION_NOT_SUPPORTED);
    assert_string_equal(v.finding.against, "same");
    all[1] = pair("higher", 5, high, 5, higher);
    v = judged(&q);
    assert_int_equal(v.decision, PES_DECISION_REFUTED);
    assert_string_equal(v.finding.against, "higher");
    assert_near(v.p, 4.0 / 252, 1e-14); /* times the number of pairs */
}

static void rank_and_paired_tests_are_made_when_asked_for(void **state)
{
    (void)state;
    struct pes_pair p = pair("low", 5, high, 5, low);
    struct pes_question q = question(PES_CLAIM_MANN_WHITNEY, &p, 1);
    struct pes_verdict v = judged(&q);
    assert_int_equal(v.finding.test, PES_CLAIM_MANN_WHITNEY);
    assert_int_equal(v.decision, PES_DECISION_SUPPORTED);
    assert_near(v.p, 2.0 / 252, 1e-14);
    double paired[8], base[8];
    for (int i = 0; i < 8; i++)
        base[i] = i, paired[i] = i + 0.1 + 0.01 * i;
    p = pair("base", 8, paired, 8, base);
    q = question(PES_CLAIM_SIGN_FLIP, &p, 1);
    v = judged(&q);
    assert_near(v.p, 2.0 / 256, 1e-14); /* unpaired these groups don't differ */
    assert_int_equal(v.decision, PES_DECISION_SUPPORTED);
    assert_near(v.finding.effect.estimate, 0.135, 1e-12);
}

static void censored_times_are_compared_by_log_rank(void **state)
{
    (void)state;
    const double fast[] = {500, 600, 600, 700, 650}, slow[] = {1500, 1800, 3000, 3000, 3000};
    const bool all[] = {true, true, true, true, true}, few[] = {true, true, false, false, false};
    struct pes_pair p = {"slow", {5, fast, all}, {5, slow, few}};
    struct pes_question q = question(PES_CLAIM_PERMUTATION, &p, 1);
    q.times = q.lower_is_better = true;
    struct pes_verdict v = judged(&q);
    assert_int_equal(v.finding.test, PES_CLAIM_LOG_RANK);
    assert_int_equal(v.decision, PES_DECISION_SUPPORTED);
    assert_true(v.finding.effect.flags & PES_INTERVAL_AT_LEAST);
    assert_near(v.finding.effect.estimate, 5, 1e-14);

    /* Ranks take what was never reached as later than everything, in a tie. */
    q.test = PES_CLAIM_MANN_WHITNEY;
    v = judged(&q);
    assert_int_equal(v.finding.test, PES_CLAIM_MANN_WHITNEY);
    assert_int_equal(v.decision, PES_DECISION_SUPPORTED);
    assert_near(v.p, 2.0 / 252, 1e-14);
    q.test = PES_CLAIM_PERMUTATION;

    /* The ratio of the slow to the fast one: at least 3000/600. */
    struct pes_pair reversed = {"fast", {5, slow, few}, {5, fast, all}};
    q.pairs = &reversed;
    q.ratio = true;
    v = judged(&q);
    assert_int_equal(v.decision, PES_DECISION_SUPPORTED);
    assert_true(v.finding.effect_is_ratio);
    assert_near(v.finding.effect.estimate, 5, 1e-14);
    q.threshold = 5.5; /* it may be larger, but that isn't known */
    assert_int_equal(judged(&q).decision, PES_DECISION_NOT_SUPPORTED);
    q.threshold = 0.5; /* claimed: at most half */
    assert_int_equal(judged(&q).decision, PES_DECISION_REFUTED);
    q.pairs = &p;
    assert_int_equal(judged(&q).decision, PES_DECISION_SUPPORTED);
    q.test = PES_CLAIM_SIGN_FLIP;
    assert_int_equal(judged(&q).finding.test, PES_CLAIM_LOG_RANK);
}

/* ---- simulated studies ---- */

enum { STUDIES = 400 };

/* Decisions over simulated studies of n seeds a side whose means differ by `shift` standard deviations. */
static void simulate(enum pes_claim_test test, size_t n, double shift, bool times, size_t decided[4])
{
    double first[32], other[32];
    bool reached_first[32], reached_other[32];
    memset(decided, 0, 4 * sizeof *decided);
    for (uint32_t study = 0; study < STUDIES; study++) {
        struct pes_rng rng = {2024, PES_RNG_TEST, study};
        for (size_t i = 0; i < n; i++) {
            first[i] = pes_rng_normal(&rng, 2 * i);
            other[i] = pes_rng_normal(&rng, 2 * i + 1) - shift;
            if (!times) continue;
            first[i] = ceil(1000 * exp(0.4 * -first[i]) / 50) * 50; /* evaluated every 50 steps */
            other[i] = ceil(1000 * exp(0.4 * -other[i]) / 50) * 50;
            reached_first[i] = first[i] < 1600;
            reached_other[i] = other[i] < 1600;
            first[i] = fmin(first[i], 1600);
            other[i] = fmin(other[i], 1600);
        }
        struct pes_pair p = pair("other", n, first, n, other);
        if (times) p.first.reached = reached_first, p.other.reached = reached_other;
        struct pes_question q = question(test, &p, 1);
        q.times = q.lower_is_better = times;
        q.resampling.resamples = 200;
        decided[judged(&q).decision]++;
    }
}

static void planted_effects_are_found_and_nulls_err_at_alpha(void **state)
{
    (void)state;
    static const struct {
        enum pes_claim_test test;
        bool times;
    } kinds[] = {{PES_CLAIM_PERMUTATION, false},
                 {PES_CLAIM_MANN_WHITNEY, false},
                 {PES_CLAIM_SIGN_FLIP, false},
                 {PES_CLAIM_LOG_RANK, true}};
    for (size_t k = 0; k < PES_COUNT(kinds); k++) {
        size_t decided[4];
        simulate(kinds[k].test, 8, 2.2, kinds[k].times, decided);
        assert_true(decided[PES_DECISION_SUPPORTED] >= 360); /* power 0.9 */
        assert_int_equal(decided[PES_DECISION_REFUTED], 0);
        simulate(kinds[k].test, 8, 0, kinds[k].times, decided);
        /* 99 % range of binomial(400, 0.05), the two directions together; each about half of it. */
        size_t wrong = decided[PES_DECISION_SUPPORTED] + decided[PES_DECISION_REFUTED];
        print_message("nulls decided: %zu + %zu of %d\n", decided[PES_DECISION_SUPPORTED],
                      decided[PES_DECISION_REFUTED], STUDIES);
        assert_in_range(wrong, 9, 32);
        assert_in_range(decided[PES_DECISION_REFUTED], 3, 20);
        assert_int_equal(decided[PES_DECISION_TOO_FEW], 0);
    }
}

/* Of families of five true nulls, one or more is decided in at most 5 % (99 % range). */
static void families_of_nulls_err_together_at_alpha(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (uint32_t study = 0; study < STUDIES; study++) {
        struct pes_verdict family[5];
        bool any = false;
        for (uint32_t c = 0; c < 5; c++) {
            struct pes_rng rng = {77, PES_RNG_TEST, study * 5 + c};
            double first[8], other[8];
            struct pes_finding finding;
            for (size_t i = 0; i < 8; i++) {
                first[i] = pes_rng_normal(&rng, 2 * i);
                other[i] = pes_rng_normal(&rng, 2 * i + 1);
            }
            struct pes_pair p = pair("other", 8, first, 8, other);
            struct pes_question q = question(PES_CLAIM_PERMUTATION, &p, 1);
            q.resampling.resamples = 100;
            assert_ok(pes_judge_compare(&q, &finding, &family[c]));
        }
        assert_ok(pes_judge_family(5, family));
        for (int c = 0; c < 5; c++)
            any |= family[c].decision == PES_DECISION_SUPPORTED || family[c].decision == PES_DECISION_REFUTED;
        wrong += any;
    }
    assert_in_range(wrong, 6, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clear_difference_supports_the_claim),
        cmocka_unit_test(an_effect_below_the_threshold_is_no_support),
        cmocka_unit_test(no_difference_is_not_supported),
        cmocka_unit_test(three_seeds_are_too_few_to_tell),
        cmocka_unit_test(correction_over_the_family_can_leave_too_few_seeds),
        cmocka_unit_test(better_than_others_means_better_than_every_other),
        cmocka_unit_test(rank_and_paired_tests_are_made_when_asked_for),
        cmocka_unit_test(censored_times_are_compared_by_log_rank),
        cmocka_unit_test(planted_effects_are_found_and_nulls_err_at_alpha),
        cmocka_unit_test(families_of_nulls_err_together_at_alpha),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
