/* kernel_gemm.h - the two matrix products of training, on register tiles.
 *
 * A tile of TILE_ROWS x (TILE_VECTORS * LANES) outputs stays in registers while k runs.  A is read by
 * broadcasts, B by whole vectors, both where they lie, with a prefetch a few steps of k ahead: at these sizes
 * (B within the second cache) packing gains nothing.  Rows of A beyond the end are read again from the last
 * one, columns of B beyond the end are masked.  Every output is summed over k in index order, whatever the
 * tile it is in. */
#ifndef PESWEEP_MATH_KERNEL_GEMM_H
#define PESWEEP_MATH_KERNEL_GEMM_H

#include "kernel_dropout.h"
#include "kernel_math.h"

#include <omp.h>

enum {
    TILE_ROWS = 6,
    TILE_COLUMNS = TILE_VECTORS * LANES,
    ROW_BLOCK = 4 * TILE_ROWS, /* a multiple of ROW_GROUP: dropout masks are drawn per block and panel */
    K_AHEAD = 8,
    TOKEN_BLOCK = 256 /* rows that a weight gradient takes at once */
};

struct tile {
    vec v[TILE_ROWS][TILE_VECTORS];
};

/* Threads that a kernel may use here: one inside somebody else's parallel region. */
static int team(void)
{
    return omp_in_parallel() ? 1 : pes_kernels_threads();
}

/* tile[r][.] = sum_p a[r * a_row + p * a_step] b[p * ldb + .].  R, V and edge are constants after inlining.
 * An edge tile has `rows` <= R rows, and `last` masks its last vector. */
INLINE void tile_product(struct tile *tile, const int R, const int V, const bool edge, const real *a,
                         size_t a_row, size_t a_step, const real *b, size_t ldb, size_t k, size_t rows,
                         lane_mask last)
{
    const real *row[TILE_ROWS];
    UNROLL
    for (int r = 0; r < R; r++) {
        row[r] = a + (edge ? PES_MIN((size_t)r, rows - 1) : (size_t)r) * a_row;
        UNROLL
        for (int v = 0; v < V; v++)
            tile->v[r][v] = (vec){0};
    }
    for (size_t p = 0; p < k; p++, b += ldb) {
        vec column[TILE_VECTORS];
        __builtin_prefetch(row[0] + (p + K_AHEAD) * a_step);
        UNROLL
        for (int v = 0; v < V; v++) {
            __builtin_prefetch(b + K_AHEAD * ldb + v * LANES);
            column[v] = edge && v == V - 1 ? v_load_masked(b + v * LANES, last) : v_load(b + v * LANES);
        }
        UNROLL
        for (int r = 0; r < R; r++) {
            real x = row[r][p * a_step];
            UNROLL
            for (int v = 0; v < V; v++)
                tile->v[r][v] += x * column[v];
        }
    }
}

/* For each row that exists and each vector: do `what`, with `at` the offset of the vector in a matrix of that
 * ld. */
#define TILE_EACH(what)                                                                                      \
    UNROLL                                                                                                   \
    for (int r = 0; r < R; r++) {                                                                            \
        if (edge && (size_t)r >= rows) break;                                                                \
        UNROLL                                                                                               \
        for (int v = 0; v < V; v++) {                                                                        \
            const size_t at = (size_t)r * ldo + (size_t)v * LANES;                                           \
            what;                                                                                            \
        }                                                                                                    \
    }
#define TILE_LOAD(p)     (edge && v == V - 1 ? v_load_masked((p), last) : v_load(p))
#define TILE_STORE(p, x) (edge && v == V - 1 ? v_store_masked((p), last, (x)) : v_store((p), (x)))

/* --- out = epilogue(a b)
 * ------------------------------------------------------------------------------------------- */
struct product {
    real *out;
    const real *a, *b;
    size_t ldo, lda, ldb, m, n, k;
    const struct pes_epilogue *epilogue;
    struct dropper dropper;
};

NOINLINE void gelu_tile(struct tile *tile)
{
    for (int r = 0; r < TILE_ROWS; r++) {
        for (int v = 0; v < TILE_VECTORS; v++) {
            vec cdf, density;
            v_normal(&cdf, &density, tile->v[r][v]);
            tile->v[r][v] *= cdf;
        }
    }
}

