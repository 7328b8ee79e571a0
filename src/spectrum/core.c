/* core.c - from two factors to the core.
 *
 * [left; right] = l q by one LQ; left reaches the first p columns of l only, so M = left^T right = q^T
 * (l_left^T l_right) q has p rows that aren't 0.  left_i 2^-e and right_i 2^e give the same M: rows are
 * balanced that way first, and all scaled near 1, so that no product overflows or vanishes.  Scaling by
 * powers of two is exact. */
#include "core.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum pes_status pes_core_failed(unsigned flag, unsigned *flags)
{
    *flags |= flag;
    return pes_linalg_status();
}

/* Exponent of the largest entry; INT_MIN for a row of zeros. */
static int row_exponent(size_t C, const double *row)
{
    double largest = pes_largest(C, row);
    return largest > 0 ? ilogb(largest) : INT_MIN;
}

/* Balances rows[2n, C] in place, exponents[2n] is scratch; the exponent of M against that of the balanced
 * rows.  A row opposite to a row of zeros adds nothing to M and goes to the common size. */
static int balance(size_t n, size_t C, double *rows, int *exponents)
{
    int common = INT_MIN;
    for (size_t i = 0; i < 2 * n; i++)
        exponents[i] = row_exponent(C, rows + i * C);
    for (size_t i = 0; i < n; i++) {
        int left = exponents[i], right = exponents[n + i];
        if (left != INT_MIN && right != INT_MIN) common = PES_MAX(common, (left + right + 1) / 2);
    }
    if (common == INT_MIN) common = 0;
    for (size_t i = 0; i < n; i++) {
        double *row[2] = {rows + i * C, rows + (n + i) * C};
        const int exponent[2] = {exponents[i], exponents[n + i]};
        if (exponent[0] != INT_MIN && exponent[1] != INT_MIN) {
            int shift = (exponent[0] - exponent[1]) / 2;
            pes_scale_exponent(C, row[0], -shift - common);
            pes_scale_exponent(C, row[1], shift - common);
        } else {
            for (int side = 0; side < 2; side++)
                if (exponent[side] != INT_MIN) pes_scale_exponent(C, row[side], -exponent[side]);
        }
    }
    return 2 * common;
}

enum pes_status pes_core_build(const struct pes_form *form, struct pes_arena *arena, struct pes_core *core)
{
    size_t n = form->n, C = form->C, r = PES_MIN(C, 2 * n), p = PES_MIN(n, r);
    *core = (struct pes_core){.n = n, .p = p, .r = r};
    double *l = pes_arena_take(arena, 2 * n * r, sizeof *l), *b = pes_arena_take(arena, p * r, sizeof *b);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *rows = pes_arena_take(arena, 2 * n * C, sizeof *rows);
    int *exponents = pes_arena_take(arena, 2 * n, sizeof *exponents);
    if (!l || !b || !rows || !exponents) return PES_MEMORY;
    core->b = b;
    core->rows = l;
    memcpy(rows, form->left, n * C * sizeof *rows);
    memcpy(rows + n * C, form->right, n * C * sizeof *rows);
    if (!pes_all_finite(2 * n * C, rows)) {
        core->flags = PES_FLAG_NON_FINITE;
        pes_arena_rewind(arena, mark);
        return PES_OK;
    }
    core->exponent = balance(n, C, rows, exponents);
    for (size_t i = 0; i < n; i++) {
        const double *left = rows + i * C, *right = rows + (n + i) * C;
        core->size += pes_norm(C, left) * pes_norm(C, right);
        core->trace += pes_dot(C, left, right);
    }
    bool ok = pes_lq_in_place(2 * n, C, rows, l, NULL, arena);
    pes_arena_rewind(arena, mark);
    if (!ok) return pes_core_failed(PES_FLAG_NO_CONVERGENCE, &core->flags);
    pes_dgemm(true, false, p, r, n, 1, l, r, l + n * r, r, 0, b, r);
    core->norm = pes_norm(p * r, b);
    if (core->norm <= (double)n * DBL_EPSILON * core->size) core->flags |= PES_FLAG_ZERO;
    return PES_OK;
}
