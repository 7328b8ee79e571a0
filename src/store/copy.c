/* copy.c - carries finished trials into a new file: extension and merge.
 *
 * Trials that follow each other in source and target are moved together. */
#include "copy.h"

#include <string.h>
#include <unistd.h>

#include "create.h"
#include "files.h"

/* --- layouts --- */

static bool same_kind(const struct pes_variable *a, const struct pes_variable *b)
{
    return a->type == b->type && a->rank == b->rank &&
           !memcmp(a->dimensions, b->dimensions, (size_t)a->rank * sizeof a->dimensions[0]);
}

/* Whether the source's own trials should have the variable, and don't. */
static bool lacks(const struct pes_layout *source, const struct pes_variable *variable)
{
    for (int d = 0; d < variable->rank; d++)
        if (!source->size[variable->dimensions[d]]) return false; /* it would have been empty there */
    return !pes_layout_find(source, variable->group, variable->name);
}

enum pes_status pes_reader_fit(struct pes_reader *reader, const struct pes_config *settings,
                               const struct pes_layout *layout, bool *keep, size_t *num_lacking)
{
    struct pes_arena *arena = pes_arena_create();
    enum pes_status status = arena ? store_check_settings(reader, settings, arena) : PES_MEMORY;
    pes_arena_destroy(arena);
    for (size_t f = 0; f < layout->num_fields && status == PES_OK; f++)
        if (keep[f] && lacks(reader->layout, &layout->fields[f].variable)) {
            keep[f] = false;
            ++*num_lacking;
        }
    return status;
}

/* Names the build that made the file, too. */
static enum pes_status refuse(const struct pes_reader *source, const struct pes_variable *variable,
                              const char *what)
{
    char maker[128] = "(unknown)";
    hid_t group = H5Gopen2(source->results.file, "provenance", H5P_DEFAULT);
    if (group >= 0) hdf_get_text(group, "created_by", maker, sizeof maker);
    hdf_close(&group);
    hdf_forget();
    return pes_fail(PES_INPUT,
                    "%s was made by pesweep %s: its %s/%s is %s to this one (%s); go on with the one that "
                    "made it, or give another -o",
                    source->results.path, maker, variable->group, variable->name, what, pes_build());
}

enum pes_status store_check_layout(const struct pes_reader *source, const struct pes_layout *layout,
                                   bool whole)
{
    for (size_t f = 0; f < source->layout->num_fields; f++) {
        const struct pes_variable *variable = &source->layout->fields[f].variable;
        const struct pes_field *field = pes_layout_find(layout, variable->group, variable->name);
        if (!field) return refuse(source, variable, "unknown");
        if (!same_kind(variable, &field->variable)) return refuse(source, variable, "of another kind");
    }
    for (size_t f = 0; whole && f < layout->num_fields; f++)
        if (lacks(source->layout, &layout->fields[f].variable))
            return refuse(source, &layout->fields[f].variable, "missing, but known");
    return PES_OK;
}

bool store_same_layout(const struct pes_layout *a, const struct pes_layout *b)
{
    if (a->num_fields != b->num_fields || a->row_bytes != b->row_bytes) return false;
    for (size_t f = 0; f < a->num_fields; f++) {
        const struct pes_field *x = &a->fields[f], *y = &b->fields[f];
        if (strcmp(x->variable.group, y->variable.group) || strcmp(x->variable.name, y->variable.name) ||
            !same_kind(&x->variable, &y->variable) ||
            memcmp(x->extent, y->extent, (size_t)x->variable.rank * sizeof x->extent[0]))
            return false;
    }
    return true;
}

/* Copies the part that both blocks have; strides are products of the own extents. */
static void embed(const size_t *from_extent, const unsigned char *from, const size_t *to_extent,
                  unsigned char *to, int rank, size_t element_bytes)
{
    if (!rank) {
        memcpy(to, from, element_bytes);
        return;
    }
    size_t from_stride = element_bytes, to_stride = element_bytes;
    for (int d = 1; d < rank; d++) {
        from_stride *= from_extent[d];
        to_stride *= to_extent[d];
    }
    size_t common = PES_MIN(from_extent[0], to_extent[0]);
    if (rank == 1) {
        memcpy(to, from, common * element_bytes);
        return;
    }
    for (size_t i = 0; i < common; i++)
        embed(from_extent + 1, from + i * from_stride, to_extent + 1, to + i * to_stride, rank - 1,
              element_bytes);
}

void store_embed_row(const struct pes_layout *from, const unsigned char *source, struct pes_row *target)
{
    pes_row_clear(target);
    for (size_t f = 0; f < from->num_fields; f++) {
        const struct pes_field *field = &from->fields[f];
        const struct pes_field *place =
            pes_layout_find(target->layout, field->variable.group, field->variable.name);
        if (place)
            embed(field->extent, source + field->offset, place->extent, target->bytes + place->offset,
                  field->variable.rank, pes_type_bytes(field->variable.type));
    }
}

