/* rope.c - rotation of query and key pairs by angles proportional to the position.
 *
 * Pair t = columns (2t, 2t + 1) turns by i w_t, w_t = base^(-2t/r), r the number of rotated columns.  The
 * frequency rules only change w_t; yarn also multiplies cos and sin, and so the rotary part of the scores by
 * the square. */
#include "common.h"

#include <math.h>
#include <string.h>

enum rule { RULE_NONE, RULE_LINEAR, RULE_NTK, RULE_YARN, RULE_LLAMA3 };
static const char *const rules[] = {"none", "linear", "ntk", "yarn", "llama3", NULL};
static const char *const phases[] = {"full", "zeroed", NULL};

#define REAL_KEY(name, low, high, open, value, what, text)                                                   \
    {                                                                                                        \
        .path = "model." name, .type = PES_VALUE_REAL, .min = low, .max = high, .min_open = open,            \
        .fallback = value, .unit = what, .help = text                                                        \
    }

static const struct pes_key keys[] = {
    REAL_KEY("rope_base", 1, 1e12, true, "10000", "", "w_t = base^(-2t/r) for pair t of r rotated columns"),
    REAL_KEY("rotary_fraction", 0, 1, true, "1", "",
             "share of each head's columns that rotates, from the first"),
    {.path = "model.rope_add_sinusoid",
     .type = PES_VALUE_BOOL,
     .fallback = "false",
     .unit = "",
     .help = "also add sinusoids to the embedding, as the published code does"},
    {.path = "model.phase",
     .type = PES_VALUE_CHOICE,
     .choices = phases,
     .fallback = "full",
     .unit = "",
     .help = "zeroed: train without the sin terms, so that every frequency keeps cos(w_t D) alone"},
    {.path = "model.rope_scaling",
     .type = PES_VALUE_CHOICE,
     .choices = rules,
     .fallback = "none",
     .unit = "",
     .help = "rule that stretches the frequencies by rope_factor for contexts beyond rope_original_length"},
    REAL_KEY("rope_factor", 1, 1e6, false, "1", "", "factor of linear, ntk, yarn and llama3 scaling"),
    {.path = "model.rope_original_length",
     .type = PES_VALUE_INT,
     .min = 0,
     .max = 1073741824,
     .fallback = "0",
     .unit = "token",
     .help = "context before scaling, for ntk, yarn and llama3"},
    REAL_KEY("rope_beta_fast", 0, 1e6, true, "32", "",
             "yarn: pairs with more turns over the context keep w_t"),
    REAL_KEY("rope_beta_slow", 0, 1e6, true, "1", "", "yarn: pairs with fewer turns are stretched in full"),
    REAL_KEY("rope_attention_factor", 0, 100, false, "0", "",
             "yarn: factor of cos and sin; 0: 0.1 ln(rope_factor) + 1"),
    REAL_KEY("rope_low_frequency_factor", 0, 1e6, true, "1", "",
             "llama3: wavelengths above original length / this are stretched in full"),
    REAL_KEY("rope_high_frequency_factor", 0, 1e6, true, "4", "",
             "llama3: wavelengths below original length / this are kept"),
    {.path = NULL}};

static double value(const struct pes_position_site *site, const char *path)
{
    return pes_config_real(site->config, path);
}

static enum rule rule_of(const struct pes_position_site *site)
{
    const char *name = pes_config_text(site->config, "model.rope_scaling");
    int rule = 0;
    while (strcmp(rules[rule], name) != 0)
        rule++;
    return (enum rule)rule;
}

static double original_length(const struct pes_position_site *site)
{
    return (double)pes_config_int(site->config, "model.rope_original_length");
}

/* Keys that only some rules read must stay at their defaults under the others: two spellings of one model
 * would count as two trials. */
static enum pes_status check_unused(const struct pes_position_site *site, enum rule rule)
{
    const struct {
        const char *path;
        double fallback;
        bool used;
    } uses[] = {
        {"model.rope_factor", 1, rule != RULE_NONE},
        {"model.rope_beta_fast", 32, rule == RULE_YARN},
        {"model.rope_beta_slow", 1, rule == RULE_YARN},
        {"model.rope_attention_factor", 0, rule == RULE_YARN},
        {"model.rope_low_frequency_factor", 1, rule == RULE_LLAMA3},
        {"model.rope_high_frequency_factor", 4, rule == RULE_LLAMA3},
    };
    for (size_t i = 0; i < PES_COUNT(uses); i++)
        if (!uses[i].used && value(site, uses[i].path) != uses[i].fallback)
            return pes_fail(PES_INPUT, "%s %g has no meaning with rope_scaling %s", uses[i].path,
                            value(site, uses[i].path), rules[rule]);
    bool uses_length = rule == RULE_NTK || rule == RULE_YARN || rule == RULE_LLAMA3;
    if (uses_length != (original_length(site) > 0))
        return pes_fail(PES_INPUT,
                        uses_length
                            ? "rope_scaling %s needs model.rope_original_length (now %g)"
                            : "model.rope_original_length has no meaning with rope_scaling %s (now %g)",
                        rules[rule], original_length(site));
    return PES_OK;
}

