/* kernel_eigenvalues.h - eigenvalues of several upper Hessenberg matrices at once, one to a lane.
 *
 * Francis's double-shift QR (Francis 1961; Martin, Peters & Wilkinson 1970) without vectors.  A sweep spans
 * the union of the lanes' active blocks [low, high]; a lane rests where the sweep is outside its own.
 * Columns right of `high` and rows above `low` only couple blocks: sweeps may change them, since no
 * eigenvalue depends on them. */
#ifndef PESWEEP_MATH_KERNEL_EIGENVALUES_H
#define PESWEEP_MATH_KERNEL_EIGENVALUES_H

#include <float.h>
#include <limits.h>

#include "kernel_vector.h"
#include "pesweep/kernels.h"

enum { BATCH = EIGENVALUE_LANES, MOST_SWEEPS = 60 /* for one eigenvalue */ };

typedef double batch __attribute__((vector_size(8 * BATCH)));

struct block {
    int low, high; /* high < 0: all eigenvalues are found */
    int sweeps;    /* since the last one was found */
};

/* I - w v^T with v = (1, v[0], v[1]), w = (w[0], w[1], w[2]); w = 0 in lanes that rest. */
struct reflector {
    batch v[2], w[3];
};

/* Both eigenvalues of [a b; c d], the real one nearer to d first, or the one with +Im. */
INLINE void two_by_two(double a, double b, double c, double d, double *first, double *second)
{
    double p = (a - d) / 2, bc = b * c, q = p * p + bc, root = sqrt(fabs(q));
    if (q < 0) {
        first[0] = second[0] = d + p;
        first[1] = root;
        second[1] = -root;
        return;
    }
    double z = p + copysign(root, p);
    first[0] = z != 0 ? d - bc / z : d;
    second[0] = d + z;
    first[1] = second[1] = 0;
}

/* Takes off eigenvalues at the bottom until the lane's block has three rows or more. */
INLINE bool deflate(double *h, size_t ld, int lane, double least, struct block *block, double *values)
{
#define H(i, j) h[((size_t)(i)*ld + (size_t)(j)) * BATCH + (size_t)lane]
    while (block->high >= 0) {
        int high = block->high, low = high;
        for (; low > 0; low--) {
            double scale = fabs(H(low - 1, low - 1)) + fabs(H(low, low));
            if (fabs(H(low, low - 1)) <= DBL_EPSILON * scale || fabs(H(low, low - 1)) <= least) break;
        }
        if (low > 0) H(low, low - 1) = 0;
        block->low = low;
        if (high - low > 1) return ++block->sweeps <= MOST_SWEEPS;
        double *last = values + 2 * high;
        if (low == high) {
            last[0] = H(high, high);
            last[1] = 0;
        } else {
            two_by_two(H(low, low), H(low, high), H(high, low), H(high, high), last - 2, last);
        }
        block->high = low - 1;
        block->sweeps = 0;
    }
    block->low = INT_MAX;
    return true;
}

/* First column of (H - s1)(H - s2) over H's first subdiagonal entry, for the two shifts of the lane's block.
 */
INLINE void first_column(const double *h, size_t ld, int lane, const struct block *block, double column[3])
{
    int low = block->low, high = block->high;
    double a = H(high - 1, high - 1), b = H(high - 1, high), c = H(high, high - 1), d = H(high, high);
    if (block->sweeps % 10 == 0) {
        /* What goes round in circles needs another shift (as LAPACK's dlahqr has it). */
        double size = fabs(c) + fabs(H(high - 1, high - 2));
        a = d += 0.75 * size;
        b = -0.4375 * size;
        c = size;
    }
    double shift[2][2];
    two_by_two(a, b, c, d, shift[0], shift[1]);
    /* Two real shifts: the nearer one twice. */
    double sum = shift[0][1] != 0 ? a + d : 2 * shift[0][0];
    double product = shift[0][1] != 0 ? a * d - b * c : shift[0][0] * shift[0][0];
    double x = H(low, low), y = H(low + 1, low + 1);
    column[0] = (x * x - sum * x + product) / H(low + 1, low) + H(low, low + 1);
    column[1] = x + y - sum;
    column[2] = H(low + 2, low + 1);
}
#undef H

