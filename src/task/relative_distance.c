/* relative_distance.c - how many words stand between two trigger words?
 *
 *   left fillers, trigger A, fillers between, trigger B, right fillers, padding
 *
 * Needs content (which words are triggers) and position (how far apart) together.  The two triggers are drawn
 * once per data set.  Clean: a filler is never a trigger, so the answer follows from the tokens; class c
 * means between_min + c words between.  Published: within each of the three segments fillers are drawn
 * without replacement from all words, triggers included; the class is words between + 1, of as many classes
 * as words. */
#include "common.h"

struct state {
    int32_t triggers[2];
    int32_t *words; /* all words but the triggers, ascending: [V - 3] */
    int32_t *pool;  /* [V] scratch */
};

static const struct pes_key keys[] = {
    TASK_INT("task.vocab", 4, 65536, "64", "", "number of ids, the padding id 0 included"),
    TASK_INT("task.between", 1, 8192, "20", "words", "most words between the two triggers"),
    TASK_INT("task.between_min", 0, 8192, "1", "words", "fewest words between the two triggers"),
    TASK_INT("task.side", 0, 8192, "8", "words",
             "most fillers before the first and after the second trigger"),
    TASK_INT("task.side_min", 0, 8192, "1", "words",
             "fewest fillers before the first and after the second trigger"),
    TASK_BOOL(
        "task.full_length", "false",
        "fill every sequence up with fillers, first trigger anywhere, so that its length tells nothing"),
    TASK_INT("task.length", 0, 32768, "0", "tokens",
             "tokens per sequence, shorter samples are padded; 0 = length of the longest sample"),
    TASK_INT("task.samples", 2, 1e9, "20000", "", "samples of the data set, training and test together"),
    TASK_REAL("task.test_fraction", 0, 1, true, "0.3", "share of the samples kept for testing"),
    TASK_BOOL("task.published", "false",
              "generate as the published code does: fillers can be triggers, as many classes as words"),
    TASK_END,
};

static int get(const struct pes_config *config, const char *path)
{
    return (int)pes_config_int(config, path);
}

static enum pes_status shape(const struct pes_config *config, struct pes_task_shape *out)
{
    int between = get(config, "task.between"), between_min = get(config, "task.between_min");
    int side = get(config, "task.side"), side_min = get(config, "task.side_min"),
        vocab = get(config, "task.vocab");
    bool published = pes_config_bool(config, "task.published");
    if (between_min > between)
        return pes_fail(PES_INPUT, "task.between_min %d is above task.between %d", between_min, between);
    if (side_min > side) return pes_fail(PES_INPUT, "task.side_min %d is above task.side %d", side_min, side);
    if (published && PES_MAX(between + 2, side + 1) > vocab)
        return pes_fail(
            PES_INPUT,
            "task.vocab %d is too small for task.published: %d different fillers are drawn in one "
            "segment and the class of %d words between is %d",
            vocab, PES_MAX(between, side), between, between + 1);
    if (published && pes_config_bool(config, "task.full_length"))
        return pes_fail(PES_INPUT, "task.full_length and task.published exclude each other");

    *out = (struct pes_task_shape){.objective = PES_OBJECTIVE_CLASSIFY};
    TRY(pes_task_shape_finite(config, 2 * side + between + 2, out));
    out->classes = published ? vocab : between - between_min + 1;
    out->padded = !pes_config_bool(config, "task.full_length");
    out->chance = 1.0 / (between - between_min + 1);
    return PES_OK;
}

static enum pes_status open(const struct pes_config *config, const struct pes_task_shape *sizes,
                            struct pes_arena *arena, void **out)
{
    struct state *state = pes_arena_take(arena, 1, sizeof *state);
    if (!state) return PES_MEMORY;
    state->pool = pes_arena_take(arena, (size_t)sizes->V, sizeof *state->pool);
    state->words = pes_arena_take(arena, (size_t)sizes->V, sizeof *state->words);
    if (!state->pool || !state->words) return PES_MEMORY;
    struct pes_stream stream = {
        .rng = {.seed = (uint64_t)pes_config_int(config, "task.data_seed"), .purpose = PES_RNG_DATA_SET}};
    pes_task_draw_distinct(&stream, 1, sizes->V - 1, 2, state->pool, state->triggers);
    int count = 0;
    for (int32_t word = 1; word < sizes->V; word++)
        if (word != state->triggers[0] && word != state->triggers[1]) state->words[count++] = word;
    *out = state;
    return PES_OK;
}

static int32_t *draw_fillers(const struct state *state, const struct pes_task_shape *sizes, bool published,
                             struct pes_stream *stream, int count, int32_t *at)
{
    if (published) {
        pes_task_draw_distinct(stream, 1, sizes->V - 1, count, state->pool, at);
    } else {
        pes_task_draw_words(stream, 0, sizes->V - 3, count, at);
        for (int i = 0; i < count; i++)
            at[i] = state->words[at[i]];
    }
    return at + count;
}

static void sample(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   uint64_t number, struct pes_stream *stream, struct pes_sample *out)
{
    (void)number;
    const struct state *state = opened;
    int between_min = get(config, "task.between_min"), side_min = get(config, "task.side_min");
    bool published = pes_config_bool(config, "task.published");
    int between = pes_task_draw_between(stream, between_min, get(config, "task.between"));
    int left, right;
    if (pes_config_bool(config, "task.full_length")) {
        left = pes_task_draw_between(stream, side_min, sizes->T - 2 - between - side_min);
        right = sizes->T - 2 - between - left;
    } else {
        left = pes_task_draw_between(stream, side_min, get(config, "task.side"));
        right = pes_task_draw_between(stream, side_min, get(config, "task.side"));
    }
    int32_t *at = draw_fillers(state, sizes, published, stream, left, out->ids);
    *at++ = state->triggers[0];
    at = draw_fillers(state, sizes, published, stream, between, at);
    *at++ = state->triggers[1];
    at = draw_fillers(state, sizes, published, stream, right, at);
    pes_task_pad(sizes->T, (int)(at - out->ids), out->ids, out->mask);
    out->labels[0] = published ? between + 1 : between - between_min;
}

/* Published samples with a trigger among the fillers are answered by the first pair. */
static void oracle(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   const struct pes_sample *in, int32_t *answers)
{
    const struct state *state = opened;
    int first = 0;
    while (first < sizes->T - 1 && in->ids[first] != state->triggers[0])
        first++;
    int second = first + 1;
    while (second < sizes->T - 1 && in->ids[second] != state->triggers[1])
        second++;
    int between = second - first - 1;
    answers[0] =
        pes_config_bool(config, "task.published") ? between + 1 : between - get(config, "task.between_min");
}

const struct pes_task pes_task_relative_distance = {
    .name = "relative_distance",
    .summary = "classify how many words stand between two trigger words (needs content and position)",
    .source = "Gu et al., arXiv 2505.13027, task 1",
    .keys = keys,
    .shape = shape,
    .open = open,
    .sample = sample,
    .oracle = oracle,
};
