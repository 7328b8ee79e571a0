/* bench_train.c - whole training steps beside the machine's own matrix product, in the same run.
 *
 *   bench_train [--json] [--cpu-time] [--sizes small,medium,published,b4] [--pe nope,rope,... | all]
 *               [--dropout rate] [--batch sequences] [--micro-batch sequences] [--pairs n] [model.key=value
 * ...]
 *
 * A step is what training does: preparing the weights, forward and backward micro-batch by micro-batch,
 * finishing the gradient, AdamW.  Steps alternate with sgemm of 2048^3 on the same thread.  Operations are 2
 * x multiply-adds of the matrix products, forward and twice that for backward; what backward computes again
 * isn't counted, and causal attention counts visible pairs.  share = fastest step over fastest sgemm;
 * share_median by medians. */
#include "machine.h"

#include "pesweep/model.h"
#include "pesweep/optimizer.h"
#include "pesweep/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Layers, width, heads, feed-forward width (0 = attention only) and length; `pe` is the default choice. */
struct size {
    const char *name;
    int layers, d_model, heads, d_ff, T, vocab, classes;
    bool causal;
    const char *pe;
};

static const struct size SIZES[] = {
    {"small", 2, 64, 4, 128, 32, 1000, 10, false, "learned"},
    {"medium", 4, 128, 8, 512, 64, 1000, 10, false, "learned"},
    {"published", 6, 256, 16, 512, 128, 1000, 10, false, "learned"},
    {"b4", 2, 128, 4, 0, 256, 64, 0, true, "learned,rope"}, /* language model: a class per token */
};

enum { MAX_PAIRS = 200, GEMM_SIZE = 2048, NUM_PHASES = 5, MAX_SETTINGS = 16 };
static const char *const PHASES[NUM_PHASES] = {"prepare", "forward", "backward", "finish", "optimizer"};

struct options {
    bool json;
    const char *sizes, *pe, *settings[MAX_SETTINGS];
    int batch, micro_batch, pairs, num_settings;
    double dropout;
};

/* One model with everything that a step needs. */
struct subject {
    struct pes_arena *arena;
    struct pes_model_config config;
    struct pes_optimizer optimizer;
    struct pes_model *model;
    struct pes_workspace *workspace;
    real *parameters, *gradient, *m, *v;
    struct pes_batch batch;
    int64_t labels;
    int micro_batch;
    uint32_t steps;
    double loss;
};

static enum pes_status set_number(struct pes_config *config, struct pes_arena *arena, const char *path,
                                  double value)
{
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    return pes_config_set(config, arena, path, text);
}

static enum pes_status configure(struct subject *s, const struct size *size, const char *pe,
                                 const struct options *options)
{
    const struct pes_key_table *keys = pes_sweep_keys();
    struct pes_config *config = keys ? pes_config_create(keys, s->arena) : NULL;
    if (!config) return PES_MEMORY;
    TRY(pes_config_set(config, s->arena, "task.kind", size->classes ? "relative_distance" : "copy"));
    TRY(pes_config_set(config, s->arena, "model.pe", pe));
    TRY(pes_config_set(config, s->arena, "model.causal", size->causal ? "true" : "false"));
    TRY(set_number(config, s->arena, "model.layers", size->layers));
    TRY(set_number(config, s->arena, "model.d_model", size->d_model));
    TRY(set_number(config, s->arena, "model.heads", size->heads));
    TRY(set_number(config, s->arena, "model.d_ff", size->d_ff));
    TRY(pes_config_set(config, s->arena, "model.activation", "relu"));
    TRY(set_number(config, s->arena, "train.dropout", options->dropout));
    TRY(pes_config_set(config, s->arena, "train.lr", "1e-4"));
    TRY(pes_config_set(config, s->arena, "train.steps", "1000000"));
    for (int i = 0; i < options->num_settings; i++) {
        char *path = pes_arena_copy_text(s->arena, options->settings[i]),
             *equals = path ? strchr(path, '=') : NULL;
        if (!equals) return pes_fail(PES_INPUT, "%s: a setting is written key=value", options->settings[i]);
        *equals = 0;
        TRY(pes_config_set(config, s->arena, path, equals + 1));
    }
    TRY(pes_config_resolve(config, s->arena));
    struct pes_task_shape task = {.T = size->T,
                                  .V = size->vocab,
                                  .classes = size->classes ? size->classes : size->vocab,
                                  .objective = size->classes ? PES_OBJECTIVE_CLASSIFY : PES_OBJECTIVE_LM};
    TRY(pes_model_configure(config, &task, &s->config));
    return pes_optimizer_configure(config, &s->optimizer);
}

