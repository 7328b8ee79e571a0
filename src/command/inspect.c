/* inspect.c - `pesweep inspect`: spectra of every head of checkpoints from elsewhere. */
#include "inspect.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "pesweep/command.h"
#include "pesweep/comm.h"
#include "pesweep/heads.h"
#include "pesweep/linalg.h"
#include "pesweep/log.h"

enum { MOST_MODELS = 256 };

enum { FOLD_BOTH, FOLD_RAW, FOLD_FOLDED };
static const char *const fold_names[] = {"both", "raw", "folded", NULL};

struct request {
    const char *paths[MOST_MODELS], *output, *layout;
    size_t num_models;
    int fold;
    double rope_theta;
    bool json, quiet, behaviours;
    struct pes_inspection inspection;
    struct pes_behaviour behaviour;
};

struct work {
    struct pes_arena *arena;
    struct pes_pretrained *models[MOST_MODELS];
    struct pes_heads_model described[MOST_MODELS];
    struct pes_layout *layout;
    unsigned char *rows;
};

/* --- what the models are called --- */

/* Last part of a path, without an ending that says nothing; the parent's name for a bare model.safetensors.
 */
static const char *make_label(const char *path, struct pes_arena *arena)
{
    char *copy = pes_arena_copy_text(arena, path);
    static const char *const endings[] = {"/", "/model.safetensors", "/model.safetensors.index.json",
                                          ".safetensors"};
    for (size_t e = 0; copy && e < PES_COUNT(endings); e++) {
        size_t length = strlen(copy), tail = strlen(endings[e]);
        if (length > tail && !strcmp(copy + length - tail, endings[e])) copy[length - tail] = 0;
    }
    char *slash = copy ? strrchr(copy, '/') : NULL;
    return slash && slash[1] ? slash + 1 : copy;
}

/* "pythia-160m/step512", "model-step_512": the number behind the last "step"; NaN if there is none. */
static double find_step(const char *path)
{
    double step = NAN;
    for (const char *at = path; (at = strstr(at, "step")); at++) {
        const char *digits = at + 4 + (at[4] == '-' || at[4] == '_');
        char *end;
        double value = strtod(digits, &end);
        if (*digits >= '0' && *digits <= '9' && end > digits) step = value;
    }
    return step;
}

/* "pythia-160m" for pythia-160m/step512, "model" for model-step_512: what its steps have in common; the label
 * where there is no step or nothing else. */
static const char *make_name(const char *path, const char *label, double step, struct pes_arena *arena)
{
    if (isnan(step)) return label;
    const char *before = path, *end = NULL;
    for (const char *at = path; (at = strstr(at, "step")); at++)
        if (isdigit((unsigned char)at[4 + (at[4] == '-' || at[4] == '_')])) end = at;
    while (end > path && strchr("/-_.", end[-1]))
        end--;
    for (const char *at = path; at < end; at++)
        if (*at == '/') before = at + 1;
    return end > before ? pes_arena_printf(arena, "%.*s", (int)(end - before), before) : label;
}

static enum pes_status describe(struct work *work, size_t m)
{
    const struct pes_pretrained_about *about = pes_pretrained_about(work->models[m]);
    work->described[m] = (struct pes_heads_model){
        .label = make_label(about->path, work->arena),
        .path = about->path,
        .architecture = about->architecture,
        .scheme = about->scheme,
        .notes = about->notes,
        .layers = about->L,
        .heads = about->H,
        .key_heads = about->num_key_heads,
        .width = about->C,
        .head_width = about->D,
        .value_width = about->Dv,
        .causal = about->causal,
        .inner_norm = about->inner_norm,
        .step = find_step(about->path),
    };
    struct pes_heads_model *described = &work->described[m];
    if (!described->label) return PES_MEMORY;
    described->name = make_name(about->path, described->label, described->step, work->arena);
    return described->name ? PES_OK : PES_MEMORY;
}

/* --- the work --- */

static const struct pes_variable *more_variables(const struct request *request)
{
    if (!request->behaviours) return NULL;
    return request->behaviour.intervene ? pes_intervention_variables : pes_behaviour_variables;
}

static enum pes_status open_all(const struct request *request, struct work *work)
{
    for (size_t m = 0; m < request->num_models; m++) {
        TRY(pes_pretrained_open_as(request->paths[m], request->layout, request->rope_theta,
                                   &work->models[m]));
        if (request->behaviours) TRY(pes_behaviour_check(work->models[m]));
        TRY(describe(work, m));
    }
    TRY(pes_inspect_layout((const struct pes_pretrained *const *)work->models, request->num_models,
                           &request->inspection, more_variables(request), work->arena, &work->layout));
    /* Rank 0 holds every row; the others' rows are not used. */
    size_t num_rows = pes_comm_rank() == 0 ? request->num_models : 1;
    work->rows = pes_arena_take(work->arena, num_rows, work->layout->row_bytes);
    return work->rows ? PES_OK : PES_MEMORY;
}

