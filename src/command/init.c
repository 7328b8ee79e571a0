/* init.c - `pesweep init`: a commented sweep file for a task, from the key table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "output.h"
#include "pesweep/command.h"
#include "pesweep/sweep.h"
#include "pesweep/text.h"

enum { MAX_SETTINGS = 64, COMMENT_COLUMN = 34 };

/* What trains in a minute or two: where one starts from.  What the user sets comes on top. */
static const struct {
    const char *task, *path, *text; /* task NULL: all of them */
} starters[] = {
    {NULL, "model.layers", "2"},         {NULL, "model.d_model", "32"},
    {NULL, "model.heads", "4"},          {NULL, "model.d_ff", "64"},
    {NULL, "train.steps", "500"},        {NULL, "train.batch", "64"},
    {NULL, "train.lr", "3e-3"},          {NULL, "train.warmup", "0.06"},
    {"random_map", "task.length", "64"}, {"associative_recall", "task.vocab", "256"},
    {"text", "task.length", "64"},
};

/* Axes of the grid, unless the user sets the key. */
static const struct {
    const char *path, *name, *text, *help;
} axes[] = {
    {"model.pe", "pe", "[nope, learned, alibi, rope]", "any key of task, model and train can be an axis"},
    {"train.seed", "seed", "0..1", "inclusive range; more seeds later: only the new trials are run"},
};

/* "KEY=VALUE" */
static enum pes_status set_value(struct pes_config *config, struct pes_arena *arena, const char *setting)
{
    const char *equals = strchr(setting, '=');
    if (!equals || equals == setting || !equals[1])
        return pes_fail(PES_INPUT, "'%s': write KEY=VALUE, such as steps=2000", setting);
    char *name = pes_arena_printf(arena, "%.*s", (int)(equals - setting), setting);
    if (!name) return PES_MEMORY;
    long slot = pes_key_table_find(config->table, name);
    if (slot >= 0 && !strcmp(config->table->paths[slot], "task.kind"))
        return pes_fail(PES_INPUT, "'%s': the task is named without '=': pesweep init %s", setting,
                        equals + 1);
    return pes_config_set(config, arena, name, equals + 1);
}

/* A configuration in which everything that is to stand in the file as given is given. */
static enum pes_status configure(const char *const *words, size_t count, struct pes_arena *arena,
                                 struct pes_config **out)
{
    struct pes_config *config = pes_config_create(pes_sweep_keys(), arena);
    if (!config) return PES_MEMORY;
    const struct pes_task *task = pes_task_find(words[0]);
    TRY(pes_config_set(config, arena, "task.kind", words[0]));
    for (size_t i = 0; i < PES_COUNT(starters); i++)
        if (!starters[i].task || !strcmp(starters[i].task, words[0]))
            TRY(pes_config_set(config, arena, starters[i].path, starters[i].text));
    for (size_t i = 1; i < count; i++)
        TRY(set_value(config, arena, words[i]));
    if (pes_config_resolve(config, arena) != PES_OK)
        return pes_fail(PES_INPUT, "%s (write: pesweep init %s KEY=VALUE)", pes_error_message(), words[0]);
    struct pes_task_shape shape = {0};
    TRY(task->shape(config, &shape));
    size_t causal = pes_key_table_slot(config->table, "model.causal");
    if (shape.causal_only && !config->given[causal])
        TRY(pes_config_set(config, arena, "model.causal", "true"));
    *out = config;
    return pes_config_resolve(config, arena);
}

/* --- the file --- */

static bool is_given(const struct pes_config *config, const char *path)
{
    return config->given[pes_key_table_slot(config->table, path)];
}

