/* AdamW, its decay and its learning rate, against hand calculation. */
#include "model_support.h"

static const double tolerance = sizeof(real) == sizeof(double) ? 1e-14 : 1e-6;

static struct pes_optimizer configure(struct pes_arena *arena, const char *settings)
{
    struct pes_optimizer optimizer;
    const struct pes_config *config = support_config(arena, settings);
    assert_non_null(config);
    assert_int_equal(pes_optimizer_configure(config, &optimizer), PES_OK);
    return optimizer;
}

static void check_rates(const char *settings, const double *expected, int n, double allowed)
{
    struct pes_arena *arena = pes_arena_create();
    struct pes_optimizer optimizer = configure(arena, settings);
    for (int step = 0; step < n; step++)
        support_assert_near(pes_optimizer_rate(&optimizer, step), expected[step], allowed);
    pes_arena_destroy(arena);
}

/* --- learning rate ------------------------------------------------------------------------------------ */

static void no_step_has_rate_0_and_the_peak_is_reached(void **state)
{
    (void)state;
    static const double expected[] = {0.25, 0.5, 0.75, 1, 1, 1, 0.8, 0.6, 0.4, 0.2};
    check_rates("schedule=linear warmup_steps=4 hold_steps=1", expected, 10, 1e-12);
    check_rates("schedule=linear warmup=0.4 hold_steps=1", expected, 10, 1e-12);
}

static void the_cosine_reaches_its_minimum_after_the_last_step_and_stays(void **state)
{
    (void)state;
    static const double expected[] = {0.5,    1.0,    1.0,    0.9657, 0.8682, 0.7222, 0.55,
                                      0.3778, 0.2318, 0.1343, 0.1,    0.1,    0.1};
    check_rates("schedule=cosine warmup_steps=2 lr_min=0.1", expected, 13, 5e-5);
}

static void published_warm_up_starts_at_0(void **state)
{
    (void)state;
    static const double expected[] = {0, 0.25, 0.5, 0.75, 1, 1, 1};
    check_rates("schedule=constant warmup_steps=4 published=true", expected, 7, 1e-12);
}

static void warm_up_may_be_nothing_or_everything(void **state)
{
    (void)state;
    static const double none[] = {1, 0.9}, whole[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 0};
    check_rates("schedule=linear", none, 2, 1e-12);
    check_rates("schedule=linear warmup_steps=10", whole, 11, 1e-12);
}

static void refuse(const char *settings, const char *first, const char *second)
{
    struct pes_arena *arena = pes_arena_create();
    struct pes_optimizer optimizer;
    assert_int_equal(pes_optimizer_configure(support_config(arena, settings), &optimizer), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), first));
    assert_non_null(strstr(pes_error_message(), second));
    pes_arena_destroy(arena);
}

static void meaningless_lengths_are_refused_with_both_numbers(void **state)
{
    (void)state;
    refuse("warmup_steps=11", "11", "10");
    refuse("warmup_steps=4 hold_steps=7", "7", "10");
    refuse("warmup_steps=4 warmup=0.1", "0.1", "4");
    refuse("lr=0.5 lr_min=0.6", "0.6", "0.5");
}

/* --- steps -------------------------------------------------------------------------------------------- */

/* One step with gradients of 0 from parameters of 1, lr 0.1, decay 0.5. */
static void check_decay(bool all)
{
    struct support s = support_make("pe=learned symmetry=symmetric", false, false);
    const struct pes_optimizer optimizer = {
        .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0.5, .decay_all = all};
    real *m = pes_arena_take(s.arena, s.count, sizeof(real)),
         *v = pes_arena_take(s.arena, s.count, sizeof(real));
    for (size_t i = 0; i < s.count; i++)
        s.parameters[i] = 1;
    double norm = pes_optimizer_step(&optimizer, &s.model->tensors, 0.1, 1, s.parameters, m, v, s.gradient);
    assert_true(norm == 0);
    for (size_t i = 0; i < s.model->tensors.num_tensors; i++) {
        const struct pes_tensor *tensor = &s.model->tensors.tensors[i];
        const char *end = strrchr(tensor->name, '.');
        bool matrix = strstr(tensor->name, "attn.w") || strstr(tensor->name, "ffn.w") ||
                      (strncmp(tensor->name, "head", 4) == 0 && !strcmp(end, ".weight"));
        for (size_t e = 0; e < tensor->count; e++) {
            size_t at = tensor->offset + e;
            support_assert_near((double)s.parameters[at], all || matrix ? 0.95 : 1,
                                all || matrix ? tolerance : 0);
            assert_true(m[at] == 0 && v[at] == 0);
        }
    }
    support_free(&s);
}

