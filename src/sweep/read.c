/* read.c - the top level of a sweep file. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "pesweep/text.h"

static const char *const top_keys[] = {"name",    "task",    "model",   "train", "grid",  "zip",
                                       "exclude", "include", "measure", "store", "claims"};
static const char *const blocks[] = {"task", "model", "train", "measure", "store"};

static enum pes_status refuse_top_key(const struct pes_plan *plan, const struct pes_yaml *key)
{
    char shown[72];
    pes_text_shown(key->text, shown);
    const char *colon = strchr(key->text, ':');
    const char *nearest = pes_text_nearest(key->text, top_keys, PES_COUNT(top_keys));
    if (colon && colon[1])
        return pes_yaml_fail(plan->path, key, "unknown key '%s'; is the space after the colon missing?",
                             shown);
    long slot = pes_key_table_find(plan->keys, key->text);
    if (slot >= 0) {
        const char *path = plan->keys->paths[slot];
        return pes_yaml_fail(plan->path, key,
                             "unknown key '%s' at the top; it belongs to the block %.*s (or grid)", shown,
                             (int)strcspn(path, "."), path);
    }
    if (nearest) return pes_yaml_fail(plan->path, key, "unknown key '%s'; did you mean %s?", shown, nearest);
    return pes_yaml_fail(plan->path, key,
                         "unknown key '%s'; allowed: name, task, model, train, grid, zip, exclude, "
                         "include, measure, store, claims",
                         shown);
}

static enum pes_status read_name(struct pes_plan *plan, const struct pes_yaml *key)
{
    const struct pes_yaml *node = key->value;
    if (node->kind != PES_YAML_SCALAR || !*node->text)
        return pes_yaml_fail(plan->path, node, "name must be a text");
    if (strlen(node->text) > 100) return pes_yaml_fail(plan->path, node, "name is longer than 100 bytes");
    for (const char *c = node->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == '/')
            return pes_yaml_fail(plan->path, node, "name must be one line without '/'");
    plan->sweep->name = node->text;
    return PES_OK;
}

/* The file's name without folder and extension. */
static const char *default_name(const struct pes_plan *plan)
{
    const char *slash = strrchr(plan->path, '/');
    char *name = pes_arena_copy_text(plan->arena, slash ? slash + 1 : plan->path);
    char *dot = name ? strrchr(name, '.') : NULL;
    if (dot && dot != name) *dot = 0;
    return name && !*name ? "sweep" : name;
}

static enum pes_status read_block(struct pes_plan *plan, const struct pes_yaml *key)
{
    struct pes_key_name block = {-1, key->text};
    struct pes_point point;
    if (key->value->kind != PES_YAML_SCALAR || !*key->value->text)
        TRY(pes_plan_expect(plan, key, PES_YAML_MAP));
    TRY(pes_plan_read_point(plan, &block, key->value, &point));
    for (size_t i = 0; i < point.num_assignments; i++)
        plan->constants[point.assignments[i].slot] = point.assignments[i];
    return PES_OK;
}

enum pes_status pes_plan_read(struct pes_plan *plan, struct pes_yaml *root)
{
    plan->root = root;
    /* Axes are read in one order, however the file has them: first key slowest, grid before zip. */
    const struct pes_yaml *grid = NULL, *zip = NULL, *exclude = NULL, *include = NULL;
    for (struct pes_yaml *key = root->first; key; key = key->next) {
        bool block = false;
        for (size_t i = 0; i < PES_COUNT(blocks); i++)
            block = block || !strcmp(key->text, blocks[i]);
        if (block)
            TRY(read_block(plan, key));
        else if (!strcmp(key->text, "name"))
            TRY(read_name(plan, key));
        else if (!strcmp(key->text, "grid"))
            grid = key;
        else if (!strcmp(key->text, "zip"))
            zip = key;
        else if (!strcmp(key->text, "exclude"))
            exclude = key;
        else if (!strcmp(key->text, "include"))
            include = key;
        else if (!strcmp(key->text, "claims"))
            plan->claims = key;
        else
            return refuse_top_key(plan, key);
    }
    if (!plan->sweep->name) plan->sweep->name = default_name(plan);
    if (!plan->sweep->name) return PES_MEMORY;
    if (grid) TRY(pes_plan_read_grid(plan, grid));
    if (zip) TRY(pes_plan_read_zip(plan, zip));
    if (exclude) TRY(pes_plan_read_exclude(plan, exclude));
    if (include) TRY(pes_plan_read_include(plan, include));
    return pes_plan_name_axes(plan);
}
