/* Forward and backward as a whole: sums, micro-batches, dropout, masks, threads, saved streams. */
#include "model_support.h"

static const double tolerance = sizeof(real) == sizeof(double) ? 1e-13 : 2e-6;

/* Everything that a model can be made of, a few at a time. */
static const char *const kinds[] = {
    "pe=rope causal=true",
    "pe=t5 symmetry=symmetric",
    "pe=relative pad=mask dropout=0.2",
    "pe=learned kv_source=embedding final_norm=false activation=relu dropout=0.1",
    "pe=shaw dropout=0.1",
    "pe=fire d_ff=0",
    "pe=rope phase=zeroed pe_heads=[1]",
    "attention=mla pe=rope d_rope=4 latent_norm=true dropout=0.3",
    "attention=mla pe=alibi kv_source=embedding",
};

static void assert_near(const real *a, const real *b, size_t n, double allowed)
{
    double scale = 0;
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs((double)b[i]));
    for (size_t i = 0; i < n; i++)
        support_assert_near((double)a[i], (double)b[i], allowed * scale);
}

/* --- sums --------------------------------------------------------------------------------------------- */

static void the_partition_into_micro_batches_does_not_matter_even_with_dropout(void **state)
{
    (void)state;
    for (size_t i = 0; i < PES_COUNT(kinds); i++) {
        struct support s = support_make(kinds[i], true, true);
        real *whole = pes_arena_take(s.arena, s.count, sizeof(real));
        double loss = support_differentiate(&s, 4, true);
        memcpy(whole, s.gradient, s.count * sizeof(real));
        for (int B = 1; B <= 3; B += 2) {
            support_assert_near(support_differentiate(&s, B, true), loss, tolerance * loss);
            assert_near(s.gradient, whole, s.count, 10 * tolerance);
        }
        support_free(&s);
    }
}

static void losses_are_sums_over_labels_never_averages_of_averages(void **state)
{
    (void)state;
    struct support s = support_make("", true, false);
    struct pes_loss parts = {0}, whole = {0};
    struct pes_pass pass = {0};
    pes_model_prepare(s.model, s.evaluation, s.parameters, NULL);
    pes_model_run(s.model, s.evaluation, &s.batch, &pass, &whole);
    for (int first = 0; first < 4; first += 3) { /* three sequences, then one */
        struct pes_batch part = support_slice(&s, first, first ? 1 : 3);
        pes_model_run(s.model, s.evaluation, &part, &pass, &parts);
    }
    assert_int_equal(parts.count, s.labels);
    assert_int_equal(whole.correct, parts.correct);
    support_assert_near(parts.sum, whole.sum, tolerance * whole.sum);
    support_free(&s);
}

static void a_batch_without_labels_has_no_loss_and_no_gradient(void **state)
{
    (void)state;
    for (int lm = 0; lm < 2; lm++) {
        struct support s = support_make("pe=t5", lm, false);
        int32_t none[28];
        for (int i = 0; i < 28; i++)
            none[i] = -1;
        s.batch.labels = none;
        struct pes_loss loss = {0};
        struct pes_pass pass = {.gradient = s.gradient, .scale = INFINITY}; /* 1 / 0 labels */
        pes_model_prepare(s.model, s.training, s.parameters, NULL);
        pes_model_run(s.model, s.training, &s.batch, &pass, &loss);
        assert_true(pes_model_finish(s.model, s.training, s.gradient) == 0);
        assert_true(loss.sum == 0 && loss.count == 0 && loss.correct == 0);
        for (size_t i = 0; i < s.count; i++)
            assert_true(s.gradient[i] == 0);
        support_free(&s);
    }
}

static void uniform_logits_cost_the_logarithm_of_the_classes(void **state)
{
    (void)state;
    struct support s = support_make("", false, false);
    static const char *const head[] = {"head.weight", "head.bias"};
    for (int i = 0; i < 2; i++) {
        const struct pes_tensor *tensor = pes_tensor_find(&s.model->tensors, head[i]);
        memset(s.parameters + tensor->offset, 0, tensor->count * sizeof(real));
    }
    support_assert_near(support_evaluate(&s, NULL, NULL, NULL), log(5), tolerance);
    support_free(&s);
}

