/* internal.h - what the statistics share among themselves. */
#ifndef PESWEEP_ANALYSIS_INTERNAL_H
#define PESWEEP_ANALYSIS_INTERNAL_H

#include "pesweep/analysis.h"
#include "pesweep/rng.h"

struct pes_study;
/* What its rows are to a reader: "trial" or "model". */
const char *study_unit(const struct pes_study *study);
/* Fills a new study from a file of heads. */
enum pes_status study_open_heads(struct pes_study *study, const char *path);

/* Finished trial's head (layer * H + head) with the largest previous-token score; SIZE_MAX without one. */
enum pes_status study_previous_token_head(struct pes_study *study, size_t trial, size_t *head);
/* Share of n heads whose value isn't larger than that of `head`; NaN if that is NaN. */
double study_percentile(size_t n, const double *values, size_t head);
/* Median of those that have a value; scratch[n]. */
double study_median(size_t n, const double *values, double *scratch);

bool pes_stat_finite(size_t n, const double *x);

/* The random numbers of one resample. */
struct pes_stream pes_stat_stream(const struct pes_resampling *resampling, size_t resample);

/* Number of k-subsets of n things, in double (infinite above its range). */
double pes_stat_choose(size_t n, size_t k);

/* Number of k-subsets of `ranks` with each sum: *counts[0 .. *largest], from pes_allocate, the caller frees.
 * Left NULL if it would cost more than 2e8 additions. */
enum pes_status pes_stat_rank_sums(size_t n, const int64_t *ranks, size_t k, double **counts,
                                   size_t *largest);

/* Threads a parallel loop may have, and the number of this one, for scratch. */
int pes_stat_threads(void);
size_t pes_stat_thread(void);

/* Random draws below which starting threads costs more than it saves. */
#define PES_STAT_WORTH_THREADS 20000

#endif
