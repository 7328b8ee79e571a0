/* key_table.c - the rows of all plug-ins assembled into one table.
 *
 * Invariant: slots stand in path order, so that a path is found by bisection and canonical text needs no
 * sort. */
#include "pesweep/config.h"

#include <stdlib.h>
#include <string.h>

#include "pesweep/text.h"

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t pes_key_table_slot(const struct pes_key_table *table, const char *path)
{
    size_t low = 0, high = table->num_slots;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(table->paths[middle], path);
        if (!order) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return table->num_slots;
}

const struct pes_key_entry *pes_key_table_entry(const struct pes_key_table *table, size_t number)
{
    return &table->entries[table->by_slot[number]];
}

/* What every row must be; a row that isn't is a fault of the program. */
static void check_rows(const struct pes_key_table *table)
{
    for (size_t slot = 0; slot < table->num_slots; slot++)
        for (size_t e = table->first[slot]; e < table->first[slot + 1]; e++) {
            const struct pes_key_entry *entry = pes_key_table_entry(table, e);
            CHECK(entry->key->help && entry->key->unit);
            CHECK((entry->key->type == PES_VALUE_CHOICE) == (entry->key->choices != NULL));
            CHECK(!entry->owner_path || (entry->owner_slot < table->num_slots && entry->owner_slot != slot));
            for (size_t other = table->first[slot]; other < e; other++) {
                const struct pes_key_entry *before = pes_key_table_entry(table, other);
                CHECK(before->key->type == entry->key->type);
                /* Two rows of one path belong to two values of one choice. */
                CHECK(before->owner_path && entry->owner_path && before->owner_slot == entry->owner_slot);
                CHECK(strcmp(before->owner, entry->owner) != 0);
            }
        }
}

/* Slots, owners, defaults and the entries of each slot. */
static enum pes_status index_entries(struct pes_key_entry *entries, size_t *by_slot, size_t *first,
                                     const struct pes_key_table *table, struct pes_arena *arena)
{
    for (size_t e = 0; e < table->num_entries; e++) {
        const struct pes_key *key = entries[e].key;
        entries[e].slot = pes_key_table_slot(table, key->path);
        if (entries[e].owner_path) entries[e].owner_slot = pes_key_table_slot(table, entries[e].owner_path);
        first[entries[e].slot + 1]++;
        if (!key->fallback) continue;
        enum pes_status status = pes_value_parse(key, key->fallback, arena, &entries[e].fallback);
        CHECK(status != PES_INPUT); /* a row's own default */
        if (status != PES_OK) return status;
    }
    size_t used = 0;
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        first[slot + 1] += first[slot];
        for (size_t e = 0; e < table->num_entries; e++)
            if (entries[e].slot == slot) by_slot[used++] = e;
    }
    return PES_OK;
}

const struct pes_key_table *pes_key_table_create(const struct pes_key_source *sources, size_t num_sources,
                                                 struct pes_arena *arena)
{
    size_t num_entries = 0;
    for (size_t s = 0; s < num_sources; s++)
        for (const struct pes_key *key = sources[s].keys; key && key->path; key++)
            num_entries++;
    struct pes_key_table *table = pes_arena_take(arena, 1, sizeof *table);
    struct pes_key_entry *entries = pes_arena_take(arena, num_entries, sizeof *entries);
    const char **paths = pes_arena_take(arena, num_entries, sizeof *paths);
    size_t *by_slot = pes_arena_take(arena, num_entries, sizeof *by_slot);
    size_t *first = pes_arena_take(arena, num_entries + 1, sizeof *first);
    if (!table || !entries || !paths || !by_slot || !first) return NULL;
    size_t used = 0, num_slots = 0;
    for (size_t s = 0; s < num_sources; s++)
        for (const struct pes_key *key = sources[s].keys; key && key->path; key++) {
            entries[used].key = key;
            entries[used].owner_path = sources[s].owner_path;
            entries[used].owner = sources[s].owner;
            paths[used++] = key->path;
        }
    if (used) qsort(paths, used, sizeof *paths, compare_paths);
    for (size_t i = 0; i < used; i++)
        if (!i || strcmp(paths[i], paths[num_slots - 1]) != 0) paths[num_slots++] = paths[i];
    *table = (struct pes_key_table){num_entries, num_slots, entries, paths, by_slot, first};
    if (index_entries(entries, by_slot, first, table, arena) != PES_OK) return NULL;
    check_rows(table);
    return table;
}

static bool is_end_of(const char *path, const char *name)
{
    size_t path_length = strlen(path), length = strlen(name);
    return path_length > length && path[path_length - length - 1] == '.' &&
           !strcmp(path + path_length - length, name);
}

long pes_key_table_find(const struct pes_key_table *table, const char *name)
{
    size_t slot = pes_key_table_slot(table, name);
    if (slot < table->num_slots) return (long)slot;
    long found = -1;
    for (slot = 0; slot < table->num_slots; slot++)
        if (is_end_of(table->paths[slot], name)) {
            if (found >= 0) return -2;
            found = (long)slot;
        }
    return found;
}

const char *pes_key_table_nearest(const struct pes_key_table *table, const char *name)
{
    size_t num_slots = table->num_slots;
    const char **names = pes_allocate(2 * num_slots, sizeof *names);
    if (!names) return NULL;
    for (size_t slot = 0; slot < num_slots; slot++) {
        const char *dot = strrchr(table->paths[slot], '.');
        names[slot] = dot ? dot + 1 : table->paths[slot];
        names[num_slots + slot] = table->paths[slot];
    }
    const char *nearest = pes_text_nearest(name, names, 2 * num_slots);
    pes_free(names);
    return nearest;
}

enum pes_status pes_config_parse(const struct pes_key_table *table, size_t slot, const struct pes_item *items,
                                 size_t count, bool list, struct pes_arena *arena, struct pes_value *value,
                                 size_t *bad)
{
    const struct pes_key *first = NULL;
    for (size_t e = table->first[slot]; e < table->first[slot + 1]; e++) {
        const struct pes_key_entry *entry = pes_key_table_entry(table, e);
        enum pes_status status = pes_value_build(entry->key, items, count, list, arena, value, bad);
        if (status != PES_INPUT) return status;
        if (!first) first = entry->key;
    }
    CHECK(first);
    return pes_value_build(first, items, count, list, arena, value, bad);
}
