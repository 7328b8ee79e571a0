/* What is done to single heads, against scores computed from the head's own matrices. */
#include "model_support.h"

static const double tolerance = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;

/* --- scores of layer 0 from the definitions ----------------------------------------------------------- */

struct reading {
    struct pes_head head;
    int rope;         /* columns of mla's rotary rows beside the head's own */
    double x[28 * 8]; /* what queries read */
    double y[28 * 8]; /* what keys read */
};

/* The streams entering layer 0, normalised for those who read them so; any gain of the norm. */
static void read_layer(struct support *s, int head, struct reading *r)
{
    const struct pes_model_config *config = &s->model->config;
    const struct pes_parameters parameters = {.table = &s->model->tensors, .values = s->parameters};
    assert_int_equal(pes_model_head(s->model, s->parameters, 0, head, s->arena, &r->head), PES_OK);
    r->rope = config->mla ? config->d_rope : 0;
    real *streams = pes_arena_take(s->arena, (size_t)(config->shape.L * 28 * 8), sizeof *streams);
    struct pes_loss loss = {0};
    struct pes_pass pass = {.streams = streams, .save_streams = true};
    pes_model_prepare(s->model, s->evaluation, s->parameters, NULL);
    pes_model_run(s->model, s->evaluation, &s->batch, &pass, &loss);
    const real *gain = pes_parameters_get(&parameters, 0, "norm1.weight");
    const real *shift = pes_parameters_get(&parameters, 0, "norm1.bias");
    for (int n = 0; n < 28; n++) {
        double mean = 0, square = 0;
        for (int c = 0; c < 8; c++)
            mean += (double)streams[n * 8 + c] / 8;
        for (int c = 0; c < 8; c++)
            square += pow((double)streams[n * 8 + c] - mean, 2) / 8;
        for (int c = 0; c < 8; c++) {
            double normal = ((double)streams[n * 8 + c] - mean) / sqrt(square + 1e-5);
            r->x[n * 8 + c] = normal * (double)gain[c] + (double)shift[c];
            r->y[n * 8 + c] = r->head.key_folds ? r->x[n * 8 + c] : (double)streams[n * 8 + c];
        }
    }
}

static double project(const double *row, const double *x)
{
    double sum = 0;
    for (int c = 0; c < 8; c++)
        sum += row[c] * x[c];
    return sum;
}

/* Products of one pair of rows at an offset: cos (q_a k_a + q_b k_b) + sin (q_a k_b - q_b k_a), the latter
 * dropped where asked. */
static double pair_score(const double q[2], const double k[2], double angle, bool dropped)
{
    double even = q[0] * k[0] + q[1] * k[1], odd = q[0] * k[1] - q[1] * k[0];
    return cos(angle) * even + (dropped ? 0 : sin(angle) * odd);
}

/* What is done to the head. */
struct treatment {
    uint64_t dropped; /* frequencies without phase */
    int part;         /* 0: M itself; +1, -1: its part */
};

/* Score of tokens i and j of sequence b: scale * (x M y [or a part of it] + terms with biases). */
static double score(const struct reading *r, const struct treatment *treatment, int b, int i, int j)
{
    const struct pes_head *h = &r->head;
    const double *x = r->x + (b * 7 + i) * 8, *y = r->y + (b * 7 + j) * 8;
    int width = r->rope + h->D, rotary = h->rotates ? 2 * h->pairs : 0, rows = r->rope ? width : h->D;
    double q[16], k[16], qy[16], kx[16], bq[16] = {0}, bk[16] = {0};
    /* Rotary rows first: mla's own, or the first rows of the head. */
    for (int row = 0; row < rows; row++) {
        const double *wq = row < r->rope ? h->rq + row * 8 : h->wq + (row - r->rope) * 8;
        const double *wk = row < r->rope ? h->rk + row * 8 : h->wk + (row - r->rope) * 8;
        q[row] = project(wq, x), k[row] = project(wk, y);
        qy[row] = project(wq, y), kx[row] = project(wk, x);
        if (row >= r->rope) bq[row] = h->bq[row - r->rope], bk[row] = h->bk[row - r->rope];
    }
    double sum = 0;
    for (int row = 0; row < rows; row += row < rotary ? 2 : 1) {
        double terms[5]; /* q k, kx qy, q bk, bq k, bq bk */
        const double *left[] = {q, kx, q, bq, bq}, *right[] = {k, qy, bk, k, bk};
        for (int term = 0; term < 5; term++) {
            if (row < rotary) {
                double angle = h->frequencies[row / 2] * (i - j);
                bool dropped = treatment->dropped >> (row / 2) & 1;
                terms[term] = pair_score(left[term] + row, right[term] + row, angle, dropped);
            } else {
                terms[term] = left[term][row] * right[term][row];
            }
        }
        double content = treatment->part ? (terms[0] + treatment->part * terms[1]) / 2 : terms[0];
        sum += content + terms[2] + terms[3] + terms[4];
    }
    return h->scale * sum;
}

