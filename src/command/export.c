/* export.c - `pesweep export`: weights for the Python world, tables for everybody. */
#include "export.h"

#include <string.h>

#include "options.h"
#include "output.h"
#include "pesweep/command.h"

struct request {
    int64_t trial;
    const char *key, *output;
    bool trials, curves, spectra;
};

static enum pes_status find_trial(struct pes_reader *reader, const struct request *request, size_t *trial)
{
    size_t num_trials = pes_reader_num_trials(reader), found = num_trials, num_found = 0;
    if (request->key) {
        for (size_t t = 0; t < num_trials; t++)
            if (!strncmp(pes_reader_key(reader, t), request->key, strlen(request->key))) {
                found = t;
                num_found++;
            }
        if (num_found != 1)
            return pes_fail(PES_INPUT, "%zu trials have a key that begins with %s", num_found, request->key);
    } else {
        found = (size_t)request->trial;
        if (found >= num_trials)
            return pes_fail(PES_INPUT, "there is no trial %zu: the file has 0 to %zu", found, num_trials - 1);
    }
    enum pes_outcome outcome = (enum pes_outcome)pes_reader_status(reader)[found];
    if (outcome != PES_OUTCOME_DONE && outcome != PES_OUTCOME_DIVERGED)
        return pes_fail(PES_INPUT, "trial %zu is %s: it has no weights", found, pes_outcome_name(outcome));
    *trial = found;
    return PES_OK;
}

static enum pes_status export(struct pes_reader *reader, const struct request *request) {
    static const char *const curves[] = {"curves", NULL},
        *const spectra[] = {"spectra", "spectra_folded", NULL};
    size_t trial = 0;
    bool weights = request->key || request->trial >= 0;
    if (weights) TRY(find_trial(reader, request, &trial));
    struct pes_output output;
    TRY(pes_output_open(&output, request->output));
    enum pes_status status = weights           ? pes_export_weights(reader, trial, output.file)
                             : request->trials ? pes_export_trials(reader, output.file)
                             : request->curves ? pes_export_groups(reader, curves, output.file)
                                               : pes_export_groups(reader, spectra, output.file);
    return pes_output_close(&output, status);
}

static enum pes_status run(int argc, char **argv)
{
    const char *path = NULL;
    struct request request = {.trial = -1};
    const struct pes_option options[] = {
        {"--trial", "-n", PES_OPTION_INT, &request.trial, 0, 1e9, NULL},
        {"--key", "-k", PES_OPTION_TEXT, &request.key, 0, 0, NULL},
        {"--trials", NULL, PES_OPTION_FLAG, &request.trials, 0, 0, NULL},
        {"--curves", NULL, PES_OPTION_FLAG, &request.curves, 0, 0, NULL},
        {"--spectra", NULL, PES_OPTION_FLAG, &request.spectra, 0, 0, NULL},
        {"--output", "-o", PES_OPTION_TEXT, &request.output, 0, 0, NULL},
    };
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &path, 1, 1, "one results file"));
    bool weights = request.key || request.trial >= 0;
    if ((request.key != NULL) + (request.trial >= 0) + request.trials + request.curves + request.spectra != 1)
        return pes_fail(PES_INPUT, "export needs one of --trial N, --key KEY, --trials, --curves, --spectra");
    if (weights && !request.output)
        return pes_fail(PES_INPUT, "export of weights needs -o MODEL.safetensors");
    struct pes_reader *reader;
    TRY(pes_reader_open(path, &reader));
    enum pes_status status = export(reader, &request);
    pes_reader_close(reader);
    return status;
}

const struct pes_command pes_command_export = {
    .name = "export",
    .usage = "pesweep export RESULTS.h5 (--trial N | --key KEY | --trials | --curves | --spectra) -o FILE",
    .summary = "final weights as safetensors; trials, curves or spectra as CSV",
    .help = "  -n, --trial N    weights of a trial by its number, from 0\n"
            "  -k, --key KEY    weights of a trial by its key, or the beginning of it\n"
            "      --trials     CSV, a row per trial: swept values, outcome, final metrics\n"
            "      --curves     CSV, a row per number of the group curves: trial, swept values, variable, "
            "step, places,\n"
            "                   value; finished trials only\n"
            "      --spectra    the same of the groups spectra and spectra_folded\n"
            "  -o, --output F   file to write; for CSV standard output without it\n",
    .run = run,
};
