/* inspect.h - the parts of `pesweep inspect`. */
#ifndef PESWEEP_SRC_COMMAND_INSPECT_H
#define PESWEEP_SRC_COMMAND_INSPECT_H

#include <jansson.h>

#include "pesweep/heads.h"
#include "pesweep/pretrained.h"

/* Means over the heads of each layer: for people, or as one object that the caller owns. */
void pes_inspect_print(const struct pes_pretrained_about *about, const char *label,
                       const struct pes_row *row);
json_t *pes_inspect_json(const struct pes_pretrained_about *about, const char *label,
                         const struct pes_row *row);

/* Whether heads that look at the token before are more rotational in models with rotation than in others (Li
 * 2026, arXiv 2607.06621): per model the median within-model percentile of the folded rotational_fraction of
 * the k heads with the largest previous_token_score; between models an exact one-sided permutation test of
 * the difference of means. */
enum { PES_CLAIM_KS = 4 };
struct pes_rotation_claim {
    int num_k; /* 0: models of one kind only */
    int num_rotary, num_other;
    struct {
        int k;
        double rotary, other; /* means over models of their medians */
        double lowest_rotary, highest_other;
        double p, p_smallest, arrangements;
    } tests[PES_CLAIM_KS];
};
enum pes_status pes_inspect_claim(const struct pes_heads_model *models, const struct pes_layout *layout,
                                  unsigned char *rows, size_t num_models, struct pes_arena *arena,
                                  struct pes_rotation_claim *claim);
void pes_inspect_claim_print(const struct pes_rotation_claim *claim);
json_t *pes_inspect_claim_json(const struct pes_rotation_claim *claim);

#endif
