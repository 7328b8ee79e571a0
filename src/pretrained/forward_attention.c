/* forward_attention.c - attention of the forward pass, a head at a time, as it is or with its scores changed.
 *
 *   score(i, j) = scale (q_i . k_j turned by their positions) + slope (j - i),  j <= i and within the window
 * Phase zeroed: every pair keeps its part in cos(w (i - j)).  Symmetric, antisymmetric: of the form in x_i
 * and x_j one part is kept, half the sum or difference with the form in which W_q and W_k change places:
 * (M +- M^T)/2, and of a pair (M_t +- M_t^H)/2; what biases add stays. */
#include <math.h>
#include <string.h>

#include "forward_parts.h"
#include "pesweep/linalg.h"

/* Slope of a head (Press et al. 2022): powers of 2^(-8/n), n the largest power of two up to H, then those of
 * 2^(-4/n) at odd places. */
static double alibi_slope(int head, int H)
{
    int n = 1;
    while (2 * n <= H)
        n *= 2;
    return head < n ? pow(2, -8.0 * (head + 1) / n) : pow(2, -4.0 * (2 * (head - n) + 1) / n);
}

/* out[rows, D] = x W^T, plus a bias. */
static void project(size_t rows, size_t C, size_t D, const double *x, const double *w, const double *bias,
                    double *out)
{
    pes_dgemm(false, true, rows, D, C, 1, x, C, w, C, 0, out, D);
    for (size_t i = 0; bias && i < rows * D; i++)
        out[i] += bias[i % D];
}

/* Turns the first 2 pairs coordinates of every row by its position's angles. */
static void turn(const struct pes_head *head, size_t S, size_t T, double *rows)
{
    for (size_t n = 0; n < S * T; n++)
        for (int t = 0; t < head->pairs && head->rotates; t++) {
            double *pair = rows + n * (size_t)head->D + 2 * t, angle = head->frequencies[t] * (double)(n % T);
            double a = pair[0], b = pair[1], c = cos(angle), s = sin(angle);
            pair[0] = a * c - b * s;
            pair[1] = a * s + b * c;
        }
}

/* scores[T, T] += factor q k^T of one sequence; the sine terms left out if `zeroed`, and then rows are
 * unturned. */
static void add_scores(const struct pes_head *head, size_t T, const double *q, const double *k, double factor,
                       bool zeroed, double *scores)
{
    size_t D = (size_t)head->D;
    if (!zeroed) {
        pes_dgemm(false, true, T, T, D, factor, q, D, k, D, 1, scores, T);
        return;
    }
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j <= i; j++) {
            const double *a = q + i * D, *b = k + j * D;
            double sum = 0;
            for (int t = 0; t < head->pairs; t++)
                sum += (a[2 * t] * b[2 * t] + a[2 * t + 1] * b[2 * t + 1]) *
                       cos(head->frequencies[t] * (double)(i - j));
            for (size_t e = 2 * (size_t)head->pairs; e < D; e++)
                sum += a[e] * b[e];
            scores[i * T + j] += factor * sum;
        }
}

/* Softmax over the visible keys of every query; the rest becomes 0. */
static void attend(size_t T, size_t window, double slope, double *scores)
{
    for (size_t i = 0; i < T; i++) {
        double *row = scores + i * T, sum = 0, largest = -INFINITY;
        size_t from = window && i >= window ? i - window + 1 : 0;
        for (size_t j = from; j <= i; j++) {
            row[j] -= slope * (double)(i - j);
            largest = fmax(largest, row[j]);
        }
        for (size_t j = 0; j < T; j++) {
            row[j] = j >= from && j <= i ? exp(row[j] - largest) : 0;
            sum += row[j];
        }
        for (size_t j = 0; j < T; j++)
            row[j] /= sum;
    }
}

/* Sides of a score: as they are, without biases, and of the swapped matrices; [S T, D] each. */
struct sides {
    double *q, *k, *plain_q, *plain_k, *swapped_q, *swapped_k;
};

static enum pes_status make_sides(const struct pes_head *head, enum change change, size_t S, size_t T,
                                  const double *normed, struct pes_arena *arena, struct sides *out)
{
    size_t D = (size_t)head->D, C = (size_t)head->C, rows = S * T;
    bool parts = change == CHANGE_SYMMETRIC || change == CHANGE_ANTISYMMETRIC;
    double **const all[] = {&out->q, &out->k, &out->plain_q, &out->plain_k, &out->swapped_q, &out->swapped_k};
    const double *const w[] = {head->wq, head->wk, head->wq, head->wk, head->wk, head->wq};
    const double *const bias[] = {head->bq, head->bk, NULL, NULL, NULL, NULL};
    for (size_t a = 0; a < (parts ? PES_COUNT(all) : 2); a++) {
        *all[a] = pes_arena_take(arena, rows * D, sizeof(double));
        if (!*all[a]) return PES_MEMORY;
        project(rows, C, D, normed, w[a], bias[a], *all[a]);
        if (change != CHANGE_PHASE_ZEROED) turn(head, S, T, *all[a]);
    }
    return PES_OK;
}

/* One head on the normalised stream normed[S T, C]: attention[S][T][T] is written, its output without biases
 * added to out[S T, C].  window 0 = every earlier key; slope of a bias that falls with the distance. */
