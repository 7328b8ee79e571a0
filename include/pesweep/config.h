/* config.h - the values of one trial's configuration and the rows that describe them.
 *
 * A key is a row {path, type, range, default, unit, help}.  The core rows stand in sweep/keys.c; a plug-in
 * (position scheme, task, ...) carries its own rows, which apply only where that plug-in is chosen.  The
 * assembled table gives each distinct path one slot; a config is one value per slot. */
#ifndef PESWEEP_CONFIG_H
#define PESWEEP_CONFIG_H

#include "pesweep/arena.h"

enum pes_value_type {
    PES_VALUE_BOOL,   /* true | false */
    PES_VALUE_INT,    /* 64 bits, within [min, max] */
    PES_VALUE_REAL,   /* finite, within [min, max] */
    PES_VALUE_CHOICE, /* one of `choices` */
    PES_VALUE_TEXT,   /* free text */
    PES_VALUE_SET,    /* all | none | list of non-negative integers below 64 (heads, layers) */
    PES_VALUE_INTS,   /* list of integers, each within [min, max] */
    PES_VALUE_REALS   /* list of reals, each within [min, max]; `length` of them if not 0 */
};

struct pes_value {
    enum pes_value_type type;
    size_t count; /* INTS, REALS */
    union {
        int64_t integer; /* BOOL (0, 1), INT, CHOICE (index) */
        double real;     /* REAL */
        uint64_t set;    /* SET: bit i = member i; all = UINT64_MAX, none = 0 */
        const int64_t *integers;
        const double *reals;
    };
    const char *text; /* CHOICE (name), TEXT */
};

struct pes_key {
    const char *path; /* "model.rope_base"; NULL ends an array of keys */
    enum pes_value_type type;
    double min, max;            /* inclusive bounds of INT, INTS, REAL, REALS */
    bool min_open;              /* the value min itself is not allowed */
    const char *const *choices; /* CHOICE: NULL-terminated */
    size_t length;              /* REALS, INTS: required number of elements, 0 = any */
    const char *fallback;       /* default as it would be written in YAML; NULL = must be given */
    const char *unit;           /* "" if none */
    const char *help;           /* one sentence */
};

/* What a key allows, in words: "a number > 0 and <= 1".  Clipped to `size` bytes. */
const char *pes_key_allowed(const struct pes_key *key, char *buffer, size_t size);

/* A row and the plug-in it belongs to: applies where the CHOICE at `owner_path` is `owner`; NULL = always. */
struct pes_key_entry {
    const struct pes_key *key;
    const char *owner_path, *owner;
    size_t slot, owner_slot;   /* owner_slot is meaningless without owner */
    struct pes_value fallback; /* key->fallback, read; meaningless without one */
};

struct pes_key_table {
    size_t num_entries, num_slots;
    const struct pes_key_entry *entries; /* in the order of the reference page */
    const char *const *paths;            /* [num_slots], ascending */
    const size_t *by_slot;               /* [num_entries] numbers of the entries, slot by slot */
    const size_t *first;                 /* [num_slots + 1] where a slot's entries start in by_slot */
};

/* A plug-in's rows, or the core's (owner NULL). */
struct pes_key_source {
    const struct pes_key *keys; /* ended by path NULL; NULL = no rows */
    const char *owner_path, *owner;
};

/* Assembles a table; slots stand in path order.  Rows of one path must agree in type and owner_path must be a
 * CHOICE row's path: anything else is a fault of the program.  NULL: no memory. */
const struct pes_key_table *pes_key_table_create(const struct pes_key_source *sources, size_t num_sources,
                                                 struct pes_arena *arena);

/* Values of all slots.  A slot whose rows don't apply under the chosen plug-ins has `applies` false and its
 * value must not be read. */
struct pes_config {
    const struct pes_key_table *table;
    struct pes_value *values; /* [num_slots] */
    bool *given;              /* [num_slots]: set by the user, not by default */
    bool *applies;            /* [num_slots], after pes_config_resolve */
};

/* All slots unset; the arena owns the config.  A copy shares texts and lists with its original.  NULL: no
 * memory. */
struct pes_config *pes_config_create(const struct pes_key_table *table, struct pes_arena *arena);
struct pes_config *pes_config_copy(const struct pes_config *config, struct pes_arena *arena);

