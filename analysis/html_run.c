/* html_run.c - what was run: starts of the program, machines, time, idle share, and what went wrong. */
#include "output.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FAILURES = 50 };

/* "host1 x 4, host2 x 4" */
static void put_hosts(struct pes_text *page, const json_t *hosts)
{
    const char *host;
    json_t *ranks;
    size_t i = 0;
    json_object_foreach((json_t *)(uintptr_t)hosts, host, ranks)
    {
        if (i++) pes_text_append(page, ", ");
        write_html(page, host);
        pes_text_append(page, " \u00d7 %lld", (long long)json_integer_value(ranks));
    }
}

static void put_cell(struct pes_text *page, const json_t *run, const char *key)
{
    const char *text = json_string_value(json_object_get(run, key));
    pes_text_append(page, "<td>");
    write_html(page, text ? text : "");
    pes_text_append(page, "</td>");
}

static void put_run(struct pes_text *page, const json_t *run)
{
    const json_t *idle = json_object_get(run, "idle_share"), *seconds = json_object_get(run, "seconds");
    pes_text_append(page, "<tr>");
    put_cell(page, run, "started");
    put_cell(page, run, "outcome");
    put_cell(page, run, "pesweep");
    pes_text_append(page, "<td>");
    put_hosts(page, json_object_get(run, "hosts"));
    pes_text_append(page, "</td><td class=\"n\">%lld \u00d7 %lld</td>",
                    (long long)json_integer_value(json_object_get(run, "ranks")),
                    (long long)json_integer_value(json_object_get(run, "threads_per_rank")));
    if (json_is_number(seconds))
        pes_text_append(page, "<td class=\"n\">%.1f</td>", json_number_value(seconds));
    else
        pes_text_append(page, "<td class=\"n\"></td>");
    if (json_is_number(idle))
        pes_text_append(page, "<td class=\"n\">%.1f</td>", 100 * json_number_value(idle));
    else
        pes_text_append(page, "<td class=\"n\"></td>");
    static const char *const facts[] = {"cpu", "isa", "blas", "mpi", "hdf5", "precision"};
    for (size_t i = 0; i < PES_COUNT(facts); i++)
        put_cell(page, run, facts[i]);
    pes_text_append(page, "</tr>\n");
}

static void put_runs(struct pes_study *study, struct pes_text *page)
{
    size_t runs = pes_reader_num_runs(study->reader);
    if (!runs) {
        pes_text_append(page, "<p class=\"note\">The file names no start of the program.</p>\n");
        return;
    }
    pes_text_append(
        page, "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th>started</th><th>outcome</th>"
              "<th>pesweep</th><th>hosts \u00d7 ranks</th><th>ranks \u00d7 threads</th><th>seconds</th>"
              "<th>idle %%</th><th>processor</th><th>kernels</th><th>BLAS</th><th>MPI</th><th>HDF5</th>"
              "<th>precision</th></tr></thead><tbody>\n");
    for (size_t r = 0; r < runs; r++) {
        json_t *run = json_loads(pes_reader_run(study->reader, r), 0, NULL);
        if (json_is_object(run)) put_run(page, run);
        json_decref(run);
    }
    pes_text_append(page, "</tbody></table></div>\n");
}

/* Sum of a column of times over all trials that have one; NaN if the file doesn't have it. */
static double sum_of(struct pes_study *study, const char *name)
{
    double *values, sum = 0;
    size_t count;
    if (pes_reader_variable(study->reader, "provenance", name, &values, &count) != PES_OK) return NAN;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) sum += values[i];
    free(values);
    return sum;
}

static void put_failures(struct pes_study *study, struct pes_text *page)
{
    size_t wrong = study->num_outcomes[PES_OUTCOME_FAILED] + study->num_outcomes[PES_OUTCOME_DIVERGED],
           shown = 0;
    if (!wrong) return;
    pes_text_append(
        page, "<h3>Failed and diverged trials</h3>\n<div class=\"scroll\"><table class=\"sortable\"><thead>"
              "<tr><th>trial</th><th>status</th><th>reason</th><th>configuration</th><th>message</th></tr>"
              "</thead><tbody>\n");
    for (size_t t = 0; t < study->num_trials && shown < MOST_FAILURES; t++) {
        enum pes_outcome outcome = (enum pes_outcome)study->status[t];
        if (outcome != PES_OUTCOME_FAILED && outcome != PES_OUTCOME_DIVERGED) continue;
        shown++;
        pes_text_append(page, "<tr><td class=\"n\">%zu</td><td>%s</td><td>%s</td><td>", t,
                        pes_outcome_name(outcome),
                        pes_reason_name((enum pes_reason)pes_reader_reason(study->reader)[t]));
        write_html(page, study->sweep->trials[t].label);
        pes_text_append(page, "</td><td>");
        write_html(page, pes_reader_message(study->reader, t));
        pes_text_append(page, "</td></tr>\n");
    }
    pes_text_append(page, "</tbody></table></div>\n");
    if (shown < wrong)
        pes_text_append(page, "<p class=\"note\">The first %zu of %zu; tables/trials.csv names all.</p>\n",
                        shown, wrong);
}

void html_run(struct pes_study *study, struct pes_text *page)
{
    double training = sum_of(study, "train_seconds"), measuring = sum_of(study, "measure_seconds");
    pes_text_append(page, "<h2 id=\"run\">What was run</h2>\n");
    if (training + measuring > 0)
        pes_text_append(
            page, "<p class=\"facts\">%.4g s of training and %.4g s of measuring, over all ranks.</p>\n",
            training, measuring);
    put_runs(study, page);
    put_failures(study, page);
    pes_text_append(page, "<details><summary>Sweep file</summary><pre>");
    write_html(page, study->sweep->text);
    pes_text_append(page, "</pre></details>\n");
}
