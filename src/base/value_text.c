/* value_text.c - values of a configuration as text: read, compared, written canonically.
 *
 * Invariant: pes_value_parse(pes_value_format(v)) equals v. */
#include "pesweep/config.h"

#include <string.h>
#include <strings.h>

#include "pesweep/text.h"

static const char *skip_spaces(const char *c)
{
    while (*c == ' ' || *c == '\t')
        c++;
    return c;
}

/* One scalar at *from: quoted with the escapes of pes_value_format, or plain up to one of `stops`.  NULL: no
 * memory or (with *closed false) no closing quote. */
static const char *take_scalar(const char **from, const char *stops, struct pes_arena *arena,
                               struct pes_item *item, bool *closed)
{
    const char *c = skip_spaces(*from);
    char *text = pes_arena_take(arena, strlen(c) + 1, 1);
    if (!text) return NULL;
    size_t used = 0;
    *closed = true;
    item->text = text;
    item->quoted = *c == '"' || *c == '\'';
    if (item->quoted) {
        char quote = *c++;
        for (; *c && *c != quote; c++) {
            if (quote == '"' && *c == '\\' && c[1]) {
                c++;
                text[used++] = (char)(*c == 'n' ? '\n' : *c == 'r' ? '\r' : *c == 't' ? '\t' : *c);
            } else {
                text[used++] = *c;
            }
        }
        *closed = *c == quote;
        if (!*closed) return NULL;
        c = skip_spaces(c + 1);
    } else {
        while (*c && !strchr(stops, *c))
            text[used++] = *c++;
        while (used && (text[used - 1] == ' ' || text[used - 1] == '\t'))
            used--;
        text[used] = 0;
    }
    *from = c;
    return text;
}

enum pes_status pes_value_parse(const struct pes_key *key, const char *text, struct pes_arena *arena,
                                struct pes_value *value)
{
    const char *c = skip_spaces(text);
    bool list = *c == '[', closed;
    size_t count = 0, most = 1;
    for (const char *comma = c; *comma; comma++)
        most += *comma == ',';
    struct pes_item *items = pes_arena_take(arena, most, sizeof *items);
    if (!items) return PES_MEMORY;
    if (!list) {
        if (!take_scalar(&c, "", arena, items, &closed) && closed) return PES_MEMORY;
        if (!closed || *c) return pes_fail(PES_INPUT, "%s: the quotes are not closed at the end", key->path);
        return pes_value_build(key, items, 1, false, arena, value, NULL);
    }
    for (c = skip_spaces(c + 1); *c != ']'; c = skip_spaces(c)) {
        if (!take_scalar(&c, ",]", arena, &items[count++], &closed) && closed) return PES_MEMORY;
        if (!closed || (*c != ',' && *c != ']'))
            return pes_fail(PES_INPUT, "%s: the list is not closed by ]", key->path);
        if (*c == ',') c++;
    }
    if (*skip_spaces(c + 1)) return pes_fail(PES_INPUT, "%s: there is text after the list", key->path);
    return pes_value_build(key, items, count, true, arena, value, NULL);
}

bool pes_value_equal(const struct pes_value *a, const struct pes_value *b)
{
    if (a->type != b->type) return false;
    switch (a->type) {
    case PES_VALUE_BOOL:
    case PES_VALUE_INT:
        return a->integer == b->integer;
    case PES_VALUE_REAL:
        return a->real == b->real;
    case PES_VALUE_CHOICE:
    case PES_VALUE_TEXT:
        return !strcmp(a->text, b->text);
    case PES_VALUE_SET:
        return a->set == b->set;
    case PES_VALUE_INTS:
        for (size_t i = 0; i < a->count && i < b->count; i++)
            if (a->integers[i] != b->integers[i]) return false;
        return a->count == b->count;
    case PES_VALUE_REALS:
        for (size_t i = 0; i < a->count && i < b->count; i++)
            if (a->reals[i] != b->reals[i]) return false;
        return a->count == b->count;
    }
    return false;
}

/* Letters, digits and a few signs stand as they are; anything else is quoted. */
static void append_text(struct pes_text *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    if (*text && text[strspn(text, plain)] == 0 && strcasecmp(text, "null") != 0) {
        pes_text_append(out, "%s", text);
        return;
    }
    pes_text_append(out, "\"");
    for (; *text; text++) {
        const char *escape = *text == '\n' ? "\\n" : *text == '\r' ? "\\r" : *text == '\t' ? "\\t" : NULL;
        if (escape)
            pes_text_append(out, "%s", escape);
        else
            pes_text_append(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    pes_text_append(out, "\"");
}

static void append_value(struct pes_text *out, const struct pes_value *value)
{
    char number[32];
    const char *separator = "";
    switch (value->type) {
    case PES_VALUE_BOOL:
        pes_text_append(out, "%s", value->integer ? "true" : "false");
        return;
    case PES_VALUE_INT:
        pes_text_append(out, "%lld", (long long)value->integer);
        return;
    case PES_VALUE_REAL:
        pes_text_append(out, "%s", pes_text_format_real(value->real, number));
        return;
    case PES_VALUE_CHOICE:
        pes_text_append(out, "%s", value->text);
        return;
    case PES_VALUE_TEXT:
        append_text(out, value->text);
        return;
    case PES_VALUE_SET:
        if (value->set == UINT64_MAX || !value->set) {
            pes_text_append(out, "%s", value->set ? "all" : "none");
            return;
        }
        for (int i = 0; i < 64; i++)
            if (value->set >> i & 1) {
                pes_text_append(out, "%s%d", *separator ? separator : "[", i);
                separator = ", ";
            }
        break;
    case PES_VALUE_INTS:
    case PES_VALUE_REALS:
        pes_text_append(out, "[");
        for (size_t i = 0; i < value->count; i++, separator = ", ")
            if (value->type == PES_VALUE_INTS)
                pes_text_append(out, "%s%lld", separator, (long long)value->integers[i]);
            else
                pes_text_append(out, "%s%s", separator, pes_text_format_real(value->reals[i], number));
        break;
    }
    pes_text_append(out, "]");
}

const char *pes_value_format(const struct pes_value *value, struct pes_arena *arena)
{
    struct pes_text out = {0};
    append_value(&out, value);
    const char *copy = out.failed ? NULL : pes_arena_copy_text(arena, pes_text_get(&out));
    pes_text_destroy(&out);
    return copy;
}
