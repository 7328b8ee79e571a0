/* replay.c - `pesweep replay`: trains one trial of a results file once more and compares the bits. */
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "help.h"
#include "options.h"
#include "pesweep/command.h"
#include "pesweep/comm.h"
#include "pesweep/kernels.h"
#include "pesweep/linalg.h"
#include "pesweep/log.h"
#include "pesweep/store.h"

#define MAX_NAMED 20 /* variables that differ and are named */

static enum pes_tick tick(void *context, int64_t step, int64_t steps)
{
    (void)context;
    if (pes_log_progress_wanted()) {
        char line[128];
        snprintf(line, sizeof line, "step %lld of %lld", (long long)step, (long long)steps);
        pes_log_progress(line);
    }
    return pes_signals_caught() ? PES_TICK_STOP : PES_TICK_GO;
}

static double element(const struct pes_field *field, const unsigned char *bytes, size_t i)
{
    double f64;
    float f32;
    int64_t i64;
    int32_t i32;
    const unsigned char *at = bytes + field->offset + i * pes_type_bytes(field->variable.type);
    switch (field->variable.type) {
    case PES_F64:
        memcpy(&f64, at, sizeof f64);
        return f64;
    case PES_F32:
        memcpy(&f32, at, sizeof f32);
        return (double)f32;
    case PES_I64:
        memcpy(&i64, at, sizeof i64);
        return (double)i64;
    case PES_I32:
        memcpy(&i32, at, sizeof i32);
        return i32;
    default:
        return *at;
    }
}

struct difference {
    size_t num_elements;
    double largest; /* absolute, over elements that are numbers in both; infinity if a NaN stands against a
                       number */
};

static struct difference compare_field(const struct pes_field *field, const struct pes_row *stored,
                                       const struct pes_row *made)
{
    struct difference difference = {0, 0};
    size_t bytes = pes_type_bytes(field->variable.type);
    for (size_t i = 0; i < field->count; i++) {
        size_t at = field->offset + i * bytes;
        if (memcmp(stored->bytes + at, made->bytes + at, bytes) == 0) continue;
        difference.num_elements++;
        double gap = fabs(element(field, stored->bytes, i) - element(field, made->bytes, i));
        difference.largest = isnan(gap) ? INFINITY : PES_MAX(difference.largest, gap);
    }
    return difference;
}

/* What the bits depend on, where it isn't the same then and now: a list of {name, then, now}. */
static json_t *compare_circumstances(struct pes_reader *reader, size_t trial)
{
    double *runs = NULL;
    size_t count = 0;
    long run = -1;
    if (pes_reader_variable(reader, "provenance", "run", &runs, &count) == PES_OK && trial < count)
        run = lround(runs[trial]);
    free(runs);
    const char *text =
        run >= 0 && (size_t)run < pes_reader_num_runs(reader) ? pes_reader_run(reader, (size_t)run) : NULL;
    json_t *object = text ? json_loads(text, 0, NULL) : NULL, *changed = json_array();
    const struct {
        const char *key, *name, *now;
    } facts[] = {
        {"pesweep", "build", pes_build()},
        {"isa", "instruction set", pes_kernels_isa()},
        {"blas_core", "BLAS kernels", pes_blas_core()},
        {"blas", "BLAS library", pes_blas_config()},
        {"precision", "precision", sizeof(real) == sizeof(double) ? "float64" : "float32"},
    };
    for (size_t i = 0; i < PES_COUNT(facts); i++) {
        json_t *value = json_object_get(object, facts[i].key);
        const char *then = json_string_value(value);
        if (then && strcmp(then, facts[i].now) == 0) continue;
        char *list = then || !value ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        json_array_append_new(changed, json_pack("{s:s, s:s, s:s}", "name", facts[i].name, "then",
                                                 then   ? then
                                                 : list ? list
                                                        : "unknown",
                                                 "now", facts[i].now));
        free(list);
    }
    json_decref(object);
    return changed;
}

static void print_text(const json_t *answer)
{
    size_t i;
    json_t *item;
    const char *then, *now, *variable;
    json_array_foreach(json_object_get(answer, "changed"), i, item)
    {
        if (json_unpack(item, "{s:s, s:s, s:s}", "name", &variable, "then", &then, "now", &now) == 0)
            printf("%s: %s then, %s now: bits may differ for that reason\n", variable, then, now);
    }
    json_array_foreach(json_object_get(answer, "differences"), i, item)
    {
        json_int_t values, all;
        double largest;
        if (i < MAX_NAMED && json_unpack(item, "{s:s, s:I, s:I, s:F}", "variable", &variable, "values",
                                         &values, "of", &all, "largest", &largest) == 0)
            printf("%s: %lld of %lld values differ, by up to %.3g\n", variable, (long long)values,
                   (long long)all, largest);
    }
    then = json_string_value(json_object_get(json_object_get(answer, "outcome"), "then"));
    now = json_string_value(json_object_get(json_object_get(answer, "outcome"), "now"));
    if (strcmp(then, now) != 0) printf("outcome: %s then, %s now\n", then, now);
    if (json_is_true(json_object_get(answer, "same")))
        printf("trial %lld (%s): the same %lld bytes in %lld variables\n",
               (long long)json_integer_value(json_object_get(answer, "trial")),
               json_string_value(json_object_get(answer, "label")),
               (long long)json_integer_value(json_object_get(answer, "bytes")),
               (long long)json_integer_value(json_object_get(answer, "variables")));
}

