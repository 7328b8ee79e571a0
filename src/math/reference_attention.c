/* reference_attention.c - attention as its formula, slowly and in double.
 *
 * s_ij = scale (R_i q_i) . (R'_j k_j) + b_ij,  p_ij = exp(s_ij - lse_i) over visible keys, o_i = sum_j m_ij
 * p_ij v_j with m_ij the dropout factor.  Backward: dp_ij = m_ij do_i . v_j,  ds_ij = p_ij (dp_ij - sum_l
 * p_il dp_il). */
#include "reference.h"
#include "kernel_table.h"

#include <math.h>
#include <string.h>

size_t pes_reference_attention_scratch(int T, int width, int value_width)
{
    size_t doubles = (size_t)T * (size_t)(4 * width + value_width + 2);
    return doubles * sizeof(double) / sizeof(real);
}

/* out[T, width] = rows of x, rotated where there is a table. */
static void rotate(double *out, const real *x, size_t ld, const struct pes_attention *a, const real *table)
{
    for (int i = 0; i < a->T; i++) {
        double *row = out + i * a->width;
        for (int c = 0; c < a->width; c++)
            row[c] = (double)x[(size_t)i * ld + (size_t)c];
        for (int t = 0; table && t < a->pairs; t++) {
            double *pair = row + a->rotated_first + 2 * t, x0 = pair[0], x1 = pair[1];
            double c = (double)table[(i * a->pairs + t) * 2], s = (double)table[(i * a->pairs + t) * 2 + 1];
            pair[0] = c * x0 - s * x1;
            pair[1] = s * x0 + c * x1;
        }
    }
}

/* The transposed map, for gradients. */
static void rotate_back(real *out, size_t ld, const double *x, const struct pes_attention *a,
                        const real *table)
{
    for (int i = 0; i < a->T; i++) {
        const double *row = x + i * a->width;
        for (int c = 0; c < a->width; c++)
            out[(size_t)i * ld + (size_t)c] = (real)row[c];
        for (int t = 0; table && t < a->pairs; t++) {
            const double *pair = row + a->rotated_first + 2 * t;
            double c = (double)table[(i * a->pairs + t) * 2], s = (double)table[(i * a->pairs + t) * 2 + 1];
            real *to = out + (size_t)i * ld + a->rotated_first + 2 * t;
            to[0] = (real)(c * pair[0] + s * pair[1]);
            to[1] = (real)(c * pair[1] - s * pair[0]);
        }
    }
}

static bool visible(const struct pes_attention *a, int i, int j)
{
    return !(a->causal && j > i) && !(a->mask && !a->mask[j]);
}

static ptrdiff_t bias_at(const struct pes_attention *a, int i, int j)
{
    return i + j * a->bias_key_stride;
}

/* s[T] of query i for all keys; q and k rotated. */
static void score_row(double *s, const double *q, const double *k, const struct pes_attention *a, int i)
{
    for (int j = 0; j < a->T; j++) {
        double sum = 0.0;
        for (int c = 0; c < a->width; c++)
            sum += q[i * a->width + c] * k[j * a->width + c];
        s[j] = a->scale * sum + (a->bias ? (double)a->bias[bias_at(a, i, j)] : 0.0);
    }
}

/* p[T] from s[T] (may be the same); the log of the sum of exponentials, -inf without a visible key. */
static double softmax_row(double *p, const double *s, const struct pes_attention *a, int i)
{
    double top = 0.0, sum = 0.0;
    bool any = false;
    for (int j = 0; j < a->T; j++) {
        if (visible(a, i, j) && (!any || s[j] > top)) {
            top = s[j];
            any = true;
        }
    }
    for (int j = 0; j < a->T; j++) {
        p[j] = visible(a, i, j) ? exp(s[j] - top) : 0.0;
        sum += p[j];
    }
    for (int j = 0; any && j < a->T; j++)
        p[j] /= sum;
    return any ? top + log(sum) : -INFINITY;
}

