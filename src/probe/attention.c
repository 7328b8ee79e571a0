/* attention.c - attention behaviours at every checkpoint; mean maps, Toeplitz measures and contraction.
 *
 * Contraction, per sequence on raw, unmasked T x T scores, padding and all: spread(S) / spread(A), A = the
 * scores of the same head without its positional coupling; NaN for schemes that have none inside attention to
 * take out. */
#include "attention.h"

#include <math.h>

#include "pesweep/spectrum.h"

#define BEHAVIOURS(X)                                                                                        \
    X(previous_token_score, "", "mean attention to the token before")                                        \
    X(previous_token_excess, "", "previous_token_score over uniform attention to the visible keys")          \
    X(next_token_score, "", "mean attention to the token after; NaN for causal models")                      \
    X(induction_score, "", "mean attention to the tokens that followed earlier copies of the query's token") \
    X(duplicate_token_score, "", "mean attention to earlier copies of the query's token")                    \
    X(first_token_score, "", "mean attention to the first token")                                            \
    X(attention_entropy, "nat", "mean entropy of the attention distribution")                                \
    X(attention_distance, "", "mean distance between query and key")
/* spread = lambda_max - lambda_min of the symmetric part of row-centred raw scores. */
#define SPREADS(X)                                                                                           \
    X(score_spread, "", "spread of the scores, mean over measure.contraction_sequences sequences")           \
    X(content_score_spread, "", "score_spread without the positional coupling")                              \
    X(contraction, "", "spread of the scores / spread without the positional coupling, mean over the same")

/* Of the mean scores over measure.attention_maps sequences at the end, measure.probe_sequences before. */
#define MEANS(X)                                                                                             \
    X(mean_score_spread, "",                                                                                 \
      "lambda_max - lambda_min of the symmetric part of the mean scores, each row's mean taken out")         \
    X(mean_score_condition, "", "max |lambda| / min |lambda| of the same matrix; infinite if singular")      \
    X(toeplitz_fraction, "",                                                                                 \
      "share of ||mean scores||^2 over visible entries that survives averaging along diagonals")             \
    X(toeplitz_fraction_centred, "",                                                                         \
      "toeplitz_fraction after each row's mean over its visible entries is taken out")

/* clang-format off */
#define CURVE(name, unit, help)                                                                              \
    {"curves", #name, PES_F32, 3, {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD}, unit, help},
#define FINAL(name, unit, help) {"probes", #name, PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, unit, help},
static const struct pes_variable variables[] = {
    BEHAVIOURS(CURVE)
    SPREADS(CURVE)
    BEHAVIOURS(FINAL)
    MEANS(CURVE)
    {"curves", "relative_kernel", PES_F32, 4, {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_OFFSET}, "",
     "mean raw score at an offset key - query"},
    SPREADS(FINAL)
    MEANS(FINAL)
    {"probes", "relative_kernel", PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_OFFSET}, "",
     "mean raw score at an offset key - query"},
    {"attention", "map", PES_F32, 4, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_QUERY, PES_DIM_KEY}, "",
     "mean attention over measure.attention_maps test sequences"},
    {"attention", "scores", PES_F32, 4, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_QUERY, PES_DIM_KEY}, "",
     "mean raw score, not masked, over measure.attention_maps test sequences"},
    {"attention", "score_diagonals", PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_DIAGONAL}, "",
     "mean of attention/scores along diagonals, over visible entries"},
    {"attention", "score_eigenvalues", PES_F64, 3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_EIGENVALUE}, "",
     "eigenvalues of the symmetric part of attention/scores, each row's mean taken out, ascending"},
    {.name = NULL},
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.behaviours") ||
           pes_config_int(settings, "measure.attention_maps");
}

/* Sums over sequences. */
struct spreads {
    double scores, content, ratio;
};

/* Everything that one pass over the sequences gathers. */
struct gathering {
    const struct pes_measurement *m;
    struct pes_behaviour behaviour;
    bool behaviours;
    struct pes_maps *maps;   /* NULL = none */
    struct spreads *spreads; /* [L][H] */
    int64_t contracted;      /* sequences in them */
    bool contracting;        /* this micro-batch is among them */
    enum pes_status status;
};

static double spread_of(struct gathering *g, int T, const real *scores)
{
    double spread = pes_spectrum_spread(T, scores, g->m->arena);
    if (pes_linalg_status() != PES_OK) g->status = PES_MEMORY;
    return spread;
}

static void contract(struct gathering *g, const struct pes_observation *seen)
{
    struct spreads *sums = &g->spreads[seen->layer * g->m->model->config.shape.H + seen->head];
    double scores = spread_of(g, seen->T, seen->scores), content = NAN;
    if (seen->content_scores) content = spread_of(g, seen->T, seen->content_scores);
    sums->scores += scores;
    sums->content += content;
    sums->ratio += scores / content;
}

