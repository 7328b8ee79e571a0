/* Exact constraints on M = W_q^T W_k, for every row of the table. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "pesweep/position.h"
#include "pesweep/rng.h"
#include "pesweep/symmetry.h"

enum { C = 12, H = 3, D = 4 };

struct layer {
    struct pes_arena *arena;
    const struct pes_config *config;
    struct pes_shape shape;
    const struct pes_symmetry *symmetry;
    struct pes_tensor_table *table;
    struct pes_parameters parameters;
    real *values;
    real wk[C * C], bk[C];
};

static double normal(uint64_t element)
{
    struct pes_rng rng = {.seed = 2, .purpose = PES_RNG_TEST};
    return pes_rng_normal(&rng, element);
}

static const struct pes_config *config_of(struct pes_arena *arena, const char *pe)
{
    static const struct pes_key key[] = {{.path = "model.pe",
                                          .type = PES_VALUE_CHOICE,
                                          .choices = pes_position_names,
                                          .fallback = "nope",
                                          .unit = "",
                                          .help = ""},
                                         {.path = NULL}};
    struct pes_key_source source = {.keys = key};
    struct pes_config *config = pes_config_create(pes_key_table_create(&source, 1, arena), arena);
    assert_int_equal(pes_config_set(config, arena, "model.pe", pe), PES_OK);
    assert_int_equal(pes_config_resolve(config, arena), PES_OK);
    return config;
}

static struct layer make(const char *symmetry, const char *pe)
{
    const size_t matrix[] = {C, C};
    struct layer l = {.arena = pes_arena_create(), .symmetry = pes_symmetry_find(symmetry)};
    l.shape = (struct pes_shape){.T = 5, .C = C, .H = H, .D = D, .L = 1, .V = 3, .classes = 3};
    l.config = config_of(l.arena, pe);
    l.table = pes_arena_take(l.arena, 1, sizeof *l.table);
    l.table->arena = l.arena;
    assert_int_equal(pes_tensor_add_layer(l.table, 0, "attn.wq", PES_TENSOR_WEIGHT, C, 0, 2, matrix), PES_OK);
    assert_int_equal(pes_tensor_add_layer(l.table, 0, "attn.bq", PES_TENSOR_BIAS, C, 0, 1, matrix), PES_OK);
    if (l.symmetry->declare)
        assert_int_equal(l.symmetry->declare(&pes_product_query_key, l.config, &l.shape, 0, l.table), PES_OK);
    size_t count = l.table->num_parameters;
    l.values = pes_arena_take(l.arena, count, sizeof(real));
    for (size_t i = 0; i < count; i++)
        l.values[i] = (real)normal(i);
    l.parameters = (struct pes_parameters){l.table, l.values, pes_arena_take(l.arena, count, sizeof(real))};
    l.symmetry->expand(&pes_product_query_key, l.config, &l.shape, 0, &l.parameters, l.wk, l.bk);
    return l;
}

/* M(d) = W_q^T R(d) W_k of head h, pair t turned by (t + 1) d. */
static void form(const struct layer *l, int head, double d, double m[C][C])
{
    const real *wq = pes_parameters_get(&l->parameters, 0, "attn.wq");
    memset(m, 0, C * C * sizeof m[0][0]);
    for (int t = 0; t < D / 2; t++) {
        int a = head * D + 2 * t, b = a + 1;
        double c = cos((t + 1) * d), s = sin((t + 1) * d);
        for (int x = 0; x < C; x++)
            for (int y = 0; y < C; y++) {
                double qa = (double)wq[a * C + x], qb = (double)wq[b * C + x];
                double ka = (double)l->wk[a * C + y], kb = (double)l->wk[b * C + y];
                m[x][y] += qa * (c * ka - s * kb) + qb * (s * ka + c * kb);
            }
    }
}

/* max |M(d)^T - sign M(-d)| over heads, relative to 1. */
static double asymmetry(const struct layer *l, double d, double sign)
{
    static double forward[C][C], backward[C][C];
    double worst = 0;
    for (int head = 0; head < H; head++) {
        form(l, head, d, forward);
        form(l, head, -d, backward);
        for (int x = 0; x < C; x++)
            for (int y = 0; y < C; y++)
                worst = fmax(worst, fabs(forward[y][x] - sign * backward[x][y]));
    }
    return worst;
}

