/* linalg.c - eigenvalues, singular values and orthogonal factors through LAPACK.
 *
 * LAPACK is column-major, so it sees the transpose of every row-major matrix: eigenvalues, singular values
 * and the departure from normality are the same, left and right vectors change places, and QR of what it sees
 * is LQ here. */
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/kernels.h"
#include "pesweep/linalg.h"

static _Thread_local enum pes_status last_status;

enum pes_status pes_linalg_status(void)
{
    return last_status;
}

static lapack_int lapack_size(size_t n)
{
    CHECK(n <= INT_MAX);
    return (lapack_int)n;
}

double *pes_linalg_take(struct pes_arena *arena, size_t count)
{
    double *memory = pes_arena_take(arena, count, sizeof(double));
    if (!memory) last_status = PES_MEMORY;
    return memory;
}

/* A copy that LAPACK may destroy; NULL if it isn't finite or there is no memory. */
static double *take_copy(struct pes_arena *arena, size_t count, const double *x)
{
    last_status = PES_OK;
    if (!pes_all_finite(count, x)) return NULL;
    double *copy = pes_linalg_take(arena, count);
    return copy ? memcpy(copy, x, count * sizeof *copy) : NULL;
}

/* --- eigenvalues
 * ------------------------------------------------------------------------------------------------- */

static int compare_down(double a, double b)
{
    return (a < b) - (a > b);
}

static int compare_modulus(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return compare_down(hypot(x[0], x[1]), hypot(y[0], y[1]));
}

static int compare_real(const void *a, const void *b)
{
    return compare_down(*(const double *)a, *(const double *)b);
}

static int compare_imaginary(const void *a, const void *b)
{
    return compare_down(((const double *)a)[1], ((const double *)b)[1]);
}

/* Length of the run from `first` whose key stays within `slack` of the first one's. */
static size_t run_length(size_t n, const double *values, size_t first, bool modulus, double slack)
{
    const double *leader = values + 2 * first;
    double key = modulus ? hypot(leader[0], leader[1]) : leader[0];
    size_t length = 1;
    for (; first + length < n; length++) {
        const double *next = leader + 2 * length;
        if (fabs(key - (modulus ? hypot(next[0], next[1]) : next[0])) > slack) break;
    }
    return length;
}

void pes_eigenvalues_sort(size_t n, double *values)
{
    /* "Equal within a tolerance" is no order, so the values are sorted exactly, then runs of ties within. */
    size_t pair = 2 * sizeof *values;
    qsort(values, n, pair, compare_modulus);
    for (size_t i = 0; i < n;) {
        double slack = 1e-12 * hypot(values[2 * i], values[2 * i + 1]);
        size_t tied = run_length(n, values, i, true, slack);
        qsort(values + 2 * i, tied, pair, compare_real);
        for (size_t end = i + tied; i < end;) {
            size_t equal = run_length(end, values, i, false, slack);
            qsort(values + 2 * i, equal, pair, compare_imaginary);
            i += equal;
        }
    }
}

/* Real and imaginary parts side by side, scanned and sorted. */
static bool finish_values(size_t n, const double *re, const double *im, double *values)
{
    for (size_t i = 0; i < n; i++) {
        values[2 * i] = re[i];
        values[2 * i + 1] = im[i];
    }
    if (!pes_all_finite(2 * n, values)) return false;
    pes_eigenvalues_sort(n, values);
    return true;
}

bool pes_eigenvalues(size_t n, const double *a, double *values, struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    lapack_int size = lapack_size(n), lwork = lapack_size(8 * n);
    double *copy = take_copy(arena, n * n, a), *re = pes_linalg_take(arena, n),
           *im = pes_linalg_take(arena, n);
    double *work = pes_linalg_take(arena, 8 * n), unused = 0;
    bool ok = copy && re && im && work &&
              LAPACKE_dgeev_work(LAPACK_COL_MAJOR, 'N', 'N', size, copy, size, re, im, &unused, 1, &unused, 1,
                                 work, lwork) == 0 &&
              finish_values(n, re, im, values);
    pes_arena_rewind(arena, mark);
    return ok;
}

