/* train_trained.h - a trained trial with its parameters, and effects of interventions worked out by whole
 * passes. */
#ifndef PESWEEP_TESTS_TRAIN_TRAINED_H
#define PESWEEP_TESTS_TRAIN_TRAINED_H

#include "train_fixture.h"

/* A trained trial: its row and the parameters that the final measures saw. */
struct trained {
    struct fixture f;
    struct pes_row row;
    struct caller caller;
    const struct pes_config *config;
    struct pes_model_config model_config;
    struct pes_model *model;
    struct pes_workspace *workspace;
    struct pes_data *data;
    struct pes_batch batch; /* the first `sequences` of the test set */
    int sequences, T, L, H;
    const real *parameters;
};

static inline struct trained train_one(const char *text, int sequences)
{
    struct trained t = {.f = fixture_open(text)};
    struct pes_train_result result;
    t.row = fixture_row(&t.f);
    struct caller counting = {0};
    assert_int_equal(train_with(&t.f, 0, &counting, &t.row, &result), PES_OK);
    assert_int_equal(result.outcome, PES_OUTCOME_DONE);
    /* Stopped within the last family, the state has the trained parameters. */
    struct pes_row again = fixture_row(&t.f);
    t.caller = (struct caller){.at = counting.ticks, .then = PES_TICK_STOP};
    assert_int_equal(train_with(&t.f, 0, &t.caller, &again, &result), PES_STOPPED);
    t.parameters = t.caller.saved.parameters;
    t.config = t.f.sweep->trials[0].config;
    assert_int_equal(pes_trial_model(&t.f.sweep->trials[0], &t.model_config), PES_OK);
    assert_int_equal(pes_model_create(&t.model_config, t.f.arena, &t.model), PES_OK);
    assert_int_equal(pes_workspace_create(t.model, sequences, false, t.f.arena, &t.workspace), PES_OK);
    assert_int_equal(pes_data_open(t.config, t.f.arena, &t.data), PES_OK);
    assert_int_equal(pes_data_test_batch(t.data, 0, sequences, t.f.arena, &t.batch), PES_OK);
    t.sequences = sequences, t.T = t.batch.T, t.L = t.model_config.shape.L, t.H = t.model_config.shape.H;
    return t;
}

static inline void close_trained(struct trained *t)
{
    pes_data_close(t->data);
    caller_forget(&t->caller);
    fixture_close(&t->f);
}

static inline void assert_close(double a, double b, double tolerance)
{
    if (isnan(a) && isnan(b)) return;
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.9g is not %.9g", a, b);
}

struct outcome {
    uint8_t *correct;
    double *loss;
};

static inline struct outcome run_with(const struct trained *t, const struct pes_batch *batch,
                                      const struct pes_intervention *intervention)
{
    size_t rows = (size_t)batch->B * (t->model_config.objective == PES_OBJECTIVE_LM ? (size_t)t->T : 1);
    struct outcome out = {pes_arena_take(t->f.arena, rows, 1),
                          pes_arena_take(t->f.arena, rows, sizeof(double))};
    assert_true(out.correct && out.loss);
    struct pes_pass pass = {.row_correct = out.correct, .row_loss = out.loss};
    struct pes_loss loss = {0};
    struct pes_workspace *workspace;
    assert_int_equal(pes_workspace_create(t->model, batch->B, false, t->f.arena, &workspace), PES_OK);
    pes_model_prepare(t->model, workspace, t->parameters, intervention);
    pes_model_run(t->model, workspace, batch, &pass, &loss);
    return out;
}

struct effect {
    double drop, drop_error, loss_change, loss_change_error;
};

/* Mean over labels; error of a ratio of sums with the sequence as the unit, by its residuals. */
static inline struct effect compare(const struct trained *t, const struct pes_batch *batch,
                                    const struct pes_intervention *intervention)
{
    struct outcome base = run_with(t, batch, NULL), changed = run_with(t, batch, intervention);
    size_t rows = t->model_config.objective == PES_OBJECTIVE_LM ? (size_t)t->T : 1, B = (size_t)batch->B;
    double D = 0, E = 0, R = 0;
    double *d = calloc(B, sizeof *d), *e = calloc(B, sizeof *e), *n = calloc(B, sizeof *n);
    assert_true(d && e && n);
    for (size_t s = 0; s < B; s++) {
        for (size_t r = s * rows; r < (s + 1) * rows; r++) {
            if (batch->labels[r] < 0 || (batch->scored && !batch->scored[r])) continue;
            d[s] += (double)base.correct[r] - (double)changed.correct[r];
            e[s] += changed.loss[r] - base.loss[r];
            n[s]++;
        }
        D += d[s], E += e[s], R += n[s];
    }
    double dd = 0, ee = 0, k = (double)B;
    for (size_t s = 0; s < B; s++) {
        dd += pow(d[s] - D / R * n[s], 2);
        ee += pow(e[s] - E / R * n[s], 2);
    }
    free(d), free(e), free(n);
    return (struct effect){D / R, sqrt(k / (k - 1) * dd) / R, E / R, sqrt(k / (k - 1) * ee) / R};
}

static inline void assert_effect(const struct trained *t, const char *probe, const size_t *at,
                                 const struct effect *effect)
{
    char name[64];
    snprintf(name, sizeof name, "%s_drop", probe);
    assert_close(pes_row_get(&t->row, "probes", name, at), effect->drop, 1e-12);
    snprintf(name, sizeof name, "%s_drop_error", probe);
    assert_close(pes_row_get(&t->row, "probes", name, at), effect->drop_error, 1e-9);
    snprintf(name, sizeof name, "%s_loss_change", probe);
    assert_close(pes_row_get(&t->row, "probes", name, at), effect->loss_change, 1e-5);
    snprintf(name, sizeof name, "%s_loss_change_error", probe);
    assert_close(pes_row_get(&t->row, "probes", name, at), effect->loss_change_error, 1e-5);
}

#endif
