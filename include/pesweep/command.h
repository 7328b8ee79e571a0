/* command.h - the commands of the program: thin, one file each (src/command/<name>.c). */
#ifndef PESWEEP_COMMAND_H
#define PESWEEP_COMMAND_H

#include "pesweep/base.h"

struct pes_command {
    const char *name, *usage, *summary;
    const char *help;            /* options, a line each: see help.h of src/command for the form */
    const char *const *operands; /* words an operand may be, for completion; ended by NULL; NULL = a file */
    /* argv[0] is the command's name.  Prints its own results; errors are returned. */
    enum pes_status (*run)(int argc, char **argv);
};

/* In the order in which `pesweep help` lists them. */
#define PES_COMMANDS(X)                                                                                      \
    X(init)                                                                                                  \
    X(plan)                                                                                                  \
    X(run) X(status) X(analyze) X(export) X(inspect) X(verify) X(merge) X(replay) X(list) X(doctor) X(help)
#define X(identifier) extern const struct pes_command pes_command_##identifier;
PES_COMMANDS(X)
#undef X
extern const struct pes_command *const pes_commands[]; /* ended by NULL */

/* Finds the command that argv[1] names and runs it.  `pesweep`, `pesweep --help`, `pesweep --version` and
 * `pesweep CMD --help` print what they say and return PES_OK. */
enum pes_status pes_command_dispatch(int argc, char **argv);

#endif
