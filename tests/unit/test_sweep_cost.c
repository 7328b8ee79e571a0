/* Steps of evaluations and checkpoints, cost before a run, the reference page. */
#include "sweep_fixture.h"

#include <math.h>
#include <stdlib.h>

static void assert_steps(const int64_t *steps, size_t count, const int64_t *wanted, size_t num_wanted)
{
    assert_int_equal(count, num_wanted);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(steps[i], wanted[i]);
}

#define ASSERT_STEPS(steps, count, ...)                                                                      \
    assert_steps(steps, count, (const int64_t[]){__VA_ARGS__},                                               \
                 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static size_t evaluations(const char *text, int64_t *steps)
{
    struct pes_sweep *sweep = parse(text);
    size_t asked = pes_trial_evaluations(sweep, &sweep->trials[0], NULL);
    size_t count = pes_trial_evaluations(sweep, &sweep->trials[0], steps);
    assert_int_equal(asked, count);
    pes_sweep_destroy(sweep);
    return count;
}

static size_t checkpoints(const char *text, int64_t *steps)
{
    struct pes_sweep *sweep = parse(text);
    size_t asked = pes_trial_checkpoints(sweep, &sweep->trials[0], NULL);
    size_t count = pes_trial_checkpoints(sweep, &sweep->trials[0], steps);
    assert_int_equal(asked, count);
    pes_sweep_destroy(sweep);
    return count;
}

static void evaluations_stand_at_equal_distances_and_at_the_end(void **state)
{
    (void)state;
    int64_t steps[200];
    size_t count = evaluations("task: count\ntrain: {steps: 10}\nmeasure: {evaluate_every: 4}\n", steps);
    ASSERT_STEPS(steps, count, 0, 4, 8, 10);
    count = evaluations("task: count\ntrain: {steps: 8}\nmeasure: {evaluate_every: 4}\n", steps);
    ASSERT_STEPS(steps, count, 0, 4, 8);
    count = evaluations("task: count\ntrain: {steps: 3}\nmeasure: {evaluate_every: 100}\n", steps);
    ASSERT_STEPS(steps, count, 0, 3);
    count = evaluations("task: count\ntrain: {steps: 3000}\n", steps); /* automatic: every 30 */
    assert_int_equal(count, 101);
    assert_int_equal(steps[1], 30);
    assert_int_equal(steps[100], 3000);
    count = evaluations("task: count\ntrain: {steps: 5}\n", steps);
    ASSERT_STEPS(steps, count, 0, 1, 2, 3, 4, 5);
}

static void checkpoints_are_even_in_the_step_or_its_logarithm(void **state)
{
    (void)state;
    int64_t steps[200];
    size_t count = checkpoints(
        "task: count\ntrain: {steps: 1000}\nmeasure: {checkpoints: 5, checkpoint_spacing: log}\n", steps);
    ASSERT_STEPS(steps, count, 0, 1, 10, 100, 1000);
    count = checkpoints(
        "task: count\ntrain: {steps: 10}\nmeasure: {checkpoints: 4, checkpoint_spacing: linear}\n", steps);
    ASSERT_STEPS(steps, count, 0, 3, 7, 10);
    count = checkpoints("task: count\ntrain: {steps: 1000}\nmeasure: {checkpoints: 2}\n", steps);
    ASSERT_STEPS(steps, count, 0, 1000);
    count = checkpoints("task: count\ntrain: {steps: 1000}\nmeasure: {checkpoints: 3}\n", steps);
    ASSERT_STEPS(steps, count, 0, 1, 1000);
}

static void checkpoints_never_coincide(void **state)
{
    (void)state;
    int64_t steps[64];
    /* 2^(i/8) would round to 1 1 1 1 1 2 2 2 2: neighbours move apart as far as there is room. */
    size_t count = checkpoints("task: count\ntrain: {steps: 12}\nmeasure: {checkpoints: 10}\n", steps);
    assert_int_equal(count, 10);
    for (size_t i = 1; i < count; i++)
        assert_true(steps[i] > steps[i - 1]);
    assert_int_equal(steps[0], 0);
    assert_int_equal(steps[9], 12);
    count = checkpoints("task: count\ntrain: {steps: 3}\nmeasure: {checkpoints: 24}\n", steps);
    ASSERT_STEPS(steps, count, 0, 1, 2, 3);
    count = checkpoints("task: count\ntrain: {steps: 1}\n", steps);
    ASSERT_STEPS(steps, count, 0, 1);
}

static struct pes_cost cost_of(const char *text)
{
    struct pes_sweep *sweep = parse(text);
    struct pes_cost cost;
    if (pes_sweep_cost(sweep, &sweep->trials[0], &cost) != PES_OK) fail_msg("%s", pes_error_message());
    pes_sweep_destroy(sweep);
    return cost;
}

/* 2 layers, width 8, 2 heads, no feed-forward part, vocabulary 16, sequences of 4, next tokens: by hand
 * embedding 16*8; per layer 4*(8*8 + 8) and a norm of 16; final norm 16; output 16*8 + 16. */
static void parameters_and_training_are_counted(void **state)
{
    (void)state;
    static const char text[] = "task: {kind: random_map, vocab: 16, length: %d}\n"
                               "train: {steps: %d, batch: 8}\n"
                               "model: {layers: 2, d_model: 8, heads: 2, d_ff: 0, causal: true}\n";
    char one[256], more[256];
    snprintf(one, sizeof one, text, 4, 10);
    snprintf(more, sizeof more, text, 4, 30);
    struct pes_cost a = cost_of(one), b = cost_of(more);
    assert_int_equal(a.parameters, 16 * 8 + 2 * (4 * (8 * 8 + 8) + 16) + 16 + 16 * 8 + 16);
    /* multiply-adds of a sequence: projections 4*4*8*8, visible pairs 10 * 2 heads * (4 + 4), both per layer,
     * and 4*8*16 outputs; 2 operations each; a step is 3 forward passes of 8 sequences */
    double forward = 2.0 * (2 * (4 * 4 * 8 * 8 + 10 * 2 * 8) + 4 * 8 * 16);
    assert_true(a.train_flops == 3 * forward * 8 * 10);
    assert_true(b.train_flops == 3 * a.train_flops);
    assert_true(a.evaluate_flops > 0 && a.probe_flops > 0);
    assert_true(a.seconds == (a.train_flops + a.evaluate_flops + a.probe_flops) / PES_COST_RATE);
    assert_true(a.memory_bytes > 4 * a.parameters * sizeof(real));
}

static void measures_that_are_off_cost_nothing(void **state)
{
    (void)state;
    struct pes_cost cost = cost_of(BASE "measure: {spectra: false, behaviours: false, ablate_heads: false, "
                                        "phase_zeroing: false, symmetrisation: false, attention_maps: 0}\n");
    assert_true(cost.probe_flops == 0);
}

/* Forward passes that probes make of a model with 3 layers, width 8, 2 heads, no feed-forward part, sequences
 * of 4, on 25 test sequences of 100.  Changed values of one head cost 64 of the 64 + 192 + 64 multiply-adds
 * of its own layer's token, changed scores 64 + 192 of them; the mean of the layers above is one. */
static double probe_passes(const char *model, const char *measure)
{
    char text[640];
    snprintf(
        text, sizeof text,
        "task: {kind: count, vocab: 16, words: 4, count: 4, triggers: 2, samples: 100, test_fraction: 0.25}\n"
        "model: {layers: 3, d_model: 8, heads: 2, d_ff: 0%s}\n"
        "train: {steps: 10, batch: 4}\n"
        "measure: {spectra: false, behaviours: false, ablate_heads: false, phase_zeroing: false, "
        "symmetrisation: false, attention_maps: 0%s}\n",
        model, measure);
    struct pes_cost cost = cost_of(text);
    return cost.probe_flops / (cost.train_flops / (3 * 4 * 10));
}

static void ablations_cost_what_they_run_again(void **state)
{
    (void)state;
    const double values = 1 + 0.2, scores = 1 + 0.8;
    const struct {
        const char *model, *measure;
        double passes;
    } cases[] = {
        {"", ", ablate: pairs", 25 * (1 + values)},
        {"", ", ablate: lists, ablate_lists: '0.0 1.0, 2.1'", 25 * (1 + 2)},
        {"", ", published_ablation: true", 100 * (1 + 2 * values)},
        {", attention: mla, d_latent: 8", ", published_ablation: true",
         100 * (1 + 2 * values) + 100 * (1 + 2 * scores)},
    };
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        double passes = probe_passes(cases[i].model, cases[i].measure);
        if (!(fabs(passes - cases[i].passes) < 1e-9))
            fail_msg("%s%s: %g passes, not %g", cases[i].model, cases[i].measure, passes, cases[i].passes);
    }
}

