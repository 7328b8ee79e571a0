/* check_spectrum.h - the spectral measures of one golden group. */
#ifndef PESWEEP_TESTS_CHECK_SPECTRUM_H
#define PESWEEP_TESTS_CHECK_SPECTRUM_H

#include "golden_reader.h"
#include "pesweep/model.h"

/* Compares spectrum/ and spectrum_folded/ of a group: one line per measure with its largest error, to stdout.
 * Heads are made of the file's own parameters in double, so those measures don't depend on the type that the
 * program trains in; measures of scores come from the model.  Returns the number of failures: measures beyond
 * their tolerance, and expected ones that nothing here computes.  model NULL: measures of scores are left
 * out. */
int golden_check_spectrum(const struct golden_file *file, const char *group, const struct pes_model *model,
                          const real *parameters, struct pes_workspace *workspace,
                          const struct pes_batch *batch);

#endif
