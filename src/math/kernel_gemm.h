/* kernel_gemm.h - the two matrix products of training, on register tiles.
 *
 * A tile of TILE_ROWS x (TILE_VECTORS * LANES) outputs stays in registers while k runs.  A is read by
 * broadcasts, B by whole vectors, with a prefetch a few steps of k ahead.  From PACK_ROWS rows of the output
 * on the operands are first copied side by side, panel by panel: rows whose distance is a power of two share
 * a few sets of a small cache and drive each other out.  Below that, and where the second cache is large,
 * they are read where they lie.  Rows of A beyond the end are read again from the last one, columns of B
 * beyond the end are masked.  Every output is summed over k in index order, whatever the tile it is in. */
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
    TOKEN_BLOCK = 256,     /* rows that a weight gradient takes at once */
    PACK_SIZE = 256 * 256, /* elements of b that are packed at once */
    PACK_A_SIZE = TOKEN_BLOCK * ROW_BLOCK + LANES
};

struct tile {
    vec v[TILE_ROWS][TILE_VECTORS];
};

/* Threads that a kernel may use here: one inside somebody else's parallel region. */
static int team(void)
{
    return omp_in_parallel() ? 1 : pes_kernels_threads();
}

/* Where a tile lies and what goes with it. */
struct place {
    size_t i, j;           /* first row and column of the output */
    size_t rows;           /* edge: rows that exist */
    lane_mask last;        /* edge: columns that exist in the last vector */
    const lane_mask *keep; /* [rows][TILE_VECTORS] dropout masks */
    /* a(r, p) = a[r * lda + p], in weight gradients a[p * lda + r]; b(p, c) = b[p * ldb + c]; p < count. */
    const real *a, *b;
    size_t lda, ldb, count;
};

/* tile[r][.] = sum_p a(r, p) b(p, .).  R, V, edge and ahead are constants after inlining, and so is one of
 * a_row and a_step.  ahead: one line of the panel to the right is fetched per step of k, by turns. */
