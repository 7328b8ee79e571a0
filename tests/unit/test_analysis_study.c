/* Metrics of trials and claims on a results file, from the sweep's text to the verdict. */
#include "analysis_fixture.h"

#define BLOCKS                                                                                               \
    "task: {kind: relative_distance, vocab: 16, between: 4, side: 2, samples: 200}\n"                        \
    "model: {layers: 2, d_model: 16, heads: 2, d_ff: 16}\n"                                                  \
    "train: {steps: 1000, batch: 8}\n"                                                                       \
    "measure: {evaluate_every: 100, checkpoints: 4}\n"

static struct pes_study *opened(const char *path)
{
    struct pes_study *study;
    assert_ok(pes_study_open(path, &study));
    return study;
}

static struct pes_claim_result *judged(struct pes_study *study)
{
    struct pes_claim_result *results;
    size_t num;
    struct pes_resampling resampling = {0, 1000, 0.95, false, NULL};
    assert_ok(pes_study_judge(study, &resampling, &results, &num));
    assert_int_equal(num, study->sweep->num_claims);
    return results;
}

/* ---- metrics ---- */

static enum pes_outcome fill_metrics(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row)
{
    put_curve(sweep, trial, row, 0.8, 400);
    for (size_t l = 0; l < 2; l++) {
        pes_row_put(row, "probes", "deposit_share", &l, l ? NAN : 0.75);
        for (size_t h = 0; h < 2; h++) {
            const size_t at[] = {l, h}, start[] = {0, l, h}, later[] = {2, l, h};
            pes_row_put(row, "probes", "ablation_drop", at, 0.1 * (double)(1 + 2 * l + h));
            pes_row_put(row, "probes", "previous_token_score", at, l == 1 && h == 0 ? 0.9 : 0.1);
            pes_row_put(row, "spectra_folded", "rotational_fraction", at, 0.1 * (double)(2 * l + h));
            pes_row_put(row, "probes", "contraction", at, 0.5);
            pes_row_put(row, "probes", "symmetrisation_loss_change", (size_t[]){l, h, 0},
                        trial ? 0.001 : 0.01);
            pes_row_put(row, "probes", "symmetrisation_loss_change", (size_t[]){l, h, 1}, 0.067);
            pes_row_put(row, "curves", "contraction", start, 0.8);
            pes_row_put(row, "curves", "previous_token_score", later, l == 1 && h == 0 ? 0.9 : 0.1);
            pes_row_put(row, "probes", "onset_folded_phase_fraction", at, 700);
            pes_row_put(row, "spectra", "phase_fraction", at, 0.1 * (double)(1 + 2 * l + h));
            pes_row_put(row, "spectra", "directional_fraction", at, 0.2 * (double)(1 + 2 * l + h));
            pes_row_put(row, "probes", "induction_score", at, l == 1 && h == 1 ? 0.8 : 0.1);
            pes_row_put(row, "probes", "phase_zeroing_loss_change", at, l == 1 && h == 0 ? 0.7 : 0.1);
            for (size_t o = 0; o < 9; o++)
                pes_row_put(row, "probes", "relative_kernel", (size_t[]){l, h, o},
                            o == 7 ? 2 : 0.1 * (double)o);
            for (size_t c = 0; c < 4; c++)
                pes_row_put(row, "curves", "folded_rotational_fraction", (size_t[]){c, l, h}, c ? 0.4 : 0.6);
            /* Head (1, 0) is the lowest of four at step 0, the highest after. */
            for (size_t c = 0; c < 4; c++)
                pes_row_put(row, "curves", "folded_phase_fraction", (size_t[]){c, l, h},
                            l == 1 && h == 0 ? (c ? 0.56 : 0.5) : 0.51);
            for (size_t h_from = 0; l && h_from < 2; h_from++)
                pes_row_put(row, "spectra_folded", "k_composition", (size_t[]){l, h, 0, h_from},
                            h_from ? 0.3 : 0.45);
            pes_row_put(row, "probes", "onset_previous_token_score", at, l == 1 && h == 0 ? 400 : 900);
        }
    }
    for (size_t c = 0; c < 4; c++)
        pes_row_put(row, "curves", "checkpoint_step", &c, (double)(c * 300));
    return trial == 1 ? PES_OUTCOME_FAILED : PES_OUTCOME_DONE;
}

