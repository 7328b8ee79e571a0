/* step.c - one optimizer step: micro-batches forward and backward, then one update.
 *
 * Nothing of the trial's state changes before the update, so a step that is left early never happened. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A part of a batch: sequences [first, first + B). */
static struct pes_batch part_of(const struct pes_run *run, const struct pes_batch *batch, int first, int B)
{
    size_t tokens = (size_t)first * (size_t)batch->T;
    bool per_token = run->model_config.objective == PES_OBJECTIVE_LM;
    return (struct pes_batch){.B = B,
                              .T = batch->T,
                              .ids = batch->ids + tokens,
                              .labels = batch->labels + (per_token ? tokens : (size_t)first),
                              .mask = batch->mask ? batch->mask + tokens : NULL,
                              .scored = batch->scored ? batch->scored + tokens : NULL,
                              .first = batch->first + (uint64_t)first};
}

static int64_t count_labels(const struct pes_run *run, const struct pes_batch *batch)
{
    size_t rows = (size_t)batch->B;
    if (run->model_config.objective == PES_OBJECTIVE_LM) rows *= (size_t)batch->T;
    int64_t count = 0;
    for (size_t r = 0; r < rows; r++)
        count += batch->labels[r] >= 0;
    return count;
}

bool pes_run_diverged(const struct pes_run *run)
{
    return run->result->outcome == PES_OUTCOME_DIVERGED;
}

static enum pes_status diverge(struct pes_run *run, enum pes_reason reason, const char *what, double value)
{
    run->result->outcome = PES_OUTCOME_DIVERGED;
    run->result->reason = reason;
    snprintf(run->result->message, sizeof run->result->message, "%s is %g in step %lld", what, value,
             (long long)run->state.step);
    return PES_OK;
}

/* Gradient of the mean loss over `labels` labels, added up over micro-batches. */
static enum pes_status add_gradients(struct pes_run *run, const struct pes_batch *batch, int64_t labels,
                                     struct pes_loss *loss)
{
    const struct pes_train_state *state = &run->state;
    struct pes_pass pass = {.gradient = run->gradient,
                            .scale = 1.0 / (double)labels,
                            .training = true,
                            .seed = run->seed,
                            .step = (uint32_t)state->step};
    memset(run->gradient, 0, state->num_parameters * sizeof *run->gradient);
    pes_model_prepare(run->model, run->training, state->parameters, NULL);
    for (int first = 0; first < batch->B; first += run->micro_batch) {
        struct pes_batch part = part_of(run, batch, first, PES_MIN(run->micro_batch, batch->B - first));
        pes_model_run(run->model, run->training, &part, &pass, loss);
        TRY(pes_run_tick(run));
    }
    return PES_OK;
}

static void finish_step(struct pes_run *run)
{
    run->state.step++;
    run->result->steps = run->state.step;
}

static enum pes_status update(struct pes_run *run, const struct pes_loss *loss)
{
    struct pes_train_state *state = &run->state;
    double mean = loss->sum / (double)loss->count;
    if (!isfinite(mean)) return diverge(run, PES_REASON_LOSS_NOT_FINITE, "the training loss", mean);
    if (mean > run->loss_bound) return diverge(run, PES_REASON_LOSS_BOUND, "the training loss", mean);
    (void)pes_model_finish(run->model, run->training, run->gradient);
    double rate = pes_optimizer_rate(&run->optimizer, state->step);
    double norm = pes_optimizer_step(&run->optimizer, &run->model->tensors, rate, state->updates + 1,
                                     state->parameters, state->m, state->v, run->gradient);
    if (!isfinite(norm)) return diverge(run, PES_REASON_GRADIENT_NOT_FINITE, "the gradient's norm", norm);
    state->updates++;
    state->interval_loss += loss->sum;
    state->interval_count += loss->count;
    pes_row_put(&state->row, "curves", "learning_rate", &state->num_evaluations, rate);
    pes_row_put(&state->row, "curves", "gradient_norm", &state->num_evaluations, norm);
    finish_step(run);
    return PES_OK;
}

enum pes_status pes_run_step(struct pes_run *run)
{
    struct pes_batch batch;
    TRY(pes_run_take_workspace(run, true));
    TRY(pes_data_train_batch(run->data, run->state.step, run->batch, run->scratch, &batch));
    int64_t labels = count_labels(run, &batch);
    if (!labels) {
        /* Nothing to learn from: the weights stay, the schedule goes on. */
        finish_step(run);
        return pes_run_tick(run);
    }
    struct pes_loss loss = {0};
    TRY(add_gradients(run, &batch, labels, &loss));
    CHECK(loss.count == labels);
    return update(run, &loss);
}
