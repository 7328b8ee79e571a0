/* test_pretrained_refusals.c - checkpoints that are odd, incomplete or contradict themselves: what is
 * refused, in which words, and what is read all the same. */
#include "pretrained_edit.h"

#include <math.h>
#include <unistd.h>

static void refused(double theta, const char *reason)
{
    struct pes_pretrained *model = NULL;
    enum pes_status status = pes_pretrained_open(folder, theta, &model);
    if (status == PES_OK || !strstr(pes_error_message(), reason))
        fail_msg("expected '%s', got %d: %s", reason, status, status ? pes_error_message() : "");
    assert_null(model);
}

static struct pes_pretrained *opened(double theta)
{
    struct pes_pretrained *model;
    must(pes_pretrained_open(folder, theta, &model));
    return model;
}

/* Heads of the folder's model are those of the fixture, to the last bit. */
static void same_heads(const char *fixture, double theta)
{
    char path[512];
    struct pes_pretrained *here = opened(theta), *there;
    struct pes_arena *arena = pes_arena_create();
    must(pes_pretrained_open(fixture_path(fixture, "", path), 0, &there));
    for (int layer = 0; layer < 2; layer++)
        for (int h = 0; h < pes_pretrained_about(there)->H; h++) {
            struct pes_head a, b;
            must(pes_pretrained_head(here, layer, h, true, arena, &a));
            must(pes_pretrained_head(there, layer, h, true, arena, &b));
            size_t bytes = (size_t)(a.D * a.C) * sizeof(double);
            assert_int_equal(a.D, b.D);
            assert_memory_equal(a.wq, b.wq, bytes);
            assert_memory_equal(a.wk, b.wk, bytes);
            assert_memory_equal(a.wv, b.wv, bytes);
            assert_memory_equal(a.wo, b.wo, bytes);
            assert_memory_equal(a.bq, b.bq, (size_t)a.D * sizeof(double));
            assert_memory_equal(a.frequencies, b.frequencies, (size_t)a.pairs * sizeof(double));
        }
    pes_arena_destroy(arena);
    pes_pretrained_close(here);
    pes_pretrained_close(there);
}

static bool without_key_of_layer_1(struct copied *tensor)
{
    return strcmp(tensor->name, "model.layers.1.self_attn.k_proj.weight");
}

static void a_missing_matrix_is_named_with_its_layer(void **state)
{
    (void)state;
    copy_config("llama", "{}");
    copy_weights("llama", "model.safetensors", without_key_of_layer_1);
    refused(0, "layer 1 has no tensor 'model.layers.1.self_attn.k_proj.weight'");
}

static bool in_layer_0(struct copied *tensor)
{
    return strstr(tensor->name, ".layers.0.") != NULL;
}

static bool not_in_layer_0(struct copied *tensor)
{
    return !in_layer_0(tensor);
}

/* An index over two shards; `but` is left out of it. */
static void write_index(const char *but)
{
    char path[512];
    struct pes_weights *weights;
    json_t *map = json_object();
    must(pes_weights_open(fixture_path("llama", "model.safetensors", path), &weights));
    for (size_t i = 0; i < pes_weights_count(weights); i++) {
        const char *name = pes_weights_get(weights, i)->name;
        if (but && !strcmp(name, but)) continue;
        json_object_set_new(map, name,
                            json_string(strstr(name, ".layers.0.") ? "a.safetensors" : "b.safetensors"));
    }
    json_t *index = json_pack("{s:{}, s:o}", "metadata", "weight_map", map);
    assert_int_equal(json_dump_file(index, in_folder("model.safetensors.index.json"), 0), 0);
    json_decref(index);
    pes_weights_close(weights);
}

static void shards_are_read_as_one_model_and_what_is_not_listed_is_missing(void **state)
{
    (void)state;
    copy_config("llama", "{}");
    copy_weights("llama", "a.safetensors", in_layer_0);
    copy_weights("llama", "b.safetensors", not_in_layer_0);
    write_index(NULL);
    same_heads("llama", 0);
    write_index("model.layers.1.self_attn.q_proj.weight");
    refused(0, "layer 1 has no tensor 'model.layers.1.self_attn.q_proj.weight'");
    unlink(in_folder("b.safetensors"));
    write_index(NULL);
    refused(0, "shard file missing");
}

static bool under_another_prefix(struct copied *tensor)
{
    static const char prefix[] = "language_model.";
    size_t length = strlen(tensor->name), added = strlen(prefix);
    assert_true(length + added < sizeof tensor->name);
    memmove(tensor->name + added, tensor->name, length + 1);
    memcpy(tensor->name, prefix, added);
    return true;
}

