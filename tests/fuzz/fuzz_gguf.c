/* fuzz_gguf.c - any bytes as a GGUF file: its tensors and metadata, and the model that they say they are. */
#include <stdio.h>

#include "fuzz.h"
#include "fuzz_heads.h"
#include "fuzz_weights.h"

#include "../../src/pretrained/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    /* From memory of exactly this size, since a mapped file ends at a page's border. */
    struct pes_mapping mapping = {bytes, size};
    struct pes_arena *arena = pes_arena_create();
    struct pes_weight *tensors;
    size_t count;
    json_t *config;
    enum pes_status status = gguf_parse("fuzz.gguf", &mapping, arena, &tensors, &count, &config);
    if (status != PES_OK) CHECK(pes_error_message()[0]);
    if (status == PES_OK) fuzz_read_weights(tensors, count);
    if (status == PES_OK) json_decref(config);
    pes_arena_destroy(arena);
    if (status != PES_OK) return 0;
    fuzz_write("model.gguf", bytes, size);
    char path[300];
    snprintf(path, sizeof path, "%s/model.gguf", fuzz_folder());
    fuzz_heads(path);
    return 0;
}
