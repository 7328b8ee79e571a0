/* tables.c - trials and verdicts as tidy tables. */
#include "output.h"

#include <math.h>
#include <string.h>

/* Variables that make the columns of a table. */
struct selection {
    size_t count;
    const struct pes_column **columns;
    const char **names;
};

bool tables_fits(const struct pes_variable *variable, const char *group, int rank,
                 const enum pes_dimension *dimensions)
{
    /* Of the matched nulls the z values stay; mean and deviation are in the results file. */
    bool fits =
        !strcmp(variable->group, group) && variable->rank == rank && !strstr(variable->name, "_null_");
    for (int r = 0; fits && r < rank; r++)
        fits = variable->dimensions[r] == dimensions[r];
    return fits;
}

/* All numbers of /trials. */
static enum pes_status select_columns(struct pes_study *study, struct selection *selection)
{
    for (size_t i = 0; i < study->layout->num_fields; i++) {
        const struct pes_variable *variable = &study->layout->fields[i].variable;
        if (!tables_fits(variable, "trials", 0, NULL)) continue;
        TRY(pes_study_column(study, "trials", variable->name, &selection->columns[selection->count]));
        selection->names[selection->count++] = variable->name;
    }
    return PES_OK;
}

/* Room for every variable after `leading` columns of the table's own. */
static enum pes_status start_selection(struct pes_study *study, size_t leading, struct selection *selection)
{
    size_t most = study->layout->num_fields + leading;
    selection->count = 0;
    selection->columns = pes_arena_take(study->arena, most, sizeof *selection->columns);
    selection->names = pes_arena_take(study->arena, most, sizeof *selection->names);
    return selection->columns && selection->names ? PES_OK : PES_MEMORY;
}

static void own_column(struct selection *selection, const char *name)
{
    selection->names[selection->count++] = name;
}

enum pes_status tables_trials(const struct tables *tables, struct pes_text *html)
{
    struct pes_study *study = tables->study;
    const struct pes_sweep *sweep = study->sweep;
    struct selection s;
    struct pes_metric steps;
    char threshold[32];
    TRY(start_selection(study, sweep->num_axes + 8, &s));
    own_column(&s, "trial");
    own_column(&s, "key");
    for (size_t a = 0; a < sweep->num_axes; a++)
        own_column(&s, sweep->axes[a].name);
    own_column(&s, "status");
    own_column(&s, "reason");
    size_t first = s.count;
    TRY(select_columns(study, &s));
    size_t end = s.count;
    const char *text = pes_arena_printf(study->arena, "steps_to(test_accuracy, %s)",
                                        pes_text_format_real(tables->threshold, threshold));
    if (!text) return PES_MEMORY;
    bool timed = pes_metric_resolve(study, text, &steps) == PES_OK;
    if (timed) own_column(&s, "steps_to_threshold");
    if (timed) own_column(&s, "reached");

    struct table table;
    TRY(table_open(&table, tables, "trials", s.names, s.count, html));
    enum pes_status status = PES_OK;
    for (size_t t = 0; t < study->num_trials && status == PES_OK; t++) {
        table_count(&table, t);
        table_text(&table, sweep->trials[t].key);
        for (size_t a = 0; a < sweep->num_axes; a++) {
            const char *value = pes_study_axis_text(study, t, a);
            table_text(&table, value ? value : "");
            if (!value) status = PES_MEMORY;
        }
        enum pes_reason reason = (enum pes_reason)pes_reader_reason(study->reader)[t];
        table_text(&table, pes_outcome_name((enum pes_outcome)study->status[t]));
        table_text(&table, reason == PES_REASON_NONE ? "" : pes_reason_name(reason));
        for (size_t c = first; c < end; c++)
            table_number(&table, pes_study_finished(study, t) ? *pes_column_of(s.columns[c], t) : NAN);
        if (!timed) continue;
        double value = NAN;
        bool reached = false;
        if (status == PES_OK) status = pes_metric_evaluate(study, &steps, t, &value, &reached);
        table_number(&table, value);
        table_text(&table, isnan(value) ? "" : reached ? "true" : "false");
    }
    enum pes_status closed = table_close(&table);
    return status != PES_OK ? status : closed;
}

static const char *selection_text(struct pes_study *study, const struct pes_selection *selection)
{
    const struct pes_sweep *sweep = study->sweep;
    const char *text = "";
    for (size_t i = 0; text && i < selection->num_terms; i++) {
        const char *value = pes_value_format(&selection->values[i], study->arena), *name = "?";
        for (size_t a = 0; a < sweep->num_axes; a++)
            if (sweep->axes[a].slot == selection->slots[i]) name = sweep->axes[a].name;
        text = value ? pes_arena_printf(study->arena, "%s%s%s = %s", text, i ? ", " : "", name, value) : NULL;
    }
    return text;
}

const char *tables_claim_text(struct pes_study *study, const struct pes_claim *claim)
{
    const char *where = selection_text(study, &claim->where);
    const char *first = selection_text(study, &claim->ratio[0]),
               *second = selection_text(study, &claim->ratio[1]);
    if (!where || !first || !second) return NULL;
    const char *in = *where ? " where " : "";
    if (claim->is_ratio)
        return pes_arena_printf(study->arena, "%s: ratio of (%s) to (%s)%s%s", claim->metric, first, second,
                                in, where);
    if (claim->bound_side)
        return pes_arena_printf(study->arena, "%s %s %.10g%s%s", claim->metric,
                                claim->bound_side > 0 ? "above" : "below", claim->bound, in, where);
    return pes_arena_printf(study->arena, "%s: %s = %s better than %s%s%s", claim->metric, claim->axis,
                            claim->better, claim->than, in, where);
}

