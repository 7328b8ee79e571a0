/* kernel_attention.h - fused attention of one (sequence, head): what both passes share, and the forward pass.
 *
 * Queries lie on vector lanes, QUERIES at a time, so that maxima and sums over keys are vertical.  Keys and
 * values are first copied to scratch: rotated, padded with zero columns to whole vectors, and only the
 * visible ones, so that a key mask costs nothing afterwards; keys[n] is the position of the n-th.  Scores are
 * in base 2: log2(e) goes into the scale.  Hidden pairs score HIDDEN, whose exponential is exactly 0. */
#ifndef PESWEEP_MATH_KERNEL_ATTENTION_H
#define PESWEEP_MATH_KERNEL_ATTENTION_H

#include "kernel_dropout.h"
#include "kernel_math.h"

enum {
    QUERY_VECTORS = 2,
    QUERIES = QUERY_VECTORS * LANES,
    WIDTH_PAD = LANES > KEY_TILE ? LANES : KEY_TILE, /* columns in scratch are padded to a multiple of this */
    KEY_PAD = 16,                                    /* and keys, with zero rows */
    FORWARD_KEYS = 128,                              /* keys whose probabilities are held at once */
    BACKWARD_KEYS = 64
};
#define HIDDEN ((real)-1e30)

/* Parts of the scratch of one call; see attention_plan. */
struct plan {
    int32_t *keys;   /* [padded keys] */
    lane_mask *keep; /* [T + 1][QUERY_VECTORS]: dropout masks of a block of queries; the last for padding */
    size_t width_pad, value_pad;
    real *k, *v;        /* [padded keys][width_pad], [..][value_pad] */
    real *q, *q_turned; /* [QUERIES][width_pad], rotated; [width_pad][QUERIES], scaled too */
    real *p;            /* [keys of a block][QUERIES] */
    real *o_turned;     /* [value_pad][QUERIES]; backward: dO */
    real *d_o;          /* backward: [QUERIES][value_pad] */
    real *ds;           /* [BACKWARD_KEYS][QUERIES] */
    real *dq_turned;    /* [max(width_pad, value_pad)][QUERIES] */
    real *dk, *dv;      /* as k, v */
    size_t elements;    /* length of all of it */
};

