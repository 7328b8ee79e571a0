/* attention.c - describes each (sequence, head) to the attention kernel, and what is done to single heads.
 *
 * Plain heads are read where the projections left them.  Others are expanded into wider rows that the same
 * kernel reads: no sin terms: a rotated pair (a, b) becomes (a, 0), (b, 0), each turned by the pair's angle,
 * since (c_i a, s_i a) . (c_j a', s_j a') = cos(w (i - j)) a a' one part of M, biases kept: with q0 = W_q x,
 * k0 = W_k y and the swapped kx = W_k x, qy = W_q y, the three sections [q0/2 + b_q, q0 + b_q, kx/2] . [k0,
 * b_k, +-qy], all rotated alike, so that x^T (M +- M^T) y / 2 replaces x^T M y.  Under rotation M^T swaps
 * tokens and positions both: Re M_t and Im M_t are replaced by their symmetric (antisymmetric) and
 * antisymmetric (symmetric) parts, and a symmetric model stays as it is. */
#include "internal.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* One head of one sequence. */
struct site {
    const struct pes_workspace *workspace;
    const struct pes_batch *batch;
    int layer, head, b;
};

static bool rotates(const struct site *site)
{
    return site->workspace->sizes.pairs &&
           pes_model_acts(&site->workspace->model->config, site->layer, site->head);
}

static bool is_zeroed(const struct site *site)
{
    return rotates(site) && pes_has(site->workspace->zeroed[site->layer], site->head);
}

static bool is_symmetrised(const struct site *site)
{
    return pes_has(site->workspace->symmetrised[site->layer], site->head);
}

/* --- expanded rows ------------------------------------------------------------------------------------ */

/* out = rotated columns of all sections, then the others.  Returns the width. */
static int expand_row(const struct pes_workspace *workspace, bool rotated, bool zeroed, int sections,
                      const real *section, real *out)
{
    const struct pes_sizes *sizes = &workspace->sizes;
    int W = sizes->W, pairs = rotated ? sizes->pairs : 0, first = sizes->rotated_first, used = 0;
    for (int s = 0; s < sections; s++)
        for (int t = 0; t < pairs; t++) {
            const real *pair = section + s * W + first + 2 * t;
            if (zeroed && pes_drops_phase(workspace, t)) {
                out[used] = pair[0], out[used + 1] = 0;
                out[used + 2] = pair[1], out[used + 3] = 0;
                used += 4;
            } else {
                out[used] = pair[0], out[used + 1] = pair[1];
                used += 2;
            }
        }
    for (int s = 0; s < sections; s++)
        for (int c = 0; c < W; c++)
            if (c < first || c >= first + 2 * pairs) out[used++] = section[s * W + c];
    return used;
}

/* The transposed map of a row with one section that lost its phase everywhere. */
static void collapse_row(const struct pes_workspace *workspace, const real *from, real *row)
{
    const struct pes_sizes *sizes = &workspace->sizes;
    int pairs = sizes->pairs, first = sizes->rotated_first, used = 4 * pairs;
    for (int t = 0; t < pairs; t++) {
        row[first + 2 * t] = from[4 * t];
        row[first + 2 * t + 1] = from[4 * t + 2];
    }
    for (int c = 0; c < sizes->W; c++)
        if (c < first || c >= first + 2 * pairs) row[c] = from[used++];
}

/* Sections of row n: [3][W] of the query, [3][W] of the key. */
static void fill_sections(const struct site *site, size_t n, real *query, real *key)
{
    const struct pes_workspace *workspace = site->workspace;
    const struct pes_sizes *sizes = &workspace->sizes;
    size_t W = (size_t)sizes->W, at_q = (size_t)site->head * W, at_k = sizes->q_columns + at_q;
    const real *plain = workspace->unbiased + n * sizes->qkv_columns;
    const real *swapped = workspace->swapped + n * sizes->qkv_columns;
    const real *bias = sizes->biased ? workspace->layers[site->layer].b : NULL;
    for (size_t c = 0; c < W; c++) {
        real bq = bias ? bias[at_q + c] : 0, bk = bias ? bias[at_k + c] : 0;
        query[c] = plain[at_q + c] / 2 + bq;
        query[W + c] = plain[at_q + c] + bq;
        query[2 * W + c] = swapped[at_k + c] / 2;
        key[c] = plain[at_k + c];
        key[W + c] = bk;
        key[2 * W + c] = (real)workspace->part_sign * swapped[at_q + c];
    }
}

