/* symmetry.h - constraints on M = W_q^T W_k and on W_o W_v: exact ones by parameters, soft ones by penalties.
 *
 * Exact: the second projection of a product is a map of the first, so training sees expanded weights and
 * gives their gradients back.  Soft (on M alone): weight x mean over layers and heads of a ratio of Frobenius
 * norms, denominators without gradient (arXiv 2607.06621). */
#ifndef PESWEEP_SYMMETRY_H
#define PESWEEP_SYMMETRY_H

#include "pesweep/config.h"
#include "pesweep/tensor.h"

/* A head's product of two matrices, first^T second over the head's rows: tensors of a layer by name.  Both
 * are [C, C], rows of head h from h D; of a product without biases those names are NULL. */
struct pes_product {
    const char *label; /* what it is, in messages */
    const char *first, *first_bias;
    const char *second, *second_bias; /* where they are parameters of their own; NULL: the model has them */
    const char *scale;
    bool rotates; /* positions may turn the rows between the two factors */
};
extern const struct pes_product pes_product_query_key;    /* M = W_q^T W_k */
extern const struct pes_product pes_product_value_output; /* W_o W_v; `second` is W_o transposed */

struct pes_symmetry {
    const char *name, *summary, *source;
    /* PES_INPUT where the constraint makes no sense (antisymmetric with odd head width, ...). */
    enum pes_status (*check)(const struct pes_product *product, const struct pes_config *config,
                             const struct pes_shape *shape);
    /* Adds the layer's second factor (free) or the scales, or nothing (psd). */
    enum pes_status (*declare)(const struct pes_product *product, const struct pes_config *config,
                               const struct pes_shape *shape, int layer, struct pes_tensor_table *table);
    /* Second factor w[C, C], and b[C] if the product has biases, from the layer's parameters. */
    void (*expand)(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters, real *w,
                   real *b);
    /* Row `row` of the second factor is *factor times row *source of the first, before any rounding: what
     * spectra of a constrained product are taken of.  NULL: it has parameters of its own. */
    void (*map_row)(const struct pes_product *product, const struct pes_config *config, int layer,
                    const struct pes_parameters *parameters, size_t row, size_t *source, real *factor);
    /* Adds the gradients that dw, db of the second factor give to the first and the scales. */
    void (*reduce)(const struct pes_product *product, const struct pes_config *config,
                   const struct pes_shape *shape, int layer, const struct pes_parameters *parameters,
                   const real *dw, const real *db);
};

#define PES_SYMMETRIES(X) X(none) X(psd) X(symmetric) X(antisymmetric)
#define X(identifier)     extern const struct pes_symmetry pes_symmetry_##identifier;
PES_SYMMETRIES(X)
#undef X
extern const struct pes_symmetry *const pes_symmetries[];
extern const char *const pes_symmetry_names[];
const struct pes_symmetry *pes_symmetry_find(const char *name);

/* Penalty of one head from its raw W_q, W_k [D, C] rows; adds scale * gradient to dwq, dwk (NULL: value
 * only). Returns the ratio, whose denominator is ||M||^2 + 1e-8 (so M = 0 counts as 0).  scratch:
 * pes_penalty_scratch doubles. */
#define PES_PENALTY_FLOOR 1e-8
struct pes_penalty {
    const char *name, *summary, *source;
    bool paired; /* about pairs of rows: even D; of a head that rotates in part, the rotated rows alone */
    double (*head)(int D, int C, const real *wq, const real *wk, double scale, real *dwq, real *dwk,
                   double *scratch); /* NULL: no penalty */
};
size_t pes_penalty_scratch(int D, int C);
#define PES_PENALTIES(X) X(none) X(symmetry) X(antisymmetry) X(phase)
#define X(identifier)    extern const struct pes_penalty pes_penalty_##identifier;
PES_PENALTIES(X)
#undef X
extern const struct pes_penalty *const pes_penalties[];
extern const char *const pes_penalty_names[];
const struct pes_penalty *pes_penalty_find(const char *name);

#endif
