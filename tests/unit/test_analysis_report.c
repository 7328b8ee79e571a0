/* What `pesweep analyze` leaves behind: tables that read back, one page, figures or a word about them. */
#include "analysis_fixture.h"

#include <jansson.h>
#include <omp.h>
#include <sys/stat.h>

#include "../../analysis/output.h"

#define BLOCKS                                                                                               \
    "task: {kind: relative_distance, vocab: 16, between: 4, side: 2, samples: 200}\n"                        \
    "model: {layers: 2, d_model: 16, heads: 2, d_ff: 16}\n"                                                  \
    "train: {steps: 1000, batch: 8}\n"                                                                       \
    "measure: {evaluate_every: 100, checkpoints: 6, attention_maps: 4}\n"
#define SWEEP                                                                                                \
    "name: report\n" BLOCKS "grid: {pe: [nope, rope], symmetry: [none, symmetric], seed: 0..3}\n"            \
    "claims:\n"                                                                                              \
    "  - {name: rope-wins, metric: final.test_accuracy, axis: pe, better: rope, than: nope}\n"               \
    "  - {name: slower, metric: 'steps_to(test_accuracy, 0.3)', ratio: [{symmetry: symmetric}, {symmetry: "  \
    "none}]}\n"

/* Every variable gets numbers of its kind's range. */
static enum pes_outcome fill(const struct pes_sweep *sweep, size_t trial, const struct pes_row *row)
{
    bool rope = !strcmp(choice(sweep, trial, "model.pe"), "rope");
    for (size_t f = 0; f < row->layout->num_fields; f++) {
        const struct pes_field *field = &row->layout->fields[f];
        for (size_t i = 0; i < field->count; i++) {
            size_t at[PES_MAX_RANK] = {0}, rest = i;
            for (int r = field->variable.rank; r-- > 0; rest /= field->extent[r])
                at[r] = rest % field->extent[r];
            double value = 0.5 + 0.4 * sin((double)(7 * trial + 3 * f + 11 * i));
            pes_row_put(row, field->variable.group, field->variable.name, at, value);
        }
    }
    for (size_t c = 0; c < 6; c++)
        pes_row_put(row, "curves", "checkpoint_step", &c, (double)(c * 200));
    put_curve(sweep, trial, row, (rope ? 0.9 : 0.4) + 0.01 * (double)seed_of(sweep, trial), 400);
    if (rope && seed_of(sweep, trial) == 3) return PES_OUTCOME_PENDING;
    return PES_OUTCOME_DONE;
}

static char *read_text(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", path);
    struct stat facts;
    assert_int_equal(fstat(fileno(file), &facts), 0);
    *size = (size_t)facts.st_size;
    char *text = calloc(*size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *size, file), *size);
    fclose(file);
    return text;
}

static struct pes_study *opened(void)
{
    struct pes_study *study;
    const char *path = in_folder("report.h5");
    if (access(path, F_OK)) make_study(path, SWEEP, fill);
    assert_ok(pes_study_open(path, &study));
    return study;
}

static struct pes_report_options options_for(const char *folder_name)
{
    struct pes_report_options options = PES_REPORT_OPTIONS_DEFAULT;
    options.folder = in_folder(folder_name);
    options.resampling.resamples = 200;
    return options;
}

static const char *const names[] = {"trials",   "curves",      "heads",        "probes",
                                    "claims",   "pairs",       "groups",       "comparisons",
                                    "variance", "percentiles", "associations", "claim_values"};

