/* kernel_rows.h - kernels that walk over rows or elements: norms, sums, losses, activations, AdamW,
 * transposes. */
#ifndef PESWEEP_MATH_KERNEL_ROWS_H
#define PESWEEP_MATH_KERNEL_ROWS_H

#include "kernel_gemm.h"

enum {
    NORM_CHUNK = 16, /* rows whose dx and dgain are done while they are in the first cache */
    NORM_COLUMNS = 4 /* vectors of columns that dgain sums at once */
};

/* Vectors of a row of C, and the mask of the last. */
INLINE size_t vectors_of(size_t C, lane_mask *last)
{
    size_t vectors = (C + LANES - 1) / LANES;
    *last = m_first(C - (vectors - 1) * LANES);
    return vectors;
}

INLINE vec load_part(const real *row, size_t v, size_t vectors, lane_mask last)
{
    return v + 1 == vectors ? v_load_masked(row + v * LANES, last) : v_load(row + v * LANES);
}

INLINE void store_part(real *row, size_t v, size_t vectors, lane_mask last, vec x)
{
    if (v + 1 == vectors) {
        v_store_masked(row + v * LANES, last, x);
    } else {
        v_store(row + v * LANES, x);
    }
}

/* --- layer norm
 * ------------------------------------------------------------------------------------------------ */

/* Rows are taken LANES at a time, so that one lane each holds their means and deviations: the sums over
 * columns come from v_row_sums, and a row's bits don't depend on its neighbours.  `whole`: C is a multiple of
 * LANES. */
#define PART(p, v) (whole ? v_load((p) + (v)*LANES) : load_part((p), (v), vectors, last))
#define FOR_C(C, call)                                                                                       \
    if ((C) == 4 * LANES) {                                                                                  \
        const size_t vectors = 4;                                                                            \
        const bool whole = true;                                                                             \
        call;                                                                                                \
    } else if ((C) == 8 * LANES) {                                                                           \
        const size_t vectors = 8;                                                                            \
        const bool whole = true;                                                                             \
        call;                                                                                                \
    } else if ((C) == 16 * LANES) {                                                                          \
        const size_t vectors = 16;                                                                           \
        const bool whole = true;                                                                             \
        call;                                                                                                \
    } else {                                                                                                 \
        const size_t vectors = ((C) + LANES - 1) / LANES;                                                    \
        const bool whole = false;                                                                            \
        call;                                                                                                \
    }

INLINE void norm_rows(real *y, real *mean, real *rstd, const real *x, const real *gain, const real *bias,
                      size_t count, size_t C, const size_t vectors, const bool whole)
{
    lane_mask last, there = m_first(count);
    vectors_of(C, &last);
    real centres[LANES], inverses[LANES];
    vec rows[LANES];
    for (size_t r = 0; r < LANES; r++) {
        rows[r] = (vec){0};
        if (r >= count) continue;
        UNROLL
        for (size_t v = 0; v < vectors; v++)
            rows[r] += PART(x + r * C, v);
    }
    v_store(centres, v_row_sums(rows) / (real)C);
    for (size_t r = 0; r < LANES; r++) {
        rows[r] = (vec){0};
        if (r >= count) continue;
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            vec z = PART(x + r * C, v) - centres[r];
            if (!whole && v + 1 == vectors) z = v_keep(last, z);
            rows[r] += z * z;
        }
    }
    v_store(inverses, 1 / v_sqrt(v_row_sums(rows) / (real)C + (real)1e-5));
    for (size_t r = 0; r < count; r++) {
        const real *row = x + r * C;
        real *out = y + r * C;
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            vec z = (PART(row, v) - centres[r]) * inverses[r] * PART(gain, v) + PART(bias, v);
            if (whole) {
                v_store(out + v * LANES, z);
            } else {
                store_part(out, v, vectors, last, z);
            }
        }
    }
    v_store_masked(mean, there, v_load(centres));
    v_store_masked(rstd, there, v_load(inverses));
}

static void norm_chunk(real *y, real *mean, real *rstd, const real *x, const real *gain, const real *bias,
                       size_t i, size_t N, size_t C)
{
    FOR_C(C, norm_rows(y + i * C, mean + i, rstd + i, x + i * C, gain, bias, PES_MIN(N - i, LANES), C,
                       vectors, whole))
}

