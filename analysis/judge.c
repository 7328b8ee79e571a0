/* judge.c - from values per seed to a verdict; the rules stand in judge.h. */
#include "pesweep/judge.h"
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *pes_decision_name(enum pes_decision decision)
{
    static const char *const names[] = {
#define X(symbol, name) name,
        PES_DECISIONS(X)
#undef X
    };
    return (size_t)decision < PES_COUNT(names) ? names[decision] : "unknown";
}

const char *pes_claim_test_name(enum pes_claim_test test)
{
    static const char *const names[] = {"permutation", "mann_whitney", "sign_flip", "log_rank"};
    return (size_t)test < PES_COUNT(names) ? names[test] : "unknown";
}

static bool censored(const struct pes_side_values *side)
{
    for (size_t i = 0; side->reached && i < side->n; i++)
        if (!side->reached[i]) return true;
    return false;
}

/* 1 if larger values are what the claim says of the first side, else -1. */
static int orientation(const struct pes_question *question)
{
    if (question->ratio) return question->threshold > 0 && question->threshold < 1 ? -1 : 1;
    return question->lower_is_better ? -1 : 1;
}

static enum pes_claim_test test_made(const struct pes_question *question, const struct pes_pair *pair)
{
    bool hidden = censored(&pair->first) || censored(&pair->other);
    if (question->times && question->test == PES_CLAIM_PERMUTATION) return PES_CLAIM_LOG_RANK;
    if (question->test == PES_CLAIM_SIGN_FLIP && hidden) return PES_CLAIM_LOG_RANK;
    return question->test;
}

/* Both sides as survival data, and as values in which what was never reached is later than everything. */
struct working {
    bool *reached;
    double *late;
    struct pes_survival first, other;
    const double *late_first, *late_other;
};

static enum pes_status prepare(const struct pes_pair *pair, struct working *working)
{
    const struct pes_side_values *a = &pair->first, *b = &pair->other;
    working->reached = pes_allocate(a->n + b->n, sizeof *working->reached);
    working->late = pes_allocate(a->n + b->n, sizeof *working->late);
    if (!working->reached || !working->late) return PES_MEMORY;
    double latest = 0;
    for (size_t i = 0; i < a->n + b->n; i++) {
        const struct pes_side_values *side = i < a->n ? a : b;
        size_t k = i < a->n ? i : i - a->n;
        working->reached[i] = side->reached ? side->reached[k] : true;
        working->late[i] = side->value[k];
        latest = PES_MAX(latest, side->value[k]);
    }
    for (size_t i = 0; i < a->n + b->n; i++)
        if (!working->reached[i]) working->late[i] = latest + 1;
    working->first = (struct pes_survival){a->n, a->value, working->reached};
    working->other = (struct pes_survival){b->n, b->value, working->reached + a->n};
    working->late_first = working->late;
    working->late_other = working->late + a->n;
    return PES_OK;
}

/* The test's p values; *larger: sign of first - other. */
static enum pes_status test_pair(const struct pes_question *question, const struct working *w,
                                 struct pes_finding *finding, double *larger)
{
    size_t n = w->first.n, m = w->other.n;
    const struct pes_resampling *resampling = &question->resampling;
    struct pes_test test = {NAN, NAN, NAN, 0, false};
    switch (finding->test) {
    case PES_CLAIM_PERMUTATION:
        TRY(pes_stat_permutation(n, w->first.time, m, w->other.time, PES_TWO_SIDED, 0, resampling, &test));
        *larger = test.statistic;
        break;
    case PES_CLAIM_MANN_WHITNEY:
        TRY(pes_stat_mann_whitney(n, w->late_first, m, w->late_other, PES_TWO_SIDED, resampling, &test));
        *larger = test.statistic - (double)n * (double)m / 2;
        break;
    case PES_CLAIM_SIGN_FLIP:
        CHECK(n == m);
        TRY(pes_stat_sign_flip(n, w->first.time, w->other.time, PES_TWO_SIDED, 0, resampling, &test));
        *larger = test.statistic;
        break;
    case PES_CLAIM_LOG_RANK:
        TRY(pes_stat_log_rank(&w->first, &w->other, PES_TWO_SIDED, resampling, &test));
        *larger = -test.statistic;
        break;
    }
    finding->p = test.p;
    finding->p_smallest = test.p_smallest;
    finding->exact = test.exact;
    return PES_OK;
}

static struct pes_interval turned(struct pes_interval interval)
{
    struct pes_interval other = {-interval.estimate, -interval.high, -interval.low, interval.flags};
    return other;
}

