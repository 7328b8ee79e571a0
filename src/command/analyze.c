/* analyze.c - `pesweep analyze`: tables, figures, verdicts and a page from a results file, without MPI. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze.h"
#include "inspect.h"
#include "options.h"
#include "pesweep/command.h"
#include "pesweep/log.h"
#include "pesweep/text.h"

static json_t *figures_json(const struct pes_report *report)
{
    json_t *figures = json_array();
    for (size_t i = 0; i < report->num_figures; i++)
        json_array_append_new(figures, json_pack("{s:s, s:b, s:s?}", "name", report->figures[i].name, "drawn",
                                                 report->figures[i].missing == NULL, "missing",
                                                 report->figures[i].missing));
    return figures;
}

/* Takes the object. */
static enum pes_status print_object(json_t *object)
{
    if (!object) return pes_fail(PES_MEMORY, "no memory for the report's facts");
    bool ok = json_dumpf(object, stdout, JSON_INDENT(1)) == 0 && printf("\n") > 0;
    json_decref(object);
    return ok ? PES_OK : pes_fail(PES_IO, "standard output can't be written");
}

static enum pes_status print_json(struct pes_study *study, const struct pes_report *report,
                                  const char *folder)
{
    const size_t *outcomes = study->num_outcomes;
    struct pes_text text = {0};
    TRY(pes_report_claims(study, report, &text));
    json_t *claims = json_loads(pes_text_get(&text), 0, NULL);
    pes_text_destroy(&text);
    return print_object(json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:s}", "name", study->sweep->name, "hash",
        study->sweep->hash, "trials", (json_int_t)study->num_trials, "done",
        (json_int_t)outcomes[PES_OUTCOME_DONE], "diverged", (json_int_t)outcomes[PES_OUTCOME_DIVERGED],
        "failed", (json_int_t)outcomes[PES_OUTCOME_FAILED], "missing",
        (json_int_t)(outcomes[PES_OUTCOME_PENDING] + outcomes[PES_OUTCOME_RUNNING]), "claims", claims,
        "figures", figures_json(report), "report", folder));
}

static enum pes_status print_heads_json(const struct pes_study *study, const struct pes_report *report,
                                        const char *folder)
{
    json_t *rotations = json_array(), *figures = figures_json(report);
    for (size_t i = 0; i < report->num_rotations; i++)
        json_array_append_new(rotations,
                              json_pack("{s:s, s:o}", "measure", report->rotations[i].measure, "claim",
                                        pes_inspect_claim_json(&report->rotations[i].claim)));
    return print_object(json_pack("{s:s, s:I, s:I, s:o, s:o, s:s}", "name", study->sweep->name, "models",
                                  (json_int_t)study->num_trials, "checkpoints",
                                  (json_int_t)study->heads->num_models, "rotation", rotations, "figures",
                                  figures, "report", folder));
}

static void print_effect(const struct pes_finding *f)
{
    bool least = f->effect.flags & PES_INTERVAL_AT_LEAST, most = f->effect.flags & PES_INTERVAL_AT_MOST;
    printf("    %s %s%.4g", f->effect_is_ratio ? "ratio of medians" : "difference",
           least && !most   ? ">= "
           : most && !least ? "<= "
                            : "",
           f->effect.estimate);
    if (!isnan(f->effect.low)) printf(" [%.4g, %.4g]", f->effect.low, f->effect.high);
    printf(", n = %zu and %zu\n", f->n, f->m);
}

static void print_drawn(const struct pes_report *report, const char *folder)
{
    size_t drawn = 0;
    for (size_t i = 0; i < report->num_figures; i++)
        drawn += report->figures[i].missing == NULL;
    printf("%s/index.html: %zu figures, tables beside it\n", folder, drawn);
}

static void print_heads_text(const struct pes_study *study, const struct pes_report *report,
                             const char *folder)
{
    printf("%s: %zu models, %zu checkpoints\n", study->sweep->name, study->num_trials,
           study->heads->num_models);
    if (report->num_rotations) {
        printf("\n");
        pes_inspect_claim_print(&report->rotations[0].claim);
        printf("\n");
    }
    print_drawn(report, folder);
}

static enum pes_status print_text(const struct pes_study *study, const struct pes_report *report,
                                  const char *folder)
{
    const size_t *outcomes = study->num_outcomes;
    size_t open = outcomes[PES_OUTCOME_PENDING] + outcomes[PES_OUTCOME_RUNNING];
    printf("%s: %zu trials, %zu done, %zu diverged, %zu failed, %zu missing%s\n", study->sweep->name,
           study->num_trials, outcomes[PES_OUTCOME_DONE], outcomes[PES_OUTCOME_DIVERGED],
           outcomes[PES_OUTCOME_FAILED], open, open ? ": everything below is provisional" : "");
    for (size_t i = 0; i < report->num_claims; i++) {
        const struct pes_claim_result *result = &report->claims[i];
        printf("\n%s: %s\n    %s\n", result->claim->name, pes_decision_name(result->verdict.decision),
               result->verdict.rule);
        if (!isnan(result->verdict.finding.effect.estimate)) print_effect(&result->verdict.finding);
        if (result->num_missing || result->num_diverged)
            printf("    %zu of %zu trials are unfinished or have no value, %zu diverged\n",
                   result->num_missing, result->num_trials, result->num_diverged);
    }
    if (report->num_claims) printf("\n");
    print_drawn(report, folder);
    return PES_OK;
}

