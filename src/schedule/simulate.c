/* simulate.c - how long a sweep will take on so many ranks: the real policy, played through with exact
 * predictions. */
#include <math.h>

#include "pesweep/arena.h"
#include "pesweep/schedule.h"
#include "policy.h"

struct simulated_rank {
    size_t running, held;
    double end;
};

struct simulation {
    struct pes_policy *policy;
    const double *seconds;
    double overhead;
    struct simulated_rank *rank;
};

static void start(struct simulation *simulation, int rank, size_t trial, double now)
{
    struct simulated_rank *mine = &simulation->rank[rank];
    mine->running = trial;
    mine->held = PES_NO_TRIAL;
    mine->end = now + simulation->overhead + simulation->seconds[trial];
    pes_policy_started(simulation->policy, rank, trial, now);
}

/* Gives out what the policy gives out now; a rank that was idle waits for the message, all but rank 0. */
static void offer_all(struct simulation *simulation, int ranks, double now, double latency)
{
    for (int r = 0; r < ranks && pes_policy_pending(simulation->policy); r++) {
        struct simulated_rank *mine = &simulation->rank[r];
        if (mine->held != PES_NO_TRIAL) continue;
        bool idle = mine->running == PES_NO_TRIAL;
        mine->held = pes_policy_offer(simulation->policy, r, now);
        if (mine->held == PES_NO_TRIAL || !idle) continue;
        start(simulation, r, mine->held, r ? now + latency : now);
        r--; /* it may now hold its next trial as well */
    }
}

/* The next moment at which something changes; infinity when all is done. */
static double next_event(const struct simulation *simulation, int ranks, double now)
{
    double next = INFINITY;
    for (int r = 0; r < ranks; r++) {
        const struct simulated_rank *mine = &simulation->rank[r];
        if (mine->running == PES_NO_TRIAL) continue;
        next = PES_MIN(next, mine->end);
        double offer = pes_policy_next_offer(simulation->policy, r);
        if (offer > now) next = PES_MIN(next, offer);
    }
    return next;
}

enum pes_status pes_schedule_simulate(const double *seconds, size_t count, int ranks, bool dedicated,
                                      double latency, double overhead, struct pes_makespan *makespan)
{
    CHECK(ranks >= 1);
    *makespan = (struct pes_makespan){.efficiency = 1};
    struct simulation simulation = {.seconds = seconds, .overhead = overhead};
    simulation.policy = pes_policy_create(seconds, NULL, count, ranks, dedicated);
    simulation.rank = pes_allocate((size_t)ranks, sizeof *simulation.rank);
    enum pes_status status = simulation.policy && simulation.rank ? PES_OK : PES_MEMORY;
    if (status != PES_OK) goto done;
    for (int r = 0; r < ranks; r++)
        simulation.rank[r] = (struct simulated_rank){PES_NO_TRIAL, PES_NO_TRIAL, 0};

    double now = 0;
    for (;;) {
        offer_all(&simulation, ranks, now, latency);
        double next = next_event(&simulation, ranks, now);
        if (isinf(next)) break;
        now = next;
        for (int r = 0; r < ranks; r++) {
            struct simulated_rank *mine = &simulation.rank[r];
            if (mine->running == PES_NO_TRIAL || mine->end > now) continue;
            size_t trial = mine->running;
            makespan->busy_seconds += seconds[trial];
            makespan->longest = PES_MAX(makespan->longest, seconds[trial]);
            mine->running = PES_NO_TRIAL;
            pes_policy_ended(simulation.policy, r, trial, seconds[trial]);
            if (mine->held != PES_NO_TRIAL) start(&simulation, r, mine->held, now);
        }
    }
    makespan->seconds = now;
    if (now > 0) makespan->efficiency = makespan->busy_seconds / (ranks * now);
done:
    pes_policy_destroy(simulation.policy);
    pes_free(simulation.rank);
    return status;
}
