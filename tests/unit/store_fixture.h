/* store_fixture.h - a small sweep, a layout of four layers, heads and modes, and rows that follow from a
 * trial's key. */
#ifndef PESWEEP_TESTS_STORE_FIXTURE_H
#define PESWEEP_TESTS_STORE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "pesweep/store.h"
#include "pesweep/text.h"
#include "test_folder.h"

#define BLOCKS                                                                                               \
    "task: {kind: relative_distance, vocab: 16, between: 4, side: 2, samples: 200}\n"                        \
    "model: {layers: 2, d_model: 16, heads: 2, d_ff: 16}\n"                                                  \
    "train: {steps: 10, batch: 8}\n"
#define SIX_TRIALS   "name: store\n" BLOCKS "grid: {pe: [nope, learned, rope], seed: 0..1}\n"
#define NINE_TRIALS  "name: store\n" BLOCKS "grid: {pe: [nope, learned, rope], seed: 0..2}\n"
#define THREE_TRIALS "name: store\n" BLOCKS "grid: {pe: [nope, learned, rope]}\n"

static inline bool exists(const char *path)
{
    return !access(path, F_OK);
}

static inline struct pes_sweep *parse(const char *text)
{
    struct pes_sweep *sweep = NULL;
    enum pes_status status = pes_sweep_parse("store.yaml", text, strlen(text), &sweep);
    if (status != PES_OK) fail_msg("%s", pes_error_message());
    return sweep;
}

static const struct pes_variable fixture_variables[] = {
    {"trials", "test_accuracy", PES_F64, 0, {0}, "", "accuracy after the last step"},
    {"trials", "parameters", PES_I64, 0, {0}, "", "number of parameters"},
    {"curves", "evaluation_step", PES_I64, 1, {PES_DIM_EVALUATION}, "steps", "step of the evaluation"},
    {"curves", "test_loss", PES_F64, 1, {PES_DIM_EVALUATION}, "nats", "loss on the test set"},
    {"curves",
     "rotational_fraction",
     PES_F32,
     3,
     {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD},
     "",
     "share of the imaginary parts"},
    {"spectra",
     "eigenvalues",
     PES_F64,
     4,
     {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_MODE, PES_DIM_RE_IM},
     "",
     "eigenvalues of M"},
    {"spectra", "singular_values", PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_MODE}, "", "of M"},
    {"attention",
     "relative_kernel",
     PES_F32,
     3,
     {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_OFFSET},
     "",
     "mean score"},
    {"probes", "measured", PES_U8, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", "whether the head was ablated"},
    {"probes",
     "part_loss",
     PES_F32,
     3,
     {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_PART},
     "nats",
     "loss with one part"},
    {"weights", "final", PES_F32, 1, {PES_DIM_PARAMETER}, "", "parameters after the last step"},
    {.name = NULL},
};

static inline struct pes_layout *make_layout(struct pes_arena *arena, size_t layers, size_t parameters)
{
    size_t size[PES_NUM_DIMENSIONS] = {
        [PES_DIM_EVALUATION] = 3, [PES_DIM_CHECKPOINT] = 2, [PES_DIM_LAYER] = layers,
        [PES_DIM_HEAD] = 4,       [PES_DIM_MODE] = 4,       [PES_DIM_RE_IM] = 2,
        [PES_DIM_OFFSET] = 9,     [PES_DIM_PART] = 2,       [PES_DIM_PARAMETER] = parameters};
    const struct pes_variable *arrays[] = {fixture_variables};
    struct pes_layout *layout = NULL;
    assert_int_equal(pes_layout_create(size, arrays, 1, arena, &layout), PES_OK);
    return layout;
}

/* A sweep with its layout. */
struct fixture {
    struct pes_arena *arena;
    struct pes_sweep *sweep;
    struct pes_layout *layout;
};

static inline struct fixture setup_sized(const char *text, size_t layers)
{
    struct fixture f = {.arena = pes_arena_create(), .sweep = parse(text)};
    assert_non_null(f.arena);
    f.layout = make_layout(f.arena, layers, 4000);
    return f;
}

static inline struct fixture setup(const char *text)
{
    return setup_sized(text, 4);
}

static inline void teardown(struct fixture *f)
{
    pes_sweep_destroy(f->sweep);
    pes_arena_destroy(f->arena);
}

/* Fills a row for layers 0 .. layers - 1 from the key alone; the rest keeps its fill, and so does one loss.
 */
