/* workspace.c - one block of memory, carved once.
 *
 * The same code runs twice: with no base it only adds up the bytes, so that the size known beforehand is the
 * size taken. */
#include "internal.h"

#include <math.h>

struct carver {
    unsigned char *base; /* NULL: counting */
    size_t used;
};

static void *carve(struct carver *carver, size_t count, size_t size)
{
    void *place = carver->base ? carver->base + carver->used : NULL;
    carver->used += (count * size + 63) / 64 * 64;
    return place;
}

static real *carve_reals(struct carver *carver, size_t count)
{
    return carve(carver, count, sizeof(real));
}

/* Everything that sizes depend on. */
struct plan {
    const struct pes_model_config *config;
    struct pes_sizes sizes;
    size_t B, T, N, C, F, H, L, classes, rows;
    bool training;
};

static struct plan make_plan(const struct pes_model_config *config, int B, bool training)
{
    const struct pes_shape *shape = &config->shape;
    struct plan plan = {
        .config = config,
        .B = (size_t)B,
        .T = (size_t)shape->T,
        .C = (size_t)shape->C,
        .F = (size_t)shape->F,
        .H = (size_t)shape->H,
        .L = (size_t)shape->L,
        .classes = (size_t)shape->classes,
        .training = training,
    };
    pes_model_sizes(config, &plan.sizes);
    plan.N = plan.B * plan.T;
    plan.rows = config->objective == PES_OBJECTIVE_LM ? plan.N : plan.B;
    return plan;
}

/* --- per layer ---------------------------------------------------------------------------------------- */

/* Transposes that forward reads; in training also what backward reads and the gradients of expanded weights.
 */
static void carve_weights(struct carver *carver, const struct plan *plan, struct pes_layer_work *layer)
{
    const struct pes_sizes *sizes = &plan->sizes;
    size_t C = plan->C, stage = sizes->stage_columns, in_q = sizes->stage_q, in_kv = sizes->stage_kv;
    size_t q = sizes->q_columns, kv = sizes->k_columns + sizes->v_columns;
    bool mla = plan->config->mla;
    layer->wt = carve_reals(carver, stage * C);
    layer->b = carve_reals(carver, sizes->biased ? stage : 0);
    layer->up_qt = carve_reals(carver, mla ? q * in_q : 0);
    layer->up_kvt = carve_reals(carver, mla ? kv * in_kv : 0);
    layer->wo_t = carve_reals(carver, sizes->v_columns * C);
    layer->w1_t = carve_reals(carver, plan->F * C);
    layer->w2_t = carve_reals(carver, plan->F * C);
    if (!plan->training) return;
    layer->w = carve_reals(carver, stage * C);
    layer->up_q = carve_reals(carver, mla ? q * in_q : 0);
    layer->up_kv = carve_reals(carver, mla ? kv * in_kv : 0);
    layer->dw = carve_reals(carver, stage * C);
    layer->db = carve_reals(carver, sizes->biased ? stage : 0);
    if (pes_output_follows(plan->config)) {
        layer->wo = carve_reals(carver, sizes->v_columns * C);
        layer->dwo_t = carve_reals(carver, sizes->v_columns * C);
    }
    layer->dup_q = carve_reals(carver, mla ? q * in_q : 0);
    layer->dup_kv = carve_reals(carver, mla ? kv * in_kv : 0);
}

static void carve_activations(struct carver *carver, const struct plan *plan, struct pes_layer_work *layer)
{
    const struct pes_sizes *sizes = &plan->sizes;
    size_t N = plan->N;
    bool mla = plan->config->mla, norm = plan->config->latent_norm;
    layer->n1 = carve_reals(carver, N * plan->C);
    layer->mean1 = carve_reals(carver, N);
    layer->rstd1 = carve_reals(carver, N);
    layer->latent = carve_reals(carver, mla ? N * sizes->stage_columns : 0);
    layer->normed = carve_reals(carver, mla && norm ? N * sizes->stage_columns : 0);
    layer->latent_rstd = carve_reals(carver, mla && norm ? 2 * N : 0);
    layer->qkv = carve_reals(carver, N * sizes->qkv_columns);
    layer->o = carve_reals(carver, N * sizes->v_columns);
    layer->log_sum_exp = carve_reals(carver, N * plan->H);
    if (!plan->F) return;
    layer->n2 = carve_reals(carver, N * plan->C);
    layer->mean2 = carve_reals(carver, N);
    layer->rstd2 = carve_reals(carver, N);
    layer->h = carve_reals(carver, N * plan->F);
    bool saved = plan->training && plan->config->activation == PES_ACTIVATION_GELU;
    layer->before = saved ? carve_reals(carver, N * plan->F) : NULL;
}

/* Weights as prepare makes them before they are transposed: shared by the layers of an evaluation workspace.
 */
