/* axes.c - grid, zip, exclude and include as points, and the columns of /trials. */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lookup.h"
#include "pesweep/text.h"

/* --- elements --- */

static const struct pes_key *first_key(const struct pes_plan *plan, size_t slot)
{
    return pes_key_table_entry(plan->keys, plan->keys->first[slot])->key;
}

/* Numbers that one element of an integer axis stands for: 1, or more for a range. */
static enum pes_status count_span(const struct pes_plan *plan, const struct pes_key_name *key,
                                  const struct pes_yaml *node, size_t *count, int64_t *first)
{
    int64_t last;
    *count = 1;
    *first = 0;
    if (key->slot < 0 || first_key(plan, (size_t)key->slot)->type != PES_VALUE_INT) return PES_OK;
    if (node->kind != PES_YAML_SCALAR || node->quoted || !pes_text_parse_range(node->text, first, &last))
        return PES_OK;
    if (last < *first) return pes_yaml_fail(plan->path, node, "the range %s runs backwards", node->text);
    uint64_t distance = (uint64_t)last - (uint64_t)*first;
    if (distance >= PES_TRIAL_LIMIT)
        return pes_yaml_fail(plan->path, node, "the range %s has more than %d values", node->text,
                             PES_TRIAL_LIMIT);
    *count = (size_t)distance + 1;
    return PES_OK;
}

static bool is_range(const struct pes_plan *plan, const struct pes_key_name *key, const struct pes_yaml *node)
{
    int64_t first, last;
    return key->slot >= 0 && first_key(plan, (size_t)key->slot)->type == PES_VALUE_INT &&
           node->kind == PES_YAML_SCALAR && !node->quoted && pes_text_parse_range(node->text, &first, &last);
}

/* Every number of a range as a point of one assignment; all are checked by the ends. */
static enum pes_status read_span(struct pes_plan *plan, const struct pes_key_name *key,
                                 const struct pes_yaml *node, size_t count, int64_t first,
                                 struct pes_point *points)
{
    struct pes_assignment *assignments = pes_arena_take(plan->arena, count, sizeof *assignments);
    if (!assignments) return PES_MEMORY;
    size_t slot = (size_t)key->slot;
    for (size_t i = 0; i < count; i++) {
        struct pes_assignment *assignment = &assignments[i];
        int64_t number = first + (int64_t)i;
        *assignment = (struct pes_assignment){.slot = slot, .node = node};
        points[i] = (struct pes_point){node, 1, assignment};
        if (i == 0 || i == count - 1) {
            char text[32];
            snprintf(text, sizeof text, "%lld", (long long)number);
            struct pes_item item = {text, false};
            enum pes_status status =
                pes_config_parse(plan->keys, slot, &item, 1, false, plan->arena, &assignment->value, NULL);
            if (status != PES_OK) return pes_yaml_place(plan->path, node, status);
        }
        assignment->value = (struct pes_value){.type = PES_VALUE_INT, .integer = number};
    }
    return PES_OK;
}

/* The elements of an axis: a list, or for integer keys a range. */
static enum pes_status read_elements(struct pes_plan *plan, const struct pes_key_name *key,
                                     const struct pes_yaml *name, struct pes_variation *variation)
{
    const struct pes_yaml *node = name->value;
    bool range = is_range(plan, key, node);
    if (node->kind == PES_YAML_LIST && !node->count)
        return pes_yaml_fail(plan->path, node, "%s has no values; leave it out, or give some", name->text);
    if (node->kind != PES_YAML_LIST && !range) {
        if (node->kind == PES_YAML_SCALAR && *node->text)
            return pes_yaml_fail(plan->path, node,
                                 "%s: a list of values belongs here, such as [%s]; a single value is "
                                 "given in its block",
                                 name->text, node->text);
        return pes_yaml_fail(plan->path, node, "%s: a list of values belongs here", name->text);
    }
    const struct pes_yaml *first = range ? node : node->first;
    size_t total = 0, count;
    int64_t start;
    for (const struct pes_yaml *element = first; element; element = range ? NULL : element->next) {
        TRY(count_span(plan, key, element, &count, &start));
        total += count;
        if (total > PES_TRIAL_LIMIT)
            return pes_yaml_fail(plan->path, node, "%s has more than %d values", name->text, PES_TRIAL_LIMIT);
    }
    variation->node = name;
    variation->points = pes_arena_take(plan->arena, total, sizeof *variation->points);
    if (!variation->points) return PES_MEMORY;
    for (const struct pes_yaml *element = first; element; element = range ? NULL : element->next) {
        struct pes_point *point = &variation->points[variation->num_points];
        TRY(count_span(plan, key, element, &count, &start));
        if (is_range(plan, key, element))
            TRY(read_span(plan, key, element, count, start, point));
        else
            TRY(pes_plan_read_point(plan, key, element, point));
        variation->num_points += count;
    }
    return PES_OK;
}

