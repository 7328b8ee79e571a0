/* Reading tidy tables. */
#include "analysis_support.h"

static struct pes_arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = pes_arena_create();
    return arena ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pes_arena_destroy(arena);
    return 0;
}

static struct pes_table parse(const char *text)
{
    struct pes_table table;
    assert_ok(pes_table_parse("t.csv", text, strlen(text), arena, &table));
    return table;
}

static void refuse(const char *text, const char *message)
{
    struct pes_table table;
    assert_int_equal(pes_table_parse("t.csv", text, strlen(text), arena, &table), PES_INPUT);
    if (!strstr(pes_error_message(), message)) print_error("%s\n", pes_error_message());
    assert_non_null(strstr(pes_error_message(), message));
}

static void quotes_commas_and_line_breaks_are_read(void **state)
{
    (void)state;
    struct pes_table table =
        parse("\xef\xbb\xbfname,\"say \"\"it\"\"\",x\r\n\"a,b\",\"two\nlines\",1\r\n\r\nc,,2.5e-1");
    assert_int_equal(table.num_columns, 3);
    assert_int_equal(table.num_rows, 2);
    assert_string_equal(table.names[1], "say \"it\"");
    assert_string_equal(table.cells[0], "a,b");
    assert_string_equal(table.cells[1], "two\nlines");
    assert_string_equal(table.cells[4], "");
    double *x;
    assert_ok(pes_table_numbers(&table, "x", arena, &x));
    assert_near(x[0], 1, 0);
    assert_near(x[1], 0.25, 0);
}

static void all_line_ends_give_the_same_table(void **state)
{
    (void)state;
    const char *const texts[] = {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4\r\n", "a,b\r1,2\r3,4\r",
                                 "\n\na,b\n1,2\n\n3,4"};
    for (size_t i = 0; i < PES_COUNT(texts); i++) {
        struct pes_table table = parse(texts[i]);
        assert_int_equal(table.num_rows, 2);
        assert_string_equal(table.cells[3], "4");
        assert_string_equal(table.names[1], "b");
    }
}

static void missing_numbers_are_nan_and_texts_are_refused(void **state)
{
    (void)state;
    struct pes_table table = parse("value,word\n,x\nNA,y\nnan,z\n7,w\n");
    double *x;
    assert_ok(pes_table_numbers(&table, "value", arena, &x));
    for (int i = 0; i < 3; i++)
        assert_near(x[i], NAN, 0);
    assert_near(x[3], 7, 0);
    assert_int_equal(pes_table_numbers(&table, "word", arena, &x), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "row 1"));
    assert_int_equal(pes_table_numbers(&table, "valeu", arena, &x), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "did you mean 'value'"));
}

static void broken_tables_are_refused_at_their_line(void **state)
{
    (void)state;
    refuse("a,b\n1,2\n3\n", "t.csv:3: 1 cells");
    refuse("a,b\n1,2,3\n", "t.csv:2: 3 cells");
    refuse("a,b\n1,\"2\n3,4\n", "t.csv:2: a quote");
    refuse("a,b\n1,\"2\"x\n", "t.csv:2: text follows");
    refuse("a,b,a\n1,2,3\n", "two columns are named 'a'");
    refuse("", "empty table");
    refuse("\n\r\n", "empty table");
    struct pes_table table;
    assert_int_equal(pes_table_parse("t.csv", "a\0b", 3, arena, &table), PES_INPUT);
    assert_int_equal(pes_table_read("/nonexistent/t.csv", arena, &table), PES_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(quotes_commas_and_line_breaks_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(all_line_ends_give_the_same_table, setup, teardown),
        cmocka_unit_test_setup_teardown(missing_numbers_are_nan_and_texts_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_tables_are_refused_at_their_line, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