/* One key: as a comment where it has its default, so that the file says no more than it must. */
static enum pes_status put_key(FILE *out, const struct pes_config *config, size_t slot, size_t depth,
                               struct pes_arena *arena)
{
    const struct pes_key *key = pes_config_key(config, slot);
    const char *value = pes_value_format(&config->values[slot], arena);
    if (!value) return PES_MEMORY;
    char allowed[512];
    const char *name = strrchr(key->path, '.') + 1;
    int width =
        fprintf(out, "%s%*s%s: %s", config->given[slot] ? "  " : "  # ", (int)(2 * depth), "", name, value);
    fprintf(out, "%*s# %s%s%s%s", PES_MAX(COMMENT_COLUMN - width, 1), "", key->help, *key->unit ? " (" : "",
            key->unit, *key->unit ? ")" : "");
    if (key->type != PES_VALUE_BOOL && key->type != PES_VALUE_TEXT)
        fprintf(out, "; %s", pes_key_allowed(key, allowed, sizeof allowed));
    fprintf(out, "\n");
    return PES_OK;
}

/* The first entry with the row that applies. */
static size_t first_entry(const struct pes_config *config, size_t slot)
{
    const struct pes_key_table *table = config->table;
    size_t e = 0;
    while (table->entries[e].slot != slot || table->entries[e].key != pes_config_key(config, slot))
        e++;
    return e;
}

static bool starts_with(const char *path, const char *block, size_t length)
{
    return !strncmp(path, block, length) && path[length] == '.';
}

static bool any_given(const struct pes_config *config, const char *block, size_t length)
{
    for (size_t slot = 0; slot < config->table->num_slots; slot++)
        if (config->given[slot] && starts_with(config->table->paths[slot], block, length)) return true;
    return false;
}

static bool is_axis(const char *path)
{
    for (size_t i = 0; i < PES_COUNT(axes); i++)
        if (!strcmp(axes[i].path, path)) return true;
    return false;
}

/* The keys below the first `length` bytes of `block`; a block of keys inside it stands where its first key
 * does. */
static enum pes_status put_keys(FILE *out, const struct pes_config *config, const char *block, size_t length,
                                size_t depth, struct pes_arena *arena)
{
    const struct pes_key_table *table = config->table;
    const char *inner = "";
    for (size_t e = 0; e < table->num_entries; e++) {
        size_t slot = table->entries[e].slot;
        const char *path = table->paths[slot];
        if (!starts_with(path, block, length) || !config->applies[slot]) continue;
        if (first_entry(config, slot) != e) continue; /* another plug-in's row, or one that several share */
        const char *name = path + length + 1, *dot = strchr(name, '.');
        if (!dot) {
            if (!config->given[slot] && is_axis(path)) continue;
            TRY(put_key(out, config, slot, depth, arena));
            continue;
        }
        size_t inner_length = (size_t)(dot - path);
        if (*inner && starts_with(inner, path, inner_length)) continue;
        inner = path;
        fprintf(out, "%s%*s%.*s:\n", any_given(config, path, inner_length) ? "  " : "  # ", (int)(2 * depth),
                "", (int)(dot - name), name);
        TRY(put_keys(out, config, path, inner_length, depth + 1, arena));
    }
    return PES_OK;
}

static enum pes_status put_block(FILE *out, const struct pes_config *config, const char *block,
                                 struct pes_arena *arena)
{
    size_t length = strlen(block);
    fprintf(out, "\n%s%s:\n", any_given(config, block, length) ? "" : "# ", block);
    return put_keys(out, config, block, length, 0, arena);
}

static void put_grid(FILE *out, const struct pes_config *config)
{
    bool any = false;
    for (size_t i = 0; i < PES_COUNT(axes); i++)
        any = any || !is_given(config, axes[i].path);
    fprintf(out, "\n%sgrid:\n", any ? "" : "# ");
    for (size_t i = 0; i < PES_COUNT(axes); i++) {
        if (is_given(config, axes[i].path)) continue;
        int width = fprintf(out, "  %s: %s", axes[i].name, axes[i].text);
        fprintf(out, "%*s# %s\n", PES_MAX(COMMENT_COLUMN - width, 1), "", axes[i].help);
    }
    fprintf(out, "  # pe_heads: [all, [0]]          # a key that takes a list takes a list of lists\n"
                 "  # d_model: [32, 64]             # then without d_model in its block\n"
                 "\n# exclude:                          # trials of the grid to leave out\n"
                 "#   - {pe: [nope, learned], pe_heads: [[0]]}\n");
    if (is_given(config, "model.pe")) return;
    fprintf(out,
            "\nclaims:                             # judged by: pesweep analyze\n"
            "  - {name: rope-beats-nope, metric: final.test_accuracy, axis: pe, better: rope, than: nope}\n");
}

