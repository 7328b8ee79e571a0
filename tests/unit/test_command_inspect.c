/* test_command_inspect.c - the claim over several models that `pesweep inspect` judges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../../src/command/inspect.h"

enum { L = 2, H = 6, HEADS = L * H };

static const struct pes_variable variables[] = {
    {"spectra_folded", "rotational_fraction", PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", "test"},
    {"behaviours", "previous_token_score", PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", "test"},
    {.name = NULL},
};

struct models {
    struct pes_arena *arena;
    struct pes_layout *layout;
    unsigned char *rows;
    struct pes_heads_model described[7];
};

/* Models of 12 heads whose rotational fractions are 1/12, 2/12, ... in order of the heads; head `best` of
 * each has the largest previous-token score, the others follow cyclically. */
static struct models make(const char *const *schemes, const int *best, size_t num)
{
    struct models m = {.arena = pes_arena_create()};
    size_t size[PES_NUM_DIMENSIONS] = {[PES_DIM_LAYER] = L, [PES_DIM_HEAD] = H};
    assert_int_equal(
        pes_layout_create(size, (const struct pes_variable *const[]){variables}, 1, m.arena, &m.layout),
        PES_OK);
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    m.rows = pes_arena_take(m.arena, num, m.layout->row_bytes);
    for (size_t i = 0; i < num; i++) {
        struct pes_row row = {m.layout, m.rows + i * m.layout->row_bytes};
        m.described[i] = (struct pes_heads_model){
            .name = names[i], .scheme = schemes[i], .step = NAN, .layers = L, .heads = H};
        for (int head = 0; head < HEADS; head++) {
            const size_t at[] = {(size_t)(head / H), (size_t)(head % H)};
            pes_row_put(&row, "spectra_folded", "rotational_fraction", at, (head + 1) / 12.0);
            pes_row_put(&row, "behaviours", "previous_token_score", at,
                        1.0 / (1 + (head - best[i] + HEADS) % HEADS));
        }
    }
    return m;
}

/* Of 7 models 3 with rotation can be chosen in 35 ways, of which perfect separation is one. */
static void perfect_separation_of_three_and_four_models_has_p_one_in_35(void **state)
{
    (void)state;
    static const char *const schemes[] = {"learned", "rope", "alibi", "rope", "learned", "learned", "rope"};
    static const int best[] = {0, 11, 1, 9, 2, 3, 10};
    struct models m = make(schemes, best, 7);
    struct pes_rotation_claim claim;
    assert_int_equal(pes_inspect_claim(m.described, m.layout, m.rows, 7, m.arena, &claim), PES_OK);
    assert_int_equal(claim.num_k, 4);
    assert_int_equal(claim.num_rotary, 3);
    assert_int_equal(claim.num_other, 4);
    assert_int_equal(claim.tests[0].k, 1);
    assert_true(fabs(claim.tests[0].rotary - (12 + 10 + 11) / 36.0) < 1e-12);
    assert_true(fabs(claim.tests[0].other - (1 + 2 + 3 + 4) / 48.0) < 1e-12);
    assert_true(fabs(claim.tests[0].lowest_rotary - 10 / 12.0) < 1e-12);
    assert_true(fabs(claim.tests[0].highest_other - 4 / 12.0) < 1e-12);
    assert_true(fabs(claim.tests[0].p - 1 / 35.0) < 1e-12);
    assert_true(claim.tests[0].arrangements == 35);
    /* Medians of the top three: from head 11 on 12, 1, 2 twelfths; from 9 on 10, 11, 12; from 10 on 11,
     * 12, 1. */
    assert_int_equal(claim.tests[1].k, 3);
    assert_true(fabs(claim.tests[1].rotary - (2 + 11 + 11) / 36.0) < 1e-12);
    assert_true(fabs(claim.tests[1].other - (2 + 3 + 4 + 5) / 48.0) < 1e-12);
    assert_true(claim.tests[1].p > 1.5 / 35);
    pes_arena_destroy(m.arena);
}

static void models_of_one_kind_are_not_judged_and_few_heads_limit_k(void **state)
{
    (void)state;
    static const char *const same[] = {"rope", "mla", "rope"};
    static const int best[] = {0, 1, 2};
    struct models m = make(same, best, 3);
    struct pes_rotation_claim claim;
    assert_int_equal(pes_inspect_claim(m.described, m.layout, m.rows, 3, m.arena, &claim), PES_OK);
    assert_int_equal(claim.num_k, 0);
    m.described[0].scheme = "learned";
    m.described[0].layers = 1;
    assert_int_equal(pes_inspect_claim(m.described, m.layout, m.rows, 3, m.arena, &claim), PES_OK);
    assert_int_equal(claim.num_k, 3); /* six heads have no top ten */
    pes_arena_destroy(m.arena);
}

/* Steps of one model are no models of their own. */
static void of_several_steps_of_a_model_the_last_alone_is_judged(void **state)
{
    (void)state;
    static const char *const schemes[] = {"rope", "rope", "learned", "rope"};
    static const int best[] = {0, 11, 1, 9};
    struct models m = make(schemes, best, 4);
    struct pes_rotation_claim claim;
    m.described[1].name = m.described[0].name;
    m.described[0].step = 512;
    m.described[1].step = 1000;
    assert_int_equal(pes_inspect_claim(m.described, m.layout, m.rows, 4, m.arena, &claim), PES_OK);
    assert_int_equal(claim.num_rotary, 2);
    assert_true(fabs(claim.tests[0].rotary - (12 + 10) / 24.0) < 1e-12);
    pes_arena_destroy(m.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfect_separation_of_three_and_four_models_has_p_one_in_35),
        cmocka_unit_test(of_several_steps_of_a_model_the_last_alone_is_judged),
        cmocka_unit_test(models_of_one_kind_are_not_judged_and_few_heads_limit_k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
