/* multiple.c - p values of a family: Holm's step-down and the step-up of Benjamini and Hochberg. */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    double p;
    size_t i;
};

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->p != b->p) return (a->p > b->p) - (a->p < b->p);
    return (a->i > b->i) - (a->i < b->i);
}

/* The p values that are there, ascending. */
static enum pes_status sorted(size_t n, const double *p, struct entry **entries, size_t *family)
{
    *family = 0;
    *entries = pes_allocate(n, sizeof **entries);
    if (!*entries) return PES_MEMORY;
    for (size_t i = 0; i < n; i++)
        if (!isnan(p[i])) (*entries)[(*family)++] = (struct entry){p[i], i};
    qsort(*entries, *family, sizeof **entries, compare);
    return PES_OK;
}

/* max over j <= i of min(1, (m - j) p_(j)), j from 0. */
enum pes_status pes_stat_holm(size_t n, const double *p, double *adjusted)
{
    struct entry *entries;
    size_t m;
    TRY(sorted(n, p, &entries, &m));
    double largest = 0;
    memmove(adjusted, p, n * sizeof *p);
    for (size_t j = 0; j < m; j++) {
        largest = PES_MAX(largest, PES_MIN(1, (double)(m - j) * entries[j].p));
        adjusted[entries[j].i] = largest;
    }
    pes_free(entries);
    return PES_OK;
}

/* min over j >= i of min(1, m p_(j)/(j + 1)), j from 0. */
enum pes_status pes_stat_benjamini_hochberg(size_t n, const double *p, double *adjusted)
{
    struct entry *entries;
    size_t m;
    TRY(sorted(n, p, &entries, &m));
    double smallest = 1;
    memmove(adjusted, p, n * sizeof *p);
    for (size_t j = m; j-- > 0;) {
        smallest = PES_MIN(smallest, (double)m / (double)(j + 1) * entries[j].p);
        adjusted[entries[j].i] = smallest;
    }
    pes_free(entries);
    return PES_OK;
}
