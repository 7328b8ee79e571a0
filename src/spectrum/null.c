/* null.c - what the ratios are when nothing but size is known of a head.
 *
 * Matched: M = U Sigma V^T with independent Haar frames U, V of p columns in N dimensions.  In the basis of U
 * the core is Sigma [X Y], where [X Y] holds V's rows: X = V^T U is a p x p block of a Haar orthogonal N x N
 * matrix, Y the rest of V, which matters up to a rotation only.  A Haar frame is a normal matrix times an
 * upper triangle (its QR), so with V^T = (g w)^T, g the first p rows of the normal matrix, the other N - p
 * rows w may be replaced by the triangle t of t^T t = w^T w, whose entries are independent: normal above the
 * diagonal, chi with N - p - j degrees of freedom on it (Bartlett 1933).  p^2 + p(p + 1)/2 numbers instead of
 * N p.
 *
 * Gaussian: the joint LQ of normal W_q, W_k is Bartlett's triangle of 2p rows in N dimensions itself. */
#include <float.h>
#include <math.h>

#include "core.h"

/* Gamma with shape >= 1/2 and scale 1 (Marsaglia & Tsang 2000). */
static double gamma_draw(struct pes_stream *stream, double shape)
{
    if (shape < 1) {
        double root = pow(1 - pes_stream_uniform(stream), 1 / shape);
        return gamma_draw(stream, shape + 1) * root;
    }
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = pes_stream_normal(stream), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        double u = 1 - pes_stream_uniform(stream);
        if (log(u) < x * x / 2 + d - d * v + d * log(v)) return d * v;
    }
}

/* Root of a chi-squared number with `degrees` >= 1 degrees of freedom. */
static double chi_draw(struct pes_stream *stream, size_t degrees)
{
    return sqrt(2 * gamma_draw(stream, (double)degrees / 2));
}

/* Lower trapezoid l[rows, columns] of the LQ of a normal matrix [rows, N], columns = min(rows, N). */
static void draw_triangle(struct pes_stream *stream, size_t rows, size_t columns, size_t N, double *l,
                          size_t ld)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            l[i * ld + j] = j > i ? 0 : j == i ? chi_draw(stream, N - j) : pes_stream_normal(stream);
}

struct drawing {
    size_t n, N;
    const double *singular_values; /* NULL: Gaussian */
    struct pes_core core;
    double *normal, *l, *frame; /* scratch of the core's sizes */
};

static bool draw_matched(struct drawing *d, struct pes_stream *stream, struct pes_arena *arena)
{
    size_t p = d->core.p, r = d->core.r;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < p; j++)
            d->normal[i * r + j] = pes_stream_normal(stream);
    if (d->N - p >= p)
        draw_triangle(stream, p, p, d->N - p, d->normal + p, r);
    else
        for (size_t i = 0; i < p; i++)
            for (size_t j = p; j < r; j++)
                d->normal[i * r + j] = pes_stream_normal(stream);
    if (!pes_lq(p, r, d->normal, d->l, d->frame, arena)) return false;
    for (size_t i = 0; i < p; i++) {
        /* Haar only with a positive diagonal: the factorisation's own signs depend on the draw. */
        double factor = copysign(d->singular_values[i], d->l[i * p + i]);
        for (size_t j = 0; j < r; j++)
            d->core.b[i * r + j] = factor * d->frame[i * r + j];
    }
    return true;
}

static void draw_gaussian(struct drawing *d, struct pes_stream *stream)
{
    size_t n = d->n, p = d->core.p, r = d->core.r;
    draw_triangle(stream, 2 * n, r, d->N, d->l, r);
    pes_dgemm(true, false, p, r, n, 1, d->l, r, d->l + n * r, r, 0, d->core.b, r);
}

