/* report.h - what `pesweep analyze` leaves behind: tables, figures, verdicts, one page that holds them all.
 *
 * - claims.json: every claim with its verdict, effect, interval, p and the rule that decided
 * - tables/: trials, curves, heads, probes, claims, pairs, groups, comparisons, variance, percentiles and
 *   associations, each as tidy CSV (and, if wanted, as JSON: columns and data), to ten digits; columns.csv
 *   says what their columns mean; summary.tex and claims.tex are for a paper (booktabs)
 * - figures/: per figure its data (.dat), script (.gp), SVG and PDF, drawn by gnuplot
 * - index.html: verdicts, figures, sortable tables and an explorer in one file that needs nothing else */
#ifndef PESWEEP_REPORT_H
#define PESWEEP_REPORT_H

#include <math.h>

#include "pesweep/study.h"

struct pes_report_options {
    const char *folder;  /* made if it isn't there */
    const char *gnuplot; /* program; NULL = "gnuplot" */
    bool figures;
    bool json;        /* every table as JSON too */
    double threshold; /* accuracy for steps-to-threshold; NaN = the first claim's, else 0.9 */
    struct pes_resampling resampling;
};
#define PES_REPORT_OPTIONS_DEFAULT                                                                           \
    ((struct pes_report_options){"report", NULL, true, false, NAN, PES_RESAMPLING_DEFAULT})

struct pes_report_figure {
    const char *question, *name, *title, *caption;
    const char *missing; /* why it wasn't drawn; NULL = it was */
    bool thinned;        /* drawn from a part of the trials or heads, left out evenly */
};

/* The rotation claim by one measure of the folded forms. */
struct pes_report_rotation {
    const char *measure;
    struct pes_rotation_claim claim;
};

struct pes_report {
    size_t num_claims;
    struct pes_claim_result *claims;
    size_t num_rotations; /* of a file of heads with behaviours of both kinds of models */
    struct pes_report_rotation *rotations;
    size_t num_figures;
    struct pes_report_figure *figures;
    const char *no_figures; /* why none was drawn (no gnuplot, not wanted); NULL = they were */
};

/* Writes everything.  The study's arena owns what *report points to.  A file that can't be written is PES_IO;
 * figures that can't be drawn are said so in the report and are no error. */
enum pes_status pes_report_write(struct pes_study *study, const struct pes_report_options *options,
                                 struct pes_report *report);

/* The claims as a JSON array of objects, appended to a text. */
struct pes_text;
enum pes_status pes_report_claims(struct pes_study *study, const struct pes_report *report,
                                  struct pes_text *json);

/* ---- any tidy table ---- */

struct pes_table_options {
    const char *value; /* column of numbers that is compared */
    const char *group; /* column, or several parted by commas, whose values make the groups */
    const char *one;   /* not NULL: this group against all others as one */
    /* Not NULL: the numbers compared are, for each value of the column `within`, the median percentile in
     * `value` of the `top` members with the largest `by`. */
    const char *within, *by;
    size_t top;
    struct pes_resampling resampling;
};

struct pes_table_group {
    const char *name;
    size_t n;
    double *values;
    const char **units; /* [n] values of `within`; NULL without it */
    double mean, sd, median;
    struct pes_interval interval; /* of the mean, BCa */
};

struct pes_table_pair {
    size_t first, second;
    struct pes_interval difference, shift,
        cliff; /* of means; Hodges-Lehmann; Cliff's delta = rank-biserial */
    struct pes_test permutation, permutation_greater, permutation_less; /* of means; first greater, less */
    struct pes_test ranks, ranks_greater, ranks_less;                   /* Mann-Whitney */
    double holm, bh; /* permutation.p corrected over all pairs */
};

struct pes_table_report {
    size_t num_groups, num_pairs, num_missing; /* rows without a value */
    struct pes_table_group *groups;
    struct pes_table_pair *pairs;
};

/* Compares the groups of a table, every pair of them.  The arena owns the report.  PES_INPUT for an unknown
 * column or text where numbers belong. */
enum pes_status pes_table_compare(const struct pes_table *table, const struct pes_table_options *options,
                                  struct pes_arena *arena, struct pes_table_report *report);

#endif