/* Replaces q, k and the rotation of `attention` by expanded ones in the thread's scratch. */
static void expand(const struct site *site, const struct pes_thread_work *thread,
                   struct pes_attention *attention)
{
    const struct pes_workspace *workspace = site->workspace;
    bool rotated = rotates(site), zeroed = is_zeroed(site), symmetrised = is_symmetrised(site);
    const struct pes_expansion *expansion = &workspace->expansions[zeroed][symmetrised];
    int T = attention->T, W = workspace->sizes.W, sections = expansion->sections;
    int pairs = rotated ? expansion->pairs : 0;
    int width = sections * (W - (rotated ? 2 * workspace->sizes.pairs : 0)) + 2 * pairs;
    for (int i = 0; i < T; i++) {
        const real *query = attention->q + (size_t)i * attention->q_ld;
        const real *key = attention->k + (size_t)i * attention->k_ld;
        if (symmetrised) {
            real *filled = thread->section;
            fill_sections(site, (size_t)(site->b * T + i), filled, filled + PES_MAX_SECTIONS * W);
            query = filled, key = filled + PES_MAX_SECTIONS * W;
        }
        (void)expand_row(workspace, rotated, zeroed, sections, query, thread->q + (size_t)i * (size_t)width);
        (void)expand_row(workspace, rotated, zeroed, sections, key, thread->k + (size_t)i * (size_t)width);
    }
    attention->q = thread->q;
    attention->k = thread->k;
    attention->q_ld = attention->k_ld = (size_t)width;
    attention->width = width;
    attention->pairs = pairs;
    attention->rotated_first = 0;
    attention->rotation_q = pairs ? expansion->rotation_q : NULL;
    attention->rotation_k = pairs ? expansion->rotation_k : NULL;
}

/* --- one head ----------------------------------------------------------------------------------------- */

static real *bias_of(const struct site *site, real *biases)
{
    const struct pes_workspace *workspace = site->workspace;
    size_t index = (size_t)(site->layer * workspace->model->config.shape.H + site->head);
    return biases + index * workspace->bias_stride + workspace->bias_middle;
}

/* The dense bias of a scheme that looks at the query's content. */
static void add_content_bias(const struct site *site, const struct pes_thread_work *thread,
                             struct pes_attention *attention)
{
    const struct pes_model *model = site->workspace->model;
    struct pes_position_site position = pes_model_site(&model->config);
    struct pes_parameters parameters = {.table = &model->tensors, .values = site->workspace->parameters};
    int T = attention->T;
    real *bias = thread->bias + PES_BIAS_MARGIN;
    memset(bias, 0, (size_t)T * (size_t)T * sizeof *bias);
    model->config.position->content_bias_forward(&position, &parameters, site->layer, site->head, T,
                                                 attention->q, attention->q_ld, attention->scale, bias);
    attention->bias = bias;
    attention->bias_key_stride = T;
}

/* Rows of q, k and v beyond this size aren't in the second cache when attention comes to them. */
enum { CACHED_BYTES = 512 << 10 };

/* What comes after this call: the sequence's next head, or the head's next sequence.  Nothing where the rows
 * that `layers` layers made last are still near. */
static void name_next(struct pes_attention *attention, const struct site *site, int layers,
                      bool sequences_first)
{
    const struct pes_sizes *sizes = &site->workspace->sizes;
    const size_t tokens = (size_t)(site->batch->B * site->batch->T) * (size_t)layers;
    if (tokens * sizes->qkv_columns * sizeof(real) <= CACHED_BYTES) return;
    const ptrdiff_t T = attention->T, last = site->workspace->model->config.shape.H - 1;
    const bool last_sequence = site->b + 1 == site->batch->B;
    if (!sequences_first && site->head < last) {
        attention->next = sizes->W;
        attention->next_o = sizes->Dv;
    } else if (!last_sequence) {
        const ptrdiff_t back = sequences_first ? 0 : last;
        attention->next = T * (ptrdiff_t)sizes->qkv_columns - back * sizes->W;
        attention->next_o = T * (ptrdiff_t)sizes->v_columns - back * sizes->Dv;
    }
}

/* Filled field by field, in place: a copied struct would be read back by wider loads than it was written
 * with, each waiting until all earlier stores have left the core. */
