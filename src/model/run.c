/* run.c - the forward pass over one micro-batch, and the loss. */
#include "internal.h"

#include <string.h>

const uint8_t *pes_model_mask(const struct pes_model_config *config, const struct pes_batch *batch)
{
    return config->pad == PES_PAD_MASK ? batch->mask : NULL;
}

static size_t num_rows(const struct pes_batch *batch)
{
    return (size_t)batch->B * (size_t)batch->T;
}

static struct pes_dropout row_dropout(const struct pes_workspace *workspace, const struct pes_batch *batch,
                                      const struct pes_pass *pass, int site)
{
    return pes_model_dropout(workspace, pass, site, batch->first * (uint64_t)batch->T);
}

/* --- blocks ------------------------------------------------------------------------------------------- */

/* x0 = dropout(embed[ids] + position). */
static void embed(const struct pes_workspace *workspace, const struct pes_batch *batch,
                  const struct pes_pass *pass)
{
    const struct pes_model *model = workspace->model;
    const real *tokens = workspace->parameters + model->places->tokens, *position = workspace->position;
    size_t C = (size_t)model->config.shape.C, T = (size_t)batch->T;
    for (size_t n = 0; n < num_rows(batch); n++)
        CHECK(batch->ids[n] >= 0 && batch->ids[n] < model->config.shape.V);
    for (size_t n = 0; n < num_rows(batch); n++) {
        const real *token = tokens + (size_t)batch->ids[n] * C;
        if (n + PES_ROWS_AHEAD < num_rows(batch))
            pes_fetch_row(tokens + (size_t)batch->ids[n + PES_ROWS_AHEAD] * C, C);
        real *x = workspace->x0 + n * C;
        if (position) {
            const real *place = position + n % T * C;
            for (size_t c = 0; c < C; c++)
                x[c] = token[c] + place[c];
        } else {
            memcpy(x, token, C * sizeof *x);
        }
    }
    struct pes_dropout dropout = row_dropout(workspace, batch, pass, 0);
    if (dropout.rate > 0) pes_dropout_apply(workspace->x0, num_rows(batch), C, &dropout);
}

/* Queries, keys and values of a layer's heads. */
static void project(const struct pes_workspace *workspace, int index, size_t N)
{
    const struct pes_model *model = workspace->model;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &model->places->layers[index];
    const real *values = workspace->parameters;
    pes_layernorm_forward(layer->n1, layer->mean1, layer->rstd1, layer->x, values + at->norm1,
                          values + at->norm1_bias, N, (size_t)model->config.shape.C);
    const real *x_kv = model->config.kv_source == PES_KV_EMBEDDING ? workspace->x0 : layer->n1;
    if (workspace->symmetrised[index]) {
        pes_project_forward(workspace, index, layer->n1, x_kv, false, workspace->unbiased, N);
        pes_project_forward(workspace, index, x_kv, layer->n1, false, workspace->swapped, N);
    }
    pes_project_forward(workspace, index, layer->n1, x_kv, true, layer->qkv, N);
}

/* xm = x + dropout(W_o attention + b_o). */
static void attention_block(const struct pes_workspace *workspace, int index, const struct pes_batch *batch,
                            const struct pes_pass *pass)
{
    const struct pes_model *model = workspace->model;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &model->places->layers[index];
    const real *values = workspace->parameters;
    size_t C = (size_t)model->config.shape.C, N = num_rows(batch), columns = workspace->sizes.v_columns;
    bool computes = workspace->zeroed[index] || workspace->symmetrised[index];
    if (computes || !pes_keeps_heads(workspace, pass, index)) project(workspace, index, N);
    pes_attend_forward(workspace, index, batch, pass);
    if (pass->attended && pass->save_streams)
        memcpy(pass->attended + (size_t)index * N * columns, layer->o, N * columns * sizeof *layer->o);
    struct pes_epilogue epilogue = {
        .bias = values + at->bo,
        .dropout = row_dropout(workspace, batch, pass, pes_dropout_site(index, PES_DROPOUT_ATTENTION_BRANCH)),
        .residual = layer->x,
    };
    pes_gemm_nn(layer->xm, C, layer->o, columns, layer->wo_t, C, N, C, columns, &epilogue);
}

/* out = xm + dropout(W_2 act(W_1 n2(xm) + b_1) + b_2). */
static void feed_forward_block(const struct pes_workspace *workspace, int index,
                               const struct pes_batch *batch, const struct pes_pass *pass, real *out)
{
    const struct pes_model *model = workspace->model;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &model->places->layers[index];
    const real *values = workspace->parameters;
    size_t C = (size_t)model->config.shape.C, F = (size_t)model->config.shape.F, N = num_rows(batch);
    pes_layernorm_forward(layer->n2, layer->mean2, layer->rstd2, layer->xm, values + at->norm2,
                          values + at->norm2_bias, N, C);
    struct pes_epilogue first = {
        .bias = values + at->b1,
        .activation = model->config.activation,
        .before = layer->before,
    };
    pes_gemm_nn(layer->h, F, layer->n2, C, layer->w1_t, F, N, F, C, &first);
    struct pes_epilogue second = {
        .bias = values + at->b2,
        .dropout =
            row_dropout(workspace, batch, pass, pes_dropout_site(index, PES_DROPOUT_FEED_FORWARD_BRANCH)),
        .residual = layer->xm,
    };
    pes_gemm_nn(out, C, layer->h, F, layer->w2_t, C, N, C, F, &second);
}

