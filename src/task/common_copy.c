/* common_copy.c - words to be written again after a mark, in their order or backwards.
 *
 *   w_1 ... w_n, 1, a_1 ... a_{n-1}, padding       labels a_1 ... a_n from the mark on
 *
 * a is w, or w backwards; n is uniform in its range, words are uniform over 2 .. V - 1. */
#include "common.h"

enum { MARK = 1, FIRST_WORD = 2 };

const struct pes_key pes_task_copy_keys[] = {
    TASK_INT("task.vocab", 4, 65536, "32", "", "number of ids, the padding id 0 and the mark 1 included"),
    TASK_INT("task.words", 1, 16384, "16", "words",
             "most words to be written again; a sequence has twice as many tokens"),
    TASK_INT("task.words_min", 1, 16384, "1", "words", "fewest words to be written again"),
    TASK_INT("task.test_samples", 1, 1e9, "1024", "", "sequences of the test set"),
    TASK_END,
};

enum pes_status pes_task_copy_shape(const struct pes_config *config, struct pes_task_shape *shape)
{
    int words = (int)pes_config_int(config, "task.words"),
        least = (int)pes_config_int(config, "task.words_min");
    if (least > words) return pes_fail(PES_INPUT, "task.words_min %d is above task.words %d", least, words);
    *shape = (struct pes_task_shape){.behaviour_labelled = true, .padded = least < words};
    pes_task_shape_endless(config, 2 * words, (int)pes_config_int(config, "task.vocab"), shape);
    shape->chance = 1.0 / (shape->V - FIRST_WORD);
    return PES_OK;
}

void pes_task_copy_sample(const struct pes_config *config, const struct pes_task_shape *shape,
                          struct pes_stream *stream, bool backwards, struct pes_sample *sample)
{
    int n = pes_task_draw_between(stream, (int)pes_config_int(config, "task.words_min"),
                                  (int)pes_config_int(config, "task.words"));
    pes_task_draw_words(stream, FIRST_WORD, shape->V - FIRST_WORD, n, sample->ids);
    pes_task_ignore(shape->T, sample->labels);
    sample->ids[n] = MARK;
    for (int i = 0; i < n; i++) {
        int32_t answer = sample->ids[backwards ? n - 1 - i : i];
        sample->labels[n + i] = answer;
        if (i + 1 < n) sample->ids[n + 1 + i] = answer;
    }
    pes_task_pad(shape->T, 2 * n, sample->ids, sample->mask);
}

void pes_task_copy_oracle(const struct pes_task_shape *shape, const struct pes_sample *sample, bool backwards,
                          int32_t *answers)
{
    int n = 0;
    while (n < shape->T && sample->ids[n] != MARK)
        n++;
    for (int t = 0; t < shape->T; t++)
        answers[t] = t < n || t >= 2 * n ? -1 : sample->ids[backwards ? 2 * n - 1 - t : t - n];
}
