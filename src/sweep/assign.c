/* assign.c - names and values of a sweep file against the key table. */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/text.h"

/* --- names --- */

/* What follows "scope." in a path, NULL if it doesn't start so; the path itself without scope. */
static const char *below(const char *path, const char *scope)
{
    if (!scope) return path;
    size_t length = strlen(scope);
    return !strncmp(path, scope, length) && path[length] == '.' ? path + length + 1 : NULL;
}

static bool is_block(const struct pes_plan *plan, const char *path)
{
    for (size_t slot = 0; slot < plan->keys->num_slots; slot++)
        if (below(plan->keys->paths[slot], path)) return true;
    return false;
}

/* The block of keys that ends in `name` ("penalty" for model.penalty), -1 none, -2 several. */
static enum pes_status find_block(struct pes_plan *plan, const char *name, long *found, const char **block)
{
    *found = -1;
    size_t length = strlen(name);
    for (size_t slot = 0; length && slot < plan->keys->num_slots; slot++) {
        const char *path = plan->keys->paths[slot];
        for (const char *at = path; (at = strstr(at, name)); at++) {
            if ((at != path && at[-1] != '.') || at[length] != '.') continue;
            size_t block_length = (size_t)(at - path) + length;
            if (*found >= 0 && strlen(*block) == block_length && !strncmp(*block, path, block_length))
                continue;
            *found = *found == -1 ? (long)slot : -2;
            char *copy = pes_arena_copy_text(plan->arena, path);
            if (!copy) return PES_MEMORY;
            copy[block_length] = 0;
            *block = copy;
        }
    }
    return PES_OK;
}

/* Every key that a bare name could mean, "task.kind, model.penalty.kind". */
static enum pes_status refuse_ambiguous(const struct pes_plan *plan, const struct pes_yaml *node)
{
    char candidates[256];
    size_t used = 0, length = strlen(node->text);
    for (size_t slot = 0; slot < plan->keys->num_slots && used < sizeof candidates; slot++) {
        const char *path = plan->keys->paths[slot];
        size_t path_length = strlen(path);
        if (path_length <= length || path[path_length - length - 1] != '.' ||
            strcmp(path + path_length - length, node->text) != 0)
            continue;
        used += (size_t)snprintf(candidates + used, sizeof candidates - used, "%s%s", used ? ", " : "", path);
    }
    return pes_yaml_fail(plan->path, node, "'%s' could be several keys; write one of %s", node->text,
                         candidates);
}

static enum pes_status refuse_unknown(struct pes_plan *plan, const struct pes_yaml *node, const char *scope)
{
    const struct pes_key_table *keys = plan->keys;
    char shown[72], value[72];
    pes_text_shown(node->text, shown);
    const char *in = scope ? " in " : "", *block = scope ? scope : "";
    size_t colon = strcspn(node->text, ":");
    if (colon && colon < 64 && node->text[colon] && node->text[colon + 1])
        return pes_yaml_fail(
            plan->path, node, "unknown key '%s'%s%s; is the space after the colon missing? Write '%.*s: %s'",
            shown, in, block, (int)colon, node->text, pes_text_shown(node->text + colon + 1, value));
    long elsewhere = pes_key_table_find(keys, node->text);
    if (elsewhere >= 0)
        return pes_yaml_fail(plan->path, node,
                             "unknown key '%s'%s%s; did you mean %s? It belongs to another block", shown, in,
                             block, keys->paths[elsewhere]);
    const char *nearest = scope ? NULL : pes_key_table_nearest(keys, node->text);
    if (scope) {
        const char **names = pes_arena_take(plan->arena, keys->num_slots, sizeof *names);
        if (!names) return PES_MEMORY;
        size_t count = 0;
        for (size_t slot = 0; slot < keys->num_slots; slot++)
            if (below(keys->paths[slot], scope)) names[count++] = below(keys->paths[slot], scope);
        nearest = pes_text_nearest(node->text, names, count);
    }
    if (nearest)
        return pes_yaml_fail(plan->path, node, "unknown key '%s'%s%s; did you mean %s?", shown, in, block,
                             nearest);
    return pes_yaml_fail(plan->path, node, "unknown key '%s'%s%s; see 'pesweep help sweep-file' for all keys",
                         shown, in, block);
}

enum pes_status pes_plan_find_key(struct pes_plan *plan, const struct pes_yaml *node, const char *scope,
                                  struct pes_key_name *key)
{
    *key = (struct pes_key_name){.slot = -1};
    const char *path = scope ? pes_arena_printf(plan->arena, "%s.%s", scope, node->text) : node->text;
    if (!path) return PES_MEMORY;
    if (scope) {
        for (size_t slot = 0; slot < plan->keys->num_slots; slot++)
            if (!strcmp(plan->keys->paths[slot], path)) key->slot = (long)slot;
        if (key->slot >= 0) return PES_OK;
        key->block = path;
        return *node->text && is_block(plan, path) ? PES_OK : refuse_unknown(plan, node, scope);
    }
    key->slot = pes_key_table_find(plan->keys, path);
    if (key->slot >= 0) return PES_OK;
    bool ambiguous = key->slot == -2;
    TRY(find_block(plan, path, &key->slot, &key->block));
    ambiguous = ambiguous || key->slot == -2;
    if (ambiguous) return refuse_ambiguous(plan, node);
    if (key->slot < 0) return refuse_unknown(plan, node, NULL);
    key->slot = -1;
    return PES_OK;
}

