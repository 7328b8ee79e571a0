/* settings.c - the blocks measure and store of a results file against those of a sweep: rows that were
 * measured differently must not stand in one file. */
#include <string.h>

#include "copy.h"

/* Value of a path in lines "path=value\n"; copied into `arena`, NULL if it isn't there. */
static const char *find_line(const char *lines, const char *path, struct pes_arena *arena)
{
    size_t length = strlen(path);
    for (const char *line = lines; *line;) {
        size_t end = strcspn(line, "\n");
        if (end > length && line[length] == '=' && !strncmp(line, path, length))
            return pes_arena_printf(arena, "%.*s", (int)(end - length - 1), line + length + 1);
        line += end + (line[end] == '\n');
    }
    return NULL;
}

/* Every path of `lines` must have the same value in `other`, or its default where the other doesn't know it.
 */
static enum pes_status check_settings(const char *path, const struct pes_config *settings, const char *stored,
                                      struct pes_arena *arena)
{
    const char *present = store_config_text(settings, store_setting_blocks, arena);
    if (!present) return PES_MEMORY;
    const struct pes_key_table *table = settings->table;
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        const char *name = table->paths[slot];
        const char *wanted = find_line(present, name, arena), *found = find_line(stored, name, arena);
        if (!wanted) continue;
        const struct pes_key *key = pes_config_key(settings, slot);
        if (!found && key && key->fallback) {
            struct pes_value value;
            TRY(pes_value_parse(key, key->fallback, arena, &value));
            found = pes_value_format(&value, arena);
        }
        if (!found || strcmp(wanted, found))
            return pes_fail(
                PES_INPUT,
                "%s was made with %s: %s, the sweep now says %s; give another -o, or the old value back",
                path, name, found ? found : "(none)", wanted);
    }
    for (const char *line = stored; *line;) {
        size_t length = strcspn(line, "="), end = strcspn(line, "\n");
        const char *name = pes_arena_printf(arena, "%.*s", (int)length, line);
        if (!name) return PES_MEMORY;
        if (!find_line(present, name, arena))
            return pes_fail(PES_INPUT,
                            "%s was made with %.*s, which this sweep doesn't have; give another -o", path,
                            (int)end, line);
        line += end + (line[end] == '\n');
    }
    return PES_OK;
}

enum pes_status store_check_settings(struct pes_reader *reader, const struct pes_config *settings,
                                     struct pes_arena *arena)
{
    char **stored;
    size_t num;
    TRY(store_reader_texts(reader, "provenance", "settings", &stored, &num));
    return check_settings(reader->results.path, settings, stored[0], arena);
}
