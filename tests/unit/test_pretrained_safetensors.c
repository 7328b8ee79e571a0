/* test_pretrained_safetensors.c - valid, odd and hostile files of the format. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "pesweep/weights.h"
#include "test_folder.h"

static void write_bytes(const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

/* A file with this header (its length told as `length`, or right if 0) and so many bytes of data 0, 1, 2, ...
 */
static void write_file(const char *name, const char *header, uint64_t length, size_t data_bytes)
{
    size_t header_bytes = strlen(header);
    unsigned char *bytes = malloc(8 + header_bytes + data_bytes);
    assert_non_null(bytes);
    if (!length) length = header_bytes;
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + 8, header, header_bytes);
    for (size_t i = 0; i < data_bytes; i++)
        bytes[8 + header_bytes + i] = (unsigned char)i;
    write_bytes(name, bytes, 8 + header_bytes + data_bytes);
    free(bytes);
}

static void refused(const char *name, const char *reason)
{
    struct pes_weights *weights = NULL;
    enum pes_status status = pes_weights_open(in_folder(name), &weights);
    if (status == PES_OK || !strstr(pes_error_message(), reason))
        fail_msg("expected '%s', got %d: %s", reason, status, pes_error_message());
    assert_null(weights);
}

static struct pes_weights *opened(const char *name)
{
    struct pes_weights *weights = NULL;
    if (pes_weights_open(in_folder(name), &weights) != PES_OK) fail_msg("%s", pes_error_message());
    return weights;
}

#define TENSOR(name, dtype, shape, begin, end)                                                               \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static void hostile_headers_are_refused_with_their_reason(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        uint64_t length;
        size_t data;
        const char *reason;
    } bad[] = {
        {"{" TENSOR("a", "F32", "[1]", "0", "4") "}", 1000, 4, "truncated"},
        {"{" TENSOR("a", "F32", "[1]", "0", "4") "}", UINT64_MAX, 4, "at most 100000000"},
        {"{" TENSOR("a", "F32", "[2]", "8", "0") "}", 0, 8, "before it begins"},
        {"{" TENSOR("a", "F32", "[1]", "-1", "3") "}", 0, 4, "not whole numbers"},
        {"{" TENSOR("a", "F32", "[1.0]", "0", "4") "}", 0, 4, "not a whole number"},
        {"{" TENSOR("a", "F32", "[32,8]", "0", "65536") "}", 0, 65536, "needs 1024 bytes"},
        {"{" TENSOR("a", "F32", "[4]", "0", "16") "," TENSOR("b", "F32", "[4]", "8", "24") "}", 0, 24,
         "overlap"},
        {"{" TENSOR("a", "F32", "[4]", "0", "16") "," TENSOR("b", "F32", "[1]", "20", "24") "}", 0, 24,
         "hole"},
        {"{" TENSOR("a", "F32", "[8]", "0", "32") "}", 0, 16, "the file has 16 bytes of data"},
        {"{" TENSOR("a", "F32", "[1]", "0", "4") "," TENSOR("a", "F32", "[1]", "4", "8") "}", 0, 8,
         "duplicate"},
        {"{" TENSOR("a", "F32", "[4294967296,4294967296,2]", "0", "4") "}", 0, 4, "64 bits"},
        {"{" TENSOR("a", "F64", "[4611686018427387904]", "0", "4") "}", 0, 4, "64 bits"},
        {"{" TENSOR("a", "F32", "[0,4294967296,4294967296,4294967296]", "0", "4") "}", 0, 4, "needs 0 bytes"},
        {"{" TENSOR("a", "F32", "[99999999999999999999999]", "0", "4") "}", 0, 4, "header, byte"},
        {"{" TENSOR("a", "F32", "[1]", "0", "4") "}", 0, 9, "belong to none"},
        {"{" TENSOR("a", "Q9", "[1]", "0", "4") "}", 0, 4, "unknown dtype 'Q9'"},
        {"{" TENSOR("a", "F4", "[3]", "0", "1") "}", 0, 1, "needs 2 bytes"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, 4, "needs dtype, shape"},
        {"{\"a\":3}", 0, 0, "needs dtype, shape"},
        {" {}", 0, 0, "does not start with '{'"},
        {"[]", 0, 0, "does not start with '{'"},
        {"{\"__metadata__\":{\"a\":1}}", 0, 0, "not texts"},
        {"{\"__metadata__\":[]}", 0, 0, "not an object"},
        {"{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 0, 4, "9 dimensions"},
    };
    for (size_t i = 0; i < PES_COUNT(bad); i++) {
        write_file("bad.safetensors", bad[i].header, bad[i].length, bad[i].data);
        refused("bad.safetensors", bad[i].reason);
    }
    write_bytes("bad.safetensors", "\0\0\0\0\0\0\0\0", 8);
    refused("bad.safetensors", "does not start with '{'");
    write_bytes("bad.safetensors", "abc", 3);
    refused("bad.safetensors", "too few");
    write_bytes("bad.safetensors", "", 0);
    refused("bad.safetensors", "too few");
    refused("absent.safetensors", "No such file");
}

