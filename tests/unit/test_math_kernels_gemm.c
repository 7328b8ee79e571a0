/* test_math_kernels_gemm.c - the matrix products and their epilogues against the slow reference. */
#include "kernel_cases.h"

static const size_t SHAPES[][3] = {{1, 1, 1},
                                   {1, 10, 64},
                                   {5, 7, 3},
                                   {6, 64, 17},
                                   {7, 65, 9},
                                   {8, 32, 0},
                                   {24, 64, 64},
                                   {25, 16, 33},
                                   {26, 48, 100},
                                   {31, 130, 64},
                                   {64, 300, 20},
                                   {128, 63, 129},
                                   {53, 24, 31},
                                   {2, 257, 8},
                                   {100, 96, 40},
                                   /* several packed strips and blocks of tokens; too deep to be packed */
                                   {50, 300, 600},
                                   {70, 100, 1000},
                                   {48, 17, 4100}};

enum { PAD = 3 }; /* rows are longer than the matrix, and what lies between must stay as it is */

struct gemm_case {
    size_t m, n, k;
    real *a, *b, *start, *bias, *residual;
};

static struct gemm_case gemm_case(struct pes_arena *arena, size_t number)
{
    struct gemm_case c = {.m = SHAPES[number][0], .n = SHAPES[number][1], .k = SHAPES[number][2]};
    c.a = random_values(arena, (c.m + PAD) * (c.k + PAD), number, 1);
    c.b = random_values(arena, (c.k + 1) * (c.n + PAD), number + 100, 1);
    c.start = random_values(arena, c.m * (c.n + PAD), number + 200, 1);
    c.residual = random_values(arena, c.m * (c.n + PAD), number + 300, 1);
    c.bias = random_values(arena, c.n, number + 400, 1);
    return c;
}

static struct pes_epilogue epilogue_case(const struct gemm_case *c, unsigned bits, real *before)
{
    struct pes_epilogue e = {0};
    if (bits & 1) e.bias = c->bias;
    if (bits & 2) e.residual = c->residual;
    e.activation = (enum pes_activation)(bits / 4 % 3);
    if (bits / 12 % 2) e.before = before;
    if (bits / 24 % 2) e.dropout = (struct pes_dropout){0.3, {9, PES_RNG_DROPOUT, 4}, 3 * (bits % 3)};
    if (bits / 48 % 2) {
        e.slope_of = c->start;
        e.slope = (enum pes_activation)(bits % 3);
    }
    return e;
}

static void run_nn(const struct gemm_case *c, real *out, const struct pes_epilogue *e)
{
    pes_gemm_nn(out, c->n + PAD, c->a, c->k + PAD, c->b, c->n + PAD, c->m, c->n, c->k, e);
}

static void products_with_every_epilogue_agree_with_the_reference(void **state)
{
    (void)state;
    for (size_t number = 0; number < PES_COUNT(SHAPES); number++) {
        struct pes_arena *arena = pes_arena_create();
        struct gemm_case c = gemm_case(arena, number);
        size_t count = c.m * (c.n + PAD);
        double tolerance = 4 + 2 * (double)c.k, size = 4;
        for (unsigned bits = 0; bits < 96; bits++) {
            struct pes_arena_mark mark = pes_arena_mark(arena);
            real *before[2], *out[2];
            for (int i = 0; i < 2; i++) {
                out[i] = copied(arena, c.start, count);
                before[i] = copied(arena, c.start, count);
            }
            struct pes_epilogue e = epilogue_case(&c, bits, before[0]);
            use("reference");
            run_nn(&c, out[0], bits ? &e : NULL);
            FOR_EACH_ISA({
                memcpy(out[1], c.start, count * sizeof(real));
                memcpy(before[1], c.start, count * sizeof(real));
                e = epilogue_case(&c, bits, before[1]);
                run_nn(&c, out[1], bits ? &e : NULL);
                assert_near("out", out[1], out[0], count, tolerance, size);
                assert_near("before", before[1], before[0], count, tolerance, size);
            })
            pes_arena_rewind(arena, mark);
        }
        pes_arena_destroy(arena);
    }
}

