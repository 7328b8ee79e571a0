/* What a rank keeps in memory: a bound on the peak of a process that trains one trial. */
#include "train_fixture.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const double MIB = 1 << 20;

/* A process of its own trains the first trial; its peak resident size in bytes. */
static double peak_of_training(const char *text)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct fixture f = fixture_open(text);
        struct pes_row row = {f.layout, pes_allocate(f.layout->row_bytes, 1)};
        struct pes_train_hooks hooks = {0};
        struct pes_train_result result;
        bool done = row.bytes && pes_train_trial(f.sweep, 0, f.layout, &hooks, &row, &result) == PES_OK &&
                    result.outcome == PES_OUTCOME_DONE;
        _exit(done ? 0 : 1);
    }
    int status;
    struct rusage usage;
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 1024.0 * (double)usage.ru_maxrss;
}

/* Values, gradient and two moments; what backward needs of one micro-batch (x, n1, q k v, o, xm, n2 and h of
 * each layer); the data set. */
static double bytes_needed(const char *text)
{
    struct fixture f = fixture_open(text);
    const struct pes_trial *trial = &f.sweep->trials[0];
    struct pes_model_config model;
    struct pes_cost cost;
    size_t data_bytes;
    assert_int_equal(pes_trial_model(trial, &model), PES_OK);
    assert_int_equal(pes_sweep_cost(f.sweep, trial, &cost), PES_OK);
    assert_int_equal(pes_data_bytes(trial->config, &data_bytes), PES_OK);
    double rows = (double)pes_model_micro_batch(&model) * model.shape.T;
    double activations = rows * model.shape.L * (8.0 * model.shape.C + model.shape.F);
    double floats = 4 * (double)cost.parameters + activations;
    fixture_close(&f);
    return sizeof(real) * floats + (double)data_bytes;
}

static void expect_bound(const char *text)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* shadow memory would be counted too */
#endif
    double peak = peak_of_training(text), needed = bytes_needed(text);
    double bound = 1.5 * needed + 50 * MIB;
    print_message("peak %.1f MiB, needed %.1f MiB, bound %.1f MiB\n", peak / MIB, needed / MIB, bound / MIB);
    assert_true(peak <= bound);
}

#define LARGE_MODEL                                                                                          \
    "name: large\n"                                                                                          \
    "task: {kind: relative_distance, vocab: 1000, between: 100, side: 13, samples: 16}\n"                    \
    "model: {layers: 6, d_model: 256, heads: 16, d_ff: 512, pe: learned}\n"                                  \
    "train: {steps: 2, batch: 4}\n"

static void a_large_model_stays_within_half_as_much_again_as_it_needs(void **state)
{
    (void)state;
    expect_bound(LARGE_MODEL "measure: {checkpoints: 2, nulls: 0, ablate_heads: false}\n");
}

static void a_large_data_set_stays_within_half_as_much_again_as_it_needs(void **state)
{
    (void)state;
    expect_bound("name: data\n"
                 "task: {kind: relative_distance, vocab: 64, between: 20, side: 8, samples: 300000,\n"
                 "       test_fraction: 0.001}\n"
                 "model: {layers: 1, d_model: 16, heads: 2, d_ff: 16, pe: rope}\n"
                 "train: {steps: 2, batch: 64}\n"
                 "measure: {checkpoints: 2, nulls: 0}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_model_stays_within_half_as_much_again_as_it_needs),
        cmocka_unit_test(a_large_data_set_stays_within_half_as_much_again_as_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
