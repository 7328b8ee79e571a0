/* Composition of heads, copying, and whole layers against dense matrices and circuits known by hand. */
#include "spectrum_support.h"

enum { C = 12, D = 3, H = 2 };

/* out[m, n] = a[m, k] b[k, n], by the definition. */
static double *product(struct pes_arena *arena, size_t m, size_t n, size_t k, const double *a,
                       const double *b)
{
    double *out = take(arena, m * n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            for (size_t l = 0; l < k; l++)
                out[i * n + j] += a[i * k + l] * b[l * n + j];
    return out;
}

/* O = W_O W_V, folded and centred by the definition. */
static double *dense_output(struct pes_arena *arena, const struct pes_head *head)
{
    double *centre = take(arena, C * C), *gain = take(arena, C * C);
    for (size_t i = 0; i < C; i++)
        for (size_t j = 0; j < C; j++) {
            centre[i * C + j] = (i == j) - 1.0 / C;
            gain[i * C + j] = i == j ? head->gain[i] : 0;
        }
    double *v = product(arena, D, C, C, product(arena, D, C, C, head->wv, gain), centre);
    return product(arena, C, C, D, product(arena, C, D, C, centre, head->wo), v);
}

static void k_composition_is_the_norm_of_the_dense_product(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head later[H], earlier[H];
    double scores[H * H];
    for (int h = 0; h < H; h++) {
        later[h] = random_head(arena, D, C, 10 + 10 * (uint64_t)h);
        earlier[h] = random_head(arena, D, C, 50 + 10 * (uint64_t)h);
    }
    assert_int_equal(pes_spectrum_k_composition(H, later, H, earlier, arena, scores), PES_OK);
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < H; j++) {
            struct pes_form form;
            assert_int_equal(pes_spectrum_form(&later[i], true, arena, &form), PES_OK);
            double *m = dense_form(arena, &form), *o = dense_output(arena, &earlier[j]);
            double *both = product(arena, C, C, C, m, o);
            double right = pes_norm(C * C, both) / pes_norm(C * C, m) / pes_norm(C * C, o);
            assert_near(scores[i * H + j], right, 1e-13);
        }
}

/* O_1 writes exactly what M_2's keys read, or nothing of it. */
static void k_composition_is_one_or_zero_where_it_must_be(void **state)
{
    struct pes_arena *arena = *state;
    double a[4] = {1, 0, 0, 0}, b[4] = {0, 1, 0, 0}, scores[1];
    struct pes_head later = head_of(1, 4, a, b), earlier = head_of(1, 4, b, a);
    later.key_folds = later.query_folds = earlier.key_folds = true;
    earlier.wo = b;
    earlier.wv = a;
    assert_int_equal(pes_spectrum_k_composition(1, &later, 1, &earlier, arena, scores), PES_OK);
    assert_near(scores[0], 1, 1e-15);
    earlier.wo = a;
    assert_int_equal(pes_spectrum_k_composition(1, &later, 1, &earlier, arena, scores), PES_OK);
    assert_near(scores[0], 0, 1e-15);
}

static void k_composition_is_not_defined_for_keys_of_the_embedding_or_zero_forms(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head later = random_head(arena, D, C, 1), earlier = random_head(arena, D, C, 2);
    double *zero = take(arena, D * C), score;
    later.key_folds = false;
    assert_int_equal(pes_spectrum_k_composition(1, &later, 1, &earlier, arena, &score), PES_OK);
    assert_true(isnan(score));
    later.key_folds = true;
    earlier.wv = zero;
    assert_int_equal(pes_spectrum_k_composition(1, &later, 1, &earlier, arena, &score), PES_OK);
    assert_true(isnan(score));
    double *bad = take_normal(arena, D * C, 3);
    bad[5] = NAN;
    earlier = random_head(arena, D, C, 2);
    later.wk = bad;
    assert_int_equal(pes_spectrum_k_composition(1, &later, 1, &earlier, arena, &score), PES_OK);
    assert_true(isnan(score));
}

