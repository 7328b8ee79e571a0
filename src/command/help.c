/* help.c - `pesweep help`: the commands, the reference pages, the manual, the completion. */
#include "help.h"

#include <string.h>

#include "options.h"

static void print_overview(void)
{
    printf("pesweep %s - trains many small transformers over a grid of positional encodings, analyses every\n"
           "attention head spectrally, and leaves one HDF5 file\n\n"
           "usage: pesweep COMMAND ...\n\n",
           pes_build());
    for (size_t i = 0; pes_commands[i]; i++)
        printf("  %-9s %s\n", pes_commands[i]->name, pes_commands[i]->summary);
    printf("\n"
           "  pesweep init count -o my.yaml                a commented sweep file to start from\n"
           "  pesweep plan SWEEP.yaml                      what a sweep will cost\n"
           "  mpirun -n 8 pesweep run SWEEP.yaml           the same command again goes on where it stopped\n"
           "  pesweep COMMAND --help                       options of a command\n");
    for (const struct pes_help_page *page = pes_help_pages; page->name; page++)
        printf("  pesweep help %-31s %s\n", page->name, page->summary);
}

static enum pes_status print_overview_json(void)
{
    json_t *commands = json_array(), *pages = json_array();
    for (size_t i = 0; pes_commands[i]; i++)
        json_array_append_new(commands, pes_help_describe_command(pes_commands[i]));
    for (const struct pes_help_page *page = pes_help_pages; page->name; page++)
        json_array_append_new(pages, json_pack("{s:s, s:s}", "name", page->name, "summary", page->summary));
    return pes_help_print_json(
        stdout, json_pack("{s:s, s:o, s:o}", "version", pes_version(), "commands", commands, "pages", pages));
}

static void print_command(const struct pes_command *command)
{
    printf("%s\n\nusage: %s\n", command->summary, command->usage);
    if (command->help && command->help[0]) printf("\n%s", command->help);
}

static enum pes_status print_topic(const char *topic, bool markdown, bool json)
{
    const char *names[64];
    size_t count = 0;
    for (const struct pes_help_page *page = pes_help_pages; page->name; page++) {
        /* The rules of claims stand in the page of the sweep file. */
        bool claims = !strcmp(topic, "claims") && !strcmp(page->name, "sweep-file");
        if (!claims && strcmp(page->name, topic) != 0) {
            names[count++] = page->name;
            continue;
        }
        if (json) return pes_help_print_json(stdout, page->describe());
        page->print(stdout, markdown);
        return PES_OK;
    }
    for (size_t i = 0; pes_commands[i] && count < PES_COUNT(names); i++) {
        names[count++] = pes_commands[i]->name;
        if (strcmp(pes_commands[i]->name, topic) != 0) continue;
        if (json) return pes_help_print_json(stdout, pes_help_describe_command(pes_commands[i]));
        print_command(pes_commands[i]);
        return PES_OK;
    }
    const char *nearest = pes_text_nearest(topic, names, count);
    return pes_fail(PES_INPUT, "there is no help on '%s'%s%s%s (see: pesweep help)", topic,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static enum pes_status run(int argc, char **argv)
{
    bool markdown = false, json = false, manual = false, completion = false;
    const char *topic = NULL;
    const struct pes_option options[] = {
        {"--markdown", NULL, PES_OPTION_FLAG, &markdown, 0, 0, NULL},
        {"--json", NULL, PES_OPTION_FLAG, &json, 0, 0, NULL},
        {"--man", NULL, PES_OPTION_FLAG, &manual, 0, 0, NULL},
        {"--completion", NULL, PES_OPTION_FLAG, &completion, 0, 0, NULL},
    };
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &topic, 0, 1, "one topic"));
    if (markdown + json + manual + completion > 1)
        return pes_fail(PES_INPUT, "help takes one of --markdown, --json, --man, --completion");
    if (topic && (manual || completion))
        return pes_fail(PES_INPUT, "--man and --completion are of the whole program: leave '%s' out", topic);
    if (manual) return pes_help_print_manual(stdout);
    if (completion) return pes_help_print_completion(stdout);
    if (topic) return print_topic(topic, markdown, json);
    if (json) return print_overview_json();
    print_overview();
    return PES_OK;
}

const struct pes_command pes_command_help = {
    .name = "help",
    .usage = "pesweep help [COMMAND | sweep-file | results-file | measures | exit-codes] [options]",
    .summary = "explain the program, a command, the sweep file, the results file, measures, exit codes",
    .help = "      --markdown     a reference page as Markdown tables\n"
            "      --json         as JSON; of the sweep file its JSON Schema\n"
            "      --man          all of it as a manual page: pesweep help --man | man -l -\n"
            "      --completion   completion for bash: source <(pesweep help --completion)\n",
    .run = run,
};