static void tables_read_back_as_csv_and_json(void **state)
{
    (void)state;
    struct pes_study *study = opened();
    struct pes_report_options options = options_for("tables-only");
    struct pes_report report;
    options.figures = false;
    options.json = true;
    assert_ok(pes_report_write(study, &options, &report));
    for (size_t i = 0; i < PES_COUNT(names); i++) {
        char path[512];
        struct pes_table table;
        snprintf(path, sizeof path, "%s/tables/%s.csv", options.folder, names[i]);
        assert_ok(pes_table_read(path, study->arena, &table));
        snprintf(path, sizeof path, "%s/tables/%s.json", options.folder, names[i]);
        json_t *json = json_load_file(path, 0, NULL), *rows = json_object_get(json, "data");
        assert_true(json_is_array(rows));
        assert_int_equal(json_array_size(rows), table.num_rows);
        assert_int_equal(json_array_size(json_object_get(json, "columns")), table.num_columns);
        if (table.num_rows) assert_int_equal(json_array_size(json_array_get(rows, 0)), table.num_columns);
        json_decref(json);
        if (i != 0) continue;
        double *accuracy;
        assert_int_equal(table.num_rows, 16);
        assert_ok(pes_table_numbers(&table, "test_accuracy", study->arena, &accuracy));
        assert_near(accuracy[0], 0.4, 1e-15);
        assert_near(accuracy[11], NAN, 0); /* rope, none, seed 3: not finished */
        assert_string_equal(table.cells[11 * table.num_columns + 5], "pending");
    }
    pes_study_close(study);
}

/* A rate that goes with the scheme splits nothing, one of each scheme does. */
static void an_axis_that_follows_the_series_makes_no_panels(void **state)
{
    (void)state;
    static const struct {
        const char *axes, *panels[4];
    } cases[] = {
        {"zip: {pe: [nope, rope], lr: [1e-3, 1e-2]}\ngrid: {symmetry: [none, symmetric], seed: 0..1}\n",
         {"symmetry=none", "symmetry=symmetric"}},
        {"grid: {pe: [nope, rope], lr: [0.001, 0.01], seed: 0..1}\n", {"lr=0.001", "lr=0.01"}},
        {"zip: {pe: [nope, rope], lr: [1e-3, 1e-2]}\ngrid: {seed: 0..1}\n", {""}},
    };
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        char text[1000], name[32];
        struct pes_study *study;
        struct groups groups;
        snprintf(text, sizeof text, "name: groups\n" BLOCKS "%s", cases[i].axes);
        snprintf(name, sizeof name, "groups-%zu.h5", i);
        make_study(in_folder(name), text, fill);
        assert_ok(pes_study_open(in_folder(name), &study));
        assert_ok(groups_make(study, &groups));
        assert_int_equal(groups.num_series, 2);
        size_t num = 0;
        for (; num < PES_COUNT(cases[i].panels) && cases[i].panels[num]; num++) {
            assert_true(num < groups.num_panels);
            assert_string_equal(groups.panels[num], cases[i].panels[num]);
        }
        assert_int_equal(groups.num_panels, num);
        pes_study_close(study);
    }
}

static void every_column_has_a_meaning(void **state)
{
    (void)state;
    struct pes_study *study = opened();
    struct pes_report_options options = options_for("columns");
    struct pes_report report;
    struct pes_table dictionary, table;
    char path[512];
    options.figures = false;
    assert_ok(pes_report_write(study, &options, &report));
    snprintf(path, sizeof path, "%s/tables/columns.csv", options.folder);
    assert_ok(pes_table_read(path, study->arena, &dictionary));
    for (size_t i = 0; i < PES_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/tables/%s.csv", options.folder, names[i]);
        assert_ok(pes_table_read(path, study->arena, &table));
        for (size_t c = 0; c < table.num_columns; c++) {
            size_t found = 0;
            for (size_t r = 0; r < dictionary.num_rows; r++) {
                char **row = dictionary.cells + 4 * r;
                found += !strcmp(row[0], names[i]) && !strcmp(row[1], table.names[c]) && *row[3];
            }
            if (found != 1) fail_msg("%s.%s is explained %zu times", names[i], table.names[c], found);
        }
    }
    pes_study_close(study);
}

