/* expand.c - from axes to trials: product, exclusion, checks, identity.
 *
 * One combination at a time is built from the constants and one point per axis, resolved, normalised and
 * checked; the first that makes no sense refuses the file. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "lookup.h"
#include "pesweep/measure.h"
#include "pesweep/text.h"

enum { EVALUATION_LIMIT = 100000 };

struct expansion {
    struct pes_plan *plan;
    struct pes_lookup lookup;
    const struct pes_point **chosen; /* [num_chosen]: one per axis, or an included trial */
    size_t num_chosen;
    const struct pes_assignment **given; /* [num_slots]: of this combination, NULL = default */
    const char **why;                    /* [num_slots]: last reason why a value had no effect */
};

/* --- labels --- */

/* "pe=rope seed=3" from the axes' values; with `config` those that apply there, else those given. */
static const char *label_of(const struct expansion *expansion, const struct pes_config *config)
{
    struct pes_plan *plan = expansion->plan;
    const struct pes_sweep *sweep = plan->sweep;
    struct pes_text text = {0};
    const char *label = NULL;
    for (size_t a = 0; a < sweep->num_axes; a++) {
        size_t slot = sweep->axes[a].slot;
        const struct pes_assignment *given = expansion->given[slot];
        const struct pes_value *value = NULL;
        if (config)
            value = config->applies[slot] ? &config->values[slot] : NULL;
        else if (given)
            value = &given->value;
        if (!value) continue;
        const char *formatted = pes_value_format(value, plan->arena);
        if (!formatted) goto done;
        pes_text_append(&text, "%s%s=%s", text.length ? " " : "", sweep->axes[a].name, formatted);
    }
    if (!text.failed) label = pes_arena_copy_text(plan->arena, text.length ? text.data : "single");
done:
    pes_text_destroy(&text);
    return label;
}

/* --- errors --- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Where `word` stands in a message as a whole word; SIZE_MAX if it doesn't. */
static size_t mention(const char *message, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = message; length && (at = strstr(at, word)); at++)
        if ((at == message || !is_word(at[-1])) && !is_word(at[length])) return (size_t)(at - message);
    return SIZE_MAX;
}

static const struct pes_yaml *block_place(const struct pes_plan *plan, const char *path)
{
    for (const struct pes_yaml *key = plan->root->first; key; key = key->next) {
        size_t length = strlen(key->text);
        if (!strncmp(path, key->text, length) && path[length] == '.') return key;
    }
    return plan->root;
}

/* Where a message first names the key or the chosen plug-in that an assignment gives. */
static size_t mention_of(const struct pes_plan *plan, const struct pes_assignment *given, const char *message)
{
    const char *path = plan->keys->paths[given->slot];
    size_t at = PES_MIN(mention(message, path), mention(message, strchr(path, '.') + 1));
    return given->value.type == PES_VALUE_CHOICE ? PES_MIN(at, mention(message, given->value.text)) : at;
}

/* The value that a message about a combination speaks of: what it names first among the values on axes, else
 * among the constants, else the block it names. */
static const struct pes_yaml *place_of(const struct expansion *expansion, const char *message)
{
    const struct pes_plan *plan = expansion->plan;
    for (int on_axis = 1; on_axis >= 0; on_axis--) {
        size_t first = SIZE_MAX;
        const struct pes_yaml *place = NULL;
        for (size_t slot = 0; slot < plan->keys->num_slots; slot++) {
            const struct pes_assignment *given = expansion->given[slot];
            if (!given || (given != &plan->constants[slot]) != on_axis) continue;
            size_t at = mention_of(plan, given, message);
            if (at >= first) continue;
            first = at;
            place = given->node;
        }
        if (place) return place;
    }
    for (const struct pes_yaml *key = plan->root->first; key; key = key->next)
        if (mention(message, key->text) != SIZE_MAX) return key;
    return expansion->num_chosen ? expansion->chosen[0]->node : plan->root;
}

/* `path:line:column: trial pe=rope seed=0: <last message>` */
static enum pes_status refuse_trial(const struct expansion *expansion, const struct pes_yaml *place,
                                    enum pes_status status)
{
    if (status != PES_INPUT && status != PES_IO) return status;
    char message[1024];
    snprintf(message, sizeof message, "%s", pes_error_message());
    if (!place) place = place_of(expansion, message);
    const char *label = label_of(expansion, NULL);
    bool named = label && expansion->plan->sweep->num_axes;
    (void)pes_yaml_fail(expansion->plan->path, place, "%s%s%s%s", named ? "trial " : "", named ? label : "",
                        named ? ": " : "", message);
    return status;
}

/* --- one combination --- */

static bool alternative_matches(const struct expansion *expansion, const struct pes_point *alternative)
{
    for (size_t i = 0; i < alternative->num_assignments; i++) {
        const struct pes_assignment *wanted = &alternative->assignments[i];
        const struct pes_assignment *given = expansion->given[wanted->slot];
        if (!given || !pes_value_equal(&given->value, &wanted->value)) return false;
    }
    return true;
}

