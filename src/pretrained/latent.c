/* latent.c - heads of multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434).
 *
 *   q = W_uq norm(W_dq x) or W_q x, rows of a head [content | rotary];  c, k_r = W_dkv x (latent, rotary key
 * of all heads);  k, v = W_ukv norm(c), rows of a head [key | value]. Composed, with the gains of the latent
 * norms between.  The norms' divisors depend on the token: M is exact up to a positive factor for each query
 * and each key. */
#include <math.h>

#include "checkpoint.h"
#include "pesweep/linalg.h"

static const char query_direct[] = "self_attn.q_proj", query_down[] = "self_attn.q_a_proj",
                  query_norm[] = "self_attn.q_a_layernorm", query_up[] = "self_attn.q_b_proj",
                  key_down[] = "self_attn.kv_a_proj_with_mqa", key_norm[] = "self_attn.kv_a_layernorm",
                  key_up[] = "self_attn.kv_b_proj";

enum pes_status latent_read(struct pes_pretrained *model)
{
    struct pes_pretrained_about *about = &model->about;
    if (checkpoint_key(model->config, "q_lora_rank"))
        TRY(checkpoint_count(model, "q_lora_rank", 0, &model->q_rank));
    TRY(checkpoint_count(model, "kv_lora_rank", 0, &model->kv_rank));
    TRY(checkpoint_count(model, "qk_nope_head_dim", 0, &model->nope));
    TRY(checkpoint_count(model, "qk_rope_head_dim", 0, &model->rope));
    TRY(checkpoint_count(model, "v_head_dim", 0, &about->Dv));
    about->D = model->nope;
    about->num_key_heads = about->H;
    about->inner_norm = true;
    model->adjacent = checkpoint_flag(model, "rope_interleave", true);
    model->scale = 1 / sqrt((double)(model->nope + model->rope));
    TRY(checkpoint_read_rotations(model, model->rope));
    const json_t *keys = checkpoint_key(model->config, "rope_parameters");
    if (!keys || !checkpoint_key(keys, "mscale_all_dim"))
        keys = checkpoint_key(model->config, "rope_scaling");
    double all = checkpoint_real(keys, "mscale_all_dim", 0), factor = checkpoint_real(keys, "factor", 1);
    if (all > 0 && factor > 1) model->scale *= pow(0.1 * all * log(factor) + 1, 2);
    return PES_OK;
}

static enum pes_status refuse_bias(const struct pes_pretrained *model, int layer, const char *name)
{
    const struct pes_weight *bias = checkpoint_find(model, layer, name, ".bias");
    if (!bias) return PES_OK;
    return pes_fail(PES_INPUT, "%s: layer %d: %s.bias in front of a norm has no place in a head's matrices",
                    bias->file, layer, name);
}

struct tensors {
    const struct pes_weight *q, *q_down, *q_norm, *k_down, *k_norm, *up;
};

static enum pes_status find_all(const struct pes_pretrained *model, int layer, struct tensors *out)
{
    size_t H = (size_t)model->about.H, C = (size_t)model->about.C, Dv = (size_t)model->about.Dv;
    size_t nope = (size_t)model->nope, rope = (size_t)model->rope, q_rank = (size_t)model->q_rank,
           rank = (size_t)model->kv_rank, width = H * (nope + rope);
    *out = (struct tensors){0};
    if (q_rank) {
        TRY(checkpoint_need(model, layer, query_down, ".weight", q_rank, C, &out->q_down));
        TRY(checkpoint_need(model, layer, query_norm, ".weight", q_rank, 0, &out->q_norm));
        TRY(checkpoint_need(model, layer, query_up, ".weight", width, q_rank, &out->q));
        TRY(refuse_bias(model, layer, query_down));
    } else {
        TRY(checkpoint_need(model, layer, query_direct, ".weight", width, C, &out->q));
        TRY(refuse_bias(model, layer, query_direct));
    }
    TRY(checkpoint_need(model, layer, key_down, ".weight", rank + rope, C, &out->k_down));
    TRY(checkpoint_need(model, layer, key_norm, ".weight", rank, 0, &out->k_norm));
    TRY(checkpoint_need(model, layer, key_up, ".weight", H * (nope + Dv), rank, &out->up));
    return refuse_bias(model, layer, key_down);
}

