/* claims.c - from trials to the sides of a comparison, a value per seed; the rules stand in judge.h. */
#include "internal.h"
#include "pesweep/study.h"
#include "pesweep/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Which axes a claim compares: they and the seeds don't make combinations. */
struct comparison {
    struct pes_study *study;
    const struct pes_claim *claim;
    struct pes_metric metric;
    bool *compared; /* [num_axes] */
};

/* A trial with its value on one side of a pair. */
struct taken {
    size_t trial;
    double value;
    bool reached, missing, diverged, common;
};

struct side {
    const char *name;
    const struct pes_value *value; /* of the axis, or */
    const struct pes_selection *selection;
    size_t count;
    struct taken *taken; /* [count] */
    size_t num_units;
    double *values; /* [num_units] */
    bool *reached;
    size_t *first; /* a trial of each unit: names its seeds */
};

static const struct pes_value *value_of(const struct comparison *c, size_t trial, size_t slot)
{
    const struct pes_config *config = c->study->sweep->trials[trial].config;
    return config->applies[slot] ? &config->values[slot] : NULL;
}

static bool selected(const struct comparison *c, size_t trial, const struct pes_selection *selection)
{
    for (size_t i = 0; i < selection->num_terms; i++) {
        const struct pes_value *value = value_of(c, trial, selection->slots[i]);
        if (!value || !pes_value_equal(value, &selection->values[i])) return false;
    }
    return true;
}

static long axis_of(const struct pes_sweep *sweep, const char *name)
{
    for (size_t a = 0; name && a < sweep->num_axes; a++)
        if (!strcmp(sweep->axes[a].name, name)) return (long)a;
    return -1;
}

static bool on_side(const struct comparison *c, size_t trial, const struct side *side)
{
    if (!selected(c, trial, &c->claim->where)) return false;
    if (side->selection) return selected(c, trial, side->selection);
    long axis = axis_of(c->study->sweep, c->claim->axis);
    const struct pes_value *value = value_of(c, trial, c->study->sweep->axes[axis].slot);
    return value && pes_value_equal(value, side->value);
}

/* Same combination of the axes that aren't compared.  Across the sides an axis that doesn't apply to one of
 * the two (loose) doesn't part them. */
static bool same_combination(const struct comparison *c, size_t a, size_t b, bool loose)
{
    for (size_t i = 0; i < c->study->sweep->num_axes; i++) {
        const struct pes_axis *axis = &c->study->sweep->axes[i];
        const struct pes_value *x = value_of(c, a, axis->slot), *y = value_of(c, b, axis->slot);
        if (c->compared[i] || pes_axis_is_seed(axis)) continue;
        if (x && y ? !pes_value_equal(x, y) : !loose && !x != !y) return false;
    }
    return true;
}

static bool same_seeds(const struct comparison *c, size_t a, size_t b)
{
    for (size_t i = 0; i < c->study->sweep->num_axes; i++) {
        const struct pes_axis *axis = &c->study->sweep->axes[i];
        if (!pes_axis_is_seed(axis)) continue;
        const struct pes_value *x = value_of(c, a, axis->slot), *y = value_of(c, b, axis->slot);
        if (!x != !y || (x && !pes_value_equal(x, y))) return false;
    }
    return true;
}

/* Trials of a side in the combinations that at least half of its seeds have: a single added trial is none. */
static enum pes_status list_side(const struct comparison *c, struct side *side)
{
    size_t n = c->study->num_trials, all = 0, seeds = 0;
    side->taken = pes_arena_take(c->study->arena, n, sizeof *side->taken);
    if (!side->taken) return PES_MEMORY;
    for (size_t t = 0; t < n; t++)
        if (on_side(c, t, side)) side->taken[all++].trial = t;
    for (size_t i = 0; i < all; i++) {
        bool earlier = false;
        for (size_t j = 0; j < i && !earlier; j++)
            earlier = same_seeds(c, side->taken[i].trial, side->taken[j].trial);
        seeds += !earlier;
    }
    for (size_t i = 0; i < all; i++) {
        size_t have = 0;
        for (size_t j = 0; j < all; j++)
            have += same_combination(c, side->taken[i].trial, side->taken[j].trial, false);
        side->taken[i].common = 2 * have >= seeds;
    }
    side->count = 0;
    for (size_t i = 0; i < all; i++)
        if (side->taken[i].common) side->taken[side->count++] = side->taken[i];
    return PES_OK;
}

