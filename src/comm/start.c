/* start.c - from a command line to ranks that know each other, and back.
 *
 * The launch is checked before anything is done with it: as many ranks as the launcher promised, each bound
 * to as many cores as it will have threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cores.h"
#include "launch.h"
#include "pesweep/log.h"
#include "world.h"

struct pes_world pes_world = {.size = 1, .num_nodes = 1};

static void name_host(void)
{
    if (gethostname(pes_world.host, sizeof pes_world.host - 1) != 0 || !pes_world.host[0])
        snprintf(pes_world.host, sizeof pes_world.host, "localhost");
}

/* First line of the library's own description, up to the second comma: "Open MPI v4.1.4". */
static void name_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[PES_MIN((size_t)PES_MAX(length, 0), sizeof text - 1)] = 0;
    for (char *c = text; *c; c++)
        if (*c == '\t') *c = ' ';
    text[strcspn(text, "\n,")] = 0;
    snprintf(pes_world.library, sizeof pes_world.library, "%.*s", (int)sizeof pes_world.library - 1, text);
}

static void end_all_ranks(void)
{
    pes_comm_abort(pes_status_exit_code(PES_INTERNAL));
}

/* Warns where the ranks of a node have more threads than cores; the number of nodes is found on the way. */
static enum pes_status check_binding(int threads)
{
    uint64_t mask[PES_CORE_WORDS], node_mask[PES_CORE_WORDS];
    int cores = pes_cores_mask(mask);
    enum pes_status status = PES_OK;
    if (cores < threads)
        status =
            pes_fail(PES_INPUT,
                     "rank %d on %s may use %d core%s but is to have %d threads: mpirun --map-by slot:PE=%d, "
                     "srun --cpus-per-task=%d, or fewer --threads-per-rank",
                     pes_world.rank, pes_world.host, cores, cores == 1 ? "" : "s", threads, threads, threads);
    MPI_Comm node;
    MPI_Comm_split_type(pes_world.comm, MPI_COMM_TYPE_SHARED, pes_world.rank, MPI_INFO_NULL, &node);
    int node_rank, node_size;
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_size(node, &node_size);
    MPI_Allreduce(mask, node_mask, PES_CORE_WORDS, MPI_UINT64_T, MPI_BOR, node);
    MPI_Comm_free(&node);
    int is_first = node_rank == 0;
    MPI_Allreduce(&is_first, &pes_world.num_nodes, 1, MPI_INT, MPI_SUM, pes_world.comm);
    TRY(pes_comm_worst(status));

    cores = pes_cores_count(node_mask);
    struct {
        int excess, rank;
    } mine = {node_size * threads - cores, pes_world.rank}, largest;
    MPI_Allreduce(&mine, &largest, 1, MPI_2INT, MPI_MAXLOC, pes_world.comm);
    if (largest.excess > 0 && largest.rank == pes_world.rank)
        pes_log_warning("%d rank%s with %d thread%s each share %d core%s on %s: they will take turns",
                        node_size, node_size == 1 ? "" : "s", threads, threads == 1 ? "" : "s", cores,
                        cores == 1 ? "" : "s", pes_world.host);
    return PES_OK;
}

enum pes_status pes_comm_start(int *argc, char ***argv, int threads)
{
    CHECK(!pes_world.started);
    name_host();
    struct pes_launch launch = pes_launch_read();
    /* Until MPI tells better: so that N singletons say what is wrong once, not N times. */
    pes_world.rank = launch.rank;
    if (pes_launch_check_wiring(&launch) != PES_OK) {
        /* srun may end the step with its first task: let it be the one that speaks. */
        if (launch.rank > 0) nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        return PES_INPUT;
    }

    int provided = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
        return pes_fail(PES_INTERNAL, "MPI could not be started");
    if (MPI_Comm_dup(MPI_COMM_WORLD, &pes_world.comm) != MPI_SUCCESS)
        return pes_fail(PES_INTERNAL, "MPI_COMM_WORLD could not be duplicated");
    pes_world.started = true;
    MPI_Comm_size(pes_world.comm, &pes_world.size);
    name_library();
    TRY(pes_launch_check_size(&launch, pes_world.size, pes_world.library));
    MPI_Comm_rank(pes_world.comm, &pes_world.rank);
    pes_check_set_handler(end_all_ranks);

    if (threads > 1 && provided < MPI_THREAD_FUNNELED)
        return pes_comm_worst(pes_fail(
            PES_INPUT, "%s was built without thread support: use --threads-per-rank 1", pes_world.library));
    return check_binding(threads);
}

void pes_comm_stop(void)
{
    if (!pes_world.started) return;
    pes_comm_barrier();
    pes_check_set_handler(NULL);
    MPI_Comm_free(&pes_world.comm);
    MPI_Finalize();
    pes_world.started = false;
}

int pes_comm_rank(void)
{
    return pes_world.rank;
}

int pes_comm_size(void)
{
    return pes_world.size;
}

int pes_comm_num_nodes(void)
{
    return pes_world.num_nodes;
}

const char *pes_comm_host(void)
{
    if (!pes_world.host[0]) name_host();
    return pes_world.host;
}

const char *pes_comm_library(void)
{
    if (!pes_world.library[0]) name_library();
    return pes_world.library;
}

const void *pes_comm_handle(void)
{
    return pes_world.started ? &pes_world.comm : NULL;
}

void pes_comm_abort(int exit_code)
{
    fflush(NULL);
    int running = 0;
    if (pes_world.started && MPI_Initialized(&running) == MPI_SUCCESS && running) {
        /* A launcher that hears of the end first may not pass on the last words. */
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        MPI_Abort(MPI_COMM_WORLD, exit_code);
    }
    _exit(exit_code);
}
