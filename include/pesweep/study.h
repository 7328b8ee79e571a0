/* study.h - a results file as the analysis sees it: whole variables, metrics of trials, verdicts on claims.
 *
 * Reads only through store's reader, so a running sweep's file will do; what isn't finished is missing. */
#ifndef PESWEEP_STUDY_H
#define PESWEEP_STUDY_H

#include "pesweep/heads.h"
#include "pesweep/judge.h"
#include "pesweep/store.h"

/* A variable of all trials: values[num_trials][field->count]. */
struct pes_column {
    const struct pes_field *field;
    double *values;
    struct pes_column *next;
};

/* A file of heads is seen as a sweep over the axes `model` and `pe` whose trials are its models, all done:
 * finals are those of a model's last step; if a model has several steps, curves have them as checkpoints, and
 * onsets and lags are computed from these. */
struct pes_study {
    struct pes_arena *arena;       /* lives as long as the study */
    struct pes_reader *reader;     /* NULL for a file of heads */
    const struct pes_heads *heads; /* NULL for a results file */
    const unsigned char *rows;     /* of heads: [num_trials][layout->row_bytes] */
    const size_t *model_of;        /* of heads: [num_trials] number of a trial's last step in heads->models */
    const size_t *trial_of;        /* of heads: [heads->num_models] */
    const struct pes_sweep *sweep;
    const struct pes_layout *layout;
    size_t num_trials;
    const uint8_t *status; /* [num_trials], enum pes_outcome */
    size_t num_outcomes[5];
    struct pes_column *columns; /* read so far */
};

/* A results file or a file of heads; the caller closes the study.  PES_IO, or PES_INPUT if it is neither, is
 * damaged, or holds a sweep that this program can't read.  *study is NULL on an error. */
enum pes_status pes_study_open(const char *path, struct pes_study **study);
void pes_study_close(struct pes_study *study); /* NULL is allowed */

/* Done or diverged: the row counts. */
bool pes_study_finished(const struct pes_study *study, size_t trial);

/* *column NULL if the file doesn't have the variable.  The study owns it. */
enum pes_status pes_study_column(struct pes_study *study, const char *group, const char *name,
                                 const struct pes_column **column);
/* A field of trials [first, first + count) alone, into the caller's values[count][field->count]. */
enum pes_status pes_study_part(struct pes_study *study, const struct pes_field *field, size_t first,
                               size_t count, double *values);
/* The values of one trial; NULL if column is NULL. */
const double *pes_column_of(const struct pes_column *column, size_t trial);

/* Numbers that a metric can't read off one variable; evaluate gives NaN where it isn't defined. */
struct pes_derived {
    const char *name, *help;
    const char *unit; /* "" if none */
    bool lower_is_better;
    enum pes_status (*evaluate)(struct pes_study *study, size_t trial, double *value);
};
extern const struct pes_derived pes_derived[]; /* ended by name NULL */

/* final.<name>: a derived number, or a variable of trials, probes, spectra_folded or spectra, in this order;
 * one with layers (and heads) counts as its mean over those that have a value. steps_to(<curve>, x): first
 * step at which a variable of curves is >= x; one with layers and heads counts as its largest value.  Losses
 * and penalties: <= x. */
struct pes_metric {
    const char *text;
    bool times;           /* steps_to */
    bool lower_is_better; /* times, losses, and derived numbers that say so */
    bool performance;     /* a diverged trial has the worst value, not none */
    bool falling;
    double threshold;
    const struct pes_derived *derived;
    const struct pes_column *column, *steps;
};
/* PES_INPUT naming the metric and the nearest name. */
enum pes_status pes_metric_resolve(struct pes_study *study, const char *text, struct pes_metric *metric);
const char *pes_metric_unit(const struct pes_metric *metric); /* "" if none */

/* Value of a finished trial; NaN if it has none.  *reached (times only): false = censored there. */
enum pes_status pes_metric_evaluate(struct pes_study *study, const struct pes_metric *metric, size_t trial,
                                    double *value, bool *reached);

/* All names that metrics can have under a layout, for pes_sweep_check_metrics. */
enum pes_status pes_metric_names(const struct pes_layout *layout, struct pes_arena *arena,
                                 const char *const **names, size_t *count);

struct pes_claim_result {
    const struct pes_claim *claim;
    struct pes_verdict verdict;
    size_t num_findings;
    struct pes_finding *findings;                 /* one for each pair compared */
    size_t num_trials, num_missing, num_diverged; /* of the comparison: all, unfinished or failed, diverged */
};
/* Judges every claim of the sweep, one family.  The study's arena owns the results. */
enum pes_status pes_study_judge(struct pes_study *study, const struct pes_resampling *resampling,
                                struct pes_claim_result **results, size_t *num_results);

/* Whether heads that look at the token before rank higher in a measure in models with rotation than in others
 * (Li 2026, arXiv 2607.06621): per model the median within-model percentile of the measure over the k heads
 * with the largest score; between models an exact one-sided permutation test of the difference of means. */
struct pes_rotation_model {
    bool rotates;
    size_t num_heads;
    const double *measure, *score; /* [num_heads]; heads without both are left out */
};
#define PES_ROTATION_KS                                                                                      \
    {                                                                                                        \
        1, 3, 5, 10                                                                                          \
    }
enum { PES_NUM_ROTATION_KS = 4 };
struct pes_rotation_claim {
    size_t num_k;                 /* 0: models of one kind only */
    size_t num_rotary, num_other; /* models with the smallest k */
    struct {
        size_t k, num_rotary, num_other; /* models with so many heads */
        double rotary, other;            /* means over models of their medians */
        double lowest_rotary, highest_other;
        double p, p_smallest, arrangements;
    } tests[PES_NUM_ROTATION_KS];
};
/* The arena is scratch.  PES_MEMORY; what can't be told is left out: num_k counts the tests that were made.
 */
enum pes_status pes_rotation_judge(size_t num_models, const struct pes_rotation_model *models,
                                   struct pes_arena *arena, struct pes_rotation_claim *claim);
/* Whether queries and keys are rotated under a scheme's name: one of pes_positions, or "mla". */
bool pes_scheme_rotates(const char *scheme);

/* Axes that repeat a trial (train.seed, task.data_seed) rather than change it. */
bool pes_axis_is_seed(const struct pes_axis *axis);
/* An axis' value of a trial as text; "" where it doesn't apply.  NULL: no memory. */
const char *pes_study_axis_text(struct pes_study *study, size_t trial, size_t axis);

#endif
