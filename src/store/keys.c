/* keys.c - finds trials by their key. */
#include "copy.h"

#include <stdlib.h>
#include <string.h>

struct key_index {
    size_t num;
    struct entry {
        const char *key;
        size_t trial;
    } entries[]; /* by key */
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

struct key_index *key_index_create(char *const *keys, size_t num)
{
    struct key_index *index = pes_allocate(1, sizeof *index + num * sizeof index->entries[0]);
    if (!index) return NULL;
    index->num = num;
    for (size_t i = 0; i < num; i++)
        index->entries[i] = (struct entry){keys[i], i};
    if (num) qsort(index->entries, num, sizeof index->entries[0], compare);
    return index;
}

void key_index_destroy(struct key_index *index)
{
    pes_free(index);
}

long key_index_find(const struct key_index *index, const char *key)
{
    struct entry wanted = {key, 0};
    const struct entry *found =
        index->num ? bsearch(&wanted, index->entries, index->num, sizeof wanted, compare) : NULL;
    return found ? (long)found->trial : -1;
}
