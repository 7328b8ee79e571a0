/* Measures of M against the C x C matrix itself, against values known by hand, and where they don't exist. */
#include "spectrum_support.h"

#include "../../src/spectrum/core.h"

/* Folding by its definition: W diag(g) (I - 1 1^T / C). */
static struct pes_form folded_by_hand(struct pes_arena *arena, const struct pes_head *head)
{
    size_t D = (size_t)head->D, C = (size_t)head->C;
    double *rows[2];
    const double *raw[2] = {head->wq, head->wk};
    for (int side = 0; side < 2; side++) {
        rows[side] = take(arena, D * C);
        for (size_t i = 0; i < D; i++)
            for (size_t c = 0; c < C; c++)
                for (size_t e = 0; e < C; e++)
                    rows[side][i * C + c] +=
                        raw[side][i * C + e] * head->gain[e] * ((c == e) - 1.0 / (double)C);
    }
    return (struct pes_form){D, C, rows[0], rows[1], C};
}

/* What the definitions give for the dense matrix m[C, C], whose rank is at most n. */
static void compare_with_dense(struct pes_arena *arena, const struct pes_content *content, size_t C,
                               const double *m)
{
    size_t n = (size_t)content->n, rank = PES_MIN(n, C);
    double *values = take(arena, 2 * C), *sigma = take(arena, C), *s = take(arena, C * C),
           *real_values = take(arena, C);
    double norm2 = 0, antisymmetric2 = 0, off_norm;
    for (size_t i = 0; i < C; i++)
        for (size_t j = 0; j < C; j++) {
            norm2 += m[i * C + j] * m[i * C + j];
            antisymmetric2 += pow((m[i * C + j] - m[j * C + i]) / 2, 2);
            s[i * C + j] = (m[i * C + j] + m[j * C + i]) / 2;
        }
    double norm = sqrt(norm2), sum = 0, imaginary = 0, re = 0, squares = 0, imaginary2 = 0;
    assert_true(pes_schur(C, m, values, &off_norm, NULL, arena));
    for (size_t i = 0; i < rank; i++) {
        double size = hypot(values[2 * i], values[2 * i + 1]);
        sum += size, squares += size * size, re += values[2 * i];
        imaginary += fabs(values[2 * i + 1]), imaginary2 += pow(values[2 * i + 1], 2);
        assert_near(content->eigenvalues[2 * i] / norm, values[2 * i] / norm, 1e-10);
        assert_near(content->eigenvalues[2 * i + 1] / norm, values[2 * i + 1] / norm, 1e-10);
    }
    assert_near(content->fro2 / norm2, 1, 1e-12);
    assert_near(content->symmetry_score, 1 - 2 * antisymmetric2 / norm2, 1e-12);
    assert_near(content->directional_fraction, sqrt(antisymmetric2) / norm, 1e-12);
    assert_near(content->departure_from_normality, off_norm / norm, 1e-12);
    assert_near(content->departure_from_normality, sqrt(norm2 - squares) / norm, 1e-10);
    assert_near(content->rotational_fraction, imaginary / sum, 1e-10);
    assert_near(content->rotational_energy, imaginary2 / squares, 1e-10);
    assert_near(content->positive_fraction, re / sum, 1e-10);
    assert_near(content->imaginary_mass, imaginary / norm, 1e-10);
    assert_near(content->spectral_radius / norm, hypot(values[0], values[1]) / norm, 1e-11);
    assert_true(pes_singular_values(C, C, m, sigma, NULL, NULL, arena));
    double total = 0, entropy = 0, positive = 0, all = 0;
    for (size_t i = 0; i < n; i++)
        assert_near(content->singular_values[i] / norm, i < C ? sigma[i] / norm : 0, 1e-13);
    for (size_t i = 0; i < rank; i++)
        total += sigma[i];
    for (size_t i = 0; i < rank; i++)
        entropy -= sigma[i] / total * log(sigma[i] / total);
    assert_near(content->effective_rank, exp(entropy), 1e-9);
    assert_true(pes_symmetric_eigenvalues(C, s, real_values, arena));
    for (size_t i = 0; i < C; i++) {
        positive += fmax(real_values[i], 0);
        all += fabs(real_values[i]);
    }
    assert_near(content->content_positive_fraction, positive / all, 1e-11);
}

