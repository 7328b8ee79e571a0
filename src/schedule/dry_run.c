/* dry_run.c - what `run` would do, without a byte written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pesweep/comm.h"
#include "run.h"

/* Place of each trial key in the sweep: sorted for searching. */
struct key_place {
    const char *key;
    size_t trial;
};

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct key_place *)a)->key, ((const struct key_place *)b)->key);
}

/* Status of the sweep's trials in the file as it stands; trials it doesn't have are pending. */
static enum pes_status look_up(const struct run *run, uint8_t *status, size_t *foreign)
{
    size_t num_trials = run->sweep->num_trials;
    struct pes_reader *reader = NULL;
    TRY(pes_reader_open(run->output_path, &reader));
    struct key_place *places = pes_allocate(num_trials, sizeof *places);
    if (places) {
        for (size_t t = 0; t < num_trials; t++)
            places[t] = (struct key_place){run->sweep->trials[t].key, t};
        qsort(places, num_trials, sizeof *places, by_key);
        const uint8_t *stored = pes_reader_status(reader);
        for (size_t t = 0; t < pes_reader_num_trials(reader); t++) {
            struct key_place wanted = {pes_reader_key(reader, t), 0};
            const struct key_place *found = bsearch(&wanted, places, num_trials, sizeof *places, by_key);
            if (found)
                status[found->trial] = stored[t];
            else
                ++*foreign;
        }
        pes_free(places);
    }
    pes_reader_close(reader);
    return places ? PES_OK : PES_MEMORY;
}

enum pes_status pes_run_rehearse(const struct run *run)
{
    const struct pes_sweep *sweep = run->sweep;
    uint8_t *status = pes_allocate(sweep->num_trials, 1);
    if (!status) return PES_MEMORY;
    size_t foreign = 0, mine = 0, wanted = 0;
    bool exists = access(run->output_path, F_OK) == 0;
    enum pes_status result = exists ? look_up(run, status, &foreign) : PES_OK;
    double seconds = 0;
    size_t memory = 0;
    for (size_t t = 0; result == PES_OK && t < sweep->num_trials; t++) {
        struct pes_cost cost;
        mine += run->mine[t];
        if (!run->mine[t] || !pes_run_wants(run->options->retry, status[t])) continue;
        result = pes_sweep_cost(sweep, &sweep->trials[t], &cost);
        seconds += cost.seconds;
        memory = PES_MAX(memory, cost.memory_bytes);
        wanted++;
    }
    pes_free(status);
    TRY(result);
    printf(
        "%s: %zu of %zu trials to train, about %.3g rank-seconds, on %d rank%s x %d thread%s on %d node%s\n",
        sweep->name, wanted, mine, seconds, pes_comm_size(), pes_comm_size() == 1 ? "" : "s",
        run->options->threads, run->options->threads == 1 ? "" : "s", pes_comm_num_nodes(),
        pes_comm_num_nodes() == 1 ? "" : "s");
    if (foreign)
        printf("%s has %zu trial%s that this sweep doesn't have\n", run->output_path, foreign,
               foreign == 1 ? "" : "s");
    printf("results %s %s (%.3g MB), rows written by %s; %.3g MB of memory per rank\n",
           exists ? "go on in" : "go to the new file", run->output_path,
           (double)pes_store_file_bytes(sweep, run->layout) / 1e6,
           run->writer == PES_WRITER_RANK0 ? "rank 0" : "every rank", (double)memory / 1e6);
    printf("dry run: nothing was written\n");
    return PES_OK;
}
