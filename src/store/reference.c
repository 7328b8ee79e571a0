/* reference.c - the reference page of the results file, from the tables that drive its creation. */
#include <jansson.h>
#include <string.h>

#include "pesweep/heads.h"
#include "pesweep/measure.h"
#include "table.h"

static const char *type_name(enum pes_type type)
{
    static const char *const names[] = {[PES_F32] = "float32",
                                        [PES_F64] = "float64",
                                        [PES_I64] = "int64",
                                        [PES_I32] = "int32",
                                        [PES_U8] = "uint8"};
    return names[type];
}

/* What the page says of a dataset. */
struct row {
    const char *group, *name, *dimensions, *type, *unit, *help;
};
typedef void visit_row(void *context, const struct row *row);

static void print_row(void *context, const struct row *row)
{
    FILE *out = context;
    fprintf(out, "  %s (%s) %s%s%s%s\n      %s\n", row->name, row->dimensions, row->type,
            row->unit[0] ? " [" : "", row->unit, row->unit[0] ? "]" : "", row->help);
}

static void print_markdown(void *context, const struct row *row)
{
    FILE *out = context;
    fprintf(out, "| `%s` | %s | %s | %s | ", row->name, row->dimensions, row->type, row->unit);
    /* A bar would end the cell. */
    for (const char *c = row->help; *c; c++)
        fprintf(out, *c == '|' ? "\\%c" : "%c", *c);
    fprintf(out, " |\n");
}

static void describe_row(void *context, const struct row *row)
{
    json_array_append_new(context, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "group", row->group, "name",
                                             row->name, "dimensions", row->dimensions, "type", row->type,
                                             "unit", row->unit, "meaning", row->help));
}

static void visit_variables(visit_row *visit, void *context, const char *group, const char *first,
                            const struct pes_variable *variables)
{
    for (const struct pes_variable *v = variables; v->name; v++) {
        if (strcmp(v->group, group) != 0) continue;
        char dimensions[160];
        snprintf(dimensions, sizeof dimensions, "%s", first);
        for (int d = 0; d < v->rank; d++) {
            size_t used = strlen(dimensions);
            snprintf(dimensions + used, sizeof dimensions - used, ", %s",
                     pes_dimension_name(v->dimensions[d]));
        }
        visit(context, &(struct row){group, v->name, dimensions, type_name(v->type), v->unit, v->help});
    }
}

static void visit_column(visit_row *visit, void *context, const char *group, const struct dataset *column)
{
    static const char *const types[] = {
        [ELEMENT_U8] = "uint8",   [ELEMENT_I32] = "int32",   [ELEMENT_I64] = "int64",
        [ELEMENT_U64] = "uint64", [ELEMENT_F32] = "float32", [ELEMENT_F64] = "float64",
        [ELEMENT_CHAR] = "text",  [ELEMENT_TEXT] = "text"};
    if (strcmp(column->group, group) != 0) return;
    visit(context, &(struct row){group, column->name, column->rank ? store_axis_name(column->axes[0]) : "",
                                 types[column->element], column->unit, column->help});
}

static void visit_trials_group(visit_row *visit, void *context, const char *group)
{
    for (int c = 0; c < NUM_COLUMNS; c++)
        visit_column(visit, context, group, store_column((enum column)c));
    visit_variables(visit, context, group, "trial", pes_train_variables);
    visit_variables(visit, context, group, "trial", pes_train_file_variables);
    for (size_t m = 0; pes_measures[m]; m++)
        visit_variables(visit, context, group, "trial", pes_measures[m]->variables);
}

/* Groups that only a file of heads has, or that differ there. */
static bool is_of_heads(const struct store_group *group)
{
    return group->inspected || strcmp(group->name, "probes") == 0;
}

static void visit_heads_group(visit_row *visit, void *context, const char *group,
                              const struct pes_variable *variables)
{
    size_t count;
    const struct dataset *columns = store_heads_columns(&count);
    for (size_t c = 0; c < count; c++)
        visit_column(visit, context, group, &columns[c]);
    visit_variables(visit, context, group, "model", variables);
}

static void print_group(FILE *out, bool markdown, const struct store_group *group)
{
    if (markdown)
        fprintf(
            out,
            "\n**/%s** - %s\n\n| variable | dimensions | type | unit | meaning |\n|---|---|---|---|---|\n",
            group->name, group->help);
    else
        fprintf(out, "\n/%s: %s\n", group->name, group->help);
}

void pes_store_print_reference(FILE *out, bool markdown)
{
    if (!markdown)
        fprintf(out, "Results file: group, then variables as name (dimensions) type [unit] and meaning. A "
                     "variable is\n"
                     "there if its measure is on. Results of trials whose status is not 2 (done) are not to "
                     "be used.\n");
    for (const struct store_group *group = store_groups; group->name; group++) {
        if (group->inspected) continue;
        print_group(out, markdown, group);
        visit_trials_group(markdown ? print_markdown : print_row, out, group->name);
    }
}

void pes_heads_print_reference(FILE *out, bool markdown, const struct pes_variable *variables)
{
    fprintf(out, "\nFile of heads (inspect): /spectra and /spectra_folded as in a results file with the "
                 "dimension model in place of trial, and these:\n");
    for (const struct store_group *group = store_groups; group->name; group++) {
        if (!is_of_heads(group)) continue;
        print_group(out, markdown, group);
        visit_heads_group(markdown ? print_markdown : print_row, out, group->name, variables);
    }
}

struct json_t *pes_store_describe(void)
{
    json_t *list = json_array();
    for (const struct store_group *group = store_groups; list && group->name; group++)
        if (!group->inspected) visit_trials_group(describe_row, list, group->name);
    return list;
}

struct json_t *pes_heads_describe(const struct pes_variable *variables)
{
    json_t *list = json_array();
    for (const struct store_group *group = store_groups; list && group->name; group++)
        if (is_of_heads(group)) visit_heads_group(describe_row, list, group->name, variables);
    return list;
}
