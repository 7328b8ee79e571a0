/* value.c - one value of a configuration, read from scalars against its key, and what is wrong with it in
 * words. */
#include "pesweep/config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pesweep/text.h"

enum { SET_LIMIT = 64, LIST_LIMIT = 100000 };

/* --- what is allowed, in words --- */

static size_t append_bounds(const struct pes_key *key, char *buffer, size_t size)
{
    char low[32], high[32];
    pes_text_format_real(key->min, low);
    pes_text_format_real(key->max, high);
    bool has_low = key->min > -9e18, has_high = key->max < 9e18;
    int length = 0;
    if (has_low && has_high && !key->min_open)
        length = snprintf(buffer, size, " from %s to %s", low, high);
    else if (has_low && has_high)
        length = snprintf(buffer, size, " > %s and <= %s", low, high);
    else if (has_low)
        length = snprintf(buffer, size, " %s %s", key->min_open ? ">" : ">=", low);
    else if (has_high)
        length = snprintf(buffer, size, " <= %s", high);
    return (size_t)PES_MAX(length, 0);
}

const char *pes_key_allowed(const struct pes_key *key, char *buffer, size_t size)
{
    size_t used = 0;
    const char *noun = "", *nouns = "";
    switch (key->type) {
    case PES_VALUE_BOOL:
        snprintf(buffer, size, "true or false");
        break;
    case PES_VALUE_CHOICE:
        buffer[0] = 0;
        for (size_t i = 0; key->choices[i] && used < size; i++)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "", key->choices[i]);
        break;
    case PES_VALUE_TEXT:
        snprintf(buffer, size, "text");
        break;
    case PES_VALUE_SET:
        snprintf(buffer, size, "all, none or a list of whole numbers from 0 to %d such as [0, 1]",
                 SET_LIMIT - 1);
        break;
    case PES_VALUE_INT:
    case PES_VALUE_INTS:
        noun = "a whole number", nouns = "whole numbers";
        break;
    case PES_VALUE_REAL:
    case PES_VALUE_REALS:
        noun = "a number", nouns = "numbers";
        break;
    }
    if (!*noun) return buffer;
    if (key->type == PES_VALUE_INT || key->type == PES_VALUE_REAL)
        used = (size_t)snprintf(buffer, size, "%s", noun);
    else if (key->length)
        used = (size_t)snprintf(buffer, size, "a list of %zu %s", key->length, nouns);
    else
        used = (size_t)snprintf(buffer, size, "a list of %s", nouns);
    if (used < size) append_bounds(key, buffer + used, size - used);
    return buffer;
}

/* --- errors --- */

/* The plain form of what other notations mean, "; write 16", or "". */
static void hint_number(const char *text, bool want_integer, char hint[64])
{
    char *end;
    hint[0] = 0;
    const char *digits = text + (*text == '-' || *text == '+');
    const char *sign = *text == '-' ? "-" : "";
    if (digits[0] == '0' && strchr("xXoObB", digits[1]) && digits[1]) {
        int base = digits[1] == 'x' || digits[1] == 'X' ? 16 : digits[1] == 'o' || digits[1] == 'O' ? 8 : 2;
        unsigned long long number = strtoull(digits + 2, &end, base);
        if (digits[2] && !*end && number <= INT64_MAX) snprintf(hint, 64, "; write %s%llu", sign, number);
        return;
    }
    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') {
        const char *rest = digits + strspn(digits, "0");
        double number;
        if (*rest < '1' || *rest > '9') rest--;
        if (strlen(rest) < 32 && pes_text_parse_real(rest, &number))
            snprintf(hint, 64, "; write %s%s", sign, rest);
        return;
    }
    if (strchr(digits, '_')) {
        char plain[32];
        size_t used = 0;
        double number;
        for (const char *c = digits; *c && used < sizeof plain - 1; c++)
            if (*c != '_') plain[used++] = *c;
        plain[used] = 0;
        if (pes_text_parse_real(plain, &number)) snprintf(hint, 64, "; write %s%s", sign, plain);
        return;
    }
    double number;
    if (want_integer && pes_text_parse_real(text, &number) && number == rint(number) && fabs(number) < 1e15)
        snprintf(hint, 64, "; write %.0f", number);
}

