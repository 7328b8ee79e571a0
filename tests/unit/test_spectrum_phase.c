/* Rotary frequencies against complex matrices built from the definition, and against rotated scores. */
#include "spectrum_support.h"

static struct pes_phase phase_of(struct pes_arena *arena, const struct pes_head *head, bool folded)
{
    struct pes_phase phase;
    assert_int_equal(pes_spectrum_phase(head, folded, arena, &phase), PES_OK);
    return phase;
}

/* Re and Im of M_t, entry by entry: (q_a - i q_b)(k_a + i k_b)^T. */
static void dense_frequency(const struct pes_head *head, size_t t, double *re, double *im)
{
    size_t C = (size_t)head->C;
    const double *qa = head->rq + 2 * t * C, *qb = qa + C, *ka = head->rk + 2 * t * C, *kb = ka + C;
    for (size_t i = 0; i < C; i++)
        for (size_t j = 0; j < C; j++) {
            re[i * C + j] = qa[i] * ka[j] + qb[i] * kb[j];
            im[i * C + j] = qa[i] * kb[j] - qb[i] * ka[j];
        }
}

enum { C = 11 };

static void compare_with_complex_matrices(struct pes_arena *arena, int D, size_t pairs)
{
    struct pes_head head = random_head(arena, D, C, 1);
    struct pes_phase phase = phase_of(arena, &head, false);
    double *re = take(arena, C * C), *im = take(arena, C * C), *values = take(arena, 2 * C);
    double imaginary = 0, both = 0, weighted = 0, fast = 0;
    assert_int_equal(phase.flags, 0);
    for (size_t t = 0; t < pairs; t++) {
        dense_frequency(&head, t, re, im);
        double r = pes_norm(C * C, re), i = pes_norm(C * C, im), trace_re = 0, trace_im = 0;
        for (size_t c = 0; c < C; c++)
            trace_re += re[c * C + c], trace_im += im[c * C + c];
        assert_near(phase.frequency_energy[t] / (r * r + i * i), 1, 1e-13);
        assert_near(phase.phase_energy[t], i * i / (r * r + i * i), 1e-13);
        assert_near(phase.phase_angle[t], atan2(trace_im, trace_re), 1e-12);
        assert_true(pes_eigenvalues(C, re, values, arena));
        for (size_t k = 0; k < 4; k++)
            assert_near(phase.real_eigenvalues[4 * t + k], values[k], 1e-11);
        assert_true(pes_eigenvalues(C, im, values, arena));
        for (size_t k = 0; k < 4; k++)
            assert_near(phase.imaginary_eigenvalues[4 * t + k], values[k], 1e-11);
        imaginary += i, both += r + i, weighted += head.frequencies[t] * i;
        if (t < pairs / 2) fast += i; /* of 3: the first */
    }
    assert_near(phase.phase_fraction, imaginary / both, 1e-13);
    assert_near(phase.frequency_centroid, weighted / imaginary, 1e-13);
    assert_near(phase.high_frequency_fraction, fast / imaginary, 1e-13);
}

static void norms_angles_and_eigenvalues_agree_with_the_complex_matrix(void **state)
{
    compare_with_complex_matrices(*state, 8, 4);
    compare_with_complex_matrices(*state, 6, 3);
    compare_with_complex_matrices(*state, 7, 3);
}

/* The score of rotated q and k is sum_t Re cos(w D) + Im sin(w D), and equal contents score highest at the
 * angle. */
