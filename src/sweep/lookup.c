/* lookup.c - a hash table of keys that are hashes already. */
#include "lookup.h"

#include <string.h>

#include "pesweep/arena.h"

struct pes_lookup_place {
    char key[33]; /* "" = free */
    size_t number;
};

enum pes_status pes_lookup_create(struct pes_lookup *lookup, size_t count)
{
    size_t capacity = 16;
    while (capacity / 2 < count)
        capacity *= 2;
    lookup->capacity = capacity;
    lookup->places = pes_allocate(capacity, sizeof *lookup->places);
    return lookup->places ? PES_OK : PES_MEMORY;
}

void pes_lookup_destroy(struct pes_lookup *lookup)
{
    pes_free(lookup->places);
    *lookup = (struct pes_lookup){0};
}

size_t pes_lookup_insert(struct pes_lookup *lookup, const char *key, size_t number)
{
    size_t start = 0;
    for (int i = 0; i < 15; i++) /* the digits are spread evenly */
        start = start << 4 | (size_t)(key[i] <= '9' ? key[i] - '0' : key[i] - 'a' + 10);
    /* There is always a free place: callers insert no more keys than they asked room for. */
    for (size_t at = start;; at++) {
        struct pes_lookup_place *place = &lookup->places[at & (lookup->capacity - 1)];
        if (!*place->key) {
            memcpy(place->key, key, 33);
            place->number = number;
            return number;
        }
        if (!strcmp(place->key, key)) return place->number;
    }
}
