/* test_pretrained_forward.c - the forward pass against the libraries' own logits, and what behaviours and
 * interventions must be. */
#include "pretrained_edit.h"

#include <math.h>

static void check_logits(const char *name)
{
    char path[512];
    struct pes_pretrained *model;
    struct pes_weights *expected;
    struct pes_arena *arena = pes_arena_create();
    must(pes_pretrained_open(fixture_path(name, "", path), 0, &model));
    must(pes_weights_open(fixture_path(name, "expected.safetensors", path), &expected));
    size_t T = 0, V;
    const double *numbers = expected_values(expected, arena, "tokens", -1, &T);
    const double *wanted = expected_values(expected, arena, "logits", -1, NULL);
    int32_t tokens[64];
    assert_true(T > 1 && T <= 64);
    for (size_t i = 0; i < T; i++)
        tokens[i] = (int32_t)numbers[i];
    double *logits;
    must(pes_pretrained_logits(model, T, tokens, arena, &V, &logits));
    assert_int_equal(V, 32);
    for (size_t i = 0; i < T * V; i++)
        if (!(fabs(logits[i] - wanted[i]) < 1e-5 * fmax(1, fabs(wanted[i]))))
            fail_msg("%s token %zu logit %zu: %.9g, not %.9g", name, i / V, i % V, logits[i], wanted[i]);
    pes_weights_close(expected);
    pes_pretrained_close(model);
    pes_arena_destroy(arena);
}

static const char *const with_forward_pass[] = {"gpt2-lm", "gpt-neo", "pythia",          "bloom",
                                                "opt",     "llama",   "llama-bias-yarn", "llama-linear",
                                                "mistral", "qwen2"};

static void logits_are_those_of_the_library_that_made_the_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < PES_COUNT(with_forward_pass); i++)
        check_logits(with_forward_pass[i]);
}

static void architectures_without_a_forward_pass_say_so(void **state)
{
    (void)state;
    static const char *const names[] = {"bert", "t5", "opt-post", "qwen3", "deepseek-v3"};
    for (size_t i = 0; i < PES_COUNT(names); i++) {
        char path[512];
        struct pes_pretrained *model;
        struct pes_arena *arena = pes_arena_create();
        size_t V;
        double *logits;
        must(pes_pretrained_open(fixture_path(names[i], "", path), 0, &model));
        assert_int_equal(pes_pretrained_logits(model, 2, (const int32_t[]){2, 3}, arena, &V, &logits),
                         PES_INPUT);
        assert_non_null(strstr(pes_error_message(), "no forward pass"));
        pes_pretrained_close(model);
        pes_arena_destroy(arena);
    }
}

struct measured {
    struct pes_pretrained *model;
    struct pes_arena *arena;
    struct pes_row row;
};

static struct measured measure(const char *path, const struct pes_behaviour *behaviour)
{
    struct measured m = {.arena = pes_arena_create()};
    const struct pes_inspection inspection = {.folded = true};
    struct pes_layout *layout;
    must(pes_pretrained_open(path, 0, &m.model));
    must(pes_inspect_layout((const struct pes_pretrained *const[]){m.model}, 1, &inspection,
                            pes_intervention_variables, m.arena, &layout));
    m.row = (struct pes_row){layout, pes_arena_take(m.arena, layout->row_bytes, 1)};
    pes_row_clear(&m.row);
    must(pes_behaviour_run(m.model, behaviour, &m.row));
    return m;
}

static void release(struct measured *m)
{
    pes_pretrained_close(m->model);
    pes_arena_destroy(m->arena);
}

static double value_of(const struct measured *m, const char *group, const char *name, size_t layer,
                       size_t head, size_t part)
{
    return pes_row_get(&m->row, group, name, (const size_t[]){layer, head, part});
}

static void scores_are_shares_of_attention_and_changes_have_effects(void **state)
{
    (void)state;
    const struct pes_behaviour behaviour = {.sequences = 3, .segment = 6, .seed = 5, .intervene = true};
    struct measured llama = measure(FIXTURES "/llama", &behaviour),
                    bloom = measure(FIXTURES "/bloom", &behaviour);
    for (size_t layer = 0; layer < 2; layer++)
        for (size_t h = 0; h < 4; h++) {
            double sum = 0;
            static const char *const names[] = {"previous_token_score", "duplicate_token_score",
                                                "induction_score"};
            for (size_t k = 0; k < 3; k++) {
                double score = value_of(&llama, "behaviours", names[k], layer, h, 0);
                assert_true(score > 0 && score < 1);
                sum += score;
            }
            assert_true(sum < 1);
            assert_true(fabs(value_of(&llama, "probes", "phase_zeroing_loss_change", layer, h, 0)) > 1e-6);
            for (size_t part = 0; part < 2; part++)
                assert_true(fabs(value_of(&llama, "probes", "symmetrisation_loss_change", layer, h, part)) >
                            1e-6);
        }
    double loss = pes_row_get(&llama.row, "behaviours", "induction_loss", NULL);
    assert_true(loss > 0 && loss < 100);
    /* Nothing rotates in BLOOM, so nothing is zeroed; ALiBi favours the token before over those further back.
     */
    for (size_t h = 0; h < 3; h++)
        assert_true(isnan(value_of(&bloom, "probes", "phase_zeroing_loss_change", 1, h, 0)));
    release(&llama);
    release(&bloom);
}

