/* help_pages.c - the reference pages, each from the table that the program itself works with. */
#include "help.h"

#include <string.h>

#include "pesweep/heads.h"
#include "pesweep/measure.h"
#include "pesweep/pretrained.h"
#include "pesweep/store.h"
#include "pesweep/sweep.h"

enum pes_status pes_help_print_json(FILE *out, json_t *object)
{
    if (!object) return pes_fail(PES_MEMORY, "no memory for the answer");
    bool written = json_dumpf(object, out, JSON_INDENT(1)) == 0 && fputc('\n', out) != EOF;
    json_decref(object);
    return written ? PES_OK : pes_fail(PES_IO, "standard output can't be written");
}

/* --- results file --- */

static void print_results_file(FILE *out, bool markdown)
{
    pes_store_print_reference(out, markdown);
    pes_heads_print_reference(out, markdown, pes_intervention_variables);
}

static json_t *describe_results_file(void)
{
    return json_pack("{s:o, s:o}", "results", pes_store_describe(), "heads",
                     pes_heads_describe(pes_intervention_variables));
}

/* --- exit codes --- */

static void print_exit_codes(FILE *out, bool markdown)
{
    if (markdown) fprintf(out, "\n| code | meaning |\n|---|---|\n");
#define X(name, code, meaning) fprintf(out, markdown ? "| %d | %s |\n" : "%3d  %s\n", code, meaning);
    PES_STATUSES(X)
#undef X
    fprintf(out,
            "\nUnder mpirun, a stop by TERM or INT reaches mpirun first, which then ends with 1 itself: send "
            "USR1 to\n"
            "mpirun, or start with srun, where the code matters.\n");
}

static json_t *describe_exit_codes(void)
{
    json_t *list = json_array();
#define X(name, code, meaning)                                                                               \
    json_array_append_new(list, json_pack("{s:i, s:s}", "code", code, "meaning", meaning));
    PES_STATUSES(X)
#undef X
    return list;
}

/* --- measures --- */

static const char folded[] = "folded_";

static const struct pes_variable *find_variable(const struct pes_variable *variables, const char *name)
{
    for (; variables->name; variables++)
        if (!strcmp(variables->name, name)) return variables;
    return NULL;
}

/* A measure stands in several groups, and twice where its weights may have the norm folded in: one row of the
 * page. */
static bool is_repeated(const struct pes_variable *variables, const struct pes_variable *variable)
{
    if (!strncmp(variable->name, folded, sizeof folded - 1) &&
        find_variable(variables, variable->name + sizeof folded - 1))
        return true;
    return find_variable(variables, variable->name) != variable;
}

/* "curves, spectra, spectra_folded" */
static void append_groups(struct pes_text *text, const struct pes_variable *variables, const char *name)
{
    const char *separator = "";
    for (const struct pes_variable *v = variables; v->name; v++) {
        if (strcmp(v->name, name) != 0) continue;
        pes_text_append(text, "%s%s", separator, v->group);
        separator = ", ";
    }
}

static void print_cell(FILE *out, const char *text)
{
    for (; *text; text++)
        fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
}

static void print_measure(FILE *out, bool markdown, const struct pes_measure *measure)
{
    const char *source = measure->source ? measure->source : "";
    fprintf(
        out,
        markdown
            ? "\n**%s** - %s%s%s%s\n\n| variable | formula or meaning | unit | groups |\n|---|---|---|---|\n"
            : "\n%s: %s%s%s%s\n",
        measure->name, measure->summary, *source ? " (" : "", source, *source ? ")" : "");
    for (const struct pes_variable *v = measure->variables; v->name; v++) {
        if (is_repeated(measure->variables, v)) continue;
        struct pes_text groups = {0};
        append_groups(&groups, measure->variables, v->name);
        if (markdown) {
            fprintf(out, "| `%s` | ", v->name);
            print_cell(out, v->help);
            fprintf(out, " | %s | %s |\n", v->unit, pes_text_get(&groups));
        } else {
            fprintf(out, "  %s%s%s%s (%s)\n      %s\n", v->name, *v->unit ? " [" : "", v->unit,
                    *v->unit ? "]" : "", pes_text_get(&groups), v->help);
        }
        pes_text_destroy(&groups);
    }
}

static void print_measures(FILE *out, bool markdown)
{
    fprintf(out, "M = W_q^T W_k of a head, S and A its symmetric and antisymmetric part, lambda its "
                 "eigenvalues, || || the\n"
                 "Frobenius norm, M_t the complex core of RoPE's frequency w_t. /curves has a measure at "
                 "every checkpoint,\n"
                 "the other groups of the final model; spectra_folded, and folded_ in /curves, with the gain "
                 "of the norm\n"
                 "multiplied into W_q and W_k.\n");
    for (size_t m = 0; pes_measures[m]; m++)
        print_measure(out, markdown, pes_measures[m]);
}

static json_t *describe_measures(void)
{
    json_t *list = json_array();
    for (size_t m = 0; pes_measures[m]; m++) {
        const struct pes_measure *measure = pes_measures[m];
        json_t *variables = json_array();
        for (const struct pes_variable *v = measure->variables; v->name; v++)
            json_array_append_new(variables, json_pack("{s:s, s:s, s:s, s:s}", "group", v->group, "name",
                                                       v->name, "unit", v->unit, "meaning", v->help));
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:o}", "name", measure->name, "summary", measure->summary,
                            "source", measure->source ? measure->source : "", "variables", variables));
    }
    return list;
}

const struct pes_help_page pes_help_pages[] = {
    {"sweep-file", "every key of a sweep file; --json is its JSON Schema, for editors",
     pes_sweep_print_reference, pes_sweep_schema},
    {"results-file", "every variable of a results file, and of a file of heads", print_results_file,
     describe_results_file},
    {"measures", "what is measured on every head, with formulas", print_measures, describe_measures},
    {"exit-codes", "what the exit codes mean", print_exit_codes, describe_exit_codes},
    {NULL, NULL, NULL, NULL},
};