/* Keeps what has a counterpart on the other side, and reads its values. */
static enum pes_status take_side(const struct comparison *c, const struct side *other, struct side *side)
{
    size_t kept = 0;
    for (size_t i = 0; i < side->count; i++) {
        bool matched = false;
        for (size_t j = 0; j < other->count && !matched; j++)
            matched = same_combination(c, side->taken[i].trial, other->taken[j].trial, true);
        if (matched) side->taken[kept++] = side->taken[i];
    }
    side->count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct taken *taken = &side->taken[i];
        taken->diverged = c->study->status[taken->trial] == PES_OUTCOME_DIVERGED;
        TRY(pes_metric_evaluate(c->study, &c->metric, taken->trial, &taken->value, &taken->reached));
        taken->missing = !pes_study_finished(c->study, taken->trial) ||
                         (isnan(taken->value) && !(taken->diverged && c->metric.performance));
    }
    return PES_OK;
}

/* A diverged trial has the worst final value of the comparison, or is under way to the last step. */
static void place_diverged(const struct comparison *c, struct side *sides)
{
    double worst = NAN;
    bool largest = c->metric.lower_is_better;
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s].count; i++) {
            double value = sides[s].taken[i].value;
            if (sides[s].taken[i].missing || !isfinite(value)) continue;
            if (isnan(worst) || (largest ? value > worst : value < worst)) worst = value;
        }
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s].count; i++) {
            struct taken *taken = &sides[s].taken[i];
            if (!taken->diverged || !c->metric.performance) continue;
            if (c->metric.times && taken->reached && isfinite(taken->value)) continue;
            taken->value = worst;
            taken->reached = false;
            taken->missing = isnan(worst);
        }
}

/* One value per seed: the mean over its combinations, all of which must be there. */
static enum pes_status pool_seeds(const struct comparison *c, struct side *side)
{
    struct pes_arena *arena = c->study->arena;
    size_t combinations = 0;
    side->values = pes_arena_take(arena, side->count, sizeof *side->values);
    side->reached = pes_arena_take(arena, side->count, sizeof *side->reached);
    side->first = pes_arena_take(arena, side->count, sizeof *side->first);
    if (!side->values || !side->reached || !side->first) return PES_MEMORY;
    side->num_units = 0;
    for (size_t i = 0; i < side->count; i++) {
        bool earlier = false;
        for (size_t j = 0; j < i && !earlier; j++)
            earlier = same_combination(c, side->taken[i].trial, side->taken[j].trial, false);
        combinations += !earlier;
    }
    for (size_t i = 0; i < side->count; i++) {
        bool earlier = false, complete = true, reached = true;
        double sum = 0;
        size_t have = 0;
        for (size_t j = 0; j < side->count; j++) {
            const struct taken *taken = &side->taken[j];
            if (!same_seeds(c, side->taken[i].trial, taken->trial)) continue;
            earlier |= j < i;
            complete &= !taken->missing;
            reached &= taken->reached || !c->metric.times;
            sum += taken->value;
            have++;
        }
        if (earlier || !complete || have < combinations) continue;
        side->values[side->num_units] = sum / (double)have;
        side->reached[side->num_units] = reached;
        side->first[side->num_units++] = side->taken[i].trial;
    }
    return PES_OK;
}

/* Keeps the seeds that both sides have, in one order. */
static void pair_seeds(const struct comparison *c, struct side *a, struct side *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->num_units; i++)
        for (size_t j = kept; j < b->num_units; j++) {
            if (!same_seeds(c, a->first[i], b->first[j])) continue;
            double value = b->values[j];
            bool reached = b->reached[j];
            size_t first = b->first[j];
            b->values[j] = b->values[kept], b->reached[j] = b->reached[kept], b->first[j] = b->first[kept];
            b->values[kept] = value, b->reached[kept] = reached, b->first[kept] = first;
            a->values[kept] = a->values[i], a->reached[kept] = a->reached[i], a->first[kept] = a->first[i];
            kept++;
            break;
        }
    a->num_units = b->num_units = kept;
}

static enum pes_status make_pair(const struct comparison *c, struct side sides[2], struct pes_pair *pair,
                                 struct pes_claim_result *result)
{
    TRY(list_side(c, &sides[0]));
    TRY(list_side(c, &sides[1]));
    TRY(take_side(c, &sides[1], &sides[0]));
    TRY(take_side(c, &sides[0], &sides[1]));
    place_diverged(c, sides);
    for (int s = 0; s < 2; s++) {
        TRY(pool_seeds(c, &sides[s]));
        for (size_t i = 0; i < sides[s].count; i++) {
            result->num_trials++;
            result->num_missing += sides[s].taken[i].missing;
            result->num_diverged += sides[s].taken[i].diverged;
        }
    }
    if (c->claim->test == PES_CLAIM_SIGN_FLIP) pair_seeds(c, &sides[0], &sides[1]);
    pair->against = sides[1].name;
    const bool *first = c->metric.times ? sides[0].reached : NULL,
               *other = c->metric.times ? sides[1].reached : NULL;
    pair->first = (struct pes_side_values){sides[0].num_units, sides[0].values, first};
    pair->other = (struct pes_side_values){sides[1].num_units, sides[1].values, other};
    return PES_OK;
}

