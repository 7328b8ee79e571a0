/* The rows that the spectral families leave behind: names, places, what is missing, and when they stop. */
#include <stdio.h>

#include "spectrum_support.h"

enum { L = 3, H = 2, D = 4, C = 9, T = 7, LONGEST = 600, CHECKPOINTS = 2 };

static const struct pes_key measure_keys[] = {
    {.path = "measure.spectra", .type = PES_VALUE_BOOL, .fallback = "true", .unit = "", .help = ""},
    {.path = "measure.nulls", .type = PES_VALUE_INT, .max = 1000, .fallback = "8", .unit = "", .help = ""},
    {.path = NULL}};

struct fixture {
    struct pes_arena *arena;
    struct pes_layout *layout;
    struct pes_row row;
    struct pes_config *settings;
    struct pes_measurement m;
    struct pes_head_source source;
    struct pes_head heads[L][H];
};

static struct pes_config *resolved(struct pes_arena *arena, const struct pes_key *first,
                                   const struct pes_key *second)
{
    const struct pes_key_source sources[] = {{first, NULL, NULL}, {second, NULL, NULL}};
    const struct pes_key_table *table = pes_key_table_create(sources, 2, arena);
    assert_non_null(table);
    struct pes_config *config = pes_config_create(table, arena);
    assert_non_null(config);
    assert_int_equal(pes_config_resolve(config, arena), PES_OK);
    return config;
}

static enum pes_status get_head(const void *context, int layer, int head, struct pes_arena *arena,
                                struct pes_head *out)
{
    (void)arena;
    const struct fixture *f = context;
    *out = f->heads[layer][head];
    return PES_OK;
}

static int set_up(void **state)
{
    static const struct pes_measure *const families[] = {&pes_measure_content, &pes_measure_phase,
                                                         &pes_measure_composition, &pes_measure_kernel};
    void *arena;
    if (set_up_arena(&arena)) return -1;
    struct fixture *f = pes_arena_take(arena, 1, sizeof *f);
    if (!f) return -1;
    f->arena = arena;
    const size_t size[PES_NUM_DIMENSIONS] = {[PES_DIM_CHECKPOINT] = CHECKPOINTS,
                                             [PES_DIM_LAYER] = L,
                                             [PES_DIM_HEAD] = H,
                                             [PES_DIM_LAYER_FROM] = L,
                                             [PES_DIM_HEAD_FROM] = H,
                                             [PES_DIM_MODE] = D + 1,
                                             [PES_DIM_RE_IM] = 2,
                                             [PES_DIM_FREQUENCY] = D / 2,
                                             [PES_DIM_EIGENVALUE] = LONGEST,
                                             [PES_DIM_DIAGONAL] = 2 * LONGEST - 1};
    const struct pes_variable *arrays[PES_COUNT(families)];
    for (size_t i = 0; i < PES_COUNT(families); i++)
        arrays[i] = families[i]->variables;
    assert_int_equal(pes_layout_create(size, arrays, PES_COUNT(families), arena, &f->layout), PES_OK);
    f->row = (struct pes_row){f->layout, pes_arena_take(arena, f->layout->row_bytes, 1)};
    assert_non_null(f->row.bytes);
    pes_row_clear(&f->row);
    for (int layer = 0; layer < L; layer++)
        for (int h = 0; h < H; h++)
            f->heads[layer][h] = random_head(arena, D, C, 100 * (uint64_t)(layer * H + h));
    f->settings = resolved(arena, measure_keys, NULL);
    f->m = (struct pes_measurement){.settings = f->settings, .row = &f->row, .arena = arena, .seed = 5};
    f->source = (struct pes_head_source){.L = L, .H = H, .get = get_head, .context = f};
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    pes_arena_destroy(((struct fixture *)*state)->arena);
    return 0;
}

static double get(const struct fixture *f, const char *group, const char *name, size_t a, size_t b, size_t c,
                  size_t d)
{
    const size_t index[] = {a, b, c, d};
    if (!pes_layout_find(f->layout, group, name)) fail_msg("there is no %s/%s", group, name);
    return pes_row_get(&f->row, group, name, index);
}

