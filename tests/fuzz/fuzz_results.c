/* fuzz_results.c - damaged results files: valid HDF5 whose values, texts and tables are not what they should
 * be.
 *
 * Flipped bytes of HDF5's own structures are left out: the library itself crashes and hangs on them.  Instead
 * variants of one good file stand in memory - intact, and for every dataset one where it is missing, one
 * where it has another type and one where it has another size - and an input names a variant and overwrites
 * values:
 *
 *   variant (2 bytes), what to read besides (1 byte), then any number of
 *   table (1 byte), offset (2 bytes), count (1 byte), count bytes
 *
 * where a table is the data of a dataset or the text of one entry. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hdf5.h>

#include "fuzz.h"
#include "pesweep/log.h"
#include "pesweep/store.h"

#define SWEEP                                                                                                \
    "name: fuzz\ntask: {kind: relative_distance, vocab: 8, between: 2, side: 1, samples: 20}\n"              \
    "model: {layers: 1, d_model: 4, heads: 2, d_ff: 0}\ntrain: {steps: 2, batch: 4}\n"                       \
    "grid: {pe: [nope, rope], seed: 0..1}\n"

enum { MAX_TABLES = 250, MAX_VARIANTS = 400 };
struct table {
    size_t start, size;
    bool is_text;
};
struct variant {
    unsigned char *bytes; /* of the file, mapped */
    hid_t file;           /* kept open, so that the library needn't build its caches for every input */
    char name[32];
};
static struct variant variants[MAX_VARIANTS];
static struct table tables[MAX_TABLES];
static size_t num_variants, num_tables, image_size;
static unsigned char *image; /* of the intact file */

/* The leaks of HDF5 on files it can't read aren't ours. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static void need(bool right, const char *what)
{
    if (right) return;
    fprintf(stderr, "fuzz_results: %s: %s\n", what, pes_error_message());
    exit(2);
}

static void in_folder(char path[300], const char *name)
{
    snprintf(path, 300, "%s/%s", fuzz_folder(), name);
}

/* --- the good file --- */

static void make_file(const char *path)
{
    static const struct pes_variable variables[] = {
        {"trials", "test_accuracy", PES_F64, 0, {0}, "", "accuracy"},
        {"curves", "evaluation_step", PES_I64, 1, {PES_DIM_EVALUATION}, "", "step"},
        {"curves",
         "rotational_fraction",
         PES_F32,
         3,
         {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD},
         "",
         "share"},
        {"spectra",
         "eigenvalues",
         PES_F64,
         3,
         {PES_DIM_HEAD, PES_DIM_MODE, PES_DIM_RE_IM},
         "",
         "eigenvalues"},
        {"probes", "measured", PES_U8, 1, {PES_DIM_HEAD}, "", "whether"},
        {"weights", "final", PES_F32, 1, {PES_DIM_PARAMETER}, "", "parameters"},
        {.name = NULL},
    };
    const struct pes_variable *arrays[] = {variables};
    struct pes_sweep *sweep = NULL;
    struct pes_layout *layout = NULL;
    struct pes_store *store = NULL;
    struct pes_cost cost;
    struct pes_arena *arena = pes_arena_create();
    need(arena && pes_sweep_parse("fuzz.yaml", SWEEP, strlen(SWEEP), &sweep) == PES_OK, "sweep");
    need(pes_sweep_cost(sweep, &sweep->trials[0], &cost) == PES_OK, "cost");
    size_t size[PES_NUM_DIMENSIONS] = {[PES_DIM_EVALUATION] = 3,
                                       [PES_DIM_CHECKPOINT] = 2,
                                       [PES_DIM_LAYER] = 1,
                                       [PES_DIM_HEAD] = 2,
                                       [PES_DIM_MODE] = 2,
                                       [PES_DIM_RE_IM] = 2,
                                       [PES_DIM_PARAMETER] = cost.parameters};
    need(pes_layout_create(size, arrays, 1, arena, &layout) == PES_OK, "layout");
    need(pes_store_prepare(path, sweep, layout) == PES_OK, "prepare");
    need(pes_store_open(path, sweep, layout, PES_WRITER_RANK0, &store) == PES_OK, "open");
    int run = -1;
    need(pes_store_write_run(store, &run, "{\"ranks\": 1, \"isa\": \"portable\"}") == PES_OK, "run");
    struct pes_row row = {layout, calloc(1, layout->row_bytes)};
    need(row.bytes != NULL, "memory");
    for (size_t t = 0; t < sweep->num_trials - 1; t++) {
        pes_row_clear(&row);
        struct pes_train_result result = {.outcome = t ? PES_OUTCOME_DONE : PES_OUTCOME_DIVERGED,
                                          .reason = t ? PES_REASON_NONE : PES_REASON_LOSS_BOUND,
                                          .steps = 2};
        snprintf(result.message, sizeof result.message, "what was said of trial %zu", t);
        need(pes_store_write_trial(store, t, &row, &result, 0) == PES_OK, "row");
    }
    free(row.bytes);
    need(pes_store_close(store) == PES_OK, "close");
    pes_sweep_destroy(sweep);
    pes_arena_destroy(arena);
}

