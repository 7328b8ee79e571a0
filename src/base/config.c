/* config.c - one value per key: set, resolved under the plug-ins chosen, read, written canonically. */
#include "pesweep/config.h"

#include <stdio.h>
#include <string.h>

#include "pesweep/text.h"

struct pes_config *pes_config_create(const struct pes_key_table *table, struct pes_arena *arena)
{
    struct pes_config *config = pes_arena_take(arena, 1, sizeof *config);
    if (!config) return NULL;
    config->table = table;
    config->values = pes_arena_take(arena, table->num_slots, sizeof *config->values);
    config->given = pes_arena_take(arena, table->num_slots, sizeof *config->given);
    config->applies = pes_arena_take(arena, table->num_slots, sizeof *config->applies);
    return config->values && config->given && config->applies ? config : NULL;
}

struct pes_config *pes_config_copy(const struct pes_config *config, struct pes_arena *arena)
{
    struct pes_config *copy = pes_config_create(config->table, arena);
    if (!copy) return NULL;
    size_t num_slots = config->table->num_slots;
    memcpy(copy->values, config->values, num_slots * sizeof *copy->values);
    memcpy(copy->given, config->given, num_slots * sizeof *copy->given);
    memcpy(copy->applies, config->applies, num_slots * sizeof *copy->applies);
    return copy;
}

/* The entry of a slot that applies, judged by the owners' values; NULL if none.  Owners must be settled. */
static const struct pes_key_entry *applying_entry(const struct pes_config *config, size_t slot)
{
    const struct pes_key_table *table = config->table;
    for (size_t e = table->first[slot]; e < table->first[slot + 1]; e++) {
        const struct pes_key_entry *entry = pes_key_table_entry(table, e);
        if (!entry->owner_path) return entry;
        const char *chosen = config->values[entry->owner_slot].text;
        if (config->applies[entry->owner_slot] && chosen && !strcmp(chosen, entry->owner)) return entry;
    }
    return NULL;
}

const struct pes_key *pes_config_key(const struct pes_config *config, size_t slot)
{
    const struct pes_key_entry *entry = applying_entry(config, slot);
    return entry ? entry->key : NULL;
}

enum pes_status pes_config_set(struct pes_config *config, struct pes_arena *arena, const char *path,
                               const char *text)
{
    const struct pes_key_table *table = config->table;
    long slot = pes_key_table_find(table, path);
    if (slot == -2) return pes_fail(PES_INPUT, "key '%s' is ambiguous; give its full path", path);
    if (slot < 0) {
        const char *nearest = pes_key_table_nearest(table, path);
        return pes_fail(PES_INPUT, "unknown key '%s'%s%s%s", path, nearest ? "; did you mean " : "",
                        nearest ? nearest : "", nearest ? "?" : "");
    }
    const struct pes_key *first = NULL;
    for (size_t e = table->first[slot]; e < table->first[slot + 1]; e++) {
        const struct pes_key_entry *entry = pes_key_table_entry(table, e);
        enum pes_status status = pes_value_parse(entry->key, text, arena, &config->values[slot]);
        if (status == PES_OK) config->given[slot] = true;
        if (status != PES_INPUT) return status;
        if (!first) first = entry->key;
    }
    config->given[slot] = false;
    return pes_value_parse(first, text, arena, &config->values[slot]);
}

/* --- resolving --- */

enum state { UNSEEN, ENTERED, SETTLED };

/* "model.pe: rope" for each plug-in that has the slot. */
static enum pes_status refuse_inapplicable(const struct pes_config *config, size_t slot)
{
    const struct pes_key_table *table = config->table;
    char owners[256] = "", chosen[128] = "";
    size_t used = 0;
    for (size_t e = table->first[slot]; e < table->first[slot + 1] && used < sizeof owners; e++) {
        const struct pes_key_entry *entry = pes_key_table_entry(table, e);
        used += (size_t)snprintf(owners + used, sizeof owners - used, "%s%s: %s", used ? ", " : "",
                                 entry->owner_path, entry->owner);
        size_t owner = entry->owner_slot;
        if (config->applies[owner] && config->values[owner].text)
            snprintf(chosen, sizeof chosen, ", not with %s: %s", entry->owner_path,
                     config->values[owner].text);
    }
    return pes_fail(PES_INPUT, "%s: has no meaning here; it belongs to %s%s", table->paths[slot], owners,
                    chosen);
}

