/* analysis_fixture.h - results files whose numbers a test makes up. */
#ifndef PESWEEP_TESTS_ANALYSIS_FIXTURE_H
#define PESWEEP_TESTS_ANALYSIS_FIXTURE_H

#include "analysis_support.h"
#include "test_folder.h"

#include "pesweep/store.h"
#include "pesweep/study.h"

/* Fills a trial's row and says how the trial ended; PENDING leaves it unwritten. */
typedef enum pes_outcome fill_row(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row);

static inline void make_study(const char *path, const char *yaml, fill_row *fill)
{
    struct pes_sweep *sweep;
    struct pes_layout *layout;
    struct pes_store *store;
    assert_ok(pes_sweep_parse("study.yaml", yaml, strlen(yaml), &sweep));
    struct pes_arena *arena = pes_arena_create();
    assert_non_null(arena);
    assert_ok(pes_train_layout(sweep, arena, &layout));
    assert_ok(pes_store_prepare(path, sweep, layout));
    assert_ok(pes_store_open(path, sweep, layout, PES_WRITER_SHARED, &store));
    struct pes_row row = {layout, pes_arena_take(arena, layout->row_bytes, 1)};
    assert_non_null(row.bytes);
    for (size_t t = 0; t < sweep->num_trials; t++) {
        pes_row_clear(&row);
        struct pes_train_result result = {.steps = pes_config_int(sweep->trials[t].config, "train.steps")};
        result.outcome = fill(sweep, t, &row);
        if (result.outcome != PES_OUTCOME_PENDING)
            assert_ok(pes_store_write_trial(store, t, &row, &result, 0));
    }
    assert_ok(pes_store_close(store));
    pes_arena_destroy(arena);
    pes_sweep_destroy(sweep);
}

static inline const char *choice(const struct pes_sweep *sweep, size_t trial, const char *path)
{
    return pes_config_text(sweep->trials[trial].config, path);
}

static inline int64_t seed_of(const struct pes_sweep *sweep, size_t trial)
{
    return pes_config_int(sweep->trials[trial].config, "train.seed");
}

/* An accuracy curve that rises from 0 to `top` at `half` steps in the middle. */
static inline void put_curve(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row,
                             double top, double half)
{
    int64_t steps[4096];
    size_t n = pes_trial_evaluations(sweep, &sweep->trials[trial], NULL);
    assert_true(n <= PES_COUNT(steps));
    pes_trial_evaluations(sweep, &sweep->trials[trial], steps);
    for (size_t i = 0; i < n; i++) {
        double accuracy = top / (1 + exp(-8 * ((double)steps[i] - half) / half));
        pes_row_put(row, "curves", "evaluation_step", &i, (double)steps[i]);
        pes_row_put(row, "curves", "test_accuracy", &i, accuracy);
        pes_row_put(row, "curves", "test_loss", &i, 3 * (1 - accuracy));
    }
    pes_row_put(row, "trials", "test_accuracy", NULL, top);
    pes_row_put(row, "trials", "test_loss", NULL, 3 * (1 - top));
}

#endif
