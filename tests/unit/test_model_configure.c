/* Configurations that make sense and those that don't; sizes, costs and starts that follow from them. */
#include "model_support.h"

static void accept(const char *settings, bool lm)
{
    struct pes_arena *arena = pes_arena_create();
    struct pes_model_config config;
    enum pes_status status = support_configure(arena, settings, lm, &config);
    if (status != PES_OK) print_error("%s: %s\n", settings, pes_error_message());
    assert_int_equal(status, PES_OK);
    pes_arena_destroy(arena);
}

static void refuse(const char *settings, const char *first, const char *second)
{
    struct pes_arena *arena = pes_arena_create();
    struct pes_model_config config;
    enum pes_status status = support_configure(arena, settings, false, &config);
    if (status == PES_OK || !strstr(pes_error_message(), first) || !strstr(pes_error_message(), second))
        print_error("%s: %s\n", settings, status == PES_OK ? "accepted" : pes_error_message());
    assert_int_equal(status, PES_INPUT);
    assert_non_null(strstr(pes_error_message(), first));
    assert_non_null(strstr(pes_error_message(), second));
    pes_arena_destroy(arena);
}

static void widths_that_do_not_fit_are_refused_with_the_numbers(void **state)
{
    (void)state;
    refuse("d_model=10 heads=3", "10", "3 heads");
    refuse("d_model=10 heads=2 pe=rope", "width 5", "5 columns");
    refuse("d_model=4 heads=1 pe=rope rotary_fraction=0.75", "0.75", "3 columns");
    refuse("attention=mla pe=rope d_rope=7", "width 7", "7 columns");
    refuse("d_model=10 symmetry=antisymmetric", "antisymmetric", "5 wide");
    refuse("d_model=10 penalty.kind=phase", "phase", "5 wide");
    accept("d_model=5 heads=1 pe=sinusoidal", false);
    accept("d_model=10 symmetry=symmetric", false);
}

static void heads_and_layers_of_a_scheme_must_exist_and_matter(void **state)
{
    (void)state;
    refuse("pe=rope pe_heads=[0,2]", "head 2", "2 of them");
    refuse("pe=alibi pe_layers=[5]", "layer 5", "2 of them");
    refuse("pe=nope pe_heads=[0]", "pe_heads", "nope");
    refuse("pe=learned pe_layers=[1]", "pe_layers", "learned");
    refuse("pe=sinusoidal pe_heads=none", "pe_heads", "sinusoidal");
    refuse("attention=mla pe=rope d_rope=4 pe_heads=[0]", "pe_heads", "mla");
    accept("pe=rope pe_heads=none", false);
    accept("pe=nope pe_heads=[0,1]", false); /* all of them */
}

static void latent_attention_excludes_what_it_cannot_mean(void **state)
{
    (void)state;
    refuse("attention=mla pe=alibi d_rope=4", "alibi", "4");
    refuse("attention=mla pe=rope d_rope=0", "rope", "width 0");
    refuse("attention=mla symmetry=psd", "psd", "mla");
    refuse("attention=mla penalty.kind=symmetry", "penalty symmetry", "mla");
    accept("attention=mla pe=rope d_rope=4", false);
    accept("attention=mla pe=learned", false);
}

static void position_tables_hold_every_sequence_or_are_refused(void **state)
{
    (void)state;
    refuse("pe=learned max_length=5", "5", "7");
    refuse("pe=relative max_length=6", "6", "7");
    static const char *const others[] = {"sinusoidal", "rope", "alibi", "t5", "nope"};
    for (size_t i = 0; i < PES_COUNT(others); i++) {
        char settings[64];
        snprintf(settings, sizeof settings, "max_length=5 pe=%s", others[i]);
        accept(settings, false);
    }
    struct support s = support_make("pe=learned max_length=12", false, false);
    assert_int_equal(pes_tensor_find(&s.model->tensors, "embed.positions")->shape[0], 12);
    (void)support_evaluate(&s, NULL, NULL, NULL);
    support_free(&s);
}

static void tasks_about_the_next_token_need_a_causal_mask(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    struct pes_task_shape task = support_task(true);
    struct pes_model_config config;
    task.causal_only = true;
    assert_int_equal(pes_model_configure(support_config(arena, ""), &task, &config), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "causal"));
    assert_int_equal(pes_model_configure(support_config(arena, "causal=true"), &task, &config), PES_OK);
    pes_arena_destroy(arena);
}

/* --- what follows from a configuration ---------------------------------------------------------------- */

