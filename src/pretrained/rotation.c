/* rotation.c - how fast the pairs of a rotary head turn: the base rule and its stretched variants.
 *
 * w_t = theta^(-2t/r) with r the rotated width (Su et al. 2021); the variants are linear interpolation (Chen
 * et al. 2023), YaRN (Peng et al. 2023), LongRoPE (Ding et al. 2024), Llama 3's bands, and "proportional",
 * whose slow pairs stand still.  Dynamic scaling depends on the length of the text: the frequencies are those
 * of texts no longer than in training. */
#include <math.h>
#include <string.h>

#include "checkpoint.h"

#define PI 3.14159265358979323846

struct rule {
    const json_t *keys; /* where the variant's numbers stand */
    const char *name;
    double theta, share; /* part of a head that turns */
    double longest;      /* max_position_embeddings */
};

static enum pes_status number(const struct pes_pretrained *model, const json_t *keys, const char *name,
                              double *value)
{
    *value = checkpoint_real(keys, name, NAN);
    if (isfinite(*value) && *value > 0) return PES_OK;
    return pes_fail(PES_INPUT, "%s: the rotary rule needs a positive %s", model->config_path, name);
}

/* Length before the context was stretched: with the rule, or at the top. */
static enum pes_status original_length(const struct pes_pretrained *model, const struct rule *rule,
                                       double *length)
{
    static const char name[] = "original_max_position_embeddings";
    if (checkpoint_key(rule->keys, name)) return number(model, rule->keys, name, length);
    if (checkpoint_key(model->config, name)) return number(model, model->config, name, length);
    *length = rule->longest;
    if (*length > 0) return PES_OK;
    return pes_fail(PES_INPUT, "%s: the rotary rule %s needs %s", model->config_path, rule->name, name);
}

static enum pes_status stretch_linear(const struct pes_pretrained *model, const struct rule *rule,
                                      struct rotation *rotation)
{
    double factor;
    TRY(number(model, rule->keys, "factor", &factor));
    for (int t = 0; t < rotation->pairs; t++)
        rotation->frequencies[t] /= factor;
    return PES_OK;
}

/* Wavelengths up to original/high are kept, those from original/low on divided, blended between. */
static enum pes_status stretch_llama3(const struct pes_pretrained *model, const struct rule *rule,
                                      struct rotation *rotation)
{
    double factor, low, high, length;
    TRY(number(model, rule->keys, "factor", &factor));
    TRY(number(model, rule->keys, "low_freq_factor", &low));
    TRY(number(model, rule->keys, "high_freq_factor", &high));
    TRY(original_length(model, rule, &length));
    for (int t = 0; t < rotation->pairs; t++) {
        double w = rotation->frequencies[t], wavelength = 2 * PI / w;
        double kept = (length / wavelength - low) / (high - low);
        kept = fmin(1, fmax(0, kept));
        rotation->frequencies[t] = kept * w + (1 - kept) * w / factor;
    }
    return PES_OK;
}

static double yarn_magnitude(double factor, double scale)
{
    return factor > 1 ? 0.1 * scale * log(factor) + 1 : 1;
}

/* Pair whose wavelength fits `turns` times into the original length. */
static double yarn_place(double turns, double theta, double length, int width)
{
    return width * log(length / (turns * 2 * PI)) / (2 * log(theta));
}

static enum pes_status stretch_yarn(const struct pes_pretrained *model, const struct rule *rule,
                                    struct rotation *rotation)
{
    double length, factor;
    TRY(original_length(model, rule, &length));
    factor = checkpoint_real(rule->keys, "factor", rule->longest / length);
    if (!(factor > 0))
        return pes_fail(PES_INPUT, "%s: the rotary rule yarn needs a factor", model->config_path);
    int width = 2 * rotation->pairs;
    double low = yarn_place(checkpoint_real(rule->keys, "beta_fast", 32), rule->theta, length, width);
    double high = yarn_place(checkpoint_real(rule->keys, "beta_slow", 1), rule->theta, length, width);
    if (!json_is_false(checkpoint_key(rule->keys, "truncate"))) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, width - 1);
    if (low == high) high += 0.001;
    for (int t = 0; t < rotation->pairs; t++) {
        double slow = fmin(1, fmax(0, (t - low) / (high - low))), w = rotation->frequencies[t];
        rotation->frequencies[t] = slow * w / factor + (1 - slow) * w;
    }
    double part = checkpoint_real(rule->keys, "mscale", 0),
           all = checkpoint_real(rule->keys, "mscale_all_dim", 0);
    rotation->factor = part != 0 && all != 0 ? yarn_magnitude(factor, part) / yarn_magnitude(factor, all)
                                             : yarn_magnitude(factor, 1);
    rotation->factor = checkpoint_real(rule->keys, "attention_factor", rotation->factor);
    return PES_OK;
}

