/* yaml_tree.c - libyaml's events to a tree of nodes.
 *
 * libyaml reports neither doubled keys nor tabs by name, and expands nothing; the checks for all that stand
 * here. */
#include "yaml_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <yaml.h>

#include "pesweep/text.h"

enum { DEPTH_LIMIT = 16, NODE_LIMIT = 1000000, KEY_LIMIT = 1000 };

enum pes_status(pes_yaml_fail)(const char *path, const struct pes_yaml *node, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return pes_fail(PES_INPUT, "%s:%d:%d: %s", path, node->line, node->column, text);
}

enum pes_status pes_yaml_place(const char *path, const struct pes_yaml *node, enum pes_status status)
{
    return status == PES_INPUT ? pes_yaml_fail(path, node, "%s", pes_error_message()) : status;
}

struct builder {
    const char *path, *text;
    struct pes_arena *arena;
    yaml_parser_t parser;
    size_t num_nodes;
};

/* --- what libyaml refuses --- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* "d_model" if the line starts a key whose colon lacks its space, "d_model:64"; else "". */
static const char *unspaced_key(const char *text, int line, char key[64])
{
    size_t length;
    const char *start = pes_yaml_line(text, line, &length);
    size_t from = 0;
    while (from < length && (start[from] == ' ' || start[from] == '{'))
        from++;
    size_t to = from;
    while (to < length && to - from < 63 && is_word(start[to]))
        to++;
    bool unspaced = to > from && to + 1 < length && start[to] == ':' && start[to + 1] != ' ';
    snprintf(key, 64, "%.*s", unspaced ? (int)(to - from) : 0, start + from);
    return key;
}

/* The character at a mark, 0 at the end of the line. */
static char character_at(const char *text, const struct pes_yaml *mark)
{
    size_t length;
    const char *line = pes_yaml_line(text, mark->line, &length);
    int column = 0;
    for (size_t i = 0; i < length; i++) {
        column += ((unsigned char)line[i] & 0xC0) != 0x80;
        if (column == mark->column) return line[i];
    }
    return 0;
}

static enum pes_status refuse_syntax(const struct builder *builder)
{
    const yaml_parser_t *parser = &builder->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return pes_fail(PES_MEMORY, "no memory to read %s", builder->path);
    const char *problem = parser->problem ? parser->problem : "it can't be read";
    const struct pes_yaml mark = {.line = (int)parser->problem_mark.line + 1,
                                  .column = (int)parser->problem_mark.column + 1};
    char key[64];
    if (strstr(problem, "tab character") || character_at(builder->text, &mark) == '\t')
        return pes_yaml_fail(builder->path, &mark, "a tab stands where the indentation is; use spaces");
    if (strstr(problem, "mapping values are not allowed") || strstr(problem, "could not find expected ':'")) {
        for (int line = mark.line; line > 0 && line >= mark.line - 1; line--)
            if (*unspaced_key(builder->text, line, key))
                return pes_yaml_fail(builder->path, &mark,
                                     "%s; is the space after the colon missing in line %d? Write '%s: ...'",
                                     problem, line, key);
        return pes_yaml_fail(builder->path, &mark,
                             "%s; keys are written 'key: value', text with a colon is quoted", problem);
    }
    if (parser->context && (int)parser->context_mark.line + 1 != mark.line)
        return pes_yaml_fail(
            builder->path, &mark, "this is not YAML: %s %s that starts at line %d, column %d", problem,
            parser->context, (int)parser->context_mark.line + 1, (int)parser->context_mark.column + 1);
    return pes_yaml_fail(builder->path, &mark, "this is not YAML: %s%s%s", problem,
                         parser->context ? " " : "", parser->context ? parser->context : "");
}

/* --- nodes --- */

static enum pes_status next_event(struct builder *builder, yaml_event_t *event)
{
    return yaml_parser_parse(&builder->parser, event) ? PES_OK : refuse_syntax(builder);
}

static enum pes_status make_node(struct builder *builder, const yaml_event_t *event, struct pes_yaml **out)
{
    struct pes_yaml *node = pes_arena_take(builder->arena, 1, sizeof *node);
    if (!node) return PES_MEMORY;
    node->line = (int)event->start_mark.line + 1;
    node->column = (int)event->start_mark.column + 1;
    *out = node;
    if (++builder->num_nodes > NODE_LIMIT)
        return pes_yaml_fail(builder->path, node, "the file has more than %d values", NODE_LIMIT);
    bool anchored = false, tagged = false;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return pes_yaml_fail(builder->path, node,
                             "aliases (*%s) aren't allowed in a sweep file; write the value out",
                             (const char *)event->data.alias.anchor);
    case YAML_SCALAR_EVENT:
        anchored = event->data.scalar.anchor;
        tagged = event->data.scalar.tag;
        node->kind = PES_YAML_SCALAR;
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length)
            return pes_yaml_fail(builder->path, node, "the text holds a NUL character");
        node->text = pes_arena_copy_text(builder->arena, (const char *)event->data.scalar.value);
        if (!node->text) return PES_MEMORY;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchored = event->data.sequence_start.anchor;
        tagged = event->data.sequence_start.tag;
        node->kind = PES_YAML_LIST;
        break;
    default:
        anchored = event->data.mapping_start.anchor;
        tagged = event->data.mapping_start.tag;
        node->kind = PES_YAML_MAP;
        break;
    }
    if (anchored)
        return pes_yaml_fail(builder->path, node,
                             "anchors (&) aren't allowed in a sweep file; write the value out");
    if (tagged) return pes_yaml_fail(builder->path, node, "tags (!) aren't allowed in a sweep file");
    return PES_OK;
}

