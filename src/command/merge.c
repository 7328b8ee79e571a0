/* merge.c - `pesweep merge`: one results file from several. */
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "pesweep/command.h"
#include "pesweep/store.h"

enum { MAX_FILES = 1024 };

static enum pes_status unite(struct pes_reader *const *readers, size_t num, const char *sweep_path,
                             const char *output, bool json)
{
    struct pes_sweep *sweep = NULL;
    TRY(sweep_path ? pes_sweep_load(sweep_path, &sweep) : pes_store_union(readers, num, &sweep));
    struct pes_arena *arena = pes_arena_create();
    struct pes_layout *layout = NULL;
    struct pes_merge merge;
    enum pes_status status = arena ? pes_train_layout(sweep, arena, &layout) : PES_MEMORY;
    if (status == PES_OK) status = pes_store_merge(output, sweep, layout, readers, num, &merge);
    if (status == PES_OK && json)
        printf("{\"trials\": %zu, \"finished\": %zu, \"in_two_files\": %zu, \"damaged\": %zu, "
               "\"variables_left_out\": %zu}\n",
               merge.num_trials, merge.num_finished, merge.num_twice, merge.num_damaged, merge.num_left_out);
    else if (status == PES_OK) {
        printf("%s: %zu trials, %zu of them finished", output, merge.num_trials, merge.num_finished);
        if (merge.num_twice) printf("; %zu stood in two files, with the same results", merge.num_twice);
        if (merge.num_damaged) printf("; %zu were damaged and are left out", merge.num_damaged);
        if (merge.num_left_out)
            printf("; %zu of %zu variables are left out, since not all files have them", merge.num_left_out,
                   layout->num_fields);
        printf("\n");
    }
    pes_arena_destroy(arena);
    pes_sweep_destroy(sweep);
    return status;
}

static enum pes_status run(int argc, char **argv)
{
    const char *paths[MAX_FILES] = {NULL}, *output = NULL, *sweep = NULL;
    bool json = false;
    const struct pes_option options[] = {
        {"--output", "-o", PES_OPTION_TEXT, &output, 0, 0, NULL},
        {"--sweep", NULL, PES_OPTION_TEXT, &sweep, 0, 0, NULL},
        {"--json", NULL, PES_OPTION_FLAG, &json, 0, 0, NULL},
    };
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), paths, 1, MAX_FILES, "results files"));
    if (!output) return pes_fail(PES_INPUT, "merge needs -o RESULTS.h5, the file to make");
    static struct pes_reader *readers[MAX_FILES];
    size_t num = 0;
    enum pes_status status = PES_OK;
    for (; num < MAX_FILES && paths[num] && status == PES_OK; num++)
        status = pes_reader_open(paths[num], &readers[num]);
    if (status == PES_OK)
        status = unite(readers, num, sweep, output, json);
    else
        num--; /* the last one isn't open */
    while (num)
        pes_reader_close(readers[--num]);
    return status;
}

const struct pes_command pes_command_merge = {
    .name = "merge",
    .usage = "pesweep merge A.h5 B.h5 ... -o RESULTS.h5",
    .summary = "unite results files, each trial once",
    .help = "  -o, --output F   file to make; it must not exist\n"
            "      --sweep F    sweep file of the new file; by default one that names the trials one by one\n"
            "      --json       the answer as JSON\n"
            "\nThe files must have been measured alike (blocks measure and store).  Where two files have "
            "results of one\n"
            "trial they must be the same, else the exit code is 1 and nothing is written.\n",
    .run = run,
};