static enum pes_status run_head(const struct pes_head *head, enum change change, size_t S, size_t T,
                                size_t window, double slope, const double *normed, struct pes_arena *arena,
                                double *attention, double *out)
{
    size_t D = (size_t)head->D, C = (size_t)head->C, Dv = (size_t)head->Dv;
    struct sides sides;
    TRY(make_sides(head, change, S, T, normed, arena, &sides));
    double *values = pes_arena_take(arena, S * T * Dv, sizeof *values),
           *mixed = pes_arena_take(arena, S * T * Dv, sizeof *mixed);
    if (!values || !mixed) return PES_MEMORY;
    project(S * T, C, Dv, normed, head->wv, NULL, values);
    bool zeroed = change == CHANGE_PHASE_ZEROED && head->rotates;
    for (size_t s = 0; s < S; s++) {
        double *scores = attention + s * T * T;
        size_t at = s * T * D;
        memset(scores, 0, T * T * sizeof *scores);
        add_scores(head, T, sides.q + at, sides.k + at, head->scale, zeroed, scores);
        if (change == CHANGE_SYMMETRIC || change == CHANGE_ANTISYMMETRIC) {
            double sign = change == CHANGE_SYMMETRIC ? 1 : -1;
            add_scores(head, T, sides.plain_q + at, sides.plain_k + at, -head->scale / 2, false, scores);
            add_scores(head, T, sides.swapped_q + at, sides.swapped_k + at, sign * head->scale / 2, false,
                       scores);
        }
        attend(T, window, slope, scores);
        pes_dgemm(false, false, T, Dv, T, 1, scores, T, values + s * T * Dv, Dv, 0, mixed + s * T * Dv, Dv);
    }
    pes_dgemm(false, true, S * T, C, Dv, 1, mixed, Dv, head->wo, Dv, 1, out, C);
    return PES_OK;
}

static size_t window_of(const struct forward *forward, int layer)
{
    const char *kind = json_string_value(json_array_get(forward->layer_kinds, (size_t)layer));
    bool local = !kind || !strcmp(kind, "local") || !strcmp(kind, "sliding_attention");
    return local && forward->window > 0 ? (size_t)forward->window : 0;
}

static enum pes_status one_head(const struct forward *forward, int layer, int number,
                                const struct pes_head *head, enum change change, size_t S, size_t T,
                                const double *normed, watching *watch, void *context, double *out)
{
    const struct pes_pretrained *model = forward->model;
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    double slope = strcmp(model->about.scheme, "alibi") ? 0 : alibi_slope(number, model->about.H);
    double *attention = pes_arena_take(forward->arena, S * T * T, sizeof *attention);
    if (!attention) return PES_MEMORY;
    TRY(run_head(head, change, S, T, window_of(forward, layer), slope, normed, forward->arena, attention,
                 out));
    if (watch) watch(context, number, attention);
    pes_arena_rewind(forward->arena, mark);
    return PES_OK;
}

enum pes_status forward_head(const struct forward *forward, int layer, int head, enum change change, size_t S,
                             size_t T, const double *x, watching *watch, void *context, double *out)
{
    const struct pes_pretrained *model = forward->model;
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    double *normed = pes_arena_take(forward->arena, S * T * forward->C, sizeof *normed);
    struct pes_head matrices;
    if (!normed) return PES_MEMORY;
    TRY(forward_block_norm(forward, layer, model->architecture->front_norm, S * T, x, normed));
    TRY(pes_pretrained_head(model, layer, head, true, forward->arena, &matrices));
    TRY(one_head(forward, layer, head, &matrices, change, S, T, normed, watch, context, out));
    pes_arena_rewind(forward->arena, mark);
    return PES_OK;
}

/* Attention's weights sum to 1, so value biases pass through W_o unchanged for every token: constant[C] +=
 * W_o b_v. */
static enum pes_status add_value_bias(const struct forward *forward, int layer, int head, const double *wo,
                                      double *constant)
{
    size_t Dv = (size_t)forward->model->about.Dv, C = forward->C;
    double *bias = pes_arena_take(forward->arena, Dv, sizeof *bias);
    if (!bias) return PES_MEMORY;
    TRY(packed_value_bias(forward->model, layer, (size_t)head, bias));
    for (size_t c = 0; c < C; c++)
        for (size_t e = 0; e < Dv; e++)
            constant[c] += wo[c * Dv + e] * bias[e];
    return PES_OK;
}

enum pes_status forward_attention(const struct forward *forward, int layer, size_t S, size_t T,
                                  const double *x, watching *watch, void *context, double *out)
{
    const struct pes_pretrained *model = forward->model;
    size_t C = forward->C, rows = S * T;
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    double *normed = pes_arena_take(forward->arena, rows * C, sizeof *normed);
    double *constant = pes_arena_take(forward->arena, C, sizeof *constant);
    if (!normed || !constant) return PES_MEMORY;
    TRY(forward_block_norm(forward, layer, model->architecture->front_norm, rows, x, normed));
    const struct pes_weight *bias = checkpoint_find(model, layer, model->architecture->o, ".bias");
    if (bias) {
        TRY(checkpoint_need(model, layer, model->architecture->o, ".bias", C, 0, &bias));
        TRY(pes_weight_read(bias, 0, C, constant));
    }
    memset(out, 0, rows * C * sizeof *out);
    for (int h = 0; h < model->about.H; h++) {
        struct pes_arena_mark before = pes_arena_mark(forward->arena);
        struct pes_head head;
        TRY(pes_pretrained_head(model, layer, h, true, forward->arena, &head));
        TRY(one_head(forward, layer, h, &head, CHANGE_NONE, S, T, normed, watch, context, out));
        TRY(add_value_bias(forward, layer, h, head.wo, constant));
        pes_arena_rewind(forward->arena, before);
    }
    for (size_t i = 0; i < rows * C; i++)
        out[i] += constant[i % C];
    pes_arena_rewind(forward->arena, mark);
    return PES_OK;
}
