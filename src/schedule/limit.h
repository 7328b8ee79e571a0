/* limit.h - when this job must be over. */
#ifndef PESWEEP_SRC_SCHEDULE_LIMIT_H
#define PESWEEP_SRC_SCHEDULE_LIMIT_H

#include "pesweep/base.h"

/* Seconds until SLURM ends this job, asked for once (SLURM_JOB_END_TIME, else squeue); infinity outside a
 * job, without a limit, or if SLURM doesn't answer, of which a warning is given.  One rank asks for all. */
double pes_limit_of_job(void);

/* Seconds before the limit at which trials are to be left, so that there is time to save and to close. */
double pes_limit_margin(double seconds_left);

#endif