static void odd_but_valid_files_load(void **state)
{
    (void)state;
    write_file("odd.safetensors",
               "{" TENSOR("z", "F32", "[1]", "0", "4") "," TENSOR("a", "F64", "[1]", "8", "16") "," TENSOR(
                   "m", "F32", "[1,1]", "4",
                   "8") "," TENSOR("none", "F32", "[0]", "16",
                                   "16") "," TENSOR("scalar", "U8", "[]", "16",
                                                    "17") ",\"__metadata__\":{\"format\":\"pt\"}}   ",
               0, 17);
    struct pes_weights *weights = opened("odd.safetensors");
    assert_int_equal(pes_weights_count(weights), 5);
    assert_string_equal(pes_weights_get(weights, 0)->name, "a");
    assert_int_equal(pes_weights_find(weights, "none")->count, 0);
    assert_int_equal(pes_weights_find(weights, "scalar")->count, 1);
    assert_null(pes_weights_find(weights, "q"));
    assert_string_equal(pes_weights_metadata(weights, "format"), "pt");
    double value;
    assert_int_equal(pes_weight_read(pes_weights_find(weights, "scalar"), 0, 1, &value), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "U8"));
    pes_weights_close(weights);

    write_file("empty.safetensors", "{\"__metadata__\":{}}", 0, 0);
    weights = opened("empty.safetensors");
    assert_int_equal(pes_weights_count(weights), 0);
    assert_null(pes_weights_find(weights, "a"));
    pes_weights_close(weights);
}

static void a_header_of_a_hundred_thousand_bytes_loads(void **state)
{
    (void)state;
    static char header[100001];
    int used = snprintf(header, sizeof header, "{" TENSOR("a", "F32", "[1]", "0", "4") "}");
    memset(header + used, ' ', 100000 - (size_t)used);
    write_file("large.safetensors", header, 0, 4);
    pes_weights_close(opened("large.safetensors"));
}

static void sixteen_bit_numbers_are_exact(void **state)
{
    (void)state;
    static const struct {
        uint16_t bits;
        double value;
    } half[] = {{0x3C00, 1},        {0xC200, -3}, {0x2E66, 0.0999755859375}, {0x0001, 5.960464477539063e-08},
                {0x7C00, INFINITY}, {0x0000, 0},  {0x7BFF, 65504},           {0x0400, 6.103515625e-05}},
      brain[] = {
          {0x3F80, 1},        {0xC040, -3},       {0x3DCD, 0.10009765625}, {0x0001, 9.183549615799121e-41},
          {0x7F80, INFINITY}, {0xFF80, -INFINITY}};
    for (size_t i = 0; i < PES_COUNT(half); i++)
        assert_true(pes_weight_from_f16(half[i].bits) == half[i].value);
    for (size_t i = 0; i < PES_COUNT(brain); i++)
        assert_true(pes_weight_from_bf16(brain[i].bits) == brain[i].value);
    assert_true(isnan(pes_weight_from_f16(0x7E00)) && isnan(pes_weight_from_bf16(0x7FC0)));
}

