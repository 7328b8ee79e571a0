/* tensors.c - the parameter sets of a sweep: which tensors stand where in a trial's flat parameter vector.
 *
 * Trials that differ in seeds alone share a set, so a set is looked up by the values it can depend on before
 * a model is described for it. */
#include "table.h"

#include <string.h>

#include "pesweep/text.h"

static const char *const set_blocks[] = {"task.", "model.", "train.decay", NULL};

struct set_list {
    struct tensor_row *rows; /* malloc'd, grows */
    size_t num_rows, capacity;
    int32_t num_sets;
    struct seen {
        uint64_t hash;
        int32_t set; /* -1: empty */
    } * seen;        /* open addressing, at most half full */
    size_t num_slots;
};

static struct seen *find(struct set_list *list, uint64_t hash)
{
    size_t slot = (size_t)hash & (list->num_slots - 1);
    while (list->seen[slot].set >= 0 && list->seen[slot].hash != hash)
        slot = (slot + 1) & (list->num_slots - 1);
    return &list->seen[slot];
}

static bool same_row(const struct tensor_row *a, const struct tensor_row *b)
{
    return a->rank == b->rank && !memcmp(a->shape, b->shape, sizeof a->shape) && a->offset == b->offset &&
           a->count == b->count && a->decays == b->decays && !strcmp(a->name, b->name);
}

/* A set with the rows from `first` on, if an earlier one equals them; else -1. */
static int32_t find_equal(const struct set_list *list, size_t first)
{
    size_t count = list->num_rows - first;
    for (size_t start = 0; start < first;) {
        size_t end = start;
        while (end < first && list->rows[end].set == list->rows[start].set)
            end++;
        size_t same = 0;
        while (end - start == count && same < count &&
               same_row(&list->rows[start + same], &list->rows[first + same]))
            same++;
        if (same == count && end - start == count) return list->rows[start].set;
        start = end;
    }
    return -1;
}

/* Appends the tensors of one trial's model as a new set, unless there is an equal one. */
static enum pes_status describe(struct set_list *list, const struct pes_trial *trial,
                                struct pes_arena *scratch, struct pes_arena *arena, int32_t *set)
{
    struct pes_model_config config;
    struct pes_optimizer optimizer;
    struct pes_model *model;
    TRY(pes_trial_model(trial, &config));
    TRY(pes_trial_optimizer(trial, &optimizer));
    TRY(pes_model_create(&config, scratch, &model));
    size_t first = list->num_rows, count = model->tensors.num_tensors;
    if (list->capacity - first < count) {
        size_t capacity = 2 * list->capacity + count;
        struct tensor_row *rows = pes_reallocate(list->rows, capacity, sizeof *rows);
        if (!rows) return PES_MEMORY;
        list->rows = rows;
        list->capacity = capacity;
    }
    for (size_t i = 0; i < count; i++) {
        const struct pes_tensor *tensor = &model->tensors.tensors[i];
        struct tensor_row row = {.set = list->num_sets,
                                 .rank = tensor->rank,
                                 .offset = (int64_t)tensor->offset,
                                 .count = (int64_t)tensor->count,
                                 .decays = pes_optimizer_decays(&optimizer, tensor)};
        for (int d = 0; d < STORE_TENSOR_AXES; d++)
            row.shape[d] = d < tensor->rank ? (int64_t)tensor->shape[d] : 1;
        row.name = pes_arena_copy_text(arena, tensor->name);
        if (!row.name) return PES_MEMORY;
        list->rows[list->num_rows++] = row;
    }
    *set = find_equal(list, first);
    if (*set < 0)
        *set = list->num_sets++;
    else
        list->num_rows = first;
    return PES_OK;
}

static enum pes_status list_sets(struct set_list *list, const struct pes_sweep *sweep,
                                 struct pes_arena *scratch, struct pes_arena *arena, int32_t *sets)
{
    struct pes_arena_mark mark = pes_arena_mark(scratch);
    for (size_t t = 0; t < sweep->num_trials; t++) {
        const char *text = store_config_text(sweep->trials[t].config, set_blocks, scratch);
        if (!text) return PES_MEMORY;
        uint64_t hash = pes_hash(text, strlen(text));
        struct seen *seen = find(list, hash);
        if (seen->set < 0) {
            int32_t set;
            TRY(describe(list, &sweep->trials[t], scratch, arena, &set));
            *seen = (struct seen){hash, set};
        }
        sets[t] = seen->set;
        pes_arena_rewind(scratch, mark);
    }
    return PES_OK;
}

enum pes_status store_list_tensors(const struct pes_sweep *sweep, struct pes_arena *arena,
                                   struct tensor_row **tensors, size_t *num_tensors, int32_t **sets)
{
    struct set_list list = {.num_slots = 64};
    while (list.num_slots < 2 * sweep->num_trials)
        list.num_slots *= 2;
    struct pes_arena *scratch = pes_arena_create();
    list.seen = pes_allocate(list.num_slots, sizeof *list.seen);
    *sets = pes_arena_take(arena, sweep->num_trials, sizeof **sets);
    enum pes_status status = scratch && list.seen && *sets ? PES_OK : PES_MEMORY;
    if (status == PES_OK) {
        for (size_t i = 0; i < list.num_slots; i++)
            list.seen[i].set = -1;
        status = list_sets(&list, sweep, scratch, arena, *sets);
    }
    if (status == PES_OK) {
        *num_tensors = list.num_rows;
        *tensors = pes_arena_take(arena, list.num_rows, sizeof **tensors);
        if (!*tensors)
            status = PES_MEMORY;
        else if (list.num_rows)
            memcpy(*tensors, list.rows, list.num_rows * sizeof **tensors);
    }
    pes_free(list.rows);
    pes_free(list.seen);
    pes_arena_destroy(scratch);
    return status;
}
