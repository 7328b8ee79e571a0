/* dictionary.c - columns.csv: what every column of every table means.  Columns that are variables of the
 * results file take unit and meaning from its own table; the others stand here. */
#include "output.h"

#include <string.h>

struct meaning {
    const char *table, *column, *unit, *text;
};

/* clang-format off */
#define INTERVAL(table, prefix, text) \
    {table, prefix "low", "", "lower end of " text}, {table, prefix "high", "", "upper end of " text}
#define SERIES(table) \
    {table, "series", "", "value of the main axis"}, \
    {table, "group", "", "values of the other axes that aren't seeds"}
/* clang-format on */

static const struct meaning meanings[] = {
    {"trials", "trial", "", "number of the trial in the results file, from 0"},
    {"trials", "key", "", "identity of the trial: hash of its configuration"},
    {"trials", "status", "", "pending, running, done, failed or diverged"},
    {"trials", "reason", "", "why it failed or diverged"},
    {"trials", "steps_to_threshold", "steps",
     "first evaluation at the threshold of test accuracy; else the last one"},
    {"trials", "reached", "", "whether the threshold was reached; false = censored there"},
    {"curves", "trial", "", "number of the trial"},
    {"curves", "evaluation", "", "number of the evaluation, from 0"},
    {"heads", "trial", "", "number of the trial"},
    {"heads", "layer", "", "transformer block, from 0"},
    {"heads", "head", "", "attention head, from 0"},
    {"probes", "trial", "", "number of the trial"},
    {"probes", "variable", "", "variable of the group probes"},
    {"probes", "layer", "", "transformer block, from 0"},
    {"probes", "head", "", "attention head, from 0"},
    {"probes", "place", "", "place along the variable's last dimension"},
    {"probes", "value", "", "its value"},
    {"claims", "claim", "", "name of the claim in the sweep file"},
    {"claims", "comparison", "", "what it compares"},
    {"claims", "verdict", "", "supported, not supported, refuted or too few seeds to tell"},
    {"claims", "rule", "", "what decided"},
    {"claims", "test", "", "test that was made"},
    {"claims", "exact", "", "false: Monte Carlo, p = (as extreme + 1)/(drawn + 1)"},
    {"claims", "effect_kind", "", "difference or ratio of medians"},
    {"claims", "bound", "", ">= or <= where censoring only bounds the effect, hidden where it hides it"},
    {"claims", "effect", "",
     "turned so that positive, or above 1, is what was claimed, except for ratio claims"},
    INTERVAL("claims", "", "its interval"),
    {"claims", "p", "", "two-sided, not corrected"},
    {"claims", "p_corrected", "", "by Holm's method over all claims of the sweep"},
    {"claims", "p_smallest", "", "smallest p that these very values could have had"},
    {"claims", "n", "", "seeds of the first side"},
    {"claims", "n_other", "", "seeds of the other side"},
    {"claims", "against", "", "other side of the pair that decided"},
    {"claims", "threshold", "", "smallest effect that counts"},
    {"claims", "alpha", "", "level of significance"},
    {"claims", "trials", "", "trials that the comparison needs"},
    {"claims", "missing", "", "of these unfinished, failed or without a value"},
    {"claims", "diverged", "", "of these diverged"},
    {"claim_values", "metric", "", "metric that a claim is about"},
    {"claim_values", "trial", "", "number of the trial"},
    {"claim_values", "key", "", "identity of the trial"},
    {"claim_values", "value", "", "its value; where a threshold was never reached, the last step"},
    {"claim_values", "reached", "", "of steps: whether the threshold was reached; false = censored"},
    {"pairs", "claim", "", "name of the claim"},
    {"pairs", "against", "", "other side"},
    {"pairs", "n", "", "seeds of the first side"},
    {"pairs", "n_other", "", "seeds of the other side"},
    {"pairs", "direction", "", "as claimed, opposite or none"},
    {"pairs", "bound", "", ">= or <= where censoring only bounds the effect"},
    {"pairs", "effect", "", "as in claims"},
    INTERVAL("pairs", "", "its interval"),
    {"pairs", "p", "", "two-sided, not corrected"},
    {"pairs", "p_smallest", "", "smallest p that these very values could have had"},
    {"reliability", "series", "", "value of the main axis"},
    {"reliability", "metric", "", "what is summed up"},
    {"reliability", "tasks", "", "combinations of the axes that are neither the main one nor seeds"},
    {"reliability", "runs", "", "trials of all tasks"},
    {"reliability", "mean", "", "mean over tasks of the mean over runs"},
    {"reliability", "iqm", "", "interquartile mean over the runs of all tasks"},
    INTERVAL("reliability", "iqm_", "its interval, stratified bootstrap, 95 %"),
    {"improvement", "metric", "", "what is compared"},
    {"improvement", "first", "", "series a"},
    {"improvement", "second", "", "series b"},
    {"improvement", "tasks", "", "tasks that both have"},
    {"improvement", "n", "", "runs of a"},
    {"improvement", "n_second", "", "runs of b"},
    {"improvement", "improvement", "", "mean over tasks of P(a > b) + P(a = b)/2"},
    INTERVAL("improvement", "", "its interval, stratified bootstrap, 95 %; empty where runs are very many"),
    SERIES("groups"),
    {"groups", "metric", "", "what is described"},
    {"groups", "n", "", "finished trials with a value"},
    {"groups", "mean", "", "arithmetic mean"},
    {"groups", "sd", "", "sample deviation, n - 1 in the denominator"},
    INTERVAL("groups", "t_", "the mean's t interval, 95 %"),
    INTERVAL("groups", "bca_", "the mean's BCa bootstrap interval, 95 %"),
    {"groups", "median", "", "median; of steps by Kaplan and Meier"},
    INTERVAL("groups", "median_", "the median's interval"),
    {"groups", "iqm", "", "interquartile mean"},
    INTERVAL("groups", "iqm_", "its interval"),
    {"groups", "note", "", "what is special about the intervals"},
    {"comparisons", "metric", "", "what is compared"},
    {"comparisons", "group", "", "values of the other axes that aren't seeds"},
    {"comparisons", "first", "", "series a"},
    {"comparisons", "second", "", "series b"},
    {"comparisons", "n", "", "values of a"},
    {"comparisons", "n_second", "", "values of b"},
    {"comparisons", "difference", "", "mean of a - mean of b"},
    INTERVAL("comparisons", "", "its BCa interval, 95 %"),
    {"comparisons", "shift", "", "Hodges-Lehmann shift: median of all a - b"},
    INTERVAL("comparisons", "shift_", "its exact interval, 95 %"),
    {"comparisons", "cliff", "", "Cliff's delta = rank-biserial correlation"},
    INTERVAL("comparisons", "cliff_", "its interval, 95 %"),
    {"comparisons", "improvement", "", "P(a > b) + P(a = b)/2"},
    {"comparisons", "p", "", "permutation test of the difference of means, two-sided"},
    {"comparisons", "p_smallest", "", "smallest p that these very values could have had"},
    {"comparisons", "p_ranks", "", "Mann-Whitney test, two-sided"},
    {"comparisons", "p_holm", "", "p corrected by Holm's method over this table"},
    {"comparisons", "q_bh", "", "p corrected by Benjamini and Hochberg's method over this table"},
    {"comparisons", "seeds_for_80_percent_power", "seeds",
     "a side, to find this difference by a t test at 0.05"},
    {"variance", "metric", "", "what varies"},
    {"variance", "component", "", "axis or interaction of axes"},
    {"variance", "variance", "", "its variance component"},
    {"variance", "sd", "", "root of it"},
    {"variance", "share", "", "of the sum of all components"},
    SERIES("percentiles"),
    {"percentiles", "measure", "", "spectral measure of the folded form"},
    {"percentiles", "k", "heads", "heads with the largest previous-token scores of a trial"},
    {"percentiles", "n", "", "trials"},
    {"percentiles", "median_percentile", "",
     "median over trials of the k heads' median percentile in the measure"},
    INTERVAL("percentiles", "", "its interval"),
    {"models", "trial", "", "number of the model in the other tables, from 0"},
    {"models", "model", "", "the same for all training steps of one model"},
    {"models", "step", "steps", "training step that its path names"},
    {"models", "scheme", "", "positional scheme"},
    {"models", "architecture", "", "model_type of its config.json; pesweep for an exported trial"},
    {"models", "layers", "", "transformer blocks"},
    {"models", "heads", "", "query heads of a block"},
    {"models", "key_heads", "", "key heads of a block"},
    {"models", "width", "", "of the residual stream"},
    {"models", "head_width", "", "rows of a head's W_q and W_k"},
    {"models", "causal", "", "a query sees no later key"},
    {"models", "inner_norm", "",
     "queries or keys are normalised; M is exact up to a positive factor per token"},
    {"models", "value_width", "", "rows of a head's W_v"},
    {"models", "path", "", "where it was read"},
    {"models", "notes", "", "what is worth knowing about its files"},
    {"steps", "trial", "", "number of the model"},
    {"steps", "step", "steps", "training step"},
    {"steps", "layer", "", "transformer block, from 0"},
    {"steps", "head", "", "attention head, from 0"},
    {"rotation", "measure", "", "spectral measure of the folded form"},
    {"rotation", "k", "heads", "heads with the largest previous-token scores of a model"},
    {"rotation", "rotary_models", "", "models with rotation and so many heads"},
    {"rotation", "other_models", "", "models without rotation and so many heads"},
    {"rotation", "rotary", "",
     "mean over models with rotation of the median percentile of their k heads in the measure"},
    {"rotation", "other", "", "the same over models without"},
    {"rotation", "lowest_rotary", "", "smallest median percentile with rotation"},
    {"rotation", "highest_other", "", "largest median percentile without"},
    {"rotation", "p", "", "exact permutation test over models, one-sided: larger with rotation"},
    {"rotation", "p_smallest", "", "smallest p that these very values could have had"},
    {"rotation", "arrangements", "", "ways to choose the models with rotation"},
    SERIES("associations"),
    {"associations", "measure", "", "spectral measure of the folded form"},
    {"associations", "heads", "", "heads of all trials"},
    {"associations", "trials", "", "trials"},
    {"associations", "spearman", "", "rank correlation of the measure with the previous-token score"},
    {"associations", "low", "",
     "lower end of its interval, trials resampled whole; empty where heads are very many"},
    {"associations", "high", "", "upper end of its interval"},
    {"associations", "partial", "", "the same with the layer held fixed"},
    INTERVAL("associations", "partial_", "its interval"),
};

