/* common.c - what several tasks draw and check. */
#include "common.h"

#include <math.h>
#include <string.h>

int pes_task_draw_between(struct pes_stream *stream, int fewest, int most)
{
    return fewest + (int)pes_stream_below(stream, (uint64_t)(most - fewest) + 1);
}

void pes_task_draw_words(struct pes_stream *stream, int first, int range, int count, int32_t *words)
{
    for (int i = 0; i < count; i++)
        words[i] = first + (int32_t)pes_stream_below(stream, (uint64_t)range);
}

/* The first `count` steps of Fisher-Yates. */
void pes_task_draw_distinct(struct pes_stream *stream, int first, int range, int count, int32_t *pool,
                            int32_t *words)
{
    CHECK(count <= range);
    for (int i = 0; i < range; i++)
        pool[i] = first + i;
    for (int i = 0; i < count; i++) {
        int j = i + (int)pes_stream_below(stream, (uint64_t)(range - i));
        words[i] = pool[j];
        pool[j] = pool[i];
    }
}

void pes_task_pad(int T, int length, int32_t *ids, uint8_t *mask)
{
    for (int t = length; t < T; t++)
        ids[t] = 0;
    if (!mask) return;
    for (int t = 0; t < T; t++)
        mask[t] = t < length;
}

void pes_task_ignore(int T, int32_t *labels)
{
    for (int t = 0; t < T; t++)
        labels[t] = -1;
}

enum pes_status pes_task_shape_finite(const struct pes_config *config, int longest,
                                      struct pes_task_shape *shape)
{
    int64_t length = pes_config_int(config, "task.length"), samples = pes_config_int(config, "task.samples");
    double fraction = pes_config_real(config, "task.test_fraction");
    if (length && length < longest)
        return pes_fail(PES_INPUT, "task.length %lld is shorter than the longest sample, %d words",
                        (long long)length, longest);
    shape->T = length ? (int)length : longest;
    shape->V = (int)pes_config_int(config, "task.vocab");
    shape->num_samples = samples;
    shape->num_test = (int64_t)floor(fraction * (double)samples + 0.5);
    if (shape->num_test < 1 || shape->num_test >= samples)
        return pes_fail(PES_INPUT,
                        "task.test_fraction %g of %lld samples leaves no sample for testing or training",
                        fraction, (long long)samples);
    return PES_OK;
}

void pes_task_shape_endless(const struct pes_config *config, int T, int V, struct pes_task_shape *shape)
{
    shape->T = T;
    shape->V = V;
    shape->classes = V;
    shape->objective = PES_OBJECTIVE_LM;
    shape->causal_only = true;
    shape->num_test = pes_config_int(config, "task.test_samples");
}
