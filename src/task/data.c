/* data.c - a task's data set: generated once and split (finite), or drawn as it goes (endless).
 *
 * Invariant: which sequences a batch holds is a function of (configuration, step) alone, so training can
 * start at any step.  Labels and ids are checked where they are made; nothing later looks at them again. */
#include "pesweep/task.h"

#include <string.h>

struct pes_data {
    const struct pes_config *config;
    const struct pes_task *task;
    void *state;
    struct pes_task_shape shape;
    uint64_t seed;
    int64_t num_train;
    int32_t *split; /* finite: sample numbers, the test set first */
    /* Finite: what was generated, one row per sample. */
    uint16_t *ids;       /* [samples][T] */
    int32_t *labels;     /* [samples][label width] */
    uint8_t *scored;     /* [samples][T] or NULL */
    int32_t *lengths;    /* [samples] real tokens, or NULL */
    int32_t *order;      /* permutation of the training samples in order_epoch */
    int64_t order_epoch; /* -1 = none yet */
};

struct pes_stream pes_task_stream(uint64_t data_seed, uint64_t number)
{
    return (struct pes_stream){.rng = {.seed = data_seed, .purpose = PES_RNG_DATA},
                               .next = number << PES_TASK_DRAW_BITS};
}

static size_t label_width(const struct pes_task_shape *shape)
{
    return shape->objective == PES_OBJECTIVE_LM ? (size_t)shape->T : 1;
}

static void generate(const struct pes_data *data, uint64_t number, struct pes_sample *sample)
{
    const struct pes_task_shape *shape = &data->shape;
    struct pes_stream stream = pes_task_stream(data->seed, number);
    uint64_t start = stream.next;
    data->task->sample(data->config, shape, data->state, number, &stream, sample);
    CHECK(stream.next - start <= UINT64_C(1) << PES_TASK_DRAW_BITS);
    for (int t = 0; t < shape->T; t++)
        CHECK(sample->ids[t] >= 0 && sample->ids[t] < shape->V);
    for (size_t l = 0; l < label_width(shape); l++)
        CHECK(sample->labels[l] >= -1 && sample->labels[l] < shape->classes);
}

static int32_t real_length(int T, const uint8_t *mask)
{
    int32_t length = 0;
    while (length < T && mask[length])
        length++;
    for (int t = length; t < T; t++)
        CHECK(!mask[t]);
    return length;
}

/* Arrays of `count` sequences for a batch. */
struct block {
    int32_t *ids, *labels;
    uint8_t *mask, *scored;
};

static enum pes_status take_block(const struct pes_task_shape *shape, size_t count, struct pes_arena *arena,
                                  struct block *block)
{
    size_t tokens = count * (size_t)shape->T;
    *block =
        (struct block){.ids = pes_arena_take(arena, tokens, sizeof *block->ids),
                       .labels = pes_arena_take(arena, count * label_width(shape), sizeof *block->labels)};
    if (!block->ids || !block->labels) return PES_MEMORY;
    if (shape->padded && !(block->mask = pes_arena_take(arena, tokens, 1))) return PES_MEMORY;
    if (shape->has_scored && !(block->scored = pes_arena_take(arena, tokens, 1))) return PES_MEMORY;
    return PES_OK;
}

static struct pes_sample sample_at(const struct pes_task_shape *shape, const struct block *block, size_t b)
{
    size_t T = (size_t)shape->T;
    return (struct pes_sample){.ids = block->ids + b * T,
                               .labels = block->labels + b * label_width(shape),
                               .mask = block->mask ? block->mask + b * T : NULL,
                               .scored = block->scored ? block->scored + b * T : NULL};
}