static void a_prefix_of_the_names_is_found(void **state)
{
    (void)state;
    copy_config("llama", "{}");
    copy_weights("llama", "model.safetensors", under_another_prefix);
    same_heads("llama", 0);
}

static bool one_layer_elsewhere(struct copied *tensor)
{
    return strstr(tensor->name, ".layers.1.") ? under_another_prefix(tensor) : true;
}

static void two_models_in_one_file_are_refused(void **state)
{
    (void)state;
    copy_config("llama", "{}");
    copy_weights("llama", "model.safetensors", one_layer_elsewhere);
    refused(0, "two models");
}

static bool with_mask_buffers(struct copied *tensor)
{
    static const unsigned char mask[256];
    if (strcmp(tensor->name, "h.0.ln_2.bias")) return true;
    *tensor = (struct copied){"h.0.attn.bias", "BOOL", 4, {1, 1, 16, 16}, 256, mask};
    return true;
}

static void a_causal_mask_is_no_bias(void **state)
{
    (void)state;
    copy_config("gpt2", "{}");
    copy_weights("gpt2", "model.safetensors", with_mask_buffers);
    same_heads("gpt2", 0);
}

static void an_unknown_architecture_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    copy_config("llama", "{\"model_type\": \"mamba\"}");
    copy_weights("llama", "model.safetensors", NULL);
    refused(0, "the architecture 'mamba' is unknown; known are: gpt2 gpt_neo ");
    copy_config("llama", "{\"model_type\": \"absent\"}");
    refused(0, "no model_type");
    unlink(in_folder("config.json"));
    refused(0, "config.json: No such file");
}

static void a_rotary_base_is_never_guessed(void **state)
{
    (void)state;
    copy_weights("mistral", "model.safetensors", NULL);
    copy_config("mistral", "{\"rope_parameters\": \"absent\"}");
    refused(0, "neither rope_parameters.rope_theta nor rope_theta");
    same_heads("mistral", 1000);
    copy_config("mistral", "{\"rope_parameters\": {\"rope_type\": \"spiral\", \"rope_theta\": 10.0}}");
    refused(0, "rotary rule 'spiral' is unknown");
    /* Of two places the newer one counts. */
    copy_config("mistral",
                "{\"rope_theta\": 5.0, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}}");
    same_heads("mistral", 0);
}

static void widths_of_heads_are_checked_against_the_tensors(void **state)
{
    (void)state;
    copy_weights("llama", "model.safetensors", NULL);
    copy_config("llama", "{\"head_dim\": null}");
    same_heads("llama", 0);
    copy_config("llama", "{\"head_dim\": 10}");
    refused(0, "layer 0: 'model.layers.0.self_attn.q_proj.weight' has the shape [32, 32], but by ");
    copy_config("llama", "{\"num_key_value_heads\": 3}");
    refused(0, "4 heads can't share 3 key heads");
    copy_config("llama", "{\"num_attention_heads\": 5, \"head_dim\": null}");
    refused(0, "not divisible by 5 heads");
    copy_config("llama", "{\"num_hidden_layers\": -2}");
    refused(0, "not a whole number");
    copy_config("llama", "{\"num_hidden_layers\": 3}");
    refused(0, "layer 2 has no tensor");
}

static void an_odd_rotary_width_is_refused(void **state)
{
    (void)state;
    copy_weights("gpt-j", "model.safetensors", NULL);
    copy_config("gpt-j", "{\"rotary_dim\": 3}");
    refused(0, "3 of 8 coordinates of a head can't be rotated in pairs");
}

static void notes_tell_what_became_of_tied_output_matrices(void **state)
{
    (void)state;
    copy_weights("llama-linear", "model.safetensors", NULL);
    copy_config("llama-linear", "{}");
    struct pes_pretrained *model = opened(0);
    assert_string_equal(pes_pretrained_about(model)->notes,
                        "the output matrix is the token embedding (tie_word_embeddings)\n");
    pes_pretrained_close(model);
    copy_config("llama-linear", "{\"tie_word_embeddings\": false}");
    model = opened(0);
    assert_non_null(strstr(pes_pretrained_about(model)->notes,
                           "warning: tie_word_embeddings is false, but there is "
                           "no 'lm_head.weight'"));
    pes_pretrained_close(model);
    copy_weights("mistral", "model.safetensors", NULL);
    copy_config("mistral", "{\"tie_word_embeddings\": true}");
    model = opened(0);
    assert_non_null(
        strstr(pes_pretrained_about(model)->notes, "'lm_head.weight' differs from the embedding"));
    pes_pretrained_close(model);
}

static bool with_integers(struct copied *tensor)
{
    if (!strcmp(tensor->name, "model.layers.1.self_attn.q_proj.weight")) {
        tensor->dtype = "I8";
        tensor->bytes /= 4;
    }
    return true;
}

