/* test_train_probes.c - probes against their definitions, worked out slowly from every head's own attention
 * and from one whole pass per intervention. */
#include "train_trained.h"

#include "pesweep/spectrum.h"

/* --- attention
 * ---------------------------------------------------------------------------------------------------- */

struct seen {
    const struct trained *t;
    double *probabilities, *scores,
        *content; /* [sequence][layer][head][T][T]; content NaN where not defined */
};

static size_t place(const struct trained *t, int s, int l, int h)
{
    return (((size_t)s * (size_t)t->L + (size_t)l) * (size_t)t->H + (size_t)h) * (size_t)(t->T * t->T);
}

static void watch(void *context, const struct pes_observation *o)
{
    struct seen *seen = context;
    size_t at = place(seen->t, (int)o->sequence, o->layer, o->head), count = (size_t)(o->T * o->T);
    for (size_t i = 0; i < count; i++) {
        seen->probabilities[at + i] = (double)o->probabilities[i];
        seen->scores[at + i] = (double)o->scores[i];
        seen->content[at + i] = o->content_scores ? (double)o->content_scores[i] : NAN;
    }
}

static struct seen look(const struct trained *t)
{
    size_t count = place(t, t->sequences, 0, 0);
    struct seen seen = {.t = t,
                        .probabilities = pes_arena_take(t->f.arena, count, sizeof(double)),
                        .scores = pes_arena_take(t->f.arena, count, sizeof(double)),
                        .content = pes_arena_take(t->f.arena, count, sizeof(double))};
    assert_true(seen.probabilities && seen.scores && seen.content);
    struct pes_observer observer = {&seen, true, true, true, watch};
    struct pes_pass pass = {.observer = &observer};
    struct pes_loss loss = {0};
    pes_model_prepare(t->model, t->workspace, t->parameters, NULL);
    pes_model_run(t->model, t->workspace, &t->batch, &pass, &loss);
    return seen;
}

static int length_of(const struct trained *t, int s)
{
    int n = 0;
    while (n < t->T && (!t->batch.mask || t->batch.mask[s * t->T + n]))
        n++;
    return n;
}

/* The definitions, one query and key at a time. */
static void check_behaviours(const struct trained *t, const struct seen *seen, int from, bool labelled)
{
    bool causal = t->model_config.shape.causal;
    for (int l = 0; l < t->L; l++)
        for (int h = 0; h < t->H; h++) {
            double previous = 0, excess = 0, next = 0, induction = 0, duplicate = 0, first = 0, entropy = 0,
                   distance = 0;
            double queries = 0, with_next = 0;
            for (int s = 0; s < t->sequences; s++) {
                const int32_t *x = t->batch.ids + s * t->T;
                int n = length_of(t, s);
                for (int i = PES_MAX(1, from); i < n; i++) {
                    if (labelled && t->batch.labels[s * t->T + i] < 0) continue;
                    const double *p = seen->probabilities + place(t, s, l, h) + (size_t)(i * t->T);
                    int visible = causal ? i + 1 : t->model_config.pad == PES_PAD_MASK ? n : t->T;
                    queries++;
                    previous += p[i - 1];
                    excess += p[i - 1] - 1.0 / visible;
                    if (!causal && i + 1 < n) next += p[i + 1], with_next++;
                    first += p[0];
                    for (int j = 0; j < t->T; j++) {
                        if (j < i && x[j] == x[i]) duplicate += p[j];
                        if (j < i && j >= 1 && x[j - 1] == x[i]) induction += p[j];
                        if (p[j] > 0) entropy -= p[j] * log(p[j]);
                        distance += p[j] * fabs((double)(i - j));
                    }
                }
            }
            assert_true(queries > 10);
            const size_t at[] = {(size_t)l, (size_t)h};
            assert_close(pes_row_get(&t->row, "probes", "previous_token_score", at), previous / queries,
                         1e-5);
            assert_close(pes_row_get(&t->row, "probes", "previous_token_excess", at), excess / queries, 1e-5);
            assert_close(pes_row_get(&t->row, "probes", "next_token_score", at),
                         causal ? NAN : next / with_next, 1e-5);
            assert_close(pes_row_get(&t->row, "probes", "induction_score", at), induction / queries, 1e-5);
            assert_close(pes_row_get(&t->row, "probes", "duplicate_token_score", at), duplicate / queries,
                         1e-5);
            assert_close(pes_row_get(&t->row, "probes", "first_token_score", at), first / queries, 1e-5);
            assert_close(pes_row_get(&t->row, "probes", "attention_entropy", at), entropy / queries, 1e-4);
            assert_close(pes_row_get(&t->row, "probes", "attention_distance", at), distance / queries, 1e-4);
            /* The last checkpoint saw the same weights and the same sequences. */
            assert_close(
                pes_row_get(&t->row, "curves", "induction_score", (size_t[]){2, (size_t)l, (size_t)h}),
                induction / queries, 1e-5);
        }
}

