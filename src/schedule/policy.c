/* policy.c - longest first, the next trial given in time, none put behind a busy rank while another is free.
 *
 * Invariant: the trials of class c not yet given are order[class.next .. class.end), in ascending number. */
#include "policy.h"

#include <math.h>
#include <stdlib.h>

#include "pesweep/arena.h"
#include "pesweep/schedule.h"

/* A rank is given its next trial this long before its expected end: seconds, or a share of the trial. */
#define LEAD_SECONDS 1.0
#define LEAD_SHARE   0.1

struct class
{
    double seconds; /* predicted before anything was measured */
    size_t next, end;
    double measured_sum;
    size_t num_measured;
    bool listed; /* stands in the list of measured classes */
};

struct rank {
    size_t running, held; /* PES_NO_TRIAL = none */
    double started, predicted;
    /* The first report of progress, and the end that the latest one implies; NaN = none yet. */
    double first_fraction, first_time, end_by_progress;
};

struct pes_policy {
    size_t count, num_classes, pending;
    struct class *classes; /* longest first */
    size_t *order;         /* trials, class by class */
    size_t *class_of;      /* [count] */
    size_t *measured;      /* classes that have been measured and have trials left */
    size_t num_listed;
    size_t first;                       /* classes before this one are empty */
    double predicted_sum, measured_sum; /* over finished trials */
    int ranks, num_training;
    bool dedicated;
    struct rank *rank;
};

static bool trains(const struct pes_policy *policy, int rank)
{
    return rank > 0 || !policy->dedicated;
}

struct sort_key {
    double seconds;
    size_t trial;
};

static int longest_first(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    if (x->seconds > y->seconds) return -1;
    if (x->seconds < y->seconds) return 1;
    return x->trial < y->trial ? -1 : x->trial > y->trial;
}

static bool sort_longest_first(const double *seconds, size_t count, size_t *order)
{
    struct sort_key *keys = pes_allocate(count, sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct sort_key){seconds[i], i};
    qsort(keys, count, sizeof *keys, longest_first);
    for (size_t i = 0; i < count; i++)
        order[i] = keys[i].trial;
    pes_free(keys);
    return true;
}

enum pes_status pes_schedule_order(const double *seconds, size_t count, size_t *order)
{
    return sort_longest_first(seconds, count, order) ? PES_OK : PES_MEMORY;
}

struct pes_policy *pes_policy_create(const double *seconds, const bool *wanted, size_t count, int ranks,
                                     bool dedicated)
{
    CHECK(ranks >= 1);
    struct pes_policy *policy = pes_allocate(1, sizeof *policy);
    if (!policy) return NULL;
    policy->count = count;
    policy->ranks = ranks;
    policy->dedicated = dedicated && ranks > 1;
    policy->num_training = ranks - (policy->dedicated ? 1 : 0);
    policy->classes = pes_allocate(count, sizeof *policy->classes);
    policy->order = pes_allocate(count, sizeof *policy->order);
    policy->class_of = pes_allocate(count, sizeof *policy->class_of);
    policy->measured = pes_allocate(count, sizeof *policy->measured);
    policy->rank = pes_allocate((size_t)ranks, sizeof *policy->rank);
    if (!policy->classes || !policy->order || !policy->class_of || !policy->measured || !policy->rank ||
        !sort_longest_first(seconds, count, policy->order)) {
        pes_policy_destroy(policy);
        return NULL;
    }
    for (int r = 0; r < ranks; r++)
        policy->rank[r] = (struct rank){.running = PES_NO_TRIAL, .held = PES_NO_TRIAL};
    /* Unwanted trials are squeezed out in place: reading is never behind writing. */
    double last = NAN;
    for (size_t i = 0; i < count; i++) {
        size_t trial = policy->order[i];
        if (seconds[trial] != last)
            policy->classes[policy->num_classes++] =
                (struct class){.seconds = seconds[trial], .next = policy->pending, .end = policy->pending};
        last = seconds[trial];
        policy->class_of[trial] = policy->num_classes - 1;
        if (wanted && !wanted[trial]) continue;
        policy->order[policy->pending++] = trial;
        policy->classes[policy->num_classes - 1].end = policy->pending;
    }
    return policy;
}