static void layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *gain,
                              const real *bias, size_t N, size_t C)
{
    const int threads = team();
    if (threads == 1) {
        for (size_t i = 0; i < N; i += LANES)
            norm_chunk(y, mean, rstd, x, gain, bias, i, N, C);
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < N; i += LANES)
        norm_chunk(y, mean, rstd, x, gain, bias, i, N, C);
}

/* z = (x - mean) rstd, g = dy gain: dx += rstd (g - mean(g) - z mean(g z)). */
INLINE void norm_dx_rows(real *dx, const real *dy, const real *x, const real *mean, const real *rstd,
                         const real *gain, size_t count, size_t C, const size_t vectors, const bool whole)
{
    lane_mask last;
    vectors_of(C, &last);
    vec sum_g[LANES], sum_gz[LANES], r_std = v_load_masked(rstd, m_first(count));
    real shift[LANES], slope[LANES];
    for (size_t r = 0; r < LANES; r++) {
        sum_g[r] = sum_gz[r] = (vec){0};
        if (r >= count) continue;
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            vec g = PART(dy + r * C, v) * PART(gain, v);
            sum_g[r] += g;
            sum_gz[r] += g * (PART(x + r * C, v) - mean[r]);
        }
    }
    v_store(shift, v_row_sums(sum_g) / (real)C * r_std);
    v_store(slope, v_row_sums(sum_gz) / (real)C * (r_std * r_std * r_std));
    for (size_t r = 0; r < count; r++) {
        const real *row = x + r * C, *dy_row = dy + r * C;
        real *out = dx + r * C;
        UNROLL
        for (size_t v = 0; v < vectors; v++) {
            vec g = PART(dy_row, v) * PART(gain, v);
            vec d = PART(out, v) + (g * rstd[r] - shift[r] - (PART(row, v) - mean[r]) * slope[r]);
            if (whole) {
                v_store(out + v * LANES, d);
            } else {
                store_part(out, v, vectors, last, d);
            }
        }
    }
}
#undef PART

static void norm_dx_chunk(real *dx, const real *dy, const real *x, const real *mean, const real *rstd,
                          const real *gain, size_t i, size_t N, size_t C)
{
    FOR_C(C, norm_dx_rows(dx + i * C, dy + i * C, x + i * C, mean + i, rstd + i, gain, PES_MIN(N - i, LANES),
                          C, vectors, whole))
}
#undef FOR_C

/* dbias += sum dy, dgain += sum dy z, over rows [first, end) and `count` vectors of columns from the v-th. */
INLINE void norm_sums(real *dgain, real *dbias, const real *dy, const real *x, const real *mean,
                      const real *rstd, size_t first, size_t end, size_t C, size_t v, const size_t count)
{
    lane_mask last;
    size_t vectors = count > 1 ? SIZE_MAX : vectors_of(C, &last);
    if (count > 1) last = m_first(LANES);
    vec sum[NORM_COLUMNS], sum_z[NORM_COLUMNS];
    UNROLL
    for (size_t u = 0; u < count; u++) {
        sum[u] = load_part(dbias, v + u, vectors, last);
        sum_z[u] = load_part(dgain, v + u, vectors, last);
    }
    for (size_t i = first; i < end; i++) {
        UNROLL
        for (size_t u = 0; u < count; u++) {
            vec d = load_part(dy + i * C, v + u, vectors, last);
            sum[u] += d;
            sum_z[u] += d * ((load_part(x + i * C, v + u, vectors, last) - mean[i]) * rstd[i]);
        }
    }
    UNROLL
    for (size_t u = 0; u < count; u++) {
        store_part(dbias, v + u, vectors, last, sum[u]);
        store_part(dgain, v + u, vectors, last, sum_z[u]);
    }
}

