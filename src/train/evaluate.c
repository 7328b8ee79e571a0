/* evaluate.c - loss and accuracy on the test set, and the families of measures. */
#include "run.h"

#include <math.h>

/* Loss over the first `sequences` test sequences, in an order that depends on the configuration alone. */
static enum pes_status test(struct pes_run *run, int64_t sequences, struct pes_loss *loss)
{
    for (int64_t first = 0; first < sequences; first += run->micro_batch) {
        struct pes_arena_mark mark = pes_arena_mark(run->scratch);
        int B = (int)PES_MIN((int64_t)run->micro_batch, sequences - first);
        struct pes_batch batch;
        TRY(pes_data_test_batch(run->data, first, B, run->scratch, &batch));
        struct pes_pass pass = {0};
        pes_model_run(run->model, run->evaluation, &batch, &pass, loss);
        pes_arena_rewind(run->scratch, mark);
        TRY(pes_run_tick(run));
    }
    return PES_OK;
}

static double ratio(double sum, int64_t count)
{
    return count ? sum / (double)count : NAN;
}

enum pes_status pes_run_evaluate(struct pes_run *run)
{
    struct pes_train_state *state = &run->state;
    const struct pes_row *row = &state->row;
    const size_t *at = &state->num_evaluations;
    bool last = state->num_evaluations + 1 == run->num_evaluations;
    int64_t sequences = pes_data_num_test(run->data);
    int64_t most = pes_config_int(run->settings, "measure.evaluate_sequences");
    if (most && !last) sequences = PES_MIN(sequences, most);

    TRY(pes_run_take_workspace(run, false));
    pes_model_prepare(run->model, run->evaluation, state->parameters, NULL);
    struct pes_loss loss = {0};
    TRY(test(run, sequences, &loss));
    double penalty = pes_model_finish(run->model, run->evaluation, NULL);

    double train_loss = ratio(state->interval_loss, state->interval_count);
    double test_loss = ratio(loss.sum, loss.count), scored_loss = ratio(loss.scored_sum, loss.scored_count);
    double accuracy = ratio((double)loss.correct, loss.scored_count);
    pes_row_put(row, "curves", "evaluation_step", at, (double)state->step);
    pes_row_put(row, "curves", "train_loss", at, train_loss);
    pes_row_put(row, "curves", "test_loss", at, test_loss);
    pes_row_put(row, "curves", "test_scored_loss", at, scored_loss);
    pes_row_put(row, "curves", "test_accuracy", at, accuracy);
    pes_row_put(row, "curves", "penalty", at, penalty);
    if (last) {
        pes_row_put(row, "trials", "train_loss", NULL, train_loss);
        pes_row_put(row, "trials", "test_loss", NULL, test_loss);
        pes_row_put(row, "trials", "test_scored_loss", NULL, scored_loss);
        pes_row_put(row, "trials", "test_accuracy", NULL, accuracy);
        pes_row_put(row, "trials", "penalty", NULL, penalty);
    }
    state->interval_loss = 0;
    state->interval_count = 0;
    state->num_evaluations++;
    return PES_OK;
}

static bool interrupted(void *context)
{
    return pes_run_tick(context) != PES_OK;
}

enum pes_status pes_run_measure(struct pes_run *run, bool final)
{
    struct pes_train_state *state = &run->state;
    TRY(pes_run_take_workspace(run, false));
    struct pes_measurement measurement = {.settings = run->settings,
                                          .model = run->model,
                                          .parameters = state->parameters,
                                          .workspace = run->evaluation,
                                          .micro_batch = run->micro_batch,
                                          .data = run->data,
                                          .final = final,
                                          .checkpoint = final ? 0 : state->num_checkpoints,
                                          .num_checkpoints = state->num_checkpoints,
                                          .seed = run->seed,
                                          .row = &state->row,
                                          .arena = run->work,
                                          .interrupted = interrupted,
                                          .context = run};
    if (!final)
        pes_row_put(&state->row, "curves", "checkpoint_step", &state->num_checkpoints, (double)state->step);
    for (size_t i = 0; pes_measures[i]; i++) {
        if (!pes_measures[i]->wanted(run->settings)) continue;
        struct pes_arena_mark mark = pes_arena_mark(run->work);
        enum pes_status status = pes_measures[i]->run(&measurement);
        pes_arena_rewind(run->work, mark);
        TRY(status);
        TRY(pes_run_tick(run));
    }
    if (!final) state->num_checkpoints++;
    return PES_OK;
}
