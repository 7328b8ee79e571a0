/* fuzz_weights.h - the first and the last numbers of every tensor of a file: what can be read at its
 * beginning can be read at its end. */
#ifndef PESWEEP_TESTS_FUZZ_WEIGHTS_H
#define PESWEEP_TESTS_FUZZ_WEIGHTS_H

#include "pesweep/weights.h"

static void fuzz_read_weights(const struct pes_weight *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double numbers[8];
        uint64_t some = PES_MIN(tensors[i].count, (uint64_t)PES_COUNT(numbers));
        if (pes_weight_read(&tensors[i], 0, some, numbers) != PES_OK) continue;
        CHECK(pes_weight_read(&tensors[i], tensors[i].count - some, some, numbers) == PES_OK);
    }
}

#endif
