/* behaviour.c - what heads attend to on random tokens that repeat, and what the loss on the repeated tokens
 * does when one head's scores are changed.
 *
 * A sequence is a beginning token and a random segment of n tokens twice; query i of the second copy sees its
 * earlier self at i - n, the token that came next then at i - n + 1.  Every rank that intervenes runs the
 * whole unchanged pass itself, so that each intervention is a pass of its own and no result depends on the
 * number of ranks. */
#include <math.h>
#include <string.h>

#include "forward.h"
#include "pesweep/comm.h"
#include "pesweep/log.h"

#define BY_HEAD                                                                                              \
    2,                                                                                                       \
    {                                                                                                        \
        PES_DIM_LAYER, PES_DIM_HEAD                                                                          \
    }
#define BEHAVIOURS                                                                                           \
    {"behaviours", "previous_token_score", PES_F64, BY_HEAD, "", "mean attention to the token before"},      \
        {"behaviours", "duplicate_token_score",                                                              \
         PES_F64,      BY_HEAD,                                                                              \
         "",           "mean attention to the same token's earlier place"},                                  \
        {"behaviours", "induction_score",                                                                    \
         PES_F64,      BY_HEAD,                                                                              \
         "",           "mean attention to what came next at the same token's earlier place"},                \
    {                                                                                                        \
        "behaviours", "induction_loss", PES_F64, 0, {0}, "nat", "mean loss on tokens that repeat"            \
    }

/* clang-format off */
const struct pes_variable pes_behaviour_variables[] = {
    BEHAVIOURS,
    {.name = NULL},
};
const struct pes_variable pes_intervention_variables[] = {
    BEHAVIOURS,
    {"probes", "phase_zeroing_loss_change", PES_F64, BY_HEAD, "nat",
     "induction_loss gained when the head keeps the cosine terms of its scores alone; NaN without rotation"},
    {"probes", "symmetrisation_loss_change", PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_PART}, "nat",
     "induction_loss gained when the head keeps one part of M alone"},
    {.name = NULL},
};
/* clang-format on */

enum { NUM_SCORES = 3, NUM_CHANGES = 3 };
static const char *const score_names[NUM_SCORES] = {"previous_token_score", "duplicate_token_score",
                                                    "induction_score"};
static const enum change changes[NUM_CHANGES] = {CHANGE_PHASE_ZEROED, CHANGE_SYMMETRIC, CHANGE_ANTISYMMETRIC};

struct pass {
    const struct pes_pretrained *model;
    const struct pes_behaviour *behaviour;
    struct forward *forward;
    struct pes_arena *arena;
    size_t S, n, T, C, L, H;
    int32_t *tokens;  /* [S, T] */
    double *scores;   /* [L][H][NUM_SCORES] */
    double *streams;  /* [L][S T C] in front of each block, and what its attention adds; NULL without
                         intervention */
    double *attended; /* [L][S T C] */
    double loss;
    int layer; /* now seen */
};

static enum pes_status draw_tokens(struct pass *pass)
{
    size_t V = forward_vocabulary(pass->forward);
    int32_t beginning = forward_beginning(pass->forward);
    if (V < 2)
        return pes_fail(PES_INPUT, "%s: a vocabulary of %zu tokens has nothing to repeat",
                        pass->model->about.path, V);
    struct pes_stream stream = {{pass->behaviour->seed, PES_RNG_DATA_SET, 0}, 0};
    for (size_t s = 0; s < pass->S; s++) {
        int32_t *row = pass->tokens + s * pass->T;
        row[0] = beginning;
        for (size_t i = 0; i < pass->n; i++) {
            int32_t token = (int32_t)pes_stream_below(&stream, V - 1);
            row[1 + i] = row[1 + pass->n + i] = token + (token >= beginning);
        }
    }
    return PES_OK;
}

/* Sums of attention over the queries of the second copies. */
static void see(void *context, int head, const double *attention)
{
    struct pass *pass = context;
    double *scores = pass->scores + ((size_t)pass->layer * pass->H + (size_t)head) * NUM_SCORES;
    size_t T = pass->T, n = pass->n;
    for (size_t s = 0; s < pass->S; s++)
        for (size_t i = 1 + n; i < T; i++) {
            const double *row = attention + (s * T + i) * T;
            const size_t seen[NUM_SCORES] = {i - 1, i - n, i - n + 1};
            for (int k = 0; k < NUM_SCORES; k++)
                scores[k] += row[seen[k]] / (double)(pass->S * n);
        }
}

/* -log p(target), logits[V]. */
static double cross_entropy(size_t V, const double *logits, int32_t target)
{
    double largest = logits[0], sum = 0;
    for (size_t v = 1; v < V; v++)
        largest = fmax(largest, logits[v]);
    for (size_t v = 0; v < V; v++)
        sum += exp(logits[v] - largest);
    return log(sum) + largest - logits[target];
}

