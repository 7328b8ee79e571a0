/* test_golden.c - every group of a file of golden values, measure by measure.
 *
 *   test_golden FILE [--gap GROUP]...
 *
 * One line per group and measure with its largest error.  A group that asks for something the program doesn't
 * have prints `not covered` and counts as a failure unless it is named as a gap. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_heads.h"
#include "check_spectrum.h"
#include "golden_model.h"
#include "pesweep/linalg.h"
#include "pesweep/optimizer.h"

static const bool in_double = sizeof(real) == sizeof(double);

/* Largest difference over largest value. */
static double value_tolerance(void)
{
    return in_double ? 1e-10 : 2e-5;
}
static double gradient_tolerance(void)
{
    return in_double ? 1e-10 : 2e-4;
}
static double trained_tolerance(void)
{
    return in_double ? 1e-9 : 2e-3;
}
/* Where the exact value is 0. */
static double zero_tolerance(void)
{
    return in_double ? 1e-14 : 1e-7;
}
static const double rounding = 1e-12; /* expected values below this are 0 but for rounding */

struct check {
    const struct golden_file *file;
    const char *group;
    struct golden_model *golden;
    struct pes_workspace *training, *evaluation;
    real *gradient;
    int failures;
};

/* --- comparing ---------------------------------------------------------------------------------------- */

static void report(struct check *check, const char *name, double error, double allowed)
{
    bool ok = error <= allowed;
    printf("%s %s/%s %.1e\n", ok ? "ok  " : "FAIL", check->group, name, error);
    check->failures += !ok;
}

static bool expected(const struct check *check, const char *name, struct golden_array *array)
{
    char path[256];
    snprintf(path, sizeof path, "expect/%s", name);
    return golden_read(check->file, check->group, path, array);
}

static void compare(struct check *check, const char *name, const double *ours, size_t count, double allowed)
{
    struct golden_array array;
    if (!expected(check, name, &array)) return;
    report(check, name, count == array.count ? golden_error(ours, array.values, count) : INFINITY, allowed);
    golden_free(&array);
}

static void compare_reals(struct check *check, const char *name, const real *ours, size_t count,
                          double allowed)
{
    double *wide = malloc((count ? count : 1) * sizeof *wide);
    if (!wide) exit(2);
    for (size_t i = 0; i < count; i++)
        wide[i] = (double)ours[i];
    compare(check, name, wide, count, allowed);
    free(wide);
}

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

/* --- passes ------------------------------------------------------------------------------------------- */

static void *take(const struct check *check, size_t count, size_t size)
{
    void *memory = pes_arena_take(check->golden->arena, count, size);
    if (!memory) exit(2);
    return memory;
}

/* Task loss of an evaluation. */
static double evaluate(const struct check *check, const struct pes_intervention *intervention, real *logits,
                       const struct pes_observer *observer)
{
    struct pes_loss loss = {0};
    struct pes_pass pass = {.logits = logits, .observer = observer};
    const struct pes_model *model = check->golden->model;
    pes_model_prepare(model, check->evaluation, check->golden->parameters, intervention);
    pes_model_run(model, check->evaluation, &check->golden->batch, &pass, &loss);
    return loss.sum / (double)loss.count;
}

/* Loss with penalty; leaves the gradient in check->gradient. */
static double differentiate(const struct check *check, const real *parameters)
{
    struct pes_loss loss = {0};
    struct pes_pass pass = {.gradient = check->gradient, .scale = 1 / (double)check->golden->labels};
    const struct pes_model *model = check->golden->model;
    memset(check->gradient, 0, model->tensors.num_parameters * sizeof(real));
    pes_model_prepare(model, check->training, parameters, NULL);
    pes_model_run(model, check->training, &check->golden->batch, &pass, &loss);
    return loss.sum / (double)loss.count + pes_model_finish(model, check->training, check->gradient);
}

/* --- measures ----------------------------------------------------------------------------------------- */

