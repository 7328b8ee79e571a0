/* fuzz_heads.h - opens a checkpoint and reads its first and last head. */
#ifndef PESWEEP_TESTS_FUZZ_HEADS_H
#define PESWEEP_TESTS_FUZZ_HEADS_H

#include "pesweep/pretrained.h"

static inline void fuzz_heads(const char *path)
{
    struct pes_pretrained *model = NULL;
    if (pes_pretrained_open(path, 0, &model) != PES_OK) {
        CHECK(pes_error_message()[0]);
        return;
    }
    const struct pes_pretrained_about *about = pes_pretrained_about(model);
    CHECK(about->L > 0 && about->H > 0 && about->C > 0 && about->D > 0);
    struct pes_arena *arena = pes_arena_create();
    struct pes_head head;
    if (pes_pretrained_head(model, 0, 0, true, arena, &head) != PES_OK) CHECK(pes_error_message()[0]);
    if (pes_pretrained_head(model, about->L - 1, about->H - 1, false, arena, &head) != PES_OK)
        CHECK(pes_error_message()[0]);
    pes_arena_destroy(arena);
    pes_pretrained_close(model);
}

#endif