/* The columns of group `group`: NORM_COLUMNS vectors, one by one where they aren't whole. */
static void norm_sums_group(real *dgain, real *dbias, const real *dy, const real *x, const real *mean,
                            const real *rstd, size_t first, size_t end, size_t C, size_t group)
{
    const size_t v = group * NORM_COLUMNS, vectors = (C + LANES - 1) / LANES;
    if ((v + NORM_COLUMNS) * LANES <= C) {
        norm_sums(dgain, dbias, dy, x, mean, rstd, first, end, C, v, NORM_COLUMNS);
        return;
    }
    for (size_t u = v; u < vectors && u < v + NORM_COLUMNS; u++) {
        norm_sums(dgain, dbias, dy, x, mean, rstd, first, end, C, u, 1);
    }
}

static void layernorm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *x,
                               const real *mean, const real *rstd, const real *gain, size_t N, size_t C)
{
    const size_t groups = (C + NORM_COLUMNS * LANES - 1) / (NORM_COLUMNS * LANES);
    const int threads = team();
    if (threads == 1) {
        for (size_t i = 0; i < N; i += NORM_CHUNK) {
            size_t end = PES_MIN(i + NORM_CHUNK, N);
            for (size_t r = i; r < end; r += LANES)
                norm_dx_chunk(dx, dy, x, mean, rstd, gain, r, N, C);
            for (size_t group = 0; group < groups; group++)
                norm_sums_group(dgain, dbias, dy, x, mean, rstd, i, end, C, group);
        }
        return;
    }
#pragma omp parallel num_threads(threads)
    {
#pragma omp for nowait
        for (size_t i = 0; i < N; i += LANES)
            norm_dx_chunk(dx, dy, x, mean, rstd, gain, i, N, C);
#pragma omp for
        for (size_t group = 0; group < groups; group++)
            norm_sums_group(dgain, dbias, dy, x, mean, rstd, 0, N, C, group);
    }
}

/* --- elements
 * ---------------------------------------------------------------------------------------------------- */

static void activation_backward(real *dx, const real *dy, const real *saved, enum pes_activation activation,
                                size_t count)
{
    if (activation == PES_ACTIVATION_NONE) {
        if (dx != dy) memcpy(dx, dy, count * sizeof *dx);
        return;
    }
    size_t i = 0;
    if (activation == PES_ACTIVATION_RELU) {
        for (; i + LANES <= count; i += LANES) {
            v_store(dx + i, activation_slope(v_load(dy + i), v_load(saved + i), PES_ACTIVATION_RELU));
        }
    } else {
        for (; i + LANES <= count; i += LANES) {
            v_store(dx + i, activation_slope(v_load(dy + i), v_load(saved + i), PES_ACTIVATION_GELU));
        }
    }
    if (i == count) return;
    lane_mask rest = m_first(count - i);
    vec d = activation_slope(v_load_masked(dy + i, rest), v_load_masked(saved + i, rest), activation);
    v_store_masked(dx + i, rest, d);
}

/* Up to eight vectors of columns at a time. */
INLINE void column_sums(real *db, const real *dy, size_t ld, size_t m, const size_t vectors, lane_mask last)
{
    vec sum[8];
    UNROLL
    for (size_t v = 0; v < vectors; v++)
        sum[v] = (vec){0};
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t v = 0; v < vectors; v++)
            sum[v] += load_part(dy + i * ld, v, vectors, last);
    }
    UNROLL
    for (size_t v = 0; v < vectors; v++) {
        store_part(db, v, vectors, last, load_part(db, v, vectors, last) + sum[v]);
    }
}

static void column_sum_add(real *db, const real *dy, size_t ld, size_t m, size_t n)
{
    size_t j = 0;
    for (; j + 8 * LANES <= n; j += 8 * LANES)
        column_sums(db + j, dy + j, ld, m, 8, m_first(LANES));
    for (; j + 4 * LANES <= n; j += 4 * LANES)
        column_sums(db + j, dy + j, ld, m, 4, m_first(LANES));
    for (; j < n; j += LANES)
        column_sums(db + j, dy + j, ld, m, 1, m_first(PES_MIN(n - j, LANES)));
}