INLINE size_t padded(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* scratch NULL: only the length counts. */
static struct plan attention_plan(real *scratch, size_t T, size_t width, size_t value_width)
{
    struct plan plan = {.width_pad = padded(width, WIDTH_PAD), .value_pad = padded(value_width, WIDTH_PAD)};
    const size_t keys = padded(T, KEY_PAD), wide_pad = PES_MAX(plan.width_pad, plan.value_pad);
    size_t used = 0;
#define TAKE(member, count)                                                                                  \
    plan.member = scratch ? (void *)(scratch + used) : NULL;                                                 \
    used += padded((count) * sizeof *plan.member, 64) / sizeof(real);
    TAKE(keys, keys)
    TAKE(keep, (T + 1) * QUERY_VECTORS)
    TAKE(k, keys * plan.width_pad)
    TAKE(v, keys * plan.value_pad)
    TAKE(q, QUERIES * plan.width_pad)
    TAKE(q_turned, QUERIES * plan.width_pad)
    TAKE(p, FORWARD_KEYS * QUERIES)
    TAKE(o_turned, QUERIES * plan.value_pad)
    TAKE(d_o, QUERIES * plan.value_pad)
    TAKE(ds, BACKWARD_KEYS * QUERIES)
    TAKE(dq_turned, QUERIES * wide_pad)
    TAKE(dk, keys * plan.width_pad)
    TAKE(dv, keys * plan.value_pad)
#undef TAKE
    plan.elements = used;
    return plan;
}

static size_t attention_scratch(int T, int width, int value_width)
{
    return attention_plan(NULL, (size_t)T, (size_t)width, (size_t)value_width).elements;
}

/* --- rows in and out
 * --------------------------------------------------------------------------------------------- */

/* `call` with the width as a constant where it is a usual one. */
#define FOR_WIDTH(width, call)                                                                               \
    switch (width) {                                                                                         \
        FOR_WIDTH_CASE(8, call)                                                                              \
        FOR_WIDTH_CASE(16, call)                                                                             \
        FOR_WIDTH_CASE(32, call)                                                                             \
        FOR_WIDTH_CASE(64, call)                                                                             \
    default: {                                                                                               \
        const size_t constant = (size_t)(width);                                                             \
        call;                                                                                                \
        break;                                                                                               \
    }                                                                                                        \
    }
#define FOR_WIDTH_CASE(value, call)                                                                          \
    case value: {                                                                                            \
        const size_t constant = value;                                                                       \
        call;                                                                                                \
        break;                                                                                               \
    }

/* Rotates the pairs of one row in place; sign -1 applies the transposed map. */
INLINE void rotate_row(real *row, const struct pes_attention *a, const real *table, int position, real sign)
{
    const vec alternating = (vec){ALTERNATE(-1, 1)} * sign;
    const size_t end = (size_t)a->pairs * 2;
    row += a->rotated_first;
    table += (size_t)position * end;
    for (size_t c = 0; c < end; c += LANES) {
        lane_mask inside = m_first(PES_MIN(end - c, LANES));
        vec turn = v_load_masked(table + c, inside), x = v_load_masked(row + c, inside);
        vec cosine = __builtin_shufflevector(turn, turn, SHUFFLE_EVEN);
        vec sine = __builtin_shufflevector(turn, turn, SHUFFLE_ODD) * alternating;
        v_store_masked(row + c, inside, cosine * x + sine * __builtin_shufflevector(x, x, SHUFFLE_SWAP));
    }
}

/* Rows [0, count) of from[.][width] into a block of queries: rows[QUERIES][pad] = factor * them, unless NULL,
 * and turned[pad][QUERIES] = factor * turn * their transpose; zeros where there is nothing. */
INLINE void turn_in(real *rows, real *turned, const real *from, size_t ld, int count, real factor, real turn,
                    const size_t width)
{
    const size_t pad = padded(width, WIDTH_PAD);
    for (size_t c = 0; c < pad; c += LANES) {
        for (int v = 0; v < QUERY_VECTORS; v++) {
            vec block[LANES];
            const real *at = from + (size_t)(v * LANES) * ld;
            UNROLL
            for (int r = 0; r < LANES; r++) {
                const bool there = count == QUERIES || v * LANES + r < count;
                block[r] = there ? row_part(at + (size_t)r * ld, c, width) * factor : (vec){0};
                if (rows) v_store(rows + (size_t)(v * LANES + r) * pad + c, block[r]);
            }
            v_transpose(block);
            UNROLL
            for (int r = 0; r < LANES; r++)
                v_store(turned + (c + (size_t)r) * QUERIES + v * LANES, block[r] * turn);
        }
    }
}

/* rows[count][width] (distance ld) = turned[.][QUERIES]^T, each query times its factor. */
INLINE void turn_out(real *rows, size_t ld, int count, const real *turned, const vec *factor,
                     const size_t width)
{
    for (size_t c = 0; c < width; c += LANES) {
        for (int v = 0; v < QUERY_VECTORS && v * LANES < count; v++) {
            vec block[LANES];
            UNROLL
            for (int r = 0; r < LANES; r++) {
                block[r] = v_load(turned + (c + (size_t)r) * QUERIES + v * LANES) * factor[v];
            }
            v_transpose(block);
            real *at = rows + (size_t)(v * LANES) * ld;
            UNROLL
            for (int r = 0; r < LANES; r++) {
                if (count == QUERIES || v * LANES + r < count)
                    put_part(at + (size_t)r * ld, c, width, block[r]);
            }
        }
    }
}

/* to[n][pad] = the rows of `from` that are listed. */
INLINE void gather_rows(real *to, const real *from, size_t ld, const int32_t *listed, int n,
                        const size_t width)
{
    const size_t pad = padded(width, WIDTH_PAD);
    for (int t = 0; t < n; t++) {
        const real *row = from + (size_t)listed[t] * ld;
        UNROLL
        for (size_t c = 0; c < pad; c += LANES)
            v_store(to + (size_t)t * pad + c, row_part(row, c, width));
    }
}

/* Fills keys, k and v; returns how many keys are visible to anybody. */
static int gather_keys(const struct plan *s, const struct pes_attention *a)
{
    int n = a->mask ? 0 : a->T;
    for (int j = 0; j < a->T; j++) {
        if (!a->mask) {
            s->keys[j] = j;
        } else if (a->mask[j]) {
            s->keys[n++] = j;
        }
    }
    FOR_WIDTH(a->width, gather_rows(s->k, a->k, a->k_ld, s->keys, n, constant))
    FOR_WIDTH(a->value_width, gather_rows(s->v, a->v, a->v_ld, s->keys, n, constant))
    for (int t = 0; a->rotation_k && t < n; t++) {
        rotate_row(s->k + (size_t)t * s->width_pad, a, a->rotation_k, s->keys[t], 1);
    }
    size_t pad = padded((size_t)n, KEY_PAD) - (size_t)n;
    if (pad) {
        memset(s->k + (size_t)n * s->width_pad, 0, pad * s->width_pad * sizeof(real));
        memset(s->v + (size_t)n * s->value_pad, 0, pad * s->value_pad * sizeof(real));
    }
    for (size_t j = 0; j < pad; j++)
        s->keys[n + (int)j] = a->T; /* behind every query when causal */
    return n;
}

/* q (unless NULL) and q_turned of queries [first, first + count). */
static void gather_queries(const struct plan *s, const struct pes_attention *a, real *q, int first, int count)
{
    const real *from = a->q + (size_t)first * a->q_ld, scale = (real)(a->scale * LOG2_E);
    if (!a->rotation_q) {
        FOR_WIDTH(a->width, turn_in(q, s->q_turned, from, a->q_ld, count, 1, scale, constant))
        return;
    }
    for (int i = 0; i < count; i++) {
        const int32_t itself = 0;
        real *row = s->q + (size_t)i * s->width_pad;
        FOR_WIDTH(a->width, gather_rows(row, from + (size_t)i * a->q_ld, 0, &itself, 1, constant))
        rotate_row(row, a, a->rotation_q, first + i, 1);
    }
    FOR_WIDTH(s->width_pad, turn_in(s->q, s->q_turned, s->q, s->width_pad, count, 1, scale, constant))
}

/* Keys that some query of [first, first + count) sees, n being all of them. */
INLINE int visible_keys(const struct plan *s, const struct pes_attention *a, int first, int count, int n)
{
    if (!a->causal) return n;
    while (n > 0 && s->keys[n - 1] >= first + count)
        n--;
    return n;
}

/* While keys [t, t + KEY_TILE) of n meet the queries from `first`: fetches a portion of the rows of the next
 * call into the second cache, so that a pass over all queries and keys fetches them all.  o NULL: not o and
 * d_o. */
INLINE void fetch_next(const struct pes_attention *a, int first, int t, int n, const real *o, size_t o_ld,
                       const real *d_o, size_t d_o_ld)
{
    const size_t line = 64 / sizeof(real), width = (size_t)a->width, value_width = (size_t)a->value_width;
    const int end = PES_MIN(first + QUERIES * (t + KEY_TILE) / n, a->T);
    for (int i = first + QUERIES * t / n; i < PES_MIN(end, first + (int)QUERIES); i++) {
        const size_t row = (size_t)i;
        for (size_t c = 0; c < width; c += line) {
            __builtin_prefetch(a->q + a->next + row * a->q_ld + c, 0, 2);
            __builtin_prefetch(a->k + a->next + row * a->k_ld + c, 0, 2);
        }
        for (size_t c = 0; c < value_width; c += line) {
            __builtin_prefetch(a->v + a->next + row * a->v_ld + c, 0, 2);
            if (!o) continue;
            __builtin_prefetch(o + a->next_o + row * o_ld + c, 0, 2);
            __builtin_prefetch(d_o + a->next_o + row * d_o_ld + c, 0, 2);
        }
    }
}

/* --- tiles
 * ------------------------------------------------------------------------------------------------------- */
struct score_tile {
    vec v[KEY_TILE][QUERY_VECTORS];
};

/* tile[r][.] = sum_c rows[r * row + c * step] turned[c][.], c < count. */
INLINE void turned_product(struct score_tile *tile, const real *rows, size_t row, size_t step,
                           const real *turned, size_t count)
{
    UNROLL
    for (int r = 0; r < KEY_TILE; r++) {
        UNROLL
        for (int v = 0; v < QUERY_VECTORS; v++)
            tile->v[r][v] = (vec){0};
    }
    for (size_t c = 0; c < count; c++) {
        vec lanes[QUERY_VECTORS];
        UNROLL
        for (int v = 0; v < QUERY_VECTORS; v++)
            lanes[v] = v_load(turned + c * QUERIES + v * LANES);
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            real x = rows[(size_t)r * row + c * step];
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++)
                tile->v[r][v] += x * lanes[v];
        }
    }
}

