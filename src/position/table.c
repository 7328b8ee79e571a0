/* table.c - the table of positional schemes. */
#include "pesweep/position.h"

#include <string.h>

const struct pes_position *const pes_positions[] = {
#define X(identifier) &pes_position_##identifier,
    PES_POSITIONS(X)
#undef X
        NULL};

const char *const pes_position_names[] = {
#define X(identifier) #identifier,
    PES_POSITIONS(X)
#undef X
        NULL};

const struct pes_position *pes_position_find(const char *name)
{
    for (size_t i = 0; pes_positions[i]; i++)
        if (strcmp(pes_positions[i]->name, name) == 0) return pes_positions[i];
    return NULL;
}
