/* trial.c - one trial from its configuration to its row.
 *
 * The trial's state is that of its last finished step: parameters, moments, counters, and the row so far.
 * What is done next follows from the state alone (evaluate, measure, step, finish), so a trial that stops
 * anywhere and goes on from its saved state ends with the same bytes. */
#include "run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum pes_status pes_run_tick(struct pes_run *run)
{
    if (!run->hooks || !run->hooks->tick) return PES_OK;
    switch (run->hooks->tick(run->hooks->context, run->state.step, run->steps)) {
    case PES_TICK_CHECKPOINT:
        run->save_wanted = true;
        return PES_OK;
    case PES_TICK_STOP:
        return PES_STOPPED;
    default:
        return PES_OK;
    }
}

/* What goes wrong in the hook is told there; the trial is not worse for it. */
static void save(struct pes_run *run)
{
    run->save_wanted = false;
    if (run->hooks && run->hooks->checkpoint) (void)run->hooks->checkpoint(run->hooks->context, &run->state);
}

/* --- before the first step
 * ---------------------------------------------------------------------------------------- */

static enum pes_status plan_steps(struct pes_run *run, const struct pes_trial *trial)
{
    run->num_evaluations = pes_trial_evaluations(run->sweep, trial, NULL);
    run->num_checkpoints = pes_trial_checkpoints(run->sweep, trial, NULL);
    run->evaluations = pes_arena_take(run->arena, run->num_evaluations, sizeof *run->evaluations);
    run->checkpoints = pes_arena_take(run->arena, run->num_checkpoints, sizeof *run->checkpoints);
    if (!run->evaluations || !run->checkpoints) return PES_MEMORY;
    (void)pes_trial_evaluations(run->sweep, trial, run->evaluations);
    (void)pes_trial_checkpoints(run->sweep, trial, run->checkpoints);
    return PES_OK;
}

static enum pes_status take_state(struct pes_run *run)
{
    struct pes_train_state *state = &run->state;
    size_t count = run->model->tensors.num_parameters;
    state->num_parameters = count;
    state->parameters = pes_arena_take(run->arena, count, sizeof(real));
    state->m = pes_arena_take(run->arena, count, sizeof(real));
    state->v = pes_arena_take(run->arena, count, sizeof(real));
    return state->parameters && state->m && state->v ? PES_OK : PES_MEMORY;
}

enum pes_status pes_run_take_workspace(struct pes_run *run, bool training)
{
    if (training ? run->training : run->evaluation) return PES_OK;
    pes_arena_rewind(run->work, (struct pes_arena_mark){0});
    run->training = run->evaluation = NULL;
    run->gradient = NULL;
    TRY(pes_workspace_create(run->model, run->micro_batch, training, run->work,
                             training ? &run->training : &run->evaluation));
    if (training) run->gradient = pes_arena_take(run->work, run->state.num_parameters, sizeof(real));
    return training && !run->gradient ? PES_MEMORY : PES_OK;
}

static void start_afresh(struct pes_run *run)
{
    struct pes_train_state *state = &run->state;
    size_t bytes = state->num_parameters * sizeof(real);
    *state = (struct pes_train_state){.num_parameters = state->num_parameters,
                                      .parameters = state->parameters,
                                      .m = state->m,
                                      .v = state->v,
                                      .row = state->row};
    memset(state->parameters, 0, bytes);
    memset(state->m, 0, bytes);
    memset(state->v, 0, bytes);
    pes_row_clear(&state->row);
    pes_model_init(run->model, run->seed, state->parameters);
    pes_row_put(&state->row, "trials", "chance", NULL, pes_data_shape(run->data)->chance);
    pes_row_put(&state->row, "trials", "parameters", NULL,
                (double)pes_tensor_table_count(&run->model->tensors));
    if (run->data_hash) pes_row_put(&state->row, "trials", "data_hash", NULL, (double)run->data_hash);
}

/* A saved state belongs to this trial's plan and to the same files, or it isn't used. */
static bool is_possible(const struct pes_run *run)
{
    const struct pes_train_state *state = &run->state;
    if (run->data_hash && pes_row_get(&state->row, "trials", "data_hash", NULL) != (double)run->data_hash)
        return false;
    return state->step >= 0 && state->step <= run->steps && state->updates >= 0 &&
           state->updates <= state->step && state->num_evaluations <= run->num_evaluations &&
           state->num_checkpoints <= run->num_checkpoints;
}

