/* dispatch.c - from the first word of the command line to its command. */
#include <stdio.h>
#include <string.h>

#include "pesweep/command.h"
#include "pesweep/text.h"

const struct pes_command *const pes_commands[] = {
#define X(identifier) &pes_command_##identifier,
    PES_COMMANDS(X)
#undef X
        NULL};

static const struct pes_command *find(const char *name)
{
    for (size_t i = 0; pes_commands[i]; i++)
        if (strcmp(pes_commands[i]->name, name) == 0) return pes_commands[i];
    return NULL;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
    return false;
}

enum pes_status pes_command_dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("pesweep %s\n", pes_build());
        return PES_OK;
    }
    char help[] = "help", *only_help[] = {help, NULL};
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || argc < 2)
        return pes_command_help.run(1, only_help);
    const struct pes_command *command = find(name);
    if (!command) {
        const char *names[PES_COUNT(pes_commands)];
        size_t count = 0;
        for (; pes_commands[count]; count++)
            names[count] = pes_commands[count]->name;
        const char *nearest = pes_text_nearest(name, names, count);
        return pes_fail(PES_INPUT, "there is no command '%s'%s%s%s (see: pesweep help)", name,
                        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    }
    if (asks_for_help(argc, argv)) {
        char *words[] = {help, argv[1], NULL};
        return pes_command_help.run(2, words);
    }
    return command->run(argc - 1, argv + 1);
}