void pes_reference_attention_forward(const struct pes_attention *a, real *o, size_t o_ld, real *log_sum_exp,
                                     real *scratch)
{
    double *q = (double *)(void *)scratch, *k = q + a->T * a->width, *p = k + a->T * a->width;
    rotate(q, a->q, a->q_ld, a, a->rotation_q);
    rotate(k, a->k, a->k_ld, a, a->rotation_k);
    for (int i = 0; i < a->T; i++) {
        score_row(p, q, k, a, i);
        log_sum_exp[i] = (real)softmax_row(p, p, a, i);
        for (int j = 0; j < a->T; j++)
            p[j] *= pes_dropout_factor(&a->dropout, (size_t)j, (size_t)i);
        for (int c = 0; c < a->value_width; c++) {
            double sum = 0.0;
            for (int j = 0; j < a->T; j++) {
                if (visible(a, i, j)) sum += p[j] * (double)a->v[(size_t)j * a->v_ld + (size_t)c];
            }
            o[(size_t)i * o_ld + (size_t)c] = (real)sum;
        }
    }
}

void pes_reference_attention_backward(const struct pes_attention *a, const real *o, size_t o_ld,
                                      const real *log_sum_exp, const real *d_o, size_t d_o_ld, real *dq,
                                      real *dk, real *dv, real *dbias, real *scratch)
{
    (void)o, (void)o_ld, (void)log_sum_exp;
    int T = a->T, width = a->width, value_width = a->value_width;
    double *q = (double *)(void *)scratch, *k = q + T * width, *gq = k + T * width, *gk = gq + T * width;
    double *gv = gk + T * width, *p = gv + T * value_width, *dp = p + T;
    memset(gq, 0, (size_t)(2 * T * width + T * value_width) * sizeof *gq);
    rotate(q, a->q, a->q_ld, a, a->rotation_q);
    rotate(k, a->k, a->k_ld, a, a->rotation_k);
    for (int i = 0; i < T; i++) {
        score_row(p, q, k, a, i);
        (void)softmax_row(p, p, a, i);
        double mean = 0.0;
        for (int j = 0; j < T; j++) {
            if (!visible(a, i, j)) continue;
            double factor = pes_dropout_factor(&a->dropout, (size_t)j, (size_t)i);
            dp[j] = 0.0;
            for (int c = 0; c < value_width; c++) {
                double g = (double)d_o[(size_t)i * d_o_ld + (size_t)c];
                gv[j * value_width + c] += factor * p[j] * g;
                dp[j] += factor * g * (double)a->v[(size_t)j * a->v_ld + (size_t)c];
            }
            mean += p[j] * dp[j];
        }
        for (int j = 0; j < T; j++) {
            if (!visible(a, i, j)) continue;
            double ds = p[j] * (dp[j] - mean);
            if (dbias) dbias[bias_at(a, i, j)] = (real)((double)dbias[bias_at(a, i, j)] + ds);
            for (int c = 0; c < width; c++) {
                gq[i * width + c] += a->scale * ds * k[j * width + c];
                gk[j * width + c] += a->scale * ds * q[i * width + c];
            }
        }
    }
    rotate_back(dq, a->q_ld, gq, a, a->rotation_q);
    rotate_back(dk, a->k_ld, gk, a, a->rotation_k);
    for (int j = 0; j < T; j++) {
        for (int c = 0; c < value_width; c++)
            dv[(size_t)j * a->v_ld + (size_t)c] = (real)gv[j * value_width + c];
    }
}

void pes_reference_attention_scores(const struct pes_attention *a, real *scores, real *probabilities,
                                    real *scratch)
{
    double *q = (double *)(void *)scratch, *k = q + a->T * a->width, *s = k + a->T * a->width, *p = s + a->T;
    rotate(q, a->q, a->q_ld, a, a->rotation_q);
    rotate(k, a->k, a->k_ld, a, a->rotation_k);
    for (int i = 0; i < a->T; i++) {
        score_row(s, q, k, a, i);
        (void)softmax_row(p, s, a, i);
        for (int j = 0; j < a->T; j++) {
            if (scores) scores[i * a->T + j] = (real)s[j];
            if (probabilities) probabilities[i * a->T + j] = (real)p[j];
        }
    }
}