static void observe(void *context, const struct pes_observation *seen)
{
    struct gathering *g = context;
    if (g->behaviours) pes_behaviour_observe(&g->behaviour, seen);
    if (g->maps) pes_maps_observe(g->maps, seen);
    if (g->contracting) contract(g, seen);
}

static enum pes_status pass_over(struct gathering *g, int64_t sequences, int64_t contracted)
{
    const struct pes_measurement *m = g->m;
    pes_model_prepare(m->model, m->workspace, m->parameters, NULL);
    for (int64_t first = 0; first < sequences;) {
        struct pes_arena_mark mark = pes_arena_mark(m->arena);
        /* A micro-batch ends with the contracted sequences, so that either all of it is or none. */
        int64_t end = first < contracted ? contracted : sequences;
        int B = (int)PES_MIN((int64_t)m->micro_batch, end - first);
        struct pes_batch batch;
        TRY(pes_data_test_batch(m->data, first, B, m->arena, &batch));
        pes_behaviour_batch(&g->behaviour, &batch);
        g->contracting = first < contracted;
        struct pes_observer observer = {.context = g,
                                        .scores = true,
                                        .content_scores = g->contracting,
                                        .probabilities = g->maps || g->behaviours,
                                        .observe = observe};
        struct pes_pass pass = {.observer = &observer};
        struct pes_loss loss = {0};
        pes_model_run(m->model, m->workspace, &batch, &pass, &loss);
        pes_arena_rewind(m->arena, mark);
        TRY(g->status);
        TRY(pes_probe_poll(m));
        first += B;
    }
    g->contracted = contracted;
    return PES_OK;
}

static void put(const struct pes_measurement *m, const char *name, size_t layer, size_t head, double value)
{
    if (m->final)
        pes_row_put(m->row, "probes", name, (size_t[]){layer, head}, value);
    else
        pes_row_put(m->row, "curves", name, (size_t[]){m->checkpoint, layer, head}, value);
}

static void put_head(const struct gathering *g, size_t layer, size_t head)
{
    const struct pes_measurement *m = g->m;
    size_t place = layer * (size_t)m->model->config.shape.H + head;
    if (g->contracted) {
        double sequences = (double)g->contracted;
        put(m, "score_spread", layer, head, g->spreads[place].scores / sequences);
        put(m, "content_score_spread", layer, head, g->spreads[place].content / sequences);
        put(m, "contraction", layer, head, g->spreads[place].ratio / sequences);
    }
    if (!g->behaviours || !g->behaviour.queries) return;
    const struct pes_behaviour_sums *sums = &g->behaviour.sums[place];
    double queries = (double)g->behaviour.queries, with_next = (double)g->behaviour.queries_with_next;
    put(m, "previous_token_score", layer, head, sums->previous / queries);
    put(m, "previous_token_excess", layer, head, (sums->previous - g->behaviour.uniform) / queries);
    put(m, "next_token_score", layer, head, with_next > 0 ? sums->next / with_next : NAN);
    put(m, "induction_score", layer, head, sums->induction / queries);
    put(m, "duplicate_token_score", layer, head, sums->duplicate / queries);
    put(m, "first_token_score", layer, head, sums->first / queries);
    put(m, "attention_entropy", layer, head, sums->entropy / queries);
    put(m, "attention_distance", layer, head, sums->distance / queries);
}

static enum pes_status run(const struct pes_measurement *m)
{
    const struct pes_shape *shape = &m->model->config.shape;
    int64_t maps_of = pes_config_int(m->settings, "measure.attention_maps");
    struct gathering g = {.m = m, .behaviours = pes_config_bool(m->settings, "measure.behaviours")};
    if (!maps_of && !g.behaviours) return PES_OK;
    struct pes_maps maps;
    TRY(pes_behaviour_create(m, &g.behaviour));
    if (maps_of) {
        TRY(pes_maps_create(m, &maps));
        g.maps = &maps;
    }
    g.spreads = pes_arena_take(m->arena, (size_t)shape->L * (size_t)shape->H, sizeof *g.spreads);
    if (!g.spreads) return PES_MEMORY;
    int64_t wanted_sequences =
        maps_of && m->final ? maps_of : pes_config_int(m->settings, "measure.probe_sequences");
    int64_t sequences = pes_probe_sequences(m, wanted_sequences);
    int64_t contracted = PES_MIN(sequences, pes_config_int(m->settings, "measure.contraction_sequences"));
    TRY(pass_over(&g, sequences, contracted));
    for (size_t l = 0; l < (size_t)shape->L; l++)
        for (size_t h = 0; h < (size_t)shape->H; h++)
            put_head(&g, l, h);
    return g.maps ? pes_maps_finish(g.maps, m, sequences) : PES_OK;
}

const struct pes_measure pes_measure_attention = {
    .name = "attention",
    .summary = "where heads look, mean attention and scores, Toeplitz structure, contraction by position",
    .source = "Olsson et al., arXiv 2209.11895; Gu et al., arXiv 2505.13027",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