static double metric(struct pes_study *study, const char *text, size_t trial, bool *reached)
{
    struct pes_metric m;
    double value;
    assert_ok(pes_metric_resolve(study, text, &m));
    assert_ok(pes_metric_evaluate(study, &m, trial, &value, reached));
    return value;
}

static void metrics_are_read_off_variables_curves_and_derived_numbers(void **state)
{
    (void)state;
    const char *path = in_folder("metrics.h5");
    bool reached;
    make_study(path, "name: metrics\n" BLOCKS "grid: {pe: [nope, rope, alibi]}\n", fill_metrics);
    struct pes_study *study = opened(path);
    assert_near(metric(study, "final.test_accuracy", 0, &reached), 0.8, 1e-15);
    assert_near(metric(study, "final.test_accuracy", 1, &reached), NAN, 0); /* failed */
    assert_near(metric(study, "final.ablation_drop", 0, &reached), 0.25, 1e-7);
    assert_near(metric(study, "final.deposit_share", 0, &reached), 0.75, 1e-7); /* where defined */
    assert_near(metric(study, "final.first_deposit_share", 0, &reached), 0.75, 1e-7);
    assert_near(metric(study, "final.first_largest_drop", 0, &reached), 0.2, 1e-7);
    assert_near(metric(study, "final.first_second_drop", 0, &reached), 0.1, 1e-7);
    assert_near(metric(study, "final.contraction_change", 0, &reached), -0.3, 1e-7);
    assert_near(metric(study, "final.rotational_percentile", 0, &reached), 0.75, 1e-15);
    assert_near(metric(study, "final.symmetrisation_ratio", 0, &reached), 6.7, 1e-6);
    assert_near(metric(study, "final.symmetrisation_excess", 2, &reached), 4 * (0.067 - 0.001), 1e-6);
    assert_near(metric(study, "final.symmetrisation_ratio", 2, &reached), NAN,
                0); /* too little to divide by */
    assert_near(metric(study, "final.phase_onset_lag", 0, &reached), 300, 1e-12);
    assert_near(metric(study, "final.first_drop_margin", 0, &reached), 0.1, 1e-7);
    assert_near(metric(study, "final.rotational_percentile_3", 0, &reached), 0.5, 1e-15); /* 3/4, 1/4, 2/4 */
    assert_near(metric(study, "final.rotational_percentile_5", 0, &reached), NAN, 0);     /* four heads */
    assert_near(metric(study, "final.previous_phase_fraction", 1, &reached), NAN, 0);
    assert_near(metric(study, "final.previous_phase_fraction", 2, &reached), 0.3, 1e-7);
    assert_near(metric(study, "final.previous_directional_fraction", 2, &reached), 0.6, 1e-7);
    assert_near(metric(study, "final.previous_kernel_margin", 0, &reached), 1.2, 1e-7); /* 2 - 0.8 */
    assert_near(metric(study, "final.phase_zeroing_previous", 0, &reached), 0.7, 1e-7);
    assert_near(metric(study, "final.phase_zeroing_margin", 0, &reached), 0.6, 1e-7);
    assert_near(metric(study, "final.phase_percentile_onset_lag", 0, &reached), -250, 1e-4);
    assert_near(metric(study, "final.population_onset_lag", 0, &reached), -250, 1e-4); /* 150 - 400 */
    assert_near(metric(study, "final.induction_composition_margin", 0, &reached), 0.15, 1e-7);
    assert_near(metric(study, "steps_to(test_accuracy, 0.4)", 0, &reached), 400, 0);
    assert_true(reached);
    assert_near(metric(study, "steps_to(test_accuracy, 0.9)", 0, &reached), 1000, 0);
    assert_false(reached);
    assert_near(metric(study, "steps_to(test_loss, 1.8)", 0, &reached), 400, 0); /* falls to it */
    assert_near(metric(study, "steps_to(previous_token_score, 0.5)", 0, &reached), 600, 0);
    assert_true(reached);
    pes_study_close(study);
}

