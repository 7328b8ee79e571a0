/* measures.c - the table of families, spectral ones and probes together. */
#include "pesweep/measure.h"

#define X(identifier) &pes_measure_##identifier,
const struct pes_measure *const pes_measures[] = {PES_MEASURES(X) NULL};
#undef X