static enum pes_status put_file(FILE *out, const struct pes_config *config, const char *const *words,
                                const char *path, struct pes_arena *arena)
{
    static const char *const blocks[] = {"task", "model", "train"}, *const after[] = {"measure", "store"};
    const struct pes_task *task = pes_task_find(words[0]);
    const char *shown = path ? path : "my.yaml";
    fprintf(out,
            "# %s: %s.\n"
            "#\n"
            "#   pesweep plan %s                  what it will cost\n"
            "#   mpirun -n 4 pesweep run %s       the same command again goes on where it stopped\n"
            "#\n"
            "# Lines that begin with # show a key with its default; take the # away to change it.\n"
            "# All rules: pesweep help sweep-file\n"
            "name: my-%s\n",
            task->name, task->summary, shown, shown, task->name);
    for (size_t i = 0; i < PES_COUNT(blocks); i++)
        TRY(put_block(out, config, blocks[i], arena));
    put_grid(out, config);
    for (size_t i = 0; i < PES_COUNT(after); i++)
        TRY(put_block(out, config, after[i], arena));
    return PES_OK;
}

/* What was written is read back as any sweep file is. */
static enum pes_status check(const char *text, size_t bytes)
{
    struct pes_sweep *sweep = NULL;
    TRY(pes_sweep_parse("init", text, bytes, &sweep));
    pes_sweep_destroy(sweep);
    return PES_OK;
}

static enum pes_status write_file(const char *text, size_t bytes, const char *path)
{
    struct pes_output output;
    TRY(pes_output_open(&output, path));
    enum pes_status status = PES_OK;
    if (fwrite(text, 1, bytes, output.file) != bytes)
        status = pes_fail(PES_IO, "the sweep file can't be written");
    return pes_output_close(&output, status);
}

static enum pes_status make(const char *const *words, size_t count, const char *path, struct pes_arena *arena)
{
    struct pes_config *config = NULL;
    TRY(configure(words, count, arena, &config));
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory) return PES_MEMORY;
    enum pes_status status = put_file(memory, config, words, path, arena);
    if (fclose(memory) != 0 && status == PES_OK) status = PES_MEMORY;
    if (status == PES_OK) status = check(text, bytes);
    if (status == PES_OK) status = write_file(text, bytes, path);
    free(text);
    return status;
}

static enum pes_status run(int argc, char **argv)
{
    const char *path = NULL, *words[MAX_SETTINGS] = {NULL};
    const struct pes_option options[] = {{"--output", "-o", PES_OPTION_TEXT, &path, 0, 0, NULL}};
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), words, 1, MAX_SETTINGS,
                          "a task, and KEY=VALUE as often as wanted"));
    size_t count = 0;
    while (count < MAX_SETTINGS && words[count])
        count++;
    if (!pes_task_find(words[0])) {
        size_t tasks = 0;
        while (pes_task_names[tasks])
            tasks++;
        const char *nearest = pes_text_nearest(words[0], pes_task_names, tasks);
        return pes_fail(PES_INPUT, "there is no task '%s'%s%s%s (see: pesweep list tasks)", words[0],
                        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    }
    if (path && access(path, F_OK) == 0)
        return pes_fail(PES_INPUT, "%s is there already; name another file, or remove it", path);
    struct pes_arena *arena = pes_arena_create();
    enum pes_status status = arena ? make(words, count, path, arena) : PES_MEMORY;
    pes_arena_destroy(arena);
    return status;
}

const struct pes_command pes_command_init = {
    .name = "init",
    .usage = "pesweep init TASK [KEY=VALUE ...] [-o SWEEP.yaml]",
    .summary = "write a commented sweep file for a task, to start from",
    .help = "  TASK, and values that differ from the file's: pesweep init count steps=2000 d_model=64\n"
            "\n"
            "  -o, --output FILE   file to make; it must not exist (default: standard output)\n",
    .operands = pes_task_names,
    .run = run,
};
