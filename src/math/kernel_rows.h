/* kernel_rows.h - kernels that walk over rows or elements: norms, sums, losses, activations, AdamW,
 * transposes. */
#ifndef PESWEEP_MATH_KERNEL_ROWS_H
#define PESWEEP_MATH_KERNEL_ROWS_H

#include "kernel_gemm.h"

enum { NORM_CHUNK = 16 /* rows whose dx and dgain are done while they are in the first cache */ };

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

/* One row, held in registers when `vectors` is a small constant.  `whole`: C is a multiple of LANES. */
INLINE void norm_row(real *y, real *mean, real *rstd, const real *x, const real *gain, const real *bias,
                     size_t C, const size_t vectors, const bool whole)
{
    lane_mask last;
    vectors_of(C, &last);
    vec sum = {0}, squares = {0};
#define PART(p, v) (whole ? v_load((p) + (v)*LANES) : load_part((p), (v), vectors, last))
    UNROLL
    for (size_t v = 0; v < vectors; v++)
        sum += PART(x, v);
    const real centre = v_sum(sum) / (real)C;
    UNROLL
    for (size_t v = 0; v < vectors; v++) {
        vec z = PART(x, v) - centre;
        if (!whole && v + 1 == vectors) z = v_keep(last, z);
        squares += z * z;
    }
    const real inverse = 1 / (real)sqrt((double)(v_sum(squares) / (real)C) + 1e-5);
    UNROLL
    for (size_t v = 0; v < vectors; v++) {
        vec z = (PART(x, v) - centre) * inverse * PART(gain, v) + PART(bias, v);
        if (whole) {
            v_store(y + v * LANES, z);
        } else {
            store_part(y, v, vectors, last, z);
        }
    }
    *mean = centre;
    *rstd = inverse;
}

static void norm_rows(real *y, real *mean, real *rstd, const real *x, const real *gain, const real *bias,
                      size_t first, size_t end, size_t C)
{
#define ROWS(vectors, whole)                                                                                 \
    for (size_t i = first; i < end; i++) {                                                                   \
        norm_row(y + i * C, mean + i, rstd + i, x + i * C, gain, bias, C, (vectors), (whole));               \
    }
    if (C == 4 * LANES) {
        ROWS(4, true)
    } else if (C == 8 * LANES) {
        ROWS(8, true)
    } else if (C == 16 * LANES) {
        ROWS(16, true)
    } else {
        ROWS((C + LANES - 1) / LANES, false)
    }
#undef ROWS
}

static void layernorm_forward(real *y, real *mean, real *rstd, const real *x, const real *gain,
                              const real *bias, size_t N, size_t C)
{
    const int threads = team();
    if (threads == 1) {
        norm_rows(y, mean, rstd, x, gain, bias, 0, N, C);
        return;
    }
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < N; i += NORM_CHUNK) {
        norm_rows(y, mean, rstd, x, gain, bias, i, PES_MIN(i + NORM_CHUNK, N), C);
    }
}

/* z = (x - mean) rstd, g = dy gain: dx += rstd (g - mean(g) - z mean(g z)). */
INLINE void norm_dx_row(real *dx, const real *dy, const real *x, real mean, real rstd, const real *gain,
                        size_t C, const size_t vectors, const bool whole)
{
    lane_mask last;
    vectors_of(C, &last);
    vec sum_g = {0}, sum_gz = {0};
    UNROLL
    for (size_t v = 0; v < vectors; v++) {
        vec g = PART(dy, v) * PART(gain, v);
        sum_g += g;
        sum_gz += g * (PART(x, v) - mean);
    }
    const real shift = v_sum(sum_g) / (real)C * rstd, slope = v_sum(sum_gz) / (real)C * rstd * rstd * rstd;
    UNROLL
    for (size_t v = 0; v < vectors; v++) {
        vec g = PART(dy, v) * PART(gain, v);
        vec d = PART(dx, v) + (g * rstd - shift - (PART(x, v) - mean) * slope);
        if (whole) {
            v_store(dx + v * LANES, d);
        } else {
            store_part(dx, v, vectors, last, d);
        }
    }
#undef PART
}

static void norm_dx_rows(real *dx, const real *dy, const real *x, const real *mean, const real *rstd,
                         const real *gain, size_t first, size_t end, size_t C)
{
#define ROWS(vectors, whole)                                                                                 \
    for (size_t i = first; i < end; i++) {                                                                   \
        norm_dx_row(dx + i * C, dy + i * C, x + i * C, mean[i], rstd[i], gain, C, (vectors), (whole));       \
    }
    if (C == 4 * LANES) {
        ROWS(4, true)
    } else if (C == 8 * LANES) {
        ROWS(8, true)
    } else if (C == 16 * LANES) {
        ROWS(16, true)
    } else {
        ROWS((C + LANES - 1) / LANES, false)
    }
#undef ROWS
}

/* dbias += sum dy, dgain += sum dy z, over rows [first, end) and one vector of columns. */
INLINE void norm_sums(real *dgain, real *dbias, const real *dy, const real *x, const real *mean,
                      const real *rstd, size_t first, size_t end, size_t C, size_t v)
{
    lane_mask last;
    size_t vectors = vectors_of(C, &last);
    vec sum = load_part(dbias, v, vectors, last), sum_z = load_part(dgain, v, vectors, last);
    for (size_t i = first; i < end; i++) {
        vec d = load_part(dy + i * C, v, vectors, last);
        sum += d;
        sum_z += d * ((load_part(x + i * C, v, vectors, last) - mean[i]) * rstd[i]);
    }
    store_part(dbias, v, vectors, last, sum);
    store_part(dgain, v, vectors, last, sum_z);
}

static void layernorm_backward(real *dx, real *dgain, real *dbias, const real *dy, const real *x,
                               const real *mean, const real *rstd, const real *gain, size_t N, size_t C)
{
    const size_t vectors = (C + LANES - 1) / LANES;
    const int threads = team();
    if (threads == 1) {
        for (size_t i = 0; i < N; i += NORM_CHUNK) {
            size_t end = PES_MIN(i + NORM_CHUNK, N);
            norm_dx_rows(dx, dy, x, mean, rstd, gain, i, end, C);
            for (size_t v = 0; v < vectors; v++)
                norm_sums(dgain, dbias, dy, x, mean, rstd, i, end, C, v);
        }
        return;
    }
#pragma omp parallel num_threads(threads)
    {
#pragma omp for nowait
        for (size_t i = 0; i < N; i += NORM_CHUNK) {
            norm_dx_rows(dx, dy, x, mean, rstd, gain, i, PES_MIN(i + NORM_CHUNK, N), C);
        }
#pragma omp for
        for (size_t v = 0; v < vectors; v++)
            norm_sums(dgain, dbias, dy, x, mean, rstd, 0, N, C, v);
    }
}

/* --- elements
 * ---------------------------------------------------------------------------------------------------- */

/* ReLU passes where the output is positive; GELU' = Phi(x) + x phi(x). */
INLINE vec activation_slope(vec dy, vec saved, enum pes_activation activation)
{
    if (activation == PES_ACTIVATION_RELU) return v_keep(m_less((vec){0}, saved), dy);
    vec cdf, density;
    v_normal(&cdf, &density, saved);
    return dy * (cdf + saved * density);
}

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
