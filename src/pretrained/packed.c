/* packed.c - heads of projections that stand in the file as matrices, separate or fused.
 *
 * A head's rows are found by the layout's formula, then put in the order of pes_head: the rows that a
 * rotation pairs first, each pair adjacent.  The same order for queries and keys leaves W_q^T W_k as it is.
 */
#include <math.h>

#include "checkpoint.h"

static size_t groups(const struct pes_pretrained *model)
{
    return (size_t)(model->about.H / model->about.num_key_heads);
}

enum part { QUERY, KEY, VALUE };

/* First row of a head's part in the tensor that holds it. */
static size_t first_row(const struct pes_pretrained *model, enum part part, size_t head)
{
    const struct pes_pretrained_about *about = &model->about;
    size_t D = (size_t)about->D, H = (size_t)about->H, keys = (size_t)about->num_key_heads, R = groups(model),
           g = head / R;
    switch (model->layout) {
    case LAYOUT_SEPARATE:
        return (part == QUERY ? head : g) * D;
    case LAYOUT_CONTIGUOUS:
        return (part == QUERY ? head : part == KEY ? H + g : H + keys + g) * D;
    case LAYOUT_GROUPED:
    default:
        return (g * (R + 2) + (part == QUERY ? head % R : part == KEY ? R : R + 1)) * D;
    }
}

static size_t num_rows(const struct pes_pretrained *model, enum part part)
{
    size_t D = (size_t)model->about.D, H = (size_t)model->about.H, keys = (size_t)model->about.num_key_heads;
    if (model->layout != LAYOUT_SEPARATE) return (H + 2 * keys) * D;
    return (part == QUERY ? H : keys) * D;
}

static const char *tensor_name(const struct pes_pretrained *model, enum part part)
{
    const struct architecture *row = model->architecture;
    if (!row->k || part == QUERY) return row->q;
    return part == KEY ? row->k : row->v;
}

static enum pes_status find_matrix(const struct pes_pretrained *model, int layer, enum part part,
                                   const struct pes_weight **weight)
{
    size_t rows = num_rows(model, part), C = (size_t)model->about.C;
    bool transposed = model->architecture->transposed;
    return checkpoint_need(model, layer, tensor_name(model, part), ".weight", transposed ? C : rows,
                           transposed ? rows : C, weight);
}

/* NULL if there is none: whether a projection has a bias, the file itself says. */
static enum pes_status find_bias(const struct pes_pretrained *model, int layer, enum part part,
                                 const struct pes_weight **bias)
{
    const char *name = tensor_name(model, part);
    *bias = checkpoint_find(model, layer, name, ".bias");
    if (!*bias) return PES_OK;
    return checkpoint_need(model, layer, name, ".bias", num_rows(model, part), 0, bias);
}

static enum pes_status find_inner_norm(const struct pes_pretrained *model, int layer, enum part part,
                                       const struct pes_weight **weight)
{
    const char *name = part == QUERY ? model->architecture->q_norm : model->architecture->k_norm;
    *weight = NULL;
    if (!name || part == VALUE) return PES_OK;
    return checkpoint_need(model, layer, name, ".weight", (size_t)model->about.D, 0, weight);
}

enum pes_status packed_check_layer(const struct pes_pretrained *model, int layer)
{
    for (enum part part = QUERY; part <= KEY; part++) {
        const struct pes_weight *weight, *bias, *norm;
        TRY(find_matrix(model, layer, part, &weight));
        TRY(find_bias(model, layer, part, &bias));
        TRY(find_inner_norm(model, layer, part, &norm));
        TRY(pes_weight_read(weight, 0, 0, NULL));
        if (bias) TRY(pes_weight_read(bias, 0, 0, NULL));
        if (norm) TRY(pes_weight_read(norm, 0, 0, NULL));
    }
    return PES_OK;
}

/* order[e] = which row of the file is row e of the head. */
static void order_rows(const struct pes_pretrained *model, const struct rotation *rotation, enum part part,
                       size_t *order)
{
    size_t D = (size_t)model->about.D, pairs = (size_t)rotation->pairs, half = (size_t)rotation->half;
    if (!half || model->adjacent || part == VALUE) {
        for (size_t e = 0; e < D; e++)
            order[e] = e;
        return;
    }
    size_t at = 0;
    for (size_t t = 0; t < pairs; t++) {
        order[at++] = t;
        order[at++] = t + half;
    }
    for (size_t e = 0; e < D; e++) {
        bool paired = e < pairs || (e >= half && e < half + pairs);
        if (!paired) order[at++] = e;
    }
    CHECK(at == D);
}

