/* gguf_blocks.c - numbers in blocks: 32 with a scale, or 256 in sub-blocks whose scales are small integers.
 *
 * Q4_0  d (q - 8)      Q4_1  d q + m      Q8_0  d q
 * Q4_K, Q5_K  d s q - dmin m, s and m of a sub-block of 32      Q6_K  d s (q - 32), s of 16 */
#include "gguf.h"

bool gguf_block_size(unsigned packing, size_t *elements, size_t *bytes)
{
    switch (packing) {
#define X(number, name, size, length)                                                                        \
    case number:                                                                                             \
        *elements = size;                                                                                    \
        *bytes = length;                                                                                     \
        return true;
        GGUF_BLOCKS(X)
#undef X
    default:
        return false;
    }
}

static double half(const unsigned char *at)
{
    return pes_weight_from_f16((uint16_t)(at[0] | at[1] << 8));
}

static void read_q4(const unsigned char *q, double scale, double shift, double *out)
{
    for (int i = 0; i < 16; i++) {
        out[i] = scale * (q[i] & 15) + shift;
        out[16 + i] = scale * (q[i] >> 4) + shift;
    }
}

/* Six-bit scale and minimum of sub-block j, packed into 12 bytes. */
static void sub_block(const unsigned char *packed, int j, int *scale, int *minimum)
{
    if (j < 4) {
        *scale = packed[j] & 63;
        *minimum = packed[j + 4] & 63;
    } else {
        *scale = (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4;
        *minimum = packed[j + 4] >> 4 | (packed[j] >> 6) << 4;
    }
}

/* high: a fifth bit of every element, bit j of byte i for element i of sub-block j; NULL = none. */
static void read_k(const unsigned char *block, const unsigned char *high, const unsigned char *low,
                   double *out)
{
    double d = half(block), dmin = half(block + 2);
    for (int j = 0; j < 8; j++) {
        int scale, minimum;
        sub_block(block + 4, j, &scale, &minimum);
        const unsigned char *q = low + 32 * (j / 2);
        for (int i = 0; i < 32; i++) {
            int value = j % 2 ? q[i] >> 4 : q[i] & 15;
            if (high && high[i] >> j & 1) value += 16;
            out[32 * j + i] = d * scale * value - dmin * minimum;
        }
    }
}

static void read_q6(const unsigned char *block, double *out)
{
    const unsigned char *low = block, *high = block + 128, *scales = block + 192;
    double d = half(block + 208);
    for (int e = 0; e < 256; e++) {
        /* Each half of 128: four runs of 32; runs 0 and 2 share bytes of `low`, as do 1 and 3. */
        int part = e / 128, run = e % 128 / 32, i = e % 32;
        int nibble = low[64 * part + 32 * (run % 2) + i] >> (run < 2 ? 0 : 4) & 15;
        int value = (nibble | (high[32 * part + i] >> 2 * run & 3) << 4) - 32;
        out[e] = d * (signed char)scales[8 * part + 2 * run + i / 16] * value;
    }
}

void gguf_block_read(unsigned packing, const unsigned char *block, double *out)
{
    switch (packing) {
    case 2:
        read_q4(block + 2, half(block), -8 * half(block), out);
        return;
    case 3:
        read_q4(block + 4, half(block), half(block + 2), out);
        return;
    case 8:
        for (int i = 0; i < 32; i++)
            out[i] = half(block) * (signed char)block[2 + i];
        return;
    case 12:
        read_k(block, NULL, block + 16, out);
        return;
    case 13:
        read_k(block, block + 16, block + 48, out);
        return;
    default:
        CHECK(packing == 14);
        read_q6(block, out);
    }
}