/* Random tokens and labels. */
static enum pes_status fill_batch(struct subject *s, int B)
{
    const struct pes_shape *shape = &s->config.shape;
    struct pes_stream stream = {{1, PES_RNG_TEST, 0}, 0};
    bool lm = s->config.objective == PES_OBJECTIVE_LM;
    size_t tokens = (size_t)B * (size_t)shape->T, labels = lm ? tokens : (size_t)B;
    int32_t *ids = pes_arena_take(s->arena, tokens, sizeof *ids),
            *wanted = pes_arena_take(s->arena, labels, sizeof *ids);
    if (!ids || !wanted) return PES_MEMORY;
    for (size_t i = 0; i < tokens; i++)
        ids[i] = (int32_t)pes_stream_below(&stream, (uint64_t)shape->V);
    for (size_t i = 0; i < labels; i++)
        wanted[i] = (int32_t)pes_stream_below(&stream, (uint64_t)shape->classes);
    s->batch = (struct pes_batch){.B = B, .T = shape->T, .ids = ids, .labels = wanted};
    s->labels = (int64_t)labels;
    return PES_OK;
}

static enum pes_status make(struct subject *s, const struct size *size, const char *pe,
                            const struct options *options)
{
    TRY(configure(s, size, pe, options));
    TRY(pes_model_create(&s->config, s->arena, &s->model));
    int usual = options->micro_batch ? options->micro_batch : pes_model_micro_batch(&s->config);
    s->micro_batch = PES_MIN(usual, options->batch);
    TRY(pes_workspace_create(s->model, s->micro_batch, true, s->arena, &s->workspace));
    size_t count = s->model->tensors.num_parameters;
    s->parameters = pes_arena_take(s->arena, count, sizeof(real));
    s->gradient = pes_arena_take(s->arena, count, sizeof(real));
    s->m = pes_arena_take(s->arena, count, sizeof(real));
    s->v = pes_arena_take(s->arena, count, sizeof(real));
    if (!s->parameters || !s->gradient || !s->m || !s->v) return PES_MEMORY;
    pes_model_init(s->model, 1, s->parameters);
    return fill_batch(s, options->batch);
}

static void run_batch(struct subject *s, bool backward)
{
    const int T = s->batch.T, per_sequence = s->config.objective == PES_OBJECTIVE_LM ? T : 1;
    struct pes_pass pass = {.gradient = backward ? s->gradient : NULL,
                            .scale = 1.0 / (double)s->labels,
                            .training = true,
                            .seed = 1,
                            .step = s->steps};
    struct pes_loss loss = {0};
    for (int first = 0; first < s->batch.B; first += s->micro_batch) {
        struct pes_batch part = s->batch;
        part.B = PES_MIN(s->micro_batch, s->batch.B - first);
        part.ids += first * T;
        part.labels += first * per_sequence;
        part.first += (uint64_t)first;
        pes_model_run(s->model, s->workspace, &part, &pass, &loss);
    }
    s->loss = loss.sum / (double)loss.count;
}

/* One step; adds its seconds by phase (forward and backward together under backward) and returns their sum.
 */
