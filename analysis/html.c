/* html.c - index.html: verdicts, figures, tables and explorer in one file that loads nothing. */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct embedded *find_embedded(const char *name)
{
    for (const struct embedded *file = embedded_files; file->name; file++)
        if (!strcmp(file->name, name)) return file;
    return NULL;
}

static void put_embedded(struct pes_text *page, const char *name)
{
    const struct embedded *file = find_embedded(name);
    CHECK(file);
    pes_text_append_bytes(page, file->bytes, file->count);
}

static const char *verdict_class(enum pes_decision decision)
{
    static const char *const classes[] = {"supported", "not-supported", "refuted", "too-few"};
    return classes[decision];
}

static void put_number(struct pes_text *page, double x)
{
    if (isnan(x))
        pes_text_append(page, "-");
    else if (isinf(x))
        pes_text_append(page, x > 0 ? "\u221e" : "-\u221e");
    else
        pes_text_append(page, "%.4g", x);
}

static void put_effect(struct pes_text *page, const struct pes_finding *f)
{
    bool least = f->effect.flags & PES_INTERVAL_AT_LEAST, most = f->effect.flags & PES_INTERVAL_AT_MOST;
    pes_text_append(page, "%s%s",
                    least && !most   ? "\u2265 "
                    : most && !least ? "\u2264 "
                                     : "",
                    f->effect_is_ratio ? "ratio " : "");
    put_number(page, f->effect.estimate);
    if (isnan(f->effect.low)) return;
    pes_text_append(page, " [");
    put_number(page, f->effect.low);
    pes_text_append(page, ", ");
    put_number(page, f->effect.high);
    pes_text_append(page, "]");
}

static enum pes_status put_claims(const struct tables *tables, struct pes_text *page)
{
    const struct pes_report *report = tables->report;
    pes_text_append(page, "<h2 id=\"claims\">Claims</h2>\n");
    if (!report->num_claims) {
        pes_text_append(page, "<p>The sweep makes no claims.</p>\n");
        return PES_OK;
    }
    pes_text_append(
        page, "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th>claim</th><th>verdict</th>"
              "<th>effect</th><th>p</th><th>corrected</th><th>smallest</th><th>n</th><th>what decided</th>"
              "</tr></thead><tbody>\n");
    for (size_t i = 0; i < report->num_claims; i++) {
        const struct pes_claim_result *result = &report->claims[i];
        const struct pes_verdict *v = &result->verdict;
        const char *text = tables_claim_text(tables->study, result->claim);
        if (!text) return PES_MEMORY;
        pes_text_append(page, "<tr><td><b>");
        write_html(page, result->claim->name);
        pes_text_append(page, "</b><br>");
        write_html(page, text);
        pes_text_append(page, "</td><td class=\"verdict %s\">%s</td><td class=\"effect\">",
                        verdict_class(v->decision), pes_decision_name(v->decision));
        put_effect(page, &v->finding);
        const double p[] = {v->p, v->p_corrected, v->p_smallest};
        for (size_t k = 0; k < PES_COUNT(p); k++) {
            pes_text_append(page, "</td><td class=\"n\">");
            put_number(page, p[k]);
        }
        pes_text_append(page, "</td><td class=\"n\">%zu / %zu</td><td class=\"rule\">", v->finding.n,
                        v->finding.m);
        write_html(page, v->rule);
        if (result->num_missing || result->num_diverged)
            pes_text_append(page,
                            "<br><span class=\"note\">%zu of %zu trials are unfinished or have no value, %zu "
                            "diverged</span>",
                            result->num_missing, result->num_trials, result->num_diverged);
        pes_text_append(page, "</td></tr>\n");
    }
    pes_text_append(
        page,
        "</tbody></table></div>\n<details><summary>How claims are judged</summary><p>Unit: the seed; a "
        "seed's value is "
        "its mean over the combinations of other axes that both sides have. All tests are two-sided and "
        "exact where at "
        "most ten million arrangements exist; p values are corrected over all claims of the sweep (Holm). "
        "<i>Supported</i>: corrected p below alpha, in the claimed direction, effect at least the threshold. "
        "<i>Refuted</i>: corrected p below alpha in the opposite direction. <i>Too few seeds to tell</i>: "
        "even the "
        "most extreme arrangement of these values could not bring the corrected p below alpha. <i>Not "
        "supported</i>: "
        "everything else. Effects are turned so that larger (a ratio above 1) is what was claimed, except "
        "for claims "
        "about a ratio. Steps never reached are censored, compared by a log-rank permutation test; diverged "
        "trials "
        "count as the worst. n: seeds of the two sides.</p></details>\n");
    return PES_OK;
}

