/* test_train_trial.c - a trial from configuration to row: learning, stopping, going on, diverging, failing.
 */
#include "train_fixture.h"

#define SMALL_MODEL "model: {layers: 2, d_model: 16, heads: 2, d_ff: 32, kv_source: embedding, pe: rope}\n"
#define FEW_MEASURES                                                                                         \
    "measure: {checkpoints: 3, evaluate_every: 10, probe_sequences: 16, attention_maps: 8, nulls: 2, "       \
    "phase_zeroing: true, symmetrisation: true}\n"

static const char learning[] =
    "name: learning\n"
    "task: {kind: relative_distance, vocab: 12, between: 4, side: 2, samples: 2000}\n"
    "model: {layers: 2, d_model: 32, heads: 4, d_ff: 64, pe: rope}\n"
    "train: {steps: 200, batch: 64, lr: 3e-3, warmup: 0.05}\n"
    "measure: {evaluate_every: 20, checkpoints: 4, probe_sequences: 64}\n";

static void a_tiny_model_learns_relative_distance(void **unused)
{
    (void)unused;
    struct fixture f = fixture_open(learning);
    struct pes_row row = fixture_row(&f);
    struct pes_train_result result;
    assert_int_equal(train_with(&f, 0, NULL, &row, &result), PES_OK);
    assert_int_equal(result.outcome, PES_OUTCOME_DONE);
    assert_int_equal(result.reason, PES_REASON_NONE);
    assert_int_equal(result.steps, 200);
    /* Four classes: ln 4 = 1.386 and accuracy 1/4 without looking. */
    assert_true(fabs(get(&row, "curves", "test_loss") - log(4)) < 0.25);
    assert_true(get(&row, "trials", "test_loss") < 0.9);
    assert_true(get(&row, "trials", "test_accuracy") > 0.5);
    assert_true(fabs(get(&row, "trials", "chance") - 0.25) < 1e-12);
    assert_true(get(&row, "trials", "test_scored_loss") == get(&row, "trials", "test_loss"));
    assert_true(get_at(&row, "curves", "test_loss", 10) == get(&row, "trials", "test_loss"));
    assert_true(isnan(get_at(&row, "curves", "train_loss", 0)));
    for (size_t e = 0; e < 11; e++) {
        assert_true(get_at(&row, "curves", "evaluation_step", e) == 20.0 * (double)e);
        if (!e) continue;
        assert_true(isfinite(get_at(&row, "curves", "train_loss", e)));
        assert_true(get_at(&row, "curves", "gradient_norm", e) > 0);
        struct pes_optimizer optimizer;
        assert_int_equal(pes_trial_optimizer(&f.sweep->trials[0], &optimizer), PES_OK);
        assert_true(get_at(&row, "curves", "learning_rate", e) ==
                    pes_optimizer_rate(&optimizer, 20 * (int64_t)e - 1));
    }
    assert_true(get_at(&row, "curves", "train_loss", 10) < get_at(&row, "curves", "train_loss", 1));
    assert_true(get(&row, "trials", "empty_steps") == 0);
    fixture_close(&f);
}

static const char short_run[] =
    "name: short\n"
    "task: {kind: relative_distance, vocab: 12, between: 4, side: 2, samples: 60}\n" SMALL_MODEL
    "train: {steps: 14, batch: 12, micro_batch: 5, lr: 3e-3, dropout: 0.1}\n" FEW_MEASURES;
static const char short_lm[] =
    "name: short\n"
    "task: {kind: random_map, vocab: 8, length: 16, test_samples: 10}\n"
    "model: {layers: 2, d_model: 16, heads: 2, d_ff: 0, causal: true, pe: learned,\n"
    "        penalty: {kind: symmetry, weight: 1}}\n"
    "train: {steps: 12, batch: 6, micro_batch: 4, lr: 3e-3}\n" FEW_MEASURES;

