/* part.c - one of several independent runs that share a sweep's trials, each with a results file of its own.
 *
 * The trials are dealt out in the order of their keys.  Keys are hashes, so neighbours in the grid, which
 * cost the same, spread over the parts; and the split depends on nothing but the trials: not on the order in
 * the sweep file, the machine or the build. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

static int by_key(const void *a, const void *b)
{
    const struct pes_trial *const *left = a, *const *right = b;
    return strcmp((*left)->key, (*right)->key);
}

enum pes_status pes_run_split(const struct pes_sweep *sweep, int part, int num_parts, bool *mine)
{
    CHECK(num_parts >= 1 && part >= 1 && part <= num_parts);
    size_t num_trials = sweep->num_trials;
    const struct pes_trial **ordered = pes_allocate(num_trials, sizeof *ordered);
    if (!ordered) return PES_MEMORY;
    for (size_t t = 0; t < num_trials; t++)
        ordered[t] = &sweep->trials[t];
    qsort(ordered, num_trials, sizeof *ordered, by_key);
    for (size_t place = 0; place < num_trials; place++)
        mine[ordered[place] - sweep->trials] = place % (size_t)num_parts == (size_t)part - 1;
    pes_free(ordered);
    return PES_OK;
}