static void scored_positions_are_counted_beside_all_labels(void **state)
{
    (void)state;
    struct support s = support_make("pe=rope causal=true", true, false);
    uint8_t scored[28], right[28];
    double losses[28];
    for (int i = 0; i < 28; i++)
        scored[i] = i % 4 < 2;
    s.batch.scored = scored;
    struct pes_loss loss = {0};
    struct pes_pass pass = {.row_loss = losses, .row_correct = right};
    pes_model_prepare(s.model, s.evaluation, s.parameters, NULL);
    pes_model_run(s.model, s.evaluation, &s.batch, &pass, &loss);
    double sum = 0, part = 0;
    int64_t count = 0, correct = 0;
    for (int i = 0; i < 28; i++) {
        if (s.batch.labels[i] < 0) continue;
        sum += losses[i];
        if (!scored[i]) continue;
        part += losses[i];
        count++;
        correct += right[i];
    }
    assert_int_equal(loss.count, s.labels);
    assert_int_equal(loss.scored_count, count);
    assert_int_equal(loss.correct, correct);
    support_assert_near(loss.sum, sum, 1e-12 * sum);
    support_assert_near(loss.scored_sum, part, 1e-12 * sum);
    struct pes_loss again = {0};
    pass = (struct pes_pass){0}; /* the same without arrays of the caller's */
    pes_model_run(s.model, s.evaluation, &s.batch, &pass, &again);
    assert_memory_equal(&again, &loss, sizeof loss);
    support_free(&s);
}

/* --- the same numbers by other ways ------------------------------------------------------------------- */

static void training_and_evaluation_workspaces_agree_bit_for_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < PES_COUNT(kinds); i++) {
        struct support s = support_make(kinds[i], true, true);
        real a[28 * 11], b[28 * 11];
        struct pes_loss loss = {0};
        struct pes_pass pass = {.logits = a};
        pes_model_prepare(s.model, s.training, s.parameters, NULL);
        pes_model_run(s.model, s.training, &s.batch, &pass, &loss);
        (void)support_evaluate(&s, NULL, b, NULL);
        assert_memory_equal(a, b, sizeof a);
        support_free(&s);
    }
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < PES_COUNT(kinds); i++) {
        double first = 0;
        real *kept = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            pes_kernels_set_threads(threads);
            struct support s = support_make(kinds[i], true, true);
            double loss = support_differentiate(&s, 3, true);
            if (threads == 1) {
                kept = malloc(s.count * sizeof *kept);
                assert_non_null(kept);
                memcpy(kept, s.gradient, s.count * sizeof *kept);
                first = loss;
            }
            assert_true(loss == first);
            assert_memory_equal(kept, s.gradient, s.count * sizeof *kept);
            support_free(&s);
        }
        free(kept);
    }
    pes_kernels_set_threads(1);
}

static void a_pass_can_start_from_any_saved_stream(void **state)
{
    (void)state;
    for (size_t i = 0; i < PES_COUNT(kinds); i++) {
        char settings[160];
        snprintf(settings, sizeof settings, "%s layers=3", kinds[i]);
        struct support s = support_make(settings, true, true);
        real full[28 * 11], part[28 * 11], streams[3 * 28 * 8];
        struct pes_loss loss = {0};
        struct pes_pass pass = {.logits = full, .streams = streams, .save_streams = true};
        pes_model_prepare(s.model, s.evaluation, s.parameters, NULL);
        pes_model_run(s.model, s.evaluation, &s.batch, &pass, &loss);
        for (int layer = 2; layer >= 1; layer--) {
            struct support fresh = s; /* another workspace holds nothing of the full pass */
            assert_int_equal(pes_workspace_create(s.model, 4, false, s.arena, &fresh.evaluation), PES_OK);
            pass = (struct pes_pass){.logits = part, .streams = streams, .first_layer = layer};
            pes_model_prepare(s.model, fresh.evaluation, s.parameters, NULL);
            pes_model_run(s.model, fresh.evaluation, &s.batch, &pass, &loss);
            assert_memory_equal(full, part, sizeof full);
        }
        support_free(&s);
    }
}

