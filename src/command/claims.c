/* claims.c - a misspelt metric is told before the training, not after. */
#include "claims.h"

#include "pesweep/study.h"

enum pes_status pes_claims_check(const struct pes_sweep *sweep, const struct pes_layout *layout)
{
    if (!sweep->num_claims) return PES_OK;
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    const char *const *names;
    size_t count;
    enum pes_status status = pes_metric_names(layout, arena, &names, &count);
    if (status == PES_OK) status = pes_sweep_check_metrics(sweep, names, count);
    pes_arena_destroy(arena);
    return status;
}
