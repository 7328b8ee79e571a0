/* test_pretrained_rotation.c - rotary frequencies of published models, as their rules give them, and the
 * rules that no fixture has. */
#include "pretrained_edit.h"

#include <math.h>

/* A LLaMA of one layer and one head of `width` rows over a stream of two, all ones, with these rotary keys.
 */
static struct pes_pretrained *open_with(const char *rope, size_t width)
{
    static float ones[256];
    for (size_t i = 0; i < PES_COUNT(ones); i++)
        ones[i] = 1;
    const struct copied tensors[] = {
        {"model.layers.0.input_layernorm.weight", "F32", 1, {2}, 8, (const unsigned char *)ones},
        {"model.layers.0.self_attn.k_proj.weight",
         "F32",
         2,
         {width, 2},
         8 * width,
         (const unsigned char *)ones},
        {"model.layers.0.self_attn.q_proj.weight",
         "F32",
         2,
         {width, 2},
         8 * width,
         (const unsigned char *)ones},
    };
    write_tensors(in_folder("model.safetensors"), tensors, 3);
    FILE *file = fopen(in_folder("config.json"), "w");
    assert_non_null(file);
    fprintf(file,
            "{\"model_type\": \"llama\", \"num_hidden_layers\": 1, \"num_attention_heads\": 1, "
            "\"hidden_size\": 2, "
            "\"head_dim\": %zu, \"max_position_embeddings\": 131072, %s}",
            width, rope);
    assert_int_equal(fclose(file), 0);
    struct pes_pretrained *model;
    must(pes_pretrained_open(folder, 0, &model));
    return model;
}

struct known {
    int pair;
    double frequency;
};

static void check(const char *rope, size_t width, double factor, const struct known *known, size_t num_known)
{
    struct pes_pretrained *model = open_with(rope, width);
    struct pes_arena *arena = pes_arena_create();
    struct pes_head head;
    must(pes_pretrained_head(model, 0, 0, false, arena, &head));
    assert_int_equal(head.pairs, width / 2);
    for (size_t i = 0; i < num_known; i++)
        if (!(fabs(head.frequencies[known[i].pair] / known[i].frequency - 1) < 5e-6))
            fail_msg("pair %d turns by %.9g, not %.9g", known[i].pair, head.frequencies[known[i].pair],
                     known[i].frequency);
    assert_true(fabs(head.wq[0] - factor) < 5e-8 && fabs(head.wk[2 * width - 1] - factor) < 5e-8);
    pes_arena_destroy(arena);
    pes_pretrained_close(model);
}

static void llama_3_1_8b_keeps_29_blends_6_and_divides_29_frequencies(void **state)
{
    (void)state;
    static const struct known known[] = {
        {0, 1},           {28, .00321145},  {29, .00216657},  {30, .00137189},   {31, .000856751},
        {32, .000524846}, {33, .000312694}, {34, .000178508}, {35, 9.55621e-05}, {63, 3.06893e-07}};
    check("\"rope_theta\": 500000.0, \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, "
          "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}",
          128, 1, known, PES_COUNT(known));
}

static void llama_3_2_1b_keeps_15_blends_3_and_divides_14_frequencies(void **state)
{
    (void)state;
    static const struct known known[] = {
        {15, .00129055}, {16, .000429557}, {17, 9.70829e-05}, {18, 1.94616e-05}, {31, 9.41831e-08}};
    check("\"rope_theta\": 500000.0, \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 32.0, "
          "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}",
          64, 1, known, PES_COUNT(known));
}

/* The numbers of DeepSeek's models; 0.1 ln 40 + 1 = 1.3688879 goes on queries and on keys. */
static void yarn_by_40_ramps_between_pairs_10_and_23(void **state)
{
    (void)state;
    static const struct known known[] = {{10, .0562341},   {11, .0390069},    {16, .0055},
                                         {22, .000177828}, {23, 3.33380e-05}, {31, 3.33380e-06}};
    check("\"rope_theta\": 10000.0, \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40.0, "
          "\"beta_fast\": 32, \"beta_slow\": 1, \"original_max_position_embeddings\": 4096}",
          64, 1.3688879454113936, known, PES_COUNT(known));
}

static void dynamic_scaling_leaves_short_texts_alone(void **state)
{
    (void)state;
    static const struct known known[] = {{0, 1}, {1, .1}, {2, .01}, {3, .001}};
    check("\"rope_parameters\": {\"rope_type\": \"dynamic\", \"rope_theta\": 10000.0, \"factor\": 4.0}", 8, 1,
          known, PES_COUNT(known));
}

/* Two fifths of ten coordinates: two pairs that turn as in a whole head, at the places they have there. */
static void proportional_rotation_stops_the_slow_pairs_of_a_whole_head(void **state)
{
    (void)state;
    struct pes_pretrained *whole, *part;
    struct pes_arena *arena = pes_arena_create();
    struct pes_head a, b;
    must(pes_pretrained_open(FIXTURES "/mistral", 0, &whole));
    copy_weights("mistral", "model.safetensors", NULL);
    copy_config("mistral", "{\"rope_parameters\": {\"rope_type\": \"proportional\", \"rope_theta\": 1000.0, "
                           "\"partial_rotary_factor\": 0.4}}");
    must(pes_pretrained_open(folder, 0, &part));
    must(pes_pretrained_head(whole, 1, 2, false, arena, &a));
    must(pes_pretrained_head(part, 1, 2, false, arena, &b));
    assert_int_equal(a.pairs, 5);
    assert_int_equal(b.pairs, 2);
    assert_memory_equal(a.frequencies, b.frequencies, 2 * sizeof(double));
    assert_memory_equal(a.wq, b.wq, (size_t)(4 * a.C) * sizeof(double));
    assert_memory_equal(a.wk, b.wk, (size_t)(4 * a.C) * sizeof(double));
    /* The rest in the file's order: 2, 3, 4, 7, 8, 9. */
    assert_memory_equal(b.wq + 5 * b.C, a.wq + 6 * a.C, (size_t)b.C * sizeof(double));
    assert_memory_equal(b.wq + 7 * b.C, a.wq + 5 * a.C, (size_t)b.C * sizeof(double));
    pes_pretrained_close(whole);
    pes_pretrained_close(part);
    pes_arena_destroy(arena);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(llama_3_1_8b_keeps_29_blends_6_and_divides_29_frequencies),
        TEST(llama_3_2_1b_keeps_15_blends_3_and_divides_14_frequencies),
        TEST(yarn_by_40_ramps_between_pairs_10_and_23),
        TEST(dynamic_scaling_leaves_short_texts_alone),
        TEST(proportional_rotation_stops_the_slow_pairs_of_a_whole_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