void pes_policy_destroy(struct pes_policy *policy)
{
    if (!policy) return;
    pes_free(policy->classes);
    pes_free(policy->order);
    pes_free(policy->class_of);
    pes_free(policy->measured);
    pes_free(policy->rank);
    pes_free(policy);
}

static double predicted_of_class(const struct pes_policy *policy, const struct class *class)
{
    if (class->num_measured) return class->measured_sum / (double)class->num_measured;
    return policy->predicted_sum > 0 ? class->seconds * (policy->measured_sum / policy->predicted_sum)
                                     : class->seconds;
}

double pes_policy_predicted(const struct pes_policy *policy, size_t trial)
{
    CHECK(trial < policy->count);
    return predicted_of_class(policy, &policy->classes[policy->class_of[trial]]);
}

/* The class of the longest trial left.  Classes not yet measured share one factor and so keep their order. */
static struct class *longest_class(struct pes_policy *policy)
{
    struct class *best = NULL;
    while (policy->first < policy->num_classes &&
           policy->classes[policy->first].next == policy->classes[policy->first].end)
        policy->first++;
    for (size_t c = policy->first; c < policy->num_classes && !best; c++) {
        struct class *class = &policy->classes[c];
        if (class->next < class->end && !class->num_measured) best = class;
    }
    size_t kept = 0;
    for (size_t i = 0; i < policy->num_listed; i++) {
        struct class *class = &policy->classes[policy->measured[i]];
        if (class->next == class->end) {
            class->listed = false;
            continue;
        }
        policy->measured[kept++] = policy->measured[i];
        double difference = best ? predicted_of_class(policy, class) - predicted_of_class(policy, best) : 1;
        if (difference > 0 || (difference == 0 && class < best)) best = class;
    }
    policy->num_listed = kept;
    return best;
}

size_t pes_policy_peek(struct pes_policy *policy)
{
    struct class *class = longest_class(policy);
    return class ? policy->order[class->next] : PES_NO_TRIAL;
}

/* When the rank will have done all it has been given. */
static double free_at(const struct pes_policy *policy, const struct rank *rank, double now)
{
    double end = now;
    if (rank->running != PES_NO_TRIAL) {
        double expected =
            isnan(rank->end_by_progress) ? rank->started + rank->predicted : rank->end_by_progress;
        end = PES_MAX(now, expected);
    }
    if (rank->held != PES_NO_TRIAL) end += pes_policy_predicted(policy, rank->held);
    return end;
}

static bool has_nothing(const struct rank *rank)
{
    return rank->running == PES_NO_TRIAL && rank->held == PES_NO_TRIAL;
}

static double lead(const struct rank *rank)
{
    return PES_MAX(LEAD_SECONDS, LEAD_SHARE * rank->predicted);
}

double pes_policy_next_offer(const struct pes_policy *policy, int rank)
{
    const struct rank *mine = &policy->rank[rank];
    if (!policy->pending || mine->running == PES_NO_TRIAL || mine->held != PES_NO_TRIAL) return INFINITY;
    return free_at(policy, mine, -INFINITY) - lead(mine);
}

static bool may_hold(const struct pes_policy *policy, int rank, double now)
{
    const struct rank *mine = &policy->rank[rank];
    if (now < pes_policy_next_offer(policy, rank)) return false;
    /* Ranks that will want a trial before this one does; enough must be left for them. */
    if (policy->pending >= (size_t)policy->ranks) return true;
    size_t ahead = 0;
    double mine_free = free_at(policy, mine, now);
    for (int r = 0; r < policy->ranks && ahead < policy->pending; r++) {
        const struct rank *other = &policy->rank[r];
        if (r == rank || !trains(policy, r) || other->held != PES_NO_TRIAL) continue;
        double other_free = free_at(policy, other, now);
        if (other_free < mine_free || (other_free <= mine_free && r < rank)) ahead++;
    }
    return policy->pending > ahead;
}

