/* Every file of tests/inputs/bad is refused at the place and with the words that it names itself: in its
 * first line,
 * `# expect: line:column: words`, or where that line can't be, in a file of the same name that ends in
 * .expect. */
#include "sweep_fixture.h"

#include <dirent.h>
#include <stdlib.h>

static const char folder[] = PES_SOURCE_DIR "/tests/inputs/bad";

/* "line:column: words" of one file. */
static void read_expectation(const char *name, char *expectation, size_t size)
{
    char path[512];
    static const char mark[] = "# expect: ";
    snprintf(path, sizeof path, "%s/%.*s.expect", folder, (int)(strlen(name) - strlen(".yaml")), name);
    FILE *file = fopen(path, "r");
    bool own = file != NULL;
    if (!own) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        file = fopen(path, "r");
    }
    assert_non_null(file);
    if (!fgets(expectation, (int)size, file)) fail_msg("%s is empty", path);
    fclose(file);
    expectation[strcspn(expectation, "\r\n")] = 0;
    if (own) return;
    if (strncmp(expectation, mark, strlen(mark)) != 0) fail_msg("%s doesn't say what it expects", name);
    memmove(expectation, expectation + strlen(mark), strlen(expectation + strlen(mark)) + 1);
}

/* An empty string if the file is refused as it should be. */
static void check_file(const char *name, char *complaint, size_t size)
{
    char path[512], expectation[512];
    struct pes_sweep *sweep = NULL;
    read_expectation(name, expectation, sizeof expectation);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    complaint[0] = 0;
    enum pes_status status = pes_sweep_load(path, &sweep);
    if (status == PES_OK) {
        pes_sweep_destroy(sweep);
        snprintf(complaint, size, "%s was accepted", name);
        return;
    }
    const char *message = pes_error_message();
    size_t length = strlen(path);
    bool named = !strncmp(message, path, length) && message[length] == ':';
    const char *place = named ? message + length + 1 : message;
    /* expectation: place up to the second colon and a space, then words */
    const char *words = strstr(expectation, ": ");
    if (!words) fail_msg("%s: no place in '%s'", name, expectation);
    size_t place_length = (size_t)(words - expectation) + 2;
    words += 2;
    if (status != PES_INPUT || !named || strncmp(place, expectation, place_length) != 0 ||
        !strstr(place, words))
        snprintf(complaint, size, "%s: expected '%s', got '%s'", name, expectation, place);
}

static void every_bad_file_is_refused_at_its_place(void **state)
{
    (void)state;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    int files = 0, wrong = 0;
    for (struct dirent *entry; (entry = readdir(listing));) {
        size_t length = strlen(entry->d_name);
        if (length < 6 || strcmp(entry->d_name + length - 5, ".yaml") != 0) continue;
        char complaint[2048];
        check_file(entry->d_name, complaint, sizeof complaint);
        files++;
        wrong += complaint[0] != 0;
        if (complaint[0]) print_error("%s\n", complaint);
    }
    closedir(listing);
    assert_true(files >= 60);
    assert_int_equal(wrong, 0);
}

/* --- inputs too large to be files --- */

/* `prefix`, `count` times `unit`, `suffix`. */
static void refused_repeated(const char *prefix, const char *unit, size_t count, const char *suffix,
                             const char *message)
{
    size_t length = strlen(unit), total = strlen(prefix) + count * length + strlen(suffix);
    char *text = malloc(total + 1), *end = text;
    assert_non_null(text);
    end = stpcpy(end, prefix);
    for (size_t i = 0; i < count; i++)
        end = stpcpy(end, unit);
    stpcpy(end, suffix);
    struct pes_sweep *sweep = NULL;
    enum pes_status status = pes_sweep_parse("big.yaml", text, total, &sweep);
    free(text);
    assert_int_equal(status, PES_INPUT);
    if (!strstr(pes_error_message(), message)) fail_msg("'%s' isn't in '%s'", message, pes_error_message());
}

