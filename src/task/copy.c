/* copy.c - write the words again after the mark. */
#include "common.h"

static void sample(const struct pes_config *config, const struct pes_task_shape *shape, void *state,
                   uint64_t number, struct pes_stream *stream, struct pes_sample *out)
{
    (void)state, (void)number;
    pes_task_copy_sample(config, shape, stream, false, out);
}

static void oracle(const struct pes_config *config, const struct pes_task_shape *shape, void *state,
                   const struct pes_sample *in, int32_t *answers)
{
    (void)config, (void)state;
    pes_task_copy_oracle(shape, in, false, answers);
}

const struct pes_task pes_task_copy = {
    .name = "copy",
    .summary = "write random words again, in their order",
    .source = "Graves et al., arXiv 1410.5401, section 4.1",
    .keys = pes_task_copy_keys,
    .shape = pes_task_copy_shape,
    .sample = sample,
    .oracle = oracle,
};