static enum pes_status stretch_long(const struct pes_pretrained *model, const struct rule *rule,
                                    struct rotation *rotation)
{
    double length;
    TRY(original_length(model, rule, &length));
    const json_t *list = checkpoint_key(rule->keys, "short_factor");
    if (!json_is_array(list) || json_array_size(list) != (size_t)rotation->pairs)
        return pes_fail(PES_INPUT, "%s: short_factor must be a list of %d numbers", model->config_path,
                        rotation->pairs);
    for (int t = 0; t < rotation->pairs; t++) {
        double divisor = json_number_value(json_array_get(list, (size_t)t));
        if (!(divisor > 0))
            return pes_fail(PES_INPUT, "%s: short_factor %d is not a positive number", model->config_path, t);
        rotation->frequencies[t] /= divisor;
    }
    double factor = rule->longest > 0 ? rule->longest / length : checkpoint_real(rule->keys, "factor", 1);
    rotation->factor = factor > 1 && length > 1 ? sqrt(1 + log(factor) / log(length)) : 1;
    rotation->factor = checkpoint_real(rule->keys, "attention_factor", rotation->factor);
    return PES_OK;
}

/* Divisors as a tensor of the file (GGUF). */
static enum pes_status stretch_by_tensor(const struct pes_pretrained *model, struct rotation *rotation)
{
    const struct pes_weight *weight = pes_weights_find(model->weights, "rope_freqs.weight");
    if (!weight || weight->count != (uint64_t)rotation->pairs)
        return pes_fail(PES_INPUT, "%s: rope_freqs.weight is not %d numbers", model->about.path,
                        rotation->pairs);
    for (int t = 0; t < rotation->pairs; t++) {
        double divisor;
        TRY(pes_weight_read(weight, (uint64_t)t, 1, &divisor));
        rotation->frequencies[t] /= divisor;
    }
    return PES_OK;
}

static enum pes_status build(struct pes_pretrained *model, const struct rule *rule, int width,
                             struct rotation *rotation)
{
    bool still = !strcmp(rule->name, "proportional"), sane = rule->share > 0 && rule->share <= 1;
    double turning = sane ? rule->share * width : 0;
    int r = still ? width : (int)turning;
    if (!sane || r % 2 || r < 2)
        return pes_fail(PES_INPUT, "%s: %d of %d coordinates of a head can't be rotated in pairs",
                        model->config_path, r, width);
    *rotation = (struct rotation){.pairs = still ? (int)(turning / 2) : r / 2, .half = r / 2, .factor = 1};
    rotation->frequencies = pes_arena_take(model->arena, (size_t)rotation->pairs, sizeof(double));
    if (!rotation->frequencies) return PES_MEMORY;
    for (int t = 0; t < rotation->pairs; t++)
        rotation->frequencies[t] = pow(rule->theta, -2.0 * t / r);
    if (!strcmp(rule->name, "default") || still) return PES_OK;
    if (!strcmp(rule->name, "linear")) return stretch_linear(model, rule, rotation);
    if (!strcmp(rule->name, "llama3")) return stretch_llama3(model, rule, rotation);
    if (!strcmp(rule->name, "factors")) return stretch_by_tensor(model, rotation);
    if (!strcmp(rule->name, "yarn")) return stretch_yarn(model, rule, rotation);
    if (!strcmp(rule->name, "longrope") || !strcmp(rule->name, "su")) {
        checkpoint_note(model, "rotary frequencies are those of short texts (longrope)");
        return stretch_long(model, rule, rotation);
    }
    if (!strcmp(rule->name, "dynamic")) {
        checkpoint_note(model, "rotary frequencies are those of texts as long as in training (dynamic)");
        return PES_OK;
    }
    return pes_fail(PES_INPUT,
                    "%s: rotary rule '%s' is unknown; default, linear, dynamic, yarn, longrope, llama3 "
                    "and proportional are read",
                    model->config_path, rule->name);
}