/* Mean loss of one group of S sequences on the tokens of the second copy that follow one of it. */
static enum pes_status measure_loss(const struct pass *pass, const double *x, double *loss)
{
    size_t V = forward_vocabulary(pass->forward), rows = pass->n - 1;
    struct pes_arena_mark mark = pes_arena_mark(pass->arena);
    double *logits = pes_arena_take(pass->arena, rows * V, sizeof *logits), sum = 0;
    if (!logits) return PES_MEMORY;
    for (size_t s = 0; s < pass->S; s++) {
        size_t start = s * pass->T + 1 + pass->n;
        TRY(forward_logits(pass->forward, rows, x + start * pass->C, logits));
        for (size_t i = 0; i < rows; i++)
            sum += cross_entropy(V, logits + i * V, pass->tokens[start + i + 1]);
    }
    *loss = sum / (double)(pass->S * rows);
    pes_arena_rewind(pass->arena, mark);
    return PES_OK;
}

static enum pes_status run_unchanged(struct pass *pass)
{
    size_t count = pass->S * pass->T * pass->C;
    double *x = pes_arena_take(pass->arena, count, sizeof *x),
           *added = pes_arena_take(pass->arena, count, sizeof *added);
    if (!x || !added) return PES_MEMORY;
    TRY(forward_embed(pass->forward, pass->S, pass->T, pass->tokens, x));
    for (pass->layer = 0; (size_t)pass->layer < pass->L; pass->layer++) {
        size_t at = (size_t)pass->layer * count;
        TRY(forward_attention(pass->forward, pass->layer, pass->S, pass->T, x, see, pass, added));
        if (pass->streams) {
            memcpy(pass->streams + at, x, count * sizeof *x);
            memcpy(pass->attended + at, added, count * sizeof *x);
        }
        TRY(forward_finish(pass->forward, pass->layer, pass->S * pass->T, added, x));
    }
    return measure_loss(pass, x, &pass->loss);
}

/* Every change of one head at once, as groups of sequences side by side; effects[NUM_CHANGES]. */
static enum pes_status run_changed(const struct pass *pass, int layer, int head, double *effects)
{
    size_t count = pass->S * pass->T * pass->C, S = NUM_CHANGES * pass->S, at = (size_t)layer * count;
    double *x = pes_arena_take(pass->arena, NUM_CHANGES * count, sizeof *x);
    double *added = pes_arena_take(pass->arena, NUM_CHANGES * count, sizeof *added);
    double *usual = pes_arena_take(pass->arena, count, sizeof *usual);
    if (!x || !added || !usual) return PES_MEMORY;
    const double *stream = pass->streams + at;
    TRY(forward_head(pass->forward, layer, head, CHANGE_NONE, pass->S, pass->T, stream, NULL, NULL, usual));
    for (size_t c = 0; c < NUM_CHANGES; c++) {
        double *out = added + c * count;
        for (size_t i = 0; i < count; i++)
            out[i] = pass->attended[at + i] - usual[i];
        TRY(forward_head(pass->forward, layer, head, changes[c], pass->S, pass->T, stream, NULL, NULL, out));
        memcpy(x + c * count, stream, count * sizeof *x);
    }
    TRY(forward_finish(pass->forward, layer, S * pass->T, added, x));
    for (int later = layer + 1; (size_t)later < pass->L; later++) {
        TRY(forward_attention(pass->forward, later, S, pass->T, x, NULL, NULL, added));
        TRY(forward_finish(pass->forward, later, S * pass->T, added, x));
    }
    for (size_t c = 0; c < NUM_CHANGES; c++) {
        double loss;
        TRY(measure_loss(pass, x + c * count, &loss));
        effects[c] = loss - pass->loss;
    }
    return PES_OK;
}

static void put_scores(const struct pass *pass, const struct pes_row *row)
{
    for (size_t layer = 0; layer < pass->L; layer++)
        for (size_t h = 0; h < pass->H; h++)
            for (size_t k = 0; k < NUM_SCORES; k++)
                pes_row_put(row, "behaviours", score_names[k], (const size_t[]){layer, h},
                            pass->scores[(layer * pass->H + h) * NUM_SCORES + k]);
    pes_row_put(row, "behaviours", "induction_loss", NULL, pass->loss);
}

static enum pes_status prepare(struct pass *pass)
{
    size_t count = pass->S * pass->T * pass->C;
    TRY(forward_create(pass->model, pass->arena, &pass->forward));
    pass->tokens = pes_arena_take(pass->arena, pass->S * pass->T, sizeof *pass->tokens);
    pass->scores = pes_arena_take(pass->arena, pass->L * pass->H * NUM_SCORES, sizeof *pass->scores);
    if (!pass->tokens || !pass->scores) return PES_MEMORY;
    if (pass->behaviour->intervene) {
        pass->streams = pes_arena_take(pass->arena, pass->L * count, sizeof *pass->streams);
        pass->attended = pes_arena_take(pass->arena, pass->L * count, sizeof *pass->attended);
        if (!pass->streams || !pass->attended) return PES_MEMORY;
    }
    return draw_tokens(pass);
}

