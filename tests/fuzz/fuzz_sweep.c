/* fuzz_sweep.c - any bytes as a sweep file: YAML to trials, claims and identities. */
#include <string.h>

#include "fuzz.h"
#include "pesweep/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct pes_sweep *sweep = NULL;
    if (pes_sweep_parse("fuzz.yaml", (const char *)bytes, size, &sweep) != PES_OK) {
        CHECK(pes_error_message()[0] && !strchr(pes_error_message(), '\n'));
        return 0;
    }
    CHECK(sweep->num_trials > 0);
    for (size_t t = 0; t < sweep->num_trials && t < 16; t++) {
        struct pes_cost cost;
        CHECK(strlen(sweep->trials[t].key) == 32 && sweep->trials[t].label);
        if (pes_sweep_cost(sweep, &sweep->trials[t], &cost) != PES_OK) CHECK(pes_error_message()[0]);
    }
    pes_sweep_destroy(sweep);
    return 0;
}