static enum pes_status draw_all(struct drawing *d, int draws, const struct pes_rng *rng,
                                struct pes_arena *arena, struct pes_null *out)
{
    size_t n = d->n, r = PES_MIN(d->N, 2 * n), p = PES_MIN(n, r);
    d->core = (struct pes_core){.n = n, .p = p, .r = r};
    d->core.b = pes_arena_take(arena, p * r, sizeof(double));
    d->normal = pes_arena_take(arena, p * r, sizeof(double));
    d->frame = pes_arena_take(arena, p * r, sizeof(double));
    d->l = pes_arena_take(arena, 2 * n * r, sizeof(double));
    struct pes_content content = {.eigenvalues = pes_arena_take(arena, 2 * n, sizeof(double))};
    if (!d->core.b || !d->normal || !d->frame || !d->l || !content.eigenvalues) return PES_MEMORY;
    struct pes_stream stream = {*rng, 0};
    double first[PES_NUM_RATIOS], sum[PES_NUM_RATIOS] = {0}, squares[PES_NUM_RATIOS] = {0};
    for (int draw = 0; draw < draws; draw++) {
        if (!d->singular_values)
            draw_gaussian(d, &stream);
        else if (!draw_matched(d, &stream, arena))
            return pes_linalg_status();
        d->core.norm = d->core.size = pes_norm(p * r, d->core.b);
        TRY(pes_core_measure(&d->core, false, arena, &content));
        if (content.flags & PES_FLAG_NO_CONVERGENCE) return PES_OK;
        for (int ratio = 0; ratio < PES_NUM_RATIOS; ratio++) {
            /* Sums of differences from the first draw: small spreads keep their digits. */
            double value = pes_spectrum_ratio(&content, (enum pes_ratio)ratio);
            if (!draw) first[ratio] = value;
            sum[ratio] += value - first[ratio];
            squares[ratio] += (value - first[ratio]) * (value - first[ratio]);
        }
    }
    for (int ratio = 0; ratio < PES_NUM_RATIOS && draws > 1; ratio++) {
        double mean = sum[ratio] / draws, variance = (squares[ratio] - sum[ratio] * mean) / (draws - 1);
        out->mean[ratio] = first[ratio] + mean;
        out->deviation[ratio] = variance > 0 || isnan(variance) ? sqrt(variance) : 0;
    }
    return PES_OK;
}

static enum pes_status draw_null(struct drawing *d, int draws, const struct pes_rng *rng,
                                 struct pes_arena *arena, struct pes_null *out)
{
    for (int ratio = 0; ratio < PES_NUM_RATIOS; ratio++)
        out->mean[ratio] = out->deviation[ratio] = NAN;
    struct pes_arena_mark mark = pes_arena_mark(arena);
    enum pes_status status = draw_all(d, draws, rng, arena, out);
    pes_arena_rewind(arena, mark);
    return status;
}

enum pes_status pes_spectrum_null_matched(size_t n, const double *singular_values, size_t dimension,
                                          int draws, const struct pes_rng *rng, struct pes_arena *arena,
                                          struct pes_null *out)
{
    /* Ratios don't depend on the scale; the largest value, the first, becomes 1. */
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *scaled = pes_arena_take(arena, n, sizeof *scaled);
    if (!scaled) return PES_MEMORY;
    bool usable = n && pes_all_finite(n, singular_values) && singular_values[0] > 0;
    for (size_t i = 0; usable && i < n; i++)
        scaled[i] = singular_values[i] / singular_values[0];
    struct drawing d = {.n = n, .N = dimension, .singular_values = scaled};
    enum pes_status status = draw_null(&d, usable ? draws : 0, rng, arena, out);
    pes_arena_rewind(arena, mark);
    return status;
}

enum pes_status pes_spectrum_null_gaussian(size_t n, size_t dimension, int draws, const struct pes_rng *rng,
                                           struct pes_arena *arena, struct pes_null *out)
{
    struct drawing d = {.n = n, .N = dimension};
    return draw_null(&d, draws, rng, arena, out);
}

double pes_spectrum_z(const struct pes_null *null, enum pes_ratio ratio, double value)
{
    double deviation = null->deviation[ratio];
    return deviation > 1e-12 ? (value - null->mean[ratio]) / deviation : NAN;
}
