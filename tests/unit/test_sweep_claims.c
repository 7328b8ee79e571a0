/* claims: as they are read; what is refused stands in tests/inputs/bad. */
#include "sweep_fixture.h"

#define GRID BASE "grid: {pe: [nope, learned, rope], symmetry: [none, symmetric], seed: 0..2}\n"

static void a_comparison_names_its_axis_and_values(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(GRID "claims:\n  - name: rope-wins\n    metric: final.test_accuracy\n"
                                         "    axis: pe\n    better: rope\n");
    assert_int_equal(sweep->num_claims, 1);
    const struct pes_claim *claim = &sweep->claims[0];
    assert_string_equal(claim->name, "rope-wins");
    assert_string_equal(claim->metric, "final.test_accuracy");
    assert_string_equal(claim->axis, "pe");
    assert_string_equal(claim->better, "rope");
    assert_string_equal(claim->than, "others");
    assert_false(claim->is_ratio);
    assert_int_equal(claim->where.num_terms, 0);
    assert_int_equal(claim->test, PES_CLAIM_PERMUTATION);
    assert_true(claim->alpha == 0.05);
    assert_true(claim->threshold == 0);
    assert_int_equal(claim->line, 6);
    assert_string_equal(claim->text,
                        "{name: rope-wins, metric: final.test_accuracy, axis: pe, better: rope}");
    pes_sweep_destroy(sweep);
}

static void a_ratio_has_two_selections(void **state)
{
    (void)state;
    struct pes_sweep *sweep =
        parse(GRID "claims:\n  - {name: slow, metric: steps_to(test_accuracy, 0.90), ratio: "
                   "[{symmetry: symmetric}, {symmetry: none}], where: {pe: learned}, "
                   "test: log_rank, threshold: 1.5, alpha: 1e-2}\n");
    const struct pes_claim *claim = &sweep->claims[0];
    assert_string_equal(claim->metric, "steps_to(test_accuracy, 0.9)");
    assert_true(claim->is_ratio);
    assert_null(claim->axis);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(claim->ratio[i].num_terms, 1);
        assert_string_equal(pes_sweep_keys()->paths[claim->ratio[i].slots[0]], "model.symmetry");
        assert_string_equal(claim->ratio[i].values[0].text, i ? "none" : "symmetric");
    }
    assert_int_equal(claim->where.num_terms, 1);
    assert_string_equal(claim->where.values[0].text, "learned");
    assert_int_equal(claim->test, PES_CLAIM_LOG_RANK);
    assert_true(claim->threshold == 1.5);
    assert_true(claim->alpha == 0.01);
    pes_sweep_destroy(sweep);
}

static void a_bound_is_a_number_and_tested_by_sign_flip(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(GRID "claims:\n  - {name: lag, metric: final.x, below: -0.5, where: {pe: "
                                         "rope}}\n  - {name: more, metric: final.x, above: 2}\n");
    assert_int_equal(sweep->claims[0].bound_side, -1);
    assert_true(sweep->claims[0].bound == -0.5);
    assert_int_equal(sweep->claims[0].test, PES_CLAIM_SIGN_FLIP);
    assert_null(sweep->claims[0].axis);
    assert_int_equal(sweep->claims[1].bound_side, 1);
    assert_true(sweep->claims[1].bound == 2);
    pes_sweep_destroy(sweep);
}

/* The one-line text of a claim reads back as the same claim. */
static void the_text_of_a_claim_is_a_claim(void **state)
{
    (void)state;
    struct pes_sweep *sweep =
        parse(GRID "claims:\n  - {name: slow, metric: steps_to(test_accuracy, 0.9), axis: seed, "
                   "better: 1, than: 2}\n");
    char text[1024];
    snprintf(text, sizeof text, GRID "claims: [%s]\n", sweep->claims[0].text);
    struct pes_sweep *again = parse(text);
    assert_string_equal(again->claims[0].metric, sweep->claims[0].metric);
    assert_string_equal(again->claims[0].text, sweep->claims[0].text);
    assert_string_equal(again->claims[0].better, "1");
    assert_string_equal(again->claims[0].than, "2");
    pes_sweep_destroy(again);
    pes_sweep_destroy(sweep);
}

static void a_block_of_keys_is_compared_by_its_kind(void **state)
{
    (void)state;
    struct pes_sweep *sweep =
        parse(BASE "grid: {penalty: [none, {kind: symmetry, weight: 3}]}\n"
                   "claims: [{name: a, metric: final.x, axis: penalty, better: symmetry}]\n");
    assert_string_equal(sweep->claims[0].axis, "penalty_kind");
    pes_sweep_destroy(sweep);
}

static void metrics_are_checked_against_the_names_there_are(void **state)
{
    (void)state;
    static const char *const names[] = {"test_accuracy", "test_loss"};
    struct pes_sweep *sweep =
        parse(GRID "claims:\n  - {name: a, metric: final.test_loss, axis: pe, better: rope}\n"
                   "  - {name: b, metric: steps_to(test_acuracy, 0.9), axis: pe, better: rope}\n");
    assert_int_equal(pes_sweep_check_metrics(sweep, names, 2), PES_INPUT);
    assert_string_equal(
        pes_error_message(),
        "sweep.yaml:6:23: claim b: unknown metric 'test_acuracy'; did you mean test_accuracy?");
    pes_sweep_destroy(sweep);
    sweep = parse(GRID "claims:\n  - {name: a, metric: final.test_loss, axis: pe, better: rope}\n");
    assert_int_equal(pes_sweep_check_metrics(sweep, names, 2), PES_OK);
    pes_sweep_destroy(sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_comparison_names_its_axis_and_values),
        cmocka_unit_test(a_ratio_has_two_selections),
        cmocka_unit_test(a_bound_is_a_number_and_tested_by_sign_flip),
        cmocka_unit_test(the_text_of_a_claim_is_a_claim),
        cmocka_unit_test(a_block_of_keys_is_compared_by_its_kind),
        cmocka_unit_test(metrics_are_checked_against_the_names_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
