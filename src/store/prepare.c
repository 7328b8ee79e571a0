/* prepare.c - brings a results file and a sweep together before a run: creates, resumes, extends, or refuses.
 *
 * Nothing is touched on refusal; whatever changes the set of trials makes a new file and renames it over the
 * old. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "copy.h"
#include "files.h"
#include "pesweep/log.h"
#include "pesweep/text.h"

/* --- trials --- */

static bool is_finished(uint8_t status)
{
    return status >= PES_OUTCOME_DONE;
}

/* Finished trials that the sweep no longer has would be lost. */
static enum pes_status check_dropped(struct pes_reader *reader, const struct pes_sweep *sweep,
                                     const struct key_index *wanted)
{
    size_t num_dropped = 0, first = 0, num_labels;
    for (size_t t = 0; t < reader->results.num_trials; t++)
        if (is_finished(reader->status[t]) && key_index_find(wanted, reader->keys[t]) < 0 && !num_dropped++)
            first = t;
    if (!num_dropped) return PES_OK;
    char **labels;
    TRY(store_reader_texts(reader, "trials", "label", &labels, &num_labels));
    return pes_fail(PES_INPUT,
                    "%s holds %zu finished trials that are not among the %zu of the sweep (the first: %s); "
                    "give another -o, or put them back into the sweep",
                    reader->results.path, num_dropped, sweep->num_trials,
                    first < num_labels ? labels[first] : "");
}

/* What the file says about the sweep besides its trials: its name, axes and claims. */
static bool same_description(struct pes_reader *reader, const struct pes_sweep *sweep)
{
    char **texts;
    size_t num;
    if (store_reader_texts(reader, "provenance", "sweep_text", &texts, &num) != PES_OK) return false;
    if (strlen(texts[0]) == sweep->text_bytes && !memcmp(texts[0], sweep->text, sweep->text_bytes))
        return true;
    const struct pes_sweep *old = pes_reader_sweep(reader);
    if (!old || strcmp(old->name, sweep->name) || old->num_axes != sweep->num_axes ||
        old->num_claims != sweep->num_claims)
        return false;
    for (size_t a = 0; a < sweep->num_axes; a++)
        if (strcmp(old->axes[a].path, sweep->axes[a].path)) return false;
    for (size_t c = 0; c < sweep->num_claims; c++)
        if (strcmp(old->claims[c].text, sweep->claims[c].text)) return false;
    return true;
}

static enum pes_status extend(struct pes_reader *reader, const struct pes_sweep *sweep,
                              const struct pes_layout *layout, const struct pick *picks, size_t num_kept)
{
    size_t num_damaged;
    const char *path = reader->results.path;
    TRY(store_copy(path, sweep, layout, &reader, 1, picks, &num_damaged));
    if (num_damaged)
        pes_log_warning("%s: %zu finished trials had a wrong checksum and will be trained again", path,
                        num_damaged);
    pes_log_info("%s: written anew for %zu trials, %zu of them finished before", path, sweep->num_trials,
                 num_kept - num_damaged);
    return PES_OK;
}

/* Finished rows stand for the files that they were trained on: other contents are another data set. */
static enum pes_status check_files(struct pes_reader *reader, const struct pes_sweep *sweep,
                                   const struct pick *picks)
{
    double *stored;
    size_t count;
    uint64_t now = 0;
    const char *before = NULL;
    if (!pes_layout_find(reader->layout, "trials", "data_hash")) return PES_OK;
    TRY(pes_reader_variable(reader, "trials", "data_hash", &stored, &count));
    enum pes_status status = PES_OK;
    for (size_t t = 0; t < sweep->num_trials && status == PES_OK; t++) {
        const struct pes_config *config = sweep->trials[t].config;
        if (picks[t].source < 0 || !pes_data_reads_files(config)) continue;
        const char *files = pes_config_text(config, "task.path");
        if (!before || strcmp(files, before) != 0) status = pes_data_fingerprint(config, &now);
        before = files;
        if (status == PES_OK && stored[picks[t].trial] != (double)now)
            status =
                pes_fail(PES_INPUT,
                         "%s has trials that were trained on other contents of task.path %s; give another "
                         "-o, or the old contents back",
                         reader->results.path, files);
    }
    free(stored);
    return status;
}

static enum pes_status match_trials(struct pes_reader *reader, const struct pes_sweep *sweep,
                                    const struct pes_layout *layout, struct pes_arena *arena)
{
    size_t num = sweep->num_trials, num_old = reader->results.num_trials, num_kept = 0;
    struct pick *picks = pes_arena_take(arena, num, sizeof *picks);
    char **keys = pes_arena_take(arena, num, sizeof *keys);
    if (!picks || !keys) return PES_MEMORY;
    for (size_t t = 0; t < num; t++)
        keys[t] = sweep->trials[t].key;
    struct key_index *wanted = key_index_create(keys, num), *there = key_index_create(reader->keys, num_old);
    enum pes_status status = wanted && there ? PES_OK : PES_MEMORY;
    if (status == PES_OK) status = check_dropped(reader, sweep, wanted);
    bool same = num == num_old;
    for (size_t t = 0; t < num && status == PES_OK; t++) {
        long found = key_index_find(there, keys[t]);
        same = same && found == (long)t;
        bool kept = found >= 0 && is_finished(reader->status[found]);
        picks[t] = kept ? (struct pick){0, (size_t)found} : (struct pick){-1, 0};
        num_kept += kept;
    }
    key_index_destroy(wanted);
    key_index_destroy(there);
    if (status == PES_OK) status = check_files(reader, sweep, picks);
    if (status != PES_OK) return status;
    if (same && store_same_layout(reader->layout, layout) && same_description(reader, sweep)) return PES_OK;
    return extend(reader, sweep, layout, picks, num_kept);
}

static enum pes_status resume(const char *path, const struct pes_sweep *sweep,
                              const struct pes_layout *layout, struct pes_arena *arena)
{
    struct pes_reader *reader;
    TRY(pes_reader_open(path, &reader));
    enum pes_status status = store_check_settings(reader, sweep->settings, arena);
    if (status == PES_OK) status = store_check_layout(reader, layout, true);
    if (status == PES_OK) status = match_trials(reader, sweep, layout, arena);
    pes_reader_close(reader);
    return status;
}

static enum pes_status prepare(const char *path, const struct pes_sweep *sweep,
                               const struct pes_layout *layout)
{
    struct stat facts;
    size_t num_damaged;
    /* A name that leads nowhere (a dangling link) is a file that isn't there yet. */
    if (stat(path, &facts) && errno == ENOENT)
        return store_copy(path, sweep, layout, NULL, 0, NULL, &num_damaged);
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    enum pes_status status = resume(path, sweep, layout, arena);
    pes_arena_destroy(arena);
    return status;
}

enum pes_status pes_store_prepare(const char *path, const struct pes_sweep *sweep,
                                  const struct pes_layout *layout)
{
    bool locked;
    TRY(store_lock(path, &locked));
    if (!locked)
        pes_log_warning("%s: its file system has no locks; take care that no second run writes this file",
                        path);
    enum pes_status status = prepare(path, sweep, layout);
    if (status != PES_OK) store_unlock();
    return status;
}
