/* random_map.c - each sequence follows a random map of its own.
 *
 * f: V -> V uniform, x_0 uniform; x_{t+1} = f(x_t) with probability 1 - noise, else uniform.  Every next
 * token is a label.  Scored are the predictable ones: the step followed the map and its current token
 * appeared before. */
#include "common.h"

struct state {
    int32_t *map;  /* [V] scratch */
    uint8_t *seen; /* [V] scratch */
};

static const struct pes_key keys[] = {
    TASK_INT("task.vocab", 2, 65536, "64", "", "number of ids"),
    TASK_INT("task.length", 4, 32768, "256", "tokens", "tokens per sequence"),
    TASK_REAL("task.noise", 0, 1, false, "0.1",
              "probability that a step ignores the map and goes to a uniform token"),
    TASK_INT("task.test_samples", 1, 1e9, "64", "", "sequences of the test set"),
    TASK_END,
};

static enum pes_status shape(const struct pes_config *config, struct pes_task_shape *out)
{
    *out = (struct pes_task_shape){.has_scored = true};
    pes_task_shape_endless(config, (int)pes_config_int(config, "task.length"),
                           (int)pes_config_int(config, "task.vocab"), out);
    out->chance = 1.0 / out->V;
    out->behaviour_from = out->T / 4;
    return PES_OK;
}

static enum pes_status open(const struct pes_config *config, const struct pes_task_shape *sizes,
                            struct pes_arena *arena, void **out)
{
    (void)config;
    struct state *state = pes_arena_take(arena, 1, sizeof *state);
    if (!state) return PES_MEMORY;
    state->map = pes_arena_take(arena, (size_t)sizes->V, sizeof *state->map);
    state->seen = pes_arena_take(arena, (size_t)sizes->V, sizeof *state->seen);
    *out = state;
    return state->map && state->seen ? PES_OK : PES_MEMORY;
}

static void sample(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   uint64_t number, struct pes_stream *stream, struct pes_sample *out)
{
    (void)number;
    const struct state *state = opened;
    double noise = pes_config_real(config, "task.noise");
    pes_task_draw_words(stream, 0, sizes->V, sizes->V, state->map);
    for (int v = 0; v < sizes->V; v++)
        state->seen[v] = 0;
    pes_task_draw_words(stream, 0, sizes->V, 1, out->ids);
    for (int t = 0; t + 1 < sizes->T; t++) {
        int32_t now = out->ids[t];
        bool follows = pes_stream_uniform(stream) >= noise;
        int32_t next = follows ? state->map[now] : (int32_t)pes_stream_below(stream, (uint64_t)sizes->V);
        out->ids[t + 1] = out->labels[t] = next;
        out->scored[t] = follows && state->seen[now];
        state->seen[now] = 1;
    }
    out->labels[sizes->T - 1] = -1;
    out->scored[sizes->T - 1] = 0;
}

/* The most frequent successor so far (the latest of equals): right wherever noise hasn't outvoted the map. */
static void oracle(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   const struct pes_sample *in, int32_t *answers)
{
    (void)config, (void)opened;
    for (int t = 0; t < sizes->T; t++) {
        int best = 0;
        answers[t] = 0;
        for (int s = t - 1; s >= 0; s--) {
            if (in->ids[s] != in->ids[t]) continue;
            int votes = 0;
            for (int u = 0; u < t; u++)
                votes += in->ids[u] == in->ids[t] && in->ids[u + 1] == in->ids[s + 1];
            if (votes > best) best = votes, answers[t] = in->ids[s + 1];
        }
    }
}

const struct pes_task pes_task_random_map = {
    .name = "random_map",
    .summary = "predict the next token of a noisy walk along a map that is drawn anew for each sequence",
    .source = "Li, arXiv 2607.06621, constrained training",
    .keys = keys,
    .shape = shape,
    .open = open,
    .sample = sample,
    .oracle = oracle,
};
