/* associative_recall.c - multi-query associative recall.
 *
 * First `pairs` key-value pairs (keys 1 .. V/2 - 1, values V/2 .. V - 1, all different), then every key once
 * more at one of the even places of the rest; the label at a key asked for is its value.  The place is drawn
 * without replacement with weight (place + 1)^(power - 1), so most questions come soon, as repeats in
 * language do.  Places between hold random ids (or 0). */
#include "common.h"

#include <math.h>

struct state {
    int32_t *pool;   /* [V] scratch */
    int32_t *pairs;  /* [2 * pairs] scratch: keys, values */
    double *weights; /* [space] */
    uint8_t *taken;  /* [space] scratch */
    int space;       /* places for questions */
};

static const struct pes_key keys[] = {
    TASK_INT("task.vocab", 4, 65536, "8192", "",
             "number of ids: 0 is empty, the lower half are keys, the upper half values"),
    TASK_INT("task.length", 4, 32768, "64", "tokens", "tokens per sequence, an even number"),
    TASK_INT("task.pairs", 1, 8192, "8", "", "key-value pairs in a sequence, each asked for once"),
    TASK_REAL("task.power", 0, 100, false, "0.01",
              "power a of the weight place^(a - 1) of a question's place; 1 = uniform"),
    TASK_BOOL("task.random_fill", "true", "put random ids between the questions, instead of 0"),
    TASK_INT("task.test_samples", 1, 1e9, "1024", "", "sequences of the test set"),
    TASK_END,
};

static enum pes_status shape(const struct pes_config *config, struct pes_task_shape *out)
{
    int T = (int)pes_config_int(config, "task.length"), V = (int)pes_config_int(config, "task.vocab");
    int pairs = (int)pes_config_int(config, "task.pairs");
    if (T % 2)
        return pes_fail(PES_INPUT, "task.length %d is odd: pairs and questions stand at even places", T);
    if (4 * pairs > T)
        return pes_fail(PES_INPUT, "task.pairs %d need at least %d tokens, task.length is %d", pairs,
                        4 * pairs, T);
    if (pairs > V / 2 - 1)
        return pes_fail(PES_INPUT, "task.pairs %d need as many different keys; task.vocab %d has %d", pairs,
                        V, V / 2 - 1);
    *out = (struct pes_task_shape){.behaviour_labelled = true};
    pes_task_shape_endless(config, T, V, out);
    out->chance = 1.0 / (V - V / 2);
    return PES_OK;
}

static enum pes_status open(const struct pes_config *config, const struct pes_task_shape *sizes,
                            struct pes_arena *arena, void **out)
{
    struct state *state = pes_arena_take(arena, 1, sizeof *state);
    if (!state) return PES_MEMORY;
    int pairs = (int)pes_config_int(config, "task.pairs");
    state->space = sizes->T / 2 - pairs;
    state->pool = pes_arena_take(arena, (size_t)sizes->V, sizeof *state->pool);
    state->pairs = pes_arena_take(arena, 2 * (size_t)pairs, sizeof *state->pairs);
    state->weights = pes_arena_take(arena, (size_t)state->space, sizeof *state->weights);
    state->taken = pes_arena_take(arena, (size_t)state->space, sizeof *state->taken);
    if (!state->pool || !state->pairs || !state->weights || !state->taken) return PES_MEMORY;
    double power = pes_config_real(config, "task.power");
    for (int place = 0; place < state->space; place++)
        state->weights[place] = pow(place + 1, power - 1);
    *out = state;
    return PES_OK;
}

/* A free place with probability in proportion to its weight. */
static int draw_place(const struct state *state, struct pes_stream *stream)
{
    double total = 0;
    for (int place = 0; place < state->space; place++)
        if (!state->taken[place]) total += state->weights[place];
    double rest = pes_stream_uniform(stream) * total;
    int drawn = -1;
    for (int place = 0; place < state->space; place++) {
        if (state->taken[place]) continue;
        drawn = place;
        rest -= state->weights[place];
        if (rest < 0) break;
    }
    CHECK(drawn >= 0);
    state->taken[drawn] = 1;
    return drawn;
}

static void sample(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   uint64_t number, struct pes_stream *stream, struct pes_sample *out)
{
    (void)number;
    const struct state *state = opened;
    int pairs = (int)pes_config_int(config, "task.pairs"), V = sizes->V;
    int32_t *key = state->pairs, *value = state->pairs + pairs;
    pes_task_draw_distinct(stream, 1, V / 2 - 1, pairs, state->pool, key);
    pes_task_draw_distinct(stream, V / 2, V - V / 2, pairs, state->pool, value);
    pes_task_ignore(sizes->T, out->labels);
    if (pes_config_bool(config, "task.random_fill"))
        pes_task_draw_words(stream, 0, V, sizes->T, out->ids);
    else
        pes_task_pad(sizes->T, 0, out->ids, NULL);
    for (int place = 0; place < state->space; place++)
        state->taken[place] = 0;
    for (int i = 0; i < pairs; i++) {
        out->ids[2 * i] = key[i];
        out->ids[2 * i + 1] = value[i];
        int asked = 2 * pairs + 2 * draw_place(state, stream);
        out->ids[asked] = key[i];
        out->labels[asked] = value[i];
    }
}

static void oracle(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   const struct pes_sample *in, int32_t *answers)
{
    (void)opened;
    int pairs = (int)pes_config_int(config, "task.pairs");
    for (int t = 0; t < sizes->T; t++) {
        answers[t] = -1;
        for (int i = 0; i < pairs; i++)
            if (in->ids[2 * i] == in->ids[t]) answers[t] = in->ids[2 * i + 1];
    }
}

const struct pes_task pes_task_associative_recall = {
    .name = "associative_recall",
    .summary = "recall the values of several keys given at the beginning (multi-query associative recall)",
    .source = "Arora et al., Zoology, arXiv 2312.04927",
    .keys = keys,
    .shape = shape,
    .open = open,
    .sample = sample,
    .oracle = oracle,
};
