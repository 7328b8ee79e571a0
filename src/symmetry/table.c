/* table.c - the tables of exact constraints and soft penalties. */
#include "pesweep/symmetry.h"

#include <string.h>

const struct pes_product pes_product_query_key = {
    .label = "symmetry",
    .first = "attn.wq",
    .first_bias = "attn.bq",
    .second = "attn.wk",
    .second_bias = "attn.bk",
    .scale = "attn.sym_scale",
    .rotates = true,
};

const struct pes_product pes_product_value_output = {
    .label = "value_symmetry",
    .first = "attn.wv",
    .scale = "attn.value_scale",
};

const struct pes_symmetry *const pes_symmetries[] = {
#define X(identifier) &pes_symmetry_##identifier,
    PES_SYMMETRIES(X)
#undef X
        NULL};

const char *const pes_symmetry_names[] = {
#define X(identifier) #identifier,
    PES_SYMMETRIES(X)
#undef X
        NULL};

const struct pes_symmetry *pes_symmetry_find(const char *name)
{
    for (size_t i = 0; pes_symmetries[i]; i++)
        if (strcmp(pes_symmetries[i]->name, name) == 0) return pes_symmetries[i];
    return NULL;
}

const struct pes_penalty *const pes_penalties[] = {
#define X(identifier) &pes_penalty_##identifier,
    PES_PENALTIES(X)
#undef X
        NULL};

const char *const pes_penalty_names[] = {
#define X(identifier) #identifier,
    PES_PENALTIES(X)
#undef X
        NULL};

const struct pes_penalty *pes_penalty_find(const char *name)
{
    for (size_t i = 0; pes_penalties[i]; i++)
        if (strcmp(pes_penalties[i]->name, name) == 0) return pes_penalties[i];
    return NULL;
}