static void a_type_that_is_no_number_is_refused_by_name(void **state)
{
    (void)state;
    copy_config("llama", "{}");
    copy_weights("llama", "model.safetensors", with_integers);
    refused(0, "'model.layers.1.self_attn.q_proj.weight' has dtype I8");
}

static unsigned char narrow[8192];

/* Keys of layer 0 as the upper halves of their words. */
static bool with_narrow_keys(struct copied *tensor)
{
    if (strcmp(tensor->name, "model.layers.0.self_attn.k_proj.weight")) return true;
    for (size_t i = 0; i < tensor->bytes / 4; i++)
        memcpy(narrow + 2 * i, tensor->data + 4 * i + 2, 2);
    tensor->dtype = "BF16";
    tensor->bytes /= 2;
    tensor->data = narrow;
    return true;
}

static void one_layer_may_mix_types(void **state)
{
    (void)state;
    copy_config("llama", "{}");
    copy_weights("llama", "model.safetensors", with_narrow_keys);
    char path[512];
    struct pes_pretrained *mixed = opened(0), *exact;
    must(pes_pretrained_open(fixture_path("llama", "", path), 0, &exact));
    struct pes_arena *arena = pes_arena_create();
    struct pes_head a, b;
    must(pes_pretrained_head(mixed, 0, 1, false, arena, &a));
    must(pes_pretrained_head(exact, 0, 1, false, arena, &b));
    bool differ = false;
    for (int i = 0; i < a.D * a.C; i++) {
        assert_true(fabs(a.wk[i] - b.wk[i]) <= fabs(b.wk[i]) / 128);
        assert_true(a.wq[i] == b.wq[i]);
        differ = differ || a.wk[i] != b.wk[i];
    }
    assert_true(differ);
    assert_null(a.wv);
    pes_arena_destroy(arena);
    pes_pretrained_close(mixed);
    pes_pretrained_close(exact);
}

static unsigned char broken[8192];

/* One number of one head of layer 1 is infinite. */
static bool with_infinity(struct copied *tensor)
{
    if (strcmp(tensor->name, "model.layers.1.self_attn.q_proj.weight")) return true;
    memcpy(broken, tensor->data, tensor->bytes);
    float infinite = INFINITY;
    memcpy(broken + 4 * (9 * 32 + 5), &infinite, sizeof infinite);
    tensor->data = broken;
    return true;
}

static void weights_that_are_not_finite_flag_their_head_alone(void **state)
{
    (void)state;
    copy_config("llama", "{}");
    copy_weights("llama", "model.safetensors", with_infinity);
    struct pes_pretrained *model = opened(0);
    struct pes_arena *arena = pes_arena_create();
    const struct pes_inspection inspection = {.raw = true, .folded = true, .nulls = 3};
    struct pes_layout *layout;
    must(pes_inspect_layout((const struct pes_pretrained *const[]){model}, 1, &inspection, NULL, arena,
                            &layout));
    struct pes_row row = {layout, pes_arena_take(arena, layout->row_bytes, 1)};
    pes_row_clear(&row);
    must(pes_inspect_run(model, &inspection, &row));
    for (size_t layer = 0; layer < 2; layer++)
        for (size_t h = 0; h < 4; h++) {
            const size_t at[] = {layer, h, 0, 0};
            bool bad = layer == 1 && h == 1;
            assert_int_equal((int)pes_row_get(&row, "spectra", "flags", at) & 1, bad);
            assert_int_equal((int)pes_row_get(&row, "spectra_folded", "flags", at) & 1, bad);
            assert_int_equal(isnan(pes_row_get(&row, "spectra", "rotational_fraction", at)), bad);
            assert_int_equal(isnan(pes_row_get(&row, "spectra", "eigenvalues", at)), bad);
        }
    pes_arena_destroy(arena);
    pes_pretrained_close(model);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_missing_matrix_is_named_with_its_layer),
        TEST(shards_are_read_as_one_model_and_what_is_not_listed_is_missing),
        TEST(a_prefix_of_the_names_is_found),
        TEST(two_models_in_one_file_are_refused),
        TEST(a_causal_mask_is_no_bias),
        TEST(an_unknown_architecture_is_refused_with_the_known_ones),
        TEST(a_rotary_base_is_never_guessed),
        TEST(widths_of_heads_are_checked_against_the_tensors),
        TEST(an_odd_rotary_width_is_refused),
        TEST(notes_tell_what_became_of_tied_output_matrices),
        TEST(a_type_that_is_no_number_is_refused_by_name),
        TEST(one_layer_may_mix_types),
        TEST(weights_that_are_not_finite_flag_their_head_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
