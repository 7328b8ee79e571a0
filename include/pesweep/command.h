/* command.h - the commands of the program: thin, one file each (src/command/<name>.c). */
#ifndef PESWEEP_COMMAND_H
#define PESWEEP_COMMAND_H

#include "pesweep/base.h"

struct pes_command {
    const char *name, *usage, *summary;
    const char *help; /* options, a line each */
    /* argv[0] is the command's name.  Prints its own results; errors are returned. */
    enum pes_status (*run)(int argc, char **argv);
};

#define PES_COMMANDS(X) X(plan) X(run) X(status) X(export) X(list)
#define X(identifier) extern const struct pes_command pes_command_##identifier;
PES_COMMANDS(X)
#undef X

#endif
