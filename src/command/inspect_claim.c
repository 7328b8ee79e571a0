/* inspect_claim.c - a claim over several models: rotation makes previous-token heads rotational. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"

/* Steps of one model are no models of their own: the last one counts. */
static bool is_last_step(const struct pes_heads_model *models, size_t num_models, size_t m)
{
    for (size_t o = 0; o < num_models; o++)
        if (pes_heads_same_model(&models[o], &models[m]) && models[o].step > models[m].step) return false;
    return true;
}

enum pes_status pes_inspect_claim(const struct pes_heads_model *models, const struct pes_layout *layout,
                                  unsigned char *rows, size_t num_models, struct pes_arena *arena,
                                  struct pes_rotation_claim *claim)
{
    struct pes_rotation_model *seen = pes_arena_take(arena, num_models, sizeof *seen);
    size_t num_seen = 0;
    if (!seen) return PES_MEMORY;
    for (size_t m = 0; m < num_models; m++) {
        const struct pes_heads_model *model = &models[m];
        const struct pes_row row = {layout, rows + m * layout->row_bytes};
        size_t n = (size_t)(model->layers * model->heads), H = (size_t)model->heads;
        if (!is_last_step(models, num_models, m)) continue;
        double *measure = pes_arena_take(arena, 2 * n, sizeof *measure);
        if (!measure) return PES_MEMORY;
        double *score = measure + n;
        for (size_t i = 0; i < n; i++) {
            measure[i] = pes_row_get(&row, "spectra_folded", "rotational_fraction", (size_t[]){i / H, i % H});
            score[i] = pes_row_get(&row, "behaviours", "previous_token_score", (size_t[]){i / H, i % H});
        }
        seen[num_seen++] = (struct pes_rotation_model){pes_scheme_rotates(model->scheme), n, measure, score};
    }
    return pes_rotation_judge(num_seen, seen, arena, claim);
}

void pes_inspect_claim_print(const struct pes_rotation_claim *claim)
{
    printf(
        "previous-token heads: percentile of rotational_f within their model, models with rotation against "
        "others\n%5s  %7s  %10s  %10s  %12s  %12s  %8s  (smallest possible p)\n",
        "top k", "models", "rotation", "others", "lowest rot.", "highest oth.", "p");
    for (size_t i = 0; i < claim->num_k; i++)
        printf("%5zu  %3zu/%-3zu  %10.3f  %10.3f  %12.3f  %12.3f  %8.4f  (%.4f)\n", claim->tests[i].k,
               claim->tests[i].num_rotary, claim->tests[i].num_other, claim->tests[i].rotary,
               claim->tests[i].other, claim->tests[i].lowest_rotary, claim->tests[i].highest_other,
               claim->tests[i].p, claim->tests[i].p_smallest);
}

json_t *pes_inspect_claim_json(const struct pes_rotation_claim *claim)
{
    json_t *tests = json_array();
    for (size_t i = 0; i < claim->num_k; i++)
        json_array_append_new(
            tests,
            json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "k",
                      (json_int_t)claim->tests[i].k, "rotary_models", (json_int_t)claim->tests[i].num_rotary,
                      "other_models", (json_int_t)claim->tests[i].num_other, "rotary", claim->tests[i].rotary,
                      "other", claim->tests[i].other, "lowest_rotary", claim->tests[i].lowest_rotary,
                      "highest_other", claim->tests[i].highest_other, "p", claim->tests[i].p, "p_smallest",
                      claim->tests[i].p_smallest, "arrangements", claim->tests[i].arrangements));
    return json_pack("{s:I, s:I, s:o}", "rotary_models", (json_int_t)claim->num_rotary, "other_models",
                     (json_int_t)claim->num_other, "tests", tests);
}