static void the_same_trial_gives_the_same_row(void **unused)
{
    (void)unused;
    const char *texts[] = {short_run, short_lm};
    for (int k = 0; k < 2; k++) {
        struct fixture f = fixture_open(texts[k]);
        struct pes_row a = fixture_row(&f), b = fixture_row(&f);
        struct pes_train_result result;
        memset(b.bytes, 0xa5, f.layout->row_bytes);
        assert_int_equal(train_with(&f, 0, NULL, &a, &result), PES_OK);
        assert_int_equal(train_with(&f, 0, NULL, &b, &result), PES_OK);
        assert_int_equal(result.outcome, PES_OUTCOME_DONE);
        assert_rows_equal(&a, &b);
        fixture_close(&f);
    }
}

/* Stopped at every single tick of the run, wherever it falls (micro-batch, evaluation, probe), and taken up
 * again: always the row of the run that was left alone. */
static void a_trial_stopped_at_any_tick_goes_on_to_the_same_row(void **unused)
{
    (void)unused;
    const char *texts[] = {short_run, short_lm};
    for (int k = 0; k < 2; k++) {
        struct fixture f = fixture_open(texts[k]);
        struct pes_row whole = fixture_row(&f), row = fixture_row(&f);
        struct pes_train_result result;
        struct caller counting = {0};
        assert_int_equal(train_with(&f, 0, &counting, &whole, &result), PES_OK);
        assert_true(counting.ticks > 100);
        assert_int_equal(counting.saves, 0);
        long stride = PES_MAX(counting.ticks / 40, 1);
        for (long at = 1; at <= counting.ticks; at += at < 50 ? 1 : stride) {
            struct caller c = {.at = at, .then = PES_TICK_STOP};
            assert_int_equal(train_with(&f, 0, &c, &row, &result), PES_STOPPED);
            assert_int_equal(c.saves, 1);
            assert_int_equal(result.steps, c.saved.step);
            c.at = 0;
            memset(row.bytes, 0xa5, f.layout->row_bytes);
            assert_int_equal(train_with(&f, 0, &c, &row, &result), PES_OK);
            assert_int_equal(result.outcome, PES_OUTCOME_DONE);
            assert_rows_equal(&whole, &row);
            caller_forget(&c);
        }
        fixture_close(&f);
    }
}

static void a_trial_stopped_again_and_again_gets_on(void **unused)
{
    (void)unused;
    struct fixture f = fixture_open(short_run);
    struct pes_row whole = fixture_row(&f), row = fixture_row(&f);
    struct pes_train_result result;
    struct caller counting = {0}, c = {.then = PES_TICK_STOP};
    assert_int_equal(train_with(&f, 0, &counting, &whole, &result), PES_OK);
    /* Enough ticks for the families of the end, too few for the run. */
    int stops = 0;
    enum pes_status status;
    do {
        c.ticks = 0, c.at = counting.ticks * 2 / 3;
        status = train_with(&f, 0, &c, &row, &result);
        stops += status == PES_STOPPED;
        assert_true(stops < 10);
    } while (status == PES_STOPPED);
    assert_true(stops >= 1);
    assert_int_equal(status, PES_OK);
    assert_rows_equal(&whole, &row);
    caller_forget(&c);
    fixture_close(&f);
}

static void a_checkpoint_is_saved_on_the_way_and_can_be_resumed(void **unused)
{
    (void)unused;
    struct fixture f = fixture_open(short_run);
    struct pes_row whole = fixture_row(&f), row = fixture_row(&f);
    struct pes_train_result result;
    struct caller counting = {0};
    assert_int_equal(train_with(&f, 0, &counting, &whole, &result), PES_OK);
    for (long at = 1; at < counting.ticks; at += counting.ticks / 40) {
        struct caller c = {.at = at, .then = PES_TICK_CHECKPOINT};
        assert_int_equal(train_with(&f, 0, &c, &row, &result), PES_OK);
        assert_rows_equal(&whole, &row);
        /* Asked for during the last measures there is nothing left to save for. */
        assert_true(c.saves == 1 || (c.saves == 0 && at > counting.ticks / 2));
        if (c.saves) {
            c.at = 0;
            assert_int_equal(train_with(&f, 0, &c, &row, &result), PES_OK);
            assert_rows_equal(&whole, &row);
        }
        caller_forget(&c);
    }
    fixture_close(&f);
}

