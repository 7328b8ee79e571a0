/* test_math_kernels_dropout.c - dropout masks: the documented mapping, its rate, and that both passes agree.
 */
#include "kernel_cases.h"

static const struct pes_rng RNG = {0x123456789abcdef0, PES_RNG_DROPOUT, 7};

/* Seven rounds of Philox4x32 as the paper's figure writes them. */
static void philox7(uint32_t x[4], uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 7; round++) {
        uint64_t a = (uint64_t)0xD2511F53 * x[0], b = (uint64_t)0xCD9E8D57 * x[2];
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ x[1] ^ key0, (uint32_t)b, (uint32_t)(a >> 32) ^ x[3] ^ key1,
                            (uint32_t)a};
        memcpy(x, next, sizeof next);
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
}

/* The mapping of kernels.h, written out. */
static bool dropped(const struct pes_dropout *d, uint64_t row, uint64_t column)
{
    uint32_t w[4] = {(uint32_t)column, (uint32_t)(row / 8), d->rng.step, d->rng.purpose};
    philox7(w, (uint32_t)d->rng.seed, (uint32_t)(d->rng.seed >> 32));
    uint32_t word = w[row % 8 / 2], half = row % 2 ? word / 65536 : word % 65536;
    return half < (uint32_t)floor(d->rate * 65536 + 0.5);
}

/* First vectors of the generator's known-answer file (kat_vectors of Random123: philox4x32 7). */
static void the_generator_gives_its_known_answers(void **state)
{
    (void)state;
    uint32_t zeros[4] = {0, 0, 0, 0}, ones[4] = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
    philox7(zeros, 0, 0);
    philox7(ones, 0xffffffff, 0xffffffff);
    const uint32_t of_zeros[4] = {0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48};
    const uint32_t of_ones[4] = {0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662};
    assert_memory_equal(zeros, of_zeros, sizeof zeros);
    assert_memory_equal(ones, of_ones, sizeof ones);
}

static void masks_are_those_of_the_documented_mapping(void **state)
{
    (void)state;
    static const size_t SIZES[][2] = {{1, 1}, {8, 16}, {11, 70}, {30, 100}};
    static const uint64_t FIRST[] = {0, 8, 3, 1000000007, 30000000013};
    for (size_t number = 0; number < PES_COUNT(SIZES) * PES_COUNT(FIRST); number++) {
        size_t N = SIZES[number % 4][0], C = SIZES[number % 4][1];
        struct pes_dropout d = {0.25, RNG, FIRST[number / 4]};
        struct pes_arena *arena = pes_arena_create();
        FOR_EACH_ISA({
            real *x = random_values(arena, N * C, 1, 1);
            real *before = copied(arena, x, N * C);
            pes_dropout_apply(x, N, C, &d);
            for (size_t i = 0; i < N; i++) {
                for (size_t j = 0; j < C; j++) {
                    double factor = dropped(&d, d.first_row + i, j) ? 0 : 1 / 0.75;
                    assert_true(pes_dropout_factor(&d, i, j) == factor);
                    assert_true(fabs((double)x[i * C + j] - factor * (double)before[i * C + j]) <=
                                2 * ROUNDING * fabs((double)x[i * C + j]));
                }
            }
        })
        pes_arena_destroy(arena);
    }
}

static void an_epilogue_draws_the_mask_that_apply_draws(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    size_t m = 61, n = 150;
    real *ones = pes_arena_take(arena, m * n, sizeof *ones);
    real *out = pes_arena_take(arena, m * n, sizeof *out);
    real *bias = pes_arena_take(arena, n, sizeof *bias);
    for (uint64_t first = 0; first < 12; first += 5) {
        struct pes_epilogue e = {.bias = bias, .dropout = {0.1, RNG, first}};
        for (size_t j = 0; j < n; j++)
            bias[j] = 1;
        FOR_EACH_ISA({
            for (size_t i = 0; i < m * n; i++)
                ones[i] = 1;
            pes_gemm_nn(out, n, ones, 1, ones, n, m, n, 0, &e);
            pes_dropout_apply(ones, m, n, &e.dropout);
            assert_same_bytes("mask", out, ones, m * n);
        })
    }
    pes_arena_destroy(arena);
}