static void the_parts_rebuild_the_rotated_score(void **state)
{
    struct pes_arena *arena = *state;
    enum { D = 6 };
    struct pes_head head = random_head(arena, D, C, 2);
    const double *x = take_normal(arena, C, 3), *y = take_normal(arena, C, 4);
    double *re = take(arena, C * C), *im = take(arena, C * C);
    for (int i = 0; i < 9; i += 4)
        for (int j = 0; j < 9; j += 3) {
            double score = 0, sum = 0;
            for (size_t t = 0; t < D / 2; t++) {
                double w = head.frequencies[t];
                const double *rows[2] = {head.rq + 2 * t * C, head.rk + 2 * t * C};
                double qa = pes_dot(C, rows[0], x), qb = pes_dot(C, rows[0] + C, x);
                double ka = pes_dot(C, rows[1], y), kb = pes_dot(C, rows[1] + C, y);
                score += (cos(i * w) * qa - sin(i * w) * qb) * (cos(j * w) * ka - sin(j * w) * kb) +
                         (sin(i * w) * qa + cos(i * w) * qb) * (sin(j * w) * ka + cos(j * w) * kb);
                dense_frequency(&head, t, re, im);
                for (size_t a = 0; a < C; a++)
                    for (size_t b = 0; b < C; b++)
                        sum += x[a] * y[b] *
                               (re[a * C + b] * cos((i - j) * w) + im[a * C + b] * sin((i - j) * w));
            }
            assert_near(sum, score, 1e-12);
        }
    struct pes_phase phase = phase_of(arena, &head, false);
    dense_frequency(&head, 0, re, im);
    double best = -INFINITY, at = 0;
    for (int step = -3141; step <= 3141; step++) {
        double angle = step * 1e-3, total = 0;
        for (size_t c = 0; c < C; c++)
            total += re[c * C + c] * cos(angle) + im[c * C + c] * sin(angle);
        if (total > best) best = total, at = angle;
    }
    assert_near(phase.phase_angle[0], at, 2e-3);
}

static void folding_acts_on_the_rotary_rows_of_the_sides_that_read_the_stream(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head head = random_head(arena, 4, 10, 5), folded = head;
    struct pes_form form;
    head.key_folds = false;
    assert_int_equal(pes_spectrum_form(&head, true, arena, &form), PES_OK);
    folded.rq = form.left;
    folded.rk = form.right;
    struct pes_phase a = phase_of(arena, &head, true), b = phase_of(arena, &folded, false);
    assert_near(a.phase_fraction, b.phase_fraction, 1e-14);
    assert_near(a.frequency_energy[1] / b.frequency_energy[1], 1, 1e-14);
}

/* k_b = -q_a c, k_a = q_b c etc. make the real part vanish; k = q with parallel rows the imaginary one. */
static void pure_phases_are_zero_or_one(void **state)
{
    struct pes_arena *arena = *state;
    const double w[2] = {1, 0.01};
    double parallel[4 * 3] = {1, 2, 3, 2, 4, 6, 0, 1, 0, 0, 3, 0};
    struct pes_head head = head_of(4, 3, parallel, parallel);
    head.frequencies = w;
    struct pes_phase phase = phase_of(arena, &head, false);
    assert_near(phase.phase_fraction, 0, 1e-15);
    assert_true(isnan(phase.frequency_centroid) && isnan(phase.high_frequency_fraction));
    assert_int_equal(phase.flags, PES_FLAG_NO_PHASE);
    /* q_a = k_b, q_b = 0, k_a = 0. */
    double q[4 * 3] = {1, 2, 3, 0, 0, 0, 5, 0, 1, 0, 0, 0}, k[4 * 3] = {0, 0, 0, 1, 2, 3, 0, 0, 0, 5, 0, 1};
    head = head_of(4, 3, q, k);
    head.frequencies = w;
    phase = phase_of(arena, &head, false);
    assert_near(phase.phase_fraction, 1, 1e-15);
    assert_near(phase.phase_energy[0], 1, 1e-15);
    assert_near(phase.phase_angle[0], acos(-1) / 2, 1e-15);
    assert_near(phase.frequency_centroid, (14 + 0.01 * 26) / 40, 1e-14);
    assert_near(phase.high_frequency_fraction, 14.0 / 40, 1e-14);
    assert_int_equal(phase.flags, 0);
}

