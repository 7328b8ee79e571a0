/* store.c - an open results file during a run: rows of finished trials, marks, the record of starts.
 *
 * Invariant: a trial's status says done, failed or diverged only while its row and checksum are on disk. Only
 * raw data are written, each rank its own trials' entries, so the file is valid at every moment. */
#include "results.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "pesweep/comm.h"

struct pes_store {
    char *path;
    struct results results;
    bool parallel, writable;
    int file;            /* POSIX descriptor on the same file, for fdatasync */
    int64_t fence;       /* number of this start */
    int32_t run;         /* entry of provenance/runs */
    haddr_t fence_place; /* of provenance/fence in the file, read without the library */
};

/* --- opening and closing --- */

/* The first empty entry of provenance/runs, else one that no trial refers to, else the last. */
static enum pes_status choose_run(const struct results *results, int32_t *run)
{
    bool used[STORE_RUNS] = {false};
    enum { AT_ONCE = 4096 };
    int32_t runs[AT_ONCE];
    for (size_t first = 0; first < results->num_trials; first += AT_ONCE) {
        size_t count = PES_MIN(results->num_trials - first, (size_t)AT_ONCE);
        TRY(results_read_column(results, COLUMN_RUN, first, count, runs));
        for (size_t i = 0; i < count; i++)
            if (runs[i] >= 0 && runs[i] < STORE_RUNS) used[runs[i]] = true;
    }
    char text[STORE_RUN_BYTES];
    *run = -1;
    for (int32_t r = 0; r < STORE_RUNS; r++) {
        TRY(results_read_column(results, COLUMN_RUNS, (size_t)r, 1, text));
        if (!text[0] && !used[r]) {
            *run = r;
            return PES_OK;
        }
        if (!used[r] && *run < 0) *run = r;
    }
    if (*run < 0) *run = STORE_RUNS - 1;
    return PES_OK;
}

static enum pes_status sync_data(const struct pes_store *store)
{
    if (!fdatasync(store->file)) return PES_OK;
    return pes_fail(PES_IO, "%s: cannot sync: %s", store->results.path, strerror(errno));
}

/* Rank 0 alone: the number of this start goes into the file before anybody else writes. */
static enum pes_status begin_start(struct pes_store *store)
{
    TRY(choose_run(&store->results, &store->run));
    TRY(results_read_column(&store->results, COLUMN_FENCE, 0, 1, &store->fence));
    store->fence++;
    TRY(results_write_column(&store->results, COLUMN_FENCE, 0, 1, &store->fence));
    TRY(sync_data(store));
    store_lock_name_fence(store->fence);
    return PES_OK;
}

static enum pes_status open_datasets(struct pes_store *store, const struct pes_sweep *sweep,
                                     const struct pes_layout *layout)
{
    struct results *results = &store->results;
    TRY(results_open_fields(results, layout));
    if (results->num_trials != sweep->num_trials)
        return pes_fail(PES_INPUT, "%s has %zu trials, the sweep %zu", results->path, results->num_trials,
                        sweep->num_trials);
    store->fence_place = H5Dget_offset(results->columns[COLUMN_FENCE]);
    if (store->fence_place == HADDR_UNDEF) return hdf_fail(PES_IO, results->path, "find provenance/fence");
    store->file = open(results->path, O_RDWR | O_CLOEXEC);
    if (store->file < 0) return pes_fail(PES_IO, "%s: cannot open: %s", results->path, strerror(errno));
    store->writable = true;
    return PES_OK;
}

static void destroy(struct pes_store *store)
{
    if (!store) return;
    /* After the library's close: closing any descriptor gives up the process's fcntl locks on the file. */
    if (store->file >= 0) close(store->file);
    pes_free(store->path);
    pes_free(store);
}

static struct pes_store *create(const char *path, bool parallel)
{
    struct pes_store *store = pes_allocate(1, sizeof *store);
    if (!store) return NULL;
    store->file = -1;
    store->parallel = parallel;
    store->results.file = -1;
    for (int c = 0; c < NUM_COLUMNS; c++)
        store->results.columns[c] = -1;
    store->path = pes_allocate(strlen(path) + 1, 1);
    if (!store->path) {
        destroy(store);
        return NULL;
    }
    strcpy(store->path, path);
    return store;
}

