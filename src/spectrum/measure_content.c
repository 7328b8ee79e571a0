/* measure_content.c - the family of measures of M = W_q^T W_k: scalars at checkpoints; at the end spectra and
 * null distributions as well. */
#include <math.h>

#include "measure_head.h"

#define CURVE(name, unit, meaning)                                                                           \
    PES_HEAD_CURVE(#name, PES_F32, unit, meaning), PES_HEAD_CURVE("folded_" #name, PES_F32, unit, meaning),
#define FINAL(group, name, unit, meaning) PES_HEAD_FINAL(group, name, PES_F64, unit, meaning),
#define BOTH(name, unit, meaning)                                                                            \
    FINAL("spectra", #name, unit, meaning) FINAL("spectra_folded", #name, unit, meaning)
#define NULLS(group, name)                                                                                   \
    FINAL(group, #name "_null_mean", "",                                                                     \
          "mean of " #name " over random frames with the same singular values")                              \
    FINAL(group, #name "_null_deviation", "", "standard deviation of " #name " over the same draws")         \
    FINAL(group, #name "_z", "",                                                                             \
          "(" #name " - null mean) / null deviation"){group,                                                 \
                                                      #name "_gaussian_mean",                                \
                                                      PES_F64,                                               \
                                                      0,                                                     \
                                                      {0},                                                   \
                                                      "",                                                    \
                                                      "mean of " #name " for normal W_q, W_k of this size"}, \
        {group,                                                                                              \
         #name "_gaussian_deviation",                                                                        \
         PES_F64,                                                                                            \
         0,                                                                                                  \
         {0},                                                                                                \
         "",                                                                                                 \
         "standard deviation of " #name " over these"},
#define PERCENTILE(name, unit, meaning) BOTH(name##_percentile, "", PES_PERCENTILE(#name))
#define BOTH_NULLS(name, unit, meaning) NULLS("spectra", name) NULLS("spectra_folded", name)
#define MODES(group)                                                                                         \
    {group,                                                                                                  \
     "eigenvalues",                                                                                          \
     PES_F64,                                                                                                \
     4,                                                                                                      \
     {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_MODE, PES_DIM_RE_IM},                                             \
     "",                                                                                                     \
     "non-zero eigenvalues of M: |lambda| down, then Re, then Im"},                                          \
        {group,                                                                                              \
         "singular_values",                                                                                  \
         PES_F64,                                                                                            \
         3,                                                                                                  \
         {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_MODE},                                                        \
         "",                                                                                                 \
         "singular values of M, descending"},                                                                \
        PES_HEAD_FINAL(group, "flags", PES_U8, "", PES_FLAGS_MEANING),

/* clang-format off */
static const struct pes_variable variables[] = {
    PES_CONTENT_SCALARS(CURVE)
    PES_HEAD_CURVE("flags", PES_U8, "", PES_FLAGS_MEANING),
    PES_HEAD_CURVE("folded_flags", PES_U8, "", PES_FLAGS_MEANING),
    MODES("spectra")
    MODES("spectra_folded")
    PES_CONTENT_SCALARS(BOTH)
    PES_CONTENT_RATIOS(PERCENTILE)
    PES_CONTENT_RATIOS(BOTH_NULLS)
    {0}
};
/* clang-format on */

static bool wanted(const struct pes_config *settings)
{
    return pes_config_bool(settings, "measure.spectra");
}

static void put_scalars(const struct pes_head_place *place, const struct pes_content *content)
{
#define X(name, unit, meaning) pes_head_put(place, #name, content->name);
    PES_CONTENT_SCALARS(X)
#undef X
    pes_head_put(place, "flags", content->flags);
}

static void put_spectra(const struct pes_head_place *place, const struct pes_content *content)
{
    size_t n = (size_t)content->n;
    pes_head_put_block(place, "eigenvalues", 2, (const size_t[]){n, 2}, content->eigenvalues);
    pes_head_put_block(place, "singular_values", 1, (const size_t[]){n}, content->singular_values);
}

static void put_null(const struct pes_head_place *place, const struct pes_null *null,
                     const struct pes_content *content)
{
#define X(ratio, unit, meaning)                                                                              \
    pes_head_put(place, #ratio "_null_mean", null->mean[PES_RATIO_##ratio]);                                 \
    pes_head_put(place, #ratio "_null_deviation", null->deviation[PES_RATIO_##ratio]);                       \
    pes_head_put(place, #ratio "_z", pes_spectrum_z(null, PES_RATIO_##ratio, content->ratio));
    PES_CONTENT_RATIOS(X)
#undef X
}

/* Null draws of a head are its own: streams are told apart by layer, head and folding. */
static struct pes_rng null_stream(const struct pes_head_place *place)
{
    uint32_t step = (uint32_t)(place->layer << 17 | place->head << 1 | place->folded);
    return (struct pes_rng){place->m->seed, PES_RNG_NULL_MODEL, step};
}

static int num_nulls(const struct pes_measurement *m)
{
    return m->final ? (int)pes_config_int(m->settings, "measure.nulls") : 0;
}

static enum pes_status measure_head(const struct pes_head_place *place, const struct pes_head *head)
{
    int nulls = num_nulls(place->m);
    struct pes_arena *arena = place->m->arena;
    struct pes_form form;
    struct pes_content content;
    TRY(pes_spectrum_form(head, place->folded, arena, &form));
    TRY(pes_spectrum_form_content(&form, place->m->seed, arena, &content));
    put_scalars(place, &content);
    if (!place->m->final) return PES_OK;
    put_spectra(place, &content);
    if (!nulls) return PES_OK;
    struct pes_rng rng = null_stream(place);
    struct pes_null null;
    TRY(pes_spectrum_null_matched(form.n, content.singular_values, form.dimension, nulls, &rng, arena,
                                  &null));
    put_null(place, &null, &content);
    return PES_OK;
}

/* One null for all heads of a size: of the first head's. */
static enum pes_status measure_gaussian(const struct pes_measurement *m, const struct pes_head_source *source,
                                        bool folded, int nulls)
{
    const char *group = folded ? "spectra_folded" : "spectra";
    struct pes_rng rng = {m->seed, PES_RNG_NULL_MODEL, 0x80000000u | folded};
    struct pes_head head;
    struct pes_form form;
    struct pes_null null;
    TRY(source->get(source->context, 0, 0, m->arena, &head));
    TRY(pes_spectrum_form(&head, folded, m->arena, &form));
    TRY(pes_spectrum_null_gaussian(form.n, form.dimension, nulls, &rng, m->arena, &null));
#define X(ratio, unit, meaning)                                                                              \
    pes_row_put(m->row, group, #ratio "_gaussian_mean", NULL, null.mean[PES_RATIO_##ratio]);                 \
    pes_row_put(m->row, group, #ratio "_gaussian_deviation", NULL, null.deviation[PES_RATIO_##ratio]);
    PES_CONTENT_RATIOS(X)
#undef X
    return PES_OK;
}

enum pes_status pes_spectrum_run_content(const struct pes_measurement *m,
                                         const struct pes_head_source *source)
{
    int nulls = num_nulls(m);
    TRY(pes_head_each(m, source, measure_head));
    struct pes_arena_mark mark = pes_arena_mark(m->arena);
    for (int folded = 0; folded < 2 && nulls; folded++) {
        TRY(pes_head_poll(m));
        TRY(measure_gaussian(m, source, folded, nulls));
        pes_arena_rewind(m->arena, mark);
    }
    return PES_OK;
}

static enum pes_status run(const struct pes_measurement *m)
{
    struct pes_head_source source = pes_head_source(m);
    return pes_spectrum_run_content(m, &source);
}

const struct pes_measure pes_measure_content = {
    .name = "content",
    .summary =
        "spectrum, norms and angles of M = W_q^T W_k of every head, raw and folded, against null models",
    .source = "Henrici 1962 (departure from normality); Li 2026, arXiv 2607.06621 (rotational fraction)",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
