/* world.h - what the files of this module share: this process among the ranks. */
#ifndef PESWEEP_SRC_COMM_WORLD_H
#define PESWEEP_SRC_COMM_WORLD_H

#include <mpi.h>

#include "pesweep/comm.h"

struct pes_world {
    bool started;
    int rank, size, num_nodes;
    MPI_Comm comm; /* duplicate of MPI_COMM_WORLD, in its order */
    char host[256];
    char library[256];
};
extern struct pes_world pes_world;

#endif
