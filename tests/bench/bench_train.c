/* bench_train.c - whole training steps beside the machine's own matrix product, in the same run; see --help.
 *
 * A step is what training does: preparing the weights, forward and backward micro-batch by micro-batch,
 * finishing the gradient, AdamW.  Operations are 2 x multiply-adds of the matrix products, forward and twice
 * that for backward; what backward computes again isn't counted, and causal attention counts visible pairs.
 */
#include "machine.h"
#include "train_subject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PAIRS = 200, MAX_REPEATS = 1000, GEMM_SIZE = 2048 };
static const char *const PHASES[NUM_PHASES] = {"prepare", "forward", "backward", "finish", "optimizer"};

static const char HELP[] =
    "bench_train [options] [model.key=value ...]\n"
    "\n"
    "Times whole training steps.  Each step, or each tenth of a second of short ones, is one half of a pair "
    "with\n"
    "the machine's own sgemm of 2048^3 on the same thread; share is the median over the pairs of the step's "
    "rate\n"
    "over the sgemm's.  OPENBLAS_CORETYPE would slow the sgemm alone: while it is set no share is printed.\n"
    "\n"
    "  --sizes small,medium,published,b4   which sizes (default: all)\n"
    "  --pe nope,rope,...|all              position schemes (default: learned; b4 with rope too)\n"
    "  --pairs N                           pairs, up to 200 (default 12)\n"
    "  --dropout RATE                      default 0\n"
    "  --batch B, --micro-batch B          sequences (default: 64, and what training takes)\n"
    "  --threads N                         threads inside a step (default 1); the sgemm keeps one\n"
    "  --cpu-time                          this thread's processor time in place of the clock\n"
    "  --json                              a list of objects in place of text\n"
    "  --save FILE                         no timing: parameters, batch, loss and gradient of the first "
    "size\n"
    "                                      as safetensors\n";

struct options {
    bool json, help;
    const char *sizes, *pe, *save;
    int pairs, threads;
    struct bench_settings settings;
};

struct outcome {
    double fastest, median, gemm_fastest, gemm_median; /* seconds a step; Gflop/s */
    double share;                                      /* median of the pairs' */
    double flops, phases[NUM_PHASES];                  /* of a step; seconds of the fastest */
};

static struct outcome measure(struct subject *s, int pairs)
{
    static double times[MAX_PAIRS], rates[MAX_PAIRS], shares[MAX_PAIRS], repeated[MAX_REPEATS];
    struct outcome o = {.flops = 3 * s->batch.B * pes_model_flops(&s->config, s->batch.T),
                        .fastest = INFINITY};
    double unused[NUM_PHASES] = {0}, fastest_forward = INFINITY, last = subject_step(s, unused);
    for (int pair = 0; pair < pairs; pair++) {
        rates[pair] = machine_gemm_rate(GEMM_SIZE);
        o.gemm_fastest = fmax(o.gemm_fastest, rates[pair]);
        /* Small steps are repeated: a pair is to last about as long as its product. */
        int repeats = (int)fmin(fmax(1, 0.1 / last), MAX_REPEATS);
        for (int i = 0; i < repeats; i++) {
            double phases[NUM_PHASES] = {0}, seconds = repeated[i] = subject_step(s, phases);
            if (seconds >= o.fastest) continue;
            o.fastest = seconds;
            memcpy(o.phases, phases, sizeof phases);
        }
        last = times[pair] = machine_median(repeated, (size_t)repeats);
        shares[pair] = o.flops / times[pair] * 1e-9 / rates[pair];
        double start = machine_now();
        subject_run(s, false);
        fastest_forward = fmin(fastest_forward, machine_now() - start);
    }
    o.phases[1] = fastest_forward;
    o.phases[2] -= fastest_forward;
    o.median = machine_median(times, (size_t)pairs);
    o.gemm_median = machine_median(rates, (size_t)pairs);
    o.share = machine_median(shares, (size_t)pairs);
    return o;
}

/* A number, or what stands for one that may not be told. */
static const char *share_text(double share, const char *missing)
{
    static char text[2][32];
    static int next;
    char *to = text[next++ % 2];
    snprintf(to, sizeof text[0], "%.6g", share);
    return machine_blas_forced() ? missing : to;
}

static void print_text(const struct subject *s, const struct bench_size *size, const char *pe,
                       const struct outcome *o)
{
    double rate = o->flops / o->fastest * 1e-9, sequences = s->batch.B / o->fastest;
    printf("%-9s %-14s %8.2f ms (median %8.2f)  %9.0f samples/s %10.0f tokens/s  %6.1f Gflop/s  sgemm %6.1f "
           "(median %6.1f)  share %s\n",
           size->name, pe, 1e3 * o->fastest, 1e3 * o->median, sequences, sequences * s->batch.T, rate,
           o->gemm_fastest, o->gemm_median, share_text(o->share, "-"));
    printf("          ");
    for (int p = 0; p < NUM_PHASES; p++)
        printf(" %s %.2f ms (%.1f %%)", PHASES[p], 1e3 * o->phases[p], 100 * o->phases[p] / o->fastest);
    printf("  V %d, %d classes, micro-batch %d, loss %.4f\n", size->vocab, s->config.shape.classes,
           s->micro_batch, s->loss);
    fflush(stdout);
}