/* The values that `better` is compared with: `than`, or every other value among the trials of the claim. */
static enum pes_status list_others(struct comparison *c, struct side *first, struct side *others, size_t *num)
{
    struct pes_study *study = c->study;
    size_t slot = study->sweep->axes[axis_of(study->sweep, c->claim->axis)].slot;
    bool all = !strcmp(c->claim->than, "others");
    *num = 0;
    for (size_t t = 0; t < study->num_trials; t++) {
        const struct pes_value *value = value_of(c, t, slot);
        if (!value || !selected(c, t, &c->claim->where)) continue;
        const char *text = pes_value_format(value, study->arena);
        if (!text) return PES_MEMORY;
        bool is_first = !strcmp(text, c->claim->better), known = false;
        if (is_first) *first = (struct side){.name = text, .value = value};
        for (size_t i = 0; i < *num; i++)
            known |= pes_value_equal(others[i].value, value);
        if (!is_first && !known && (all || !strcmp(text, c->claim->than)))
            others[(*num)++] = (struct side){.name = text, .value = value};
    }
    return PES_OK;
}

static enum pes_status compare_axis(struct comparison *c, struct pes_pair **pairs, size_t *num_pairs,
                                    struct pes_claim_result *result)
{
    struct pes_study *study = c->study;
    struct side *others = pes_arena_take(study->arena, study->num_trials, sizeof *others);
    *pairs = pes_arena_take(study->arena, study->num_trials, sizeof **pairs);
    if (!others || !*pairs) return PES_MEMORY;
    struct side first = {0};
    TRY(list_others(c, &first, others, num_pairs));
    if (!first.name || !*num_pairs)
        return pes_fail(PES_INPUT, "no trials to compare %s = %s with", c->claim->axis, c->claim->better);
    for (size_t i = 0; i < *num_pairs; i++) {
        struct side sides[2] = {first, others[i]};
        TRY(make_pair(c, sides, &(*pairs)[i], result));
    }
    return PES_OK;
}

static enum pes_status compare_ratio(struct comparison *c, struct pes_pair **pairs, size_t *num_pairs,
                                     struct pes_claim_result *result)
{
    struct side sides[2] = {{.name = "numerator", .selection = &c->claim->ratio[0]},
                            {.name = "denominator", .selection = &c->claim->ratio[1]}};
    *pairs = pes_arena_take(c->study->arena, 1, sizeof **pairs);
    if (!*pairs) return PES_MEMORY;
    *num_pairs = 1;
    return make_pair(c, sides, *pairs, result);
}

/* Trials against a number: it stands on the other side once for each seed. */
static enum pes_status compare_bound(struct comparison *c, struct pes_pair **pairs, size_t *num_pairs,
                                     struct pes_claim_result *result)
{
    struct pes_arena *arena = c->study->arena;
    struct side side = {.name = "metric", .selection = &c->claim->where};
    TRY(list_side(c, &side));
    TRY(take_side(c, &side, &side));
    struct side sides[2] = {side};
    place_diverged(c, sides);
    TRY(pool_seeds(c, &sides[0]));
    size_t n = sides[0].num_units;
    double *bound = pes_arena_take(arena, n, sizeof *bound);
    *pairs = pes_arena_take(arena, 1, sizeof **pairs);
    if (!bound || !*pairs) return PES_MEMORY;
    for (size_t i = 0; i < n; i++)
        bound[i] = c->claim->bound;
    for (size_t i = 0; i < sides[0].count; i++) {
        result->num_trials++;
        result->num_missing += sides[0].taken[i].missing;
        result->num_diverged += sides[0].taken[i].diverged;
    }
    char number[32];
    (*pairs)->against = pes_arena_copy_text(arena, pes_text_format_real(c->claim->bound, number));
    (*pairs)->first = (struct pes_side_values){n, sides[0].values, NULL};
    (*pairs)->other = (struct pes_side_values){n, bound, NULL};
    *num_pairs = 1;
    return (*pairs)->against ? PES_OK : PES_MEMORY;
}

/* Whether an axis' value follows from that of the compared axis, as a learning rate chosen for each scheme:
 * then it belongs to what is compared. */