enum pes_status latent_check_layer(const struct pes_pretrained *model, int layer)
{
    struct tensors all;
    TRY(find_all(model, layer, &all));
    const struct pes_weight *const each[] = {all.q, all.q_down, all.q_norm, all.k_down, all.k_norm, all.up};
    for (size_t i = 0; i < PES_COUNT(each); i++)
        if (each[i]) TRY(pes_weight_read(each[i], 0, 0, NULL));
    return PES_OK;
}

/* rows [first, first + count) of up, times diag(gain) down; out[count, C].  down NULL: up's own rows. */
static enum pes_status compose(const struct pes_pretrained *model, const struct pes_weight *up, size_t first,
                               size_t count, const struct pes_weight *norm, const struct pes_weight *down,
                               struct pes_arena *arena, double **out)
{
    size_t C = (size_t)model->about.C, rank = (size_t)up->shape[1];
    *out = pes_arena_take(arena, count * C, sizeof **out);
    if (!*out) return PES_MEMORY;
    if (!down) return checkpoint_rows(up, first, count, C, *out);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *rows = pes_arena_take(arena, count * rank, sizeof *rows),
           *gain = pes_arena_take(arena, rank, sizeof *gain);
    double *inner = pes_arena_take(arena, rank * C, sizeof *inner);
    if (!rows || !gain || !inner) return PES_MEMORY;
    TRY(checkpoint_rows(up, first, count, rank, rows));
    TRY(pes_weight_read(norm, 0, rank, gain));
    TRY(checkpoint_rows(down, 0, rank, C, inner));
    for (size_t i = 0; i < count * rank; i++)
        rows[i] *= gain[i % rank];
    pes_dgemm(false, false, count, C, rank, 1, rows, rank, inner, C, 0, *out, C);
    pes_arena_rewind(arena, mark);
    return PES_OK;
}

/* Rotary rows in adjacent pairs, with the factor of the frequency rule. */
static enum pes_status pair_rows(const struct pes_pretrained *model, const struct rotation *rotation,
                                 struct pes_arena *arena, double **rows)
{
    size_t C = (size_t)model->about.C, pairs = (size_t)rotation->pairs, half = (size_t)rotation->half;
    double *out = pes_arena_take(arena, 2 * pairs * C, sizeof *out);
    if (!out) return PES_MEMORY;
    for (size_t e = 0; e < 2 * pairs; e++) {
        size_t from = model->adjacent ? e : e / 2 + (e % 2) * half;
        for (size_t c = 0; c < C; c++)
            out[e * C + c] = rotation->factor * (*rows)[from * C + c];
    }
    *rows = out;
    return PES_OK;
}

enum pes_status latent_head(const struct pes_pretrained *model, int layer, int head, bool values,
                            struct pes_arena *arena, struct pes_head *out)
{
    size_t h = (size_t)head, C = (size_t)model->about.C, Dv = (size_t)model->about.Dv,
           nope = (size_t)model->nope, rope = (size_t)model->rope;
    const struct rotation *rotation = &model->rotations[model->rotation_of[layer]];
    struct tensors all;
    TRY(find_all(model, layer, &all));
    double *wq, *rq, *wk, *wv = NULL, *wo = NULL, *rk = pes_arena_take(arena, rope * C, sizeof *rk);
    double *zeros = pes_arena_take(arena, nope, sizeof *zeros);
    if (!rk || !zeros) return PES_MEMORY;
    size_t query = h * (nope + rope), key = h * (nope + Dv);
    TRY(compose(model, all.q, query, nope, all.q_norm, all.q_down, arena, &wq));
    TRY(compose(model, all.q, query + nope, rope, all.q_norm, all.q_down, arena, &rq));
    TRY(compose(model, all.up, key, nope, all.k_norm, all.k_down, arena, &wk));
    TRY(checkpoint_rows(all.k_down, (size_t)model->kv_rank, rope, C, rk));
    TRY(pair_rows(model, rotation, arena, &rq));
    TRY(pair_rows(model, rotation, arena, &rk));
    if (values) {
        TRY(compose(model, all.up, key + nope, Dv, all.k_norm, all.k_down, arena, &wv));
        TRY(packed_output(model, layer, h, arena, &wo));
    }
    *out = (struct pes_head){
        .D = model->nope,
        .C = model->about.C,
        .wq = wq,
        .wk = wk,
        .wv = wv,
        .wo = wo,
        .Dv = model->about.Dv,
        .bq = zeros,
        .bk = zeros,
        .pairs = rotation->pairs,
        .rq = rq,
        .rk = rk,
        .frequencies = rotation->frequencies,
        .rotates = true,
        .scale = model->scale,
    };
    return front_norm(model, layer, arena, out);
}
