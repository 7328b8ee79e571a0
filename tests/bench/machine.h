/* machine.h - what the benchmarks measure against: a clock and the machine's own matrix product. */
#ifndef PESWEEP_BENCH_MACHINE_H
#define PESWEEP_BENCH_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* Seconds of a monotonic clock; after machine_use_cpu_time() of this thread's processor time, which others on
 * the same machine disturb less. */
double machine_now(void);
void machine_use_cpu_time(void);

/* Gflop/s of one cblas_sgemm (cblas_dgemm in the double build) of size^3 on one thread; the matrices are made
 * at the first call and kept.  0 if there is no memory. */
double machine_gemm_rate(size_t size);

double machine_minimum(const double *x, size_t n);
/* Sorts x. */
double machine_median(double *x, size_t n);

/* Whether OPENBLAS_CORETYPE makes the machine's own product slower than it could be. */
bool machine_blas_forced(void);

/* "kernel <ISA>, BLAS <core>, <processor>": one line of text, static. */
const char *machine_description(void);

/* Pins this thread to the processor it runs on. */
void machine_pin(void);

#endif
