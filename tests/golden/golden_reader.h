/* golden_reader.h - reads files of golden values: one group per model, attributes give its configuration. */
#ifndef PESWEEP_TESTS_GOLDEN_READER_H
#define PESWEEP_TESTS_GOLDEN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOLDEN_MAX_RANK 6

struct golden_array {
    int rank;
    size_t shape[GOLDEN_MAX_RANK], count;
    double *values; /* from malloc */
};

struct golden_file;
struct golden_file *golden_open(const char *path); /* NULL: not readable */
void golden_close(struct golden_file *file);
size_t golden_num_groups(const struct golden_file *file);
const char *golden_group(const struct golden_file *file, size_t index);

/* Attributes of a group; a missing one ends the program with a message. */
int64_t golden_int(const struct golden_file *file, const char *group, const char *name);
double golden_real(const struct golden_file *file, const char *group, const char *name);
bool golden_bool(const struct golden_file *file, const char *group, const char *name);
/* Whether a group has an attribute: those of variants.h5 alone stand for their defaults elsewhere. */
bool golden_has(const struct golden_file *file, const char *group, const char *name);
/* Valid until the next call. */
const char *golden_text(const struct golden_file *file, const char *group, const char *name);
size_t golden_ints(const struct golden_file *file, const char *group, const char *name, int64_t *values,
                   size_t most);

/* Numeric dataset <group>/<path> as doubles; false if there is none.  golden_free afterwards. */
bool golden_read(const struct golden_file *file, const char *group, const char *path,
                 struct golden_array *array);
void golden_free(struct golden_array *array);

/* Names of the datasets directly under <group>/<path>, sorted; dots in names are part of them. */
size_t golden_num_members(const struct golden_file *file, const char *group, const char *path);
const char *golden_member(const struct golden_file *file, const char *group, const char *path, size_t index,
                          char *name, size_t bytes);

/* max |a - b| / max |b| over n values, NaN matching NaN only (else infinity); b all zero: max |a|. */
double golden_error(const double *a, const double *b, size_t n);

#endif