/* Logits of a pass under a change, whole or from what an unchanged pass has kept. */
static void run_changed(const struct support *s, const struct pes_intervention *change, int layer,
                        real *streams, real *attended, real *logits)
{
    struct support fresh = *s;
    assert_int_equal(pes_workspace_create(s->model, 4, false, s->arena, &fresh.evaluation), PES_OK);
    struct pes_pass pass = {
        .logits = logits, .streams = streams, .attended = attended, .first_layer = streams ? layer : 0};
    struct pes_loss loss = {0};
    pes_model_prepare(s->model, fresh.evaluation, s->parameters, change);
    pes_model_run(s->model, fresh.evaluation, &s->batch, &pass, &loss);
}

static void heads_left_alone_can_keep_what_they_put_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < PES_COUNT(kinds); i++) {
        char settings[160];
        snprintf(settings, sizeof settings, "%s layers=3", kinds[i]);
        struct support s = support_make(settings, true, true);
        real plain[28 * 11], full[28 * 11], part[28 * 11], streams[3 * 28 * 8], attended[3 * 28 * 8];
        struct pes_loss loss = {0};
        struct pes_pass pass = {
            .logits = plain, .streams = streams, .attended = attended, .save_streams = true};
        pes_model_prepare(s.model, s.evaluation, s.parameters, NULL);
        pes_model_run(s.model, s.evaluation, &s.batch, &pass, &loss);
        for (int layer = 0; layer < 3; layer++) {
            uint64_t one[3] = {0}, above[3] = {0};
            one[layer] = 2;
            above[layer] = 1, above[2] |= 2;
            const struct pes_intervention changes[] = {{.ablate = one},
                                                       {.ablate = above},
                                                       {.phase_zeroed = one},
                                                       {.symmetrised = one, .part = PES_PART_SYMMETRIC},
                                                       {.ablate = one, .symmetrised = above}};
            for (size_t c = 0; c < PES_COUNT(changes); c++) {
                run_changed(&s, &changes[c], layer, NULL, NULL, full);
                run_changed(&s, &changes[c], layer, streams, attended, part);
                assert_memory_equal(full, part, sizeof full);
                if (changes[c].ablate) assert_memory_not_equal(full, plain, sizeof full);
            }
        }
        support_free(&s);
    }
}

static void dropout_is_a_function_of_seed_and_step(void **state)
{
    (void)state;
    struct support s = support_make("dropout=0.5", false, false);
    double losses[4];
    static const struct {
        bool training;
        uint64_t seed;
        uint32_t step;
    } passes[] = {{true, 1, 1}, {true, 1, 1}, {true, 2, 1}, {true, 1, 2}};
    pes_model_prepare(s.model, s.training, s.parameters, NULL);
    for (int i = 0; i < 4; i++) {
        struct pes_loss loss = {0};
        struct pes_pass pass = {
            .training = passes[i].training, .seed = passes[i].seed, .step = passes[i].step};
        pes_model_run(s.model, s.training, &s.batch, &pass, &loss);
        losses[i] = loss.sum;
    }
    assert_true(losses[0] == losses[1] && losses[0] != losses[2] && losses[0] != losses[3]);
    struct support off = support_make("dropout=0", false, false);
    assert_true(support_evaluate(&s, NULL, NULL, NULL) == support_evaluate(&off, NULL, NULL, NULL));
    support_free(&off);
    support_free(&s);
}

/* --- masks -------------------------------------------------------------------------------------------- */

static void causal_models_do_not_see_later_tokens(void **state)
{
    (void)state;
    for (size_t p = 0; pes_positions[p]; p++) {
        char settings[96];
        snprintf(settings, sizeof settings, "causal=true pe=%s", pes_positions[p]->name);
        struct support s = support_make(settings, true, false);
        real before[28 * 11], after[28 * 11];
        int32_t ids[28];
        (void)support_evaluate(&s, NULL, before, NULL);
        memcpy(ids, s.batch.ids, sizeof ids);
        for (int b = 0; b < 4; b++)
            for (int t = 4; t < 7; t++)
                ids[b * 7 + t] = (ids[b * 7 + t] + 3) % 11;
        s.batch.ids = ids;
        (void)support_evaluate(&s, NULL, after, NULL);
        for (int row = 0; row < 28; row++) {
            size_t bytes = 11 * sizeof(real);
            bool equal = memcmp(before + row * 11, after + row * 11, bytes) == 0;
            assert_int_equal(equal, row % 7 < 4);
        }
        support_free(&s);
    }
}