static void unknown_metrics_name_the_nearest(void **state)
{
    (void)state;
    struct pes_study *study = opened(in_folder("metrics.h5"));
    struct pes_metric m;
    assert_int_equal(pes_metric_resolve(study, "final.test_acuracy", &m), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "did you mean 'test_accuracy'"));
    assert_int_equal(pes_metric_resolve(study, "steps_to(test_accuracy)", &m), PES_INPUT);
    assert_int_equal(pes_metric_resolve(study, "steps_to(evaluation, 3)", &m), PES_INPUT);
    assert_int_equal(pes_metric_resolve(study, "best.test_accuracy", &m), PES_INPUT);
    const char *const *names;
    size_t count;
    assert_ok(pes_metric_names(study->layout, study->arena, &names, &count));
    bool derived = false, stored = false;
    for (size_t i = 0; i < count; i++) {
        derived |= !strcmp(names[i], "first_deposit_share");
        stored |= !strcmp(names[i], "test_accuracy");
    }
    assert_true(derived && stored);
    pes_study_close(study);
}

/* ---- claims ---- */

#define CLAIMS                                                                                               \
    "claims:\n"                                                                                              \
    "  - {name: rope-wins, metric: final.test_accuracy, axis: pe, better: rope, than: others}\n"             \
    "  - {name: nope-wins, metric: final.test_accuracy, axis: pe, better: nope, than: learned}\n"            \
    "  - {name: symmetry-slows, metric: 'steps_to(test_accuracy, 0.3)', ratio: [{symmetry: symmetric}, "     \
    "{symmetry: none}], where: {pe: rope}, threshold: 1.5}\n"                                                \
    "  - {name: all-alike, metric: final.train_loss, axis: symmetry, better: symmetric, than: none}\n"       \
    "  - {name: paired, metric: final.test_loss, axis: pe, better: learned, than: nope, test: sign_flip}\n"

static double noise(size_t trial)
{
    return 0.01 * sin(12.9898 * (double)trial);
}

/* rope 0.9, learned 0.6, nope 0.4; rope with symmetry takes twice the steps. */
static enum pes_outcome fill_claims(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row)
{
    const char *pe = choice(sweep, trial, "model.pe");
    bool symmetric = !strcmp(choice(sweep, trial, "model.symmetry"), "symmetric");
    double top = !strcmp(pe, "rope") ? 0.9 : !strcmp(pe, "learned") ? 0.6 : 0.4;
    put_curve(sweep, trial, row, top + noise(trial), symmetric ? 700 : 350 + 4000 * noise(trial));
    pes_row_put(row, "trials", "train_loss", NULL, 1 + noise(3 * trial + 1));
    return PES_OUTCOME_DONE;
}

static const char claims_yaml[] =
    "name: claims\n" BLOCKS
    "grid: {pe: [nope, learned, rope], symmetry: [none, symmetric], seed: 0..7}\n" CLAIMS;

static void claims_of_a_file_get_their_verdicts(void **state)
{
    (void)state;
    const char *path = in_folder("claims.h5");
    make_study(path, claims_yaml, fill_claims);
    struct pes_study *study = opened(path);
    struct pes_claim_result *r = judged(study);
    assert_int_equal(r[0].verdict.decision, PES_DECISION_SUPPORTED);
    assert_int_equal(r[0].num_findings, 2);
    assert_int_equal(r[0].verdict.finding.n, 8); /* seeds, both symmetries pooled */
    assert_string_equal(r[0].verdict.finding.against, "learned");
    assert_near(r[0].verdict.finding.effect.estimate, 0.3, 0.01);
    assert_near(r[0].verdict.p, 2.0 / 12870, 1e-12);
    assert_near(r[0].verdict.p_corrected, 5 * 2.0 / 12870, 1e-12); /* the smallest of five */
    assert_int_equal(r[1].verdict.decision, PES_DECISION_REFUTED);
    assert_int_equal(r[2].verdict.decision, PES_DECISION_SUPPORTED);
    assert_int_equal(r[2].verdict.finding.test, PES_CLAIM_LOG_RANK);
    assert_true(r[2].verdict.finding.effect.estimate >= 1.5);
    assert_int_equal(r[3].verdict.decision, PES_DECISION_NOT_SUPPORTED);
    assert_int_equal(r[4].verdict.decision, PES_DECISION_SUPPORTED);
    assert_near(r[4].verdict.p, 2.0 / 256, 1e-12);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(r[i].verdict.family, 5);
        assert_int_equal(r[i].num_missing, 0);
    }
    pes_study_close(study);
}