static enum pes_status check(const struct pes_position_site *site)
{
    double fraction = value(site, "model.rotary_fraction");
    TRY(pes_position_check_rotation("rope", site->shape.D, fraction));
    enum rule rule = rule_of(site);
    TRY(check_unused(site, rule));
    if (rule == RULE_NTK && pes_position_rotated_columns(site->shape.D, fraction) <= 2)
        return pes_fail(PES_INPUT, "rope_scaling ntk has no meaning for a single pair of columns");
    if (rule == RULE_YARN && value(site, "model.rope_beta_fast") <= value(site, "model.rope_beta_slow"))
        return pes_fail(PES_INPUT, "model.rope_beta_fast %g must be above model.rope_beta_slow %g",
                        value(site, "model.rope_beta_fast"), value(site, "model.rope_beta_slow"));
    double low = value(site, "model.rope_low_frequency_factor");
    double high = value(site, "model.rope_high_frequency_factor");
    if (rule == RULE_LLAMA3 && high <= low)
        return pes_fail(
            PES_INPUT, "model.rope_high_frequency_factor %g must be above model.rope_low_frequency_factor %g",
            high, low);
    return PES_OK;
}

static int rotation_pairs(const struct pes_position_site *site, int width)
{
    return pes_position_rotated_columns(width, value(site, "model.rotary_fraction")) / 2;
}

/* The pair (a real number) that makes `turns` turns over the original context (Peng et al. 2023, arXiv
 * 2309.00071, sec. 3.2). */
static double pair_with_turns(const struct pes_position_site *site, int columns, double base, double turns)
{
    return columns * log(original_length(site) / (turns * 2 * M_PI)) / (2 * log(base));
}

static double yarn(const struct pes_position_site *site, int columns, int t, double base, double w)
{
    double low = floor(pair_with_turns(site, columns, base, value(site, "model.rope_beta_fast")));
    double high = ceil(pair_with_turns(site, columns, base, value(site, "model.rope_beta_slow")));
    low = fmax(low, 0);
    high = fmin(high, columns - 1);
    double stretched = fmin(fmax((t - low) / fmax(high - low, 0.001), 0), 1);
    return w * (1 - stretched) + w / value(site, "model.rope_factor") * stretched;
}

/* Three bands of wavelength: kept, blended, stretched (Dubey et al. 2024, arXiv 2407.21783; released code).
 */
static double llama3(const struct pes_position_site *site, double w)
{
    double turns = original_length(site) * w / (2 * M_PI), factor = value(site, "model.rope_factor");
    double low = value(site, "model.rope_low_frequency_factor");
    double high = value(site, "model.rope_high_frequency_factor");
    double kept = fmin(fmax((turns - low) / (high - low), 0), 1);
    return w * kept + w / factor * (1 - kept);
}

/* ntk: the base grows once sequences exceed the original length (the dynamic rule, with the model's own T).
 */
static double base_of(const struct pes_position_site *site, int columns)
{
    double base = value(site, "model.rope_base"), T = site->shape.T;
    if (rule_of(site) != RULE_NTK || T <= original_length(site)) return base;
    double factor = value(site, "model.rope_factor");
    double growth = factor * T / original_length(site) - (factor - 1);
    return base * pow(growth, columns / (columns - 2.0));
}

static void rotation(const struct pes_position_site *site, int T, int pairs, real *table_q, real *table_k,
                     double *frequencies)
{
    enum rule rule = rule_of(site);
    double base = base_of(site, 2 * pairs), scale = 1;
    if (rule == RULE_YARN) {
        scale = value(site, "model.rope_attention_factor");
        if (scale == 0) scale = 0.1 * log(value(site, "model.rope_factor")) + 1;
    }
    for (int t = 0; t < pairs; t++) {
        double w = pow(base, -(double)t / pairs);
        if (rule == RULE_LINEAR) w /= value(site, "model.rope_factor");
        if (rule == RULE_YARN) w = yarn(site, 2 * pairs, t, base, w);
        if (rule == RULE_LLAMA3) w = llama3(site, w);
        if (frequencies) frequencies[t] = w;
        for (int i = 0; i < T; i++) {
            size_t at = 2 * ((size_t)i * (size_t)pairs + (size_t)t);
            real c = (real)(scale * cos(i * w)), s = (real)(scale * sin(i * w));
            if (table_q) table_q[at] = c, table_q[at + 1] = s;
            if (table_k) table_k[at] = c, table_k[at + 1] = s;
        }
    }
}

static bool drops_phase(const struct pes_position_site *site)
{
    return strcmp(pes_config_text(site->config, "model.phase"), "zeroed") == 0;
}

static void embed_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int T, real *table)
{
    (void)parameters;
    memset(table, 0, (size_t)T * (size_t)site->shape.C * sizeof *table);
    if (pes_config_bool(site->config, "model.rope_add_sinusoid"))
        pes_position_add_sinusoids(T, site->shape.C, 10000, table);
}

const struct pes_position pes_position_rope = {
    .name = "rope",
    .summary = "queries and keys are rotated by angles proportional to their position",
    .source =
        "Su et al. 2021, arXiv 2104.09864, eq. 34; scaling: Chen et al. 2023, arXiv 2306.15595 (linear); "
        "Peng et al. 2023, arXiv 2309.00071 (ntk, yarn); Dubey et al. 2024, arXiv 2407.21783 (llama3)",
    .family = PES_POSITION_ROTARY,
    .keys = keys,
    .check = check,
    .embed_forward = embed_forward,
    .rotation_pairs = rotation_pairs,
    .rotation = rotation,
    .drops_phase = drops_phase,
};
