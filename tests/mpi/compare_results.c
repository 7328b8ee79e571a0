/* compare_results A B: are the trials of two results files the same, bit for bit?  Everything but /provenance
 * counts: keys, status, reason, and every variable of every row.  Exit code 0 if so, 1 if not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/log.h"
#include "pesweep/store.h"

static int num_different;

static void differ(size_t trial, const char *what)
{
    if (num_different++ < 10) printf("trial %zu: %s differs\n", trial, what);
}

static void compare_rows(size_t trial, const struct pes_row *a, const struct pes_row *b)
{
    for (size_t f = 0; f < a->layout->num_fields; f++) {
        const struct pes_field *field = &a->layout->fields[f];
        char name[256];
        snprintf(name, sizeof name, "%s/%s", field->variable.group, field->variable.name);
        if (memcmp(a->bytes + field->offset, b->bytes + field->offset,
                   field->count * pes_type_bytes(field->variable.type)) != 0)
            differ(trial, name);
    }
}

static enum pes_status compare(struct pes_reader *a, struct pes_reader *b)
{
    const struct pes_layout *layout = pes_reader_layout(a), *other = pes_reader_layout(b);
    size_t num_trials = pes_reader_num_trials(a);
    if (!layout || !other) return PES_INPUT;
    if (pes_reader_num_trials(b) != num_trials || layout->row_bytes != other->row_bytes ||
        layout->num_fields != other->num_fields)
        return pes_fail(PES_DIFFERENT, "the files have other trials or variables");
    struct pes_row rows[2] = {{layout, malloc(layout->row_bytes)}, {other, malloc(layout->row_bytes)}};
    if (!rows[0].bytes || !rows[1].bytes) return PES_MEMORY;
    enum pes_status status = PES_OK;
    for (size_t t = 0; t < num_trials && status == PES_OK; t++) {
        if (strcmp(pes_reader_key(a, t), pes_reader_key(b, t)) != 0) differ(t, "key");
        if (pes_reader_status(a)[t] != pes_reader_status(b)[t]) differ(t, "status");
        if (pes_reader_reason(a)[t] != pes_reader_reason(b)[t]) differ(t, "reason");
        uint64_t stored, computed;
        struct pes_reader *readers[] = {a, b};
        for (int i = 0; i < 2 && status == PES_OK; i++) {
            status = pes_reader_row(readers[i], t, &rows[i]);
            if (status == PES_OK) status = pes_reader_checksum(readers[i], t, &stored, &computed);
            if (status == PES_OK && pes_reader_status(readers[i])[t] == PES_OUTCOME_DONE &&
                stored != computed)
                differ(t, "checksum of its own row");
        }
        if (status == PES_OK) compare_rows(t, &rows[0], &rows[1]);
    }
    free(rows[0].bytes);
    free(rows[1].bytes);
    if (status == PES_OK && num_different) status = pes_fail(PES_DIFFERENT, "%d differences", num_different);
    return status;
}

int main(int argc, char **argv)
{
    struct pes_reader *a = NULL, *b = NULL;
    if (argc != 3) {
        fprintf(stderr, "usage: compare_results A.h5 B.h5\n");
        return 2;
    }
    enum pes_status status = pes_reader_open(argv[1], &a);
    if (status == PES_OK) status = pes_reader_open(argv[2], &b);
    if (status == PES_OK) status = compare(a, b);
    if (status != PES_OK) pes_log_error("%s", pes_error_message());
    if (a) pes_reader_close(a);
    if (b) pes_reader_close(b);
    return status == PES_OK ? 0 : 1;
}
