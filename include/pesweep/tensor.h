/* tensor.h - the table of a model's parameters: one flat vector, one row per tensor.
 *
 * Parameters, gradients and both moments are vectors of table->num_parameters elements carved the same
 * way. */
#ifndef PESWEEP_TENSOR_H
#define PESWEEP_TENSOR_H

#include "pesweep/arena.h"

/* How a tensor starts, and whether it decays under `decay: matrices` (WEIGHT alone does). */
enum pes_tensor_role {
    PES_TENSOR_WEIGHT,    /* framework: uniform +-1/sqrt(fan_in); normal: N(0, std); decays */
    PES_TENSOR_BIAS,      /* framework: uniform +-1/sqrt(fan_in); normal: 0 */
    PES_TENSOR_GAIN,      /* 1 */
    PES_TENSOR_SHIFT,     /* norm bias: 0 */
    PES_TENSOR_EMBEDDING, /* framework: N(0, 1); normal: N(0, std); N(0, own std) under both if that is > 0 */
    PES_TENSOR_TABLE,     /* position tables: N(0, own std), always */
    PES_TENSOR_SCALE      /* symmetry scales: see symmetry.h */
};

struct pes_tensor {
    const char *name; /* "layers.0.attn.wq": the name in exports and the weight layout */
    enum pes_tensor_role role;
    int rank;
    size_t shape[3];
    size_t fan_in;
    double std;           /* own standard deviation: TABLE; EMBEDDING if > 0 */
    size_t offset, count; /* elements, offset a multiple of 16 (64 bytes) */
    bool alternate_sign;  /* SCALE: starts at +1, -1, +1 ...; else at 1 */
};

struct pes_tensor_table {
    struct pes_arena *arena;
    struct pes_tensor *tensors;
    size_t num_tensors, capacity;
    size_t num_parameters; /* length of the flat vector, padding included */
};

/* A name that is there already is a fault of the program.  PES_MEMORY; PES_INPUT where sizes overflow. */
enum pes_status pes_tensor_add(struct pes_tensor_table *table, const char *name, enum pes_tensor_role role,
                               size_t fan_in, double std, int rank, const size_t *shape);
/* The same for "layers.<layer>.<name>". */
enum pes_status pes_tensor_add_layer(struct pes_tensor_table *table, int layer, const char *name,
                                     enum pes_tensor_role role, size_t fan_in, double std, int rank,
                                     const size_t *shape);
/* NULL if there is none. */
const struct pes_tensor *pes_tensor_find(const struct pes_tensor_table *table, const char *name);

/* Elements without padding: what papers call the number of parameters. */
size_t pes_tensor_table_count(const struct pes_tensor_table *table);

/* A table with its values; gradient may be NULL.  Shared by model, schemes and constraints. */
struct pes_parameters {
    const struct pes_tensor_table *table;
    const real *values;
    real *gradient;
};
/* "layers.<l>.<name>", or <name> for l < 0.  A missing tensor is a fault of the program. */
const real *pes_parameters_get(const struct pes_parameters *parameters, int layer, const char *name);
real *pes_parameters_gradient(const struct pes_parameters *parameters, int layer, const char *name);

/* Sizes that tensors and schemes are declared with. */
struct pes_shape {
    int T; /* longest sequence: length of position tables */
    int C, H, D, L, F, V;
    int classes; /* width of the output */
    bool causal;
};

#endif
