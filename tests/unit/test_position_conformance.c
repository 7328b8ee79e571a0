/* What every positional scheme of the table must be and do. */
#include "position_support.h"

static struct pes_shape shape = {.T = 9, .C = 12, .H = 3, .L = 2, .V = 5, .classes = 5, .causal = true};

static void each_scheme(void (*check)(struct support *s))
{
    for (size_t p = 0; pes_positions[p]; p++) {
        struct support s = support_make(pes_positions[p]->name, "", shape);
        check(&s);
        support_free(&s);
    }
}

static void check_description(struct support *s)
{
    const struct pes_position *position = s->position;
    assert_ptr_equal(pes_position_find(position->name), position);
    assert_true(strlen(position->summary) > 0 && strlen(position->source) > 0);
    assert_null(strchr(position->summary, '\n'));
    for (const struct pes_key *key = position->keys; key && key->path; key++) {
        assert_int_equal(strncmp(key->path, "model.", 6), 0);
        assert_true(key->fallback && strlen(key->help) > 0);
    }
    if (position->check) assert_int_equal(position->check(&s->site), PES_OK);
}

static void schemes_are_described_and_accept_their_defaults(void **state)
{
    (void)state;
    each_scheme(check_description);
    for (size_t p = 0; pes_positions[p]; p++)
        assert_string_equal(pes_position_names[p], pes_positions[p]->name);
    assert_null(pes_position_find("no such scheme"));
}

static void check_hooks(struct support *s)
{
    const struct pes_position *position = s->position;
    bool added = position->embed_forward, biased = position->bias_forward || position->content_bias_forward;
    bool rotates = position->rotation;
    assert_int_equal(rotates, position->rotation_pairs != NULL);
    assert_true(position->embed_backward == NULL || added);
    assert_true(position->bias_backward == NULL || position->bias_forward);
    assert_int_equal(position->content_bias_forward != NULL, position->content_bias_backward != NULL);
    switch (position->family) {
    case PES_POSITION_NONE:
        assert_false(added || biased || rotates);
        break;
    case PES_POSITION_ABSOLUTE:
        assert_true(added && !biased && !rotates);
        break;
    case PES_POSITION_ADDITIVE:
        assert_true(biased && !rotates);
        break;
    case PES_POSITION_ROTARY:
        assert_true(rotates && !biased);
        break;
    }
}

static void hooks_agree_with_the_family(void **state)
{
    (void)state;
    each_scheme(check_hooks);
}

static void check_every_parameter_is_trained(struct support *s)
{
    const struct pes_position *position = s->position;
    int T = shape.T;
    real ones[81], dq[81 * 4] = {0}, q[81 * 4];
    for (int i = 0; i < 81; i++)
        ones[i] = 1 + (real)0.1 * (real)i;
    for (int i = 0; i < 81 * 4; i++)
        q[i] = 1 + (real)(i % 7);
    real dtable[9 * 12];
    for (int i = 0; i < 9 * 12; i++)
        dtable[i] = 1;
    if (position->embed_backward) position->embed_backward(&s->site, &s->parameters, T, dtable);
    for (int layer = 0; layer < shape.L; layer++)
        for (int head = 0; head < shape.H; head++) {
            if (position->bias_backward)
                position->bias_backward(&s->site, &s->parameters, layer, head, T, ones);
            if (position->content_bias_backward)
                position->content_bias_backward(&s->site, &s->parameters, layer, head, T, q, 4, 1, ones, dq);
        }
    for (size_t i = 0; i < s->table->num_tensors; i++) {
        const struct pes_tensor *tensor = &s->table->tensors[i];
        double sum = 0;
        for (size_t e = 0; e < tensor->count; e++)
            sum += fabs((double)s->parameters.gradient[tensor->offset + e]);
        if (sum == 0) print_error("%s has no gradient\n", tensor->name);
        assert_true(sum > 0);
    }
}

static void every_parameter_has_a_gradient(void **state)
{
    (void)state;
    each_scheme(check_every_parameter_is_trained);
}

