/* project.c - queries, keys and values from the stream, and back.
 *
 * One stage: [q k v] = x W^T + b, one product when keys come from the same source as queries.  Latent
 * attention (mla; DeepSeek-V2, arXiv 2405.04434, sec. 2.1) has two: [c_q c_kv k_r] = x W^T, then q = c_q
 * U_q^T and [k v] = [c_kv k_r] U_kv^T, where U_kv copies the shared rotary key k_r into every head by unit
 * rows. */
#include "internal.h"

#include <math.h>
#include <string.h>

static const double norm_epsilon = 1e-6;

/* y = x / sqrt(mean(x^2) + eps) * gain over rows; rstd every second element of [N][2]. */
static void rms_forward(real *y, real *rstd, const real *x, size_t ld, const real *gain, size_t N,
                        size_t width)
{
    for (size_t n = 0; n < N; n++) {
        double sum = 0;
        for (size_t c = 0; c < width; c++)
            sum += (double)x[n * ld + c] * (double)x[n * ld + c];
        rstd[2 * n] = (real)(1 / sqrt(sum / (double)width + norm_epsilon));
        for (size_t c = 0; c < width; c++)
            y[n * ld + c] = x[n * ld + c] * rstd[2 * n] * gain[c];
    }
}

/* dx = rstd (g dy - x rstd^2 mean(g dy x)), in place of dy; dgain += dy x rstd. */
static void rms_backward(real *d, real *dgain, const real *x, const real *rstd, size_t ld, const real *gain,
                         size_t N, size_t width)
{
    for (size_t n = 0; n < N; n++) {
        real r = rstd[2 * n];
        double sum = 0;
        for (size_t c = 0; c < width; c++) {
            sum += (double)d[n * ld + c] * (double)gain[c] * (double)x[n * ld + c];
            dgain[c] += d[n * ld + c] * x[n * ld + c] * r;
        }
        real factor = (real)(sum / (double)width) * r * r;
        for (size_t c = 0; c < width; c++)
            d[n * ld + c] = r * (gain[c] * d[n * ld + c] - x[n * ld + c] * factor);
    }
}

/* out[N, stage_columns] of the first stage. */
static void first_stage(const struct pes_workspace *workspace, const struct pes_layer_work *layer,
                        const real *x_q, const real *x_kv, bool biased, real *out, size_t N)
{
    const struct pes_sizes *sizes = &workspace->sizes;
    size_t C = (size_t)workspace->model->config.shape.C, ld = sizes->stage_columns;
    biased = biased && sizes->biased;
    struct pes_epilogue epilogue = {.bias = biased ? layer->b : NULL};
    if (x_q == x_kv) {
        pes_gemm_nn(out, ld, x_q, C, layer->wt, ld, N, ld, C, &epilogue);
        return;
    }
    pes_gemm_nn(out, ld, x_q, C, layer->wt, ld, N, sizes->stage_q, C, &epilogue);
    if (biased) epilogue.bias += sizes->stage_q;
    pes_gemm_nn(out + sizes->stage_q, ld, x_kv, C, layer->wt + sizes->stage_q, ld, N, sizes->stage_kv, C,
                &epilogue);
}

/* The latents as the second stage reads them: normalised into a copy, or as they are. */
static const real *read_latents(const struct pes_workspace *workspace, int index, size_t N)
{
    const struct pes_model *model = workspace->model;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &model->places->layers[index];
    size_t ld = workspace->sizes.stage_columns, latent = (size_t)model->config.d_latent;
    if (!model->config.latent_norm) return layer->latent;
    memcpy(layer->normed, layer->latent, N * ld * sizeof *layer->normed);
    rms_forward(layer->normed, layer->latent_rstd, layer->latent, ld, workspace->parameters + at->q_norm, N,
                latent);
    rms_forward(layer->normed + latent, layer->latent_rstd + 1, layer->latent + latent, ld,
                workspace->parameters + at->kv_norm, N, latent);
    return layer->normed;
}