/* effects[L][H][NUM_CHANGES]: those of this rank's heads. */
static enum pes_status intervene(const struct pass *pass, double *effects)
{
    size_t number = 0, rank = (size_t)pes_comm_rank(), size = (size_t)pes_comm_size();
    for (size_t layer = 0; layer < pass->L; layer++)
        for (size_t h = 0; h < pass->H; h++, number++) {
            if (number % size != rank) continue;
            struct pes_arena_mark mark = pes_arena_mark(pass->arena);
            TRY(run_changed(pass, (int)layer, (int)h, effects + number * NUM_CHANGES));
            pes_arena_rewind(pass->arena, mark);
            if (rank == 0 && pes_log_progress_wanted()) {
                char text[96];
                snprintf(text, sizeof text, "changed %zu of %zu heads", number + 1, pass->L * pass->H);
                pes_log_progress(text);
            }
        }
    return PES_OK;
}

static void put_effects(const struct pass *pass, const double *all, const struct pes_row *row)
{
    size_t size = (size_t)pes_comm_size(), total = pass->L * pass->H;
    bool rotates = pass->model->rotations[0].half > 0;
    for (size_t number = 0; number < total; number++) {
        const double *effect = all + ((number % size) * total + number) * NUM_CHANGES;
        const size_t at[] = {number / pass->H, number % pass->H, 0}, other[] = {at[0], at[1], 1};
        if (rotates) pes_row_put(row, "probes", "phase_zeroing_loss_change", at, effect[0]);
        pes_row_put(row, "probes", "symmetrisation_loss_change", at, effect[1]);
        pes_row_put(row, "probes", "symmetrisation_loss_change", other, effect[2]);
    }
}

/* Collective if heads are changed. */
static enum pes_status change_heads(struct pass *pass, const struct pes_row *row)
{
    size_t bytes = pass->L * pass->H * NUM_CHANGES * sizeof(double);
    bool first = pes_comm_rank() == 0;
    double *effects = pes_allocate(1, bytes),
           *all = first ? pes_allocate((size_t)pes_comm_size(), bytes) : NULL;
    enum pes_status status = effects && (all || !first) ? intervene(pass, effects) : PES_MEMORY;
    pes_log_progress_end();
    status = pes_comm_worst(status);
    if (status == PES_OK) {
        pes_comm_gather(effects, bytes, all);
        if (first) put_effects(pass, all, row);
    }
    pes_free(effects);
    pes_free(all);
    return status;
}

enum pes_status pes_behaviour_check(const struct pes_pretrained *model)
{
    struct pes_arena *arena = pes_arena_create();
    struct forward *forward;
    enum pes_status status = arena ? forward_create(model, arena, &forward) : PES_MEMORY;
    pes_arena_destroy(arena);
    return status;
}

enum pes_status pes_behaviour_run(const struct pes_pretrained *model, const struct pes_behaviour *behaviour,
                                  const struct pes_row *row)
{
    CHECK(behaviour->segment >= 2 && behaviour->sequences >= 1);
    struct pass pass = {.model = model,
                        .behaviour = behaviour,
                        .arena = pes_arena_create(),
                        .S = behaviour->sequences,
                        .n = behaviour->segment,
                        .T = 1 + 2 * behaviour->segment,
                        .C = (size_t)model->about.C,
                        .L = (size_t)model->about.L,
                        .H = (size_t)model->about.H};
    enum pes_status status = PES_OK;
    if (pes_comm_rank() == 0 || behaviour->intervene) {
        status = pass.arena ? prepare(&pass) : PES_MEMORY;
        if (status == PES_OK) status = run_unchanged(&pass);
    }
    status = pes_comm_worst(status);
    if (status == PES_OK && pes_comm_rank() == 0) put_scores(&pass, row);
    if (status == PES_OK && behaviour->intervene) status = change_heads(&pass, row);
    pes_arena_destroy(pass.arena);
    return status;
}

enum pes_status pes_pretrained_logits(const struct pes_pretrained *model, size_t T, const int32_t *tokens,
                                      struct pes_arena *arena, size_t *vocabulary, double **logits)
{
    struct forward *forward;
    TRY(forward_create(model, arena, &forward));
    size_t C = (size_t)model->about.C;
    *vocabulary = forward_vocabulary(forward);
    *logits = pes_arena_take(arena, T * *vocabulary, sizeof **logits);
    double *x = pes_arena_take(arena, T * C, sizeof *x), *added = pes_arena_take(arena, T * C, sizeof *added);
    if (!*logits || !x || !added) return PES_MEMORY;
    TRY(forward_embed(forward, 1, T, tokens, x));
    for (int layer = 0; layer < model->about.L; layer++) {
        TRY(forward_attention(forward, layer, 1, T, x, NULL, NULL, added));
        TRY(forward_finish(forward, layer, T, added, x));
    }
    return forward_logits(forward, T, x, *logits);
}
