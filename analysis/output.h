/* output.h - how the report is written: groups of trials, tables, figures. */
#ifndef PESWEEP_ANALYSIS_OUTPUT_H
#define PESWEEP_ANALYSIS_OUTPUT_H

#include <stdio.h>
#include <sys/types.h>

#include "internal.h"
#include "pesweep/report.h"
#include "pesweep/text.h"

/* ---- groups.c: how trials are grouped in tables and figures ---- */

/* A series is a value of the main axis (model.pe, else the first that isn't a seed), a panel a combination of
 * the other axes that aren't seeds; trials of one series and panel differ by seeds alone. */
struct groups {
    const char *axis; /* name of the main axis; "" if there is none */
    size_t num_series, num_panels;
    const char **series, **panels; /* labels; a single panel has "" */
    size_t *series_of, *panel_of;  /* [num_trials] */
    size_t *start, *members;       /* finished trials by group: groups_members */
};
enum pes_status groups_make(struct pes_study *study, struct groups *groups);

/* Finished trials of a group, in trial order. */
const size_t *groups_members(const struct groups *groups, size_t series, size_t panel, size_t *count);

/* Values of the finished trials of a group, in trial order; reached may be NULL.  metric NaN is left out. */
enum pes_status groups_values(struct pes_study *study, const struct groups *groups, size_t series,
                              size_t panel, const struct pes_metric *metric, size_t *n, double *values,
                              bool *reached);

/* A metric of all groups: group g = panel * num_series + series has value[start[g]] .. value[start[g + 1] -
 * 1]. */
struct group_values {
    double *value;
    bool *reached;
    size_t *start;
};
enum pes_status groups_collect(struct pes_study *study, const struct groups *groups,
                               const struct pes_metric *metric, struct group_values *values);

/* ---- write.c: folders, files, escapes ---- */

enum pes_status write_folder(const char *path);
/* Opens folder/name for writing; the error names the path. */
enum pes_status write_open(const char *folder, const char *name, FILE **file);
/* Closes and says if anything went wrong. */
enum pes_status write_close(FILE *file, const char *folder, const char *name);
void write_html(struct pes_text *text, const char *plain);
void write_json_text(struct pes_text *text, const char *plain);
void write_base64(struct pes_text *text, const unsigned char *bytes, size_t count);
void write_json_number(struct pes_text *text, double x); /* null unless finite */

/* One table as <name>.csv and, if wanted, as <name>.json ({"columns": [...], "data": [[...], ...]}, which
 * pandas calls `split`), and, if html isn't NULL, its first rows as an HTML table too.  Column names are
 * identifiers. */
struct tables;
struct table {
    const char *folder, *name;
    FILE *csv_file, *json_file;
    struct pes_text csv, json; /* not yet written */
    struct pes_text *html;
    const char *const *columns;
    size_t num_columns, column, row;
    bool json_wanted, failed;
};
enum pes_status table_open(struct table *table, const struct tables *tables, const char *name,
                           const char *const *columns, size_t num_columns, struct pes_text *html);
/* Cells in column order; the last of a row ends it. */
void table_text(struct table *table, const char *text);
void table_number(struct table *table, double x);
void table_count(struct table *table, size_t x);
enum pes_status table_close(struct table *table);
/* In place of table_close after an error, when a row may be half written. */
void table_abandon(struct table *table);
/* Rows for a table that are collected by another thread, and joined to it in their order. */
void table_part(const struct table *table, struct table *part);
void table_join(struct table *table, struct table *part);

/* ---- tables.c, bulk.c, statistics.c, heads.c, latex.c: one file each under `folder`; html (may be NULL)
 * takes the rows ----
 */