static void random_heads_of_every_shape_agree_with_the_dense_matrix(void **state)
{
    struct pes_arena *arena = *state;
    /* usual; C < 2D; one head; D > C; one row; one column */
    const int shapes[][2] = {{4, 16}, {16, 64}, {8, 12}, {16, 16}, {20, 12}, {1, 5}, {5, 2}, {7, 30}};
    for (size_t s = 0; s < PES_COUNT(shapes); s++) {
        struct pes_head head = random_head(arena, shapes[s][0], shapes[s][1], 100 * s);
        struct pes_form raw = {(size_t)head.D, (size_t)head.C, head.wq, head.wk, 0};
        struct pes_content content = content_of(arena, &head, false);
        assert_int_equal(content.flags, 0);
        compare_with_dense(arena, &content, raw.C, dense_form(arena, &raw));
        struct pes_form folded = folded_by_hand(arena, &head);
        content = content_of(arena, &head, true);
        assert_int_equal(content.flags, 0);
        compare_with_dense(arena, &content, folded.C, dense_form(arena, &folded));
    }
}

static void only_sides_that_read_the_normalised_stream_are_folded(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head head = random_head(arena, 3, 8, 7);
    struct pes_form both = folded_by_hand(arena, &head), form;
    head.key_folds = false;
    assert_int_equal(pes_spectrum_form(&head, true, arena, &form), PES_OK);
    assert_ptr_equal(form.right, head.wk);
    assert_int_equal(form.dimension, 8);
    for (size_t i = 0; i < 24; i++)
        assert_near(form.left[i], both.left[i], 1e-14);
    /* RMSNorm multiplies only. */
    head.key_folds = true;
    head.centred = false;
    assert_int_equal(pes_spectrum_form(&head, true, arena, &form), PES_OK);
    assert_int_equal(form.dimension, 8);
    for (size_t i = 0; i < 24; i++)
        assert_near(form.right[i], head.wk[i] * head.gain[i % 8], 0);
}

static void a_quarter_turn_has_plus_i_and_minus_i(void **state)
{
    const double identity[4] = {1, 0, 0, 1}, turn[4] = {0, -1, 1, 0};
    struct pes_head head = head_of(2, 2, identity, turn);
    struct pes_content c = content_of(*state, &head, false);
    const double right[4] = {0, 1, 0, -1};
    for (size_t i = 0; i < 4; i++)
        assert_near(c.eigenvalues[i], right[i], 1e-15);
    assert_near(c.rotational_fraction, 1, 1e-15);
    assert_near(c.directional_fraction, 1, 1e-15);
    assert_near(c.symmetry_score, -1, 1e-15);
    assert_near(c.imaginary_mass, sqrt(2), 1e-15);
    assert_true(isnan(c.content_positive_fraction));
    assert_int_equal(c.flags, PES_FLAG_NO_SYMMETRIC_PART);
}

static void equal_projections_give_real_non_negative_eigenvalues(void **state)
{
    const double w[4] = {1, 2, 0, 1};
    struct pes_head head = head_of(2, 2, w, w);
    struct pes_content c = content_of(*state, &head, false);
    assert_near(c.eigenvalues[0], 3 + 2 * sqrt(2), 1e-14);
    assert_near(c.eigenvalues[2], 3 - 2 * sqrt(2), 1e-14);
    assert_true(c.eigenvalues[1] == 0 && c.eigenvalues[3] == 0);
    assert_true(c.rotational_fraction == 0);
    assert_near(c.positive_fraction, 1, 1e-15);
    assert_near(c.content_positive_fraction, 1, 1e-14);
    assert_near(c.symmetry_score, 1, 1e-14);
    assert_near(c.principal_angle_max, 0, 1e-12);
    assert_int_equal(c.flags, 0);
}

