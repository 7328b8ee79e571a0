/* From axes to trials: product, zip, exclude, include, ranges, blocks of keys. */
#include "sweep_fixture.h"

static void without_axes_the_blocks_are_one_trial(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE);
    assert_labels(sweep, "single\n");
    assert_int_equal(sweep->num_axes, 0);
    assert_string_equal(sweep->name, "sweep");
    assert_int_equal(pes_config_int(sweep->trials[0].config, "train.steps"), 10);
    pes_sweep_destroy(sweep);
}

static void the_first_key_of_the_grid_is_slowest(void **state)
{
    (void)state;
    struct pes_sweep *sweep =
        parse(BASE "grid:\n  pe: [rope, nope]\n  seed: [3, 1]\n  model.d_model: [32]\n");
    assert_labels(sweep, "pe=rope seed=3 d_model=32\n"
                         "pe=rope seed=1 d_model=32\n"
                         "pe=nope seed=3 d_model=32\n"
                         "pe=nope seed=1 d_model=32\n");
    assert_int_equal(sweep->num_axes, 3);
    assert_string_equal(sweep->axes[1].path, "train.seed");
    assert_int_equal(pes_config_int(sweep->trials[1].config, "train.seed"), 1);
    pes_sweep_destroy(sweep);
}

static void ranges_are_inclusive_alone_and_in_lists(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "grid: {seed: 0..3}\n");
    assert_labels(sweep, "seed=0\nseed=1\nseed=2\nseed=3\n");
    pes_sweep_destroy(sweep);
    sweep = parse(BASE "grid: {seed: [0..1, 7, 10..12]}\n");
    assert_labels(sweep, "seed=0\nseed=1\nseed=7\nseed=10\nseed=11\nseed=12\n");
    pes_sweep_destroy(sweep);
}

static void numbers_in_lists_are_read_by_the_core_schema(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "grid: {lr: [1e-3, 1e-4, 5E-5, .5e-2]}\n");
    static const double wanted[] = {0.001, 0.0001, 0.00005, 0.005};
    assert_int_equal(sweep->num_trials, 4);
    for (size_t t = 0; t < 4; t++)
        assert_true(pes_config_real(sweep->trials[t].config, "train.lr") == wanted[t]);
    pes_sweep_destroy(sweep);
}

static void keys_that_take_lists_take_lists_of_lists(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "model: {pe: rope}\ngrid:\n  pe_heads: [all, [0], [0..1], none]\n  "
                                         "betas: [[0.9, 0.98], [.9, .99]]\n");
    assert_labels(sweep, "pe_heads=all betas=[0.9, 0.98]\n"
                         "pe_heads=all betas=[0.9, 0.99]\n"
                         "pe_heads=[0] betas=[0.9, 0.98]\n"
                         "pe_heads=[0] betas=[0.9, 0.99]\n"
                         "pe_heads=[0, 1] betas=[0.9, 0.98]\n"
                         "pe_heads=[0, 1] betas=[0.9, 0.99]\n"
                         "pe_heads=none betas=[0.9, 0.98]\n"
                         "pe_heads=none betas=[0.9, 0.99]\n");
    pes_sweep_destroy(sweep);
}

static void maps_and_kinds_are_values_of_a_block_of_keys(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "model: {penalty: {weight: 5}}\n"
                                         "grid:\n  penalty: [none, {kind: symmetry, weight: 10}, phase]\n");
    assert_labels(sweep, "penalty_kind=none\n"
                         "penalty_kind=symmetry penalty_weight=10\n"
                         "penalty_kind=phase penalty_weight=5\n");
    assert_string_equal(sweep->axes[0].name, "penalty_kind");
    assert_string_equal(sweep->axes[1].path, "model.penalty.weight");
    pes_sweep_destroy(sweep);
}

