/* bench_kernels.c - rates of the kernels, one by one, beside the machine's matrix product in the same run.
 *
 *   bench_kernels [--cpu-time] [part of a name]
 *
 * Every line is the fastest of several rounds, which alternate with the others.  Products count 2 operations
 * per multiply-add; attention counts forward 2 products of T x T x width and backward 4, causal or not. */
#include "machine.h"

#include "pesweep/arena.h"
#include "pesweep/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 15 };

enum kind {
    NN,
    NN_EPILOGUE,
    NN_DROPOUT,
    NN_GELU,
    TN,
    FORWARD,
    BACKWARD,
    NORM,
    NORM_BACKWARD,
    RELU_BACKWARD,
    COLUMNS,
    LOSS,
    ADAMW,
    TRANSPOSE,
    DROPOUT
};

/* Sizes: products m, n, k; attention T, width, heads; else rows m, columns n. */
struct line {
    const char *name;
    enum kind kind;
    size_t m, n, k;
    bool causal, drops, bias;
};

static const struct line LINES[] = {
    {"nn 512x256x256", NN, 512, 256, 256, 0, 0, 0},
    {"nn 512x512x256", NN, 512, 512, 256, 0, 0, 0},
    {"nn 512x256x512", NN, 512, 256, 512, 0, 0, 0},
    {"nn 256x128x128", NN, 256, 128, 128, 0, 0, 0},
    {"nn 256x512x128", NN, 256, 512, 128, 0, 0, 0},
    {"nn 256x64x64", NN, 256, 64, 64, 0, 0, 0},
    {"nn 256x128x64", NN, 256, 128, 64, 0, 0, 0},
    {"nn 256x192x64", NN, 256, 192, 64, 0, 0, 0},
    {"nn 256x96x96", NN, 256, 96, 96, 0, 0, 0},
    {"nn 256x32x32", NN, 256, 32, 32, 0, 0, 0},
    {"nn 512x1000x256", NN, 512, 1000, 256, 0, 0, 0},
    {"nn 512x256x1000", NN, 512, 256, 1000, 0, 0, 0},
    {"nn 2048x2048x2048", NN, 2048, 2048, 2048, 0, 0, 0},
    {"nn 512x8000x256", NN, 512, 8000, 256, 0, 0, 0},
    {"nn 512x256x8000", NN, 512, 256, 8000, 0, 0, 0},
    {"tn dW 8000x256 512 tokens", TN, 8000, 256, 512, 0, 0, 0},
    {"nn bias relu residual 256x256x256", NN_EPILOGUE, 256, 256, 256, 0, 0, 0},
    {"nn bias relu residual 256x64x64", NN_EPILOGUE, 256, 64, 64, 0, 0, 0},
    {"nn dropout 256x256x256", NN_DROPOUT, 256, 256, 256, 0, 1, 0},
    {"nn dropout 256x64x64", NN_DROPOUT, 256, 64, 64, 0, 1, 0},
    {"nn gelu 256x512x256", NN_GELU, 256, 512, 256, 0, 0, 0},
    {"tn dW 256x256 512 tokens", TN, 256, 256, 512, 0, 0, 0},
    {"tn dW 512x256 512 tokens", TN, 512, 256, 512, 0, 0, 0},
    {"tn dW 256x512 512 tokens", TN, 256, 512, 512, 0, 0, 0},
    {"tn dW 128x128 256 tokens", TN, 128, 128, 256, 0, 0, 0},
    {"tn dW 512x128 256 tokens", TN, 512, 128, 256, 0, 0, 0},
    {"tn dW 64x64 256 tokens", TN, 64, 64, 256, 0, 0, 0},
    {"tn dW 128x64 256 tokens", TN, 128, 64, 256, 0, 0, 0},
    {"attention forward T 128 width 16", FORWARD, 128, 16, 16, 0, 0, 0},
    {"attention forward T 64 width 16", FORWARD, 64, 16, 8, 0, 0, 0},
    {"attention forward T 32 width 16", FORWARD, 32, 16, 4, 0, 0, 0},
    {"attention forward T 256 width 32", FORWARD, 256, 32, 4, 0, 0, 0},
    {"attention forward T 256 width 32 causal", FORWARD, 256, 32, 4, 1, 0, 0},
    {"attention forward T 128 width 64", FORWARD, 128, 64, 4, 0, 0, 0},
    {"attention forward T 128 width 8", FORWARD, 128, 8, 8, 0, 0, 0},
    {"attention forward T 128 width 16 dropout", FORWARD, 128, 16, 16, 0, 1, 0},
    {"attention forward T 128 width 16 bias", FORWARD, 128, 16, 16, 0, 0, 1},
    {"attention backward T 128 width 16", BACKWARD, 128, 16, 16, 0, 0, 0},
    {"attention backward T 64 width 16", BACKWARD, 64, 16, 8, 0, 0, 0},
    {"attention backward T 32 width 16", BACKWARD, 32, 16, 4, 0, 0, 0},
    {"attention backward T 256 width 32", BACKWARD, 256, 32, 4, 0, 0, 0},
    {"attention backward T 256 width 32 causal", BACKWARD, 256, 32, 4, 1, 0, 0},
    {"attention backward T 128 width 64", BACKWARD, 128, 64, 4, 0, 0, 0},
    {"attention backward T 128 width 8", BACKWARD, 128, 8, 8, 0, 0, 0},
    {"attention backward T 128 width 16 dropout", BACKWARD, 128, 16, 16, 0, 1, 0},
    {"attention backward T 128 width 16 bias", BACKWARD, 128, 16, 16, 0, 0, 1},
    {"norm forward 512x256", NORM, 512, 256, 0, 0, 0, 0},
    {"norm forward 512x64", NORM, 512, 64, 0, 0, 0, 0},
    {"norm backward 512x256", NORM_BACKWARD, 512, 256, 0, 0, 0, 0},
    {"norm backward 512x64", NORM_BACKWARD, 512, 64, 0, 0, 0, 0},
    {"relu backward 512x512", RELU_BACKWARD, 512, 512, 0, 0, 0, 0},
    {"column sums 512x256", COLUMNS, 512, 256, 0, 0, 0, 0},
    {"cross entropy 256x10", LOSS, 256, 10, 0, 0, 0, 0},
    {"cross entropy 256x1000", LOSS, 256, 1000, 0, 0, 0, 0},
    {"adamw 3M", ADAMW, 3000, 1000, 0, 0, 0, 0},
    {"transpose 512x256", TRANSPOSE, 512, 256, 0, 0, 0, 0},
    {"dropout 512x256", DROPOUT, 512, 256, 0, 0, 1, 0},
};

