/* table_compare.c - groups of any tidy table against each other. */
#include "internal.h"
#include "pesweep/report.h"
#include "pesweep/text.h"

#include <math.h>
#include <string.h>

static enum pes_status column_of(const struct pes_table *table, const char *name, size_t length,
                                 size_t *column)
{
    for (*column = 0; *column < table->num_columns; ++*column)
        if (strlen(table->names[*column]) == length && !strncmp(table->names[*column], name, length))
            return PES_OK;
    char word[128];
    snprintf(word, sizeof word, "%.*s", (int)PES_MIN(length, (size_t)100), name);
    const char *near = pes_text_nearest(word, (const char *const *)table->names, table->num_columns);
    return pes_fail(PES_INPUT, "no column is named '%s'%s%s%s", word, near ? "; did you mean '" : "",
                    near ? near : "", near ? "'?" : "");
}

/* Per row the texts of the columns named in `list`, parted by commas, joined by blanks. */
static enum pes_status keys_of(const struct pes_table *table, const char *list, struct pes_arena *arena,
                               const char ***keys)
{
    *keys = pes_arena_take(arena, table->num_rows, sizeof **keys);
    if (!*keys) return PES_MEMORY;
    for (const char *name = list; name;) {
        const char *comma = strchr(name, ',');
        size_t column;
        TRY(column_of(table, name, comma ? (size_t)(comma - name) : strlen(name), &column));
        for (size_t r = 0; r < table->num_rows; r++) {
            const char *cell = table->cells[r * table->num_columns + column], **key = &(*keys)[r];
            *key = *key ? pes_arena_printf(arena, "%s %s", *key, cell) : cell;
            if (!*key) return PES_MEMORY;
        }
        name = comma ? comma + 1 : NULL;
    }
    return PES_OK;
}

static enum pes_status group_named(struct pes_table_report *report, const char *name, size_t most,
                                   struct pes_arena *arena, struct pes_table_group **group)
{
    for (size_t g = 0; g < report->num_groups; g++)
        if (!strcmp(report->groups[g].name, name)) {
            *group = &report->groups[g];
            return PES_OK;
        }
    *group = &report->groups[report->num_groups++];
    **group = (struct pes_table_group){.name = name};
    (*group)->values = pes_arena_take(arena, most, sizeof *(*group)->values);
    (*group)->units = pes_arena_take(arena, most, sizeof *(*group)->units);
    return (*group)->values && (*group)->units ? PES_OK : PES_MEMORY;
}

/* One number per unit: the median percentile of its top members. */
static enum pes_status add_units(const struct pes_table *table, const struct pes_table_options *options,
                                 const char *const *keys, const double *values, struct pes_arena *arena,
                                 struct pes_table_report *report)
{
    const char **units;
    double *by, *x = pes_arena_take(arena, 2 * table->num_rows + options->top, sizeof *x);
    bool *taken = pes_arena_take(arena, table->num_rows, sizeof *taken);
    TRY(keys_of(table, options->within, arena, &units));
    TRY(pes_table_numbers(table, options->by, arena, &by));
    if (!x || !taken) return PES_MEMORY;
    double *y = x + table->num_rows, *top = y + table->num_rows;
    for (size_t r = 0; r < table->num_rows; r++) {
        size_t n = 0;
        struct pes_table_group *group;
        if (taken[r]) continue;
        for (size_t i = r; i < table->num_rows; i++) {
            if (strcmp(units[i], units[r])) continue;
            if (strcmp(keys[i], keys[r]))
                return pes_fail(PES_INPUT, "%s = %s stands in two groups: '%s' and '%s'", options->within,
                                units[r], keys[r], keys[i]);
            taken[i] = true;
            x[n] = values[i];
            y[n++] = by[i];
        }
        size_t k = PES_MIN(options->top, n);
        TRY(pes_stat_top_percentiles(n, x, y, k, top));
        double median = pes_stat_median(k, top);
        if (isnan(median)) {
            report->num_missing++;
            continue;
        }
        TRY(group_named(report, keys[r], table->num_rows, arena, &group));
        group->units[group->n] = units[r];
        group->values[group->n++] = median;
    }
    return PES_OK;
}

static enum pes_status add_rows(const struct pes_table *table, const char *const *keys, const double *values,
                                struct pes_arena *arena, struct pes_table_report *report)
{
    for (size_t r = 0; r < table->num_rows; r++) {
        struct pes_table_group *group;
        if (!isfinite(values[r])) {
            report->num_missing++;
            continue;
        }
        TRY(group_named(report, keys[r], table->num_rows, arena, &group));
        group->values[group->n++] = values[r];
    }
    for (size_t g = 0; g < report->num_groups; g++)
        report->groups[g].units = NULL;
    return PES_OK;
}

