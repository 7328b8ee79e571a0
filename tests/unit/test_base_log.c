/* Messages, events and the log file; what goes to the terminal is caught through a pipe's end put in its
 * place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pesweep/log.h"

static char folder[] = "/tmp/pesweep-log-XXXXXX";
static char file[64], caught_out[64], caught_err[64];
static int saved_out, saved_err;

static int redirect(const char *path, int descriptor)
{
    int saved = dup(descriptor), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(saved >= 0 && to >= 0);
    assert_int_equal(dup2(to, descriptor), descriptor);
    close(to);
    return saved;
}

static void catch_output(void)
{
    fflush(NULL);
    saved_out = redirect(caught_out, STDOUT_FILENO);
    saved_err = redirect(caught_err, STDERR_FILENO);
}

static void release_output(void)
{
    fflush(NULL);
    dup2(saved_out, STDOUT_FILENO);
    dup2(saved_err, STDERR_FILENO);
    close(saved_out);
    close(saved_err);
}

static const char *contents(const char *path)
{
    static char text[8192];
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    size_t length = fread(text, 1, sizeof text - 1, stream);
    text[length] = 0;
    fclose(stream);
    return text;
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(file, sizeof file, "%s/run.log", folder);
    snprintf(caught_out, sizeof caught_out, "%s/out", folder);
    snprintf(caught_err, sizeof caught_err, "%s/err", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    unlink(caught_out);
    unlink(caught_err);
    return rmdir(folder);
}

static void every_line_of_the_log_file_is_a_json_object_and_lines_are_appended(void **state)
{
    (void)state;
    unlink(file);
    for (int start = 0; start < 2; start++) {
        catch_output();
        assert_int_equal(pes_log_open(file, false, false), PES_OK);
        pes_log_info("start %d", start);
        pes_log_warning("quotes \" and back\\slashes");
        pes_log_event("{\"event\":\"mine\"}");
        pes_log_close();
        release_output();
    }
    FILE *stream = fopen(file, "r");
    assert_non_null(stream);
    char line[1024];
    const char *const events[] = {"info", "warning", "mine"};
    size_t count = 0;
    while (fgets(line, sizeof line, stream)) {
        json_t *object = json_loads(line, 0, NULL);
        assert_non_null(object);
        assert_string_equal(json_string_value(json_object_get(object, "event")), events[count % 3]);
        if (count == 4)
            assert_string_equal(json_string_value(json_object_get(object, "message")),
                                "quotes \" and back\\slashes");
        json_decref(object);
        count++;
    }
    fclose(stream);
    assert_int_equal(count, 6);
}

static void only_events_go_to_standard_output_and_only_if_asked_for(void **state)
{
    (void)state;
    for (int json = 0; json < 2; json++) {
        catch_output();
        assert_int_equal(pes_log_open(NULL, false, json), PES_OK);
        pes_log_info("to people");
        pes_log_event("{\"to\":\"programs\"}");
        pes_log_close();
        release_output();
        assert_string_equal(contents(caught_out), json ? "{\"to\":\"programs\"}\n" : "");
        assert_string_equal(contents(caught_err), "pesweep: to people\n");
    }
}

static void quiet_keeps_warnings_and_errors(void **state)
{
    (void)state;
    catch_output();
    assert_int_equal(pes_log_open(NULL, true, false), PES_OK);
    pes_log_info("chatter");
    pes_log_warning("a warning");
    pes_log_error("an error");
    assert_false(pes_log_progress_wanted());
    pes_log_close();
    release_output();
    assert_string_equal(contents(caught_err), "pesweep: warning: a warning\npesweep: an error\n");
}

static void the_speaker_stands_in_front(void **state)
{
    (void)state;
    catch_output();
    pes_log_set_speaker("rank 3 on node7");
    pes_log_error("no room");
    pes_log_set_speaker(NULL);
    release_output();
    assert_string_equal(contents(caught_err), "pesweep: rank 3 on node7: no room\n");
}

static void without_a_terminal_progress_comes_once_a_minute_at_most(void **state)
{
    (void)state;
    catch_output();
    assert_int_equal(pes_log_open(NULL, false, false), PES_OK);
    for (int i = 0; i < 1000; i++)
        pes_log_progress("1/4 trials");
    pes_log_progress_end();
    pes_log_close();
    release_output();
    assert_string_equal(contents(caught_err), "");
}

static void a_log_file_that_cannot_be_opened_is_an_error_that_names_it(void **state)
{
    (void)state;
    assert_int_equal(pes_log_open("/nowhere/run.log", false, false), PES_IO);
    assert_non_null(strstr(pes_error_message(), "/nowhere/run.log"));
    pes_log_close();
}

static void a_log_file_that_fills_up_is_given_up_with_one_warning(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    catch_output();
    assert_int_equal(pes_log_open("/dev/full", true, false), PES_OK);
    pes_log_event("{}");
    pes_log_event("{}");
    pes_log_close();
    release_output();
    const char *text = contents(caught_err);
    assert_non_null(strstr(text, "the log file is given up"));
    assert_null(strstr(strstr(text, "given up") + 1, "given up"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_the_log_file_is_a_json_object_and_lines_are_appended),
        cmocka_unit_test(only_events_go_to_standard_output_and_only_if_asked_for),
        cmocka_unit_test(quiet_keeps_warnings_and_errors),
        cmocka_unit_test(the_speaker_stands_in_front),
        cmocka_unit_test(without_a_terminal_progress_comes_once_a_minute_at_most),
        cmocka_unit_test(a_log_file_that_cannot_be_opened_is_an_error_that_names_it),
        cmocka_unit_test(a_log_file_that_fills_up_is_given_up_with_one_warning),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
