/* bench_scheduler.c - what handing out trials costs, with trials that only sleep; see HELP.
 *
 * Everything but the training is real: the sweep, the scheduler, its messages, the rows written to a results
 * file.  Sleeping ranks share cores without disturbing each other, so that many more ranks than cores can be
 * tried.  Calls of pes_train_trial and pes_sweep_cost are led here by the linker (--wrap). */
#include "pesweep/comm.h"
#include "pesweep/schedule.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char HELP[] =
    "mpirun -n RANKS bench_scheduler [--trials N] [--seconds S] [--spread R] [--folder DIR]\n"
    "bench_scheduler --simulate RANKS [--trials N] [--seconds S] [--spread R] [--latency S] [--overhead S]\n"
    "\n"
    "Runs N trials (default: 40 a rank) that sleep between S and R x S seconds (default 0 and 20), spread "
    "evenly\n"
    "in the logarithm, while the scheduler predicts them wrongly by up to 30 %.  Tells messages per second, "
    "the\n"
    "idle share, seconds of overhead a trial, and what rank 0 spent on scheduling, as one line of JSON.\n"
    "With --simulate the scheduler's policy is played through without MPI.\n";

static struct {
    const char *folder;
    size_t trials;
    int simulate;
    double seconds, spread, latency, overhead;
} options = {.spread = 20};

/* [0, 1), a function of trial and purpose alone. */
static double uniform(size_t trial, uint64_t purpose)
{
    uint64_t x = (trial + 1) * 0x9e3779b97f4a7c15u + purpose * 0xd1b54a32d192ed03u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static double seconds_of(size_t trial)
{
    return options.seconds * pow(options.spread, uniform(trial, 0));
}

static void doze(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - floor(seconds)))};
    nanosleep(&time, NULL);
}

/* --- in place of training ------------------------------------------------------------------------------- */

enum pes_status __wrap_pes_sweep_cost(const struct pes_sweep *sweep, const struct pes_trial *trial,
                                      struct pes_cost *cost);
enum pes_status __wrap_pes_sweep_cost(const struct pes_sweep *sweep, const struct pes_trial *trial,
                                      struct pes_cost *cost)
{
    size_t number = (size_t)(trial - sweep->trials);
    *cost = (struct pes_cost){.seconds = seconds_of(number) * (0.7 + 0.6 * uniform(number, 1))};
    return PES_OK;
}

enum pes_status __wrap_pes_train_trial(const struct pes_sweep *sweep, size_t trial,
                                       const struct pes_layout *layout, const struct pes_train_hooks *hooks,
                                       struct pes_row *row, struct pes_train_result *result);
enum pes_status __wrap_pes_train_trial(const struct pes_sweep *sweep, size_t trial,
                                       const struct pes_layout *layout, const struct pes_train_hooks *hooks,
                                       struct pes_row *row, struct pes_train_result *result)
{
    (void)sweep;
    (void)layout;
    enum { STEPS = 1000 };
    double start = pes_clock(), all = seconds_of(trial), gone;
    pes_row_clear(row);
    while ((gone = pes_clock() - start) < all) {
        if (hooks->tick(hooks->context, (int64_t)(STEPS * gone / all), STEPS) == PES_TICK_STOP)
            return PES_STOPPED;
        doze(fmin(5e-3, all - gone)); /* about a micro-batch of a large model */
    }
    *result = (struct pes_train_result){.outcome = PES_OUTCOME_DONE, .steps = STEPS, .train_seconds = gone};
    return PES_OK;
}

/* --- the run -------------------------------------------------------------------------------------------- */

static enum pes_status write_sweep(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file) return pes_fail(PES_IO, "%s can't be written", path);
    fprintf(file,
            "name: scheduler\n"
            "task: {kind: relative_distance, vocab: 8, between: 2, side: 1, samples: 100}\n"
            "model: {layers: 1, d_model: 4, heads: 1, d_ff: 0}\n"
            "train: {steps: 1}\n"
            "measure: {checkpoints: 2, evaluate_every: 1, spectra: false}\n"
            "grid: {seed: 0..%zu}\n",
            options.trials - 1);
    return fclose(file) ? pes_fail(PES_IO, "%s can't be written", path) : PES_OK;
}

/* The last event of the run, from its log. */
static json_t *read_ending(const char *log)
{
    FILE *file = fopen(log, "r");
    json_t *ending = NULL, *event;
    while (file && (event = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL))) {
        json_decref(ending);
        ending = event;
    }
    if (file) fclose(file);
    return ending;
}

static double number_of(const json_t *event, const char *name)
{
    return json_number_value(json_object_get(event, name));
}

