/* inspect_claim.c - a claim over several models: rotation makes previous-token heads rotational. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"
#include "pesweep/analysis.h"

static const int ks[PES_CLAIM_KS] = {1, 3, 5, 10};

/* Median percentile of a model's top heads; NaN if it has fewer than k. */
static enum pes_status model_median(const struct pes_row *row, const struct pes_heads_model *model, size_t k,
                                    struct pes_arena *arena, double *median)
{
    size_t n = (size_t)(model->layers * model->heads), used = 0;
    double *value = pes_arena_take(arena, n, sizeof *value), *by = pes_arena_take(arena, n, sizeof *by);
    double *percentiles = pes_arena_take(arena, n, sizeof *percentiles);
    if (!value || !by || !percentiles) return PES_MEMORY;
    for (int layer = 0; layer < model->layers; layer++)
        for (int h = 0; h < model->heads; h++) {
            const size_t at[] = {(size_t)layer, (size_t)h};
            value[used] = pes_row_get(row, "spectra_folded", "rotational_fraction", at);
            by[used] = pes_row_get(row, "behaviours", "previous_token_score", at);
            used += !isnan(value[used]) && !isnan(by[used]);
        }
    *median = NAN;
    if (used < k) return PES_OK;
    TRY(pes_stat_top_percentiles(used, value, by, k, percentiles));
    *median = pes_stat_median(k, percentiles);
    return PES_OK;
}

static bool is_rotary(const struct pes_heads_model *model)
{
    static const char *const schemes[] = {"rope", "mla", "xpos"};
    for (size_t i = 0; i < PES_COUNT(schemes); i++)
        if (!strcmp(model->scheme, schemes[i])) return true;
    return false;
}

enum pes_status pes_inspect_claim(const struct pes_heads_model *models, const struct pes_layout *layout,
                                  unsigned char *rows, size_t num_models, struct pes_arena *arena,
                                  struct pes_rotation_claim *claim)
{
    double *rotary = pes_arena_take(arena, num_models, sizeof *rotary);
    double *other = pes_arena_take(arena, num_models, sizeof *other);
    if (!rotary || !other) return PES_MEMORY;
    *claim = (struct pes_rotation_claim){0};
    for (size_t i = 0; i < PES_CLAIM_KS; i++) {
        size_t num_rotary = 0, num_other = 0;
        double lowest = INFINITY, highest = -INFINITY;
        for (size_t m = 0; m < num_models; m++) {
            struct pes_row row = {layout, rows + m * layout->row_bytes};
            double median;
            TRY(model_median(&row, &models[m], (size_t)ks[i], arena, &median));
            if (isnan(median)) continue;
            if (is_rotary(&models[m])) {
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
        claim->num_rotary = (int)num_rotary;
        claim->num_other = (int)num_other;
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

void pes_inspect_claim_print(const struct pes_rotation_claim *claim)
{
    printf("previous-token heads: percentile of rotational_f within their model, %d models with rotation, %d "
           "without\n%5s  %10s  %10s  %12s  %12s  %8s  (smallest possible p)\n",
           claim->num_rotary, claim->num_other, "top k", "rotation", "others", "lowest rot.", "highest oth.",
           "p");
    for (int i = 0; i < claim->num_k; i++)
        printf("%5d  %10.3f  %10.3f  %12.3f  %12.3f  %8.4f  (%.4f)\n", claim->tests[i].k,
               claim->tests[i].rotary, claim->tests[i].other, claim->tests[i].lowest_rotary,
               claim->tests[i].highest_other, claim->tests[i].p, claim->tests[i].p_smallest);
}

json_t *pes_inspect_claim_json(const struct pes_rotation_claim *claim)
{
    json_t *tests = json_array();
    for (int i = 0; i < claim->num_k; i++)
        json_array_append_new(
            tests, json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "k", claim->tests[i].k, "rotary",
                             claim->tests[i].rotary, "other", claim->tests[i].other, "lowest_rotary",
                             claim->tests[i].lowest_rotary, "highest_other", claim->tests[i].highest_other,
                             "p", claim->tests[i].p, "p_smallest", claim->tests[i].p_smallest, "arrangements",
                             claim->tests[i].arrangements));
    return json_pack("{s:i, s:i, s:o}", "rotary_models", claim->num_rotary, "other_models", claim->num_other,
                     "tests", tests);
}
