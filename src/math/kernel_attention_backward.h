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

/* p = probabilities of keys [j, end); ds = the same before dropout, where there is dropout. */
INLINE void backward_probabilities(const struct plan *s, const struct pes_attention *a,
                                   const struct query_lanes *lanes, int first, int j, int end, bool dropping,
                                   const size_t width)
{
    for (int t = j; t < end; t += KEY_TILE) {
        struct score_tile tile;
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

/* rows[keys][pad] += weights[keys][QUERIES] queries[QUERIES][pad], `keys` a multiple of KEY_PAD.  Keys per
 * tile and vectors of columns are chosen so that accumulators fill the registers. */
INLINE void add_by_key_tile(real *rows, const real *weights, const real *queries, size_t pad, const int R,
                            const int V)
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
            v_store(to, v_load(to) + tile[r][v]);
        }
    }
}

static void add_by_key(real *rows, const real *weights, const real *queries, size_t pad, int keys)
{
    size_t c = 0;
    for (; c + 2 * LANES <= pad; c += 2 * LANES) {
        for (int t = 0; t < keys; t += KEY_TILE) {
            add_by_key_tile(rows + (size_t)t * pad + c, weights + t * QUERIES, queries + c, pad, KEY_TILE, 2);
        }
    }
    if (c == pad) return;
    for (int t = 0; t < keys; t += 2 * KEY_TILE) {
        add_by_key_tile(rows + (size_t)t * pad + c, weights + t * QUERIES, queries + c, pad, 2 * KEY_TILE, 1);
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

/* d_o, o_turned (dO turned) and what is known per query; o itself passes through dq_turned. */
static void gather_gradients(struct query_lanes *lanes, const struct plan *s, const struct pes_attention *a,
                             const real *o, size_t o_ld, const real *log_sum_exp, const real *d_o,
                             size_t d_o_ld, real factor, int first, int count)
{
    const size_t width = (size_t)a->value_width, bytes = s->value_pad * sizeof(real);
    real logs[QUERIES], *rows = s->d_o;
    for (int i = 0; i < QUERIES; i++) {
        real *to = rows + (size_t)i * s->value_pad;
        if (i < count) {
            copy_row(to, o + (size_t)(first + i) * o_ld, width, s->value_pad, 1);
            real lse = log_sum_exp[first + i];
            logs[i] = lse < HIDDEN ? -HIDDEN : lse * (real)LOG2_E;
        } else {
            memset(to, 0, bytes);
            logs[i] = -HIDDEN;
        }
    }
    turn_in(s->dq_turned, rows, s->value_pad, 1);
    for (int i = 0; i < QUERIES; i++) {
        real *to = rows + (size_t)i * s->value_pad;
        if (i < count) {
            copy_row(to, d_o + (size_t)(first + i) * d_o_ld, width, s->value_pad, factor);
        } else {
            memset(to, 0, bytes);
        }
    }
    turn_in(s->o_turned, rows, s->value_pad, 1);
    for (int v = 0; v < QUERY_VECTORS; v++) {
        vec sum = {0};
        for (size_t c = 0; c < s->value_pad; c++) {
            sum += v_load(s->dq_turned + c * QUERIES + v * LANES) *
                   v_load(s->o_turned + c * QUERIES + v * LANES);
        }
        lanes->row_sum[v] = sum / factor;
        lanes->lse2[v] = v_load(logs + v * LANES);
    }
}

static void backward_block(const struct plan *s, const struct pes_attention *a, real *dbias,
                           const struct query_lanes *lanes, bool dropping, int first, int count, int n)
{
    for (int j = 0; j < n; j += BACKWARD_KEYS) {
        const int end = PES_MIN(n, j + BACKWARD_KEYS), rows = (int)padded((size_t)(end - j), KEY_TILE);
        const int all = (int)padded((size_t)(end - j), KEY_PAD);
        if (dropping) {
            FOR_WIDTH(a->width, backward_probabilities(s, a, lanes, first, j, end, true, constant))
            FOR_WIDTH(a->value_width, backward_scores(s, lanes, j, end, true, constant))
        } else {
            FOR_WIDTH(a->width, backward_probabilities(s, a, lanes, first, j, end, false, constant))
            FOR_WIDTH(a->value_width, backward_scores(s, lanes, j, end, false, constant))
        }
        if (all > rows) {
            memset(s->p + (size_t)rows * QUERIES, 0, (size_t)(all - rows) * QUERIES * sizeof(real));
            memset(s->ds + (size_t)rows * QUERIES, 0, (size_t)(all - rows) * QUERIES * sizeof(real));
        }
        if (dbias) add_bias_gradient(dbias, s, a, first, count, j, end);
        add_by_key(s->dv + (size_t)j * s->value_pad, s->p, s->d_o, s->value_pad, all);
        add_by_key(s->dk + (size_t)j * s->width_pad, s->ds, s->q, s->width_pad, all);
        add_by_query(s, j, rows);
    }
    if (n == 0) memset(s->dq_turned, 0, s->width_pad * QUERIES * sizeof(real));
}

/* One row of a gradient out of scratch: scaled and rotated back. */
INLINE void put_row(real *to, real *from, size_t width, size_t pad, real scale, const struct pes_attention *a,
                    const real *table, int position)
{
    copy_row(from, from, pad, pad, scale);
    if (table) rotate_row(from, a, table, position, -1);
    memcpy(to, from, width * sizeof *to);
}

static void put_key_gradients(const struct plan *s, const struct pes_attention *a, real *dk, real *dv, int n)
{
    const size_t width = (size_t)a->width, value_width = (size_t)a->value_width;
    for (int j = 0, t = 0; j < a->T; j++) {
        real *to_k = dk + (size_t)j * a->k_ld, *to_v = dv + (size_t)j * a->v_ld;
        if (t < n && s->keys[t] == j) {
            put_row(to_k, s->dk + (size_t)t * s->width_pad, width, s->width_pad, (real)a->scale, a,
                    a->rotation_k, j);
            memcpy(to_v, s->dv + (size_t)t * s->value_pad, value_width * sizeof *to_v);
            t++;
        } else {
            memset(to_k, 0, width * sizeof *to_k);
            memset(to_v, 0, value_width * sizeof *to_v);
        }
    }
}

static void attention_backward(const struct pes_attention *a, const real *o, size_t o_ld,
                               const real *log_sum_exp, const real *d_o, size_t d_o_ld, real *dq, real *dk,
                               real *dv, real *dbias, real *scratch)
{
    const struct plan s = attention_plan(scratch, (size_t)a->T, (size_t)a->width, (size_t)a->value_width);
    const struct dropper dropper = dropper_of(&a->dropout);
    const int n = gather_keys(&s, a);
    const size_t rows = padded((size_t)n, KEY_PAD);
    const vec one[QUERY_VECTORS] = {v_set(1), v_set(1)};
    memset(s.dk, 0, rows * s.width_pad * sizeof(real));
    memset(s.dv, 0, rows * s.value_pad * sizeof(real));
    for (int first = 0; first < a->T; first += QUERIES) {
        const int count = PES_MIN(a->T - first, (int)QUERIES), seen = visible_keys(&s, a, first, count, n);
        struct query_lanes lanes;
        gather_queries(&s, a, first, count);
        gather_gradients(&lanes, &s, a, o, o_ld, log_sum_exp, d_o, d_o_ld, dropper.factor, first, count);
        draw_keep(&s, &dropper, first, seen);
        backward_block(&s, a, dbias, &lanes, dropper.threshold > 0, first, count, seen);
        /* q isn't needed any more: its rows take the gradient on its way out. */
        turn_out(s.q, s.width_pad, (size_t)count, s.dq_turned, s.width_pad, one);
        for (int i = 0; i < count; i++) {
            put_row(dq + (size_t)(first + i) * a->q_ld, s.q + (size_t)i * s.width_pad, (size_t)a->width,
                    s.width_pad, (real)a->scale, a, a->rotation_q, first + i);
        }
    }
    put_key_gradients(&s, a, dk, dv, n);
}

#endif