/* W_q = I, W_k = the cyclic shift of 4: 1, i, -i, -1; |Im| sums to 2 of 4; P^2 has no trace. */
static void a_cyclic_shift_has_the_roots_of_unity_in_the_stated_order(void **state)
{
    double identity[16] = {0}, shift[16] = {0};
    for (size_t i = 0; i < 4; i++) {
        identity[5 * i] = 1;
        shift[4 * i + (i + 1) % 4] = 1;
    }
    struct pes_head head = head_of(4, 4, identity, shift);
    struct pes_content c = content_of(*state, &head, false);
    const double right[8] = {1, 0, 0, 1, 0, -1, -1, 0};
    for (size_t i = 0; i < 8; i++)
        assert_near(c.eigenvalues[i], right[i], 1e-14);
    assert_near(c.rotational_fraction, 0.5, 1e-14);
    assert_near(c.positive_fraction, 0, 1e-14);
    assert_near(c.symmetry_score, 0, 1e-14);
    assert_near(c.directional_fraction, sqrt(0.5), 1e-14);
    assert_near(c.departure_from_normality, 0, 1e-14);
    assert_near(c.effective_rank, 4, 1e-13);
    assert_near(c.fro2, 4, 1e-14);
    assert_near(c.eigenvector_condition, 1, 1e-12);
}

static void antisymmetric_forms_have_imaginary_pairs_and_no_real_part(void **state)
{
    struct pes_arena *arena = *state;
    for (int D = 2; D <= 8; D += 2) {
        struct pes_head head = random_head(arena, D, 32, 11);
        size_t C = 32;
        double *wk = take(arena, (size_t)D * C);
        for (size_t t = 0; t < (size_t)D; t += 2)
            for (size_t c = 0; c < C; c++) {
                wk[t * C + c] = 1.5 * head.wq[(t + 1) * C + c];
                wk[(t + 1) * C + c] = -1.5 * head.wq[t * C + c];
            }
        head.wk = wk;
        struct pes_content c = content_of(arena, &head, false);
        for (size_t i = 0; i < (size_t)D; i++)
            assert_true(c.eigenvalues[2 * i] == 0 && (i % 2 ? -1 : 1) * c.eigenvalues[2 * i + 1] > 0);
        assert_true(c.positive_fraction == 0 && c.rotational_fraction == 1);
        assert_near(c.symmetry_score, -1, 1e-13);
        assert_true(c.departure_from_normality < 1e-14);
        assert_int_equal(c.flags, PES_FLAG_NO_SYMMETRIC_PART);
    }
}

static void tied_and_orthonormal_rows_have_flat_spectra(void **state)
{
    struct pes_arena *arena = *state;
    double w[3 * 9] = {0};
    w[0 * 9 + 2] = w[1 * 9 + 5] = w[2 * 9 + 8] = 1;
    struct pes_head head = head_of(3, 9, w, w);
    struct pes_content c = content_of(arena, &head, false);
    for (size_t i = 0; i < 3; i++) {
        assert_near(c.eigenvalues[2 * i], 1, 1e-15);
        assert_near(c.singular_values[i], 1, 1e-15);
    }
    assert_near(c.effective_rank, 3, 1e-14);
    assert_int_equal(c.flags, 0);
}

/* M = w^T w with orthonormal w, written as (A^-T w)^T (A w): eigenvalues 1, which rounding would make pairs
 * of. */