static void check_maps(const struct trained *t, const struct seen *seen, int from)
{
    for (int l = 0; l < t->L; l++)
        for (int h = 0; h < t->H; h++) {
            double kernel[9] = {0}, kernel_count[9] = {0};
            for (int i = 0; i < t->T; i++)
                for (int j = 0; j < t->T; j++) {
                    double map = 0, scores = 0, count = t->sequences;
                    for (int s = 0; s < t->sequences; s++) {
                        size_t at = place(t, s, l, h) + (size_t)(i * t->T + j);
                        map += seen->probabilities[at], scores += seen->scores[at];
                        if (i >= from && j <= i && i - j <= 8)
                            kernel[8 - (i - j)] += seen->scores[at], kernel_count[8 - (i - j)]++;
                    }
                    const size_t at[] = {(size_t)l, (size_t)h, (size_t)i, (size_t)j};
                    assert_close(pes_row_get(&t->row, "attention", "map", at), map / count, 1e-5);
                    assert_close(pes_row_get(&t->row, "attention", "scores", at), scores / count, 1e-4);
                }
            for (size_t k = 0; k < 9; k++)
                assert_close(
                    pes_row_get(&t->row, "probes", "relative_kernel", (size_t[]){(size_t)l, (size_t)h, k}),
                    kernel_count[k] > 0 ? kernel[k] / kernel_count[k] : NAN, 1e-4);
        }
}

