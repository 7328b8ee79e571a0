/* kernels_avx512.c - the kernels for x86-64-v4: 32 registers of 512 bits. */
#if defined(__AVX512F__)
#define KERNEL_ISA          avx512
#define KERNEL_AVX512       1
#define KERNEL_VECTOR_BYTES 64
#define TILE_VECTORS        4
#define KEY_TILE            8
#define PACK_ROWS           SIZE_MAX
#define EIGENVALUE_LANES    8
#include "kernels_text.h"
#else
typedef int kernels_avx512_are_for_x86;
#endif
