/* doctor.c - `pesweep doctor`: is this installation, this launch and this folder fit for a run?
 *
 * The write test is a small sweep's results file, written for two seconds by all ranks and read back: what a
 * run does, without the training. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "help.h"
#include "options.h"
#include "pesweep/command.h"
#include "pesweep/comm.h"
#include "pesweep/kernels.h"
#include "pesweep/linalg.h"
#include "pesweep/log.h"
#include "pesweep/store.h"
#include "pesweep/text.h"

#define WRITE_SECONDS 2.0

struct rank_facts {
    char host[64], isa[16], core[32];
    int32_t cores;
};

/* Rank 0's findings: said as they come, or kept for one JSON object. */
static struct {
    bool json;
    json_t *facts;
} report;

static void keep(const char *name, json_t *value)
{
    if (report.facts)
        json_object_set_new(report.facts, name, value);
    else
        json_decref(value);
}

/* A line of text, unless JSON is wanted. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    if (report.json) return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}

static void keep_ranks(const struct rank_facts *facts, int ranks)
{
    json_t *list = json_array();
    for (int r = 0; r < ranks; r++)
        json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:s}", "host", facts[r].host, "cores",
                                              (int)facts[r].cores, "kernels", facts[r].isa, "blas_kernels",
                                              facts[r].core));
    keep("ranks", list);
}

static void print_ranks(const struct rank_facts *facts, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        /* Equal neighbours share a line. */
        int last = r;
        while (last + 1 < ranks && memcmp(&facts[last + 1], &facts[r], sizeof *facts) == 0)
            last++;
        if (last > r)
            say("ranks %d-%d", r, last);
        else
            say("rank %d", r);
        say(" on %s: may use %d core%s each, kernels %s, BLAS kernels %s\n", facts[r].host, facts[r].cores,
            facts[r].cores == 1 ? "" : "s", facts[r].isa, facts[r].core);
        r = last;
    }
}

static enum pes_status describe(void)
{
    struct rank_facts mine;
    memset(&mine, 0, sizeof mine);
    snprintf(mine.host, sizeof mine.host, "%.63s", pes_comm_host());
    snprintf(mine.isa, sizeof mine.isa, "%s", pes_kernels_isa());
    snprintf(mine.core, sizeof mine.core, "%s", pes_blas_core());
    mine.cores = pes_cores_allowed();
    bool root = pes_comm_rank() == 0;
    int ranks = pes_comm_size();
    struct rank_facts *facts = root ? pes_allocate((size_t)ranks, sizeof *facts) : NULL;
    TRY(pes_comm_worst(root && !facts ? PES_MEMORY : PES_OK));
    pes_comm_gather(&mine, sizeof mine, facts);
    if (root) {
        say("pesweep %s, %s\n", pes_build(), sizeof(real) == sizeof(double) ? "float64" : "float32");
        say("MPI: %s; %d rank%s on %d node%s\n", pes_comm_library(), ranks, ranks == 1 ? "" : "s",
            pes_comm_num_nodes(), pes_comm_num_nodes() == 1 ? "" : "s");
        say("HDF5: %s\n", pes_store_library());
        say("BLAS: %s\n", pes_blas_config());
        print_ranks(facts, ranks);
        keep("pesweep", json_string(pes_build()));
        keep("precision", json_string(sizeof(real) == sizeof(double) ? "float64" : "float32"));
        keep("mpi", json_string(pes_comm_library()));
        keep("nodes", json_integer(pes_comm_num_nodes()));
        keep("hdf5", json_string(pes_store_library()));
        keep("blas", json_string(pes_blas_config()));
        keep_ranks(facts, ranks);
    }
    pes_free(facts);
    return PES_OK;
}