/* Prints the answer and gives it up. */
static enum pes_status print_answer(json_t *answer, bool json)
{
    if (!answer) return pes_fail(PES_MEMORY, "no memory for the answer");
    if (json) return pes_help_print_json(stdout, answer);
    print_text(answer);
    json_decref(answer);
    return PES_OK;
}

static enum pes_status compare(struct pes_reader *reader, size_t trial, const struct pes_row *made,
                               const struct pes_train_result *result, bool json)
{
    const struct pes_layout *layout = made->layout;
    const struct pes_trial *details = &pes_reader_sweep(reader)->trials[trial];
    struct pes_row stored = {layout, pes_allocate(layout->row_bytes, 1)};
    if (!stored.bytes) return PES_MEMORY;
    enum pes_status status = pes_reader_row(reader, trial, &stored);
    if (status != PES_OK) goto done;

    json_t *differences = json_array();
    for (size_t f = 0; f < layout->num_fields; f++) {
        const struct pes_field *field = &layout->fields[f];
        struct difference difference = compare_field(field, &stored, made);
        if (!difference.num_elements) continue;
        /* JSON has no infinity; the largest number stands for it. */
        json_array_append_new(
            differences, json_pack("{s:o, s:I, s:I, s:f}", "variable",
                                   json_sprintf("%s/%s", field->variable.group, field->variable.name),
                                   "values", (json_int_t)difference.num_elements, "of",
                                   (json_int_t)field->count, "largest", fmin(difference.largest, DBL_MAX)));
    }
    enum pes_outcome then = (enum pes_outcome)pes_reader_status(reader)[trial];
    size_t num_different = json_array_size(differences) + (then != result->outcome);
    status = print_answer(json_pack("{s:I, s:s, s:s, s:b, s:I, s:I, s:{s:s, s:s}, s:o, s:o}", "trial",
                                    (json_int_t)trial, "key", details->key, "label", details->label, "same",
                                    num_different == 0, "bytes", (json_int_t)layout->row_bytes, "variables",
                                    (json_int_t)layout->num_fields, "outcome", "then", pes_outcome_name(then),
                                    "now", pes_outcome_name(result->outcome), "differences", differences,
                                    "changed", compare_circumstances(reader, trial)),
                          json);
    if (status == PES_OK && num_different)
        status = pes_fail(PES_DIFFERENT, "trial %zu (%s) came out differently: %zu of %zu variables", trial,
                          details->label, num_different, layout->num_fields);
done:
    pes_free(stored.bytes);
    return status;
}

static enum pes_status replay(struct pes_reader *reader, int64_t number, bool json)
{
    size_t num_trials = pes_reader_num_trials(reader), trial = (size_t)number;
    if (trial >= num_trials)
        return pes_fail(PES_INPUT, "there is no trial %zu: the file has 0 to %zu", trial, num_trials - 1);
    enum pes_outcome outcome = (enum pes_outcome)pes_reader_status(reader)[trial];
    if (outcome != PES_OUTCOME_DONE && outcome != PES_OUTCOME_DIVERGED)
        return pes_fail(PES_INPUT, "trial %zu is %s: there is nothing to compare with", trial,
                        pes_outcome_name(outcome));
    const struct pes_sweep *sweep = pes_reader_sweep(reader);
    const struct pes_layout *layout = pes_reader_layout(reader);
    if (!sweep || !layout) return PES_INPUT;
    struct pes_row row = {layout, pes_allocate(layout->row_bytes, 1)};
    if (!row.bytes) return PES_MEMORY;
    struct pes_train_result result;
    const struct pes_train_hooks hooks = {.tick = tick};
    enum pes_status status = pes_train_trial(sweep, trial, layout, &hooks, &row, &result);
    pes_log_progress_end();
    if (status == PES_STOPPED)
        pes_fail(PES_STOPPED, "stopped by signal %d", pes_signals_caught());
    else if (status == PES_OK && result.outcome == PES_OUTCOME_FAILED)
        status = pes_fail(PES_DIFFERENT, "trial %zu fails now: %s", trial, result.message);
    else if (status == PES_OK)
        status = compare(reader, trial, &row, &result, json);
    pes_free(row.bytes);
    return status;
}

static enum pes_status run(int argc, char **argv)
{
    const char *path = NULL;
    int64_t trial = -1, threads = 1;
    bool json = false;
    const struct pes_option options[] = {
        {"--trial", "-n", PES_OPTION_INT, &trial, 0, 1e9, NULL},
        {"--threads-per-rank", "-t", PES_OPTION_INT, &threads, 1, 1024, NULL},
        {"--json", NULL, PES_OPTION_FLAG, &json, 0, 0, NULL},
    };
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &path, 1, 1, "one results file"));
    if (trial < 0) return pes_fail(PES_INPUT, "replay needs --trial N, the number of a trial");
    pes_signals_install();
    TRY(pes_log_open(NULL, false, false));
    pes_blas_set_threads(1);
    pes_kernels_set_threads((int)threads);
    TRY(pes_linalg_self_test());
    struct pes_reader *reader = NULL;
    TRY(pes_reader_open(path, &reader));
    enum pes_status status = replay(reader, trial, json);
    pes_reader_close(reader);
    return status;
}

const struct pes_command pes_command_replay = {
    .name = "replay",
    .usage = "pesweep replay RESULTS.h5 --trial N",
    .summary = "train one trial again and compare it bit by bit with the stored one",
    .help = "  -n, --trial N               number of the trial, from 0\n"
            "  -t, --threads-per-rank N    threads (default 1); they don't change results\n"
            "      --json                  the answer as JSON\n"
            "\nThe exit code is 1 if any bit differs.\n",
    .run = run,
};