static void add_table(size_t start, size_t size, bool is_text)
{
    if (num_tables == MAX_TABLES || !size) return;
    tables[num_tables++] = (struct table){start, PES_MIN(size, (size_t)1 << 16), is_text};
}

/* Texts of variable length stand somewhere in the file, by themselves. */
static void add_texts(hid_t dataset)
{
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    char **texts = calloc((size_t)count, sizeof *texts);
    need(texts && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0, "texts");
    for (hssize_t i = 0; i < count; i++) {
        const unsigned char *found =
            texts[i] && strlen(texts[i]) > 3 ? memmem(image, image_size, texts[i], strlen(texts[i])) : NULL;
        if (found) add_table((size_t)(found - image), strlen(texts[i]), true);
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
    free(texts);
    H5Sclose(space);
    H5Tclose(type);
}

enum change { MISSING, OTHER_TYPE, OTHER_SIZE, NUM_CHANGES };

struct names {
    size_t num;
    char name[128][96];
};

static herr_t visit(hid_t file, const char *name, const H5O_info_t *facts, void *context)
{
    struct names *names = context;
    if (facts->type != H5O_TYPE_DATASET || names->num == PES_COUNT(names->name)) return 0;
    snprintf(names->name[names->num++], sizeof names->name[0], "%s", name);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), type = H5Dget_type(dataset);
    haddr_t start = H5Dget_offset(dataset);
    if (H5Tis_variable_str(type) > 0)
        add_texts(dataset);
    else if (start != HADDR_UNDEF)
        add_table((size_t)start, (size_t)H5Dget_storage_size(dataset), false);
    H5Tclose(type);
    H5Dclose(dataset);
    return 0;
}

/* --- its variants --- */

static void write_image(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(file >= 0 && !ftruncate(file, (off_t)image_size), "variant");
    /* What is zero stays a hole. */
    static const unsigned char zeros[4096];
    for (size_t at = 0; at < image_size; at += sizeof zeros) {
        size_t bytes = PES_MIN(sizeof zeros, image_size - at);
        if (memcmp(image + at, zeros, bytes))
            need(pwrite(file, image + at, bytes, (off_t)at) == (ssize_t)bytes, "variant");
    }
    close(file);
}

