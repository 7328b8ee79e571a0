/* linalg.h - dense linear algebra in double, and the BLAS behind it.
 *
 * The only way to LAPACK.  Inputs are scanned: a matrix with NaN or infinity is refused (false), since LAPACK
 * may hang or corrupt memory on it; outputs are scanned too.  Matrices are row-major and are not changed.
 * Nothing here is collective; one thread may use one arena at a time. */
#ifndef PESWEEP_LINALG_H
#define PESWEEP_LINALG_H

#include "pesweep/arena.h"

/* Sets the BLAS to `threads` threads (the OpenMP build obeys this per calling thread, and gives the number to
 * all later parallel loops of that thread, ours included). */
void pes_blas_set_threads(int threads);

/* Library build with its threading ("OpenBLAS 0.3.21 ... (OpenMP)"), and core type ("SkylakeX"). */
const char *pes_blas_config(void);
const char *pes_blas_core(void);

/* Small products, solves and eigenvalue problems with known answers; PES_INTERNAL with the residual if the
 * library computes wrongly on this machine.  Milliseconds. */
enum pes_status pes_linalg_self_test(void);

/* out[m, n] = alpha * op(a) op(b) + beta * out in double; op = transpose where trans_x; k is the summed size.
 */
void pes_dgemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, double alpha, const double *a,
               size_t lda, const double *b, size_t ldb, double beta, double *out, size_t ldo);

bool pes_all_finite(size_t count, const double *x);
double pes_dot(size_t count, const double *x, const double *y);
double pes_distance(size_t count, const double *x, const double *y, double factor); /* |x - factor y| */
double pes_largest(size_t count, const double *x);              /* largest |x[i]|, NaN left out; 0 of none */
void pes_scale_exponent(size_t count, double *x, int exponent); /* x *= 2^exponent */

/* Frobenius norm of x without overflow or underflow on the way. */
double pes_norm(size_t count, const double *x);

/* The rest returns false on non-finite input, lack of convergence, non-finite output or lack of memory (told
 * apart by pes_linalg_status); scratch is taken from the arena and given back. */

/* PES_MEMORY if the last of these calls in this thread failed for lack of memory, else PES_OK. */
enum pes_status pes_linalg_status(void);

/* `count` doubles as pes_arena_take gives them; NULL sets what pes_linalg_status returns. */
double *pes_linalg_take(struct pes_arena *arena, size_t count);

/* Eigenvalues of a general n x n matrix, in the order of pes_eigenvalues_sort: values[2i] + i values[2i+1].
 */
bool pes_eigenvalues(size_t n, const double *a, double *values, struct pes_arena *arena);

/* The same of `count` matrices a[count][n, n] together, in no order: values[count][n][re, im].  Several times
 * as fast.  For matrices whose entries are of one size: nothing is balanced or scaled. */
bool pes_eigenvalues_many(size_t count, size_t n, const double *a, double *values, struct pes_arena *arena);

/* |lambda| down, ties (relative 1e-12) by Re down, then Im down: conjugate pairs with +Im first. */
void pes_eigenvalues_sort(size_t n, double *values);

/* Schur form of a general matrix: values in the order of pes_eigenvalues_sort; *off_norm = Frobenius norm of
 * the strict upper triangle of the complex form (Henrici's departure, computed without cancellation).
 * *condition, if not NULL: largest over smallest singular value of the matrix of right eigenvectors with unit
 * columns; infinite if eigenvectors are lacking. */
bool pes_schur(size_t n, const double *a, double *values, double *off_norm, double *condition,
               struct pes_arena *arena);

/* Eigenvalues of a symmetric matrix (its upper triangle is read), ascending. */
bool pes_symmetric_eigenvalues(size_t n, const double *a, double *values, struct pes_arena *arena);

/* Singular values, descending, of a[m, n]; u[m, r], vt[r, n] with r = min(m, n), or NULL. */
bool pes_singular_values(size_t m, size_t n, const double *a, double *values, double *u, double *vt,
                         struct pes_arena *arena);

/* Thin QR of a[m, n], m >= n: r[n, n] upper triangular; q[m, n] or NULL. */
bool pes_qr(size_t m, size_t n, const double *a, double *q, double *r, struct pes_arena *arena);

/* a[m, n] = l q with k = min(m, n): l[m, k] lower trapezoidal, q[k, n] with orthonormal rows, or NULL. */
bool pes_lq(size_t m, size_t n, const double *a, double *l, double *q, struct pes_arena *arena);
/* The same; a, which has to be finite, is overwritten. */
bool pes_lq_in_place(size_t m, size_t n, double *a, double *l, double *q, struct pes_arena *arena);

/* q[m, n], m <= n, with orthonormal rows: a = l q where l has a positive diagonal (Gram-Schmidt), from the
 * Cholesky factor of a a^T.  Rounding errors are those of the condition number squared: for rows far from
 * dependent. */
bool pes_orthonormal_rows(size_t m, size_t n, const double *a, double *q, struct pes_arena *arena);

/* Orthonormal basis[*rank, n] of the space that the rows of a[m, n] span, each row counted at unit length:
 * rank is decided by a pivoted QR at max(m, n) rounding errors.  `basis` has room for min(m, n) rows. */
bool pes_row_basis(size_t m, size_t n, const double *a, double *basis, size_t *rank, struct pes_arena *arena);

#endif
