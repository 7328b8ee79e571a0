/* common_rotation.c - angles of sinusoidal and rotary schemes, computed in double. */
#include "common.h"

#include <math.h>

void pes_position_add_sinusoids(int T, int C, double base, real *table)
{
    for (int c = 0; c < C; c++) {
        double frequency = pow(base, -(double)(c / 2 * 2) / C);
        for (int t = 0; t < T; t++) {
            double angle = t * frequency, value = c % 2 ? cos(angle) : sin(angle);
            table[(size_t)t * (size_t)C + (size_t)c] += (real)value;
        }
    }
}

int pes_position_rotated_columns(int width, double fraction)
{
    return (int)floor(fraction * width + 1e-9);
}

enum pes_status pes_position_check_rotation(const char *scheme, int width, double fraction)
{
    int columns = pes_position_rotated_columns(width, fraction);
    if (columns >= 2 && columns % 2 == 0) return PES_OK;
    return pes_fail(
        PES_INPUT, "%s rotates pairs of columns, but rotary_fraction %g of a head of width %d is %d column%s",
        scheme, fraction, width, columns, columns == 1 ? "" : "s");
}
