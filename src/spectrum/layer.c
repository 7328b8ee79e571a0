/* layer.c - a whole layer's form, the sum over its heads, block of rows by block of rows: C x C never exists.
 */
#include <math.h>
#include <string.h>

#include "core.h"

enum { BLOCK = 64 }; /* rows and columns of M at a time */

/* Sum of what lies above mean + 2 sample deviations. */
static double excess(size_t count, const double *norms)
{
    double mean = 0, variance = 0, sum = 0;
    for (size_t i = 0; i < count; i++)
        mean += norms[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        variance += (norms[i] - mean) * (norms[i] - mean);
    double bound = mean + 2 * sqrt(variance / (double)(count - 1));
    for (size_t i = 0; i < count; i++)
        sum += fmax(norms[i] - bound, 0);
    return sum;
}

/* rows[2][n, C]: all heads' folded W_q and W_k, each scaled near 1 so that no square overflows. */
static enum pes_status stack(int H, const struct pes_head *heads, bool folded, struct pes_arena *arena,
                             double *rows[2])
{
    size_t row = 0, C = (size_t)heads[0].C;
    for (int h = 0; h < H; h++) {
        struct pes_arena_mark mark = pes_arena_mark(arena);
        struct pes_form form;
        TRY(pes_spectrum_form(&heads[h], folded, arena, &form));
        memcpy(rows[0] + row * C, form.left, form.n * C * sizeof(double));
        memcpy(rows[1] + row * C, form.right, form.n * C * sizeof(double));
        row += form.n;
        pes_arena_rewind(arena, mark);
    }
    for (int side = 0; side < 2; side++) {
        double largest = 0;
        for (size_t i = 0; i < row * C; i++)
            largest = fmax(largest, fabs(rows[side][i]));
        if (largest > 0 && isfinite(largest))
            for (size_t i = 0; i < row * C; i++)
                rows[side][i] = scalbn(rows[side][i], -ilogb(largest));
    }
    return PES_OK;
}

enum pes_status pes_spectrum_layer(int H, const struct pes_head *heads, bool folded, struct pes_arena *arena,
                                   double *symmetry, double *directionality)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    size_t C = (size_t)heads[0].C, n = 0;
    *symmetry = *directionality = NAN;
    for (int h = 0; h < H; h++)
        n += (size_t)heads[h].D;
    double *rows[2] = {pes_arena_take(arena, n * C, sizeof(double)),
                       pes_arena_take(arena, n * C, sizeof(double))};
    double *m = pes_arena_take(arena, BLOCK * C, sizeof *m),
           *mt = pes_arena_take(arena, BLOCK * C, sizeof *mt);
    double *norms = pes_arena_take(arena, 2 * C, sizeof *norms);
    if (!rows[0] || !rows[1] || !m || !mt || !norms) return PES_MEMORY;
    TRY(stack(H, heads, folded, arena, rows));
    if (pes_all_finite(n * C, rows[0]) && pes_all_finite(n * C, rows[1])) {
        double symmetric = 0, antisymmetric = 0;
        for (size_t first = 0; first < C; first += BLOCK) {
            /* Rows [first, first + count) of M and of its transpose. */
            size_t count = PES_MIN(C - first, (size_t)BLOCK);
            pes_dgemm(true, false, count, C, n, 1, rows[0] + first, C, rows[1], C, 0, m, C);
            pes_dgemm(true, false, count, C, n, 1, rows[1] + first, C, rows[0], C, 0, mt, C);
            for (size_t i = 0; i < count; i++) {
                norms[first + i] = pes_norm(C, m + i * C);
                norms[C + first + i] = pes_norm(C, mt + i * C);
            }
            for (size_t i = 0; i < count * C; i++) {
                symmetric += (m[i] + mt[i]) * (m[i] + mt[i]);
                antisymmetric += (m[i] - mt[i]) * (m[i] - mt[i]);
            }
        }
        if (symmetric + antisymmetric > 0) {
            double row = excess(C, norms), column = excess(C, norms + C);
            *symmetry = (symmetric - antisymmetric) / (symmetric + antisymmetric);
            *directionality = row + column > 0 ? (row - column) / (row + column) : 0;
        }
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}
