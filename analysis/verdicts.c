/* verdicts.c - claims.json: every claim as it was made, and what became of it. */
#include "output.h"

static void put_key(struct pes_text *json, const char *key)
{
    pes_text_append(json, ", \"%s\": ", key);
}

static void put_text(struct pes_text *json, const char *key, const char *text)
{
    put_key(json, key);
    write_json_text(json, text);
}

static void put_number(struct pes_text *json, const char *key, double x)
{
    put_key(json, key);
    write_json_number(json, x);
}

static void put_truth(struct pes_text *json, const char *key, bool x)
{
    put_key(json, key);
    pes_text_append(json, x ? "true" : "false");
}

static enum pes_status put_claim(struct pes_study *study, const struct pes_claim_result *result,
                                 struct pes_text *json)
{
    const struct pes_verdict *v = &result->verdict;
    const struct pes_finding *f = &v->finding;
    const char *comparison = tables_claim_text(study, result->claim);
    if (!comparison) return PES_MEMORY;
    pes_text_append(json, "{\"claim\": ");
    write_json_text(json, result->claim->name);
    put_text(json, "comparison", comparison);
    put_text(json, "verdict", pes_decision_name(v->decision));
    put_text(json, "rule", v->rule);
    put_text(json, "test", pes_claim_test_name(f->test));
    put_truth(json, "exact", f->exact);
    put_text(json, "effect_kind", f->effect_is_ratio ? "ratio of medians" : "difference");
    put_number(json, "effect", f->effect.estimate);
    put_number(json, "low", f->effect.low);
    put_number(json, "high", f->effect.high);
    put_truth(json, "at_least", f->effect.flags & PES_INTERVAL_AT_LEAST);
    put_truth(json, "at_most", f->effect.flags & PES_INTERVAL_AT_MOST);
    put_text(json, "against", f->against ? f->against : "");
    put_number(json, "threshold", v->threshold);
    put_number(json, "alpha", v->alpha);
    put_number(json, "p", v->p);
    put_number(json, "p_corrected", v->p_corrected);
    put_number(json, "p_smallest", v->p_smallest);
    put_number(json, "family", (double)v->family);
    put_number(json, "n", (double)f->n);
    put_number(json, "n_other", (double)f->m);
    put_number(json, "trials", (double)result->num_trials);
    put_number(json, "missing", (double)result->num_missing);
    put_number(json, "diverged", (double)result->num_diverged);
    pes_text_append(json, "}");
    return PES_OK;
}

enum pes_status pes_report_claims(struct pes_study *study, const struct pes_report *report,
                                  struct pes_text *json)
{
    pes_text_append(json, "[");
    for (size_t i = 0; i < report->num_claims; i++) {
        pes_text_append(json, i ? ",\n" : "\n");
        TRY(put_claim(study, &report->claims[i], json));
    }
    pes_text_append(json, "\n]");
    return json->failed ? pes_fail(PES_MEMORY, "no memory for the claims") : PES_OK;
}

enum pes_status verdicts_write(const struct tables *tables, const char *folder)
{
    struct pes_text json = {0};
    FILE *file;
    enum pes_status status = pes_report_claims(tables->study, tables->report, &json);
    if (status == PES_OK) status = write_open(folder, "claims.json", &file);
    if (status == PES_OK) {
        fprintf(file, "{\"name\": ");
        struct pes_text name = {0};
        write_json_text(&name, tables->study->sweep->name);
        fprintf(file, "%s, \"hash\": \"%s\", \"claims\": %s}\n", pes_text_get(&name),
                tables->study->sweep->hash, pes_text_get(&json));
        pes_text_destroy(&name);
        status = write_close(file, folder, "claims.json");
    }
    pes_text_destroy(&json);
    return status;
}
