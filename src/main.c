/* main.c - the program: one command, one line for an error, one exit code. */
#include <stdio.h>

#include "pesweep/command.h"
#include "pesweep/comm.h"
#include "pesweep/log.h"

int main(int argc, char **argv)
{
    enum pes_status status = pes_command_dispatch(argc, argv);
    /* Ranks agree on a status, so one of them speaks for all. */
    if (status != PES_OK && pes_comm_rank() == 0)
        pes_log_error("%s", pes_error_message()[0] ? pes_error_message() : pes_status_meaning(status));
    if (fflush(stdout) != 0 && status == PES_OK) {
        pes_log_error("standard output can't be written");
        status = PES_IO;
    }
    pes_comm_stop();
    return pes_status_exit_code(status);
}