static void transpose(real *out, size_t ldo, const real *in, size_t ldi, size_t m, size_t n)
{
    for (size_t i = 0; i < m; i += LANES) {
        size_t rows = PES_MIN(m - i, LANES);
        for (size_t j = 0; j < n; j += LANES) {
            size_t columns = PES_MIN(n - j, LANES);
            lane_mask in_row = m_first(columns), out_row = m_first(rows);
            vec block[LANES];
            for (size_t r = 0; r < LANES; r++) {
                block[r] = r < rows ? v_load_masked(in + (i + r) * ldi + j, in_row) : (vec){0};
            }
            v_transpose(block);
            for (size_t c = 0; c < columns; c++)
                v_store_masked(out + (j + c) * ldo + i, out_row, block[c]);
        }
    }
}

static void adamw_update(real *restrict p, real *restrict m, real *restrict v, const real *restrict g,
                         size_t n, const struct pes_adamw *w)
{
    const real beta1 = (real)w->beta1, beta2 = (real)w->beta2, other1 = (real)(1 - w->beta1);
    const real other2 = (real)(1 - w->beta2), scale = (real)w->gradient_scale,
               kept = (real)(1 - w->lr * w->decay);
    const real rate = (real)(w->lr / w->correction1), inverse2 = (real)(1 / w->correction2),
               eps = (real)w->eps;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        real gradient = g[i] * scale;
        real first = beta1 * m[i] + other1 * gradient;
        real second = beta2 * v[i] + other2 * gradient * gradient;
        m[i] = first;
        v[i] = second;
#ifdef PES_DOUBLE
        p[i] = p[i] * kept - rate * first / (sqrt(second * inverse2) + eps);
#else
        p[i] = p[i] * kept - rate * first / (sqrtf(second * inverse2) + eps);
#endif
    }
}

/* Eight double sums side by side, added up at the end: the order depends on n alone. */
static double sum_squares(const real *x, size_t n)
{
    double sums[8] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int l = 0; l < 8; l++)
            sums[l] += (double)x[i + (size_t)l] * (double)x[i + (size_t)l];
    }
    for (; i < n; i++)
        sums[i % 8] += (double)x[i] * (double)x[i];
    for (int l = 0; l < 8; l++)
        sum += sums[l];
    return sum;
}

/* --- loss
 * -------------------------------------------------------------------------------------------------------- */

/* out = exp(row - top), unless NULL; the sum in double: lanes in `real` over 64 vectors at most, then added
 * up. */
INLINE double exponentials(real *out, const real *row, size_t classes, real top)
{
    lane_mask last;
    size_t vectors = vectors_of(classes, &last);
    double total = 0;
    vec sum = {0};
    for (size_t v = 0; v < vectors; v++) {
        vec e = v_exp_negative(load_part(row, v, vectors, last) - top);
        if (v + 1 == vectors) e = v_keep(last, e);
        sum += e;
        if (out) store_part(out, v, vectors, last, e);
        if (v % 64 == 63 || v + 1 == vectors) {
            total += (double)v_sum(sum);
            sum = (vec){0};
        }
    }
    return total;
}

static void cross_entropy(double *loss_sum, int64_t *count, int64_t *correct, real *dlogits,
                          const real *logits, const int32_t *labels, size_t N, size_t classes, double scale,
                          double *row_loss, uint8_t *row_correct)
{
    for (size_t i = 0; i < N; i++) {
        const real *row = logits + i * classes;
        real *out = dlogits ? dlogits + i * classes : NULL;
        if (labels[i] < 0) {
            if (out) memset(out, 0, classes * sizeof *out);
            if (row_loss) row_loss[i] = 0;
            if (row_correct) row_correct[i] = 0;
            continue;
        }
        size_t label = (size_t)labels[i], largest = 0;
        for (size_t j = 1; j < classes; j++) {
            if (row[j] > row[largest]) largest = j;
        }
        const real top = row[largest];
        const double own = (double)row[label] - (double)top;
        const double sum = exponentials(out, row, classes, top), loss = log(sum) - own;
        *loss_sum += loss;
        *count += 1;
        *correct += label == largest;
        if (row_loss) row_loss[i] = loss;
        if (row_correct) row_correct[i] = label == largest;
        if (!out) continue;
        const real factor = (real)(scale / sum);
        for (size_t j = 0; j < classes; j++)
            out[j] *= factor;
        out[label] -= (real)scale;
    }
}

#endif
