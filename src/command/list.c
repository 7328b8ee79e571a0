/* list.c - `pesweep list`: every variant there is, from the tables that the program itself chooses from. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "pesweep/command.h"
#include "pesweep/measure.h"

struct entry {
    const char *name, *summary, *source;
};

struct kind {
    const char *name, *title;
    size_t (*entries)(struct entry *entries,
                      size_t max); /* copies at most max rows; returns how many there are */
};

/* Rows of a table ended by NULL whose structs have name, summary and source. */
#define LIST(function, table)                                                                                \
    static size_t function(struct entry *entries, size_t max)                                                \
    {                                                                                                        \
        size_t count = 0;                                                                                    \
        for (; table[count]; count++)                                                                        \
            if (count < max)                                                                                 \
                entries[count] =                                                                             \
                    (struct entry){table[count]->name, table[count]->summary, table[count]->source};         \
        return count;                                                                                        \
    }
LIST(positions, pes_positions)
LIST(tasks, pes_tasks)
LIST(symmetries, pes_symmetries)
LIST(penalties, pes_penalties)
LIST(measures, pes_measures)

static const struct kind kinds[] = {
    {"positions", "positional schemes (model.pe)", positions},
    {"tasks", "tasks (task.kind)", tasks},
    {"symmetries", "exact constraints on W_q^T W_k (model.symmetry)", symmetries},
    {"penalties", "soft penalties on W_q^T W_k (model.penalty.kind)", penalties},
    {"measures", "families of measures and probes (measure)", measures},
};

static void print_kind(const struct kind *kind, const struct entry *entries, size_t count)
{
    printf("%s\n", kind->title);
    for (size_t i = 0; i < count; i++) {
        printf("  %-18s %s\n", entries[i].name, entries[i].summary ? entries[i].summary : "");
        if (entries[i].source && entries[i].source[0]) printf("  %-18s   (%s)\n", "", entries[i].source);
    }
    printf("\n");
}

static json_t *describe_kind(const struct entry *entries, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", entries[i].name, "summary",
                                              entries[i].summary ? entries[i].summary : "", "source",
                                              entries[i].source ? entries[i].source : ""));
    return list;
}

static enum pes_status run(int argc, char **argv)
{
    bool json = false;
    const char *wanted = NULL;
    const struct pes_option options[] = {{"--json", NULL, PES_OPTION_FLAG, &json, 0, 0, NULL}};
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &wanted, 0, 1,
                          "one of positions, tasks, symmetries, penalties, measures"));
    json_t *object = json_object();
    bool found = false;
    for (size_t k = 0; k < PES_COUNT(kinds); k++) {
        struct entry entries[128];
        if (wanted && strcmp(wanted, kinds[k].name) != 0) continue;
        found = true;
        size_t count = kinds[k].entries(entries, PES_COUNT(entries));
        CHECK(count <= PES_COUNT(entries));
        if (json)
            json_object_set_new(object, kinds[k].name, describe_kind(entries, count));
        else
            print_kind(&kinds[k], entries, count);
    }
    enum pes_status status = PES_OK;
    if (!found)
        status = pes_fail(PES_INPUT, "list knows positions, tasks, symmetries, penalties, measures, not '%s'",
                          wanted);
    else if (json && (json_dumpf(object, stdout, JSON_INDENT(2)) != 0 || printf("\n") < 0))
        status = pes_fail(PES_IO, "standard output can't be written");
    json_decref(object);
    return status;
}

static const char *const kind_names[] = {"positions", "tasks", "symmetries", "penalties", "measures", NULL};

const struct pes_command pes_command_list = {
    .name = "list",
    .usage = "pesweep list [positions | tasks | symmetries | penalties | measures] [--json]",
    .summary = "list positional schemes, tasks, constraints, penalties and measures",
    .help = "      --json   as one JSON object\n",
    .operands = kind_names,
    .run = run,
};