/* lambda_max - lambda_min of the symmetric part of the row-centred matrix. */
static double spread(const struct trained *t, const double *scores)
{
    int n = t->T;
    double *a = malloc((size_t)(n * n) * sizeof *a), *b = malloc((size_t)(n * n) * sizeof *b),
           *values = malloc((size_t)n * sizeof *values);
    assert_true(a && b && values);
    for (int i = 0; i < n; i++) {
        double mean = 0;
        for (int j = 0; j < n; j++)
            mean += scores[i * n + j] / n;
        for (int j = 0; j < n; j++)
            a[i * n + j] = scores[i * n + j] - mean;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[i * n + j] = (a[i * n + j] + a[j * n + i]) / 2;
    assert_true(pes_symmetric_eigenvalues((size_t)n, b, values, t->f.arena));
    double width = values[n - 1] - values[0];
    free(a), free(b), free(values);
    return width;
}

static void check_contraction(const struct trained *t, const struct seen *seen, int contracted)
{
    for (int l = 0; l < t->L; l++)
        for (int h = 0; h < t->H; h++) {
            double sum = 0;
            for (int s = 0; s < contracted; s++) {
                const double *content = seen->content + place(t, s, l, h);
                sum += isnan(content[0]) ? NAN
                                         : spread(t, seen->scores + place(t, s, l, h)) / spread(t, content);
            }
            assert_close(pes_row_get(&t->row, "probes", "contraction", (size_t[]){(size_t)l, (size_t)h}),
                         sum / contracted, 1e-4);
        }
}

#define MEASURE                                                                                              \
    "measure: {checkpoints: 3, evaluate_every: 20, probe_sequences: 24, attention_maps: 24, nulls: 0, "      \
    "contraction_sequences: 5, phase_zeroing: true, symmetrisation: true}\n"

static void behaviours_and_maps_follow_their_definitions(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int from;
        bool labelled;
    } cases[] = {
        {"name: padded\n"
         "task: {kind: relative_distance, vocab: 7, between: 5, side: 3, samples: 200, length: 16}\n"
         "model: {layers: 2, d_model: 16, heads: 2, pad: mask, pe: relative, max_length: 20}\n"
         "train: {steps: 30, batch: 32, micro_batch: 7, lr: 1e-2}\n" MEASURE,
         0, false},
        {"name: attended\n"
         "task: {kind: relative_distance, vocab: 7, between: 5, side: 3, samples: 200}\n"
         "model: {layers: 2, d_model: 16, heads: 2, pad: attend, pe: rope}\n"
         "train: {steps: 30, batch: 32, micro_batch: 7, lr: 1e-2}\n" MEASURE,
         0, false},
        {"name: labelled\n"
         "task: {kind: induction, vocab: 12, length: 24, period: 9, period_min: 4, test_samples: 30}\n"
         "model: {layers: 2, d_model: 16, heads: 2, causal: true, pe: nope}\n"
         "train: {steps: 30, batch: 16, micro_batch: 7, lr: 1e-2}\n" MEASURE,
         0, true},
        {"name: late\n"
         "task: {kind: random_map, vocab: 6, length: 24, test_samples: 30}\n"
         "model: {layers: 1, d_model: 16, heads: 2, d_ff: 0, causal: true, pe: learned}\n"
         "train: {steps: 30, batch: 16, micro_batch: 7, lr: 1e-2}\n" MEASURE,
         6, false},
    };
    for (size_t k = 0; k < PES_COUNT(cases); k++) {
        struct trained t = train_one(cases[k].text, 24);
        struct seen seen = look(&t);
        check_behaviours(&t, &seen, cases[k].from, cases[k].labelled);
        check_maps(&t, &seen, cases[k].from);
        check_contraction(&t, &seen, 5);
        close_trained(&t);
    }
}

static void toeplitz_measures_are_those_of_the_mean_scores(void **unused)
{
    (void)unused;
    struct trained t =
        train_one("name: toeplitz\n"
                  "task: {kind: random_map, vocab: 6, length: 12, test_samples: 30}\n"
                  "model: {layers: 1, d_model: 16, heads: 2, causal: true, pe: learned, max_length: 15}\n"
                  "train: {steps: 5, batch: 16, lr: 1e-2}\n" MEASURE,
                  24);
    for (size_t h = 0; h < 2; h++) {
        double diagonal[12] = {0}, whole = 0, along = 0;
        for (size_t i = 0; i < 12; i++)
            for (size_t j = 0; j <= i; j++) {
                double score = pes_row_get(&t.row, "attention", "scores", (size_t[]){0, h, i, j});
                diagonal[i - j] += score / (double)(12 - (i - j));
                whole += score * score;
            }
        for (size_t d = 0; d < 12; d++) {
            along += diagonal[d] * diagonal[d] * (double)(12 - d);
            /* Index key - query + 15 - 1: lengths count from the longest sequence of the model. */
            assert_close(pes_row_get(&t.row, "attention", "score_diagonals", (size_t[]){0, h, 14 - d}),
                         diagonal[d], 1e-5);
        }
        assert_true(isnan(pes_row_get(&t.row, "attention", "score_diagonals", (size_t[]){0, h, 15})));
        assert_true(isnan(pes_row_get(&t.row, "attention", "score_diagonals", (size_t[]){0, h, 2})));
        assert_close(pes_row_get(&t.row, "probes", "toeplitz_fraction", (size_t[]){0, h}), along / whole,
                     1e-5);
    }
    close_trained(&t);
}