/* By make_behaviour.py, which changes scores where the library takes its softmax. */
static void check_behaviour(const char *name)
{
    static const struct {
        const char *expected, *group, *name;
        size_t part;
        double tolerance;
    } compared[] = {
        {"previous_token_score", "behaviours", "previous_token_score", 0, 1e-6},
        {"duplicate_token_score", "behaviours", "duplicate_token_score", 0, 1e-6},
        {"induction_score", "behaviours", "induction_score", 0, 1e-6},
        {"phase_zeroing", "probes", "phase_zeroing_loss_change", 0, 1e-5},
        {"symmetric", "probes", "symmetrisation_loss_change", 0, 1e-5},
        {"antisymmetric", "probes", "symmetrisation_loss_change", 1, 1e-5},
    };
    const struct pes_behaviour behaviour = {.sequences = 3, .segment = 6, .seed = 5, .intervene = true};
    char path[512];
    struct pes_weights *expected;
    struct measured m = measure(fixture_path(name, "", path), &behaviour);
    must(pes_weights_open(fixture_path(name, "behaviour.safetensors", path), &expected));
    const double *loss = expected_values(expected, m.arena, "induction_loss", -1, NULL);
    assert_non_null(loss);
    assert_true(fabs(pes_row_get(&m.row, "behaviours", "induction_loss", NULL) - loss[0]) < 1e-5 * loss[0]);
    size_t H = (size_t)pes_pretrained_about(m.model)->H;
    for (size_t c = 0; c < PES_COUNT(compared); c++) {
        size_t count = 2 * H;
        const double *right = expected_values(expected, m.arena, compared[c].expected, -1, &count);
        assert_int_equal(count, 2 * H);
        for (size_t i = 0; i < count; i++) {
            double value = value_of(&m, compared[c].group, compared[c].name, i / H, i % H, compared[c].part);
            bool same = right ? fabs(value - right[i]) < compared[c].tolerance * fmax(1, fabs(right[i]))
                              : isnan(value);
            if (!same)
                fail_msg("%s layer %zu head %zu %s: %.9g, not %.9g", name, i / H, i % H, compared[c].expected,
                         value, right ? right[i] : NAN);
        }
    }
    pes_weights_close(expected);
    release(&m);
}

static void behaviours_and_changes_of_heads_are_those_of_the_library(void **state)
{
    (void)state;
    for (size_t i = 0; i < PES_COUNT(with_forward_pass); i++)
        check_behaviour(with_forward_pass[i]);
}

/* The queries' matrix of the same layer; a tensor's own bytes are changed in `edited`. */
static const unsigned char *queries;
static unsigned char edited[4][8192];
static size_t num_edited;

static const unsigned char *matrix_of(const char *name)
{
    static struct pes_weights *weights;
    if (!weights) must(pes_weights_open(FIXTURES "/llama-linear", &weights));
    const struct pes_weight *found = pes_weights_find(weights, name);
    assert_non_null(found);
    return found->data;
}

static bool with_symmetric_heads(struct copied *tensor)
{
    char *at = strstr(tensor->name, "k_proj");
    if (!at) return true;
    char name[160];
    snprintf(name, sizeof name, "%s", tensor->name);
    name[at - tensor->name] = 'q';
    queries = matrix_of(name);
    tensor->data = queries;
    return true;
}

/* W_k = W_q makes M symmetric: its symmetric part is all of it, and phases still count. */
static void a_symmetric_head_loses_nothing_with_its_antisymmetric_part(void **state)
{
    (void)state;
    const struct pes_behaviour behaviour = {.sequences = 2, .segment = 6, .intervene = true};
    copy_config("llama-linear", "{}");
    copy_weights("llama-linear", "model.safetensors", with_symmetric_heads);
    struct measured m = measure(folder, &behaviour);
    for (size_t layer = 0; layer < 2; layer++)
        for (size_t h = 0; h < 4; h++) {
            assert_true(fabs(value_of(&m, "probes", "symmetrisation_loss_change", layer, h, 0)) < 1e-10);
            assert_true(fabs(value_of(&m, "probes", "symmetrisation_loss_change", layer, h, 1)) > 1e-4);
        }
    release(&m);
}

/* Rows of the second half of every head, the b of its pairs, are 0 on both sides: Im M_t = 0. */
static bool without_phases(struct copied *tensor)
{
    if (!strstr(tensor->name, "q_proj") && !strstr(tensor->name, "k_proj")) return true;
    unsigned char *bytes = edited[num_edited++];
    memcpy(bytes, tensor->data, tensor->bytes);
    for (size_t row = 0; row < tensor->shape[0]; row++)
        if (row % 6 >= 3) memset(bytes + row * tensor->shape[1] * 4, 0, tensor->shape[1] * 4);
    tensor->data = bytes;
    return true;
}

static void a_head_without_phases_loses_nothing_by_their_zeroing(void **state)
{
    (void)state;
    const struct pes_behaviour behaviour = {.sequences = 2, .segment = 6, .intervene = true};
    copy_config("llama-linear", "{}");
    copy_weights("llama-linear", "model.safetensors", without_phases);
    assert_int_equal(num_edited, 4);
    struct measured m = measure(folder, &behaviour);
    for (size_t layer = 0; layer < 2; layer++)
        for (size_t h = 0; h < 4; h++) {
            assert_true(fabs(value_of(&m, "probes", "phase_zeroing_loss_change", layer, h, 0)) < 1e-10);
            assert_true(fabs(value_of(&m, "probes", "symmetrisation_loss_change", layer, h, 0)) > 1e-5);
        }
    release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_those_of_the_library_that_made_the_model),
        cmocka_unit_test(architectures_without_a_forward_pass_say_so),
        cmocka_unit_test(behaviours_and_changes_of_heads_are_those_of_the_library),
        cmocka_unit_test(scores_are_shares_of_attention_and_changes_have_effects),
        cmocka_unit_test_setup_teardown(a_symmetric_head_loses_nothing_with_its_antisymmetric_part,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_head_without_phases_loses_nothing_by_their_zeroing, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
