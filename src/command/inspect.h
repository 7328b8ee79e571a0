/* inspect.h - the parts of `pesweep inspect`. */
#ifndef PESWEEP_SRC_COMMAND_INSPECT_H
#define PESWEEP_SRC_COMMAND_INSPECT_H

#include <jansson.h>

#include "pesweep/heads.h"
#include "pesweep/pretrained.h"
#include "pesweep/study.h"

/* Means over the heads of each layer: for people, or as one object that the caller owns. */
void pes_inspect_print(const struct pes_pretrained_about *about, const char *label,
                       const struct pes_row *row);
json_t *pes_inspect_json(const struct pes_pretrained_about *about, const char *label,
                         const struct pes_row *row);

/* The rotation claim of study.h from the rows of the models; of several steps of one the last counts. */
enum pes_status pes_inspect_claim(const struct pes_heads_model *models, const struct pes_layout *layout,
                                  unsigned char *rows, size_t num_models, struct pes_arena *arena,
                                  struct pes_rotation_claim *claim);
void pes_inspect_claim_print(const struct pes_rotation_claim *claim);
json_t *pes_inspect_claim_json(const struct pes_rotation_claim *claim);

#endif