static inline void fill_row(struct pes_row *row, const char *key, size_t layers)
{
    pes_row_clear(row);
    for (size_t f = 0; f < row->layout->num_fields; f++) {
        const struct pes_field *field = &row->layout->fields[f];
        const struct pes_variable *variable = &field->variable;
        for (size_t i = 0; i < field->count; i++) {
            size_t index[PES_MAX_RANK] = {0}, rest = i;
            bool padded = false;
            for (int d = variable->rank - 1; d >= 0; d--) {
                index[d] = rest % field->extent[d];
                rest /= field->extent[d];
                padded = padded || (variable->dimensions[d] == PES_DIM_LAYER && index[d] >= layers);
            }
            if (padded || (!strcmp(variable->name, "test_loss") && i == 2)) continue;
            char text[160];
            int length = snprintf(text, sizeof text, "%s %s %zu %zu %zu %zu %zu", key, variable->name,
                                  index[0], index[1], index[2], index[3], index[4]);
            double value = (double)(pes_hash(text, (size_t)length) % 1000003);
            if (variable->type == PES_F32 || variable->type == PES_F64) value = value / 1000003 - 0.5;
            if (variable->type == PES_U8) value = fmod(value, 2);
            pes_row_put(row, variable->group, variable->name, index, value);
        }
    }
}

static inline struct pes_row new_row(const struct pes_layout *layout)
{
    struct pes_row row = {layout, calloc(1, layout->row_bytes)};
    assert_non_null(row.bytes);
    return row;
}

static inline void assert_ok(enum pes_status status)
{
    if (status != PES_OK) fail_msg("%s: %s", pes_status_meaning(status), pes_error_message());
}

static inline struct pes_store *open_store(const char *path, const struct fixture *f)
{
    struct pes_store *store = NULL;
    assert_ok(pes_store_prepare(path, f->sweep, f->layout));
    assert_ok(pes_store_open(path, f->sweep, f->layout, PES_WRITER_RANK0, &store));
    return store;
}

static inline void finish(struct pes_store *store, const struct fixture *f, size_t trial,
                          enum pes_outcome outcome)
{
    struct pes_row row = new_row(f->layout);
    fill_row(&row, f->sweep->trials[trial].key, PES_MIN(f->layout->size[PES_DIM_LAYER], (size_t)4));
    struct pes_train_result result = {
        .outcome = outcome, .steps = 10, .train_seconds = 1.5, .measure_seconds = 0.5};
    if (outcome != PES_OUTCOME_DONE) {
        result.reason = PES_REASON_LOSS_BOUND;
        result.steps = 7;
        snprintf(result.message, sizeof result.message, "loss 2e+04 at step 7");
    }
    assert_ok(pes_store_mark_running(store, trial, 3));
    assert_ok(pes_store_write_trial(store, trial, &row, &result, 3));
    free(row.bytes);
}

/* A file with the given trials done. */
static inline void make_file(const char *path, const struct fixture *f, size_t first, size_t end)
{
    struct pes_store *store = open_store(path, f);
    for (size_t t = first; t < end; t++)
        finish(store, f, t, PES_OUTCOME_DONE);
    assert_ok(pes_store_close(store));
}

static inline void assert_row(struct pes_reader *reader, size_t trial, const char *key, size_t layers)
{
    struct pes_row stored = new_row(pes_reader_layout(reader)), expected = new_row(pes_reader_layout(reader));
    assert_ok(pes_reader_row(reader, trial, &stored));
    fill_row(&expected, key, layers);
    assert_memory_equal(stored.bytes, expected.bytes, expected.layout->row_bytes);
    free(stored.bytes);
    free(expected.bytes);
}

static inline unsigned char *read_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct stat facts;
    assert_int_equal(fstat(fileno(file), &facts), 0);
    *size = (size_t)facts.st_size;
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Everything outside provenance: rows, columns, keys. */
static inline void assert_same_results(const char *a_path, const char *b_path)
{
    struct pes_reader *a, *b;
    assert_ok(pes_reader_open(a_path, &a));
    assert_ok(pes_reader_open(b_path, &b));
    size_t num = pes_reader_num_trials(a);
    assert_int_equal(num, pes_reader_num_trials(b));
    assert_memory_equal(pes_reader_status(a), pes_reader_status(b), num);
    struct pes_row x = new_row(pes_reader_layout(a)), y = new_row(pes_reader_layout(b));
    assert_int_equal(x.layout->row_bytes, y.layout->row_bytes);
    for (size_t t = 0; t < num; t++) {
        assert_string_equal(pes_reader_key(a, t), pes_reader_key(b, t));
        assert_ok(pes_reader_row(a, t, &x));
        assert_ok(pes_reader_row(b, t, &y));
        assert_memory_equal(x.bytes, y.bytes, x.layout->row_bytes);
        uint64_t stored[2], computed;
        assert_ok(pes_reader_checksum(a, t, &stored[0], &computed));
        assert_ok(pes_reader_checksum(b, t, &stored[1], &computed));
        assert_true(stored[0] == stored[1]);
    }
    free(x.bytes);
    free(y.bytes);
    pes_reader_close(a);
    pes_reader_close(b);
}

#endif
