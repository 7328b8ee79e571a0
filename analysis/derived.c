/* derived.c - numbers of a trial that claims speak of and that no single variable holds.  A new one is a
 * function and a row of the table below. */
#include "internal.h"
#include "pesweep/measure.h"
#include "pesweep/study.h"

#include <math.h>

/* Head (layer * H + head) with the largest previous-token score; its number is num_heads if none has one. */
enum pes_status study_previous_token_head(struct pes_study *study, size_t trial, size_t *head)
{
    const struct pes_column *scores;
    TRY(pes_study_column(study, "probes", "previous_token_score", &scores));
    const double *score = pes_column_of(scores, trial);
    *head = SIZE_MAX;
    for (size_t i = 0; score && i < scores->field->count; i++)
        if (!isnan(score[i]) && (*head == SIZE_MAX || score[i] > score[*head])) *head = i;
    return PES_OK;
}

/* A layer's number of the first layer. */
static enum pes_status first_of(struct pes_study *study, size_t trial, const char *name, double *value)
{
    const struct pes_column *shares;
    TRY(pes_study_column(study, "probes", name, &shares));
    if (shares) *value = pes_column_of(shares, trial)[0];
    return PES_OK;
}

static enum pes_status first_deposit_share(struct pes_study *study, size_t trial, double *value)
{
    return first_of(study, trial, "deposit_share", value);
}