static void check_values(struct check *check)
{
    const struct golden_model *golden = check->golden;
    const struct pes_model_config *config = &golden->model->config;
    size_t count = golden->rows * (size_t)config->shape.classes;
    real *logits = take(check, count, sizeof *logits);
    double task_loss = evaluate(check, NULL, logits, NULL);
    double penalty = pes_model_finish(golden->model, check->evaluation, NULL);
    double loss = differentiate(check, golden->parameters);
    compare_reals(check, "logits", logits, count, value_tolerance());
    compare(check, "task_loss", &task_loss, 1, value_tolerance());
    compare(check, "loss", &loss, 1, value_tolerance());
    if (!config->penalty->head) return;
    penalty /= config->penalty_weight;
    compare(check, "penalty", &penalty, 1, value_tolerance());
}

static void check_gradient(struct check *check)
{
    const struct pes_tensor_table *table = &check->golden->model->tensors;
    double worst = 0, worst_zero = 0;
    for (size_t i = 0; i < table->num_tensors; i++) {
        const struct pes_tensor *tensor = &table->tensors[i];
        char name[160];
        struct golden_array array;
        snprintf(name, sizeof name, "grad/%s", tensor->name);
        if (!expected(check, name, &array) || array.count != tensor->count) {
            report(check, name, INFINITY, 0);
            continue;
        }
        double difference = 0, most = largest(array.values, array.count);
        for (size_t e = 0; e < array.count; e++)
            difference =
                fmax(difference, fabs((double)check->gradient[tensor->offset + e] - array.values[e]));
        if (isnan(check->gradient[tensor->offset])) difference = INFINITY;
        bool zero = most < rounding;
        if (zero ? difference > zero_tolerance() : difference > gradient_tolerance() * most)
            report(check, name, zero ? difference : difference / most, 0);
        worst = zero ? worst : fmax(worst, difference / most);
        worst_zero = zero ? fmax(worst_zero, difference) : worst_zero;
        golden_free(&array);
    }
    report(check, "grad", worst, gradient_tolerance());
    report(check, "grad (exactly 0)", worst_zero, zero_tolerance());
}

/* Scores and probabilities as they come by, in the file's order [B, layer, head, query, key]. */
struct maps {
    const struct pes_model_config *config;
    real *scores, *attention;
};

static void collect(void *context, const struct pes_observation *seen)
{
    const struct maps *maps = context;
    const struct pes_shape *shape = &maps->config->shape;
    int T = seen->T;
    size_t map = ((size_t)seen->sequence * (size_t)shape->L + (size_t)seen->layer) * (size_t)shape->H +
                 (size_t)seen->head;
    for (int i = 0; i < T; i++)
        for (int j = 0; j < T; j++) {
            size_t from = (size_t)(i * T + j), to = map * (size_t)(T * T) + from;
            bool visible = !(shape->causal && j > i) && (!seen->mask || seen->mask[j]);
            maps->scores[to] = visible ? seen->scores[from] : 0;
            maps->attention[to] = seen->probabilities[from];
        }
}

static void check_attention(struct check *check)
{
    const struct pes_model_config *config = &check->golden->model->config;
    const struct pes_batch *batch = &check->golden->batch;
    size_t count = (size_t)(batch->B * config->shape.L * config->shape.H) * (size_t)(batch->T * batch->T);
    struct maps maps = {config, take(check, count, sizeof(real)), take(check, count, sizeof(real))};
    struct pes_observer observer = {
        .context = &maps, .scores = true, .probabilities = true, .observe = collect};
    (void)evaluate(check, NULL, NULL, &observer);
    compare_reals(check, "scores", maps.scores, count, value_tolerance());
    compare_reals(check, "attention", maps.attention, count, value_tolerance());
}

