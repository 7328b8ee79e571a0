/* union.c - a sweep file for the trials of several results files.
 *
 * What all trials share becomes constants of the blocks, what they differ in one `include` entry per trial:
 * the only form that can say any set of trials. */
#include <string.h>

#include "copy.h"
#include "pesweep/text.h"

struct joining {
    struct pes_arena *arena; /* for formatted values */
    const struct pes_sweep *first;
    size_t num_trials, capacity;
    const struct pes_trial **trials; /* each key once, in the order of the files */
    bool *differs;                   /* [slots] */
    struct pes_text text;
};

static enum pes_status collect(struct joining *joining, struct pes_reader *const *readers, size_t num_readers)
{
    size_t total = 0;
    for (size_t r = 0; r < num_readers; r++)
        total += pes_reader_num_trials(readers[r]);
    char **keys = pes_allocate(total, sizeof *keys);
    joining->trials = pes_arena_take(joining->arena, total, sizeof *joining->trials);
    enum pes_status status = keys && joining->trials ? PES_OK : PES_MEMORY;
    for (size_t r = 0; r < num_readers && status == PES_OK; r++) {
        const struct pes_sweep *sweep = pes_reader_sweep(readers[r]);
        /* Within one file keys are distinct: those before it are the ones to look among. */
        struct key_index *seen = sweep ? key_index_create(keys, joining->num_trials) : NULL;
        if (!seen) {
            status = sweep ? PES_MEMORY : PES_INPUT;
            break;
        }
        if (!r) joining->first = sweep;
        size_t num = joining->num_trials;
        for (size_t t = 0; t < sweep->num_trials; t++) {
            if (key_index_find(seen, sweep->trials[t].key) >= 0) continue;
            keys[num] = sweep->trials[t].key;
            joining->trials[num++] = &sweep->trials[t];
        }
        key_index_destroy(seen);
        joining->num_trials = num;
    }
    pes_free(keys);
    return status;
}

static enum pes_status compare_slots(struct joining *joining)
{
    size_t num_slots = joining->first->settings->table->num_slots;
    const struct pes_config *first = joining->trials[0]->config;
    joining->differs = pes_arena_take(joining->arena, num_slots, sizeof *joining->differs);
    if (!joining->differs) return PES_MEMORY;
    for (size_t t = 1; t < joining->num_trials; t++) {
        const struct pes_config *config = joining->trials[t]->config;
        for (size_t slot = 0; slot < num_slots; slot++)
            joining->differs[slot] =
                joining->differs[slot] || config->applies[slot] != first->applies[slot] ||
                (config->applies[slot] && !pes_value_equal(&config->values[slot], &first->values[slot]));
    }
    return PES_OK;
}

static void append(struct joining *joining, const char *format, const char *name,
                   const struct pes_value *value)
{
    const char *formatted = pes_value_format(value, joining->arena);
    if (!formatted) joining->text.failed = true;
    pes_text_append(&joining->text, format, name, formatted ? formatted : "");
}

/* "model:" and the values that aren't defaults, a line each. */
static void append_block(struct joining *joining, const char *block, const struct pes_config *config,
                         bool setting)
{
    size_t length = strlen(block);
    bool begun = false;
    for (size_t slot = 0; slot < config->table->num_slots; slot++) {
        const char *path = config->table->paths[slot];
        if (strncmp(path, block, length) || path[length] != '.' || !config->applies[slot]) continue;
        if ((!setting && joining->differs[slot]) || pes_config_is_default(config, slot)) continue;
        if (!begun) pes_text_append(&joining->text, "%s:\n", block);
        begun = true;
        append(joining, "  %s: %s\n", path + length + 1, &config->values[slot]);
    }
}

/* What was given for a trial and isn't shared.  Values that were not given have no effect or are defaults. */
static void append_trial(struct joining *joining, const struct pes_config *config)
{
    const char *separator = "  - {";
    size_t seed = (size_t)pes_key_table_find(config->table, "train.seed");
    for (size_t slot = 0; slot < config->table->num_slots; slot++) {
        const char *path = config->table->paths[slot];
        bool setting = !strncmp(path, "measure.", 8) || !strncmp(path, "store.", 6);
        bool wanted = joining->differs[slot] && config->given[slot] && !setting;
        if (!config->applies[slot] || !(wanted || slot == seed)) continue;
        pes_text_append(&joining->text, "%s", separator);
        append(joining, "%s: %s", path, &config->values[slot]);
        separator = ", ";
    }
    pes_text_append(&joining->text, "}\n");
}

static void append_claims(struct joining *joining, struct pes_reader *const *readers, size_t num_readers)
{
    bool begun = false;
    for (size_t r = 0; r < num_readers; r++) {
        const struct pes_sweep *sweep = pes_reader_sweep(readers[r]);
        for (size_t c = 0; c < sweep->num_claims; c++) {
            bool known = false;
            for (size_t earlier = 0; earlier < r && !known; earlier++) {
                const struct pes_sweep *other = pes_reader_sweep(readers[earlier]);
                for (size_t i = 0; i < other->num_claims && !known; i++)
                    known = !strcmp(other->claims[i].name, sweep->claims[c].name);
            }
            if (known) continue;
            pes_text_append(&joining->text, "%s  - %s\n", begun ? "" : "claims:\n", sweep->claims[c].text);
            begun = true;
        }
    }
}

static void write_text(struct joining *joining, struct pes_reader *const *readers, size_t num_readers)
{
    static const char *const blocks[] = {"task", "model", "train"};
    struct pes_value name = {.type = PES_VALUE_TEXT, .text = joining->first->name};
    pes_text_append(&joining->text, "# The trials of %zu results files, one by one.\n", num_readers);
    append(joining, "%s: %s\n", "name", &name);
    for (size_t b = 0; b < PES_COUNT(blocks); b++)
        append_block(joining, blocks[b], joining->trials[0]->config, false);
    pes_text_append(&joining->text, "include:\n");
    for (size_t t = 0; t < joining->num_trials; t++)
        append_trial(joining, joining->trials[t]->config);
    append_block(joining, "measure", joining->first->settings, true);
    append_block(joining, "store", joining->first->settings, true);
    append_claims(joining, readers, num_readers);
}

enum pes_status pes_store_union(struct pes_reader *const *readers, size_t num_readers,
                                struct pes_sweep **sweep)
{
    CHECK(num_readers);
    struct joining joining = {.arena = pes_arena_create()};
    if (!joining.arena) return PES_MEMORY;
    enum pes_status status = collect(&joining, readers, num_readers);
    const struct pes_sweep *whole = NULL; /* has them all: its own text says so better */
    for (size_t r = 0; r < num_readers && status == PES_OK && !whole; r++)
        if (pes_reader_num_trials(readers[r]) == joining.num_trials) whole = pes_reader_sweep(readers[r]);
    if (whole) {
        pes_text_append_bytes(&joining.text, whole->text, whole->text_bytes);
    } else if (status == PES_OK) {
        status = compare_slots(&joining);
        if (status == PES_OK) write_text(&joining, readers, num_readers);
    }
    if (status == PES_OK && joining.text.failed) status = PES_MEMORY;
    if (status == PES_OK)
        status = pes_sweep_parse("union of the results files", joining.text.data, joining.text.length, sweep);
    pes_text_destroy(&joining.text);
    pes_arena_destroy(joining.arena);
    return status;
}
