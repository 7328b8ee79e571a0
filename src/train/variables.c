/* variables.c - what a trial leaves behind: training's own variables, and the layout with every family's. */
#include "pesweep/measure.h"
#include "pesweep/spectrum.h"
#include "pesweep/train.h"

#include <string.h>

/* clang-format off */
#define AT_EVALUATION 1, {PES_DIM_EVALUATION}
#define ONE 0, {0}
const struct pes_variable pes_train_variables[] = {
    {"trials", "test_accuracy", PES_F64, ONE, "",
     "share of scored labels of the whole test set that the trained model gives the largest logit"},
    {"trials", "test_loss", PES_F64, ONE, "nat", "mean -log p(label) over all labels of the test set"},
    {"trials", "test_scored_loss", PES_F64, ONE, "nat",
     "mean -log p(label) over scored labels of the test set; equal to test_loss for tasks that score "
     "every label"},
    {"trials", "train_loss", PES_F64, ONE, "nat", "mean training loss since the evaluation before the last"},
    {"trials", "penalty", PES_F64, ONE, "", "weight x soft constraint of the trained model; 0 without one"},
    {"trials", "chance", PES_F64, ONE, "",
     "accuracy of the best answer given without looking; NaN if unknown"},
    {"trials", "parameters", PES_I64, ONE, "", "number of trained parameters"},
    {"trials", "empty_steps", PES_I64, ONE, "steps",
     "steps without a labelled token, in which nothing was updated"},
    {"curves", "evaluation_step", PES_I64, AT_EVALUATION, "steps", "optimizer steps before the evaluation"},
    {"curves", "train_loss", PES_F64, AT_EVALUATION, "nat",
     "mean -log p(label) over the training labels since the evaluation before, penalty left out"},
    {"curves", "test_loss", PES_F64, AT_EVALUATION, "nat",
     "mean -log p(label) over all labels of measure.evaluate_sequences test sequences"},
    {"curves", "test_scored_loss", PES_F64, AT_EVALUATION, "nat", "test_loss over scored labels alone"},
    {"curves", "test_accuracy", PES_F64, AT_EVALUATION, "", "share of scored labels with the largest logit"},
    {"curves", "penalty", PES_F64, AT_EVALUATION, "", "weight x soft constraint; 0 without one"},
    {"curves", "learning_rate", PES_F64, AT_EVALUATION, "", "rate of the last update before the evaluation"},
    {"curves", "gradient_norm", PES_F64, AT_EVALUATION, "",
     "norm of the last gradient before the evaluation, penalty included, before clipping"},
    {"curves", "checkpoint_step", PES_I64, 1, {PES_DIM_CHECKPOINT}, "steps",
     "optimizer steps before the checkpoint"},
    {"weights", "values", PES_F32, 1, {PES_DIM_PARAMETER}, "", "trained parameters, one flat vector"},
    {.name = NULL},
};
/* clang-format on */

/* Where a task reads files. */
const struct pes_variable pes_train_file_variables[] = {
    {"trials",
     "data_hash",
     PES_I64,
     0,
     {0},
     "",
     "number that depends on every byte of the files that the task read"},
    {.name = NULL},
};

const char *pes_outcome_name(enum pes_outcome outcome)
{
#define X(symbol, value, name, meaning) [value] = name,
    static const char *const names[] = {PES_OUTCOMES(X)};
#undef X
    return (size_t)outcome < PES_COUNT(names) ? names[outcome] : "unknown";
}

const char *pes_reason_name(enum pes_reason reason)
{
#define X(symbol, value, name, meaning) [value] = name,
    static const char *const names[] = {PES_REASONS(X)};
#undef X
    return (size_t)reason < PES_COUNT(names) ? names[reason] : "unknown";
}

static void enlarge(size_t *size, size_t wanted)
{
    *size = PES_MAX(*size, wanted);
}

static bool chosen(const struct pes_config *settings, const char *path, const char *name)
{
    return strcmp(pes_config_text(settings, path), name) == 0;
}

