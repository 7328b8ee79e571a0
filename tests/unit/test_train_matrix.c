/* test_train_matrix.c - every scheme under every constraint on every task that it fits: 200 steps of a tiny
 * model, whose test loss must fall by the amount stated with the task.
 *
 *   test_train_matrix        one constraint of each scheme and task, in turn
 *   test_train_matrix all    all of them
 *
 * The amounts are about half of what the weakest cell of a task gave when they were chosen: marks of training
 * that works, not of what a scheme can do.  Cells that don't fit are refused when the sweep is read. */
#include "train_fixture.h"

struct task {
    const char *text, *name;
    bool lm;
    double fall; /* nats, from step 0 to the end, over scored labels */
};

static const struct task tasks[] = {
    {"{kind: relative_distance, vocab: 10, between: 4, side: 2, samples: 400}", "relative_distance", false,
     0.25},
    {"{kind: count, vocab: 12, triggers: 4, words: 10, count: 6, samples: 400}", "count", false, 0.45},
    {"{kind: random_map, vocab: 4, length: 16, test_samples: 64}", "random_map", true, 0.35},
    {"{kind: induction, vocab: 8, length: 16, period: 6, period_min: 3, test_samples: 64}", "induction", true,
     0.2},
    {"{kind: associative_recall, vocab: 16, length: 16, pairs: 2, test_samples: 64}", "associative_recall",
     true, 0.5},
    {"{kind: copy, vocab: 8, words: 6, test_samples: 64}", "copy", true, 0.45},
    {"{kind: reverse, vocab: 8, words: 6, test_samples: 64}", "reverse", true, 0.45},
    {"{kind: text, path: " PES_SOURCE_DIR "/LICENSE, length: 16, test_fraction: 0.3, test_samples: 64}",
     "text", true, 1.2},
};

static bool everything;

/* Settings of a cell beside scheme and constraint; `causal` where the task or the scheme asks for it. */
static struct pes_sweep *read_cell(const struct task *task, const char *model, bool causal)
{
    char text[1024];
    struct pes_sweep *sweep = NULL;
    snprintf(text, sizeof text,
             "name: cell\ntask: %s\n"
             "model: {layers: 2, d_model: 16, heads: 2, d_ff: 16, causal: %s, %s}\n"
             "train: {steps: 200, batch: 16, lr: 5e-3}\n"
             "measure: {spectra: false, behaviours: false, ablate_heads: false, phase_zeroing: false,\n"
             "          symmetrisation: false, attention_maps: 0, contraction_sequences: 0, checkpoints: 2,\n"
             "          evaluate_every: 200}\nstore: {weights: none}\n",
             task->text, causal ? "true" : "false", model);
    return pes_sweep_parse("cell.yaml", text, strlen(text), &sweep) == PES_OK ? sweep : NULL;
}

static double fall_of(struct pes_sweep *sweep)
{
    struct fixture f = {.sweep = sweep, .arena = pes_arena_create()};
    struct pes_train_result result;
    assert_non_null(f.arena);
    assert_int_equal(pes_train_layout(sweep, f.arena, &f.layout), PES_OK);
    struct pes_row row = fixture_row(&f);
    assert_int_equal(train_with(&f, 0, NULL, &row, &result), PES_OK);
    assert_int_equal(result.outcome, PES_OUTCOME_DONE);
    double before = get_at(&row, "curves", "test_scored_loss", 0);
    double after = get_at(&row, "curves", "test_scored_loss", 1);
    fixture_close(&f);
    return before - after;
}

static bool needs_causal(const struct task *task, const char *pe)
{
    return task->lm || strcmp(pe, "xpos") == 0;
}

static void check_cell(const struct task *task, const char *model, const char *pe, double *least)
{
    struct pes_sweep *sweep = read_cell(task, model, needs_causal(task, pe));
    if (!sweep) fail_msg("%s on %s: %s", model, task->name, pes_error_message());
    double fall = fall_of(sweep);
    if (fall < *least) *least = fall;
    if (!(fall >= task->fall))
        fail_msg("%s on %s: the loss fell by %.3f nats, not %.3f", model, task->name, fall, task->fall);
}

