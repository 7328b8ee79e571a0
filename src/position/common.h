/* common.h - what several positional schemes share. */
#ifndef PESWEEP_POSITION_COMMON_H
#define PESWEEP_POSITION_COMMON_H

#include "pesweep/position.h"

/* Adds to table[T][C] the sinusoids of Vaswani et al. 2017, sec. 3.5: column 2i has sin(t base^(-2i/C)),
 * column 2i + 1 the cosine.  Any width. */
void pes_position_add_sinusoids(int T, int C, double base, real *table);

/* Columns of a head of `width` that rotate under `fraction`: floor(fraction * width). */
int pes_position_rotated_columns(int width, double fraction);

/* PES_INPUT unless floor(fraction * width) is even and at least 2. */
enum pes_status pes_position_check_rotation(const char *scheme, int width, double fraction);

/* T5 buckets (Raffel et al. 2020, sec. 2.1) of the offset key - query; causal or bidirectional rule. */
int pes_position_bucket(int offset, int num_buckets, int max_distance, bool causal);
enum pes_status pes_position_check_buckets(const struct pes_position_site *site);
/* Toeplitz bias of one head from a table [num_buckets, H], and the way back. */
void pes_position_bucket_forward(const struct pes_position_site *site, const real *table, int head, int T,
                                 real *bias);
void pes_position_bucket_backward(const struct pes_position_site *site, real *dtable, int head, int T,
                                  const real *dbias);
extern const struct pes_key pes_position_bucket_keys[];

/* Slope of head `head` of H (Press et al. 2022, sec. 3): 2^(-8(h+1)/H) for powers of two, interleaved else.
 */
double pes_position_alibi_slope(int head, int H);

#endif
