/* help.c - `pesweep help`: the commands, the sweep file, the results file, the exit codes. */
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "pesweep/command.h"
#include "pesweep/heads.h"
#include "pesweep/pretrained.h"
#include "pesweep/store.h"
#include "pesweep/sweep.h"
#include "pesweep/text.h"

static void print_overview(void)
{
    printf("pesweep %s - trains many small transformers over a grid of positional encodings, analyses every\n"
           "attention head spectrally, and leaves one HDF5 file\n\n"
           "usage: pesweep COMMAND ...\n\n",
           pes_build());
    for (size_t i = 0; pes_commands[i]; i++)
        printf("  %-9s %s\n", pes_commands[i]->name, pes_commands[i]->summary);
    printf("\n"
           "  pesweep plan SWEEP.yaml                      what a sweep will cost\n"
           "  mpirun -n 8 pesweep run SWEEP.yaml           the same command again goes on where it stopped\n"
           "  pesweep COMMAND --help                       options of a command\n"
           "  pesweep help sweep-file                      every key of a sweep file\n"
           "  pesweep help results-file                    every variable of a results file\n"
           "  pesweep help exit-codes                      what the exit codes mean\n");
}

static void print_exit_codes(void)
{
#define X(name, code, meaning) printf("%3d  %s\n", code, meaning);
    PES_STATUSES(X)
#undef X
    printf("\nUnder mpirun, a stop by TERM or INT reaches mpirun first, which then ends with 1 itself: send "
           "USR1 to\n"
           "mpirun, or start with srun, where the code matters.\n");
}

static void print_command(const struct pes_command *command)
{
    printf("%s\n\nusage: %s\n", command->summary, command->usage);
    if (command->help && command->help[0]) printf("\n%s", command->help);
}

static enum pes_status run(int argc, char **argv)
{
    bool markdown = false;
    const char *topic = NULL;
    const struct pes_option options[] = {{"--markdown", NULL, PES_OPTION_FLAG, &markdown, 0, 0, NULL}};
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &topic, 0, 1, "one topic"));
    if (!topic) {
        print_overview();
        return PES_OK;
    }
    if (strcmp(topic, "sweep-file") == 0 || strcmp(topic, "claims") == 0) {
        pes_sweep_print_reference(stdout, markdown);
        return PES_OK;
    }
    if (strcmp(topic, "results-file") == 0) {
        pes_store_print_reference(stdout, markdown);
        pes_heads_print_reference(stdout, markdown, pes_intervention_variables);
        return PES_OK;
    }
    if (strcmp(topic, "exit-codes") == 0) {
        print_exit_codes();
        return PES_OK;
    }
    const char *names[64] = {"sweep-file", "results-file", "exit-codes"};
    size_t count = 3;
    for (size_t i = 0; pes_commands[i] && count < PES_COUNT(names); i++) {
        if (strcmp(pes_commands[i]->name, topic) == 0) {
            print_command(pes_commands[i]);
            return PES_OK;
        }
        names[count++] = pes_commands[i]->name;
    }
    const char *nearest = pes_text_nearest(topic, names, count);
    return pes_fail(PES_INPUT, "there is no help on '%s'%s%s%s (see: pesweep help)", topic,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

const struct pes_command pes_command_help = {
    .name = "help",
    .usage = "pesweep help [COMMAND | sweep-file | results-file | exit-codes] [--markdown]",
    .summary = "explain the program, a command, the sweep file, the results file or the exit codes",
    .help = "  --markdown   a reference as a Markdown table\n",
    .run = run,
};