static enum pes_status wrong_item(const struct pes_key *key, const struct pes_item *item, const char *what,
                                  const char *hint)
{
    char allowed[512], shown[72];
    return pes_fail(PES_INPUT, "%s: '%s' %s; allowed: %s%s", key->path, pes_text_shown(item->text, shown),
                    what, pes_key_allowed(key, allowed, sizeof allowed), hint);
}

static bool is_null(const struct pes_item *item)
{
    return !item->quoted && (!*item->text || !strcmp(item->text, "~") || !strcasecmp(item->text, "null"));
}

/* What every type refuses before it reads the scalar. */
static enum pes_status check_item(const struct pes_key *key, const struct pes_item *item, const char *noun)
{
    char allowed[512], shown[72];
    if (is_null(item))
        return pes_fail(PES_INPUT, "%s: there is no value; allowed: %s (leave the key out for its default)",
                        key->path, pes_key_allowed(key, allowed, sizeof allowed));
    if (item->quoted && noun)
        return pes_fail(PES_INPUT, "%s: \"%s\" is text because of its quotes; allowed: %s, without quotes",
                        key->path, pes_text_shown(item->text, shown),
                        pes_key_allowed(key, allowed, sizeof allowed));
    return PES_OK;
}

/* --- scalars --- */

static bool in_range(const struct pes_key *key, double number)
{
    return number >= key->min && number <= key->max && !(key->min_open && number == key->min);
}

static enum pes_status read_bool(const struct pes_key *key, const struct pes_item *item, int64_t *value)
{
    static const char *const yes[] = {"true", "True", "TRUE"}, *const no[] = {"false", "False", "FALSE"};
    TRY(check_item(key, item, "a bool"));
    for (size_t i = 0; i < 3; i++) {
        *value = !strcmp(item->text, yes[i]);
        if (*value || !strcmp(item->text, no[i])) return PES_OK;
    }
    static const char *const on[] = {"yes", "on", "y", "1"}, *const off[] = {"no", "off", "n", "0"};
    const char *hint = "";
    for (size_t i = 0; i < PES_COUNT(on); i++) {
        if (!strcasecmp(item->text, on[i])) hint = "; write true";
        if (!strcasecmp(item->text, off[i])) hint = "; write false";
    }
    return wrong_item(key, item, "is neither true nor false", hint);
}

static enum pes_status read_int(const struct pes_key *key, const struct pes_item *item, int64_t *value)
{
    char hint[64];
    TRY(check_item(key, item, "a number"));
    if (!pes_text_parse_int(item->text, value)) {
        int64_t last;
        if (pes_text_parse_range(item->text, value, &last))
            return wrong_item(key, item, "is a range, which gives several values; ranges stand in the grid",
                              "");
        double number;
        if (pes_text_parse_real(item->text, &number) && !strpbrk(item->text, ".eE"))
            return wrong_item(key, item, "is too large for 64 bits", "");
        hint_number(item->text, true, hint);
        return wrong_item(key, item, "is not a whole number in plain decimal notation", hint);
    }
    if (!in_range(key, (double)*value)) return wrong_item(key, item, "is out of range", "");
    return PES_OK;
}

static enum pes_status read_real(const struct pes_key *key, const struct pes_item *item, double *value)
{
    char hint[64];
    TRY(check_item(key, item, "a number"));
    if (!pes_text_parse_real(item->text, value)) {
        hint_number(item->text, false, hint);
        return wrong_item(key, item, "is not a finite number in plain decimal notation", hint);
    }
    if (*value == 0) *value = 0; /* -0 is 0 */
    if (!in_range(key, *value)) return wrong_item(key, item, "is out of range", "");
    return PES_OK;
}