static const char *bound_text(unsigned flags)
{
    bool least = flags & PES_INTERVAL_AT_LEAST, most = flags & PES_INTERVAL_AT_MOST;
    return least && most ? "hidden" : least ? ">=" : most ? "<=" : "";
}

enum pes_status tables_claims(const struct tables *tables)
{
    static const char *const columns[] = {
        "claim",   "comparison", "verdict", "rule",   "test",        "exact",      "effect_kind", "bound",
        "effect",  "low",        "high",    "p",      "p_corrected", "p_smallest", "n",           "n_other",
        "against", "threshold",  "alpha",   "trials", "missing",     "diverged"};
    struct table table;
    TRY(table_open(&table, tables, "claims", columns, PES_COUNT(columns), NULL));
    for (size_t i = 0; i < tables->report->num_claims; i++) {
        const struct pes_claim_result *result = &tables->report->claims[i];
        const struct pes_verdict *v = &result->verdict;
        const struct pes_finding *f = &v->finding;
        const char *text = tables_claim_text(tables->study, result->claim);
        table_text(&table, result->claim->name);
        table_text(&table, text ? text : "");
        table_text(&table, pes_decision_name(v->decision));
        table_text(&table, v->rule);
        table_text(&table, pes_claim_test_name(f->test));
        table_text(&table, f->exact ? "true" : "false");
        table_text(&table, f->effect_is_ratio ? "ratio of medians" : "difference");
        table_text(&table, bound_text(f->effect.flags));
        const double numbers[] = {f->effect.estimate, f->effect.low, f->effect.high, v->p,
                                  v->p_corrected,     v->p_smallest};
        for (size_t k = 0; k < PES_COUNT(numbers); k++)
            table_number(&table, numbers[k]);
        table_count(&table, f->n);
        table_count(&table, f->m);
        table_text(&table, f->against ? f->against : "");
        table_number(&table, v->threshold);
        table_number(&table, v->alpha);
        table_count(&table, result->num_trials);
        table_count(&table, result->num_missing);
        table_count(&table, result->num_diverged);
    }
    return table_close(&table);
}

enum pes_status tables_pairs(const struct tables *tables, struct pes_text *html)
{
    static const char *const columns[] = {"claim",  "against", "n",    "n_other", "direction", "bound",
                                          "effect", "low",     "high", "p",       "p_smallest"};
    struct table table;
    TRY(table_open(&table, tables, "pairs", columns, PES_COUNT(columns), html));
    for (size_t i = 0; i < tables->report->num_claims; i++)
        for (size_t k = 0; k < tables->report->claims[i].num_findings; k++) {
            const struct pes_finding *f = &tables->report->claims[i].findings[k];
            table_text(&table, tables->report->claims[i].claim->name);
            table_text(&table, f->against);
            table_count(&table, f->n);
            table_count(&table, f->m);
            table_text(&table, f->direction > 0 ? "as claimed" : f->direction < 0 ? "opposite" : "none");
            table_text(&table, bound_text(f->effect.flags));
            table_number(&table, f->effect.estimate);
            table_number(&table, f->effect.low);
            table_number(&table, f->effect.high);
            table_number(&table, f->p);
            table_number(&table, f->p_smallest);
        }
    return table_close(&table);
}

/* What the claims were judged by: every metric that one of them is about, for every finished trial. */
enum pes_status tables_claim_values(const struct tables *tables)
{
    struct pes_study *study = tables->study;
    const struct pes_sweep *sweep = study->sweep;
    struct selection s;
    TRY(start_selection(study, sweep->num_axes + 5, &s));
    own_column(&s, "metric");
    own_column(&s, "trial");
    own_column(&s, "key");
    for (size_t a = 0; a < sweep->num_axes; a++)
        own_column(&s, sweep->axes[a].name);
    own_column(&s, "value");
    own_column(&s, "reached");
    struct table table;
    TRY(table_open(&table, tables, "claim_values", s.names, s.count, NULL));
    enum pes_status status = PES_OK;
    for (size_t c = 0; c < sweep->num_claims && status == PES_OK; c++) {
        struct pes_metric metric;
        bool earlier = false;
        for (size_t i = 0; i < c; i++)
            earlier |= !strcmp(sweep->claims[i].metric, sweep->claims[c].metric);
        if (earlier || pes_metric_resolve(study, sweep->claims[c].metric, &metric) != PES_OK) continue;
        for (size_t t = 0; t < study->num_trials && status == PES_OK; t++) {
            double value;
            bool reached;
            if (!pes_study_finished(study, t)) continue;
            status = pes_metric_evaluate(study, &metric, t, &value, &reached);
            table_text(&table, metric.text);
            table_count(&table, t);
            table_text(&table, sweep->trials[t].key);
            for (size_t a = 0; a < sweep->num_axes; a++) {
                const char *text = pes_study_axis_text(study, t, a);
                table_text(&table, text ? text : "");
                if (!text) status = PES_MEMORY;
            }
            table_number(&table, value);
            table_text(&table, !metric.times || isnan(value) ? "" : reached ? "true" : "false");
        }
    }
    enum pes_status closed = table_close(&table);
    return status != PES_OK ? status : closed;
}

struct pes_resampling tables_affordable(const struct tables *tables, double draws, double most)
{
    enum { FEWEST_RESAMPLES = 100 };
    struct pes_resampling resampling = tables->resampling;
    double resamples = most / PES_MAX(draws, 1);
    if ((double)resampling.resamples > resamples) resampling.resamples = (size_t)resamples;
    if (resampling.resamples < FEWEST_RESAMPLES) resampling.level = 0;
    return resampling;
}