static void contraction_is_1_without_a_scheme_and_undefined_for_added_ones(void **unused)
{
    (void)unused;
    const char *schemes[] = {"nope", "learned"};
    for (int k = 0; k < 2; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "name: scheme\n"
                 "task: {kind: count, vocab: 12, words: 8, count: 3, triggers: 3, samples: 60}\n"
                 "model: {layers: 1, d_model: 16, heads: 2, pe: %s}\n"
                 "train: {steps: 2, batch: 12}\n"
                 "measure: {checkpoints: 2}\n",
                 schemes[k]);
        struct fixture f = fixture_open(text);
        struct pes_row row = fixture_row(&f);
        struct pes_train_result result;
        assert_int_equal(train_with(&f, 0, NULL, &row, &result), PES_OK);
        for (size_t h = 0; h < 2; h++) {
            assert_close(pes_row_get(&row, "probes", "contraction", (size_t[]){0, h}), k ? NAN : 1, 1e-9);
            assert_close(pes_row_get(&row, "curves", "contraction", (size_t[]){1, 0, h}), k ? NAN : 1, 1e-6);
        }
        fixture_close(&f);
    }
}

/* --- interventions
 * ------------------------------------------------------------------------------------------------- */

static void interventions_do_what_one_whole_pass_says(void **unused)
{
    (void)unused;
    const char *texts[] = {
        "name: classes\n"
        "task: {kind: relative_distance, vocab: 8, between: 3, side: 2, samples: 400}\n"
        "model: {layers: 3, d_model: 24, heads: 3, pe: rope, pe_heads: [0, 2], kv_source: embedding}\n"
        "train: {steps: 250, batch: 64, micro_batch: 7, lr: 5e-3}\n" MEASURE,
        "name: tokens\n"
        "task: {kind: random_map, vocab: 6, length: 12, test_samples: 80}\n"
        "model: {layers: 2, d_model: 24, heads: 3, causal: true, pe: rope}\n"
        "train: {steps: 150, batch: 32, micro_batch: 7, lr: 5e-3}\n" MEASURE};
    for (int k = 0; k < 2; k++) {
        struct trained t = train_one(texts[k], 24);
        uint64_t rotating = t.model_config.pe_heads & 7;
        struct pes_batch
            whole; /* what ablation and the phases of all heads are over; others: probe_sequences */
        assert_int_equal(pes_data_test_batch(t.data, 0, (int)pes_data_num_test(t.data), t.f.arena, &whole),
                         PES_OK);
        bool something = false;
        for (int l = 0; l < t.L; l++)
            for (int h = 0; h < t.H; h++) {
                uint64_t sets[8] = {0};
                sets[l] = UINT64_C(1) << h;
                const size_t at[] = {(size_t)l, (size_t)h, 0};
                struct effect effect = compare(&t, &whole, &(struct pes_intervention){.ablate = sets});
                assert_effect(&t, "ablation", at, &effect);
                something = something || fabs(effect.drop) > 0.05;

                bool rotates = rotating >> h & 1;
                effect = compare(&t, &t.batch, &(struct pes_intervention){.phase_zeroed = sets});
                if (!rotates) effect = (struct effect){NAN, NAN, NAN, NAN};
                assert_effect(&t, "phase_zeroing", at, &effect);
                for (size_t f = 0; f < 4; f++) {
                    struct pes_intervention one = {.phase_zeroed = sets, .frequencies = UINT64_C(1) << f};
                    effect = compare(&t, &t.batch, &one);
                    const size_t place_of[] = {(size_t)l, (size_t)h, f};
                    assert_close(
                        pes_row_get(&t.row, "probes", "phase_zeroing_frequency_loss_change", place_of),
                        rotates ? effect.loss_change : NAN, 1e-5);
                }
                for (size_t part = 0; part < 2; part++) {
                    struct pes_intervention one = {
                        .symmetrised = sets, .part = part ? PES_PART_ANTISYMMETRIC : PES_PART_SYMMETRIC};
                    effect = compare(&t, &t.batch, &one);
                    assert_effect(&t, "symmetrisation", (size_t[]){(size_t)l, (size_t)h, part}, &effect);
                }
            }
        assert_true(something);
        uint64_t all[8] = {rotating, rotating, rotating};
        struct effect effect = compare(&t, &whole, &(struct pes_intervention){.phase_zeroed = all});
        assert_effect(&t, "phase_zeroing_all", NULL, &effect);
        effect = compare(&t, &t.batch, &(struct pes_intervention){.phase_zeroed = all});
        assert_close(pes_row_get(&t.row, "curves", "phase_zeroing_drop", (size_t[]){2}), effect.drop, 1e-12);
        close_trained(&t);
    }
}

