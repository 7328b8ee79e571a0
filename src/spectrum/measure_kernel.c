/* measure_kernel.c - the family of positional kernels: what the scheme alone puts into the scores, and how
 * its eigenvalues fill the range of its symbol. */
#include <math.h>
#include <string.h>

#include "measure_head.h"

enum { MOST_POSITIONS = 512 }; /* T x T spectra beyond this cost more than they tell */

/* clang-format off */
#define SCALAR(name, meaning)                                                                                \
    {"spectra", "kernel_" #name, PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", meaning},
#define SCALARS(X)                                                                                           \
    X(toeplitz_fraction, "share of the positional kernel's squared norm that depends on key - query alone")  \
    X(eigenvalue_min, "least eigenvalue of the kernel's symmetric part, of the first 512 positions")         \
    X(eigenvalue_max, "largest eigenvalue of the kernel's symmetric part, of the first 512 positions")       \
    X(symbol_min, "minimum of the symbol of the kernel's symmetric part")                                    \
    X(symbol_max, "maximum of the symbol of the kernel's symmetric part")                                    \
    X(szego_distance, "mean |eigenvalue - symbol| against the symbol at k pi/(T + 1), both sorted, over the symbol's range")
#define CURVE(name, meaning)                                                                                 \
    PES_HEAD_CURVE("kernel_" #name, PES_F32, "", meaning "; of schemes with trained parameters"),
static const struct pes_variable variables[] = {
    SCALARS(CURVE)
    SCALARS(SCALAR)
    {"spectra", "kernel_eigenvalues", PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_EIGENVALUE}, "",
     "eigenvalues of the symmetric part of the positional kernel, of the first 512 positions, ascending"},
    {"spectra", "kernel_diagonals", PES_F32, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_DIAGONAL}, "",
     "positional kernel by key - query: score bias, mean cos(w_t (i - j)), or P P^T of an added table"},
    {0}
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.spectra");
}

/* What the hooks are called with. */
struct scheme {
    const struct pes_position *position;
    struct pes_position_site site;
    struct pes_parameters parameters;
    int width; /* of what rotates in a head */
    int T;
};

static void bias_kernel(const struct scheme *s, int layer, int head, real *bias, double *kernel)
{
    size_t T = (size_t)s->T;
    s->position->bias_forward(&s->site, &s->parameters, layer, head, s->T, bias);
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            kernel[i * T + j] = (double)(s->position->bias_dense ? bias[j * T + i] : bias[i + T - 1 - j]);
}

/* What the rotation makes of q = k = (1, 0) in every pair, over the number of pairs. */
static enum pes_status rotary_kernel(const struct scheme *s, struct pes_arena *arena, double *kernel)
{
    int pairs = s->position->rotation_pairs(&s->site, s->width);
    size_t T = (size_t)s->T, count = T * (size_t)pairs * 2;
    real *tables = pes_arena_take(arena, 2 * count, sizeof *tables);
    double *x = pes_arena_take(arena, 2 * count, sizeof *x);
    if (!tables || !x) return PES_MEMORY;
    s->position->rotation(&s->site, s->T, pairs, tables, tables + count, NULL);
    for (size_t i = 0; i < 2 * count; i++)
        x[i] = (double)tables[i];
    size_t columns = 2 * (size_t)pairs;
    pes_dgemm(false, true, T, T, columns, 1.0 / pairs, x, columns, x + count, columns, 0, kernel, T);
    return PES_OK;
}

static enum pes_status added_kernel(const struct scheme *s, struct pes_arena *arena, double *kernel)
{
    size_t T = (size_t)s->T, C = (size_t)s->site.shape.C;
    real *table = pes_arena_take(arena, T * C, sizeof *table);
    double *x = pes_arena_take(arena, T * C, sizeof *x);
    if (!table || !x) return PES_MEMORY;
    s->position->embed_forward(&s->site, &s->parameters, s->T, table);
    for (size_t i = 0; i < T * C; i++)
        x[i] = (double)table[i];
    pes_dgemm(false, true, T, T, C, 1, x, C, x, C, 0, kernel, T);
    return PES_OK;
}

