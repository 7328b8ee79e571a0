/* test_math_kernels_rows.c - norms, losses, sums, activations, AdamW and transposes against the slow
 * reference. */
#include "kernel_cases.h"

static void layer_norm_agrees_with_the_reference(void **state)
{
    (void)state;
    static const size_t WIDTHS[] = {1, 7, 16, 32, 48, 64, 100, 128, 250, 256, 512, 515};
    for (size_t number = 0; number < PES_COUNT(WIDTHS); number++) {
        struct pes_arena *arena = pes_arena_create();
        size_t N = 37, C = WIDTHS[number], count = N * C;
        real *x = random_values(arena, count, 1, 2), *gain = random_values(arena, C, 2, 1);
        real *bias = random_values(arena, C, 3, 1), *dy = random_values(arena, count, 4, 1);
        real *start = random_values(arena, count, 5, 1);
        real *y[2], *mean[2], *rstd[2], *dx[2], *dgain[2], *dbias[2];
        for (size_t i = 0; i < count; i++)
            x[i] += (real)(i / C);
        for (int i = 0; i < 2; i++) {
            y[i] = copied(arena, x, count);
            mean[i] = copied(arena, x, N);
            rstd[i] = copied(arena, x, N);
        }
        use("reference");
        pes_layernorm_forward(y[0], mean[0], rstd[0], x, gain, bias, N, C);
        dx[0] = copied(arena, start, count);
        dgain[0] = copied(arena, start, C);
        dbias[0] = copied(arena, start, C);
        pes_layernorm_backward(dx[0], dgain[0], dbias[0], dy, x, mean[0], rstd[0], gain, N, C);
        FOR_EACH_ISA({
            for (int threads = 1; threads <= 3; threads++) {
                pes_kernels_set_threads(threads);
                pes_layernorm_forward(y[1], mean[1], rstd[1], x, gain, bias, N, C);
                dx[1] = copied(arena, start, count);
                dgain[1] = copied(arena, start, C);
                dbias[1] = copied(arena, start, C);
                pes_layernorm_backward(dx[1], dgain[1], dbias[1], dy, x, mean[1], rstd[1], gain, N, C);
                double larger = C == 1 ? 320 : 1; /* rstd of a constant row */
                assert_near("y", y[1], y[0], count, 40 * larger, 20);
                assert_near("mean", mean[1], mean[0], N, 16, 40);
                assert_near("rstd", rstd[1], rstd[0], N, 40 * larger, 2 * larger);
                assert_near("dx", dx[1], dx[0], count, 60 * larger, 4 * larger);
                assert_near("dgain", dgain[1], dgain[0], C, 200 * larger, 10);
                assert_near("dbias", dbias[1], dbias[0], C, 40, 10);
            }
            pes_kernels_set_threads(1);
        })
        pes_arena_destroy(arena);
    }
}

static void threads_do_not_change_a_bit_of_a_norm(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    size_t N = 100, C = 96, count = N * C;
    real *x = random_values(arena, count, 1, 2), *gain = random_values(arena, C, 2, 1);
    real *mean = copied(arena, x, N), *rstd = copied(arena, x, N), *y = copied(arena, x, count);
    FOR_EACH_ISA({
        real *dx[4];
        real *dgain[4];
        real *dbias[4];
        real *db[4];
        for (int threads = 1; threads <= 3; threads++) {
            pes_kernels_set_threads(threads);
            dx[threads] = copied(arena, x, count);
            dgain[threads] = copied(arena, x, C);
            dbias[threads] = copied(arena, x, C);
            db[threads] = copied(arena, x, C);
            pes_layernorm_forward(y, mean, rstd, x, gain, gain, N, C);
            pes_layernorm_backward(dx[threads], dgain[threads], dbias[threads], x, x, mean, rstd, gain, N, C);
            pes_column_sum_add(db[threads], x, C, N, C);
            assert_same_bytes("dx", dx[threads], dx[1], count);
            assert_same_bytes("dgain", dgain[threads], dgain[1], C);
            assert_same_bytes("dbias", dbias[threads], dbias[1], C);
            assert_same_bytes("column sums", db[threads], db[1], C);
        }
        pes_kernels_set_threads(1);
    })
    pes_arena_destroy(arena);
}

/* Rows {1, 2, 3} and {0, 0, 3}: mean 2, variance 2/3; mean 1, variance 2. */
static void a_norm_has_the_values_worked_out_by_hand(void **state)
{
    (void)state;
    const real x[6] = {1, 2, 3, 0, 0, 3}, gain[3] = {1, 2, 1}, bias[3] = {0, 1, 0};
    const real wanted[6] = {-1.2247356859083902f, 1, 1.2247356859083902f, -0.70710501331f, -0.41421002662f,
                            1.41421002662f};
    const real means[2] = {2, 1};
    real y[6], mean[2], rstd[2];
    FOR_EACH_ISA({
        pes_layernorm_forward(y, mean, rstd, x, gain, bias, 2, 3);
        for (int i = 0; i < 6; i++)
            assert_true(fabs((double)(y[i] - wanted[i])) < 1e-6);
        assert_near("mean", mean, means, 2, 1, 2);
    })
}

