/* task_support.h - a key table of tasks alone, and configurations of it. */
#ifndef PESWEEP_TESTS_TASK_SUPPORT_H
#define PESWEEP_TESTS_TASK_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pesweep/task.h"

static struct pes_arena *arena;
static const struct pes_key_table *table;

static inline int make_keys(void **unused)
{
    static const struct pes_key core_keys[] = {
        {.path = "task.kind",
         .type = PES_VALUE_CHOICE,
         .choices = pes_task_names,
         .fallback = NULL,
         .unit = "",
         .help = "task"},
        {.path = "task.data_seed",
         .type = PES_VALUE_INT,
         .min = 0,
         .max = 1e9,
         .fallback = "0",
         .unit = "",
         .help = "seed"},
        {.path = NULL},
    };
    (void)unused;
    arena = pes_arena_create();
    if (!arena) return -1;
    struct pes_key_source sources[32] = {{.keys = core_keys}};
    size_t count = 1;
    for (size_t i = 0; pes_tasks[i]; i++)
        sources[count++] = (struct pes_key_source){pes_tasks[i]->keys, "task.kind", pes_tasks[i]->name};
    table = pes_key_table_create(sources, count, arena);
    return table ? 0 : -1;
}

static inline int drop_keys(void **unused)
{
    (void)unused;
    pes_arena_destroy(arena);
    return 0;
}

/* settings: "task.vocab=8 task.between=4" */
static inline struct pes_config *configure(const char *kind, const char *settings)
{
    struct pes_config *config = pes_config_create(table, arena);
    assert_non_null(config);
    assert_int_equal(pes_config_set(config, arena, "task.kind", kind), PES_OK);
    char *rest = pes_arena_copy_text(arena, settings);
    for (char *word = strtok(rest, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        assert_int_equal(pes_config_set(config, arena, word, equals + 1), PES_OK);
    }
    assert_int_equal(pes_config_resolve(config, arena), PES_OK);
    return config;
}

#endif
