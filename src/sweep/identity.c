/* identity.c - when two configurations are the same trial.
 *
 * A trial's key is the hash of its canonical configuration.  So that trials which would do the same have the
 * same key, whatever has no effect under the choices made is set back to its default first. */
#include "plan.h"

#include <string.h>

#include "pesweep/text.h"

static void reset(struct pes_config *config, const char *path, const char **why, const char *reason)
{
    size_t slot = (size_t)pes_key_table_find(config->table, path);
    if (!config->applies[slot] || pes_config_is_default(config, slot)) return;
    pes_config_reset(config, slot);
    if (why) why[slot] = reason;
}

static uint64_t first_members(int64_t count)
{
    return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* A list of every member is `all`. */
static void complete_set(struct pes_config *config, const char *path, int64_t count)
{
    uint64_t *set = &config->values[pes_key_table_find(config->table, path)].set;
    if (*set == first_members(count)) *set = UINT64_MAX;
}

/* No layer and no head are the same: a scheme that acts nowhere. */
static void settle_nowhere(struct pes_config *config, const char **why)
{
    struct pes_value *heads = &config->values[pes_key_table_find(config->table, "model.pe_heads")];
    struct pes_value *layers = &config->values[pes_key_table_find(config->table, "model.pe_layers")];
    if (!layers->set) {
        heads->set = 0;
        layers->set = UINT64_MAX;
    } else if (!heads->set) {
        reset(config, "model.pe_layers", why, "model.pe_heads is none");
    }
}

/* Schemes without a table of positions take sequences of any length: a bound given is kept, not refused, but
 * makes no other trial. */
static void settle_max_length(struct pes_config *config, const struct pes_position *position)
{
    size_t slot = (size_t)pes_key_table_find(config->table, "model.max_length");
    bool given = config->given[slot];
    if (!position->tabled) pes_config_reset(config, slot);
    config->given[slot] = given;
}

/* The decoupled rotary part exists under a rotary scheme alone; elsewhere its width is 0, whatever was given.
 */
static void settle_d_rope(struct pes_config *config, const struct pes_position *position, const char **why)
{
    size_t slot = (size_t)pes_key_table_find(config->table, "model.d_rope");
    if (!config->applies[slot] || position->family == PES_POSITION_ROTARY || !config->values[slot].integer)
        return;
    config->values[slot].integer = 0;
    config->given[slot] = false;
    if (why) why[slot] = "the positional scheme doesn't rotate";
}

void pes_config_normalise(struct pes_config *config, const struct pes_task_shape *shape, const char **why)
{
    const struct pes_position *position = pes_position_find(pes_config_text(config, "model.pe"));
    complete_set(config, "model.pe_heads", pes_config_int(config, "model.heads"));
    complete_set(config, "model.pe_layers", pes_config_int(config, "model.layers"));
    if (position->family != PES_POSITION_ADDITIVE && position->family != PES_POSITION_ROTARY) {
        const char *reason = "the positional scheme doesn't act inside attention";
        reset(config, "model.pe_heads", why, reason);
        reset(config, "model.pe_layers", why, reason);
    }
    settle_nowhere(config, why);
    settle_max_length(config, position);
    settle_d_rope(config, position, why);
    if (!pes_config_int(config, "model.d_ff"))
        reset(config, "model.activation", why, "model.d_ff is 0: there is no feed-forward part");
    if (!shape->padded) reset(config, "model.pad", why, "the task's sequences have no padding");
    int64_t warmup_steps = pes_config_int(config, "train.warmup_steps");
    bool warms_up = warmup_steps > 0 || (warmup_steps < 0 && pes_config_real(config, "train.warmup") > 0);
    if (!warms_up)
        reset(config, "train.published", why, "it says how warm-up starts, and there is no warm-up");
    if (pes_config_real(config, "train.weight_decay") == 0)
        reset(config, "train.decay", why, "train.weight_decay is 0");
}

enum pes_status pes_config_identify(const struct pes_config *config, struct pes_arena *arena, char key[33])
{
    struct pes_arena_mark mark = pes_arena_mark(arena);
    const char *canonical = pes_config_canonical(config, arena);
    if (canonical) pes_hash_hex(canonical, strlen(canonical), key);
    pes_arena_rewind(arena, mark);
    return canonical ? PES_OK : PES_MEMORY;
}

/* Keys of the trials in order, then every setting as it is. */
enum pes_status pes_sweep_identify(struct pes_sweep *sweep)
{
    struct pes_text text = {0};
    struct pes_arena_mark mark = pes_arena_mark(sweep->arena);
    bool complete = true;
    for (size_t i = 0; i < sweep->num_trials; i++)
        pes_text_append(&text, "%s\n", sweep->trials[i].key);
    const struct pes_key_table *table = sweep->settings->table;
    for (size_t slot = 0; slot < table->num_slots; slot++) {
        if (!sweep->settings->applies[slot]) continue;
        const char *value = pes_value_format(&sweep->settings->values[slot], sweep->arena);
        complete = complete && value;
        pes_text_append(&text, "%s=%s\n", table->paths[slot], value ? value : "");
    }
    complete = complete && !text.failed;
    if (complete) pes_hash_hex(text.data, text.length, sweep->hash);
    pes_arena_rewind(sweep->arena, mark);
    pes_text_destroy(&text);
    return complete ? PES_OK : PES_MEMORY;
}