static void ties_of_a_symmetric_form_stay_real(void **state)
{
    struct pes_arena *arena = *state;
    enum { D = 16, C = 40 };
    double *l = take(arena, D * D), *w = take(arena, D * C), *q = take(arena, D * C), *k = take(arena, D * C);
    assert_true(pes_lq(D, C, take_normal(arena, D * C, 15), l, w, arena));
    for (size_t i = 0; i < D; i += 2)
        for (size_t c = 0; c < C; c++) {
            double x = w[i * C + c], y = w[(i + 1) * C + c];
            q[i * C + c] = x;
            q[(i + 1) * C + c] = y - 0.7 * x;
            k[i * C + c] = x + 0.7 * y;
            k[(i + 1) * C + c] = y;
        }
    struct pes_head head = head_of(D, C, q, k);
    struct pes_content c = content_of(arena, &head, false);
    for (size_t i = 0; i < D; i++) {
        assert_near(c.eigenvalues[2 * i], 1, 1e-14);
        assert_true(c.eigenvalues[2 * i + 1] == 0);
    }
    assert_true(c.rotational_fraction == 0);
    assert_true(c.departure_from_normality == 0);
}

/* M = one Jordan block: its eigenvalues are noise of size eps^(1/n). */
static void defective_forms_are_flagged_and_keep_what_is_certain(void **state)
{
    struct pes_arena *arena = *state;
    enum { N = 8 };
    for (int value = 0; value < 2; value++) {
        double identity[N * N] = {0}, jordan[N * N] = {0};
        for (size_t i = 0; i < N; i++) {
            identity[i * N + i] = 1;
            jordan[i * N + i] = value;
            if (i + 1 < N) jordan[i * N + i + 1] = 1;
        }
        struct pes_head head = head_of(N, N, identity, jordan);
        struct pes_content c = content_of(arena, &head, false);
        assert_int_equal(c.flags, PES_FLAG_ILL_CONDITIONED);
        assert_true(isnan(c.rotational_fraction) && isnan(c.rotational_energy));
        assert_true(isnan(c.positive_fraction) && isnan(c.imaginary_mass));
        double norm2 = N - 1 + value * N;
        assert_near(c.departure_from_normality, sqrt((N - 1) / norm2), 1e-14);
        assert_near(c.fro2, norm2, 1e-13);
        assert_true(c.eigenvector_condition > 1e6);
        assert_near(c.symmetry_score, (value * N) / norm2, 1e-14);
    }
}

/* Nilpotent of rank one: x^T u v^T y with u at right angles to v. */
static void orthogonal_row_spaces_have_no_spectrum_but_all_norms(void **state)
{
    const double q[4] = {3, 0, 0, 0}, k[4] = {0, 0, 2, 0};
    struct pes_head head = head_of(1, 4, q, k);
    struct pes_content c = content_of(*state, &head, false);
    assert_int_equal(c.flags, PES_FLAG_ILL_CONDITIONED);
    assert_true(isnan(c.positive_fraction) && isnan(c.rotational_fraction));
    assert_near(c.fro2, 36, 1e-13);
    assert_near(c.singular_values[0], 6, 1e-14);
    assert_near(c.departure_from_normality, 1, 1e-15);
    assert_near(c.directional_fraction, sqrt(0.5), 1e-15);
    assert_near(c.content_positive_fraction, 0.5, 1e-14);
    assert_near(c.principal_angle_mean, 90, 1e-12);
}

static void dependent_rows_leave_the_rest_of_the_spectrum_alone(void **state)
{
    struct pes_arena *arena = *state;
    enum { D = 6, C = 20 };
    struct pes_head head = random_head(arena, D, C, 21);
    double *wq = take(arena, D * C), *wk = take(arena, D * C);
    memcpy(wq, head.wq, D * C * sizeof *wq);
    memcpy(wk, head.wk, D * C * sizeof *wk);
    for (size_t c = 0; c < C; c++) {
        wq[2 * C + c] = 0;
        wq[3 * C + c] = wq[c] - 2 * wq[C + c];
        wk[5 * C + c] = wk[4 * C + c];
    }
    head.wq = wq;
    head.wk = wk;
    struct pes_content c = content_of(arena, &head, false);
    struct pes_form form = {D, C, wq, wk, C};
    double *m = dense_form(arena, &form), sigma[C];
    assert_true(pes_singular_values(C, C, m, sigma, NULL, NULL, arena));
    for (size_t i = 0; i < D; i++)
        assert_near(c.singular_values[i], sigma[i], 1e-12);
    assert_true(c.singular_values[4] < 1e-13 * c.singular_values[0]);
    assert_true(isfinite(c.rotational_fraction));
    assert_true(c.principal_angle_max > 0 && c.principal_angle_max <= 90);
}

