/* kernel_attention_backward.h - gradients of one (sequence, head) of attention.
 *
 * p_ij = exp(s_ij - lse_i) is computed again.  With g_ij = m_ij do_i . v_j, m the dropout factors:
 *   dv_j = sum_i m_ij p_ij do_i,  ds_ij = p_ij (g_ij - D_i),  D_i = do_i . o_i = sum_j p_ij g_ij,
 *   dq_i = scale sum_j ds_ij k_j,  dk_j = scale sum_i ds_ij q_i,  dbias_ij = ds_ij.
 * The factor of dropout goes into do when it is read. */
#ifndef PESWEEP_MATH_KERNEL_ATTENTION_BACKWARD_H
#define PESWEEP_MATH_KERNEL_ATTENTION_BACKWARD_H

#include "kernel_attention.h"

/* What is known of each query of a block. */
struct query_lanes {
    vec lse2[QUERY_VECTORS];    /* log2 of the sum of exponentials; large where p is to be 0 */
    vec row_sum[QUERY_VECTORS]; /* D */
};

/* Where o and its gradient lie. */
struct outputs {
    const real *o, *d_o;
    size_t o_ld, d_o_ld;
};

/* p = probabilities of keys [j, end); ds = the same before dropout, where there is dropout. */
INLINE void backward_probabilities(const struct plan *s, const struct pes_attention *a,
                                   const struct query_lanes *lanes, const struct outputs *outputs, int first,
                                   int j, int end, int n, bool dropping, const size_t width)
{
    for (int t = j; t < end; t += KEY_TILE) {
        struct score_tile tile;
        if (a->next) fetch_next(a, first, t, n, outputs->o, outputs->o_ld, outputs->d_o, outputs->d_o_ld);
        turned_product(&tile, s->k + (size_t)t * s->width_pad, s->width_pad, 1, s->q_turned, width);
        finish_scores(&tile, s, a, first, t, end);
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            const size_t at = (size_t)(t - j + r) * QUERIES;
            const lane_mask *keep = dropping ? s->keep + s->keys[t + r] * QUERY_VECTORS : NULL;
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++) {
                vec p = v_exp2_negative(tile.v[r][v] - lanes->lse2[v]);
                if (dropping) v_store(s->ds + at + v * LANES, p);
                v_store(s->p + at + v * LANES, dropping ? v_keep(keep[v], p) : p);
            }
        }
    }
}

/* ds = p (m do . v - D) over keys [j, end). */
INLINE void backward_scores(const struct plan *s, const struct query_lanes *lanes, int j, int end,
                            bool dropping, const size_t value_width)
{
    for (int t = j; t < end; t += KEY_TILE) {
        struct score_tile tile;
        turned_product(&tile, s->v + (size_t)t * s->value_pad, s->value_pad, 1, s->o_turned, value_width);
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            const size_t at = (size_t)(t - j + r) * QUERIES;
            const lane_mask *keep = dropping ? s->keep + s->keys[t + r] * QUERY_VECTORS : NULL;
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++) {
                vec g = dropping ? v_keep(keep[v], tile.v[r][v]) : tile.v[r][v];
                vec p = v_load((dropping ? s->ds : s->p) + at + v * LANES);
                v_store(s->ds + at + v * LANES, p * (g - lanes->row_sum[v]));
            }
        }
    }
}

/* rows[keys][pad] (+)= weights[keys][QUERIES] queries[QUERIES][pad]; `keys` a multiple of KEY_PAD.  Keys per
 * tile and vectors of columns are chosen so that accumulators fill the registers. */
INLINE void add_by_key_tile(real *rows, const real *weights, const real *queries, size_t pad, bool add,
                            const int R, const int V)
{
    vec tile[KEY_PAD][4];
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < V; v++)
            tile[r][v] = (vec){0};
    }
    for (size_t i = 0; i < QUERIES; i++) {
        vec column[4];
        UNROLL
        for (int v = 0; v < V; v++)
            column[v] = v_load(queries + i * pad + (size_t)v * LANES);
        UNROLL
        for (int r = 0; r < R; r++) {
            real x = weights[r * QUERIES + (int)i];
            UNROLL
            for (int v = 0; v < V; v++)
                tile[r][v] += x * column[v];
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < V; v++) {
            real *to = rows + (size_t)r * pad + v * LANES;
            v_store(to, add ? v_load(to) + tile[r][v] : tile[r][v]);
        }
    }
}