static void the_value_form_is_the_output_matrix(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head head = random_head(arena, D, C, 4);
    struct pes_form form;
    assert_int_equal(pes_spectrum_value_form(&head, false, arena, &form), PES_OK);
    const double *m = dense_form(arena, &form), *o = product(arena, C, C, D, head.wo, head.wv);
    for (size_t i = 0; i < C * C; i++)
        assert_near(m[i], o[i], 1e-13);
    assert_int_equal(pes_spectrum_value_form(&head, true, arena, &form), PES_OK);
    m = dense_form(arena, &form);
    o = dense_output(arena, &head);
    for (size_t i = 0; i < C * C; i++)
        assert_near(m[i], o[i], 1e-13);
    assert_int_equal(form.dimension, C - 1);
}

/* Eigenvalues with positive real part of the V x V circuit itself, over D.  Folded: the embedding through the
 * norm in front, the output through the last one with `gain`. */
static double dense_copying(struct pes_arena *arena, const struct pes_head *head, bool folded,
                            const real *gain, size_t V, const real *embed, const real *unembed)
{
    double *e = take(arena, C * V), *u = take(arena, V * C), *values = take(arena, 2 * V);
    for (size_t v = 0; v < V; v++)
        for (size_t c = 0; c < C; c++) {
            e[c * V + v] = (double)embed[v * C + c];
            u[v * C + c] = (double)unembed[v * C + c] * (folded ? (double)gain[c] : 1);
        }
    double *o = folded ? dense_output(arena, head) : product(arena, C, C, D, head->wo, head->wv);
    double *circuit = product(arena, V, V, C, product(arena, V, C, C, u, o), e);
    assert_true(pes_eigenvalues(V, circuit, values, arena));
    double positive = 0;
    for (size_t i = 0; i < D; i++)
        positive += values[2 * i] > 0;
    return positive / D;
}

static real *take_tokens(struct pes_arena *arena, size_t V, uint64_t seed)
{
    real *tokens = pes_arena_take(arena, V * C, sizeof *tokens);
    assert_non_null(tokens);
    struct pes_rng rng = {seed, PES_RNG_TEST, 0};
    /* Not centred, so that taking the mean out counts. */
    for (size_t i = 0; i < V * C; i++)
        tokens[i] = (real)(pes_rng_normal(&rng, i) + 1);
    return tokens;
}

static void copying_counts_the_eigenvalues_of_the_token_circuit(void **state)
{
    struct pes_arena *arena = *state;
    const size_t sizes[] = {20, 300}; /* less and more than one block of tokens */
    for (size_t s = 0; s < PES_COUNT(sizes); s++) {
        size_t V = sizes[s];
        const real *embed = take_tokens(arena, V, 5), *unembed = take_tokens(arena, V, 6);
        const real *gain = take_tokens(arena, 1, 7);
        double *token, share;
        assert_int_equal(pes_spectrum_token_product(V, C, embed, unembed, arena, &token), PES_OK);
        for (uint64_t seed = 0; seed < (s ? 1 : 30); seed++) {
            struct pes_head head = random_head(arena, D, C, 60 + 10 * seed);
            for (int folded = 0; folded < 2; folded++) {
                assert_int_equal(pes_spectrum_copying(&head, folded, token, true, gain, arena, &share),
                                 PES_OK);
                assert_near(share, dense_copying(arena, &head, folded, gain, V, embed, unembed), 1e-15);
            }
        }
    }
}

/* W_V with a row that depends on the others: an eigenvalue of 0, whose rounding has either sign, and those of
 * the head without that row, W_O A with W_V = A W_V'. */