/* The sweep isn't accepted, and the message has these words. */
static void check_refused(const struct task *task, const char *model, bool causal, const char *words)
{
    struct pes_sweep *sweep = read_cell(task, model, causal);
    if (sweep) fail_msg("%s on %s is accepted", model, task->name);
    if (!strstr(pes_error_message(), words)) fail_msg("%s on %s: %s", model, task->name, pes_error_message());
}

static void schemes_under_constraints(void **unused)
{
    (void)unused;
    pes_blas_set_threads(1);
    for (size_t t = 0; t < PES_COUNT(tasks); t++) {
        double least = INFINITY;
        for (size_t p = 0; pes_position_names[p]; p++)
            for (size_t s = 0; pes_symmetry_names[s]; s++) {
                if (!everything && (p + t) % 4 != s) continue;
                char model[128];
                snprintf(model, sizeof model, "pe: %s, symmetry: %s", pes_position_names[p],
                         pes_symmetry_names[s]);
                check_cell(&tasks[t], model, pes_position_names[p], &least);
            }
        print_message("%-20s the loss falls by %.3f nats or more\n", tasks[t].name, least);
    }
}

static void latent_attention_values_and_penalties(void **unused)
{
    (void)unused;
    static const char *const variants[] = {"symmetry: none, attention: mla, d_latent: 6, d_rope: 4",
                                           "value_symmetry: psd",
                                           "value_symmetry: symmetric",
                                           "value_symmetry: antisymmetric",
                                           "penalty: {kind: symmetry, weight: 1}",
                                           "penalty: {kind: antisymmetry, weight: 1}",
                                           "penalty: {kind: phase, weight: 1}"};
    for (size_t t = 0; t < PES_COUNT(tasks); t++)
        for (size_t p = 0; pes_position_names[p]; p++)
            for (size_t v = 0; v < PES_COUNT(variants); v++) {
                bool chosen = v == 0 || strcmp(pes_position_names[p], "rope") == 0;
                if (!chosen || (!everything && (p + v + t) % 5)) continue;
                double least = INFINITY;
                char model[160];
                bool rotary =
                    strcmp(pes_position_names[p], "rope") == 0 || strcmp(pes_position_names[p], "xpos") == 0;
                snprintf(model, sizeof model, "pe: %s, %s", pes_position_names[p],
                         v || rotary ? variants[v] : "attention: mla, d_latent: 6");
                check_cell(&tasks[t], model, pes_position_names[p], &least);
            }
}

static void what_does_not_fit_is_refused_in_words(void **unused)
{
    (void)unused;
    for (size_t t = 0; t < PES_COUNT(tasks); t++) {
        if (tasks[t].lm) check_refused(&tasks[t], "pe: rope", false, "model.causal must be true");
        check_refused(&tasks[t], "pe: xpos", false, "causal");
        for (size_t s = 1; pes_symmetry_names[s]; s++) {
            char model[128];
            snprintf(model, sizeof model, "pe: rope, attention: mla, d_rope: 4, symmetry: %s",
                     pes_symmetry_names[s]);
            check_refused(&tasks[t], model, true, "no meaning with attention mla");
            snprintf(model, sizeof model, "pe: rope, attention: mla, d_rope: 4, value_symmetry: %s",
                     pes_symmetry_names[s]);
            check_refused(&tasks[t], model, true, "no meaning with attention mla");
        }
        check_refused(&tasks[t], "pe: rope, attention: mla, d_rope: 4, penalty: {kind: symmetry}", true,
                      "no meaning with attention mla");
        check_refused(&tasks[t], "pe: rope, attention: mla, d_rope: 4, pe_heads: [0]", true, "pe_heads");
        check_refused(&tasks[t], "pe: learned, pe_heads: [0]", true, "pe_heads");
        check_refused(&tasks[t], "pe: alibi, attention: mla, published_rotation: true", true,
                      "published_rotation");
    }
}

int main(int argc, char **argv)
{
    everything = argc > 1 && strcmp(argv[1], "all") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_under_constraints),
        cmocka_unit_test(latent_attention_values_and_penalties),
        cmocka_unit_test(what_does_not_fit_is_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