/* One matrix into a lane of those that pes_hessenberg_eigenvalues takes. */
static bool reduce_into_lane(size_t n, const double *a, double *copy, double *tau, double *work, size_t lane,
                             size_t lanes, double *h)
{
    lapack_int size = lapack_size(n);
    memcpy(copy, a, n * n * sizeof *copy);
    if (LAPACKE_dgehrd_work(LAPACK_COL_MAJOR, size, 1, size, copy, size, tau, work, lapack_size(64 * n)))
        return false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i ? i - 1 : 0; j < n; j++)
            h[(i * (n + 1) + j) * lanes + lane] = copy[j * n + i];
    return true;
}

bool pes_eigenvalues_many(size_t count, size_t n, const double *a, double *values, struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    last_status = PES_OK;
    const size_t lanes = pes_eigenvalue_lanes(), h_size = (n + 1) * (n + 1) * lanes;
    double *h = pes_linalg_take(arena, h_size), *found = pes_linalg_take(arena, 2 * n * lanes);
    double *copy = pes_linalg_take(arena, n * n), *tau = pes_linalg_take(arena, n),
           *work = pes_linalg_take(arena, 64 * n);
    bool ok = h && found && copy && tau && work && pes_all_finite(count * n * n, a);
    for (size_t first = 0; ok && first < count; first += lanes) {
        size_t filled = PES_MIN(count - first, lanes);
        memset(h, 0, h_size * sizeof *h);
        for (size_t lane = 0; ok && lane < filled; lane++)
            ok = reduce_into_lane(n, a + (first + lane) * n * n, copy, tau, work, lane, lanes, h);
        ok = ok && pes_hessenberg_eigenvalues(h, n, found);
        if (ok) memcpy(values + 2 * n * first, found, 2 * n * filled * sizeof *found);
    }
    ok = ok && pes_all_finite(2 * n * count, values);
    pes_arena_rewind(arena, mark);
    return ok;
}

/* Norm of the strict upper triangle of the complex Schur form from the real one, t (column-major).  A 2 x 2
 * block [a b; c a] with bc < 0 becomes triangular by a rotation that leaves all other norms alone; its corner
 * is |b| - |c|. */
static double off_diagonal_norm(size_t n, const double *t, const double *im)
{
    double sum = 0;
    for (size_t column = 0; column < n; column++)
        for (size_t row = 0; row < column; row++) {
            double x = t[column * n + row];
            if (row + 1 == column && im[row] > 0) x = fabs(x) - fabs(t[row * n + column]);
            sum += x * x;
        }
    return sqrt(sum);
}

/* Ratio of the extreme singular values of the unit eigenvectors of the quasi-triangular t.  Right vectors of
 * the caller's matrix are left ones of what LAPACK sees.  A complex pair x +- iy spans the same as sqrt(2)
 * {x, y} by a unitary map, so a real matrix is enough. */
static bool eigenvector_condition(size_t n, const double *t, const double *im, double *condition,
                                  struct pes_arena *arena)
{
    lapack_int size = lapack_size(n), found = 0;
    double *vectors = pes_linalg_take(arena, n * n), *work = pes_linalg_take(arena, 3 * n),
           *sigma = pes_linalg_take(arena, n), unused = 0;
    if (!vectors || !work || !sigma ||
        LAPACKE_dtrevc_work(LAPACK_COL_MAJOR, 'L', 'A', NULL, size, t, size, vectors, size, &unused, size,
                            size, &found, work))
        return false;
    if (!pes_all_finite(n * n, vectors)) {
        *condition = INFINITY;
        return true;
    }
    for (size_t j = 0; j < n; j++) {
        size_t columns = im[j] > 0 ? 2 : 1;
        double *x = vectors + j * n, scale = sqrt((double)columns) / pes_norm(columns * n, x);
        for (size_t i = 0; i < columns * n; i++)
            x[i] *= scale;
        j += columns - 1;
    }
    if (!pes_singular_values(n, n, vectors, sigma, NULL, NULL, arena)) return false;
    *condition = sigma[n - 1] > 0 ? sigma[0] / sigma[n - 1] : INFINITY;
    return true;
}