static enum pes_status add_key(const struct builder *builder, struct pes_yaml *map,
                               const struct pes_yaml *key)
{
    if (key->kind != PES_YAML_SCALAR) return pes_yaml_fail(builder->path, key, "a key must be a word");
    char shown[72];
    if (!key->quoted && !strcmp(key->text, "<<"))
        return pes_yaml_fail(builder->path, key,
                             "merge keys (<<) aren't allowed in a sweep file; write the keys out");
    for (const struct pes_yaml *other = map->first; other; other = other->next)
        if (!strcmp(other->text, key->text))
            return pes_yaml_fail(builder->path, key,
                                 "key '%s' stands here a second time; the first is in line %d",
                                 pes_text_shown(key->text, shown), other->line);
    if (map->count == KEY_LIMIT)
        return pes_yaml_fail(builder->path, key, "the map has more than %d keys", KEY_LIMIT);
    return PES_OK;
}

/* Reads until the collections that `open` holds are closed.  A loop with a stack of its own, so that depth is
 * ours to limit. */
static enum pes_status read_tree(struct builder *builder, yaml_event_t *event, struct pes_yaml **root)
{
    struct pes_yaml *open[DEPTH_LIMIT], *last[DEPTH_LIMIT], *key[DEPTH_LIMIT];
    int depth = 0;
    do {
        if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT) {
            depth--;
        } else {
            struct pes_yaml *node;
            TRY(make_node(builder, event, &node));
            struct pes_yaml *parent = depth ? open[depth - 1] : NULL;
            bool is_key = parent && parent->kind == PES_YAML_MAP && !key[depth - 1];
            if (is_key) TRY(add_key(builder, parent, node));
            if (parent && parent->kind == PES_YAML_MAP && !is_key) {
                key[depth - 1]->value = node;
                key[depth - 1] = NULL;
            } else if (parent) {
                if (last[depth - 1])
                    last[depth - 1]->next = node;
                else
                    parent->first = node;
                last[depth - 1] = node;
                parent->count++;
                key[depth - 1] = is_key ? node : NULL;
            } else {
                *root = node;
            }
            if (node->kind != PES_YAML_SCALAR) {
                if (depth == DEPTH_LIMIT)
                    return pes_yaml_fail(builder->path, node, "nested deeper than %d levels", DEPTH_LIMIT);
                open[depth] = node;
                last[depth] = key[depth] = NULL;
                depth++;
            }
        }
        if (!depth) return PES_OK;
        yaml_event_delete(event);
        TRY(next_event(builder, event));
    } while (true);
}

static enum pes_status read_documents(struct builder *builder, struct pes_yaml **root)
{
    yaml_event_t event;
    enum pes_status status;
    do {
        status = next_event(builder, &event);
        if (status != PES_OK) return status;
        yaml_event_type_t type = event.type;
        if (type == YAML_DOCUMENT_START_EVENT && *root) {
            const struct pes_yaml here = {.line = (int)event.start_mark.line + 1, .column = 1};
            status =
                pes_yaml_fail(builder->path, &here, "a second document starts; a sweep file is one document");
        } else if (type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT ||
                   type == YAML_MAPPING_START_EVENT || type == YAML_ALIAS_EVENT) {
            status = read_tree(builder, &event, root);
        }
        yaml_event_delete(&event);
        if (type == YAML_STREAM_END_EVENT) break;
    } while (status == PES_OK);
    return status;
}

enum pes_status pes_yaml_read(const char *path, const char *text, size_t text_bytes, struct pes_arena *arena,
                              struct pes_yaml **root)
{
    struct builder builder = {.path = path, .text = text, .arena = arena};
    if (!yaml_parser_initialize(&builder.parser)) return pes_fail(PES_MEMORY, "no memory to read %s", path);
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, text_bytes);
    *root = NULL;
    enum pes_status status = read_documents(&builder, root);
    yaml_parser_delete(&builder.parser);
    if (status != PES_OK) return status;
    const struct pes_yaml start = {.line = 1, .column = 1};
    if (!*root || ((*root)->kind == PES_YAML_SCALAR && !*(*root)->text))
        return pes_yaml_fail(path, *root ? *root : &start,
                             "the file is empty; a sweep file is a map with the keys "
                             "task, model, train, grid ...");
    if ((*root)->kind != PES_YAML_MAP)
        return pes_yaml_fail(path, *root,
                             "the file must be a map, 'key: value' lines such as 'train: {steps: 100}'");
    return PES_OK;
}

/* --- one line --- */

static void append_scalar(struct pes_text *out, const struct pes_yaml *node)
{
    if (!node->quoted) {
        pes_text_append(out, "%s", node->text);
        return;
    }
    pes_text_append(out, "\"");
    for (const char *c = node->text; *c; c++)
        if (*c == '\n')
            pes_text_append(out, "\\n");
        else
            pes_text_append(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    pes_text_append(out, "\"");
}

static void append_node(struct pes_text *out, const struct pes_yaml *node)
{
    if (node->kind == PES_YAML_SCALAR) {
        append_scalar(out, node);
        return;
    }
    bool map = node->kind == PES_YAML_MAP;
    pes_text_append(out, map ? "{" : "[");
    for (const struct pes_yaml *child = node->first; child; child = child->next) {
        append_node(out, child);
        if (map) {
            pes_text_append(out, ": ");
            append_node(out, child->value);
        }
        if (child->next) pes_text_append(out, ", ");
    }
    pes_text_append(out, map ? "}" : "]");
}

const char *pes_yaml_format(const struct pes_yaml *node, struct pes_arena *arena)
{
    struct pes_text out = {0};
    append_node(&out, node);
    const char *copy = out.failed ? NULL : pes_arena_copy_text(arena, pes_text_get(&out));
    pes_text_destroy(&out);
    return copy;
}