static void tasks_bring_their_own_keys_onto_an_axis(void **state)
{
    (void)state;
    struct pes_sweep *sweep =
        parse("train: {steps: 10}\ngrid:\n  task: [relative_distance, {kind: count, words: 8, count: 8}]\n");
    assert_labels(sweep, "task_kind=relative_distance\ntask_kind=count count=8 words=8\n");
    pes_sweep_destroy(sweep);
}

static void zip_pairs_lists_and_is_faster_than_the_grid(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "zip: {d_model: [32, 64], heads: [2, 4]}\ngrid: {seed: 0..1}\n");
    assert_labels(sweep, "seed=0 d_model=32 heads=2\n"
                         "seed=0 d_model=64 heads=4\n"
                         "seed=1 d_model=32 heads=2\n"
                         "seed=1 d_model=64 heads=4\n");
    pes_sweep_destroy(sweep);
    sweep =
        parse(BASE "zip:\n  - {d_model: [32, 64], heads: [2, 4]}\n  - {lr: [1e-3, 1e-4], seed: [1, 2]}\n");
    assert_labels(sweep, "d_model=32 heads=2 lr=0.001 seed=1\n"
                         "d_model=32 heads=2 lr=0.0001 seed=2\n"
                         "d_model=64 heads=4 lr=0.001 seed=1\n"
                         "d_model=64 heads=4 lr=0.0001 seed=2\n");
    pes_sweep_destroy(sweep);
    sweep =
        parse(BASE "zip: {d_model: [32, 32], heads: [2, 4]}\n"); /* one list may repeat, the pairs differ */
    assert_int_equal(sweep->num_trials, 2);
    pes_sweep_destroy(sweep);
}

static void exclude_takes_out_what_matches_every_term(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "grid:\n"
                                         "  pe: [nope, learned, rope]\n"
                                         "  pe_heads: [all, [0]]\n"
                                         "  seed: 0..1\n"
                                         "exclude:\n"
                                         "  - {pe: [nope, learned], pe_heads: [0]}\n"
                                         "  - {pe: rope, pe_heads: [all, [0]], seed: 1..1}\n");
    assert_labels(sweep, "pe=nope pe_heads=all seed=0\n"
                         "pe=nope pe_heads=all seed=1\n"
                         "pe=learned pe_heads=all seed=0\n"
                         "pe=learned pe_heads=all seed=1\n"
                         "pe=rope pe_heads=all seed=0\n"
                         "pe=rope pe_heads=[0] seed=0\n");
    assert_skipped(sweep, "pe=nope pe_heads=[0] seed=0: excluded by line 8\n"
                          "pe=nope pe_heads=[0] seed=1: excluded by line 8\n"
                          "pe=learned pe_heads=[0] seed=0: excluded by line 8\n"
                          "pe=learned pe_heads=[0] seed=1: excluded by line 8\n"
                          "pe=rope pe_heads=all seed=1: excluded by line 9\n"
                          "pe=rope pe_heads=[0] seed=1: excluded by line 9\n");
    pes_sweep_destroy(sweep);
}

static void exclude_knows_blocks_of_keys(void **state)
{
    (void)state;
    struct pes_sweep *sweep =
        parse(BASE "grid:\n  penalty: [none, phase, {kind: symmetry, weight: 2}]\n  seed: 0..1\n"
                   "exclude:\n  - {penalty: [phase, {kind: symmetry}], seed: 1}\n");
    assert_labels(sweep, "penalty_kind=none seed=0\n"
                         "penalty_kind=none seed=1\n"
                         "penalty_kind=phase penalty_weight=10 seed=0\n"
                         "penalty_kind=symmetry penalty_weight=2 seed=0\n");
    pes_sweep_destroy(sweep);
}