/* Accuracy and losses as plain sums over rows of one pass. */
static void assert_scores(const struct trained *t, const struct pes_batch *batch, const double stored[3])
{
    struct outcome base = run_with(t, batch, NULL);
    size_t rows = (size_t)batch->B * (t->model_config.objective == PES_OBJECTIVE_LM ? (size_t)t->T : 1);
    double all = 0, labels = 0, scored = 0, count = 0, correct = 0;
    for (size_t r = 0; r < rows; r++) {
        if (batch->labels[r] < 0) continue;
        all += base.loss[r], labels++;
        if (batch->scored && !batch->scored[r]) continue;
        scored += base.loss[r], count++, correct += base.correct[r];
    }
    assert_close(stored[0], all / labels, 1e-5);
    assert_close(stored[1], scored / count, 1e-5);
    assert_close(stored[2], correct / count, 1e-12);
}

static void evaluations_take_some_test_sequences_and_the_last_one_all(void **unused)
{
    (void)unused;
    const char *texts[] = {"name: classes\n"
                           "task: {kind: relative_distance, vocab: 8, between: 3, side: 2, samples: 400}\n"
                           "model: {layers: 1, d_model: 16, heads: 2, pe: rope}\n"
                           "train: {steps: 30, batch: 32, micro_batch: 7, lr: 5e-3}\n"
                           "measure: {checkpoints: 2, evaluate_sequences: 24, evaluate_every: 30}\n",
                           "name: tokens\n"
                           "task: {kind: random_map, vocab: 6, length: 12, test_samples: 80}\n"
                           "model: {layers: 1, d_model: 16, heads: 2, causal: true, pe: rope}\n"
                           "train: {steps: 30, batch: 32, micro_batch: 7, lr: 5e-3}\n"
                           "measure: {checkpoints: 2, evaluate_sequences: 24, evaluate_every: 30}\n"};
    for (int k = 0; k < 2; k++) {
        struct trained t = train_one(texts[k], 24);
        struct pes_batch whole;
        assert_int_equal(pes_data_test_batch(t.data, 0, (int)pes_data_num_test(t.data), t.f.arena, &whole),
                         PES_OK);
        assert_scores(&t, &whole,
                      (double[]){get(&t.row, "trials", "test_loss"),
                                 get(&t.row, "trials", "test_scored_loss"),
                                 get(&t.row, "trials", "test_accuracy")});
        assert_scores(&t, &whole,
                      (double[]){get_at(&t.row, "curves", "test_loss", 1),
                                 get_at(&t.row, "curves", "test_scored_loss", 1),
                                 get_at(&t.row, "curves", "test_accuracy", 1)});
        /* Before training: a fresh model, and the first sequences alone. */
        real *start = pes_arena_take(t.f.arena, t.model->tensors.num_parameters, sizeof *start);
        assert_non_null(start);
        pes_model_init(t.model, (uint64_t)pes_config_int(t.config, "train.seed"), start);
        t.parameters = start;
        assert_scores(&t, &t.batch,
                      (double[]){get(&t.row, "curves", "test_loss"),
                                 get(&t.row, "curves", "test_scored_loss"),
                                 get(&t.row, "curves", "test_accuracy")});
        close_trained(&t);
    }
}