static void store(struct pes_data *data, size_t row, const struct pes_sample *sample)
{
    const struct pes_task_shape *shape = &data->shape;
    size_t T = (size_t)shape->T, width = label_width(shape);
    for (size_t t = 0; t < T; t++)
        data->ids[row * T + t] = (uint16_t)sample->ids[t];
    memcpy(data->labels + row * width, sample->labels, width * sizeof *data->labels);
    if (data->scored) memcpy(data->scored + row * T, sample->scored, T);
    if (data->lengths) data->lengths[row] = real_length(shape->T, sample->mask);
}

static void load(const struct pes_data *data, size_t row, const struct pes_sample *sample)
{
    const struct pes_task_shape *shape = &data->shape;
    size_t T = (size_t)shape->T, width = label_width(shape);
    for (size_t t = 0; t < T; t++)
        sample->ids[t] = data->ids[row * T + t];
    memcpy(sample->labels, data->labels + row * width, width * sizeof *data->labels);
    if (data->scored) memcpy(sample->scored, data->scored + row * T, T);
    for (size_t t = 0; data->lengths && t < T; t++)
        sample->mask[t] = t < (size_t)data->lengths[row];
}

static void shuffle(const struct pes_data *data, enum pes_purpose purpose, uint32_t step, int32_t *order,
                    size_t count)
{
    struct pes_stream stream = {.rng = {.seed = data->seed, .purpose = (uint32_t)purpose, .step = step}};
    for (size_t i = 0; i < count; i++)
        order[i] = (int32_t)i;
    pes_stream_shuffle(&stream, order, count);
}

static enum pes_status generate_all(struct pes_data *data, struct pes_arena *arena)
{
    const struct pes_task_shape *shape = &data->shape;
    size_t count = (size_t)shape->num_samples, T = (size_t)shape->T;
    CHECK(shape->V <= UINT16_MAX + 1 && shape->num_samples <= INT32_MAX);
    data->ids = pes_arena_take(arena, count * T, sizeof *data->ids);
    data->labels = pes_arena_take(arena, count * label_width(shape), sizeof *data->labels);
    data->split = pes_arena_take(arena, count, sizeof *data->split);
    data->order = pes_arena_take(arena, (size_t)data->num_train, sizeof *data->order);
    if (!data->ids || !data->labels || !data->split || !data->order) return PES_MEMORY;
    if (shape->has_scored && !(data->scored = pes_arena_take(arena, count * T, 1))) return PES_MEMORY;
    if (shape->padded && !(data->lengths = pes_arena_take(arena, count, sizeof *data->lengths)))
        return PES_MEMORY;

    struct pes_arena_mark mark = pes_arena_mark(arena);
    struct block block;
    TRY(take_block(shape, 1, arena, &block));
    struct pes_sample sample = sample_at(shape, &block, 0);
    for (size_t row = 0; row < count; row++) {
        generate(data, row, &sample);
        store(data, row, &sample);
    }
    pes_arena_rewind(arena, mark);
    shuffle(data, PES_RNG_SPLIT, 0, data->split, count);
    return PES_OK;
}

enum pes_status pes_data_open(const struct pes_config *config, struct pes_arena *arena, struct pes_data **out)
{
    struct pes_data *data = pes_arena_take(arena, 1, sizeof *data);
    if (!data) return PES_MEMORY;
    data->config = config;
    data->task = pes_task_find(pes_config_text(config, "task.kind"));
    CHECK(data->task);
    data->seed = (uint64_t)pes_config_int(config, "task.data_seed");
    data->order_epoch = -1;
    TRY(data->task->shape(config, &data->shape));
    if (data->task->open) TRY(data->task->open(config, &data->shape, arena, &data->state));
    if (data->shape.num_samples) {
        data->num_train = data->shape.num_samples - data->shape.num_test;
        enum pes_status status = generate_all(data, arena);
        if (status != PES_OK) {
            pes_data_close(data);
            return status;
        }
    }
    *out = data;
    return PES_OK;
}

bool pes_data_reads_files(const struct pes_config *config)
{
    return pes_task_find(pes_config_text(config, "task.kind"))->fingerprint;
}

