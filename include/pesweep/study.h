/* study.h - a results file as the analysis sees it: whole variables, metrics of trials, verdicts on claims.
 *
 * Reads only through store's reader, so a running sweep's file will do; what isn't finished is missing. */
#ifndef PESWEEP_STUDY_H
#define PESWEEP_STUDY_H

#include "pesweep/judge.h"
#include "pesweep/store.h"

/* A variable of all trials: values[num_trials][field->count]. */
struct pes_column {
    const struct pes_field *field;
    double *values;
    struct pes_column *next;
};

struct pes_study {
    struct pes_arena *arena; /* lives as long as the study */
    struct pes_reader *reader;
    const struct pes_sweep *sweep;
    const struct pes_layout *layout;
    size_t num_trials;
    const uint8_t *status; /* [num_trials], enum pes_outcome */
    size_t num_outcomes[5];
    struct pes_column *columns; /* read so far */
};

enum pes_status pes_study_open(const char *path, struct pes_study **study);
void pes_study_close(struct pes_study *study); /* NULL is allowed */

/* Done or diverged: the row counts. */
bool pes_study_finished(const struct pes_study *study, size_t trial);

/* *column NULL if the file doesn't have the variable.  The study owns it. */
enum pes_status pes_study_column(struct pes_study *study, const char *group, const char *name,
                                 const struct pes_column **column);
/* The values of one trial; NULL if column is NULL. */
const double *pes_column_of(const struct pes_column *column, size_t trial);

/* Numbers that a metric can't read off one variable; evaluate gives NaN where it isn't defined. */
struct pes_derived {
    const char *name, *help;
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

/* Axes that repeat a trial (train.seed, task.data_seed) rather than change it. */
bool pes_axis_is_seed(const struct pes_axis *axis);
/* An axis' value of a trial as text; "" where it doesn't apply.  NULL: no memory. */
const char *pes_study_axis_text(struct pes_study *study, size_t trial, size_t axis);

#endif
