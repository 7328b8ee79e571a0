/* test_pretrained_layout.c - architectures described by hand: the same heads as by the table, and what is
 * refused. */
#include "pretrained_edit.h"

static const char *write_layout(const char *text)
{
    const char *path = in_folder("layout.json");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Heads of the folder's model by the layout are those of the fixture by the table, to the last bit. */
static void same_heads(const char *fixture, const char *layout, bool bare)
{
    char path[512];
    struct pes_pretrained *here, *there;
    struct pes_arena *arena = pes_arena_create();
    must(pes_pretrained_open_as(folder, write_layout(layout), 0, &here));
    must(pes_pretrained_open(fixture_path(fixture, "", path), 0, &there));
    const struct pes_pretrained_about *about = pes_pretrained_about(there);
    assert_string_equal(pes_pretrained_about(here)->architecture, "by hand");
    assert_string_equal(pes_pretrained_about(here)->scheme, about->scheme);
    for (int layer = 0; layer < about->L; layer++)
        for (int h = 0; h < about->H; h++) {
            struct pes_head a, b;
            must(pes_pretrained_head(here, layer, h, true, arena, &a));
            must(pes_pretrained_head(there, layer, h, true, arena, &b));
            size_t bytes = (size_t)(a.D * a.C) * sizeof(double);
            assert_memory_equal(a.wq, b.wq, bytes);
            assert_memory_equal(a.wk, b.wk, bytes);
            assert_memory_equal(a.wv, b.wv, bytes);
            assert_memory_equal(a.wo, b.wo, bytes);
            assert_int_equal(a.pairs, b.pairs);
            assert_memory_equal(a.frequencies, b.frequencies, (size_t)a.pairs * sizeof(double));
            assert_int_equal(a.rotates, b.rotates);
            assert_true(a.scale == b.scale);
            assert_int_equal(a.centred, b.centred);
            assert_true(bare || a.gain != NULL);
            if (b.gain && a.gain) assert_memory_equal(a.gain, b.gain, (size_t)a.C * sizeof(double));
        }
    pes_arena_destroy(arena);
    pes_pretrained_close(here);
    pes_pretrained_close(there);
}

static void fused_heads_that_rotate_in_part_are_described_by_hand(void **state)
{
    (void)state;
    copy_config("pythia", "{\"model_type\": \"mine\"}");
    copy_weights("pythia", "model.safetensors", NULL);
    same_heads("pythia",
               "{\"block\": \"layers.%d.\", \"q\": \"attention.query_key_value\", \"o\": \"attention.dense\","
               " \"packing\": \"grouped\", \"scheme\": \"rope\", \"front_norm\": \"input_layernorm\"}",
               false);
}

static void transposed_matrices_need_no_config_file(void **state)
{
    (void)state;
    copy_weights("gpt2", "model.safetensors", NULL);
    same_heads(
        "gpt2",
        "{\"block\": \"h.%d.\", \"q\": \"attn.c_attn\", \"o\": \"attn.c_proj\", \"packing\": \"contiguous\","
        " \"transposed\": true, \"scheme\": \"learned\", \"front_norm\": \"ln_1\", \"config\":"
        " {\"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"hidden_size\": 24}}",
        false);
}

static void separate_projections_and_inner_norms(void **state)
{
    (void)state;
    copy_config("qwen3", "{\"model_type\": \"mine\", \"num_hidden_layers\": \"absent\"}");
    copy_weights("qwen3", "model.safetensors", NULL);
    same_heads("qwen3",
               "{\"block\": \"layers.%d.\", \"q\": \"self_attn.q_proj\", \"k\": \"self_attn.k_proj\","
               " \"v\": \"self_attn.v_proj\", \"o\": \"self_attn.o_proj\", \"scheme\": \"rope\","
               " \"front_norm\": \"input_layernorm\", \"norm\": \"rms\", \"q_norm\": \"self_attn.q_norm\","
               " \"k_norm\": \"self_attn.k_norm\", \"config\": {\"num_hidden_layers\": 2}}",
               false);
}

static void refused(const char *layout, const char *reason)
{
    struct pes_pretrained *model = NULL;
    enum pes_status status = pes_pretrained_open_as(folder, write_layout(layout), 0, &model);
    if (status != PES_INPUT || !strstr(pes_error_message(), reason))
        fail_msg("expected '%s', got %d: %s", reason, status, status ? pes_error_message() : "");
    assert_null(model);
}

#define REST "\"q\": \"attention.query_key_value\", \"packing\": \"grouped\", \"scheme\": \"rope\""

static void what_is_wrong_with_a_description_is_said(void **state)
{
    (void)state;
    copy_config("pythia", "{}");
    copy_weights("pythia", "model.safetensors", NULL);
    refused("", "not valid JSON");
    refused("[1]", "not an object");
    refused("{\"blok\": \"h.%d.\"}", "unknown key \"blok\"; allowed: block q k");
    refused("{" REST "}", "\"block\" must be the name of a block with %d");
    refused("{\"block\": \"h.%s.\", " REST "}", "\"block\" must be");
    refused("{\"block\": \"h.%d.%n\", " REST "}", "\"block\" must be");
    refused("{\"block\": \"%%d.%d\", " REST "}", "\"block\" must be");
    refused("{\"block\": \"layers.%d.\", \"k\": \"x\", " REST "}", "q alone");
    refused("{\"block\": \"layers.%d.\", \"q\": \"x\", \"scheme\": \"rope\"}", "tensors of their own");
    refused("{\"block\": \"layers.%d.\", \"q\": \"x\", \"packing\": \"odd\"}",
            "separate, contiguous or grouped");
    refused("{\"block\": \"layers.%d.\", \"q\": \"x\", \"packing\": \"grouped\", \"scheme\": \"mla\"}",
            "\"scheme\" must be nope, learned, alibi, t5 or rope");
    refused("{\"transposed\": 1}", "\"transposed\" must be true or false");
    refused("{\"config\": 1}", "\"config\" must be an object");
    refused("{\"block\": \"layers.%d.\", " REST ", \"front_norm\": \"no_norm\"}",
            "layer 0 has no tensor 'gpt_neox.layers.0.no_norm.weight'");
    refused("{\"block\": \"layers.%d.\", \"q\": \"attention.none\", \"packing\": \"grouped\", \"scheme\": "
            "\"rope\"}",
            "attention.none.weight");
}

static void an_unknown_architecture_is_refused_with_those_that_are_known(void **state)
{
    (void)state;
    struct pes_pretrained *model;
    copy_config("pythia", "{\"model_type\": \"mine\"}");
    copy_weights("pythia", "model.safetensors", NULL);
    assert_int_equal(pes_pretrained_open(folder, 0, &model), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "'mine' is unknown; known are: gpt2 gpt_neo"));
    assert_non_null(strstr(pes_error_message(), "--layout"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(fused_heads_that_rotate_in_part_are_described_by_hand),
        TEST(transposed_matrices_need_no_config_file),
        TEST(separate_projections_and_inner_norms),
        TEST(what_is_wrong_with_a_description_is_said),
        TEST(an_unknown_architecture_is_refused_with_those_that_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