/* A key that two points share only if they give the same: from their canonical text, or, since ranges may be
 * long, straight from a single integer. */
static enum pes_status hash_point(const struct pes_point *point, struct pes_arena *arena,
                                  struct pes_text *text, char key[33])
{
    const struct pes_assignment *first = point->assignments;
    if (point->num_assignments == 1 && first->value.type == PES_VALUE_INT) {
        pes_hash_hex(&first->value.integer, sizeof first->value.integer, key);
        return PES_OK;
    }
    struct pes_arena_mark mark = pes_arena_mark(arena);
    text->length = 0;
    for (size_t i = 0; i < point->num_assignments; i++) {
        const char *value = pes_value_format(&point->assignments[i].value, arena);
        if (!value) return PES_MEMORY;
        pes_text_append(text, "%zu=%s\n", point->assignments[i].slot, value);
    }
    pes_arena_rewind(arena, mark);
    if (text->failed) return PES_MEMORY;
    pes_hash_hex(pes_text_get(text), text->length, key);
    return PES_OK;
}

/* Two equal points would be the same trials under two places. */
static enum pes_status refuse_repeated(struct pes_plan *plan, const struct pes_variation *variation)
{
    struct pes_lookup lookup;
    TRY(pes_lookup_create(&lookup, variation->num_points));
    struct pes_text text = {0};
    enum pes_status status = PES_OK;
    for (size_t i = 0; i < variation->num_points && status == PES_OK; i++) {
        const struct pes_point *point = &variation->points[i];
        char key[33];
        status = hash_point(point, plan->arena, &text, key);
        if (status != PES_OK) break;
        size_t other = pes_lookup_insert(&lookup, key, i);
        if (other != i)
            status = pes_yaml_fail(plan->path, point->node,
                                   "this value of %s stands in the list already, in line %d, column %d",
                                   variation->node->text, variation->points[other].node->line,
                                   variation->points[other].node->column);
    }
    pes_text_destroy(&text);
    pes_lookup_destroy(&lookup);
    return status;
}

/* --- grid and zip --- */

/* Keys of measure and store are the same for all trials. */
static enum pes_status find_axis_key(struct pes_plan *plan, const struct pes_yaml *name,
                                     struct pes_key_name *key)
{
    TRY(pes_plan_find_key(plan, name, NULL, key));
    const char *path = key->slot >= 0 ? plan->keys->paths[key->slot] : key->block;
    if (!strncmp(path, "measure", 7) || !strncmp(path, "store", 5))
        return pes_yaml_fail(plan->path, name, "%s is the same for all trials; give it in its block", path);
    return PES_OK;
}

/* Notes which slots an axis varies; one that another axis varies already is an error. */
static enum pes_status claim_slots(struct pes_plan *plan, const struct pes_variation *variation,
                                   const struct pes_yaml *name)
{
    for (size_t i = 0; i < variation->num_points; i++)
        for (size_t j = 0; j < variation->points[i].num_assignments; j++) {
            size_t slot = variation->points[i].assignments[j].slot;
            const struct pes_yaml **by = &plan->varied_by[slot];
            if (*by && *by != name)
                return pes_yaml_fail(plan->path, name, "%s is varied here and already by '%s' in line %d",
                                     plan->keys->paths[slot], (*by)->text, (*by)->line);
            *by = name;
        }
    return PES_OK;
}

static enum pes_status reserve_variations(struct pes_plan *plan, size_t more)
{
    struct pes_variation *all = pes_arena_take(plan->arena, plan->num_variations + more, sizeof *all);
    if (!all) return PES_MEMORY;
    if (plan->num_variations) memcpy(all, plan->variations, plan->num_variations * sizeof *all);
    plan->variations = all;
    return PES_OK;
}

