/* Who gets which trial: the simulation against hand-made schedules, known bounds and plain list scheduling.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "../../src/schedule/policy.h"
#include "pesweep/rng.h"
#include "pesweep/schedule.h"

static struct pes_makespan simulate(const double *seconds, size_t count, int ranks, bool dedicated)
{
    struct pes_makespan makespan;
    assert_int_equal(pes_schedule_simulate(seconds, count, ranks, dedicated, 0, 0, &makespan), PES_OK);
    return makespan;
}

static void the_order_is_longest_first_with_ties_by_number(void **state)
{
    (void)state;
    const double seconds[] = {2, 5, 1, 5, 2};
    const size_t right[] = {1, 3, 0, 4, 2};
    size_t order[5];
    assert_int_equal(pes_schedule_order(seconds, 5, order), PES_OK);
    assert_memory_equal(order, right, sizeof right);
}

static void one_rank_takes_the_sum(void **state)
{
    (void)state;
    const double seconds[] = {3, 1, 4, 1, 5};
    struct pes_makespan makespan = simulate(seconds, 5, 1, false);
    assert_true(fabs(makespan.seconds - 14) < 1e-12);
    assert_true(fabs(makespan.efficiency - 1) < 1e-12);
    assert_true(makespan.longest == 5);
}

/* Graham (1969): longest-first gives {5,3,3}, {4,3}... by hand: 5 | 4, 4+3, 5+3, 7+3 = 10. */
static void two_ranks_follow_the_schedule_made_by_hand(void **state)
{
    (void)state;
    const double seconds[] = {5000, 4000, 3000, 3000, 3000};
    assert_true(fabs(simulate(seconds, 5, 2, false).seconds - 10000) < 1e-9);
}

static void no_trials_take_no_time(void **state)
{
    (void)state;
    struct pes_makespan makespan = simulate(NULL, 0, 4, false);
    assert_true(makespan.seconds == 0 && makespan.busy_seconds == 0);
}

static void more_ranks_than_trials_take_the_longest(void **state)
{
    (void)state;
    const double seconds[] = {30, 70, 20, 10};
    struct pes_makespan makespan = simulate(seconds, 4, 9, false);
    assert_true(makespan.seconds == 70);
    assert_true(fabs(makespan.efficiency - 130.0 / (9 * 70)) < 1e-12);
}

static void a_dedicated_scheduler_trains_nothing(void **state)
{
    (void)state;
    const double seconds[] = {10, 10, 10, 10};
    assert_true(simulate(seconds, 4, 3, true).seconds == 20);
    assert_true(simulate(seconds, 4, 2, true).seconds == 40);
    /* Alone there would be nobody to train: rank 0 does. */
    assert_true(simulate(seconds, 4, 1, true).seconds == 40);
}

static void overhead_counts_for_the_clock_but_not_as_useful_time(void **state)
{
    (void)state;
    const double seconds[] = {10, 10};
    struct pes_makespan makespan;
    assert_int_equal(pes_schedule_simulate(seconds, 2, 1, false, 0, 2.5, &makespan), PES_OK);
    assert_true(makespan.seconds == 25 && makespan.busy_seconds == 20);
}

static void only_idle_ranks_wait_for_a_message(void **state)
{
    (void)state;
    /* Each of 4 ranks trains 25 equal trials and holds its next one early: the latency of 1 s is paid at the
     * start alone, and not by rank 0. */
    double seconds[100];
    for (int i = 0; i < 100; i++)
        seconds[i] = 100;
    struct pes_makespan makespan;
    assert_int_equal(pes_schedule_simulate(seconds, 100, 4, false, 1, 0, &makespan), PES_OK);
    assert_true(fabs(makespan.seconds - 2501) < 1e-9);
}

/* Plain longest-first list scheduling, the textbook's way: each trial to the rank that is free first. */
static double list_schedule(const double *seconds, size_t count, int ranks)
{
    size_t order[512];
    double free_at[64] = {0}, end = 0;
    assert_int_equal(pes_schedule_order(seconds, count, order), PES_OK);
    for (size_t i = 0; i < count; i++) {
        int first = 0;
        for (int r = 1; r < ranks; r++)
            if (free_at[r] < free_at[first]) first = r;
        free_at[first] += seconds[order[i]];
        end = PES_MAX(end, free_at[first]);
    }
    return end;
}

