/* cores.c - the affinity mask of this process. */
#ifdef __linux__
#define _GNU_SOURCE
#include <sched.h>
#endif
#include "cores.h"

#include <string.h>
#include <unistd.h>

#include "pesweep/comm.h"

int pes_cores_count(const uint64_t mask[PES_CORE_WORDS])
{
    int count = 0;
    for (int w = 0; w < PES_CORE_WORDS; w++)
        count += __builtin_popcountll(mask[w]);
    return count;
}

int pes_cores_mask(uint64_t mask[PES_CORE_WORDS])
{
    memset(mask, 0, PES_CORE_WORDS * sizeof *mask);
#ifdef __linux__
    /* The kernel fills a byte array in the machine's order of longs; CPU_ISSET_S hides that. */
    unsigned long words[PES_CORE_WORDS * 64 / (8 * sizeof(unsigned long))];
    if (sched_getaffinity(0, sizeof words, (cpu_set_t *)words) == 0)
        for (size_t core = 0; core < PES_CORE_WORDS * 64; core++)
            if (CPU_ISSET_S(core, sizeof words, (cpu_set_t *)words))
                mask[core / 64] |= UINT64_C(1) << (core % 64);
#endif
    if (pes_cores_count(mask) == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        for (long core = 0; core < PES_MIN(PES_MAX(online, 1), PES_CORE_WORDS * 64L); core++)
            mask[core / 64] |= UINT64_C(1) << (core % 64);
    }
    return pes_cores_count(mask);
}

int pes_cores_allowed(void)
{
    uint64_t mask[PES_CORE_WORDS];
    return pes_cores_mask(mask);
}