static void a_saved_state_of_another_plan_is_not_used(void **unused)
{
    (void)unused;
    struct fixture f = fixture_open(short_run);
    struct pes_row whole = fixture_row(&f), row = fixture_row(&f);
    struct pes_train_result result;
    struct caller c = {.at = 150, .then = PES_TICK_STOP};
    assert_int_equal(train_with(&f, 0, NULL, &whole, &result), PES_OK);
    assert_int_equal(train_with(&f, 0, &c, &row, &result), PES_STOPPED);
    c.at = 0;
    c.saved.step = 15; /* beyond the last */
    assert_int_equal(train_with(&f, 0, &c, &row, &result), PES_OK);
    assert_rows_equal(&whole, &row);
    caller_forget(&c);
    fixture_close(&f);
}

/* The gradient of a batch doesn't depend on how it is cut but for rounding. */
static void micro_batches_change_nothing_but_rounding(void **unused)
{
    (void)unused;
    static const char base[] =
        "name: cut\n"
        "task: {kind: count, vocab: 12, words: 8, count: 3, triggers: 3, samples: 60}\n" SMALL_MODEL
        "train: {steps: 5, batch: 12, micro_batch: %d, lr: 1e-3, dropout: 0.2}\n"
        "measure: {evaluate_every: 1, checkpoints: 2, behaviours: false, spectra: false,\n"
        "          ablate_heads: false, attention_maps: 0}\n";
    double loss[3][6];
    const int cuts[] = {12, 5, 1};
    for (int k = 0; k < 3; k++) {
        char text[1024];
        snprintf(text, sizeof text, base, cuts[k]);
        struct fixture f = fixture_open(text);
        struct pes_row row = fixture_row(&f);
        struct pes_train_result result;
        assert_int_equal(train_with(&f, 0, NULL, &row, &result), PES_OK);
        for (size_t e = 0; e < 6; e++)
            loss[k][e] = get_at(&row, "curves", e ? "train_loss" : "test_loss", e);
        fixture_close(&f);
    }
    for (int k = 1; k < 3; k++)
        for (size_t e = 0; e < 6; e++)
            assert_true(fabs(loss[k][e] - loss[0][e]) < 2e-5 * loss[0][e]);
}

/* All batches have as many labels, so a longer interval's mean is the mean of the shorter ones'. */
static void the_training_loss_is_the_mean_since_the_last_evaluation(void **unused)
{
    (void)unused;
    static const char base[] =
        "name: interval\n"
        "task: {kind: count, vocab: 12, words: 8, count: 3, triggers: 3, samples: 60}\n" SMALL_MODEL
        "train: {steps: 6, batch: 12, lr: 1e-3}\n"
        "measure: {evaluate_every: %d, checkpoints: 2, behaviours: false, spectra: false,\n"
        "          ablate_heads: false, attention_maps: 0}\n";
    double each[7], three[3];
    for (int every = 1; every <= 3; every += 2) {
        char text[1024];
        snprintf(text, sizeof text, base, every);
        struct fixture f = fixture_open(text);
        struct pes_row row = fixture_row(&f);
        struct pes_train_result result;
        assert_int_equal(train_with(&f, 0, NULL, &row, &result), PES_OK);
        for (size_t e = 0; e <= 6 / (size_t)every; e++)
            (every == 1 ? each : three)[e] = get_at(&row, "curves", "train_loss", e);
        fixture_close(&f);
    }
    assert_true(fabs(three[1] - (each[1] + each[2] + each[3]) / 3) < 1e-6);
    assert_true(fabs(three[2] - (each[4] + each[5] + each[6]) / 3) < 1e-6);
    assert_true(fabs(each[1] - each[6]) > 1e-4);
}

