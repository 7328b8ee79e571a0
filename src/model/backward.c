/* backward.c - the backward pass over one micro-batch: gradients are added, from the loss to the embedding.
 */
#include "internal.h"

#include <string.h>

struct frame {
    const struct pes_workspace *workspace;
    const struct pes_batch *batch;
    const struct pes_pass *pass;
    size_t N, C;
};

/* The stream's gradient as it enters a branch: through the branch's dropout. */
static const real *enter_branch(const struct frame *frame, int site)
{
    const struct pes_workspace *workspace = frame->workspace;
    struct pes_dropout dropout =
        pes_model_dropout(workspace, frame->pass, site, frame->batch->first * (uint64_t)frame->batch->T);
    if (dropout.rate <= 0) return workspace->d;
    pes_dropout_copy(workspace->branch, workspace->d, frame->N, frame->C, &dropout);
    return workspace->branch;
}

/* logits = W x + b;  x = norm_f(last), pooled or not.  Leaves d = gradient of `last`. */
static void output_backward(const struct frame *frame)
{
    const struct pes_workspace *workspace = frame->workspace;
    const struct pes_model *model = workspace->model;
    const struct pes_model_config *config = &model->config;
    const struct pes_batch *batch = frame->batch;
    real *gradient = frame->pass->gradient, *dlogits = workspace->logits;
    bool norm = config->final_norm, pooled = config->objective == PES_OBJECTIVE_CLASSIFY;
    size_t C = frame->C, N = frame->N, classes = (size_t)config->shape.classes, T = (size_t)batch->T;
    size_t rows = pooled ? (size_t)batch->B : N;
    const real *x = pooled ? workspace->pooled : norm ? workspace->nf : workspace->last;
    real *dnf = norm ? workspace->dn : workspace->d, *dx = pooled ? workspace->dpooled : dnf;
    pes_gemm_tn_add(gradient + model->places->head, C, dlogits, classes, x, C, classes, C, rows);
    pes_column_sum_add(gradient + model->places->head_bias, dlogits, classes, rows, classes);
    pes_gemm_nn(dx, C, dlogits, classes, workspace->parameters + model->places->head, C, rows, C, classes,
                NULL);
    const uint8_t *mask = pes_model_mask(config, batch);
    for (size_t b = 0; pooled && b < rows; b++) {
        size_t count = 0;
        for (size_t t = 0; t < T; t++)
            count += mask ? mask[b * T + t] != 0 : 1;
        for (size_t t = 0; t < T; t++) {
            bool counts = !mask || mask[b * T + t];
            real factor = counts ? (real)1 / (real)count : 0;
            for (size_t c = 0; c < C; c++)
                dnf[(b * T + t) * C + c] = factor * dx[b * C + c];
        }
    }
    if (!norm) return;
    memset(workspace->d, 0, N * C * sizeof *workspace->d);
    pes_layernorm_backward(workspace->d, gradient + model->places->norm_f,
                           gradient + model->places->norm_f_bias, workspace->dn, workspace->last,
                           workspace->meanf, workspace->rstdf, workspace->parameters + model->places->norm_f,
                           N, C);
}

/* out = xm + dropout(W_2 h + b_2),  h = act(W_1 n2(xm) + b_1). */
static void feed_forward_backward(const struct frame *frame, int index)
{
    const struct pes_workspace *workspace = frame->workspace;
    const struct pes_model *model = workspace->model;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &model->places->layers[index];
    const real *values = workspace->parameters;
    real *gradient = frame->pass->gradient, *dh = workspace->dh, *dn = workspace->dn;
    size_t N = frame->N, C = frame->C, F = (size_t)model->config.shape.F;
    const real *dy = enter_branch(frame, pes_dropout_site(index, PES_DROPOUT_FEED_FORWARD_BRANCH));
    pes_gemm_tn_add(gradient + at->w2, F, dy, C, layer->h, F, C, F, N);
    pes_column_sum_add(gradient + at->b2, dy, C, N, C);
    struct pes_epilogue through_activation = {
        .slope = model->config.activation,
        .slope_of = model->config.activation == PES_ACTIVATION_GELU ? layer->before : layer->h,
    };
    pes_gemm_nn(dh, F, dy, C, values + at->w2, F, N, F, C, &through_activation);
    pes_gemm_tn_add(gradient + at->w1, C, dh, F, layer->n2, C, F, C, N);
    pes_column_sum_add(gradient + at->b1, dh, F, N, F);
    pes_gemm_nn(dn, C, dh, F, values + at->w1, C, N, C, F, NULL);
    pes_layernorm_backward(workspace->d, gradient + at->norm2, gradient + at->norm2_bias, dn, layer->xm,
                           layer->mean2, layer->rstd2, values + at->norm2, N, C);
}

