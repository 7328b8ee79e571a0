/* test_command_help.c - help, manual, completion and schema say what the program does; init writes sweeps
 * that run. */
#include "store_fixture.h"

#include <jansson.h>

#include "../../src/command/help.h"
#include "pesweep/sweep.h"

static char *make(enum pes_status (*print)(FILE *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    assert_non_null(memory);
    assert_ok(print(memory));
    assert_int_equal(fclose(memory), 0);
    return text;
}

static enum pes_status dispatch(const char *command, const char *first, const char *second)
{
    char words[4][128] = {"pesweep"};
    snprintf(words[1], sizeof words[1], "%s", command);
    snprintf(words[2], sizeof words[2], "%s", first);
    snprintf(words[3], sizeof words[3], "%s", second ? second : "");
    char *argv[] = {words[0], words[1], words[2], second ? words[3] : NULL, NULL};
    return pes_command_dispatch(second ? 4 : 3, argv);
}

static void an_option_is_read_with_all_lines_of_its_meaning(void **state)
{
    (void)state;
    const char *at = "  WORD: a remark\n"
                     "\n"
                     "  -o, --output FILE     where to,\n"
                     "                        and why\n"
                     "      --json            as JSON\n"
                     "the end\n";
    struct pes_help_option option;
    struct pes_text remarks = {0};
    assert_true(pes_help_next_option(&at, &option, &remarks));
    assert_string_equal(option.short_name, "-o");
    assert_string_equal(option.name, "--output");
    assert_string_equal(option.argument, "FILE");
    assert_string_equal(pes_text_get(&option.meaning), "where to, and why");
    pes_text_destroy(&option.meaning);
    assert_true(pes_help_next_option(&at, &option, &remarks));
    assert_string_equal(option.short_name, "");
    assert_string_equal(option.name, "--json");
    assert_string_equal(option.argument, "");
    pes_text_destroy(&option.meaning);
    assert_false(pes_help_next_option(&at, &option, &remarks));
    assert_null(at);
    assert_string_equal(pes_text_get(&remarks), "WORD: a remark\n\nthe end\n");
    pes_text_destroy(&remarks);
}

static void every_option_of_a_help_is_known_to_its_command(void **state)
{
    (void)state;
    size_t num_options = 0;
    for (size_t i = 0; pes_commands[i]; i++) {
        const char *at = pes_commands[i]->help;
        struct pes_help_option option;
        for (; pes_help_next_option(&at, &option, NULL); num_options++) {
            char word[64], unknown[64];
            snprintf(word, sizeof word, "%s=x", option.name);
            snprintf(unknown, sizeof unknown, "no option '%s'", option.name);
            /* The second word is no option of any command, so that nothing is done. */
            assert_int_equal(dispatch(pes_commands[i]->name, word, "--no-such-option"), PES_INPUT);
            if (strstr(pes_error_message(), unknown))
                fail_msg("%s: %s", pes_commands[i]->name, pes_error_message());
            pes_text_destroy(&option.meaning);
        }
    }
    assert_in_range(num_options, 40, 200);
}

/* The words in quotes after a brace at the start of a line: the table of a command's options. */
static void every_option_of_a_command_stands_in_its_help(void **state)
{
    (void)state;
    for (size_t i = 0; pes_commands[i]; i++) {
        char path[512], line[512];
        snprintf(path, sizeof path, "%s/src/command/%s.c", PES_SOURCE_DIR, pes_commands[i]->name);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file)) {
            const char *start = strstr(line, "{\"--");
            if (!start) continue;
            char name[64] = "";
            assert_int_equal(sscanf(start, "{\"%60[^\"]", name), 1);
            bool found = false;
            struct pes_help_option option;
            for (const char *at = pes_commands[i]->help; pes_help_next_option(&at, &option, NULL);) {
                found = found || !strcmp(option.name, name);
                pes_text_destroy(&option.meaning);
            }
            if (!found) fail_msg("%s %s isn't in its help", pes_commands[i]->name, name);
        }
        fclose(file);
    }
}

/* All but those whose answer is a file of another form. */
static void commands_that_print_facts_take_json(void **state)
{
    (void)state;
    for (size_t i = 0; pes_commands[i]; i++) {
        const char *name = pes_commands[i]->name;
        bool makes_a_file = !strcmp(name, "init") || !strcmp(name, "export");
        if (!makes_a_file && !strstr(pes_commands[i]->help, " --json ")) fail_msg("%s has no --json", name);
    }
}

static void manual_and_completion_name_every_command_and_option(void **state)
{
    (void)state;
    char *manual = make(pes_help_print_manual), *completion = make(pes_help_print_completion);
    for (size_t i = 0; pes_commands[i]; i++) {
        char line[128];
        snprintf(line, sizeof line, ".SS \"%s\"", pes_commands[i]->name);
        assert_non_null(strstr(manual, line));
        snprintf(line, sizeof line, "\n    %s)\n", pes_commands[i]->name);
        const char *part = strstr(completion, line);
        assert_non_null(part);
        struct pes_help_option option;
        for (const char *at = pes_commands[i]->help; pes_help_next_option(&at, &option, NULL);) {
            assert_non_null(strstr(part, option.name));
            pes_text_destroy(&option.meaning);
        }
    }
    assert_non_null(strstr(completion, "--retry) words='none failed all' ;;"));
    assert_non_null(strstr(completion, "--writer) words='auto shared rank0' ;;"));
    assert_non_null(strstr(completion, "-o|--output) return ;;"));
    free(manual);
    free(completion);
}

