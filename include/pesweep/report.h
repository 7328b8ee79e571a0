/* report.h - what `pesweep analyze` leaves behind: tables, figures, verdicts, one page that holds them all.
 *
 * <folder>/tables/    trials, curves, heads, probes, claims, groups, comparisons, variance, percentiles, each
 * as tidy CSV and as JSON (one object a line); summary.tex for a paper (booktabs) <folder>/figures/   per
 * figure its data (.dat), script (.gp), SVG and PDF, drawn by gnuplot <folder>/index.html everything in one
 * file that needs nothing else: verdicts, figures, sortable tables, explorer */
#ifndef PESWEEP_REPORT_H
#define PESWEEP_REPORT_H

#include "pesweep/study.h"

struct pes_report_options {
    const char *folder;  /* made if it isn't there */
    const char *gnuplot; /* program; NULL = "gnuplot" */
    bool figures;
    double threshold; /* accuracy for steps-to-threshold; NaN = the first claim's, else 0.9 */
    struct pes_resampling resampling;
};
#define PES_REPORT_OPTIONS_DEFAULT                                                                           \
    ((struct pes_report_options){"report", NULL, true, NAN, PES_RESAMPLING_DEFAULT})

struct pes_report_figure {
    const char *name, *title, *caption;
    const char *missing; /* why it wasn't drawn; NULL = it was */
};

struct pes_report {
    size_t num_claims;
    struct pes_claim_result *claims;
    size_t num_figures;
    struct pes_report_figure *figures;
    const char *no_figures; /* why none was drawn (no gnuplot, not wanted); NULL = they were */
};

/* Writes everything.  The study's arena owns what *report points to.  A file that can't be written is PES_IO;
 * figures that can't be drawn are said so in the report and are no error. */
enum pes_status pes_report_write(struct pes_study *study, const struct pes_report_options *options,
                                 struct pes_report *report);

#endif