static struct pes_row row_of(const struct work *work, size_t m)
{
    size_t place = pes_comm_rank() == 0 ? m : 0;
    return (struct pes_row){work->layout, work->rows + place * work->layout->row_bytes};
}

static enum pes_status write_file(const struct request *request, const struct work *work)
{
    const struct pes_inspection *inspection = &request->inspection;
    const struct pes_behaviour *behaviour = &request->behaviour;
    char settings[512];
    snprintf(
        settings, sizeof settings,
        "{\"fold_norm\": \"%s\", \"nulls\": %d, \"composition\": %s, \"behaviour\": %s, \"intervene\": %s, "
        "\"sequences\": %zu, \"segment\": %zu, \"seed\": %llu}",
        fold_names[request->fold], inspection->nulls, inspection->composition ? "true" : "false",
        request->behaviours ? "true" : "false", behaviour->intervene ? "true" : "false", behaviour->sequences,
        behaviour->segment, (unsigned long long)inspection->seed);
    const struct pes_heads heads = {.num_models = request->num_models,
                                    .models = work->described,
                                    .layout = work->layout,
                                    .rows = work->rows,
                                    .settings = settings};
    return pes_heads_write(request->output, &heads);
}

static enum pes_status print_all(const struct request *request, const struct work *work)
{
    struct pes_rotation_claim claim = {0};
    if (request->behaviours && request->inspection.folded)
        TRY(pes_inspect_claim(work->described, work->layout, work->rows, request->num_models, work->arena,
                              &claim));
    json_t *models = request->json ? json_array() : NULL;
    for (size_t m = 0; m < request->num_models; m++) {
        const struct pes_pretrained_about *about = pes_pretrained_about(work->models[m]);
        struct pes_row row = row_of(work, m);
        if (request->json)
            json_array_append_new(models, pes_inspect_json(about, work->described[m].label, &row));
        else if (!request->quiet)
            pes_inspect_print(about, work->described[m].label, &row);
    }
    if (!request->json && !request->quiet && claim.num_k) pes_inspect_claim_print(&claim);
    if (!request->json) return PES_OK;
    json_t *all = json_pack("{s:o}", "models", models);
    if (all && claim.num_k) json_object_set_new(all, "rotation_claim", pes_inspect_claim_json(&claim));
    if (!all) return pes_fail(PES_MEMORY, "no memory for the numbers");
    bool ok = json_dumpf(all, stdout, JSON_INDENT(1)) == 0 && printf("\n") > 0;
    json_decref(all);
    return ok ? PES_OK : pes_fail(PES_IO, "standard output can't be written");
}

static enum pes_status inspect(const struct request *request, struct work *work)
{
    work->arena = pes_arena_create();
    TRY(pes_comm_worst(work->arena ? open_all(request, work) : PES_MEMORY));
    for (size_t m = 0; m < request->num_models; m++) {
        struct pes_row row = row_of(work, m);
        pes_row_clear(&row);
        TRY(pes_inspect_run(work->models[m], &request->inspection, &row));
        if (request->behaviours) TRY(pes_behaviour_run(work->models[m], &request->behaviour, &row));
    }
    enum pes_status status = PES_OK;
    if (pes_comm_rank() == 0) {
        if (request->output) status = write_file(request, work);
        if (status == PES_OK) status = print_all(request, work);
    }
    return pes_comm_worst(status);
}

