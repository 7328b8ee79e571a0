/* merge.c - unites results files: every trial once, by its key. */
#include <string.h>
#include <sys/stat.h>

#include "copy.h"
#include "files.h"

/* --- which file a trial is taken from --- */

/* done and diverged are results; failed is not, but better than nothing. */
static int worth(uint8_t status)
{
    return status == PES_OUTCOME_DONE || status == PES_OUTCOME_DIVERGED ? 2
           : status == PES_OUTCOME_FAILED                               ? 1
                                                                        : 0;
}

/* The row of a trial in the new layout; *sound: its checksum was right. */
static enum pes_status read_row(struct pes_reader *reader, size_t trial, struct pes_row *row, bool *sound)
{
    struct pes_row stored = {reader->layout, pes_allocate(reader->layout->row_bytes, 1)};
    if (!stored.bytes) return PES_MEMORY;
    enum pes_status status = pes_reader_row(reader, trial, &stored);
    if (status == PES_OK) {
        *sound = pes_row_checksum(&stored) == reader->checksums[trial];
        store_embed_row(reader->layout, stored.bytes, row);
    }
    pes_free(stored.bytes);
    return status;
}

struct merging {
    const struct pes_layout *layout;
    struct pes_reader *const *readers;
    struct pes_merge *merge;
    struct pes_row rows[2];
};

/* Two files have results of one trial: they must be the same, unless one is damaged. */
static enum pes_status settle(struct merging *merging, struct pick *pick, int source, size_t trial)
{
    struct pes_reader *a = merging->readers[pick->source], *b = merging->readers[source];
    bool a_sound, b_sound;
    TRY(read_row(a, pick->trial, &merging->rows[0], &a_sound));
    TRY(read_row(b, trial, &merging->rows[1], &b_sound));
    merging->merge->num_twice++;
    if (!b_sound) return PES_OK;
    if (!a_sound) {
        *pick = (struct pick){source, trial};
        return PES_OK;
    }
    if (a->status[pick->trial] == b->status[trial] && a->reason[pick->trial] == b->reason[trial] &&
        !memcmp(merging->rows[0].bytes, merging->rows[1].bytes, merging->layout->row_bytes))
        return PES_OK;
    return pes_fail(PES_DIFFERENT,
                    "%s (trial %zu) and %s (trial %zu) have different results for key %s; nothing was "
                    "written",
                    a->results.path, pick->trial, b->results.path, trial, b->keys[trial]);
}

static enum pes_status pick_from(struct merging *merging, int source, const struct key_index *wanted,
                                 struct pick *picks)
{
    struct pes_reader *reader = merging->readers[source];
    for (size_t t = 0; t < reader->results.num_trials; t++) {
        int own = worth(reader->status[t]);
        if (!own) continue;
        long place = key_index_find(wanted, reader->keys[t]);
        if (place < 0)
            return pes_fail(PES_INPUT, "%s: its trial %zu is not among those of the sweep",
                            reader->results.path, t);
        struct pick *pick = &picks[place];
        int other = pick->source < 0 ? 0 : worth(merging->readers[pick->source]->status[pick->trial]);
        if (own > other)
            *pick = (struct pick){source, t};
        else if (own == 2 && other == 2)
            TRY(settle(merging, pick, source, t));
    }
    return PES_OK;
}

static enum pes_status pick_all(struct merging *merging, const struct pes_sweep *sweep, size_t num_readers,
                                struct pes_arena *arena, struct pick **out)
{
    char **keys = pes_arena_take(arena, sweep->num_trials, sizeof *keys);
    struct pick *picks = pes_arena_take(arena, sweep->num_trials, sizeof *picks);
    for (int i = 0; i < 2; i++)
        merging->rows[i] =
            (struct pes_row){merging->layout, pes_arena_take(arena, merging->layout->row_bytes, 1)};
    if (!keys || !picks || !merging->rows[0].bytes || !merging->rows[1].bytes) return PES_MEMORY;
    for (size_t t = 0; t < sweep->num_trials; t++) {
        keys[t] = sweep->trials[t].key;
        picks[t].source = -1;
    }
    struct key_index *wanted = key_index_create(keys, sweep->num_trials);
    enum pes_status status = wanted ? PES_OK : PES_MEMORY;
    for (size_t r = 0; r < num_readers && status == PES_OK; r++)
        status = pick_from(merging, (int)r, wanted, picks);
    key_index_destroy(wanted);
    for (size_t t = 0; t < sweep->num_trials; t++)
        merging->merge->num_finished += picks[t].source >= 0;
    *out = picks;
    return status;
}

/* --- all --- */

/* What some file lacks is in none of the new rows. */
static enum pes_status leave_out(const struct pes_layout *layout, const struct pes_sweep *sweep,
                                 struct pes_reader *const *readers, size_t num_readers,
                                 struct pes_arena *arena, struct pes_merge *merge,
                                 const struct pes_layout **left)
{
    bool *keep = pes_arena_take(arena, layout->num_fields, sizeof *keep);
    struct pes_layout *selected;
    if (!keep) return PES_MEMORY;
    memset(keep, true, layout->num_fields);
    for (size_t r = 0; r < num_readers; r++)
        TRY(pes_reader_fit(readers[r], sweep->settings, layout, keep, &merge->num_left_out));
    TRY(pes_layout_select(layout, keep, arena, &selected));
    *left = selected;
    return PES_OK;
}

static enum pes_status merge_locked(const char *out, const struct pes_sweep *sweep,
                                    const struct pes_layout *layout, struct pes_reader *const *readers,
                                    size_t num_readers, struct pes_arena *arena, struct pes_merge *merge)
{
    struct stat facts;
    if (!lstat(out, &facts)) return pes_fail(PES_INPUT, "%s exists already; give another -o", out);
    const struct pes_layout *left;
    TRY(leave_out(layout, sweep, readers, num_readers, arena, merge, &left)); /* names settings that differ */
    for (size_t r = 0; r < num_readers; r++)
        TRY(store_check_layout(readers[r], layout, false));
    layout = left;
    struct merging merging = {.layout = layout, .readers = readers, .merge = merge};
    struct pick *picks;
    TRY(pick_all(&merging, sweep, num_readers, arena, &picks));
    TRY(store_copy(out, sweep, layout, readers, num_readers, picks, &merge->num_damaged));
    merge->num_finished -= merge->num_damaged;
    return PES_OK;
}

enum pes_status pes_store_merge(const char *out, const struct pes_sweep *sweep,
                                const struct pes_layout *layout, struct pes_reader *const *readers,
                                size_t num_readers, struct pes_merge *merge)
{
    *merge = (struct pes_merge){.num_trials = sweep->num_trials};
    bool locked;
    TRY(store_lock(out, &locked));
    struct pes_arena *arena = pes_arena_create();
    enum pes_status status =
        arena ? merge_locked(out, sweep, layout, readers, num_readers, arena, merge) : PES_MEMORY;
    pes_arena_destroy(arena);
    store_unlock();
    return status;
}