static struct {
    real *x[6], *scratch;
    int32_t *labels;
} data;

static struct pes_attention attention_of(const struct line *l, size_t head)
{
    size_t C = l->n * l->k;
    return (struct pes_attention){.T = (int)l->m,
                                  .width = (int)l->n,
                                  .value_width = (int)l->n,
                                  .q = data.x[0] + head * l->n,
                                  .k = data.x[1] + head * l->n,
                                  .v = data.x[2] + head * l->n,
                                  .q_ld = C,
                                  .k_ld = C,
                                  .v_ld = C,
                                  .scale = 1 / sqrt((double)l->n),
                                  .causal = l->causal,
                                  .bias = l->bias ? data.x[5] + 1000 : NULL,
                                  .bias_key_stride = -1,
                                  .dropout = {l->drops ? 0.1 : 0, {1, PES_RNG_DROPOUT, 1}, head * l->m}};
}

/* One call, or one per head. */
static void run(const struct line *l)
{
    real **x = data.x;
    const size_t m = l->m, n = l->n, k = l->k, C = n * k;
    struct pes_epilogue e = {.bias = x[3], .activation = PES_ACTIVATION_RELU, .residual = x[4]};
    switch (l->kind) {
    case NN:
        pes_gemm_nn(x[2], n, x[0], k, x[1], n, m, n, k, NULL);
        break;
    case NN_EPILOGUE:
        pes_gemm_nn(x[2], n, x[0], k, x[1], n, m, n, k, &e);
        break;
    case NN_DROPOUT:
        e.dropout = (struct pes_dropout){0.1, {1, PES_RNG_DROPOUT, 1}, 0};
        e.activation = PES_ACTIVATION_NONE;
        pes_gemm_nn(x[2], n, x[0], k, x[1], n, m, n, k, &e);
        break;
    case NN_GELU:
        e = (struct pes_epilogue){.bias = x[3], .activation = PES_ACTIVATION_GELU, .before = x[4]};
        pes_gemm_nn(x[2], n, x[0], k, x[1], n, m, n, k, &e);
        break;
    case TN:
        pes_gemm_tn_add(x[2], n, x[0], m, x[1], n, m, n, k);
        break;
    case FORWARD:
    case BACKWARD:
        for (size_t head = 0; head < k; head++) {
            struct pes_attention a = attention_of(l, head);
            size_t at = head * n;
            if (l->kind == FORWARD) {
                pes_attention_forward(&a, x[3] + at, C, x[4], data.scratch);
            } else {
                real *dbias = l->bias ? x[5] + 3000 : NULL;
                memset(x[4], 0, m * sizeof(real));
                pes_attention_backward(&a, x[3] + at, C, x[4], x[3] + at, C, x[4] + (1 << 18) + at,
                                       x[4] + (2 << 18) + at, x[4] + (3 << 18) + at, dbias, data.scratch);
            }
        }
        break;
    case NORM:
        pes_layernorm_forward(x[2], x[3], x[4], x[0], x[1], x[1], m, n);
        break;
    case NORM_BACKWARD:
        pes_layernorm_backward(x[2], x[3], x[3] + n, x[0], x[1], x[4], x[4], x[1], m, n);
        break;
    case RELU_BACKWARD:
        pes_activation_backward(x[2], x[0], x[1], PES_ACTIVATION_RELU, m * n);
        break;
    case COLUMNS:
        pes_column_sum_add(x[2], x[0], n, m, n);
        break;
    case LOSS: {
        double sum = 0;
        int64_t count = 0, correct = 0;
        pes_cross_entropy(&sum, &count, &correct, x[2], x[0], data.labels, m, n, 1, NULL, NULL);
        break;
    }
    case ADAMW: {
        struct pes_adamw w = {1e-9, 0.9, 0.99, 1e-8, 0, 1, 1, 1};
        pes_adamw_update(x[0], x[1], x[2], x[3], m * n, &w);
        break;
    }
    case TRANSPOSE:
        pes_transpose(x[2], m, x[0], n, m, n);
        break;
    case DROPOUT: {
        struct pes_dropout d = {0.1, {1, PES_RNG_DROPOUT, 1}, 0};
        pes_dropout_apply(x[2], m, n, &d);
        break;
    }
    }
}