static void numbers_are_read_from_unaligned_places(void **state)
{
    (void)state;
    /* One byte in front makes everything after it odd. */
    static const char header[] =
        "{" TENSOR("b", "BOOL", "[1]", "0", "1") "," TENSOR("f", "F32", "[2]", "1", "9") "," TENSOR(
            "d", "F64", "[1]", "9", "17") "," TENSOR("h", "BF16", "[2]", "17", "21") "}";
    unsigned char file[8 + sizeof header - 1 + 21] = {sizeof header - 1};
    memcpy(file + 8, header, sizeof header - 1);
    unsigned char *data = file + 8 + sizeof header - 1;
    memcpy(data + 1, (float[]){1.5f, -2}, 8);
    memcpy(data + 9, (double[]){0.1}, 8);
    memcpy(data + 17, (uint16_t[]){0x3F80, 0xC040}, 4);
    write_bytes("unaligned.safetensors", file, sizeof file);
    struct pes_weights *weights = opened("unaligned.safetensors");
    double values[2];
    assert_int_equal(pes_weight_read(pes_weights_find(weights, "f"), 0, 2, values), PES_OK);
    assert_true(values[0] == 1.5 && values[1] == -2);
    assert_int_equal(pes_weight_read(pes_weights_find(weights, "d"), 0, 1, values), PES_OK);
    assert_true(values[0] == 0.1);
    assert_int_equal(pes_weight_read(pes_weights_find(weights, "h"), 1, 1, values), PES_OK);
    assert_true(values[0] == -3);
    pes_weights_close(weights);
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

static void shards_must_match_their_index(void **state)
{
    (void)state;
    char whole[sizeof folder];
    strcpy(whole, folder);
    snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "/shards");
    assert_int_equal(mkdir(folder, 0700), 0);
    const char *index = "model.safetensors.index.json";
    refused("", "neither model.safetensors nor");
    write_file("one.safetensors", "{" TENSOR("a", "F32", "[1]", "0", "4") "}", 0, 4);
    write_file("two.safetensors", "{" TENSOR("b", "F32", "[1]", "0", "4") "}", 0, 4);
    write_file("stray.safetensors", "{" TENSOR("a", "F64", "[1]", "0", "8") "}", 0, 8);
    write_text(index, "{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\"}}");
    struct pes_weights *weights = opened("");
    assert_int_equal(pes_weights_count(weights), 2);
    assert_int_equal(pes_weights_find(weights, "a")->dtype, PES_DTYPE_F32); /* the stray file is ignored */
    assert_null(pes_weights_find(weights, "c"));                            /* never listed */
    pes_weights_close(weights);
    pes_weights_close(opened(index));

    write_text(index, "{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"three.safetensors\"}}");
    refused("", "shard file missing");
    write_text(index, "{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"one.safetensors\"}}");
    refused("", "does not hold it");
    write_text(index, "{\"weight_map\":{\"a\":\"../one.safetensors\"}}");
    refused("", "a plain file name is allowed");
    write_text(index, "{\"weight_map\":{\"a\":\"/etc/passwd\"}}");
    refused("", "a plain file name is allowed");
    write_text(index, "{\"weight_map\":{\"a\":\"one.safetensors\",\"a\":\"two.safetensors\"}}");
    refused("", "duplicate");
    write_text(index, "{\"weight_map\":[]}");
    refused("", "no weight_map");
    write_text(index, "{not json");
    refused("", "not valid JSON");
    write_text(index, "");
    refused("", "not valid JSON");
    strcpy(folder, whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_headers_are_refused_with_their_reason),
        cmocka_unit_test(odd_but_valid_files_load),
        cmocka_unit_test(a_header_of_a_hundred_thousand_bytes_loads),
        cmocka_unit_test(sixteen_bit_numbers_are_exact),
        cmocka_unit_test(numbers_are_read_from_unaligned_places),
        cmocka_unit_test(shards_must_match_their_index),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
