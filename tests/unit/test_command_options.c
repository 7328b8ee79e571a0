/* Command lines: what is read, and what is said about what can't be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "../../src/command/options.h"

static struct {
    bool quiet;
    int64_t ranks;
    double share, limit;
    const char *output, *operand[2];
    int retry;
} got;

static enum pes_status parse(const char *const *words)
{
    static const char *const retries[] = {"none", "failed", "all", NULL};
    const struct pes_option options[] = {
        {"--quiet", "-q", PES_OPTION_FLAG, &got.quiet, 0, 0, NULL},
        {"--ranks", "-n", PES_OPTION_INT, &got.ranks, 1, 100, NULL},
        {"--share", NULL, PES_OPTION_REAL, &got.share, 0, 1, NULL},
        {"--time-limit", NULL, PES_OPTION_TIME, &got.limit, 0, 0, NULL},
        {"--output", "-o", PES_OPTION_TEXT, &got.output, 0, 0, NULL},
        {"--retry", NULL, PES_OPTION_CHOICE, &got.retry, 0, 0, retries},
    };
    char line[16][64];
    char *argv[17];
    int argc = 0;
    memset(&got, 0, sizeof got);
    for (; words[argc]; argc++) {
        strncpy(line[argc], words[argc], sizeof line[argc] - 1);
        line[argc][sizeof line[argc] - 1] = 0;
        argv[argc] = line[argc];
    }
    argv[argc] = NULL;
    enum pes_status status =
        pes_options_parse(argc, argv, options, PES_COUNT(options), got.operand, 1, 2, "one or two files");
    /* The texts live on the stack above. */
    if (got.output) got.output = strcmp(got.output, "out.h5") == 0 ? "out.h5" : "?";
    return status;
}
#define PARSE(...) parse((const char *const[]){"run", __VA_ARGS__, NULL})

static void refused(enum pes_status status, const char *with)
{
    assert_int_equal(status, PES_INPUT);
    if (!strstr(pes_error_message(), with)) fail_msg("'%s' lacks '%s'", pes_error_message(), with);
}

static void options_come_in_every_usual_form(void **state)
{
    (void)state;
    assert_int_equal(PARSE("a.yaml", "-o", "out.h5", "--ranks=7", "--share", "0.5", "-q", "--retry", "all"),
                     PES_OK);
    assert_true(got.quiet);
    assert_int_equal(got.ranks, 7);
    assert_true(got.share == 0.5);
    assert_string_equal(got.output, "out.h5");
    assert_int_equal(got.retry, 2);
    assert_int_equal(PARSE("--time-limit", "2-12", "a.yaml"), PES_OK);
    assert_true(got.limit == 216000);
}

static void words_behind_two_dashes_are_operands(void **state)
{
    (void)state;
    assert_int_equal(PARSE("--", "--quiet", "-"), PES_OK);
    assert_false(got.quiet);
    assert_non_null(got.operand[1]);
}

static void an_unknown_option_names_the_nearest(void **state)
{
    (void)state;
    refused(PARSE("a", "--rank", "3"), "did you mean '--ranks'?");
    refused(PARSE("a", "--time_limit=3"), "did you mean '--time-limit'?");
    refused(PARSE("a", "-x"), "has no option '-x'");
}

static void a_value_that_is_missing_wrong_or_doubled_is_refused(void **state)
{
    (void)state;
    refused(PARSE("a", "--ranks"), "--ranks needs a value");
    refused(PARSE("a", "--ranks", "0"), "from 1 to 100, not '0'");
    refused(PARSE("a", "--ranks", "3.5"), "a whole number");
    refused(PARSE("a", "--ranks", "007"), "a whole number");
    refused(PARSE("a", "--share", "nan"), "a number");
    refused(PARSE("a", "--time-limit", "1:99"), "not '1:99'");
    refused(PARSE("a", "--retry", "some"), "none, failed, all");
    refused(PARSE("a", "--output="), "isn't empty");
    refused(PARSE("a", "--quiet=1"), "takes no value");
    refused(PARSE("a", "-n", "2", "--ranks", "3"), "given twice");
}

static void the_number_of_operands_is_checked(void **state)
{
    (void)state;
    refused(PARSE("-q"), "needs one or two files");
    refused(PARSE("a", "b", "c"), "'c' is one too many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_come_in_every_usual_form),
        cmocka_unit_test(words_behind_two_dashes_are_operands),
        cmocka_unit_test(an_unknown_option_names_the_nearest),
        cmocka_unit_test(a_value_that_is_missing_wrong_or_doubled_is_refused),
        cmocka_unit_test(the_number_of_operands_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
