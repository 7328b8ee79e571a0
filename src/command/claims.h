/* claims.h - whether the analysis will know what a sweep file's claims speak of. */
#ifndef PESWEEP_SRC_COMMAND_CLAIMS_H
#define PESWEEP_SRC_COMMAND_CLAIMS_H

#include "pesweep/train.h"

/* PES_INPUT at the place of the first claim whose metric the results won't have. */
enum pes_status pes_claims_check(const struct pes_sweep *sweep, const struct pes_layout *layout);

#endif
