/* kernels_text.h - the whole kernel text and its table.  The including file defines
 *   KERNEL_ISA            name of the instruction set and, after pes_kernels_, of the table
 *   KERNEL_VECTOR_BYTES   bytes of a vector register
 *   TILE_VECTORS          vectors of a register tile of the matrix products, which has six rows
 *   KEY_TILE              keys of a register tile of attention, which has two vectors of queries
 *   EIGENVALUE_LANES      matrices whose eigenvalues are found together: for heads of 128 they fit the second
 * cache and KERNEL_AVX512 or KERNEL_AVX2 where their intrinsics may be used. */
#include "kernel_attention_backward.h"
#include "kernel_attention_scores.h"
#include "kernel_eigenvalues.h"
#include "kernel_rows.h"
#include "kernel_table.h"

#define TABLE_NAME_(isa) pes_kernels_##isa
#define TABLE_NAME(isa)  TABLE_NAME_(isa)
#define ISA_TEXT_(isa)   #isa
#define ISA_TEXT(isa)    ISA_TEXT_(isa)

const struct pes_kernel_table TABLE_NAME(KERNEL_ISA) = {
    .isa = ISA_TEXT(KERNEL_ISA),
    .gemm_nn = gemm_nn,
    .gemm_tn_add = gemm_tn_add,
    .transpose = transpose,
    .attention_scratch = attention_scratch,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .attention_scores = attention_scores,
    .layernorm_forward = layernorm_forward,
    .layernorm_backward = layernorm_backward,
    .activation_backward = activation_backward,
    .dropout_copy = dropout_copy,
    .column_sum_add = column_sum_add,
    .cross_entropy = cross_entropy,
    .adamw_update = adamw_update,
    .sum_squares = sum_squares,
    .eigenvalue_lanes = EIGENVALUE_LANES,
    .hessenberg_eigenvalues = hessenberg_eigenvalues,
};
