/* test_train_ablation.c - heads taken away together, and ablation as the public code does it, against one
 * whole pass per intervention. */
#include "train_trained.h"

#define MODEL "model: {layers: 2, d_model: 24, heads: 3, pe: rope"
#define TASK  "task: {kind: relative_distance, vocab: 8, between: 3, side: 2, samples: 300}\n"
#define TRAIN "train: {steps: 150, batch: 64, micro_batch: 7, lr: 5e-3}\n"
#define REST  "spectra: false, behaviours: false, symmetrisation: false, attention_maps: 0, checkpoints: 2"

static struct pes_batch whole_test_set(struct trained *t)
{
    struct pes_batch whole;
    assert_int_equal(pes_data_test_batch(t->data, 0, (int)pes_data_num_test(t->data), t->f.arena, &whole),
                     PES_OK);
    return whole;
}

static void every_pair_of_heads_of_a_layer(void **unused)
{
    (void)unused;
    struct trained t =
        train_one("name: pairs\n" TASK MODEL "}\n" TRAIN "measure: {ablate: pairs, " REST "}\n", 24);
    struct pes_batch whole = whole_test_set(&t);
    bool something = false;
    for (size_t l = 0; l < 2; l++)
        for (size_t h = 0; h < 3; h++) {
            assert_true(isnan(pes_row_get(&t.row, "probes", "ablation_pair_drop", (size_t[]){l, h, h})));
            for (size_t other = 0; other < 3; other++) {
                if (other == h) continue;
                uint64_t sets[2] = {0};
                sets[l] = UINT64_C(1) << h | UINT64_C(1) << other;
                struct effect effect = compare(&t, &whole, &(struct pes_intervention){.ablate = sets});
                assert_effect(&t, "ablation_pair", (size_t[]){l, h, other}, &effect);
                something = something || fabs(effect.drop) > 0.05;
            }
        }
    assert_true(something);
    assert_null(pes_layout_find(t.row.layout, "probes", "ablation_list_drop"));
    close_trained(&t);
}

static void lists_of_heads_across_layers(void **unused)
{
    (void)unused;
    struct trained t =
        train_one("name: lists\n" TASK MODEL "}\n" TRAIN
                  "measure: {ablate: lists, ablate_lists: '1.2, 0.0 0.2 1.1,0.1 1.0', " REST "}\n",
                  24);
    struct pes_batch whole = whole_test_set(&t);
    uint64_t sets[3][2] = {{0, 4}, {5, 2}, {2, 1}};
    for (size_t list = 0; list < 3; list++) {
        struct effect effect = compare(&t, &whole, &(struct pes_intervention){.ablate = sets[list]});
        assert_effect(&t, "ablation_list", &list, &effect);
    }
    const struct pes_field *field = pes_layout_find(t.row.layout, "probes", "ablation_list_drop");
    assert_int_equal(field->extent[0], 3);
    assert_null(pes_layout_find(t.row.layout, "probes", "ablation_pair_drop"));
    close_trained(&t);
}

static void the_published_way_over_all_samples_and_by_latent_columns(void **unused)
{
    (void)unused;
    struct trained t =
        train_one("name: published\n" TASK MODEL ", attention: mla, d_latent: 12, d_rope: 4}\n" TRAIN
                  "measure: {published_ablation: true, " REST "}\n",
                  24);
    struct pes_batch test = whole_test_set(&t), all;
    assert_int_equal(pes_data_num_samples(t.data), 300);
    assert_int_equal(pes_data_sample_batch(t.data, 0, 300, t.f.arena, &all), PES_OK);
    for (size_t l = 0; l < 2; l++)
        for (size_t h = 0; h < 3; h++) {
            uint64_t sets[2] = {0};
            sets[l] = UINT64_C(1) << h;
            const size_t at[] = {l, h};
            struct pes_intervention head = {.ablate = sets}, columns = {.latent = sets};
            assert_close(pes_row_get(&t.row, "probes", "published_drop_all", at),
                         compare(&t, &all, &head).drop, 1e-12);
            assert_close(pes_row_get(&t.row, "probes", "published_drop_latent", at),
                         compare(&t, &test, &columns).drop, 1e-12);
            double drop = pes_row_get(&t.row, "probes", "published_drop_latent_all", at);
            assert_close(drop, compare(&t, &all, &columns).drop, 1e-12);
            if (h == 2) assert_true(drop == 0); /* beyond the latent's 12 columns */
        }
    close_trained(&t);
}

static void without_latents_there_are_no_columns_to_drop(void **unused)
{
    (void)unused;
    struct trained t = train_one(
        "name: plain\n" TASK MODEL "}\n" TRAIN "measure: {published_ablation: true, " REST "}\n", 24);
    assert_true(isfinite(get(&t.row, "probes", "published_drop_all")));
    assert_true(isnan(get(&t.row, "probes", "published_drop_latent")));
    close_trained(&t);
}

static void lists_are_read_or_refused_in_words(void **unused)
{
    (void)unused;
    uint64_t sets[4] = {9, 9, 9, 9};
    size_t count;
    assert_int_equal(pes_probe_read_lists("  0.1 0.63 , 1.0", 2, 64, &count, sets), PES_OK);
    assert_int_equal(count, 2);
    const uint64_t expected[] = {UINT64_C(1) << 63 | 2, 0, 0, 1};
    assert_memory_equal(sets, expected, sizeof expected);
    static const struct {
        const char *text, *words;
    } bad[] = {{"", "without heads"},
               {"0.1,", "without heads"},
               {"0.1,,1.0", "without heads"},
               {"0", "layer.head"},
               {"0.", "layer.head"},
               {"0.1x", "before 'x'"},
               {"-1.0", "layer.head"},
               {"0.1 0.1", "0.1 in a list twice"},
               {"2.0", "head 2.0"},
               {"0.4", "2 layers of 4"},
               {"0.99999999", "head 0.99999999"}};
    for (size_t i = 0; i < PES_COUNT(bad); i++) {
        assert_int_equal(pes_probe_read_lists(bad[i].text, 2, 4, &count, NULL), PES_INPUT);
        if (!strstr(pes_error_message(), bad[i].words))
            fail_msg("'%s': %s", bad[i].text, pes_error_message());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_heads_of_a_layer),
        cmocka_unit_test(lists_of_heads_across_layers),
        cmocka_unit_test(the_published_way_over_all_samples_and_by_latent_columns),
        cmocka_unit_test(without_latents_there_are_no_columns_to_drop),
        cmocka_unit_test(lists_are_read_or_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
