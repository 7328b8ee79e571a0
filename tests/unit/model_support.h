/* model_support.h - small models for tests: settings as text, a batch of random tokens. */
#ifndef PESWEEP_TESTS_MODEL_SUPPORT_H
#define PESWEEP_TESTS_MODEL_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/model.h"
#include "pesweep/optimizer.h"

static const char *const support_activations[] = {"relu", "gelu", NULL};
static const char *const support_kv_sources[] = {"residual", "embedding", NULL};
static const char *const support_pads[] = {"attend", "mask", NULL};
static const char *const support_attentions[] = {"mha", "mla", NULL};
static const char *const support_inits[] = {"framework", "normal", NULL};
static const char *const support_schedules[] = {"constant", "linear", "cosine", NULL};
static const char *const support_decays[] = {"matrices", "all", NULL};

#define SUPPORT_KEY(name, kind, value)                                                                       \
    {                                                                                                        \
        .path = name, .type = kind, .max = 1e12, .fallback = value, .unit = "", .help = ""                   \
    }
#define SUPPORT_CHOICE(name, names, value)                                                                   \
    {                                                                                                        \
        .path = name, .type = PES_VALUE_CHOICE, .choices = names, .fallback = value, .unit = "", .help = ""  \
    }

/* The keys that the model and the optimizer read, with defaults for a tiny model. */
static const struct pes_key support_keys[] = {
    SUPPORT_KEY("model.layers", PES_VALUE_INT, "2"),
    SUPPORT_KEY("model.d_model", PES_VALUE_INT, "8"),
    SUPPORT_KEY("model.heads", PES_VALUE_INT, "2"),
    SUPPORT_KEY("model.d_ff", PES_VALUE_INT, "10"),
    SUPPORT_CHOICE("model.activation", support_activations, "gelu"),
    SUPPORT_KEY("model.causal", PES_VALUE_BOOL, "false"),
    SUPPORT_CHOICE("model.kv_source", support_kv_sources, "residual"),
    SUPPORT_CHOICE("model.pad", support_pads, "attend"),
    SUPPORT_KEY("model.max_length", PES_VALUE_INT, "0"),
    SUPPORT_KEY("model.final_norm", PES_VALUE_BOOL, "true"),
    SUPPORT_CHOICE("model.attention", support_attentions, "mha"),
    SUPPORT_CHOICE("model.pe", pes_position_names, "nope"),
    SUPPORT_KEY("model.pe_heads", PES_VALUE_SET, "all"),
    SUPPORT_KEY("model.pe_layers", PES_VALUE_SET, "all"),
    SUPPORT_CHOICE("model.symmetry", pes_symmetry_names, "none"),
    SUPPORT_CHOICE("model.value_symmetry", pes_symmetry_names, "none"),
    SUPPORT_CHOICE("model.penalty.kind", pes_penalty_names, "none"),
    SUPPORT_KEY("model.penalty.weight", PES_VALUE_REAL, "10"),
    SUPPORT_CHOICE("model.init", support_inits, "framework"),
    SUPPORT_KEY("model.init_std", PES_VALUE_REAL, "0"),
    SUPPORT_KEY("model.d_latent", PES_VALUE_INT, "5"),
    SUPPORT_KEY("model.d_rope", PES_VALUE_INT, "0"),
    SUPPORT_KEY("model.latent_norm", PES_VALUE_BOOL, "false"),
    SUPPORT_KEY("model.published_rotation", PES_VALUE_BOOL, "false"),
    SUPPORT_KEY("model.published_query", PES_VALUE_BOOL, "false"),
    SUPPORT_KEY("model.published_positions", PES_VALUE_BOOL, "false"),
    SUPPORT_KEY("train.steps", PES_VALUE_INT, "10"),
    SUPPORT_KEY("train.lr", PES_VALUE_REAL, "1"),
    SUPPORT_KEY("train.lr_min", PES_VALUE_REAL, "0"),
    SUPPORT_CHOICE("train.schedule", support_schedules, "cosine"),
    SUPPORT_KEY("train.warmup", PES_VALUE_REAL, "0"),
    {.path = "train.warmup_steps",
     .type = PES_VALUE_INT,
     .min = -1,
     .max = 1e8,
     .fallback = "-1",
     .unit = "",
     .help = ""},
    SUPPORT_KEY("train.hold_steps", PES_VALUE_INT, "0"),
    SUPPORT_KEY("train.published", PES_VALUE_BOOL, "false"),
    {.path = "train.betas",
     .type = PES_VALUE_REALS,
     .max = 1,
     .length = 2,
     .fallback = "[0.9, 0.98]",
     .unit = "",
     .help = ""},
    SUPPORT_KEY("train.eps", PES_VALUE_REAL, "1e-8"),
    SUPPORT_KEY("train.weight_decay", PES_VALUE_REAL, "0.01"),
    SUPPORT_CHOICE("train.decay", support_decays, "matrices"),
    SUPPORT_KEY("train.clip", PES_VALUE_REAL, "0"),
    SUPPORT_KEY("train.dropout", PES_VALUE_REAL, "0"),
    {.path = NULL},
};

