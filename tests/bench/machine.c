/* machine.c - clock, pinning and the machine's own matrix product. */
#define _GNU_SOURCE
#include "machine.h"

#include "pesweep/kernels.h"
#include "pesweep/linalg.h"

#include <cblas.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static clockid_t the_clock = CLOCK_MONOTONIC;

void machine_use_cpu_time(void)
{
    the_clock = CLOCK_THREAD_CPUTIME_ID;
}

double machine_now(void)
{
    struct timespec t;
    clock_gettime(the_clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void gemm(size_t size, const real *a, const real *b, real *c)
{
    const blasint n = (blasint)size;
#ifdef PES_DOUBLE
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
#else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
#endif
}

double machine_gemm_rate(size_t size)
{
    static real *matrices;
    static size_t made;
    if (made < size) {
        free(matrices);
        matrices = calloc(3 * size * size, sizeof *matrices);
        if (!matrices) return 0;
        for (size_t i = 0; i < 2 * size * size; i++)
            matrices[i] = (real)(i % 11) * (real)0.1 - (real)0.5;
        made = size;
        pes_blas_set_threads(1);
        gemm(size, matrices, matrices + size * size, matrices + 2 * size * size); /* touches the pages */
    }
    double start = machine_now();
    gemm(size, matrices, matrices + size * size, matrices + 2 * size * size);
    double n = (double)size;
    return 2 * n * n * n / (machine_now() - start) * 1e-9;
}

double machine_minimum(const double *x, size_t n)
{
    double least = x[0];
    for (size_t i = 1; i < n; i++) {
        if (x[i] < least) least = x[i];
    }
    return least;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double machine_median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, compare);
    return n % 2 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

bool machine_blas_forced(void)
{
    return getenv("OPENBLAS_CORETYPE") != NULL;
}

const char *machine_description(void)
{
    static char text[512];
    char line[256], processor[200] = "unknown processor";
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info && fgets(line, sizeof line, info)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(processor, sizeof processor, "%s", colon + 2);
        break;
    }
    if (info) fclose(info);
    snprintf(text, sizeof text, "kernels %s, BLAS %s%s, %s", pes_kernels_isa(), pes_blas_core(),
             machine_blas_forced() ? " (forced by OPENBLAS_CORETYPE)" : "", processor);
    return text;
}

void machine_pin(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)sched_getcpu(), &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}