static void activation_slopes_agree_with_the_reference(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    size_t count = 1003;
    real *x = random_values(arena, count, 1, 3), *dy = random_values(arena, count, 2, 1);
    real *wanted = copied(arena, x, count), *got = copied(arena, x, count);
    x[5] = 0;
    for (int activation = PES_ACTIVATION_NONE; activation <= PES_ACTIVATION_GELU; activation++) {
        use("reference");
        pes_activation_backward(wanted, dy, x, (enum pes_activation)activation, count);
        FOR_EACH_ISA({
            memcpy(got, dy, count * sizeof *got);
            pes_activation_backward(got, got, x, (enum pes_activation)activation, count);
            assert_near("dx", got, wanted, count, 12, 2);
        })
    }
    pes_arena_destroy(arena);
}

static void column_sums_agree_with_the_reference(void **state)
{
    (void)state;
    static const size_t COLUMNS[] = {1, 15, 16, 31, 64, 100, 128, 257};
    struct pes_arena *arena = pes_arena_create();
    size_t m = 77, ld = 260;
    real *dy = random_values(arena, m * ld, 1, 1), *start = random_values(arena, ld, 2, 1);
    for (size_t number = 0; number < PES_COUNT(COLUMNS); number++) {
        real *wanted = copied(arena, start, ld);
        use("reference");
        pes_column_sum_add(wanted, dy, ld, m, COLUMNS[number]);
        FOR_EACH_ISA({
            real *got = copied(arena, start, ld);
            pes_column_sum_add(got, dy, ld, m, COLUMNS[number]);
            assert_near("db", got, wanted, ld, 100, 4);
        })
    }
    pes_arena_destroy(arena);
}

static void transposes_are_exact(void **state)
{
    (void)state;
    static const size_t SIZES[][2] = {{1, 1}, {16, 16}, {17, 5}, {64, 256}, {33, 100}, {8, 130}};
    struct pes_arena *arena = pes_arena_create();
    for (size_t number = 0; number < PES_COUNT(SIZES); number++) {
        size_t m = SIZES[number][0], n = SIZES[number][1], ldi = n + 2, ldo = m + 3;
        real *in = random_values(arena, m * ldi, number, 1), *out = random_values(arena, n * ldo, 50, 1);
        real *before = copied(arena, out, n * ldo);
        FOR_EACH_ISA({
            memcpy(out, before, n * ldo * sizeof *out);
            pes_transpose(out, ldo, in, ldi, m, n);
            for (size_t j = 0; j < n; j++) {
                for (size_t i = 0; i < ldo; i++) {
                    assert_true(out[j * ldo + i] == (i < m ? in[i * ldi + j] : before[j * ldo + i]));
                }
            }
        })
    }
    pes_arena_destroy(arena);
}

static void cross_entropy_agrees_with_the_reference(void **state)
{
    (void)state;
    static const size_t CLASSES[] = {1, 2, 10, 16, 64, 100, 1000, 3001};
    enum { N = 19 };
    for (size_t number = 0; number < PES_COUNT(CLASSES); number++) {
        struct pes_arena *arena = pes_arena_create();
        size_t classes = CLASSES[number], elements = N * classes;
        real *logits = random_values(arena, elements, number, 4), *d[2];
        int32_t labels[N];
        double sum[2] = {1, 1}, losses[2][N];
        int64_t count[2] = {2, 2}, correct[2] = {3, 3};
        uint8_t right[2][N];
        for (int i = 0; i < N; i++)
            labels[i] = i % 4 == 3 ? -1 : (int32_t)((size_t)i * 7 % classes);
        d[0] = copied(arena, logits, elements);
        use("reference");
        pes_cross_entropy(&sum[0], &count[0], &correct[0], d[0], logits, labels, N, classes, 0.25, losses[0],
                          right[0]);
        FOR_EACH_ISA({
            d[1] = copied(arena, logits, elements);
            sum[1] = 1;
            count[1] = 2;
            correct[1] = 3;
            pes_cross_entropy(&sum[1], &count[1], &correct[1], d[1], d[1], labels, N, classes, 0.25,
                              losses[1], right[1]);
            assert_near("dlogits", d[1], d[0], elements, 20, 0.25);
            assert_true(fabs(sum[1] - sum[0]) <= 40 * ROUNDING * N);
            assert_int_equal(count[1], count[0]);
            assert_int_equal(correct[1], correct[0]);
            assert_memory_equal(right[1], right[0], N);
            for (int i = 0; i < N; i++)
                assert_true(fabs(losses[1][i] - losses[0][i]) <= 40 * ROUNDING);
        })
        pes_arena_destroy(arena);
    }
}

