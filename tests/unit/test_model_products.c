/* Constraints on the value-output product W_o W_v, against the matrices of each head and free models. */
#include "model_support.h"

/* W_o W_v [C][C] of a head, as the spectra see it. */
static double *product_of(struct support *s, int layer, int number)
{
    struct pes_head head;
    assert_int_equal(pes_model_head(s->model, s->parameters, layer, number, s->arena, &head), PES_OK);
    double *product = pes_arena_take(s->arena, (size_t)(head.C * head.C), sizeof *product);
    for (int x = 0; x < head.C; x++)
        for (int y = 0; y < head.C; y++)
            for (int e = 0; e < head.Dv; e++)
                product[x * head.C + y] += head.wo[x * head.Dv + e] * head.wv[e * head.C + y];
    return product;
}

/* max |P - sign P^T| and max |P|. */
static double asymmetry(const double *product, int C, double sign, double *largest)
{
    double worst = *largest = 0;
    for (int x = 0; x < C; x++)
        for (int y = 0; y < C; y++) {
            worst = fmax(worst, fabs(product[x * C + y] - sign * product[y * C + x]));
            *largest = fmax(*largest, fabs(product[x * C + y]));
        }
    return worst;
}

static void every_head_keeps_its_part(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        double sign;
    } cases[] = {{"value_symmetry=symmetric pe=rope", 1},
                 {"value_symmetry=psd", 1},
                 {"value_symmetry=antisymmetric pe=alibi", -1}};
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        struct support s = support_make(cases[i].settings, false, false);
        for (int layer = 0; layer < 2; layer++)
            for (int head = 0; head < 2; head++) {
                double largest, *product = product_of(&s, layer, head);
                assert_true(asymmetry(product, 8, cases[i].sign, &largest) < 1e-5 * largest);
                for (int x = 0; !strcmp(cases[i].settings, "value_symmetry=psd") && x < 8; x++)
                    assert_true(product[x * 8 + x] > 0);
            }
        support_free(&s);
    }
}

static void a_free_product_has_both_parts(void **state)
{
    (void)state;
    struct support s = support_make("value_symmetry=none", false, false);
    double largest, *product = product_of(&s, 0, 0);
    assert_true(asymmetry(product, 8, 1, &largest) > 0.1 * largest);
    assert_true(asymmetry(product, 8, -1, &largest) > 0.1 * largest);
    support_free(&s);
}

/* A model with free outputs that are given what the constraint says computes the same. */
static void a_constrained_model_is_the_free_one_with_its_output_written_out(void **state)
{
    (void)state;
    static const char *const kinds[] = {"psd", "symmetric", "antisymmetric"};
    for (size_t i = 0; i < PES_COUNT(kinds); i++) {
        char settings[128];
        snprintf(settings, sizeof settings, "pe=rope kv_source=embedding value_symmetry=%s", kinds[i]);
        struct support constrained = support_make(settings, true, false);
        struct support written = support_make("pe=rope kv_source=embedding", true, false);
        struct pes_parameters from = {&constrained.model->tensors, constrained.parameters, NULL};
        for (size_t t = 0; t < written.model->tensors.num_tensors; t++) {
            const struct pes_tensor *tensor = &written.model->tensors.tensors[t];
            const struct pes_tensor *same = pes_tensor_find(from.table, tensor->name);
            if (same)
                memcpy(written.parameters + tensor->offset, constrained.parameters + same->offset,
                       tensor->count * sizeof(real));
        }
        for (int layer = 0; layer < 2; layer++) {
            char name[64];
            snprintf(name, sizeof name, "layers.%d.attn.wo", layer);
            assert_null(pes_tensor_find(from.table, name));
            real *wo = written.parameters + pes_tensor_find(&written.model->tensors, name)->offset;
            const real *wv = pes_parameters_get(&from, layer, "attn.wv");
            const real *scale = i ? pes_parameters_get(&from, layer, "attn.value_scale") : NULL;
            for (int e = 0; e < 8; e++)
                for (int c = 0; c < 8; c++) {
                    real value = wv[e * 8 + c];
                    if (i == 1) value *= scale[e];
                    if (i == 2) value = (e % 2 ? -1 : 1) * scale[e / 2] * wv[(e ^ 1) * 8 + c];
                    wo[c * 8 + e] = value;
                }
        }
        real *logits = pes_arena_take(constrained.arena, constrained.rows * 11, sizeof *logits);
        real *expected = pes_arena_take(constrained.arena, constrained.rows * 11, sizeof *expected);
        (void)support_evaluate(&constrained, NULL, logits, NULL);
        (void)support_evaluate(&written, NULL, expected, NULL);
        for (size_t e = 0; e < constrained.rows * 11; e++)
            support_assert_near((double)logits[e], (double)expected[e], 1e-5);
        support_free(&constrained);
        support_free(&written);
    }
}

static void scales_belong_to_rows_since_values_are_never_rotated(void **state)
{
    (void)state;
    struct support s = support_make("pe=rope value_symmetry=symmetric", false, false);
    const struct pes_tensor *scale = pes_tensor_find(&s.model->tensors, "layers.1.attn.value_scale");
    assert_non_null(scale);
    assert_int_equal(scale->count, 8);
    assert_true(scale->alternate_sign);
    support_free(&s);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *words;
    } cases[] = {{"attention=mla value_symmetry=psd", "value_symmetry psd"},
                 {"d_model=9 heads=3 value_symmetry=antisymmetric", "value_symmetry antisymmetric"}};
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        struct pes_arena *arena = pes_arena_create();
        struct pes_model_config config;
        assert_int_equal(support_configure(arena, cases[i].settings, false, &config), PES_INPUT);
        assert_non_null(strstr(pes_error_message(), cases[i].words));
        pes_arena_destroy(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_head_keeps_its_part),
        cmocka_unit_test(a_free_product_has_both_parts),
        cmocka_unit_test(a_constrained_model_is_the_free_one_with_its_output_written_out),
        cmocka_unit_test(scales_belong_to_rows_since_values_are_never_rotated),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