static void random_sweeps_end_within_five_percent_of_list_scheduling(void **state)
{
    (void)state;
    for (uint64_t instance = 0; instance < 200; instance++) {
        struct pes_stream stream = {{instance, PES_RNG_TEST, 0}, 0};
        size_t count = 20 + pes_stream_below(&stream, 400);
        int ranks = 2 + (int)pes_stream_below(&stream, 30);
        double seconds[512], total = 0, longest = 0;
        for (size_t i = 0; i < count; i++) {
            seconds[i] = 100 * exp(1.2 * pes_stream_normal(&stream));
            total += seconds[i];
            longest = PES_MAX(longest, seconds[i]);
        }
        double reference = list_schedule(seconds, count, ranks),
               made = simulate(seconds, count, ranks, false).seconds;
        assert_true(made >= PES_MAX(longest, total / ranks) - 1e-6);
        assert_true(made <= 1.05 * reference + 1e-6);
    }
}

static void the_last_trial_isnt_put_behind_a_busy_rank(void **state)
{
    (void)state;
    const double seconds[] = {100, 50, 10};
    struct pes_policy *policy = pes_policy_create(seconds, NULL, 3, 2, false);
    assert_non_null(policy);
    assert_int_equal(pes_policy_offer(policy, 0, 0), 0);
    pes_policy_started(policy, 0, 0, 0);
    assert_int_equal(pes_policy_offer(policy, 1, 0), 1);
    pes_policy_started(policy, 1, 1, 0);
    /* Rank 1 will be free at 50: rank 0 never gets trial 2 before that, rank 1 shortly before. */
    assert_true(pes_policy_offer(policy, 0, 49.5) == PES_NO_TRIAL);
    assert_true(pes_policy_offer(policy, 1, 44) == PES_NO_TRIAL);
    assert_int_equal(pes_policy_offer(policy, 1, 46), 2);
    assert_int_equal(pes_policy_pending(policy), 0);
    assert_false(pes_policy_finished(policy, 1));
    pes_policy_ended(policy, 1, 1, 50);
    pes_policy_started(policy, 1, 2, 50);
    pes_policy_ended(policy, 1, 2, 10);
    assert_true(pes_policy_finished(policy, 1));
    assert_false(pes_policy_finished(policy, 0));
    pes_policy_destroy(policy);
}

static void the_last_trial_is_left_to_the_rank_that_will_be_free_first(void **state)
{
    (void)state;
    const double seconds[] = {100, 95, 10};
    struct pes_policy *policy = pes_policy_create(seconds, NULL, 3, 2, false);
    assert_non_null(policy);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(pes_policy_offer(policy, r, 0), r);
        pes_policy_started(policy, r, (size_t)r, 0);
    }
    /* Both are about to be free, rank 1 first. */
    assert_true(pes_policy_offer(policy, 0, 94) == PES_NO_TRIAL);
    assert_int_equal(pes_policy_offer(policy, 1, 94), 2);
    pes_policy_destroy(policy);
}

static void a_rank_holds_its_next_trial_before_it_ends_the_present_one(void **state)
{
    (void)state;
    const double seconds[] = {90, 90, 90, 90, 90, 90, 90, 90};
    struct pes_policy *policy = pes_policy_create(seconds, NULL, 8, 2, false);
    assert_non_null(policy);
    assert_int_equal(pes_policy_offer(policy, 0, 0), 0);
    pes_policy_started(policy, 0, 0, 0);
    assert_int_equal(pes_policy_offer(policy, 1, 0), 1);
    /* A second one isn't given before the first has started. */
    assert_true(pes_policy_offer(policy, 1, 0) == PES_NO_TRIAL);
    pes_policy_started(policy, 1, 1, 0);
    assert_true(pes_policy_offer(policy, 1, 80) == PES_NO_TRIAL);
    assert_int_equal(pes_policy_offer(policy, 1, 82), 2);
    assert_true(pes_policy_offer(policy, 1, 83) == PES_NO_TRIAL);
    pes_policy_destroy(policy);
}

static void short_trials_are_held_from_the_start(void **state)
{
    (void)state;
    const double seconds[] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
    struct pes_policy *policy = pes_policy_create(seconds, NULL, 6, 2, false);
    assert_non_null(policy);
    assert_int_equal(pes_policy_offer(policy, 1, 0), 0);
    pes_policy_started(policy, 1, 0, 0);
    assert_int_equal(pes_policy_offer(policy, 1, 0), 1);
    pes_policy_destroy(policy);
}

static void unwanted_trials_are_never_given(void **state)
{
    (void)state;
    const double seconds[] = {1, 2, 3, 4};
    const bool wanted[] = {true, false, true, false};
    struct pes_policy *policy = pes_policy_create(seconds, wanted, 4, 1, false);
    assert_non_null(policy);
    assert_int_equal(pes_policy_pending(policy), 2);
    assert_int_equal(pes_policy_offer(policy, 0, 0), 2);
    pes_policy_started(policy, 0, 2, 0);
    pes_policy_ended(policy, 0, 2, 3);
    assert_int_equal(pes_policy_offer(policy, 0, 3), 0);
    pes_policy_started(policy, 0, 0, 3);
    assert_true(pes_policy_offer(policy, 0, 4) == PES_NO_TRIAL);
    pes_policy_destroy(policy);
}