static void a_micro_batch_has_the_masks_of_its_rows_in_the_batch(void **state)
{
    (void)state;
    enum { N = 45, C = 33 };
    struct pes_dropout d = {0.4, RNG, 100};
    static real whole[N * C], parts[N * C];
    FOR_EACH_ISA({
        for (size_t i = 0; i < N * C; i++)
            whole[i] = parts[i] = 1;
        pes_dropout_apply(whole, N, C, &d);
        for (size_t start = 0, rows = 1; start < N; start += rows, rows = PES_MIN(rows * 2, N - start)) {
            struct pes_dropout part = d;
            part.first_row += start;
            pes_dropout_apply(parts + start * C, rows, C, &part);
        }
        assert_same_bytes("mask", parts, whole, N * C);
    })
}

static void the_share_of_kept_elements_is_right(void **state)
{
    (void)state;
    static const double RATES[] = {0.01, 0.1, 0.5, 0.9};
    enum { N = 256, C = 512 };
    static real x[N * C];
    for (size_t number = 0; number < PES_COUNT(RATES); number++) {
        double rate = RATES[number], count = N * C;
        struct pes_dropout d = {rate, RNG, 0};
        FOR_EACH_ISA({
            double kept = 0;
            double sum = 0;
            for (size_t i = 0; i < N * C; i++)
                x[i] = 1;
            pes_dropout_apply(x, N, C, &d);
            for (size_t i = 0; i < N * C; i++) {
                kept += x[i] != 0;
                sum += (double)x[i];
            }
            /* Four standard errors; the mean of what is left is 1. */
            double error = sqrt(rate * (1 - rate) / count);
            assert_true(fabs(kept / count - (1 - rate)) < 4 * error);
            assert_true(fabs(sum / count - 1) < 4 * error / (1 - rate));
        })
    }
}

static void rate_zero_changes_nothing(void **state)
{
    (void)state;
    real x[5] = {1, -2, 3, 0, 5};
    const real same[5] = {1, -2, 3, 0, 5};
    struct pes_dropout d = {0, RNG, 0};
    FOR_EACH_ISA({
        pes_dropout_apply(x, 1, 5, &d);
        assert_same_bytes("x", x, same, 5);
    })
}

/* Probabilities: row = key, column = query.  With all scores equal, o_i = sum over kept keys of v_j / (T (1 -
 * rate)); and backward dv_j sums the same kept pairs. */
static void attention_drops_the_documented_pairs_in_both_passes(void **state)
{
    (void)state;
    enum { T = 45 };
    static const uint64_t FIRST[] = {0, T, 3 * T};
    static real q[T], v[T], d_o[T], o[T], lse[T], dq[T], dk[T], dv[T];
    struct pes_arena *arena = pes_arena_create();
    real *scratch = pes_arena_take(arena, pes_attention_scratch(T, 1, 1), sizeof *scratch);
    for (int i = 0; i < T; i++) {
        v[i] = (real)(1 + i % 7);
        d_o[i] = (real)(1 + i % 5);
    }
    for (size_t number = 0; number < PES_COUNT(FIRST); number++) {
        struct pes_attention a = {.T = T,
                                  .width = 1,
                                  .value_width = 1,
                                  .q = q,
                                  .k = q,
                                  .v = v,
                                  .q_ld = 1,
                                  .k_ld = 1,
                                  .v_ld = 1,
                                  .scale = 1,
                                  .dropout = {0.5, RNG, FIRST[number]}};
        FOR_EACH_ISA({
            pes_attention_forward(&a, o, 1, lse, scratch);
            pes_attention_backward(&a, o, 1, lse, d_o, 1, dq, dk, dv, NULL, scratch);
            for (uint64_t i = 0; i < T; i++) {
                double sum = 0;
                double gradient = 0;
                for (uint64_t j = 0; j < T; j++) {
                    if (!dropped(&a.dropout, FIRST[number] + j, i)) sum += (double)v[j] * 2 / T;
                    if (!dropped(&a.dropout, FIRST[number] + i, j)) gradient += (double)d_o[j] * 2 / T;
                }
                assert_true(fabs((double)o[i] - sum) < 60 * ROUNDING);
                assert_true(fabs((double)dv[i] - gradient) < 60 * ROUNDING);
            }
        })
    }
    pes_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_gives_its_known_answers),
        cmocka_unit_test(masks_are_those_of_the_documented_mapping),
        cmocka_unit_test(an_epilogue_draws_the_mask_that_apply_draws),
        cmocka_unit_test(a_micro_batch_has_the_masks_of_its_rows_in_the_batch),
        cmocka_unit_test(the_share_of_kept_elements_is_right),
        cmocka_unit_test(rate_zero_changes_nothing),
        cmocka_unit_test(attention_drops_the_documented_pairs_in_both_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