/* xm = x + dropout(W_o o + b_o),  o = attention(q, k, v). */
static void attention_backward(const struct frame *frame, int index)
{
    const struct pes_workspace *workspace = frame->workspace;
    const struct pes_model *model = workspace->model;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &model->places->layers[index];
    const real *values = workspace->parameters;
    real *gradient = frame->pass->gradient;
    size_t N = frame->N, C = frame->C, columns = workspace->sizes.v_columns;
    const real *dy = enter_branch(frame, pes_dropout_site(index, PES_DROPOUT_ATTENTION_BRANCH));
    bool follows = pes_output_follows(&model->config);
    if (follows)
        pes_gemm_tn_add(layer->dwo_t, C, layer->o, columns, dy, C, columns, C, N);
    else
        pes_gemm_tn_add(gradient + at->wo, columns, dy, C, layer->o, columns, C, columns, N);
    pes_column_sum_add(gradient + at->bo, dy, C, N, C);
    pes_gemm_nn(workspace->dn, columns, dy, C, follows ? layer->wo : values + at->wo, columns, N, columns, C,
                NULL);
    pes_attend_backward(workspace, index, frame->batch, frame->pass);
    pes_project_backward(workspace, index, gradient, N);
    pes_layernorm_backward(workspace->d, gradient + at->norm1, gradient + at->norm1_bias, workspace->dn,
                           layer->x, layer->mean1, layer->rstd1, values + at->norm1, N, C);
}

/* x0 = dropout(embed[ids] + position). */
static void embedding_backward(const struct frame *frame)
{
    const struct pes_workspace *workspace = frame->workspace;
    const struct pes_model *model = workspace->model;
    const struct pes_batch *batch = frame->batch;
    size_t N = frame->N, C = frame->C, T = (size_t)batch->T;
    real *d = workspace->d, *dtokens = frame->pass->gradient + model->places->tokens;
    if (model->config.kv_source == PES_KV_EMBEDDING)
        for (size_t i = 0; i < N * C; i++)
            d[i] += workspace->dx0[i];
    struct pes_dropout dropout = pes_model_dropout(workspace, frame->pass, 0, batch->first * (uint64_t)T);
    if (dropout.rate > 0) pes_dropout_apply(d, N, C, &dropout);
    for (size_t n = 0; n < N; n++) {
        real *token = dtokens + (size_t)batch->ids[n] * C;
        if (n + PES_ROWS_AHEAD < N) pes_fetch_row(dtokens + (size_t)batch->ids[n + PES_ROWS_AHEAD] * C, C);
        for (size_t c = 0; c < C; c++)
            token[c] += d[n * C + c];
        if (!workspace->dposition) continue;
        real *place = workspace->dposition + n % T * C;
        for (size_t c = 0; c < C; c++)
            place[c] += d[n * C + c];
    }
}

void pes_backward(const struct pes_workspace *workspace, const struct pes_batch *batch,
                  const struct pes_pass *pass)
{
    const struct pes_model_config *config = &workspace->model->config;
    size_t C = (size_t)config->shape.C, N = (size_t)batch->B * (size_t)batch->T;
    struct frame frame = {workspace, batch, pass, N, C};
    if (config->kv_source == PES_KV_EMBEDDING) memset(workspace->dx0, 0, N * C * sizeof *workspace->dx0);
    output_backward(&frame);
    for (int layer = config->shape.L - 1; layer >= 0; layer--) {
        if (config->shape.F) feed_forward_backward(&frame, layer);
        attention_backward(&frame, layer);
    }
    embedding_backward(&frame);
}