static void measured_times_correct_the_predictions_and_the_order(void **state)
{
    (void)state;
    /* Classes of 4, 3 and 1 predicted seconds.  The first really takes 2, so until the others are measured
     * they are thought to take half as well; the second turns out to take 30. */
    const double seconds[] = {4, 4, 3, 3, 1, 1};
    struct pes_policy *policy = pes_policy_create(seconds, NULL, 6, 1, false);
    assert_non_null(policy);
    assert_int_equal(pes_policy_offer(policy, 0, 0), 0);
    pes_policy_started(policy, 0, 0, 0);
    pes_policy_ended(policy, 0, 0, 2);
    assert_true(fabs(pes_policy_predicted(policy, 1) - 2) < 1e-12);
    assert_true(fabs(pes_policy_predicted(policy, 2) - 1.5) < 1e-12);
    assert_int_equal(pes_policy_offer(policy, 0, 2), 1);
    pes_policy_started(policy, 0, 1, 2);
    pes_policy_ended(policy, 0, 1, 0.25); /* class mean 1.125, factor 2.25 / 8 */
    assert_true(fabs(pes_policy_predicted(policy, 4) - 2.25 / 8) < 1e-12);
    assert_int_equal(pes_policy_offer(policy, 0, 3), 2);
    pes_policy_started(policy, 0, 2, 3);
    pes_policy_ended(policy, 0, 2, 30);
    assert_true(pes_policy_predicted(policy, 3) == 30);
    assert_int_equal(pes_policy_peek(policy), 3);
    pes_policy_destroy(policy);
}

static void failed_trials_teach_nothing_about_the_cost(void **state)
{
    (void)state;
    const double seconds[] = {4, 4};
    struct pes_policy *policy = pes_policy_create(seconds, NULL, 2, 1, false);
    assert_non_null(policy);
    assert_int_equal(pes_policy_offer(policy, 0, 0), 0);
    pes_policy_started(policy, 0, 0, 0);
    pes_policy_ended(policy, 0, 0, 0);
    assert_true(pes_policy_predicted(policy, 1) == 4);
    pes_policy_destroy(policy);
}

static void progress_moves_the_expected_end(void **state)
{
    (void)state;
    const double seconds[] = {100, 100, 100};
    struct pes_policy *policy = pes_policy_create(seconds, NULL, 3, 2, false);
    assert_non_null(policy);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(pes_policy_offer(policy, r, 0), r);
        pes_policy_started(policy, r, (size_t)r, 0);
    }
    /* Both are expected at 100; rank 1 was resumed at 60 % and makes 10 % in 10 s, so it will end at 40. */
    pes_policy_progress(policy, 1, 0.6, 0);
    pes_policy_progress(policy, 1, 0.7, 10);
    assert_true(fabs(pes_policy_next_offer(policy, 1) - 30) < 1e-9);
    assert_true(fabs(pes_policy_next_offer(policy, 0) - 90) < 1e-9);
    /* Left: 100 pending + 90 + 30, over two ranks. */
    assert_true(fabs(pes_policy_time_left(policy, 10) - 110) < 1e-9);
    assert_true(pes_policy_offer(policy, 0, 39) == PES_NO_TRIAL);
    assert_int_equal(pes_policy_offer(policy, 1, 39), 2);
    assert_true(isinf(pes_policy_next_offer(policy, 1)));
    pes_policy_destroy(policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_is_longest_first_with_ties_by_number),
        cmocka_unit_test(one_rank_takes_the_sum),
        cmocka_unit_test(two_ranks_follow_the_schedule_made_by_hand),
        cmocka_unit_test(no_trials_take_no_time),
        cmocka_unit_test(more_ranks_than_trials_take_the_longest),
        cmocka_unit_test(a_dedicated_scheduler_trains_nothing),
        cmocka_unit_test(overhead_counts_for_the_clock_but_not_as_useful_time),
        cmocka_unit_test(only_idle_ranks_wait_for_a_message),
        cmocka_unit_test(random_sweeps_end_within_five_percent_of_list_scheduling),
        cmocka_unit_test(the_last_trial_isnt_put_behind_a_busy_rank),
        cmocka_unit_test(the_last_trial_is_left_to_the_rank_that_will_be_free_first),
        cmocka_unit_test(a_rank_holds_its_next_trial_before_it_ends_the_present_one),
        cmocka_unit_test(short_trials_are_held_from_the_start),
        cmocka_unit_test(unwanted_trials_are_never_given),
        cmocka_unit_test(measured_times_correct_the_predictions_and_the_order),
        cmocka_unit_test(failed_trials_teach_nothing_about_the_cost),
        cmocka_unit_test(progress_moves_the_expected_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