/* "pe=rope d_model=12": a resolved configuration, or NULL with pes_error_message(). */
static inline const struct pes_config *support_config(struct pes_arena *arena, const char *settings)
{
    struct pes_key_source sources[64] = {{.keys = support_keys}};
    size_t used = 1;
    for (size_t i = 0; pes_positions[i]; i++)
        sources[used++] = (struct pes_key_source){pes_positions[i]->keys, "model.pe", pes_positions[i]->name};
    struct pes_config *config = pes_config_create(pes_key_table_create(sources, used, arena), arena);
    char *text = pes_arena_copy_text(arena, settings), *rest = NULL;
    for (char *item = strtok_r(text, " ", &rest); item; item = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(item, '=');
        *equals = 0;
        if (pes_config_set(config, arena, item, equals + 1) != PES_OK) return NULL;
    }
    return pes_config_resolve(config, arena) == PES_OK ? config : NULL;
}

/* Vocabulary 11, 7 tokens a sequence, 5 classes or the vocabulary. */
static inline struct pes_task_shape support_task(bool lm)
{
    return (struct pes_task_shape){
        .T = 7, .V = 11, .classes = lm ? 11 : 5, .objective = lm ? PES_OBJECTIVE_LM : PES_OBJECTIVE_CLASSIFY};
}

static inline enum pes_status support_configure(struct pes_arena *arena, const char *settings, bool lm,
                                                struct pes_model_config *out)
{
    struct pes_task_shape task = support_task(lm);
    const struct pes_config *config = support_config(arena, settings);
    return config ? pes_model_configure(config, &task, out) : PES_INPUT;
}

struct support {
    struct pes_arena *arena;
    struct pes_model *model;
    size_t count; /* parameters, padding included */
    real *parameters, *gradient;
    struct pes_workspace *training, *evaluation;
    struct pes_batch batch;
    size_t rows;
    int64_t labels;
};

enum { SUPPORT_SEQUENCES = 4 };

static inline double support_uniform(uint64_t element)
{
    struct pes_rng rng = {.seed = 5, .purpose = PES_RNG_TEST};
    return pes_rng_uniform(&rng, element);
}

/* A model with random parameters (every tensor away from its start) and a batch whose labels are partly
 * ignored. `padded`: with masks of lengths 7, 5, 6, 1. */
static inline struct support support_make(const char *settings, bool lm, bool padded)
{
    struct support s = {.arena = pes_arena_create()};
    struct pes_model_config config;
    if (support_configure(s.arena, settings, lm, &config) != PES_OK ||
        pes_model_create(&config, s.arena, &s.model) != PES_OK) {
        print_error("%s: %s\n", settings, pes_error_message());
        fail();
    }
    s.count = s.model->tensors.num_parameters;
    s.parameters = pes_arena_take(s.arena, s.count, sizeof(real));
    s.gradient = pes_arena_take(s.arena, s.count, sizeof(real));
    pes_model_init(s.model, 3, s.parameters);
    for (size_t i = 0; i < s.model->tensors.num_tensors; i++) {
        const struct pes_tensor *tensor = &s.model->tensors.tensors[i];
        for (size_t e = 0; e < tensor->count; e++)
            s.parameters[tensor->offset + e] +=
                (real)(0.4 * (support_uniform(1000 + tensor->offset + e) - 0.5));
    }
    assert_int_equal(pes_workspace_create(s.model, SUPPORT_SEQUENCES, true, s.arena, &s.training), PES_OK);
    assert_int_equal(pes_workspace_create(s.model, SUPPORT_SEQUENCES, false, s.arena, &s.evaluation), PES_OK);
    static const int lengths[SUPPORT_SEQUENCES] = {7, 5, 6, 1};
    int T = 7, B = SUPPORT_SEQUENCES;
    s.rows = (size_t)(lm ? B * T : B);
    int32_t *ids = pes_arena_take(s.arena, (size_t)(B * T), sizeof *ids);
    int32_t *labels = pes_arena_take(s.arena, s.rows, sizeof *labels);
    uint8_t *mask = pes_arena_take(s.arena, (size_t)(B * T), 1);
    for (int i = 0; i < B * T; i++) {
        ids[i] = (int32_t)(support_uniform((uint64_t)i) * 11);
        mask[i] = i % T < lengths[i / T];
    }
    for (size_t row = 0; row < s.rows; row++) {
        labels[row] = row % 3 == 2 ? -1 : (int32_t)(support_uniform(500 + row) * config.shape.classes);
        s.labels += labels[row] >= 0;
    }
    s.batch = (struct pes_batch){.B = B, .T = T, .ids = ids, .labels = labels, .mask = padded ? mask : NULL};
    return s;
}

