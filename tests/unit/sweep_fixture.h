/* sweep_fixture.h - sweeps from texts, and what tests ask of them. */
#ifndef PESWEEP_TESTS_SWEEP_FIXTURE_H
#define PESWEEP_TESTS_SWEEP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "pesweep/sweep.h"

#define BASE "task: count\ntrain: {steps: 10}\n"

static inline struct pes_sweep *parse_bytes(const char *bytes, size_t count)
{
    struct pes_sweep *sweep = NULL;
    if (pes_sweep_parse("sweep.yaml", bytes, count, &sweep) != PES_OK) fail_msg("%s", pes_error_message());
    return sweep;
}

static inline struct pes_sweep *parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

/* The text is refused with this message. */
static inline void refused(const char *text, const char *message)
{
    struct pes_sweep *sweep = NULL;
    if (pes_sweep_parse("sweep.yaml", text, strlen(text), &sweep) == PES_OK) fail_msg("accepted:\n%s", text);
    if (!strstr(pes_error_message(), message))
        fail_msg("'%s' isn't in '%s' for\n%s", message, pes_error_message(), text);
}

/* Labels of the trials, one a line. */
static inline void assert_labels(const struct pes_sweep *sweep, const char *labels)
{
    char text[4096] = "";
    size_t used = 0;
    for (size_t t = 0; t < sweep->num_trials && used < sizeof text; t++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", sweep->trials[t].label);
    assert_string_equal(text, labels);
}

/* Labels and reasons of what was skipped. */
static inline void assert_skipped(const struct pes_sweep *sweep, const char *lines)
{
    char text[4096] = "";
    size_t used = 0;
    for (size_t s = 0; s < sweep->num_skipped && used < sizeof text; s++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s: %s\n", sweep->skipped[s].label,
                                 sweep->skipped[s].reason);
    assert_string_equal(text, lines);
}

#endif