static void run_blocks(const struct pes_workspace *workspace, const struct pes_batch *batch,
                       const struct pes_pass *pass)
{
    const struct pes_model_config *config = &workspace->model->config;
    size_t stream = num_rows(batch) * (size_t)config->shape.C, bytes = stream * sizeof(real);
    int first = pass->first_layer, L = config->shape.L;
    if (first > 0 || pes_keeps_heads(workspace, pass, first)) {
        CHECK(first < L && pass->streams && !pass->gradient && !pass->save_streams && !pass->observer);
        memcpy(workspace->layers[first].x, pass->streams + (size_t)first * stream, bytes);
        if (config->kv_source == PES_KV_EMBEDDING) memcpy(workspace->x0, pass->streams, bytes);
    } else {
        embed(workspace, batch, pass);
    }
    for (int layer = first; layer < L; layer++) {
        const struct pes_layer_work *work = &workspace->layers[layer];
        if (pass->save_streams) memcpy(pass->streams + (size_t)layer * stream, work->x, bytes);
        attention_block(workspace, layer, batch, pass);
        real *out = layer + 1 < L ? workspace->layers[layer + 1].x : workspace->last;
        if (config->shape.F) feed_forward_block(workspace, layer, batch, pass, out);
    }
}

/* --- output ------------------------------------------------------------------------------------------- */

/* pooled[B][C] = mean over the positions that count; 0 where there is none. */
static void pool(const struct pes_workspace *workspace, const struct pes_batch *batch, const real *x)
{
    const uint8_t *mask = pes_model_mask(&workspace->model->config, batch);
    size_t C = (size_t)workspace->model->config.shape.C, T = (size_t)batch->T;
    memset(workspace->pooled, 0, (size_t)batch->B * C * sizeof *workspace->pooled);
    for (size_t b = 0; b < (size_t)batch->B; b++) {
        real *mean = workspace->pooled + b * C;
        size_t count = 0;
        for (size_t t = 0; t < T; t++) {
            if (mask && !mask[b * T + t]) continue;
            const real *row = x + (b * T + t) * C;
            for (size_t c = 0; c < C; c++)
                mean[c] += row[c];
            count++;
        }
        real factor = count ? (real)1 / (real)count : 0;
        for (size_t c = 0; c < C; c++)
            mean[c] *= factor;
    }
}

/* Logits of the rows with labels; returns where they are. */
static real *output(const struct pes_workspace *workspace, const struct pes_batch *batch,
                    const struct pes_pass *pass, size_t *rows)
{
    const struct pes_model *model = workspace->model;
    const real *values = workspace->parameters, *x = workspace->last;
    size_t C = (size_t)model->config.shape.C, classes = (size_t)model->config.shape.classes;
    if (model->config.final_norm) {
        pes_layernorm_forward(workspace->nf, workspace->meanf, workspace->rstdf, x,
                              values + model->places->norm_f, values + model->places->norm_f_bias,
                              num_rows(batch), C);
        x = workspace->nf;
    }
    *rows = num_rows(batch);
    if (model->config.objective == PES_OBJECTIVE_CLASSIFY) {
        pool(workspace, batch, x);
        x = workspace->pooled;
        *rows = (size_t)batch->B;
    }
    real *logits = pass->logits ? pass->logits : workspace->logits;
    struct pes_epilogue epilogue = {.bias = values + model->places->head_bias};
    pes_gemm_nn(logits, classes, x, C, workspace->head_t, classes, *rows, classes, C, &epilogue);
    return logits;
}

static void add_losses(const struct pes_workspace *workspace, const struct pes_batch *batch,
                       const struct pes_pass *pass, real *logits, size_t rows, struct pes_loss *loss)
{
    size_t classes = (size_t)workspace->model->config.shape.classes;
    double *row_loss = pass->row_loss ? pass->row_loss : batch->scored ? workspace->row_loss : NULL;
    uint8_t *row_correct = pass->row_correct ? pass->row_correct
                           : batch->scored   ? workspace->row_correct
                                             : NULL;
    double sum = 0;
    int64_t count = 0, correct = 0;
    for (size_t row = 0; row < rows; row++)
        CHECK(batch->labels[row] >= -1 && batch->labels[row] < (int32_t)classes);
    pes_cross_entropy(&sum, &count, &correct, pass->gradient ? workspace->logits : NULL, logits,
                      batch->labels, rows, classes, pass->scale, row_loss, row_correct);
    loss->sum += sum;
    loss->count += count;
    if (!batch->scored) {
        loss->scored_sum += sum;
        loss->scored_count += count;
        loss->correct += correct;
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        if (!batch->scored[row] || batch->labels[row] < 0) continue;
        loss->scored_sum += row_loss[row];
        loss->scored_count++;
        loss->correct += row_correct[row];
    }
}

void pes_model_run(const struct pes_model *model, struct pes_workspace *workspace,
                   const struct pes_batch *batch, const struct pes_pass *pass, struct pes_loss *loss)
{
    CHECK(workspace->model == model && workspace->parameters);
    CHECK(batch->B >= 1 && batch->B <= workspace->B && batch->T >= 1 && batch->T <= model->config.shape.T);
    CHECK(!pass->gradient || (workspace->training && pass->first_layer == 0));
    size_t rows;
    run_blocks(workspace, batch, pass);
    real *logits = output(workspace, batch, pass, &rows);
    add_losses(workspace, batch, pass, logits, rows, loss);
    if (pass->gradient) pes_backward(workspace, batch, pass);
}
