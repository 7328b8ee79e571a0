/* gguf.h - one GGUF file (llama.cpp's format, versions 2 and 3), inside pretrained. */
#ifndef PESWEEP_PRETRAINED_GGUF_H
#define PESWEEP_PRETRAINED_GGUF_H

#include "safetensors.h"

/* Parses and validates a mapped file; tensors in the file's order, under the names and with the row-major
 * shapes that safetensors of the same model would have.  *config: what its config.json would say, for the
 * caller to give back.  PES_INPUT for a damaged file and for an architecture that isn't read. */
enum pes_status gguf_parse(const char *path, const struct pes_mapping *mapping, struct pes_arena *arena,
                           struct pes_weight **tensors, size_t *count, json_t **config);

/* X(number in the file, name, elements of a block, bytes of a block) of types that aren't plain numbers. */
#define GGUF_BLOCKS(X)                                                                                       \
    X(2, Q4_0, 32, 18)                                                                                       \
    X(3, Q4_1, 32, 20)                                                                                       \
    X(8, Q8_0, 32, 34)                                                                                       \
    X(12, Q4_K, 256, 144)                                                                                    \
    X(13, Q5_K, 256, 176)                                                                                    \
    X(14, Q6_K, 256, 210)

/* Elements and bytes of a block; false for a type that isn't one of these. */
bool gguf_block_size(unsigned packing, size_t *elements, size_t *bytes);
/* One block as numbers. */
void gguf_block_read(unsigned packing, const unsigned char *block, double *out);

/* config.json of a model with these metadata, and how a tensor is called there. */
enum pes_status gguf_config(const char *path, const json_t *metadata, bool has_factors, json_t **config);
void gguf_rename(const char *name, char out[128]);

#endif