static enum pes_status put_picture(struct pes_text *page, const char *folder, const char *name)
{
    char path[4096], buffer[1 << 14];
    snprintf(path, sizeof path, "%s/%s.svg", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return pes_fail(PES_IO, "%s: can't be read: %s", path, strerror(errno));
    struct pes_text bytes = {0};
    size_t got;
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
        pes_text_append_bytes(&bytes, buffer, got);
    bool failed = ferror(file) || bytes.failed;
    (void)fclose(file);
    pes_text_append(page, "data:image/svg+xml;base64,");
    if (!failed) write_base64(page, (const unsigned char *)pes_text_get(&bytes), bytes.length);
    pes_text_destroy(&bytes);
    return failed ? pes_fail(PES_IO, "%s: can't be read", path) : PES_OK;
}

static enum pes_status put_figures(const struct tables *tables, const char *figures, struct pes_text *page)
{
    const struct pes_report *report = tables->report;
    pes_text_append(page, "<h2 id=\"figures\">Figures</h2>\n");
    if (report->no_figures) {
        pes_text_append(page, "<p class=\"warning\">No figures: ");
        write_html(page, report->no_figures);
        pes_text_append(page, ".</p>\n");
        return PES_OK;
    }
    if (tables->groups->num_panels > FIGURE_MOST_PANELS)
        pes_text_append(
            page,
            "<p class=\"note\">Figures show the first %d of %zu combinations of the other axes; the "
            "tables hold all.</p>\n",
            FIGURE_MOST_PANELS, tables->groups->num_panels);
    for (size_t i = 0; i < report->num_figures; i++) {
        const struct pes_report_figure *figure = &report->figures[i];
        if (!i || strcmp(figure->question, report->figures[i - 1].question))
            pes_text_append(page, "<h3>%s</h3>\n", figure->question);
        pes_text_append(page, "<h4 id=\"figure-%s\">%s</h4>\n", figure->name, figure->title);
        if (figure->missing) {
            pes_text_append(page, "<p class=\"note\">Not drawn: ");
            write_html(page, figure->missing);
            pes_text_append(page, ".</p>\n");
            continue;
        }
        pes_text_append(page, "<figure><img alt=\"%s\" src=\"", figure->title);
        TRY(put_picture(page, figures, figure->name));
        pes_text_append(
            page,
            "\"><figcaption>%s%s <a href=\"figures/%s.pdf\">PDF</a>, <a href=\"figures/%s.dat\">data</a>, "
            "<a href=\"figures/%s.gp\">script</a></figcaption></figure>\n",
            figure->caption,
            figure->thinned
                ? " There are too many points to tell apart: an even part of the trials is drawn; what is "
                  "averaged takes all, and so do the tables."
                : "",
            figure->name, figure->name, figure->name);
    }
    return PES_OK;
}

static enum pes_status put_tables(const struct tables *tables, struct pes_text *page)
{
    static const struct {
        const char *title, *note;
        enum pes_status (*write)(const struct tables *, struct pes_text *);
        enum { SWEEPS = 1, HEADS = 2 } of;
    } list[] = {
        {"Groups", "location and spread over seeds; t, BCa and percentile intervals", tables_groups,
         SWEEPS | HEADS},
        {"Several tasks at once",
         "every combination of the axes that are neither the main one nor seeds counts as a task: means over "
         "tasks, "
         "interquartile means over runs with stratified-bootstrap intervals (Agarwal et al. 2021)",
         tables_reliability, SWEEPS},
        {"Probability of improvement",
         "that a run of the first series beats one of the second on the same task, mean over the tasks that "
         "both "
         "have; an interval above or below one half tells",
         tables_improvement, SWEEPS},
        {"Comparisons", "every pair of series within a group, exploratory: Holm and BH over this table",
         tables_comparisons, SWEEPS},
        {"Pairs behind the claims", "each pair that a claim compares", tables_pairs, SWEEPS},
        {"Variance components", "crossed random effects; only for complete designs", tables_variance, SWEEPS},
        {"Previous-token heads in spectral measures",
         "median percentile of the k heads with the largest scores", tables_percentiles, SWEEPS | HEADS},
        {"Rank correlations over heads",
         "measure against previous-token score, clustered by trial; partial: layer held "
         "fixed",
         tables_associations, SWEEPS | HEADS},
        {"Rotation over models", "exact one-sided permutation tests over models", tables_rotation, HEADS},
        {"Trials", "all of them", tables_trials, SWEEPS},
    };
    pes_text_append(
        page, "<h2 id=\"tables\">Tables</h2>\n<p class=\"note\">Click on a column's head, or press Enter on "
              "it, to sort; "
              "type above a table to keep the rows that hold all your words. All of them stand in tables/ as "
              "CSV, with "
              "curves, heads and probes as well; tables/columns.csv says what every column means.</p>\n");
    for (size_t i = 0; i < PES_COUNT(list); i++) {
        if (!(list[i].of & (tables->study->heads ? HEADS : SWEEPS))) continue;
        pes_text_append(page,
                        "<details%s><summary>%s</summary><p class=\"note\">%s</p><div class=\"scroll\">",
                        i == 0 ? " open" : "", list[i].title, list[i].note);
        TRY(list[i].write(tables, page));
        pes_text_append(page, "</div></details>\n");
    }
    return PES_OK;
}

/* A comment can't hold two hyphens. */
static void put_comment(struct pes_text *page, const struct embedded *file)
{
    pes_text_append(page, "<!-- ");
    for (size_t i = 0; i < file->count; i++)
        pes_text_append_bytes(page, file->bytes[i] == '-' ? "\u2010" : (const char *)&file->bytes[i],
                              file->bytes[i] == '-' ? strlen("\u2010") : 1);
    pes_text_append(page, " -->\n");
}

static enum pes_status put_explorer(const struct tables *tables, struct pes_text *page)
{
    pes_text_append(page, "<h2 id=\"explore\">Explorer</h2>\n");
    if (!find_embedded("d3.min.js")) {
        pes_text_append(
            page, "<p class=\"note\">This program was built without D3, which draws the explorer.</p>\n");
        return PES_OK;
    }
    pes_text_append(
        page,
        "<p class=\"note\">Click on a curve or point to follow its %s through the views. In the head by head "
        "part the arrow keys page through heads (left, right) and %ss (up, down).</p>\n"
        "<div id=\"explorer\"></div>\n<script type=\"application/json\" id=\"explorer-data\">",
        study_unit(tables->study), study_unit(tables->study));
    TRY(explorer_data(tables, page));
    pes_text_append(page, "</script>\n");
    put_comment(page, find_embedded("d3.license"));
    pes_text_append(page, "<script>");
    put_embedded(page, "d3.min.js");
    pes_text_append(page, "</script>\n<script>");
    put_embedded(page, "explorer.js");
    pes_text_append(page, "</script>\n");
    return PES_OK;
}

static void put_head(const struct tables *tables, struct pes_text *page)
{
    const struct pes_study *study = tables->study;
    pes_text_append(page,
                    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    write_html(page, study->sweep->name);
    pes_text_append(page, "</title>\n<style>\n");
    put_embedded(page, "report.css");
    pes_text_append(page, "</style></head><body>\n<h1>");
    write_html(page, study->sweep->name);
    const size_t *outcomes = study->num_outcomes;
    size_t open = outcomes[PES_OUTCOME_PENDING] + outcomes[PES_OUTCOME_RUNNING];
    pes_text_append(page, "</h1>\n<p class=\"facts\">");
    if (study->heads)
        pes_text_append(page, "%zu models, %zu checkpoints.", study->num_trials, study->heads->num_models);
    else
        pes_text_append(page, "%zu trials: %zu done, %zu diverged, %zu failed, %zu missing. Sweep %s.",
                        study->num_trials, outcomes[PES_OUTCOME_DONE], outcomes[PES_OUTCOME_DIVERGED],
                        outcomes[PES_OUTCOME_FAILED], open, study->sweep->hash);
    pes_text_append(page,
                    " pesweep %s.</p>\n<nav><a href=\"#claims\">%s</a><a href=\"#figures\">figures</a>"
                    "<a href=\"#tables\">tables</a><a href=\"#explore\">explorer</a><a href=\"#run\">what "
                    "was %s</a></nav>\n",
                    pes_version(), study->heads ? "rotation" : "claims", study->heads ? "inspected" : "run");
    if (open)
        pes_text_append(
            page,
            "<p class=\"warning\">%zu of %zu trials haven't finished: everything here is provisional."
            "</p>\n",
            open, study->num_trials);
}

static enum pes_status put_page(const struct tables *tables, const char *figures, struct pes_text *page)
{
    put_head(tables, page);
    if (tables->study->heads)
        html_rotation(tables, page);
    else
        TRY(put_claims(tables, page));
    TRY(put_figures(tables, figures, page));
    TRY(put_tables(tables, page));
    TRY(put_explorer(tables, page));
    if (tables->study->heads)
        TRY(html_models(tables, page));
    else
        html_run(tables->study, page);
    pes_text_append(page, "<script>");
    put_embedded(page, "report.js");
    pes_text_append(page, "</script>\n</body></html>\n");
    return page->failed ? pes_fail(PES_MEMORY, "no memory for index.html") : PES_OK;
}

enum pes_status html_write(const struct tables *tables, const char *folder, const char *figures)
{
    struct pes_text page = {0};
    FILE *file;
    enum pes_status status = put_page(tables, figures, &page);
    if (status == PES_OK) status = write_open(folder, "index.html", &file);
    if (status == PES_OK) {
        (void)fwrite(pes_text_get(&page), 1, page.length, file);
        status = write_close(file, folder, "index.html");
    }
    pes_text_destroy(&page);
    return status;
}