static void the_residual_may_be_the_output(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    struct gemm_case c = gemm_case(arena, 9);
    size_t count = c.m * (c.n + PAD);
    struct pes_epilogue e = {.residual = c.residual};
    FOR_EACH_ISA({
        real *apart = copied(arena, c.residual, count);
        real *in_place = copied(arena, c.residual, count);
        run_nn(&c, apart, &e);
        struct pes_epilogue self = {.residual = in_place};
        run_nn(&c, in_place, &self);
        assert_same_bytes("out", in_place, apart, count);
    })
    pes_arena_destroy(arena);
}

static void weight_gradients_agree_with_the_reference(void **state)
{
    (void)state;
    for (size_t number = 0; number < PES_COUNT(SHAPES); number++) {
        struct pes_arena *arena = pes_arena_create();
        struct gemm_case c = gemm_case(arena, number);
        size_t count = c.m * (c.n + PAD);
        real *wanted = copied(arena, c.start, count), *out = copied(arena, c.start, count);
        use("reference");
        pes_gemm_tn_add(wanted, c.n + PAD, c.a, c.m + PAD, c.b, c.n + PAD, c.m, c.n, c.k);
        FOR_EACH_ISA({
            memcpy(out, c.start, count * sizeof *out);
            pes_gemm_tn_add(out, c.n + PAD, c.a, c.m + PAD, c.b, c.n + PAD, c.m, c.n, c.k);
            assert_near("dW", out, wanted, count, 4 + 2 * (double)c.k, 4);
        })
        pes_arena_destroy(arena);
    }
}

/* More tokens than one block of them, and an output that fits no tile. */
static void many_tokens_agree_with_the_reference(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    size_t m = 14, n = 70, k = 700;
    real *a = random_values(arena, k * m, 1, 1), *b = random_values(arena, k * n, 2, 1);
    real *wanted = random_values(arena, m * n, 3, 1), *out = copied(arena, wanted, m * n);
    real *start = copied(arena, wanted, m * n);
    use("reference");
    pes_gemm_tn_add(wanted, n, a, m, b, n, m, n, k);
    FOR_EACH_ISA({
        memcpy(out, start, m * n * sizeof *out);
        pes_gemm_tn_add(out, n, a, m, b, n, m, n, k);
        assert_near("dW", out, wanted, m * n, 800, 2);
    })
    pes_arena_destroy(arena);
}

/* k and n beyond what fits a cache. */
static void large_products_agree_with_the_reference(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    size_t m = 27, n = 1100, k = 1300;
    real *a = random_values(arena, m * k, 1, 1), *b = random_values(arena, k * n, 2, 1);
    real *wanted = random_values(arena, m * n, 3, 1), *out = copied(arena, wanted, m * n);
    struct pes_epilogue e = {.bias = b, .activation = PES_ACTIVATION_RELU, .residual = wanted};
    real *residual = copied(arena, wanted, m * n);
    use("reference");
    pes_gemm_nn(wanted, n, a, k, b, n, m, n, k, &e);
    FOR_EACH_ISA({
        memcpy(out, residual, m * n * sizeof *out);
        e.residual = out;
        pes_gemm_nn(out, n, a, k, b, n, m, n, k, &e);
        assert_near("out", out, wanted, m * n, 1500, 2);
    })
    pes_arena_destroy(arena);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    struct gemm_case c = gemm_case(arena, 11);
    size_t count = c.m * (c.n + PAD);
    real *before = copied(arena, c.start, count);
    FOR_EACH_ISA({
        real *out[4];
        real *dw[4];
        for (int threads = 1; threads <= 3; threads++) {
            pes_kernels_set_threads(threads);
            assert_int_equal(pes_kernels_threads(), threads);
            struct pes_epilogue e = epilogue_case(&c, 24 + 3, before);
            out[threads] = copied(arena, c.start, count);
            run_nn(&c, out[threads], &e);
            dw[threads] = copied(arena, c.start, count);
            pes_gemm_tn_add(dw[threads], c.n + PAD, c.a, c.m + PAD, c.b, c.n + PAD, c.m, c.n, c.k);
            assert_same_bytes("out", out[threads], out[1], count);
            assert_same_bytes("dW", dw[threads], dw[1], count);
        }
        pes_kernels_set_threads(1);
    })
    pes_arena_destroy(arena);
}