static enum pes_status first_rotated_share(struct pes_study *study, size_t trial, double *value)
{
    return first_of(study, trial, "deposit_rotated_share", value);
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

static enum pes_status first_drop_margin(struct pes_study *study, size_t trial, double *value)
{
    double largest[2];
    TRY(first_drops(study, trial, largest));
    *value = largest[0] - largest[1];
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

/* Median percentile, within the model, of a folded measure of the k heads with the largest
 * previous_token_score. */
static enum pes_status median_percentile(struct pes_study *study, size_t trial, const char *name, size_t k,
                                         double *value)
{
    const struct pes_column *measures, *scores;
    TRY(pes_study_column(study, "spectra_folded", name, &measures));
    TRY(pes_study_column(study, "probes", "previous_token_score", &scores));
    if (!measures || !scores) return PES_OK;
    const double *measure = pes_column_of(measures, trial), *score = pes_column_of(scores, trial);
    size_t n = scores->field->count, known = 0;
    double *x = pes_arena_take(study->arena, n, sizeof *x), *by = pes_arena_take(study->arena, n, sizeof *by);
    double *percentiles = pes_arena_take(study->arena, n, sizeof *percentiles);
    if (!x || !by || !percentiles) return PES_MEMORY;
    for (size_t i = 0; i < n; i++)
        if (!isnan(measure[i]) && !isnan(score[i])) {
            x[known] = measure[i];
            by[known++] = score[i];
        }
    if (known < k) return PES_OK;
    TRY(pes_stat_top_percentiles(known, x, by, k, percentiles));
    *value = pes_stat_median(k, percentiles);
    return PES_OK;
}

/* name, folded measure, k */
#define PERCENTILES(X)                                                                                       \
    X(rotational_percentile, rotational_fraction, 1)                                                         \
    X(rotational_percentile_3, rotational_fraction, 3)                                                       \
    X(rotational_percentile_5, rotational_fraction, 5)                                                       \
    X(rotational_energy_percentile_5, rotational_energy, 5)                                                  \
    X(rotational_z_percentile_5, rotational_fraction_z, 5)                                                   \
    X(phase_percentile_5, phase_fraction, 5)                                                                 \
    X(directional_percentile_5, directional_fraction, 5)
#define PERCENTILE(name, measure, k)                                                                         \
    static enum pes_status name(struct pes_study *study, size_t trial, double *value)                        \
    {                                                                                                        \
        return median_percentile(study, trial, #measure, k, value);                                          \
    }
PERCENTILES(PERCENTILE)

/* A measure of the head that attends most to the previous token. */
static enum pes_status of_previous_head(struct pes_study *study, size_t trial, const char *group,
                                        const char *name, double *value)
{
    const struct pes_column *measures;
    size_t head;
    TRY(pes_study_column(study, group, name, &measures));
    TRY(study_previous_token_head(study, trial, &head));
    if (measures && head != SIZE_MAX) *value = pes_column_of(measures, trial)[head];
    return PES_OK;
}

static enum pes_status previous_phase_fraction(struct pes_study *study, size_t trial, double *value)
{
    return of_previous_head(study, trial, "spectra", "phase_fraction", value);
}

static enum pes_status previous_directional_fraction(struct pes_study *study, size_t trial, double *value)
{
    return of_previous_head(study, trial, "spectra", "directional_fraction", value);
}

static enum pes_status previous_rotational_fraction(struct pes_study *study, size_t trial, double *value)
{
    return of_previous_head(study, trial, "spectra", "rotational_fraction", value);
}

/* The relative kernel is stored for offsets key - query = 1 - n ... 0. */
static enum pes_status previous_kernel_margin(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *kernels;
    size_t head;
    TRY(pes_study_column(study, "probes", "relative_kernel", &kernels));
    TRY(study_previous_token_head(study, trial, &head));
    if (!kernels || head == SIZE_MAX) return PES_OK;
    size_t n = kernels->field->extent[2];
    const double *kernel = pes_column_of(kernels, trial) + head * n;
    double other = NAN;
    for (size_t i = 0; i < n; i++)
        if (i + 2 != n && !isnan(kernel[i]) && !(kernel[i] <= other)) other = kernel[i];
    if (n >= 2) *value = kernel[n - 2] - other;
    return PES_OK;
}

static enum pes_status phase_zeroing_previous(struct pes_study *study, size_t trial, double *value)
{
    return of_previous_head(study, trial, "probes", "phase_zeroing_loss_change", value);
}

static enum pes_status phase_zeroing_margin(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *changes;
    size_t head;
    TRY(pes_study_column(study, "probes", "phase_zeroing_loss_change", &changes));
    TRY(study_previous_token_head(study, trial, &head));
    const double *change = pes_column_of(changes, trial);
    if (!change || head == SIZE_MAX) return PES_OK;
    double other = NAN;
    for (size_t i = 0; i < changes->field->count; i++)
        if (i != head && !isnan(change[i]) && !(change[i] <= other)) other = change[i];
    *value = change[head] - other;
    return PES_OK;
}

static enum pes_status phase_onset_lag(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *signature, *behaviour;
    size_t head;
    TRY(pes_study_column(study, "probes", "onset_folded_phase_fraction", &signature));
    TRY(pes_study_column(study, "probes", "onset_previous_token_score", &behaviour));
    TRY(study_previous_token_head(study, trial, &head));
    if (signature && behaviour && head != SIZE_MAX)
        *value = pes_column_of(signature, trial)[head] - pes_column_of(behaviour, trial)[head];
    return PES_OK;
}

/* Share of the model's heads whose value isn't larger. */
double study_percentile(size_t n, const double *values, size_t head)
{
    size_t known = 0, below = 0;
    for (size_t i = 0; i < n; i++) {
        known += isnan(values[i]) ? 0 : 1;
        below += values[i] <= values[head] ? 1 : 0;
    }
    return isnan(values[head]) ? NAN : (double)below / (double)known;
}

static enum pes_status phase_percentile_onset_lag(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *steps, *curve, *behaviour;
    size_t head;
    TRY(pes_study_column(study, "curves", "checkpoint_step", &steps));
    TRY(pes_study_column(study, "curves", "folded_phase_fraction", &curve));
    TRY(pes_study_column(study, "probes", "onset_previous_token_score", &behaviour));
    TRY(study_previous_token_head(study, trial, &head));
    if (!steps || !curve || !behaviour || head == SIZE_MAX) return PES_OK;
    size_t n = steps->field->count, heads = curve->field->count / n, taken = 0;
    double *percentile = pes_arena_take(study->arena, n, sizeof *percentile);
    if (!percentile) return PES_MEMORY;
    const double *step = pes_column_of(steps, trial);
    for (; taken < n && step[taken] >= 0; taken++)
        percentile[taken] = study_percentile(heads, pes_column_of(curve, trial) + taken * heads, head);
    *value = pes_probe_onset(step, percentile, taken) - pes_column_of(behaviour, trial)[head];
    return PES_OK;
}

/* The median over heads of a checkpoint's folded rotational_fraction. */
double study_median(size_t n, const double *values, double *scratch)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i])) scratch[known++] = values[i];
    return known ? pes_stat_median(known, scratch) : NAN;
}