/* --- the record of starts --- */

struct run_map {
    int32_t number[STORE_RUNS]; /* in the new file, -1: dropped */
};

/* Marks the starts that picked trials of a source refer to. */
static enum pes_status mark_used(struct pes_reader *source, int number, const struct pick *picks,
                                 size_t num_picks, bool used[STORE_RUNS])
{
    size_t num_trials = source->results.num_trials;
    int32_t *runs = pes_allocate(num_trials, sizeof *runs);
    if (!runs) return PES_MEMORY;
    enum pes_status status = results_read_column(&source->results, COLUMN_RUN, 0, num_trials, runs);
    for (size_t t = 0; t < num_picks && status == PES_OK; t++) {
        int32_t run = picks[t].source == number ? runs[picks[t].trial] : -1;
        if (run >= 0 && run < STORE_RUNS) used[run] = true;
    }
    pes_free(runs);
    return status;
}

/* Keeps every start if there is room, else those that some picked trial refers to, else lets the rest share
 * the last entry. */
static enum pes_status copy_runs(const struct results *target, struct pes_reader *const *sources,
                                 size_t num_sources, const struct pick *picks, size_t num_picks,
                                 struct run_map *maps)
{
    size_t total = 0;
    bool(*used)[STORE_RUNS] = pes_allocate(num_sources, sizeof *used);
    if (!used) return PES_MEMORY;
    enum pes_status status = PES_OK;
    for (size_t s = 0; s < num_sources && status == PES_OK; s++) {
        status = mark_used(sources[s], (int)s, picks, num_picks, used[s]);
        for (size_t r = 0; r < STORE_RUNS; r++)
            total += used[s][r] || *pes_reader_run(sources[s], r);
    }
    int32_t next = 0;
    for (size_t s = 0; s < num_sources; s++)
        for (size_t r = 0; r < STORE_RUNS && status == PES_OK; r++) {
            const char *json = pes_reader_run(sources[s], r);
            maps[s].number[r] = -1;
            if (!used[s][r] && (!*json || total > STORE_RUNS)) continue;
            maps[s].number[r] = PES_MIN(next, STORE_RUNS - 1);
            next++;
            char text[STORE_RUN_BYTES] = {0};
            strncpy(text, json, sizeof text - 1);
            status = results_write_column(target, COLUMN_RUNS, (size_t)maps[s].number[r], 1, text);
        }
    pes_free(used);
    return status;
}

static enum pes_status copy_fence(const struct results *target, struct pes_reader *const *sources,
                                  size_t num_sources)
{
    int64_t most = 0;
    for (size_t s = 0; s < num_sources; s++) {
        int64_t fence;
        TRY(results_read_column(&sources[s]->results, COLUMN_FENCE, 0, 1, &fence));
        most = PES_MAX(most, fence);
    }
    return results_write_column(target, COLUMN_FENCE, 0, 1, &most);
}

/* --- trials --- */

struct copying {
    struct results *target;
    struct pes_reader *source;
    const struct run_map *runs;
    unsigned char *from, *to; /* blocks of rows in the source's and the target's layout */
    void *column;
    size_t block;
    bool same; /* layouts */
    size_t num_damaged;
};

/* One own column of `count` trials, unchanged but for the numbers of starts. */
static enum pes_status copy_column(const struct copying *copying, enum column column, size_t trial, size_t to,
                                   size_t count)
{
    TRY(results_read_column(&copying->source->results, column, trial, count, copying->column));
    int32_t *runs = copying->column;
    for (size_t i = 0; column == COLUMN_RUN && i < count; i++)
        if (runs[i] >= 0 && runs[i] < STORE_RUNS) runs[i] = copying->runs->number[runs[i]];
    return results_write_column(copying->target, column, to, count, copying->column);
}

/* `count` rows of the block that was read, from its `offset` on: trial, ... of the source; they are right. */
static enum pes_status write_block(const struct copying *copying, size_t trial, size_t offset, size_t to,
                                   size_t count)
{
    static const enum column plain[] = {COLUMN_REASON,        COLUMN_STEPS,           COLUMN_RUN,
                                        COLUMN_RANK,          COLUMN_STARTED,         COLUMN_ENDED,
                                        COLUMN_TRAIN_SECONDS, COLUMN_MEASURE_SECONDS, COLUMN_MESSAGE};
    const struct pes_layout *old = copying->source->layout, *new = copying->target->layout;
    const unsigned char *rows = copying->from + offset * old->row_bytes;
    uint64_t *checksums = copying->column;
    if (copying->same) {
        memcpy(checksums, copying->source->checksums + trial, count * sizeof *checksums);
    } else {
        for (size_t i = 0; i < count; i++) {
            struct pes_row row = {new, copying->to + i *new->row_bytes};
            store_embed_row(old, rows + i * old->row_bytes, &row);
            checksums[i] = pes_row_checksum(&row);
        }
        rows = copying->to;
    }
    TRY(results_write_column(copying->target, COLUMN_CHECKSUM, to, count, checksums));
    TRY(results_write_rows(copying->target, to, count, rows));
    for (size_t c = 0; c < PES_COUNT(plain); c++)
        TRY(copy_column(copying, plain[c], trial, to, count));
    return results_write_column(copying->target, COLUMN_STATUS, to, count, copying->source->status + trial);
}

