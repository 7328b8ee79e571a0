/* Numbers, names, growing strings and hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/arena.h"
#include "pesweep/text.h"

static void integers_are_plain_decimal(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"7", 7},
                {"+5", 5},
                {"-12", -12},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      "007",
                                      "010",
                                      "08",
                                      "0x10",
                                      "0o10",
                                      "1_000",
                                      "5.0",
                                      "1e3",
                                      " 5",
                                      "5 ",
                                      "--5",
                                      "+-5",
                                      "1x",
                                      "0..3",
                                      "nan",
                                      "-00",
                                      "१",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999"};
    int64_t value;
    for (size_t i = 0; i < PES_COUNT(good); i++) {
        assert_true(pes_text_parse_int(good[i].text, &value));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < PES_COUNT(bad); i++)
        if (pes_text_parse_int(bad[i], &value)) fail_msg("'%s' was read as an integer", bad[i]);
}

static void reals_follow_the_core_schema_without_its_special_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1e-3", 0.001},    {"1e-4", 0.0001},
                {"5E-5", 0.00005},  {".5e-2", 0.005},
                {"1.0e-3", 0.001},  {"3", 3},
                {"-2.50", -2.5},    {"+.25", 0.25},
                {"0", 0},           {"0.0e9", 0},
                {"1.", 1},          {"1.e2", 100},
                {"1e+2", 100},      {"0e-999", 0},
                {"5e-324", 5e-324}, {"1.7976931348623157e308", 1.7976931348623157e308}};
    static const char *const bad[] = {"",     ".",     "e5",       "1e",     "1e+",    "nan",   "inf",
                                      ".inf", "-.inf", "0x10",     "1_0",    "01.5",   "1e-3x", "1,5",
                                      " 1",   "1 ",    "1e999",    "-1e999", "1e-999", "--1",   "-+1",
                                      "+.e1", "1.2.3", "infinity", "0x1p3",  "1d5"};
    double value;
    for (size_t i = 0; i < PES_COUNT(good); i++) {
        assert_true(pes_text_parse_real(good[i].text, &value));
        if (value != good[i].value) fail_msg("'%s' was read as %.17g", good[i].text, value);
    }
    for (size_t i = 0; i < PES_COUNT(bad); i++)
        if (pes_text_parse_real(bad[i], &value)) fail_msg("'%s' was read as a number", bad[i]);
}

static void ranges_have_two_integers(void **state)
{
    (void)state;
    int64_t first, last;
    assert_true(pes_text_parse_range("0..15", &first, &last));
    assert_int_equal(first, 0);
    assert_int_equal(last, 15);
    assert_true(pes_text_parse_range("-3..-7", &first, &last));
    assert_int_equal(first, -3);
    assert_int_equal(last, -7);
    static const char *const bad[] = {"0...3", "0.3",  "..3",   "0..",    "0..3x",
                                      "0 ..3", "a..b", "00..3", "1..2..3"};
    for (size_t i = 0; i < PES_COUNT(bad); i++)
        assert_false(pes_text_parse_range(bad[i], &first, &last));
}

/* The expected texts are those of Python's repr(), without a final ".0". */
static void reals_are_written_with_the_fewest_digits_that_read_back(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.1, "0.1"},
                 {1e-5, "1e-05"},
                 {0.001, "0.001"},
                 {3, "3"},
                 {10, "10"},
                 {100000, "100000"},
                 {123456789.125, "123456789.125"},
                 {1e15, "1000000000000000"},
                 {1e16, "1e+16"},
                 {9007199254740992.0, "9007199254740992"},
                 {2.5e-320, "2.5e-320"},
                 {1.7976931348623157e308, "1.7976931348623157e+308"},
                 {5e-324, "5e-324"},
                 {0.0001, "0.0001"},
                 {0.00009999, "9.999e-05"},
                 {1.0 / 3, "0.3333333333333333"},
                 {-2.5, "-2.5"},
                 {1e22, "1e+22"},
                 {123456789012345680.0, "1.2345678901234568e+17"},
                 {0, "0"}};
    char buffer[32];
    for (size_t i = 0; i < PES_COUNT(cases); i++)
        assert_string_equal(pes_text_format_real(cases[i].value, buffer), cases[i].text);
    assert_string_equal(pes_text_format_real((double)NAN, buffer), "nan");
    assert_string_equal(pes_text_format_real((double)-INFINITY, buffer), "-inf");
}