static void divergence_is_an_outcome_with_its_step(void **unused)
{
    (void)unused;
    static const char text[] =
        "name: diverging\n"
        "task: {kind: count, vocab: 12, words: 8, count: 3, triggers: 3, samples: 60}\n" SMALL_MODEL
        "train: {steps: 100, batch: 12, lr: 10, schedule: constant, loss_bound: 20}\n"
        "measure: {evaluate_every: 1, checkpoints: 2}\n";
    struct fixture f = fixture_open(text);
    struct pes_row row = fixture_row(&f), again = fixture_row(&f);
    struct pes_train_result result;
    assert_int_equal(train_with(&f, 0, NULL, &row, &result), PES_OK);
    assert_int_equal(result.outcome, PES_OUTCOME_DIVERGED);
    assert_int_equal(result.reason, PES_REASON_LOSS_BOUND);
    assert_in_range(result.steps, 1, 50);
    assert_non_null(strstr(result.message, "training loss"));
    /* What was seen until then stays; the final metrics are not there. */
    assert_true(get_at(&row, "curves", "evaluation_step", (size_t)result.steps) == (double)result.steps);
    assert_true(get_at(&row, "curves", "evaluation_step", (size_t)result.steps + 1) == -1);
    assert_true(isnan(get(&row, "trials", "test_accuracy")));
    assert_true(isnan(get(&row, "weights", "values")));
    assert_int_equal(train_with(&f, 0, NULL, &again, &result), PES_OK);
    assert_rows_equal(&row, &again);
    fixture_close(&f);
}

static void a_loss_that_is_not_finite_is_divergence(void **unused)
{
    (void)unused;
    static const char text[] =
        "name: diverging\n"
        "task: {kind: count, vocab: 12, words: 8, count: 3, triggers: 3, samples: 60}\n"
        "model: {layers: 2, d_model: 16, heads: 2, init: normal, init_std: 10, final_norm: false}\n"
        "train: {steps: 30, batch: 12, lr: 1e-3, loss_bound: 1e30}\n"
        "measure: {checkpoints: 2}\n";
    struct fixture f = fixture_open(text);
    struct pes_row row = fixture_row(&f);
    struct pes_train_result result;
    /* Infinite weights, planted through a saved state. */
    struct caller c = {.at = 1, .then = PES_TICK_STOP};
    assert_int_equal(train_with(&f, 0, &c, &row, &result), PES_STOPPED);
    for (size_t i = 0; i < c.saved.num_parameters; i++)
        c.saved.parameters[i] = (real)INFINITY;
    c.saved.num_evaluations = 1, c.saved.num_checkpoints = 1;
    c.at = 0;
    assert_int_equal(train_with(&f, 0, &c, &row, &result), PES_OK);
    assert_int_equal(result.outcome, PES_OUTCOME_DIVERGED);
    assert_true(result.reason == PES_REASON_LOSS_NOT_FINITE ||
                result.reason == PES_REASON_GRADIENT_NOT_FINITE);
    assert_int_equal(result.steps, 0);
    caller_forget(&c);
    fixture_close(&f);
}

/* Sequences without a trigger have no label in the published count: batches of one are often empty. */
static void a_step_without_a_label_is_skipped_and_counted(void **unused)
{
    (void)unused;
    static const char text[] = "name: empty\n"
                               "task: {kind: count, vocab: 12, words: 6, count: 1, triggers: 3, samples: 40, "
                               "published: true}\n" SMALL_MODEL "train: {steps: 12, batch: 1, lr: 1e-2}\n"
                               "measure: {evaluate_every: 1, checkpoints: 2, behaviours: false, spectra: "
                               "false, ablate_heads: false}\n";
    struct fixture f = fixture_open(text);
    struct pes_row row = fixture_row(&f);
    struct pes_train_result result;
    assert_int_equal(train_with(&f, 0, NULL, &row, &result), PES_OK);
    assert_int_equal(result.outcome, PES_OUTCOME_DONE);
    assert_int_equal(result.steps, 12);
    int empty = 0;
    for (size_t e = 1; e <= 12; e++) {
        double loss = get_at(&row, "curves", "train_loss", e),
               norm = get_at(&row, "curves", "gradient_norm", e);
        assert_int_equal(isnan(loss), isnan(norm));
        if (!isnan(loss)) continue;
        empty++; /* the weights stayed: nothing else changed either */
        assert_true(get_at(&row, "curves", "test_loss", e) == get_at(&row, "curves", "test_loss", e - 1) ||
                    e == 12);
    }
    assert_true(empty > 1);
    assert_true(get(&row, "trials", "empty_steps") == (double)empty);
    fixture_close(&f);
}