static size_t count_choices(const struct pes_key *key)
{
    size_t count = 0;
    while (key->choices[count])
        count++;
    return count;
}

static enum pes_status read_choice(const struct pes_key *key, const struct pes_item *item,
                                   struct pes_value *value)
{
    size_t count = count_choices(key);
    TRY(check_item(key, item, NULL));
    for (size_t i = 0; i < count; i++)
        if (!strcmp(item->text, key->choices[i])) {
            value->integer = (int64_t)i;
            value->text = key->choices[i];
            return PES_OK;
        }
    const char *nearest = pes_text_nearest(item->text, key->choices, count);
    char hint[96] = "";
    if (nearest) snprintf(hint, sizeof hint, "; did you mean %s?", nearest);
    char allowed[512], shown[72];
    return pes_fail(PES_INPUT, "%s: unknown value '%s'; allowed: %s%s", key->path,
                    pes_text_shown(item->text, shown), pes_key_allowed(key, allowed, sizeof allowed), hint);
}

/* --- lists --- */

/* One integer or an inclusive range of them. */
static enum pes_status read_span(const struct pes_key *key, const struct pes_item *item, int64_t *first,
                                 int64_t *last)
{
    if (item->quoted || !pes_text_parse_range(item->text, first, last)) {
        TRY(read_int(key, item, first));
        *last = *first;
        return PES_OK;
    }
    if (*first > *last) return wrong_item(key, item, "is a range that runs backwards", "");
    if (!in_range(key, (double)*first) || !in_range(key, (double)*last))
        return wrong_item(key, item, "is out of range", "");
    return PES_OK;
}

static enum pes_status read_set(const struct pes_key *key, const struct pes_item *items, size_t count,
                                bool list, struct pes_value *value, size_t *bad)
{
    if (!list) {
        TRY(check_item(key, items, "a set"));
        bool all = !strcmp(items->text, "all");
        if (!all && strcmp(items->text, "none") != 0) {
            char hint[96] = "";
            int64_t member;
            if (pes_text_parse_int(items->text, &member))
                snprintf(hint, sizeof hint, "; write [%s]", items->text);
            return wrong_item(key, items, "is not a set", hint);
        }
        value->set = all ? UINT64_MAX : 0;
        return PES_OK;
    }
    const struct pes_key member = {.path = key->path, .type = PES_VALUE_INT, .min = 0, .max = SET_LIMIT - 1};
    value->set = 0;
    for (*bad = 0; *bad < count; ++*bad) {
        int64_t first, last;
        TRY(read_span(&member, &items[*bad], &first, &last));
        for (; first <= last; first++) {
            uint64_t bit = UINT64_C(1) << first;
            if (value->set & bit) return wrong_item(key, &items[*bad], "is in the list twice", "");
            value->set |= bit;
        }
    }
    return PES_OK;
}

static enum pes_status read_ints(const struct pes_key *key, const struct pes_item *items, size_t count,
                                 struct pes_arena *arena, struct pes_value *value, size_t *bad)
{
    int64_t total = 0, first, last;
    for (*bad = 0; *bad < count; ++*bad) {
        TRY(read_span(key, &items[*bad], &first, &last));
        /* The difference of two int64_t fits in uint64_t. */
        if ((uint64_t)last - (uint64_t)first >= LIST_LIMIT || (total += last - first + 1) > LIST_LIMIT)
            return pes_fail(PES_INPUT, "%s: the list has more than %d elements", key->path, LIST_LIMIT);
    }
    int64_t *integers = pes_arena_take(arena, (size_t)total, sizeof *integers);
    if (!integers) return PES_MEMORY;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        TRY(read_span(key, &items[i], &first, &last));
        for (int64_t k = 0; k <= last - first; k++)
            integers[used++] = first + k;
    }
    value->integers = integers;
    value->count = used;
    return PES_OK;
}

