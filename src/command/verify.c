/* verify.c - `pesweep verify`: are the finished rows what was written? */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "pesweep/command.h"
#include "pesweep/store.h"

struct verdict {
    size_t num_finished, num_damaged;
    bool *right;       /* [trials] */
    const char *sweep; /* what is wrong with the stored sweep; NULL = nothing */
};

static enum pes_status print_json(struct pes_reader *reader, const char *path, const struct verdict *verdict)
{
    json_t *damaged = json_array();
    for (size_t t = 0; t < pes_reader_num_trials(reader); t++)
        if (!verdict->right[t])
            json_array_append_new(damaged,
                                  json_pack("{s:I, s:s, s:s}", "trial", (json_int_t)t, "key",
                                            pes_reader_key(reader, t), "label", pes_reader_label(reader, t)));
    json_t *object = json_pack(
        "{s:s, s:I, s:I, s:o, s:s?}", "file", path, "trials", (json_int_t)pes_reader_num_trials(reader),
        "finished", (json_int_t)verdict->num_finished, "damaged", damaged, "sweep_error", verdict->sweep);
    char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
    json_decref(object);
    if (!text) return pes_fail(PES_MEMORY, "no memory for the answer");
    puts(text);
    free(text);
    return PES_OK;
}

static void print_text(struct pes_reader *reader, const char *path, const struct verdict *verdict)
{
    for (size_t t = 0; t < pes_reader_num_trials(reader); t++)
        if (!verdict->right[t])
            printf("trial %zu (%s): its row does not fit its checksum\n", t, pes_reader_label(reader, t));
    if (verdict->sweep) printf("%s\n", verdict->sweep);
    if (!verdict->num_damaged)
        printf("%s: %zu of %zu trials are finished, and their rows fit their checksums\n", path,
               verdict->num_finished, pes_reader_num_trials(reader));
}

static enum pes_status verify(struct pes_reader *reader, const char *path, bool json)
{
    size_t num_trials = pes_reader_num_trials(reader);
    struct verdict verdict = {.right = pes_allocate(num_trials, sizeof *verdict.right)};
    if (!verdict.right) return PES_MEMORY;
    char message[1024];
    enum pes_status status = pes_reader_verify(reader, verdict.right);
    for (size_t t = 0; t < num_trials && status == PES_OK; t++) {
        verdict.num_finished += pes_reader_status(reader)[t] >= PES_OUTCOME_DONE;
        verdict.num_damaged += !verdict.right[t];
    }
    if (status == PES_OK && !pes_reader_sweep(reader)) {
        snprintf(message, sizeof message, "%s", pes_error_message());
        verdict.sweep = message;
    }
    if (status == PES_OK && !json) print_text(reader, path, &verdict);
    if (status == PES_OK && json) status = print_json(reader, path, &verdict);
    if (status == PES_OK && verdict.num_damaged)
        status = pes_fail(
            PES_DIFFERENT,
            "%s: %zu of %zu finished trials are damaged; 'pesweep merge %s -o NEW.h5' leaves them out, and "
            "a run on NEW.h5 trains them again",
            path, verdict.num_damaged, verdict.num_finished, path);
    else if (status == PES_OK && verdict.sweep)
        status = pes_fail(PES_DIFFERENT, "%s", message);
    pes_free(verdict.right);
    return status;
}

static enum pes_status run(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    const struct pes_option options[] = {{"--json", NULL, PES_OPTION_FLAG, &json, 0, 0, NULL}};
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &path, 1, 1, "one results file"));
    struct pes_reader *reader;
    TRY(pes_reader_open(path, &reader));
    enum pes_status status = verify(reader, path, json);
    pes_reader_close(reader);
    return status;
}

const struct pes_command pes_command_verify = {
    .name = "verify",
    .usage = "pesweep verify RESULTS.h5",
    .summary = "check the rows of finished trials against their checksums",
    .help = "      --json   the answer as JSON\n"
            "\nThe exit code is 1 if a row was changed after it was written.\n",
    .run = run,
};