/* Half of the sweep is still to come: seeds 0 to 3 of nope and learned, all of rope but one cell. */
static enum pes_outcome fill_half(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row)
{
    fill_claims(sweep, trial, row);
    const char *pe = choice(sweep, trial, "model.pe");
    bool symmetric = !strcmp(choice(sweep, trial, "model.symmetry"), "symmetric");
    if (!strcmp(pe, "rope"))
        return seed_of(sweep, trial) == 2 && symmetric ? PES_OUTCOME_FAILED : PES_OUTCOME_DONE;
    return seed_of(sweep, trial) < 4 ? PES_OUTCOME_DONE : PES_OUTCOME_PENDING;
}

static void unfinished_trials_are_missing_and_counted(void **state)
{
    (void)state;
    const char *path = in_folder("half.h5");
    make_study(path, claims_yaml, fill_half);
    struct pes_study *study = opened(path);
    assert_int_equal(study->num_outcomes[PES_OUTCOME_DONE], 31);
    struct pes_claim_result *r = judged(study);
    assert_int_equal(r[0].verdict.finding.n, 7); /* seed 2 lacks a combination */
    assert_int_equal(r[0].verdict.finding.m, 4);
    assert_int_equal(r[1].verdict.finding.n, 4);
    assert_int_equal(r[1].num_missing, 16);
    assert_int_equal(r[1].num_trials, 32);
    /* 4 against 4 reaches 2/70 alone, but not among the claims of the file. */
    assert_int_equal(r[1].verdict.decision, PES_DECISION_TOO_FEW);
    assert_int_equal(r[4].verdict.decision, PES_DECISION_TOO_FEW); /* 4 pairs: 2/16 */
    pes_study_close(study);
}

/* Three of eight learned seeds diverge: theirs are the worst accuracies, and they never arrive. */
static enum pes_outcome fill_diverged(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row)
{
    bool learned = !strcmp(choice(sweep, trial, "model.pe"), "learned");
    put_curve(sweep, trial, row, (learned ? 0.9 : 0.5) + noise(trial), 350);
    if (!learned || seed_of(sweep, trial) >= 3) return PES_OUTCOME_DONE;
    pes_row_put(row, "trials", "test_accuracy", NULL, NAN);
    for (size_t i = 3; i < 11; i++)
        pes_row_put(row, "curves", "test_accuracy", &i, NAN);
    return PES_OUTCOME_DIVERGED;
}

static void diverged_trials_are_the_worst_and_not_left_out(void **state)
{
    (void)state;
    const char *path = in_folder("diverged.h5");
    make_study(
        path,
        "name: diverged\n" BLOCKS "grid: {pe: [nope, learned], seed: 0..7}\n"
        "claims:\n"
        "  - {name: wins, metric: final.test_accuracy, axis: pe, better: learned, test: mann_whitney}\n"
        "  - {name: faster, metric: 'steps_to(test_accuracy, 0.45)', axis: pe, better: learned}\n",
        fill_diverged);
    struct pes_study *study = opened(path);
    struct pes_claim_result *r = judged(study);
    assert_int_equal(r[0].num_diverged, 3);
    assert_int_equal(r[0].num_missing, 0);
    assert_int_equal(r[0].verdict.finding.n, 8);
    assert_int_equal(r[0].verdict.decision,
                     PES_DECISION_NOT_SUPPORTED); /* five of eight win, three are worst */
    assert_int_equal(r[1].verdict.finding.n, 8);
    assert_int_equal(r[1].verdict.finding.test, PES_CLAIM_LOG_RANK);
    pes_study_close(study);
}

/* nope lacks seeds 0 to 2, learned seeds 5 to 7: only seeds 3 and 4 make pairs, and theirs differ by 0.1
 * exactly. */
