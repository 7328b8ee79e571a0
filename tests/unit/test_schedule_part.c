/* A sweep's trials split among independent runs. */
#include "sweep_fixture.h"

#include "../../src/schedule/run.h"

#define TRIALS 23

static struct pes_sweep *load(const char *seeds)
{
    char text[256];
    snprintf(text, sizeof text, "name: parts\n" BASE "grid: {seed: %s}\n", seeds);
    return parse(text);
}

static void every_trial_belongs_to_one_part_and_parts_are_equal_but_for_one(void **state)
{
    (void)state;
    struct pes_sweep *sweep = load("0..22");
    assert_int_equal(sweep->num_trials, TRIALS);
    for (int num_parts = 1; num_parts <= TRIALS + 2; num_parts++) {
        int owners[TRIALS] = {0};
        for (int part = 1; part <= num_parts; part++) {
            bool mine[TRIALS];
            int size = 0;
            assert_int_equal(pes_run_split(sweep, part, num_parts, mine), PES_OK);
            for (int t = 0; t < TRIALS; t++) {
                owners[t] += mine[t];
                size += mine[t];
            }
            assert_in_range(size, TRIALS / num_parts, TRIALS / num_parts + (TRIALS % num_parts > 0));
        }
        for (int t = 0; t < TRIALS; t++)
            assert_int_equal(owners[t], 1);
    }
    pes_sweep_destroy(sweep);
}

static void the_place_among_the_keys_decides(void **state)
{
    (void)state;
    struct pes_sweep *sweep = load("0..22");
    bool mine[TRIALS];
    assert_int_equal(pes_run_split(sweep, 2, 5, mine), PES_OK);
    for (int t = 0; t < TRIALS; t++) {
        int smaller = 0;
        for (int other = 0; other < TRIALS; other++)
            smaller += strcmp(sweep->trials[other].key, sweep->trials[t].key) < 0;
        assert_int_equal(mine[t], smaller % 5 == 1);
    }
    pes_sweep_destroy(sweep);
}

static void the_order_of_the_sweep_file_does_not_matter(void **state)
{
    (void)state;
    struct pes_sweep *one = load("[0, 1, 2, 3, 4, 5, 6]"), *other = load("[6, 5, 4, 3, 2, 1, 0]");
    bool mine[7], theirs[7];
    assert_int_equal(pes_run_split(one, 1, 3, mine), PES_OK);
    assert_int_equal(pes_run_split(other, 1, 3, theirs), PES_OK);
    for (int t = 0; t < 7; t++)
        assert_int_equal(mine[t], theirs[6 - t]);
    pes_sweep_destroy(one);
    pes_sweep_destroy(other);
}

static void lack_of_memory_is_an_error(void **state)
{
    (void)state;
    struct pes_sweep *sweep = load("0..22");
    bool mine[TRIALS];
    pes_allocate_fail_after(1);
    enum pes_status status = pes_run_split(sweep, 1, 2, mine);
    pes_allocate_fail_after(0);
    assert_int_equal(status, PES_MEMORY);
    pes_sweep_destroy(sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_trial_belongs_to_one_part_and_parts_are_equal_but_for_one),
        cmocka_unit_test(the_place_among_the_keys_decides),
        cmocka_unit_test(the_order_of_the_sweep_file_does_not_matter),
        cmocka_unit_test(lack_of_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
