/* launch.c - does MPI see as many ranks as the launcher started?
 *
 * A launcher and an MPI library that don't fit each other give N programs that each believe they are alone,
 * and each would write the same file.  The launcher's own count is therefore compared with MPI's. */
#include "launch.h"

#include <stdlib.h>

/* A non-negative decimal number in the environment, or -1. */
static int number_of(const char *name)
{
    const char *text = getenv(name);
    if (!text || !*text) return -1;
    char *end;
    long value = strtol(text, &end, 10);
    return *end || value < 0 || value > 100000000 ? -1 : (int)value;
}

struct pes_launch pes_launch_read(void)
{
    struct pes_launch launch = {PES_LAUNCHER_NONE, 1, 0, true};
    /* mpirun inside a SLURM job leaves the variables of its own srun behind, so it is looked for first. */
    int size = number_of("OMPI_COMM_WORLD_SIZE"), rank = number_of("OMPI_COMM_WORLD_RANK");
    if (size > 0) {
        launch.launcher = PES_LAUNCHER_OMPI;
    } else if ((size = number_of("PMI_SIZE")) > 0) {
        launch.launcher = PES_LAUNCHER_PMI;
        rank = number_of("PMI_RANK");
    } else if ((size = number_of("SLURM_STEP_NUM_TASKS")) > 0 && number_of("SLURM_PROCID") >= 0) {
        launch.launcher = PES_LAUNCHER_SRUN;
        rank = number_of("SLURM_PROCID");
        launch.wired = getenv("PMIX_RANK") || getenv("PMI_RANK") || getenv("PMI_FD");
    } else {
        return launch;
    }
    launch.size = size;
    launch.rank = rank < 0 ? 0 : rank;
    return launch;
}

enum pes_status pes_launch_check_wiring(const struct pes_launch *launch)
{
    if (launch->launcher != PES_LAUNCHER_SRUN || launch->size == 1 || launch->wired) return PES_OK;
    return pes_fail(
        PES_INPUT,
        "srun started %d tasks without a way for them to find each other: use srun --mpi=pmix (srun "
        "--mpi=list names what there is), or mpirun inside the job; for one rank, mpirun -n 1",
        launch->size);
}

enum pes_status pes_launch_check_size(const struct pes_launch *launch, int size, const char *library)
{
    if (launch->launcher == PES_LAUNCHER_NONE || launch->size == size) return PES_OK;
    if (launch->launcher == PES_LAUNCHER_SRUN)
        return pes_fail(
            PES_INPUT,
            "srun started %d tasks but %s sees %d: use srun --mpi=pmix (srun --mpi=list names what "
            "there is), or mpirun inside the job; for one rank, mpirun -n 1",
            launch->size, library, size);
    return pes_fail(
        PES_INPUT,
        "the launcher started %d ranks but %s sees %d: use the mpirun that belongs to this MPI library",
        launch->size, library, size);
}