static void the_page_holds_everything_and_loads_nothing(void **state)
{
    (void)state;
    struct pes_study *study = opened();
    struct pes_report_options options = options_for("page");
    struct pes_report report;
    char path[512];
    size_t size;
    options.figures = false;
    assert_ok(pes_report_write(study, &options, &report));
    snprintf(path, sizeof path, "%s/index.html", options.folder);
    char *page = read_text(path, &size);
    assert_int_equal(strlen(page), size);
    assert_non_null(strstr(page, "rope-wins"));
    assert_non_null(strstr(page, pes_decision_name(report.claims[0].verdict.decision)));
    assert_non_null(strstr(page, "2 of 16 trials haven't finished"));
    assert_non_null(strstr(page, "No figures: not asked for"));
    assert_null(strstr(page, "<script src"));
    assert_null(strstr(page, "<link"));
    assert_null(strstr(page, "src=\"http"));
    char *data = strstr(page, "id=\"explorer-data\">");
    if (data) { /* built with D3 */
        data += strlen("id=\"explorer-data\">");
        *strstr(data, "</script>") = '\0';
        json_t *json = json_loads(data, 0, NULL);
        assert_true(json_is_object(json));
        assert_int_equal(json_array_size(json_object_get(json, "trials")), 16);
        assert_int_equal(json_array_size(json_object_get(json, "curves")), 14);
        assert_int_equal(json_array_size(json_object_get(json, "heads")), 14 * 4);
        json_decref(json);
    }
    free(page);
    pes_study_close(study);
}

static void without_gnuplot_the_rest_is_complete(void **state)
{
    (void)state;
    struct pes_study *study = opened();
    struct pes_report_options options = options_for("no-gnuplot");
    struct pes_report report;
    options.gnuplot = "/nonexistent/gnuplot";
    assert_ok(pes_report_write(study, &options, &report));
    assert_non_null(strstr(report.no_figures, "/nonexistent/gnuplot"));
    assert_int_equal(report.num_claims, 2);
    char path[512];
    snprintf(path, sizeof path, "%s/index.html", options.folder);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/tables/summary.tex", options.folder);
    assert_int_equal(access(path, F_OK), 0);
    pes_study_close(study);
}

static void every_figure_is_drawn_or_says_why_not(void **state)
{
    (void)state;
    if (!figure_gnuplot_works("gnuplot")) skip();
    struct pes_study *study = opened();
    struct pes_report_options options = options_for("figures");
    struct pes_report report;
    omp_set_num_threads(3);
    assert_ok(pes_report_write(study, &options, &report));
    assert_int_equal(omp_get_max_threads(), 3); /* what the BLAS is told must not hold for what comes after */
    assert_null(report.no_figures);
    for (size_t i = 0; i < report.num_figures; i++) {
        char path[512];
        size_t size;
        if (report.figures[i].missing) fail_msg("%s: %s", report.figures[i].name, report.figures[i].missing);
        snprintf(path, sizeof path, "%s/figures/%s.svg", options.folder, report.figures[i].name);
        char *picture = read_text(path, &size);
        assert_non_null(strstr(picture, "</svg>"));
        free(picture);
        snprintf(path, sizeof path, "%s/figures/%s.dat", options.folder, report.figures[i].name);
        assert_int_equal(access(path, F_OK), 0);
    }
    pes_study_close(study);
}

/* Several gnuplots are at work at once: what one says belongs to its own figure. */
static void a_figure_that_fails_says_so_alone(void **state)
{
    (void)state;
    static const char script[] = "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\n: > \"${1%.gp}.svg\"\n"
                                 "[ \"$1\" = loss.gp ] || exit 0\nsleep 0.3\necho \"no ink\" >&2\nexit 3\n";
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("gnuplot"));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(script, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    struct pes_study *study = opened();
    struct pes_report_options options = options_for("failing");
    struct pes_report report;
    options.gnuplot = path;
    omp_set_num_threads(3);
    assert_ok(pes_report_write(study, &options, &report));
    size_t failed = 0;
    for (size_t i = 0; i < report.num_figures; i++) {
        const struct pes_report_figure *figure = &report.figures[i];
        if (!figure->missing) continue;
        assert_string_equal(figure->name, "loss");
        assert_non_null(strstr(figure->missing, "loss.gp: gnuplot failed: no ink"));
        failed++;
    }
    assert_int_equal(failed, 1);
    pes_study_close(study);
}

