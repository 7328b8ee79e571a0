/* reference.c - the reference page of the results file, from the tables that drive its creation. */
#include <string.h>

#include "pesweep/measure.h"
#include "table.h"

static const struct group {
    const char *name, *help;
} groups[] = {
    {"trials", "one row per trained model: the swept keys under their names, how it ended, final metrics"},
    {"curves",
     "through training: accuracy and losses on the evaluation grid, measures on the checkpoint grid"},
    {"spectra", "final weights: M = W_q^T W_k of every head, raw"},
    {"spectra_folded", "the same with the norm's gain folded in and centred under LayerNorm"},
    {"attention", "mean attention maps and mean raw scores"},
    {"probes", "ablation, phase zeroing, symmetrisation and behaviours of the final model"},
    {"weights", "final parameters, and the table that cuts them into tensors"},
    {"provenance",
     "sweep text, every value in use, versions, hosts, times; the only group that differs between runs"},
};

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

static void print_variables(FILE *out, bool markdown, const char *group, const struct pes_variable *variables)
{
    for (const struct pes_variable *v = variables; v->name; v++) {
        if (strcmp(v->group, group) != 0) continue;
        char dimensions[160] = "trial";
        for (int d = 0; d < v->rank; d++) {
            size_t used = strlen(dimensions);
            snprintf(dimensions + used, sizeof dimensions - used, ", %s",
                     pes_dimension_name(v->dimensions[d]));
        }
        print_row(out, markdown, v->name, dimensions, type_name(v->type), v->unit, v->help);
    }
}

static void print_columns(FILE *out, bool markdown, const char *group)
{
    static const char *const types[] = {
        [ELEMENT_U8] = "uint8",   [ELEMENT_I32] = "int32",   [ELEMENT_I64] = "int64",
        [ELEMENT_U64] = "uint64", [ELEMENT_F32] = "float32", [ELEMENT_F64] = "float64",
        [ELEMENT_CHAR] = "text"};
    for (int c = 0; c < NUM_COLUMNS; c++) {
        const struct dataset *column = store_column((enum column)c);
        if (strcmp(column->group, group) != 0) continue;
        print_row(out, markdown, column->name, column->rank ? store_axis_name(column->axes[0]) : "",
                  types[column->element], column->unit, column->help);
    }
}

void pes_store_print_reference(FILE *out, bool markdown)
{
    if (!markdown)
        fprintf(out, "Results file: group, then variables as name (dimensions) type [unit] and meaning. A "
                     "variable is\n"
                     "there if its measure is on. Results of trials whose status is not 2 (done) are not to "
                     "be used.\n");
    for (size_t g = 0; g < PES_COUNT(groups); g++) {
        if (markdown)
            fprintf(out,
                    "\n**/%s** - %s\n\n| variable | dimensions | type | unit | meaning "
                    "|\n|---|---|---|---|---|\n",
                    groups[g].name, groups[g].help);
        else
            fprintf(out, "\n/%s: %s\n", groups[g].name, groups[g].help);
        print_columns(out, markdown, groups[g].name);
        print_variables(out, markdown, groups[g].name, pes_train_variables);
        for (size_t m = 0; pes_measures[m]; m++)
            print_variables(out, markdown, groups[g].name, pes_measures[m]->variables);
    }
}
