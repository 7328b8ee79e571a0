/* lookup.h - which of many 128-bit keys has been seen before: open addressing, at most half full. */
#ifndef PESWEEP_SWEEP_LOOKUP_H
#define PESWEEP_SWEEP_LOOKUP_H

#include "pesweep/base.h"

struct pes_lookup {
    size_t capacity; /* a power of two */
    struct pes_lookup_place *places;
};

/* Room for `count` keys.  PES_MEMORY. */
enum pes_status pes_lookup_create(struct pes_lookup *lookup, size_t count);
void pes_lookup_destroy(struct pes_lookup *lookup);

/* The number that `key` (32 hex digits) was first inserted with; `number` itself if it is new. */
size_t pes_lookup_insert(struct pes_lookup *lookup, const char *key, size_t number);

#endif