/* Keys from `done` on have no gradient yet. */
static void add_by_key(real *rows, const real *weights, const real *queries, size_t pad, int keys, int done)
{
    size_t c = 0;
    for (; c + 2 * LANES <= pad; c += 2 * LANES) {
        for (int t = 0; t < keys; t += KEY_TILE) {
            add_by_key_tile(rows + (size_t)t * pad + c, weights + t * QUERIES, queries + c, pad, t < done,
                            KEY_TILE, 2);
        }
    }
    if (c == pad) return;
    for (int t = 0; t < keys; t += 2 * KEY_TILE) {
        add_by_key_tile(rows + (size_t)t * pad + c, weights + t * QUERIES, queries + c, pad, t < done,
                        2 * KEY_TILE, 1);
    }
}

/* dq_turned += k^T ds over keys [j, j + rows). */
INLINE void add_by_query(const struct plan *s, int j, int rows)
{
    for (size_t c = 0; c < s->width_pad; c += KEY_TILE) {
        struct score_tile tile;
        turned_product(&tile, s->k + (size_t)j * s->width_pad + c, 1, s->width_pad, s->ds, (size_t)rows);
        UNROLL
        for (int r = 0; r < KEY_TILE; r++) {
            UNROLL
            for (int v = 0; v < QUERY_VECTORS; v++) {
                real *dq = s->dq_turned + (c + (size_t)r) * QUERIES + v * LANES;
                v_store(dq, j ? v_load(dq) + tile.v[r][v] : tile.v[r][v]);
            }
        }
    }
}

/* Only lanes of queries that exist are written. */
static void add_bias_gradient(real *dbias, const struct plan *s, const struct pes_attention *a, int first,
                              int count, int j, int end)
{
    for (int t = j; t < end; t++) {
        real *to = dbias + first + s->keys[t] * a->bias_key_stride;
        for (int v = 0; v < QUERY_VECTORS && v * LANES < count; v++) {
            lane_mask present = m_first((size_t)PES_MIN(count - v * LANES, (int)LANES));
            vec ds = v_load(s->ds + (size_t)(t - j) * QUERIES + v * LANES);
            v_store_masked(to + v * LANES, present, v_load_masked(to + v * LANES, present) + ds);
        }
    }
}

/* row_sum[] = D = do . o of a block of queries. */
INLINE void row_sums(vec *row_sum, const real *o, size_t o_ld, const real *d_o, size_t d_o_ld, int count,
                     const size_t width)
{
    for (int v = 0; v < QUERY_VECTORS; v++) {
        vec sums[LANES];
        UNROLL
        for (int r = 0; r < LANES; r++) {
            const size_t i = (size_t)(v * LANES + r);
            sums[r] = (vec){0};
            if (count < QUERIES && (int)i >= count) continue;
            for (size_t c = 0; c < width; c += LANES) {
                sums[r] += row_part(o + i * o_ld, c, width) * row_part(d_o + i * d_o_ld, c, width);
            }
        }
        row_sum[v] = v_row_sums(sums);
    }
}

/* d_o and o_turned (dO turned), times the factor of dropout, and what is known per query. */
static void gather_gradients(struct query_lanes *lanes, const struct plan *s, const struct pes_attention *a,
                             const real *o, size_t o_ld, const real *log_sum_exp, const real *d_o,
                             size_t d_o_ld, real factor, int first, int count)
{
    o += (size_t)first * o_ld;
    d_o += (size_t)first * d_o_ld;
    FOR_WIDTH(a->value_width, turn_in(s->d_o, s->o_turned, d_o, d_o_ld, count, factor, 1, constant))
    FOR_WIDTH(a->value_width, row_sums(lanes->row_sum, o, o_ld, d_o, d_o_ld, count, constant))
    for (int v = 0; v < QUERY_VECTORS; v++) {
        lane_mask there = m_first((size_t)PES_MIN(PES_MAX(count - v * LANES, 0), (int)LANES));
        vec lse = v_load_masked(log_sum_exp + first + v * LANES, there);
        lane_mask blind = m_less(lse, v_set(HIDDEN));
        lanes->lse2[v] = v_select(there, v_select(blind, v_set(-HIDDEN), lse * (real)LOG2_E), v_set(-HIDDEN));
    }
}

