/* Positional schemes against published values and hand calculation. */
#include "position_support.h"

#include "pesweep/kernels.h"

static const double tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-6;

static struct pes_shape shape_of(int T, int C, int H, bool causal)
{
    return (struct pes_shape){.T = T, .C = C, .H = H, .L = 1, .V = 2, .classes = 2, .causal = causal};
}

/* --- added to the embedding --------------------------------------------------------------------------- */

static void sinusoids_work_for_odd_and_even_widths(void **state)
{
    (void)state;
    static const double five[] = {0.841471, 0.540302, 0.025116, 0.999685, 0.000631};
    static const double four[] = {0.841471, 0.540302, 0.010000, 0.999950};
    real table[10];
    struct support s = support_make("sinusoidal", "", shape_of(2, 5, 1, false));
    s.position->embed_forward(&s.site, &s.parameters, 2, table);
    for (int c = 0; c < 5; c++) {
        support_assert_near((double)table[c], c % 2, 0); /* position 0 */
        support_assert_near((double)table[5 + c], five[c], 5e-7);
    }
    support_free(&s);
    s = support_make("sinusoidal", "", shape_of(2, 4, 1, false));
    s.position->embed_forward(&s.site, &s.parameters, 2, table);
    for (int c = 0; c < 4; c++)
        support_assert_near((double)table[4 + c], four[c], 5e-7);
    support_free(&s);
}

static void learned_positions_read_their_rows_and_shorter_sequences_the_first_of_them(void **state)
{
    (void)state;
    struct support s = support_make("learned", "", shape_of(6, 4, 1, false));
    real table[12], ones[12];
    s.position->embed_forward(&s.site, &s.parameters, 3, table);
    assert_memory_equal(table, s.values, sizeof table);
    for (int i = 0; i < 12; i++)
        ones[i] = (real)i;
    s.position->embed_backward(&s.site, &s.parameters, 3, ones);
    for (int i = 0; i < 24; i++)
        assert_true(s.parameters.gradient[i] == (i < 12 ? (real)i : 0));
    support_free(&s);
}

/* --- rotation ----------------------------------------------------------------------------------------- */

/* x rotated to a position by the kernel's convention. */
static void rotate(const real *table, int pairs, int position, const double *x, double *out)
{
    for (int t = 0; t < pairs; t++) {
        double c = (double)table[(position * pairs + t) * 2],
               s = (double)table[(position * pairs + t) * 2 + 1];
        out[2 * t] = c * x[2 * t] - s * x[2 * t + 1];
        out[2 * t + 1] = s * x[2 * t] + c * x[2 * t + 1];
    }
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void rope_pairs_adjacent_columns(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4}, expected[] = {-1.142640, 1.922076, 2.959851, 4.029800};
    struct support s = support_make("rope", "", shape_of(106, 4, 1, false));
    assert_int_equal(s.position->rotation_pairs(&s.site, 4), 2);
    real q[106 * 4], k[106 * 4];
    double frequencies[2], out[4], other[4];
    s.position->rotation(&s.site, 106, 2, q, k, frequencies);
    support_assert_near(frequencies[0], 1, 0);
    support_assert_near(frequencies[1], 0.01, 1e-15);
    rotate(q, 2, 1, x, out);
    for (int c = 0; c < 4; c++)
        support_assert_near(out[c], expected[c], 1e-6);
    support_assert_near(dot(out, out, 4), 30, 30 * tolerance);
    rotate(q, 2, 0, x, out);
    assert_memory_equal(out, x, sizeof x); /* position 0 is left alone */
    static const double y[] = {0.3, -1, 2, 0.7};
    double products[2];
    static const int places[2][2] = {{5, 2}, {105, 102}};
    for (int i = 0; i < 2; i++) {
        rotate(q, 2, places[i][0], x, out);
        rotate(k, 2, places[i][1], y, other);
        products[i] = dot(out, other, 4);
    }
    support_assert_near(products[0], products[1], 30 * tolerance);
    support_free(&s);
}

static void a_share_of_the_columns_rotates_by_frequencies_of_its_own_width(void **state)
{
    (void)state;
    struct support s = support_make("rope", "rotary_fraction=0.25", shape_of(4, 32, 2, false));
    assert_int_equal(s.position->check(&s.site), PES_OK);
    assert_int_equal(s.position->rotation_pairs(&s.site, 16), 2);
    double frequencies[2];
    s.position->rotation(&s.site, 4, 2, NULL, NULL, frequencies);
    support_assert_near(frequencies[1], 0.01, 1e-15); /* 10000^(-2/4) */
    support_free(&s);
}