static void include_adds_trials_whose_other_keys_come_from_the_blocks(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "model: {pe: alibi, layers: 1}\n"
                                         "grid: {pe: [rope], seed: [0]}\n"
                                         "include:\n  - {seed: 9}\n  - {pe: nope, d_model: 32}\n");
    assert_labels(sweep, "pe=rope seed=0 d_model=64\n"
                         "pe=alibi seed=9 d_model=64\n"
                         "pe=nope seed=0 d_model=32\n");
    assert_int_equal(pes_config_int(sweep->trials[2].config, "model.layers"), 1);
    pes_sweep_destroy(sweep);
    sweep = parse(BASE "include: [{seed: 4}]\n"); /* alone: the blocks by themselves are no trial */
    assert_labels(sweep, "seed=4\n");
    pes_sweep_destroy(sweep);
}

static void an_included_trial_that_is_there_already_is_skipped(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "grid: {seed: 0..1}\ninclude: [{seed: 1}]\n");
    assert_labels(sweep, "seed=0\nseed=1\n");
    assert_skipped(sweep, "seed=1: same trial as seed=1\n");
    pes_sweep_destroy(sweep);
}

static void what_has_no_effect_is_the_same_trial(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "grid:\n  pe: [nope, sinusoidal, rope]\n  pe_heads: [all, [1]]\n");
    assert_labels(sweep, "pe=nope pe_heads=all\n"
                         "pe=sinusoidal pe_heads=all\n"
                         "pe=rope pe_heads=all\n"
                         "pe=rope pe_heads=[1]\n");
    assert_skipped(sweep, "pe=nope pe_heads=[1]: same trial as pe=nope pe_heads=all\n"
                          "pe=sinusoidal pe_heads=[1]: same trial as pe=sinusoidal pe_heads=all\n");
    pes_sweep_destroy(sweep);
}

static void a_list_of_every_head_is_all_of_them(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "model: {pe: rope}\ngrid: {pe_heads: [all, [0, 1, 2, 3]]}\n");
    assert_labels(sweep, "pe_heads=all\n");
    assert_skipped(sweep, "pe_heads=[0, 1, 2, 3]: same trial as pe_heads=all\n");
    pes_sweep_destroy(sweep);
    sweep = parse(BASE "model: {pe: rope, heads: 8}\ngrid: {pe_heads: [all, [0, 1, 2, 3]]}\n");
    assert_labels(sweep, "pe_heads=all\npe_heads=[0, 1, 2, 3]\n");
    pes_sweep_destroy(sweep);
}

static void a_scheme_that_acts_nowhere_is_one_trial(void **state)
{
    (void)state;
    struct pes_sweep *sweep =
        parse(BASE "model: {pe: rope}\ngrid: {pe_heads: [all, none], pe_layers: [all, [0], none]}\n");
    assert_labels(sweep, "pe_heads=all pe_layers=all\n"
                         "pe_heads=all pe_layers=[0]\n"
                         "pe_heads=none pe_layers=all\n");
    assert_skipped(sweep, "pe_heads=none pe_layers=all: same trial as pe_heads=none pe_layers=all\n"
                          "pe_heads=none pe_layers=[0]: same trial as pe_heads=none pe_layers=all\n"
                          "pe_heads=none pe_layers=none: same trial as pe_heads=none pe_layers=all\n");
    pes_sweep_destroy(sweep);
}

static void a_plug_ins_key_acts_where_the_plug_in_is_chosen(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "grid:\n  pe: [nope, rope]\n  rope_base: [100, 10000]\n");
    assert_labels(sweep, "pe=nope\npe=rope rope_base=100\npe=rope rope_base=10000\n");
    assert_skipped(sweep, "pe=nope rope_base=10000: same trial as pe=nope\n");
    pes_sweep_destroy(sweep);
    sweep = parse("task: {kind: count, words: 9, count: 5}\ntrain: {steps: 3}\n");
    assert_int_equal(pes_config_int(sweep->trials[0].config, "task.words"), 9);
    pes_sweep_destroy(sweep);
}

static void the_rotary_width_of_latent_attention_is_0_without_rotation(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(BASE "model: {attention: mla, d_rope: 8}\ngrid: {pe: [nope, rope]}\n");
    assert_int_equal(pes_config_int(sweep->trials[0].config, "model.d_rope"), 0);
    assert_int_equal(pes_config_int(sweep->trials[1].config, "model.d_rope"), 8);
    pes_sweep_destroy(sweep);
}