static void symmetric_keys_make_m_symmetric_at_every_offset(void **state)
{
    (void)state;
    struct layer l = make("symmetric", "rope");
    assert_true(asymmetry(&l, 0, 1) < 1e-5 && asymmetry(&l, 0.7, 1) < 1e-5);
    pes_arena_destroy(l.arena);
    l = make("symmetric", "alibi");
    assert_true(asymmetry(&l, 0, 1) < 1e-5);
    assert_true(asymmetry(&l, 0.7, 1) > 0.1); /* one number per row does not commute with rotation */
    pes_arena_destroy(l.arena);
}

static void antisymmetric_keys_make_m_antisymmetric_at_every_offset(void **state)
{
    (void)state;
    struct layer l = make("antisymmetric", "rope");
    assert_true(asymmetry(&l, 0, -1) < 1e-5 && asymmetry(&l, 0.7, -1) < 1e-5);
    assert_true(asymmetry(&l, 0, 1) > 0.1);
    pes_arena_destroy(l.arena);
}

static void psd_keys_make_every_quadratic_form_non_negative(void **state)
{
    (void)state;
    struct layer l = make("psd", "nope");
    static double m[C][C];
    for (int head = 0; head < H; head++) {
        form(&l, head, 0, m);
        for (int vector = 0; vector < 20; vector++) {
            double sum = 0;
            for (int x = 0; x < C; x++)
                for (int y = 0; y < C; y++)
                    sum += normal((uint64_t)(900 + vector * C + x)) * m[x][y] *
                           normal((uint64_t)(900 + vector * C + y));
            assert_true(sum >= -1e-5);
        }
    }
    assert_true(asymmetry(&l, 0, 1) < 1e-5);
    pes_arena_destroy(l.arena);
}

static void free_keys_are_what_they_are(void **state)
{
    (void)state;
    struct layer l = make("none", "nope");
    assert_memory_equal(l.wk, pes_parameters_get(&l.parameters, 0, "attn.wk"), sizeof l.wk);
    assert_true(asymmetry(&l, 0, 1) > 0.1 && asymmetry(&l, 0, -1) > 0.1);
    pes_arena_destroy(l.arena);
}

static void the_key_bias_follows_the_query_bias_through_the_same_map(void **state)
{
    (void)state;
    static const char *const names[] = {"psd", "symmetric", "antisymmetric"};
    for (size_t i = 0; i < PES_COUNT(names); i++) {
        /* A column of W_q set to the bias must be mapped to the key bias. */
        struct layer l = make(names[i], "rope");
        const struct pes_tensor *wq = pes_tensor_find(l.table, "layers.0.attn.wq");
        const real *bq = pes_parameters_get(&l.parameters, 0, "attn.bq");
        for (size_t row = 0; row < C; row++)
            l.values[wq->offset + row * C] = bq[row];
        l.symmetry->expand(&pes_product_query_key, l.config, &l.shape, 0, &l.parameters, l.wk, l.bk);
        for (size_t row = 0; row < C; row++)
            assert_true(l.wk[row * C] == l.bk[row]);
        pes_arena_destroy(l.arena);
    }
}

static void rows_are_those_of_the_expanded_factor_before_rounding(void **state)
{
    (void)state;
    for (size_t i = 0; pes_symmetries[i]; i++)
        for (int rotary = 0; rotary < 2 && pes_symmetries[i]->map_row; rotary++) {
            struct layer l = make(pes_symmetries[i]->name, rotary ? "rope" : "nope");
            const real *wq = pes_parameters_get(&l.parameters, 0, "attn.wq");
            for (size_t row = 0; row < C; row++) {
                size_t source = C;
                real factor = 0;
                l.symmetry->map_row(&pes_product_query_key, l.config, 0, &l.parameters, row, &source,
                                    &factor);
                assert_true(source < C);
                for (size_t c = 0; c < C; c++)
                    assert_true((real)((double)factor * (double)wq[source * C + c]) == l.wk[row * C + c]);
            }
            pes_arena_destroy(l.arena);
        }
}

/* <dwk, expand(p + h e) - expand(p - h e)> / 2h = <reduce(dwk), e>, exactly for a map that is at most
 * bilinear. */
