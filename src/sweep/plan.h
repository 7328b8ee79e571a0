/* plan.h - what stands between the nodes of a sweep file and its trials.
 *
 * Reading goes file -> nodes (yaml_tree.h) -> plan -> trials.  Everything lives in the sweep's arena. */
#ifndef PESWEEP_SWEEP_PLAN_H
#define PESWEEP_SWEEP_PLAN_H

#include "pesweep/sweep.h"

#include "yaml_tree.h"

enum { PES_TRIAL_LIMIT = 1000000 };

/* A value given to a key at a place.  `seen`: a trial was made with it; `used`: it meant something there. */
struct pes_assignment {
    size_t slot;
    struct pes_value value;
    const struct pes_yaml *node;
    bool seen, used;
};

/* What one element of an axis gives: one value, or several for a map or a row of a zip. */
struct pes_point {
    const struct pes_yaml *node;
    size_t num_assignments;
    struct pes_assignment *assignments; /* in slot order */
};

/* An axis of the grid, or a zip; as a term of exclude, alternatives. */
struct pes_variation {
    const struct pes_yaml *node; /* its key */
    size_t num_points;
    struct pes_point *points;
};

/* One element of exclude: all terms must match, each by one of its alternatives. */
struct pes_pattern {
    const struct pes_yaml *node;
    size_t num_terms;
    struct pes_variation *terms;
    bool matched;
};

struct pes_plan {
    const char *path;
    const struct pes_key_table *keys;
    struct pes_arena *arena;
    struct pes_sweep *sweep;
    struct pes_assignment *constants; /* [num_slots]; node NULL = not given */
    size_t num_variations;
    struct pes_variation *variations; /* first slowest */
    size_t num_patterns;
    struct pes_pattern *patterns;
    size_t num_included;
    struct pes_point *included;
    const struct pes_yaml *root;
    struct pes_yaml *claims;           /* NULL = not given */
    const struct pes_yaml **varied_by; /* [num_slots]: first axis key that varies it, NULL = none */
};

/* --- assign.c: names and values --- */

/* A key by name: its slot, or (slot -1) the path of a block of keys. */
struct pes_key_name {
    long slot;
    const char *block;
};

/* The key that `node` names, below the block `scope` or, with scope NULL, anywhere (bare names where unique).
 */
enum pes_status pes_plan_find_key(struct pes_plan *plan, const struct pes_yaml *node, const char *scope,
                                  struct pes_key_name *key);

/* The assignments of one element: a value for a slot; for a block a map of its keys, or a scalar for its
 * `kind`. */
enum pes_status pes_plan_read_point(struct pes_plan *plan, const struct pes_key_name *key,
                                    const struct pes_yaml *node, struct pes_point *point);

/* The value of `key` must be a map or list (as `kind` says) that isn't empty. */
enum pes_status pes_plan_expect(const struct pes_plan *plan, const struct pes_yaml *key,
                                enum pes_yaml_kind kind);

/* NULL if the point doesn't give the slot. */
const struct pes_assignment *pes_point_find(const struct pes_point *point, size_t slot);

/* --- read.c: the plan of a file --- */
enum pes_status pes_plan_read(struct pes_plan *plan, struct pes_yaml *root);

/* --- axes.c --- */
enum pes_status pes_plan_read_grid(struct pes_plan *plan, const struct pes_yaml *key);
enum pes_status pes_plan_read_zip(struct pes_plan *plan, const struct pes_yaml *key);
enum pes_status pes_plan_read_exclude(struct pes_plan *plan, const struct pes_yaml *key);
enum pes_status pes_plan_read_include(struct pes_plan *plan, const struct pes_yaml *key);

/* --- columns.c: sweep->axes --- */
enum pes_status pes_plan_name_axes(struct pes_plan *plan);

/* --- expand.c: trials, skipped, settings --- */
enum pes_status pes_plan_expand(struct pes_plan *plan);

/* --- unused.c --- */

/* Refuses a value without any effect.  why[slot]: the last reason why a value of the slot had none, or NULL.
 */
enum pes_status pes_plan_check_used(const struct pes_plan *plan, const char *const *why);

/* --- identity.c --- */

/* Resets what has no effect under the choices made (`given` becomes false) and writes sets that hold every
 * head or layer as `all`.  why[slot], if why isn't NULL, is set to the reason of a reset. */
void pes_config_normalise(struct pes_config *config, const struct pes_task_shape *shape, const char **why);

/* XXH3-128 of the canonical text. */
enum pes_status pes_config_identify(const struct pes_config *config, struct pes_arena *arena, char key[33]);
enum pes_status pes_sweep_identify(struct pes_sweep *sweep); /* sweep->hash */

/* --- claims.c --- */
enum pes_status pes_plan_read_claims(struct pes_plan *plan);

#endif