static void an_eigenvalue_of_zero_does_not_count_as_copying(void **state)
{
    struct pes_arena *arena = *state;
    const real *embed = take_tokens(arena, 40, 8), *unembed = take_tokens(arena, 40, 9);
    double *token, share, fewer;
    assert_int_equal(pes_spectrum_token_product(40, C, embed, unembed, arena, &token), PES_OK);
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct pes_head head = random_head(arena, D, C, 500 + 10 * seed), less = head;
        double *v = take(arena, D * C), *o = take(arena, C * (D - 1));
        memcpy(v, head.wv, D * C * sizeof *v);
        for (size_t c = 0; c < C; c++) {
            v[2 * C + c] = 0.3 * v[c] - 1.7 * v[C + c];
            o[c * 2] = head.wo[c * D] + 0.3 * head.wo[c * D + 2];
            o[c * 2 + 1] = head.wo[c * D + 1] - 1.7 * head.wo[c * D + 2];
        }
        head.wv = less.wv = v;
        less.wo = o;
        less.D = less.Dv = D - 1;
        assert_int_equal(pes_spectrum_copying(&head, false, token, false, NULL, arena, &share), PES_OK);
        assert_int_equal(pes_spectrum_copying(&less, false, token, false, NULL, arena, &fewer), PES_OK);
        assert_near(share * 3, fewer * 2, 1e-14);
    }
}

/* One-hot tokens, W_U = W_E: a head that adds back what it reads copies, one that takes it away doesn't. */
static void heads_that_write_what_they_read_copy(void **state)
{
    struct pes_arena *arena = *state;
    real one_hot[C * C] = {0};
    double *token, share, v[D * C] = {0}, o[C * D] = {0}, minus[C * D], ones[C];
    for (size_t i = 0; i < C; i++) {
        one_hot[i * C + i] = 1;
        ones[i] = 1;
    }
    for (size_t i = 0; i < D; i++) {
        v[i * C + 2 * i] = 1;
        o[2 * i * D + i] = 1;
    }
    for (size_t i = 0; i < C * D; i++)
        minus[i] = -o[i];
    assert_int_equal(pes_spectrum_token_product(C, C, one_hot, one_hot, arena, &token), PES_OK);
    struct pes_head head = random_head(arena, D, C, 6);
    head.wv = v;
    head.wo = o;
    head.gain = ones;
    for (int folded = 0; folded < 2; folded++) {
        assert_int_equal(pes_spectrum_copying(&head, folded, token, true, NULL, arena, &share), PES_OK);
        assert_near(share, 1, 0);
    }
    head.wo = minus;
    assert_int_equal(pes_spectrum_copying(&head, false, token, true, NULL, arena, &share), PES_OK);
    assert_near(share, 0, 0);
    /* The last norm's gain turns the sign of a coordinate. */
    real gain[C];
    for (size_t i = 0; i < C; i++)
        gain[i] = i == 0 ? -1 : 1;
    head.wo = o;
    assert_int_equal(pes_spectrum_copying(&head, true, token, true, gain, arena, &share), PES_OK);
    assert_near(share, 2.0 / 3, 1e-15);
    assert_int_equal(pes_spectrum_copying(&head, false, token, true, gain, arena, &share), PES_OK);
    assert_near(share, 1, 0);
    double zero[C * D] = {0};
    head.wo = zero;
    assert_int_equal(pes_spectrum_copying(&head, false, token, true, NULL, arena, &share), PES_OK);
    assert_true(isnan(share));
}