/* Reflectors of all lanes that take x = (x0, x1, x2) to (image, 0, 0). */
INLINE struct reflector reflect(double x[3][BATCH], double image[BATCH])
{
    union {
        struct reflector vectors;
        double lanes[5][BATCH];
    } out;
    for (int lane = 0; lane < BATCH; lane++) {
        double size = fmax(fmax(fabs(x[0][lane]), fabs(x[1][lane])), fabs(x[2][lane]));
        double scale = size > 0 ? 1 / size : 0;
        double p = x[0][lane] * scale, q = x[1][lane] * scale, r = x[2][lane] * scale;
        double norm = copysign(sqrt(p * p + q * q + r * r), p), sum = p + norm;
        bool rests = !(size > 0);
        double over_sum = rests ? 0 : 1 / sum, over_norm = rests ? 0 : 1 / norm;
        out.lanes[0][lane] = q * over_sum;
        out.lanes[1][lane] = r * over_sum;
        out.lanes[2][lane] = sum * over_norm;
        out.lanes[3][lane] = q * over_norm;
        out.lanes[4][lane] = r * over_norm;
        image[lane] = -norm * size;
    }
    return out.vectors;
}

INLINE void turn_rows(batch *row0, batch *row1, batch *row2, int first, int last, const struct reflector *by)
{
    for (int j = first; j <= last; j++) {
        batch sum = row0[j] + by->v[0] * row1[j] + by->v[1] * row2[j];
        row0[j] -= sum * by->w[0];
        row1[j] -= sum * by->w[1];
        row2[j] -= sum * by->w[2];
    }
}

INLINE void turn_columns(batch *column, size_t ld, int first, int last, const struct reflector *by)
{
    for (int i = first; i <= last; i++) {
        batch *at = column + (size_t)i * ld;
        batch sum = by->w[0] * at[0] + by->w[1] * at[1] + by->w[2] * at[2];
        at[0] -= sum;
        at[1] -= sum * by->v[0];
        at[2] -= sum * by->v[1];
    }
}

/* One sweep: a bulge of each lane goes down its block. */
static void sweep(double *h, size_t ld, const struct block blocks[BATCH], double columns[BATCH][3])
{
    batch *matrix = (batch *)(void *)h;
    int low = INT_MAX, high = -1;
    for (int lane = 0; lane < BATCH; lane++) {
        low = PES_MIN(low, blocks[lane].low);
        high = PES_MAX(high, blocks[lane].high);
    }
    for (int k = low; k < high; k++) {
        double x[3][BATCH], image[BATCH];
        double *bulge = h + ((size_t)k * ld + (size_t)PES_MAX(k - 1, 0)) * BATCH;
        for (int lane = 0; lane < BATCH; lane++) {
            const struct block *block = &blocks[lane];
            bool first = k == block->low, inside = k > block->low && k < block->high;
            for (int i = 0; i < 3; i++) {
                double *entry = bulge + (size_t)i * ld * BATCH + lane;
                x[i][lane] = first ? columns[lane][i] : inside && k + i <= block->high ? *entry : 0;
            }
        }
        struct reflector by = reflect(x, image);
        for (int lane = 0; lane < BATCH; lane++) {
            if (k <= blocks[lane].low || k >= blocks[lane].high) continue;
            bulge[lane] = image[lane];
            bulge[ld * BATCH + (size_t)lane] = bulge[2 * ld * BATCH + (size_t)lane] = 0;
        }
        batch *row = matrix + (size_t)k * ld;
        turn_rows(row, row + ld, row + 2 * ld, k, high, &by);
        turn_columns(matrix + k, ld, low, PES_MIN(high, k + 3), &by);
    }
}

static bool hessenberg_eigenvalues(double *h, size_t n, double *values)
{
    size_t ld = n + 1;
    struct block blocks[BATCH];
    double least[BATCH] = {0}, columns[BATCH][3];
    for (size_t i = 0; i < ld * ld * BATCH; i++)
        least[i % BATCH] = fmax(least[i % BATCH], fabs(h[i]));
    for (int lane = 0; lane < BATCH; lane++) {
        blocks[lane] = (struct block){0, (int)n - 1, 0};
        least[lane] *= DBL_MIN / DBL_EPSILON;
    }
    for (;;) {
        int working = 0;
        for (int lane = 0; lane < BATCH; lane++) {
            if (!deflate(h, ld, lane, least[lane], &blocks[lane], values + 2 * n * (size_t)lane))
                return false;
            if (blocks[lane].high < 0) continue;
            working++;
            first_column(h, ld, lane, &blocks[lane], columns[lane]);
        }
        if (!working) return true;
        sweep(h, ld, blocks, columns);
    }
}

#endif
