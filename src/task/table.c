/* table.c - the table of tasks. */
#include "pesweep/task.h"

#include <string.h>

#define X(identifier) &pes_task_##identifier,
const struct pes_task *const pes_tasks[] = {PES_TASKS(X) NULL};
#undef X

#define X(identifier) #identifier,
const char *const pes_task_names[] = {PES_TASKS(X) NULL};
#undef X

const struct pes_task *pes_task_find(const char *name)
{
    for (size_t i = 0; pes_tasks[i]; i++)
        if (!strcmp(pes_tasks[i]->name, name)) return pes_tasks[i];
    return NULL;
}