static enum pes_outcome fill_pairs(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row)
{
    bool learned = !strcmp(choice(sweep, trial, "model.pe"), "learned");
    int64_t seed = seed_of(sweep, trial);
    put_curve(sweep, trial, row, 0.1 * (double)seed + (learned ? 0.1 : 0), 400);
    return (learned ? seed < 5 : seed >= 3) ? PES_OUTCOME_DONE : PES_OUTCOME_PENDING;
}

static void pairs_are_made_of_seeds_that_both_sides_have(void **state)
{
    (void)state;
    const char *path = in_folder("pairs.h5");
    make_study(path,
               "name: pairs\n" BLOCKS "grid: {pe: [nope, learned], seed: [7, 3, 0, 1, 4, 5, 6, 2]}\n"
               "claims:\n"
               "  - {name: p, metric: final.test_accuracy, axis: pe, better: learned, test: sign_flip}\n",
               fill_pairs);
    struct pes_study *study = opened(path);
    struct pes_claim_result *r = judged(study);
    assert_int_equal(r[0].verdict.finding.n, 2);
    assert_int_equal(r[0].verdict.finding.m, 2);
    assert_near(r[0].verdict.finding.effect.estimate, 0.1, 1e-12);
    assert_near(r[0].verdict.p, 0.5, 1e-12);
    pes_study_close(study);
}

/* A trial added for one seed alone, and combinations that one side doesn't have, stay out of the comparison.
 */
static enum pes_outcome fill_uneven(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row)
{
    const struct pes_config *config = sweep->trials[trial].config;
    bool rope = !strcmp(choice(sweep, trial, "model.pe"), "rope");
    bool odd = pes_config_real(config, "train.lr") > 0.5;
    bool partial = rope && pes_config_set_of(config, "model.pe_heads") != UINT64_MAX;
    put_curve(sweep, trial, row, odd || partial ? 0.1 : rope ? 0.9 + noise(trial) : 0.5 + noise(trial), 350);
    return PES_OUTCOME_DONE;
}

static void only_combinations_that_both_sides_have_are_compared(void **state)
{
    (void)state;
    const char *path = in_folder("uneven.h5");
    make_study(path,
               "name: uneven\n" BLOCKS "grid: {pe: [alibi, rope], pe_heads: [all, [0]], seed: 0..5}\n"
               "exclude:\n  - {pe: alibi, pe_heads: [[0]]}\n"
               "include:\n  - {pe: rope, pe_heads: all, seed: 0, lr: 0.9}\n"
               "  - {pe: alibi, pe_heads: all, seed: 0, lr: 0.9}\n"
               "claims:\n"
               "  - {name: wins, metric: final.test_accuracy, axis: pe, better: rope, than: alibi}\n",
               fill_uneven);
    struct pes_study *study = opened(path);
    struct pes_claim_result *r = judged(study);
    assert_int_equal(r[0].verdict.finding.n, 6);
    assert_int_equal(r[0].verdict.finding.m, 6);
    assert_int_equal(r[0].num_trials, 12);
    assert_near(r[0].verdict.finding.effect.estimate, 0.4, 0.01);
    pes_study_close(study);
}

/* A seed's value is 0.6 and a bit, whatever the rate; the rates of the two schemes differ. */
static enum pes_outcome fill_bound(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row)
{
    bool rope = !strcmp(choice(sweep, trial, "model.pe"), "rope");
    put_curve(sweep, trial, row, (rope ? 0.6 : 0.4) + noise((size_t)seed_of(sweep, trial)), 350);
    return PES_OUTCOME_DONE;
}