static void sequences_longer_than_a_position_table_are_refused_where_there_is_one(void **state)
{
    (void)state;
    static const char text[] = "task: {kind: random_map, length: 17}\ntrain: {steps: 10}\n"
                               "model: {causal: true, max_length: 16, pe: %s}\n";
    static const char *const fine[] = {"sinusoidal", "rope", "alibi", "t5", "nope"};
    char sweep_text[256];
    for (size_t i = 0; i < PES_COUNT(fine); i++) {
        snprintf(sweep_text, sizeof sweep_text, text, fine[i]);
        pes_sweep_destroy(parse(sweep_text));
    }
    snprintf(sweep_text, sizeof sweep_text, text, "learned");
    refused(sweep_text, "16 tokens, but sequences have 17");
    struct pes_sweep *sweep = parse("task: {kind: random_map, length: 17}\ntrain: {steps: 10}\n"
                                    "model: {causal: true, max_length: 32}\n"
                                    "grid: {pe: [learned, sinusoidal, rope, alibi, t5, nope]}\n");
    assert_int_equal(sweep->num_trials, 6);
    struct pes_model_config model;
    assert_int_equal(pes_trial_model(&sweep->trials[0], &model), PES_OK);
    assert_int_equal(model.shape.T, 32);
    pes_sweep_destroy(sweep);
}

static void odd_widths_are_refused_with_the_trial_and_the_place(void **state)
{
    (void)state;
    refused(BASE "model: {d_model: 10, heads: 2}\ngrid: {pe: [nope, rope]}\n",
            "sweep.yaml:4:19: trial pe=rope: ");
    refused(BASE "model: {d_model: 10}\ngrid: {heads: [2, 3]}\n", "sweep.yaml:4:19: trial heads=3: ");
    refused(BASE "model: {d_model: 16, heads: 4, pe: rope, rotary_fraction: 0.75}\n", "3 columns");
    refused(BASE "model: {attention: mla, pe: rope, d_rope: 7}\n", "7");
    struct pes_sweep *sweep = parse(BASE "model: {d_model: 5, heads: 1, pe: sinusoidal}\n");
    pes_sweep_destroy(sweep);
}

static void warm_up_is_a_share_or_a_number_of_steps(void **state)
{
    (void)state;
    static const struct {
        const char *train;
        int64_t steps;
    } cases[] = {{"warmup: 0.25", 10},
                 {"warmup_steps: 7", 7},
                 {"warmup_steps: 40", 40},
                 {"warmup: 1", 40},
                 {"lr: 1", 0}};
    for (size_t i = 0; i < PES_COUNT(cases); i++) {
        char text[128];
        snprintf(text, sizeof text, "task: count\ntrain: {steps: 40, %s}\n", cases[i].train);
        struct pes_sweep *sweep = parse(text);
        struct pes_optimizer optimizer;
        assert_int_equal(pes_trial_optimizer(&sweep->trials[0], &optimizer), PES_OK);
        assert_int_equal(optimizer.warmup_steps, cases[i].steps);
        pes_sweep_destroy(sweep);
    }
    refused("task: count\ntrain: {steps: 40, warmup: 0.1, warmup_steps: 4}\n", "both given");
    refused("task: count\ntrain: {steps: 40, warmup_steps: 41}\n", "sweep.yaml:2:34: ");
}

static void too_many_trials_are_refused_before_they_are_made(void **state)
{
    (void)state;
    refused(BASE "grid: {seed: 0..99999, data_seed: 0..99999, d_model: [8, 16], layers: 1..64}\n",
            "grid and zip give 1280000000000 combinations");
}