void pes_project_forward(const struct pes_workspace *workspace, int index, const real *x_q, const real *x_kv,
                         bool biased, real *qkv, size_t N)
{
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_sizes *sizes = &workspace->sizes;
    if (!workspace->model->config.mla) {
        first_stage(workspace, layer, x_q, x_kv, biased, qkv, N);
        return;
    }
    first_stage(workspace, layer, x_q, x_kv, biased, layer->latent, N);
    const real *latents = read_latents(workspace, index, N);
    size_t q = sizes->q_columns, kv = sizes->k_columns + sizes->v_columns, ld = sizes->qkv_columns;
    pes_gemm_nn(qkv, ld, latents, sizes->stage_columns, layer->up_qt, q, N, q, sizes->stage_q, NULL);
    pes_gemm_nn(qkv + q, ld, latents + sizes->stage_q, sizes->stage_columns, layer->up_kvt, kv, N, kv,
                sizes->stage_kv, NULL);
}

/* From dy[N, stage_columns]: weight gradients, dn = gradient of the normalised stream, dx0 += that of the
 * embedding. */
static void first_stage_backward(const struct pes_workspace *workspace, const struct pes_layer_work *layer,
                                 const real *dy, size_t N)
{
    const struct pes_sizes *sizes = &workspace->sizes;
    const struct pes_model_config *config = &workspace->model->config;
    size_t C = (size_t)config->shape.C, ld = sizes->stage_columns, q = sizes->stage_q, kv = sizes->stage_kv;
    if (sizes->biased) pes_column_sum_add(layer->db, dy, ld, N, ld);
    if (config->kv_source == PES_KV_RESIDUAL) {
        pes_gemm_tn_add(layer->dw, C, dy, ld, layer->n1, C, ld, C, N);
        pes_gemm_nn(workspace->dn, C, dy, ld, layer->w, C, N, C, ld, NULL);
        return;
    }
    pes_gemm_tn_add(layer->dw, C, dy, ld, layer->n1, C, q, C, N);
    pes_gemm_tn_add(layer->dw + q * C, C, dy + q, ld, workspace->x0, C, kv, C, N);
    pes_gemm_nn(workspace->dn, C, dy, ld, layer->w, C, N, C, q, NULL);
    struct pes_epilogue add = {.residual = workspace->dx0};
    pes_gemm_nn(workspace->dx0, C, dy + q, ld, layer->w + q * C, C, N, C, kv, &add);
}

static void latent_norms_backward(const struct pes_workspace *workspace, int index, real *gradient, size_t N)
{
    const struct pes_model *model = workspace->model;
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_layer_places *at = &model->places->layers[index];
    size_t ld = workspace->sizes.stage_columns, latent = (size_t)model->config.d_latent;
    rms_backward(workspace->dlatent, gradient + at->q_norm, layer->latent, layer->latent_rstd, ld,
                 workspace->parameters + at->q_norm, N, latent);
    rms_backward(workspace->dlatent + latent, gradient + at->kv_norm, layer->latent + latent,
                 layer->latent_rstd + 1, ld, workspace->parameters + at->kv_norm, N, latent);
}

void pes_project_backward(const struct pes_workspace *workspace, int index, real *gradient, size_t N)
{
    const struct pes_layer_work *layer = &workspace->layers[index];
    const struct pes_sizes *sizes = &workspace->sizes;
    const struct pes_model_config *config = &workspace->model->config;
    if (!config->mla) {
        first_stage_backward(workspace, layer, workspace->dqkv, N);
        return;
    }
    const real *latents = config->latent_norm ? layer->normed : layer->latent;
    const real *dq = workspace->dqkv, *dkv = dq + sizes->q_columns;
    size_t q = sizes->q_columns, kv = sizes->k_columns + sizes->v_columns, ld = sizes->qkv_columns;
    size_t latent_ld = sizes->stage_columns, in_q = sizes->stage_q, in_kv = sizes->stage_kv;
    pes_gemm_tn_add(layer->dup_q, in_q, dq, ld, latents, latent_ld, q, in_q, N);
    pes_gemm_tn_add(layer->dup_kv, in_kv, dkv, ld, latents + in_q, latent_ld, kv, in_kv, N);
    pes_gemm_nn(workspace->dlatent, latent_ld, dq, ld, layer->up_q, in_q, N, in_q, q, NULL);
    pes_gemm_nn(workspace->dlatent + in_q, latent_ld, dkv, ld, layer->up_kv, in_kv, N, in_kv, kv, NULL);
    if (config->latent_norm) latent_norms_backward(workspace, index, gradient, N);
    first_stage_backward(workspace, layer, workspace->dlatent, N);
}
