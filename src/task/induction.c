/* induction.c - a random segment, repeated until the sequence is full.
 *
 * Id 0 begins the sequence; the segment has `period` different words, period uniform in its range.  From the
 * first word of the second copy on every word stood before, and the word after its earlier place comes next:
 * these next tokens are the labels. */
#include "common.h"

static const struct pes_key keys[] = {
    TASK_INT("task.vocab", 3, 65536, "64", "", "number of ids, the beginning id 0 included"),
    TASK_INT("task.length", 4, 32768, "64", "tokens", "tokens per sequence"),
    TASK_INT("task.period", 2, 32768, "31", "tokens", "longest segment"),
    TASK_INT("task.period_min", 2, 32768, "8", "tokens", "shortest segment"),
    TASK_INT("task.test_samples", 1, 1e9, "512", "", "sequences of the test set"),
    TASK_END,
};

static enum pes_status shape(const struct pes_config *config, struct pes_task_shape *out)
{
    int T = (int)pes_config_int(config, "task.length"), V = (int)pes_config_int(config, "task.vocab");
    int period = (int)pes_config_int(config, "task.period"),
        least = (int)pes_config_int(config, "task.period_min");
    if (least > period)
        return pes_fail(PES_INPUT, "task.period_min %d is above task.period %d", least, period);
    if (period > V - 1)
        return pes_fail(PES_INPUT,
                        "task.period %d needs as many different words; task.vocab %d has %d beside id 0",
                        period, V, V - 1);
    if (period + 3 > T)
        return pes_fail(PES_INPUT, "task.length %d is too short for task.period %d to repeat: at least %d", T,
                        period, period + 3);
    *out = (struct pes_task_shape){.behaviour_labelled = true};
    pes_task_shape_endless(config, T, V, out);
    out->chance = 1.0 / (V - 1);
    return PES_OK;
}

static enum pes_status open(const struct pes_config *config, const struct pes_task_shape *sizes,
                            struct pes_arena *arena, void **out)
{
    (void)config;
    *out = pes_arena_take(arena, (size_t)sizes->V, sizeof(int32_t));
    return *out ? PES_OK : PES_MEMORY;
}

static void sample(const struct pes_config *config, const struct pes_task_shape *sizes, void *pool,
                   uint64_t number, struct pes_stream *stream, struct pes_sample *out)
{
    (void)number;
    int period = pes_task_draw_between(stream, (int)pes_config_int(config, "task.period_min"),
                                       (int)pes_config_int(config, "task.period"));
    out->ids[0] = 0;
    pes_task_draw_distinct(stream, 1, sizes->V - 1, period, pool, out->ids + 1);
    for (int t = period + 1; t < sizes->T; t++)
        out->ids[t] = out->ids[t - period];
    pes_task_ignore(sizes->T, out->labels);
    for (int t = period + 1; t + 1 < sizes->T; t++)
        out->labels[t] = out->ids[t + 1];
}

static void oracle(const struct pes_config *config, const struct pes_task_shape *sizes, void *pool,
                   const struct pes_sample *in, int32_t *answers)
{
    (void)config, (void)pool;
    for (int t = 0; t < sizes->T; t++) {
        answers[t] = -1;
        for (int s = t - 1; s >= 0 && answers[t] < 0; s--)
            if (in->ids[s] == in->ids[t]) answers[t] = in->ids[s + 1];
    }
}

const struct pes_task pes_task_induction = {
    .name = "induction",
    .summary = "continue a random segment that repeats with a random period",
    .source = "Olsson et al., arXiv 2209.11895, repeated random tokens",
    .keys = keys,
    .shape = shape,
    .open = open,
    .sample = sample,
    .oracle = oracle,
};