/* The epilogue in phases over the whole tile, so that the tile stays in registers. */
INLINE void nn_tile(const struct product *g, const int R, const int V, const bool edge, size_t i, size_t j,
                    size_t rows, lane_mask last, const lane_mask *keep)
{
    const struct pes_epilogue *e = g->epilogue;
    const size_t ldo = g->ldo, corner = i * ldo + j;
    real *out = g->out + corner;
    struct tile tile;
    TILE_EACH(__builtin_prefetch(out + at, 1))
    tile_product(&tile, R, V, edge, g->a + i * g->lda, g->lda, 1, g->b + j, g->ldb, g->k, rows, last);
    if (!e) {
        TILE_EACH(TILE_STORE(out + at, tile.v[r][v]))
        return;
    }
    if (e->bias) {
        const real *bias = e->bias + j;
        UNROLL
        for (int v = 0; v < V; v++) {
            vec b = TILE_LOAD(bias + v * LANES);
            UNROLL
            for (int r = 0; r < R; r++)
                tile.v[r][v] += b;
        }
    }
    if (e->before) {
        real *before = e->before + corner;
        TILE_EACH(TILE_STORE(before + at, tile.v[r][v]))
    }
    if (e->activation == PES_ACTIVATION_RELU) {
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < V; v++)
                tile.v[r][v] = v_max((vec){0}, tile.v[r][v]);
        }
    } else if (e->activation == PES_ACTIVATION_GELU) {
        struct tile copy = {0};
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < V; v++)
                copy.v[r][v] = tile.v[r][v];
        }
        gelu_tile(&copy);
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < V; v++)
                tile.v[r][v] = copy.v[r][v];
        }
    }
    if (g->dropper.threshold) {
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < V; v++) {
                tile.v[r][v] = v_keep(keep[r * TILE_VECTORS + v], tile.v[r][v] * g->dropper.factor);
            }
        }
    }
    if (e->residual) {
        const real *residual = e->residual + corner;
        TILE_EACH(tile.v[r][v] += TILE_LOAD(residual + at))
    }
    TILE_EACH(TILE_STORE(out + at, tile.v[r][v]))
}

NOINLINE void nn_tile_edge(const struct product *g, size_t i, size_t j, size_t rows, const lane_mask *keep)
{
    size_t columns = PES_MIN(g->n - j, TILE_COLUMNS), vectors = (columns + LANES - 1) / LANES;
    lane_mask last = m_first(columns - (vectors - 1) * LANES);
    switch (vectors) {
    case 1:
        nn_tile(g, TILE_ROWS, 1, true, i, j, rows, last, keep);
        break;
#if TILE_VECTORS > 2
    case 2:
        nn_tile(g, TILE_ROWS, 2, true, i, j, rows, last, keep);
        break;
    case 3:
        nn_tile(g, TILE_ROWS, 3, true, i, j, rows, last, keep);
        break;
#endif
    default:
        nn_tile(g, TILE_ROWS, TILE_VECTORS, true, i, j, rows, last, keep);
        break;
    }
}

/* Rows of the next tile when `left` are left: sixes, and fours where they avoid a nearly empty tile at the
 * end. */
INLINE size_t tile_rows(size_t left)
{
    size_t over = left % TILE_ROWS;
    return over == 4 || (over == 2 && left >= 8) || left == 4 ? 4 : PES_MIN(left, TILE_ROWS);
}

/* Rows [i, i + rows) of out, rows <= ROW_BLOCK. */
static void nn_rows(const struct product *g, size_t i, size_t rows)
{
    for (size_t j = 0; j < g->n; j += TILE_COLUMNS) {
        lane_mask keep[ROW_BLOCK * TILE_VECTORS];
        if (g->dropper.threshold) keep_fill(keep, &g->dropper, i, rows, j, TILE_VECTORS);
        const bool whole = g->n - j >= TILE_COLUMNS;
        for (size_t r = 0, step; r < rows; r += step) {
            const lane_mask *tile_keep = keep + r * TILE_VECTORS;
            step = tile_rows(rows - r);
            if (whole && step == TILE_ROWS) {
                nn_tile(g, TILE_ROWS, TILE_VECTORS, false, i + r, j, step, m_first(0), tile_keep);
            } else if (whole && step == 4) {
                nn_tile(g, 4, TILE_VECTORS, false, i + r, j, step, m_first(0), tile_keep);
            } else {
                nn_tile_edge(g, i + r, j, step, tile_keep);
            }
        }
    }
}