static void texts_cannot_break_out_of_their_files(void **state)
{
    (void)state;
    static const char nasty[] = "a,\"b\" <i>&\n\\'{x}' `id`; system('id')";
    static const char *const columns[] = {"text", "number"};
    struct pes_study *study = opened();
    struct canvas canvas = {.study = study};
    assert_string_equal(figure_quote(&canvas, "it's {x}\n"), "it''s (x) ");
    struct table table;
    struct pes_text html = {0};
    struct tables tables = {.folder = folder, .json = true};
    assert_ok(table_open(&table, &tables, "nasty", columns, 2, &html));
    table_text(&table, nasty);
    table_number(&table, INFINITY);
    table_text(&table, "");
    table_number(&table, NAN);
    assert_ok(table_close(&table));
    struct pes_table back;
    assert_ok(pes_table_read(in_folder("nasty.csv"), study->arena, &back));
    assert_string_equal(back.cells[0], nasty);
    assert_string_equal(back.cells[1], "inf");
    assert_string_equal(back.cells[3], "");
    json_t *json = json_load_file(in_folder("nasty.json"), 0, NULL);
    const json_t *rows = json_object_get(json, "data");
    assert_string_equal(json_string_value(json_array_get(json_array_get(rows, 0), 0)), nasty);
    assert_true(json_is_null(json_array_get(json_array_get(rows, 1), 1)));
    json_decref(json);
    assert_null(strstr(pes_text_get(&html), "<i>"));
    pes_text_destroy(&html);
    pes_study_close(study);
}

static void a_folder_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    struct pes_study *study = opened();
    struct pes_report_options options = options_for("report.h5"); /* a file */
    struct pes_report report;
    assert_int_equal(pes_report_write(study, &options, &report), PES_IO);
    assert_non_null(strstr(pes_error_message(), "report.h5"));
    pes_study_close(study);
}

static void groups_of_a_table_are_compared(void **state)
{
    (void)state;
    static const char text[] = "model,scheme,score,measure\n"
                               "m1,a,3,0.1\nm1,a,2,0.3\nm1,a,1,0.2\n"
                               "m2,b,1,0.2\nm2,b,9,0.9\nm2,b,5,\n"
                               "m3,b,1,0.5\nm3,b,2,0.4\nm3,b,3,0.6\n";
    struct pes_arena *arena = pes_arena_create();
    struct pes_table table;
    struct pes_table_report report;
    struct pes_table_options options = {.value = "measure",
                                        .group = "scheme",
                                        .within = "model",
                                        .by = "score",
                                        .top = 1,
                                        .resampling = {0, 100, 0.95, false, NULL}};
    assert_ok(pes_table_parse("t.csv", text, strlen(text), arena, &table));
    assert_ok(pes_table_compare(&table, &options, arena, &report));
    assert_int_equal(report.num_groups, 2);
    assert_near(report.groups[0].values[0], 1.0 / 3, 1e-15); /* 0.1 is the least of three */
    assert_near(report.groups[1].values[0], 1, 1e-15);
    assert_string_equal(report.groups[1].units[1], "m3");
    assert_near(report.pairs[0].permutation_less.p, 1.0 / 3, 1e-15);
    options.within = options.by = NULL;
    assert_ok(pes_table_compare(&table, &options, arena, &report));
    assert_int_equal(report.groups[0].n, 3);
    assert_int_equal(report.groups[1].n, 5);
    assert_int_equal(report.num_missing, 1);
    assert_near(report.groups[0].mean, 0.2, 1e-15);
    options.group = "scheme,model";
    options.one = "b m3";
    assert_ok(pes_table_compare(&table, &options, arena, &report));
    assert_int_equal(report.num_groups, 2);
    options.one = "b m4";
    assert_int_equal(pes_table_compare(&table, &options, arena, &report), PES_INPUT);
    options.group = "shceme";
    assert_int_equal(pes_table_compare(&table, &options, arena, &report), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "scheme"));
    pes_arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_read_back_as_csv_and_json),
        cmocka_unit_test(an_axis_that_follows_the_series_makes_no_panels),
        cmocka_unit_test(every_column_has_a_meaning),
        cmocka_unit_test(the_page_holds_everything_and_loads_nothing),
        cmocka_unit_test(without_gnuplot_the_rest_is_complete),
        cmocka_unit_test(every_figure_is_drawn_or_says_why_not),
        cmocka_unit_test(a_figure_that_fails_says_so_alone),
        cmocka_unit_test(texts_cannot_break_out_of_their_files),
        cmocka_unit_test(a_folder_that_cannot_be_written_is_an_error),
        cmocka_unit_test(groups_of_a_table_are_compared),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
