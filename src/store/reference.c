/* reference.c - the reference page of the results file, from the tables that drive its creation. */
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

static void print_row(FILE *out, bool markdown, const char *name, const char *dimensions, const char *type,
                      const char *unit, const char *help)
{
    if (!markdown) {
        fprintf(out, "  %s (%s) %s%s%s%s\n      %s\n", name, dimensions, type, unit[0] ? " [" : "", unit,
                unit[0] ? "]" : "", help);
        return;
    }
    fprintf(out, "| `%s` | %s | %s | %s | ", name, dimensions, type, unit);
    /* A bar would end the cell. */
    for (const char *c = help; *c; c++)
        fprintf(out, *c == '|' ? "\\%c" : "%c", *c);
    fprintf(out, " |\n");
}

static void print_variables(FILE *out, bool markdown, const char *group, const char *first,
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
        print_row(out, markdown, v->name, dimensions, type_name(v->type), v->unit, v->help);
    }
}

static void print_column(FILE *out, bool markdown, const char *group, const struct dataset *column)
{
    static const char *const types[] = {
        [ELEMENT_U8] = "uint8",   [ELEMENT_I32] = "int32",   [ELEMENT_I64] = "int64",
        [ELEMENT_U64] = "uint64", [ELEMENT_F32] = "float32", [ELEMENT_F64] = "float64",
        [ELEMENT_CHAR] = "text",  [ELEMENT_TEXT] = "text"};
    if (strcmp(column->group, group) != 0) return;
    print_row(out, markdown, column->name, column->rank ? store_axis_name(column->axes[0]) : "",
              types[column->element], column->unit, column->help);
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
        for (int c = 0; c < NUM_COLUMNS; c++)
            print_column(out, markdown, group->name, store_column((enum column)c));
        print_variables(out, markdown, group->name, "trial", pes_train_variables);
        for (size_t m = 0; pes_measures[m]; m++)
            print_variables(out, markdown, group->name, "trial", pes_measures[m]->variables);
    }
}

void pes_heads_print_reference(FILE *out, bool markdown, const struct pes_variable *variables)
{
    fprintf(out, "\nFile of heads (inspect): /spectra and /spectra_folded as in a results file with the "
                 "dimension model in place of trial, and\n");
    for (const struct store_group *group = store_groups; group->name; group++) {
        if (!group->inspected && strcmp(group->name, "probes") != 0) continue;
        print_group(out, markdown, group);
        size_t count;
        const struct dataset *columns = store_heads_columns(&count);
        for (size_t c = 0; c < count; c++)
            print_column(out, markdown, group->name, &columns[c]);
        print_variables(out, markdown, group->name, "model", variables);
    }
}
