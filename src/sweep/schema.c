/* schema.c - the sweep file as a JSON Schema, from the key table alone: what an editor completes and checks.
 *
 * It accepts every right file.  It knows names, types, ranges and where they stand; what only the whole grid
 * decides (a value without effect, heads beyond the model's) is left to the reader of sweep files. */
#include "pesweep/sweep.h"

#include <jansson.h>
#include <string.h>

#include "pesweep/text.h"

/* --- values --- */

static json_t *reference(const char *format, const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf(format, name));
}

static json_t *bound(const struct pes_key *key, double value)
{
    bool integer = key->type == PES_VALUE_INT || key->type == PES_VALUE_INTS;
    return integer ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *number_schema(const struct pes_key *key)
{
    bool integer = key->type == PES_VALUE_INT || key->type == PES_VALUE_INTS;
    return json_pack("{s:s, s:o, s:o}", "type", integer ? "integer" : "number",
                     key->min_open ? "exclusiveMinimum" : "minimum", bound(key, key->min), "maximum",
                     bound(key, key->max));
}

static json_t *list_schema(json_t *items, size_t length)
{
    json_t *list = json_pack("{s:s, s:o}", "type", "array", "items", items);
    if (length) {
        json_object_set_new(list, "minItems", json_integer((json_int_t)length));
        json_object_set_new(list, "maxItems", json_integer((json_int_t)length));
    }
    return list;
}

static json_t *or_range(json_t *schema)
{
    return json_pack("{s:[o, o]}", "anyOf", schema, reference("#/$defs/%s", "range"));
}

static json_t *choices_schema(const struct pes_key *key)
{
    json_t *choices = json_array();
    for (size_t i = 0; key->choices[i]; i++)
        json_array_append_new(choices, json_string(key->choices[i]));
    return json_pack("{s:o}", "enum", choices);
}

static json_t *row_schema(const struct pes_key *key)
{
    switch (key->type) {
    case PES_VALUE_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case PES_VALUE_CHOICE:
        return choices_schema(key);
    case PES_VALUE_TEXT: /* what isn't in quotes may look like a number */
        return json_pack("{s:[s, s, s]}", "type", "string", "number", "boolean");
    case PES_VALUE_SET:
        return json_pack(
            "{s:[o, o]}", "anyOf", json_pack("{s:[s, s]}", "enum", "all", "none"),
            list_schema(
                or_range(json_pack("{s:s, s:i, s:i}", "type", "integer", "minimum", 0, "maximum", 63)), 0));
    case PES_VALUE_INTS:
        return list_schema(or_range(number_schema(key)), 0);
    case PES_VALUE_REALS:
        return list_schema(number_schema(key), key->length);
    case PES_VALUE_INT:
    case PES_VALUE_REAL:
    default:
        return number_schema(key);
    }
}

/* "optimizer steps; default 0; unit: steps; only with task.kind: copy, reverse" */
static void describe_row(const struct pes_key_table *table, size_t slot, size_t e, struct pes_text *text)
{
    const struct pes_key_entry *entry = pes_key_table_entry(table, e);
    const struct pes_key *key = entry->key;
    pes_text_append(text, "%s%s", text->length ? ". " : "", key->help);
    if (key->fallback) pes_text_append(text, "; default %s", key->fallback);
    if (*key->unit) pes_text_append(text, "; unit: %s", key->unit);
    const char *separator = "; only with ";
    for (size_t i = table->first[slot]; i < table->first[slot + 1]; i++) {
        const struct pes_key_entry *other = pes_key_table_entry(table, i);
        if (!other->owner_path || strcmp(other->key->help, key->help) != 0) continue;
        pes_text_append(text, "%s%s: %s", separator, other->owner_path, other->owner);
        separator = ", ";
    }
}

/* The values that some row of a slot takes, and what they mean under each. */
static json_t *slot_schema(const struct pes_key_table *table, size_t slot)
{
    json_t *any = json_array();
    struct pes_text text = {0};
    for (size_t e = table->first[slot]; e < table->first[slot + 1]; e++) {
        const struct pes_key *key = pes_key_table_entry(table, e)->key;
        json_t *row = row_schema(key);
        bool known = false, described = false;
        for (size_t i = 0; i < json_array_size(any); i++)
            known = known || json_equal(json_array_get(any, i), row);
        for (size_t i = table->first[slot]; i < e; i++)
            described = described || !strcmp(pes_key_table_entry(table, i)->key->help, key->help);
        if (!described) describe_row(table, slot, e, &text);
        if (known)
            json_decref(row);
        else
            json_array_append_new(any, row);
    }
    json_t *schema = json_pack("{s:s}", "description", pes_text_get(&text));
    if (json_array_size(any) == 1)
        json_object_update(schema, json_array_get(any, 0));
    else
        json_object_set(schema, "anyOf", any);
    json_decref(any);
    pes_text_destroy(&text);
    return schema;
}

/* --- blocks of keys --- */

/* "model.penalty" for the next block of keys inside `path`, from the dot at or after `from`; false if none.
 */
static bool block_of(const char *path, size_t from, char block[64])
{
    const char *dot = strchr(path + from, '.');
    if (!dot || (size_t)(dot - path) >= 64) return false;
    memcpy(block, path, (size_t)(dot - path));
    block[dot - path] = 0;
    return true;
}

static json_t *map_schema(json_t *properties)
{
    return json_pack("{s:s, s:o, s:b, s:i}", "type", "object", "properties", properties,
                     "additionalProperties", 0, "minProperties", 1);
}

/* A map of the block's keys, or its kind alone. */
static json_t *block_schema(const struct pes_key_table *table, const char *block)
{
    json_t *properties = json_object();
    size_t length = strlen(block);
    bool kind = false;
    char inner[64];
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        const char *path = table->paths[slot];
        if (strncmp(path, block, length) != 0 || path[length] != '.') continue;
        const char *rest = path + length + 1;
        kind = kind || !strcmp(rest, "kind");
        if (block_of(path, length + 1, inner))
            json_object_set_new(properties, inner + length + 1, reference("#/$defs/%s", inner));
        else
            json_object_set_new(properties, rest, reference("#/$defs/%s", path));
    }
    json_t *map = map_schema(properties);
    if (!kind) return map;
    return json_pack("{s:[o, o]}", "anyOf", map, reference("#/$defs/%s.kind", block));
}

