/* safetensors.h - one file of the format, inside pretrained. */
#ifndef PESWEEP_PRETRAINED_SAFETENSORS_H
#define PESWEEP_PRETRAINED_SAFETENSORS_H

#include <jansson.h>

#include "pesweep/weights.h"

/* A mapped file.  Unmapped by pes_mapping_close. */
struct pes_mapping {
    const unsigned char *bytes;
    uint64_t size;
};
enum pes_status pes_mapping_open(const char *path, struct pes_mapping *mapping);
void pes_mapping_close(struct pes_mapping *mapping);

/* What a config.json beside the weights would say, if their file says it itself (GGUF); else NULL. */
const json_t *pes_weights_config(const struct pes_weights *weights);

/* Parses and validates the header; tensors (in offset order) and names live in the arena and point into the
 * mapping.  *metadata is NULL or an object that the caller gives back with json_decref. */
enum pes_status pes_safetensors_parse(const char *path, const struct pes_mapping *mapping,
                                      struct pes_arena *arena, struct pes_weight **tensors, size_t *count,
                                      json_t **metadata);

#endif
