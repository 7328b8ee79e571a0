/* simulate.c - how long a sweep will take on so many ranks: the real policy, played through with exact
 * predictions.
 *
 * Events stand in a heap, since 10,000 ranks and a million trials are to take seconds.  Only ranks whose
 * moment has come are offered something: those that ended, those that may hold their next trial from now on,
 * and those that were refused it before. */
#include <math.h>
#include <stdlib.h>

#include "pesweep/arena.h"
#include "pesweep/schedule.h"
#include "policy.h"

struct simulated_rank {
    size_t running, held;
    double end;
    bool asks; /* stands in the list of ranks that are offered something */
};

struct event {
    double time;
    int rank;
};

struct simulation {
    struct pes_policy *policy;
    const double *seconds;
    double latency, overhead;
    struct simulated_rank *rank;
    /* A heap: the earliest first, ties by rank.  A rank has two events at most: its end and its offer. */
    struct event *heap;
    size_t num_events;
    int *asking; /* ranks, ascending once sorted */
    int num_asking;
};

/* --- events ------------------------------------------------------------------------------------------- */

static bool before(const struct event *a, const struct event *b)
{
    return a->time < b->time || (a->time <= b->time && a->rank < b->rank);
}

static void push(struct simulation *simulation, double time, int rank)
{
    struct event event = {time, rank}, *heap = simulation->heap;
    size_t at = simulation->num_events++;
    for (; at > 0 && before(&event, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = event;
}

static struct event pop(struct simulation *simulation)
{
    struct event *heap = simulation->heap, first = heap[0], last = heap[--simulation->num_events];
    size_t at = 0, count = simulation->num_events;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &last)) break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

/* --- ranks -------------------------------------------------------------------------------------------- */

static void ask(struct simulation *simulation, int rank)
{
    if (simulation->rank[rank].asks) return;
    simulation->rank[rank].asks = true;
    simulation->asking[simulation->num_asking++] = rank;
}

static void start(struct simulation *simulation, int rank, size_t trial, double now)
{
    struct simulated_rank *mine = &simulation->rank[rank];
    mine->running = trial;
    mine->held = PES_NO_TRIAL;
    mine->end = now + simulation->overhead + simulation->seconds[trial];
    pes_policy_started(simulation->policy, rank, trial, now);
    push(simulation, mine->end, rank);
    double offer = PES_MAX(pes_policy_next_offer(simulation->policy, rank), now);
    if (offer < mine->end) push(simulation, offer, rank);
}

/* A rank that was idle waits for the message, all but rank 0.  False if it was refused and asks again. */
static bool offer(struct simulation *simulation, int rank, double now)
{
    struct simulated_rank *mine = &simulation->rank[rank];
    while (mine->held == PES_NO_TRIAL) {
        bool idle = mine->running == PES_NO_TRIAL;
        mine->held = pes_policy_offer(simulation->policy, rank, now);
        if (mine->held == PES_NO_TRIAL) return idle || now < pes_policy_next_offer(simulation->policy, rank);
        if (!idle) return true;
        start(simulation, rank, mine->held, rank ? now + simulation->latency : now);
    }
    return true;
}

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void offer_all(struct simulation *simulation, double now)
{
    int kept = 0;
    qsort(simulation->asking, (size_t)simulation->num_asking, sizeof *simulation->asking, ascending);
    for (int i = 0; i < simulation->num_asking; i++) {
        int rank = simulation->asking[i];
        bool settled = !pes_policy_pending(simulation->policy) || offer(simulation, rank, now);
        simulation->rank[rank].asks = !settled;
        if (!settled) simulation->asking[kept++] = rank;
    }
    simulation->num_asking = kept;
}

/* The trial that a rank has in hand is over at `now`: it goes on with the one that it holds. */
static void end(struct simulation *simulation, int rank, double now, struct pes_makespan *makespan)
{
    struct simulated_rank *mine = &simulation->rank[rank];
    size_t trial = mine->running;
    makespan->busy_seconds += simulation->seconds[trial];
    makespan->longest = PES_MAX(makespan->longest, simulation->seconds[trial]);
    mine->running = PES_NO_TRIAL;
    pes_policy_ended(simulation->policy, rank, trial, simulation->seconds[trial]);
    if (mine->held != PES_NO_TRIAL) start(simulation, rank, mine->held, now);
}

static void play(struct simulation *simulation, int ranks, struct pes_makespan *makespan)
{
    double now = 0;
    for (int r = 0; r < ranks; r++)
        ask(simulation, r);
    offer_all(simulation, now);
    while (simulation->num_events) {
        now = simulation->heap[0].time;
        while (simulation->num_events && simulation->heap[0].time <= now) {
            int rank = pop(simulation).rank;
            const struct simulated_rank *mine = &simulation->rank[rank];
            if (mine->running != PES_NO_TRIAL && mine->end <= now) end(simulation, rank, now, makespan);
            ask(simulation, rank);
        }
        offer_all(simulation, now);
    }
    makespan->seconds = now;
    if (now > 0) makespan->efficiency = makespan->busy_seconds / (ranks * now);
}

enum pes_status pes_schedule_simulate(const double *seconds, size_t count, int ranks, bool dedicated,
                                      double latency, double overhead, struct pes_makespan *makespan)
{
    CHECK(ranks >= 1);
    *makespan = (struct pes_makespan){.efficiency = 1};
    struct simulation simulation = {.seconds = seconds, .latency = latency, .overhead = overhead};
    simulation.policy = pes_policy_create(seconds, NULL, count, ranks, dedicated);
    simulation.rank = pes_allocate((size_t)ranks, sizeof *simulation.rank);
    simulation.heap = pes_allocate(2 * (size_t)ranks + 2, sizeof *simulation.heap);
    simulation.asking = pes_allocate((size_t)ranks, sizeof *simulation.asking);
    bool complete = simulation.policy && simulation.rank && simulation.heap && simulation.asking;
    if (complete) {
        for (int r = 0; r < ranks; r++)
            simulation.rank[r] = (struct simulated_rank){.running = PES_NO_TRIAL, .held = PES_NO_TRIAL};
        play(&simulation, ranks, makespan);
    }
    pes_policy_destroy(simulation.policy);
    pes_free(simulation.rank);
    pes_free(simulation.heap);
    pes_free(simulation.asking);
    return complete ? PES_OK : PES_MEMORY;
}