/* out[D, C]: its row e is row first + order[e] of the file's matrix. */
static enum pes_status read_matrix(const struct pes_pretrained *model, const struct pes_weight *weight,
                                   size_t first, const size_t *order, struct pes_arena *arena, double *out)
{
    size_t D = (size_t)model->about.D, C = (size_t)model->about.C;
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *column = pes_arena_take(arena, D, sizeof *column);
    if (!column) return PES_MEMORY;
    bool transposed = model->architecture->transposed;
    size_t columns = (size_t)weight->shape[1];
    for (size_t e = 0; e < D && !transposed; e++)
        TRY(checkpoint_rows(weight, first + order[e], 1, C, out + e * C));
    for (size_t c = 0; c < C && transposed; c++) {
        TRY(pes_weight_read(weight, c * columns + first, D, column));
        for (size_t e = 0; e < D; e++)
            out[e * C + c] = column[order[e]];
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}

struct projection {
    double *w, *b; /* [D, C], [D] */
};

static enum pes_status read_projection(const struct pes_pretrained *model, int layer, size_t head,
                                       enum part part, struct pes_arena *arena, struct projection *out)
{
    size_t D = (size_t)model->about.D, C = (size_t)model->about.C, first = first_row(model, part, head);
    const struct rotation *rotation = &model->rotations[model->rotation_of[layer]];
    const struct pes_weight *weight, *bias, *norm;
    TRY(find_matrix(model, layer, part, &weight));
    TRY(find_bias(model, layer, part, &bias));
    TRY(find_inner_norm(model, layer, part, &norm));
    out->w = pes_arena_take(arena, D * C, sizeof *out->w);
    out->b = pes_arena_take(arena, D, sizeof *out->b);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *biases = pes_arena_take(arena, D, sizeof *biases);
    double *gains = pes_arena_take(arena, D, sizeof *gains);
    size_t *order = pes_arena_take(arena, D, sizeof *order);
    if (!out->w || !out->b || !biases || !gains || !order) return PES_MEMORY;
    if (bias) TRY(pes_weight_read(bias, first, D, biases));
    if (norm) TRY(pes_weight_read(norm, 0, D, gains));
    order_rows(model, rotation, part, order);
    TRY(read_matrix(model, weight, first, order, arena, out->w));
    size_t turning = part == VALUE || !rotation->half ? 0 : 2 * (size_t)rotation->pairs;
    for (size_t e = 0; e < D; e++) {
        double gain = norm ? gains[order[e]] + (model->architecture->norm == NORM_RMS_PLUS_ONE) : 1;
        if (e < turning) gain *= rotation->factor;
        for (size_t c = 0; c < C && gain != 1; c++)
            out->w[e * C + c] *= gain;
        out->b[e] = gain * biases[order[e]];
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}

enum pes_status packed_value_bias(const struct pes_pretrained *model, int layer, size_t head, double *out)
{
    const struct pes_weight *bias;
    TRY(find_bias(model, layer, VALUE, &bias));
    return bias ? pes_weight_read(bias, first_row(model, VALUE, head), (size_t)model->about.Dv, out) : PES_OK;
}

enum pes_status packed_output(const struct pes_pretrained *model, int layer, size_t head,
                              struct pes_arena *arena, double **out)
{
    size_t C = (size_t)model->about.C, Dv = (size_t)model->about.Dv, inner = (size_t)model->about.H * Dv;
    bool transposed = model->architecture->transposed;
    const struct pes_weight *weight;
    TRY(checkpoint_need(model, layer, model->architecture->o, ".weight", transposed ? inner : C,
                        transposed ? C : inner, &weight));
    *out = pes_arena_take(arena, C * Dv, sizeof **out);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    double *row = pes_arena_take(arena, C, sizeof *row);
    if (!*out || !row) return PES_MEMORY;
    for (size_t c = 0; !transposed && c < C; c++)
        TRY(pes_weight_read(weight, c * inner + head * Dv, Dv, *out + c * Dv));
    for (size_t e = 0; transposed && e < Dv; e++) {
        TRY(pes_weight_read(weight, (head * Dv + e) * C, C, row));
        for (size_t c = 0; c < C; c++)
            (*out)[c * Dv + e] = row[c];
    }
    pes_arena_rewind(arena, mark);
    return PES_OK;
}

enum pes_status packed_head(const struct pes_pretrained *model, int layer, int head, bool values,
                            struct pes_arena *arena, struct pes_head *out)
{
    const struct rotation *rotation = &model->rotations[model->rotation_of[layer]];
    struct projection q, k, v = {0};
    double *wo = NULL;
    TRY(read_projection(model, layer, (size_t)head, QUERY, arena, &q));
    TRY(read_projection(model, layer, (size_t)head, KEY, arena, &k));
    if (values) {
        TRY(read_projection(model, layer, (size_t)head, VALUE, arena, &v));
        TRY(packed_output(model, layer, (size_t)head, arena, &wo));
    }
    *out = (struct pes_head){
        .D = model->about.D,
        .C = model->about.C,
        .wq = q.w,
        .wk = k.w,
        .wv = v.w,
        .wo = wo,
        .Dv = model->about.Dv,
        .bq = q.b,
        .bk = k.b,
        .pairs = rotation->pairs,
        .rq = q.w,
        .rk = k.w,
        .frequencies = rotation->frequencies,
        .rotates = rotation->half > 0,
        .scale = model->by_layer ? model->scale / (layer + 1) : model->scale,
    };
    return front_norm(model, layer, arena, out);
}
