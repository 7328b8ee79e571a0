/* test_pretrained_gguf.c - GGUF files: every type of numbers against the format's own Python package, and
 * files that are damaged. */
#include "pretrained_edit.h"

#include <math.h>

static const char *const type_names[] = {"F32",  "F16",  "BF16", "Q8_0", "Q4_0",
                                         "Q4_1", "Q4_K", "Q5_K", "Q6_K"};

/* Rows of pes_head are adjacent pairs of a head's halves. */
static void check_rows(const char *what, int layer, const double *rows, const double *wanted)
{
    for (int e = 0; e < 16; e++)
        for (int c = 0; c < 256; c++) {
            double number = wanted[(e / 2 + e % 2 * 8) * 256 + c];
            if (!(fabs(rows[e * 256 + c] - number) <= 1e-6 * fmax(1, fabs(number))))
                fail_msg("%s of %s: row %d column %d is %g, not %g", what, type_names[layer], e, c,
                         rows[e * 256 + c], number);
        }
}

static void every_type_of_numbers_is_read_as_its_own_package_reads_it(void **state)
{
    (void)state;
    struct pes_pretrained *model;
    struct pes_weights *expected;
    struct pes_arena *arena = pes_arena_create();
    must(pes_pretrained_open(FIXTURES "/gguf/model.gguf", 0, &model));
    must(pes_weights_open(FIXTURES "/gguf/expected.safetensors", &expected));
    const struct pes_pretrained_about *about = pes_pretrained_about(model);
    assert_string_equal(about->architecture, "llama");
    assert_int_equal(about->L, PES_COUNT(type_names));
    assert_int_equal(about->num_key_heads, 1);
    for (int layer = 0; layer < about->L; layer++) {
        const double *q = expected_values(expected, arena, "q", layer, NULL);
        const double *k = expected_values(expected, arena, "k", layer, NULL);
        for (int h = 0; h < 2; h++) {
            struct pes_head head;
            must(pes_pretrained_head(model, layer, h, false, arena, &head));
            assert_int_equal(head.D, 16);
            assert_int_equal(head.pairs, 8);
            check_rows("queries", layer, head.wq, q + (size_t)h * 16 * 256);
            check_rows("keys", layer, head.wk, k);
            for (int t = 0; t < 8; t++)
                assert_true(fabs(head.frequencies[t] - pow(500, -t / 8.0)) < 1e-12);
        }
    }
    pes_weights_close(expected);
    pes_pretrained_close(model);
    pes_arena_destroy(arena);
}

static void divisors_of_frequencies_may_be_a_tensor(void **state)
{
    (void)state;
    static const double divisors[] = {1, 1, 1, 1.5, 2, 4, 8, 8};
    struct pes_pretrained *model;
    struct pes_arena *arena = pes_arena_create();
    struct pes_head head;
    must(pes_pretrained_open(FIXTURES "/gguf/factors.gguf", 0, &model));
    must(pes_pretrained_head(model, 0, 0, false, arena, &head));
    for (int t = 0; t < 8; t++)
        assert_true(fabs(head.frequencies[t] - pow(500, -t / 8.0) / divisors[t]) < 1e-12);
    pes_pretrained_close(model);
    pes_arena_destroy(arena);
}

/* --- damage --- */

static unsigned char bytes[1 << 16];

/* The first so many bytes of a good file. */
static size_t load_good(void)
{
    FILE *file = fopen(FIXTURES "/gguf/factors.gguf", "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(count > 4096 && count < sizeof bytes);
    return count;
}

static enum pes_status open_bytes(size_t count)
{
    FILE *file = fopen(in_folder("damaged.gguf"), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    struct pes_weights *weights = NULL;
    enum pes_status status = pes_weights_open(in_folder("damaged.gguf"), &weights);
    pes_weights_close(status == PES_OK ? weights : NULL);
    return status;
}

static void refused_as(size_t count, const char *reason)
{
    enum pes_status status = open_bytes(count);
    if (status != PES_INPUT || !strstr(pes_error_message(), reason))
        fail_msg("expected '%s', got %d: %s", reason, status, pes_error_message());
}

/* Place of a text in the file. */
static unsigned char *place_of(const char *text, size_t count)
{
    size_t length = strlen(text);
    for (size_t i = 0; i + length <= count; i++)
        if (!memcmp(bytes + i, text, length)) return bytes + i;
    fail_msg("no '%s' in the file", text);
    return NULL;
}

static void every_truncated_file_is_refused(void **state)
{
    (void)state;
    size_t count = load_good();
    must(open_bytes(count));
    for (size_t kept = 0; kept < count - 64; kept += kept < 2048 ? 7 : 997) {
        if (open_bytes(kept) != PES_INPUT) fail_msg("%zu bytes of %zu are taken for a file", kept, count);
    }
}

static void damaged_headers_are_refused_in_words(void **state)
{
    (void)state;
    size_t count = load_good();
    bytes[0] = 'g';
    refused_as(count, "doesn't begin as a GGUF file");
    load_good();
    bytes[4] = 9;
    refused_as(count, "version 9");
    load_good();
    memset(bytes + 8, 0xff, 8); /* number of tensors */
    refused_as(count, "ends at byte");
    load_good();
    memset(bytes + 16, 0xff, 8); /* number of metadata */
    refused_as(count, "ends at byte");
    load_good();
    memset(bytes + 24, 0xff, 8); /* length of the first key */
    refused_as(count, "ends at byte");
    load_good();
    memcpy(place_of("llama", count), "lemon", 5);
    refused_as(count, "the architecture 'lemon' is not read from GGUF");
    load_good();
    unsigned char *tensor = place_of("blk.0.attn_q.weight", count) + 19;
    tensor[0] = 200; /* dimensions */
    refused_as(count, "200 dimensions");
    load_good();
    memset(tensor + 4, 0xff, 16);
    refused_as(count, "passes 64 bits");
    load_good();
    tensor[20] = 99; /* type */
    refused_as(count, "type 99");
    load_good();
    tensor[24] ^= 32; /* offset */
    refused_as(count, "is due");
    load_good();
    memcpy(place_of("blk.0.attn_q.weight", count), "blk.0.attn_k.weight", 19);
    refused_as(count, "stands twice");
}

/* Any byte of the header changed: a file or a refusal, never a fault. */
static void no_changed_byte_of_a_header_does_harm(void **state)
{
    (void)state;
    size_t count = load_good();
    for (size_t at = 0; at < 1024; at += 3) {
        unsigned char good = bytes[at];
        static const unsigned char values[] = {0, 1, 0x7f, 0xff};
        for (size_t v = 0; v < PES_COUNT(values); v++) {
            bytes[at] = values[v];
            enum pes_status status = open_bytes(count);
            assert_true(status == PES_OK || status == PES_INPUT);
        }
        bytes[at] = good;
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(every_type_of_numbers_is_read_as_its_own_package_reads_it),
        TEST(divisors_of_frequencies_may_be_a_tensor),
        TEST(every_truncated_file_is_refused),
        TEST(damaged_headers_are_refused_in_words),
        TEST(no_changed_byte_of_a_header_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