static enum pes_status population_onset_lag(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *steps, *curve, *behaviour;
    size_t head;
    TRY(pes_study_column(study, "curves", "checkpoint_step", &steps));
    TRY(pes_study_column(study, "curves", "folded_rotational_fraction", &curve));
    TRY(pes_study_column(study, "probes", "onset_previous_token_score", &behaviour));
    TRY(study_previous_token_head(study, trial, &head));
    if (!steps || !curve || !behaviour || head == SIZE_MAX) return PES_OK;
    size_t n = steps->field->count, heads = curve->field->count / n, taken = 0;
    double *median = pes_arena_take(study->arena, n, sizeof *median);
    double *scratch = pes_arena_take(study->arena, heads, sizeof *scratch);
    if (!median || !scratch) return PES_MEMORY;
    const double *step = pes_column_of(steps, trial);
    while (taken < n && step[taken] >= 0) {
        median[taken] = study_median(heads, pes_column_of(curve, trial) + taken * heads, scratch);
        taken++;
    }
    *value = pes_probe_onset(step, median, taken) - pes_column_of(behaviour, trial)[head];
    return PES_OK;
}

/* K-composition of the strongest induction head with the strongest previous-token head of the layers before
 * it, less the largest with any other head there. */
static enum pes_status induction_composition_margin(struct pes_study *study, size_t trial, double *value)
{
    const struct pes_column *compositions, *inductions, *scores;
    TRY(pes_study_column(study, "spectra_folded", "k_composition", &compositions));
    TRY(pes_study_column(study, "probes", "induction_score", &inductions));
    TRY(pes_study_column(study, "probes", "previous_token_score", &scores));
    if (!compositions || !inductions || !scores) return PES_OK;
    const double *induction = pes_column_of(inductions, trial), *score = pes_column_of(scores, trial);
    size_t H = inductions->field->extent[1], n = inductions->field->count, reader = SIZE_MAX, read = SIZE_MAX;
    for (size_t i = H; i < n; i++)
        if (!isnan(induction[i]) && (reader == SIZE_MAX || induction[i] > induction[reader])) reader = i;
    if (reader == SIZE_MAX) return PES_OK;
    size_t earlier = reader / H * H;
    for (size_t i = 0; i < earlier; i++)
        if (!isnan(score[i]) && (read == SIZE_MAX || score[i] > score[read])) read = i;
    if (read == SIZE_MAX) return PES_OK;
    const double *with = pes_column_of(compositions, trial) + reader * n;
    double other = NAN;
    for (size_t i = 0; i < earlier; i++)
        if (i != read && !isnan(with[i]) && !(with[i] <= other)) other = with[i];
    *value = with[read] - other;
    return PES_OK;
}

/* Loss gained by keeping the symmetric (antisymmetric) parts alone, summed over heads; NaN if not measured.
 */
