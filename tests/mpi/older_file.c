/* older_file FROM SWEEP TO TRIALS VARIABLE...: the results file that a pesweep without these variables
 * (group/name) would have left of the sweep, with the first TRIALS trials of FROM finished. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/log.h"
#include "pesweep/store.h"

/* The layout without the named variables. */
static enum pes_status narrow(const struct pes_layout *layout, char *const *names, size_t num_names,
                              struct pes_arena *arena, struct pes_layout **out)
{
    bool keep[1024];
    size_t found = 0;
    CHECK(layout->num_fields <= PES_COUNT(keep));
    for (size_t f = 0; f < layout->num_fields; f++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", layout->fields[f].variable.group,
                 layout->fields[f].variable.name);
        keep[f] = true;
        for (size_t n = 0; n < num_names && keep[f]; n++)
            keep[f] = strcmp(path, names[n]) != 0;
        found += !keep[f];
    }
    if (found != num_names) return pes_fail(PES_INPUT, "some variables aren't there");
    return pes_layout_select(layout, keep, arena, out);
}

static enum pes_status copy_trials(struct pes_reader *reader, struct pes_store *store,
                                   const struct pes_layout *layout, size_t num_trials)
{
    const struct pes_layout *whole = pes_reader_layout(reader);
    struct pes_row from = {whole, malloc(whole->row_bytes)}, to = {layout, malloc(layout->row_bytes)};
    double *steps = NULL;
    size_t count;
    enum pes_status status = from.bytes && to.bytes ? PES_OK : PES_MEMORY;
    if (status == PES_OK) status = pes_reader_variable(reader, "trials", "steps", &steps, &count);
    for (size_t t = 0; t < num_trials && status == PES_OK; t++) {
        status = pes_reader_row(reader, t, &from);
        pes_row_clear(&to);
        for (size_t f = 0; f < layout->num_fields; f++) {
            const struct pes_field *field = &layout->fields[f],
                                   *old = pes_layout_find(whole, field->variable.group, field->variable.name);
            memcpy(to.bytes + field->offset, from.bytes + old->offset,
                   field->count * pes_type_bytes(field->variable.type));
        }
        struct pes_train_result result = {.outcome = (enum pes_outcome)pes_reader_status(reader)[t],
                                          .reason = (enum pes_reason)pes_reader_reason(reader)[t],
                                          .steps = (int64_t)steps[t]};
        if (status == PES_OK) status = pes_store_write_trial(store, t, &to, &result, 0);
    }
    free(steps);
    free(from.bytes);
    free(to.bytes);
    return status;
}

static enum pes_status make(char **argv, int argc)
{
    struct pes_sweep *sweep;
    struct pes_reader *reader;
    struct pes_layout *layout;
    struct pes_store *store;
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    TRY(pes_sweep_load(argv[2], &sweep));
    TRY(pes_reader_open(argv[1], &reader));
    TRY(pes_train_layout(sweep, arena, &layout));
    TRY(narrow(layout, argv + 5, (size_t)argc - 5, arena, &layout));
    TRY(pes_store_prepare(argv[3], sweep, layout));
    TRY(pes_store_open(argv[3], sweep, layout, PES_WRITER_RANK0, &store));
    TRY(copy_trials(reader, store, layout, (size_t)atoi(argv[4])));
    TRY(pes_store_close(store));
    pes_reader_close(reader);
    pes_arena_destroy(arena);
    pes_sweep_destroy(sweep);
    return PES_OK;
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: older_file FROM.h5 SWEEP.yaml TO.h5 TRIALS VARIABLE...\n");
        return 2;
    }
    enum pes_status status = make(argv, argc);
    if (status != PES_OK) pes_log_error("%s", pes_error_message());
    return status == PES_OK ? 0 : 1;
}