static void check_interventions(struct check *check)
{
    const struct pes_shape *shape = &check->golden->model->config.shape;
    size_t count = (size_t)(shape->L * shape->H);
    double *ablated = take(check, count, sizeof *ablated);
    uint64_t heads[64] = {0};
    for (int layer = 0; layer < shape->L; layer++)
        for (int head = 0; head < shape->H; head++) {
            heads[layer] = (uint64_t)1 << head;
            struct pes_intervention intervention = {.ablate = heads};
            ablated[layer * shape->H + head] = evaluate(check, &intervention, NULL, NULL);
            heads[layer] = 0;
        }
    compare(check, "ablated_loss", ablated, count, value_tolerance());
    for (int layer = 0; layer < shape->L; layer++)
        heads[layer] = UINT64_MAX;
    struct pes_intervention intervention = {.phase_zeroed = heads};
    double zeroed = evaluate(check, &intervention, NULL, NULL);
    compare(check, "loss_phase_zeroed", &zeroed, 1, value_tolerance());
}

/* Elements whose exact gradient is 0 while the computed one is rounding noise.  Adam turns that into full
 * steps in float32, where they aren't compared, and into steps near 1e-9 in double. */
static void mark_noise(const struct check *check, bool *noise)
{
    const struct pes_tensor_table *table = &check->golden->model->tensors;
    for (size_t i = 0; i < table->num_tensors; i++) {
        const struct pes_tensor *tensor = &table->tensors[i];
        char name[160];
        struct golden_array array;
        snprintf(name, sizeof name, "grad/%s", tensor->name);
        if (!expected(check, name, &array)) continue;
        for (size_t e = 0; e < array.count && e < tensor->count; e++) {
            size_t at = tensor->offset + e;
            if (fabs(array.values[e]) < rounding && check->gradient[at] != 0) noise[at] = true;
        }
        golden_free(&array);
    }
}

static void compare_trained(struct check *check, const real *parameters, const bool *noise)
{
    const struct pes_tensor_table *table = &check->golden->model->tensors;
    double worst = 0, worst_noise = 0;
    for (size_t i = 0; i < table->num_tensors; i++) {
        const struct pes_tensor *tensor = &table->tensors[i];
        char name[160];
        struct golden_array array;
        snprintf(name, sizeof name, "trained/%s", tensor->name);
        if (!expected(check, name, &array) || array.count != tensor->count) {
            report(check, name, INFINITY, 0);
            continue;
        }
        double difference = 0, most = largest(array.values, array.count);
        for (size_t e = 0; e < array.count; e++) {
            double ours = (double)parameters[tensor->offset + e];
            double off = isnan(ours) ? INFINITY : fabs(ours - array.values[e]);
            if (noise[tensor->offset + e])
                worst_noise = fmax(worst_noise, off);
            else
                difference = fmax(difference, off);
        }
        double error = most > 0 ? difference / most : difference;
        if (error > trained_tolerance()) report(check, name, error, 0);
        worst = fmax(worst, error);
        golden_free(&array);
    }
    report(check, "trained", worst, trained_tolerance());
    if (in_double) report(check, "trained (exactly 0)", worst_noise, 1e-8);
}

static void check_training(struct check *check)
{
    static const double rates[] = {0, 0.005, 0.01, 0.00853553390593, 0.005};
    const struct pes_tensor_table *table = &check->golden->model->tensors;
    const struct pes_optimizer optimizer = {
        .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0.1, .decay_all = true};
    size_t count = table->num_parameters;
    real *parameters = take(check, count, sizeof(real));
    real *m = take(check, count, sizeof(real)), *v = take(check, count, sizeof(real));
    bool *noise = take(check, count, sizeof *noise);
    double losses[PES_COUNT(rates)];
    memcpy(parameters, check->golden->parameters, count * sizeof *parameters);
    for (size_t step = 0; step < PES_COUNT(rates); step++) {
        losses[step] = differentiate(check, parameters);
        mark_noise(check, noise);
        pes_optimizer_step(&optimizer, table, rates[step], (int64_t)step + 1, parameters, m, v,
                           check->gradient);
    }
    compare(check, "train_losses", losses, PES_COUNT(rates), gradient_tolerance());
    compare_trained(check, parameters, noise);
}

