/* claims.c - `claims:` read and checked against the trials; the analysis judges them. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "pesweep/text.h"

static const char *const claim_keys[] = {"name",  "metric", "axis",  "better", "than",      "test",
                                         "ratio", "above",  "below", "where",  "threshold", "alpha"};
static const char *const tests[] = {"permutation", "mann_whitney", "sign_flip", "log_rank", NULL};

/* The nodes of one claim's keys, in the order of claim_keys; NULL = not given. */
enum { NAME, METRIC, AXIS, BETTER, THAN, TEST, RATIO, ABOVE, BELOW, WHERE, THRESHOLD, ALPHA, NUM_CLAIM_KEYS };

struct nodes {
    const struct pes_yaml *map, *keys[NUM_CLAIM_KEYS], *values[NUM_CLAIM_KEYS];
};

/* --- metrics --- */

/* Inside {} a plain scalar ends at its comma, so that `metric: steps_to(accuracy, 0.9)` arrives as a value
 * and a key without one.  Puts the two together again. */
static enum pes_status join_arguments(struct pes_plan *plan, struct pes_yaml *map)
{
    for (struct pes_yaml *key = map->first; key; key = key->next) {
        struct pes_yaml *value = key->value, *rest = key->next;
        if (strcmp(key->text, "metric") != 0 || value->kind != PES_YAML_SCALAR || !rest) continue;
        bool open = strchr(value->text, '(') && !strchr(value->text, ')');
        bool closes = *rest->text && rest->text[strlen(rest->text) - 1] == ')';
        if (!open || !closes || rest->value->kind != PES_YAML_SCALAR || *rest->value->text) continue;
        value->text = pes_arena_printf(plan->arena, "%s, %s", value->text, rest->text);
        if (!value->text) return PES_MEMORY;
        value->quoted = true;
        key->next = rest->next;
        map->count--;
    }
    return PES_OK;
}

