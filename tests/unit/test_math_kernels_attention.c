/* test_math_kernels_attention.c - fused attention, both passes, against the slow reference. */
#include "kernel_cases.h"

enum { BIAS_NONE, BIAS_TOEPLITZ, BIAS_DENSE };
enum { MARGIN = 64 }; /* elements around a bias that may be read */

/* What one case has; columns of q, k, v lie `spare` apart from being contiguous. */
struct attention_case {
    int T, width, value_width;
    bool causal, masked;
    int pairs, rotated_first, bias;
    double rate;
    size_t spare;
};

static const struct attention_case CASES[] = {
    {1, 16, 16, false, false, 0, 0, BIAS_NONE, 0, 0},
    {5, 8, 8, true, false, 0, 0, BIAS_NONE, 0, 3},
    {16, 16, 16, false, true, 8, 0, BIAS_NONE, 0, 32},
    {31, 16, 16, true, true, 4, 4, BIAS_TOEPLITZ, 0, 0},
    {32, 16, 16, false, false, 8, 0, BIAS_NONE, 0.1, 48},
    {33, 32, 32, true, false, 16, 0, BIAS_DENSE, 0.3, 0},
    {64, 64, 64, true, true, 0, 0, BIAS_TOEPLITZ, 0.5, 0},
    {100, 10, 10, false, true, 3, 2, BIAS_DENSE, 0.2, 1},
    {128, 16, 16, false, false, 0, 0, BIAS_NONE, 0, 240},
    {130, 24, 12, true, true, 5, 7, BIAS_TOEPLITZ, 0.1, 5},
    {131, 1, 1, false, false, 0, 0, BIAS_TOEPLITZ, 0, 0},
    {140, 48, 80, true, false, 9, 30, BIAS_NONE, 0.1, 0},
    {260, 32, 32, true, true, 16, 0, BIAS_DENSE, 0.1, 0},
    {257, 8, 20, false, true, 4, 0, BIAS_TOEPLITZ, 0.7, 0},
    {50, 256, 256, false, true, 128, 0, BIAS_NONE, 0, 0},
    {40, 100, 37, true, false, 1, 97, BIAS_NONE, 0.05, 2},
};

struct attention_data {
    struct pes_attention a;
    size_t o_ld, q_count, v_count, bias_count;
    real *d_o, *bias, *dbias;
    uint8_t *mask;
};

static real *rotation_table(struct pes_arena *arena, int T, int pairs, double scale_step)
{
    real *table = pes_arena_take(arena, (size_t)(T * pairs * 2 + 1), sizeof *table);
    for (int i = 0; i < T; i++) {
        for (int t = 0; t < pairs; t++) {
            double angle = i * pow(100, -(double)t / pairs), scale = 1 + scale_step * i;
            table[(i * pairs + t) * 2] = (real)(scale * cos(angle));
            table[(i * pairs + t) * 2 + 1] = (real)(scale * sin(angle));
        }
    }
    return table;
}

