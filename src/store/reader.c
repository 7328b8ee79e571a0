/* reader.c - opens a results file for reading: trials, layout, sweep.
 *
 * The layout is taken from the file itself (provenance/variable_path and variable_dimensions), so a file can
 * be read by a program whose own variables have changed. */
#include "reader.h"

#include <string.h>

#include "describe.h"

enum pes_status store_reader_texts(struct pes_reader *reader, const char *group, const char *name,
                                   char ***texts, size_t *num)
{
    hid_t dataset = results_open_dataset(&reader->results, group, name);
    if (dataset < 0 || !hdf_has_type(dataset, ELEMENT_TEXT)) {
        hdf_close(&dataset);
        hdf_forget();
        return pes_fail(PES_INPUT, "%s is damaged: the texts %s/%s are missing", reader->results.path, group,
                        name);
    }
    enum pes_status status = hdf_read_texts(reader->results.path, dataset, reader->arena, texts, num);
    hdf_close(&dataset);
    return status;
}

/* --- layout --- */

static bool find_type(hid_t dataset, enum pes_type *type)
{
    static const enum pes_type types[] = {PES_F32, PES_F64, PES_I64, PES_I32, PES_U8};
    for (size_t i = 0; i < PES_COUNT(types); i++)
        if (hdf_has_type(dataset, (enum element)types[i])) {
            *type = types[i];
            return true;
        }
    return false;
}

/* One variable from its path, its dimensions' names and its dataset; adds to the sizes of dimensions. */
static bool describe(struct pes_reader *reader, char *path, const char *axes, struct pes_variable *variable,
                     size_t *size)
{
    char *slash = strchr(path, '/'), unit[64] = "", help[512] = "";
    if (!slash) return false;
    *slash = 0;
    variable->group = path;
    variable->name = slash + 1;
    while (*axes) {
        size_t length = strcspn(axes, " ");
        if (variable->rank == PES_MAX_RANK ||
            !store_find_dimension(axes, length, &variable->dimensions[variable->rank++]))
            return false;
        axes += length + (axes[length] == ' ');
    }
    hid_t dataset = results_open_dataset(&reader->results, variable->group, variable->name);
    size_t extents[PES_MAX_RANK + 1];
    bool ok = dataset >= 0 && hdf_extents(dataset, extents, PES_MAX_RANK + 1) == variable->rank + 1 &&
              extents[0] == reader->results.num_trials && find_type(dataset, &variable->type);
    for (int d = 0; d < variable->rank && ok; d++) {
        size_t *known = &size[variable->dimensions[d]];
        ok = extents[d + 1] && (!*known || *known == extents[d + 1]);
        *known = extents[d + 1];
    }
    if (ok) {
        hdf_get_text(dataset, "units", unit, sizeof unit);
        hdf_get_text(dataset, "long_name", help, sizeof help);
        variable->unit = pes_arena_copy_text(reader->arena, unit);
        variable->help = pes_arena_copy_text(reader->arena, help);
        ok = variable->unit && variable->help;
    }
    hdf_close(&dataset);
    hdf_forget();
    return ok;
}

static enum pes_status read_layout(struct pes_reader *reader)
{
    char **paths, **axes;
    size_t num, num_axes, size[PES_NUM_DIMENSIONS] = {0};
    TRY(store_reader_texts(reader, "provenance", "variable_path", &paths, &num));
    TRY(store_reader_texts(reader, "provenance", "variable_dimensions", &axes, &num_axes));
    struct pes_variable *variables = pes_arena_take(reader->arena, num + 1, sizeof *variables);
    if (!variables) return PES_MEMORY;
    for (size_t v = 0; v < num; v++)
        if (v >= num_axes || !describe(reader, paths[v], axes[v], &variables[v], size))
            return pes_fail(PES_INPUT, "%s is damaged: the variable %s%s%s is missing or not as described",
                            reader->results.path, paths[v], variables[v].name ? "/" : "",
                            variables[v].name ? variables[v].name : "");
    const struct pes_variable *arrays[] = {variables};
    TRY(pes_layout_create(size, arrays, 1, reader->arena, &reader->layout));
    return results_open_fields(&reader->results, reader->layout);
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
    return read_layout(reader);
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
