/* status.c - error messages, failed checks, version. */
#include "pesweep/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char message[1024];
static void (*check_handler)(void);

int pes_status_exit_code(enum pes_status status)
{
    switch (status) {
#define X(name, code, meaning)                                                                               \
    case name:                                                                                               \
        return code;
        PES_STATUSES(X)
#undef X
    default:
        return 70;
    }
}

const char *pes_status_meaning(enum pes_status status)
{
    switch (status) {
#define X(name, code, meaning)                                                                               \
    case name:                                                                                               \
        return meaning;
        PES_STATUSES(X)
#undef X
    default:
        return "unknown status";
    }
}

enum pes_status(pes_fail)(enum pes_status status, const char *format, ...)
{
    /* Arguments may point into the old message, so it is replaced only once the new one is complete. */
    char text[sizeof message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t used = 0;
    for (const char *c = text; *c; c++)
        message[used++] = *c == '\n' || *c == '\r' ? ' ' : *c;
    message[used] = 0;
    return status;
}

const char *pes_error_message(void)
{
    return message;
}

void pes_check_set_handler(void (*handler)(void))
{
    check_handler = handler;
}

void pes_check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "pesweep: fault of the program at %s:%d: %s\n", file, line, condition);
    fflush(stderr);
    if (check_handler) check_handler();
    abort();
}

const char *pes_version(void)
{
    return PES_VERSION;
}

const char *pes_build(void)
{
    return PES_COMMIT[0] ? PES_VERSION " (" PES_COMMIT ")" : PES_VERSION;
}