/* The model's own heads against those read from the file. */
static double head_error(const struct pes_head *ours, const struct pes_head *theirs)
{
    size_t D = (size_t)theirs->D, C = (size_t)theirs->C, rotary = 2 * (size_t)theirs->pairs * C;
    if (ours->D != theirs->D || ours->C != theirs->C || ours->pairs != theirs->pairs ||
        ours->key_folds != theirs->key_folds || ours->centred != theirs->centred)
        return INFINITY;
    double error = fmax(golden_error(ours->wq, theirs->wq, D * C), golden_error(ours->wk, theirs->wk, D * C));
    error = fmax(error, golden_error(ours->wv, theirs->wv, (size_t)theirs->Dv * C));
    error = fmax(error, golden_error(ours->wo, theirs->wo, (size_t)theirs->Dv * C));
    error = fmax(error, golden_error(ours->rq, theirs->rq, rotary));
    error = fmax(error, golden_error(ours->rk, theirs->rk, rotary));
    error = fmax(error, golden_error(ours->gain, theirs->gain, C));
    return fmax(error, golden_error(ours->frequencies, theirs->frequencies, (size_t)theirs->pairs));
}

static void check_model_heads(struct check *check)
{
    const struct golden_model *golden = check->golden;
    const struct pes_shape *shape = &golden->model->config.shape;
    const struct pes_head *heads = golden_heads(check->file, check->group, golden->arena);
    double worst = 0;
    for (int layer = 0; layer < shape->L; layer++)
        for (int head = 0; head < shape->H; head++) {
            struct pes_head ours;
            if (pes_model_head(golden->model, golden->parameters, layer, head, golden->arena, &ours) !=
                PES_OK)
                exit(2);
            worst = fmax(worst, head_error(&ours, &heads[layer * shape->H + head]));
        }
    report(check, "heads", worst, in_double ? 1e-13 : 1e-6);
}

static int check_group(const struct golden_file *file, const char *group, struct golden_model *golden)
{
    struct check check = {.file = file, .group = group, .golden = golden};
    check.gradient = take(&check, golden->model->tensors.num_parameters, sizeof(real));
    if (pes_workspace_create(golden->model, golden->batch.B, true, golden->arena, &check.training) !=
            PES_OK ||
        pes_workspace_create(golden->model, golden->batch.B, false, golden->arena, &check.evaluation) !=
            PES_OK)
        exit(2);
    check_values(&check);
    check_gradient(&check);
    check_attention(&check);
    check_interventions(&check);
    check_training(&check);
    check_model_heads(&check);
    pes_model_prepare(golden->model, check.evaluation, golden->parameters, NULL);
    return check.failures + golden_check_spectrum(file, group, golden->model, golden->parameters,
                                                  check.evaluation, &golden->batch);
}

/* --- command line ------------------------------------------------------------------------------------- */

static bool is_gap(int argc, char **argv, const char *group)
{
    for (int i = 2; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--gap") == 0 && strcmp(argv[i + 1], group) == 0) return true;
    return false;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc % 2) {
        fprintf(stderr, "usage: test_golden FILE [--gap GROUP]...\n");
        return 2;
    }
    struct golden_file *file = golden_open(argv[1]);
    if (!file) {
        fprintf(stderr, "test_golden: %s can't be read\n", argv[1]);
        return 2;
    }
    pes_blas_set_threads(1);
    int failures = 0;
    size_t groups = golden_num_groups(file), covered = 0;
    for (size_t i = 0; i < groups; i++) {
        const char *group = golden_group(file, i);
        struct golden_model *golden = golden_model_load(file, group);
        if (!golden) {
            bool gap = is_gap(argc, argv, group);
            printf("%s %s not covered: %s\n", gap ? "gap " : "FAIL", group, pes_error_message());
            failures += !gap;
            continue;
        }
        covered++;
        failures += check_group(file, group, golden);
        golden_model_free(golden);
    }
    golden_close(file);
    printf("%zu of %zu groups covered, %d failures\n", covered, groups, failures);
    return failures != 0;
}