static void odd_widths_are_refused_with_the_number(void **state)
{
    (void)state;
    struct support s = support_make("rope", "", shape_of(4, 10, 2, false));
    support_assert_refused(&s, "width 5", "5 columns");
    support_free(&s);
    s = support_make("rope", "rotary_fraction=0.75", shape_of(4, 4, 1, false));
    support_assert_refused(&s, "0.75", "3 columns");
    support_free(&s);
    s = support_make("xpos", "", shape_of(4, 21, 3, true));
    support_assert_refused(&s, "width 7", "7 columns");
    support_free(&s);
}

static void check_frequencies(const char *settings, int width, const int *at, const double *expected,
                              size_t n)
{
    double frequencies[64];
    struct support s = support_make("rope", settings, shape_of(4, width, 1, false));
    assert_int_equal(s.position->check(&s.site), PES_OK);
    s.position->rotation(&s.site, 4, width / 2, NULL, NULL, frequencies);
    for (size_t i = 0; i < n; i++)
        support_assert_near(frequencies[at[i]], expected[i], 3e-6 * expected[i]);
    support_free(&s);
}

static void frequency_rules_match_the_released_models(void **state)
{
    (void)state;
    static const int llama_at[] = {0, 28, 29, 30, 31, 32, 33, 34, 35, 63};
    static const double llama[] = {1,          .00321145,  .00216657,  .00137189,  .000856751,
                                   .000524846, .000312694, .000178508, 9.55621e-5, 3.06893e-7};
    check_frequencies("rope_base=5e5 rope_scaling=llama3 rope_factor=8 rope_original_length=8192", 128,
                      llama_at, llama, PES_COUNT(llama));
    static const int small_at[] = {15, 16, 17, 18, 31};
    static const double small[] = {.00129055, .000429557, 9.70829e-5, 1.94616e-5, 9.41831e-8};
    check_frequencies("rope_base=5e5 rope_scaling=llama3 rope_factor=32 rope_original_length=8192", 64,
                      small_at, small, PES_COUNT(small));
    static const int yarn_at[] = {10, 11, 16, 22, 23, 31};
    static const double yarn[] = {.0562341, .0390069, .0055, .000177828, 3.33380e-5, 3.33380e-6};
    check_frequencies("rope_scaling=yarn rope_factor=40 rope_original_length=4096", 64, yarn_at, yarn,
                      PES_COUNT(yarn));
    static const int linear_at[] = {0, 1};
    static const double linear[] = {0.25, 0.0025};
    check_frequencies("rope_scaling=linear rope_factor=4", 4, linear_at, linear, 2);
    /* T = 4 of 2: base 10000 * (4 * 4/2 - 3)^(8/6), and w_1 = base^(-2/8). */
    static const int ntk_at[] = {1};
    const double ntk[] = {pow(10000 * pow(5, 8.0 / 6), -0.25)};
    check_frequencies("rope_scaling=ntk rope_factor=4 rope_original_length=2", 8, ntk_at, ntk, 1);
}

static void yarn_scales_the_rotary_scores(void **state)
{
    (void)state;
    struct support s = support_make("rope", "rope_scaling=yarn rope_factor=40 rope_original_length=4096",
                                    shape_of(3, 64, 1, false));
    real q[3 * 64];
    s.position->rotation(&s.site, 3, 32, q, NULL, NULL);
    support_assert_near((double)q[0], 1.3688879, 1e-6);
    support_free(&s);
}

static void settings_that_a_rule_does_not_read_are_refused(void **state)
{
    (void)state;
    struct support s = support_make("rope", "rope_factor=4", shape_of(4, 4, 1, false));
    support_assert_refused(&s, "rope_factor 4", "none");
    support_free(&s);
    s = support_make("rope", "rope_scaling=yarn rope_factor=4", shape_of(4, 4, 1, false));
    support_assert_refused(&s, "yarn", "rope_original_length");
    support_free(&s);
    s = support_make("rope", "rope_original_length=9", shape_of(4, 4, 1, false));
    support_assert_refused(&s, "rope_original_length", "9");
    support_free(&s);
    s = support_make("xpos", "", shape_of(4, 4, 1, false));
    support_assert_refused(&s, "xpos", "model.causal");
    support_free(&s);
}