/* One direction turned by a tiny angle in an otherwise common space. */
static void small_principal_angles_keep_their_digits(void **state)
{
    struct pes_arena *arena = *state;
    for (int e = 1; e <= 13; e += 3) {
        double angle = pow(10, -e), q[3 * 7] = {0}, k[3 * 7] = {0};
        q[0 * 7 + 0] = q[1 * 7 + 1] = q[2 * 7 + 2] = 1;
        /* Rows mixed, so that only the space counts. */
        for (size_t c = 0; c < 2; c++)
            k[0 * 7 + c] = k[1 * 7 + c] = 1;
        k[1 * 7 + 1] = -2;
        k[2 * 7 + 0] = 5;
        k[2 * 7 + 2] = cos(angle);
        k[2 * 7 + 4] = sin(angle);
        struct pes_head head = head_of(3, 7, q, k);
        struct pes_content c = content_of(arena, &head, false);
        double degrees = angle * 180 / acos(-1);
        assert_near(c.principal_angle_max / degrees, 1, 1e-2 * pow(10, e - 13) + 1e-9);
        assert_near(c.principal_angle_mean / degrees, 1.0 / 3, 1e-2 * pow(10, e - 13) + 1e-9);
    }
}

static void angles_of_spaces_of_different_rank_are_those_of_the_smaller(void **state)
{
    struct pes_arena *arena = *state;
    double q[2 * 4] = {1, 0, 0, 0, 2, 0, 0, 0}, k[2 * 4] = {1, 1, 0, 0, 0, 0, 1, 0};
    struct pes_head head = head_of(2, 4, q, k);
    struct pes_content c = content_of(arena, &head, false);
    assert_near(c.principal_angle_mean, 45, 1e-12);
    assert_near(c.principal_angle_max, 45, 1e-12);
}

static void magnitude_does_not_change_ratios(void **state)
{
    struct pes_arena *arena = *state;
    enum { D = 5, C = 12 };
    struct pes_head head = random_head(arena, D, C, 31);
    struct pes_content right = content_of(arena, &head, false);
    const double scales[][2] = {{1e150, 1e150}, {1e-150, 1e-150}, {1e200, 1e-200}, {1e-300, 1e20}};
    for (size_t s = 0; s < PES_COUNT(scales); s++) {
        double *wq = take(arena, D * C), *wk = take(arena, D * C), scale = scales[s][0] * scales[s][1];
        for (size_t i = 0; i < D * C; i++) {
            wq[i] = head.wq[i] * scales[s][0];
            wk[i] = head.wk[i] * scales[s][1];
        }
        struct pes_head scaled = head_of(D, C, wq, wk);
        struct pes_content c = content_of(arena, &scaled, false);
        assert_int_equal(c.flags, 0);
        for (int r = 0; r < PES_NUM_RATIOS; r++)
            assert_near(pes_spectrum_ratio(&c, (enum pes_ratio)r),
                        pes_spectrum_ratio(&right, (enum pes_ratio)r), 1e-12);
        assert_near(c.effective_rank, right.effective_rank, 1e-12);
        assert_near(c.spectral_radius / scale, right.spectral_radius, 1e-11);
        assert_near(c.singular_values[D - 1] / scale, right.singular_values[D - 1], 1e-11);
    }
    /* The square is beyond double where the values themselves aren't. */
    double huge[2] = {1e150, 0}, tiny[2] = {1e-150, 0};
    struct pes_head one = head_of(1, 2, huge, huge), none = head_of(1, 2, tiny, tiny);
    assert_true(isinf(content_of(arena, &one, false).fro2));
    assert_true(content_of(arena, &none, false).fro2 == 0);
    assert_near(content_of(arena, &one, false).spectral_radius / 1e300, 1, 1e-14);
}