/* One trial per rank, its weights stored, so that rows aren't tiny. */
static enum pes_status make_sweep(struct pes_sweep **sweep)
{
    struct pes_text text = {0};
    pes_text_append(&text,
                    "name: doctor\n"
                    "task: {kind: count}\n"
                    "model: {layers: 1, d_model: 32, heads: 2, d_ff: 64}\n"
                    "train: {steps: 1, batch: 1}\n"
                    "grid: {seed: 0..%d}\n"
                    "store: {weights: final}\n",
                    pes_comm_size() - 1);
    enum pes_status status =
        text.failed ? PES_MEMORY : pes_sweep_parse("doctor", pes_text_get(&text), text.length, sweep);
    pes_text_destroy(&text);
    return status;
}

/* Writes this rank's trial again and again; *count rows. */
static enum pes_status write_rows(struct pes_store *store, enum pes_writer writer,
                                  const struct pes_layout *layout, int64_t *count)
{
    *count = 0;
    if (writer == PES_WRITER_RANK0 && pes_comm_rank() != 0) return PES_OK;
    struct pes_row row = {layout, pes_allocate(layout->row_bytes, 1)};
    if (!row.bytes) return PES_MEMORY;
    pes_row_clear(&row);
    const struct pes_train_result result = {.outcome = PES_OUTCOME_DONE, .steps = 1};
    enum pes_status status = PES_OK;
    for (double end = pes_clock() + WRITE_SECONDS; status == PES_OK && pes_clock() < end; ++*count)
        status = pes_store_write_trial(store, (size_t)pes_comm_rank(), &row, &result, pes_comm_rank());
    pes_free(row.bytes);
    return status;
}

/* Rank 0: every row that was written is there, whole. */
static enum pes_status read_back(const char *path, int rows)
{
    struct pes_reader *reader = NULL;
    TRY(pes_reader_open(path, &reader));
    enum pes_status status = PES_OK;
    for (int r = 0; r < rows && status == PES_OK; r++) {
        uint64_t stored = 0, computed = 1;
        if (pes_reader_status(reader)[r] != PES_OUTCOME_DONE)
            status = pes_fail(PES_IO, "%s: the row of rank %d didn't arrive", path, r);
        else if ((status = pes_reader_checksum(reader, (size_t)r, &stored, &computed)) == PES_OK &&
                 stored != computed)
            status = pes_fail(PES_IO, "%s: the row of rank %d was damaged", path, r);
    }
    pes_reader_close(reader);
    return status;
}