size_t pes_policy_offer(struct pes_policy *policy, int rank, double now)
{
    CHECK(rank >= 0 && rank < policy->ranks);
    struct rank *mine = &policy->rank[rank];
    if (!trains(policy, rank) || mine->held != PES_NO_TRIAL || !policy->pending) return PES_NO_TRIAL;
    if (mine->running != PES_NO_TRIAL && !may_hold(policy, rank, now)) return PES_NO_TRIAL;
    struct class *class = longest_class(policy);
    mine->held = policy->order[class->next++];
    policy->pending--;
    return mine->held;
}

bool pes_policy_finished(const struct pes_policy *policy, int rank)
{
    return !trains(policy, rank) || (!policy->pending && has_nothing(&policy->rank[rank]));
}

void pes_policy_started(struct pes_policy *policy, int rank, size_t trial, double now)
{
    struct rank *mine = &policy->rank[rank];
    CHECK(mine->held == trial && mine->running == PES_NO_TRIAL);
    *mine = (struct rank){.running = trial,
                          .held = PES_NO_TRIAL,
                          .started = now,
                          .predicted = pes_policy_predicted(policy, trial),
                          .first_fraction = NAN,
                          .first_time = NAN,
                          .end_by_progress = NAN};
}

void pes_policy_progress(struct pes_policy *policy, int rank, double fraction, double now)
{
    struct rank *mine = &policy->rank[rank];
    if (mine->running == PES_NO_TRIAL) return;
    /* A resumed trial starts in the middle, so only what was seen since counts. */
    if (isnan(mine->first_fraction)) {
        mine->first_fraction = fraction;
        mine->first_time = now;
    } else if (fraction > mine->first_fraction && now > mine->first_time) {
        double rate = (fraction - mine->first_fraction) / (now - mine->first_time);
        mine->end_by_progress = now + (1 - fraction) / rate;
    }
}

void pes_policy_ended(struct pes_policy *policy, int rank, size_t trial, double seconds)
{
    struct rank *mine = &policy->rank[rank];
    CHECK(mine->running == trial);
    mine->running = PES_NO_TRIAL;
    if (!(seconds > 0)) return;
    size_t c = policy->class_of[trial];
    struct class *class = &policy->classes[c];
    class->measured_sum += seconds;
    class->num_measured++;
    policy->measured_sum += seconds;
    policy->predicted_sum += class->seconds;
    if (!class->listed && class->next < class->end) {
        class->listed = true;
        policy->measured[policy->num_listed++] = c;
    }
}

double pes_policy_time_left(const struct pes_policy *policy, double now)
{
    double total = 0, longest = 0;
    for (size_t c = policy->first; c < policy->num_classes; c++) {
        const struct class *class = &policy->classes[c];
        if (class->next == class->end) continue;
        double seconds = predicted_of_class(policy, class);
        total += seconds * (double)(class->end - class->next);
        longest = PES_MAX(longest, seconds);
    }
    for (int r = 0; r < policy->ranks; r++) {
        double left = free_at(policy, &policy->rank[r], now) - now;
        total += left;
        longest = PES_MAX(longest, left);
    }
    return PES_MAX(longest, total / policy->num_training);
}

size_t pes_policy_pending(const struct pes_policy *policy)
{
    return policy->pending;
}

int pes_policy_num_training(const struct pes_policy *policy)
{
    return policy->num_training;
}

int pes_policy_num_busy(const struct pes_policy *policy)
{
    int busy = 0;
    for (int r = 0; r < policy->ranks; r++)
        busy += policy->rank[r].running != PES_NO_TRIAL;
    return busy;
}
