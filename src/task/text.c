/* text.c - the next byte of local files.
 *
 * task.path is a file, or a folder whose files (hidden ones left out, subfolders included) are taken in the
 * order of their names.  Files are memory-mapped and read as one text; its last test_fraction is for testing.
 * Training windows start anywhere in the first part, test windows are spread evenly over the second. */
#include "common.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pesweep/text.h"

enum { DEEPEST_FOLDER = 32 };

struct file {
    const unsigned char *bytes;
    size_t length, start; /* start: place of its first byte in the whole text */
};

struct state {
    struct file *files;
    size_t num_files, capacity;
    uint64_t length;     /* of the whole text */
    uint64_t test_start; /* first byte for testing */
};

static const struct pes_key keys[] = {
    {.path = "task.path",
     .type = PES_VALUE_TEXT,
     .fallback = NULL,
     .unit = "",
     .help = "file, or folder of files, with the text"},
    TASK_INT("task.length", 2, 32768, "256", "tokens", "bytes per sequence"),
    TASK_REAL("task.test_fraction", 0, 1, true, "0.1",
              "share of the text, at its end, that is kept for testing"),
    TASK_INT("task.test_samples", 1, 1e9, "256", "", "sequences of the test set"),
    TASK_END,
};

/* Files aren't looked at here: a sweep is read, and its costs planned, where they may not be. */
static enum pes_status shape(const struct pes_config *config, struct pes_task_shape *out)
{
    double fraction = pes_config_real(config, "task.test_fraction");
    if (fraction >= 1)
        return pes_fail(PES_INPUT, "task.test_fraction %g leaves no text for training", fraction);
    *out = (struct pes_task_shape){.chance = NAN};
    pes_task_shape_endless(config, (int)pes_config_int(config, "task.length"), 256, out);
    return PES_OK;
}

