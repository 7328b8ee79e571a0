/* weights.h - named tensors in files: safetensors (one file or shards with an index), and GGUF.
 *
 * Files are memory-mapped and validated as the format's reference implementation does before anything is
 * believed: every offset, shape and length, no overlap, no hole, no trailing byte.  Only the bytes of tensors
 * that are read are ever touched. */
#ifndef PESWEEP_WEIGHTS_H
#define PESWEEP_WEIGHTS_H

#include "pesweep/arena.h"

/* X(symbol, name in safetensors, bits, can be read as numbers) */
#define PES_DTYPES(X)                                                                                        \
    X(BOOL, "BOOL", 8, false)                                                                                \
    X(F4, "F4", 4, false)                                                                                    \
    X(F6_E2M3, "F6_E2M3", 6, false)                                                                          \
    X(F6_E3M2, "F6_E3M2", 6, false)                                                                          \
    X(U8, "U8", 8, false)                                                                                    \
    X(I8, "I8", 8, false)                                                                                    \
    X(F8_E5M2, "F8_E5M2", 8, false)                                                                          \
    X(F8_E4M3, "F8_E4M3", 8, false)                                                                          \
    X(F8_E8M0, "F8_E8M0", 8, false)                                                                          \
    X(F8_E4M3FNUZ, "F8_E4M3FNUZ", 8, false)                                                                  \
    X(F8_E5M2FNUZ, "F8_E5M2FNUZ", 8, false)                                                                  \
    X(I16, "I16", 16, false)                                                                                 \
    X(U16, "U16", 16, false)                                                                                 \
    X(F16, "F16", 16, true)                                                                                  \
    X(BF16, "BF16", 16, true)                                                                                \
    X(I32, "I32", 32, false)                                                                                 \
    X(U32, "U32", 32, false)                                                                                 \
    X(F32, "F32", 32, true)                                                                                  \
    X(C64, "C64", 64, false)                                                                                 \
    X(F64, "F64", 64, true)                                                                                  \
    X(I64, "I64", 64, false)                                                                                 \
    X(U64, "U64", 64, false)

enum pes_dtype {
#define X(symbol, name, bits, readable) PES_DTYPE_##symbol,
    PES_DTYPES(X)
#undef X
        PES_NUM_DTYPES
};
const char *pes_dtype_name(enum pes_dtype dtype);

#define PES_WEIGHT_MAX_RANK 8

struct pes_weight {
    const char *name;
    const char *file; /* path, for messages */
    enum pes_dtype dtype;
    unsigned char packing; /* 0, or GGUF's number of a block format; dtype is meaningless then */
    int rank;
    uint64_t shape[PES_WEIGHT_MAX_RANK];
    uint64_t count;            /* elements */
    const unsigned char *data; /* first byte in the mapping; not aligned */
    uint64_t bytes;
};

struct pes_weights;

/* A .safetensors file, a model.safetensors.index.json, a folder with either, or a .gguf file, whose tensors
 * get the names they would have there.  Everything listed in an index must be there.  Errors: PES_IO or
 * PES_INPUT naming file, tensor and reason.  The caller closes it. */
enum pes_status pes_weights_open(const char *path, struct pes_weights **weights);
void pes_weights_close(struct pes_weights *weights);

size_t pes_weights_count(const struct pes_weights *weights);
const struct pes_weight *pes_weights_get(const struct pes_weights *weights,
                                         size_t index); /* sorted by name */
const struct pes_weight *pes_weights_find(const struct pes_weights *weights,
                                          const char *name); /* NULL: none */
const char *pes_weights_folder(const struct pes_weights *weights);
/* Texts of __metadata__ of a single file; NULL if there is none. */
const char *pes_weights_metadata(const struct pes_weights *weights, const char *key);

/* Elements [first, first + count) as doubles (row-major).  PES_INPUT for a type that can't be read as
 * numbers, by name; a range beyond the tensor is a fault of the program. */
enum pes_status pes_weight_read(const struct pes_weight *weight, uint64_t first, uint64_t count, double *out);

/* One 16-bit number; exact. */
double pes_weight_from_f16(uint16_t bits);
double pes_weight_from_bf16(uint16_t bits);

/* A name fit for a message: at most 80 characters, odd bytes as '?'. */
const char *pes_weight_safe_name(const char *name, char buffer[96]);

#endif
