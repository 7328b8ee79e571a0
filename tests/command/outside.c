/* outside.c - a program of somebody else's: reads a sweep file with the installed library, and asks for a
 * head's spectrum. */
#include <stdio.h>

#include "pesweep/linalg.h"
#include "pesweep/sweep.h"

int main(int argc, char **argv)
{
    struct pes_sweep *sweep;
    if (argc != 2 || pes_sweep_load(argv[1], &sweep) != PES_OK) {
        fprintf(stderr, "outside: %s\n", pes_error_message());
        return 1;
    }
    printf("%s: %zu trials, pesweep %s\n", sweep->name, sweep->num_trials, pes_version());
    pes_sweep_destroy(sweep);
    return pes_linalg_self_test() == PES_OK ? 0 : 1;
}
