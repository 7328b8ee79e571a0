/* synthetic.c - a results file of any size with made-up numbers: synthetic SWEEP.yaml OUT.h5 [UNFINISHED].
 *
 * The store creates the file; the numbers are then written by whole variables, since row by row, each of them
 * made sure to be on disk, 100,000 trials take longer than any test.  Rows have no checksums.  Curves rise to
 * an accuracy of the trial's own, everything else is uniform noise.  The last UNFINISHED trials stay pending.
 */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/rng.h"
#include "pesweep/store.h"

enum { SLAB = 2000 }; /* trials written at once */

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "synthetic: %s: %s\n", what, pes_error_message());
    exit(1);
}

/* Accuracy that a trial ends with: by scheme, and by seed. */
static double final_accuracy(const struct pes_sweep *sweep, size_t trial, double noise)
{
    const char *scheme = pes_config_text(sweep->trials[trial].config, "model.pe");
    unsigned level = 0;
    for (const char *c = scheme; *c; c++)
        level = level * 7 + (unsigned char)*c;
    return 0.3 + 0.6 * (level % 11) / 10.0 + 0.08 * noise;
}

static double value_of(const struct pes_sweep *sweep, const struct pes_field *field, size_t trial,
                       size_t place, double noise, double trait)
{
    const char *name = field->variable.name;
    double last = pes_config_int(sweep->trials[trial].config, "train.steps") > 0
                      ? (double)pes_config_int(sweep->trials[trial].config, "train.steps")
                      : 1;
    bool dense = field->variable.rank == 1 && field->variable.dimensions[0] == PES_DIM_EVALUATION;
    double part = (double)place / (double)PES_MAX(field->count - 1, (size_t)1);
    double accuracy = final_accuracy(sweep, trial, trait), rise = 1 - exp(-4 * part);
    if (!strcmp(name, "steps")) return last;
    if (!strcmp(name, "evaluation_step") || !strcmp(name, "checkpoint_step")) return floor(part * last);
    if (strstr(name, "accuracy")) return PES_MIN(1.0, accuracy * (dense ? rise : 1) + 0.01 * noise);
    if (strstr(name, "loss") && !strstr(name, "change"))
        return 3 - 2.5 * accuracy * (dense ? rise : 1) + 0.01 * noise;
    if (strstr(name, "eigenvalues")) return (noise - 0.5) / (1 + (double)(place / 2 % 8));
    return noise;
}

static void fill(const struct pes_sweep *sweep, const struct pes_field *field, hid_t file, double *values)
{
    char path[160];
    snprintf(path, sizeof path, "/%s/%s", field->variable.group, field->variable.name);
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(dataset);
    if (dataset < 0 || space < 0) stop(path);
    for (size_t first = 0; first < sweep->num_trials; first += SLAB) {
        size_t trials = PES_MIN((size_t)SLAB, sweep->num_trials - first);
        for (size_t t = first; t < first + trials; t++) {
            struct pes_stream own = {{1, PES_RNG_TEST, (uint32_t)t}, 0};
            struct pes_stream stream = {{2 + field->offset, PES_RNG_TEST, (uint32_t)t}, 0};
            double trait = pes_stream_uniform(&own);
            for (size_t i = 0; i < field->count; i++)
                values[(t - first) * field->count + i] =
                    value_of(sweep, field, t, i, pes_stream_uniform(&stream), trait);
        }
        hsize_t start[PES_MAX_RANK + 1] = {first}, count[PES_MAX_RANK + 1] = {trials};
        for (int r = 0; r < field->variable.rank; r++)
            count[r + 1] = field->extent[r];
        hid_t memory = H5Screate_simple(field->variable.rank + 1, count, NULL);
        if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
            H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) < 0)
            stop(path);
        H5Sclose(memory);
    }
    H5Sclose(space);
    H5Dclose(dataset);
}

static void finish(hid_t file, size_t num_trials, size_t unfinished)
{
    unsigned char *status = calloc(num_trials, 1);
    if (!status || unfinished > num_trials) stop("status");
    memset(status, PES_OUTCOME_DONE, num_trials - unfinished);
    hid_t dataset = H5Dopen2(file, "/trials/status", H5P_DEFAULT);
    if (dataset < 0 || H5Dwrite(dataset, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, status) < 0)
        stop("status");
    H5Dclose(dataset);
    free(status);
}

int main(int argc, char **argv)
{
    struct pes_sweep *sweep;
    struct pes_layout *layout;
    struct pes_store *store;
    struct pes_arena *arena = pes_arena_create();
    if (argc < 3 || argc > 4 || !arena) {
        fprintf(stderr, "synthetic SWEEP.yaml OUT.h5 [UNFINISHED]\n");
        return 2;
    }
    if (pes_sweep_load(argv[1], &sweep) != PES_OK || pes_train_layout(sweep, arena, &layout) != PES_OK ||
        pes_store_prepare(argv[2], sweep, layout) != PES_OK ||
        pes_store_open(argv[2], sweep, layout, PES_WRITER_SHARED, &store) != PES_OK ||
        pes_store_close(store) != PES_OK)
        stop(argv[1]);
    hid_t file = H5Fopen(argv[2], H5F_ACC_RDWR, H5P_DEFAULT);
    size_t most = 1;
    for (size_t f = 0; f < layout->num_fields; f++)
        most = PES_MAX(most, layout->fields[f].count);
    double *values = malloc(SLAB * most * sizeof *values);
    if (file < 0 || !values) stop(argv[2]);
    for (size_t f = 0; f < layout->num_fields; f++)
        fill(sweep, &layout->fields[f], file, values);
    finish(file, sweep->num_trials, argc > 3 ? strtoul(argv[3], NULL, 10) : 0);
    free(values);
    if (H5Fclose(file) < 0) stop(argv[2]);
    pes_arena_destroy(arena);
    pes_sweep_destroy(sweep);
    return 0;
}