static struct attention_data attention_data(struct pes_arena *arena, const struct attention_case *c)
{
    struct attention_data d = {.o_ld = (size_t)c->value_width + c->spare};
    size_t T = (size_t)c->T, q_ld = (size_t)c->width + c->spare, v_ld = (size_t)c->value_width + c->spare;
    d.q_count = T * q_ld;
    d.v_count = T * v_ld;
    d.a = (struct pes_attention){.T = c->T,
                                 .width = c->width,
                                 .value_width = c->value_width,
                                 .q_ld = q_ld,
                                 .k_ld = q_ld,
                                 .v_ld = v_ld,
                                 .scale = 1 / sqrt(c->width),
                                 .causal = c->causal,
                                 .pairs = c->pairs,
                                 .rotated_first = c->rotated_first,
                                 .dropout = {c->rate, {11, PES_RNG_DROPOUT, 2}, 3 * T}};
    d.a.q = random_values(arena, d.q_count, 1, 1.5);
    d.a.k = random_values(arena, d.q_count, 2, 1.5);
    d.a.v = random_values(arena, d.v_count, 3, 1);
    d.d_o = random_values(arena, d.v_count, 4, 1);
    if (c->masked) {
        d.mask = pes_arena_take(arena, T, 1);
        for (size_t j = 0; j < T; j++)
            d.mask[j] = j > 1 && j % 5 != 3 && j < T - T / 4;
        d.a.mask = d.mask;
    }
    if (c->pairs) {
        d.a.rotation_q = rotation_table(arena, c->T, c->pairs, 0.01);
        d.a.rotation_k = rotation_table(arena, c->T, c->pairs, -0.001);
    }
    if (c->bias != BIAS_NONE) {
        d.bias_count = (c->bias == BIAS_DENSE ? T * T : 2 * T) + 2 * MARGIN;
        d.bias = random_values(arena, d.bias_count, 5, 1);
        d.dbias = random_values(arena, d.bias_count, 6, 1);
        d.a.bias_key_stride = c->bias == BIAS_DENSE ? c->T : -1;
        d.a.bias = d.bias + MARGIN + (c->bias == BIAS_DENSE ? 0 : T - 1);
    }
    return d;
}

struct attention_result {
    real *o, *log_sum_exp, *dq, *dk, *dv, *dbias, *scores, *probabilities;
};

/* Everything that the kernels of the chosen instruction set make of the case; untouched elements hold 7. */
static struct attention_result attention_run(struct pes_arena *arena, const struct attention_data *d)
{
    size_t T = (size_t)d->a.T;
    real *sevens = pes_arena_take(arena, d->q_count + d->v_count, sizeof *sevens);
    for (size_t i = 0; i < d->q_count + d->v_count; i++)
        sevens[i] = 7;
    struct attention_result r = {.o = copied(arena, sevens, d->v_count),
                                 .log_sum_exp = pes_arena_take(arena, T, sizeof(real)),
                                 .dq = copied(arena, sevens, d->q_count),
                                 .dk = copied(arena, sevens, d->q_count),
                                 .dv = copied(arena, sevens, d->v_count),
                                 .scores = pes_arena_take(arena, T * T, sizeof(real)),
                                 .probabilities = pes_arena_take(arena, T * T, sizeof(real))};
    real *scratch =
        pes_arena_take(arena, pes_attention_scratch(d->a.T, d->a.width, d->a.value_width), sizeof *scratch);
    real *dbias = NULL;
    if (d->bias) {
        r.dbias = copied(arena, d->dbias, d->bias_count);
        dbias = r.dbias + (d->a.bias - d->bias);
    }
    pes_attention_forward(&d->a, r.o, d->o_ld, r.log_sum_exp, scratch);
    pes_attention_backward(&d->a, r.o, d->o_ld, r.log_sum_exp, d->d_o, d->o_ld, r.dq, r.dk, r.dv, dbias,
                           scratch);
    pes_attention_scores(&d->a, r.scores, r.probabilities, scratch);
    return r;
}

static void both_passes_agree_with_the_reference(void **state)
{
    (void)state;
    for (size_t number = 0; number < PES_COUNT(CASES); number++) {
        struct pes_arena *arena = pes_arena_create();
        struct attention_data d = attention_data(arena, &CASES[number]);
        size_t T = (size_t)d.a.T;
        use("reference");
        struct attention_result wanted = attention_run(arena, &d);
        FOR_EACH_ISA({
            struct attention_result got = attention_run(arena, &d);
            double size = 4 + 0.2 * (double)T;
            assert_near("o", got.o, wanted.o, d.v_count, 40, 4);
            assert_near("log_sum_exp", got.log_sum_exp, wanted.log_sum_exp, T, 40, 4);
            assert_near("dv", got.dv, wanted.dv, d.v_count, 60, size);
            assert_near("dq", got.dq, wanted.dq, d.q_count, 60, size);
            assert_near("dk", got.dk, wanted.dk, d.q_count, 60, size);
            if (d.bias) assert_near("dbias", got.dbias, wanted.dbias, d.bias_count, 60, size);
            assert_near("scores", got.scores, wanted.scores, T * T, 60, 8);
            assert_near("probabilities", got.probabilities, wanted.probabilities, T * T, 60, 1);
        })
        pes_arena_destroy(arena);
    }
}