static void change_dataset(const char *path, const char *name, enum change change)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    hsize_t extents[H5S_MAX_RANK];
    int rank = H5Sget_simple_extent_dims(space, extents, NULL);
    H5Dclose(dataset);
    need(H5Ldelete(file, name, H5P_DEFAULT) >= 0, "delete");
    if (change == OTHER_SIZE) {
        H5Sclose(space);
        for (int d = 0; d < rank; d++)
            extents[d] += 1;
        space = rank ? H5Screate_simple(rank, extents, NULL) : H5Screate(H5S_NULL);
    }
    if (change != MISSING) {
        hid_t with = change == OTHER_TYPE ? H5T_STD_I16BE : type;
        dataset = H5Dcreate2(file, name, with, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        need(dataset >= 0, "replace");
        H5Dclose(dataset);
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
}

/* Opened as the reader does it, or the library would refuse the reader. */
static void hold(struct variant *variant)
{
    char path[300];
    in_folder(path, variant->name);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(access, H5F_CLOSE_SEMI);
    H5Pset_sieve_buf_size(access, 0);
    H5Pset_file_locking(access, false, true);
    variant->file = H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    need(variant->file >= 0, "hold");
}

static void map_variant(const char *name)
{
    struct variant *variant = &variants[num_variants++];
    char path[300];
    in_folder(path, name);
    int file = open(path, O_RDWR | O_CLOEXEC);
    /* Changes of the structure don't move what was there. */
    void *bytes = mmap(NULL, image_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    need(file >= 0 && bytes != MAP_FAILED, "map");
    close(file);
    variant->bytes = bytes;
    snprintf(variant->name, sizeof variant->name, "%s", name);
    hold(variant);
}

static void set_up(void)
{
    static struct names names;
    char path[300];
    pes_log_open(NULL, true, false);
    H5set_free_list_limits(-1, -1, -1, -1, -1,
                           -1); /* its cache of a megabyte and more is made for every opening */
    in_folder(path, "0.h5");
    make_file(path);
    FILE *file = fopen(path, "rb");
    need(file && !fseek(file, 0, SEEK_END), "read");
    image_size = (size_t)ftell(file);
    image = malloc(image_size);
    rewind(file);
    need(image && fread(image, 1, image_size, file) == image_size, "read");
    fclose(file);
    hid_t opened = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    need(opened >= 0 && H5Ovisit(opened, H5_INDEX_NAME, H5_ITER_INC, visit, &names) >= 0, "visit");
    H5Fclose(opened);
    map_variant("0.h5");
    for (size_t n = 0; n < names.num; n++)
        for (enum change change = MISSING; change < NUM_CHANGES && num_variants < MAX_VARIANTS; change++) {
            char name[32];
            snprintf(name, sizeof name, "%zu.h5", num_variants);
            in_folder(path, name);
            write_image(path);
            change_dataset(path, names.name[n], change);
            map_variant(name);
        }
}

/* --- reading --- */

static void check_tensors(struct pes_reader *reader)
{
    for (size_t t = 0; t < pes_reader_num_trials(reader); t++) {
        const struct pes_stored_tensor *tensors;
        size_t num;
        if (pes_reader_tensors(reader, t, &tensors, &num) != PES_OK) continue;
        const struct pes_field *weights = pes_reader_weights(reader);
        for (size_t i = 0; i < num; i++)
            CHECK(tensors[i].offset <= weights->count &&
                  tensors[i].count <= weights->count - tensors[i].offset);
    }
}

static void read_trials(struct pes_reader *reader)
{
    size_t num = pes_reader_num_trials(reader);
    bool *right = malloc(num);
    need(right != NULL, "memory");
    (void)!pes_reader_verify(reader, right);
    for (size_t t = 0; t < num; t++) {
        CHECK(pes_outcome_name((enum pes_outcome)pes_reader_status(reader)[t]));
        CHECK(pes_reason_name((enum pes_reason)pes_reader_reason(reader)[t]));
        CHECK(pes_reader_key(reader, t) && pes_reader_message(reader, t));
    }
    free(right);
}

static void merge(struct pes_reader *reader)
{
    struct pes_sweep *sweep = NULL;
    struct pes_merge facts;
    char path[300];
    in_folder(path, "merged.h5");
    if (pes_store_union(&reader, 1, &sweep) != PES_OK) return;
    (void)!pes_store_merge(path, sweep, pes_reader_layout(reader), &reader, 1, &facts);
    unlink(path);
    pes_sweep_destroy(sweep);
}

static void read_file(const char *path, unsigned besides)
{
    struct pes_reader *reader = NULL;
    if (pes_reader_open(path, &reader) != PES_OK) {
        CHECK(pes_error_message()[0] && !strchr(pes_error_message(), '\n'));
        return;
    }
    read_trials(reader);
    double *values = NULL;
    size_t count;
    if (pes_reader_variable(reader, "curves", "rotational_fraction", &values, &count) == PES_OK) free(values);
    if (besides & 1) (void)!pes_reader_sweep(reader);
    if (besides & 2) check_tensors(reader);
    if (besides & 4) CHECK(pes_reader_label(reader, 0));
    if (besides & 8) pes_free(pes_reader_config(reader, 0));
    if ((besides & 0x30) == 0x30)
        for (size_t r = 0; r < pes_reader_num_runs(reader); r++)
            CHECK(pes_reader_run(reader, r));
    if (besides == 0xF0) merge(reader);
    pes_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!num_variants) set_up();
    if (size < 3) return 0;
    struct variant *variant = &variants[(size_t)(bytes[0] | bytes[1] << 8) % num_variants];
    unsigned besides = bytes[2];
    static struct {
        struct table place;
        unsigned char before[255];
    } touched[64];
    size_t num_touched = 0;
    bool afresh = false; /* texts are something that the library keeps */
    for (size_t at = 3; at + 4 < size && num_touched < PES_COUNT(touched);) {
        const struct table *table = &tables[bytes[at] % num_tables];
        size_t offset = (size_t)(bytes[at + 1] | bytes[at + 2] << 8) % table->size;
        size_t count = PES_MIN(PES_MIN((size_t)bytes[at + 3], size - at - 4), table->size - offset);
        unsigned char *place = variant->bytes + table->start + offset;
        touched[num_touched].place = (struct table){table->start + offset, count, table->is_text};
        afresh = afresh || table->is_text;
        memcpy(touched[num_touched++].before, place, count);
        memcpy(place, bytes + at + 4, count);
        at += 4 + bytes[at + 3];
    }
    char path[300];
    in_folder(path, variant->name);
    if (afresh) H5Fclose(variant->file);
    read_file(path, besides);
    while (num_touched--)
        memcpy(variant->bytes + touched[num_touched].place.start, touched[num_touched].before,
               touched[num_touched].place.size);
    if (afresh) hold(variant);
    return 0;
}