/* A row of the output is the same bits whatever rows are computed with it. */
static void a_row_does_not_depend_on_its_neighbours(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    struct gemm_case c = gemm_case(arena, 13);
    size_t count = c.m * (c.n + PAD);
    FOR_EACH_ISA({
        real *all = copied(arena, c.start, count);
        real *one = copied(arena, c.start, count);
        run_nn(&c, all, NULL);
        for (size_t i = 0; i < c.m; i++) {
            pes_gemm_nn(one + i * (c.n + PAD), c.n + PAD, c.a + i * (c.k + PAD), c.k + PAD, c.b, c.n + PAD, 1,
                        c.n, c.k, NULL);
        }
        assert_same_bytes("rows", one, all, count);
    })
    pes_arena_destroy(arena);
}

/* x Phi(x) from tables of the normal distribution (30 digits by mpmath). */
static void gelu_has_the_values_of_the_normal_distribution(void **state)
{
    (void)state;
    static const double X[] = {-9, -5, -3, -1, -0.5, 0, 0.25, 1, 2.5, 6};
    static const double GELU[] = {-1.015729565358457e-18, -1.43325785939597e-6, -0.004049694094890284,
                                  -0.1586552539314571,    -0.1542687693629934,  0.0,
                                  0.1496765814207309,     0.8413447460685429,   2.48447583668556,
                                  5.999999994080474};
    enum { N = PES_COUNT(X) };
    real x[N], one = 1, out[N];
    for (size_t i = 0; i < N; i++)
        x[i] = (real)X[i];
    struct pes_epilogue e = {.activation = PES_ACTIVATION_GELU};
    FOR_EACH_ISA({
        pes_gemm_nn(out, N, &one, 1, x, N, 1, N, 1, &e);
        for (size_t i = 0; i < N; i++) {
            /* Relative to Phi where it isn't tiny, and to 50 roundings of its tail. */
            double allowed = ROUNDING * (X[i] < -2 ? 50 * fabs(GELU[i]) : 3 * fabs(X[i]));
            assert_true(fabs((double)out[i] - GELU[i]) <= allowed);
        }
    })
}

static void nan_passes_through_every_activation(void **state)
{
    (void)state;
    real one = 1, x[3] = {(real)NAN, 1, -1}, out[3];
    for (int activation = PES_ACTIVATION_NONE; activation <= PES_ACTIVATION_GELU; activation++) {
        struct pes_epilogue e = {.activation = (enum pes_activation)activation};
        FOR_EACH_ISA({
            pes_gemm_nn(out, 3, &one, 1, x, 3, 1, 3, 1, &e);
            assert_true(isnan(out[0]));
            assert_false(isnan(out[1]) || isnan(out[2]));
        })
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_with_every_epilogue_agree_with_the_reference),
        cmocka_unit_test(the_residual_may_be_the_output),
        cmocka_unit_test(weight_gradients_agree_with_the_reference),
        cmocka_unit_test(many_tokens_agree_with_the_reference),
        cmocka_unit_test(large_products_agree_with_the_reference),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(a_row_does_not_depend_on_its_neighbours),
        cmocka_unit_test(gelu_has_the_values_of_the_normal_distribution),
        cmocka_unit_test(nan_passes_through_every_activation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