/* --- the reference --- */

static char *reference(bool markdown)
{
    FILE *out = tmpfile();
    assert_non_null(out);
    pes_sweep_print_reference(out, markdown);
    long size = ftell(out);
    char *text = calloc((size_t)size + 1, 1);
    assert_non_null(text);
    rewind(out);
    assert_int_equal(fread(text, 1, (size_t)size, out), size);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void the_reference_has_every_key(void **state)
{
    (void)state;
    const struct pes_key_table *table = pes_sweep_keys();
    char *text = reference(false), *markdown = reference(true);
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        char line[128];
        const char *name = strchr(table->paths[slot], '.') + 1;
        snprintf(line, sizeof line, "\n  %s (", name);
        if (!strstr(text, line)) fail_msg("%s isn't in the reference", name);
        snprintf(line, sizeof line, "| `%s` |", name);
        if (!strstr(markdown, line)) fail_msg("%s isn't in the table", name);
    }
    free(text);
    free(markdown);
}

/* Adds the indented lines from `start` on, up to the first empty line. */
static void take_example(const char *text, const char *start, char *example)
{
    const char *line = strstr(text, start);
    assert_non_null(line);
    for (; !strncmp(line, "  ", 2); line += strcspn(line, "\n") + 1)
        strncat(example, line + 2, strcspn(line, "\n") + 1 - 2);
}

/* The examples of the reference are together a sweep. */
static void the_example_of_the_reference_is_a_good_sweep(void **state)
{
    (void)state;
    char *text = reference(false), example[4096] = "";
    take_example(text, "  name: ", example);
    take_example(text, "  claims:", example);
    struct pes_sweep *sweep = parse(example);
    assert_int_equal(sweep->num_trials, 4 * 2 * 16 - 16 + 1);
    assert_int_equal(sweep->num_claims, 3);
    pes_sweep_destroy(sweep);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluations_stand_at_equal_distances_and_at_the_end),
        cmocka_unit_test(checkpoints_are_even_in_the_step_or_its_logarithm),
        cmocka_unit_test(checkpoints_never_coincide),
        cmocka_unit_test(parameters_and_training_are_counted),
        cmocka_unit_test(measures_that_are_off_cost_nothing),
        cmocka_unit_test(ablations_cost_what_they_run_again),
        cmocka_unit_test(the_reference_has_every_key),
        cmocka_unit_test(the_example_of_the_reference_is_a_good_sweep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