static void check_scores(const char *settings, int head, const struct treatment *treatment)
{
    struct support s = support_make(settings, true, false);
    struct reading r;
    read_layer(&s, head, &r);
    uint64_t sets[2] = {(uint64_t)1 << head, 0};
    struct pes_intervention intervention = {
        .phase_zeroed = treatment->dropped ? sets : NULL,
        .frequencies = treatment->dropped,
        .symmetrised = treatment->part ? sets : NULL,
        .part = treatment->part > 0 ? PES_PART_SYMMETRIC : PES_PART_ANTISYMMETRIC,
    };
    struct support_maps maps = support_observe(&s, &intervention);
    const struct pes_shape *shape = &s.model->config.shape;
    for (int b = 0; b < 4; b++)
        for (int i = 0; i < 7; i++)
            for (int j = 0; j < 7; j++) {
                int map = (b * shape->L + 0) * shape->H + head;
                double got = maps.scores[map * 49 + i * 7 + j], expected = score(&r, treatment, b, i, j);
                if (fabs(got - expected) > tolerance) print_error("%s, query %d, key %d\n", settings, i, j);
                support_assert_near(got, expected, tolerance);
            }
    support_free(&s);
}

static const char *const models[] = {
    "pe=nope",
    "pe=rope",
    "pe=rope rotary_fraction=0.5",
    "pe=rope kv_source=embedding",
    "pe=rope symmetry=antisymmetric",
    "pe=rope pe_heads=[0]",
    "attention=mla pe=rope d_rope=4",
    "attention=mla pe=rope d_rope=4 kv_source=embedding",
    "attention=mla pe=nope",
    "pe=learned symmetry=symmetric",
};

static void scores_are_those_of_the_heads_own_matrices(void **state)
{
    (void)state;
    for (size_t m = 0; m < PES_COUNT(models); m++)
        for (int head = 0; head < 2; head++)
            check_scores(models[m], head, &(struct treatment){0});
}

static void zeroed_frequencies_keep_their_cosines_alone(void **state)
{
    (void)state;
    for (size_t m = 0; m < PES_COUNT(models); m++)
        for (uint64_t dropped = 1; dropped < 4; dropped++)
            check_scores(models[m], 0, &(struct treatment){.dropped = dropped});
}

static void symmetrised_heads_keep_one_part_and_their_biases(void **state)
{
    (void)state;
    for (size_t m = 0; m < PES_COUNT(models); m++)
        for (int part = -1; part <= 1; part += 2) {
            check_scores(models[m], 1, &(struct treatment){.part = part});
            check_scores(models[m], 1, &(struct treatment){.part = part, .dropped = 2});
        }
}

/* Without a mask of frequencies all of them lose their phase, as in a model trained that way. */
static void zeroing_every_head_equals_training_without_phase(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"pe=rope", "pe=rope phase=zeroed"},
        {"attention=mla pe=rope d_rope=4", "attention=mla pe=rope d_rope=4 phase=zeroed"}};
    for (size_t i = 0; i < PES_COUNT(pairs); i++) {
        struct support full = support_make(pairs[i][0], false, false),
                       zeroed = support_make(pairs[i][1], false, false);
        static const uint64_t all[2] = {UINT64_MAX, UINT64_MAX};
        struct pes_intervention intervention = {.phase_zeroed = all};
        double loss = support_evaluate(&full, &intervention, NULL, NULL);
        assert_true(loss == support_evaluate(&zeroed, NULL, NULL, NULL));
        assert_true(loss != support_evaluate(&full, NULL, NULL, NULL));
        support_free(&full);
        support_free(&zeroed);
    }
}

static void the_part_that_a_constraint_leaves_is_the_whole(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        enum pes_part part;
    } cases[] = {{"pe=rope symmetry=symmetric", PES_PART_SYMMETRIC},
                 {"pe=learned symmetry=psd", PES_PART_SYMMETRIC},
                 {"pe=rope symmetry=antisymmetric", PES_PART_ANTISYMMETRIC}};
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        struct support s = support_make(cases[i].settings, false, false);
        static const uint64_t all[2] = {3, 3};
        struct pes_intervention keep = {.symmetrised = all, .part = cases[i].part};
        struct pes_intervention drop = {.symmetrised = all,
                                        .part = cases[i].part == PES_PART_SYMMETRIC ? PES_PART_ANTISYMMETRIC
                                                                                    : PES_PART_SYMMETRIC};
        double whole = support_evaluate(&s, NULL, NULL, NULL);
        support_assert_near(support_evaluate(&s, &keep, NULL, NULL), whole, tolerance);
        assert_true(fabs(support_evaluate(&s, &drop, NULL, NULL) - whole) > 1e-4);
        support_free(&s);
    }
}

