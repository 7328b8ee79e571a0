/* published.c - what the public code beside arXiv 2505.13027 does in place of a rotation.
 *
 * It puts the sines of all n angles and then their cosines into one row of 2n numbers, and takes the even
 * places of that row for sines, the odd ones for cosines: pair t is turned by (row[2t + 1], row[2t]), two
 * numbers that belong to different angles, or are both sines, or both cosines. */
#include "internal.h"

#include <string.h>

void pes_published_rotation(real *table, int T, int pairs)
{
    enum { MOST_PAIRS = 512 };
    real row[2 * MOST_PAIRS];
    CHECK(pairs <= MOST_PAIRS);
    size_t n = (size_t)pairs;
    for (size_t i = 0; i < (size_t)T; i++) {
        real *pair = table + 2 * i * n;
        for (size_t t = 0; t < n; t++) {
            row[t] = pair[2 * t + 1];
            row[n + t] = pair[2 * t];
        }
        for (size_t t = 0; t < n; t++) {
            pair[2 * t] = row[2 * t + 1];
            pair[2 * t + 1] = row[2 * t];
        }
    }
}