/* The tables of a file of heads, and those that it has alone. */
static bool is_written(const struct pes_study *study, const char *table)
{
    static const char *const of_heads[] = {"models", "rotation", "steps",       "heads",
                                           "probes", "groups",   "percentiles", "associations"};
    enum { NUM_ALONE = 3 };
    for (size_t i = 0; i < PES_COUNT(of_heads); i++)
        if (!strcmp(of_heads[i], table)) return study->heads || i >= NUM_ALONE;
    return !study->heads;
}

static void put_row(struct table *table, const char *of, const char *column, const char *unit,
                    const char *text)
{
    table_text(table, of);
    table_text(table, column);
    table_text(table, unit);
    table_text(table, text);
}

static void put_variables(const struct pes_layout *layout, struct table *table, const char *of,
                          const char *group, int rank, const enum pes_dimension *dimensions,
                          const char *prefix)
{
    for (size_t i = 0; i < layout->num_fields; i++) {
        const struct pes_variable *variable = &layout->fields[i].variable;
        char name[160];
        if (!tables_fits(variable, group, rank, dimensions)) continue;
        snprintf(name, sizeof name, "%s%s", prefix, variable->name);
        put_row(table, of, name, variable->unit, variable->help);
    }
}

enum pes_status tables_dictionary(const struct tables *tables)
{
    static const char *const columns[] = {"table", "column", "unit", "meaning"};
    static const enum pes_dimension by_head[] = {PES_DIM_LAYER, PES_DIM_HEAD}, dense[] = {PES_DIM_EVALUATION};
    const struct pes_sweep *sweep = tables->study->sweep;
    const struct pes_layout *layout = tables->study->layout;
    struct table table;
    TRY(table_open(&table, tables, "columns", columns, PES_COUNT(columns), NULL));
    for (size_t i = 0; i < PES_COUNT(meanings); i++)
        if (is_written(tables->study, meanings[i].table))
            put_row(&table, meanings[i].table, meanings[i].column, meanings[i].unit, meanings[i].text);
    for (size_t a = 0; a < sweep->num_axes && !tables->study->heads; a++) {
        put_row(&table, "trials", sweep->axes[a].name, "", sweep->axes[a].path);
        put_row(&table, "claim_values", sweep->axes[a].name, "", sweep->axes[a].path);
    }
    static const enum pes_dimension by_step[] = {PES_DIM_CHECKPOINT, PES_DIM_LAYER, PES_DIM_HEAD};
    if (tables->study->heads) put_variables(layout, &table, "steps", "curves", 3, by_step, "");
    put_variables(layout, &table, "trials", "trials", 0, NULL, "");
    put_variables(layout, &table, "curves", "curves", 1, dense, "");
    put_variables(layout, &table, "heads", "probes", 2, by_head, "");
    put_variables(layout, &table, "heads", "spectra_folded", 2, by_head, "folded_");
    put_variables(layout, &table, "heads", "spectra", 2, by_head, "");
    return table_close(&table);
}
