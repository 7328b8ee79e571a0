/* provenance.c - who ran what, where and with which libraries: the text of one start in /provenance/runs. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pesweep/comm.h"
#include "pesweep/linalg.h"
#include "pesweep/log.h"
#include "run.h"

/* The text has a fixed place in the file, so what can grow is cut and says so. */
#define MAX_COMMAND_BYTES 1500
#define MAX_HOSTS         48
#define MAX_DISTINCT      8

/* What each rank tells of itself. */
struct rank_facts {
    char host[64], cpu[96], isa[16], blas_core[32];
};

static void read_cpu_model(char *model, size_t bytes)
{
    snprintf(model, bytes, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[512];
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon += 1 + strspn(colon + 1, " ");
        colon[strcspn(colon, "\n")] = 0;
        snprintf(model, bytes, "%s", colon);
        break;
    }
    fclose(file);
}

/* The distinct values of one member, in order of appearance: a text if there is one, else a list. */
static json_t *distinct(const struct rank_facts *facts, int ranks, size_t offset)
{
    json_t *list = json_array();
    for (int r = 0; r < ranks; r++) {
        const char *value = (const char *)&facts[r] + offset;
        size_t i = 0;
        while (i < json_array_size(list) && strcmp(json_string_value(json_array_get(list, i)), value) != 0)
            i++;
        if (i == json_array_size(list) && i < MAX_DISTINCT) json_array_append_new(list, json_string(value));
    }
    if (json_array_size(list) != 1) return list;
    json_t *only = json_incref(json_array_get(list, 0));
    json_decref(list);
    return only;
}

/* {"node1": 64, "node2": 64}, ranks by host. */
static json_t *hosts(const struct rank_facts *facts, int ranks)
{
    json_t *object = json_object();
    json_int_t others = 0;
    for (int r = 0; r < ranks; r++) {
        json_t *count = json_object_get(object, facts[r].host);
        if (count)
            json_integer_set(count, json_integer_value(count) + 1);
        else if (json_object_size(object) < MAX_HOSTS)
            json_object_set_new(object, facts[r].host, json_integer(1));
        else
            others++;
    }
    if (others) json_object_set_new(object, "(others)", json_integer(others));
    return object;
}

static json_t *command_line(int argc, char **argv)
{
    json_t *list = json_array();
    size_t used = 0;
    json_array_append_new(list, json_string("pesweep"));
    for (int i = 0; i < argc; i++) {
        used += strlen(argv[i]);
        json_t *word = used <= MAX_COMMAND_BYTES ? json_string(argv[i]) : NULL;
        if (!word) { /* too long, or not UTF-8 */
            json_array_append_new(list, json_string("..."));
            if (used > MAX_COMMAND_BYTES) break;
            continue;
        }
        json_array_append_new(list, word);
    }
    return list;
}

static void set_environment(json_t *object, const char *key, const char *name)
{
    const char *value = getenv(name);
    if (value && *value && strlen(value) < 100) json_object_set_new(object, key, json_string(value));
}