/* Trials [trial, trial + count) of the source become [to, to + count), but for those with a wrong checksum.
 */
static enum pes_status copy_block(struct copying *copying, size_t trial, size_t to, size_t count)
{
    const struct pes_layout *layout = copying->source->layout;
    TRY(results_read_rows(&copying->source->results, trial, count, copying->from));
    for (size_t start = 0; start < count;) {
        size_t good = 0;
        for (; start + good < count; good++) {
            struct pes_row row = {layout, copying->from + (start + good) * layout->row_bytes};
            if (pes_row_checksum(&row) != copying->source->checksums[trial + start + good]) break;
        }
        if (good)
            TRY(write_block(copying, trial + start, start, to + start, good));
        else
            copying->num_damaged++;
        start += PES_MAX(good, (size_t)1);
    }
    return PES_OK;
}

static enum pes_status copy_source(struct results *target, struct pes_reader *source, int number,
                                   const struct pick *picks, const struct run_map *runs, size_t *num_damaged)
{
    struct copying copying = {.target = target, .source = source, .runs = runs};
    copying.same = store_same_layout(source->layout, target->layout);
    copying.block = PES_MIN(results_block(source->layout), results_block(target->layout));
    copying.block = PES_MIN(copying.block, source->results.num_trials);
    copying.from = pes_allocate(copying.block, source->layout->row_bytes);
    copying.to = pes_allocate(copying.same ? 0 : copying.block, target->layout->row_bytes);
    copying.column = pes_allocate(copying.block, STORE_MESSAGE_BYTES);
    enum pes_status status = copying.from && copying.to && copying.column ? PES_OK : PES_MEMORY;
    for (size_t t = 0; t < target->num_trials && status == PES_OK;) {
        size_t count = 0;
        while (count < copying.block && t + count < target->num_trials && picks[t + count].source == number &&
               picks[t + count].trial == picks[t].trial + count)
            count++;
        if (count) status = copy_block(&copying, picks[t].trial, t, count);
        t += PES_MAX(count, (size_t)1);
    }
    pes_free(copying.from);
    pes_free(copying.to);
    pes_free(copying.column);
    *num_damaged += copying.num_damaged;
    return status;
}

static enum pes_status copy_all(struct results *target, struct pes_reader *const *sources, size_t num_sources,
                                const struct pick *picks, size_t *num_damaged)
{
    struct run_map *maps = pes_allocate(num_sources, sizeof *maps);
    if (!maps) return PES_MEMORY;
    enum pes_status status = copy_runs(target, sources, num_sources, picks, target->num_trials, maps);
    if (status == PES_OK) status = copy_fence(target, sources, num_sources);
    for (size_t s = 0; s < num_sources && status == PES_OK; s++)
        status = copy_source(target, sources[s], (int)s, picks, &maps[s], num_damaged);
    pes_free(maps);
    return status;
}

enum pes_status store_copy(const char *target, const struct pes_sweep *sweep, const struct pes_layout *layout,
                           struct pes_reader *const *sources, size_t num_sources, const struct pick *picks,
                           size_t *num_damaged)
{
    char final[PATH_MAX], part[PATH_MAX];
    TRY(store_resolve(final, target));
    TRY(store_name(part, final, ".part"));
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    struct file_table *table;
    *num_damaged = 0;
    enum pes_status status = store_table_create(sweep, layout, arena, &table);
    if (status == PES_OK) status = store_check_room(final, store_table_bytes(table, arena));
    if (status == PES_OK) status = store_create(part, table);
    if (status == PES_OK) {
        if (num_sources) {
            struct results results;
            status = results_open(part, RESULTS_WRITE, &results);
            if (status == PES_OK) {
                status = results_open_fields(&results, layout);
                if (status == PES_OK) status = copy_all(&results, sources, num_sources, picks, num_damaged);
                enum pes_status closed = results_close(&results);
                if (status == PES_OK) status = closed;
            }
        }
        if (status == PES_OK) status = store_replace(part, final);
        if (status != PES_OK) unlink(part);
    }
    pes_arena_destroy(arena);
    return status;
}
