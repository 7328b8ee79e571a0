/* export.h - the formats that `pesweep export` writes. */
#ifndef PESWEEP_SRC_COMMAND_EXPORT_H
#define PESWEEP_SRC_COMMAND_EXPORT_H

#include <stdio.h>

#include "pesweep/store.h"

/* A trial's final weights as a safetensors file: tensors under the names of the table, the trial's whole
 * configuration as __metadata__. */
enum pes_status pes_export_weights(struct pes_reader *reader, size_t trial, FILE *file);

/* CSV: one row per trial with the variables of /trials. */
enum pes_status pes_export_trials(struct pes_reader *reader, FILE *file);

/* CSV in tidy form, one number a row: trial, swept values, group, variable, step, one column per dimension,
 * value.  Of finished trials; padding (NaN, and -1 in whole numbers) is left out.  groups ends with NULL. */
enum pes_status pes_export_groups(struct pes_reader *reader, const char *const *groups, FILE *file);

#endif
