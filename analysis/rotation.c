/* rotation.c - the claim that rotation makes previous-token heads rotational, over models. */
#include <math.h>
#include <string.h>

#include "pesweep/analysis.h"
#include "pesweep/position.h"
#include "pesweep/study.h"

static const size_t ks[PES_NUM_ROTATION_KS] = PES_ROTATION_KS;

/* Median percentile of a model's top heads; NaN if it has fewer than k. */
static enum pes_status model_median(const struct pes_rotation_model *model, size_t k, struct pes_arena *arena,
                                    double *median)
{
    size_t n = model->num_heads, used = 0;
    double *value = pes_arena_take(arena, n, sizeof *value), *by = pes_arena_take(arena, n, sizeof *by);
    double *percentiles = pes_arena_take(arena, n, sizeof *percentiles);
    if (!value || !by || !percentiles) return PES_MEMORY;
    for (size_t h = 0; h < n; h++) {
        value[used] = model->measure[h];
        by[used] = model->score[h];
        used += !isnan(value[used]) && !isnan(by[used]);
    }
    *median = NAN;
    if (used < k) return PES_OK;
    TRY(pes_stat_top_percentiles(used, value, by, k, percentiles));
    *median = pes_stat_median(k, percentiles);
    return PES_OK;
}

bool pes_scheme_rotates(const char *scheme)
{
    const struct pes_position *position = pes_position_find(scheme);
    return position ? position->rotation_pairs != NULL : !strcmp(scheme, "mla");
}

enum pes_status pes_rotation_judge(size_t num_models, const struct pes_rotation_model *models,
                                   struct pes_arena *arena, struct pes_rotation_claim *claim)
{
    double *rotary = pes_arena_take(arena, num_models, sizeof *rotary);
    double *other = pes_arena_take(arena, num_models, sizeof *other);
    if (!rotary || !other) return PES_MEMORY;
    *claim = (struct pes_rotation_claim){0};
    for (size_t i = 0; i < PES_NUM_ROTATION_KS; i++) {
        size_t num_rotary = 0, num_other = 0;
        double lowest = INFINITY, highest = -INFINITY;
        for (size_t m = 0; m < num_models; m++) {
            double median;
            TRY(model_median(&models[m], ks[i], arena, &median));
            if (isnan(median)) continue;
            if (models[m].rotates) {
                rotary[num_rotary++] = median;
                lowest = fmin(lowest, median);
            } else {
                other[num_other++] = median;
                highest = fmax(highest, median);
            }
        }
        if (!num_rotary || !num_other) continue;
        const struct pes_resampling resampling = PES_RESAMPLING_DEFAULT;
        struct pes_test test;
        TRY(pes_stat_permutation(num_rotary, rotary, num_other, other, PES_GREATER, 0, &resampling, &test));
        if (!claim->num_k) claim->num_rotary = num_rotary;
        if (!claim->num_k) claim->num_other = num_other;
        claim->tests[claim->num_k].num_rotary = num_rotary;
        claim->tests[claim->num_k].num_other = num_other;
        claim->tests[claim->num_k].k = ks[i];
        claim->tests[claim->num_k].rotary = pes_stat_mean(num_rotary, rotary);
        claim->tests[claim->num_k].other = pes_stat_mean(num_other, other);
        claim->tests[claim->num_k].lowest_rotary = lowest;
        claim->tests[claim->num_k].highest_other = highest;
        claim->tests[claim->num_k].p = test.p;
        claim->tests[claim->num_k].p_smallest = test.p_smallest;
        claim->tests[claim->num_k++].arrangements = test.arrangements;
    }
    return PES_OK;
}