/* --- ablation ----------------------------------------------------------------------------------------- */

static void set(struct support *s, const char *name, double first, double step)
{
    const struct pes_tensor *tensor = pes_tensor_find(&s->model->tensors, name);
    for (size_t e = 0; e < tensor->count; e++)
        s->parameters[tensor->offset + e] = (real)(first + step * (double)e);
}

/* What layer 0 adds to the stream. */
static double added(struct support *s, const uint64_t ablate[2], int row, int column)
{
    real streams[2 * 28 * 4];
    struct pes_loss loss = {0};
    struct pes_pass pass = {.streams = streams, .save_streams = true};
    struct pes_intervention intervention = {.ablate = ablate};
    pes_model_prepare(s->model, s->evaluation, s->parameters, &intervention);
    pes_model_run(s->model, s->evaluation, &s->batch, &pass, &loss);
    return (double)(streams[28 * 4 + row * 4 + column] - streams[row * 4 + column]);
}

/* Two heads of width 2 whose values are 1 2 | 3 4 everywhere, and an output matrix of ones. */
static void an_ablated_head_is_missing_before_the_output_projection(void **state)
{
    (void)state;
    struct support s = support_make("d_model=4 heads=2 d_ff=0", false, false);
    set(&s, "layers.0.attn.wv", 0, 0);
    set(&s, "layers.0.attn.bv", 1, 1);
    set(&s, "layers.0.attn.wo", 1, 0);
    set(&s, "layers.0.attn.bo", 0, 0);
    for (int row = 0; row < 28; row += 9)
        for (int c = 0; c < 4; c++) {
            support_assert_near(added(&s, (uint64_t[]){0, 0}, row, c), 10, 1e-5);
            support_assert_near(added(&s, (uint64_t[]){2, 0}, row, c), 3, 1e-5);
            support_assert_near(added(&s, (uint64_t[]){1, 0}, row, c), 7, 1e-5);
            support_assert_near(added(&s, (uint64_t[]){3, 0}, row, c), 0, 0);
        }
    set(&s, "layers.0.attn.bo", 0.5, 0); /* the output bias stays */
    support_assert_near(added(&s, (uint64_t[]){3, 0}, 5, 1), 0.5, 1e-6);
    support_free(&s);
}

static void every_ablation_changes_the_logits_and_is_undone_by_the_next_prepare(void **state)
{
    (void)state;
    static const char *const settings[] = {"pe=rope", "attention=mla pe=rope d_rope=4", "pe=shaw",
                                           "pe=t5 d_ff=0"};
    for (size_t i = 0; i < PES_COUNT(settings); i++) {
        struct support s = support_make(settings[i], false, false);
        real whole[20], without[20], again[20];
        (void)support_evaluate(&s, NULL, whole, NULL);
        for (int layer = 0; layer < 2; layer++)
            for (int head = 0; head < 2; head++) {
                uint64_t sets[2] = {0};
                sets[layer] = (uint64_t)1 << head;
                struct pes_intervention intervention = {.ablate = sets};
                (void)support_evaluate(&s, &intervention, without, NULL);
                for (int b = 0; b < 4; b++)
                    assert_memory_not_equal(whole + b * 5, without + b * 5, 5 * sizeof(real));
            }
        (void)support_evaluate(&s, NULL, again, NULL);
        assert_memory_equal(whole, again, sizeof whole);
        support_free(&s);
    }
}

static void all_heads_of_latent_attention_ablated_change_the_loss(void **state)
{
    (void)state;
    struct support s = support_make("attention=mla pe=rope d_rope=4", false, false);
    double whole = support_evaluate(&s, NULL, NULL, NULL);
    struct pes_intervention intervention = {.ablate = (uint64_t[]){3, 3}};
    assert_true(fabs(support_evaluate(&s, &intervention, NULL, NULL) - whole) > 1e-4);
    support_free(&s);
}

/* 8 latent columns in heads of 4: "head" h of 4 has columns for h < 2 alone. The same model with those
 * columns of its second stage written as 0 says what is left. */