bool pes_schur(size_t n, const double *a, double *values, double *off_norm, double *condition,
               struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    lapack_int size = lapack_size(n), lwork = lapack_size(8 * n), selected = 0;
    double *t = take_copy(arena, n * n, a), *re = pes_linalg_take(arena, n), *im = pes_linalg_take(arena, n);
    double *work = pes_linalg_take(arena, 8 * n), unused = 0;
    bool ok = t && re && im && work &&
              LAPACKE_dgees_work(LAPACK_COL_MAJOR, 'N', 'N', NULL, size, t, size, &selected, re, im, &unused,
                                 1, work, lwork, NULL) == 0;
    if (ok) {
        *off_norm = off_diagonal_norm(n, t, im);
        ok = isfinite(*off_norm) && (!condition || eigenvector_condition(n, t, im, condition, arena)) &&
             finish_values(n, re, im, values);
    }
    pes_arena_rewind(arena, mark);
    return ok;
}

bool pes_symmetric_eigenvalues(size_t n, const double *a, double *values, struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    lapack_int size = lapack_size(n), lwork = lapack_size(34 * n);
    double *copy = take_copy(arena, n * n, a), *work = pes_linalg_take(arena, 34 * n);
    /* The upper triangle of a row-major matrix is the lower one of what LAPACK sees. */
    bool ok = copy && work &&
              LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'L', size, copy, size, values, work, lwork) == 0 &&
              pes_all_finite(n, values);
    pes_arena_rewind(arena, mark);
    return ok;
}

/* --- singular values and orthogonal factors
 * ------------------------------------------------------------------------ */

bool pes_singular_values(size_t m, size_t n, const double *a, double *values, double *u, double *vt,
                         struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    size_t r = PES_MIN(m, n);
    lapack_int rows = lapack_size(n), columns = lapack_size(m), rank = lapack_size(r);
    bool vectors = u || vt;
    double *copy = take_copy(arena, m * n, a), most = 0;
    lapack_int *integers = pes_arena_take(arena, 8 * r, sizeof *integers);
    if (!integers) last_status = PES_MEMORY;
    if (vectors && !u) u = pes_linalg_take(arena, m * r);
    if (vectors && !vt) vt = pes_linalg_take(arena, r * n);
    bool ok = copy && integers && (!vectors || (u && vt));
    char job = vectors ? 'S' : 'N';
    ok = ok && LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, rows, columns, copy, rows, values, vt, rows, u,
                                   rank, &most, -1, integers) == 0;
    double *work = ok ? pes_linalg_take(arena, (size_t)most) : NULL;
    ok = work && LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, rows, columns, copy, rows, values, vt, rows, u,
                                     rank, work, lapack_size((size_t)most), integers) == 0;
    ok = ok && pes_all_finite(r, values) &&
         (!vectors || (pes_all_finite(m * r, u) && pes_all_finite(r * n, vt)));
    pes_arena_rewind(arena, mark);
    return ok;
}

enum { BLOCK = 32 }; /* columns that LAPACK's QR takes at once */

bool pes_lq_in_place(size_t m, size_t n, double *a, double *l, double *q, struct pes_arena *arena)
{
    last_status = PES_OK;
    struct pes_arena_mark mark = pes_arena_mark(arena);
    size_t k = PES_MIN(m, n), block = PES_MIN(k, (size_t)BLOCK);
    lapack_int rows = lapack_size(n), columns = lapack_size(m), rank = lapack_size(k);
    lapack_int lwork = lapack_size(BLOCK * PES_MAX(m, 1)), wide = lapack_size(block);
    double *t = pes_linalg_take(arena, block * k), *work = pes_linalg_take(arena, (size_t)lwork);
    /* dgeqrt's panels are recursive: for long columns twice as fast as dgeqrf's. */
    bool ok =
        t && work && LAPACKE_dgeqrt_work(LAPACK_COL_MAJOR, rows, columns, wide, a, rows, t, wide, work) == 0;
    if (ok) {
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < k; j++)
                l[i * k + j] = j <= i ? a[i * n + j] : 0;
        ok = pes_all_finite(m * k, l);
    }
    if (ok && q) {
        /* The factors of the reflectors stand on the diagonals of the panels' triangles. */
        for (size_t i = 0; i < k; i++)
            t[i] = t[i * block + i % block];
        ok = LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, rank, rank, a, rows, t, work, lwork) == 0;
        memcpy(q, a, k * n * sizeof *q);
        ok = ok && pes_all_finite(k * n, q);
    }
    pes_arena_rewind(arena, mark);
    return ok;
}