static enum pes_status run(int argc, char **argv)
{
    struct pes_report_options options = PES_REPORT_OPTIONS_DEFAULT;
    bool json = false, no_figures = false;
    int64_t resamples = (int64_t)options.resampling.resamples, top = 5;
    struct pes_table_options table = {0};
    const char *path = NULL;
    const struct pes_option list[] = {
        {"--output", "-o", PES_OPTION_TEXT, &options.folder, 0, 0, NULL},
        {"--threshold", NULL, PES_OPTION_REAL, &options.threshold, 0, 1, NULL},
        {"--resamples", NULL, PES_OPTION_INT, &resamples, 100, 10000000, NULL},
        {"--gnuplot", NULL, PES_OPTION_TEXT, &options.gnuplot, 0, 0, NULL},
        {"--no-figures", NULL, PES_OPTION_FLAG, &no_figures, 0, 0, NULL},
        {"--json", NULL, PES_OPTION_FLAG, &json, 0, 0, NULL},
        {"--value", NULL, PES_OPTION_TEXT, &table.value, 0, 0, NULL},
        {"--group", NULL, PES_OPTION_TEXT, &table.group, 0, 0, NULL},
        {"--one", NULL, PES_OPTION_TEXT, &table.one, 0, 0, NULL},
        {"--within", NULL, PES_OPTION_TEXT, &table.within, 0, 0, NULL},
        {"--by", NULL, PES_OPTION_TEXT, &table.by, 0, 0, NULL},
        {"--top", NULL, PES_OPTION_INT, &top, 1, 1000000, NULL},
    };
    TRY(pes_options_parse(argc, argv, list, PES_COUNT(list), &path, 1, 1, "one results file or table"));
    options.figures = !no_figures;
    options.json = json;
    options.resampling.resamples = (size_t)resamples;
    size_t length = strlen(path);
    if (length > 4 && !strcmp(path + length - 4, ".csv")) {
        table.top = (size_t)top;
        table.resampling = options.resampling;
        return analyze_table(path, &table, json);
    }
    if (table.value || table.group || table.one || table.within || table.by)
        return pes_fail(PES_INPUT, "%s: --value, --group, --one, --within and --by are for tables (.csv)",
                        path);
    struct pes_study *study;
    struct pes_report report;
    TRY(pes_study_open(path, &study));
    enum pes_status status = pes_report_write(study, &options, &report);
    if (status == PES_OK && report.no_figures && !no_figures)
        pes_log_warning("no figures: %s; tables and verdicts are complete", report.no_figures);
    if (status == PES_OK && study->heads && !json)
        print_heads_text(study, &report, options.folder);
    else if (status == PES_OK && study->heads)
        status = print_heads_json(study, &report, options.folder);
    else if (status == PES_OK)
        status =
            json ? print_json(study, &report, options.folder) : print_text(study, &report, options.folder);
    pes_study_close(study);
    return status;
}

const struct pes_command pes_command_analyze = {
    .name = "analyze",
    .usage = "pesweep analyze RESULTS.h5 [-o FOLDER] [options]\n"
             "       pesweep analyze HEADS.h5 [-o FOLDER] [options]\n"
             "       pesweep analyze TABLE.csv --value COLUMN --group COLUMN[,COLUMN] [options]",
    .summary = "tables, figures, verdicts on the claims and a page that holds them, also while a sweep runs",
    .help =
        "  -o, --output FOLDER   where to (default: report)\n"
        "      --threshold X     test accuracy of steps-to-threshold (default: the first claim's, else 0.9)\n"
        "      --resamples N     bootstrap and Monte-Carlo draws (default: 10000)\n"
        "      --gnuplot PROGRAM what draws the figures (default: gnuplot)\n"
        "      --no-figures      tables, verdicts and page alone\n"
        "      --json            facts and verdicts as one JSON object; every table as JSON beside its CSV\n"
        "  of a table:\n"
        "      --value COLUMN    numbers to compare\n"
        "      --group COLUMN    what makes the groups; several columns parted by commas\n"
        "      --one GROUP       this group against all others as one\n"
        "      --within COLUMN   compare, for each value of it, the median percentile of --value\n"
        "      --by COLUMN       in the members with the largest values of this column\n"
        "      --top K           how many of them (default: 5)\n",
    .run = run,
};