INLINE void tile_product(struct tile *tile, const int R, const int V, const bool edge, const bool ahead,
                         size_t a_row, size_t a_step, const struct place *at)
{
    const size_t ldb = at->ldb, count = at->count;
    const real *row[TILE_ROWS], *b = at->b;
    const real *next = b + TILE_COLUMNS + at->i / TILE_ROWS % TILE_VECTORS * LANES;
    UNROLL
    for (int r = 0; r < R; r++) {
        row[r] = at->a + (edge ? PES_MIN((size_t)r, at->rows - 1) : (size_t)r) * a_row;
        UNROLL
        for (int v = 0; v < V; v++)
            tile->v[r][v] = (vec){0};
    }
    for (size_t p = 0; p < count; p++, b += ldb) {
        vec column[TILE_VECTORS];
        __builtin_prefetch(row[0] + (p + K_AHEAD) * a_step);
        if (ahead) __builtin_prefetch(next + p * ldb, 0, 2);
        UNROLL
        for (int v = 0; v < V; v++) {
            __builtin_prefetch(b + K_AHEAD * ldb + v * LANES);
            column[v] = edge && v == V - 1 ? v_load_masked(b + v * LANES, at->last) : v_load(b + v * LANES);
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

/* For each row that exists and each vector: do `what`, with `at` the offset of the vector in the output. */
#define TILE_EACH(what)                                                                                      \
    UNROLL                                                                                                   \
    for (int r = 0; r < R; r++) {                                                                            \
        if (edge && (size_t)r >= place->rows) break;                                                         \
        UNROLL                                                                                               \
        for (int v = 0; v < V; v++) {                                                                        \
            const size_t at = (size_t)r * g->ldo + (size_t)v * LANES;                                        \
            what;                                                                                            \
        }                                                                                                    \
    }
#define TILE_LOAD(p)     (edge && v == V - 1 ? v_load_masked((p), place->last) : v_load(p))
#define TILE_STORE(p, x) (edge && v == V - 1 ? v_store_masked((p), place->last, (x)) : v_store((p), (x)))

struct product {
    real *out;
    const real *a, *b;
    size_t ldo, lda, ldb, m, n, k;
    const struct pes_epilogue *epilogue;
    struct dropper dropper;
};

/* --- out = epilogue(a b)
 * ------------------------------------------------------------------------------------ */

/* What takes many registers works on a copy of the tile in memory. */
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

/* ReLU passes where what was saved is positive; GELU' = Phi(x) + x phi(x). */
INLINE vec activation_slope(vec dy, vec saved, enum pes_activation activation)
{
    if (activation == PES_ACTIVATION_RELU) return v_keep(m_less((vec){0}, saved), dy);
    vec cdf, density;
    v_normal(&cdf, &density, saved);
    return dy * (cdf + saved * density);
}

NOINLINE void gelu_slope_tile(struct tile *tile, const struct tile *saved)
{
    for (int r = 0; r < TILE_ROWS; r++) {
        for (int v = 0; v < TILE_VECTORS; v++) {
            tile->v[r][v] = activation_slope(tile->v[r][v], saved->v[r][v], PES_ACTIVATION_GELU);
        }
    }
}

/* Applies `change` to a copy of the tile, which itself stays in registers. */
#define TILE_THROUGH_MEMORY(change)                                                                          \
    {                                                                                                        \
        struct tile copy = {0};                                                                              \
        UNROLL                                                                                               \
        for (int r = 0; r < R; r++) {                                                                        \
            UNROLL                                                                                           \
            for (int v = 0; v < V; v++)                                                                      \
                copy.v[r][v] = tile.v[r][v];                                                                 \
        }                                                                                                    \
        change;                                                                                              \
        UNROLL                                                                                               \
        for (int r = 0; r < R; r++) {                                                                        \
            UNROLL                                                                                           \
            for (int v = 0; v < V; v++)                                                                      \
                tile.v[r][v] = copy.v[r][v];                                                                 \
        }                                                                                                    \
    }

/* The epilogue in phases over the whole tile, so that the tile stays in registers. */
INLINE void nn_tile(const struct product *g, const int R, const int V, const bool edge,
                    const struct place *place)
{
    const struct pes_epilogue *e = g->epilogue;
    const size_t corner = place->i * g->ldo + place->j;
    real *out = g->out + corner;
    struct tile tile;
    if (g->k > 64) {
        TILE_EACH(__builtin_prefetch(out + at, 0, 2))
        if (e && e->residual && e->residual != g->out)
            TILE_EACH(__builtin_prefetch(e->residual + corner + at, 0, 2))
        if (e && e->slope_of) TILE_EACH(__builtin_prefetch(e->slope_of + corner + at, 0, 2))
        if (e && e->before) TILE_EACH(__builtin_prefetch(e->before + corner + at, 0, 2))
    }
    tile_product(&tile, R, V, edge, false, place->lda, 1, place);
    if (!e) {
        TILE_EACH(TILE_STORE(out + at, tile.v[r][v]))
        return;
    }
    if (e->bias) {
        const real *bias = e->bias + place->j;
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
        TILE_THROUGH_MEMORY(gelu_tile(&copy))
    }
    if (g->dropper.threshold) {
        UNROLL
        for (int r = 0; r < R; r++) {
            UNROLL
            for (int v = 0; v < V; v++) {
                tile.v[r][v] = v_keep(place->keep[r * TILE_VECTORS + v], tile.v[r][v] * g->dropper.factor);
            }
        }
    }
    if (e->slope_of && e->slope == PES_ACTIVATION_RELU) {
        const real *saved = e->slope_of + corner;
        TILE_EACH(tile.v[r][v] = activation_slope(tile.v[r][v], TILE_LOAD(saved + at), PES_ACTIVATION_RELU))
    } else if (e->slope_of && e->slope == PES_ACTIVATION_GELU) {
        const real *saved = e->slope_of + corner;
        struct tile inputs = {0};
        TILE_EACH(inputs.v[r][v] = TILE_LOAD(saved + at))
        TILE_THROUGH_MEMORY(gelu_slope_tile(&copy, &inputs))
    }
    if (e->residual) {
        const real *residual = e->residual + corner;
        TILE_EACH(tile.v[r][v] += TILE_LOAD(residual + at))
    }
    TILE_EACH(TILE_STORE(out + at, tile.v[r][v]))
}

/* --- out += a^T b
 * ------------------------------------------------------------------------------------------- */

INLINE void tn_tile(const struct product *g, const int R, const int V, const bool edge, const bool ahead,
                    const struct place *place)
{
    real *out = g->out + place->i * g->ldo + place->j;
    struct tile tile;
    TILE_EACH(__builtin_prefetch(out + at, 0, 2))
    tile_product(&tile, R, V, edge, ahead, 1, place->lda, place);
    TILE_EACH(TILE_STORE(out + at, TILE_LOAD(out + at) + tile.v[r][v]))
}

#undef TILE_EACH
#undef TILE_LOAD
#undef TILE_STORE
#undef TILE_THROUGH_MEMORY

/* --- both: walking over the output
 * -------------------------------------------------------------------------- */
NOINLINE void tn_first(const struct product *g, const struct place *place)
{
    tn_tile(g, TILE_ROWS, TILE_VECTORS, false, true, place);
}

NOINLINE void tn_six(const struct product *g, const struct place *place)
{
    tn_tile(g, TILE_ROWS, TILE_VECTORS, false, false, place);
}

NOINLINE void tn_four(const struct product *g, const struct place *place)
{
    tn_tile(g, 4, TILE_VECTORS, false, false, place);
}

NOINLINE void edge_tile(const struct product *g, const bool tn, struct place *place)
{
    size_t columns = PES_MIN(g->n - place->j, TILE_COLUMNS), vectors = (columns + LANES - 1) / LANES;
    place->last = m_first(columns - (vectors - 1) * LANES);
#define CASE(V)                                                                                              \
    case V:                                                                                                  \
        if (tn) {                                                                                            \
            tn_tile(g, TILE_ROWS, V, true, false, place);                                                    \
        } else {                                                                                             \
            nn_tile(g, TILE_ROWS, V, true, place);                                                           \
        }                                                                                                    \
        break;
    switch (vectors) {
        CASE(1)
        CASE(2)
#if TILE_VECTORS > 2
        CASE(3)
        CASE(4)
#endif
    }
#undef CASE
}

/* Rows of the next tile when `left` are left: sixes, and fours where they avoid a nearly empty tile at the
 * end. */
INLINE size_t tile_rows(size_t left)
{
    size_t over = left % TILE_ROWS;
    return over == 4 || (over == 2 && left >= 8) || left == 4 ? 4 : PES_MIN(left, TILE_ROWS);
}

/* Brings rows [first, end) of from[.][width] into the second cache. */
INLINE void fetch_rows(const real *from, size_t ld, size_t first, size_t end, size_t width)
{
    for (size_t r = first; r < end; r++) {
        for (size_t c = 0; c < width; c += 64 / sizeof *from)
            __builtin_prefetch(from + r * ld + c, 0, 2);
    }
}

/* Columns [j, end) of the output, summed over k in [first, first + count). */
struct strip {
    size_t j, end, first, count;
    const real *b; /* of its first column: packed panel after panel, or NULL */
};

/* b of the strip, panel by panel [count][TILE_COLUMNS], zeros behind the end. */
INLINE void pack_b(real *to, const struct product *g, const struct strip *strip)
{
    const size_t columns = strip->end - strip->j;
    for (size_t p = 0; p < strip->count; p++) {
        const real *row = g->b + (strip->first + p) * g->ldb + strip->j;
        for (size_t c = 0; c < columns; c += TILE_COLUMNS) {
            real *at = to + (c / TILE_COLUMNS * strip->count + p) * TILE_COLUMNS;
            UNROLL
            for (size_t v = 0; v < TILE_COLUMNS; v += LANES)
                v_store(at + v, row_part(row, c + v, columns));
        }
    }
}

/* Columns [i, i + ROW_BLOCK) of a weight gradient's a, as far as they exist: [count][ROW_BLOCK]. */
INLINE void pack_a(real *to, const struct product *g, const struct strip *strip, size_t i)
{
    const size_t columns = PES_MIN(g->m - i, ROW_BLOCK);
    for (size_t p = 0; p < strip->count; p++) {
        const real *row = g->a + (strip->first + p) * g->lda + i;
        UNROLL
        for (size_t c = 0; c < ROW_BLOCK; c += LANES)
            v_store(to + p * ROW_BLOCK + c, row_part(row, c, columns));
    }
}

/* Rows [i, i + ROW_BLOCK) of a strip, as far as they exist.  The operands of weight gradients were stored
 * long ago: where they aren't packed, each panel fetches the b of the next one while the first block is
 * computed, and each block fetches the columns of a of the next. */
INLINE void row_block(const struct product *g, const bool tn, const struct strip *strip, size_t i,
                      const real *packed_a)
{
    const size_t rows = PES_MIN(g->m - i, ROW_BLOCK), left = g->m - i - rows, count = strip->count;
    const size_t tiles = (g->n + TILE_COLUMNS - 1) / TILE_COLUMNS * (ROW_BLOCK / TILE_ROWS);
    const size_t portion = tn && left && !strip->b ? (count + tiles - 1) / tiles : 0;
    size_t fetched = 0;
    struct place place = {
        .lda = packed_a ? ROW_BLOCK : g->lda, .ldb = strip->b ? TILE_COLUMNS : g->ldb, .count = count};
    for (size_t j = strip->j; j < strip->end; j += TILE_COLUMNS) {
        lane_mask keep[ROW_BLOCK * TILE_VECTORS];
        if (!tn && g->dropper.threshold) keep_fill(keep, &g->dropper, i, rows, j, TILE_VECTORS);
        const bool whole = g->n - j >= TILE_COLUMNS;
        place.j = j;
        place.b = strip->b ? strip->b + (j - strip->j) * count : g->b + strip->first * g->ldb + j;
        for (size_t r = 0, step; r < rows; r += step) {
            step = tile_rows(rows - r);
            place.i = i + r;
            place.rows = step;
            place.keep = keep + r * TILE_VECTORS;
            if (packed_a) {
                place.a = packed_a + r;
            } else {
                place.a = g->a + (tn ? strip->first * g->lda + i + r : (i + r) * g->lda);
            }
            if (portion) {
                size_t end = PES_MIN(fetched + portion, count);
                fetch_rows(g->a + strip->first * g->lda + i + ROW_BLOCK, g->lda, fetched, end,
                           PES_MIN(left, ROW_BLOCK));
                fetched = end;
            }
            if (whole && step == TILE_ROWS && tn && i == 0 && !strip->b) {
                tn_first(g, &place);
            } else if (whole && step == TILE_ROWS) {
                if (tn) {
                    tn_six(g, &place);
                } else {
                    nn_tile(g, TILE_ROWS, TILE_VECTORS, false, &place);
                }
            } else if (whole && step == 4) {
                if (tn) {
                    tn_four(g, &place);
                } else {
                    nn_tile(g, 4, TILE_VECTORS, false, &place);
                }
            } else {
                edge_tile(g, tn, &place);
            }
        }
    }
}

NOINLINE void nn_block(const struct product *g, const struct strip *strip, size_t i)
{
    row_block(g, false, strip, i, NULL);
}

NOINLINE void tn_block(const struct product *g, const struct strip *strip, size_t i, const real *packed_a)
{
    row_block(g, true, strip, i, packed_a);
}

/* Rows [from, end) of the output, from a multiple of ROW_BLOCK. */
static void multiply(const struct product *g, bool tn, size_t from, size_t end)
{
    static _Thread_local real b[PACK_SIZE] __attribute__((aligned(64)));
    static _Thread_local real a[PACK_A_SIZE] __attribute__((aligned(64)));
    const size_t depth = tn ? PES_MIN(g->k, TOKEN_BLOCK) : g->k;
    const bool packs = end - from >= PACK_ROWS && depth && depth <= PACK_SIZE / TILE_COLUMNS;
    const size_t width = packs ? PACK_SIZE / TILE_COLUMNS / depth * TILE_COLUMNS : g->n;
    for (size_t first = 0; first == 0 || first < g->k; first += PES_MAX(depth, 1)) {
        for (size_t j = 0; j < g->n; j += width) {
            struct strip strip = {j, PES_MIN(j + width, g->n), first, PES_MIN(g->k - first, depth), NULL};
            if (packs) {
                pack_b(b, g, &strip);
                strip.b = b;
            }
            for (size_t i = from; i < end; i += ROW_BLOCK) {
                if (packs && tn) pack_a(a, g, &strip, i);
                if (tn) {
                    tn_block(g, &strip, i, packs ? a : NULL);
                } else {
                    nn_block(g, &strip, i);
                }
            }
        }
    }
}

static void multiply_together(const struct product *g, bool tn)
{
    const int threads = team();
    if (threads == 1) {
        multiply(g, tn, 0, g->m);
        return;
    }
    const size_t blocks = (g->m + ROW_BLOCK - 1) / ROW_BLOCK;
#pragma omp parallel num_threads(threads)
    {
        const size_t thread = (size_t)omp_get_thread_num(), of = (size_t)omp_get_num_threads();
        multiply(g, tn, blocks * thread / of * ROW_BLOCK,
                 PES_MIN(blocks * (thread + 1) / of * ROW_BLOCK, g->m));
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
    multiply_together(&g, false);
}

static void gemm_tn_add(real *out, size_t ldo, const real *a, size_t lda, const real *b, size_t ldb, size_t m,
                        size_t n, size_t k)
{
    const struct product g = {
        .out = out, .a = a, .b = b, .ldo = ldo, .lda = lda, .ldb = ldb, .m = m, .n = n, .k = k};
    if (k) multiply_together(&g, true);
}

#endif