enum pes_status pes_plan_read_grid(struct pes_plan *plan, const struct pes_yaml *grid)
{
    TRY(pes_plan_expect(plan, grid, PES_YAML_MAP));
    TRY(reserve_variations(plan, grid->value->count));
    for (const struct pes_yaml *name = grid->value->first; name; name = name->next) {
        struct pes_key_name key;
        struct pes_variation *variation = &plan->variations[plan->num_variations++];
        TRY(find_axis_key(plan, name, &key));
        TRY(read_elements(plan, &key, name, variation));
        TRY(refuse_repeated(plan, variation));
        TRY(claim_slots(plan, variation, name));
    }
    return PES_OK;
}

/* The assignments of two points in one. */
static enum pes_status join_points(struct pes_plan *plan, struct pes_point *into,
                                   const struct pes_point *more)
{
    size_t count = into->num_assignments + more->num_assignments, used = 0;
    struct pes_assignment *all = pes_arena_take(plan->arena, count, sizeof *all);
    if (!all) return PES_MEMORY;
    for (size_t i = 0, j = 0; used < count; used++) {
        bool from_first =
            j == more->num_assignments ||
            (i < into->num_assignments && into->assignments[i].slot < more->assignments[j].slot);
        all[used] = from_first ? into->assignments[i++] : more->assignments[j++];
    }
    *into = (struct pes_point){into->node, count, all};
    return PES_OK;
}

/* One map of equally long lists. */
static enum pes_status read_zip_map(struct pes_plan *plan, const struct pes_yaml *place,
                                    const struct pes_yaml *map)
{
    if (map->kind != PES_YAML_MAP || map->count < 2)
        return pes_yaml_fail(plan->path, map, "zip: a map of at least two lists of one length belongs here");
    struct pes_variation *variation = &plan->variations[plan->num_variations++];
    for (const struct pes_yaml *name = map->first; name; name = name->next) {
        struct pes_key_name key;
        struct pes_variation list = {0};
        TRY(find_axis_key(plan, name, &key));
        TRY(read_elements(plan, &key, name, &list));
        TRY(claim_slots(plan, &list, name));
        if (name == map->first) {
            *variation = list;
            continue;
        }
        if (list.num_points != variation->num_points)
            return pes_yaml_fail(plan->path, name->value, "zip: %s has %zu values, %s in line %d has %zu",
                                 name->text, list.num_points, map->first->text, map->first->line,
                                 variation->num_points);
        for (size_t i = 0; i < list.num_points; i++)
            TRY(join_points(plan, &variation->points[i], &list.points[i]));
    }
    variation->node = place;
    return refuse_repeated(plan, variation);
}

enum pes_status pes_plan_read_zip(struct pes_plan *plan, const struct pes_yaml *zip)
{
    const struct pes_yaml *node = zip->value;
    TRY(pes_plan_expect(plan, zip, node->kind == PES_YAML_LIST ? PES_YAML_LIST : PES_YAML_MAP));
    if (node->kind == PES_YAML_MAP) {
        TRY(reserve_variations(plan, 1));
        return read_zip_map(plan, zip, node);
    }
    TRY(reserve_variations(plan, node->count));
    for (const struct pes_yaml *map = node->first; map; map = map->next)
        TRY(read_zip_map(plan, zip, map));
    return PES_OK;
}

/* --- exclude and include --- */

/* A flat list of numbers is one value of a key that takes lists. */
static bool is_single_list(const struct pes_plan *plan, const struct pes_key_name *key,
                           const struct pes_yaml *node)
{
    if (key->slot < 0 || node->kind != PES_YAML_LIST) return false;
    enum pes_value_type type = first_key(plan, (size_t)key->slot)->type;
    if (type != PES_VALUE_SET && type != PES_VALUE_INTS && type != PES_VALUE_REALS) return false;
    double number;
    int64_t first, last;
    for (const struct pes_yaml *child = node->first; child; child = child->next)
        if (child->kind != PES_YAML_SCALAR || child->quoted ||
            (!pes_text_parse_real(child->text, &number) && !pes_text_parse_range(child->text, &first, &last)))
            return false;
    return true;
}

static bool points_agree(const struct pes_point *alternative, const struct pes_point *point)
{
    for (size_t i = 0; i < alternative->num_assignments; i++) {
        const struct pes_assignment *given = pes_point_find(point, alternative->assignments[i].slot);
        if (!given || !pes_value_equal(&given->value, &alternative->assignments[i].value)) return false;
    }
    return true;
}