static bool follows(const struct comparison *c, size_t axis, size_t compared)
{
    const struct pes_sweep *sweep = c->study->sweep;
    size_t slot = sweep->axes[axis].slot, by = sweep->axes[compared].slot;
    for (size_t a = 0; a < sweep->num_trials; a++) {
        const struct pes_value *group = value_of(c, a, by), *x = value_of(c, a, slot);
        if (!group || !selected(c, a, &c->claim->where)) continue;
        for (size_t b = 0; b < a; b++) {
            const struct pes_value *other = value_of(c, b, by), *y = value_of(c, b, slot);
            if (!other || !pes_value_equal(group, other) || !selected(c, b, &c->claim->where)) continue;
            if (x && y ? !pes_value_equal(x, y) : !x != !y) return false;
            break; /* b agrees with the rest of its group */
        }
    }
    return true;
}

static enum pes_status judge_one(struct pes_study *study, const struct pes_claim *claim,
                                 const struct pes_resampling *resampling, struct pes_claim_result *result)
{
    struct comparison c = {.study = study, .claim = claim};
    c.compared = pes_arena_take(study->arena, study->sweep->num_axes, sizeof *c.compared);
    if (!c.compared) return PES_MEMORY;
    TRY(pes_metric_resolve(study, claim->metric, &c.metric));
    long axis = axis_of(study->sweep, claim->axis);
    for (size_t a = 0; a < study->sweep->num_axes; a++) {
        c.compared[a] =
            axis >= 0 && !pes_axis_is_seed(&study->sweep->axes[a]) && follows(&c, a, (size_t)axis);
        for (int s = 0; s < 2 && claim->is_ratio; s++)
            for (size_t i = 0; i < claim->ratio[s].num_terms; i++)
                c.compared[a] |= claim->ratio[s].slots[i] == study->sweep->axes[a].slot;
    }
    struct pes_pair *pairs;
    size_t num_pairs;
    if (claim->bound_side)
        TRY(compare_bound(&c, &pairs, &num_pairs, result));
    else if (claim->is_ratio)
        TRY(compare_ratio(&c, &pairs, &num_pairs, result));
    else
        TRY(compare_axis(&c, &pairs, &num_pairs, result));
    struct pes_question question = {.test = claim->test,
                                    .ratio = claim->is_ratio,
                                    .lower_is_better =
                                        claim->bound_side ? claim->bound_side < 0 : c.metric.lower_is_better,
                                    .times = c.metric.times,
                                    .threshold = claim->threshold,
                                    .alpha = claim->alpha,
                                    .num_pairs = num_pairs,
                                    .pairs = pairs,
                                    .resampling = *resampling};
    result->findings = pes_arena_take(study->arena, num_pairs, sizeof *result->findings);
    if (!result->findings) return PES_MEMORY;
    result->num_findings = num_pairs;
    return pes_judge_compare(&question, result->findings, &result->verdict);
}

enum pes_status pes_study_judge(struct pes_study *study, const struct pes_resampling *resampling,
                                struct pes_claim_result **results, size_t *num_results)
{
    size_t n = study->sweep->num_claims;
    *results = pes_arena_take(study->arena, n, sizeof **results);
    struct pes_verdict *verdicts = pes_arena_take(study->arena, n, sizeof *verdicts);
    const char **impossible = pes_arena_take(study->arena, n, sizeof *impossible);
    if (!*results || !verdicts || !impossible) return PES_MEMORY;
    *num_results = n;
    for (size_t i = 0; i < n; i++) {
        struct pes_claim_result *result = &(*results)[i];
        result->claim = &study->sweep->claims[i];
        enum pes_status status = judge_one(study, result->claim, resampling, result);
        if (status != PES_OK && status != PES_INPUT) return status;
        if (status == PES_INPUT) { /* it can't be judged from this file; the others can */
            impossible[i] = pes_arena_copy_text(study->arena, pes_error_message());
            if (!impossible[i]) return PES_MEMORY;
            result->verdict = (struct pes_verdict){.p = NAN,
                                                   .p_corrected = NAN,
                                                   .p_smallest = NAN,
                                                   .finding = {.effect = {NAN, NAN, NAN, 0}, .p = NAN},
                                                   .alpha = result->claim->alpha,
                                                   .threshold = result->claim->threshold};
        }
        verdicts[i] = result->verdict;
    }
    TRY(pes_judge_family(n, verdicts));
    for (size_t i = 0; i < n; i++) {
        (*results)[i].verdict = verdicts[i];
        if (impossible[i])
            snprintf((*results)[i].verdict.rule, sizeof verdicts->rule, "can't be judged from this file: %s",
                     impossible[i]);
    }
    return PES_OK;
}
