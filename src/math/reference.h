/* reference.h - the slow attention of reference_attention.c, for the table in reference.c. */
#ifndef PESWEEP_MATH_REFERENCE_H
#define PESWEEP_MATH_REFERENCE_H

#include "pesweep/kernels.h"

size_t pes_reference_attention_scratch(int T, int width, int value_width);
void pes_reference_attention_forward(const struct pes_attention *attention, real *o, size_t o_ld,
                                     real *log_sum_exp, real *scratch);
void pes_reference_attention_backward(const struct pes_attention *attention, const real *o, size_t o_ld,
                                      const real *log_sum_exp, const real *d_o, size_t d_o_ld, real *dq,
                                      real *dk, real *dv, real *dbias, real *scratch);
void pes_reference_attention_scores(const struct pes_attention *attention, real *scores, real *probabilities,
                                    real *scratch);

#endif