/* What all ranks make of their statuses; the ranks without an error of their own get a message as well. */
static enum pes_status agree(enum pes_status status, const char *path)
{
    enum pes_status worst = pes_comm_worst(status);
    if (status == PES_OK && worst != PES_OK) pes_fail(worst, "%s: another rank cannot open it", path);
    return worst;
}

enum pes_status pes_store_open(const char *path, const struct pes_sweep *sweep,
                               const struct pes_layout *layout, enum pes_writer writer,
                               struct pes_store **out)
{
    bool parallel = writer == PES_WRITER_SHARED && pes_comm_size() > 1;
    bool opens = parallel || pes_comm_rank() == 0;
    struct pes_store *store = create(path, parallel);
    /* A collective opening must not be entered by some ranks only. */
    enum pes_status status = agree(!store ? PES_MEMORY : opens ? results_check(path) : PES_OK, path);
    if (status == PES_OK) {
        if (opens)
            status = results_open(store->path, parallel ? RESULTS_PARALLEL : RESULTS_WRITE, &store->results);
        status = agree(status, path);
        /* If some rank has no file now, a collective closing would hang: the others leave theirs open. */
        if (status != PES_OK && parallel) {
            store_unlock();
            return status;
        }
    }
    if (status == PES_OK) {
        if (opens) status = open_datasets(store, sweep, layout);
        if (status == PES_OK && pes_comm_rank() == 0) status = begin_start(store);
        status = agree(status, path);
    }
    if (status != PES_OK) {
        if (store) results_close(&store->results);
        destroy(store);
        store_unlock();
        return status;
    }
    pes_comm_broadcast(&store->fence, sizeof store->fence);
    pes_comm_broadcast(&store->run, sizeof store->run);
    *out = store;
    return PES_OK;
}

enum pes_status pes_store_close(struct pes_store *store)
{
    if (!store) return PES_OK;
    /* Ranks that are done wait asleep here, not in the library. */
    if (store->parallel) pes_comm_barrier();
    enum pes_status status = store->writable ? sync_data(store) : PES_OK;
    enum pes_status closed = results_close(&store->results);
    destroy(store);
    store_unlock();
    return status != PES_OK ? status : closed;
}

/* --- writing --- */

