/* The tensor table: places, names, counts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "pesweep/tensor.h"

static int setup(void **state)
{
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return -1;
    struct pes_tensor_table *table = pes_arena_take(arena, 1, sizeof *table);
    table->arena = arena;
    *state = table;
    return 0;
}

static int teardown(void **state)
{
    struct pes_tensor_table *table = *state;
    pes_arena_destroy(table->arena);
    return 0;
}

static void every_tensor_starts_on_64_bytes_and_padding_is_not_counted(void **state)
{
    struct pes_tensor_table *table = *state;
    const size_t vector[] = {5}, matrix[] = {3, 7};
    assert_int_equal(pes_tensor_add(table, "a", PES_TENSOR_BIAS, 7, 0, 1, vector), PES_OK);
    assert_int_equal(pes_tensor_add(table, "b", PES_TENSOR_WEIGHT, 7, 0, 2, matrix), PES_OK);
    assert_int_equal(pes_tensor_add(table, "c", PES_TENSOR_GAIN, 1, 0, 1, vector), PES_OK);
    assert_int_equal(table->tensors[0].offset, 0);
    assert_int_equal(table->tensors[1].offset, 16);
    assert_int_equal(table->tensors[2].offset, 48);
    assert_int_equal(table->num_parameters, 64);
    assert_int_equal(pes_tensor_table_count(table), 5 + 21 + 5);
}

static void a_tensor_of_a_layer_is_found_by_its_full_name(void **state)
{
    struct pes_tensor_table *table = *state;
    const size_t vector[] = {16};
    assert_int_equal(pes_tensor_add(table, "norm.weight", PES_TENSOR_GAIN, 1, 0, 1, vector), PES_OK);
    assert_int_equal(pes_tensor_add_layer(table, 12, "norm.weight", PES_TENSOR_GAIN, 1, 0, 1, vector),
                     PES_OK);
    assert_ptr_equal(pes_tensor_find(table, "layers.12.norm.weight"), &table->tensors[1]);
    assert_null(pes_tensor_find(table, "layers.1.norm.weight"));
    real values[32], gradient[32];
    struct pes_parameters parameters = {table, values, gradient};
    assert_ptr_equal(pes_parameters_get(&parameters, 12, "norm.weight"), values + 16);
    assert_ptr_equal(pes_parameters_get(&parameters, -1, "norm.weight"), values);
    assert_ptr_equal(pes_parameters_gradient(&parameters, 12, "norm.weight"), gradient + 16);
}

static void a_table_grows_beyond_its_first_block(void **state)
{
    struct pes_tensor_table *table = *state;
    const size_t vector[] = {1};
    for (int layer = 0; layer < 300; layer++)
        assert_int_equal(pes_tensor_add_layer(table, layer, "x", PES_TENSOR_BIAS, 1, 0, 1, vector), PES_OK);
    assert_int_equal(table->num_tensors, 300);
    assert_int_equal(pes_tensor_find(table, "layers.299.x")->offset, 299 * 16);
    assert_string_equal(table->tensors[0].name, "layers.0.x");
}

static void sizes_that_overflow_are_refused(void **state)
{
    struct pes_tensor_table *table = *state;
    const size_t huge[] = {SIZE_MAX / 4, 8};
    assert_int_equal(pes_tensor_add(table, "huge", PES_TENSOR_WEIGHT, 1, 0, 2, huge), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "huge"));
    assert_int_equal(table->num_tensors, 0);
}

static void lack_of_memory_is_reported(void **state)
{
    struct pes_tensor_table *table = *state;
    const size_t vector[] = {1};
    pes_allocate_fail_after(1);
    enum pes_status status = PES_OK;
    for (int i = 0; i < 100000 && status == PES_OK; i++)
        status = pes_tensor_add_layer(table, i, "x", PES_TENSOR_BIAS, 1, 0, 1, vector);
    pes_allocate_fail_after(0);
    assert_int_equal(status, PES_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_tensor_starts_on_64_bytes_and_padding_is_not_counted, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_tensor_of_a_layer_is_found_by_its_full_name, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_grows_beyond_its_first_block, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_that_overflow_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(lack_of_memory_is_reported, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