static void gradients_go_back_through_the_transposed_map(void **state)
{
    (void)state;
    for (size_t i = 0; pes_symmetries[i]; i++)
        for (int rotary = 0; rotary < 2; rotary++) {
            struct layer l = make(pes_symmetries[i]->name, rotary ? "rope" : "nope");
            size_t count = l.table->num_parameters;
            real dwk[C * C], dbk[C];
            for (size_t e = 0; e < C * C; e++)
                dwk[e] = (real)normal(5000 + e);
            for (size_t e = 0; e < C; e++)
                dbk[e] = (real)normal(6000 + e);
            l.symmetry->reduce(&pes_product_query_key, l.config, &l.shape, 0, &l.parameters, dwk, dbk);
            double expected = 0, got = 0;
            for (int sign = -1; sign <= 1; sign += 2) {
                for (size_t e = 0; e < count; e++)
                    l.values[e] = (real)(normal(e) + sign * 0.5 * normal(7000 + e));
                l.symmetry->expand(&pes_product_query_key, l.config, &l.shape, 0, &l.parameters, l.wk, l.bk);
                for (size_t e = 0; e < C * C; e++)
                    expected += sign * (double)l.wk[e] * (double)dwk[e];
                for (size_t e = 0; e < C; e++)
                    expected += sign * (double)l.bk[e] * (double)dbk[e];
            }
            for (size_t e = 0; e < count; e++)
                got += (double)l.parameters.gradient[e] * normal(7000 + e);
            if (fabs(got - expected) > 1e-4) print_error("%s: %g, not %g\n", l.symmetry->name, got, expected);
            assert_true(fabs(got - expected) < 1e-4);
            assert_true(fabs(expected) > 0.1);
            pes_arena_destroy(l.arena);
        }
}

static void scales_are_per_row_or_per_rotary_pair_and_start_with_both_signs(void **state)
{
    (void)state;
    static const struct {
        const char *symmetry, *pe;
        size_t count;
        bool alternates;
    } cases[] = {{"symmetric", "nope", C, true},          {"symmetric", "learned", C, true},
                 {"symmetric", "rope", C / 2, true},      {"symmetric", "xpos", C / 2, true},
                 {"antisymmetric", "nope", C / 2, false}, {"antisymmetric", "rope", C / 2, false}};
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        struct layer l = make(cases[i].symmetry, cases[i].pe);
        const struct pes_tensor *scale = pes_tensor_find(l.table, "layers.0.attn.sym_scale");
        assert_int_equal(scale->count, cases[i].count);
        assert_int_equal(scale->alternate_sign, cases[i].alternates);
        assert_int_equal(scale->role, PES_TENSOR_SCALE);
        assert_null(pes_tensor_find(l.table, "layers.0.attn.wk"));
        pes_arena_destroy(l.arena);
    }
}

static void odd_head_widths_are_refused_where_rows_are_paired(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    struct pes_shape shape = {.C = 15, .H = 3, .D = 5};
    assert_int_equal(
        pes_symmetry_antisymmetric.check(&pes_product_query_key, config_of(arena, "nope"), &shape),
        PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "5 wide"));
    assert_int_equal(pes_symmetry_symmetric.check(&pes_product_query_key, config_of(arena, "rope"), &shape),
                     PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "5 wide"));
    assert_int_equal(pes_symmetry_symmetric.check(&pes_product_query_key, config_of(arena, "nope"), &shape),
                     PES_OK);
    pes_arena_destroy(arena);
}

static void the_tables_find_every_row_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; pes_symmetries[i]; i++) {
        assert_ptr_equal(pes_symmetry_find(pes_symmetry_names[i]), pes_symmetries[i]);
        assert_true(strlen(pes_symmetries[i]->summary) > 0 && strlen(pes_symmetries[i]->source) > 0);
    }
    for (size_t i = 0; pes_penalties[i]; i++)
        assert_ptr_equal(pes_penalty_find(pes_penalty_names[i]), pes_penalties[i]);
    assert_null(pes_symmetry_find("skew"));
    assert_null(pes_penalty_find("skew"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symmetric_keys_make_m_symmetric_at_every_offset),
        cmocka_unit_test(antisymmetric_keys_make_m_antisymmetric_at_every_offset),
        cmocka_unit_test(psd_keys_make_every_quadratic_form_non_negative),
        cmocka_unit_test(free_keys_are_what_they_are),
        cmocka_unit_test(the_key_bias_follows_the_query_bias_through_the_same_map),
        cmocka_unit_test(rows_are_those_of_the_expanded_factor_before_rounding),
        cmocka_unit_test(gradients_go_back_through_the_transposed_map),
        cmocka_unit_test(scales_are_per_row_or_per_rotary_pair_and_start_with_both_signs),
        cmocka_unit_test(odd_head_widths_are_refused_where_rows_are_paired),
        cmocka_unit_test(the_tables_find_every_row_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
