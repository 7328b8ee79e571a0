/* penalty_none.c - no soft penalty. */
#include "pesweep/symmetry.h"

const struct pes_penalty pes_penalty_none = {
    .name = "none",
    .summary = "no penalty",
    .source = "",
};