/* Before each write that counts: the file is still the one under the name, and this start's. */
static enum pes_status check_fence(const struct pes_store *store)
{
    int64_t fence;
    struct stat facts;
    /* A file without a name takes everything in, and nobody will ever see it. */
    if (!fstat(store->file, &facts) && !facts.st_nlink)
        return pes_fail(PES_IO, "%s: the file has been removed", store->results.path);
    ssize_t length = pread(store->file, &fence, sizeof fence, (off_t)store->fence_place);
    if (length != sizeof fence)
        return pes_fail(PES_IO, "%s: cannot read: %s", store->results.path,
                        length < 0 ? strerror(errno) : "the file has become shorter");
    if (fence != store->fence)
        return pes_fail(PES_BUSY, "%s has been taken over by a later start (number %lld, this is %lld)",
                        store->results.path, (long long)fence, (long long)store->fence);
    return PES_OK;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static enum pes_status write_status(struct pes_store *store, size_t trial, enum pes_outcome outcome)
{
    uint8_t value = (uint8_t)outcome;
    return results_write_column(&store->results, COLUMN_STATUS, trial, 1, &value);
}

enum pes_status pes_store_mark_running(struct pes_store *store, size_t trial, int rank)
{
    CHECK(store->writable && trial < store->results.num_trials);
    const struct results *results = &store->results;
    int32_t number = rank;
    double time = now();
    TRY(check_fence(store));
    TRY(results_write_column(results, COLUMN_RUN, trial, 1, &store->run));
    TRY(results_write_column(results, COLUMN_RANK, trial, 1, &number));
    TRY(results_write_column(results, COLUMN_STARTED, trial, 1, &time));
    return write_status(store, trial, PES_OUTCOME_RUNNING);
}

/* Bytes of the character of UTF-8 at `text`; 0 if there is none. */
static size_t character_bytes(const char *text)
{
    unsigned char lead = (unsigned char)text[0];
    size_t bytes = lead < 0x80   ? 1
                   : lead < 0xC2 ? 0
                   : lead < 0xE0 ? 2
                   : lead < 0xF0 ? 3
                   : lead < 0xF5 ? 4
                                 : 0;
    for (size_t i = 1; i < bytes; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80) return 0;
    return bytes;
}

/* Copies a text into a zeroed buffer: whole characters only, and '?' for what isn't UTF-8, which no reader of
 * character arrays would forgive. */
static void put_text(char *buffer, size_t size, const char *text)
{
    memset(buffer, 0, size);
    for (size_t used = 0; *text;) {
        size_t bytes = character_bytes(text);
        if (used + PES_MAX(bytes, (size_t)1) >= size) return;
        if (bytes)
            memcpy(buffer + used, text, bytes);
        else
            buffer[used] = '?';
        bytes = PES_MAX(bytes, (size_t)1);
        used += bytes;
        text += bytes;
    }
}

static enum pes_status write_columns(const struct pes_store *store, size_t trial, uint64_t checksum,
                                     const struct pes_train_result *result, int rank)
{
    const struct results *results = &store->results;
    uint8_t reason = (uint8_t)result->reason;
    int32_t number = rank;
    double time = now();
    char message[STORE_MESSAGE_BYTES];
    put_text(message, sizeof message, result->message);
    TRY(results_write_column(results, COLUMN_CHECKSUM, trial, 1, &checksum));
    TRY(results_write_column(results, COLUMN_STEPS, trial, 1, &result->steps));
    TRY(results_write_column(results, COLUMN_REASON, trial, 1, &reason));
    TRY(results_write_column(results, COLUMN_RUN, trial, 1, &store->run));
    TRY(results_write_column(results, COLUMN_RANK, trial, 1, &number));
    TRY(results_write_column(results, COLUMN_ENDED, trial, 1, &time));
    TRY(results_write_column(results, COLUMN_TRAIN_SECONDS, trial, 1, &result->train_seconds));
    TRY(results_write_column(results, COLUMN_MEASURE_SECONDS, trial, 1, &result->measure_seconds));
    return results_write_column(results, COLUMN_MESSAGE, trial, 1, message);
}

enum pes_status pes_store_write_trial(struct pes_store *store, size_t trial, const struct pes_row *row,
                                      const struct pes_train_result *result, int rank)
{
    CHECK(store->writable && trial < store->results.num_trials);
    CHECK(row->layout->row_bytes == store->results.layout->row_bytes);
    CHECK(result->outcome >= PES_OUTCOME_DONE);
    TRY(check_fence(store));
    uint8_t before;
    TRY(results_read_column(&store->results, COLUMN_STATUS, trial, 1, &before));
    if (before >= PES_OUTCOME_DONE) {
        /* A row that is replaced must not be believed while it is half written. */
        TRY(write_status(store, trial, PES_OUTCOME_RUNNING));
        TRY(sync_data(store));
    }
    TRY(results_write_rows(&store->results, trial, 1, row->bytes));
    store_linger("row");
    TRY(write_columns(store, trial, pes_row_checksum(row), result, rank));
    TRY(sync_data(store));
    store_linger("checksum");
    TRY(check_fence(store));
    TRY(write_status(store, trial, result->outcome));
    store_linger("status");
    return sync_data(store);
}

enum pes_status pes_store_read_status(struct pes_store *store, uint8_t *status, uint8_t *reason)
{
    CHECK(store->writable);
    TRY(results_read_column(&store->results, COLUMN_STATUS, 0, store->results.num_trials, status));
    return results_read_column(&store->results, COLUMN_REASON, 0, store->results.num_trials, reason);
}

enum pes_status pes_store_write_run(struct pes_store *store, int *number, const char *json)
{
    CHECK(store->writable);
    size_t length = strlen(json);
    if (length >= STORE_RUN_BYTES)
        return pes_fail(PES_INPUT, "the record of a start has %zu bytes, %d are allowed", length,
                        STORE_RUN_BYTES - 1);
    if (*number < 0) *number = store->run;
    char text[STORE_RUN_BYTES] = {0};
    memcpy(text, json, length);
    TRY(check_fence(store));
    TRY(results_write_column(&store->results, COLUMN_RUNS, (size_t)*number, 1, text));
    return sync_data(store);
}