/* Adds biases and hides: keys [j, j + KEY_TILE) of the list, of which n exist, queries from `first`. */
INLINE void finish_scores(struct score_tile *tile, const struct plan *s, const struct pes_attention *a,
                          int first, int j, int n)
{
    if (a->bias) {
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            if (j + r >= n) break;
            const real *bias = a->bias + first + s->keys[j + r] * a->bias_key_stride;
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++)
                tile->v[r][v] += v_load(bias + v * LANES) * (real)LOG2_E;
        }
    }
    if (j + KEY_TILE > n) {
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            if (j + r < n) continue;
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++)
                tile->v[r][v] = v_set(HIDDEN);
        }
    }
    if (a->causal && s->keys[PES_MIN(j + KEY_TILE, n) - 1] > first) {
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            lane_int key = s->keys[j + r];
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++) {
                lane_mask seen = m_int_at_least(v_lane_index() + (first + v * LANES), key - (ivec){0});
                tile->v[r][v] = v_select(seen, tile->v[r][v], v_set(HIDDEN));
            }
        }
    }
}

/* --- forward
 * ----------------------------------------------------------------------------------------------------- */

/* p = scores of keys [j, end) of the list; raises top[] to their maxima. */
INLINE void forward_scores(const struct plan *s, const struct pes_attention *a, int first, int j, int end,
                           int n, vec *top, const size_t width)
{
    vec highest[QUERY_VECTORS];
    for (int v = 0; v < QUERY_VECTORS; v++)
        highest[v] = top[v];
    for (int t = j; t < end; t += KEY_TILE) {
        struct score_tile tile;
        if (a->next) fetch_next(a, first, t, n, NULL, 0, NULL, 0);
        turned_product(&tile, s->k + (size_t)t * s->width_pad, s->width_pad, 1, s->q_turned, width);
        finish_scores(&tile, s, a, first, t, end);
        real *p = s->p + (size_t)(t - j) * QUERIES;
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++) {
                highest[v] = v_max(highest[v], tile.v[r][v]);
                v_store(p + r * QUERIES + v * LANES, tile.v[r][v]);
            }
        }
    }
    for (int v = 0; v < QUERY_VECTORS; v++)
        top[v] = highest[v];
}