static void parameters_and_operations_are_those_of_a_hand_count(void **state)
{
    (void)state;
    /* C 8, H 2, F 10, V 11, 5 classes, T 7, 2 layers. */
    struct support s = support_make("", false, false);
    size_t layer = 2 * 8 + 4 * (8 * 8 + 8) + 2 * 8 + (10 * 8 + 10) + (8 * 10 + 8);
    assert_int_equal(pes_tensor_table_count(&s.model->tensors), 11 * 8 + 2 * layer + 2 * 8 + 5 * 8 + 5);
    double products = 7.0 * (3 * 64 + 64 + 2 * 80) + 7.0 * 7 * 8 * 2;
    support_assert_near(pes_model_flops(&s.model->config, 7), 2 * (2 * products + 40), 0);
    support_free(&s);
    s = support_make("causal=true d_ff=0 layers=1", true, false);
    products = 7.0 * 4 * 64 + 28.0 * 8 * 2 + 7.0 * 8 * 11;
    support_assert_near(pes_model_flops(&s.model->config, 7), 2 * products, 0);
    support_free(&s);
    s = support_make("attention=mla pe=rope d_rope=2 d_latent=5 layers=1 d_ff=0", false, false);
    layer = 2 * 8 + 5 * 8 * 2 + 3 * 8 * 5 + 4 * 5 + 2 * 8 + 8 * 8 + 8;
    assert_int_equal(pes_tensor_table_count(&s.model->tensors), 11 * 8 + layer + 2 * 8 + 5 * 8 + 5);
    products = 7.0 * (8 * 12 + 5 * (12 + 16) + 64) + 7.0 * 7 * 2 * (6 + 4) + 40;
    support_assert_near(pes_model_flops(&s.model->config, 7), 2 * products, 0);
    support_free(&s);
}

static void a_micro_batch_has_about_256_tokens(void **state)
{
    (void)state;
    static const int lengths[] = {1, 7, 32, 100, 128, 256, 400, 2048},
                     expected[] = {256, 37, 8, 3, 2, 1, 1, 1};
    for (size_t i = 0; i < PES_COUNT(lengths); i++) {
        struct pes_model_config config = {.shape = {.T = lengths[i]}};
        assert_int_equal(pes_model_micro_batch(&config), expected[i]);
    }
}

static void a_workspace_takes_the_bytes_it_said(void **state)
{
    (void)state;
    static const char *const settings[] = {"",
                                           "attention=mla pe=rope d_rope=4 latent_norm=true dropout=0.1",
                                           "pe=fire kv_source=embedding",
                                           "pe=shaw",
                                           "pe=rope phase=zeroed",
                                           "pe=t5 penalty.kind=symmetry d_ff=0 final_norm=false"};
    for (size_t i = 0; i < PES_COUNT(settings); i++)
        for (int training = 0; training < 2; training++) {
            struct support s = support_make(settings[i], true, false);
            struct pes_workspace *workspace;
            size_t before = pes_arena_bytes(s.arena);
            assert_int_equal(pes_workspace_create(s.model, 3, training, s.arena, &workspace), PES_OK);
            assert_int_equal(pes_arena_bytes(s.arena) - before,
                             pes_workspace_bytes(&s.model->config, 3, training));
            support_free(&s);
        }
}

static void lack_of_memory_is_reported_wherever_it_strikes(void **state)
{
    (void)state;
    struct support s = support_make("pe=relative symmetry=symmetric layers=4", false, false);
    bool done = false;
    for (long n = 1; !done; n++) {
        struct pes_arena *arena = pes_arena_create();
        struct pes_model *model;
        struct pes_workspace *workspace;
        pes_allocate_fail_after(n);
        enum pes_status status = pes_model_create(&s.model->config, arena, &model);
        if (status == PES_OK) status = pes_workspace_create(model, 300, true, arena, &workspace);
        pes_allocate_fail_after(0);
        assert_true(status == PES_OK || status == PES_MEMORY);
        done = status == PES_OK;
        if (n == 1) assert_false(done);
        pes_arena_destroy(arena);
    }
    support_free(&s);
}

/* --- starts ------------------------------------------------------------------------------------------- */

static real *start(struct support *s, uint64_t seed)
{
    real *parameters = pes_arena_take(s->arena, s->count, sizeof(real));
    pes_model_init(s->model, seed, parameters);
    return parameters;
}

static void models_that_differ_in_the_scheme_share_their_shared_tensors(void **state)
{
    (void)state;
    struct support a = support_make("pe=learned", false, false);
    real *start_a = start(&a, 7), *other = start(&a, 8);
    for (size_t p = 0; pes_positions[p]; p++) {
        char settings[64];
        snprintf(settings, sizeof settings, "causal=true pe=%s", pes_positions[p]->name);
        struct support b = support_make(settings, false, false);
        real *start_b = start(&b, 7);
        for (size_t i = 0; i < a.model->tensors.num_tensors; i++) {
            const struct pes_tensor *mine = &a.model->tensors.tensors[i];
            const struct pes_tensor *theirs = pes_tensor_find(&b.model->tensors, mine->name);
            assert_true(theirs || !strcmp(mine->name, "embed.positions"));
            if (theirs)
                assert_memory_equal(start_a + mine->offset, start_b + theirs->offset,
                                    mine->count * sizeof(real));
        }
        support_free(&b);
    }
    size_t wq = pes_tensor_find(&a.model->tensors, "layers.0.attn.wq")->offset;
    size_t wv = pes_tensor_find(&a.model->tensors, "layers.0.attn.wv")->offset;
    assert_true(start_a[wq] != other[wq] && start_a[wq] != start_a[wv]);
    support_free(&a);
}