static json_t *time_now(void)
{
    char text[32] = "";
    time_t seconds = time(NULL);
    struct tm utc;
    if (gmtime_r(&seconds, &utc)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

/* The earlier value if it is one text and another one than now. */
static const char *changed(json_t *run, const char *key, const char *now)
{
    const char *then = json_string_value(json_object_get(run, key));
    return then && strcmp(then, now) != 0 ? then : NULL;
}

void pes_run_compare_machines(const struct run *run)
{
    struct pes_reader *reader = NULL;
    if (pes_reader_open(run->output_path, &reader) != PES_OK) return;
    bool told = false;
    for (size_t r = 0; r < pes_reader_num_runs(reader) && !told; r++) {
        const char *text = pes_reader_run(reader, r);
        json_t *earlier = text ? json_loads(text, 0, NULL) : NULL;
        const char *isa = changed(earlier, "isa", pes_kernels_isa()),
                   *core = changed(earlier, "blas_core", pes_blas_core());
        told = isa || core;
        if (told)
            pes_log_warning(
                "an earlier start used %s and BLAS kernels %s, this one %s and %s: trials differ in their "
                "last bits (provenance/run tells which start made which)",
                isa ? isa : pes_kernels_isa(), core ? core : pes_blas_core(), pes_kernels_isa(),
                pes_blas_core());
        json_decref(earlier);
    }
    pes_reader_close(reader);
}

char *pes_run_describe(const struct run *run)
{
    struct rank_facts mine;
    memset(&mine, 0, sizeof mine);
    snprintf(mine.host, sizeof mine.host, "%.63s", pes_comm_host());
    read_cpu_model(mine.cpu, sizeof mine.cpu);
    snprintf(mine.isa, sizeof mine.isa, "%s", pes_kernels_isa());
    snprintf(mine.blas_core, sizeof mine.blas_core, "%s", pes_blas_core());
    int ranks = pes_comm_size();
    struct rank_facts *facts = pes_comm_rank() == 0 ? pes_allocate((size_t)ranks, sizeof *facts) : NULL;
    if (pes_comm_worst(pes_comm_rank() == 0 && !facts ? PES_MEMORY : PES_OK) != PES_OK) return NULL;
    pes_comm_gather(&mine, sizeof mine, facts);
    if (pes_comm_rank() != 0) return NULL;

    json_t *isa = distinct(facts, ranks, offsetof(struct rank_facts, isa));
    json_t *core = distinct(facts, ranks, offsetof(struct rank_facts, blas_core));
    if (json_is_array(isa))
        pes_log_warning(
            "ranks use different instruction sets, so a trial's last bits depend on where it runs; "
            "PESWEEP_ISA=avx2 makes them equal");
    if (json_is_array(core))
        pes_log_warning(
            "ranks use different BLAS kernels, so the last bits of spectra depend on where a trial runs; "
            "OPENBLAS_CORETYPE=Haswell makes them equal");
    const struct pes_run_options *options = run->options;
    json_t *object = json_pack(
        "{s:o?, s:o?, s:s, s:i, s:i, s:i, s:o?, s:o?, s:o?, s:o?, s:s, s:s, s:s, s:s, s:b, s:s}", "started",
        time_now(), "command", command_line(options->argc, options->argv), "pesweep", pes_build(), "ranks",
        ranks, "threads_per_rank", options->threads, "nodes", pes_comm_num_nodes(), "hosts",
        hosts(facts, ranks), "cpu", distinct(facts, ranks, offsetof(struct rank_facts, cpu)), "isa", isa,
        "blas_core", core, "blas", pes_blas_config(), "mpi", pes_comm_library(), "hdf5", pes_store_library(),
        "writer", run->writer == PES_WRITER_RANK0 ? "rank0" : "shared", "dedicated_scheduler",
        options->dedicated_scheduler, "precision", sizeof(real) == sizeof(double) ? "float64" : "float32");
    pes_free(facts);
    if (!object) return NULL;
    set_environment(object, "slurm_job", "SLURM_JOB_ID");
    set_environment(object, "slurm_restart_count", "SLURM_RESTART_COUNT");
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

char *pes_run_describe_end(const char *start, const struct run_tally *tally, double seconds,
                           double idle_share, enum pes_status status)
{
    json_t *object = json_loads(start, 0, NULL);
    json_t *end = json_pack("{s:o?, s:s, s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "ended", time_now(), "outcome",
                            pes_status_meaning(status), "seconds", seconds, "idle_share", idle_share,
                            "scheduler_seconds", tally->serve_seconds, "to_train", (json_int_t)tally->wanted,
                            "done", (json_int_t)tally->done, "failed", (json_int_t)tally->failed, "diverged",
                            (json_int_t)tally->diverged);
    char *text = NULL;
    if (object && end && json_object_update(object, end) == 0) text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    json_decref(end);
    return text;
}