static double step(struct subject *s, double *phases)
{
    double times[NUM_PHASES + 1] = {machine_now()};
    memset(s->gradient, 0, s->model->tensors.num_parameters * sizeof(real));
    pes_model_prepare(s->model, s->workspace, s->parameters, NULL);
    times[1] = times[2] = machine_now();
    run_batch(s, true);
    times[3] = machine_now();
    (void)pes_model_finish(s->model, s->workspace, s->gradient);
    times[4] = machine_now();
    s->steps++;
    (void)pes_optimizer_step(&s->optimizer, &s->model->tensors, s->optimizer.lr, s->steps, s->parameters,
                             s->m, s->v, s->gradient);
    times[5] = machine_now();
    for (int p = 0; p < NUM_PHASES; p++)
        phases[p] += times[p + 1] - times[p];
    return times[NUM_PHASES] - times[0];
}

struct outcome {
    double fastest, median, gemm_fastest, gemm_median; /* seconds a step; Gflop/s */
    double flops, phases[NUM_PHASES];                  /* of a step; mean seconds a step */
};

static struct outcome measure(struct subject *s, int pairs)
{
    static double times[MAX_PAIRS], rates[MAX_PAIRS];
    struct outcome o = {.flops = 3 * s->batch.B * pes_model_flops(&s->config, s->batch.T)};
    double unused[NUM_PHASES], fastest_forward = INFINITY, slowest_rate = INFINITY;
    (void)step(s, unused);
    for (int pair = 0; pair < pairs; pair++) {
        rates[pair] = machine_gemm_rate(GEMM_SIZE);
        slowest_rate = fmin(slowest_rate, rates[pair]);
        /* Small steps are repeated: a pair is to last about as long as its product. */
        int repeats = (int)fmax(1, 0.1 / (pair ? times[0] : 1));
        times[pair] = INFINITY;
        for (int i = 0; i < repeats; i++) {
            double phases[NUM_PHASES] = {0}, seconds = step(s, phases);
            if (seconds < times[pair]) times[pair] = seconds;
            if (pair == 0 || seconds < o.fastest) {
                o.fastest = seconds;
                memcpy(o.phases, phases, sizeof phases);
            }
        }
        double start = machine_now();
        run_batch(s, false);
        fastest_forward = fmin(fastest_forward, machine_now() - start);
    }
    o.phases[1] = fastest_forward;
    o.phases[2] -= fastest_forward;
    o.fastest = machine_minimum(times, (size_t)pairs);
    o.median = machine_median(times, (size_t)pairs);
    o.gemm_median = machine_median(rates, (size_t)pairs);
    o.gemm_fastest = rates[pairs - 1];
    return o;
}

static void print_text(const struct subject *s, const struct size *size, const char *pe,
                       const struct outcome *o)
{
    double rate = o->flops / o->fastest * 1e-9, median_rate = o->flops / o->median * 1e-9;
    double sequences = s->batch.B / o->fastest;
    printf("%-9s %-14s %8.2f ms (median %8.2f)  %9.0f samples/s %10.0f tokens/s  %6.1f Gflop/s  sgemm %6.1f "
           "(%6.1f)  "
           "share %5.1f %% (median %5.1f %%)\n",
           size->name, pe, 1e3 * o->fastest, 1e3 * o->median, sequences, sequences * s->batch.T, rate,
           o->gemm_fastest, o->gemm_median, 100 * rate / o->gemm_fastest, 100 * median_rate / o->gemm_median);
    printf("          ");
    for (int p = 0; p < NUM_PHASES; p++)
        printf(" %s %.2f ms (%.1f %%)", PHASES[p], 1e3 * o->phases[p], 100 * o->phases[p] / o->fastest);
    printf("  micro-batch %d, loss %.4f\n", s->micro_batch, s->loss);
    fflush(stdout);
}