/* --- values --- */

static enum pes_status read_value(struct pes_plan *plan, size_t slot, const struct pes_yaml *node,
                                  struct pes_value *value)
{
    const char *path = plan->keys->paths[slot];
    if (node->kind == PES_YAML_MAP)
        return pes_yaml_fail(plan->path, node, "%s: a map stands where a value belongs", path);
    bool list = node->kind == PES_YAML_LIST;
    size_t count = list ? node->count : 1, bad = 0;
    struct pes_arena_mark mark = pes_arena_mark(plan->arena);
    struct pes_item single = {node->text, node->quoted}, *items = &single;
    if (list) {
        items = pes_arena_take(plan->arena, count, sizeof *items);
        if (!items) return PES_MEMORY;
        size_t i = 0;
        for (const struct pes_yaml *child = node->first; child; child = child->next) {
            if (child->kind != PES_YAML_SCALAR)
                return pes_yaml_fail(plan->path, child,
                                     "%s: one value is a plain list; here %s stands inside it", path,
                                     child->kind == PES_YAML_LIST ? "a list" : "a map");
            items[i++] = (struct pes_item){child->text, child->quoted};
        }
    }
    enum pes_status status = pes_config_parse(plan->keys, slot, items, count, list, plan->arena, value, &bad);
    const struct pes_yaml *place = node;
    if (list && bad < count) {
        place = node->first;
        for (size_t i = 0; i < bad; i++)
            place = place->next;
    }
    if (status == PES_OK && !value->count && value->type != PES_VALUE_TEXT)
        pes_arena_rewind(plan->arena, mark);
    return pes_yaml_place(plan->path, place, status);
}

struct list {
    size_t count;
    struct pes_assignment *items; /* [num_slots] */
};

static enum pes_status add(struct pes_plan *plan, struct list *list, size_t slot, const struct pes_yaml *key,
                           const struct pes_yaml *node)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].slot == slot)
            return pes_yaml_fail(plan->path, key ? key : node,
                                 "%s stands here a second time; the first is in line %d, column %d",
                                 plan->keys->paths[slot], list->items[i].node->line,
                                 list->items[i].node->column);
    struct pes_assignment *assignment = &list->items[list->count++];
    *assignment = (struct pes_assignment){.slot = slot, .node = node};
    return read_value(plan, slot, node, &assignment->value);
}

static enum pes_status collect(struct pes_plan *plan, const struct pes_key_name *key,
                               const struct pes_yaml *name, const struct pes_yaml *node, struct list *list)
{
    if (key->slot >= 0) return add(plan, list, (size_t)key->slot, name, node);
    if (node->kind == PES_YAML_SCALAR && (*node->text || node->quoted)) {
        const char *path = pes_arena_printf(plan->arena, "%s.kind", key->block);
        if (!path) return PES_MEMORY;
        long slot = pes_key_table_find(plan->keys, path);
        if (slot >= 0) return add(plan, list, (size_t)slot, NULL, node);
    }
    if (node->kind != PES_YAML_MAP || !node->count)
        return pes_yaml_fail(plan->path, node, "%s: a map of its keys belongs here, '{key: value, ...}'",
                             key->block);
    for (const struct pes_yaml *child = node->first; child; child = child->next) {
        struct pes_key_name inner;
        TRY(pes_plan_find_key(plan, child, key->block, &inner));
        TRY(collect(plan, &inner, child, child->value, list));
    }
    return PES_OK;
}

static int compare_slots(const void *a, const void *b)
{
    size_t x = ((const struct pes_assignment *)a)->slot, y = ((const struct pes_assignment *)b)->slot;
    return x < y ? -1 : x > y;
}

enum pes_status pes_plan_read_point(struct pes_plan *plan, const struct pes_key_name *key,
                                    const struct pes_yaml *node, struct pes_point *point)
{
    struct list list = {0, pes_allocate(plan->keys->num_slots, sizeof *list.items)};
    if (!list.items) return PES_MEMORY;
    *point = (struct pes_point){.node = node};
    enum pes_status status = collect(plan, key, NULL, node, &list);
    if (status == PES_OK) {
        qsort(list.items, list.count, sizeof *list.items, compare_slots);
        point->assignments = pes_arena_take(plan->arena, list.count, sizeof *list.items);
        point->num_assignments = list.count;
        if (point->assignments)
            memcpy(point->assignments, list.items, list.count * sizeof *list.items);
        else
            status = PES_MEMORY;
    }
    pes_free(list.items);
    return status;
}

enum pes_status pes_plan_expect(const struct pes_plan *plan, const struct pes_yaml *key,
                                enum pes_yaml_kind kind)
{
    const struct pes_yaml *node = key->value;
    const char *what = kind == PES_YAML_MAP ? "a map, '{key: value, ...}'" : "a list, '[..., ...]'";
    bool nothing = node->kind == PES_YAML_SCALAR && !*node->text && !node->quoted;
    if (nothing || (node->kind == kind && !node->count))
        return pes_yaml_fail(plan->path, node, "%s is empty; leave it out, or give %s", key->text, what);
    if (node->kind != kind) return pes_yaml_fail(plan->path, node, "%s must be %s", key->text, what);
    return PES_OK;
}

const struct pes_assignment *pes_point_find(const struct pes_point *point, size_t slot)
{
    for (size_t i = 0; i < point->num_assignments; i++)
        if (point->assignments[i].slot == slot) return &point->assignments[i];
    return NULL;
}
