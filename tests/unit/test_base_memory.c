/* test_base_memory.c - arenas, layouts and rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "pesweep/variable.h"

static void memory_is_aligned_zeroed_and_apart(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    unsigned char *blocks[200];
    for (size_t i = 0; i < PES_COUNT(blocks); i++) {
        size_t bytes = 1 + i * 613 % 40000;
        blocks[i] = pes_arena_take(arena, bytes, 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 64, 0);
        for (size_t b = 0; b < bytes; b++)
            assert_int_equal(blocks[i][b], 0);
        memset(blocks[i], 0xA5, bytes);
    }
    pes_arena_destroy(arena);
}

static void rewinding_gives_the_same_memory_again_and_zeroed(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    assert_non_null(pes_arena_take(arena, 100, 1));
    size_t before = pes_arena_bytes(arena);
    struct pes_arena_mark mark = pes_arena_mark(arena);
    unsigned char *first = pes_arena_take(arena, 5000, 1);
    memset(first, 1, 5000);
    assert_non_null(pes_arena_take(arena, 10, 1 << 20));
    pes_arena_rewind(arena, mark);
    assert_int_equal(pes_arena_bytes(arena), before);
    unsigned char *again = pes_arena_take(arena, 5000, 1);
    assert_ptr_equal(first, again);
    assert_int_equal(again[4999], 0);
    assert_true(pes_arena_peak_bytes(arena) >= 10 << 20);
    pes_arena_destroy(arena);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    assert_null(pes_arena_take(arena, SIZE_MAX / 2, 8));
    assert_null(pes_arena_take(arena, SIZE_MAX - 10, 1));
    assert_true(strlen(pes_error_message()) > 0);
    assert_non_null(pes_arena_take(arena, 0, 8));
    pes_arena_destroy(arena);
}

static void the_kth_allocation_fails_on_request(void **state)
{
    (void)state;
    pes_allocate_fail_after(2);
    void *first = pes_allocate(1, 8), *second = pes_allocate(1, 8), *third = pes_allocate(1, 8);
    assert_int_equal(pes_allocate_fail_after(0), 3);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    pes_free(first);
    pes_free(third);
}

static const struct pes_variable variables[] = {
    {"b", "matrix", PES_F32, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", "a matrix"},
    {"a", "count", PES_I64, 0, {0}, "", "a number"},
    {"a", "absent", PES_F64, 1, {PES_DIM_QUERY}, "", "has a dimension of size 0"},
    {"b", "flags", PES_U8, 1, {PES_DIM_HEAD}, "", "flags"},
    {.name = NULL},
};

static void a_layout_keeps_table_order_and_leaves_out_empty_variables(void **state)
{
    (void)state;
    struct pes_arena *arena = pes_arena_create();
    size_t size[PES_NUM_DIMENSIONS] = {0};
    size[PES_DIM_LAYER] = 2;
    size[PES_DIM_HEAD] = 3;
    const struct pes_variable *arrays[] = {variables};
    struct pes_layout *layout;
    assert_int_equal(pes_layout_create(size, arrays, 1, arena, &layout), PES_OK);
    assert_int_equal(layout->num_fields, 3);
    assert_int_equal(layout->row_bytes, 24 + 8 + 8);
    assert_null(pes_layout_find(layout, "a", "absent"));
    assert_int_equal(pes_layout_find(layout, "a", "count")->offset, 24);
    assert_int_equal(pes_layout_find(layout, "b", "flags")->offset, 32);

    struct pes_row row = {layout, pes_arena_take(arena, layout->row_bytes, 1)};
    pes_row_clear(&row);
    assert_true(isnan(pes_row_get(&row, "b", "matrix", (size_t[]){1, 2})));
    assert_true(pes_row_get(&row, "a", "count", NULL) == -1);
    uint64_t cleared = pes_row_checksum(&row);
    pes_row_put(&row, "b", "matrix", (size_t[]){1, 2}, 0.5);
    pes_row_put(&row, "a", "absent", (size_t[]){0}, 0.5);
    assert_true(((float *)(void *)row.bytes)[5] == 0.5f);
    assert_true(pes_row_checksum(&row) != cleared);
    pes_row_put_block(&row, "b", "matrix", (size_t[]){1}, 1, (size_t[]){2}, (double[]){7, 8});
    assert_true(pes_row_get(&row, "b", "matrix", (size_t[]){1, 1}) == 8);
    assert_true(pes_row_get(&row, "b", "matrix", (size_t[]){1, 2}) == 0.5);
    pes_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_aligned_zeroed_and_apart),
        cmocka_unit_test(rewinding_gives_the_same_memory_again_and_zeroed),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(the_kth_allocation_fails_on_request),
        cmocka_unit_test(a_layout_keeps_table_order_and_leaves_out_empty_variables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