static size_t identifier_length(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_",
                      more[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    return strspn(text, letters) ? strspn(text, more) : 0;
}

/* "final.<name>" or "steps_to(<name>, <number>)", the second written in one way. */
static enum pes_status read_metric(struct pes_plan *plan, const struct pes_yaml *node,
                                   struct pes_claim *claim)
{
    static const char wanted[] =
        "write final.<name>, such as final.test_accuracy, or steps_to(<name>, <number>)";
    char shown[72];
    if (node->kind != PES_YAML_SCALAR) return pes_yaml_fail(plan->path, node, "metric: %s", wanted);
    const char *text = node->text;
    claim->line = node->line;
    claim->column = node->column;
    claim->metric = text;
    if (!strncmp(text, "final.", 6)) {
        size_t length = identifier_length(text + 6);
        if (length && !text[6 + length]) return PES_OK;
    } else if (!strncmp(text, "steps_to(", 9)) {
        const char *name = text + 9 + strspn(text + 9, " "), *c = name + identifier_length(name);
        int length = (int)(c - name);
        c += strspn(c, " ");
        if (length && *c == ',') {
            c += 1 + strspn(c + 1, " ");
            size_t digits = strcspn(c, " )");
            char *number = pes_arena_printf(plan->arena, "%.*s", (int)digits, c);
            if (!number) return PES_MEMORY;
            c += digits + strspn(c + digits, " ");
            double level;
            char formatted[32];
            if (!strcmp(c, ")") && pes_text_parse_real(number, &level)) {
                claim->metric = pes_arena_printf(plan->arena, "steps_to(%.*s, %s)", length, name,
                                                 pes_text_format_real(level, formatted));
                return claim->metric ? PES_OK : PES_MEMORY;
            }
        }
    }
    return pes_yaml_fail(plan->path, node, "'%s' is no metric; %s", pes_text_shown(text, shown), wanted);
}

enum pes_status pes_sweep_check_metrics(const struct pes_sweep *sweep, const char *const *names, size_t count)
{
    for (size_t i = 0; i < sweep->num_claims; i++) {
        const struct pes_claim *claim = &sweep->claims[i];
        const struct pes_yaml place = {.line = claim->line, .column = claim->column};
        const char *start = strpbrk(claim->metric, ".(") + 1;
        char name[64];
        size_t length = PES_MIN(identifier_length(start), sizeof name - 1);
        memcpy(name, start, length);
        name[length] = 0;
        bool known = false;
        for (size_t n = 0; n < count; n++)
            known = known || !strcmp(names[n], name);
        if (known) continue;
        const char *nearest = pes_text_nearest(name, names, count);
        return pes_yaml_fail(sweep->path, &place, "claim %s: unknown metric '%s'%s%s%s", claim->name, name,
                             nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    }
    return PES_OK;
}

/* --- selections --- */

static const struct pes_axis *find_axis(const struct pes_sweep *sweep, size_t slot)
{
    for (size_t a = 0; a < sweep->num_axes; a++)
        if (sweep->axes[a].slot == slot) return &sweep->axes[a];
    return NULL;
}

static bool has_value(const struct pes_trial *trial, size_t slot, const struct pes_value *value)
{
    return trial->config->applies[slot] && pes_value_equal(&trial->config->values[slot], value);
}

static bool matches(const struct pes_trial *trial, const struct pes_selection *selection)
{
    for (size_t i = 0; i < selection->num_terms; i++)
        if (!has_value(trial, selection->slots[i], &selection->values[i])) return false;
    return true;
}

/* The value must be one that some trial has. */
static enum pes_status check_value(const struct pes_plan *plan, const struct pes_assignment *given,
                                   const struct pes_yaml *name)
{
    const struct pes_sweep *sweep = plan->sweep;
    const char *path = plan->keys->paths[given->slot];
    if (!find_axis(sweep, given->slot))
        return pes_yaml_fail(plan->path, name, "%s is no axis: grid, zip and include don't vary it", path);
    for (size_t t = 0; t < sweep->num_trials; t++)
        if (has_value(&sweep->trials[t], given->slot, &given->value)) return PES_OK;
    const char *value = pes_value_format(&given->value, plan->arena);
    return pes_yaml_fail(plan->path, given->node, "%s is %s in no trial", path, value ? value : "this");
}

static enum pes_status read_selection(struct pes_plan *plan, const struct pes_yaml *map, const char *what,
                                      struct pes_selection *selection)
{
    if (map->kind != PES_YAML_MAP || !map->count)
        return pes_yaml_fail(plan->path, map, "%s: a map of axes and values belongs here, '{pe: rope}'",
                             what);
    size_t num_slots = plan->keys->num_slots;
    size_t *slots = pes_arena_take(plan->arena, num_slots, sizeof *slots);
    struct pes_value *values = pes_arena_take(plan->arena, num_slots, sizeof *values);
    if (!slots || !values) return PES_MEMORY;
    for (const struct pes_yaml *name = map->first; name; name = name->next) {
        struct pes_key_name key;
        struct pes_point point;
        TRY(pes_plan_find_key(plan, name, NULL, &key));
        TRY(pes_plan_read_point(plan, &key, name->value, &point));
        for (size_t i = 0; i < point.num_assignments; i++) {
            const struct pes_assignment *given = &point.assignments[i];
            TRY(check_value(plan, given, name));
            for (size_t k = 0; k < selection->num_terms; k++)
                if (slots[k] == given->slot)
                    return pes_yaml_fail(plan->path, name, "%s: %s stands here a second time", what,
                                         plan->keys->paths[given->slot]);
            slots[selection->num_terms] = given->slot;
            values[selection->num_terms++] = given->value;
        }
    }
    selection->slots = slots;
    selection->values = values;
    return PES_OK;
}

static enum pes_status read_ratio(struct pes_plan *plan, const struct nodes *nodes, struct pes_claim *claim)
{
    const struct pes_yaml *list = nodes->values[RATIO];
    if (list->kind != PES_YAML_LIST || list->count != 2)
        return pes_yaml_fail(plan->path, list,
                             "ratio: a list of two selections belongs here, "
                             "'[{symmetry: symmetric}, {symmetry: none}]'");
    claim->is_ratio = true;
    TRY(read_selection(plan, list->first, "ratio", &claim->ratio[0]));
    TRY(read_selection(plan, list->first->next, "ratio", &claim->ratio[1]));
    const struct pes_yaml *side = list->first;
    size_t found[2] = {0, 0}, both = 0;
    for (size_t t = 0; t < plan->sweep->num_trials; t++) {
        const struct pes_trial *trial = &plan->sweep->trials[t];
        if (!matches(trial, &claim->where)) continue;
        bool first = matches(trial, &claim->ratio[0]), second = matches(trial, &claim->ratio[1]);
        found[0] += first;
        found[1] += second;
        both += first && second;
    }
    if (both) return pes_yaml_fail(plan->path, list, "ratio: the two selections have trials in common");
    for (int i = 0; i < 2; i++, side = side->next)
        if (!found[i]) return pes_yaml_fail(plan->path, side, "ratio: no trial has all of these values");
    return PES_OK;
}

/* axis, better, than. */
static enum pes_status read_comparison(struct pes_plan *plan, const struct nodes *nodes,
                                       struct pes_claim *claim)
{
    const struct pes_yaml *axis = nodes->values[AXIS];
    if (axis->kind != PES_YAML_SCALAR)
        return pes_yaml_fail(plan->path, axis, "axis: the name of an axis belongs here");
    if (!nodes->values[BETTER])
        return pes_yaml_fail(plan->path, nodes->map,
                             "a claim with axis also needs better: the value that wins");
    struct pes_key_name key;
    TRY(pes_plan_find_key(plan, axis, NULL, &key));
    if (key.slot < 0) {
        const char *kind = pes_arena_printf(plan->arena, "%s.kind", key.block);
        if (!kind) return PES_MEMORY;
        key.slot = pes_key_table_find(plan->keys, kind);
    }
    const struct pes_axis *column = key.slot >= 0 ? find_axis(plan->sweep, (size_t)key.slot) : NULL;
    if (!column)
        return pes_yaml_fail(plan->path, axis, "%s is no axis: grid, zip and include don't vary it",
                             axis->text);
    for (size_t i = 0; i < claim->where.num_terms; i++)
        if (claim->where.slots[i] == column->slot)
            return pes_yaml_fail(plan->path, nodes->keys[WHERE],
                                 "where holds fast the axis %s that is compared", axis->text);
    claim->axis = column->name;

    struct pes_point better, than;
    TRY(pes_plan_read_point(plan, &key, nodes->values[BETTER], &better));
    TRY(check_value(plan, better.assignments, nodes->keys[BETTER]));
    claim->better = pes_value_format(&better.assignments->value, plan->arena);
    claim->than = "others";
    const struct pes_yaml *other = nodes->values[THAN];
    bool others = !other || (other->kind == PES_YAML_SCALAR && !strcmp(other->text, "others"));
    if (!others) {
        TRY(pes_plan_read_point(plan, &key, other, &than));
        TRY(check_value(plan, than.assignments, nodes->keys[THAN]));
        claim->than = pes_value_format(&than.assignments->value, plan->arena);
        if (pes_value_equal(&better.assignments->value, &than.assignments->value))
            return pes_yaml_fail(plan->path, other, "better and than are the same value");
    }
    if (!claim->better || !claim->than) return PES_MEMORY;
    bool found_better = false, found_than = false;
    for (size_t t = 0; t < plan->sweep->num_trials; t++) {
        const struct pes_trial *trial = &plan->sweep->trials[t];
        if (!matches(trial, &claim->where) || !trial->config->applies[column->slot]) continue;
        bool is_better = has_value(trial, column->slot, &better.assignments->value);
        found_better = found_better || is_better;
        found_than =
            found_than || (others ? !is_better : has_value(trial, column->slot, &than.assignments->value));
    }
    if (!found_better || !found_than)
        return pes_yaml_fail(plan->path, nodes->map, "no trial is %s with %s = %s",
                             found_better ? "compared" : "left", claim->axis,
                             found_better ? claim->than : claim->better);
    return PES_OK;
}

/* --- one claim --- */

static enum pes_status sort_keys(const struct pes_plan *plan, const struct pes_yaml *map, struct nodes *nodes)
{
    char shown[72];
    *nodes = (struct nodes){.map = map};
    for (const struct pes_yaml *key = map->first; key; key = key->next) {
        size_t i = 0;
        while (i < NUM_CLAIM_KEYS && strcmp(key->text, claim_keys[i]) != 0)
            i++;
        if (i == NUM_CLAIM_KEYS) {
            const char *nearest = pes_text_nearest(key->text, claim_keys, NUM_CLAIM_KEYS);
            if (nearest)
                return pes_yaml_fail(plan->path, key, "unknown key '%s' in a claim; did you mean %s?",
                                     pes_text_shown(key->text, shown), nearest);
            return pes_yaml_fail(plan->path, key,
                                 "unknown key '%s' in a claim; allowed: name, metric, axis, better, "
                                 "than, test, ratio, above, below, where, threshold, alpha",
                                 pes_text_shown(key->text, shown));
        }
        nodes->keys[i] = key;
        nodes->values[i] = key->value;
    }
    for (size_t i = NAME; i <= METRIC; i++)
        if (!nodes->values[i])
            return pes_yaml_fail(plan->path, map, "a claim needs the key %s", claim_keys[i]);
    int ways =
        !!nodes->values[AXIS] + !!nodes->values[RATIO] + !!nodes->values[ABOVE] + !!nodes->values[BELOW];
    if (ways != 1)
        return pes_yaml_fail(plan->path, map,
                             "a claim needs either axis and better, or ratio, or above, or below");
    for (size_t i = BETTER; i <= THAN; i++)
        if (!nodes->values[AXIS] && nodes->values[i])
            return pes_yaml_fail(plan->path, nodes->keys[i], "%s has no meaning %s", claim_keys[i],
                                 nodes->values[RATIO] ? "with ratio" : "without axis");
    return PES_OK;
}

/* One of the claim's own scalars, by a row as in the key table. */
static enum pes_status read_own(struct pes_plan *plan, const struct pes_key *key, const struct pes_yaml *node,
                                struct pes_value *value)
{
    if (node->kind != PES_YAML_SCALAR)
        return pes_yaml_fail(plan->path, node, "%s: one value belongs here", key->path);
    struct pes_item item = {node->text, node->quoted};
    return pes_yaml_place(plan->path, node, pes_value_build(key, &item, 1, false, plan->arena, value, NULL));
}

/* above or below: a number that every seed's value is held against. */
static enum pes_status read_bound(struct pes_plan *plan, const struct nodes *nodes, struct pes_claim *claim)
{
    const struct pes_yaml *node = nodes->values[ABOVE] ? nodes->values[ABOVE] : nodes->values[BELOW];
    struct pes_key key = {
        .path = nodes->values[ABOVE] ? "above" : "below", .type = PES_VALUE_REAL, .min = -1e9, .max = 1e9};
    struct pes_value value;
    TRY(read_own(plan, &key, node, &value));
    claim->bound_side = nodes->values[ABOVE] ? 1 : -1;
    claim->bound = value.real;
    claim->test = PES_CLAIM_SIGN_FLIP;
    if (!strncmp(claim->metric, "steps_to(", 9))
        return pes_yaml_fail(plan->path, node,
                             "%s: steps that were never reached can't be held against a number; "
                             "metric must be final.<name>",
                             key.path);
    for (size_t t = 0; t < plan->sweep->num_trials; t++)
        if (matches(&plan->sweep->trials[t], &claim->where)) return PES_OK;
    return pes_yaml_fail(plan->path, nodes->keys[WHERE], "where: no trial has all of these values");
}

static enum pes_status read_name(struct pes_plan *plan, const struct pes_yaml *node, struct pes_claim *claim)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    bool fine = node->kind == PES_YAML_SCALAR && *node->text && strlen(node->text) <= 100;
    if (!fine || node->text[strspn(node->text, plain)])
        return pes_yaml_fail(plan->path, node,
                             "name: letters, digits, '-', '_' and '.' belong here, at most 100");
    for (const struct pes_claim *other = plan->sweep->claims; other < claim; other++)
        if (!strcmp(other->name, node->text))
            return pes_yaml_fail(plan->path, node, "a claim with the name %s stands in line %d already",
                                 node->text, other->line);
    claim->name = node->text;
    return PES_OK;
}

static enum pes_status read_claim(struct pes_plan *plan, struct pes_yaml *map, struct pes_claim *claim)
{
    static const struct pes_key test = {.path = "test", .type = PES_VALUE_CHOICE, .choices = tests};
    static const struct pes_key threshold = {
        .path = "threshold", .type = PES_VALUE_REAL, .min = 0, .max = 1e9};
    static const struct pes_key alpha = {
        .path = "alpha", .type = PES_VALUE_REAL, .min = 0, .max = 0.5, .min_open = true};
    if (map->kind != PES_YAML_MAP)
        return pes_yaml_fail(plan->path, map, "claims: maps belong here, '- {name: ..., metric: ...}'");
    TRY(join_arguments(plan, map));
    struct nodes nodes;
    struct pes_value value;
    TRY(sort_keys(plan, map, &nodes));
    *claim = (struct pes_claim){.test = PES_CLAIM_PERMUTATION, .alpha = 0.05};
    TRY(read_name(plan, nodes.values[NAME], claim));
    TRY(read_metric(plan, nodes.values[METRIC], claim));
    if (nodes.values[WHERE]) TRY(read_selection(plan, nodes.values[WHERE], "where", &claim->where));
    if (nodes.values[RATIO])
        TRY(read_ratio(plan, &nodes, claim));
    else if (nodes.values[AXIS])
        TRY(read_comparison(plan, &nodes, claim));
    else
        TRY(read_bound(plan, &nodes, claim));
    if (nodes.values[TEST]) {
        TRY(read_own(plan, &test, nodes.values[TEST], &value));
        claim->test = (enum pes_claim_test)value.integer;
        if (claim->bound_side && claim->test != PES_CLAIM_SIGN_FLIP)
            return pes_yaml_fail(plan->path, nodes.values[TEST],
                                 "above and below are tested by sign_flip alone");
        if (claim->test == PES_CLAIM_LOG_RANK && strncmp(claim->metric, "steps_to(", 9) != 0)
            return pes_yaml_fail(plan->path, nodes.values[TEST],
                                 "log_rank compares times: metric must be steps_to(<name>, <number>)");
    }
    if (nodes.values[THRESHOLD]) {
        TRY(read_own(plan, &threshold, nodes.values[THRESHOLD], &value));
        claim->threshold = value.real;
    }
    if (nodes.values[ALPHA]) {
        TRY(read_own(plan, &alpha, nodes.values[ALPHA], &value));
        claim->alpha = value.real;
    }
    claim->text = pes_yaml_format(map, plan->arena);
    return claim->text ? PES_OK : PES_MEMORY;
}

enum pes_status pes_plan_read_claims(struct pes_plan *plan)
{
    if (!plan->claims) return PES_OK;
    TRY(pes_plan_expect(plan, plan->claims, PES_YAML_LIST));
    struct pes_sweep *sweep = plan->sweep;
    sweep->claims = pes_arena_take(plan->arena, plan->claims->value->count, sizeof *sweep->claims);
    if (!sweep->claims) return PES_MEMORY;
    for (struct pes_yaml *map = plan->claims->value->first; map; map = map->next) {
        TRY(read_claim(plan, map, &sweep->claims[sweep->num_claims]));
        sweep->num_claims++;
    }
    return PES_OK;
}