/* q(i) . k(j) of every pair of columns depends on i - j alone. */
static void check_rotation_is_relative(struct support *s)
{
    const struct pes_position *position = s->position;
    if (!position->rotation) return;
    int pairs = position->rotation_pairs(&s->site, 4), T = shape.T;
    real q[9 * 4], k[9 * 4];
    double frequencies[2];
    position->rotation(&s->site, T, pairs, q, k, frequencies);
    for (int t = 0; t < pairs; t++) {
        assert_true(frequencies[t] > 0 && (t == 0 || frequencies[t] < frequencies[t - 1]));
        for (int d = 1 - T; d < T; d++)
            for (int i = PES_MAX(d, 0) + 1; i < T && i - d < T; i++) {
                const real *a = q + (i * pairs + t) * 2, *b = k + ((i - d) * pairs + t) * 2;
                const real *c = a - 2 * pairs, *e = b - 2 * pairs;
                support_assert_near((double)(a[0] * b[0] + a[1] * b[1]), (double)(c[0] * e[0] + c[1] * e[1]),
                                    2e-6);
                support_assert_near((double)(a[1] * b[0] - a[0] * b[1]), (double)(c[1] * e[0] - c[0] * e[1]),
                                    2e-6);
            }
    }
}

static void rotations_depend_on_the_offset_alone(void **state)
{
    (void)state;
    each_scheme(check_rotation_is_relative);
}

/* A shorter sequence sees the values that a longer one has at the same places. */
static void check_length(struct support *s)
{
    const struct pes_position *position = s->position;
    real whole[9 * 12], part[9 * 12];
    if (position->embed_forward) {
        position->embed_forward(&s->site, &s->parameters, 9, whole);
        position->embed_forward(&s->site, &s->parameters, 5, part);
        assert_memory_equal(whole, part, 5 * 12 * sizeof(real));
    }
    if (!position->bias_forward) return;
    position->bias_forward(&s->site, &s->parameters, 1, 2, 9, whole);
    position->bias_forward(&s->site, &s->parameters, 1, 2, 5, part);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++) {
            int a = position->bias_dense ? j * 9 + i : i - j + 8,
                b = position->bias_dense ? j * 5 + i : i - j + 4;
            assert_true(whole[a] == part[b]);
        }
}

static void values_do_not_depend_on_the_length(void **state)
{
    (void)state;
    each_scheme(check_length);
}

static void check_names(struct support *s)
{
    for (size_t i = 0; i < s->table->num_tensors; i++) {
        const struct pes_tensor *tensor = &s->table->tensors[i];
        assert_true(tensor->count > 0 && tensor->fan_in > 0);
        if (tensor->role == PES_TENSOR_TABLE) assert_true(tensor->std > 0);
    }
    s->site.layers = 0; /* a scheme that acts in no layer has no tensors of layers */
    struct pes_tensor_table none = {.arena = s->arena};
    if (s->position->declare) assert_int_equal(s->position->declare(&s->site, &none), PES_OK);
    for (size_t i = 0; i < none.num_tensors; i++)
        assert_int_not_equal(strncmp(none.tensors[i].name, "layers.", 7), 0);
}

static void tensors_belong_to_the_layers_where_the_scheme_acts(void **state)
{
    (void)state;
    each_scheme(check_names);
}

static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    for (size_t p = 0; pes_positions[p]; p++) {
        if (!pes_positions[p]->declare) continue;
        struct support s = support_make(pes_positions[p]->name, "", shape);
        struct pes_tensor_table table = {.arena = pes_arena_create()};
        enum pes_status status = PES_OK;
        pes_allocate_fail_after(1);
        /* Arenas hold some memory: the table is declared again and again until they need more. */
        for (int i = 0; i < 10000 && status == PES_OK; i++) {
            table = (struct pes_tensor_table){.arena = table.arena};
            status = s.position->declare(&s.site, &table);
        }
        pes_allocate_fail_after(0);
        assert_int_equal(status, PES_MEMORY);
        pes_arena_destroy(table.arena);
        support_free(&s);
    }
}

int main(void)
{
    shape.D = shape.C / shape.H;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_are_described_and_accept_their_defaults),
        cmocka_unit_test(hooks_agree_with_the_family),
        cmocka_unit_test(every_parameter_has_a_gradient),
        cmocka_unit_test(rotations_depend_on_the_offset_alone),
        cmocka_unit_test(values_do_not_depend_on_the_length),
        cmocka_unit_test(tensors_belong_to_the_layers_where_the_scheme_acts),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