enum pes_status pes_data_fingerprint(const struct pes_config *config, uint64_t *number)
{
    return pes_task_find(pes_config_text(config, "task.kind"))->fingerprint(config, number);
}

void pes_data_close(struct pes_data *data)
{
    if (data && data->task->close) data->task->close(data->state);
}

const struct pes_task_shape *pes_data_shape(const struct pes_data *data)
{
    return &data->shape;
}

const struct pes_task *pes_data_task(const struct pes_data *data)
{
    return data->task;
}

int64_t pes_data_num_train(const struct pes_data *data)
{
    return data->num_train;
}

int64_t pes_data_num_test(const struct pes_data *data)
{
    return data->shape.num_test;
}

static void fill_batch(const struct pes_task_shape *shape, const struct block *block, int B, int64_t first,
                       struct pes_batch *batch)
{
    *batch = (struct pes_batch){.B = B,
                                .T = shape->T,
                                .ids = block->ids,
                                .labels = block->labels,
                                .mask = block->mask,
                                .scored = block->scored,
                                .first = (uint64_t)first};
}

enum pes_status pes_data_train_batch(struct pes_data *data, int64_t step, int B, struct pes_arena *arena,
                                     struct pes_batch *batch)
{
    struct block block;
    TRY(take_block(&data->shape, (size_t)B, arena, &block));
    for (int b = 0; b < B; b++) {
        struct pes_sample sample = sample_at(&data->shape, &block, (size_t)b);
        int64_t place = step * B + b;
        if (!data->num_train) {
            generate(data, (uint64_t)place, &sample);
            continue;
        }
        int64_t epoch = place / data->num_train;
        if (epoch != data->order_epoch)
            shuffle(data, PES_RNG_ORDER, (uint32_t)epoch, data->order, (size_t)data->num_train);
        data->order_epoch = epoch;
        int32_t training_sample = data->order[place % data->num_train];
        load(data, (size_t)data->split[data->shape.num_test + training_sample], &sample);
    }
    fill_batch(&data->shape, &block, B, 0, batch);
    return PES_OK;
}

enum pes_status pes_data_test_batch(struct pes_data *data, int64_t first, int B, struct pes_arena *arena,
                                    struct pes_batch *batch)
{
    CHECK(first + B <= data->shape.num_test);
    return pes_data_sample_batch(data, first, B, arena, batch);
}

int64_t pes_data_num_samples(const struct pes_data *data)
{
    return data->num_train + data->shape.num_test;
}

enum pes_status pes_data_sample_batch(struct pes_data *data, int64_t first, int B, struct pes_arena *arena,
                                      struct pes_batch *batch)
{
    CHECK(first >= 0 && first + B <= pes_data_num_samples(data));
    struct block block;
    TRY(take_block(&data->shape, (size_t)B, arena, &block));
    for (int b = 0; b < B; b++) {
        struct pes_sample sample = sample_at(&data->shape, &block, (size_t)b);
        if (data->num_train)
            load(data, (size_t)data->split[first + b], &sample);
        else
            generate(data, PES_TASK_FIRST_TEST + (uint64_t)(first + b), &sample);
    }
    fill_batch(&data->shape, &block, B, first, batch);
    return PES_OK;
}

enum pes_status pes_data_bytes(const struct pes_config *config, size_t *bytes)
{
    struct pes_task_shape shape;
    TRY(pes_task_find(pes_config_text(config, "task.kind"))->shape(config, &shape));
    size_t T = (size_t)shape.T, samples = (size_t)shape.num_samples;
    size_t each = T * sizeof(uint16_t) + label_width(&shape) * sizeof(int32_t) + sizeof(int32_t) /* split */ +
                  sizeof(int32_t) /* order */ + (shape.has_scored ? T : 0) +
                  (shape.padded ? sizeof(int32_t) : 0);
    /* A few arrays over the vocabulary are what tasks keep beside their samples. */
    *bytes = samples * each + 32 * (size_t)shape.V;
    return PES_OK;
}