/* Slot of exactly this path, num_slots if there is none; entry number `number` of by_slot. */
size_t pes_key_table_slot(const struct pes_key_table *table, const char *path);
const struct pes_key_entry *pes_key_table_entry(const struct pes_key_table *table, size_t number);

/* Slot of a full path ("model.pe"), or of the end of one that is unique ("pe", "penalty.kind"); -1 if
 * unknown, -2 if ambiguous. */
long pes_key_table_find(const struct pes_key_table *table, const char *name);

/* The path, or last part of one, nearest to an unknown name; NULL if none is near. */
const char *pes_key_table_nearest(const struct pes_key_table *table, const char *name);

/* The row of a slot that applies under config's choices; NULL if none. */
const struct pes_key *pes_config_key(const struct pes_config *config, size_t slot);

/* One scalar as it stands in the file.  Quotes make it text: never a number, a bool, all or none. */
struct pes_item {
    const char *text;
    bool quoted;
};

/* Value of a scalar (list false, one item) or of a list of scalars against a key; integers in lists may stand
 * as ranges, 0..3.  The value's lists and texts live in `arena`.  Error: PES_INPUT with what is wrong and
 * what is allowed, without a place (the caller prefixes it); *bad, if not NULL, is the number of the item at
 * fault, or `count` where it is the list as a whole. */
enum pes_status pes_value_build(const struct pes_key *key, const struct pes_item *items, size_t count,
                                bool list, struct pes_arena *arena, struct pes_value *value, size_t *bad);

/* The same from text: one scalar or a flow list ("[0, 1]"). */
enum pes_status pes_value_parse(const struct pes_key *key, const char *text, struct pes_arena *arena,
                                struct pes_value *value);

/* Whether a value of the key's type lies in the key's range; the index of a CHOICE is set to this key's. Rows
 * that share a slot may differ in range. */
enum pes_status pes_value_check(const struct pes_key *key, struct pes_value *value);
bool pes_value_equal(const struct pes_value *a, const struct pes_value *b);

/* Canonical text: what pes_value_parse would read back to the same value; the arena owns it. */
const char *pes_value_format(const struct pes_value *value, struct pes_arena *arena);

/* Sets a value by path, or the end of one, from YAML text: pes_config_set(c, arena, "model.pe", "rope"). */
enum pes_status pes_config_set(struct pes_config *config, struct pes_arena *arena, const char *path,
                               const char *text);

/* Value for a slot: the first of its rows that accepts the items; else the first row's error. */
enum pes_status pes_config_parse(const struct pes_key_table *table, size_t slot, const struct pes_item *items,
                                 size_t count, bool list, struct pes_arena *arena, struct pes_value *value,
                                 size_t *bad);

/* Fills defaults, decides `applies`, resets what doesn't apply.  Errors: a required value is missing; a given
 * value doesn't apply under the choices made (named, with the plug-ins that have it), or lies outside the
 * range of the row that does. */
enum pes_status pes_config_resolve(struct pes_config *config, struct pes_arena *arena);

/* The same, except that given values which don't apply are dropped.  On an error *bad_slot, if not NULL, is
 * the slot at fault. */
enum pes_status pes_config_resolve_loosely(struct pes_config *config, size_t *bad_slot);

/* A slot that applies: whether it has its default, and giving it back its default (`given` becomes false). */
bool pes_config_is_default(const struct pes_config *config, size_t slot);
void pes_config_reset(struct pes_config *config, size_t slot);

/* Values by full path.  An unknown path, a wrong type or one that doesn't apply is a fault of the program. */
bool pes_config_bool(const struct pes_config *config, const char *path);
int64_t pes_config_int(const struct pes_config *config, const char *path);
double pes_config_real(const struct pes_config *config, const char *path);
const char *pes_config_text(const struct pes_config *config, const char *path); /* CHOICE, TEXT */
uint64_t pes_config_set_of(const struct pes_config *config, const char *path);  /* SET */
const struct pes_value *pes_config_value(const struct pes_config *config, const char *path);
bool pes_config_applies(const struct pes_config *config, const char *path);

/* Canonical configuration of a trial: the lines "path=value\n" in path order of every value under the blocks
 * task, model and train that applies and differs from its default.  Its XXH3-128 is the trial's key. */
const char *pes_config_canonical(const struct pes_config *config, struct pes_arena *arena);

#endif