static void any_double_survives_being_written_and_read(void **state)
{
    (void)state;
    uint64_t bits = 1;
    char buffer[32];
    for (int i = 0; i < 20000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double value, back;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        assert_true(pes_text_parse_real(pes_text_format_real(value, buffer), &back));
        assert_memory_equal(&value, &back, sizeof value);
    }
}

static void the_nearest_name_is_found_within_a_third_of_the_word(void **state)
{
    (void)state;
    static const char *const names[] = {"nope", "rope", "alibi", "sinusoidal", "learned"};
    size_t count = PES_COUNT(names);
    assert_string_equal(pes_text_nearest("ropee", names, count), "rope");
    assert_string_equal(pes_text_nearest("RoPE", names, count), "rope");
    assert_string_equal(pes_text_nearest("orpe", names, count), "rope"); /* two neighbours swapped */
    assert_string_equal(pes_text_nearest("sinusodal", names, count), "sinusoidal");
    assert_string_equal(pes_text_nearest("lerned", names, count), "learned");
    assert_string_equal(pes_text_nearest("alibi", names, count), "alibi");
    assert_null(pes_text_nearest("no", names, count));
    assert_null(pes_text_nearest("", names, count));
    assert_null(pes_text_nearest("xyz", names, count));
    char long_word[200];
    memset(long_word, 'a', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = 0;
    assert_null(pes_text_nearest(long_word, names, count));
}

static void strings_grow_as_far_as_needed(void **state)
{
    (void)state;
    struct pes_text text = {0};
    assert_string_equal(pes_text_get(&text), "");
    for (int i = 0; i < 1000; i++)
        pes_text_append(&text, "%d,", i);
    assert_false(text.failed);
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    assert_int_equal(strlen(pes_text_get(&text)), text.length);
    assert_string_equal(pes_text_get(&text) + text.length - 8, "998,999,");
    pes_text_append_bytes(&text, "\0x", 2);
    assert_int_equal(text.data[text.length - 1], 'x');
    pes_text_destroy(&text);
    assert_null(text.data);
}

static void a_string_without_memory_is_marked_and_left_alone(void **state)
{
    (void)state;
#define TEN "0123456789"
    struct pes_text text = {0}; /* the first block has 64 bytes */
    pes_text_append(&text, "a");
    (void)pes_allocate_fail_after(1);
    for (int i = 0; i < 100; i++)
        pes_text_append(&text, TEN);
    (void)pes_allocate_fail_after(0);
    assert_true(text.failed);
    assert_string_equal(pes_text_get(&text), "a" TEN TEN TEN TEN TEN TEN);
    pes_text_destroy(&text);
}

static void shown_text_is_short_and_printable(void **state)
{
    (void)state;
    char buffer[72], text[200];
    assert_string_equal(pes_text_shown("a\tb\nc", buffer), "a?b?c");
    memset(text, 'a', sizeof text);
    text[59] = '\xc3', text[60] = '\xa9', text[199] = 0; /* a letter of two bytes across the border */
    pes_text_shown(text, buffer);
    assert_int_equal(strlen(buffer), 59 + 3);
    assert_string_equal(buffer + 56, "aaa...");
}

/* XXH3 of "" and "abc" as another binding of the library (python-xxhash) prints them. */
static void hashes_are_xxh3(void **state)
{
    (void)state;
    char hex[33];
    pes_hash_hex("", 0, hex);
    assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
    pes_hash_hex("abc", 3, hex);
    assert_string_equal(hex, "06b05ab6733a618578af5f94892f3950");
    assert_true(pes_hash("", 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(pes_hash("abc", 3) == UINT64_C(0x78af5f94892f3950));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_plain_decimal),
        cmocka_unit_test(reals_follow_the_core_schema_without_its_special_values),
        cmocka_unit_test(ranges_have_two_integers),
        cmocka_unit_test(reals_are_written_with_the_fewest_digits_that_read_back),
        cmocka_unit_test(any_double_survives_being_written_and_read),
        cmocka_unit_test(the_nearest_name_is_found_within_a_third_of_the_word),
        cmocka_unit_test(strings_grow_as_far_as_needed),
        cmocka_unit_test(a_string_without_memory_is_marked_and_left_alone),
        cmocka_unit_test(shown_text_is_short_and_printable),
        cmocka_unit_test(hashes_are_xxh3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
