/* cores.h - which cores this process may use. */
#ifndef PESWEEP_SRC_COMM_CORES_H
#define PESWEEP_SRC_COMM_CORES_H

#include "pesweep/base.h"

#define PES_CORE_WORDS 64 /* masks of up to 4096 cores */

/* mask[PES_CORE_WORDS]: bit i of word w = core 64 w + i.  Returns the number of bits set, at least 1. */
int pes_cores_mask(uint64_t mask[PES_CORE_WORDS]);
int pes_cores_count(const uint64_t mask[PES_CORE_WORDS]);

#endif
