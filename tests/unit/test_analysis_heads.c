/* A file of heads as the analysis sees it: models, their steps, the statistic over models. */
#include "analysis_fixture.h"

#include <sys/stat.h>

#include "pesweep/heads.h"
#include "pesweep/report.h"

enum { L = 2, H = 6 };

/* clang-format off */
static const struct pes_variable variables[] = {
    {"spectra", "phase_fraction", PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", "made up"},
    {"spectra_folded", "phase_fraction", PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", "made up"},
    {"spectra_folded", "rotational_fraction", PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", "made up"},
    {"spectra_folded", "eigenvalues", PES_F64, 4, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_MODE, PES_DIM_RE_IM}, "", "made up"},
    {"behaviours", "previous_token_score", PES_F64, 2, {PES_DIM_LAYER, PES_DIM_HEAD}, "", "made up"},
    {"behaviours", "induction_loss", PES_F64, 0, {0}, "nat", "made up"},
    {.name = NULL},
};
/* clang-format on */

struct made {
    struct pes_heads heads;
    struct pes_heads_model models[7];
    struct pes_arena *arena;
};

/* Heads of every model have rotational fractions 1/12, 2/12, ... in order; head `best` has the largest
 * previous-token score, the others follow cyclically. */
static struct made make(size_t num, const char *const *schemes, const int *best)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    struct made made = {.arena = pes_arena_create()};
    struct pes_layout *layout;
    size_t size[PES_NUM_DIMENSIONS] = {
        [PES_DIM_LAYER] = L, [PES_DIM_HEAD] = H, [PES_DIM_MODE] = 1, [PES_DIM_RE_IM] = 2};
    assert_non_null(made.arena);
    assert_ok(
        pes_layout_create(size, (const struct pes_variable *const[]){variables}, 1, made.arena, &layout));
    unsigned char *rows = pes_arena_take(made.arena, num, layout->row_bytes);
    assert_non_null(rows);
    for (size_t m = 0; m < num; m++) {
        struct pes_row row = {layout, rows + m * layout->row_bytes};
        pes_row_clear(&row);
        made.models[m] = (struct pes_heads_model){.label = names[m],
                                                  .path = "somewhere",
                                                  .architecture = "made up",
                                                  .scheme = schemes[m],
                                                  .notes = "",
                                                  .name = names[m],
                                                  .layers = L,
                                                  .heads = H,
                                                  .key_heads = 3,
                                                  .width = 24,
                                                  .causal = true,
                                                  .step = NAN};
        pes_row_put(&row, "behaviours", "induction_loss", NULL, (double)m);
        for (size_t i = 0; i < L * H; i++) {
            const size_t at[] = {i / H, i % H, 0, 0};
            int after = ((int)i - best[m] + L * H) % (L * H);
            pes_row_put(&row, "spectra_folded", "rotational_fraction", at, (double)(i + 1) / 12);
            pes_row_put(&row, "behaviours", "previous_token_score", at, 1.0 / (1 + after));
        }
    }
    made.heads = (struct pes_heads){.num_models = num, .layout = layout, .rows = rows, .settings = "{}"};
    return made;
}

static struct pes_study *opened(struct made *made, const char *path)
{
    struct pes_study *study;
    made->heads.models = made->models;
    assert_ok(pes_heads_write(path, &made->heads));
    assert_true(pes_heads_found(path));
    assert_ok(pes_study_open(path, &study));
    return study;
}

static void put(struct made *made, size_t model, const char *group, const char *name, size_t head, double x)
{
    const struct pes_layout *layout = made->heads.layout;
    unsigned char *rows = (unsigned char *)(uintptr_t)made->heads.rows;
    pes_row_put(&(struct pes_row){layout, rows + model * layout->row_bytes}, group, name,
                (size_t[]){head / H, head % H}, x);
}

static const double *column(struct pes_study *study, const char *group, const char *name, size_t trial)
{
    const struct pes_column *values;
    assert_ok(pes_study_column(study, group, name, &values));
    assert_non_null(values);
    return pes_column_of(values, trial);
}

static void models_are_trials_with_their_scheme_as_main_axis(void **state)
{
    (void)state;
    struct made made = make(2, (const char *const[]){"rope", "learned"}, (const int[]){3, 4});
    struct pes_study *study = opened(&made, in_folder("two.h5"));
    assert_int_equal(study->num_trials, 2);
    assert_int_equal(study->num_outcomes[PES_OUTCOME_DONE], 2);
    assert_string_equal(study->sweep->name, "two.h5");
    assert_string_equal(pes_study_axis_text(study, 1, 0), "b");
    assert_string_equal(pes_study_axis_text(study, 1, 1), "learned");
    assert_string_equal(study->sweep->axes[1].path, "model.pe");
    assert_true(column(study, "spectra_folded", "rotational_fraction", 1)[5] == 0.5);
    assert_true(column(study, "probes", "previous_token_score", 0)[3] == 1);
    assert_true(*column(study, "probes", "induction_loss", 1) == 1);
    assert_int_equal(study->heads->models[0].key_heads, 3);
    assert_true(study->heads->models[0].causal);
    assert_false(study->heads->models[0].inner_norm);
    assert_null(pes_layout_find(study->layout, "curves", "previous_token_score"));
    pes_study_close(study);
    pes_arena_destroy(made.arena);
}

/* Steps stand in the file as they come; the score of head 2 rises from 0.1 to 0.7, half of it between steps
 * 100 and 200 at 150; its folded phase fraction from 0.2 to 0.6, half at 300 + 100 (0.4 - 0.3)/(0.6 - 0.3).
 */
static void steps_of_a_model_are_its_checkpoints_and_have_onsets_and_lags(void **state)
{
    (void)state;
    static const double steps[] = {400, 0, 200, 100, 600, 500, 300};
    static const double score[] = {0.7, 0.1, 0.6, 0.2, 0.7, 0.7, 0.7},
                        phase[] = {0.6, 0.2, 0.2, 0.2, 0.6, 0.6, 0.3};
    static const char *const schemes[] = {"rope", "rope", "rope", "rope", "rope", "rope", "rope"};
    struct made made = make(7, schemes, (const int[]){0, 0, 0, 0, 0, 0, 0});
    for (size_t m = 0; m < 7; m++) {
        made.models[m].name = "same";
        made.models[m].step = steps[m];
        put(&made, m, "behaviours", "previous_token_score", 2, score[m]);
        put(&made, m, "spectra_folded", "phase_fraction", 2, phase[m]);
        put(&made, m, "spectra", "phase_fraction", 2, 0.1);
    }
    struct pes_study *study = opened(&made, in_folder("steps.h5"));
    assert_int_equal(study->num_trials, 1);
    assert_true(*column(study, "probes", "induction_loss", 0) == 4); /* row of step 600 */
    for (size_t c = 0; c < 7; c++)
        assert_true(column(study, "curves", "checkpoint_step", 0)[c] == 100.0 * (double)c);
    assert_true(column(study, "curves", "previous_token_score", 0)[1 * L * H + 2] == 0.2);
    assert_true(column(study, "curves", "folded_phase_fraction", 0)[3 * L * H + 2] == 0.3);
    assert_near(column(study, "probes", "onset_previous_token_score", 0)[2], 150, 1e-12);
    assert_near(column(study, "probes", "onset_folded_phase_fraction", 0)[2], 300 + 100.0 / 3, 1e-12);
    assert_near(column(study, "probes", "lag_folded_phase_fraction_behind_previous_token_score", 0)[2],
                150 + 100.0 / 3, 1e-12);
    assert_true(isnan(column(study, "probes", "onset_phase_fraction", 0)[2])); /* it doesn't change */
    pes_study_close(study);
    pes_arena_destroy(made.arena);
}

static void models_of_one_name_but_another_shape_or_without_steps_stay_apart(void **state)
{
    (void)state;
    static const char *const schemes[] = {"rope", "rope", "alibi", "rope"};
    struct made made = make(4, schemes, (const int[]){0, 0, 0, 0});
    for (size_t m = 0; m < 4; m++) {
        made.models[m].name = "same";
        made.models[m].step = (double)m;
    }
    made.models[1].layers = 1;
    made.models[3].step = NAN;
    struct pes_study *study = opened(&made, in_folder("apart.h5"));
    assert_int_equal(study->num_trials, 4);
    pes_study_close(study);
    pes_arena_destroy(made.arena);
}

/* Three of seven models can be chosen in 35 ways, of which perfect separation is one. */
static void a_report_of_seven_models_holds_the_exact_test_and_the_tables(void **state)
{
    (void)state;
    static const char *const schemes[] = {"learned", "rope", "alibi", "rope", "learned", "learned", "rope"};
    struct made made = make(7, schemes, (const int[]){0, 11, 1, 9, 2, 3, 10});
    struct pes_study *study = opened(&made, in_folder("seven.h5"));
    struct pes_report_options options = PES_REPORT_OPTIONS_DEFAULT;
    struct pes_report report;
    options.folder = in_folder("report");
    options.figures = false;
    options.json = true;
    options.resampling.resamples = 200;
    assert_int_equal(mkdir(options.folder, 0777), 0);
    assert_ok(pes_report_write(study, &options, &report));
    assert_true(report.num_rotations >= 1);
    assert_string_equal(report.rotations[0].measure, "rotational_fraction");
    const struct pes_rotation_claim *claim = &report.rotations[0].claim;
    assert_int_equal(claim->num_k, 4);
    assert_int_equal(claim->tests[0].num_rotary, 3);
    assert_int_equal(claim->tests[0].num_other, 4);
    assert_near(claim->tests[0].p, 1 / 35.0, 1e-12);
    assert_near(claim->tests[0].rotary, (12 + 10 + 11) / 36.0, 1e-12);
    static const char *const files[] = {
        "index.html",          "tables/models.csv",  "tables/heads.csv",      "tables/heads.json",
        "tables/rotation.csv", "tables/summary.tex", "tables/percentiles.csv"};
    for (size_t i = 0; i < PES_COUNT(files); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", options.folder, files[i]);
        assert_int_equal(access(path, R_OK), 0);
    }
    pes_study_close(study);
    pes_arena_destroy(made.arena);
}

static void a_damaged_file_of_heads_is_refused_with_its_name(void **state)
{
    (void)state;
    struct made made = make(1, (const char *const[]){"rope"}, (const int[]){0});
    const char *path = in_folder("cut.h5");
    struct pes_study *study = opened(&made, path);
    pes_study_close(study);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(truncate(path, facts.st_size / 2), 0);
    assert_int_equal(pes_study_open(path, &study), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), "cut.h5"));
    pes_arena_destroy(made.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_trials_with_their_scheme_as_main_axis),
        cmocka_unit_test(steps_of_a_model_are_its_checkpoints_and_have_onsets_and_lags),
        cmocka_unit_test(models_of_one_name_but_another_shape_or_without_steps_stay_apart),
        cmocka_unit_test(a_report_of_seven_models_holds_the_exact_test_and_the_tables),
        cmocka_unit_test(a_damaged_file_of_heads_is_refused_with_its_name),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