static enum pes_status read_reals(const struct pes_key *key, const struct pes_item *items, size_t count,
                                  struct pes_arena *arena, struct pes_value *value, size_t *bad)
{
    if (count > LIST_LIMIT)
        return pes_fail(PES_INPUT, "%s: the list has more than %d elements", key->path, LIST_LIMIT);
    double *reals = pes_arena_take(arena, count, sizeof *reals);
    if (!reals) return PES_MEMORY;
    for (*bad = 0; *bad < count; ++*bad)
        TRY(read_real(key, &items[*bad], &reals[*bad]));
    value->reals = reals;
    value->count = count;
    return PES_OK;
}

static enum pes_status check_length(const struct pes_key *key, size_t count)
{
    if (!key->length || count == key->length) return PES_OK;
    return pes_fail(PES_INPUT, "%s: the list has %zu element%s; allowed: exactly %zu", key->path, count,
                    count == 1 ? "" : "s", key->length);
}

enum pes_status pes_value_build(const struct pes_key *key, const struct pes_item *items, size_t count,
                                bool list, struct pes_arena *arena, struct pes_value *value, size_t *bad)
{
    size_t ignored;
    if (!bad) bad = &ignored;
    *bad = 0;
    *value = (struct pes_value){.type = key->type};
    bool takes_list =
        key->type == PES_VALUE_SET || key->type == PES_VALUE_INTS || key->type == PES_VALUE_REALS;
    bool takes_scalar = key->type != PES_VALUE_INTS && key->type != PES_VALUE_REALS;
    if (list ? !takes_list : !takes_scalar) {
        char allowed[512];
        *bad = count;
        if (!list) TRY(check_item(key, items, NULL));
        return pes_fail(PES_INPUT, "%s: %s; allowed: %s", key->path,
                        list ? "a list stands where one value belongs"
                             : "one value stands where a list belongs",
                        pes_key_allowed(key, allowed, sizeof allowed));
    }
    switch (key->type) {
    case PES_VALUE_BOOL:
        return read_bool(key, items, &value->integer);
    case PES_VALUE_INT:
        return read_int(key, items, &value->integer);
    case PES_VALUE_REAL:
        return read_real(key, items, &value->real);
    case PES_VALUE_CHOICE:
        return read_choice(key, items, value);
    case PES_VALUE_TEXT:
        TRY(check_item(key, items, NULL));
        value->text = pes_arena_copy_text(arena, items->text);
        return value->text ? PES_OK : PES_MEMORY;
    case PES_VALUE_SET:
        return read_set(key, items, count, list, value, bad);
    case PES_VALUE_INTS:
        TRY(read_ints(key, items, count, arena, value, bad));
        return check_length(key, value->count);
    case PES_VALUE_REALS:
        TRY(read_reals(key, items, count, arena, value, bad));
        return check_length(key, value->count);
    }
    return pes_fail(PES_INTERNAL, "%s: a key of unknown type", key->path);
}

enum pes_status pes_value_check(const struct pes_key *key, struct pes_value *value)
{
    CHECK(key->type == value->type);
    if (key->type == PES_VALUE_CHOICE) return read_choice(key, &(struct pes_item){value->text, false}, value);
    if (key->type == PES_VALUE_INTS || key->type == PES_VALUE_REALS) TRY(check_length(key, value->count));
    const int64_t *integers = key->type == PES_VALUE_INT ? &value->integer : value->integers;
    const double *reals = key->type == PES_VALUE_REAL ? &value->real : value->reals;
    size_t num_integers = key->type == PES_VALUE_INT ? 1 : key->type == PES_VALUE_INTS ? value->count : 0;
    size_t num_reals = key->type == PES_VALUE_REAL ? 1 : key->type == PES_VALUE_REALS ? value->count : 0;
    char text[32];
    for (size_t i = 0; i < num_integers + num_reals; i++) {
        double number = i < num_integers ? (double)integers[i] : reals[i - num_integers];
        if (!in_range(key, number))
            return wrong_item(key, &(struct pes_item){pes_text_format_real(number, text), false},
                              "is out of range", "");
    }
    return PES_OK;
}
