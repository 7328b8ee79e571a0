/* position_support.h - a scheme with its keys, parameters and sizes, for tests. */
#ifndef PESWEEP_TESTS_POSITION_SUPPORT_H
#define PESWEEP_TESTS_POSITION_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pesweep/position.h"
#include "pesweep/rng.h"

struct support {
    struct pes_arena *arena;
    const struct pes_position *position;
    struct pes_position_site site;
    struct pes_tensor_table *table;
    struct pes_parameters parameters;
    real *values;
};

/* The scheme alone, its tensors declared and filled with N(0, 0.5); settings: "key=value key=value". */
static inline struct support support_make(const char *name, const char *settings, struct pes_shape shape)
{
    static const struct pes_key pe[] = {{.path = "model.pe",
                                         .type = PES_VALUE_CHOICE,
                                         .choices = pes_position_names,
                                         .fallback = "nope",
                                         .unit = "",
                                         .help = ""},
                                        {.path = NULL}};
    struct support s = {.arena = pes_arena_create(), .position = pes_position_find(name)};
    struct pes_key_source sources[64] = {{.keys = pe}};
    size_t used = 1;
    for (size_t i = 0; pes_positions[i]; i++)
        sources[used++] = (struct pes_key_source){pes_positions[i]->keys, "model.pe", pes_positions[i]->name};
    struct pes_config *config = pes_config_create(pes_key_table_create(sources, used, s.arena), s.arena);
    assert_int_equal(pes_config_set(config, s.arena, "model.pe", name), PES_OK);
    char *text = pes_arena_copy_text(s.arena, settings), *rest = NULL;
    for (char *item = strtok_r(text, " ", &rest); item; item = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(item, '=');
        *equals = 0;
        assert_int_equal(pes_config_set(config, s.arena, item, equals + 1), PES_OK);
    }
    assert_int_equal(pes_config_resolve(config, s.arena), PES_OK);
    if (shape.H) shape.D = shape.C / shape.H;
    s.site = (struct pes_position_site){config, shape, UINT64_MAX, UINT64_MAX};
    s.table = pes_arena_take(s.arena, 1, sizeof *s.table);
    s.table->arena = s.arena;
    if (s.position->declare) assert_int_equal(s.position->declare(&s.site, s.table), PES_OK);
    s.values = pes_arena_take(s.arena, s.table->num_parameters, sizeof(real));
    struct pes_rng rng = {.seed = 1, .purpose = PES_RNG_TEST};
    for (size_t i = 0; i < s.table->num_parameters; i++)
        s.values[i] = (real)(0.5 * pes_rng_normal(&rng, i));
    s.parameters = (struct pes_parameters){s.table, s.values,
                                           pes_arena_take(s.arena, s.table->num_parameters, sizeof(real))};
    return s;
}

static inline void support_free(struct support *s)
{
    pes_arena_destroy(s->arena);
}

static inline void support_assert_near(double a, double b, double tolerance)
{
    if (fabs(a - b) <= tolerance) return;
    print_error("%.17g and %.17g differ by %.3g, more than %.3g\n", a, b, fabs(a - b), tolerance);
    fail();
}

static inline void support_assert_refused(const struct support *s, const char *first, const char *second)
{
    assert_int_equal(s->position->check(&s->site), PES_INPUT);
    assert_non_null(strstr(pes_error_message(), first));
    assert_non_null(strstr(pes_error_message(), second));
}

#endif