static double dense_excess(size_t n, const double *norms)
{
    double mean = 0, square = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        mean += norms[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        square += pow(norms[i] - mean, 2);
    double bound = mean + 2 * sqrt(square / (double)(n - 1));
    for (size_t i = 0; i < n; i++)
        sum += norms[i] > bound ? norms[i] - bound : 0;
    return sum;
}

static void layers_agree_with_the_summed_dense_matrix(void **state)
{
    struct pes_arena *arena = *state;
    /* Wider than one block of rows. */
    enum { WIDE = 150, HEADS = 3 };
    struct pes_head heads[HEADS];
    double *m = take(arena, WIDE * WIDE), norms[2][WIDE] = {{0}}, trace = 0, norm2 = 0;
    for (uint64_t h = 0; h < HEADS; h++) {
        heads[h] = random_head(arena, 4, WIDE, 200 + 10 * h);
        /* A few loud queries and one louder key, so that there is an excess. */
        double *wq = take(arena, 4 * WIDE), *wk = take(arena, 4 * WIDE);
        memcpy(wq, heads[h].wq, 4 * WIDE * sizeof *wq);
        memcpy(wk, heads[h].wk, 4 * WIDE * sizeof *wk);
        for (size_t i = 0; i < 4; i++) {
            wq[i * WIDE + 7] *= 6;
            wq[i * WIDE + 99] *= 5;
            wk[i * WIDE + 120] *= 20;
        }
        heads[h].wq = wq;
        heads[h].wk = wk;
        struct pes_form form = {4, WIDE, wq, wk, WIDE};
        double *one = dense_form(arena, &form);
        for (size_t i = 0; i < WIDE * WIDE; i++)
            m[i] += one[i];
    }
    for (size_t i = 0; i < WIDE; i++)
        for (size_t j = 0; j < WIDE; j++) {
            trace += m[i * WIDE + j] * m[j * WIDE + i];
            norm2 += m[i * WIDE + j] * m[i * WIDE + j];
            norms[0][i] += pow(m[i * WIDE + j], 2);
            norms[1][j] += pow(m[i * WIDE + j], 2);
        }
    for (size_t i = 0; i < WIDE; i++)
        norms[0][i] = sqrt(norms[0][i]), norms[1][i] = sqrt(norms[1][i]);
    double row = dense_excess(WIDE, norms[0]), column = dense_excess(WIDE, norms[1]), symmetry,
           directionality;
    assert_true(row > 0 && column > row);
    assert_int_equal(pes_spectrum_layer(HEADS, heads, false, arena, &symmetry, &directionality), PES_OK);
    assert_near(symmetry, trace / norm2, 1e-12);
    assert_near(directionality, (row - column) / (row + column), 1e-12);
    assert_true(directionality < 0);
}

static void symmetric_layers_have_no_direction(void **state)
{
    struct pes_arena *arena = *state;
    struct pes_head head = random_head(arena, D, C, 7);
    double symmetry, directionality;
    head.wk = head.wq;
    for (int folded = 0; folded < 2; folded++) {
        assert_int_equal(pes_spectrum_layer(1, &head, folded, arena, &symmetry, &directionality), PES_OK);
        assert_near(symmetry, 1, 1e-14);
        assert_near(directionality, 0, 1e-12);
    }
    double *zero = take(arena, D * C), *bad = take(arena, D * C);
    head.wk = zero;
    assert_int_equal(pes_spectrum_layer(1, &head, false, arena, &symmetry, &directionality), PES_OK);
    assert_true(isnan(symmetry) && isnan(directionality));
    bad[0] = INFINITY;
    head.wk = bad;
    assert_int_equal(pes_spectrum_layer(1, &head, false, arena, &symmetry, &directionality), PES_OK);
    assert_true(isnan(symmetry) && isnan(directionality));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(k_composition_is_the_norm_of_the_dense_product),
        cmocka_unit_test(k_composition_is_one_or_zero_where_it_must_be),
        cmocka_unit_test(k_composition_is_not_defined_for_keys_of_the_embedding_or_zero_forms),
        cmocka_unit_test(the_value_form_is_the_output_matrix),
        cmocka_unit_test(copying_counts_the_eigenvalues_of_the_token_circuit),
        cmocka_unit_test(an_eigenvalue_of_zero_does_not_count_as_copying),
        cmocka_unit_test(heads_that_write_what_they_read_copy),
        cmocka_unit_test(layers_agree_with_the_summed_dense_matrix),
        cmocka_unit_test(symmetric_layers_have_no_direction),
    };
    return cmocka_run_group_tests_name("composition", tests, set_up_arena, tear_down_arena);
}