static void backward_block(const struct plan *s, const struct pes_attention *a, real *dbias,
                           const struct query_lanes *lanes, const struct outputs *outputs, bool dropping,
                           int first, int count, int n, int done)
{
    for (int j = 0; j < n; j += BACKWARD_KEYS) {
        const int end = PES_MIN(n, j + BACKWARD_KEYS), rows = (int)padded((size_t)(end - j), KEY_TILE);
        const int all = (int)padded((size_t)(end - j), KEY_PAD);
        if (dropping) {
            FOR_WIDTH(a->width,
                      backward_probabilities(s, a, lanes, outputs, first, j, end, n, true, constant))
            FOR_WIDTH(a->value_width, backward_scores(s, lanes, j, end, true, constant))
        } else {
            FOR_WIDTH(a->width,
                      backward_probabilities(s, a, lanes, outputs, first, j, end, n, false, constant))
            FOR_WIDTH(a->value_width, backward_scores(s, lanes, j, end, false, constant))
        }
        if (all > rows) {
            memset(s->p + (size_t)rows * QUERIES, 0, (size_t)(all - rows) * QUERIES * sizeof(real));
            memset(s->ds + (size_t)rows * QUERIES, 0, (size_t)(all - rows) * QUERIES * sizeof(real));
        }
        if (dbias) add_bias_gradient(dbias, s, a, first, count, j, end);
        add_by_key(s->dv + (size_t)j * s->value_pad, s->p, s->d_o, s->value_pad, all, done - j);
        add_by_key(s->dk + (size_t)j * s->width_pad, s->ds, s->q, s->width_pad, all, done - j);
        add_by_query(s, j, rows);
    }
    if (n == 0) memset(s->dq_turned, 0, s->width_pad * QUERIES * sizeof(real));
}

/* Listed rows of a gradient out of scratch, scaled and rotated back; the others are 0. */
INLINE void put_rows(real *to, size_t ld, real *from, const int32_t *listed, int n, int T, real scale,
                     const struct pes_attention *a, const real *table, const size_t width)
{
    const size_t pad = padded(width, WIDTH_PAD);
    for (int j = 0, t = 0; j < T; j++) {
        real *row = from + (size_t)t * pad, *out = to + (size_t)j * ld;
        const bool there = t < n && listed[t] == j;
        if (there && table) rotate_row(row, a, table, j, -1);
        UNROLL
        for (size_t c = 0; c < width; c += LANES)
            put_part(out, c, width, there ? v_load(row + c) * scale : (vec){0});
        t += there;
    }
}

/* The block's dq, out of q, whose rows aren't needed any more when it is to be rotated back. */
static void put_query_gradients(const struct plan *s, const struct pes_attention *a, real *dq, int first,
                                int count)
{
    real *to = dq + (size_t)first * a->q_ld, *rows = a->rotation_q ? s->q : to;
    const size_t ld = a->rotation_q ? s->width_pad : a->q_ld;
    vec scale[QUERY_VECTORS];
    for (int v = 0; v < QUERY_VECTORS; v++)
        scale[v] = v_set((real)a->scale);
    FOR_WIDTH(a->width, turn_out(rows, ld, count, s->dq_turned, scale, constant))
    for (int i = 0; a->rotation_q && i < count; i++) {
        real *row = rows + (size_t)i * ld, *out = to + (size_t)i * a->q_ld;
        rotate_row(row, a, a->rotation_q, first + i, -1);
        for (size_t c = 0; c < (size_t)a->width; c += LANES)
            put_part(out, c, (size_t)a->width, v_load(row + c));
    }
}

static void attention_backward(const struct pes_attention *a, const real *o, size_t o_ld,
                               const real *log_sum_exp, const real *d_o, size_t d_o_ld, real *dq, real *dk,
                               real *dv, real *dbias, real *scratch)
{
    const struct plan s = attention_plan(scratch, (size_t)a->T, (size_t)a->width, (size_t)a->value_width);
    const struct dropper dropper = dropper_of(&a->dropout);
    const struct outputs outputs = {o, d_o, o_ld, d_o_ld};
    const int n = gather_keys(&s, a);
    int done = 0;
    for (int first = 0; first < a->T; first += QUERIES) {
        const int count = PES_MIN(a->T - first, (int)QUERIES), seen = visible_keys(&s, a, first, count, n);
        struct query_lanes lanes;
        gather_queries(&s, a, s.q, first, count);
        gather_gradients(&lanes, &s, a, o, o_ld, log_sum_exp, d_o, d_o_ld, dropper.factor, first, count);
        draw_keep(&s, &dropper, first, seen);
        backward_block(&s, a, dbias, &lanes, &outputs, dropper.threshold > 0, first, count, seen, done);
        done = (int)padded((size_t)seen, KEY_PAD);
        put_query_gradients(&s, a, dq, first, count);
    }
    FOR_WIDTH(a->width,
              put_rows(dk, a->k_ld, s.dk, s.keys, n, a->T, (real)a->scale, a, a->rotation_k, constant))
    FOR_WIDTH(a->value_width, put_rows(dv, a->v_ld, s.dv, s.keys, n, a->T, 1, a, NULL, constant))
}

#endif