struct tables {
    struct pes_study *study;
    const struct groups *groups;
    const struct pes_report *report;
    struct pes_resampling resampling;
    double threshold;
    const char *folder;
    bool json; /* every table as JSON too */
};
enum pes_status tables_trials(const struct tables *tables, struct pes_text *html);
/* Whether a variable of a group with these dimensions makes a column of a table. */
bool tables_fits(const struct pes_variable *variable, const char *group, int rank,
                 const enum pes_dimension *dimensions);
enum pes_status tables_curves(const struct tables *tables);
enum pes_status tables_heads(const struct tables *tables);
enum pes_status tables_probes(const struct tables *tables);
enum pes_status tables_steps(const struct tables *tables);
enum pes_status tables_claims(const struct tables *tables);
enum pes_status tables_claim_values(const struct tables *tables);
enum pes_status tables_pairs(const struct tables *tables, struct pes_text *html);
/* What a claim compares, in one line; NULL: no memory. */
const char *tables_claim_text(struct pes_study *study, const struct pes_claim *claim);

/* The report's resampling, with no more resamples than `most` draws allow if each takes `draws`; level 0 (no
 * interval) if these are too few to tell anything. */
struct pes_resampling tables_affordable(const struct tables *tables, double draws, double most);

enum pes_status tables_groups(const struct tables *tables, struct pes_text *html);
enum pes_status tables_comparisons(const struct tables *tables, struct pes_text *html);
enum pes_status tables_reliability(const struct tables *tables, struct pes_text *html);
enum pes_status tables_improvement(const struct tables *tables, struct pes_text *html);
enum pes_status tables_variance(const struct tables *tables, struct pes_text *html);
enum pes_status tables_percentiles(const struct tables *tables, struct pes_text *html);
enum pes_status tables_associations(const struct tables *tables, struct pes_text *html);
enum pes_status tables_latex(const struct tables *tables);      /* summary.tex, claims.tex */
enum pes_status tables_dictionary(const struct tables *tables); /* columns.csv: what every column means */

/* models.c: of a file of heads alone */
enum pes_status models_judge(struct pes_study *study, struct pes_report *report);
enum pes_status tables_models(const struct tables *tables, struct pes_text *html);
enum pes_status tables_rotation(const struct tables *tables, struct pes_text *html);
void html_rotation(const struct tables *tables, struct pes_text *page);
enum pes_status html_models(const struct tables *tables, struct pes_text *page);

/* claims.json in the folder of the report. */
enum pes_status verdicts_write(const struct tables *tables, const char *folder);

/* ---- html.c, html_run.c, explorer.c ---- */

enum pes_status html_write(const struct tables *tables, const char *folder, const char *figures);
/* Section of the page about starts, machines and failures, and the sweep file. */
void html_run(struct pes_study *study, struct pes_text *page);
/* Data of the explorer as one JSON object. */
enum pes_status explorer_data(const struct tables *tables, struct pes_text *json);

/* Files built into the program: embed.cmake. */
struct embedded {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};
extern const struct embedded embedded_files[]; /* ended by name NULL */

/* ---- figure.c: one figure = data, script, gnuplot ---- */

/* A gnuplot at work. */
struct plot {
    pid_t child;
    int said;           /* its standard error */
    char argument[128]; /* the script */
    struct pes_report_figure *figure;
};

struct canvas {
    struct pes_study *study;
    const struct groups *groups;
    struct pes_resampling resampling;
    double threshold;
    const char *folder, *gnuplot; /* folder of the figures */
    FILE *data, *script;
    const char *name;
    bool thinned;                    /* this figure leaves out points that there are */
    size_t num_blocks;               /* of data so far */
    long block_start;                /* where the numbers of the last one begin */
    bool keyed;                      /* the key has its names */
    struct pes_report_figure *shown; /* the figure that is being made */
    struct plot plots[8];            /* oldest first */
    size_t num_plots;
};