static enum pes_status run(int argc, char **argv)
{
    static struct request request;
    static struct work work;
    bool list = false;
    int64_t nulls = 20, seed = 0, sequences = 4, segment = 50;
    const struct pes_option options[] = {
        {"--output", "-o", PES_OPTION_TEXT, &request.output, 0, 0, NULL},
        {"--fold-norm", NULL, PES_OPTION_CHOICE, &request.fold, 0, 0, fold_names},
        {"--nulls", NULL, PES_OPTION_INT, &nulls, 0, 100000, NULL},
        {"--seed", NULL, PES_OPTION_INT, &seed, 0, 1e15, NULL},
        {"--composition", NULL, PES_OPTION_FLAG, &request.inspection.composition, 0, 0, NULL},
        {"--behaviour", NULL, PES_OPTION_FLAG, &request.behaviours, 0, 0, NULL},
        {"--intervene", NULL, PES_OPTION_FLAG, &request.behaviour.intervene, 0, 0, NULL},
        {"--sequences", NULL, PES_OPTION_INT, &sequences, 1, 100000, NULL},
        {"--segment", NULL, PES_OPTION_INT, &segment, 2, 100000, NULL},
        {"--rope-theta", NULL, PES_OPTION_REAL, &request.rope_theta, 1, 1e12, NULL},
        {"--layout", NULL, PES_OPTION_TEXT, &request.layout, 0, 0, NULL},
        {"--list", NULL, PES_OPTION_FLAG, &list, 0, 0, NULL},
        {"--json", NULL, PES_OPTION_FLAG, &request.json, 0, 0, NULL},
        {"--quiet", "-q", PES_OPTION_FLAG, &request.quiet, 0, 0, NULL},
    };
    request = (struct request){0};
    work = (struct work){0};
    TRY(pes_options_parse(argc, argv, options, PES_COUNT(options), request.paths, 0, MOST_MODELS,
                          "one checkpoint or more"));
    if (list) {
        pes_pretrained_list(stdout);
        return PES_OK;
    }
    while (request.num_models < MOST_MODELS && request.paths[request.num_models])
        request.num_models++;
    if (!request.num_models)
        return pes_fail(PES_INPUT, "inspect needs one checkpoint or more (see: pesweep inspect --help)");
    request.inspection.raw = request.fold != FOLD_FOLDED;
    request.inspection.folded = request.fold != FOLD_RAW;
    request.inspection.nulls = (int)nulls;
    request.inspection.seed = request.behaviour.seed = (uint64_t)seed;
    request.behaviour.sequences = (size_t)sequences;
    request.behaviour.segment = (size_t)segment;
    request.behaviours = request.behaviours || request.behaviour.intervene;
    TRY(pes_log_open(NULL, request.quiet, false));
    pes_signals_install();
    TRY(pes_comm_start(&argc, &argv, 1));
    pes_blas_set_threads(1);
    enum pes_status status = inspect(&request, &work);
    for (size_t m = 0; m < request.num_models; m++)
        pes_pretrained_close(work.models[m]);
    pes_arena_destroy(work.arena);
    return status;
}

const struct pes_command pes_command_inspect = {
    .name = "inspect",
    .usage = "[mpirun -n N] pesweep inspect MODEL... [-o HEADS.h5] [options]",
    .summary = "spectra of every head of pretrained checkpoints (safetensors, GGUF) or exported trials",
    .help =
        "  MODEL: a folder with config.json and safetensors (one file, or shards with their index), or one\n"
        "  such file; a GGUF file; a file that `pesweep export` wrote.  Several models, or steps of one, go\n"
        "  into one file.  --list names the architectures.\n"
        "\n"
        "  -o, --output FILE       HDF5 file with the groups and names of results files, by model, layer, "
        "head\n"
        "      --fold-norm WHICH   both | raw | folded: the weights as they are, or with the gain of the "
        "norm in\n"
        "                          front multiplied in and centred under LayerNorm (default both)\n"
        "      --nulls R           draws of the matched null per head: the same singular values, random "
        "frames\n"
        "                          (default 20; 0 = none)\n"
        "      --composition       value-output spectra, K-composition and sums over layers too: slow\n"
        "      --behaviour         attention to the token before, to the same token and to what came next, "
        "on\n"
        "                          random tokens that repeat; with several models whether those with "
        "rotation differ\n"
        "      --intervene         the same, and the loss when one head at a time loses its phases or one "
        "part of\n"
        "                          M: slow\n"
        "      --sequences N       random segments (default 4)\n"
        "      --segment N         tokens of a segment (default 50)\n"
        "      --seed N            of null draws and tokens (default 0)\n"
        "      --rope-theta X      rotary base of a model whose config.json has none\n"
        "      --layout FILE       JSON file that describes an architecture --list doesn't name, e.g.\n"
        "                            {\"block\": \"h.%d.\", \"q\": \"attn.qkv\", \"packing\": "
        "\"contiguous\",\n"
        "                             \"scheme\": \"rope\", \"front_norm\": \"ln_1\", \"norm\": \"rms\",\n"
        "                             \"config\": {\"num_hidden_layers\": 12, \"rope_theta\": 10000}}\n"
        "                          (also k v o transposed adjacent unscaled bidirectional q_norm k_norm)\n"
        "      --list              the architectures that are known, by their model_type\n"
        "      --json              means over the heads of each layer as one JSON object\n"
        "  -q, --quiet             print nothing but warnings and errors\n",
    .run = run,
};
