/* sweep.c - from a path or bytes to a checked sweep. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pesweep/text.h"

enum { FILE_LIMIT = 16 << 20 };

static enum pes_status parse(struct pes_sweep *sweep, const char *path, const char *text, size_t bytes)
{
    struct pes_arena *arena = sweep->arena;
    sweep->path = pes_arena_copy_text(arena, path);
    if (!sweep->path) return PES_MEMORY;
    char *decoded;
    struct pes_yaml *root;
    TRY(pes_yaml_decode(sweep->path, text, bytes, arena, &decoded, &sweep->text_bytes));
    sweep->text = decoded;
    TRY(pes_yaml_read(sweep->path, sweep->text, sweep->text_bytes, arena, &root));
    struct pes_plan plan = {.path = sweep->path, .keys = pes_sweep_keys(), .arena = arena, .sweep = sweep};
    plan.constants = pes_arena_take(arena, plan.keys->num_slots, sizeof *plan.constants);
    plan.varied_by = pes_arena_take(arena, plan.keys->num_slots, sizeof *plan.varied_by);
    if (!plan.constants || !plan.varied_by) return PES_MEMORY;
    TRY(pes_plan_read(&plan, root));
    TRY(pes_plan_expand(&plan));
    TRY(pes_plan_read_claims(&plan));
    return pes_sweep_identify(sweep);
}

enum pes_status pes_sweep_parse(const char *path, const char *text, size_t bytes, struct pes_sweep **out)
{
    if (bytes > FILE_LIMIT)
        return pes_fail(PES_INPUT, "%s: larger than %d MiB; a sweep file is short text", path,
                        FILE_LIMIT >> 20);
    struct pes_arena *arena = pes_arena_create();
    struct pes_sweep *sweep = arena ? pes_arena_take(arena, 1, sizeof *sweep) : NULL;
    if (!sweep) {
        pes_arena_destroy(arena);
        return PES_MEMORY;
    }
    sweep->arena = arena;
    enum pes_status status = parse(sweep, path, text, bytes);
    if (status == PES_OK)
        *out = sweep;
    else
        pes_sweep_destroy(sweep);
    return status;
}

void pes_sweep_destroy(struct pes_sweep *sweep)
{
    if (sweep) pes_arena_destroy(sweep->arena);
}

/* To the end of the file or one byte over the limit, since pipes have no size. */
static enum pes_status read_all(const char *path, int descriptor, struct pes_text *text)
{
    char block[16384];
    while (text->length <= FILE_LIMIT) {
        ssize_t count = read(descriptor, block, sizeof block);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return pes_fail(PES_IO, "%s: can't be read: %s", path, strerror(errno));
        if (!count) break;
        pes_text_append_bytes(text, block, (size_t)count);
        if (text->failed) return PES_MEMORY;
    }
    return PES_OK;
}

enum pes_status pes_sweep_load(const char *path, struct pes_sweep **sweep)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return pes_fail(PES_INPUT, "%s: can't be opened: %s", path, strerror(errno));
    struct stat about;
    struct pes_text text = {0};
    enum pes_status status = PES_OK;
    if (!fstat(descriptor, &about) && S_ISDIR(about.st_mode))
        status = pes_fail(PES_INPUT, "%s: is a folder; a sweep file is wanted", path);
    if (status == PES_OK) status = read_all(path, descriptor, &text);
    close(descriptor);
    if (status == PES_OK) status = pes_sweep_parse(path, pes_text_get(&text), text.length, sweep);
    pes_text_destroy(&text);
    return status;
}

enum pes_status pes_trial_model(const struct pes_trial *trial, struct pes_model_config *model)
{
    struct pes_task_shape shape = {0};
    TRY(pes_task_find(pes_config_text(trial->config, "task.kind"))->shape(trial->config, &shape));
    return pes_model_configure(trial->config, &shape, model);
}

enum pes_status pes_trial_optimizer(const struct pes_trial *trial, struct pes_optimizer *optimizer)
{
    return pes_optimizer_configure(trial->config, optimizer);
}
