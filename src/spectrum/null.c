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
#include <string.h>

#include "core.h"
#include "pesweep/kernels.h"

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
    for (size_t i = 0; i < rows; i++) {
        size_t below = PES_MIN(i, columns);
        pes_stream_normals(stream, below, l + i * ld);
        for (size_t j = below; j < columns; j++)
            l[i * ld + j] = j > i ? 0 : chi_draw(stream, N - j);
    }
}

struct drawing {
    size_t n, N;
    const double *singular_values; /* NULL: Gaussian */
    struct pes_core core;          /* b: the draws of a batch, one after another */
    double *normal, *l, *frame;    /* scratch of the core's sizes */
};

/* Orthonormal rows of `normal`: Haar only with a positive diagonal of l, so that signs don't depend on the
 * draw. In many dimensions the rows are nearly orthogonal and the cheaper way has all digits. */
static bool draw_frame(struct drawing *d, struct pes_arena *arena)
{
    size_t p = d->core.p, r = d->core.r;
    if (d->N >= 4 * p) return pes_orthonormal_rows(p, r, d->normal, d->frame, arena);
    if (!pes_lq(p, r, d->normal, d->l, d->frame, arena)) return false;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; d->l[i * p + i] < 0 && j < r; j++)
            d->frame[i * r + j] = -d->frame[i * r + j];
    return true;
}

static bool draw_matched(struct drawing *d, struct pes_stream *stream, struct pes_arena *arena, double *b)
{
    size_t p = d->core.p, r = d->core.r;
    for (size_t i = 0; i < p; i++)
        pes_stream_normals(stream, d->N - p >= p ? p : r, d->normal + i * r);
    if (d->N - p >= p) draw_triangle(stream, p, p, d->N - p, d->normal + p, r);
    if (!draw_frame(d, arena)) return false;
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < r; j++)
            b[i * r + j] = d->singular_values[i] * d->frame[i * r + j];
    return true;
}

static void draw_gaussian(struct drawing *d, struct pes_stream *stream, double *b)
{
    size_t n = d->n, p = d->core.p, r = d->core.r;
    draw_triangle(stream, 2 * n, r, d->N, d->l, r);
    pes_dgemm(true, false, p, r, n, 1, d->l, r, d->l + n * r, r, 0, b, r);
}

/* Sums of differences from the first draw: small spreads keep their digits. */
struct moments {
    int draws;
    double first[PES_NUM_RATIOS], sum[PES_NUM_RATIOS], squares[PES_NUM_RATIOS];
};

static void add(struct moments *moments, const struct pes_content *content)
{
    for (int ratio = 0; ratio < PES_NUM_RATIOS; ratio++) {
        double value = pes_spectrum_ratio(content, (enum pes_ratio)ratio);
        if (!moments->draws) moments->first[ratio] = value;
        double difference = value - moments->first[ratio];
        moments->sum[ratio] += difference;
        moments->squares[ratio] += difference * difference;
    }
    moments->draws++;
}

static void finish(const struct moments *moments, struct pes_null *out)
{
    int draws = moments->draws;
    for (int ratio = 0; ratio < PES_NUM_RATIOS && draws > 1; ratio++) {
        double mean = moments->sum[ratio] / draws;
        double variance = (moments->squares[ratio] - moments->sum[ratio] * mean) / (draws - 1);
        out->mean[ratio] = moments->first[ratio] + mean;
        out->deviation[ratio] = variance > 0 || isnan(variance) ? sqrt(variance) : 0;
    }
}

/* As many draws as the eigenvalues are found of together; *failed: linear algebra gave up. */
static enum pes_status draw_batch(struct drawing *d, size_t count, struct pes_stream *stream,
                                  struct pes_arena *arena, struct moments *moments, bool *failed)
{
    size_t p = d->core.p, r = d->core.r;
    double *squares = pes_arena_take(arena, count * p * p, sizeof *squares);
    double *values = pes_arena_take(arena, count * 2 * p, sizeof *values);
    double *b = pes_arena_take(arena, count * p * r, sizeof *b);
    struct pes_content content = {.eigenvalues = pes_arena_take(arena, 2 * d->n, sizeof(double))};
    if (!squares || !values || !b || !content.eigenvalues) return PES_MEMORY;
    for (size_t draw = 0; draw < count; draw++) {
        if (!d->singular_values)
            draw_gaussian(d, stream, b + draw * p * r);
        else if (!draw_matched(d, stream, arena, b + draw * p * r))
            return *failed = true, pes_linalg_status();
        for (size_t i = 0; i < p; i++)
            memcpy(squares + (draw * p + i) * p, b + (draw * p + i) * r, p * sizeof *squares);
    }
    if (!pes_eigenvalues_many(count, p, squares, values, arena)) return *failed = true, pes_linalg_status();
    for (size_t draw = 0; draw < count; draw++) {
        d->core.b = b + draw * p * r;
        d->core.norm = d->core.size = pes_norm(p * r, d->core.b);
        TRY(pes_core_measure_known(&d->core, values + draw * 2 * p, arena, &content));
        if (content.flags & PES_FLAG_NO_CONVERGENCE) return *failed = true, PES_OK;
        add(moments, &content);
    }
    return PES_OK;
}

static enum pes_status draw_all(struct drawing *d, int draws, const struct pes_rng *rng,
                                struct pes_arena *arena, struct pes_null *out)
{
    size_t n = d->n, r = PES_MIN(d->N, 2 * n), p = PES_MIN(n, r);
    d->core = (struct pes_core){.n = n, .p = p, .r = r};
    d->normal = pes_arena_take(arena, p * r, sizeof(double));
    d->frame = pes_arena_take(arena, p * r, sizeof(double));
    d->l = pes_arena_take(arena, 2 * n * r, sizeof(double));
    if (!d->normal || !d->frame || !d->l) return PES_MEMORY;
    struct pes_stream stream = {*rng, 0};
    struct moments moments = {0};
    while (moments.draws < draws) {
        struct pes_arena_mark mark = pes_arena_mark(arena);
        bool failed = false;
        size_t count = PES_MIN((size_t)(draws - moments.draws), pes_eigenvalue_lanes());
        TRY(draw_batch(d, count, &stream, arena, &moments, &failed));
        if (failed) return PES_OK;
        pes_arena_rewind(arena, mark);
    }
    finish(&moments, out);
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