static void carve_shared_weights(struct carver *carver, const struct plan *plan,
                                 struct pes_layer_work *shared)
{
    const struct pes_sizes *sizes = &plan->sizes;
    bool mla = plan->config->mla;
    shared->w = carve_reals(carver, sizes->stage_columns * plan->C);
    shared->up_q = carve_reals(carver, mla ? sizes->q_columns * sizes->stage_q : 0);
    shared->up_kv = carve_reals(carver, mla ? (sizes->k_columns + sizes->v_columns) * sizes->stage_kv : 0);
}

/* Training: every layer has activations of its own.  Evaluation: all share one set, and the stream alternates
 * between two buffers beside the embedding's. */
static void carve_layers(struct carver *carver, const struct plan *plan, struct pes_workspace *workspace)
{
    size_t stream = plan->N * plan->C;
    struct pes_layer_work shared = {0};
    real *ends[2] = {NULL, NULL}, *x = workspace->x0 = carve_reals(carver, stream);
    if (!plan->training) {
        carve_shared_weights(carver, plan, &shared);
        carve_activations(carver, plan, &shared);
        ends[0] = carve_reals(carver, stream);
        ends[1] = carve_reals(carver, stream);
    }
    for (size_t l = 0; l < plan->L; l++) {
        struct pes_layer_work layer = shared;
        carve_weights(carver, plan, &layer);
        if (plan->training) carve_activations(carver, plan, &layer);
        layer.x = x;
        layer.xm = plan->training ? carve_reals(carver, stream) : ends[x == ends[0]];
        x = layer.xm;
        if (plan->F) x = plan->training ? carve_reals(carver, stream) : ends[x == ends[0]];
        if (carver->base) workspace->layers[l] = layer;
    }
    workspace->last = x;
}

/* --- the rest ----------------------------------------------------------------------------------------- */

/* Columns of a head's rows at their widest: a zeroed frequency takes four columns instead of two. */
static size_t expanded_width(const struct plan *plan)
{
    const struct pes_sizes *sizes = &plan->sizes;
    size_t section = (size_t)(sizes->W + 2 * sizes->pairs);
    if (!plan->training) return PES_MAX_SECTIONS * section;
    return sizes->drops_phase ? section : 0;
}

static void carve_threads(struct carver *carver, const struct plan *plan, struct pes_workspace *workspace)
{
    const struct pes_sizes *sizes = &plan->sizes;
    size_t width = expanded_width(plan), T = plan->T;
    int widest = PES_MAX(sizes->W, (int)width);
    bool content = plan->config->position->content_bias_forward;
    size_t dense = content ? T * T + 2 * PES_BIAS_MARGIN : 0;
    for (int t = 0; t < workspace->threads; t++) {
        struct pes_thread_work thread = {
            .attention = carve_reals(carver, pes_attention_scratch((int)T, widest, sizes->Dv)),
            .q = carve_reals(carver, T * width),
            .k = carve_reals(carver, T * width),
            .dq = carve_reals(carver, plan->training ? T * width : 0),
            .dk = carve_reals(carver, plan->training ? T * width : 0),
            .section = carve_reals(carver, 2 * PES_MAX_SECTIONS * (size_t)sizes->W),
            .bias = carve_reals(carver, dense),
            .dbias = carve_reals(carver, plan->training ? dense : 0),
        };
        if (carver->base) workspace->thread[t] = thread;
    }
}

static void carve_position(struct carver *carver, const struct plan *plan, struct pes_workspace *workspace)
{
    const struct pes_position *position = plan->config->position;
    const struct pes_sizes *sizes = &plan->sizes;
    size_t T = plan->T;
    if (position->embed_forward || plan->config->published.positions)
        workspace->position = carve_reals(carver, T * plan->C);
    if (position->bias_forward) {
        size_t count = position->bias_dense ? T * T : 2 * T - 1;
        workspace->bias_stride = count + 2 * PES_BIAS_MARGIN;
        workspace->bias_middle = PES_BIAS_MARGIN + (position->bias_dense ? 0 : T - 1);
        workspace->bias_key_stride = position->bias_dense ? (ptrdiff_t)T : -1;
        workspace->bias = carve_reals(carver, plan->L * plan->H * workspace->bias_stride);
        if (plan->training && position->bias_backward)
            workspace->dbias = carve_reals(carver, plan->L * plan->H * workspace->bias_stride);
    }
    size_t rotation = 2 * T * (size_t)sizes->pairs;
    workspace->rotation_q = carve_reals(carver, rotation);
    workspace->rotation_k = carve_reals(carver, rotation);
    for (int zeroed = 0; zeroed < 2; zeroed++)
        for (int symmetrised = 0; symmetrised < 2; symmetrised++) {
            bool used = zeroed + symmetrised > 0 &&
                        (!plan->training || (sizes->drops_phase && zeroed && !symmetrised));
            size_t most = used ? rotation * (zeroed ? 2 : 1) * (symmetrised ? PES_MAX_SECTIONS : 1) : 0;
            struct pes_expansion *expansion = &workspace->expansions[zeroed][symmetrised];
            expansion->sections = symmetrised ? PES_MAX_SECTIONS : 1;
            expansion->rotation_q = carve_reals(carver, most);
            expansion->rotation_k = carve_reals(carver, most);
        }
}

