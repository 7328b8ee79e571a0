/* kernels_portable.c - the kernels with what every compiler and processor has: vectors of 128 bits. */
#define KERNEL_ISA          portable
#define KERNEL_VECTOR_BYTES 16
#define TILE_VECTORS        2
#define KEY_TILE            4
#define PACK_ROWS           SIZE_MAX
#define EIGENVALUE_LANES    4
#include "kernels_text.h"
