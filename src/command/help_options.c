/* help_options.c - the options of a command, read from the words of its help. */
#include "help.h"

#include <string.h>

enum { INDENT = 8 }; /* blanks before a further line of a meaning */

static size_t blanks(const char *text)
{
    return strspn(text, " ");
}

/* Copies a word; returns what follows it. */
static const char *take_word(const char *text, char *word, size_t size)
{
    size_t length = strcspn(text, " ,\n"), kept = PES_MIN(length, size - 1);
    memcpy(word, text, kept);
    word[kept] = 0;
    return text + length;
}

static const char *take_line(const char *text, struct pes_text *into)
{
    size_t length = strcspn(text, "\n");
    pes_text_append(into, "%.*s", (int)length, text);
    return text[length] ? text + length + 1 : text + length;
}

/* "  -o, --output FILE   meaning" */
static const char *read_option(const char *line, struct pes_help_option *option)
{
    line += blanks(line);
    if (line[1] != '-') {
        line = take_word(line, option->short_name, sizeof option->short_name);
        line += strspn(line, ", ");
    }
    line = take_word(line, option->name, sizeof option->name);
    if (blanks(line) == 1) line = take_word(line + 1, option->argument, sizeof option->argument);
    line = take_line(line + blanks(line), &option->meaning);
    while (blanks(line) >= INDENT && line[blanks(line)] != '-') {
        pes_text_append(&option->meaning, " ");
        line = take_line(line + blanks(line), &option->meaning);
    }
    return line;
}

bool pes_help_next_option(const char **at, struct pes_help_option *option, struct pes_text *remarks)
{
    const char *line = *at;
    while (line && *line) {
        if (blanks(line) >= 2 && line[blanks(line)] == '-') {
            *option = (struct pes_help_option){{0}, {0}, {0}, {0}};
            *at = read_option(line, option);
            return true;
        }
        struct pes_text ignored = {0};
        struct pes_text *into = remarks ? remarks : &ignored;
        line = take_line(line + blanks(line), into);
        pes_text_append(into, "\n");
        pes_text_destroy(&ignored);
    }
    *at = NULL;
    return false;
}

json_t *pes_help_describe_command(const struct pes_command *command)
{
    json_t *options = json_array();
    const char *at = command->help;
    struct pes_help_option option;
    while (pes_help_next_option(&at, &option, NULL)) {
        json_array_append_new(options, json_pack("{s:s, s:s, s:s, s:s}", "name", option.name, "short",
                                                 option.short_name, "argument", option.argument, "meaning",
                                                 pes_text_get(&option.meaning)));
        pes_text_destroy(&option.meaning);
    }
    return json_pack("{s:s, s:s, s:s, s:o}", "name", command->name, "usage", command->usage, "summary",
                     command->summary, "options", options);
}