/* AdamW's first update moves every parameter by the rate (bias correction of update 1), also if an empty step
 * came before it. */
static void empty_steps_do_not_count_as_updates(void **unused)
{
    (void)unused;
    static const char text[] =
        "name: empty\n"
        "task: {kind: count, vocab: 12, words: 6, count: 1, triggers: 3, samples: 40, published: "
        "true}\n" SMALL_MODEL "train: {steps: 2, batch: 1, lr: 1e-3, schedule: constant, weight_decay: 0}\n"
        "grid: {data_seed: 0..19}\n"
        "measure: {evaluate_every: 1, checkpoints: 2, behaviours: false, spectra: false, ablate_heads: "
        "false}\n";
    struct fixture f = fixture_open(text);
    struct pes_row row = fixture_row(&f);
    struct pes_train_result result;
    int found = 0;
    for (size_t t = 0; t < f.sweep->num_trials; t++) {
        assert_int_equal(train_with(&f, t, NULL, &row, &result), PES_OK);
        bool empty_first =
            isnan(get_at(&row, "curves", "train_loss", 1)) && get(&row, "trials", "empty_steps") == 1;
        if (!empty_first) continue;
        found++;
        struct caller first = {.at = 1, .then = PES_TICK_STOP};
        struct pes_row scratch = fixture_row(&f);
        assert_int_equal(train_with(&f, t, &first, &scratch, &result), PES_STOPPED);
        double most = 0;
        for (size_t i = 0; i < first.saved.num_parameters; i++)
            most = fmax(most, fabs(get_at(&row, "weights", "values", i) - (double)first.saved.parameters[i]));
        assert_true(fabs(most / 1e-3 - 1) < 0.01);
        caller_forget(&first);
    }
    assert_true(found > 0);
    fixture_close(&f);
}

static void every_failing_allocation_is_an_outcome(void **unused)
{
    (void)unused;
    struct fixture f = fixture_open(short_lm);
    struct pes_row whole = fixture_row(&f), row = fixture_row(&f), empty = fixture_row(&f);
    struct pes_train_result result;
    pes_row_clear(&empty);
    assert_int_equal(train_with(&f, 0, NULL, &whole, &result), PES_OK);
    bool finished = false;
    int failures = 0;
    for (long n = 1; !finished && n < 400; n++) {
        (void)pes_allocate_fail_after(n);
        enum pes_status status = train_with(&f, 0, NULL, &row, &result);
        finished = pes_allocate_fail_after(0) < n;
        assert_int_equal(status, PES_OK);
        if (finished) break;
        failures++;
        assert_int_equal(result.outcome, PES_OUTCOME_FAILED);
        assert_int_equal(result.reason, PES_REASON_MEMORY);
        assert_true(strlen(result.message) > 0);
        assert_rows_equal(&row, &empty);
    }
    assert_true(finished && failures >= 4);
    assert_rows_equal(&whole, &row);
    fixture_close(&f);
}

static void data_that_cannot_be_read_are_an_outcome(void **unused)
{
    (void)unused;
    static const char text[] = "name: nothing\n"
                               "task: {kind: text, path: /nonexistent/pesweep.txt}\n"
                               "model: {layers: 1, d_model: 8, heads: 1, causal: true}\n"
                               "train: {steps: 3, batch: 2}\n";
    struct fixture f = fixture_open(text);
    struct pes_row row = fixture_row(&f);
    struct pes_train_result result;
    assert_int_equal(train_with(&f, 0, NULL, &row, &result), PES_OK);
    assert_int_equal(result.outcome, PES_OUTCOME_FAILED);
    assert_int_equal(result.reason, PES_REASON_DATA);
    assert_non_null(strstr(result.message, "/nonexistent/pesweep.txt"));
    fixture_close(&f);
}