/* Hand calculation: two queries, causal; the first sees one key, the second weighs two with e^1 : e^0. */
static void two_positions_have_the_values_worked_out_by_hand(void **state)
{
    (void)state;
    real q[2] = {3, 2}, k[2] = {1, 0.5}, v[2] = {10, 20}, o[2], lse[2], d_o[2] = {1, 1}, dq[2], dk[2], dv[2];
    struct pes_attention a = {.T = 2,
                              .width = 1,
                              .value_width = 1,
                              .q = q,
                              .k = k,
                              .v = v,
                              .q_ld = 1,
                              .k_ld = 1,
                              .v_ld = 1,
                              .scale = 1,
                              .causal = true};
    struct pes_arena *arena = pes_arena_create();
    real *scratch = pes_arena_take(arena, pes_attention_scratch(2, 1, 1), sizeof *scratch);
    const double p = 0.73105857863000487925; /* e/(e + 1) */
    const double o1 = 10 * p + 20 * (1 - p), ds = p * (10 - o1);
    const real wanted_o[2] = {10, (real)o1}, wanted_lse[2] = {3, (real)2.3132616875182228340};
    const real wanted_dv[2] = {(real)(1 + p), (real)(1 - p)}, wanted_dq[2] = {0, (real)(ds * 0.5)};
    const real wanted_dk[2] = {(real)(2 * ds), (real)(-2 * ds)};
    FOR_EACH_ISA({
        pes_attention_forward(&a, o, 1, lse, scratch);
        pes_attention_backward(&a, o, 1, lse, d_o, 1, dq, dk, dv, NULL, scratch);
        assert_near("o", o, wanted_o, 2, 4, 20);
        assert_near("log_sum_exp", lse, wanted_lse, 2, 4, 4);
        assert_near("dv", dv, wanted_dv, 2, 4, 2);
        assert_near("dq", dq, wanted_dq, 2, 8, 10);
        assert_near("dk", dk, wanted_dk, 2, 8, 10);
    })
    pes_arena_destroy(arena);
}

/* Causal, and the only key that query 1 could see besides padding is hidden too. */
static void a_query_without_a_visible_key_gets_zeros_and_harms_nobody(void **state)
{
    (void)state;
    struct attention_case c = {4, 16, 16, true, false, 8, 0, BIAS_TOEPLITZ, 0, 0};
    struct pes_arena *arena = pes_arena_create();
    struct attention_data d = attention_data(arena, &c);
    uint8_t mask[4] = {0, 0, 1, 1};
    d.a.mask = mask;
    use("reference");
    struct attention_result wanted = attention_run(arena, &d);
    FOR_EACH_ISA({
        struct attention_result got = attention_run(arena, &d);
        for (int i = 0; i < 32; i++) {
            assert_true(got.o[i] == 0 && got.dq[i] == 0 && got.dk[i] == 0 && got.dv[i] == 0);
        }
        for (int i = 0; i < 8; i++)
            assert_true(got.probabilities[i] == 0);
        assert_true(got.log_sum_exp[0] == -(real)INFINITY && got.log_sum_exp[1] == -(real)INFINITY);
        assert_near("o", got.o, wanted.o, d.v_count, 30, 4);
        assert_near("dq", got.dq, wanted.dq, d.q_count, 30, 4);
        assert_near("dk", got.dk, wanted.dk, d.q_count, 30, 4);
        assert_near("dbias", got.dbias, wanted.dbias, d.bias_count, 30, 4);
    })
    pes_arena_destroy(arena);
}