/* Settles the owners of a slot, then whether it applies, then its value. */
static enum pes_status settle(struct pes_config *config, size_t slot, bool loosely, enum state *states,
                              size_t *bad_slot)
{
    const struct pes_key_table *table = config->table;
    if (states[slot] == SETTLED) return PES_OK;
    CHECK(states[slot] == UNSEEN); /* else the owners form a circle */
    states[slot] = ENTERED;
    for (size_t e = table->first[slot]; e < table->first[slot + 1]; e++)
        if (pes_key_table_entry(table, e)->owner_path)
            TRY(settle(config, pes_key_table_entry(table, e)->owner_slot, loosely, states, bad_slot));
    states[slot] = SETTLED;
    *bad_slot = slot;
    const struct pes_key_entry *entry = applying_entry(config, slot);
    config->applies[slot] = entry != NULL;
    if (!entry) {
        if (config->given[slot] && !loosely) return refuse_inapplicable(config, slot);
        config->given[slot] = false;
        config->values[slot] = (struct pes_value){0};
        return PES_OK;
    }
    const struct pes_key *key = entry->key;
    if (config->given[slot]) return pes_value_check(key, &config->values[slot]);
    config->values[slot] = entry->fallback;
    if (key->fallback) return PES_OK;
    char allowed[512];
    return pes_fail(PES_INPUT, "%s: must be given (%s); allowed: %s", key->path, key->help,
                    pes_key_allowed(key, allowed, sizeof allowed));
}

static enum pes_status resolve(struct pes_config *config, bool loosely, size_t *bad_slot)
{
    size_t ignored, num_slots = config->table->num_slots;
    enum state *states = pes_allocate(num_slots, sizeof *states);
    if (!states) return PES_MEMORY;
    enum pes_status status = PES_OK;
    for (size_t slot = 0; slot < num_slots && status == PES_OK; slot++)
        status = settle(config, slot, loosely, states, bad_slot ? bad_slot : &ignored);
    pes_free(states);
    return status;
}

enum pes_status pes_config_resolve(struct pes_config *config, struct pes_arena *arena)
{
    (void)arena; /* values are shared with the key table */
    return resolve(config, false, NULL);
}

enum pes_status pes_config_resolve_loosely(struct pes_config *config, size_t *bad_slot)
{
    return resolve(config, true, bad_slot);
}

bool pes_config_is_default(const struct pes_config *config, size_t slot)
{
    const struct pes_key_entry *entry = applying_entry(config, slot);
    CHECK(entry);
    return entry->key->fallback && pes_value_equal(&entry->fallback, &config->values[slot]);
}

void pes_config_reset(struct pes_config *config, size_t slot)
{
    const struct pes_key_entry *entry = applying_entry(config, slot);
    CHECK(entry && entry->key->fallback);
    config->values[slot] = entry->fallback;
    config->given[slot] = false;
}

/* --- reading --- */

_Noreturn static void fault(const char *path, const char *what)
{
    char text[160];
    snprintf(text, sizeof text, "configuration key %s %s", path, what);
    pes_check_failed(__FILE__, __LINE__, text);
}

const struct pes_value *pes_config_value(const struct pes_config *config, const char *path)
{
    size_t slot = pes_key_table_slot(config->table, path);
    if (slot == config->table->num_slots) fault(path, "is unknown");
    if (!config->applies[slot]) fault(path, "doesn't apply here");
    return &config->values[slot];
}

static const struct pes_value *typed_value(const struct pes_config *config, const char *path,
                                           enum pes_value_type type)
{
    const struct pes_value *value = pes_config_value(config, path);
    if (value->type != type) fault(path, "has another type");
    return value;
}

bool pes_config_applies(const struct pes_config *config, const char *path)
{
    size_t slot = pes_key_table_slot(config->table, path);
    if (slot == config->table->num_slots) fault(path, "is unknown");
    return config->applies[slot];
}

bool pes_config_bool(const struct pes_config *config, const char *path)
{
    return typed_value(config, path, PES_VALUE_BOOL)->integer != 0;
}

int64_t pes_config_int(const struct pes_config *config, const char *path)
{
    return typed_value(config, path, PES_VALUE_INT)->integer;
}

double pes_config_real(const struct pes_config *config, const char *path)
{
    return typed_value(config, path, PES_VALUE_REAL)->real;
}

const char *pes_config_text(const struct pes_config *config, const char *path)
{
    const struct pes_value *value = pes_config_value(config, path);
    if (value->type != PES_VALUE_CHOICE && value->type != PES_VALUE_TEXT) fault(path, "has another type");
    return value->text;
}

uint64_t pes_config_set_of(const struct pes_config *config, const char *path)
{
    return typed_value(config, path, PES_VALUE_SET)->set;
}

/* --- identity --- */

static bool in_identity(const char *path)
{
    return !strncmp(path, "task.", 5) || !strncmp(path, "model.", 6) || !strncmp(path, "train.", 6);
}

const char *pes_config_canonical(const struct pes_config *config, struct pes_arena *arena)
{
    const struct pes_key_table *table = config->table;
    struct pes_text out = {0};
    const char *canonical = NULL;
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        if (!config->applies[slot] || !in_identity(table->paths[slot])) continue;
        if (pes_config_is_default(config, slot)) continue;
        const char *value = pes_value_format(&config->values[slot], arena);
        if (!value) goto done;
        pes_text_append(&out, "%s=%s\n", table->paths[slot], value);
    }
    if (!out.failed) canonical = pes_arena_copy_text(arena, pes_text_get(&out));
done:
    pes_text_destroy(&out);
    return canonical;
}
