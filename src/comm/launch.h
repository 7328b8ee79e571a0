/* launch.h - what the launcher promised, read from the environment it leaves. */
#ifndef PESWEEP_SRC_COMM_LAUNCH_H
#define PESWEEP_SRC_COMM_LAUNCH_H

#include "pesweep/base.h"

enum pes_launcher {
    PES_LAUNCHER_NONE, /* started by hand: one rank */
    PES_LAUNCHER_OMPI, /* mpirun of Open MPI */
    PES_LAUNCHER_PMI,  /* mpiexec of MPICH and its relatives, or srun --mpi=pmi2 */
    PES_LAUNCHER_SRUN  /* srun; `wired` tells whether it offered a way for the ranks to meet */
};

struct pes_launch {
    enum pes_launcher launcher;
    int size, rank; /* promised; 1 and 0 without a launcher */
    bool wired;
};

struct pes_launch pes_launch_read(void);

/* Before MPI_Init: PES_INPUT if the ranks can't meet, since MPI_Init would start singletons or end the
 * process. */
enum pes_status pes_launch_check_wiring(const struct pes_launch *launch);

/* After MPI_Init: PES_INPUT, with the repair, if MPI has fewer or more ranks than promised. */
enum pes_status pes_launch_check_size(const struct pes_launch *launch, int size, const char *library);

#endif