/* The first pattern of exclude that matches, NULL if none does.  Every matching one is noted. */
static const struct pes_pattern *find_exclusion(const struct expansion *expansion)
{
    const struct pes_pattern *first = NULL;
    for (size_t p = 0; p < expansion->plan->num_patterns; p++) {
        struct pes_pattern *pattern = &expansion->plan->patterns[p];
        bool all = true;
        for (size_t t = 0; t < pattern->num_terms && all; t++) {
            bool any = false;
            for (size_t i = 0; i < pattern->terms[t].num_points && !any; i++)
                any = alternative_matches(expansion, &pattern->terms[t].points[i]);
            all = any;
        }
        if (!all) continue;
        pattern->matched = true;
        if (!first) first = pattern;
    }
    return first;
}

static enum pes_status skip(struct expansion *expansion, const char *reason)
{
    struct pes_sweep *sweep = expansion->plan->sweep;
    const char *label = label_of(expansion, NULL);
    if (!label || !reason) return PES_MEMORY;
    sweep->skipped[sweep->num_skipped++] = (struct pes_skipped){label, reason};
    return PES_OK;
}

static enum pes_status check_warmup(const struct pes_config *config)
{
    const struct pes_key_table *keys = config->table;
    if (config->given[pes_key_table_find(keys, "train.warmup")] &&
        config->given[pes_key_table_find(keys, "train.warmup_steps")])
        return pes_fail(PES_INPUT, "train.warmup_steps and train.warmup are both given; give one of them");
    int64_t warmup = pes_config_int(config, "train.warmup_steps"),
            steps = pes_config_int(config, "train.steps");
    if (warmup > steps)
        return pes_fail(PES_INPUT, "train.warmup_steps %lld is more than train.steps %lld", (long long)warmup,
                        (long long)steps);
    return PES_OK;
}

/* Everything that can be said against a combination before it runs. */
static enum pes_status check_meaning(const struct pes_config *config, const struct pes_task_shape *shape)
{
    struct pes_model_config model;
    struct pes_optimizer optimizer;
    TRY(check_warmup(config));
    TRY(pes_model_configure(config, shape, &model));
    TRY(pes_optimizer_configure(config, &optimizer));
    int64_t every = pes_config_int(config, "measure.evaluate_every");
    if (every && optimizer.steps / every > EVALUATION_LIMIT)
        return pes_fail(PES_INPUT,
                        "measure.evaluate_every %lld gives more than %d evaluations of train.steps %lld",
                        (long long)every, EVALUATION_LIMIT, (long long)optimizer.steps);
    size_t num_lists;
    if (pes_config_applies(config, "measure.ablate_lists"))
        TRY(pes_probe_read_lists(pes_config_text(config, "measure.ablate_lists"), model.shape.L,
                                 model.shape.H, &num_lists, NULL));
    return PES_OK;
}

static void note_use(const struct expansion *expansion, const struct pes_config *config)
{
    for (size_t slot = 0; slot < expansion->plan->keys->num_slots; slot++) {
        /* Assignments belong to the plan; only the view of them here is const. */
        struct pes_assignment *given = (struct pes_assignment *)expansion->given[slot];
        if (!given) continue;
        given->seen = true;
        given->used = given->used || config->given[slot];
    }
}

static enum pes_status make_trial(struct expansion *expansion)
{
    struct pes_plan *plan = expansion->plan;
    struct pes_sweep *sweep = plan->sweep;
    struct pes_arena_mark mark = pes_arena_mark(plan->arena);
    struct pes_config *config = pes_config_create(plan->keys, plan->arena);
    if (!config) return PES_MEMORY;
    for (size_t slot = 0; slot < plan->keys->num_slots; slot++) {
        if (!expansion->given[slot]) continue;
        config->values[slot] = expansion->given[slot]->value;
        config->given[slot] = true;
    }
    size_t bad_slot = 0;
    enum pes_status status = pes_config_resolve_loosely(config, &bad_slot);
    if (status == PES_INPUT) {
        const struct pes_assignment *given = expansion->given[bad_slot];
        const struct pes_yaml *place = given ? given->node : block_place(plan, plan->keys->paths[bad_slot]);
        return refuse_trial(expansion, place, status);
    }
    if (status != PES_OK) return status;

    struct pes_task_shape shape = {0};
    status = pes_task_find(pes_config_text(config, "task.kind"))->shape(config, &shape);
    if (status != PES_OK) return refuse_trial(expansion, NULL, status);
    pes_config_normalise(config, &shape, expansion->why);
    note_use(expansion, config);
    status = check_meaning(config, &shape);
    if (status != PES_OK) return refuse_trial(expansion, NULL, status);

    struct pes_trial trial = {.config = config};
    TRY(pes_config_identify(config, plan->arena, trial.key));
    size_t same = pes_lookup_insert(&expansion->lookup, trial.key, sweep->num_trials);
    if (same != sweep->num_trials) {
        pes_arena_rewind(plan->arena, mark);
        return skip(expansion, pes_arena_printf(plan->arena, "same trial as %s", sweep->trials[same].label));
    }
    trial.label = label_of(expansion, config);
    sweep->trials[sweep->num_trials++] = trial;
    return trial.label ? PES_OK : PES_MEMORY;
}

