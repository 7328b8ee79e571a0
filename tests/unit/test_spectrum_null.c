/* Null distributions against their published values and against draws of whole frames in the whole space. */
#include "spectrum_support.h"

static struct pes_rng stream_of(uint64_t seed)
{
    return (struct pes_rng){seed, PES_RNG_NULL_MODEL, 0};
}

/* frame[n, C]: n orthonormal rows, Haar-distributed in R^C, or in the part of it without the mean. */
static void draw_frame(struct pes_arena *arena, struct pes_stream *stream, size_t n, size_t C, bool centred,
                       double *frame)
{
    double *normal = take(arena, n * C), *l = take(arena, n * n);
    for (size_t i = 0; i < n; i++) {
        double mean = 0;
        for (size_t c = 0; c < C; c++)
            mean += (normal[i * C + c] = pes_stream_normal(stream)) / (double)C;
        for (size_t c = 0; centred && c < C; c++)
            normal[i * C + c] -= mean;
    }
    assert_true(pes_lq(n, C, normal, l, frame, arena));
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; l[i * n + i] < 0 && c < C; c++)
            frame[i * C + c] = -frame[i * C + c];
}

/* Means and standard deviations of `draws` of left^T right, made by `make`, through the measures of heads. */
struct sample {
    double mean[PES_NUM_RATIOS], deviation[PES_NUM_RATIOS];
};
static struct sample sample_forms(struct pes_arena *arena, size_t n, size_t C, int draws, bool centred,
                                  const double *sigma)
{
    struct sample out = {{0}, {0}};
    struct pes_stream stream = {{99, PES_RNG_TEST, 1}, 0};
    double *left = take(arena, n * C), *right = take(arena, n * C);
    double(*values)[PES_NUM_RATIOS] = pes_arena_take(arena, (size_t)draws, sizeof *values);
    assert_non_null(values);
    for (int draw = 0; draw < draws; draw++) {
        struct pes_arena_mark mark = pes_arena_mark(arena);
        if (sigma) {
            draw_frame(arena, &stream, n, C, centred, left);
            draw_frame(arena, &stream, n, C, centred, right);
            for (size_t i = 0; i < n * C; i++)
                left[i] *= sigma[i / C];
        } else {
            for (size_t i = 0; i < n * C; i++)
                left[i] = pes_stream_normal(&stream), right[i] = pes_stream_normal(&stream);
        }
        struct pes_form form = {n, C, left, right, C};
        struct pes_content content;
        assert_int_equal(pes_spectrum_form_content(&form, 1, arena, &content), PES_OK);
        for (int r = 0; r < PES_NUM_RATIOS; r++) {
            values[draw][r] = pes_spectrum_ratio(&content, (enum pes_ratio)r);
            out.mean[r] += values[draw][r] / draws;
        }
        pes_arena_rewind(arena, mark);
    }
    for (int r = 0; r < PES_NUM_RATIOS; r++) {
        for (int draw = 0; draw < draws; draw++)
            out.deviation[r] += pow(values[draw][r] - out.mean[r], 2) / (draws - 1);
        out.deviation[r] = sqrt(out.deviation[r]);
    }
    return out;
}

/* Both are means of `draws` independent draws of one distribution. */
static void assert_same_distribution(const struct pes_null *null, const struct sample *right, int draws)
{
    for (int r = 0; r < PES_NUM_RATIOS; r++) {
        double error = right->deviation[r] * sqrt(2.0 / draws);
        assert_near(null->mean[r], right->mean[r], 4.5 * error + 1e-12);
        if (right->deviation[r] > 1e-9) assert_near(null->deviation[r] / right->deviation[r], 1, 0.12);
    }
}

enum { DRAWS = 2500 };