/* Operations of matrix products in one run; 0 where elements are counted instead. */
static double operations(const struct line *l)
{
    double product = 2.0 * (double)l->m * (double)l->n * (double)l->k;
    switch (l->kind) {
    case NN:
    case NN_EPILOGUE:
    case NN_DROPOUT:
    case NN_GELU:
    case TN:
        return product;
    case FORWARD:
        return 2 * product * (double)l->m * (l->causal ? 0.5 * (double)(l->m + 1) / (double)l->m : 1);
    case BACKWARD:
        return 4 * product * (double)l->m * (l->causal ? 0.5 * (double)(l->m + 1) / (double)l->m : 1);
    default:
        return 0;
    }
}

int main(int argc, char **argv)
{
    enum { NUM = PES_COUNT(LINES) };
    static double best[NUM];
    double gemm = 0;
    if (argc > 1 && !strcmp(argv[1], "--cpu-time")) {
        machine_use_cpu_time();
        argc--;
        argv++;
    }
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return 1;
    for (int i = 0; i < 6; i++) {
        size_t count = (size_t)1 << 22;
        data.x[i] = pes_arena_take(arena, count, sizeof(real));
        if (!data.x[i]) return 1;
        for (size_t j = 0; j < count; j++)
            data.x[i][j] = (real)(j % 13) * (real)0.1 - (real)0.6;
    }
    data.scratch = pes_arena_take(arena, pes_attention_scratch(1024, 128, 128), sizeof(real));
    data.labels = pes_arena_take(arena, 4096, sizeof *data.labels);
    if (!data.scratch || !data.labels) return 1;
    machine_pin();
    for (int round = 0; round < ROUNDS; round++) {
        gemm = fmax(gemm, machine_gemm_rate(2048));
        for (size_t i = 0; i < NUM; i++) {
            if (argc > 1 && !strstr(LINES[i].name, argv[1])) continue;
            run(&LINES[i]);
            double start = machine_now(), spent;
            size_t runs = 0;
            do {
                run(&LINES[i]);
                runs++;
                spent = machine_now() - start;
            } while (spent < 0.002);
            spent /= (double)runs;
            if (round == 0 || spent < best[i]) best[i] = spent;
        }
    }
    printf("%s\n%-45s %8.1f Gflop/s\n", machine_description(), "BLAS 2048x2048x2048", gemm);
    for (size_t i = 0; i < NUM; i++) {
        if (argc > 1 && !strstr(LINES[i].name, argv[1])) continue;
        double flops = operations(&LINES[i]);
        if (flops > 0) {
            double rate = flops / best[i] * 1e-9;
            printf("%-45s %8.1f Gflop/s %5.0f %%\n", LINES[i].name, rate, 100 * rate / gemm);
        } else {
            double elements = (double)LINES[i].m * (double)LINES[i].n;
            printf("%-45s %8.3f ns/element\n", LINES[i].name, best[i] / elements * 1e9);
        }
    }
    pes_arena_destroy(arena);
    return 0;
}