static enum pes_status add_file(struct state *state, const char *path, size_t length)
{
    if (!length) return PES_OK;
    if (state->num_files == state->capacity) {
        size_t capacity = PES_MAX(2 * state->capacity, (size_t)16);
        struct file *files = pes_reallocate(state->files, capacity, sizeof *files);
        if (!files) return PES_MEMORY;
        state->files = files;
        state->capacity = capacity;
    }
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return pes_fail(PES_IO, "task.path: %s: %s", path, strerror(errno));
    void *bytes = mmap(NULL, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    int error = errno;
    close(descriptor);
    if (bytes == MAP_FAILED)
        return pes_fail(PES_IO, "task.path: %s can't be mapped: %s", path, strerror(error));
    state->files[state->num_files++] = (struct file){bytes, length, (size_t)state->length};
    state->length += length;
    return PES_OK;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* By bytes, so that the order doesn't depend on the language setting. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static enum pes_status add_path(struct state *state, const char *path, int depth);

static enum pes_status add_folder(struct state *state, const char *path, int depth)
{
    if (depth >= DEEPEST_FOLDER)
        return pes_fail(PES_INPUT, "task.path: folders more than %d deep at %s", DEEPEST_FOLDER, path);
    struct dirent **entries;
    int count = scandir(path, &entries, visible, by_name);
    if (count < 0) return pes_fail(PES_IO, "task.path: %s: %s", path, strerror(errno));
    enum pes_status status = PES_OK;
    for (int i = 0; i < count; i++) {
        size_t bytes = strlen(path) + strlen(entries[i]->d_name) + 2;
        char *inside = status == PES_OK ? pes_allocate(bytes, 1) : NULL;
        if (status == PES_OK && !inside) status = PES_MEMORY;
        if (inside) {
            strcat(strcat(strcpy(inside, path), "/"), entries[i]->d_name);
            status = add_path(state, inside, depth + 1);
        }
        pes_free(inside);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static enum pes_status add_path(struct state *state, const char *path, int depth)
{
    struct stat about;
    if (stat(path, &about)) return pes_fail(PES_IO, "task.path: %s: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode)) return add_folder(state, path, depth);
    if (S_ISREG(about.st_mode)) return add_file(state, path, (size_t)about.st_size);
    return depth ? PES_OK : pes_fail(PES_INPUT, "task.path: %s is neither a file nor a folder", path);
}

static void close_text(void *opened)
{
    struct state *state = opened;
    for (size_t f = 0; f < state->num_files; f++)
        munmap((void *)(uintptr_t)state->files[f].bytes, state->files[f].length);
    pes_free(state->files);
}

static enum pes_status open_text(const struct pes_config *config, const struct pes_task_shape *sizes,
                                 struct pes_arena *arena, void **out)
{
    struct state *state = pes_arena_take(arena, 1, sizeof *state);
    if (!state) return PES_MEMORY;
    const char *path = pes_config_text(config, "task.path");
    enum pes_status status = add_path(state, path, 0);
    if (status == PES_OK) {
        double share = 1 - pes_config_real(config, "task.test_fraction");
        state->test_start = (uint64_t)floor(share * (double)state->length);
        uint64_t least = (uint64_t)sizes->T + 1;
        if (state->test_start < least || state->length - state->test_start < least)
            status = pes_fail(PES_INPUT,
                              "task.path: %s has %llu bytes for training and %llu for testing; a sequence of "
                              "task.length %d needs %llu of each",
                              path, (unsigned long long)state->test_start,
                              (unsigned long long)(state->length - state->test_start), sizes->T,
                              (unsigned long long)least);
    }
    if (status != PES_OK) {
        close_text(state);
        return status;
    }
    *out = state;
    return PES_OK;
}

/* Of every file its bytes and their number, in order: names and places don't matter. */
static enum pes_status fingerprint_opened(const struct state *state, uint64_t *number)
{
    uint64_t *digests = pes_allocate(2 * state->num_files, sizeof *digests);
    if (!digests) return PES_MEMORY;
    for (size_t f = 0; f < state->num_files; f++) {
        digests[2 * f] = pes_hash(state->files[f].bytes, state->files[f].length);
        digests[2 * f + 1] = state->files[f].length;
    }
    *number = pes_hash(digests, 2 * state->num_files * sizeof *digests) >> 11;
    pes_free(digests);
    return PES_OK;
}

static enum pes_status fingerprint(const struct pes_config *config, uint64_t *number)
{
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    struct pes_task_shape sizes = {0};
    void *opened;
    enum pes_status status = shape(config, &sizes);
    if (status == PES_OK) status = open_text(config, &sizes, arena, &opened);
    if (status == PES_OK) {
        status = fingerprint_opened(opened, number);
        close_text(opened);
    }
    pes_arena_destroy(arena);
    return status;
}

static const struct file *find_file(const struct state *state, uint64_t place)
{
    size_t low = 0, high = state->num_files;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (state->files[middle].start <= place)
            low = middle;
        else
            high = middle;
    }
    return &state->files[low];
}

static void sample(const struct pes_config *config, const struct pes_task_shape *sizes, void *opened,
                   uint64_t number, struct pes_stream *stream, struct pes_sample *out)
{
    (void)config;
    const struct state *state = opened;
    uint64_t window = (uint64_t)sizes->T + 1, place;
    if (number < PES_TASK_FIRST_TEST) {
        place = pes_stream_below(stream, state->test_start - window + 1);
    } else {
        /* Equal distances between starts; they overlap only where there is too little text. */
        uint64_t starts = state->length - state->test_start - window + 1;
        double share = (double)(number - PES_TASK_FIRST_TEST) / (double)sizes->num_test;
        place = state->test_start + (uint64_t)(share * (double)starts);
    }
    const struct file *file = find_file(state, place);
    for (int t = 0; t <= sizes->T; t++, place++) {
        while (place - file->start >= file->length)
            file++;
        int32_t byte = file->bytes[place - file->start];
        if (t < sizes->T) out->ids[t] = byte;
        if (t) out->labels[t - 1] = byte;
    }
}

const struct pes_task pes_task_text = {
    .name = "text",
    .summary = "predict the next byte of local files",
    .source = "Graves, arXiv 1308.0850, section 3",
    .keys = keys,
    .shape = shape,
    .open = open_text,
    .close = close_text,
    .fingerprint = fingerprint,
    .sample = sample,
};
