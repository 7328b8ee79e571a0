/* composition.c - how heads read one another, and how a head copies tokens.
 *
 * With later M_2 = left^T right and earlier O_1 = a^T v (a = W_O^T, v = W_V), left = l_left q and v = l_v q'
 * by LQ:
 * ||M_2 O_1|| = ||l_left^T (right a^T) l_v||.  All heads of two layers share one product. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core.h"

/* out[n, C] = l^T rows for the triangle l of `factor` = l q: then out^T carries the same norms as the form.
 */
static bool times_triangle(size_t n, size_t C, const double *factor, const double *rows, double *l,
                           double *out, struct pes_arena *arena)
{
    size_t k = PES_MIN(n, C);
    if (!pes_lq(n, C, factor, l, NULL, arena)) return false;
    memset(out, 0, n * C * sizeof *out);
    pes_dgemm(true, false, k, C, n, 1, l, k, rows, C, 0, out, C);
    return true;
}

/* Forms of H heads as rows of one matrix [sum of n, C], each divided by its norm: l_left^T right of the M_2,
 * or l_v^T a of the O_1 (`values`).  usable[h]: the norm is neither 0 nor non-finite. */
static enum pes_status stack(int H, const struct pes_head *heads, bool values, struct pes_arena *arena,
                             double *rows, bool *usable, size_t *starts)
{
    size_t row = 0;
    for (int h = 0; h < H; h++) {
        struct pes_arena_mark mark = pes_arena_mark(arena);
        struct pes_form form;
        TRY(values ? pes_spectrum_value_form(&heads[h], true, arena, &form)
                   : pes_spectrum_form(&heads[h], true, arena, &form));
        size_t n = form.n, C = form.C;
        double *l = pes_arena_take(arena, n * n, sizeof *l), *out = rows + row * C;
        if (!l) return PES_MEMORY;
        bool ok = pes_all_finite(n * C, form.left) && pes_all_finite(n * C, form.right);
        ok = ok && (values ? times_triangle(n, C, form.right, form.left, l, out, arena)
                           : times_triangle(n, C, form.left, form.right, l, out, arena));
        if (!ok) TRY(pes_linalg_status());
        double norm = ok ? pes_norm(n * C, out) : NAN;
        usable[h] = norm > 0 && isfinite(norm);
        for (size_t i = 0; i < n * C; i++)
            out[i] = usable[h] ? out[i] / norm : 0;
        starts[h] = row;
        row += n;
        pes_arena_rewind(arena, mark);
    }
    starts[H] = row;
    return PES_OK;
}

static size_t num_rows(int H, const struct pes_head *heads, bool values)
{
    size_t rows = 0;
    for (int h = 0; h < H; h++)
        rows += (size_t)(values ? heads[h].Dv : heads[h].D);
    return rows;
}

enum pes_status pes_spectrum_k_composition(int H2, const struct pes_head *later, int H1,
                                           const struct pes_head *earlier, struct pes_arena *arena,
                                           double *scores)
{
    size_t h2 = (size_t)H2, h1 = (size_t)H1, C = (size_t)later[0].C;
    for (size_t i = 0; i < h2 * h1; i++)
        scores[i] = NAN;
    if (!later[0].key_folds) return PES_OK;
    struct pes_arena_mark mark = pes_arena_mark(arena);
    size_t rows2 = num_rows(H2, later, false), rows1 = num_rows(H1, earlier, true);
    double *m = pes_arena_take(arena, rows2 * C, sizeof *m), *o = pes_arena_take(arena, rows1 * C, sizeof *o);
    double *product = pes_arena_take(arena, rows2 * rows1, sizeof *product);
    bool *usable = pes_arena_take(arena, h2 + h1, sizeof *usable);
    size_t *starts = pes_arena_take(arena, h2 + h1 + 2, sizeof *starts);
    if (!m || !o || !product || !usable || !starts) return PES_MEMORY;
    size_t *starts1 = starts + h2 + 1;
    TRY(stack(H2, later, false, arena, m, usable, starts));
    TRY(stack(H1, earlier, true, arena, o, usable + h2, starts1));
    pes_dgemm(false, true, rows2, rows1, C, 1, m, C, o, C, 0, product, rows1);
    for (size_t i = 0; i < h2; i++)
        for (size_t j = 0; j < h1; j++) {
            double sum = 0;
            for (size_t a = starts[i]; a < starts[i + 1]; a++)
                for (size_t b = starts1[j]; b < starts1[j + 1]; b++)
                    sum += product[a * rows1 + b] * product[a * rows1 + b];
            if (usable[i] && usable[h2 + j]) scores[i * h1 + j] = sqrt(sum);
        }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}

enum pes_status pes_spectrum_token_product(size_t V, size_t C, const real *embed, const real *unembed,
                                           struct pes_arena *arena, double **token)
{
    enum { BLOCK = 256 }; /* tokens converted to double at a time */
    *token = pes_arena_take(arena, C * C, sizeof **token);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *blocks = pes_arena_take(arena, 2 * BLOCK * C, sizeof *blocks);
    if (!*token || !blocks) return PES_MEMORY;
    for (size_t first = 0; first < V; first += BLOCK) {
        size_t count = PES_MIN(V - first, (size_t)BLOCK);
        for (size_t i = 0; i < count * C; i++) {
            blocks[i] = (double)embed[first * C + i];
            blocks[BLOCK * C + i] = (double)unembed[first * C + i];
        }
        pes_dgemm(true, false, C, C, count, 1, blocks, C, blocks + BLOCK * C, C, 1, *token, C);
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}

enum pes_status pes_spectrum_copying(const struct pes_head *head, bool folded, const double *token,
                                     bool final_norm, const real *final_gain, struct pes_arena *arena,
                                     double *share)
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    size_t n = (size_t)head->Dv, C = (size_t)head->C;
    struct pes_form form;
    *share = NAN;
    TRY(pes_spectrum_value_form(head, false, arena, &form));
    double *v = pes_arena_take(arena, n * C, sizeof *v), *seen = pes_arena_take(arena, n * C, sizeof *seen);
    double *a = pes_arena_take(arena, n * C, sizeof *a), *core = pes_arena_take(arena, n * n, sizeof *core);
    double *values = pes_arena_take(arena, 2 * n, sizeof *values);
    if (!v || !seen || !a || !core || !values) return PES_MEMORY;
    /* The embedding enters through the norm in front, the output leaves through the last one. */
    bool folds = folded && head->key_folds, leaves = folded && final_norm;
    pes_form_fold(n, C, form.right, folds ? head->gain : NULL, folds && head->centred, v);
    pes_form_fold(n, C, form.left, NULL, leaves && head->centred, a);
    for (size_t i = 0; leaves && final_gain && i < n * C; i++)
        a[i] *= (double)final_gain[i % C];
    pes_dgemm(false, false, n, C, C, 1, v, C, token, C, 0, seen, C);
    pes_dgemm(false, true, n, n, C, 1, seen, C, a, C, 0, core, n);
    if (pes_eigenvalues(n, core, values, arena)) {
        /* Eigenvalues that are 0 to rounding have no sign: sums over C of products of this size. */
        double least =
            (double)C * DBL_EPSILON * pes_norm(n * C, v) * pes_norm(C * C, token) * pes_norm(n * C, a);
        size_t positive = 0;
        for (size_t i = 0; i < n; i++)
            positive += values[2 * i] > least;
        if (pes_norm(n * n, core) > 0) *share = (double)positive / (double)n;
    } else {
        TRY(pes_linalg_status());
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}