static void dropped_latent_columns_are_columns_of_the_second_stage_and_no_heads(void **state)
{
    (void)state;
    static const char *const second_stage[] = {"attn.w_uq", "attn.w_uk", "attn.w_uv"};
    const char *settings = "d_model=16 heads=4 attention=mla pe=rope d_latent=8 d_rope=2";
    struct support s = support_make(settings, false, false);
    struct support written = support_make(settings, false, false);
    real whole[20], dropped[20], expected[20];
    (void)support_evaluate(&s, NULL, whole, NULL);
    for (int layer = 0; layer < 2; layer++)
        for (int head = 0; head < 4; head++) {
            uint64_t sets[2] = {0};
            sets[layer] = (uint64_t)1 << head;
            struct pes_intervention intervention = {.latent = sets};
            (void)support_evaluate(&s, &intervention, dropped, NULL);
            memcpy(written.parameters, s.parameters, s.count * sizeof(real));
            for (size_t i = 0; i < PES_COUNT(second_stage); i++) {
                char name[64];
                snprintf(name, sizeof name, "layers.%d.%s", layer, second_stage[i]);
                real *up = written.parameters + pes_tensor_find(&written.model->tensors, name)->offset;
                for (int row = 0; row < 16; row++)
                    for (int column = 4 * head; column < PES_MIN(4 * head + 4, 8); column++)
                        up[row * 8 + column] = 0;
            }
            (void)support_evaluate(&written, NULL, expected, NULL);
            assert_memory_equal(dropped, expected, sizeof dropped);
            assert_int_equal(memcmp(dropped, whole, sizeof whole) == 0, head >= 2);
        }
    support_free(&s);
    support_free(&written);
}

/* --- content scores ----------------------------------------------------------------------------------- */

static void content_scores_are_scores_without_the_positional_coupling(void **state)
{
    (void)state;
    static const char *const schemes[] = {"relative", "t5",   "alibi", "fire",
                                          "kerple",   "shaw", "rope",  "xpos"};
    struct support plain = support_make("pe=nope causal=true", true, false);
    struct support_maps expected = support_observe(&plain, NULL);
    for (size_t i = 0; i < PES_COUNT(schemes); i++) {
        char settings[96];
        snprintf(settings, sizeof settings, "causal=true pe_heads=[1] pe=%s", schemes[i]);
        struct support s = support_make(settings, true, false);
        /* The same matrices as without a scheme; tensors differ only in their places. */
        for (size_t t = 0; t < plain.model->tensors.num_tensors; t++) {
            const struct pes_tensor *from = &plain.model->tensors.tensors[t];
            const struct pes_tensor *to = pes_tensor_find(&s.model->tensors, from->name);
            memcpy(s.parameters + to->offset, plain.parameters + from->offset, from->count * sizeof(real));
        }
        struct support_maps maps = support_observe(&s, NULL);
        double moved = 0;
        for (int b = 0; b < 4; b++)
            for (int head = 0; head < 2; head++)
                for (int e = 0; e < 49; e++) {
                    int at = (b * 2 * 2 + head) * 49 + e; /* layer 0 */
                    support_assert_near(maps.content[at], expected.scores[at], tolerance);
                    double change = fabs(maps.scores[at] - maps.content[at]);
                    if (head == 0) support_assert_near(change, 0, tolerance);
                    moved = fmax(moved, change);
                }
        assert_true(moved > 1e-3);
        support_free(&s);
    }
    support_free(&plain);
}

static void schemes_in_the_embedding_have_no_content_scores(void **state)
{
    (void)state;
    static const char *const settings[] = {"pe=learned", "pe=sinusoidal"};
    for (size_t i = 0; i < 2; i++) {
        struct support s = support_make(settings[i], true, false);
        struct support_maps maps = support_observe(&s, NULL);
        assert_true(isnan(maps.content[0]) && !isnan(maps.scores[0]));
        support_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_heads_own_matrices),
        cmocka_unit_test(zeroed_frequencies_keep_their_cosines_alone),
        cmocka_unit_test(symmetrised_heads_keep_one_part_and_their_biases),
        cmocka_unit_test(zeroing_every_head_equals_training_without_phase),
        cmocka_unit_test(the_part_that_a_constraint_leaves_is_the_whole),
        cmocka_unit_test(an_ablated_head_is_missing_before_the_output_projection),
        cmocka_unit_test(every_ablation_changes_the_logits_and_is_undone_by_the_next_prepare),
        cmocka_unit_test(all_heads_of_latent_attention_ablated_change_the_loss),
        cmocka_unit_test(dropped_latent_columns_are_columns_of_the_second_stage_and_no_heads),
        cmocka_unit_test(content_scores_are_scores_without_the_positional_coupling),
        cmocka_unit_test(schemes_in_the_embedding_have_no_content_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