/* An alternative that no axis ever takes is a slip of the pen. */
static enum pes_status check_on_axis(const struct pes_plan *plan, const struct pes_yaml *name,
                                     const struct pes_point *alternative)
{
    for (size_t v = 0; v < plan->num_variations; v++)
        for (size_t i = 0; i < plan->variations[v].num_points; i++)
            if (points_agree(alternative, &plan->variations[v].points[i])) return PES_OK;
    const struct pes_assignment *first = &alternative->assignments[0];
    const char *path = plan->keys->paths[first->slot];
    if (!plan->varied_by[first->slot])
        return pes_yaml_fail(plan->path, name,
                             "exclude: %s is not varied by grid or zip, so nothing can be excluded "
                             "by it",
                             path);
    const char *value = pes_value_format(&first->value, plan->arena);
    return pes_yaml_fail(plan->path, alternative->node, "exclude: %s never is %s in grid and zip (line %d)",
                         path, value ? value : "", plan->varied_by[first->slot]->line);
}

static enum pes_status read_pattern(struct pes_plan *plan, const struct pes_yaml *map,
                                    struct pes_pattern *pattern)
{
    if (map->kind != PES_YAML_MAP || !map->count)
        return pes_yaml_fail(plan->path, map,
                             "exclude: a map of keys and values belongs here, '- {key: value}'");
    pattern->node = map;
    pattern->terms = pes_arena_take(plan->arena, map->count, sizeof *pattern->terms);
    if (!pattern->terms) return PES_MEMORY;
    for (const struct pes_yaml *name = map->first; name; name = name->next) {
        struct pes_key_name key;
        struct pes_variation *term = &pattern->terms[pattern->num_terms++];
        const struct pes_yaml *node = name->value;
        TRY(find_axis_key(plan, name, &key));
        if (is_range(plan, &key, node) ||
            (node->kind == PES_YAML_LIST && !is_single_list(plan, &key, node))) {
            TRY(read_elements(plan, &key, name, term));
        } else {
            *term = (struct pes_variation){name, 1, pes_arena_take(plan->arena, 1, sizeof *term->points)};
            if (!term->points) return PES_MEMORY;
            TRY(pes_plan_read_point(plan, &key, node, term->points));
        }
        TRY(refuse_repeated(plan, term));
        for (size_t i = 0; i < term->num_points; i++)
            TRY(check_on_axis(plan, name, &term->points[i]));
    }
    return PES_OK;
}

enum pes_status pes_plan_read_exclude(struct pes_plan *plan, const struct pes_yaml *exclude)
{
    TRY(pes_plan_expect(plan, exclude, PES_YAML_LIST));
    plan->patterns = pes_arena_take(plan->arena, exclude->value->count, sizeof *plan->patterns);
    if (!plan->patterns) return PES_MEMORY;
    for (const struct pes_yaml *map = exclude->value->first; map; map = map->next)
        TRY(read_pattern(plan, map, &plan->patterns[plan->num_patterns++]));
    return PES_OK;
}

enum pes_status pes_plan_read_include(struct pes_plan *plan, const struct pes_yaml *include)
{
    TRY(pes_plan_expect(plan, include, PES_YAML_LIST));
    plan->included = pes_arena_take(plan->arena, include->value->count, sizeof *plan->included);
    if (!plan->included) return PES_MEMORY;
    for (const struct pes_yaml *map = include->value->first; map; map = map->next) {
        if (map->kind != PES_YAML_MAP || !map->count)
            return pes_yaml_fail(plan->path, map,
                                 "include: a map of keys and values belongs here, '- {key: value}'");
        struct pes_point *point = &plan->included[plan->num_included++];
        for (const struct pes_yaml *name = map->first; name; name = name->next) {
            struct pes_key_name key;
            struct pes_point one;
            TRY(find_axis_key(plan, name, &key));
            TRY(pes_plan_read_point(plan, &key, name->value, &one));
            for (size_t i = 0; i < one.num_assignments; i++)
                if (pes_point_find(point, one.assignments[i].slot))
                    return pes_yaml_fail(plan->path, name, "include: %s stands here a second time",
                                         plan->keys->paths[one.assignments[i].slot]);
            TRY(join_points(plan, point, &one));
        }
        point->node = map;
    }
    return PES_OK;
}