static void masked_padding_changes_nothing_and_attended_padding_does(void **state)
{
    (void)state;
    for (int mask = 0; mask < 2; mask++) {
        struct support s = support_make(mask ? "pe=rope pad=mask" : "pe=rope pad=attend", false, true);
        real before[20], after[20];
        int32_t ids[28];
        (void)support_evaluate(&s, NULL, before, NULL);
        memcpy(ids, s.batch.ids, sizeof ids);
        for (int i = 0; i < 28; i++)
            if (!s.batch.mask[i]) ids[i] = (ids[i] + 1) % 11;
        s.batch.ids = ids;
        (void)support_evaluate(&s, NULL, after, NULL);
        for (int b = 0; b < 4; b++) {
            bool equal = memcmp(before + b * 5, after + b * 5, 5 * sizeof(real)) == 0;
            assert_int_equal(equal, mask || b == 0); /* the first sequence has no padding */
        }
        support_free(&s);
    }
}

static void a_query_without_visible_keys_gives_zeros_and_no_nan(void **state)
{
    (void)state;
    struct support s = support_make("pe=rope pad=mask causal=true", true, true);
    uint8_t mask[28];
    for (int i = 0; i < 28; i++)
        mask[i] = i % 7 != 0; /* the only key that query 0 could see */
    s.batch.mask = mask;
    struct support_maps maps = support_observe(&s, NULL);
    for (int map = 0; map < 4 * 2 * 2; map++)
        for (int i = 0; i < 7; i++) {
            double sum = 0;
            for (int j = 0; j < 7; j++)
                sum += maps.probabilities[map * 49 + i * 7 + j];
            support_assert_near(sum, i ? 1 : 0, i ? 1e-6 : 0);
            support_assert_near(maps.probabilities[map * 49 + i * 7], 0, 0);
        }
    double loss = support_differentiate(&s, 4, false);
    assert_true(!isnan(loss));
    for (size_t i = 0; i < s.count; i++)
        assert_true(!isnan(s.gradient[i]));
    support_free(&s);
}

static void a_sequence_that_is_all_padding_gives_no_nan(void **state)
{
    (void)state;
    struct support s = support_make("pad=mask", false, true);
    uint8_t mask[28];
    for (int i = 0; i < 28; i++)
        mask[i] = i >= 7;
    s.batch.mask = mask;
    double loss = support_differentiate(&s, 4, false);
    assert_true(!isnan(loss));
    for (size_t i = 0; i < s.count; i++)
        assert_true(!isnan(s.gradient[i]));
    support_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_partition_into_micro_batches_does_not_matter_even_with_dropout),
        cmocka_unit_test(losses_are_sums_over_labels_never_averages_of_averages),
        cmocka_unit_test(a_batch_without_labels_has_no_loss_and_no_gradient),
        cmocka_unit_test(uniform_logits_cost_the_logarithm_of_the_classes),
        cmocka_unit_test(scored_positions_are_counted_beside_all_labels),
        cmocka_unit_test(training_and_evaluation_workspaces_agree_bit_for_bit),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(a_pass_can_start_from_any_saved_stream),
        cmocka_unit_test(heads_left_alone_can_keep_what_they_put_out),
        cmocka_unit_test(dropout_is_a_function_of_seed_and_step),
        cmocka_unit_test(causal_models_do_not_see_later_tokens),
        cmocka_unit_test(masked_padding_changes_nothing_and_attended_padding_does),
        cmocka_unit_test(a_query_without_visible_keys_gives_zeros_and_no_nan),
        cmocka_unit_test(a_sequence_that_is_all_padding_gives_no_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