static void carve_output(struct carver *carver, const struct plan *plan, struct pes_workspace *workspace)
{
    bool norm = plan->config->final_norm;
    workspace->head_t = carve_reals(carver, plan->classes * plan->C);
    workspace->nf = norm ? carve_reals(carver, plan->N * plan->C) : NULL;
    workspace->meanf = carve_reals(carver, norm ? plan->N : 0);
    workspace->rstdf = carve_reals(carver, norm ? plan->N : 0);
    workspace->pooled = carve_reals(carver, plan->B * plan->C);
    workspace->logits = carve_reals(carver, plan->rows * plan->classes);
    workspace->row_loss = carve(carver, plan->rows, sizeof(double));
    workspace->row_correct = carve(carver, plan->rows, 1);
}

static void carve_backward(struct carver *carver, const struct plan *plan, struct pes_workspace *workspace)
{
    const struct pes_model_config *config = plan->config;
    const struct pes_sizes *sizes = &plan->sizes;
    size_t stream = plan->N * plan->C;
    workspace->d = carve_reals(carver, stream);
    workspace->branch = carve_reals(carver, config->dropout > 0 ? stream : 0);
    workspace->dn = carve_reals(carver, PES_MAX(stream, plan->N * sizes->v_columns));
    workspace->dh = carve_reals(carver, plan->N * plan->F);
    workspace->dqkv = carve_reals(carver, plan->N * sizes->qkv_columns);
    workspace->dlatent = carve_reals(carver, config->mla ? plan->N * sizes->stage_columns : 0);
    workspace->dx0 = carve_reals(carver, config->kv_source == PES_KV_EMBEDDING ? stream : 0);
    workspace->dpooled = carve_reals(carver, plan->B * plan->C);
    if (config->position->embed_backward || config->published.positions)
        workspace->dposition = carve_reals(carver, plan->T * plan->C);
}

static void carve_evaluation(struct carver *carver, const struct plan *plan, struct pes_workspace *workspace)
{
    size_t scores = plan->T * plan->T, qkv = plan->N * plan->sizes.qkv_columns;
    workspace->unbiased = carve_reals(carver, qkv);
    workspace->swapped = carve_reals(carver, qkv);
    workspace->scores = carve_reals(carver, scores);
    workspace->content = carve_reals(carver, scores);
    workspace->probabilities = carve_reals(carver, scores);
}

static void carve_all(struct carver *carver, const struct plan *plan, struct pes_workspace *workspace)
{
    workspace->layers = carve(carver, plan->L, sizeof *workspace->layers);
    workspace->thread = carve(carver, (size_t)workspace->threads, sizeof *workspace->thread);
    carve_layers(carver, plan, workspace);
    carve_threads(carver, plan, workspace);
    carve_position(carver, plan, workspace);
    carve_output(carver, plan, workspace);
    if (plan->training)
        carve_backward(carver, plan, workspace);
    else
        carve_evaluation(carver, plan, workspace);
    if (plan->config->penalty->head) {
        size_t doubles = pes_penalty_scratch(plan->config->shape.D, plan->config->shape.C);
        workspace->penalty_scratch = carve(carver, doubles, sizeof(double));
    }
}

size_t pes_workspace_bytes(const struct pes_model_config *config, int B, bool training)
{
    struct plan plan = make_plan(config, B, training);
    struct pes_workspace counted = {.threads = pes_kernels_threads()};
    struct carver carver = {0};
    carve(&carver, 1, sizeof counted);
    carve_all(&carver, &plan, &counted);
    return carver.used;
}

enum pes_status pes_workspace_create(const struct pes_model *model, int B, bool training,
                                     struct pes_arena *arena, struct pes_workspace **workspace)
{
    const struct pes_model_config *config = &model->config;
    CHECK(B >= 1);
    struct plan plan = make_plan(config, B, training);
    struct carver carver = {0};
    size_t bytes = pes_workspace_bytes(config, B, training);
    carver.base = pes_arena_take(arena, 1, bytes);
    if (!carver.base) return PES_MEMORY;
    struct pes_workspace *created = carve(&carver, 1, sizeof *created);
    created->model = model;
    created->sizes = plan.sizes;
    created->B = B;
    created->threads = pes_kernels_threads();
    created->training = training;
    carve_all(&carver, &plan, created);
    CHECK(carver.used == bytes);
    if (plan.sizes.pairs) {
        struct pes_position_site site = pes_model_site(config);
        config->position->rotation(&site, config->shape.T, plan.sizes.pairs, created->rotation_q,
                                   created->rotation_k, NULL);
        if (config->published.rotation) {
            pes_published_rotation(created->rotation_q, config->shape.T, plan.sizes.pairs);
            pes_published_rotation(created->rotation_k, config->shape.T, plan.sizes.pairs);
        }
    }
    *workspace = created;
    return PES_OK;
}
