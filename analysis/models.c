/* models.c - what a file of heads has beside its heads: the models, and whether rotation shows in them. */
#include "output.h"

#include <math.h>
#include <string.h>

/* Folded measures of rotation that are judged, the one of the claim first. */
static const char *const measures[] = {"rotational_fraction", "rotational_fraction_z", "rotational_energy",
                                       "phase_fraction"};

enum pes_status models_judge(struct pes_study *study, struct pes_report *report)
{
    const struct pes_column *scores, *measure;
    if (!study->heads) return PES_OK;
    TRY(pes_study_column(study, "probes", "previous_token_score", &scores));
    if (!scores) return PES_OK;
    struct pes_rotation_model *models = pes_arena_take(study->arena, study->num_trials, sizeof *models);
    report->rotations = pes_arena_take(study->arena, PES_COUNT(measures), sizeof *report->rotations);
    if (!models || !report->rotations) return PES_MEMORY;
    for (size_t i = 0; i < PES_COUNT(measures); i++) {
        struct pes_report_rotation *rotation = &report->rotations[report->num_rotations];
        TRY(pes_study_column(study, "spectra_folded", measures[i], &measure));
        if (!measure) continue;
        for (size_t t = 0; t < study->num_trials; t++)
            models[t] = (struct pes_rotation_model){
                pes_scheme_rotates(study->heads->models[study->model_of[t]].scheme), scores->field->count,
                pes_column_of(measure, t), pes_column_of(scores, t)};
        rotation->measure = measures[i];
        TRY(pes_rotation_judge(study->num_trials, models, study->arena, &rotation->claim));
        report->num_rotations += rotation->claim.num_k > 0;
    }
    return PES_OK;
}

enum pes_status tables_rotation(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {"measure", "k",          "rotary_models", "other_models",
                                          "rotary",  "other",      "lowest_rotary", "highest_other",
                                          "p",       "p_smallest", "arrangements"};
    struct table table;
    TRY(table_open(&table, tables, "rotation", columns, PES_COUNT(columns), html));
    for (size_t i = 0; i < tables->report->num_rotations; i++) {
        const struct pes_rotation_claim *claim = &tables->report->rotations[i].claim;
        for (size_t k = 0; k < claim->num_k; k++) {
            table_text(&table, tables->report->rotations[i].measure);
            table_count(&table, claim->tests[k].k);
            table_count(&table, claim->tests[k].num_rotary);
            table_count(&table, claim->tests[k].num_other);
            table_number(&table, claim->tests[k].rotary);
            table_number(&table, claim->tests[k].other);
            table_number(&table, claim->tests[k].lowest_rotary);
            table_number(&table, claim->tests[k].highest_other);
            table_number(&table, claim->tests[k].p);
            table_number(&table, claim->tests[k].p_smallest);
            table_number(&table, claim->tests[k].arrangements);
        }
    }
    return table_close(&table);
}

/* Notes stand on a line each. */
static const char *one_line(const char *notes, struct pes_arena *arena)
{
    size_t length = strlen(notes);
    while (length && notes[length - 1] == '\n')
        length--;
    char *line = pes_arena_printf(arena, "%.*s", (int)length, notes);
    for (char *c = line; c && *c; c++)
        if (*c == '\n') *c = ';';
    return line ? line : "";
}

/* Every checkpoint that was read, and the trial that it belongs to in the other tables. */
enum pes_status tables_models(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {"trial",  "model",      "step",        "scheme", "architecture",
                                          "layers", "heads",      "key_heads",   "width",  "head_width",
                                          "causal", "inner_norm", "value_width", "path",   "notes"};
    const struct pes_study *study = tables->study;
    struct table table;
    TRY(table_open(&table, tables, "models", columns, PES_COUNT(columns), html));
    for (size_t m = 0; m < study->heads->num_models; m++) {
        const struct pes_heads_model *model = &study->heads->models[m];
        table_count(&table, study->trial_of[m]);
        table_text(&table, model->name);
        table_number(&table, model->step);
        table_text(&table, model->scheme);
        table_text(&table, model->architecture);
        table_count(&table, (size_t)model->layers);
        table_count(&table, (size_t)model->heads);
        table_count(&table, (size_t)model->key_heads);
        table_count(&table, (size_t)model->width);
        table_count(&table, (size_t)model->head_width);
        table_text(&table, model->causal ? "true" : "false");
        table_text(&table, model->inner_norm ? "true" : "false");
        table_count(&table, (size_t)model->value_width);
        table_text(&table, model->path);
        table_text(&table, one_line(model->notes, study->arena));
    }
    return table_close(&table);
}

static void put_number(struct pes_text *page, double x, const char *format)
{
    pes_text_append(page, "</td><td class=\"n\">");
    pes_text_append(page, format, x);
}

void html_rotation(const struct tables *tables, struct pes_text *page)
{
    const struct pes_report *report = tables->report;
    pes_text_append(page, "<h2 id=\"claims\">Rotation and previous-token heads</h2>\n");
    if (!report->num_rotations) {
        pes_text_append(
            page,
            "<p>To be compared, models need attention scores (<code>inspect --behaviour</code>), folded "
            "spectra, and among them at least one with rotation and one without.</p>\n");
        return;
    }
    pes_text_append(
        page,
        "<p>Where the k heads with the largest previous-token scores stand within their model in a measure "
        "of "
        "rotation: the median of their percentiles, its mean over models with and without rotation, and the "
        "exact one-sided permutation test over models (those with rotation larger).</p>\n"
        "<div class=\"scroll\"><table class=\"sortable\"><thead><tr><th>measure (folded)</th>"
        "<th class=\"n\">k</th><th class=\"n\">models</th><th class=\"n\">with rotation</th>"
        "<th class=\"n\">lowest</th><th class=\"n\">without</th><th class=\"n\">highest</th>"
        "<th class=\"n\">p</th><th class=\"n\">smallest p</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < report->num_rotations; i++) {
        const struct pes_rotation_claim *claim = &report->rotations[i].claim;
        for (size_t k = 0; k < claim->num_k; k++) {
            pes_text_append(page, "<tr><td>%s</td><td class=\"n\">%zu</td><td class=\"n\">%zu / %zu",
                            report->rotations[i].measure, claim->tests[k].k, claim->tests[k].num_rotary,
                            claim->tests[k].num_other);
            put_number(page, claim->tests[k].rotary, "%.3f");
            put_number(page, claim->tests[k].lowest_rotary, "%.3f");
            put_number(page, claim->tests[k].other, "%.3f");
            put_number(page, claim->tests[k].highest_other, "%.3f");
            put_number(page, claim->tests[k].p, "%.3g");
            put_number(page, claim->tests[k].p_smallest, "%.3g");
            pes_text_append(page, "</td></tr>\n");
        }
    }
    pes_text_append(page, "</tbody></table></div>\n");
}

enum pes_status html_models(const struct tables *tables, struct pes_text *page)
{
    const struct pes_heads *heads = tables->study->heads;
    pes_text_append(page, "<h2 id=\"run\">What was inspected</h2>\n<div class=\"scroll\">");
    TRY(tables_models(tables, page));
    pes_text_append(page, "</div>\n<p class=\"facts\">Made by pesweep ");
    write_html(page, heads->made_by);
    pes_text_append(page, ", asked for <code>");
    write_html(page, heads->settings);
    pes_text_append(page, "</code></p>\n");
    return PES_OK;
}