/* Constants, then the chosen points over them. */
static void gather(struct expansion *expansion)
{
    const struct pes_plan *plan = expansion->plan;
    for (size_t slot = 0; slot < plan->keys->num_slots; slot++)
        expansion->given[slot] = plan->constants[slot].node ? &plan->constants[slot] : NULL;
    for (size_t c = 0; c < expansion->num_chosen; c++)
        for (size_t i = 0; i < expansion->chosen[c]->num_assignments; i++) {
            const struct pes_assignment *assignment = &expansion->chosen[c]->assignments[i];
            expansion->given[assignment->slot] = assignment;
        }
}

/* --- the product --- */

static enum pes_status expand_product(struct expansion *expansion, size_t total)
{
    struct pes_plan *plan = expansion->plan;
    expansion->num_chosen = plan->num_variations;
    for (size_t number = 0; number < total; number++) {
        size_t rest = number;
        for (size_t v = plan->num_variations; v-- > 0;) {
            expansion->chosen[v] = &plan->variations[v].points[rest % plan->variations[v].num_points];
            rest /= plan->variations[v].num_points;
        }
        gather(expansion);
        const struct pes_pattern *pattern = find_exclusion(expansion);
        if (pattern)
            TRY(skip(expansion, pes_arena_printf(plan->arena, "excluded by line %d", pattern->node->line)));
        else
            TRY(make_trial(expansion));
    }
    for (size_t p = 0; p < plan->num_patterns; p++)
        if (!plan->patterns[p].matched)
            return pes_yaml_fail(
                plan->path, plan->patterns[p].node,
                "exclude: no combination of grid and zip has all of these values, so nothing is "
                "excluded");
    return PES_OK;
}

static enum pes_status expand_included(struct expansion *expansion)
{
    expansion->num_chosen = 1;
    for (size_t i = 0; i < expansion->plan->num_included; i++) {
        expansion->chosen[0] = &expansion->plan->included[i];
        gather(expansion);
        TRY(make_trial(expansion));
    }
    return PES_OK;
}

/* --- all --- */

/* measure and store alone, as resolved for any trial. */
static enum pes_status take_settings(struct pes_plan *plan)
{
    struct pes_config *settings = pes_config_copy(plan->sweep->trials[0].config, plan->arena);
    if (!settings) return PES_MEMORY;
    for (size_t slot = 0; slot < plan->keys->num_slots; slot++) {
        const char *path = plan->keys->paths[slot];
        bool setting = !strncmp(path, "measure.", 8) || !strncmp(path, "store.", 6);
        settings->applies[slot] = settings->applies[slot] && setting;
    }
    plan->sweep->settings = settings;
    return PES_OK;
}

static enum pes_status expand_all(struct expansion *expansion, size_t product)
{
    struct pes_plan *plan = expansion->plan;
    if (product) TRY(expand_product(expansion, product));
    TRY(expand_included(expansion));
    if (!plan->sweep->num_trials)
        return pes_yaml_fail(plan->path, plan->root, "no trial is left: exclude takes them all");
    return pes_plan_check_used(plan, expansion->why);
}

enum pes_status pes_plan_expand(struct pes_plan *plan)
{
    /* With include alone, the blocks by themselves aren't a trial. */
    size_t product = plan->num_variations || !plan->num_included;
    double exact = (double)product;
    for (size_t v = 0; v < plan->num_variations; v++) {
        exact *= (double)plan->variations[v].num_points;
        product *= exact > PES_TRIAL_LIMIT ? 0 : plan->variations[v].num_points;
    }
    if (exact > PES_TRIAL_LIMIT)
        return pes_yaml_fail(plan->path, plan->variations[0].node,
                             "grid and zip give %.15g combinations; at most %d are allowed", exact,
                             PES_TRIAL_LIMIT);
    size_t total = product + plan->num_included, num_slots = plan->keys->num_slots;
    struct pes_sweep *sweep = plan->sweep;
    sweep->trials = pes_arena_take(plan->arena, total, sizeof *sweep->trials);
    sweep->skipped = pes_arena_take(plan->arena, total, sizeof *sweep->skipped);
    struct expansion expansion = {.plan = plan};
    expansion.chosen = pes_arena_take(plan->arena, plan->num_variations + 1, sizeof *expansion.chosen);
    expansion.given = pes_arena_take(plan->arena, num_slots, sizeof *expansion.given);
    expansion.why = pes_arena_take(plan->arena, num_slots, sizeof *expansion.why);
    if (!sweep->trials || !sweep->skipped || !expansion.chosen || !expansion.given || !expansion.why)
        return PES_MEMORY;
    TRY(pes_lookup_create(&expansion.lookup, total));
    enum pes_status status = expand_all(&expansion, product);
    pes_lookup_destroy(&expansion.lookup);
    return status == PES_OK ? take_settings(plan) : status;
}
