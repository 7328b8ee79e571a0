/* common.h - what several tasks draw and check. */
#ifndef PESWEEP_TASK_COMMON_H
#define PESWEEP_TASK_COMMON_H

#include "pesweep/task.h"

/* Rows of a task's keys: path, range, default, unit, help. */
#define TASK_INT(p, low, high, d, u, h)                                                                      \
    {                                                                                                        \
        .path = p, .type = PES_VALUE_INT, .min = low, .max = high, .fallback = d, .unit = u, .help = h       \
    }
#define TASK_REAL(p, low, high, open, d, h)                                                                  \
    {                                                                                                        \
        .path = p, .type = PES_VALUE_REAL, .min = low, .max = high, .min_open = open, .fallback = d,         \
        .unit = "", .help = h                                                                                \
    }
#define TASK_BOOL(p, d, h)                                                                                   \
    {                                                                                                        \
        .path = p, .type = PES_VALUE_BOOL, .fallback = d, .unit = "", .help = h                              \
    }
#define TASK_END                                                                                             \
    {                                                                                                        \
        .path = NULL                                                                                         \
    }

/* Fewest and most of something, drawn uniformly, both inclusive. */
int pes_task_draw_between(struct pes_stream *stream, int fewest, int most);

/* `count` words, each uniform over first .. first + range - 1. */
void pes_task_draw_words(struct pes_stream *stream, int first, int range, int count, int32_t *words);

/* `count` different words, uniform over first .. first + range - 1, in random order.  pool: [range] scratch.
 */
void pes_task_draw_distinct(struct pes_stream *stream, int first, int range, int count, int32_t *pool,
                            int32_t *words);

/* Marks the first `length` of T positions as real tokens and zeroes the rest; mask may be NULL. */
void pes_task_pad(int T, int length, int32_t *ids, uint8_t *mask);

/* All T labels ignored. */
void pes_task_ignore(int T, int32_t *labels);

/* Sizes that all finite classification tasks share: samples, split, padding to task.length (0 = `longest`).
 */
enum pes_status pes_task_shape_finite(const struct pes_config *config, int longest,
                                      struct pes_task_shape *shape);

/* Sizes that all endless language-model tasks share. */
void pes_task_shape_endless(const struct pes_config *config, int T, int V, struct pes_task_shape *shape);

/* copy and reverse: random words, the mark 1, then the answer of as many words; the labels are the answer.
 * Keys, sizes and sample are theirs alike; `backwards` gives the answer its order. */
extern const struct pes_key pes_task_copy_keys[];
enum pes_status pes_task_copy_shape(const struct pes_config *config, struct pes_task_shape *shape);
void pes_task_copy_sample(const struct pes_config *config, const struct pes_task_shape *shape,
                          struct pes_stream *stream, bool backwards, struct pes_sample *sample);
void pes_task_copy_oracle(const struct pes_task_shape *shape, const struct pes_sample *sample, bool backwards,
                          int32_t *answers);

#endif
