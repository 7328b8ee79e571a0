/* kernel_attention_scores.h - one head's score and probability matrices, for analysis. */
#ifndef PESWEEP_MATH_KERNEL_ATTENTION_SCORES_H
#define PESWEEP_MATH_KERNEL_ATTENTION_SCORES_H

#include "kernel_attention.h"

/* One row of probabilities in place of its scores: softmax over the visible keys, 0 elsewhere. */
static void softmax_row(real *p, const struct pes_attention *a, int i)
{
    real top = HIDDEN;
    for (int j = 0; j < a->T; j++) {
        const bool seen = !(a->causal && j > i) && !(a->mask && !a->mask[j]);
        if (!seen) p[j] = 2 * HIDDEN;
        if (!(p[j] <= top)) top = p[j];
    }
    vec sum = {0};
    const size_t T = (size_t)a->T;
    for (size_t j = 0; j < T; j += LANES) {
        lane_mask inside = m_first(PES_MIN(T - j, LANES));
        vec e = v_keep(inside, v_exp_negative(v_load_masked(p + j, inside) - top));
        sum += e;
        v_store_masked(p + j, inside, e);
    }
    const real total = v_sum(sum), factor = total > 0 || isnan(total) ? 1 / total : 0;
    for (int j = 0; j < a->T; j++)
        p[j] *= factor;
}

/* Blocks of queries and keys as in the forward pass, with every key present; natural scores come out by rows.
 */
static void attention_scores(const struct pes_attention *attention, real *scores, real *probabilities,
                             real *scratch)
{
    struct pes_attention all = *attention;
    all.mask = NULL;
    all.causal = false;
    const struct plan s = attention_plan(scratch, (size_t)all.T, (size_t)all.width, (size_t)all.value_width);
    const int n = gather_keys(&s, &all);
    const size_t T = (size_t)all.T;
    const vec natural[QUERY_VECTORS] = {v_set((real)LN_2), v_set((real)LN_2)};
    real *out = scores ? scores : probabilities;
    for (int first = 0; out && first < all.T; first += QUERIES) {
        const int count = PES_MIN(all.T - first, (int)QUERIES);
        vec top[QUERY_VECTORS] = {{0}};
        gather_queries(&s, &all, NULL, first, count);
        for (int j = 0; j < n; j += FORWARD_KEYS) {
            const int end = PES_MIN(n, j + FORWARD_KEYS);
            FOR_WIDTH(all.width, forward_scores(&s, &all, first, j, end, n, top, constant))
            turn_out(out + (size_t)first * T + (size_t)j, T, count, s.p, natural, (size_t)(end - j));
        }
    }
    if (!probabilities) return;
    if (scores) memcpy(probabilities, scores, T * T * sizeof *scores);
    for (int i = 0; i < attention->T; i++)
        softmax_row(probabilities + (size_t)i * T, attention, i);
}

#endif