static void a_sequence_of_padding_alone_gives_zeros(void **state)
{
    (void)state;
    struct attention_case c = {37, 16, 16, false, false, 0, 0, BIAS_NONE, 0.1, 0};
    struct pes_arena *arena = pes_arena_create();
    struct attention_data d = attention_data(arena, &c);
    uint8_t mask[37] = {0};
    d.a.mask = mask;
    FOR_EACH_ISA({
        struct attention_result got = attention_run(arena, &d);
        for (size_t i = 0; i < d.q_count; i++) {
            assert_true(got.o[i] == 0 && got.dq[i] == 0 && got.dk[i] == 0 && got.dv[i] == 0);
        }
    })
    pes_arena_destroy(arena);
}

/* What stands at hidden positions must not matter, not even NaN in their values' rows. */
static void hidden_keys_do_not_matter(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    struct attention_data d = attention_data(arena, &CASES[7]);
    real *k = copied(arena, d.a.k, d.q_count);
    real *v = copied(arena, d.a.v, d.v_count);
    FOR_EACH_ISA({
        struct attention_result first = attention_run(arena, &d);
        for (int j = 0; j < d.a.T; j++) {
            if (d.mask[j]) continue;
            k[(size_t)j * d.a.k_ld] = (real)NAN;
            v[(size_t)j * d.a.v_ld + 1] = (real)NAN;
        }
        struct attention_data other = d;
        other.a.k = k;
        other.a.v = v;
        struct attention_result second = attention_run(arena, &other);
        assert_same_bytes("o", second.o, first.o, d.v_count);
        assert_same_bytes("dq", second.dq, first.dq, d.q_count);
        assert_same_bytes("dk", second.dk, first.dk, d.q_count);
    })
    pes_arena_destroy(arena);
}

static void nan_in_a_query_stays_in_its_row(void **state)
{
    (void)state;
    struct attention_case c = {40, 16, 16, false, false, 0, 0, BIAS_NONE, 0, 0};
    struct pes_arena *arena = pes_arena_create();
    struct attention_data d = attention_data(arena, &c);
    real *q = copied(arena, d.a.q, d.q_count);
    q[5 * 16 + 3] = (real)NAN;
    d.a.q = q;
    FOR_EACH_ISA({
        struct attention_result got = attention_run(arena, &d);
        for (size_t i = 0; i < d.v_count; i++)
            assert_int_equal(isnan(got.o[i]) != 0, i / 16 == 5);
        assert_true(isnan(got.dk[0]));
    })
    pes_arena_destroy(arena);
}

/* Scores far from 0 neither overflow nor lose the small ones. */
static void large_scores_are_safe(void **state)
{
    (void)state;
    struct attention_case c = {150, 16, 16, false, false, 0, 0, BIAS_TOEPLITZ, 0, 0};
    struct pes_arena *arena = pes_arena_create();
    struct attention_data d = attention_data(arena, &c);
    for (size_t i = 0; i < d.bias_count; i++)
        d.bias[i] *= 300;
    use("reference");
    struct attention_result wanted = attention_run(arena, &d);
    FOR_EACH_ISA({
        struct attention_result got = attention_run(arena, &d);
        assert_near("o", got.o, wanted.o, d.v_count, 1500, 3);
        assert_near("log_sum_exp", got.log_sum_exp, wanted.log_sum_exp, 150, 8, 1000);
    })
    pes_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_passes_agree_with_the_reference),
        cmocka_unit_test(two_positions_have_the_values_worked_out_by_hand),
        cmocka_unit_test(a_query_without_a_visible_key_gets_zeros_and_harms_nobody),
        cmocka_unit_test(a_sequence_of_padding_alone_gives_zeros),
        cmocka_unit_test(hidden_keys_do_not_matter),
        cmocka_unit_test(nan_in_a_query_stays_in_its_row),
        cmocka_unit_test(large_scores_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