/* p = exp2(p - top), kept or dropped; sum[] gets the undropped ones. */
INLINE void forward_softmax(real *p, int rows, const vec *top, vec *sum, const struct plan *s, int j,
                            bool dropping)
{
    vec total[QUERY_VECTORS];
    for (int v = 0; v < QUERY_VECTORS; v++)
        total[v] = sum[v];
    for (int r = 0; r < rows; r += 4) {
        vec e[4][QUERY_VECTORS];
        UNROLL
        for (int u = 0; u < 4; u++) {
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++) {
                e[u][v] = v_exp2_negative(v_load(p + (r + u) * QUERIES + v * LANES) - top[v]);
            }
        }
        UNROLL
        for (int u = 0; u < 4; u++) {
            const lane_mask *keep = dropping ? s->keep + s->keys[j + r + u] * QUERY_VECTORS : NULL;
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++) {
                total[v] += e[u][v];
                v_store(p + (r + u) * QUERIES + v * LANES, dropping ? v_keep(keep[v], e[u][v]) : e[u][v]);
            }
        }
    }
    for (int v = 0; v < QUERY_VECTORS; v++)
        sum[v] = total[v];
}

/* o_turned = o_turned * correction + v^T p over `rows` keys. */
INLINE void forward_values(const struct plan *s, int j, int rows, const vec *correction)
{
    for (size_t c = 0; c < s->value_pad; c += KEY_TILE) {
        struct score_tile tile;
        turned_product(&tile, s->v + (size_t)j * s->value_pad + c, 1, s->value_pad, s->p, (size_t)rows);
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++) {
                real *o = s->o_turned + (c + (size_t)r) * QUERIES + v * LANES;
                v_store(o, j ? v_load(o) * correction[v] + tile.v[r][v] : tile.v[r][v]);
            }
        }
    }
}

