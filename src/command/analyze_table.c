/* analyze_table.c - `pesweep analyze TABLE.csv`: groups of a tidy table against each other. */
#include "analyze.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "pesweep/report.h"

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *interval_of(const struct pes_interval *interval)
{
    return json_pack("[o, o, o]", number(interval->estimate), number(interval->low), number(interval->high));
}

static enum pes_status print_json(const struct pes_table_report *report)
{
    json_t *groups = json_array(), *pairs = json_array();
    for (size_t g = 0; g < report->num_groups; g++) {
        const struct pes_table_group *group = &report->groups[g];
        json_t *values = json_array();
        for (size_t i = 0; i < group->n; i++)
            json_array_append_new(values, group->units ? json_pack("{s:s, s:o}", "unit", group->units[i],
                                                                   "value", number(group->values[i]))
                                                       : number(group->values[i]));
        json_array_append_new(groups, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "group", group->name, "n",
                                                (json_int_t)group->n, "mean", interval_of(&group->interval),
                                                "sd", number(group->sd), "median", number(group->median),
                                                "values", values));
    }
    for (size_t i = 0; i < report->num_pairs; i++) {
        const struct pes_table_pair *pair = &report->pairs[i];
        json_array_append_new(
            pairs,
            json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "first",
                      report->groups[pair->first].name, "second", report->groups[pair->second].name,
                      "difference", interval_of(&pair->difference), "shift", interval_of(&pair->shift),
                      "cliff", interval_of(&pair->cliff), "p", number(pair->permutation.p), "p_greater",
                      number(pair->permutation_greater.p), "p_less", number(pair->permutation_less.p),
                      "p_smallest", number(pair->permutation.p_smallest), "p_ranks", number(pair->ranks.p),
                      "p_ranks_greater", number(pair->ranks_greater.p), "p_ranks_less",
                      number(pair->ranks_less.p), "exact", pair->permutation.exact, "p_holm",
                      number(pair->holm), "q_bh", number(pair->bh)));
    }
    json_t *object = json_pack("{s:I, s:o, s:o}", "missing", (json_int_t)report->num_missing, "groups",
                               groups, "pairs", pairs);
    if (!object) return pes_fail(PES_MEMORY, "no memory for the comparison");
    bool ok = json_dumpf(object, stdout, JSON_INDENT(1)) == 0 && printf("\n") > 0;
    json_decref(object);
    return ok ? PES_OK : pes_fail(PES_IO, "standard output can't be written");
}

static void print_text(const struct pes_table_report *report)
{
    for (size_t g = 0; g < report->num_groups; g++) {
        const struct pes_table_group *group = &report->groups[g];
        printf("%s: n = %zu, mean %.6g", group->name, group->n, group->mean);
        if (!isnan(group->interval.low)) printf(" [%.6g, %.6g]", group->interval.low, group->interval.high);
        printf(", median %.6g", group->median);
        if (!isnan(group->sd)) printf(", sd %.6g", group->sd);
        printf("\n");
        for (size_t i = 0; group->units && i < group->n; i++)
            printf("    %s %.3f\n", group->units[i], group->values[i]);
    }
    for (size_t i = 0; i < report->num_pairs; i++) {
        const struct pes_table_pair *pair = &report->pairs[i];
        printf("\n%s - %s: difference %.6g, shift %.6g, Cliff's delta %.3g\n",
               report->groups[pair->first].name, report->groups[pair->second].name, pair->difference.estimate,
               pair->shift.estimate, pair->cliff.estimate);
        printf("    permutation%s: p = %.4g (smallest %.4g), greater %.4g, less %.4g; Holm %.4g, BH %.4g\n",
               pair->permutation.exact ? ", exact" : "", pair->permutation.p, pair->permutation.p_smallest,
               pair->permutation_greater.p, pair->permutation_less.p, pair->holm, pair->bh);
        printf("    Mann-Whitney%s: p = %.4g, greater %.4g, less %.4g\n", pair->ranks.exact ? ", exact" : "",
               pair->ranks.p, pair->ranks_greater.p, pair->ranks_less.p);
    }
    if (report->num_missing) printf("\n%zu without a value were left out\n", report->num_missing);
}

enum pes_status analyze_table(const char *path, const struct pes_table_options *options, bool json)
{
    if (!options->value || !options->group)
        return pes_fail(PES_INPUT, "%s: a table needs --value COLUMN and --group COLUMN[,COLUMN]", path);
    if (!options->within != !options->by)
        return pes_fail(PES_INPUT, "%s: --within and --by belong together", path);
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    struct pes_table table;
    struct pes_table_report report;
    enum pes_status status = pes_table_read(path, arena, &table);
    if (status == PES_OK) status = pes_table_compare(&table, options, arena, &report);
    if (status == PES_OK && json) status = print_json(&report);
    if (status == PES_OK && !json) print_text(&report);
    pes_arena_destroy(arena);
    return status;
}