static void matched_draws_have_the_distribution_of_whole_frames(void **state)
{
    struct pes_arena *arena = *state;
    /* n much below, below and above half of the space; all of it. */
    const size_t shapes[][2] = {{3, 20}, {4, 7}, {3, 4}, {4, 4}, {1, 6}};
    const double sigma[] = {3, 2, 0.7, 0.1};
    for (size_t s = 0; s < PES_COUNT(shapes); s++) {
        size_t n = shapes[s][0], C = shapes[s][1];
        struct sample right = sample_forms(arena, n, C, DRAWS, false, sigma);
        struct pes_rng rng = stream_of(s);
        struct pes_null null;
        assert_int_equal(pes_spectrum_null_matched(n, sigma, C, DRAWS, &rng, arena, &null), PES_OK);
        assert_same_distribution(&null, &right, DRAWS);
    }
}

static void frames_of_the_centred_space_have_one_dimension_less(void **state)
{
    struct pes_arena *arena = *state;
    const double sigma[] = {1, 0.5};
    struct sample right = sample_forms(arena, 2, 5, DRAWS, true, sigma);
    struct pes_rng rng = stream_of(50);
    struct pes_null null;
    assert_int_equal(pes_spectrum_null_matched(2, sigma, 4, DRAWS, &rng, arena, &null), PES_OK);
    assert_same_distribution(&null, &right, DRAWS);
}

static void more_rows_than_dimensions_leave_as_many_frames_as_there_are(void **state)
{
    struct pes_arena *arena = *state;
    const double sigma[] = {2, 1, 0.5, 0, 0};
    struct sample right = sample_forms(arena, 3, 3, DRAWS, false, sigma);
    struct pes_rng rng = stream_of(60);
    struct pes_null null;
    assert_int_equal(pes_spectrum_null_matched(5, sigma, 3, DRAWS, &rng, arena, &null), PES_OK);
    assert_same_distribution(&null, &right, DRAWS);
}

static void gaussian_draws_have_the_distribution_of_normal_weights(void **state)
{
    struct pes_arena *arena = *state;
    const size_t shapes[][2] = {{3, 20}, {4, 6}, {3, 3}, {5, 3}};
    for (size_t s = 0; s < PES_COUNT(shapes); s++) {
        struct sample right = sample_forms(arena, shapes[s][0], shapes[s][1], DRAWS, false, NULL);
        struct pes_rng rng = stream_of(70 + s);
        struct pes_null null;
        assert_int_equal(pes_spectrum_null_gaussian(shapes[s][0], shapes[s][1], DRAWS, &rng, arena, &null),
                         PES_OK);
        assert_same_distribution(&null, &right, DRAWS);
    }
}

/* E ||A||^2 / ||M||^2 = 1/2 up to 1/C for any singular values. */
static void the_directional_null_is_one_over_root_two_for_every_spectrum(void **state)
{
    struct pes_arena *arena = *state;
    double sigma[16];
    for (int shape = 0; shape < 3; shape++) {
        for (int i = 0; i < 16; i++)
            sigma[i] = shape == 0 ? 1 : shape == 1 ? pow(0.6, i) : i ? 0.01 : 1;
        struct pes_rng rng = stream_of(80 + (uint64_t)shape);
        struct pes_null null;
        assert_int_equal(pes_spectrum_null_matched(16, sigma, 768, 100, &rng, arena, &null), PES_OK);
        assert_near(null.mean[PES_RATIO_directional_fraction], sqrt(0.5), 1e-3);
        assert_near(null.mean[PES_RATIO_symmetry_score], 0, 3e-3);
    }
}

/* Published for GPT-2's heads (d 768, d_h 64) and recomputed there with normal weights: 0.612. */
static void the_rotational_null_of_normal_weights_is_the_published_one(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_rng rng = stream_of(90);
    struct pes_null null;
    assert_int_equal(pes_spectrum_null_gaussian(64, 768, 300, &rng, arena, &null), PES_OK);
    assert_near(null.mean[PES_RATIO_rotational_fraction], 0.612, 0.002);
    assert_near(null.mean[PES_RATIO_directional_fraction], 0.7067, 5e-4);
    double flat[64];
    for (int i = 0; i < 64; i++)
        flat[i] = 7;
    assert_int_equal(pes_spectrum_null_matched(64, flat, 767, 300, &rng, arena, &null), PES_OK);
    assert_near(null.mean[PES_RATIO_rotational_fraction], 0.612, 0.003);
}

