/* Gradients against central differences, for every scheme, constraint and objective.  Needs the double build.
 */
#include "model_support.h"

/* Central differences of order h^4 (five points). */
static double difference(struct support *s, size_t element, double h)
{
    static const double steps[] = {-2, -1, 1, 2}, weights[] = {1, -8, 8, -1};
    double sum = 0;
    real kept = s->parameters[element];
    for (size_t i = 0; i < PES_COUNT(steps); i++) {
        struct pes_loss loss = {0};
        struct pes_pass pass = {.training = true, .seed = 9, .step = 4};
        s->parameters[element] = kept + (real)(steps[i] * h);
        pes_model_prepare(s->model, s->training, s->parameters, NULL);
        pes_model_run(s->model, s->training, &s->batch, &pass, &loss);
        sum += weights[i] * (loss.sum / (double)loss.count + pes_model_finish(s->model, s->training, NULL));
    }
    s->parameters[element] = kept;
    return sum / (12 * h);
}

/* A difference that straddles a kink of ReLU is wrong, one with a smaller step is right. */
static bool agrees(struct support *s, size_t element, double allowed, double *expected)
{
    for (double h = 1e-4; h > 5e-7; h /= 10) {
        *expected = difference(s, element, h);
        if (fabs((double)s->gradient[element] - *expected) <= allowed) return true;
    }
    return false;
}

/* Up to five elements of every tensor. */
static void check(const char *settings, bool lm, bool padded)
{
    struct support s = support_make(settings, lm, padded);
    (void)support_differentiate(&s, 2, true);
    for (size_t i = 0; i < s.model->tensors.num_tensors; i++) {
        const struct pes_tensor *tensor = &s.model->tensors.tensors[i];
        double scale = 0, expected;
        for (size_t e = 0; e < tensor->count; e++)
            scale = fmax(scale, fabs((double)s.gradient[tensor->offset + e]));
        size_t stride = tensor->count / 5 + 1;
        for (size_t e = i % stride; e < tensor->count; e += stride) {
            if (agrees(&s, tensor->offset + e, 1e-7 * fmax(scale, 1e-3), &expected)) continue;
            print_error("%s (%s): %s[%zu] is %.12g, not %.12g\n", settings, lm ? "lm" : "classify",
                        tensor->name, e, (double)s.gradient[tensor->offset + e], expected);
            fail();
        }
    }
    support_free(&s);
}

static void every_scheme_under_every_constraint_and_objective(void **state)
{
    (void)state;
    for (size_t p = 0; pes_positions[p]; p++)
        for (size_t c = 0; pes_symmetries[c]; c++)
            for (int lm = 0; lm < 2; lm++) {
                char settings[256];
                bool causal = lm || strcmp(pes_positions[p]->name, "xpos") == 0;
                snprintf(settings, sizeof settings, "layers=1 d_ff=6 pe=%s symmetry=%s causal=%s",
                         pes_positions[p]->name, pes_symmetries[c]->name, causal ? "true" : "false");
                check(settings, lm, false);
            }
}

static void values_whose_output_follows_from_them(void **state)
{
    (void)state;
    for (size_t c = 0; pes_symmetries[c]; c++)
        for (size_t v = 0; pes_symmetries[v]; v++)
            for (int lm = 0; lm < 2; lm++) {
                char settings[256];
                snprintf(settings, sizeof settings, "pe=rope symmetry=%s value_symmetry=%s causal=%s%s",
                         pes_symmetries[c]->name, pes_symmetries[v]->name, lm ? "true" : "false",
                         lm ? " dropout=0.2" : "");
                check(settings, lm, false);
            }
    check("pe=learned value_symmetry=antisymmetric kv_source=embedding final_norm=false", false, false);
    check("d_model=15 heads=3 pe=alibi value_symmetry=symmetric d_ff=0", false, false);
}

static void latent_attention(void **state)
{
    (void)state;
    check("attention=mla pe=rope d_rope=2", false, false);
    check("attention=mla pe=rope d_rope=4 latent_norm=true causal=true", true, false);
    check("attention=mla pe=rope d_rope=6 kv_source=embedding heads=4", false, true);
    check("attention=mla pe=rope d_rope=6 rotary_fraction=0.7 phase=zeroed latent_norm=true", false, false);
    check("attention=mla pe=alibi d_latent=3 latent_norm=true dropout=0.2", false, false);
    check("attention=mla pe=shaw d_latent=12", false, false);
    check("attention=mla pe=rope d_rope=4 published_rotation=true", false, false);
    check("attention=mla pe=rope d_rope=6 published_query=true latent_norm=true", false, true);
    check("attention=mla pe=rope d_rope=2 published_positions=true causal=true", true, false);
    check("attention=mla pe=rope d_rope=6 published_rotation=true published_query=true "
          "published_positions=true rope_add_sinusoid=true dropout=0.2",
          false, false);
}

static void parts_of_the_published_architecture(void **state)
{
    (void)state;
    check("kv_source=embedding final_norm=false activation=relu pe=rope rope_add_sinusoid=true", false,
          false);
    check("kv_source=embedding final_norm=false activation=relu pe=learned dropout=0.3", false, false);
    check("kv_source=embedding pe=t5 causal=true symmetry=antisymmetric", true, false);
    check("d_ff=0 kv_source=embedding pe=learned symmetry=psd", false, false);
}

static void padding_is_masked(void **state)
{
    (void)state;
    check("pad=mask pe=rope", false, true);
    check("pad=mask pe=relative dropout=0.2", false, true);
    check("pad=mask pe=fire causal=true", true, true);
}

static void schemes_on_some_heads_and_layers(void **state)
{
    (void)state;
    for (size_t p = 0; pes_positions[p]; p++) {
        if (pes_positions[p]->family != PES_POSITION_ADDITIVE &&
            pes_positions[p]->family != PES_POSITION_ROTARY)
            continue;
        char settings[256];
        snprintf(settings, sizeof settings,
                 "heads=4 causal=true pe=%s pe_heads=[1,3] pe_layers=[1] dropout=0.1",
                 pes_positions[p]->name);
        check(settings, true, false);
    }
}

static void variants_of_schemes(void **state)
{
    (void)state;
    check("pe=rope phase=zeroed", false, false);
    check("pe=rope phase=zeroed rotary_fraction=0.5 pe_heads=[1] causal=true dropout=0.2", true, false);
    check("pe=rope rope_scaling=yarn rope_factor=4 rope_original_length=3", false, false);
    check("pe=kerple kerple_kernel=power", false, false);
    check("pe=shaw shaw_clip=2 dropout=0.2", false, false);
    check("pe=fire fire_threshold=3", false, false);
    check("pe=t5 t5_buckets=8 t5_max_distance=5", false, false);
    check("pe=relative max_length=20", false, false);
    check("heads=8 d_model=24 pe=xpos rotary_fraction=0.7 causal=true xpos_scale_base=4", true, false);
    check("d_model=15 heads=3 pe=alibi_learned", false, false);
    check("d_model=12 heads=1 layers=3 pe=learned activation=relu", false, false);
}

int main(void)
{
    if (sizeof(real) != sizeof(double)) {
        puts("skipped: gradients are checked in the double build (-DPES_DOUBLE=ON)");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_scheme_under_every_constraint_and_objective),
        cmocka_unit_test(values_whose_output_follows_from_them),
        cmocka_unit_test(latent_attention),
        cmocka_unit_test(parts_of_the_published_architecture),
        cmocka_unit_test(padding_is_masked),
        cmocka_unit_test(schemes_on_some_heads_and_layers),
        cmocka_unit_test(variants_of_schemes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