static void gemm_nn(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                    size_t n, size_t k, const struct pes_epilogue *epilogue)
{
    struct product g = {.out = out,
                        .a = a,
                        .b = b,
                        .ldo = ldo,
                        .lda = lda,
                        .ldb = ldb,
                        .m = m,
                        .n = n,
                        .k = k,
                        .epilogue = epilogue};
    if (epilogue && epilogue->dropout.rate > 0) g.dropper = dropper_of(&epilogue->dropout);
    const size_t blocks = (m + ROW_BLOCK - 1) / ROW_BLOCK;
    const int threads = team();
    if (threads == 1) {
        for (size_t block = 0; block < blocks; block++) {
            nn_rows(&g, block * ROW_BLOCK, PES_MIN(m - block * ROW_BLOCK, ROW_BLOCK));
        }
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (size_t block = 0; block < blocks; block++) {
        nn_rows(&g, block * ROW_BLOCK, PES_MIN(m - block * ROW_BLOCK, ROW_BLOCK));
    }
}

/* --- out += a^T b
 * -------------------------------------------------------------------------------------------------- */
INLINE void tn_tile(const struct product *g, const int R, const int V, const bool edge, size_t i, size_t j,
                    size_t first, size_t count, size_t rows, lane_mask last)
{
    const size_t ldo = g->ldo;
    real *out = g->out + i * ldo + j;
    struct tile tile;
    TILE_EACH(__builtin_prefetch(out + at, 1))
    tile_product(&tile, R, V, edge, g->a + first * g->lda + i, 1, g->lda, g->b + first * g->ldb + j, g->ldb,
                 count, rows, last);
    TILE_EACH(TILE_STORE(out + at, TILE_LOAD(out + at) + tile.v[r][v]))
}

NOINLINE void tn_tile_edge(const struct product *g, size_t i, size_t j, size_t first, size_t count,
                           size_t rows)
{
    size_t columns = PES_MIN(g->n - j, TILE_COLUMNS), vectors = (columns + LANES - 1) / LANES;
    lane_mask last = m_first(columns - (vectors - 1) * LANES);
    switch (vectors) {
    case 1:
        tn_tile(g, TILE_ROWS, 1, true, i, j, first, count, rows, last);
        break;
#if TILE_VECTORS > 2
    case 2:
        tn_tile(g, TILE_ROWS, 2, true, i, j, first, count, rows, last);
        break;
    case 3:
        tn_tile(g, TILE_ROWS, 3, true, i, j, first, count, rows, last);
        break;
#endif
    default:
        tn_tile(g, TILE_ROWS, TILE_VECTORS, true, i, j, first, count, rows, last);
        break;
    }
}

/* Rows [i, i + rows) of out get the products of all tokens, block by block. */
static void tn_rows(const struct product *g, size_t i, size_t rows, size_t first)
{
    size_t count = PES_MIN(g->k - first, TOKEN_BLOCK);
    for (size_t j = 0; j < g->n; j += TILE_COLUMNS) {
        const bool whole = g->n - j >= TILE_COLUMNS;
        for (size_t r = 0, step; r < rows; r += step) {
            step = tile_rows(rows - r);
            if (whole && step == TILE_ROWS) {
                tn_tile(g, TILE_ROWS, TILE_VECTORS, false, i + r, j, first, count, step, m_first(0));
            } else if (whole && step == 4) {
                tn_tile(g, 4, TILE_VECTORS, false, i + r, j, first, count, step, m_first(0));
            } else {
                tn_tile_edge(g, i + r, j, first, count, step);
            }
        }
    }
}

static void gemm_tn_add(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                        size_t n, size_t k)
{
    const struct product g = {
        .out = out, .a = a, .b = b, .ldo = ldo, .lda = lda, .ldb = ldb, .m = m, .n = n, .k = k};
    const size_t blocks = (m + ROW_BLOCK - 1) / ROW_BLOCK;
    const int threads = team();
    if (threads == 1) {
        for (size_t first = 0; first < k; first += TOKEN_BLOCK) {
            for (size_t block = 0; block < blocks; block++) {
                tn_rows(&g, block * ROW_BLOCK, PES_MIN(m - block * ROW_BLOCK, ROW_BLOCK), first);
            }
        }
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (size_t block = 0; block < blocks; block++) {
        for (size_t first = 0; first < k; first += TOKEN_BLOCK) {
            tn_rows(&g, block * ROW_BLOCK, PES_MIN(m - block * ROW_BLOCK, ROW_BLOCK), first);
        }
    }
}

#undef TILE_EACH
#undef TILE_LOAD
#undef TILE_STORE

#endif
