/* fuzz_json.c - any text as a checkpoint's config.json or as an index of shards.
 *
 * The first byte chooses whose weights stand beside it; the rest is the text. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_heads.h"

static const char *const families[] = {"gpt2", "llama",  "deepseek-v2", "gpt-j", "bloom",           "t5",
                                       "mpt",  "gemma3", "falcon-7b",   "phi3",  "llama-bias-yarn", "qwen3",
                                       "opt"};

static void link_weights(const char *family, const char *name)
{
    char from[512], to[512];
    snprintf(from, sizeof from, PES_SOURCE_DIR "/tests/fixtures/%s/model.safetensors", family);
    snprintf(to, sizeof to, "%s/%s", fuzz_folder(), name);
    unlink(to);
    if (access(from, R_OK) || symlink(from, to)) {
        perror(from);
        exit(2);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int present = -1;
    if (!size) return 0;
    if (bytes[0] == 'i') {
        link_weights("gpt2", "a.safetensors");
        link_weights("opt", "b.safetensors");
        fuzz_write("index.json", bytes + 1, size - 1);
        char path[300];
        snprintf(path, sizeof path, "%s/index.json", fuzz_folder());
        struct pes_weights *weights = NULL;
        if (pes_weights_open(path, &weights) != PES_OK) CHECK(pes_error_message()[0]);
        pes_weights_close(weights);
        return 0;
    }
    int family = bytes[0] % (int)PES_COUNT(families);
    if (family != present) link_weights(families[family], "model.safetensors");
    present = family;
    fuzz_write("config.json", bytes + 1, size - 1);
    fuzz_heads(fuzz_folder());
    return 0;
}