/* Newer files keep everything about a rotation in rope_parameters, once or per kind of layer (`kind`); older
 * ones a base and a share at the top and the rest in rope_scaling.  What rope_parameters says goes first. */
static enum pes_status read_rule(struct pes_pretrained *model, const char *kind, int width,
                                 struct rotation *rotation)
{
    const json_t *config = model->config, *keys = checkpoint_key(config, "rope_parameters");
    if (kind && json_is_object(json_object_get(keys, kind))) keys = json_object_get(keys, kind);
    bool local = kind && !strcmp(kind, "sliding_attention");
    struct rule rule = {.longest = checkpoint_real(config, "max_position_embeddings n_positions", 0)};
    rule.theta = checkpoint_real(keys, "rope_theta", 0);
    if (!(rule.theta > 0))
        rule.theta =
            checkpoint_real(config, local ? "rope_local_base_freq" : "rope_theta rotary_emb_base", 0);
    if (!(rule.theta > 0)) rule.theta = model->rope_theta;
    if (!(rule.theta > 0)) rule.theta = model->architecture->theta;
    if (!(rule.theta > 0))
        return pes_fail(
            PES_INPUT,
            "%s: neither rope_parameters.rope_theta nor rope_theta is there; if the model has the "
            "usual base, say --rope-theta 10000",
            model->config_path);
    rule.share = checkpoint_real(keys, "partial_rotary_factor", 0);
    if (!(rule.share > 0)) rule.share = checkpoint_real(config, "partial_rotary_factor rotary_pct", 1);
    double dimensions = checkpoint_real(config, "rotary_dim", 0);
    if (dimensions > 0) rule.share = dimensions / width;
    /* The old stretching of a model with two bases is that of its wide layers. */
    if (!checkpoint_key(keys, "rope_type type") && !local) {
        const json_t *old = checkpoint_key(config, "rope_scaling");
        if (json_is_object(old)) keys = old;
    }
    rule.keys = keys;
    rule.name = json_string_value(checkpoint_key(keys, "rope_type type"));
    if (!rule.name) rule.name = "default";
    return build(model, &rule, width, rotation);
}

/* Which layers slide, in a model with two kinds: a list, or every n-th layer is wide. */
static bool slides(const struct pes_pretrained *model, int layer)
{
    const json_t *types = checkpoint_key(model->config, "layer_types");
    if (types) {
        const char *type = json_string_value(json_array_get(types, (size_t)layer));
        return type && !strcmp(type, "sliding_attention");
    }
    int pattern = (int)checkpoint_real(model->config, "sliding_window_pattern _sliding_window_pattern", 6);
    return pattern > 0 && (layer + 1) % pattern;
}

enum pes_status checkpoint_read_rotations(struct pes_pretrained *model, int width)
{
    const json_t *keys = checkpoint_key(model->config, "rope_parameters");
    bool two = json_is_object(json_object_get(keys, "sliding_attention")) ||
               checkpoint_key(model->config, "rope_local_base_freq");
    unsigned char *of = pes_arena_take(model->arena, (size_t)model->about.L, 1);
    if (!of) return PES_MEMORY;
    model->rotation_of = of;
    model->num_rotations = 1 + two;
    TRY(read_rule(model, two ? "full_attention" : NULL, width, &model->rotations[0]));
    if (two) TRY(read_rule(model, "sliding_attention", width, &model->rotations[1]));
    for (int layer = 0; layer < model->about.L && two; layer++)
        of[layer] = slides(model, layer);
    for (int i = 0; i < model->num_rotations; i++)
        model->about.pairs = PES_MAX(model->about.pairs, model->rotations[i].pairs);
    return PES_OK;
}

enum pes_status checkpoint_as_if_paired(struct pes_pretrained *model, int width)
{
    struct rotation *rotation = &model->rotations[0];
    *rotation = (struct rotation){.pairs = width / 2, .factor = 1};
    rotation->frequencies = pes_arena_take(model->arena, (size_t)rotation->pairs, sizeof(double));
    model->rotation_of = pes_arena_take(model->arena, (size_t)model->about.L, 1);
    if (!rotation->frequencies || !model->rotation_of) return PES_MEMORY;
    for (int t = 0; t < rotation->pairs; t++)
        rotation->frequencies[t] = pow(10000, -(double)t / rotation->pairs);
    model->about.pairs = rotation->pairs;
    return PES_OK;
}