struct figure {
    const char *question; /* that it helps to answer: a heading of the report */
    const char *name, *title, *caption;
    /* Draws by figure_begin ... figure_end; *missing says why there is nothing to draw. */
    enum pes_status (*draw)(struct canvas *canvas, const char **missing);
    bool of_heads; /* also of files of heads */
};
#define QUESTION_LEARNS   "What is learned, and how fast?"
#define QUESTION_SURE     "How much does it vary over seeds?"
#define QUESTION_WORK     "Which heads carry the work?"
#define QUESTION_POSITION "How does position enter the heads?"
#define QUESTION_FLOW     "How do heads and layers work together?"
#define QUESTION_LOOK     "What do heads look at?"
extern const struct figure figures_training[], figures_heads[], figures_spectra[], figures_maps[],
    figures_flow[], figures_claims[]; /* ended by name NULL */

/* Opens <name>.dat and <name>.gp and writes what every script begins with.  Sizes in pixels of the SVG. */
enum pes_status figure_begin(struct canvas *canvas, const char *name, int width, int height);
/* Starts a block of data (gnuplot's `index`) and returns its number. */
size_t figure_block(struct canvas *canvas, const char *comment);
void figure_number(struct canvas *canvas, double x); /* followed by a blank; NaN as gnuplot reads it */
/* `set multiplot` for so many panels; with a key of the series above them, for the first panel to fill. */
void figure_layout(struct canvas *canvas, size_t num_panels, size_t columns, bool key);
/* Ends script and data and starts gnuplot, as many at once as there are threads. */
enum pes_status figure_end(struct canvas *canvas);
/* Waits until at most so many are at work; what one said against its script becomes its figure's `missing`.
 */
void figure_wait(struct canvas *canvas, size_t most);
/* Plots a curve and its band for every series that has any: columns 1 (x), 2 (y), 3 and 4 (low, high) of its
 * block; bands lie under all curves. */
void figure_bands(struct canvas *canvas, const size_t *block, const bool *any, const char *with);
/* Ends the `plot` of a panel, with the names of all series in the key if it is the first of the figure. */
void figure_key(struct canvas *canvas, const char *with);
/* Puts the points of one series of a panel into the block that was just opened; how many there are. */
typedef size_t figure_points(struct canvas *canvas, const void *data, size_t series, size_t panel);
/* A panel with a point a head in the colours of the series, over a `line` as gnuplot plots it. */
enum pes_status figure_scatter(struct canvas *canvas, size_t panel, figure_points *points, const void *data,
                               const char *line);
/* A text inside single quotes of a gnuplot script. */
const char *figure_quote(struct canvas *canvas, const char *text);
const char *figure_color(size_t series); /* "#0072b2": colours that colour-blind readers tell apart */
/* Panels shown: at most so many, so that a figure can be read. */
#define FIGURE_MOST_PANELS 9
/* Groups shown as lines of one panel, of each series. */
#define FIGURE_MOST_LINES 12
/* Points drawn of a group: beyond, whole trials are left out evenly. */
#define FIGURE_MOST_POINTS 400
/* How many of n points (or trials, or heads of them) stand for one that is drawn; remembers if more than 1.
 */
size_t figure_every(struct canvas *canvas, size_t n, size_t most);
size_t figure_panels(const struct canvas *canvas); /* how many are shown */
size_t figure_columns(size_t panels);
/* Pixels for so many panels of `each`. */
int figure_width(size_t panels, int each);
int figure_height(size_t panels, int each);
/* "n = 8", "n = 7 to 8": finished trials of the series of a panel. */
const char *figure_sizes(const struct canvas *canvas, size_t panel, char text[64]);
void figure_title(struct canvas *canvas, size_t panel); /* with the sizes */
/* Series shown where each has a picture of its own. */
#define FIGURE_MOST_SERIES 16
/* Ticks with the names of the series at 0, 1, ... */
void figure_series_tics(struct canvas *canvas);
/* Deterministic sideways shift in [-1, 1] for point number i of a column of points. */
double figure_jitter(size_t i);
bool figure_gnuplot_works(const char *gnuplot);

#endif
