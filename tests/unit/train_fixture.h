/* train_fixture.h - a sweep from text, its layout, and trials that are trained, stopped and taken up again.
 */
#ifndef PESWEEP_TESTS_TRAIN_FIXTURE_H
#define PESWEEP_TESTS_TRAIN_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pesweep/linalg.h"
#include "pesweep/measure.h"
#include "pesweep/train.h"

struct fixture {
    struct pes_sweep *sweep;
    struct pes_layout *layout;
    struct pes_arena *arena;
};

static inline struct fixture fixture_open(const char *text)
{
    pes_blas_set_threads(1); /* as the program does */
    struct fixture f = {.arena = pes_arena_create()};
    assert_non_null(f.arena);
    enum pes_status status = pes_sweep_parse("test.yaml", text, strlen(text), &f.sweep);
    if (status != PES_OK) fail_msg("%s", pes_error_message());
    assert_int_equal(pes_train_layout(f.sweep, f.arena, &f.layout), PES_OK);
    return f;
}

static inline void fixture_close(struct fixture *f)
{
    pes_sweep_destroy(f->sweep);
    pes_arena_destroy(f->arena);
}

static inline struct pes_row fixture_row(const struct fixture *f)
{
    struct pes_row row = {f->layout, pes_arena_take(f->arena, f->layout->row_bytes, 1)};
    assert_non_null(row.bytes);
    return row;
}

/* Names the first variable in which two rows differ. */
static inline void assert_rows_equal(const struct pes_row *a, const struct pes_row *b)
{
    for (size_t i = 0; i < a->layout->num_fields; i++) {
        const struct pes_field *field = &a->layout->fields[i];
        size_t bytes = field->count * pes_type_bytes(field->variable.type);
        if (memcmp(a->bytes + field->offset, b->bytes + field->offset, bytes) != 0)
            fail_msg("rows differ in %s/%s", field->variable.group, field->variable.name);
    }
    assert_memory_equal(a->bytes, b->bytes, a->layout->row_bytes);
}

static inline double get(const struct pes_row *row, const char *group, const char *name)
{
    return pes_row_get(row, group, name, (size_t[PES_MAX_RANK]){0});
}

static inline double get_at(const struct pes_row *row, const char *group, const char *name, size_t i)
{
    return pes_row_get(row, group, name, (size_t[PES_MAX_RANK]){i});
}

/* A caller that does something at the n-th tick and keeps the state that is saved. */
struct caller {
    long ticks, at; /* at: 1 = the first, 0 = never */
    enum pes_tick then;
    long saves;
    struct pes_train_state saved; /* arrays from malloc */
    bool has_saved;
};

static inline void *copy_of(const void *bytes, size_t count)
{
    void *copy = malloc(count);
    assert_non_null(copy);
    return memcpy(copy, bytes, count);
}

static inline void caller_forget(struct caller *c)
{
    if (!c->has_saved) return;
    free(c->saved.parameters);
    free(c->saved.m);
    free(c->saved.v);
    free(c->saved.row.bytes);
    c->has_saved = false;
}

static inline enum pes_tick caller_tick(void *context, int64_t step, int64_t steps)
{
    struct caller *c = context;
    assert_true(step >= 0 && step <= steps);
    return ++c->ticks == c->at ? c->then : PES_TICK_GO;
}

static inline enum pes_status caller_save(void *context, const struct pes_train_state *state)
{
    struct caller *c = context;
    caller_forget(c);
    size_t bytes = state->num_parameters * sizeof(real);
    c->saved = *state;
    c->saved.parameters = copy_of(state->parameters, bytes);
    c->saved.m = copy_of(state->m, bytes);
    c->saved.v = copy_of(state->v, bytes);
    c->saved.row.bytes = copy_of(state->row.bytes, state->row.layout->row_bytes);
    c->has_saved = true;
    c->saves++;
    return PES_OK;
}

static inline bool caller_resume(void *context, struct pes_train_state *state)
{
    struct caller *c = context;
    if (!c->has_saved) return false;
    assert_int_equal(state->num_parameters, c->saved.num_parameters);
    size_t bytes = state->num_parameters * sizeof(real);
    struct pes_train_state own = *state;
    memcpy(own.parameters, c->saved.parameters, bytes);
    memcpy(own.m, c->saved.m, bytes);
    memcpy(own.v, c->saved.v, bytes);
    memcpy(own.row.bytes, c->saved.row.bytes, own.row.layout->row_bytes);
    *state = c->saved;
    state->parameters = own.parameters, state->m = own.m, state->v = own.v, state->row = own.row;
    return true;
}

static inline enum pes_status train_with(const struct fixture *f, size_t trial, struct caller *c,
                                         struct pes_row *row, struct pes_train_result *result)
{
    struct pes_train_hooks hooks = {c, caller_tick, caller_save, caller_resume};
    return pes_train_trial(f->sweep, trial, f->layout, c ? &hooks : NULL, row, result);
}

#endif