static void hostile_sizes_are_refused_in_bounded_time(void **state)
{
    (void)state;
    refused_repeated("a: ", "[", 1000000, "", "nested deeper than 16 levels");
    refused_repeated("a: ", "{a: ", 200000, "", "nested deeper than 16 levels");
    refused_repeated("", "- ", 100000, "", "nested deeper than 16 levels");
    refused_repeated("", "? ", 100000, "", "a key must be a word");
    refused_repeated(BASE "grid: {seed: [", "1,", 1000001, "]}\n", "more than 1000000 values");
    refused_repeated(BASE "grid: {seed: [", "0..999,", 1001, "]}\n", "more than 1000000 values");
    refused_repeated(BASE "name: ", "x", 2000000, "\n", "longer than 100 bytes");
    refused_repeated(BASE, "x", 2000000, ": 1\n", "big.yaml:3:");
    refused_repeated(BASE "model: {pe: ", "x", 100000, "}\n", "unknown value 'xxx");
    refused_repeated(BASE "train2: {", "&", 100000, "}\n", "big.yaml:3:");
    refused_repeated("# ", "x", (16 << 20) + 1, "\n", "larger than 16 MiB");
    refused_repeated("name: \"", "\\", 99999, "\n", "big.yaml:");
    refused_repeated(BASE "model: {betas: [", "0.5,", 150000, "]}\n", "big.yaml:3:");
}

static void a_map_of_many_keys_is_refused(void **state)
{
    (void)state;
    enum { KEYS = 2000 };
    static char text[KEYS * 16];
    size_t used = 0;
    for (int i = 0; i < KEYS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "k%d: 1\n", i);
    struct pes_sweep *sweep = NULL;
    assert_int_equal(pes_sweep_parse("big.yaml", text, used, &sweep), PES_INPUT);
    assert_string_equal(pes_error_message(), "big.yaml:1001:1: the map has more than 1000 keys");
}

/* The aliases that double with every line are refused at the first anchor. */
static void doubling_aliases_are_refused(void **state)
{
    (void)state;
    refused("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "sweep.yaml:1:4: anchors (&) aren't allowed");
}

static void lack_of_memory_is_reported_wherever_it_strikes(void **state)
{
    (void)state;
    static const char text[] =
        BASE "model: {pe: rope}\n"
             "grid: {pe_heads: [all, [0]], penalty: [none, {kind: phase, weight: 2}]}\n"
             "exclude: [{pe_heads: [0], penalty: none}]\n"
             "include: [{pe: nope}]\n"
             "claims: [{name: a, metric: final.x, axis: penalty, better: phase}]\n";
    (void)pes_sweep_keys();
    enum pes_status status = PES_MEMORY;
    for (long n = 1; status == PES_MEMORY; n++) {
        struct pes_sweep *sweep = NULL;
        (void)pes_allocate_fail_after(n);
        status = pes_sweep_parse("sweep.yaml", text, strlen(text), &sweep);
        (void)pes_allocate_fail_after(0);
        if (status == PES_OK) pes_sweep_destroy(sweep);
    }
    assert_int_equal(status, PES_OK);
}

/* Any prefix of a good file, and the file with any byte replaced, is read or refused, never worse. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    static const char text[] =
        BASE "grid: {pe_heads: [all, [0..2]], pe: [rope]}\n"
             "zip: [{lr: [1e-3, 2e-3], seed: [1, 2]}]\n"
             "exclude: [{pe_heads: [0..2], lr: 1e-3}]\n"
             "claims: [{name: a, metric: steps_to(x, 0.5), ratio: [{seed: 1}, {seed: 2}]}]\n";
    static const char damage[] = "\0\t\n:,{}[]\"'&*!#-?|>%@`~0x\xff";
    char copy[sizeof text];
    size_t length = strlen(text);
    for (size_t at = 0; at < length; at++)
        for (size_t d = 0; d < sizeof damage; d++) {
            struct pes_sweep *sweep = NULL;
            size_t count = d ? length : at;
            memcpy(copy, text, length);
            if (d) copy[at] = damage[d - 1];
            enum pes_status status = pes_sweep_parse("sweep.yaml", copy, count, &sweep);
            if (status == PES_OK)
                pes_sweep_destroy(sweep);
            else if (status != PES_INPUT || strncmp(pes_error_message(), "sweep.yaml:", 11) != 0)
                fail_msg("byte %zu, damage %zu: status %d, '%s'", at, d, (int)status, pes_error_message());
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bad_file_is_refused_at_its_place),
        cmocka_unit_test(hostile_sizes_are_refused_in_bounded_time),
        cmocka_unit_test(a_map_of_many_keys_is_refused),
        cmocka_unit_test(doubling_aliases_are_refused),
        cmocka_unit_test(lack_of_memory_is_reported_wherever_it_strikes),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
