/* test_base_rng.c - the generator's known answers and the distributions made from it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "pesweep/rng.h"

/* Known answers of Philox4x32-10 from the authors' own test vectors (Random123, kat_vectors). */
static void words_are_those_of_the_published_vectors(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < PES_COUNT(known); i++) {
        struct pes_rng rng = {.seed = (uint64_t)known[i].key[1] << 32 | known[i].key[0],
                              .step = known[i].counter[2],
                              .purpose = known[i].counter[3]};
        uint32_t words[4];
        pes_rng_words(&rng, (uint64_t)known[i].counter[1] << 32 | known[i].counter[0], words);
        for (int w = 0; w < 4; w++)
            assert_int_equal(words[w], known[i].words[w]);
    }
}

static void normal_numbers_have_the_moments_of_a_normal(void **state)
{
    (void)state;
    enum { N = 200000 };
    struct pes_rng rng = {.seed = 5, .purpose = PES_RNG_TEST};
    double moment[5] = {0};
    for (uint64_t i = 0; i < N; i++) {
        double x = pes_rng_normal(&rng, i), power = 1;
        for (int m = 1; m <= 4; m++)
            moment[m] += (power *= x) / N;
    }
    /* Five standard errors each: sqrt(1, 2, 15, 96) / sqrt(N). */
    double error = 5 / sqrt(N);
    assert_true(fabs(moment[1]) < error);
    assert_true(fabs(moment[2] - 1) < error * sqrt(2));
    assert_true(fabs(moment[3]) < error * sqrt(15));
    assert_true(fabs(moment[4] - 3) < error * sqrt(96));
}

static void numbers_below_n_are_uniform_and_never_reach_n(void **state)
{
    (void)state;
    enum { N = 7, DRAWS = 70000 };
    struct pes_stream stream = {{.seed = 9, .purpose = PES_RNG_TEST}, 0};
    long counts[N] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t value = pes_stream_below(&stream, N);
        assert_true(value < N);
        counts[value]++;
    }
    double chi_squared = 0, expected = (double)DRAWS / N;
    for (int i = 0; i < N; i++)
        chi_squared += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    assert_true(chi_squared < 22.46); /* 0.1 % of chi squared with 6 degrees of freedom */
}

static void a_shuffle_is_a_permutation_and_reaches_all_orders(void **state)
{
    (void)state;
    struct pes_stream stream = {{.seed = 1, .purpose = PES_RNG_TEST}, 0};
    long seen[27] = {0};
    for (int i = 0; i < 6000; i++) {
        int32_t values[3] = {0, 1, 2};
        pes_stream_shuffle(&stream, values, 3);
        assert_int_equal(values[0] + values[1] + values[2], 3);
        assert_true(values[0] != values[1] && values[1] != values[2] && values[0] != values[2]);
        seen[values[0] * 9 + values[1] * 3 + values[2]]++;
    }
    int orders = 0;
    for (int i = 0; i < 27; i++)
        if (seen[i]) {
            orders++;
            assert_in_range(seen[i], 860, 1140); /* 1000 +- 5 standard errors */
        }
    assert_int_equal(orders, 6);
}

static void streams_of_different_purpose_step_or_seed_differ(void **state)
{
    (void)state;
    struct pes_rng base = {.seed = 1, .purpose = 2, .step = 3}, other[3] = {base, base, base};
    other[0].seed = 2;
    other[1].purpose = 3;
    other[2].step = 4;
    for (int i = 0; i < 3; i++)
        assert_true(pes_rng_uniform(&base, 0) != pes_rng_uniform(&other[i], 0));
    assert_true(pes_rng_named_seed(1, "wq") != pes_rng_named_seed(1, "wk"));
    assert_true(pes_rng_named_seed(1, "wq") != pes_rng_named_seed(2, "wq"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_the_published_vectors),
        cmocka_unit_test(normal_numbers_have_the_moments_of_a_normal),
        cmocka_unit_test(numbers_below_n_are_uniform_and_never_reach_n),
        cmocka_unit_test(a_shuffle_is_a_permutation_and_reaches_all_orders),
        cmocka_unit_test(streams_of_different_purpose_step_or_seed_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