static enum pes_status paired_difference(const struct working *w, const struct pes_resampling *resampling,
                                         struct pes_interval *effect)
{
    double *difference = pes_allocate(w->first.n, sizeof *difference);
    if (!difference) return PES_MEMORY;
    for (size_t i = 0; i < w->first.n; i++)
        difference[i] = w->first.time[i] - w->other.time[i];
    enum pes_status status =
        pes_stat_location_interval(PES_LOCATION_MEAN, w->first.n, difference, resampling, effect);
    pes_free(difference);
    return status;
}

static enum pes_status effect_of(const struct pes_question *question, const struct working *w,
                                 struct pes_finding *finding)
{
    size_t n = w->first.n, m = w->other.n;
    const struct pes_resampling *resampling = &question->resampling;
    bool smaller = orientation(question) < 0;
    finding->effect_is_ratio = question->ratio || finding->test == PES_CLAIM_LOG_RANK;
    if (question->ratio) return pes_stat_median_ratio(&w->first, &w->other, resampling, &finding->effect);
    switch (finding->test) {
    case PES_CLAIM_LOG_RANK:
        return pes_stat_median_ratio(smaller ? &w->other : &w->first, smaller ? &w->first : &w->other,
                                     resampling, &finding->effect);
    case PES_CLAIM_PERMUTATION:
        TRY(pes_stat_difference_interval(PES_LOCATION_MEAN, n, w->first.time, m, w->other.time, resampling,
                                         &finding->effect));
        break;
    case PES_CLAIM_MANN_WHITNEY:
        TRY(pes_stat_shift(n, w->late_first, m, w->late_other, resampling->level, &finding->effect));
        break;
    case PES_CLAIM_SIGN_FLIP:
        TRY(paired_difference(w, resampling, &finding->effect));
        break;
    }
    if (smaller) finding->effect = turned(finding->effect);
    return PES_OK;
}

/* Whether the effect reaches the threshold as far as censoring lets it be known. */
static bool reaches(const struct pes_question *question, const struct pes_finding *finding)
{
    const struct pes_interval *effect = &finding->effect;
    double threshold = question->threshold;
    if (!finding->effect_is_ratio) return effect->estimate > 0 && effect->estimate >= threshold;
    if (question->ratio && orientation(question) < 0)
        return !(effect->flags & PES_INTERVAL_AT_LEAST) && effect->estimate <= threshold;
    return !(effect->flags & PES_INTERVAL_AT_MOST) && effect->estimate > 1 && effect->estimate >= threshold;
}

static enum pes_status compare_pair(const struct pes_question *question, const struct pes_pair *pair,
                                    struct pes_finding *finding)
{
    *finding = (struct pes_finding){.against = pair->against,
                                    .n = pair->first.n,
                                    .m = pair->other.n,
                                    .test = test_made(question, pair),
                                    .effect = {NAN, NAN, NAN, PES_INTERVAL_NOT_AVAILABLE},
                                    .p = NAN,
                                    .p_smallest = NAN};
    if (!finding->n || !finding->m) return PES_OK;
    struct working working = {0};
    double larger = NAN;
    enum pes_status status = prepare(pair, &working);
    if (status == PES_OK) status = test_pair(question, &working, finding, &larger);
    if (status == PES_OK) status = effect_of(question, &working, finding);
    pes_free(working.reached);
    pes_free(working.late);
    int sign = (larger > 0) - (larger < 0);
    finding->direction = isnan(finding->p) ? 0 : sign * orientation(question);
    finding->enough = reaches(question, finding);
    return status;
}

enum pes_status pes_judge_compare(const struct pes_question *question, struct pes_finding *findings,
                                  struct pes_verdict *verdict)
{
    size_t pairs = question->num_pairs, weakest = 0, wrong = pairs, hopeless = 0;
    CHECK(pairs >= 1 && (pairs == 1 || !question->ratio));
    *verdict = (struct pes_verdict){.decision = PES_DECISION_TOO_FEW,
                                    .num_pairs = pairs,
                                    .alpha = question->alpha,
                                    .threshold = question->threshold};
    bool all_known = true;
    for (size_t i = 0; i < pairs; i++) {
        TRY(compare_pair(question, &question->pairs[i], &findings[i]));
        all_known &= !isnan(findings[i].p) && PES_MIN(findings[i].n, findings[i].m) >= 2;
        /* The pair that a claim of "all" fails at: the largest p, ties by the smaller effect. */
        const struct pes_finding *f = &findings[i], *w = &findings[weakest];
        if (f->p > w->p || (f->p == w->p && f->effect.estimate < w->effect.estimate)) weakest = i;
        if (f->p_smallest > findings[hopeless].p_smallest) hopeless = i;
        if (f->direction < 0 && (wrong == pairs || f->p < findings[wrong].p)) wrong = i;
    }
    bool opposite = wrong < pairs;
    verdict->finding = findings[opposite ? wrong : weakest];
    verdict->p = opposite ? PES_MIN(1, (double)pairs * findings[wrong].p) : findings[weakest].p;
    verdict->p_smallest = findings[hopeless].p_smallest;
    for (size_t i = 0; !opposite && i < pairs; i++) {
        verdict->finding.enough &= findings[i].enough;
        verdict->finding.direction = PES_MIN(verdict->finding.direction, findings[i].direction);
    }
    for (size_t i = 0; !all_known && i < pairs; i++)
        if (isnan(findings[i].p) || PES_MIN(findings[i].n, findings[i].m) < 2) {
            verdict->finding = findings[i];
            verdict->p = verdict->p_smallest = NAN;
            break;
        }
    return PES_OK;
}