static void ties_go_to_the_first_class_and_ignored_rows_count_nothing(void **state)
{
    (void)state;
    const real logits[12] = {2, 5, 5, 5, 1, 1, 1, 1, 0, 9, 0, 0};
    const int32_t labels[3] = {1, 1, -1};
    FOR_EACH_ISA({
        double sum = 0;
        int64_t count = 0;
        int64_t correct = 0;
        pes_cross_entropy(&sum, &count, &correct, NULL, logits, labels, 3, 4, 1, NULL, NULL);
        assert_int_equal(count, 2);
        assert_int_equal(correct, 1);
        /* ln(3 + e^-3) + ln 4 */
        assert_true(fabs(sum - (1.115071774532353297 + 1.386294361119890619)) < 4 * ROUNDING);
    })
}

static void a_nan_logit_makes_the_loss_nan(void **state)
{
    (void)state;
    for (int place = 0; place < 20; place += 19) {
        real logits[20] = {0};
        const int32_t label = 3;
        logits[place] = (real)NAN;
        FOR_EACH_ISA({
            double sum = 0;
            int64_t count = 0;
            int64_t correct = 0;
            pes_cross_entropy(&sum, &count, &correct, NULL, logits, &label, 1, 20, 1, NULL, NULL);
            assert_true(isnan(sum));
        })
    }
}

static void adamw_agrees_with_the_reference(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    size_t n = 1001;
    real *g = random_values(arena, n, 1, 0.1), *start = random_values(arena, n, 2, 1);
    struct pes_adamw w = {
        .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .decay = 0.1, .gradient_scale = 0.5};
    real *p[2], *m[2], *v[2];
    g[17] = 0;
    FOR_EACH_ISA({
        for (int i = 0; i < 2; i++) {
            p[i] = copied(arena, start, n);
            m[i] = pes_arena_take(arena, n, sizeof(real));
            v[i] = pes_arena_take(arena, n, sizeof(real));
        }
        for (int step = 1; step <= 3; step++) {
            w.correction1 = 1 - pow(w.beta1, step);
            w.correction2 = 1 - pow(w.beta2, step);
            pes_adamw_update(p[1], m[1], v[1], g, n, &w);
        }
        const char *isa = pes_kernels_isa();
        use("reference");
        for (int step = 1; step <= 3; step++) {
            w.correction1 = 1 - pow(w.beta1, step);
            w.correction2 = 1 - pow(w.beta2, step);
            pes_adamw_update(p[0], m[0], v[0], g, n, &w);
        }
        use(isa);
        assert_near("p", p[1], p[0], n, 8, 3);
        assert_near("m", m[1], m[0], n, 8, 0.1);
        assert_near("v", v[1], v[0], n, 8, 0.01);
    })
    pes_arena_destroy(arena);
}

/* First step from p = 1, g = 0.1: the moments' ratio is 1, so p = 1 (1 - lr decay) - lr / (1 + eps / 0.1). */
static void the_first_step_of_adamw_has_the_size_of_the_rate(void **state)
{
    (void)state;
    struct pes_adamw w = {.lr = 0.1,
                          .beta1 = 0.9,
                          .beta2 = 0.999,
                          .eps = 1e-8,
                          .decay = 0.5,
                          .correction1 = 0.1,
                          .correction2 = 0.001,
                          .gradient_scale = 1};
    FOR_EACH_ISA({
        real p = 1;
        real m = 0;
        real v = 0;
        const real g = (real)0.1;
        pes_adamw_update(&p, &m, &v, &g, 1, &w);
        assert_true(fabs((double)p - (0.95 - 0.1 / (1 + 1e-7))) < 4 * ROUNDING);
        assert_true(fabs((double)m - 0.01) < ROUNDING && fabs((double)v - 1e-5) < ROUNDING);
    })
}

static void sums_of_squares_are_sums_in_double(void **state)
{
    (void)state;
    real x[1003];
    double wanted = 0;
    for (int i = 0; i < 1003; i++) {
        x[i] = (real)(i % 7) * (i % 2 ? 1 : -1000);
        wanted += (double)x[i] * (double)x[i];
    }
    FOR_EACH_ISA(assert_true(pes_sum_squares(x, 1003) == wanted);)
}

static void an_unknown_instruction_set_is_refused(void **state)
{
    (void)state;
    use("portable");
    assert_int_equal(pes_kernels_select("sse9"), PES_INPUT);
    assert_string_equal(pes_kernels_isa(), "portable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm_agrees_with_the_reference),
        cmocka_unit_test(threads_do_not_change_a_bit_of_a_norm),
        cmocka_unit_test(a_norm_has_the_values_worked_out_by_hand),
        cmocka_unit_test(activation_slopes_agree_with_the_reference),
        cmocka_unit_test(column_sums_agree_with_the_reference),
        cmocka_unit_test(transposes_are_exact),
        cmocka_unit_test(cross_entropy_agrees_with_the_reference),
        cmocka_unit_test(ties_go_to_the_first_class_and_ignored_rows_count_nothing),
        cmocka_unit_test(a_nan_logit_makes_the_loss_nan),
        cmocka_unit_test(adamw_agrees_with_the_reference),
        cmocka_unit_test(the_first_step_of_adamw_has_the_size_of_the_rate),
        cmocka_unit_test(sums_of_squares_are_sums_in_double),
        cmocka_unit_test(an_unknown_instruction_set_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