/* Rank 0, while it holds the lock of `path`: is another process refused? */
static bool lock_holds(const char *path)
{
    char name[4096 + 16];
    snprintf(name, sizeof name, "%s.lock", path);
    pid_t child = fork();
    if (child == 0) {
        int file = open(name, O_RDWR);
        _exit(file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 ? 1 : 0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void remove_files(const char *path)
{
    static const char *const endings[] = {"", ".lock", ".part"};
    for (size_t i = 0; i < PES_COUNT(endings); i++) {
        char name[4096 + 16];
        snprintf(name, sizeof name, "%s%s", path, endings[i]);
        unlink(name);
    }
}

static enum pes_status test_writing(const char *path, const struct pes_sweep *sweep,
                                    const struct pes_layout *layout)
{
    bool root = pes_comm_rank() == 0;
    const char *reason = "";
    int32_t writer = root ? (int32_t)pes_store_choose_writer(path, pes_comm_num_nodes(), &reason) : 0;
    pes_comm_broadcast(&writer, sizeof writer);
    TRY(pes_comm_worst(root ? pes_store_prepare(path, sweep, layout) : PES_OK));
    struct pes_store *store = NULL;
    TRY(pes_comm_worst(pes_store_open(path, sweep, layout, (enum pes_writer)writer, &store)));
    bool locks = root && lock_holds(path);
    keep("locks", json_boolean(locks));
    if (locks)
        say("locks: a second run on the same file is refused\n");
    else if (root)
        pes_log_warning("locks don't work in this folder: start only one run on a results file at a time");
    int64_t count = 0;
    pes_comm_barrier();
    enum pes_status status = pes_comm_worst(write_rows(store, (enum pes_writer)writer, layout, &count));
    enum pes_status closed = pes_comm_worst(pes_store_close(store));
    if (status == PES_OK) status = closed;
    int64_t *counts = root ? pes_allocate((size_t)pes_comm_size(), sizeof *counts) : NULL;
    TRY(pes_comm_worst(root && !counts ? PES_MEMORY : status));
    pes_comm_gather(&count, sizeof count, counts);
    if (root) {
        double rows = 0;
        for (int r = 0; r < pes_comm_size(); r++)
            rows += (double)counts[r];
        status = read_back(path, writer == PES_WRITER_RANK0 ? 1 : pes_comm_size());
        keep("writer", json_string(writer == PES_WRITER_RANK0 ? "rank0" : "shared"));
        keep("writer_reason", json_string(reason));
        keep("rows_per_second", json_real(rows / WRITE_SECONDS));
        keep("row_bytes", json_integer((json_int_t)layout->row_bytes));
        if (status == PES_OK)
            say("writing: %.0f rows/s of %zu bytes, each made durable, by %s (%s)\n", rows / WRITE_SECONDS,
                layout->row_bytes, writer == PES_WRITER_RANK0 ? "rank 0 alone" : "every rank", reason);
    }
    pes_free(counts);
    return pes_comm_worst(status);
}

static enum pes_status examine(const char *folder)
{
    bool root = pes_comm_rank() == 0;
    TRY(pes_comm_agree(pes_build(), strlen(pes_build()), "different builds of pesweep"));
    TRY(describe());
    pes_blas_set_threads(1);
    TRY(pes_comm_worst(pes_linalg_self_test()));
    if (root) say("BLAS and LAPACK compute rightly\n");

    char path[4096];
    if (root)
        snprintf(path, sizeof path, "%.3800s/pesweep-doctor-%.64s-%ld.h5", folder, pes_comm_host(),
                 (long)getpid());
    pes_comm_broadcast(path, sizeof path);
    struct pes_sweep *sweep = NULL;
    struct pes_layout *layout = NULL;
    struct pes_arena *arena = pes_arena_create();
    enum pes_status status = arena ? make_sweep(&sweep) : PES_MEMORY;
    if (status == PES_OK) status = pes_train_layout(sweep, arena, &layout);
    status = pes_comm_worst(status);
    if (status == PES_OK) {
        status = test_writing(path, sweep, layout);
        if (root) remove_files(path);
    }
    pes_arena_destroy(arena);
    pes_sweep_destroy(sweep);
    if (status == PES_OK && root) say("fit for a run\n");
    keep("fit", json_boolean(status == PES_OK));
    if (report.facts) {
        enum pes_status printed = pes_help_print_json(stdout, report.facts);
        report.facts = NULL;
        if (status == PES_OK) status = printed;
    }
    return status;
}

static enum pes_status run(int argc, char **argv)
{
    const char *folder = ".";
    int64_t threads = 1;
    const struct pes_option options[] = {
        {"--threads-per-rank", "-t", PES_OPTION_INT, &threads, 1, 1024, NULL},
        {"--json", NULL, PES_OPTION_FLAG, &report.json, 0, 0, NULL},
    };
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &folder, 0, 1, "one folder"));
    pes_signals_install();
    TRY(pes_comm_start(&argc, &argv, (int)threads));
    if (report.json && pes_comm_rank() == 0) report.facts = json_object();
    return examine(folder);
}

const struct pes_command pes_command_doctor = {
    .name = "doctor",
    .usage = "[mpirun -n N] pesweep doctor [FOLDER] [--threads-per-rank N]",
    .summary = "check the installation, the launch, and writing to the folder of the results",
    .help =
        "  FOLDER                      where results will go (default: the current one)\n"
        "  -t, --threads-per-rank N    check that every rank is bound to as many cores\n"
        "      --json                  the findings as JSON\n"
        "\nStart it the way the run will be started. It writes for two seconds and removes what it wrote.\n",
    .run = run,
};