static inline void support_free(struct support *s)
{
    pes_arena_destroy(s->arena);
}

/* Sequences [first, first + B) of a batch. */
static inline struct pes_batch support_slice(const struct support *s, int first, int B)
{
    struct pes_batch part = s->batch;
    size_t from = (size_t)(first * part.T), rows = s->rows / (size_t)part.B;
    part.B = B;
    part.ids += from;
    part.labels += (size_t)first * rows;
    if (part.mask) part.mask += from;
    if (part.scored) part.scored += (size_t)first * rows;
    part.first += (uint64_t)first;
    return part;
}

/* Mean loss with penalty, its gradient in s->gradient, in micro-batches of B sequences. */
static inline double support_differentiate(struct support *s, int B, bool training)
{
    struct pes_loss loss = {0};
    memset(s->gradient, 0, s->count * sizeof(real));
    pes_model_prepare(s->model, s->training, s->parameters, NULL);
    for (int first = 0; first < s->batch.B; first += B) {
        struct pes_batch part = support_slice(s, first, PES_MIN(B, s->batch.B - first));
        struct pes_pass pass = {.gradient = s->gradient,
                                .scale = 1 / (double)s->labels,
                                .training = training,
                                .seed = 9,
                                .step = 4};
        pes_model_run(s->model, s->training, &part, &pass, &loss);
    }
    assert_int_equal(loss.count, s->labels);
    return loss.sum / (double)loss.count + pes_model_finish(s->model, s->training, s->gradient);
}

/* Task loss of an evaluation; logits [rows][classes] and an observer if not NULL. */
static inline double support_evaluate(struct support *s, const struct pes_intervention *intervention,
                                      real *logits, const struct pes_observer *observer)
{
    struct pes_loss loss = {0};
    struct pes_pass pass = {.logits = logits, .observer = observer};
    pes_model_prepare(s->model, s->evaluation, s->parameters, intervention);
    pes_model_run(s->model, s->evaluation, &s->batch, &pass, &loss);
    return loss.sum / (double)loss.count;
}

/* All scores or probabilities of a pass, [sequence][layer][head][T][T]. */
struct support_maps {
    const struct pes_model *model;
    double *scores, *content, *probabilities;
};

static inline void support_collect(void *context, const struct pes_observation *seen)
{
    struct support_maps *maps = context;
    const struct pes_shape *shape = &maps->model->config.shape;
    size_t square = (size_t)(seen->T * seen->T);
    size_t map = (size_t)((seen->sequence * shape->L + seen->layer) * shape->H + seen->head) * square;
    for (size_t i = 0; i < square; i++) {
        maps->scores[map + i] = (double)seen->scores[i];
        maps->probabilities[map + i] = (double)seen->probabilities[i];
        maps->content[map + i] = seen->content_scores ? (double)seen->content_scores[i] : NAN;
    }
}

static inline struct support_maps support_observe(struct support *s,
                                                  const struct pes_intervention *intervention)
{
    const struct pes_shape *shape = &s->model->config.shape;
    size_t count = (size_t)(s->batch.B * shape->L * shape->H * s->batch.T * s->batch.T);
    struct support_maps maps = {s->model, pes_arena_take(s->arena, count, sizeof(double)),
                                pes_arena_take(s->arena, count, sizeof(double)),
                                pes_arena_take(s->arena, count, sizeof(double))};
    struct pes_observer observer = {&maps, true, true, true, support_collect};
    (void)support_evaluate(s, intervention, NULL, &observer);
    return maps;
}

static inline void support_assert_near(double a, double b, double tolerance)
{
    if (fabs(a - b) <= tolerance) return;
    print_error("%.17g and %.17g differ by %.3g, more than %.3g\n", a, b, fabs(a - b), tolerance);
    fail();
}

#endif
