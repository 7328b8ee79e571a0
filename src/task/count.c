/* count.c - how many of the words are trigger words?
 *
 * Needs content alone: the words are shuffled.  The trigger words are drawn once per data set.  Class c means
 * count_min + c triggers.  Published: the class is the number itself, of as many classes as words, and
 * samples without a trigger have no label. */
#include "common.h"

struct state {
    int32_t *words;    /* triggers, then all other words: [V - 1] */
    uint8_t *triggers; /* [V] 1 = trigger */
    int num_triggers;
};

static const struct pes_key keys[] = {
    TASK_INT("task.vocab", 3, 65536, "64", "", "number of ids, the padding id 0 included"),
    TASK_INT("task.triggers", 1, 65534, "8", "words", "number of trigger words in the vocabulary"),
    TASK_INT("task.words", 1, 32768, "40", "words", "words in a sequence"),
    TASK_INT("task.count", 1, 32768, "20", "words", "most trigger words in a sequence"),
    TASK_INT("task.count_min", 0, 32768, "0", "words", "fewest trigger words in a sequence"),
    TASK_INT("task.length", 0, 32768, "0", "tokens",
             "tokens per sequence, the rest is padded; 0 = task.words"),
    TASK_INT("task.samples", 2, 1e9, "20000", "", "samples of the data set, training and test together"),
    TASK_REAL("task.test_fraction", 0, 1, true, "0.3", "share of the samples kept for testing"),
    TASK_BOOL("task.published", "false",
              "label as the published code does: class = count, count 0 ignored, as many classes as words"),
    TASK_END,
};

static int get(const struct pes_config *config, const char *path)
{
    return (int)pes_config_int(config, path);
}

static enum pes_status shape(const struct pes_config *config, struct pes_task_shape *out)
{
    int vocab = get(config, "task.vocab"), triggers = get(config, "task.triggers"),
        words = get(config, "task.words");
    int count = get(config, "task.count"), count_min = get(config, "task.count_min");
    bool published = pes_config_bool(config, "task.published");
    if (triggers > vocab - 2)
        return pes_fail(PES_INPUT, "task.triggers %d leaves no other word in task.vocab %d (id 0 is padding)",
                        triggers, vocab);
    if (count > words) return pes_fail(PES_INPUT, "task.count %d is above task.words %d", count, words);
    if (count_min > count)
        return pes_fail(PES_INPUT, "task.count_min %d is above task.count %d", count_min, count);
    if (published && count >= vocab)
        return pes_fail(PES_INPUT,
                        "task.published has as many classes as words: task.count %d is not below "
                        "task.vocab %d",
                        count, vocab);

    *out = (struct pes_task_shape){.objective = PES_OBJECTIVE_CLASSIFY};
    TRY(pes_task_shape_finite(config, words, out));
    out->classes = published ? vocab : count - count_min + 1;
    out->padded = out->T > words;
    out->chance = 1.0 / (count - (published ? PES_MAX(count_min, 1) : count_min) + 1);
    return PES_OK;
}

static enum pes_status open(const struct pes_config *config, const struct pes_task_shape *sizes,
                            struct pes_arena *arena, void **out)
{
    struct state *state = pes_arena_take(arena, 1, sizeof *state);
    if (!state) return PES_MEMORY;
    int32_t *pool = pes_arena_take(arena, (size_t)sizes->V, sizeof *pool);
    state->words = pes_arena_take(arena, (size_t)sizes->V, sizeof *state->words);
    state->triggers = pes_arena_take(arena, (size_t)sizes->V, sizeof *state->triggers);
    if (!pool || !state->words || !state->triggers) return PES_MEMORY;
    state->num_triggers = get(config, "task.triggers");
    struct pes_stream stream = {
        .rng = {.seed = (uint64_t)pes_config_int(config, "task.data_seed"), .purpose = PES_RNG_DATA_SET}};
    pes_task_draw_distinct(&stream, 1, sizes->V - 1, sizes->V - 1, pool, state->words);
    for (int i = 0; i < state->num_triggers; i++)
        state->triggers[state->words[i]] = 1;
    *out = state;
    return PES_OK;
}

static void sample(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   uint64_t number, struct pes_stream *stream, struct pes_sample *out)
{
    (void)number;
    const struct state *state = opened;
    int words = get(config, "task.words"), count_min = get(config, "task.count_min");
    int count = pes_task_draw_between(stream, count_min, get(config, "task.count"));
    pes_task_draw_words(stream, 0, state->num_triggers, count, out->ids);
    pes_task_draw_words(stream, state->num_triggers, sizes->V - 1 - state->num_triggers, words - count,
                        out->ids + count);
    for (int t = 0; t < words; t++)
        out->ids[t] = state->words[out->ids[t]];
    pes_stream_shuffle(stream, out->ids, (size_t)words);
    pes_task_pad(sizes->T, words, out->ids, out->mask);
    if (pes_config_bool(config, "task.published"))
        out->labels[0] = count ? count : -1;
    else
        out->labels[0] = count - count_min;
}

static void oracle(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   const struct pes_sample *in, int32_t *answers)
{
    const struct state *state = opened;
    int count = 0;
    for (int t = 0; t < sizes->T; t++)
        count += state->triggers[in->ids[t]];
    answers[0] = pes_config_bool(config, "task.published") ? count : count - get(config, "task.count_min");
}

const struct pes_task pes_task_count = {
    .name = "count",
    .summary = "classify how many of the words are trigger words (needs content alone)",
    .source = "Gu et al., arXiv 2505.13027, task 2",
    .keys = keys,
    .shape = shape,
    .open = open,
    .sample = sample,
    .oracle = oracle,
};