/* Mean and standard deviation of a tensor. */
static void moments(const struct support *s, const real *values, const char *name, double *mean,
                    double *deviation)
{
    const struct pes_tensor *tensor = pes_tensor_find(&s->model->tensors, name);
    double sum = 0, squares = 0, n = (double)tensor->count;
    for (size_t e = 0; e < tensor->count; e++) {
        double x = (double)values[tensor->offset + e];
        sum += x;
        squares += x * x;
    }
    *mean = sum / n;
    *deviation = sqrt(squares / n - *mean * *mean);
}

static void framework_starts_are_uniform_within_the_root_of_the_fan_in(void **state)
{
    (void)state;
    struct support s =
        support_make("d_model=64 heads=2 d_ff=100 pe=learned symmetry=symmetric", false, false);
    real *values = start(&s, 1);
    double mean, deviation, bound = 1 / sqrt(64);
    moments(&s, values, "layers.0.ffn.w1", &mean, &deviation);
    support_assert_near(mean, 0, 0.005);
    support_assert_near(deviation, bound / sqrt(3), 0.003);
    moments(&s, values, "layers.0.ffn.b2", &mean, &deviation);
    support_assert_near(deviation, 0.1 / sqrt(3), 0.02);
    moments(&s, values, "embed.tokens", &mean, &deviation);
    support_assert_near(deviation, 1, 0.1);
    moments(&s, values, "embed.positions", &mean, &deviation);
    support_assert_near(deviation, 1, 0.1);
    moments(&s, values, "layers.1.norm1.weight", &mean, &deviation);
    support_assert_near(mean, 1, 0);
    support_assert_near(deviation, 0, 0);
    moments(&s, values, "layers.1.attn.sym_scale", &mean, &deviation);
    support_assert_near(mean, 0, 0);
    support_assert_near(deviation, 1, 1e-12);
    const struct pes_tensor *tensor = pes_tensor_find(&s.model->tensors, "layers.0.ffn.w1");
    for (size_t e = 0; e < tensor->count; e++)
        assert_true(fabs((double)values[tensor->offset + e]) <= bound);
    support_free(&s);
}

static void normal_starts_have_one_deviation_and_no_biases(void **state)
{
    (void)state;
    struct support s = support_make("d_model=64 heads=2 d_ff=100 pe=learned init=normal", false, false);
    support_assert_near(s.model->config.init_std, 0.1, 1e-12); /* 0.8/sqrt(64) */
    static const char *const names[] = {"layers.0.attn.wq", "layers.0.ffn.w2", "embed.tokens",
                                        "embed.positions", "head.weight"};
    real *values = start(&s, 1);
    double mean, deviation;
    for (size_t i = 0; i < PES_COUNT(names); i++) {
        moments(&s, values, names[i], &mean, &deviation);
        support_assert_near(deviation, 0.1, 0.01);
    }
    moments(&s, values, "layers.0.attn.bq", &mean, &deviation);
    assert_true(mean == 0 && deviation == 0);
    support_free(&s);
    s = support_make("d_model=64 pe=learned init=normal init_std=0.02 position_std=0.5", false, false);
    values = start(&s, 1);
    moments(&s, values, "layers.0.attn.wq", &mean, &deviation);
    support_assert_near(deviation, 0.02, 0.002);
    moments(&s, values, "embed.positions", &mean, &deviation);
    support_assert_near(deviation, 0.5, 0.05);
    support_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_that_do_not_fit_are_refused_with_the_numbers),
        cmocka_unit_test(heads_and_layers_of_a_scheme_must_exist_and_matter),
        cmocka_unit_test(latent_attention_excludes_what_it_cannot_mean),
        cmocka_unit_test(position_tables_hold_every_sequence_or_are_refused),
        cmocka_unit_test(tasks_about_the_next_token_need_a_causal_mask),
        cmocka_unit_test(parameters_and_operations_are_those_of_a_hand_count),
        cmocka_unit_test(a_micro_batch_has_about_256_tokens),
        cmocka_unit_test(a_workspace_takes_the_bytes_it_said),
        cmocka_unit_test(lack_of_memory_is_reported_wherever_it_strikes),
        cmocka_unit_test(models_that_differ_in_the_scheme_share_their_shared_tensors),
        cmocka_unit_test(framework_starts_are_uniform_within_the_root_of_the_fan_in),
        cmocka_unit_test(normal_starts_have_one_deviation_and_no_biases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