static void print_json(const struct subject *s, const struct bench_size *size, const char *pe,
                       const struct options *options, const struct outcome *o, bool first)
{
    double rate = o->flops / o->fastest * 1e-9, sequences = s->batch.B / o->fastest;
    printf("%s  {\"size\": \"%s\", \"pe\": \"%s\", \"dropout\": %g, \"batch\": %d, \"micro_batch\": %d, "
           "\"vocabulary\": %d, \"classes\": %d,\n"
           "   \"threads\": %d, \"pairs\": %d, \"machine\": \"%s\",\n"
           "   \"step_seconds\": %.9g, \"step_seconds_median\": %.9g, \"samples_per_s\": %.9g, "
           "\"tokens_per_s\": %.9g,\n"
           "   \"gflop_per_s\": %.6g, \"sgemm_gflop_per_s\": %.6g, \"sgemm_gflop_per_s_median\": %.6g,\n"
           "   \"share_of_sgemm\": %s, \"share_of_sgemm_fastest\": %s, \"seconds\": {",
           first ? "" : ",\n", size->name, pe, options->settings.dropout, s->batch.B, s->micro_batch,
           size->vocab, s->config.shape.classes, options->threads, options->pairs, machine_description(),
           o->fastest, o->median, sequences, sequences * s->batch.T, rate, o->gemm_fastest, o->gemm_median,
           share_text(o->share, "null"), share_text(rate / o->gemm_fastest, "null"));
    for (int p = 0; p < NUM_PHASES; p++)
        printf("%s\"%s\": %.9g", p ? ", " : "", PHASES[p], o->phases[p]);
    printf("}}");
    fflush(stdout);
}

static enum pes_status bench(const struct bench_size *size, const char *pe, const struct options *options,
                             bool first)
{
    struct subject s = {.arena = pes_arena_create()};
    if (!s.arena) return PES_MEMORY;
    enum pes_status status = subject_make(&s, size, pe, &options->settings);
    if (status == PES_OK && options->save) {
        status = subject_save(&s, options->save);
    } else if (status == PES_OK) {
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
    struct bench_settings *settings = &options->settings;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--json")) {
            options->json = true;
        } else if (!strcmp(name, "--help")) {
            options->help = true;
        } else if (!strcmp(name, "--cpu-time")) {
            machine_use_cpu_time();
        } else if (strncmp(name, "--", 2) != 0 && settings->num_texts < MAX_SETTINGS) {
            settings->texts[settings->num_texts++] = name;
        } else if (!value) {
            return pes_fail(PES_INPUT, "%s: unknown, or without its value", name);
        } else {
            i++;
            if (!strcmp(name, "--sizes"))
                options->sizes = value;
            else if (!strcmp(name, "--pe"))
                options->pe = value;
            else if (!strcmp(name, "--save"))
                options->save = value;
            else if (!strcmp(name, "--dropout"))
                settings->dropout = strtod(value, NULL);
            else if (!strcmp(name, "--batch"))
                settings->batch = PES_MAX(1, atoi(value));
            else if (!strcmp(name, "--micro-batch"))
                settings->micro_batch = PES_MAX(1, atoi(value));
            else if (!strcmp(name, "--threads"))
                options->threads = PES_MAX(1, atoi(value));
            else if (!strcmp(name, "--pairs"))
                options->pairs = PES_MIN(PES_MAX(1, atoi(value)), MAX_PAIRS);
            else
                return pes_fail(PES_INPUT, "unknown option %s; see --help", name);
        }
    }
    return PES_OK;
}

static enum pes_status run_all(const struct options *options)
{
    bool first = true;
    if (!options->json && !options->save) printf("%s\n", machine_description());
    for (const struct bench_size *size = bench_sizes; size->name; size++) {
        if (!listed(options->sizes, size->name)) continue;
        for (size_t p = 0; pes_position_names[p]; p++) {
            if (!listed(options->pe ? options->pe : size->pe, pes_position_names[p])) continue;
            enum pes_status status = bench(size, pes_position_names[p], options, first);
            if (status == PES_INPUT && options->pe && !strcmp(options->pe, "all")) {
                fprintf(stderr, "bench_train: %s without %s: %s\n", size->name, pes_position_names[p],
                        pes_error_message());
                continue; /* some schemes are for causal models alone */
            }
            TRY(status);
            if (options->save) return PES_OK;
            first = false;
        }
    }
    return first ? pes_fail(PES_INPUT, "no such size or position scheme; see --help") : PES_OK;
}

int main(int argc, char **argv)
{
    struct options options = {.settings.batch = 64, .pairs = 12, .threads = 1};
    enum pes_status status = read_options(argc, argv, &options);
    if (options.help) {
        fputs(HELP, stdout);
        return 0;
    }
    if (options.threads == 1) machine_pin();
    pes_kernels_set_threads(options.threads);
    if (machine_blas_forced())
        fputs("bench_train: OPENBLAS_CORETYPE is set: no share of the sgemm rate is told\n", stderr);
    if (status == PES_OK) {
        if (options.json) printf("[\n");
        status = run_all(&options);
        if (options.json) printf("\n]\n");
    }
    if (status != PES_OK) fprintf(stderr, "bench_train: %s\n", pes_error_message());
    return pes_status_exit_code(status);
}