static enum pes_status symmetrisation_sums(struct pes_study *study, size_t trial, double sum[2])
{
    const struct pes_column *changes;
    TRY(pes_study_column(study, "probes", "symmetrisation_loss_change", &changes));
    const double *change = pes_column_of(changes, trial);
    sum[0] = sum[1] = change ? 0 : NAN;
    for (size_t i = 0; change && i < changes->field->count; i++)
        if (!isnan(change[i])) sum[i % 2] += change[i];
    return PES_OK;
}

static enum pes_status symmetrisation_ratio(struct pes_study *study, size_t trial, double *value)
{
    double sum[2];
    TRY(symmetrisation_sums(study, trial, sum));
    if (sum[0] >= 0.01) *value = sum[1] / sum[0]; /* below it is a ratio to noise */
    return PES_OK;
}

static enum pes_status symmetrisation_excess(struct pes_study *study, size_t trial, double *value)
{
    double sum[2];
    TRY(symmetrisation_sums(study, trial, sum));
    *value = sum[1] - sum[0];
    return PES_OK;
}

#define PERCENTILE_ROW(name, measure, k)                                                                     \
    {#name,                                                                                                  \
     "median percentile, within the model, of the folded " #measure " of the " #k                            \
     " heads with the largest previous_token_score",                                                         \
     "", false, name},

const struct pes_derived pes_derived[] = {
    {"first_deposit_share", "deposit_share of the first layer", "", false, first_deposit_share},
    {"first_rotated_share", "deposit_rotated_share of the first layer", "", false, first_rotated_share},
    {"first_largest_drop", "largest ablation_drop of a head of the first layer", "", false,
     first_largest_drop},
    {"first_second_drop", "second largest ablation_drop of a head of the first layer", "", false,
     first_second_drop},
    {"first_drop_margin", "first_largest_drop less first_second_drop", "", false, first_drop_margin},
    {"contraction_change", "contraction of the trained model less that at step 0, mean over heads", "", true,
     contraction_change},
    PERCENTILES(PERCENTILE_ROW) /**/
    {"previous_phase_fraction",
     "phase_fraction (raw weights) of the head with the largest previous_token_score", "", false,
     previous_phase_fraction},
    {"previous_directional_fraction", "directional_fraction (raw weights) of that head", "", false,
     previous_directional_fraction},
    {"previous_rotational_fraction", "rotational_fraction (raw weights) of that head", "", false,
     previous_rotational_fraction},
    {"previous_kernel_margin", "relative_kernel of that head at offset -1 less its largest value elsewhere",
     "", false, previous_kernel_margin},
    {"phase_zeroing_previous", "phase_zeroing_loss_change of that head", "nat", false,
     phase_zeroing_previous},
    {"phase_zeroing_margin", "phase_zeroing_loss_change of that head less the largest of any other", "nat",
     false, phase_zeroing_margin},
    {"phase_onset_lag",
     "steps from the onset of previous_token_score to that of folded_phase_fraction, in that head", "step",
     false, phase_onset_lag},
    {"phase_percentile_onset_lag",
     "steps from the onset of that head's previous_token_score to that of its percentile, within the model, "
     "by "
     "folded_phase_fraction",
     "step", false, phase_percentile_onset_lag},
    {"population_onset_lag",
     "steps from the onset of that head's previous_token_score to that of the median over heads of folded "
     "rotational_fraction",
     "step", false, population_onset_lag},
    {"induction_composition_margin",
     "k_composition of the head with the largest induction_score with the largest previous-token head of "
     "earlier "
     "layers, less the largest with another of their heads",
     "", false, induction_composition_margin},
    {"symmetrisation_ratio",
     "loss gained by keeping only the antisymmetric parts over that by keeping only the symmetric parts, "
     "both "
     "summed over heads; only where the latter is at least 0.01 nat",
     "", false, symmetrisation_ratio},
    {"symmetrisation_excess",
     "loss gained by keeping only the antisymmetric parts less that by keeping only the symmetric parts, "
     "both "
     "summed over heads",
     "nat", false, symmetrisation_excess},
    {.name = NULL},
};
