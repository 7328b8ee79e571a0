/* columns.c - which keys become columns of /trials, and under which names. */
#include "plan.h"

#include <string.h>

/* Names that /trials has beside its axes. */
static const char *const reserved[] = {"trial",    "key",   "status", "reason",  "steps", "updates",
                                       "checksum", "label", "run",    "message", "axis",  "parameters"};

/* "penalty_kind" for model.penalty.kind: the path without its block, unless that is ambiguous or taken. */
static const char *column_name(struct pes_plan *plan, const char *path)
{
    const char *rest = strchr(path, '.') + 1;
    bool full = pes_key_table_find(plan->keys, rest) == -2;
    for (size_t i = 0; i < PES_COUNT(reserved); i++)
        full = full || !strcmp(rest, reserved[i]);
    char *name = pes_arena_copy_text(plan->arena, full ? path : rest);
    for (char *c = name; c && *c; c++)
        if (*c == '.') *c = '_';
    return name;
}

static enum pes_status add_axis(struct pes_plan *plan, size_t slot)
{
    struct pes_sweep *sweep = plan->sweep;
    for (size_t a = 0; a < sweep->num_axes; a++)
        if (sweep->axes[a].slot == slot) return PES_OK;
    const char *path = plan->keys->paths[slot];
    struct pes_axis axis = {column_name(plan, path), path, slot};
    sweep->axes[sweep->num_axes++] = axis;
    return axis.name ? PES_OK : PES_MEMORY;
}

/* In the order of the file's axes; what include alone varies comes last. */
enum pes_status pes_plan_name_axes(struct pes_plan *plan)
{
    struct pes_sweep *sweep = plan->sweep;
    sweep->axes = pes_arena_take(plan->arena, plan->keys->num_slots, sizeof *sweep->axes);
    if (!sweep->axes) return PES_MEMORY;
    for (size_t v = 0; v < plan->num_variations; v++)
        for (size_t p = 0; p < plan->variations[v].num_points; p++)
            for (size_t i = 0; i < plan->variations[v].points[p].num_assignments; i++)
                TRY(add_axis(plan, plan->variations[v].points[p].assignments[i].slot));
    for (size_t p = 0; p < plan->num_included; p++)
        for (size_t i = 0; i < plan->included[p].num_assignments; i++)
            TRY(add_axis(plan, plan->included[p].assignments[i].slot));
    return PES_OK;
}