/* q_i c, k_i / c is the same M. */
static void rows_of_any_length_give_the_same_form(void **state)
{
    struct pes_arena *arena = *state;
    enum { D = 6, C = 15 };
    struct pes_head head = random_head(arena, D, C, 41);
    struct pes_content right = content_of(arena, &head, false);
    double *wq = take(arena, D * C), *wk = take(arena, D * C);
    for (size_t i = 0; i < D * C; i++) {
        double c = pow(10, 70 * ((double)(i / C) - 2));
        wq[i] = head.wq[i] * c;
        wk[i] = head.wk[i] / c;
    }
    struct pes_head other = head_of(D, C, wq, wk);
    struct pes_content c = content_of(arena, &other, false);
    for (size_t i = 0; i < 2 * D; i++)
        assert_near(c.eigenvalues[i], right.eigenvalues[i], 1e-12 * right.spectral_radius);
    assert_near(c.principal_angle_mean, right.principal_angle_mean, 1e-9);
    assert_int_equal(c.flags, 0);
    double huge[2] = {1e308, 0}, least[2] = {0x1p-1074, 0};
    struct pes_head edge = head_of(1, 2, huge, least);
    assert_near(content_of(arena, &edge, false).eigenvalues[0] / (1e308 * 0x1p-1074), 1, 1e-14);
}

static void non_finite_weights_are_flagged_without_a_number(void **state)
{
    struct pes_arena *arena = *state;
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < PES_COUNT(bad); b++)
        for (int folded = 0; folded < 2; folded++) {
            struct pes_head head = random_head(arena, 4, 9, 51);
            double *wk = take(arena, 36);
            memcpy(wk, head.wk, 36 * sizeof *wk);
            wk[17] = bad[b];
            head.wk = head.rk = wk;
            struct pes_content c = content_of(arena, &head, folded);
            assert_int_equal(c.flags, PES_FLAG_NON_FINITE);
#define X(name, unit, meaning) assert_true(isnan(c.name));
            PES_CONTENT_SCALARS(X)
#undef X
            for (size_t i = 0; i < 4; i++)
                assert_true(isnan(c.eigenvalues[2 * i]) && isnan(c.eigenvalues[2 * i + 1]) &&
                            isnan(c.singular_values[i]));
        }
}

static void a_form_of_zero_is_flagged(void **state)
{
    struct pes_arena *arena = *state;
    const double rows[8] = {1, 2, 3, 4, 1, 2, 3, 4}, zero[8] = {0};
    /* q_1 k_1 + q_2 k_2 cancels exactly. */
    const double opposite[8] = {5, 6, 7, 8, -5, -6, -7, -8};
    const double *keys[] = {zero, opposite};
    for (int which = 0; which < 2; which++) {
        struct pes_head head = head_of(2, 4, rows, keys[which]);
        struct pes_content c = content_of(arena, &head, false);
        assert_int_equal(c.flags, PES_FLAG_ZERO);
        assert_true(c.fro2 == 0 && c.spectral_radius == 0);
        for (int r = 0; r < PES_NUM_RATIOS; r++)
            assert_true(isnan(pes_spectrum_ratio(&c, (enum pes_ratio)r)));
        assert_true(isnan(c.effective_rank));
        for (size_t i = 0; i < 2; i++)
            assert_true(c.eigenvalues[2 * i] == 0 && c.singular_values[i] == 0);
    }
}

