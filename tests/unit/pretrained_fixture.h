/* pretrained_fixture.h - the tiny checkpoints of tests/fixtures and what the library that made them computed.
 */
#ifndef PESWEEP_TEST_PRETRAINED_FIXTURE_H
#define PESWEEP_TEST_PRETRAINED_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pesweep/pretrained.h"

#define FIXTURES PES_SOURCE_DIR "/tests/fixtures"

static inline const char *fixture_path(const char *name, const char *file, char path[512])
{
    snprintf(path, 512, FIXTURES "/%s%s%s", name, file[0] ? "/" : "", file);
    return path;
}

static inline void must(enum pes_status status)
{
    if (status != PES_OK) fail_msg("%s", pes_error_message());
}

/* A tensor of an expected.safetensors, all of it, in the arena; NULL if there is none. */
static inline double *expected_values(const struct pes_weights *expected, struct pes_arena *arena,
                                      const char *name, int layer, size_t *count)
{
    char full[64];
    snprintf(full, sizeof full, layer < 0 ? "%s" : "%s.%d", name, layer);
    const struct pes_weight *weight = pes_weights_find(expected, full);
    if (!weight) return NULL;
    double *values = pes_arena_take(arena, (size_t)weight->count, sizeof *values);
    assert_non_null(values);
    must(pes_weight_read(weight, 0, weight->count, values));
    if (count) *count = (size_t)weight->count;
    return values;
}

#endif