static void describe(struct pes_attention *attention, const struct site *site, const struct pes_pass *pass,
                     const struct pes_thread_work *thread)
{
    const struct pes_workspace *workspace = site->workspace;
    const struct pes_model_config *config = &workspace->model->config;
    const struct pes_sizes *sizes = &workspace->sizes;
    const struct pes_batch *batch = site->batch;
    int T = batch->T, H = config->shape.H;
    const real *rows = workspace->layers[site->layer].qkv + (size_t)(site->b * T) * sizes->qkv_columns;
    const uint8_t *mask = pes_model_mask(config, batch);
    uint64_t sequence = batch->first + (uint64_t)site->b;
    *attention = (struct pes_attention){0};
    attention->T = T;
    attention->width = sizes->W;
    attention->value_width = sizes->Dv;
    attention->q = rows + site->head * sizes->W;
    attention->k = rows + sizes->q_columns + (size_t)(site->head * sizes->W);
    attention->v = rows + sizes->q_columns + sizes->k_columns + (size_t)(site->head * sizes->Dv);
    attention->q_ld = attention->k_ld = attention->v_ld = sizes->qkv_columns;
    attention->scale = 1 / sqrt((double)sizes->W);
    attention->causal = config->shape.causal;
    attention->mask = mask ? mask + (size_t)(site->b * T) : NULL;
    struct pes_dropout dropout =
        pes_model_dropout(workspace, pass, pes_dropout_site(site->layer, PES_DROPOUT_ATTENTION),
                          (sequence * (uint64_t)H + (uint64_t)site->head) * (uint64_t)T);
    if (dropout.rate > 0) attention->dropout = dropout;
    if (rotates(site)) {
        attention->pairs = sizes->pairs;
        attention->rotated_first = sizes->rotated_first;
        attention->rotation_q = workspace->rotation_q;
        attention->rotation_k = workspace->rotation_k;
    }
    if (pes_model_acts(config, site->layer, site->head)) {
        if (workspace->bias) {
            attention->bias = bias_of(site, workspace->bias);
            attention->bias_key_stride = workspace->bias_key_stride;
        }
        if (config->position->content_bias_forward) add_content_bias(site, thread, attention);
    }
    if (is_zeroed(site) || is_symmetrised(site)) expand(site, thread, attention);
}

static real *output_of(const struct site *site, real *o)
{
    const struct pes_sizes *sizes = &site->workspace->sizes;
    return o + (size_t)(site->b * site->batch->T) * sizes->v_columns + (size_t)(site->head * sizes->Dv);
}

static real *log_sum_exp_of(const struct site *site)
{
    int H = site->workspace->model->config.shape.H, T = site->batch->T;
    return site->workspace->layers[site->layer].log_sum_exp + (size_t)((site->b * H + site->head) * T);
}

/* --- forward ------------------------------------------------------------------------------------------ */

static void head_forward(const struct site *site, const struct pes_pass *pass,
                         const struct pes_thread_work *thread)
{
    const struct pes_workspace *workspace = site->workspace;
    size_t ld = workspace->sizes.v_columns;
    real *o = output_of(site, workspace->layers[site->layer].o);
    if (pes_has(workspace->ablate[site->layer], site->head)) {
        for (int i = 0; i < site->batch->T; i++)
            memset(o + (size_t)i * ld, 0, (size_t)workspace->sizes.Dv * sizeof *o);
        return;
    }
    if (pes_keeps_heads(workspace, pass, site->layer) && !is_zeroed(site) && !is_symmetrised(site)) return;
    struct pes_attention attention;
    describe(&attention, site, pass, thread);
    if (!is_zeroed(site) && !is_symmetrised(site)) name_next(&attention, site, 1, false);
    pes_attention_forward(&attention, o, ld, log_sum_exp_of(site), thread->attention);
}

/* Content scores: the same head without rotation and biases; a scheme that is added to the embedding has
 * none. */
static void observe(const struct site *site, const struct pes_pass *pass)
{
    const struct pes_workspace *workspace = site->workspace;
    const struct pes_thread_work *thread = &workspace->thread[0];
    const struct pes_observer *observer = pass->observer;
    struct pes_attention attention;
    describe(&attention, site, pass, thread);
    attention.dropout.rate = 0;
    bool content =
        observer->content_scores && workspace->model->config.position->family != PES_POSITION_ABSOLUTE;
    struct pes_observation seen = {
        .layer = site->layer,
        .head = site->head,
        .T = attention.T,
        .sequence = (int64_t)site->batch->first + site->b,
        .mask = attention.mask,
        .scores = observer->scores ? workspace->scores : NULL,
        .content_scores = content ? workspace->content : NULL,
        .probabilities = observer->probabilities ? workspace->probabilities : NULL,
    };
    if (observer->scores || observer->probabilities)
        pes_attention_scores(&attention, observer->scores ? workspace->scores : NULL,
                             observer->probabilities ? workspace->probabilities : NULL, thread->attention);
    if (content) {
        attention.pairs = 0;
        attention.rotation_q = attention.rotation_k = NULL;
        attention.bias = NULL;
        pes_attention_scores(&attention, workspace->content, NULL, thread->attention);
    }
    observer->observe(observer->context, &seen);
}