static enum pes_status compare_pair(const struct pes_table_report *report,
                                    const struct pes_resampling *resampling, struct pes_table_pair *pair)
{
    const struct pes_table_group *a = &report->groups[pair->first], *b = &report->groups[pair->second];
    struct pes_test *const tests[2][3] = {
        {&pair->permutation, &pair->permutation_greater, &pair->permutation_less},
        {&pair->ranks, &pair->ranks_greater, &pair->ranks_less}};
    TRY(pes_stat_difference_interval(PES_LOCATION_MEAN, a->n, a->values, b->n, b->values, resampling,
                                     &pair->difference));
    TRY(pes_stat_shift(a->n, a->values, b->n, b->values, resampling->level, &pair->shift));
    pair->cliff = pes_stat_cliff(a->n, a->values, b->n, b->values, resampling->level);
    for (int side = PES_TWO_SIDED; side <= PES_LESS; side++) {
        TRY(pes_stat_permutation(a->n, a->values, b->n, b->values, (enum pes_side)side, 0, resampling,
                                 tests[0][side]));
        TRY(pes_stat_mann_whitney(a->n, a->values, b->n, b->values, (enum pes_side)side, resampling,
                                  tests[1][side]));
    }
    return PES_OK;
}

static enum pes_status compare_all(const struct pes_resampling *resampling, struct pes_arena *arena,
                                   struct pes_table_report *report)
{
    size_t pairs = report->num_groups * (report->num_groups ? report->num_groups - 1 : 0) / 2;
    report->pairs = pes_arena_take(arena, pairs, sizeof *report->pairs);
    double *p = pes_arena_take(arena, 3 * pairs, sizeof *p);
    if (!report->pairs || !p) return PES_MEMORY;
    for (size_t i = 0; i < report->num_groups; i++)
        for (size_t j = i + 1; j < report->num_groups; j++) {
            struct pes_table_pair *pair = &report->pairs[report->num_pairs];
            *pair = (struct pes_table_pair){.first = i, .second = j};
            TRY(compare_pair(report, resampling, pair));
            p[report->num_pairs++] = pair->permutation.p;
        }
    TRY(pes_stat_holm(pairs, p, p + pairs));
    TRY(pes_stat_benjamini_hochberg(pairs, p, p + 2 * pairs));
    for (size_t i = 0; i < pairs; i++) {
        report->pairs[i].holm = p[pairs + i];
        report->pairs[i].bh = p[2 * pairs + i];
    }
    return PES_OK;
}

/* Every group but `one` becomes "others". */
static enum pes_status keep_one(const struct pes_table *table, const char *one, const char **keys)
{
    bool found = false;
    for (size_t r = 0; r < table->num_rows; r++) {
        bool same = !strcmp(keys[r], one);
        found |= same;
        if (!same) keys[r] = "others";
    }
    return found ? PES_OK : pes_fail(PES_INPUT, "no row is of the group '%s'", one);
}

enum pes_status pes_table_compare(const struct pes_table *table, const struct pes_table_options *options,
                                  struct pes_arena *arena, struct pes_table_report *report)
{
    const char **keys;
    double *values;
    *report = (struct pes_table_report){0};
    TRY(keys_of(table, options->group, arena, &keys));
    if (options->one) TRY(keep_one(table, options->one, keys));
    TRY(pes_table_numbers(table, options->value, arena, &values));
    report->groups = pes_arena_take(arena, table->num_rows, sizeof *report->groups);
    if (!report->groups) return PES_MEMORY;
    TRY(options->within ? add_units(table, options, keys, values, arena, report)
                        : add_rows(table, keys, values, arena, report));
    double *sorted = pes_arena_take(arena, table->num_rows, sizeof *sorted);
    if (!sorted) return PES_MEMORY;
    for (size_t g = 0; g < report->num_groups; g++) {
        struct pes_table_group *group = &report->groups[g];
        TRY(pes_stat_location_interval(PES_LOCATION_MEAN, group->n, group->values, &options->resampling,
                                       &group->interval));
        group->mean = group->interval.estimate;
        group->sd = pes_stat_sd(group->n, group->values);
        memcpy(sorted, group->values, group->n * sizeof *sorted);
        group->median = pes_stat_median(group->n, sorted);
    }
    return compare_all(&options->resampling, arena, report);
}