/* Trials that differ in the scheme alone start from the same weights and see the same data. */
static void paired_trials_start_alike(void **unused)
{
    (void)unused;
    static const char text[] =
        "name: pairs\n"
        "task: {kind: count, vocab: 12, words: 8, count: 3, triggers: 3, samples: 60}\n"
        "model: {layers: 1, heads: 2}\n"
        "train: {steps: 2, batch: 12}\n"
        "grid: {pe: [nope, rope], d_model: [16, 32]}\n"
        "measure: {checkpoints: 2}\n";
    struct fixture f = fixture_open(text);
    struct pes_row rows[4];
    struct pes_train_result result;
    assert_int_equal(f.sweep->num_trials, 4);
    for (size_t t = 0; t < 4; t++) {
        rows[t] = fixture_row(&f);
        assert_int_equal(train_with(&f, t, NULL, &rows[t], &result), PES_OK);
        assert_int_equal(result.outcome, PES_OUTCOME_DONE);
    }
    struct caller first[2] = {{.at = 1, .then = PES_TICK_STOP}, {.at = 1, .then = PES_TICK_STOP}};
    struct pes_row scratch = fixture_row(&f);
    for (size_t k = 0; k < 2; k++)
        assert_int_equal(train_with(&f, 2 * k, &first[k], &scratch, &result), PES_STOPPED);
    size_t count = first[0].saved.num_parameters;
    assert_int_equal(count, first[1].saved.num_parameters);
    assert_memory_equal(first[0].saved.parameters, first[1].saved.parameters, count * sizeof(real));
    caller_forget(&first[0]);
    caller_forget(&first[1]);
    assert_true(get(&rows[0], "trials", "parameters") == get(&rows[2], "trials", "parameters"));
    assert_true(get(&rows[0], "trials", "parameters") < get(&rows[1], "trials", "parameters"));
    /* A smaller model leaves the rest of a larger one's variables empty. */
    const struct pes_field *field = pes_layout_find(f.layout, "weights", "values");
    assert_true(isnan(get_at(&rows[0], "weights", "values", field->extent[0] - 1)));
    fixture_close(&f);
}

static void outcomes_and_reasons_have_names(void **unused)
{
    (void)unused;
    assert_string_equal(pes_outcome_name(PES_OUTCOME_DIVERGED), "diverged");
    assert_string_equal(pes_reason_name(PES_REASON_MEMORY), "memory");
    assert_string_equal(pes_reason_name((enum pes_reason)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tiny_model_learns_relative_distance),
        cmocka_unit_test(the_same_trial_gives_the_same_row),
        cmocka_unit_test(a_trial_stopped_at_any_tick_goes_on_to_the_same_row),
        cmocka_unit_test(a_trial_stopped_again_and_again_gets_on),
        cmocka_unit_test(a_checkpoint_is_saved_on_the_way_and_can_be_resumed),
        cmocka_unit_test(a_saved_state_of_another_plan_is_not_used),
        cmocka_unit_test(micro_batches_change_nothing_but_rounding),
        cmocka_unit_test(the_training_loss_is_the_mean_since_the_last_evaluation),
        cmocka_unit_test(divergence_is_an_outcome_with_its_step),
        cmocka_unit_test(a_loss_that_is_not_finite_is_divergence),
        cmocka_unit_test(a_step_without_a_label_is_skipped_and_counted),
        cmocka_unit_test(empty_steps_do_not_count_as_updates),
        cmocka_unit_test(every_failing_allocation_is_an_outcome),
        cmocka_unit_test(data_that_cannot_be_read_are_an_outcome),
        cmocka_unit_test(paired_trials_start_alike),
        cmocka_unit_test(outcomes_and_reasons_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