/* ||Im|| = 1e-12 ||Re||: Gram matrices would say 1e-8 or 0. */
static void a_faint_phase_keeps_its_digits(void **state)
{
    struct pes_arena *arena = *state;
    const double w[1] = {1};
    double q[2 * 3] = {1, 0, 0, 1, 1e-12, 0};
    struct pes_head head = head_of(2, 3, q, q);
    head.frequencies = w;
    struct pes_phase phase = phase_of(arena, &head, false);
    /* Im = q_a q_b^T - q_b q_a^T has entries +-1e-12; Re = 2 to rounding. */
    assert_near(phase.phase_fraction * (2 + sqrt(2) * 1e-12) / (sqrt(2) * 1e-12), 1, 1e-3);
}

static void silent_frequencies_are_flagged_and_left_out(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head head = random_head(arena, 6, 9, 6);
    double *q = take(arena, 54);
    memcpy(q, head.wq, 54 * sizeof *q);
    memset(q + 18, 0, 18 * sizeof *q);
    head.rq = q;
    struct pes_phase phase = phase_of(arena, &head, false);
    assert_int_equal(phase.flags, PES_FLAG_SILENT_FREQUENCY);
    assert_true(phase.frequency_energy[1] == 0 && isnan(phase.phase_energy[1]) &&
                isnan(phase.phase_angle[1]));
    assert_true(isfinite(phase.phase_fraction) && isfinite(phase.phase_energy[0]));
    memset(q, 0, 54 * sizeof *q);
    phase = phase_of(arena, &head, false);
    assert_int_equal(phase.flags, PES_FLAG_SILENT_FREQUENCY | PES_FLAG_NO_PHASE);
    assert_true(isnan(phase.phase_fraction));
}

static void magnitude_does_not_change_phases(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head head = random_head(arena, 6, 9, 7);
    struct pes_phase right = phase_of(arena, &head, false);
    const double scales[] = {1e150, 1e-150};
    for (size_t s = 0; s < 2; s++) {
        double *q = take(arena, 54), *k = take(arena, 54);
        for (size_t i = 0; i < 54; i++)
            q[i] = head.wq[i] * scales[s], k[i] = head.wk[i] * scales[s];
        struct pes_head scaled = head_of(6, 9, q, k);
        scaled.frequencies = head.frequencies;
        struct pes_phase phase = phase_of(arena, &scaled, false);
        assert_near(phase.phase_fraction, right.phase_fraction, 1e-13);
        assert_near(phase.frequency_centroid, right.frequency_centroid, 1e-13);
        assert_near(phase.phase_energy[2], right.phase_energy[2], 1e-13);
        assert_near(phase.real_eigenvalues[0] / scales[s] / scales[s] / right.real_eigenvalues[0], 1, 1e-12);
    }
}

static void non_finite_rows_and_heads_without_pairs_give_no_numbers(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head head = random_head(arena, 4, 5, 8);
    double *q = take(arena, 20);
    memcpy(q, head.wq, 20 * sizeof *q);
    q[3] = INFINITY;
    head.rq = q;
    struct pes_phase phase = phase_of(arena, &head, false);
    assert_int_equal(phase.flags, PES_FLAG_NON_FINITE);
    assert_true(isnan(phase.phase_fraction) && isnan(phase.frequency_energy[1]) &&
                isnan(phase.real_eigenvalues[3]));
    head = random_head(arena, 1, 5, 9);
    phase = phase_of(arena, &head, true);
    assert_int_equal(phase.pairs, 0);
    assert_true(isnan(phase.phase_fraction));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_angles_and_eigenvalues_agree_with_the_complex_matrix),
        cmocka_unit_test(the_parts_rebuild_the_rotated_score),
        cmocka_unit_test(folding_acts_on_the_rotary_rows_of_the_sides_that_read_the_stream),
        cmocka_unit_test(pure_phases_are_zero_or_one),
        cmocka_unit_test(a_faint_phase_keeps_its_digits),
        cmocka_unit_test(silent_frequencies_are_flagged_and_left_out),
        cmocka_unit_test(magnitude_does_not_change_phases),
        cmocka_unit_test(non_finite_rows_and_heads_without_pairs_give_no_numbers),
    };
    return cmocka_run_group_tests_name("phase", tests, set_up_arena, tear_down_arena);
}