static void forward_block(const struct plan *s, const struct pes_attention *a, real *o, size_t o_ld,
                          real *log_sum_exp, const struct dropper *dropper, int first, int count, int n)
{
    vec top[QUERY_VECTORS], sum[QUERY_VECTORS], factor[QUERY_VECTORS];
    for (int v = 0; v < QUERY_VECTORS; v++) {
        top[v] = v_set(HIDDEN);
        sum[v] = (vec){0};
    }
    for (int j = 0; j < n; j += FORWARD_KEYS) {
        const int end = PES_MIN(n, j + FORWARD_KEYS), rows = (int)padded((size_t)(end - j), KEY_TILE);
        vec correction[QUERY_VECTORS];
        for (int v = 0; v < QUERY_VECTORS; v++)
            correction[v] = top[v];
        FOR_WIDTH(a->width, forward_scores(s, a, first, j, end, n, top, constant))
        for (int v = 0; j && v < QUERY_VECTORS; v++) {
            correction[v] = v_exp2_negative(correction[v] - top[v]);
            sum[v] *= correction[v];
        }
        if (dropper->threshold) {
            forward_softmax(s->p, rows, top, sum, s, j, true);
        } else {
            forward_softmax(s->p, rows, top, sum, s, j, false);
        }
        forward_values(s, j, rows, correction);
    }
    if (n == 0) memset(s->o_turned, 0, s->value_pad * QUERIES * sizeof(real));
    real logs[QUERIES];
    for (int v = 0; v < QUERY_VECTORS; v++) {
        lane_mask blind = m_less(top[v], v_set(HIDDEN / 2));
        sum[v] = v_select(blind, v_set(1), sum[v]);
        factor[v] = v_select(blind, (vec){0}, dropper->factor / sum[v]);
        v_store(logs + v * LANES,
                v_select(blind, v_set(-(real)INFINITY), top[v] * (real)LN_2 + v_log(sum[v])));
    }
    memcpy(log_sum_exp + first, logs, (size_t)count * sizeof *logs);
    FOR_WIDTH(a->value_width, turn_out(o + (size_t)first * o_ld, o_ld, count, s->o_turned, factor, constant))
}

/* Dropout masks of queries [first, ..) and the first n keys of the list. */
INLINE void draw_keep(const struct plan *s, const struct dropper *dropper, int first, int n)
{
    if (dropper->threshold && n > 0) {
        keep_fill(s->keep, dropper, 0, (size_t)s->keys[n - 1] + 1, (size_t)first, QUERY_VECTORS);
    }
}

static void attention_forward(const struct pes_attention *a, real *o, size_t o_ld, real *log_sum_exp,
                              real *scratch)
{
    const struct plan s = attention_plan(scratch, (size_t)a->T, (size_t)a->width, (size_t)a->value_width);
    const struct dropper dropper = dropper_of(&a->dropout);
    const int n = gather_keys(&s, a);
    for (int first = 0; first < a->T; first += QUERIES) {
        const int count = PES_MIN(a->T - first, (int)QUERIES), seen = visible_keys(&s, a, first, count, n);
        gather_queries(&s, a, NULL, first, count);
        draw_keep(&s, &dropper, first, seen);
        forward_block(&s, a, o, o_ld, log_sum_exp, &dropper, first, count, seen);
    }
}

#endif
