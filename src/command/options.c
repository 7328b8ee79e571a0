/* options.c - reads a command line by its table; every refusal says what would have been right. */
#include "options.h"

#include <string.h>

#include "pesweep/schedule.h"
#include "pesweep/text.h"

#define MAX_OPTIONS 32

static enum pes_status parse_number(const struct pes_option *option, const char *text)
{
    double value;
    int64_t integer = 0;
    bool ok = option->kind == PES_OPTION_INT ? pes_text_parse_int(text, &integer)
                                             : pes_text_parse_real(text, &value);
    if (ok && option->kind == PES_OPTION_INT) value = (double)integer;
    if (!ok || !(value >= option->min && value <= option->max)) {
        char low[32], high[32];
        return pes_fail(PES_INPUT, "%s takes %s from %s to %s, not '%s'", option->name,
                        option->kind == PES_OPTION_INT ? "a whole number" : "a number",
                        pes_text_format_real(option->min, low), pes_text_format_real(option->max, high),
                        text);
    }
    if (option->kind == PES_OPTION_INT)
        *(int64_t *)option->value = integer;
    else
        *(double *)option->value = value;
    return PES_OK;
}

static enum pes_status parse_choice(const struct pes_option *option, const char *text)
{
    struct pes_text allowed = {0};
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(text, option->choices[i]) == 0) {
            pes_text_destroy(&allowed);
            *(int *)option->value = i;
            return PES_OK;
        }
        pes_text_append(&allowed, "%s%s", i ? ", " : "", option->choices[i]);
    }
    pes_fail(PES_INPUT, "%s is one of %s, not '%s'", option->name, pes_text_get(&allowed), text);
    pes_text_destroy(&allowed);
    return PES_INPUT;
}

static enum pes_status parse_value(const struct pes_option *option, const char *text)
{
    switch (option->kind) {
    case PES_OPTION_INT:
    case PES_OPTION_REAL:
        return parse_number(option, text);
    case PES_OPTION_CHOICE:
        return parse_choice(option, text);
    case PES_OPTION_TIME:
        if (!pes_schedule_parse_time(text, (double *)option->value))
            return pes_fail(PES_INPUT,
                            "%s takes a time: 90 or 90s (seconds), 30m, 12h, 2d, or as SLURM writes it 1:30 "
                            "(min:s), 12:00:00, 2-12 (days-hours), 2-12:30:00; not '%s'",
                            option->name, text);
        return PES_OK;
    case PES_OPTION_TEXT:
        if (!*text) return pes_fail(PES_INPUT, "%s needs a value that isn't empty", option->name);
        *(const char **)option->value = text;
        return PES_OK;
    case PES_OPTION_FLAG:
    default:
        *(bool *)option->value = true;
        return PES_OK;
    }
}

static enum pes_status unknown(const char *word, const char *command, const struct pes_option *options,
                               size_t num_options)
{
    const char *names[MAX_OPTIONS];
    for (size_t i = 0; i < num_options; i++)
        names[i] = options[i].name;
    const char *nearest = pes_text_nearest(word, names, num_options);
    return pes_fail(PES_INPUT, "%s has no option '%s'%s%s%s (see: pesweep %s --help)", command, word,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "", command);
}

enum pes_status pes_options_parse(int argc, char **argv, const struct pes_option *options, size_t num_options,
                                  const char **operands, size_t min_operands, size_t max_operands,
                                  const char *what)
{
    CHECK(num_options <= MAX_OPTIONS);
    bool seen[MAX_OPTIONS] = {false};
    size_t num_operands = 0;
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            continue;
        }
        if (only_operands || word[0] != '-' || !word[1]) {
            if (num_operands == max_operands)
                return pes_fail(PES_INPUT, "%s takes %s, '%s' is one too many (see: pesweep %s --help)",
                                argv[0], max_operands ? what : "no operands", word, argv[0]);
            operands[num_operands++] = word;
            continue;
        }
        size_t length = strcspn(word, "=");
        const struct pes_option *option = NULL;
        for (size_t o = 0; o < num_options && !option; o++)
            if ((strlen(options[o].name) == length && strncmp(word, options[o].name, length) == 0) ||
                (options[o].short_name && strcmp(word, options[o].short_name) == 0))
                option = &options[o];
        if (!option) {
            char name[64];
            size_t kept = PES_MIN(length, sizeof name - 1);
            memcpy(name, word, kept);
            name[kept] = 0;
            return unknown(name, argv[0], options, num_options);
        }
        if (seen[option - options]) return pes_fail(PES_INPUT, "%s is given twice", option->name);
        seen[option - options] = true;
        const char *value = word[length] == '=' ? word + length + 1 : NULL;
        if (option->kind == PES_OPTION_FLAG) {
            if (value) return pes_fail(PES_INPUT, "%s takes no value", option->name);
        } else if (!value) {
            if (i + 1 >= argc) return pes_fail(PES_INPUT, "%s needs a value", option->name);
            value = argv[++i];
        }
        TRY(parse_value(option, value));
    }
    if (num_operands < min_operands)
        return pes_fail(PES_INPUT, "%s needs %s (see: pesweep %s --help)", argv[0], what, argv[0]);
    return PES_OK;
}