static void xpos_scores_shrink_with_the_distance(void **state)
{
    (void)state;
    struct support s = support_make("xpos", "xpos_scale_base=8", shape_of(20, 4, 1, true));
    real q[20 * 4], k[20 * 4];
    s.position->rotation(&s.site, 20, 2, q, k, NULL);
    const double a[] = {1, 0, 0, 0}, b[] = {1, 0, 0, 0};
    double out[4], other[4];
    rotate(q, 2, 17, a, out);
    rotate(k, 2, 12, b, other);
    double zeta = 0.4 / 1.4; /* pair 0 */
    support_assert_near(dot(out, other, 4), cos(5) * pow(zeta, 5.0 / 8), 10 * tolerance);
    support_free(&s);
}

/* --- biases ------------------------------------------------------------------------------------------- */

static double slope_of(const struct support *s, int head)
{
    real bias[3];
    s->position->bias_forward(&s->site, &s->parameters, 0, head, 2, bias);
    assert_true(bias[0] == bias[2] && bias[1] == 0);
    return -(double)bias[2];
}

static void alibi_slopes_follow_the_reference_rule_for_every_head_count(void **state)
{
    (void)state;
    static const double one[] = {0.00390625}, three[] = {0.0625, 0.00390625, 0.25};
    static const double six[] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
    static const double eight[] = {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625};
    static const double twelve[] = {0.5,       0.25,       0.125,      0.0625,     0.03125,    0.015625,
                                    0.0078125, 0.00390625, 0.70710678, 0.35355339, 0.17677670, 0.08838835};
    static const struct {
        int H;
        const double *slopes;
    } cases[] = {{1, one}, {3, three}, {6, six}, {8, eight}, {12, twelve}};
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        struct support s = support_make("alibi", "", shape_of(2, cases[i].H, cases[i].H, false));
        s.site.heads = 0x30; /* slopes are not recomputed for the heads that the scheme acts on */
        for (int head = 0; head < cases[i].H; head++)
            support_assert_near(slope_of(&s, head), cases[i].slopes[head], 5e-8);
        support_free(&s);
    }
    static const int at[] = {0, 63, 64, 111};
    static const double many[] = {.9170040, .00390625, .9576033, .0163168}; /* 112 heads, as BLOOM-176B */
    struct support s = support_make("alibi", "", shape_of(2, 112, 112, false));
    for (size_t i = 0; i < PES_COUNT(at); i++)
        support_assert_near(slope_of(&s, at[i]), many[i], 1e-7);
    support_free(&s);
}

static void exponential_slopes_are_those_of_the_published_code(void **state)
{
    (void)state;
    struct support s = support_make("alibi", "alibi_slopes=exponential", shape_of(2, 4, 4, false));
    for (int head = 0; head < 4; head++)
        support_assert_near(slope_of(&s, head), exp(-head / 4.0), tolerance);
    support_free(&s);
}

/* Probabilities of four tokens whose content scores are all 0, under head 0 of 8: slope 0.5. */
static void attend(bool causal, real *probabilities)
{
    struct support s = support_make("alibi", "", shape_of(4, 8, 8, causal));
    const real zeros[4] = {0};
    real padded[64 + 7 + 64] = {0}, *bias = padded + 64;
    s.position->bias_forward(&s.site, &s.parameters, 0, 0, 4, bias);
    struct pes_attention attention = {.T = 4,
                                      .width = 1,
                                      .value_width = 1,
                                      .q = zeros,
                                      .k = zeros,
                                      .v = zeros,
                                      .q_ld = 1,
                                      .k_ld = 1,
                                      .v_ld = 1,
                                      .scale = 1,
                                      .causal = causal,
                                      .bias = bias + 3,
                                      .bias_key_stride = -1};
    real *scratch = pes_arena_take(s.arena, pes_attention_scratch(4, 1, 1), sizeof *scratch);
    pes_attention_scores(&attention, NULL, probabilities, scratch);
    support_free(&s);
}

static void alibi_prefers_near_tokens_on_both_sides(void **state)
{
    (void)state;
    static const double expected[] = {0.101536, 0.167405, 0.276004, 0.455054};
    real p[16];
    attend(true, p);
    for (int j = 0; j < 4; j++)
        support_assert_near((double)p[12 + j], expected[j], 1e-6);
    assert_true(p[1] == 0 && p[2] == 0 && p[3] == 0 && p[7] == 0);
    attend(false, p);
    support_assert_near((double)p[4], (double)p[4 + 2], 1e-7); /* query 1: keys 0 and 2 */
    for (int j = 0; j < 4; j++)
        support_assert_near((double)p[j], (double)p[12 + 3 - j], 1e-7);
}

