/* fuzz_safetensors.c - any bytes as a safetensors file: header, then numbers of every tensor. */
#include "fuzz.h"
#include "fuzz_weights.h"

#include "../../src/pretrained/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct pes_mapping mapping = {bytes, size};
    struct pes_arena *arena = pes_arena_create();
    struct pes_weight *tensors;
    size_t count;
    json_t *metadata;
    enum pes_status status = pes_safetensors_parse("fuzz", &mapping, arena, &tensors, &count, &metadata);
    if (status != PES_OK) CHECK(pes_error_message()[0]);
    if (status == PES_OK) fuzz_read_weights(tensors, count);
    if (status == PES_OK) json_decref(metadata);
    pes_arena_destroy(arena);
    return 0;
}
