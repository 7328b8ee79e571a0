/* reader.c - opens a results file for reading: trials, layout, sweep. */
#include "reader.h"

#include <string.h>

enum pes_status store_reader_texts(struct pes_reader *reader, const char *group, const char *name,
                                   char ***texts, size_t *num)
{
    return results_read_texts(&reader->results, group, name, reader->arena, texts, num);
}

/* --- opening --- */

static enum pes_status read_trials(struct pes_reader *reader)
{
    size_t num, num_trials = reader->results.num_trials;
    reader->status = pes_arena_take(reader->arena, num_trials, sizeof *reader->status);
    reader->reason = pes_arena_take(reader->arena, num_trials, sizeof *reader->reason);
    reader->checksums = pes_arena_take(reader->arena, num_trials, sizeof *reader->checksums);
    if (!reader->status || !reader->reason || !reader->checksums) return PES_MEMORY;
    /* The status first: a row whose status says done was complete before. */
    TRY(results_read_column(&reader->results, COLUMN_STATUS, 0, num_trials, reader->status));
    TRY(results_read_column(&reader->results, COLUMN_REASON, 0, num_trials, reader->reason));
    TRY(results_read_column(&reader->results, COLUMN_CHECKSUM, 0, num_trials, reader->checksums));
    for (size_t t = 0; t < num_trials; t++)
        if (reader->status[t] > PES_OUTCOME_DIVERGED)
            return pes_fail(PES_INPUT, "%s is damaged: trials/status of trial %zu is %d, which means nothing",
                            reader->results.path, t, reader->status[t]);
    TRY(store_reader_texts(reader, "trials", "key", &reader->keys, &num));
    if (num != num_trials)
        return pes_fail(PES_INPUT, "%s is damaged: %zu keys for %zu trials", reader->results.path, num,
                        num_trials);
    return results_read_layout(&reader->results, reader->arena, &reader->layout);
}

enum pes_status pes_reader_open(const char *path, struct pes_reader **out)
{
    struct pes_arena *arena = pes_arena_create();
    struct pes_reader *reader = arena ? pes_arena_take(arena, 1, sizeof *reader) : NULL;
    const char *name = reader ? pes_arena_copy_text(arena, path) : NULL;
    if (!name) {
        pes_arena_destroy(arena);
        return PES_MEMORY;
    }
    reader->arena = arena;
    enum pes_status status = results_open(name, RESULTS_READ, &reader->results);
    if (status == PES_OK) status = read_trials(reader);
    if (status != PES_OK) {
        results_close(&reader->results);
        pes_arena_destroy(arena);
        return status;
    }
    *out = reader;
    return PES_OK;
}

void pes_reader_close(struct pes_reader *reader)
{
    if (!reader) return;
    results_close(&reader->results);
    pes_sweep_destroy(reader->sweep);
    pes_free(reader->messages);
    pes_free(reader->runs);
    pes_arena_destroy(reader->arena);
}

const struct pes_sweep *pes_reader_sweep(struct pes_reader *reader)
{
    if (reader->sweep) return reader->sweep;
    char **texts;
    size_t num;
    struct pes_sweep *sweep;
    if (store_reader_texts(reader, "provenance", "sweep_text", &texts, &num) != PES_OK ||
        pes_sweep_parse(reader->results.path, texts[0], strlen(texts[0]), &sweep) != PES_OK)
        return NULL;
    bool same = sweep->num_trials == reader->results.num_trials;
    for (size_t t = 0; t < sweep->num_trials && same; t++)
        same = !strcmp(sweep->trials[t].key, reader->keys[t]);
    if (!same) {
        pes_sweep_destroy(sweep);
        pes_fail(PES_INPUT,
                 "%s: its sweep means other trials to this pesweep (%s) than to the one that made it",
                 reader->results.path, pes_build());
        return NULL;
    }
    reader->sweep = sweep;
    return sweep;
}

/* --- what is there --- */

size_t pes_reader_num_trials(const struct pes_reader *reader)
{
    return reader->results.num_trials;
}

const struct pes_layout *pes_reader_layout(struct pes_reader *reader)
{
    return reader->layout;
}

const uint8_t *pes_reader_status(const struct pes_reader *reader)
{
    return reader->status;
}

const uint8_t *pes_reader_reason(const struct pes_reader *reader)
{
    return reader->reason;
}

const char *pes_reader_key(const struct pes_reader *reader, size_t trial)
{
    CHECK(trial < reader->results.num_trials);
    return reader->keys[trial];
}
