/* run.c - `pesweep run`: options, MPI, and the scheduler. */
#include <string.h>

#include "claims.h"
#include "options.h"
#include "pesweep/command.h"
#include "pesweep/comm.h"
#include "pesweep/schedule.h"
#include "pesweep/text.h"

enum { MAX_PARTS = 1000000 };

/* "3/8" */
static enum pes_status read_part(const char *text, int *part, int *num_parts)
{
    char first[16];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : 0;
    int64_t i, n;
    if (length > 0 && length < sizeof first) {
        memcpy(first, text, length);
        first[length] = 0;
        if (pes_text_parse_int(first, &i) && pes_text_parse_int(slash + 1, &n) && i >= 1 && i <= n &&
            n <= MAX_PARTS) {
            *part = (int)i;
            *num_parts = (int)n;
            return PES_OK;
        }
    }
    return pes_fail(PES_INPUT,
                    "--part is '%s'; it takes I/N with 1 <= I <= N <= %d: 3/8 is the third of eight parts",
                    text, MAX_PARTS);
}

static enum pes_status run(int argc, char **argv)
{
    static const char *const retries[] = {"none", "failed", "all", NULL}, *const writers[] = {"auto",
                                                                                              "shared",
                                                                                              "rank0", NULL};
    int64_t threads = 1;
    int retry = PES_RETRY_FAILED, writer = 0;
    struct pes_run_options run = {.started = pes_clock(),
                                  .checkpoint_every = 300,
                                  .check = pes_claims_check,
                                  .argc = argc,
                                  .argv = argv};
    const char *part = NULL;
    const struct pes_option options[] = {
        {"--output", "-o", PES_OPTION_TEXT, &run.output_path, 0, 0, NULL},
        {"--threads-per-rank", "-t", PES_OPTION_INT, &threads, 1, 1024, NULL},
        {"--dedicated-scheduler", NULL, PES_OPTION_FLAG, &run.dedicated_scheduler, 0, 0, NULL},
        {"--time-limit", NULL, PES_OPTION_TIME, &run.time_limit, 0, 0, NULL},
        {"--checkpoint-every", NULL, PES_OPTION_TIME, &run.checkpoint_every, 0, 0, NULL},
        {"--retry", NULL, PES_OPTION_CHOICE, &retry, 0, 0, retries},
        {"--part", NULL, PES_OPTION_TEXT, &part, 0, 0, NULL},
        {"--writer", NULL, PES_OPTION_CHOICE, &writer, 0, 0, writers},
        {"--json", NULL, PES_OPTION_FLAG, &run.json, 0, 0, NULL},
        {"--quiet", "-q", PES_OPTION_FLAG, &run.quiet, 0, 0, NULL},
        {"--dry-run", NULL, PES_OPTION_FLAG, &run.dry_run, 0, 0, NULL},
    };
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), &run.sweep_path, 1, 1, "one sweep file"));
    if (part) TRY(read_part(part, &run.part, &run.num_parts));
    run.threads = (int)threads;
    run.retry = (enum pes_retry)retry;
    run.writer = writer == 0 ? -1 : writer == 1 ? PES_WRITER_SHARED : PES_WRITER_RANK0;

    /* Before MPI, whose start a batch system's signal may fall into. */
    pes_signals_install();
    TRY(pes_comm_start(&argc, &argv, run.threads));
    return pes_schedule_run(&run);
}

const struct pes_command pes_command_run = {
    .name = "run",
    .usage = "[mpirun -n N] pesweep run SWEEP.yaml [-o RESULTS.h5] [options]",
    .summary = "train and analyse every trial of a sweep; go on with a run that stopped; add new trials",
    .help =
        "  -o, --output FILE           results file (default: <name of the sweep>.h5)\n"
        "  -t, --threads-per-rank N    threads inside a trial (default 1: more ranks are better than more "
        "threads)\n"
        "      --dedicated-scheduler   rank 0 only hands out trials\n"
        "      --time-limit TIME       save and leave by then, exit code 75 (default: the end of the SLURM "
        "job);\n"
        "                              90 or 90s, 30m, 12h, 2d, or 1:30 (min:s), 12:00:00, 2-12 "
        "(days-hours)\n"
        "      --checkpoint-every TIME save trials in hand this often (default 300 s)\n"
        "      --retry WHICH           none | failed | all: trials of an earlier start to be tried again\n"
        "                              (default failed; all: diverged ones too)\n"
        "      --part I/N              only part I of N of the trials, always the same ones; each part needs "
        "its own\n"
        "                              results file, and pesweep merge unites them\n"
        "      --writer WHO            auto | shared | rank0: who writes rows (auto: rank 0 alone on NFS "
        "with\n"
        "                              several nodes)\n"
        "      --json                  events as JSON lines on standard output\n"
        "  -q, --quiet                 warnings and errors only\n"
        "      --dry-run               check everything, say what would be trained, write nothing\n"
        "\nSIGUSR1, SIGTERM and SIGINT stop a run in good order: trials in hand are saved, the exit code is "
        "75, and\n"
        "the same command goes on from there.\n",
    .run = run,
};
