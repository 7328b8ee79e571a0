/* golden_model.h - a model, its parameters and its batch as a golden group describes them. */
#ifndef PESWEEP_TESTS_GOLDEN_MODEL_H
#define PESWEEP_TESTS_GOLDEN_MODEL_H

#include "golden_reader.h"
#include "pesweep/model.h"

struct golden_model {
    struct pes_arena *arena; /* owns everything */
    struct pes_model *model;
    real *parameters;
    struct pes_batch batch;
    int64_t labels; /* that are not ignored */
    size_t rows;    /* of logits */
};

/* NULL with pes_error_message() where the group asks for what the program doesn't have. */
struct golden_model *golden_model_load(const struct golden_file *file, const char *group);
void golden_model_free(struct golden_model *golden);

#endif