static void values_are_held_against_a_number(void **state)
{
    (void)state;
    const char *path = in_folder("bound.h5");
    make_study(path,
               "name: bound\n" BLOCKS "grid: {seed: 0..7}\nzip: {pe: [alibi, rope], lr: [1e-3, 1e-2]}\n"
               "claims:\n"
               "  - {name: a, metric: final.test_accuracy, above: 0.5, where: {pe: rope}}\n"
               "  - {name: b, metric: final.test_accuracy, above: 0.5, where: {pe: alibi}}\n"
               "  - {name: c, metric: final.test_accuracy, below: 0.7, where: {pe: rope}}\n"
               "  - {name: d, metric: final.test_accuracy, below: 0.7, where: {pe: rope}, threshold: 0.2}\n",
               fill_bound);
    struct pes_study *study = opened(path);
    struct pes_claim_result *r = judged(study);
    assert_int_equal(r[0].verdict.decision, PES_DECISION_SUPPORTED);
    assert_int_equal(r[0].verdict.finding.n, 8);
    assert_int_equal(r[0].num_trials, 8);
    assert_near(r[0].verdict.p, 2.0 / 256, 1e-12);
    assert_near(r[0].verdict.finding.effect.estimate, 0.1, 0.01);
    assert_int_equal(r[1].verdict.decision, PES_DECISION_REFUTED);
    assert_near(r[1].verdict.finding.effect.estimate, -0.1, 0.01);
    assert_int_equal(r[2].verdict.decision, PES_DECISION_SUPPORTED);
    assert_near(r[2].verdict.finding.effect.estimate, 0.1, 0.01); /* turned: below by 0.1 */
    assert_int_equal(r[3].verdict.decision, PES_DECISION_NOT_SUPPORTED);
    pes_study_close(study);
}

static void a_rate_chosen_for_each_scheme_belongs_to_the_scheme(void **state)
{
    (void)state;
    const char *path = in_folder("follows.h5");
    make_study(path,
               "name: follows\n" BLOCKS "grid: {seed: 0..7}\nzip: {pe: [alibi, rope], lr: [1e-3, 1e-2]}\n"
               "claims:\n"
               "  - {name: a, metric: final.test_accuracy, axis: pe, better: rope, than: others}\n",
               fill_bound);
    struct pes_study *study = opened(path);
    struct pes_claim_result *r = judged(study);
    assert_int_equal(r[0].verdict.decision, PES_DECISION_SUPPORTED);
    assert_int_equal(r[0].verdict.finding.n, 8);
    assert_near(r[0].verdict.finding.effect.estimate, 0.2, 1e-9);
    pes_study_close(study);
}

static void a_claim_without_its_variable_is_said_to_be_so(void **state)
{
    (void)state;
    const char *path = in_folder("off.h5");
    make_study(path,
               "name: off\n"
               "task: {kind: relative_distance, vocab: 16, between: 4, side: 2, samples: 200}\n"
               "model: {layers: 2, d_model: 16, heads: 2, d_ff: 16}\n"
               "train: {steps: 1000, batch: 8}\n"
               "measure: {evaluate_every: 100, checkpoints: 4, ablate_heads: false}\n"
               "grid: {pe: [nope, learned, rope], symmetry: [none], seed: 0..7}\n"
               "claims:\n"
               "  - {name: a, metric: final.deposit_share, axis: pe, better: rope, than: nope}\n"
               "  - {name: b, metric: final.test_accuracy, axis: pe, better: rope, than: nope}\n",
               fill_claims);
    struct pes_study *study = opened(path);
    struct pes_claim_result *r = judged(study);
    assert_int_equal(r[0].verdict.decision, PES_DECISION_TOO_FEW);
    assert_non_null(strstr(r[0].verdict.rule, "can't be judged from this file"));
    assert_int_equal(r[1].verdict.decision, PES_DECISION_SUPPORTED);
    assert_int_equal(r[1].verdict.family, 1);
    pes_study_close(study);
    assert_int_equal(pes_study_open(in_folder("nowhere.h5"), &study), PES_INPUT);
    assert_null(study);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_read_off_variables_curves_and_derived_numbers),
        cmocka_unit_test(unknown_metrics_name_the_nearest),
        cmocka_unit_test(claims_of_a_file_get_their_verdicts),
        cmocka_unit_test(unfinished_trials_are_missing_and_counted),
        cmocka_unit_test(diverged_trials_are_the_worst_and_not_left_out),
        cmocka_unit_test(pairs_are_made_of_seeds_that_both_sides_have),
        cmocka_unit_test(only_combinations_that_both_sides_have_are_compared),
        cmocka_unit_test(values_are_held_against_a_number),
        cmocka_unit_test(a_rate_chosen_for_each_scheme_belongs_to_the_scheme),
        cmocka_unit_test(a_claim_without_its_variable_is_said_to_be_so),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
