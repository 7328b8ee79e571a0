/* policy.h - which rank gets which trial, and when: one set of decisions for the run and for the simulation.
 *
 * Trials go out longest first.  A rank is given its next trial shortly before it ends the present one, so
 * that it never waits for an answer, and only if the ranks that will be free earlier find enough work without
 * it: no trial waits behind a busy rank while another rank has nothing to do.
 *
 * Trials of equal predicted cost form a class.  What finished trials took corrects the prediction of their
 * class, and, until a class has been measured, the one factor between predicted and real seconds. */
#ifndef PESWEEP_SRC_SCHEDULE_POLICY_H
#define PESWEEP_SRC_SCHEDULE_POLICY_H

#include "pesweep/base.h"

#define PES_NO_TRIAL SIZE_MAX

struct pes_policy;

/* seconds[count]: predicted cost of each trial; wanted[count]: those to hand out, NULL = all.  Rank 0 trains
 * too unless `dedicated`.  The caller owns it; NULL: no memory. */
struct pes_policy *pes_policy_create(const double *seconds, const bool *wanted, size_t count, int ranks,
                                     bool dedicated);
void pes_policy_destroy(struct pes_policy *policy);

/* The trial that would be handed out next; PES_NO_TRIAL if none is left. */
size_t pes_policy_peek(struct pes_policy *policy);
/* The trial for `rank` at time `now`, which counts as given from then on; PES_NO_TRIAL if it is to have none
 * now. */
size_t pes_policy_offer(struct pes_policy *policy, int rank, double now);
/* Nothing is left that this rank could ever be given, and it has nothing. */
bool pes_policy_finished(const struct pes_policy *policy, int rank);
/* When a busy rank without a next trial should be offered one again; infinity if never. */
double pes_policy_next_offer(const struct pes_policy *policy, int rank);

/* What happened on a rank.  progress: `fraction` of the trial's steps is done.  ended: `seconds` it took in
 * all, or 0 if that says nothing about the cost (failed, stopped). */
void pes_policy_started(struct pes_policy *policy, int rank, size_t trial, double now);
void pes_policy_progress(struct pes_policy *policy, int rank, double fraction, double now);
void pes_policy_ended(struct pes_policy *policy, int rank, size_t trial, double seconds);

/* Seconds a trial will take by what is known now; seconds until everything given out and left is done. */
double pes_policy_predicted(const struct pes_policy *policy, size_t trial);
double pes_policy_time_left(const struct pes_policy *policy, double now);
size_t pes_policy_pending(const struct pes_policy *policy); /* not yet given */
int pes_policy_num_training(const struct pes_policy *policy);
int pes_policy_num_busy(const struct pes_policy *policy);

#endif