static void print_ending(const json_t *ending, double whole)
{
    double seconds = number_of(ending, "seconds"), ranks = pes_comm_size(), useful = 0;
    for (size_t t = 0; t < options.trials; t++)
        useful += seconds_of(t);
    /* STARTED, ENDED and TRAIN a trial; READY, FINISH, LEAVING and BYE a rank. */
    double messages = 3 * (double)options.trials + 4 * ranks;
    printf("{\"ranks\": %.0f, \"trials\": %zu, \"shortest_seconds\": %g, \"spread\": %g, \"seconds\": %.4g, "
           "\"seconds_with_start_and_end\": %.4g, \"messages_per_s\": %.5g, \"idle_share\": %.4g, "
           "\"efficiency\": %.4g, \"overhead_per_trial\": %.4g}\n",
           ranks, options.trials, options.seconds, options.spread, seconds, whole, messages / seconds,
           number_of(ending, "idle_share"), useful / (seconds * ranks),
           (seconds * ranks - useful) / (double)options.trials);
}

static enum pes_status run(int argc, char **argv)
{
    char sweep[4096], output[4096], log[4200];
    snprintf(sweep, sizeof sweep, "%s/bench_scheduler.yaml", options.folder);
    snprintf(output, sizeof output, "%s/bench_scheduler.h5", options.folder);
    snprintf(log, sizeof log, "%s.log", output);
    if (!options.trials) options.trials = 40 * (size_t)pes_comm_size();
    enum pes_status status = PES_OK;
    if (pes_comm_rank() == 0) {
        (void)unlink(output);
        (void)unlink(log);
        status = write_sweep(sweep);
    }
    TRY(pes_comm_worst(status));
    struct pes_run_options how = {.sweep_path = sweep,
                                  .output_path = output,
                                  .threads = 1,
                                  .started = pes_clock(),
                                  .checkpoint_every = 300,
                                  .writer = -1,
                                  .quiet = true,
                                  .argc = argc,
                                  .argv = argv};
    TRY(pes_schedule_run(&how));
    if (pes_comm_rank()) return PES_OK;
    json_t *ending = read_ending(log);
    if (!ending) return pes_fail(PES_IO, "%s tells nothing", log);
    print_ending(ending, pes_clock() - how.started);
    json_decref(ending);
    return PES_OK;
}

static enum pes_status simulate(void)
{
    if (!options.trials) options.trials = 100 * (size_t)options.simulate;
    double *seconds = pes_allocate(options.trials, sizeof *seconds);
    if (!seconds) return PES_MEMORY;
    for (size_t t = 0; t < options.trials; t++)
        seconds[t] = seconds_of(t);
    struct pes_makespan makespan;
    enum pes_status status = pes_schedule_simulate(seconds, options.trials, options.simulate, false,
                                                   options.latency, options.overhead, &makespan);
    pes_free(seconds);
    TRY(status);
    printf("{\"simulated_ranks\": %d, \"trials\": %zu, \"shortest_seconds\": %g, \"spread\": %g, "
           "\"latency\": %g, "
           "\"overhead_per_trial\": %g, \"seconds\": %.6g, \"efficiency\": %.5f, "
           "\"messages_per_s\": %.5g}\n",
           options.simulate, options.trials, options.seconds, options.spread, options.latency,
           options.overhead, makespan.seconds, makespan.efficiency,
           3 * (double)options.trials / makespan.seconds);
    return PES_OK;
}

static bool read_options(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (!strcmp(name, "--trials"))
            options.trials = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--seconds"))
            options.seconds = strtod(value, NULL);
        else if (!strcmp(name, "--spread"))
            options.spread = strtod(value, NULL);
        else if (!strcmp(name, "--latency"))
            options.latency = strtod(value, NULL);
        else if (!strcmp(name, "--overhead"))
            options.overhead = strtod(value, NULL);
        else if (!strcmp(name, "--folder"))
            options.folder = value;
        else if (!strcmp(name, "--simulate"))
            options.simulate = PES_MAX(1, atoi(value));
        else
            return false;
    }
    return argc % 2 == 1;
}

int main(int argc, char **argv)
{
    options.folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    if (!read_options(argc, argv)) {
        fputs(HELP, stdout);
        return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
    }
    enum pes_status status;
    if (options.simulate) {
        status = simulate();
    } else {
        pes_signals_install();
        status = pes_comm_start(&argc, &argv, 1);
        if (status == PES_OK) status = run(argc, argv);
        if (status != PES_OK && pes_comm_rank() == 0) fprintf(stderr, "%s\n", pes_error_message());
        pes_comm_stop();
        return pes_status_exit_code(status);
    }
    if (status != PES_OK) fprintf(stderr, "bench_scheduler: %s\n", pes_error_message());
    return pes_status_exit_code(status);
}