bool pes_lq(size_t m, size_t n, const double *a, double *l, double *q, struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *copy = take_copy(arena, m * n, a);
    bool ok = copy && pes_lq_in_place(m, n, copy, l, q, arena);
    pes_arena_rewind(arena, mark);
    return ok;
}

bool pes_qr(size_t m, size_t n, const double *a, double *q, double *r, struct pes_arena *arena)
{
    CHECK(m >= n);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    /* a = q r is LQ of the transpose: a^T = r^T q^T. */
    double *transposed = pes_linalg_take(arena, m * n), *l = pes_linalg_take(arena, n * n),
           *rows = q ? pes_linalg_take(arena, m * n) : NULL;
    last_status = transposed && l && (!q || rows) ? PES_OK : PES_MEMORY;
    bool ok = last_status == PES_OK;
    if (ok) {
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++)
                transposed[j * m + i] = a[i * n + j];
        ok = pes_lq(n, m, transposed, l, rows, arena);
    }
    for (size_t i = 0; ok && i < n; i++)
        for (size_t j = 0; j < n; j++)
            r[i * n + j] = l[j * n + i];
    for (size_t i = 0; ok && q && i < m; i++)
        for (size_t j = 0; j < n; j++)
            q[i * n + j] = rows[j * m + i];
    pes_arena_rewind(arena, mark);
    return ok;
}

bool pes_orthonormal_rows(size_t m, size_t n, const double *a, double *q, struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    lapack_int rows = lapack_size(m), columns = lapack_size(n);
    last_status = PES_OK;
    double *l = pes_linalg_take(arena, m * m);
    bool ok = l && pes_all_finite(m * n, a);
    if (ok) {
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, rows, columns, 1, a, columns, 0, l, rows);
        /* The lower triangle of a row-major matrix is the upper one of what LAPACK sees. */
        ok = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', rows, l, rows) == 0;
    }
    if (ok) {
        memcpy(q, a, m * n * sizeof *q);
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, rows, columns, 1, l,
                    rows, q, columns);
        ok = pes_all_finite(m * n, q);
    }
    pes_arena_rewind(arena, mark);
    return ok;
}

bool pes_row_basis(size_t m, size_t n, const double *a, double *basis, size_t *rank, struct pes_arena *arena)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    size_t k = PES_MIN(m, n), found = 0;
    lapack_int rows = lapack_size(n), columns = lapack_size(m);
    lapack_int lwork = lapack_size(2 * m + (m + 1) * BLOCK);
    double *copy = take_copy(arena, m * n, a), *tau = pes_linalg_take(arena, k),
           *work = pes_linalg_take(arena, (size_t)lwork);
    lapack_int *pivots = pes_arena_take(arena, m, sizeof *pivots);
    if (!pivots) last_status = PES_MEMORY;
    bool ok = copy && tau && work && pivots;
    for (size_t i = 0; ok && i < m; i++) {
        double length = pes_norm(n, copy + i * n);
        for (size_t j = 0; length > 0 && j < n; j++)
            copy[i * n + j] /= length;
    }
    ok =
        ok && LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, rows, columns, copy, rows, pivots, tau, work, lwork) == 0;
    if (ok) {
        double least = (double)PES_MAX(m, n) * DBL_EPSILON * fabs(copy[0]);
        while (found < k && fabs(copy[found * n + found]) > least)
            found++;
        lapack_int kept = lapack_size(found);
        ok = !found ||
             (LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, rows, kept, kept, copy, rows, tau, work, lwork) == 0 &&
              pes_all_finite(found * n, copy));
        if (ok) memcpy(basis, copy, found * n * sizeof *basis);
    }
    *rank = found;
    pes_arena_rewind(arena, mark);
    return ok;
}