static void a_whole_sweep_is_read_as_it_stands(void **state)
{
    (void)state;
    struct pes_sweep *sweep = parse(
        "name: relative-distance\n"
        "task:  {kind: relative_distance, vocab: 64, between: 20, side: 8, samples: 20000, test_fraction: "
        "0.3}\n"
        "model: {layers: 3, d_model: 64, heads: 4, d_ff: 128, activation: relu, causal: false, "
        "kv_source: embedding}\n"
        "train: {steps: 3000, batch: 128, lr: 1e-3, warmup: 0.06, schedule: cosine, betas: [0.9, 0.98], "
        "weight_decay: 1e-5, dropout: 0.1}\n"
        "grid:\n"
        "  pe: [nope, sinusoidal, learned, relative, t5, alibi, rope]\n"
        "  symmetry: [none, symmetric]\n"
        "  pe_heads: [all, [0], [0, 1], none]     # which heads the scheme acts on\n"
        "  seed: 0..15                            # inclusive range\n"
        "exclude:\n"
        "  - {pe: [nope, sinusoidal, learned], pe_heads: [[0], [0, 1], none]}\n"
        "measure: {checkpoints: 24, checkpoint_spacing: log, spectra: true, behaviours: true, ablate_heads: "
        "true, "
        "phase_zeroing: true, attention_maps: 256}\n"
        "store:   {weights: final, attention: f32}\n"
        "claims:\n"
        "  - {name: rope-wins, metric: final.test_accuracy, axis: pe, better: rope, than: others, "
        "test: permutation}\n"
        "  - {name: symmetry-slows, metric: steps_to(test_accuracy, 0.9), ratio: [{symmetry: symmetric}, "
        "{symmetry: none}], where: {pe: learned}}\n");
    /* three schemes outside attention with all heads, four inside it with each set of heads */
    assert_int_equal(sweep->num_trials, 3 * 2 * 16 + 4 * 2 * 4 * 16);
    assert_int_equal(sweep->num_skipped, 3 * 2 * 3 * 16);
    assert_int_equal(sweep->num_axes, 4);
    assert_int_equal(sweep->num_claims, 2);
    assert_string_equal(sweep->trials[sweep->num_trials - 1].label,
                        "pe=rope symmetry=symmetric pe_heads=none seed=15");
    pes_sweep_destroy(sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_axes_the_blocks_are_one_trial),
        cmocka_unit_test(the_first_key_of_the_grid_is_slowest),
        cmocka_unit_test(ranges_are_inclusive_alone_and_in_lists),
        cmocka_unit_test(numbers_in_lists_are_read_by_the_core_schema),
        cmocka_unit_test(keys_that_take_lists_take_lists_of_lists),
        cmocka_unit_test(maps_and_kinds_are_values_of_a_block_of_keys),
        cmocka_unit_test(tasks_bring_their_own_keys_onto_an_axis),
        cmocka_unit_test(zip_pairs_lists_and_is_faster_than_the_grid),
        cmocka_unit_test(exclude_takes_out_what_matches_every_term),
        cmocka_unit_test(exclude_knows_blocks_of_keys),
        cmocka_unit_test(include_adds_trials_whose_other_keys_come_from_the_blocks),
        cmocka_unit_test(an_included_trial_that_is_there_already_is_skipped),
        cmocka_unit_test(what_has_no_effect_is_the_same_trial),
        cmocka_unit_test(a_list_of_every_head_is_all_of_them),
        cmocka_unit_test(a_scheme_that_acts_nowhere_is_one_trial),
        cmocka_unit_test(a_whole_sweep_is_read_as_it_stands),
        cmocka_unit_test(a_plug_ins_key_acts_where_the_plug_in_is_chosen),
        cmocka_unit_test(the_rotary_width_of_latent_attention_is_0_without_rotation),
        cmocka_unit_test(sequences_longer_than_a_position_table_are_refused_where_there_is_one),
        cmocka_unit_test(odd_widths_are_refused_with_the_trial_and_the_place),
        cmocka_unit_test(warm_up_is_a_share_or_a_number_of_steps),
        cmocka_unit_test(too_many_trials_are_refused_before_they_are_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
