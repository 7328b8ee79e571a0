/* nope.c - no positional scheme: order reaches the model through the causal mask alone, or not at all. */
#include "pesweep/position.h"

const struct pes_position pes_position_nope = {
    .name = "nope",
    .summary = "none: order is seen through the causal mask alone",
    .source = "Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466",
    .family = PES_POSITION_NONE,
};