static void content_goes_to_curves_at_checkpoints_and_to_spectra_at_the_end(void **state)
{
    struct fixture *f = *state;
    struct pes_content raw = content_of(f->arena, &f->heads[2][1], false);
    struct pes_content folded = content_of(f->arena, &f->heads[2][1], true);
    f->m.checkpoint = 1;
    assert_int_equal(pes_spectrum_run_content(&f->m, &f->source), PES_OK);
#define X(name, unit, meaning)                                                                               \
    assert_near(get(f, "curves", #name, 1, 2, 1, 0), raw.name, 1e-6 * fabs(raw.name));                       \
    assert_near(get(f, "curves", "folded_" #name, 1, 2, 1, 0), folded.name, 1e-6 * fabs(folded.name));       \
    assert_true(isnan(get(f, "curves", #name, 0, 2, 1, 0)));                                                 \
    assert_true(isnan(get(f, "spectra", #name, 2, 1, 0, 0)));
    PES_CONTENT_SCALARS(X)
#undef X
    f->m.final = true;
    assert_int_equal(pes_spectrum_run_content(&f->m, &f->source), PES_OK);
#define X(name, unit, meaning)                                                                               \
    assert_near(get(f, "spectra", #name, 2, 1, 0, 0), raw.name, 0);                                          \
    assert_near(get(f, "spectra_folded", #name, 2, 1, 0, 0), folded.name, 0);
    PES_CONTENT_SCALARS(X)
#undef X
    for (size_t i = 0; i < D; i++) {
        assert_near(get(f, "spectra", "eigenvalues", 2, 1, i, 1), raw.eigenvalues[2 * i + 1], 0);
        assert_near(get(f, "spectra_folded", "singular_values", 2, 1, i, 0), folded.singular_values[i], 0);
    }
    /* Padding of a wider layout. */
    assert_true(isnan(get(f, "spectra", "eigenvalues", 2, 1, D, 0)));
    assert_near(get(f, "spectra", "flags", 2, 1, 0, 0), 0, 0);
}

/* Each head's place among the others, tied heads at the upper end of their places. */
static void heads_are_ranked_within_their_model(void **state)
{
    struct fixture *f = *state;
    f->m.final = true;
    f->heads[1][1] = f->heads[2][0];
    assert_int_equal(pes_spectrum_run_content(&f->m, &f->source), PES_OK);
    assert_int_equal(pes_spectrum_run_phase(&f->m, &f->source), PES_OK);
    static const char *const names[] = {"rotational_fraction", "directional_fraction", "phase_fraction"};
    for (size_t k = 0; k < PES_COUNT(names); k++) {
        char percentile[64];
        snprintf(percentile, sizeof percentile, "%s_percentile", names[k]);
        double most = 0;
        for (size_t i = 0; i < L * H; i++) {
            int count = 0;
            for (size_t j = 0; j < L * H; j++)
                if (get(f, "spectra_folded", names[k], j / H, j % H, 0, 0) <=
                    get(f, "spectra_folded", names[k], i / H, i % H, 0, 0))
                    count++;
            double stored = get(f, "spectra_folded", percentile, i / H, i % H, 0, 0);
            assert_near(stored, (double)count / (L * H), 1e-15);
            most = fmax(most, stored);
        }
        assert_near(most, 1, 0);
        assert_near(get(f, "spectra_folded", percentile, 1, 1, 0, 0),
                    get(f, "spectra_folded", percentile, 2, 0, 0, 0), 0);
    }
}

static void nulls_are_stored_with_their_z_and_differ_between_heads(void **state)
{
    struct fixture *f = *state;
    f->m.final = true;
    f->heads[1][1] = f->heads[2][0] = f->heads[1][0];
    assert_int_equal(pes_spectrum_run_content(&f->m, &f->source), PES_OK);
    double mean = get(f, "spectra", "directional_fraction_null_mean", 1, 0, 0, 0);
    double deviation = get(f, "spectra", "directional_fraction_null_deviation", 1, 0, 0, 0);
    double value = get(f, "spectra", "directional_fraction", 1, 0, 0, 0);
    assert_near(mean, sqrt(0.5), 0.15);
    assert_true(deviation > 0);
    assert_near(get(f, "spectra", "directional_fraction_z", 1, 0, 0, 0), (value - mean) / deviation, 1e-12);
    assert_near(value, get(f, "spectra", "directional_fraction", 1, 1, 0, 0), 0);
    assert_true(mean != get(f, "spectra", "directional_fraction_null_mean", 1, 1, 0, 0));
    assert_true(mean != get(f, "spectra", "directional_fraction_null_mean", 2, 0, 0, 0));
    assert_true(mean != get(f, "spectra_folded", "directional_fraction_null_mean", 1, 0, 0, 0));
    assert_near(get(f, "spectra", "rotational_fraction_gaussian_mean", 0, 0, 0, 0), 0.4, 0.3);
    assert_true(get(f, "spectra_folded", "rotational_fraction_gaussian_deviation", 0, 0, 0, 0) > 0);
}

static void no_nulls_are_drawn_where_none_are_wanted(void **state)
{
    struct fixture *f = *state;
    f->m.final = true;
    assert_int_equal(pes_config_set(f->settings, f->arena, "measure.nulls", "0"), PES_OK);
    assert_int_equal(pes_spectrum_run_content(&f->m, &f->source), PES_OK);
    assert_true(isfinite(get(f, "spectra", "directional_fraction", 0, 0, 0, 0)));
    assert_true(isnan(get(f, "spectra", "directional_fraction_null_mean", 0, 0, 0, 0)));
    assert_true(isnan(get(f, "spectra", "rotational_fraction_gaussian_mean", 0, 0, 0, 0)));
}

static void phases_are_stored_by_frequency(void **state)
{
    struct fixture *f = *state;
    struct pes_phase raw, folded;
    assert_int_equal(pes_spectrum_phase(&f->heads[1][0], false, f->arena, &raw), PES_OK);
    assert_int_equal(pes_spectrum_phase(&f->heads[1][0], true, f->arena, &folded), PES_OK);
    assert_int_equal(pes_spectrum_run_phase(&f->m, &f->source), PES_OK);
    assert_near(get(f, "curves", "phase_fraction", 0, 1, 0, 0), raw.phase_fraction, 1e-7);
    assert_near(get(f, "curves", "folded_phase_fraction", 0, 1, 0, 0), folded.phase_fraction, 1e-7);
    for (size_t t = 0; t < D / 2; t++) {
        assert_near(get(f, "curves", "phase_energy", 0, 1, 0, t), raw.phase_energy[t], 1e-6);
        assert_near(get(f, "curves", "folded_phase_angle", 0, 1, 0, t), folded.phase_angle[t], 1e-6);
    }
    f->m.final = true;
    assert_int_equal(pes_spectrum_run_phase(&f->m, &f->source), PES_OK);
    assert_near(get(f, "spectra", "phase_fraction", 1, 0, 0, 0), raw.phase_fraction, 0);
    for (size_t t = 0; t < D / 2; t++) {
        assert_near(get(f, "spectra", "angular_frequency", 1, 0, t, 0), f->heads[1][0].frequencies[t], 0);
        assert_near(get(f, "spectra", "frequency_energy", 1, 0, t, 0), raw.frequency_energy[t], 0);
        assert_near(get(f, "spectra_folded", "phase_energy", 1, 0, t, 0), folded.phase_energy[t], 0);
        assert_near(get(f, "spectra_folded", "phase_angle", 1, 0, t, 0), folded.phase_angle[t], 0);
        assert_near(get(f, "spectra", "real_eigenvalue_2", 1, 0, t, 0), raw.real_eigenvalues[4 * t + 2], 0);
        assert_near(get(f, "spectra", "imaginary_eigenvalue_1", 1, 0, t, 1),
                    raw.imaginary_eigenvalues[4 * t + 1], 0);
    }
}

static void composition_stands_below_the_diagonal_of_layers(void **state)
{
    struct fixture *f = *state;
    double scores[H * H], symmetry, directionality;
    assert_int_equal(pes_spectrum_k_composition(H, f->heads[2], H, f->heads[1], f->arena, scores), PES_OK);
    assert_int_equal(pes_spectrum_layer(H, f->heads[1], true, f->arena, &symmetry, &directionality), PES_OK);
    assert_int_equal(pes_spectrum_run_composition(&f->m, &f->source), PES_OK);
    assert_near(get(f, "curves", "folded_layer_symmetry", 0, 1, 0, 0), symmetry, 1e-7);
    assert_near(get(f, "curves", "folded_layer_directionality", 0, 1, 0, 0), directionality, 1e-7);
    f->m.final = true;
    assert_int_equal(pes_spectrum_run_composition(&f->m, &f->source), PES_OK);
    for (size_t h2 = 0; h2 < H; h2++)
        for (size_t h1 = 0; h1 < H; h1++)
            assert_near(get(f, "spectra_folded", "k_composition", 2, h2, 1, h1), scores[h2 * H + h1], 0);
    assert_true(isnan(get(f, "spectra_folded", "k_composition", 1, 0, 1, 0)));
    assert_true(isnan(get(f, "spectra_folded", "k_composition", 1, 0, 2, 0)));
    assert_near(get(f, "spectra_folded", "layer_symmetry", 1, 0, 0, 0), symmetry, 0);
    struct pes_form form;
    struct pes_content content;
    assert_int_equal(pes_spectrum_value_form(&f->heads[0][1], true, f->arena, &form), PES_OK);
    assert_int_equal(pes_spectrum_form_content(&form, 5, f->arena, &content), PES_OK);
    assert_near(get(f, "spectra_folded", "ov_eigenvalues", 0, 1, 2, 0), content.eigenvalues[4], 0);
    assert_near(get(f, "spectra_folded", "ov_rotational_fraction", 0, 1, 0, 0), content.rotational_fraction,
                0);
    assert_near(get(f, "curves", "folded_ov_rotational_fraction", 0, 0, 1, 0), content.rotational_fraction,
                1e-7);
    /* Outputs that aren't tokens have no token circuit. */
    assert_true(isnan(get(f, "spectra", "copying", 0, 1, 0, 0)));
}

static void copying_is_stored_where_outputs_are_tokens(void **state)
{
    struct fixture *f = *state;
    enum { V = 5 };
    real tokens[V * C];
    for (size_t i = 0; i < V * C; i++)
        tokens[i] = (real)sin((double)i);
    double *token, share;
    assert_int_equal(pes_spectrum_token_product(V, C, tokens, tokens, f->arena, &token), PES_OK);
    assert_int_equal(pes_spectrum_copying(&f->heads[0][1], true, token, false, NULL, f->arena, &share),
                     PES_OK);
    f->source.V = V;
    f->source.C = C;
    f->source.embed = f->source.unembed = tokens;
    f->m.final = true;
    assert_int_equal(pes_spectrum_run_composition(&f->m, &f->source), PES_OK);
    assert_near(get(f, "spectra_folded", "copying", 0, 1, 0, 0), share, 0);
}

static bool interrupt_third(void *context)
{
    int *left = context;
    return --*left == 0;
}

static void every_family_stops_when_told(void **state)
{
    struct fixture *f = *state;
    enum pes_status (*const families[])(const struct pes_measurement *, const struct pes_head_source *) = {
        pes_spectrum_run_content, pes_spectrum_run_phase, pes_spectrum_run_composition};
    f->m.final = true;
    f->m.interrupted = interrupt_third;
    for (size_t i = 0; i < PES_COUNT(families); i++) {
        int left = 3;
        f->m.context = &left;
        assert_int_equal(families[i](&f->m, &f->source), PES_STOPPED);
    }
}

/* Heads wide enough to need more than one block of the arena. */
static void every_lack_of_memory_ends_a_family(void **state)
{
    struct fixture *f = *state;
    enum pes_status (*const families[])(const struct pes_measurement *, const struct pes_head_source *) = {
        pes_spectrum_run_content, pes_spectrum_run_phase, pes_spectrum_run_composition};
    for (int layer = 0; layer < L; layer++)
        for (int h = 0; h < H; h++)
            f->heads[layer][h] = random_head(f->arena, D, 600, 3);
    f->m.final = true;
    for (size_t i = 0; i < PES_COUNT(families); i++)
        for (long n = 1;; n++) {
            struct pes_arena *arena = pes_arena_create();
            assert_non_null(arena);
            f->m.arena = arena;
            (void)pes_allocate_fail_after(n);
            enum pes_status status = families[i](&f->m, &f->source);
            bool failed = pes_allocate_fail_after(0) >= n;
            assert_int_equal(status, failed ? PES_MEMORY : PES_OK);
            pes_arena_destroy(arena);
            if (!failed) break;
            assert_true(n < 1000);
        }
    f->m.arena = f->arena;
}

static void broken_heads_leave_flags_and_no_numbers(void **state)
{
    struct fixture *f = *state;
    double bad[D * C] = {0};
    bad[5] = NAN;
    f->heads[1][1].wk = f->heads[1][1].rk = f->heads[1][1].wv = bad;
    f->m.final = true;
    assert_int_equal(pes_spectrum_run_content(&f->m, &f->source), PES_OK);
    assert_int_equal(pes_spectrum_run_phase(&f->m, &f->source), PES_OK);
    assert_int_equal(pes_spectrum_run_composition(&f->m, &f->source), PES_OK);
    assert_near(get(f, "spectra", "flags", 1, 1, 0, 0), PES_FLAG_NON_FINITE, 0);
    assert_near(get(f, "spectra", "phase_flags", 1, 1, 0, 0), PES_FLAG_NON_FINITE, 0);
    assert_near(get(f, "spectra", "ov_flags", 1, 1, 0, 0), PES_FLAG_NON_FINITE, 0);
    assert_true(isnan(get(f, "spectra", "rotational_fraction", 1, 1, 0, 0)));
    assert_true(isnan(get(f, "spectra", "rotational_fraction_z", 1, 1, 0, 0)));
    assert_true(isnan(get(f, "spectra_folded", "k_composition", 2, 0, 1, 1)));
    assert_true(isfinite(get(f, "spectra_folded", "k_composition", 2, 0, 1, 0)));
    assert_true(isfinite(get(f, "spectra", "rotational_fraction", 1, 0, 0, 0)));
}

/* --- positional kernels
 * ------------------------------------------------------------------------------------------ */

static void measure_kernel(struct fixture *f, const struct pes_position *position, int length, uint64_t heads)
{
    struct pes_model model = {.config = {.shape = {length, C, H, D, L, 0, 11, 11, false},
                                         .position = position,
                                         .pe_heads = heads,
                                         .pe_layers = UINT64_MAX,
                                         .config = resolved(f->arena, measure_keys, position->keys)}};
    const struct pes_position_site site = {model.config.config, model.config.shape, heads, UINT64_MAX};
    model.tensors.arena = f->arena;
    if (position->declare) assert_int_equal(position->declare(&site, &model.tensors), PES_OK);
    real *parameters = pes_arena_take(f->arena, model.tensors.num_parameters, sizeof *parameters);
    for (size_t i = 0; i < model.tensors.num_parameters; i++)
        parameters[i] = (real)cos((double)i);
    f->m.final = true;
    f->m.model = &model;
    f->m.parameters = parameters;
    assert_int_equal(pes_measure_kernel.run(&f->m), PES_OK);
    f->m.model = NULL;
}

static void the_kernel_of_alibi_is_its_slope_times_the_distance(void **state)
{
    struct fixture *f = *state;
    measure_kernel(f, &pes_position_alibi, T, 2);
    /* Two heads: slopes 2^-4, 2^-8; only head 1 is biased. */
    for (size_t d = 0; d < 2 * T - 1; d++) {
        double distance = fabs((double)d - (T - 1));
        assert_near(get(f, "spectra", "kernel_diagonals", 1, 1, d, 0), -distance / 256, 1e-7);
        assert_true(isnan(get(f, "spectra", "kernel_diagonals", 1, 0, d, 0)));
    }
    assert_near(get(f, "spectra", "kernel_toeplitz_fraction", 2, 1, 0, 0), 1, 1e-12);
    assert_true(get(f, "spectra", "kernel_eigenvalue_min", 2, 1, 0, 0) >=
                get(f, "spectra", "kernel_symbol_min", 2, 1, 0, 0));
    assert_true(get(f, "spectra", "kernel_eigenvalue_max", 2, 1, 0, 0) <=
                get(f, "spectra", "kernel_symbol_max", 2, 1, 0, 0));
    assert_true(get(f, "spectra", "kernel_eigenvalue_min", 2, 1, 0, 0) < -0.01);
}

/* Mean of cos(k) and cos(k / 100): positive semi-definite with trace T. */
static void the_kernel_of_rope_is_the_mean_cosine(void **state)
{
    struct fixture *f = *state;
    measure_kernel(f, &pes_position_rope, T, UINT64_MAX);
    for (size_t d = 0; d < 2 * T - 1; d++) {
        double k = (double)d - (T - 1);
        assert_near(get(f, "spectra", "kernel_diagonals", 0, 0, d, 0), (cos(k) + cos(k / 100)) / 2, 1e-6);
    }
    assert_near(get(f, "spectra", "kernel_eigenvalue_min", 0, 0, 0, 0), 0, 1e-6);
    assert_true(get(f, "spectra", "kernel_eigenvalue_max", 0, 0, 0, 0) > T / 2.0);
}

static void learned_tables_have_a_kernel_that_is_not_toeplitz(void **state)
{
    struct fixture *f = *state;
    measure_kernel(f, &pes_position_learned, T, UINT64_MAX);
    /* Of offset T - 1 there is one entry: rows 0 and T - 1. */
    double corner = 0;
    for (size_t c = 0; c < C; c++)
        corner += cos((double)c) * cos((double)((T - 1) * C + c));
    assert_near(get(f, "spectra", "kernel_diagonals", 2, 1, 2 * T - 2, 0), corner, 1e-5);
    double fraction = get(f, "spectra", "kernel_toeplitz_fraction", 2, 1, 0, 0);
    assert_true(fraction > 0 && fraction < 1);
    assert_true(get(f, "spectra", "kernel_eigenvalue_min", 2, 1, 0, 0) > -1e-5);
}

/* One scalar per offset and head, by key - query: head 0 has every H-th. */
static void kernels_that_tell_before_from_after_keep_the_direction(void **state)
{
    struct fixture *f = *state;
    measure_kernel(f, &pes_position_relative, T, UINT64_MAX);
    for (size_t d = 0; d < 2 * T - 1; d++)
        assert_near(get(f, "spectra", "kernel_diagonals", 0, 0, d, 0), cos((double)(H * d)), 1e-7);
}

/* 512 of 600 positions, at their places in the whole. */
static void long_kernels_are_measured_in_part(void **state)
{
    struct fixture *f = *state;
    measure_kernel(f, &pes_position_rope, LONGEST, 1);
    assert_near(get(f, "spectra", "kernel_diagonals", 0, 0, LONGEST - 1, 0), 1, 1e-6);
    assert_near(get(f, "spectra", "kernel_diagonals", 0, 0, LONGEST - 1 + 300, 0), (cos(300) + cos(3)) / 2,
                1e-4);
    assert_true(isnan(get(f, "spectra", "kernel_diagonals", 0, 0, LONGEST - 1 + 512, 0)));
    assert_true(isnan(get(f, "spectra", "kernel_diagonals", 0, 0, LONGEST - 1 - 512, 0)));
    assert_true(isfinite(get(f, "spectra", "kernel_diagonals", 0, 0, LONGEST - 1 - 511, 0)));
}

static void schemes_without_a_kernel_leave_nothing(void **state)
{
    struct fixture *f = *state;
    measure_kernel(f, &pes_position_nope, T, UINT64_MAX);
    assert_true(isnan(get(f, "spectra", "kernel_eigenvalue_max", 0, 0, 0, 0)));
}

static void families_are_wanted_with_spectra_alone(void **state)
{
    struct fixture *f = *state;
    assert_true(pes_measure_content.wanted(f->settings) && pes_measure_phase.wanted(f->settings));
    assert_true(pes_measure_composition.wanted(f->settings) && pes_measure_kernel.wanted(f->settings));
    assert_int_equal(pes_config_set(f->settings, f->arena, "measure.spectra", "false"), PES_OK);
    assert_false(pes_measure_content.wanted(f->settings) || pes_measure_phase.wanted(f->settings));
    assert_false(pes_measure_composition.wanted(f->settings) || pes_measure_kernel.wanted(f->settings));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(content_goes_to_curves_at_checkpoints_and_to_spectra_at_the_end),
        TEST(heads_are_ranked_within_their_model),
        TEST(nulls_are_stored_with_their_z_and_differ_between_heads),
        TEST(no_nulls_are_drawn_where_none_are_wanted),
        TEST(phases_are_stored_by_frequency),
        TEST(composition_stands_below_the_diagonal_of_layers),
        TEST(copying_is_stored_where_outputs_are_tokens),
        TEST(every_family_stops_when_told),
        TEST(every_lack_of_memory_ends_a_family),
        TEST(broken_heads_leave_flags_and_no_numbers),
        TEST(the_kernel_of_alibi_is_its_slope_times_the_distance),
        TEST(the_kernel_of_rope_is_the_mean_cosine),
        TEST(learned_tables_have_a_kernel_that_is_not_toeplitz),
        TEST(kernels_that_tell_before_from_after_keep_the_direction),
        TEST(long_kernels_are_measured_in_part),
        TEST(schemes_without_a_kernel_leave_nothing),
        TEST(families_are_wanted_with_spectra_alone),
    };
    return cmocka_run_group_tests_name("spectral families", tests, NULL, NULL);
}