/* The corrected p that verdict i would have at the most extreme arrangement of its values. */
static enum pes_status reachable(size_t n, struct pes_verdict *verdicts, size_t i, double *p,
                                 double *adjusted, double *corrected)
{
    for (size_t j = 0; j < n; j++)
        p[j] = j == i ? verdicts[j].p_smallest : verdicts[j].p;
    TRY(pes_stat_holm(n, p, adjusted));
    *corrected = adjusted[i];
    return PES_OK;
}

static void say(struct pes_verdict *v, double best)
{
    const struct pes_finding *f = &v->finding;
    char p[96], reaching[48] = "";
    if (v->threshold > 0) snprintf(reaching, sizeof reaching, " reaches the threshold %.4g", v->threshold);
    snprintf(p, sizeof p, "%s%s p = %.3g, corrected over %zu claim%s %.3g", f->exact ? "exact " : "",
             pes_claim_test_name(f->test), v->p, v->family, v->family == 1 ? "" : "s", v->p_corrected);
    switch (v->decision) {
    case PES_DECISION_TOO_FEW:
        if (isnan(v->p))
            snprintf(v->rule, sizeof v->rule, "fewer than 2 seeds on a side (%zu and %zu)", f->n, f->m);
        else
            snprintf(v->rule, sizeof v->rule,
                     "even the most extreme outcome of these %zu and %zu values would have a corrected p of "
                     "%.3g, not "
                     "below alpha = %g",
                     f->n, f->m, best, v->alpha);
        break;
    case PES_DECISION_SUPPORTED:
        snprintf(v->rule, sizeof v->rule, "%s < alpha = %g, in the claimed direction, effect %.4g%s", p,
                 v->alpha, f->effect.estimate, reaching);
        break;
    case PES_DECISION_REFUTED:
        snprintf(v->rule, sizeof v->rule, "%s < alpha = %g, in the opposite direction%s%s", p, v->alpha,
                 v->num_pairs > 1 ? ", against " : "", v->num_pairs > 1 ? f->against : "");
        break;
    case PES_DECISION_NOT_SUPPORTED:
        if (v->p_corrected < v->alpha)
            snprintf(v->rule, sizeof v->rule,
                     "%s < alpha = %g in the claimed direction, but the effect %.4g doesn't reach %.4g%s", p,
                     v->alpha, f->effect.estimate, v->threshold,
                     isnan(f->effect.estimate) ? " (no median is reached)" : "");
        else
            snprintf(v->rule, sizeof v->rule, "%s, not below alpha = %g", p, v->alpha);
        break;
    }
}

static enum pes_status decide(size_t n, struct pes_verdict *verdicts, double *p)
{
    double *adjusted = p + n;
    size_t family = 0;
    for (size_t i = 0; i < n; i++) {
        p[i] = verdicts[i].p;
        family += isnan(p[i]) ? 0 : 1;
    }
    TRY(pes_stat_holm(n, p, adjusted));
    for (size_t i = 0; i < n; i++) {
        verdicts[i].p_corrected = adjusted[i];
        verdicts[i].family = family;
    }
    for (size_t i = 0; i < n; i++) {
        struct pes_verdict *v = &verdicts[i];
        double best;
        TRY(reachable(n, verdicts, i, p, adjusted, &best));
        bool significant = v->p_corrected < v->alpha;
        if (isnan(v->p) || (best >= v->alpha && !significant))
            v->decision = PES_DECISION_TOO_FEW;
        else if (significant && v->finding.direction > 0 && v->finding.enough)
            v->decision = PES_DECISION_SUPPORTED;
        else if (significant && v->finding.direction < 0)
            v->decision = PES_DECISION_REFUTED;
        else
            v->decision = PES_DECISION_NOT_SUPPORTED;
        say(v, best);
    }
    return PES_OK;
}

enum pes_status pes_judge_family(size_t num_verdicts, struct pes_verdict *verdicts)
{
    double *p = pes_allocate(2 * num_verdicts, sizeof *p);
    if (!p) return PES_MEMORY;
    enum pes_status status = decide(num_verdicts, verdicts, p);
    pes_free(p);
    return status;
}