static void draws_depend_on_the_stream_alone(void **state)
{
    struct pes_arena *arena = *state;
    const double sigma[] = {1, 0.4}, scaled[] = {1e200, 0.4e200};
    struct pes_rng rng = stream_of(1), other = stream_of(2);
    struct pes_null a, b, c, d;
    assert_int_equal(pes_spectrum_null_matched(2, sigma, 9, 10, &rng, arena, &a), PES_OK);
    assert_int_equal(pes_spectrum_null_matched(2, sigma, 9, 10, &rng, arena, &b), PES_OK);
    assert_int_equal(pes_spectrum_null_matched(2, scaled, 9, 10, &rng, arena, &c), PES_OK);
    assert_int_equal(pes_spectrum_null_matched(2, sigma, 9, 10, &other, arena, &d), PES_OK);
    assert_memory_equal(&a, &b, sizeof a);
    for (int r = 0; r < PES_NUM_RATIOS; r++)
        assert_near(a.mean[r], c.mean[r], 1e-13);
    assert_true(a.mean[PES_RATIO_symmetry_score] != d.mean[PES_RATIO_symmetry_score]);
}

static void z_counts_deviations_and_needs_a_spread(void **state)
{
    struct pes_arena *arena = *state;
    const double sigma[] = {1, 0.4}, zero[] = {0, 0}, bad[] = {NAN, 1};
    struct pes_rng rng = stream_of(3);
    struct pes_null null;
    const enum pes_ratio ratio = PES_RATIO_directional_fraction;
    assert_int_equal(pes_spectrum_null_matched(2, sigma, 9, 20, &rng, arena, &null), PES_OK);
    double above = null.mean[ratio] + 2.5 * null.deviation[ratio];
    assert_near(pes_spectrum_z(&null, ratio, above), 2.5, 1e-12);
    assert_true(isnan(pes_spectrum_z(&null, ratio, NAN)));
    /* One row: lambda is real, so there is nothing to count with. */
    assert_int_equal(pes_spectrum_null_matched(1, sigma, 9, 20, &rng, arena, &null), PES_OK);
    assert_true(null.deviation[PES_RATIO_rotational_fraction] == 0);
    assert_true(isnan(pes_spectrum_z(&null, PES_RATIO_rotational_fraction, 0)));
    /* Too few draws, no spectrum. */
    assert_int_equal(pes_spectrum_null_matched(2, sigma, 9, 1, &rng, arena, &null), PES_OK);
    assert_true(isnan(null.mean[ratio]));
    assert_int_equal(pes_spectrum_null_matched(2, zero, 9, 20, &rng, arena, &null), PES_OK);
    assert_true(isnan(null.mean[ratio]));
    assert_int_equal(pes_spectrum_null_matched(2, bad, 9, 20, &rng, arena, &null), PES_OK);
    assert_true(isnan(null.deviation[ratio]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matched_draws_have_the_distribution_of_whole_frames),
        cmocka_unit_test(frames_of_the_centred_space_have_one_dimension_less),
        cmocka_unit_test(more_rows_than_dimensions_leave_as_many_frames_as_there_are),
        cmocka_unit_test(gaussian_draws_have_the_distribution_of_normal_weights),
        cmocka_unit_test(the_directional_null_is_one_over_root_two_for_every_spectrum),
        cmocka_unit_test(the_rotational_null_of_normal_weights_is_the_published_one),
        cmocka_unit_test(draws_depend_on_the_stream_alone),
        cmocka_unit_test(z_counts_deviations_and_needs_a_spread),
    };
    return cmocka_run_group_tests_name("null models", tests, set_up_arena, tear_down_arena);
}