static void put(const struct pes_measurement *m, const struct scheme *s, size_t layer, size_t head,
                const struct pes_kernel *kernel)
{
    size_t index[3] = {layer, head, 0}, whole = (size_t)m->model->config.shape.T, T = (size_t)s->T;
    const struct pes_head_place place = {m, layer, head, false};
#define X(name, meaning) pes_head_put(&place, "kernel_" #name, kernel->name);
    SCALARS(X)
#undef X
    if (!m->final) return;
    pes_row_put_block(m->row, "spectra", "kernel_eigenvalues", index, 1, &T, kernel->eigenvalues);
    for (size_t d = 0; d < 2 * T - 1; d++) {
        index[2] = whole - T + d;
        pes_row_put(m->row, "spectra", "kernel_diagonals", index, kernel->diagonals[d]);
    }
}

static bool acts(const struct scheme *s, int layer, int head)
{
    /* An added table reaches every head. */
    if (s->position->embed_forward && !s->position->bias_forward && !s->position->rotation) return true;
    return s->site.layers >> layer & s->site.heads >> head & 1;
}

static enum pes_status measure_all(const struct pes_measurement *m, const struct scheme *s, double *matrix)
{
    const struct pes_shape *shape = &s->site.shape;
    size_t T = (size_t)s->T;
    real *bias = pes_arena_take(m->arena, T * T + 2 * T, sizeof *bias);
    if (!bias) return PES_MEMORY;
    struct pes_kernel kernel;
    bool shared = !s->position->bias_forward;
    if (shared) {
        TRY(s->position->rotation ? rotary_kernel(s, m->arena, matrix) : added_kernel(s, m->arena, matrix));
        TRY(pes_spectrum_kernel(s->T, matrix, m->arena, &kernel));
    }
    for (int layer = 0; layer < shape->L; layer++)
        for (int head = 0; head < shape->H; head++) {
            if (!acts(s, layer, head)) continue;
            struct pes_arena_mark mark = pes_arena_mark(m->arena);
            if (!shared) {
                if (m->interrupted && m->interrupted(m->context)) return PES_STOPPED;
                bias_kernel(s, layer, head, bias, matrix);
                TRY(pes_spectrum_kernel(s->T, matrix, m->arena, &kernel));
            }
            put(m, s, (size_t)layer, (size_t)head, &kernel);
            pes_arena_rewind(m->arena, mark);
        }
    return PES_OK;
}

static enum pes_status run(const struct pes_measurement *m)
{
    const struct pes_model_config *config = &m->model->config;
    const struct pes_position *position = config->position;
    bool has_kernel = position->bias_forward || position->rotation || position->embed_forward;
    if (!has_kernel || (!m->final && !position->declare)) return PES_OK;
    struct scheme s = {.position = position,
                       .site = {config->config, config->shape, config->pe_heads, config->pe_layers},
                       .parameters = {&m->model->tensors, m->parameters, NULL},
                       .width = config->mla ? config->d_rope : config->shape.D,
                       .T = PES_MIN(config->shape.T, MOST_POSITIONS)};
    struct pes_arena_mark mark = pes_arena_mark(m->arena);
    double *matrix = pes_arena_take(m->arena, (size_t)s.T * (size_t)s.T, sizeof *matrix);
    if (!matrix) return PES_MEMORY;
    enum pes_status status = measure_all(m, &s, matrix);
    pes_arena_rewind(m->arena, mark);
    return status;
}

const struct pes_measure pes_measure_kernel = {
    .name = "kernel",
    .summary = "positional kernel of the scheme alone: its eigenvalues against the range of its symbol",
    .source = "Grenander & Szego 1958, Toeplitz forms, ch. 5; Gu et al. 2025, arXiv 2505.13027",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
