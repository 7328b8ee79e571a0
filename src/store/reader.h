/* reader.h - what the reader keeps, for the files of store/ that copy and check. */
#ifndef PESWEEP_SRC_STORE_READER_H
#define PESWEEP_SRC_STORE_READER_H

#include "results.h"

struct pes_reader {
    struct pes_arena *arena;
    struct results results;
    struct pes_layout *layout; /* as the file has it; always there */
    char **keys;
    uint8_t *status, *reason;
    uint64_t *checksums;
    /* NULL until asked for: */
    struct pes_sweep *sweep;
    char **labels;
    int32_t *sets;                     /* [trials] parameter set */
    struct pes_stored_tensor *tensors; /* of all sets, one set after the other */
    int32_t *tensor_sets;
    size_t num_tensors;
    char *messages, *runs; /* [trials][256], [64][8192] */
};

/* The texts of a dataset in /provenance or /trials; the arena of the reader owns them. */
enum pes_status store_reader_texts(struct pes_reader *reader, const char *group, const char *name,
                                   char ***texts, size_t *num);

#endif