static void only_matrices_decay_and_moments_stay_0(void **state)
{
    (void)state;
    check_decay(false);
}

static void everything_decays_where_that_is_asked_for(void **state)
{
    (void)state;
    check_decay(true);
}

/* Second step of one element by the formulas. */
static void a_step_follows_the_formulas(void **state)
{
    (void)state;
    struct support s = support_make("", false, false);
    const struct pes_optimizer optimizer = {.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-3, .weight_decay = 0.25};
    real *m = pes_arena_take(s.arena, s.count, sizeof(real)),
         *v = pes_arena_take(s.arena, s.count, sizeof(real));
    size_t at = pes_tensor_find(&s.model->tensors, "layers.1.ffn.w1")->offset + 3;
    s.parameters[at] = 2, s.gradient[at] = (real)0.5, m[at] = (real)0.1, v[at] = (real)0.2;
    support_assert_near(
        pes_optimizer_step(&optimizer, &s.model->tensors, 0.1, 2, s.parameters, m, v, s.gradient), 0.5, 0);
    double first = 0.8 * 0.1 + 0.2 * 0.5, second = 0.9 * 0.2 + 0.1 * 0.25;
    double expected = 2 * (1 - 0.1 * 0.25) - 0.1 * (first / (1 - 0.64)) / (sqrt(second / (1 - 0.81)) + 1e-3);
    support_assert_near((double)m[at], first, tolerance);
    support_assert_near((double)v[at], second, tolerance);
    support_assert_near((double)s.parameters[at], expected, 2 * tolerance);
    support_free(&s);
}

static void a_long_gradient_is_clipped_by_its_whole_norm(void **state)
{
    (void)state;
    struct support s = support_make("", false, false);
    struct pes_optimizer optimizer = {.beta1 = 0, .beta2 = 0, .eps = 1, .clip = 2};
    real *m = pes_arena_take(s.arena, s.count, sizeof(real)),
         *v = pes_arena_take(s.arena, s.count, sizeof(real));
    size_t a = pes_tensor_find(&s.model->tensors, "embed.tokens")->offset;
    size_t b = pes_tensor_find(&s.model->tensors, "head.bias")->offset;
    s.gradient[a] = 3, s.gradient[b] = -4;
    support_assert_near(
        pes_optimizer_step(&optimizer, &s.model->tensors, 0, 1, s.parameters, m, v, s.gradient), 5,
        5 * tolerance);
    support_assert_near((double)m[a], 1.2, 2 * tolerance);
    support_assert_near((double)m[b], -1.6, 2 * tolerance);
    optimizer.clip = 6; /* short enough */
    pes_optimizer_step(&optimizer, &s.model->tensors, 0, 1, s.parameters, m, v, s.gradient);
    support_assert_near((double)m[a], 3, tolerance);
    support_free(&s);
}

static void a_gradient_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY};
    for (size_t i = 0; i < PES_COUNT(bad); i++) {
        struct support s = support_make("", false, false);
        const struct pes_optimizer optimizer = {
            .beta1 = 0.9, .beta2 = 0.9, .eps = 1e-8, .clip = 1, .weight_decay = 1};
        real *m = pes_arena_take(s.arena, s.count, sizeof(real)),
             *v = pes_arena_take(s.arena, s.count, sizeof(real));
        real *before = pes_arena_take(s.arena, s.count, sizeof(real));
        memcpy(before, s.parameters, s.count * sizeof(real));
        s.gradient[7] = (real)bad[i];
        double norm =
            pes_optimizer_step(&optimizer, &s.model->tensors, 0.1, 1, s.parameters, m, v, s.gradient);
        assert_true(isnan(norm) || isinf(norm));
        assert_memory_equal(before, s.parameters, s.count * sizeof(real));
        assert_true(m[7] == 0 && v[7] == 0);
        support_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_step_has_rate_0_and_the_peak_is_reached),
        cmocka_unit_test(the_cosine_reaches_its_minimum_after_the_last_step_and_stays),
        cmocka_unit_test(published_warm_up_starts_at_0),
        cmocka_unit_test(warm_up_may_be_nothing_or_everything),
        cmocka_unit_test(meaningless_lengths_are_refused_with_both_numbers),
        cmocka_unit_test(only_matrices_decay_and_moments_stay_0),
        cmocka_unit_test(everything_decays_where_that_is_asked_for),
        cmocka_unit_test(a_step_follows_the_formulas),
        cmocka_unit_test(a_long_gradient_is_clipped_by_its_whole_norm),
        cmocka_unit_test(a_gradient_that_is_not_finite_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
