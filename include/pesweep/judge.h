/* judge.h - claims: what a sweep file says will be found, and what its trials say about it.
 *
 * The rules, fixed before any trial runs:
 *
 * Unit.  The seed (train.seed and task.data_seed).  A seed's value is the mean of the metric over its trials
 * in the combinations of all other axes that both sides of the comparison have, and at least half of a side's
 * seeds; a seed that lacks one of them is left out.  Steps to a threshold that were never reached are
 * censored at the last evaluation; the mean over a seed's trials is censored if one of them is.  A diverged
 * trial reaches no threshold after that; in final metrics it counts as the worst value of the comparison.
 * Failed and unfinished trials are missing.
 *
 * Direction.  Smaller is better for steps_to and for losses, larger for everything else.  `better: x, than:
 * y` compares two values of an axis; `than: others` claims x better than every other value.  `ratio: [a, b]`
 * claims median(a)/median(b) > 1, with a threshold t >= 1 at least t, with 0 < t < 1 at most t.  `above: x`
 * (`below: x`) claims that a seed's value is above (below) x on average, by sign_flip against x.  With
 * `axis`, other axes whose values follow from the compared one (a learning rate chosen for each scheme)
 * belong to it.
 *
 * Effect.  The difference of means (permutation), the Hodges-Lehmann shift (mann_whitney), the mean paired
 * difference over seeds that both sides have (sign_flip), or a ratio of medians (log_rank and every ratio).
 * For `above` and `below` it is the mean difference to x.  Except for `ratio`, it is turned so that it is
 * positive, or above 1, if the claim is right.
 *
 * Test.  Always two-sided.  steps_to with `permutation` is tested by log_rank, since means don't exist under
 * censoring; with `sign_flip` too if a value is censored.  For `others`, p is the largest of the pairwise p
 * if all differences have the claimed sign (intersection-union test), else the smallest p of a difference
 * with the wrong sign times the number of pairs.  The p values of all claims of a file are one family,
 * corrected by Holm's method.
 *
 * Verdict, the first that holds.  "too few seeds to tell": fewer than 2 seeds on a side, or the corrected p
 * isn't below alpha and couldn't be at the most extreme arrangement of these very values.  "supported":
 * corrected p < alpha, the claimed direction, and the effect at least the threshold.  "refuted": corrected p
 * < alpha in the opposite direction.  "not supported": everything else. */
#ifndef PESWEEP_JUDGE_H
#define PESWEEP_JUDGE_H

#include "pesweep/analysis.h"
#include "pesweep/sweep.h"

#define PES_DECISIONS(X)                                                                                     \
    X(SUPPORTED, "supported")                                                                                \
    X(NOT_SUPPORTED, "not supported")                                                                        \
    X(REFUTED, "refuted")                                                                                    \
    X(TOO_FEW, "too few seeds to tell")
enum pes_decision {
#define X(symbol, name) PES_DECISION_##symbol,
    PES_DECISIONS(X)
#undef X
};
const char *pes_decision_name(enum pes_decision decision);
const char *pes_claim_test_name(enum pes_claim_test test);

/* One side of a comparison: a value per seed. */
struct pes_side_values {
    size_t n;
    const double *value;
    const bool *reached; /* [n]; NULL = every one was reached, nothing is censored */
};

struct pes_pair {
    const char *against;                 /* name of the other side */
    struct pes_side_values first, other; /* for sign_flip of equal n, seed by seed */
};

struct pes_question {
    enum pes_claim_test test;
    bool ratio;           /* of medians, first over other; one pair */
    bool lower_is_better; /* not for a ratio */
    bool times;           /* values are steps to a threshold */
    double threshold, alpha;
    size_t num_pairs;
    const struct pes_pair *pairs;
    struct pes_resampling resampling;
};

/* What one pair shows. */
struct pes_finding {
    const char *against;
    size_t n, m;
    enum pes_claim_test test; /* the one that was made */
    struct pes_interval effect;
    bool effect_is_ratio;
    int direction; /* 1 as claimed, -1 the opposite, 0 neither */
    bool enough;   /* the effect reaches the threshold */
    double p, p_smallest;
    bool exact;
};

struct pes_verdict {
    enum pes_decision decision;
    struct pes_finding finding; /* of the pair that decides */
    double p, p_corrected, p_smallest;
    size_t num_pairs, family; /* claims that were corrected together */
    double alpha, threshold;
    char rule[400]; /* what decided, in words */
};

/* Compares all pairs: findings[num_pairs], and the verdict's raw p and finding. */
enum pes_status pes_judge_compare(const struct pes_question *question, struct pes_finding *findings,
                                  struct pes_verdict *verdict);

/* Corrects the p values of a family and decides every verdict. */
enum pes_status pes_judge_family(size_t num_verdicts, struct pes_verdict *verdicts);

#endif