static void print_json(const struct subject *s, const struct size *size, const char *pe,
                       const struct options *options, const struct outcome *o, bool first)
{
    double rate = o->flops / o->fastest * 1e-9, median_rate = o->flops / o->median * 1e-9;
    double sequences = s->batch.B / o->fastest;
    printf("%s  {\"size\": \"%s\", \"pe\": \"%s\", \"dropout\": %g, \"batch\": %d, \"micro_batch\": %d, "
           "\"pairs\": %d,\n"
           "   \"machine\": \"%s\",\n"
           "   \"step_seconds\": %.9g, \"step_seconds_median\": %.9g, \"samples_per_s\": %.9g, "
           "\"tokens_per_s\": %.9g,\n"
           "   \"gflop_per_s\": %.6g, \"sgemm_gflop_per_s\": %.6g, \"sgemm_gflop_per_s_median\": %.6g,\n"
           "   \"share_of_sgemm\": %.6g, \"share_of_sgemm_median\": %.6g, \"seconds\": {",
           first ? "" : ",\n", size->name, pe, options->dropout, s->batch.B, s->micro_batch, options->pairs,
           machine_description(), o->fastest, o->median, sequences, sequences * s->batch.T, rate,
           o->gemm_fastest, o->gemm_median, rate / o->gemm_fastest, median_rate / o->gemm_median);
    for (int p = 0; p < NUM_PHASES; p++)
        printf("%s\"%s\": %.9g", p ? ", " : "", PHASES[p], o->phases[p]);
    printf("}}");
    fflush(stdout);
}

static enum pes_status bench(const struct size *size, const char *pe, const struct options *options,
                             bool first)
{
    struct subject s = {.arena = pes_arena_create()};
    if (!s.arena) return PES_MEMORY;
    enum pes_status status = make(&s, size, pe, options);
    if (status == PES_OK) {
        struct outcome o = measure(&s, options->pairs);
        if (options->json) {
            print_json(&s, size, pe, options, &o, first);
        } else {
            print_text(&s, size, pe, &o);
        }
    }
    pes_arena_destroy(s.arena);
    return status;
}

/* Whether a comma-separated list holds a name; NULL and "all" hold every one. */
static bool listed(const char *list, const char *name)
{
    if (!list || !strcmp(list, "all")) return true;
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
        if (!strncmp(at, name, length) && (at[length] == ',' || !at[length])) return true;
    }
    return false;
}

static enum pes_status read_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--json")) {
            options->json = true;
        } else if (!strcmp(name, "--cpu-time")) {
            machine_use_cpu_time();
        } else if (strncmp(name, "--", 2) != 0 && options->num_settings < MAX_SETTINGS) {
            options->settings[options->num_settings++] = name;
        } else if (!value) {
            return pes_fail(PES_INPUT, "%s: unknown, or without its value", name);
        } else {
            i++;
            if (!strcmp(name, "--sizes"))
                options->sizes = value;
            else if (!strcmp(name, "--pe"))
                options->pe = value;
            else if (!strcmp(name, "--dropout"))
                options->dropout = strtod(value, NULL);
            else if (!strcmp(name, "--batch"))
                options->batch = PES_MAX(1, atoi(value));
            else if (!strcmp(name, "--micro-batch"))
                options->micro_batch = PES_MAX(1, atoi(value));
            else if (!strcmp(name, "--pairs"))
                options->pairs = PES_MIN(PES_MAX(1, atoi(value)), MAX_PAIRS);
            else
                return pes_fail(PES_INPUT, "unknown option %s", name);
        }
    }
    return PES_OK;
}

static enum pes_status run_all(const struct options *options)
{
    bool first = true;
    if (!options->json) printf("%s\n", machine_description());
    for (size_t i = 0; i < PES_COUNT(SIZES); i++) {
        if (!listed(options->sizes, SIZES[i].name)) continue;
        for (size_t p = 0; pes_position_names[p]; p++) {
            if (!listed(options->pe ? options->pe : SIZES[i].pe, pes_position_names[p])) continue;
            TRY(bench(&SIZES[i], pes_position_names[p], options, first));
            first = false;
        }
    }
    return PES_OK;
}

int main(int argc, char **argv)
{
    struct options options = {.batch = 64, .pairs = 12};
    enum pes_status status = read_options(argc, argv, &options);
    machine_pin();
    if (status == PES_OK) {
        if (options.json) printf("[\n");
        status = run_all(&options);
        if (options.json) printf("\n]\n");
    }
    if (status != PES_OK) fprintf(stderr, "bench_train: %s\n", pes_error_message());
    return pes_status_exit_code(status);
}
