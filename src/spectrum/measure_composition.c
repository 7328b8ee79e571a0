/* measure_composition.c - the family of what heads do together and to tokens: layers' summed forms,
 * value-output spectra, copying, K-composition. */
#include <math.h>

#include "measure_head.h"

#define X_OV(X)                                                                                              \
    X(fro2, "", "||O||^2")                                                                                   \
    X(symmetry_score, "", "(||S||^2 - ||A||^2) / ||O||^2")                                                   \
    X(rotational_fraction, "", "sum |Im lambda| / sum |lambda|")                                             \
    X(positive_fraction, "", "sum Re lambda / sum |lambda|")                                                 \
    X(effective_rank, "", "exp of the entropy of the normalised singular values")
#define OV(name, unit, meaning)                                                                              \
    PES_HEAD_FINAL("spectra", "ov_" #name, PES_F64, unit, meaning " of O = W_O W_V"),                        \
        PES_HEAD_FINAL("spectra_folded", "ov_" #name, PES_F64, unit, meaning " of O = W_O W_V"),
#define OV_CURVE(name, unit, meaning)                                                                        \
    PES_HEAD_CURVE("ov_" #name, PES_F32, unit, meaning " of O = W_O W_V"),                                   \
        PES_HEAD_CURVE("folded_ov_" #name, PES_F32, unit, meaning " of O = W_O W_V"),
#define COPYING                                                                                              \
    "share of eigenvalues of W_U W_O W_V W_E^T with positive real part; NaN unless outputs are tokens"
#define GROUP(group)                                                                                         \
    {group,                                                                                                  \
     "ov_eigenvalues",                                                                                       \
     PES_F64,                                                                                                \
     4,                                                                                                      \
     {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_MODE, PES_DIM_RE_IM},                                             \
     "",                                                                                                     \
     "non-zero eigenvalues of O = W_O W_V: |lambda| down, then Re, then Im"},                                \
        {group,                                                                                              \
         "ov_singular_values",                                                                               \
         PES_F64,                                                                                            \
         3,                                                                                                  \
         {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_MODE},                                                        \
         "",                                                                                                 \
         "singular values of O = W_O W_V, descending"},                                                      \
        PES_HEAD_FINAL(group, "ov_flags", PES_U8, "", PES_FLAGS_MEANING),                                    \
        PES_HEAD_FINAL(group, "copying", PES_F64, "", COPYING),                                              \
        {group, "layer_symmetry", PES_F64, 1, {PES_DIM_LAYER}, "", LAYER_SYMMETRY},                          \
        {group, "layer_directionality", PES_F64, 1, {PES_DIM_LAYER}, "", LAYER_DIRECTIONALITY},
#define LAYER_SYMMETRY "tr(M^2) / ||M||^2 of the sum of the layer's M"
#define LAYER_DIRECTIONALITY                                                                                 \
    "(R - C) / (R + C), R and C the excess of the row (query) and column (key) norms of the sum of the "     \
    "layer's M over mean + 2 deviations"
#define LAYER_CURVE(name, meaning)                                                                           \
    {                                                                                                        \
        "curves", name, PES_F32, 2, {PES_DIM_CHECKPOINT, PES_DIM_LAYER}, "", meaning                         \
    }

/* clang-format off */
static const struct pes_variable variables[] = {
    LAYER_CURVE("layer_symmetry", LAYER_SYMMETRY),
    LAYER_CURVE("folded_layer_symmetry", LAYER_SYMMETRY),
    LAYER_CURVE("layer_directionality", LAYER_DIRECTIONALITY),
    LAYER_CURVE("folded_layer_directionality", LAYER_DIRECTIONALITY),
    X_OV(OV_CURVE)
    PES_HEAD_CURVE("ov_flags", PES_U8, "", PES_FLAGS_MEANING),
    PES_HEAD_CURVE("folded_ov_flags", PES_U8, "", PES_FLAGS_MEANING),
    PES_HEAD_CURVE("copying", PES_F32, "", COPYING),
    PES_HEAD_CURVE("folded_copying", PES_F32, "", COPYING),
    X_OV(OV)
    GROUP("spectra")
    GROUP("spectra_folded")
    {"spectra_folded", "k_composition", PES_F64, 4,
     {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_LAYER_FROM, PES_DIM_HEAD_FROM}, "",
     "||M_2 O_1|| / (||M_2|| ||O_1||) of a head with a head of an earlier layer"},
    {0}
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.spectra");
}

static enum pes_status get_layer(const struct pes_head_source *source, int layer, struct pes_arena *arena,
                                 struct pes_head **heads)
{
    *heads = pes_arena_take(arena, (size_t)source->H, sizeof **heads);
    if (!*heads) return PES_MEMORY;
    for (int h = 0; h < source->H; h++)
        TRY(source->get(source->context, layer, h, arena, &(*heads)[h]));
    return PES_OK;
}

static enum pes_status measure_layer(const struct pes_measurement *m, int layer, int H,
                                     const struct pes_head *heads, bool folded)
{
    double symmetry, directionality;
    TRY(pes_spectrum_layer(H, heads, folded, m->arena, &symmetry, &directionality));
    if (m->final) {
        const size_t index[] = {(size_t)layer};
        const char *group = folded ? "spectra_folded" : "spectra";
        pes_row_put(m->row, group, "layer_symmetry", index, symmetry);
        pes_row_put(m->row, group, "layer_directionality", index, directionality);
    } else {
        const size_t index[] = {m->checkpoint, (size_t)layer};
        pes_row_put(m->row, "curves", folded ? "folded_layer_symmetry" : "layer_symmetry", index, symmetry);
        pes_row_put(m->row, "curves", folded ? "folded_layer_directionality" : "layer_directionality", index,
                    directionality);
    }
    return PES_OK;
}

static enum pes_status measure_value_output(const struct pes_head_place *place, const struct pes_head *head)
{
    struct pes_arena *arena = place->m->arena;
    struct pes_form form;
    struct pes_content content;
    TRY(pes_spectrum_value_form(head, place->folded, arena, &form));
    TRY(pes_spectrum_form_content(&form, place->m->seed, arena, &content));
    size_t n = form.n;
    if (place->m->final) {
        pes_head_put_block(place, "ov_eigenvalues", 2, (const size_t[]){n, 2}, content.eigenvalues);
        pes_head_put_block(place, "ov_singular_values", 1, &n, content.singular_values);
    }
#define X(name, unit, meaning) pes_head_put(place, "ov_" #name, content.name);
    X_OV(X)
#undef X
    pes_head_put(place, "ov_flags", content.flags);
    return PES_OK;
}

static enum pes_status measure_copying(const struct pes_head_place *place,
                                       const struct pes_head_source *source, const double *token,
                                       const struct pes_head *head)
{
    double share;
    TRY(pes_spectrum_copying(head, place->folded, token, source->final_norm, source->final_gain,
                             place->m->arena, &share));
    pes_head_put(place, "copying", share);
    return PES_OK;
}

/* Scores of all pairs of heads of layer `to` and every earlier layer. */
static enum pes_status measure_composition(const struct pes_measurement *m,
                                           const struct pes_head_source *source, int to,
                                           const struct pes_head *later)
{
    size_t H = (size_t)source->H;
    double *scores = pes_arena_take(m->arena, H * H, sizeof *scores);
    if (!scores) return PES_MEMORY;
    for (int from = 0; from < to; from++) {
        struct pes_arena_mark mark = pes_arena_mark(m->arena);
        struct pes_head *earlier;
        TRY(pes_head_poll(m));
        TRY(get_layer(source, from, m->arena, &earlier));
        TRY(pes_spectrum_k_composition(source->H, later, source->H, earlier, m->arena, scores));
        for (size_t h = 0; h < H; h++) {
            const size_t index[] = {(size_t)to, h, (size_t)from, 0};
            pes_row_put_block(m->row, "spectra_folded", "k_composition", index, 1, &H, scores + h * H);
        }
        pes_arena_rewind(m->arena, mark);
    }
    return PES_OK;
}

static enum pes_status measure_heads(const struct pes_measurement *m, const struct pes_head_source *source,
                                     const double *token, int layer, const struct pes_head *heads)
{
    for (int h = 0; h < source->H; h++)
        for (int folded = 0; folded < 2; folded++) {
            struct pes_arena_mark mark = pes_arena_mark(m->arena);
            const struct pes_head_place place = {m, (size_t)layer, (size_t)h, folded};
            TRY(measure_value_output(&place, &heads[h]));
            if (token) TRY(measure_copying(&place, source, token, &heads[h]));
            pes_arena_rewind(m->arena, mark);
        }
    return m->final ? measure_composition(m, source, layer, heads) : PES_OK;
}

enum pes_status pes_spectrum_run_composition(const struct pes_measurement *m,
                                             const struct pes_head_source *source)
{
    double *token = NULL;
    if (source->V)
        TRY(pes_spectrum_token_product(source->V, source->C, source->embed, source->unembed, m->arena,
                                       &token));
    struct pes_arena_mark mark = pes_arena_mark(m->arena);
    for (int layer = 0; layer < source->L; layer++) {
        struct pes_head *heads;
        TRY(pes_head_poll(m));
        TRY(get_layer(source, layer, m->arena, &heads));
        for (int folded = 0; folded < 2; folded++)
            TRY(measure_layer(m, layer, source->H, heads, folded));
        TRY(measure_heads(m, source, token, layer, heads));
        pes_arena_rewind(m->arena, mark);
    }
    return PES_OK;
}

static enum pes_status run(const struct pes_measurement *m)
{
    struct pes_head_source source = pes_head_source(m);
    return pes_spectrum_run_composition(m, &source);
}

const struct pes_measure pes_measure_composition = {
    .name = "composition",
    .summary = "layers' summed forms, value-output spectra, copying of tokens, K-composition of heads",
    .source = "Elhage et al. 2021, A mathematical framework for transformer circuits; Saponati et al. 2025, "
              "arXiv 2502.10927 (layers)",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
