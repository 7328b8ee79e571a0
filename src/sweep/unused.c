/* unused.c - what was given for nothing: values that no trial was made with, or that meant nothing in any. */
#include "plan.h"

#include <stdio.h>

static enum pes_status check_used(const struct pes_plan *plan, const char *const *why,
                                  const struct pes_assignment *assignment)
{
    size_t slot = assignment->slot;
    const char *path = plan->keys->paths[slot];
    /* A constant that no trial was made with is hidden by axes; an element of an axis may be excluded. */
    const struct pes_yaml *hidden_by = assignment == &plan->constants[slot] ? plan->varied_by[slot] : NULL;
    if (!assignment->seen && hidden_by)
        return pes_yaml_fail(plan->path, assignment->node,
                             "%s is given here and varied in line %d: this value is never used", path,
                             hidden_by->line);
    if (!assignment->seen || assignment->used) return PES_OK;
    if (why[slot])
        return pes_yaml_fail(plan->path, assignment->node,
                             "%s has no effect in any trial with this value: %s", path, why[slot]);
    char owners[256] = "";
    size_t used = 0;
    for (size_t e = plan->keys->first[slot]; e < plan->keys->first[slot + 1] && used < sizeof owners; e++) {
        const struct pes_key_entry *entry = pes_key_table_entry(plan->keys, e);
        if (entry->owner_path)
            used += (size_t)snprintf(owners + used, sizeof owners - used, "%s%s: %s", used ? ", " : "",
                                     entry->owner_path, entry->owner);
    }
    return pes_yaml_fail(plan->path, assignment->node, "%s has no meaning in any trial; it belongs to %s",
                         path, owners);
}

enum pes_status pes_plan_check_used(const struct pes_plan *plan, const char *const *why)
{
    for (size_t slot = 0; slot < plan->keys->num_slots; slot++)
        if (plan->constants[slot].node) TRY(check_used(plan, why, &plan->constants[slot]));
    for (size_t v = 0; v < plan->num_variations; v++)
        for (size_t p = 0; p < plan->variations[v].num_points; p++)
            for (size_t i = 0; i < plan->variations[v].points[p].num_assignments; i++)
                TRY(check_used(plan, why, &plan->variations[v].points[p].assignments[i]));
    for (size_t p = 0; p < plan->num_included; p++)
        for (size_t i = 0; i < plan->included[p].num_assignments; i++)
            TRY(check_used(plan, why, &plan->included[p].assignments[i]));
    return PES_OK;
}
