/* form.c - a head's factors, raw or as the normalised stream sees them. */
#include "core.h"

void pes_form_fold(size_t n, size_t C, const double *rows, const double *gain, bool centred, double *out)
{
    for (size_t i = 0; i < n; i++) {
        const double *row = rows + i * C;
        double sum = 0;
        for (size_t c = 0; c < C; c++) {
            out[i * C + c] = gain ? row[c] * gain[c] : row[c];
            sum += out[i * C + c];
        }
        for (size_t c = 0; centred && c < C; c++)
            out[i * C + c] -= sum / (double)C;
    }
}

static double *take_folded(size_t n, size_t C, const double *rows, const double *gain, bool centred,
                           struct pes_arena *arena)
{
    double *out = pes_arena_take(arena, n * C, sizeof *out);
    if (out) pes_form_fold(n, C, rows, gain, centred, out);
    return out;
}

enum pes_status pes_spectrum_form(const struct pes_head *head, bool folded, struct pes_arena *arena,
                                  struct pes_form *form)
{
    size_t D = (size_t)head->D, C = (size_t)head->C;
    *form = (struct pes_form){D, C, head->wq, head->wk, C};
    if (!folded) return PES_OK;
    if (head->query_folds) form->left = take_folded(D, C, head->wq, head->gain, head->centred, arena);
    if (head->key_folds) form->right = take_folded(D, C, head->wk, head->gain, head->centred, arena);
    if (head->centred && head->query_folds && head->key_folds) form->dimension = C - 1;
    return form->left && form->right ? PES_OK : PES_MEMORY;
}

enum pes_status pes_spectrum_value_form(const struct pes_head *head, bool folded, struct pes_arena *arena,
                                        struct pes_form *form)
{
    size_t Dv = (size_t)head->Dv, C = (size_t)head->C;
    double *columns = pes_arena_take(arena, Dv * C, sizeof *columns);
    if (!columns) return PES_MEMORY;
    for (size_t c = 0; c < C; c++)
        for (size_t e = 0; e < Dv; e++)
            columns[e * C + c] = head->wo[c * Dv + e];
    *form = (struct pes_form){Dv, C, columns, head->wv, C};
    if (!folded) return PES_OK;
    /* What reads the output normalises it first, so its mean over the C outputs never counts. */
    form->left = take_folded(Dv, C, columns, NULL, head->centred, arena);
    if (head->key_folds) form->right = take_folded(Dv, C, head->wv, head->gain, head->centred, arena);
    if (head->centred && head->key_folds) form->dimension = C - 1;
    return form->left && form->right ? PES_OK : PES_MEMORY;
}
