/* reader_tensors.c - the table that cuts a row of /weights into tensors, and the texts that describe a trial.
 */
#include "reader.h"

#include <string.h>

const struct pes_field *pes_reader_weights(struct pes_reader *reader)
{
    const struct pes_layout *layout = reader->layout;
    for (size_t f = 0; f < layout->num_fields; f++) {
        const struct pes_variable *variable = &layout->fields[f].variable;
        if (!strcmp(variable->group, "weights") && variable->rank == 1 &&
            variable->dimensions[0] == PES_DIM_PARAMETER && variable->type <= PES_F64)
            return &layout->fields[f];
    }
    return NULL;
}

/* A column of the table: [num] or [num][per] integers. */
static enum pes_status read_integers(struct pes_reader *reader, const char *name, size_t num, size_t per,
                                     int64_t *values)
{
    hid_t dataset = results_open_dataset(&reader->results, "weights", name);
    size_t extents[2] = {0, 1};
    int rank = dataset < 0 ? -1 : hdf_extents(dataset, extents, 2);
    bool ok = rank >= 1 && extents[0] == num && extents[1] == per &&
              H5Dread(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    hdf_close(&dataset);
    hdf_forget();
    if (ok) return PES_OK;
    return pes_fail(PES_INPUT, "%s is damaged: weights/%s is missing or not what it should be",
                    reader->results.path, name);
}

/* The numbers come from the file: a tensor must lie within the vector. */
static bool is_sensible(const struct pes_stored_tensor *tensor, size_t num_parameters)
{
    size_t count = 1;
    if (tensor->rank < 0 || tensor->rank > 3) return false;
    for (int d = 0; d < 3; d++) {
        if (!tensor->shape[d] || tensor->shape[d] > num_parameters) return false;
        count *= tensor->shape[d];
        if (count > num_parameters) return false;
    }
    return count == tensor->count && tensor->offset <= num_parameters &&
           count <= num_parameters - tensor->offset;
}

static enum pes_status read_tensors(struct pes_reader *reader)
{
    const struct pes_field *weights = pes_reader_weights(reader);
    if (!weights)
        return pes_fail(PES_INPUT, "%s holds no weights (store.weights: none)", reader->results.path);
    char **names;
    size_t num, num_trials = reader->results.num_trials;
    TRY(store_reader_texts(reader, "weights", "tensor_name", &names, &num));
    struct pes_stored_tensor *tensors = pes_arena_take(reader->arena, num, sizeof *tensors);
    int32_t *sets = pes_arena_take(reader->arena, num_trials, sizeof *sets);
    int32_t *tensor_sets = pes_arena_take(reader->arena, num, sizeof *tensor_sets);
    int64_t *columns = pes_arena_take(reader->arena, 8 * num + num_trials, sizeof *columns);
    if (!tensors || !sets || !tensor_sets || !columns) return PES_MEMORY;
    int64_t *set = columns, *rank = set + num, *offset = rank + num, *count = offset + num,
            *decays = count + num, *shape = decays + num, *own = shape + 3 * num;
    TRY(read_integers(reader, "tensor_set", num, 1, set));
    TRY(read_integers(reader, "tensor_rank", num, 1, rank));
    TRY(read_integers(reader, "tensor_offset", num, 1, offset));
    TRY(read_integers(reader, "tensor_count", num, 1, count));
    TRY(read_integers(reader, "tensor_decays", num, 1, decays));
    TRY(read_integers(reader, "tensor_shape", num, 3, shape));
    TRY(read_integers(reader, "parameter_set", num_trials, 1, own));
    for (size_t i = 0; i < num; i++) {
        tensors[i] = (struct pes_stored_tensor){
            .name = names[i],
            .rank = (int)rank[i],
            .shape = {(size_t)shape[3 * i], (size_t)shape[3 * i + 1], (size_t)shape[3 * i + 2]},
            .offset = (size_t)offset[i],
            .count = (size_t)count[i],
            .decays = decays[i] != 0};
        tensor_sets[i] = (int32_t)set[i];
        if (!is_sensible(&tensors[i], weights->count))
            return pes_fail(PES_INPUT, "%s is damaged: tensor %s doesn't fit into its vector",
                            reader->results.path, names[i]);
    }
    for (size_t t = 0; t < num_trials; t++)
        sets[t] = (int32_t)own[t];
    reader->num_tensors = num;
    reader->tensors = tensors;
    reader->tensor_sets = tensor_sets;
    reader->sets = sets;
    return PES_OK;
}

enum pes_status pes_reader_tensors(struct pes_reader *reader, size_t trial,
                                   const struct pes_stored_tensor **tensors, size_t *num)
{
    CHECK(trial < reader->results.num_trials);
    if (!reader->sets) TRY(read_tensors(reader));
    size_t first = 0;
    while (first < reader->num_tensors && reader->tensor_sets[first] != reader->sets[trial])
        first++;
    *tensors = reader->tensors + first;
    *num = 0;
    while (first + *num < reader->num_tensors && reader->tensor_sets[first + *num] == reader->sets[trial])
        ++*num;
    return PES_OK;
}

const char *pes_reader_label(struct pes_reader *reader, size_t trial)
{
    CHECK(trial < reader->results.num_trials);
    size_t num;
    char **labels = reader->labels;
    if (!labels && (store_reader_texts(reader, "trials", "label", &labels, &num) != PES_OK ||
                    num != reader->results.num_trials))
        return "";
    reader->labels = labels;
    return labels[trial];
}

char *pes_reader_config(struct pes_reader *reader, size_t trial)
{
    const char *path = reader->results.path;
    CHECK(trial < reader->results.num_trials);
    hid_t dataset = results_open_dataset(&reader->results, "provenance", "config");
    char *text = NULL, *copy = NULL;
    size_t extent;
    if (dataset < 0 || !hdf_has_type(dataset, ELEMENT_TEXT) || hdf_extents(dataset, &extent, 1) != 1 ||
        extent != reader->results.num_trials)
        pes_fail(PES_INPUT, "%s is damaged: the texts provenance/config are missing", path);
    else if (!hdf_read(dataset, ELEMENT_TEXT, trial, 1, &text))
        hdf_fail(PES_IO, path, "read provenance/config");
    else if ((copy = pes_allocate(strlen(text ? text : "") + 1, 1)) && text)
        strcpy(copy, text);
    H5free_memory(text);
    hdf_close(&dataset);
    hdf_forget();
    return copy;
}
