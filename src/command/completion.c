/* completion.c - completion for bash: every word that can stand at a place, from the commands' own
 * descriptions. */
#include "help.h"

#include <string.h>

/* "none failed all" of a meaning that begins "none | failed | all: ..."; nothing of others. */
static void append_choices(struct pes_text *words, const char *meaning)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    for (const char *at = meaning;;) {
        size_t length = strspn(at, word);
        bool more = strncmp(at + length, " | ", 3) == 0;
        if (!length || (!more && at == meaning)) return;
        pes_text_append(words, "%s%.*s", words->length ? " " : "", (int)length, at);
        if (!more) return;
        at += length + 3;
    }
}

static void put_topics(FILE *out)
{
    for (const struct pes_help_page *page = pes_help_pages; page->name; page++)
        fprintf(out, "%s ", page->name);
    for (size_t i = 0; pes_commands[i]; i++)
        fprintf(out, "%s ", pes_commands[i]->name);
}

/* The lines of one command: words after an option, then options, then operands that are known by name. */
static void put_command(FILE *out, const struct pes_command *command)
{
    struct pes_text options = {0};
    struct pes_help_option option;
    const char *at = command->help;
    fprintf(out, "    %s)\n        case $previous in\n", command->name);
    while (pes_help_next_option(&at, &option, NULL)) {
        struct pes_text choices = {0};
        append_choices(&choices, pes_text_get(&option.meaning));
        const char *bar = option.short_name[0] ? "|" : "";
        if (choices.length)
            fprintf(out, "        %s%s%s) words='%s' ;;\n", option.short_name, bar, option.name,
                    pes_text_get(&choices));
        else if (option.argument[0])
            fprintf(out, "        %s%s%s) return ;;\n", option.short_name, bar, option.name);
        pes_text_append(&options, " %s", option.name);
        pes_text_destroy(&choices);
        pes_text_destroy(&option.meaning);
    }
    fprintf(out, "        *) words='");
    for (size_t i = 0; command->operands && command->operands[i]; i++)
        fprintf(out, "%s ", command->operands[i]);
    if (command == &pes_command_help) put_topics(out);
    fprintf(out, "'; options='--help%s' ;;\n        esac\n        ;;\n", pes_text_get(&options));
    pes_text_destroy(&options);
}

enum pes_status pes_help_print_completion(FILE *out)
{
    fprintf(
        out,
        "# bash completion for pesweep, made by: pesweep help --completion\n"
        "_pesweep() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words='' options=''\n"
        "    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        words='");
    for (size_t i = 0; pes_commands[i]; i++)
        fprintf(out, "%s ", pes_commands[i]->name);
    fprintf(out, "--help --version'\n"
                 "    else\n"
                 "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; pes_commands[i]; i++)
        put_command(out, pes_commands[i]);
    fprintf(
        out,
        "    esac\n"
        "    fi\n"
        "    if [[ $word == -* ]]; then words=\"$words $options\"; fi\n"
        "    if [ -n \"$words\" ]; then mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"); fi\n"
        "}\n"
        "complete -o bashdefault -o default -F _pesweep pesweep\n");
    return ferror(out) ? pes_fail(PES_IO, "standard output can't be written") : PES_OK;
}