static void what_a_library_could_get_wrong_is_noticed(void **state)
{
    (void)state;
    double b[4] = {0}, values[4] = {0, 5, 0, -5}, sigma[2] = {4, 3};
    struct pes_core core = {.n = 2, .p = 2, .r = 2, .b = b, .norm = 5, .size = 10, .trace = 0};
    struct pes_content content = {.n = 2, .eigenvalues = values, .singular_values = sigma};
    assert_true(pes_core_holds(&core, &content));
    core.trace = 1e-7;
    assert_false(pes_core_holds(&core, &content));
    core.trace = 0;
    core.norm = 5.0000001;
    assert_false(pes_core_holds(&core, &content));
    core.norm = 5;
    values[3] = -4.9999;
    assert_false(pes_core_holds(&core, &content));
    values[3] = -5;
    sigma[0] = 3, sigma[1] = 4;
    assert_false(pes_core_holds(&core, &content));
    sigma[0] = 4, sigma[1] = 3;
    const double real_pair[4] = {3, 0, -4, 0};
    memcpy(values, real_pair, sizeof values);
    core.trace = -1;
    assert_false(pes_core_holds(&core, &content));
}

static void results_are_the_same_bits_each_time(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head head = random_head(arena, 16, 64, 61);
    struct pes_content a = content_of(arena, &head, true), b = content_of(arena, &head, true);
    assert_memory_equal(a.eigenvalues, b.eigenvalues, 32 * sizeof(double));
    assert_memory_equal(a.singular_values, b.singular_values, 16 * sizeof(double));
#define X(name, unit, meaning) assert_memory_equal(&a.name, &b.name, sizeof(double));
    PES_CONTENT_SCALARS(X)
#undef X
}

static void every_lack_of_memory_is_an_error_and_no_flag(void **state)
{
    (void)state;
    for (long n = 1;; n++) {
        struct pes_arena *arena = pes_arena_create();
        struct pes_head head = random_head(arena, 48, 200, 71);
        struct pes_content content;
        (void)pes_allocate_fail_after(n);
        enum pes_status status = pes_spectrum_content(&head, true, 1, arena, &content);
        bool failed = pes_allocate_fail_after(0) >= n;
        assert_int_equal(status, failed ? PES_MEMORY : PES_OK);
        if (!failed) assert_int_equal(content.flags, 0);
        pes_arena_destroy(arena);
        if (!failed) break;
        assert_true(n < 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_heads_of_every_shape_agree_with_the_dense_matrix),
        cmocka_unit_test(only_sides_that_read_the_normalised_stream_are_folded),
        cmocka_unit_test(a_quarter_turn_has_plus_i_and_minus_i),
        cmocka_unit_test(equal_projections_give_real_non_negative_eigenvalues),
        cmocka_unit_test(a_cyclic_shift_has_the_roots_of_unity_in_the_stated_order),
        cmocka_unit_test(antisymmetric_forms_have_imaginary_pairs_and_no_real_part),
        cmocka_unit_test(tied_and_orthonormal_rows_have_flat_spectra),
        cmocka_unit_test(ties_of_a_symmetric_form_stay_real),
        cmocka_unit_test(defective_forms_are_flagged_and_keep_what_is_certain),
        cmocka_unit_test(orthogonal_row_spaces_have_no_spectrum_but_all_norms),
        cmocka_unit_test(dependent_rows_leave_the_rest_of_the_spectrum_alone),
        cmocka_unit_test(small_principal_angles_keep_their_digits),
        cmocka_unit_test(angles_of_spaces_of_different_rank_are_those_of_the_smaller),
        cmocka_unit_test(magnitude_does_not_change_ratios),
        cmocka_unit_test(rows_of_any_length_give_the_same_form),
        cmocka_unit_test(non_finite_weights_are_flagged_without_a_number),
        cmocka_unit_test(a_form_of_zero_is_flagged),
        cmocka_unit_test(what_a_library_could_get_wrong_is_noticed),
        cmocka_unit_test(results_are_the_same_bits_each_time),
        cmocka_unit_test(every_lack_of_memory_is_an_error_and_no_flag),
    };
    return cmocka_run_group_tests_name("content", tests, set_up_arena, tear_down_arena);
}