/* --- axes --- */

enum place { AXIS, VALUE, PATTERN };

/* What may stand under a name in grid and zip, in include and claims, in exclude. */
static json_t *place_schema(const char *path, bool integer, enum place place)
{
    json_t *value = reference("#/$defs/%s", path);
    if (place == VALUE) return value;
    json_t *list = json_pack("{s:s, s:o, s:i}", "type", "array", "items", integer ? or_range(value) : value,
                             "minItems", 1);
    if (place == AXIS) return integer ? or_range(list) : list;
    json_t *either = json_pack("{s:[o, o]}", "anyOf", reference("#/$defs/%s", path), list);
    if (integer) json_array_append_new(json_object_get(either, "anyOf"), reference("#/$defs/%s", "range"));
    return either;
}

static bool in_trials(const char *path)
{
    return strncmp(path, "measure.", 8) != 0 && strncmp(path, "store.", 6) != 0;
}

/* Blocks that end in `name`: the same rule as for keys, since a name must mean one thing. */
static bool block_is_unique(const struct pes_key_table *table, const char *name)
{
    char block[64], found[64] = "";
    size_t length = strlen(name);
    if (pes_key_table_find(table, name) != -1) return false;
    for (size_t slot = 0; slot < table->num_slots; slot++)
        for (size_t from = 0; block_of(table->paths[slot], from, block); from = strlen(block) + 1) {
            size_t size = strlen(block);
            bool ends = size >= length && !strcmp(block + size - length, name) &&
                        (size == length || block[size - length - 1] == '.');
            if (!ends || !strcmp(block, found)) continue;
            if (*found) return false;
            memcpy(found, block, sizeof found);
        }
    return true;
}

/* Every name that a key or block of keys may go by outside its block. */
static json_t *names_schema(const struct pes_key_table *table, enum place place)
{
    json_t *properties = json_object();
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        const char *path = table->paths[slot];
        if (!in_trials(path)) continue;
        bool integer = pes_key_table_entry(table, table->first[slot])->key->type == PES_VALUE_INT;
        for (const char *name = path; name; name = strchr(name, '.') ? strchr(name, '.') + 1 : NULL)
            if (pes_key_table_find(table, name) == (long)slot)
                json_object_set_new(properties, name, place_schema(path, integer, place));
        char block[64];
        for (size_t from = 0; block_of(path, from, block); from = strlen(block) + 1)
            for (const char *name = block; name; name = strchr(name, '.') ? strchr(name, '.') + 1 : NULL)
                if (!json_object_get(properties, name) && block_is_unique(table, name))
                    json_object_set_new(properties, name, place_schema(block, false, place));
    }
    return map_schema(properties);
}

/* Everything that doesn't depend on the key table; in braces the comma of steps_to(name, level) starts a key
 * of its own, without a value.  Single quotes stand for double ones. */