static void every_page_has_a_json_form(void **state)
{
    (void)state;
    for (const struct pes_help_page *page = pes_help_pages; page->name; page++) {
        json_t *object = page->describe();
        assert_non_null(object);
        assert_true(json_array_size(object) > 5 || json_object_size(object) > 1);
        json_decref(object);
    }
}

static void the_schema_has_every_key_with_its_range(void **state)
{
    (void)state;
    json_t *schema = pes_sweep_schema(), *defs = json_object_get(schema, "$defs");
    const struct pes_key_table *table = pes_sweep_keys();
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        json_t *key = json_object_get(defs, table->paths[slot]);
        assert_non_null(key);
        assert_non_null(strstr(json_string_value(json_object_get(key, "description")),
                               pes_key_table_entry(table, table->first[slot])->key->help));
    }
    json_t *heads = json_object_get(defs, "model.heads");
    assert_int_equal(json_integer_value(json_object_get(heads, "minimum")), 1);
    assert_int_equal(json_integer_value(json_object_get(heads, "maximum")), 64);
    /* Names outside the blocks: full, short where it is one key's alone, blocks of keys. */
    json_t *axes = json_object_get(json_object_get(defs, "axes"), "properties");
    assert_non_null(json_object_get(axes, "model.pe"));
    assert_non_null(json_object_get(axes, "pe"));
    assert_non_null(json_object_get(axes, "penalty"));
    assert_non_null(json_object_get(axes, "penalty.kind"));
    assert_null(json_object_get(axes, "kind"));
    assert_null(json_object_get(axes, "spectra"));
    json_decref(schema);
}

static void init_writes_a_sweep_for_every_task(void **state)
{
    (void)state;
    for (size_t i = 0; pes_task_names[i]; i++) {
        char path[300], text_path[300];
        snprintf(path, sizeof path, "%s", in_folder(pes_task_names[i]));
        snprintf(text_path, sizeof text_path, "path=%s", PES_SOURCE_DIR "/README.md");
        char *argv[] = {(char[]){"pesweep"},
                        (char[]){"init"},
                        (char *)(uintptr_t)pes_task_names[i],
                        (char[]){"-o"},
                        path,
                        text_path,
                        NULL};
        assert_ok(pes_command_dispatch(strcmp(pes_task_names[i], "text") == 0 ? 6 : 5, argv));
        struct pes_sweep *sweep;
        assert_ok(pes_sweep_load(path, &sweep));
        assert_int_equal(sweep->num_trials, 8);
        assert_int_equal(sweep->num_claims, 1);
        pes_sweep_destroy(sweep);
        /* A file of one's own is not written over. */
        assert_int_equal(pes_command_dispatch(5, argv), PES_INPUT);
        assert_non_null(strstr(pes_error_message(), "is there already"));
    }
}

static void init_takes_values_and_refuses_wrong_ones(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s", in_folder("values.yaml"));
    char *argv[] = {(char[]){"pesweep"},
                    (char[]){"init"},
                    (char[]){"count"},
                    (char[]){"steps=77"},
                    (char[]){"pe=rope"},
                    (char[]){"penalty.kind=symmetry"},
                    (char[]){"rope_base=50"},
                    (char[]){"penalty.weight=3"},
                    (char[]){"--output"},
                    path,
                    NULL};
    assert_ok(pes_command_dispatch(10, argv));
    struct pes_sweep *sweep;
    assert_ok(pes_sweep_load(path, &sweep));
    assert_int_equal(sweep->num_trials, 2);
    const struct pes_config *config = sweep->trials[0].config;
    assert_int_equal(pes_config_int(config, "train.steps"), 77);
    assert_string_equal(pes_config_text(config, "model.pe"), "rope");
    assert_float_equal(pes_config_real(config, "model.penalty.weight"), 3, 0);
    assert_float_equal(pes_config_real(config, "model.rope_base"), 50, 0);
    pes_sweep_destroy(sweep);
    static const struct {
        const char *task, *word, *message;
    } wrong[] = {
        {"cont", NULL, "did you mean 'count'?"},         {"count", "steps", "write KEY=VALUE"},
        {"count", "stepps=5", "did you mean"},           {"count", "steps=0", "out of range"},
        {"count", "rope_base=5", "has no meaning here"}, {"count", "task.kind=copy", "pesweep init copy"},
        {"text", NULL, "task.path: must be given"},
    };
    for (size_t i = 0; i < PES_COUNT(wrong); i++) {
        assert_int_equal(dispatch("init", wrong[i].task, wrong[i].word), PES_INPUT);
        if (!strstr(pes_error_message(), wrong[i].message)) fail_msg("%s", pes_error_message());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_is_read_with_all_lines_of_its_meaning),
        cmocka_unit_test(every_option_of_a_help_is_known_to_its_command),
        cmocka_unit_test(every_option_of_a_command_stands_in_its_help),
        cmocka_unit_test(commands_that_print_facts_take_json),
        cmocka_unit_test(manual_and_completion_name_every_command_and_option),
        cmocka_unit_test(every_page_has_a_json_form),
        cmocka_unit_test(the_schema_has_every_key_with_its_range),
        cmocka_unit_test(init_writes_a_sweep_for_every_task),
        cmocka_unit_test(init_takes_values_and_refuses_wrong_ones),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
