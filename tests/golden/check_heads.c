/* check_heads.c - W_q, W_k, W_v, W_o of every head, composed where the group's model factors or ties them. */
#include "check_heads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    const struct golden_file *file;
    const char *group;
    struct pes_arena *arena;
    size_t C, H, D;
};

static double *take(const struct source *s, size_t count)
{
    double *x = pes_arena_take(s->arena, count, sizeof *x);
    if (!x) exit(2);
    return x;
}

/* params/layers.<layer>.<name>, copied to the arena; *count elements.  NULL if there is none. */
static double *find(const struct source *s, int layer, const char *name, size_t *count)
{
    char path[256];
    struct golden_array array;
    snprintf(path, sizeof path, "params/layers.%d.%s", layer, name);
    if (!golden_read(s->file, s->group, path, &array)) return NULL;
    double *x = take(s, array.count);
    memcpy(x, array.values, array.count * sizeof *x);
    *count = array.count;
    golden_free(&array);
    return x;
}

static double *get(const struct source *s, int layer, const char *name)
{
    size_t count;
    double *x = find(s, layer, name, &count);
    if (!x) {
        fprintf(stderr, "golden file: %s has no layers.%d.%s\n", s->group, layer, name);
        exit(2);
    }
    return x;
}

/* up[m, n] down[n, C] with n from the sizes. */
static double *compose(const struct source *s, int layer, const char *up, const char *down)
{
    size_t up_count, down_count;
    double *a = find(s, layer, up, &up_count), *b = find(s, layer, down, &down_count);
    if (!a || !b) (void)get(s, layer, a ? down : up);
    size_t n = down_count / s->C, m = up_count / n;
    double *out = take(s, m * s->C);
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t c = 0; c < s->C; c++)
                out[i * s->C + c] += a[i * n + k] * b[k * s->C + c];
    return out;
}

/* W_k as the symmetry constraint makes it of W_q. */
static double *key_rows(const struct source *s, int layer, const double *wq)
{
    const char *symmetry = golden_text(s->file, s->group, "symmetry");
    size_t C = s->C, count = 0;
    if (!strcmp(symmetry, "none")) return get(s, layer, "attn.wk");
    double *wk = take(s, C * C);
    memcpy(wk, wq, C * C * sizeof *wk);
    if (!strcmp(symmetry, "psd")) return wk;
    bool antisymmetric = !strcmp(symmetry, "antisymmetric");
    const double *scale = find(s, layer, "attn.sym_scale", &count);
    if (!scale) scale = get(s, layer, "attn.sym_scale");
    for (size_t row = 0; row < C; row++) {
        /* One scale per row or per pair; antisymmetric: row a reads b, row b reads -a. */
        double factor = count == C ? scale[row] : scale[row / 2];
        size_t from = antisymmetric ? row ^ 1 : row;
        if (antisymmetric && row % 2) factor = -factor;
        for (size_t c = 0; c < C; c++)
            wk[row * C + c] = factor * wq[from * C + c];
    }
    return wk;
}

/* W_o, as a constraint makes it of W_v where there is one. */
static double *output_matrix(const struct source *s, int layer, const double *wv)
{
    size_t C = s->C, count = 0;
    double *wo = find(s, layer, "attn.wo", &count);
    if (wo) return wo;
    const double *scale = find(s, layer, "attn.value_scale", &count);
    bool antisymmetric = !strcmp(golden_text(s->file, s->group, "value_symmetry"), "antisymmetric");
    wo = take(s, C * C);
    for (size_t row = 0; row < C; row++) {
        double factor = scale ? scale[count == C ? row : row / 2] : 1;
        size_t from = antisymmetric ? row ^ 1 : row;
        if (antisymmetric && row % 2) factor = -factor;
        for (size_t c = 0; c < C; c++)
            wo[c * C + row] = factor * wv[from * C + c];
    }
    return wo;
}

static void fill_layer(const struct source *s, int layer, struct pes_head *heads)
{
    size_t C = s->C, D = s->D;
    bool mla = !strcmp(golden_text(s->file, s->group, "attention"), "mla");
    bool embedding = !strcmp(golden_text(s->file, s->group, "kv_source"), "embedding");
    double *wq = mla ? compose(s, layer, "attn.w_uq", "attn.w_dq") : get(s, layer, "attn.wq");
    double *wk = mla ? compose(s, layer, "attn.w_uk", "attn.w_dkv") : key_rows(s, layer, wq);
    double *wv = mla ? compose(s, layer, "attn.w_uv", "attn.w_dkv") : get(s, layer, "attn.wv");
    double *wo = output_matrix(s, layer, wv), *gain = get(s, layer, "norm1.weight");
    double *rq = mla ? compose(s, layer, "attn.w_qr", "attn.w_dq") : NULL;
    double *rk = mla ? get(s, layer, "attn.w_kr") : NULL;
    bool shared =
        golden_has(s->file, s->group, "published_query") && golden_bool(s->file, s->group, "published_query");
    size_t rotary = mla ? (size_t)golden_int(s->file, s->group, "d_rope") : D;
    double *frequencies = take(s, rotary / 2), *zeros = take(s, D);
    for (size_t t = 0; t < rotary / 2; t++)
        frequencies[t] = pow(10000, -2.0 * (double)t / (double)rotary);
    for (size_t h = 0; h < s->H; h++) {
        double *columns = take(s, C * D);
        for (size_t c = 0; c < C; c++)
            memcpy(columns + c * D, wo + c * C + h * D, D * sizeof *columns);
        heads[h] = (struct pes_head){.D = (int)D,
                                     .C = (int)C,
                                     .Dv = (int)D,
                                     .wq = wq + h * D * C,
                                     .wk = wk + h * D * C,
                                     .wv = wv + h * D * C,
                                     .wo = columns,
                                     .bq = zeros,
                                     .bk = zeros,
                                     .gain = gain,
                                     .query_folds = true,
                                     .key_folds = !embedding,
                                     .centred = true,
                                     .pairs = (int)(rotary / 2),
                                     .rq = mla ? rq + (shared ? 0 : h * rotary * C) : wq + h * D * C,
                                     .rk = mla ? rk : wk + h * D * C,
                                     .frequencies = frequencies};
    }
}

struct pes_head *golden_heads(const struct golden_file *file, const char *group, struct pes_arena *arena)
{
    struct source s = {file,
                       group,
                       arena,
                       (size_t)golden_int(file, group, "d_model"),
                       (size_t)golden_int(file, group, "n_heads"),
                       0};
    s.D = s.C / s.H;
    int L = (int)golden_int(file, group, "n_layers");
    struct pes_head *heads = pes_arena_take(arena, (size_t)L * s.H, sizeof *heads);
    if (!heads) exit(2);
    for (int layer = 0; layer < L; layer++)
        fill_layer(&s, layer, heads + (size_t)layer * s.H);
    return heads;
}