/* clang-format off */
static const char frame[] =
    "{'$schema': 'https://json-schema.org/draft/2020-12/schema',"
    " 'title': 'pesweep sweep file', 'description': 'See: pesweep help sweep-file',"
    " 'type': 'object', 'additionalProperties': false,"
    " 'properties': {"
    "  'name': {'type': ['string', 'number', 'boolean'], 'minLength': 1, 'maxLength': 100, 'pattern': '^[^/]*$',"
    "   'description': 'name of the sweep; by default the name of its file'},"
    "  'task': {'$ref': '#/$defs/task'}, 'model': {'$ref': '#/$defs/model'}, 'train': {'$ref': '#/$defs/train'},"
    "  'measure': {'$ref': '#/$defs/measure'}, 'store': {'$ref': '#/$defs/store'},"
    "  'grid': {'$ref': '#/$defs/axes', 'description': 'axes as a product, the first one slowest'},"
    "  'zip': {'description': 'equally long lists, taken side by side',"
    "   'anyOf': [{'$ref': '#/$defs/pairs'}, {'type': 'array', 'minItems': 1, 'items': {'$ref': '#/$defs/pairs'}}]},"
    "  'exclude': {'description': 'trials of grid and zip to leave out',"
    "   'type': 'array', 'minItems': 1, 'items': {'$ref': '#/$defs/pattern'}},"
    "  'include': {'description': 'trials beside grid and zip',"
    "   'type': 'array', 'minItems': 1, 'items': {'$ref': '#/$defs/point'}},"
    "  'claims': {'description': 'what the analysis judges',"
    "   'type': 'array', 'minItems': 1, 'items': {'$ref': '#/$defs/claim'}}},"
    " '$defs': {"
    "  'range': {'type': 'string', 'pattern': '^[+-]?[0-9]+[.][.][+-]?[0-9]+$',"
    "   'description': 'inclusive range of integers, 0..15'},"
    "  'pairs': {'$ref': '#/$defs/axes', 'minProperties': 2},"
    "  'claim': {'type': 'object', 'additionalProperties': false, 'required': ['name', 'metric'],"
    "   'oneOf': [{'required': ['axis', 'better']}, {'required': ['ratio']}, {'required': ['above']}, {'required': ['below']}],"
    "   'anyOf': [{'required': ['axis']}, {'not': {'anyOf': [{'required': ['better']}, {'required': ['than']}]}}],"
    "   'patternProperties': {'^[^()]*[)]$': {'type': 'null'}},"
    "   'properties': {"
    "    'name': {'pattern': '^[A-Za-z0-9_.-]{1,100}$'},"
    "    'metric': {'type': 'string', 'pattern': '^(final[.][a-z_][a-z_0-9]*$|steps_to[(])',"
    "     'description': 'final.<variable>, or steps_to(<variable>, <level>)'},"
    "    'axis': {'type': 'string', 'description': 'what is compared by'},"
    "    'better': {'description': 'value of the axis that wins'},"
    "    'than': {'description': 'another value, or others, which is the default'},"
    "    'test': {'enum': ['permutation', 'mann_whitney', 'sign_flip', 'log_rank']},"
    "    'ratio': {'type': 'array', 'minItems': 2, 'maxItems': 2, 'items': {'$ref': '#/$defs/point'},"
    "     'description': 'two selections of trials'},"
    "    'above': {'type': 'number', 'description': 'number that the metric is above'},"
    "    'below': {'type': 'number', 'description': 'number that the metric is below'},"
    "    'where': {'$ref': '#/$defs/point', 'description': 'restricts the trials of all sides'},"
    "    'threshold': {'type': 'number', 'minimum': 0, 'description': 'smallest effect that counts'},"
    "    'alpha': {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 0.5, 'description': 'default 0.05'}}}}}";
/* clang-format on */

static json_t *read_frame(void)
{
    char text[sizeof frame];
    for (size_t i = 0; i < sizeof frame; i++)
        text[i] = frame[i] == '\'' ? '"' : frame[i];
    json_error_t error;
    json_t *schema = json_loads(text, 0, &error);
    CHECK(schema || json_error_code(&error) == json_error_out_of_memory);
    return schema;
}

struct json_t *pes_sweep_schema(void)
{
    const struct pes_key_table *table = pes_sweep_keys();
    json_t *schema = read_frame(), *defs = json_object_get(schema, "$defs");
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        const char *path = table->paths[slot];
        json_object_set_new(defs, path, slot_schema(table, slot));
        char block[64];
        for (size_t from = 0; block_of(path, from, block); from = strlen(block) + 1)
            if (!json_object_get(defs, block)) json_object_set_new(defs, block, block_schema(table, block));
    }
    json_object_set_new(defs, "axes", names_schema(table, AXIS));
    json_object_set_new(defs, "point", names_schema(table, VALUE));
    json_object_set_new(defs, "pattern", names_schema(table, PATTERN));
    return schema;
}