/* Makes every dimension large enough for one more trial. */
static enum pes_status add_trial(const struct pes_sweep *sweep, const struct pes_trial *trial,
                                 struct pes_arena *scratch, size_t size[PES_NUM_DIMENSIONS])
{
    struct pes_model_config config;
    struct pes_model *model;
    struct pes_task_shape task;
    TRY(pes_trial_model(trial, &config));
    TRY(pes_model_create(&config, scratch, &model));
    TRY(pes_task_find(pes_config_text(trial->config, "task.kind"))->shape(trial->config, &task));
    size_t T = (size_t)task.T, L = (size_t)config.shape.L, H = (size_t)config.shape.H,
           D = (size_t)config.shape.D;
    enlarge(&size[PES_DIM_EVALUATION], pes_trial_evaluations(sweep, trial, NULL));
    enlarge(&size[PES_DIM_CHECKPOINT], pes_trial_checkpoints(sweep, trial, NULL));
    enlarge(&size[PES_DIM_LAYER], L);
    enlarge(&size[PES_DIM_LAYER_FROM], L);
    enlarge(&size[PES_DIM_HEAD], H);
    enlarge(&size[PES_DIM_HEAD_FROM], H);
    if (chosen(sweep->settings, "measure.ablate", "pairs")) enlarge(&size[PES_DIM_OTHER_HEAD], H);
    if (chosen(sweep->settings, "measure.ablate", "lists"))
        TRY(pes_probe_read_lists(pes_config_text(sweep->settings, "measure.ablate_lists"), (int)L, (int)H,
                                 &size[PES_DIM_LIST], NULL));
    enlarge(&size[PES_DIM_MODE], D);
    enlarge(&size[PES_DIM_FREQUENCY], PES_MAX(D / 2, config.mla ? (size_t)config.d_rope / 2 : 0));
    enlarge(&size[PES_DIM_DIAGONAL], 2 * (size_t)config.shape.T - 1);
    enlarge(&size[PES_DIM_EIGENVALUE], (size_t)config.shape.T);
    bool maps = pes_config_int(sweep->settings, "measure.attention_maps") > 0;
    if (maps && !chosen(sweep->settings, "store.attention", "none")) {
        enlarge(&size[PES_DIM_QUERY], T);
        enlarge(&size[PES_DIM_KEY], T);
    }
    if (!chosen(sweep->settings, "store.weights", "none"))
        enlarge(&size[PES_DIM_PARAMETER], model->tensors.num_parameters);
    return PES_OK;
}

enum pes_status pes_train_layout(const struct pes_sweep *sweep, struct pes_arena *arena,
                                 struct pes_layout **layout)
{
    size_t size[PES_NUM_DIMENSIONS] = {
        [PES_DIM_RE_IM] = 2, [PES_DIM_OFFSET] = PES_KERNEL_OFFSETS, [PES_DIM_PART] = 2};
    struct pes_arena *scratch = pes_arena_create();
    if (!scratch) return PES_MEMORY;
    enum pes_status status = PES_OK;
    for (size_t t = 0; t < sweep->num_trials && status == PES_OK; t++) {
        struct pes_arena_mark mark = pes_arena_mark(scratch);
        status = add_trial(sweep, &sweep->trials[t], scratch, size);
        pes_arena_rewind(scratch, mark);
    }
    pes_arena_destroy(scratch);
    TRY(status);

    const struct pes_variable *arrays[64] = {pes_train_variables};
    size_t count = 1;
    for (size_t i = 0; pes_measures[i]; i++) {
        if (!pes_measures[i]->wanted(sweep->settings)) continue;
        CHECK(count < PES_COUNT(arrays));
        arrays[count++] = pes_measures[i]->variables;
    }
    bool reads_files = false;
    for (size_t t = 0; t < sweep->num_trials; t++)
        reads_files = reads_files || pes_data_reads_files(sweep->trials[t].config);
    if (reads_files) arrays[count++] = pes_train_file_variables;
    return pes_layout_create(size, arrays, count, arena, layout);
}