void pes_attend_forward(const struct pes_workspace *workspace, int layer, const struct pes_batch *batch,
                        const struct pes_pass *pass)
{
    int H = workspace->model->config.shape.H, tasks = batch->B * H, threads = workspace->threads;
    if (pes_keeps_heads(workspace, pass, layer)) {
        size_t count = (size_t)(batch->B * batch->T) * workspace->sizes.v_columns;
        real *o = workspace->layers[layer].o;
        memcpy(o, pass->attended + (size_t)layer * count, count * sizeof *o);
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int task = 0; task < tasks; task++) {
        struct site site = {workspace, batch, layer, task % H, task / H};
        head_forward(&site, pass, &workspace->thread[threads > 1 ? omp_get_thread_num() : 0]);
    }
    if (!pass->observer) return;
    CHECK(!workspace->training);
    for (int task = 0; task < tasks; task++) {
        struct site site = {workspace, batch, layer, task % H, task / H};
        observe(&site, pass);
    }
}

/* --- backward ----------------------------------------------------------------------------------------- */

static void content_backward(const struct site *site, const struct pes_pass *pass,
                             const struct pes_thread_work *thread, const struct pes_attention *attention,
                             real *dq)
{
    const struct pes_model *model = site->workspace->model;
    struct pes_position_site position = pes_model_site(&model->config);
    struct pes_parameters parameters = {&model->tensors, site->workspace->parameters, pass->gradient};
    model->config.position->content_bias_backward(&position, &parameters, site->layer, site->head,
                                                  attention->T, attention->q, attention->q_ld,
                                                  attention->scale, thread->dbias + PES_BIAS_MARGIN, dq);
}

static void head_backward(const struct site *site, const struct pes_pass *pass,
                          const struct pes_thread_work *thread)
{
    const struct pes_workspace *workspace = site->workspace;
    const struct pes_model_config *config = &workspace->model->config;
    const struct pes_sizes *sizes = &workspace->sizes;
    int T = site->batch->T;
    bool acts = pes_model_acts(config, site->layer, site->head);
    bool content = acts && config->position->content_bias_forward, zeroed = is_zeroed(site);
    struct pes_attention attention;
    describe(&attention, site, pass, thread);
    if (!zeroed && !is_symmetrised(site))
        name_next(&attention, site, config->shape.L, workspace->dbias != NULL);
    real *rows = workspace->dqkv + (size_t)(site->b * T) * sizes->qkv_columns;
    real *dq = rows + site->head * sizes->W, *dk = dq + sizes->q_columns;
    real *dv = rows + sizes->q_columns + sizes->k_columns + (size_t)(site->head * sizes->Dv);
    real *dbias = acts && workspace->dbias ? bias_of(site, workspace->dbias) : NULL;
    if (content) {
        dbias = thread->dbias + PES_BIAS_MARGIN;
        memset(dbias, 0, (size_t)T * (size_t)T * sizeof *dbias);
    }
    pes_attention_backward(&attention, output_of(site, workspace->layers[site->layer].o), sizes->v_columns,
                           log_sum_exp_of(site), output_of(site, workspace->dn), sizes->v_columns,
                           zeroed ? thread->dq : dq, zeroed ? thread->dk : dk, dv, dbias, thread->attention);
    for (int i = 0; zeroed && i < T; i++) {
        size_t row = (size_t)i * attention.q_ld, to = (size_t)i * sizes->qkv_columns;
        collapse_row(workspace, thread->dq + row, dq + to);
        collapse_row(workspace, thread->dk + row, dk + to);
    }
    if (content) content_backward(site, pass, thread, &attention, dq);
}

/* Threads share out heads, each head's sequences in order, where sequences add to one gradient of a bias;
 * whole (sequence, head) pairs where they don't; and nothing where heads share parameters of a content bias.
 */
void pes_attend_backward(const struct pes_workspace *workspace, int layer, const struct pes_batch *batch,
                         const struct pes_pass *pass)
{
    const struct pes_model_config *config = &workspace->model->config;
    int H = config->shape.H, B = batch->B,
        threads = config->position->content_bias_forward ? 1 : workspace->threads;
    int in_order = workspace->dbias ? B : 1, tasks = H * B / in_order;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (int task = 0; task < tasks; task++)
        for (int b = 0; b < in_order; b++) {
            struct site site = {workspace, batch, layer, task % H, in_order > 1 ? b : task / H};
            head_backward(&site, pass, &workspace->thread[threads > 1 ? omp_get_thread_num() : 0]);
        }
}
