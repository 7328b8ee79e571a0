/* kernels_avx2.c - the kernels for x86-64-v3: 16 registers of 256 bits. */
#if defined(__AVX2__)
#define KERNEL_ISA          avx2
#define KERNEL_AVX2         1
#define KERNEL_VECTOR_BYTES 32
#define TILE_VECTORS        2
#define KEY_TILE            4
#define PACK_ROWS           48 /* rows from which copying b pays */
#define EIGENVALUE_LANES    4
#include "kernels_text.h"
#else
typedef int kernels_avx2_are_for_x86;
#endif
