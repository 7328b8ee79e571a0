/* linalg.h - dense linear algebra in double, and the BLAS behind it.
 *
 * The only way to LAPACK.  Inputs are scanned: a matrix with NaN or infinity is refused (false), since LAPACK
 * may hang or corrupt memory on it; outputs are scanned too.  Matrices are row-major and are not changed. */
#ifndef PESWEEP_LINALG_H
#define PESWEEP_LINALG_H

#include "pesweep/arena.h"

/* Sets the BLAS to `threads` threads before its first use (the OpenMP build obeys this per calling thread). */
void pes_blas_set_threads(int threads);

/* Library build, core type ("SkylakeX"), threading. */
const char *pes_blas_config(void);
const char *pes_blas_core(void);

/* Small products, solves and eigenvalue problems with known answers; PES_INTERNAL with the residual if the
 * library computes wrongly on this machine.  Milliseconds. */
enum pes_status pes_linalg_self_test(void);

/* out[m, n] = alpha * op(a) op(b) + beta * out in double; op = transpose where trans_x. */
void pes_dgemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, double alpha, const double *a, size_t lda,
               const double *b, size_t ldb, double beta, double *out, size_t ldo);

/* The rest returns false on non-finite input, lack of convergence or non-finite output; scratch is taken
 * from the arena and given back. */

/* Eigenvalues of a general n x n matrix, in the order of pes_eigenvalues_sort: values[2i] + i values[2i+1]. */
bool pes_eigenvalues(size_t n, const double *a, double *values, struct pes_arena *arena);

/* |lambda| down, ties (relative 1e-12) by Re down, then Im down: conjugate pairs with +Im first. */
void pes_eigenvalues_sort(size_t n, double *values);

/* Complex Schur form: values as above but in the order of the diagonal; *off_norm = Frobenius norm of the strict
 * upper triangle (Henrici's departure, computed without cancellation). */
bool pes_schur(size_t n, const double *a, double *values, double *off_norm, struct pes_arena *arena);

/* Largest over smallest singular value of the matrix of right eigenvectors (unit columns). */
bool pes_eigenvector_condition(size_t n, const double *a, double *condition, struct pes_arena *arena);

/* Eigenvalues of a symmetric matrix, ascending. */
bool pes_symmetric_eigenvalues(size_t n, const double *a, double *values, struct pes_arena *arena);

/* Singular values, descending, of a[m, n]; u[m, r], vt[r, n] with r = min(m, n), or NULL. */
bool pes_singular_values(size_t m, size_t n, const double *a, double *values, double *u, double *vt,
                         struct pes_arena *arena);

/* Thin QR of a[m, n], m >= n: r[n, n] upper triangular; q[m, n] or NULL. */
bool pes_qr(size_t m, size_t n, const double *a, double *q, double *r, struct pes_arena *arena);

bool pes_all_finite(size_t count, const double *x);

#endif