static int bucket_at(const struct support *s, int offset)
{
    real bias[399];
    s->position->bias_forward(&s->site, &s->parameters, 0, 0, 200, bias);
    return (int)(double)bias[199 - offset]; /* entry of query - key */
}

/* A table whose row b holds b shows the bucket of every offset. */
static struct support bucket_table(const char *name, const char *settings, bool causal, const char *tensor)
{
    struct support s = support_make(name, settings, shape_of(200, 2, 1, causal));
    const struct pes_tensor *table = pes_tensor_find(s.table, tensor);
    for (size_t b = 0; b < table->shape[0]; b++)
        s.values[table->offset + b] = (real)b;
    return s;
}

static void t5_buckets_start_at_the_published_distances(void **state)
{
    (void)state;
    static const int causal[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113};
    static const int both[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
    static const char *const names[] = {"t5", "t5_per_layer"}, *const tensors[] = {"t5_bias",
                                                                                   "layers.0.attn.t5_bias"};
    for (int n = 0; n < 2; n++) {
        struct support s = bucket_table(names[n], "", true, tensors[n]);
        for (int b = 0; b < 32; b++) {
            assert_int_equal(bucket_at(&s, -causal[b]), b);
            if (b) assert_int_equal(bucket_at(&s, 1 - causal[b]), b - 1);
        }
        assert_int_equal(bucket_at(&s, -199), 31);
        assert_int_equal(bucket_at(&s, 7), 0); /* keys after the query share bucket 0 */
        support_free(&s);
        s = bucket_table(names[n], "", false, tensors[n]);
        for (int b = 0; b < 16; b++) {
            assert_int_equal(bucket_at(&s, -both[b]), b);
            if (b) assert_int_equal(bucket_at(&s, both[b]), 16 + b);
        }
        assert_int_equal(bucket_at(&s, -199), 15);
        assert_int_equal(bucket_at(&s, 199), 31);
        support_free(&s);
    }
}

static void relative_tables_are_indexed_by_key_minus_query(void **state)
{
    (void)state;
    struct support s = support_make("relative", "", shape_of(5, 3, 3, false));
    const struct pes_tensor *table = pes_tensor_find(s.table, "layers.0.attn.rel_bias");
    assert_int_equal(table->shape[0], 9);
    assert_int_equal(table->shape[1], 3);
    real bias[7]; /* T = 4: entry of query - key at 3 */
    s.position->bias_forward(&s.site, &s.parameters, 0, 2, 4, bias);
    for (int offset = -3; offset <= 3; offset++)
        assert_true(bias[3 - offset] == s.values[table->offset + (size_t)((offset + 4) * 3 + 2)]);
    support_free(&s);
}

static void learned_slopes_start_at_those_of_alibi(void **state)
{
    (void)state;
    struct support s = support_make("alibi_learned", "", shape_of(2, 6, 6, false));
    s.values[4] = 0;
    support_assert_near(slope_of(&s, 4), 0.5, tolerance);
    s.values[4] = (real)log(3);
    support_assert_near(slope_of(&s, 4), 1.5, 4 * tolerance);
    support_free(&s);
}

static void kerple_kernels_follow_their_formulas(void **state)
{
    (void)state;
    real bias[9];
    struct support s = support_make("kerple", "", shape_of(5, 2, 2, false));
    s.values[1] = (real)log(2), s.values[3] = (real)log(0.5); /* head 1: r1 = 2, r2 = 0.5 */
    s.position->bias_forward(&s.site, &s.parameters, 0, 1, 5, bias);
    support_assert_near((double)bias[4], 0, 0);
    support_assert_near((double)bias[4 + 3], -2 * log(2.5), 4 * tolerance);
    support_assert_near((double)bias[4 - 3], -2 * log(2.5), 4 * tolerance);
    support_free(&s);
    s = support_make("kerple", "kerple_kernel=power", shape_of(5, 2, 2, false));
    s.values[1] = (real)log(3), s.values[3] = 0; /* a = 3, p = 1 */
    s.position->bias_forward(&s.site, &s.parameters, 0, 1, 5, bias);
    support_assert_near((double)bias[4 + 4], -12, 12 * tolerance);
    support_assert_near((double)bias[4], 0, 0);
    support_free(&s);
}

static void fire_sees_the_distance_relative_to_the_position(void **state)
{
    (void)state;
    struct support s = support_make("fire", "fire_c=2 fire_threshold=3", shape_of(6, 1, 1, true));
    for (size_t i = 0; i < s.table->num_parameters; i++)
        s.values[i] = 0;
    /* One hidden unit: bias = 5 relu(u - 0.25) + 0.5, c and L as they start. */
    s.values[pes_tensor_find(s.table, "layers.0.attn.fire_c")->offset] = 1;
    s.values[pes_tensor_find(s.table, "layers.0.attn.fire_limit")->offset] = 1;
    s.values[pes_tensor_find(s.table, "layers.0.attn.fire_w1")->offset] = 1;
    s.values[pes_tensor_find(s.table, "layers.0.attn.fire_b1")->offset] = (real)-0.25;
    s.values[pes_tensor_find(s.table, "layers.0.attn.fire_w2")->offset] = 5;
    s.values[pes_tensor_find(s.table, "layers.0.attn.fire_b2")->offset] = (real)0.5;
    real bias[36]; /* [key][query] */
    s.position->bias_forward(&s.site, &s.parameters, 0, 0, 6, bias);
    support_assert_near((double)bias[2 * 6 + 5], 5 * (log(7) / log(11) - 0.25) + 0.5, 10 * tolerance);
    support_assert_near((double)bias[1 * 6 + 2], 5 * (log(3) / log(7) - 0.25) + 0.5, 10 * tolerance);
    support_assert_near((double)bias[4 * 6 + 4], 0.5, 0);
    support_free(&s);
}

static void shaw_compares_the_query_with_the_vector_of_the_clipped_offset(void **state)
{
    (void)state;
    struct support s = support_make("shaw", "shaw_clip=1", shape_of(4, 2, 1, false));
    static const real vectors[] = {1, 2, 3, 4, 5, 6}, q[] = {1, 0, 0, 1, 1, 1, 2, -1};
    memcpy(s.values + pes_tensor_find(s.table, "layers.0.attn.rel_keys")->offset, vectors, sizeof vectors);
    real bias[16] = {0};
    s.position->content_bias_forward(&s.site, &s.parameters, 0, 0, 4, q, 2, 0.5, bias);
    /* Query 2 = (1, 1): keys 0 and 1 before it, itself, key 3 after it. */
    static const double expected[] = {1.5, 1.5, 3.5, 5.5};
    for (int j = 0; j < 4; j++)
        support_assert_near((double)bias[j * 4 + 2], expected[j], 0);
    for (int j = 1; j < 4; j++) /* query 0 = (1, 0): all keys after it share the last vector */
        support_assert_near((double)bias[j * 4], 2.5, 0);
    support_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sinusoids_work_for_odd_and_even_widths),
        cmocka_unit_test(learned_positions_read_their_rows_and_shorter_sequences_the_first_of_them),
        cmocka_unit_test(rope_pairs_adjacent_columns),
        cmocka_unit_test(a_share_of_the_columns_rotates_by_frequencies_of_its_own_width),
        cmocka_unit_test(odd_widths_are_refused_with_the_number),
        cmocka_unit_test(frequency_rules_match_the_released_models),
        cmocka_unit_test(yarn_scales_the_rotary_scores),
        cmocka_unit_test(settings_that_a_rule_does_not_read_are_refused),
        cmocka_unit_test(xpos_scores_shrink_with_the_distance),
        cmocka_unit_test(alibi_slopes_follow_the_reference_rule_for_every_head_count),
        cmocka_unit_test(exponential_slopes_are_those_of_the_published_code),
        cmocka_unit_test(alibi_prefers_near_tokens_on_both_sides),
        cmocka_unit_test(t5_buckets_start_at_the_published_distances),
        cmocka_unit_test(relative_tables_are_indexed_by_key_minus_query),
        cmocka_unit_test(learned_slopes_start_at_those_of_alibi),
        cmocka_unit_test(kerple_kernels_follow_their_formulas),
        cmocka_unit_test(fire_sees_the_distance_relative_to_the_position),
        cmocka_unit_test(shaw_compares_the_query_with_the_vector_of_the_clipped_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
