/* pretrained_edit.h - copies of fixtures with something changed, in a folder of the test's own. */
#ifndef PESWEEP_TEST_PRETRAINED_EDIT_H
#define PESWEEP_TEST_PRETRAINED_EDIT_H

#include <jansson.h>

#include "pretrained_fixture.h"
#include "test_folder.h"

/* One tensor on its way from a fixture to a file of a test. */
struct copied {
    char name[160];
    const char *dtype;
    int rank;
    size_t shape[4], bytes;
    const unsigned char *data;
};

/* May rename, replace or drop (false) a tensor. */
typedef bool changing(struct copied *tensor);

static inline void write_tensors(const char *path, const struct copied *tensors, size_t count)
{
    json_t *header = json_object();
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *shape = json_array();
        for (int d = 0; d < tensors[i].rank; d++)
            json_array_append_new(shape, json_integer((json_int_t)tensors[i].shape[d]));
        json_object_set_new(header, tensors[i].name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype", tensors[i].dtype, "shape", shape,
                                      "data_offsets", (json_int_t)offset,
                                      (json_int_t)(offset + tensors[i].bytes)));
        offset += tensors[i].bytes;
    }
    char *text = json_dumps(header, JSON_COMPACT);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    size_t length = strlen(text);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 255), file);
    fwrite(text, 1, length, file);
    for (size_t i = 0; i < count; i++)
        fwrite(tensors[i].data, 1, tensors[i].bytes, file);
    assert_int_equal(fclose(file), 0);
    free(text);
    json_decref(header);
}

/* The fixture's tensors, changed, into a file of the folder. */
static inline void copy_weights(const char *fixture, const char *file, changing *change)
{
    static struct copied tensors[128];
    char path[512];
    struct pes_weights *weights;
    size_t used = 0;
    must(pes_weights_open(fixture_path(fixture, "model.safetensors", path), &weights));
    for (size_t i = 0; i < pes_weights_count(weights); i++) {
        const struct pes_weight *from = pes_weights_get(weights, i);
        struct copied *to = &tensors[used];
        snprintf(to->name, sizeof to->name, "%s", from->name);
        to->dtype = pes_dtype_name(from->dtype);
        to->rank = from->rank;
        for (int d = 0; d < from->rank && d < 4; d++)
            to->shape[d] = (size_t)from->shape[d];
        to->bytes = (size_t)from->bytes;
        to->data = from->data;
        used += !change || change(to);
    }
    write_tensors(in_folder(file), tensors, used);
    pes_weights_close(weights);
}

/* The fixture's config.json with members of `changes` (JSON) set; a member that is the text "absent" is left
 * out. */
static inline void copy_config(const char *fixture, const char *changes)
{
    char path[512];
    json_t *config = json_load_file(fixture_path(fixture, "config.json", path), 0, NULL);
    json_t *wanted = json_loads(changes, 0, NULL), *value;
    assert_true(config && wanted);
    const char *key;
    json_object_foreach(wanted, key, value)
    {
        const char *text = json_string_value(value);
        if (text && !strcmp(text, "absent"))
            json_object_del(config, key);
        else
            json_object_set(config, key, value);
    }
    assert_int_equal(json_dump_file(config, in_folder("config.json"), 0), 0);
    json_decref(config);
    json_decref(wanted);
}

#endif
