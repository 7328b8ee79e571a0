/* task.h - tasks: one row and one file each (src/task/<name>.c).
 *
 * A task is a function from a sample's number to its tokens and labels, keyed by data_seed, so data never
 * depend on rank, order or resume.  Finite tasks have task.samples of them, split into train and test by a
 * permutation; endless ones draw training sample step * batch + b, and test samples have numbers apart. */
#ifndef PESWEEP_TASK_H
#define PESWEEP_TASK_H

#include "pesweep/config.h"
#include "pesweep/rng.h"

enum pes_objective { PES_OBJECTIVE_CLASSIFY, PES_OBJECTIVE_LM };

struct pes_task_shape {
    int T;       /* tokens per sequence */
    int V;       /* vocabulary: ids are 0 .. V - 1 */
    int classes; /* outputs: classes, or V for lm */
    enum pes_objective objective;
    bool padded;         /* sequences may be shorter than T: masks are given */
    bool has_scored;     /* labels and scored positions differ (see sample) */
    bool causal_only;    /* makes no sense without a causal mask */
    int64_t num_samples; /* finite: train + test; 0 = endless */
    int64_t num_test;    /* sequences of the test set */
    double chance;       /* accuracy of the best answer given without looking; NaN if unknown */
    /* Queries over which attention behaviours (previous token, induction ...) are averaged. */
    int behaviour_from;      /* position of the first one */
    bool behaviour_labelled; /* labelled positions only */
};

/* One sample, written by the task. */
struct pes_sample {
    int32_t *ids;    /* [T], padded with 0 */
    int32_t *labels; /* classify: [1]; lm: [T]; -1 = ignored */
    uint8_t *mask;   /* [T], 1 = real token; padding stands at the end; NULL unless shape.padded */
    uint8_t *scored; /* lm: [T], 1 = counts for accuracy and task loss; NULL unless has_scored */
};

/* Endless tasks: test sequence n is sample PES_TASK_FIRST_TEST + n, training samples count from 0. */
#define PES_TASK_FIRST_TEST (UINT64_C(1) << 43)
/* Draws of one sample: pes_data gives each sample that many elements of its counter. */
#define PES_TASK_DRAW_BITS 20

struct pes_task {
    const char *name, *summary, *source;
    const struct pes_key *keys;
    /* Sizes under a configuration; PES_INPUT if they make no sense. */
    enum pes_status (*shape)(const struct pes_config *config, struct pes_task_shape *shape);
    /* What is drawn or opened once per data set; *state lives in the arena.  NULL hook: no state. */
    enum pes_status (*open)(const struct pes_config *config, const struct pes_task_shape *shape,
                            struct pes_arena *arena, void **state);
    void (*close)(void *state); /* NULL hook: nothing to close */
    /* A number below 2^53 that depends on every byte of the files that the task reads; errors as `open`. NULL
     * hook: it reads none. */
    enum pes_status (*fingerprint)(const struct pes_config *config, uint64_t *number);
    /* Sample `number`; the stream is fresh for it (keyed by data_seed and number). */
    void (*sample)(const struct pes_config *config, const struct pes_task_shape *shape, void *state,
                   uint64_t number, struct pes_stream *stream, struct pes_sample *sample);
    /* For tests: what a perfect solver answers (same layout as labels), from the tokens; may be NULL. */
    void (*oracle)(const struct pes_config *config, const struct pes_task_shape *shape, void *state,
                   const struct pes_sample *sample, int32_t *answers);
};

#define PES_TASKS(X)                                                                                         \
    X(relative_distance)                                                                                     \
    X(count)                                                                                                 \
    X(random_map)                                                                                            \
    X(induction)                                                                                             \
    X(associative_recall)                                                                                    \
    X(copy)                                                                                                  \
    X(reverse)                                                                                               \
    X(text)

#define X(identifier) extern const struct pes_task pes_task_##identifier;
PES_TASKS(X)
#undef X
extern const struct pes_task *const pes_tasks[];
extern const char *const pes_task_names[];
const struct pes_task *pes_task_find(const char *name);

/* The stream that sample `number` is drawn from. */
struct pes_stream pes_task_stream(uint64_t data_seed, uint64_t number);

/* A data set in memory (finite) or drawn as it goes (endless); owned by the arena, `close` when done.  PES_IO
 * if files can't be read, PES_INPUT if they don't suit the configuration. */
struct pes_data;
enum pes_status pes_data_open(const struct pes_config *config, struct pes_arena *arena,
                              struct pes_data **data);
void pes_data_close(struct pes_data *data);
/* Whether a configuration's data come from files; what they hold now.  PES_IO, PES_INPUT as pes_data_open. */
bool pes_data_reads_files(const struct pes_config *config);
enum pes_status pes_data_fingerprint(const struct pes_config *config, uint64_t *number);
const struct pes_task_shape *pes_data_shape(const struct pes_data *data);
const struct pes_task *pes_data_task(const struct pes_data *data);
int64_t pes_data_num_train(const struct pes_data *data); /* 0 = endless */
int64_t pes_data_num_test(const struct pes_data *data);

/* A block of sequences, slowest index the sequence.  Arrays are NULL where the shape doesn't use them. */
struct pes_batch {
    int B, T;
    const int32_t *ids;    /* [B][T] */
    const int32_t *labels; /* classify [B], lm [B][T] */
    const uint8_t *mask;   /* [B][T] or NULL */
    const uint8_t *scored; /* [B][T] or NULL */
    uint64_t first;        /* number of sequence 0 within the optimizer batch */
};

/* Copies or draws sequences.  Train: the B = train.batch sequences of an optimizer step (epoch order keyed by
 * data_seed; the last incomplete batch of an epoch is filled from the next epoch).  Test: sequences
 * [first, first + B) of the test set, which stand in an order drawn once.  The memory comes from the arena.
 */
enum pes_status pes_data_train_batch(struct pes_data *data, int64_t step, int B, struct pes_arena *arena,
                                     struct pes_batch *batch);
enum pes_status pes_data_test_batch(struct pes_data *data, int64_t first, int B, struct pes_arena *arena,
                                    struct pes_batch *batch);

/* All samples of a finite data set in one order, the test set first: sequences [first, first + B) of them. Of
 * an endless one the test set alone. */
int64_t pes_data_num_samples(const struct pes_data *data);
enum pes_status pes_data_sample_batch(struct pes_data *data, int64_t first, int B, struct pes_arena *arena,
                                      struct pes_batch *batch);

/* Bytes that an opened data set holds, mapped files left out. */
enum pes_status pes_data_bytes(const struct pes_config *config, size_t *bytes);

#endif
