/* derived.c - numbers of a trial that claims speak of and that no single variable holds.  A new one is a
 * function and a row of the table below. */
#include "internal.h"
#include "pesweep/study.h"

#include <math.h>

/* Head (layer * H + head) with the largest previous-token score; its number is num_heads if none has one. */
static enum pes_status previous_token_head(struct pes_study *study, size_t trial, size_t *head)
{
    const struct pes_column *scores;
    TRY(pes_study_column(study, "probes", "previous_token_score", &scores));
    const double *score = pes_column_of(scores, trial);
    *head = SIZE_MAX;
    for (size_t i = 0; score && i < scores->field->count; i++)
        if (!isnan(score[i]) && (*head == SIZE_MAX || score[i] > score[*head])) *head = i;
    return PES_OK;
}

static enum pes_status first_deposit_share(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *shares;
    TRY(pes_study_column(study, "probes", "deposit_share", &shares));
    if (shares) *value = pes_column_of(shares, trial)[0];
    return PES_OK;
}

/* The largest and second largest accuracy drop by ablation of a head of the first layer. */
static enum pes_status first_drops(struct pes_study *study, size_t trial, double largest[2])
{
    const struct pes_column *drops;
    TRY(pes_study_column(study, "probes", "ablation_drop", &drops));
    const double *drop = pes_column_of(drops, trial);
    largest[0] = largest[1] = NAN;
    for (size_t h = 0; drop && h < drops->field->extent[1]; h++) {
        if (isnan(drop[h])) continue;
        if (isnan(largest[0]) || drop[h] > largest[0]) {
            largest[1] = largest[0];
            largest[0] = drop[h];
        } else if (isnan(largest[1]) || drop[h] > largest[1]) {
            largest[1] = drop[h];
        }
    }
    return PES_OK;
}

static enum pes_status first_largest_drop(struct pes_study *study, size_t trial, double *value)
{
    double largest[2];
    TRY(first_drops(study, trial, largest));
    *value = largest[0];
    return PES_OK;
}

static enum pes_status first_second_drop(struct pes_study *study, size_t trial, double *value)
{
    double largest[2];
    TRY(first_drops(study, trial, largest));
    *value = largest[1];
    return PES_OK;
}

static enum pes_status contraction_change(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *final, *curve;
    TRY(pes_study_column(study, "probes", "contraction", &final));
    TRY(pes_study_column(study, "curves", "contraction", &curve));
    if (!final || !curve) return PES_OK;
    const double *end = pes_column_of(final, trial), *start = pes_column_of(curve, trial);
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < final->field->count; i++)
        if (!isnan(end[i] - start[i])) {
            sum += end[i] - start[i];
            known++;
        }
    *value = known ? sum / (double)known : NAN;
    return PES_OK;
}

static enum pes_status rotational_percentile(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *fractions, *scores;
    TRY(pes_study_column(study, "spectra_folded", "rotational_fraction", &fractions));
    TRY(pes_study_column(study, "probes", "previous_token_score", &scores));
    if (!fractions || !scores || !scores->field->count) return PES_OK;
    return pes_stat_top_percentiles(scores->field->count, pes_column_of(fractions, trial),
                                    pes_column_of(scores, trial), 1, value);
}

static enum pes_status phase_onset_lag(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *signature, *behaviour;
    size_t head;
    TRY(pes_study_column(study, "probes", "onset_folded_phase_fraction", &signature));
    TRY(pes_study_column(study, "probes", "onset_previous_token_score", &behaviour));
    TRY(previous_token_head(study, trial, &head));
    if (signature && behaviour && head != SIZE_MAX)
        *value = pes_column_of(signature, trial)[head] - pes_column_of(behaviour, trial)[head];
    return PES_OK;
}

static enum pes_status symmetrisation_ratio(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *changes;
    TRY(pes_study_column(study, "probes", "symmetrisation_loss_change", &changes));
    const double *change = pes_column_of(changes, trial);
    double sum[2] = {0, 0};
    for (size_t i = 0; change && i < changes->field->count; i++)
        if (!isnan(change[i])) sum[i % 2] += change[i];
    if (sum[0] >= 0.01) *value = sum[1] / sum[0]; /* below it is a ratio to noise */
    return PES_OK;
}

const struct pes_derived pes_derived[] = {
    {"first_deposit_share", "deposit_share of the first layer", false, first_deposit_share},
    {"first_largest_drop", "largest ablation_drop of a head of the first layer", false, first_largest_drop},
    {"first_second_drop", "second largest ablation_drop of a head of the first layer", false,
     first_second_drop},
    {"contraction_change", "contraction of the trained model less that at step 0, mean over heads", true,
     contraction_change},
    {"rotational_percentile",
     "percentile, within the model, of the folded rotational_fraction of the head with the largest "
     "previous_token_score",
     false, rotational_percentile},
    {"phase_onset_lag",
     "steps from the onset of previous_token_score to that of folded_phase_fraction, in the head with the "
     "largest "
     "previous_token_score",
     false, phase_onset_lag},
    {"symmetrisation_ratio",
     "loss gained by keeping only the antisymmetric parts over that by keeping only the symmetric parts, "
     "both summed "
     "over heads; only where the latter is at least 0.01 nat",
     false, symmetrisation_ratio},
    {.name = NULL},
};