static void deposits_are_those_of_the_stored_drops(void **unused)
{
    (void)unused;
    struct trained t =
        train_one("name: deposit\n"
                  "task: {kind: relative_distance, vocab: 8, between: 3, side: 2, samples: 400}\n"
                  "model: {layers: 2, d_model: 24, heads: 3, pe: rope, pe_heads: [0, 2]}\n"
                  "train: {steps: 250, batch: 64, lr: 5e-3}\n" MEASURE,
                  24);
    int defined = 0;
    for (size_t l = 0; l < 2; l++) {
        double drop[3], error[3], sum = 0, most = 0;
        size_t largest = 0;
        for (size_t h = 0; h < 3; h++) {
            drop[h] = pes_row_get(&t.row, "probes", "ablation_drop", (size_t[]){l, h});
            error[h] = pes_row_get(&t.row, "probes", "ablation_drop_error", (size_t[]){l, h});
            sum += fmax(drop[h], 0);
            if (drop[h] > most) most = drop[h], largest = h;
        }
        bool clear = most >= 0.01 && most >= 3 * error[largest];
        defined += clear;
        assert_close(pes_row_get(&t.row, "probes", "deposit_share", &l), clear ? most / sum : NAN, 1e-12);
        assert_close(pes_row_get(&t.row, "probes", "deposit_rotated_share", &l),
                     clear ? (fmax(drop[0], 0) + fmax(drop[2], 0)) / sum : NAN, 1e-12);
    }
    assert_true(defined > 0);
    close_trained(&t);
}

/* Every onset has its curve, and is what the curve says; checkpoints of a short run are steps 0, 1, ... */
static void onsets_are_those_of_the_stored_curves(void **unused)
{
    (void)unused;
    struct trained t =
        train_one("name: onset\n"
                  "task: {kind: induction, vocab: 8, length: 16, period: 5, period_min: 3}\n"
                  "model: {layers: 2, d_model: 32, heads: 2, causal: true, pe: rope}\n"
                  "train: {steps: 300, batch: 32, lr: 1e-2}\n"
                  "measure: {checkpoints: 12, evaluate_sequences: 8, nulls: 0, ablate_heads: false}\n",
                  8);
    int variables = 0, defined = 0, lags = 0;
    for (const struct pes_variable *v = pes_measure_onset.variables; v->name; v++) {
        if (!strncmp(v->name, "lag_", 4)) { /* lag_<signature>_behind_<behaviour> */
            const char *behind = strstr(v->name, "_behind_");
            char signature[96], behaviour[96];
            assert_non_null(behind);
            snprintf(signature, sizeof signature, "onset_%.*s", (int)(behind - v->name - 4), v->name + 4);
            snprintf(behaviour, sizeof behaviour, "onset_%s", behind + strlen("_behind_"));
            for (size_t h = 0; h < 2; h++)
                assert_close(pes_row_get(&t.row, "probes", v->name, (size_t[]){1, h}),
                             pes_row_get(&t.row, "probes", signature, (size_t[]){1, h}) -
                                 pes_row_get(&t.row, "probes", behaviour, (size_t[]){1, h}),
                             1e-9);
            lags++;
            continue;
        }
        const char *curve = v->name + strlen("onset_");
        assert_non_null(pes_layout_find(t.f.layout, "curves", curve));
        variables++;
        for (size_t l = 0; l < 2; l++)
            for (size_t h = 0; h < 2; h++) {
                double steps[12], values[12];
                for (size_t c = 0; c < 12; c++) {
                    steps[c] = get_at(&t.row, "curves", "checkpoint_step", c);
                    values[c] = pes_row_get(&t.row, "curves", curve, (size_t[]){c, l, h});
                    assert_true(c ? steps[c] > steps[c - 1] : steps[c] == 0);
                }
                assert_true(steps[11] == 300);
                double onset = pes_row_get(&t.row, "probes", v->name, (size_t[]){l, h});
                assert_close(onset, pes_probe_onset(steps, values, 12), 1e-9);
                defined += isfinite(onset);
            }
    }
    assert_int_equal(variables, 8);
    assert_int_equal(lags, 12);
    assert_true(defined > 0);
    close_trained(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaviours_and_maps_follow_their_definitions),
        cmocka_unit_test(toeplitz_measures_are_those_of_the_mean_scores),
        cmocka_unit_test(contraction_is_1_without_a_scheme_and_undefined_for_added_ones),
        cmocka_unit_test(interventions_do_what_one_whole_pass_says),
        cmocka_unit_test(evaluations_take_some_test_sequences_and_the_last_one_all),
        cmocka_unit_test(deposits_are_those_of_the_stored_drops),
        cmocka_unit_test(onsets_are_those_of_the_stored_curves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
