/* behaviour.c - where a head looks: averages of its attention over queries (Olsson et al. 2022, arXiv
 * 2209.11895; Li 2026, arXiv 2607.06621).
 *
 * Queries are those that the task names (behaviour_from, behaviour_labelled), real tokens from position 1 on.
 * For query i with token x_i:
 * - previous token: mass on key i - 1; its excess is over uniform attention to the visible keys
 * - next token: mass on key i + 1, in models that see it
 * - induction: mass on keys j < i with x_{j-1} = x_i, what followed the token earlier
 * - duplicate token: mass on keys j < i with x_j = x_i
 * - first token: mass on key 0, where sinks stand
 * - entropy of the distribution over keys, in nats; distance: mean |i - j| */
#include "attention.h"

#include <math.h>

enum pes_status pes_behaviour_create(const struct pes_measurement *m, struct pes_behaviour *behaviour)
{
    const struct pes_shape *shape = &m->model->config.shape;
    const struct pes_task_shape *task = pes_data_shape(m->data);
    size_t tokens = (size_t)m->micro_batch * (size_t)task->T;
    *behaviour = (struct pes_behaviour){.model = &m->model->config, .task = task};
    behaviour->sums = pes_arena_take(m->arena, (size_t)shape->L * (size_t)shape->H, sizeof *behaviour->sums);
    behaviour->counted = pes_arena_take(m->arena, tokens, 1);
    behaviour->earlier = pes_arena_take(m->arena, tokens, sizeof *behaviour->earlier);
    behaviour->latest = pes_arena_take(m->arena, (size_t)task->V, sizeof *behaviour->latest);
    return behaviour->sums && behaviour->counted && behaviour->earlier && behaviour->latest ? PES_OK
                                                                                            : PES_MEMORY;
}

/* Keys that query i can attend to. */
static int visible_keys(const struct pes_behaviour *behaviour, int i, int length)
{
    if (behaviour->model->shape.causal) return i + 1;
    return behaviour->model->pad == PES_PAD_MASK ? length : behaviour->task->T;
}

void pes_behaviour_batch(struct pes_behaviour *behaviour, const struct pes_batch *batch)
{
    const struct pes_task_shape *task = behaviour->task;
    behaviour->batch = *batch;
    for (int b = 0; b < batch->B; b++) {
        size_t row = (size_t)b * (size_t)task->T;
        int length = pes_behaviour_length(batch, b);
        for (int v = 0; v < task->V; v++)
            behaviour->latest[v] = -1;
        for (int i = 0; i < task->T; i++) {
            int32_t token = batch->ids[row + (size_t)i];
            behaviour->earlier[row + (size_t)i] = behaviour->latest[token];
            behaviour->latest[token] = i;
            bool counted = i >= PES_MAX(1, task->behaviour_from) && i < length;
            if (counted && task->behaviour_labelled) counted = batch->labels[row + (size_t)i] >= 0;
            behaviour->counted[row + (size_t)i] = counted;
            if (!counted) continue;
            behaviour->queries++;
            behaviour->queries_with_next += i + 1 < length && !behaviour->model->shape.causal;
            behaviour->uniform += 1.0 / visible_keys(behaviour, i, length);
        }
    }
}

/* Of p = softmax(s) over visible keys: log p_j = s_j - s_k + log p_k for any k, so that one logarithm serves
 * a row.  Masked keys have p = 0. */
static double entropy(const real *p, const real *s, int n)
{
    int k = 0;
    for (int j = 1; j < n; j++)
        if (p[j] > p[k]) k = j;
    if (!(p[k] > 0)) return 0;
    double most = (double)s[k], mean = 0, all = 0;
    for (int j = 0; j < n; j++) {
        mean += (double)p[j] * ((double)s[j] - most);
        all += (double)p[j];
    }
    return -mean - all * log((double)p[k]);
}

void pes_behaviour_observe(struct pes_behaviour *behaviour, const struct pes_observation *seen)
{
    int T = seen->T, b = (int)(seen->sequence - (int64_t)behaviour->batch.first);
    size_t row = (size_t)b * (size_t)T;
    int length = pes_behaviour_length(&behaviour->batch, b);
    bool causal = behaviour->model->shape.causal;
    struct pes_behaviour_sums sums = {0};
    for (int i = 1; i < length; i++) {
        if (!behaviour->counted[row + (size_t)i]) continue;
        const real *p = seen->probabilities + (size_t)i * (size_t)T;
        sums.previous += (double)p[i - 1];
        sums.first += (double)p[0];
        if (!causal && i + 1 < length) sums.next += (double)p[i + 1];
        for (int s = behaviour->earlier[row + (size_t)i]; s >= 0; s = behaviour->earlier[row + (size_t)s]) {
            sums.duplicate += (double)p[s];
            if (s + 1 < i) sums.induction += (double)p[s + 1];
        }
        int end = causal ? i + 1 : T;
        sums.entropy += entropy(p, seen->scores + (size_t)i * (size_t)T, end);
        for (int j = 0; j < end; j++)
            sums.distance += (double)p[j] * abs(i - j);
    }
    struct pes_behaviour_sums *total = &behaviour->sums[seen->layer * behaviour->model->shape.H + seen->head];
    total->previous += sums.previous, total->next += sums.next;
    total->induction += sums.induction, total->duplicate += sums.duplicate;
    total->first += sums.first, total->entropy += sums.entropy, total->distance += sums.distance;
}