static enum pes_status set_up(struct pes_run *run, const struct pes_trial *trial)
{
    run->steps = pes_config_int(run->config, "train.steps");
    run->batch = (int)pes_config_int(run->config, "train.batch");
    run->seed = (uint64_t)pes_config_int(run->config, "train.seed");
    run->loss_bound = pes_config_real(run->config, "train.loss_bound");
    TRY(plan_steps(run, trial));
    TRY(pes_trial_model(trial, &run->model_config));
    TRY(pes_trial_optimizer(trial, &run->optimizer));
    run->micro_batch = (int)pes_config_int(run->config, "train.micro_batch");
    if (!run->micro_batch) run->micro_batch = pes_model_micro_batch(&run->model_config);
    run->micro_batch = PES_MIN(run->micro_batch, run->batch);
    TRY(pes_model_create(&run->model_config, run->arena, &run->model));
    TRY(take_state(run));
    enum pes_status status = pes_data_open(run->config, run->arena, &run->data);
    if (status == PES_OK && pes_data_reads_files(run->config))
        status = pes_data_fingerprint(run->config, &run->data_hash);
    if (status != PES_OK && status != PES_MEMORY) run->result->reason = PES_REASON_DATA;
    TRY(status);
    bool resumed = run->hooks && run->hooks->resume && run->hooks->resume(run->hooks->context, &run->state);
    if (!resumed || !is_possible(run)) start_afresh(run);
    run->result->steps = run->state.step;
    return PES_OK;
}

/* --- the trial
 * ---------------------------------------------------------------------------------------------------- */

/* Adds the time since *since to a sum of the state, and starts anew. */
static void add_time(double *sum, double *since)
{
    double now = clock_seconds();
    *sum += now - *since;
    *since = now;
}

static enum pes_status measure_if_due(struct pes_run *run, double *since)
{
    struct pes_train_state *state = &run->state;
    enum pes_status status = PES_OK;
    if (state->num_evaluations < run->num_evaluations &&
        run->evaluations[state->num_evaluations] == state->step)
        status = pes_run_evaluate(run);
    if (status == PES_OK && state->num_checkpoints < run->num_checkpoints &&
        run->checkpoints[state->num_checkpoints] == state->step)
        status = pes_run_measure(run, false);
    add_time(&state->measure_seconds, since);
    return status;
}

static void put_weights(const struct pes_run *run)
{
    float *values = pes_row_at(&run->state.row, "weights", "values", (size_t[]){0});
    for (size_t i = 0; values && i < run->state.num_parameters; i++)
        values[i] = (float)run->state.parameters[i];
}

static enum pes_status train(struct pes_run *run)
{
    struct pes_train_state *state = &run->state;
    double since = clock_seconds();
    for (;;) {
        TRY(measure_if_due(run, &since));
        if (run->save_wanted) save(run);
        if (state->step == run->steps) break;
        struct pes_arena_mark mark = pes_arena_mark(run->scratch);
        enum pes_status status = pes_run_step(run);
        pes_arena_rewind(run->scratch, mark);
        add_time(&state->train_seconds, &since);
        TRY(status);
        if (pes_run_diverged(run)) return PES_OK;
    }
    pes_row_put(&state->row, "trials", "empty_steps", NULL, (double)(state->step - state->updates));
    put_weights(run);
    enum pes_status status = pes_run_measure(run, true);
    add_time(&state->measure_seconds, &since);
    return status;
}

/* What an error means for the trial: memory and data are outcomes, a stop is passed on. */
static enum pes_status conclude(struct pes_run *run, enum pes_status status)
{
    struct pes_train_result *result = run->result;
    result->train_seconds = run->state.train_seconds;
    result->measure_seconds = run->state.measure_seconds;
    if (status == PES_STOPPED) return PES_STOPPED;
    if (status == PES_OK) {
        if (!pes_run_diverged(run)) result->outcome = PES_OUTCOME_DONE;
        return PES_OK;
    }
    result->outcome = PES_OUTCOME_FAILED;
    if (status == PES_MEMORY)
        result->reason = PES_REASON_MEMORY;
    else if (result->reason == PES_REASON_NONE)
        result->reason = PES_REASON_INTERNAL;
    snprintf(result->message, sizeof result->message, "%s", pes_error_message());
    pes_row_clear(&run->state.row);
    return PES_OK;
}

enum pes_status pes_train_trial(const struct pes_sweep *sweep, size_t trial, const struct pes_layout *layout,
                                const struct pes_train_hooks *hooks, struct pes_row *row,
                                struct pes_train_result *result)
{
    CHECK(trial < sweep->num_trials && row->layout == layout);
    *result = (struct pes_train_result){.outcome = PES_OUTCOME_RUNNING};
    pes_row_clear(row);
    struct pes_run run = {.sweep = sweep,
                          .config = sweep->trials[trial].config,
                          .settings = sweep->settings,
                          .hooks = hooks,
                          .result = result,
                          .arena = pes_arena_create(),
                          .scratch = pes_arena_create(),
                          .work = pes_arena_create(),
                          .state.row = *row};
    enum pes_status status =
        run.arena && run.scratch && run.work ? set_up(&run, &sweep->trials[trial]) : PES_MEMORY;
    if (status == PES_OK) {
        status = train(&run);
        if (status == PES_STOPPED) save(&run);
    }
    status = conclude(&run, status);
    pes_data_close(run.data);
    pes_arena_destroy(run.work);
    pes_arena_destroy(run.scratch);
    pes_arena_destroy(run.arena);
    return status;
}
