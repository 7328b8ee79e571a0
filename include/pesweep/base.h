/* base.h - the types and the error convention that every module shares.
 *
 * Errors come in three kinds.  (1) The user's or the system's: a function returns an enum pes_status other
 * than PES_OK after one call of pes_fail(), which keeps one line of text for the caller's caller to print.
 * (2) The programmer's: CHECK, always compiled in, ends the whole job.  (3) Numerical: a stored result. */
#ifndef PESWEEP_BASE_H
#define PESWEEP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type that models are trained in.  The double build exists for gradient checks and golden values. */
#ifdef PES_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* X(name, exit code of the program, meaning) */
#define PES_STATUSES(X)                                                                                      \
    X(PES_OK, 0, "done")                                                                                     \
    X(PES_DIFFERENT, 1, "verify or replay found a difference")                                               \
    X(PES_INPUT, 2, "wrong use or wrong input")                                                              \
    X(PES_SOME_FAILED, 3, "finished, but some trials failed")                                                \
    X(PES_INTERNAL, 70, "a fault of pesweep itself")                                                         \
    X(PES_MEMORY, 71, "out of memory")                                                                       \
    X(PES_BUSY, 73, "the results file is in use by another run")                                             \
    X(PES_IO, 74, "input or output error")                                                                   \
    X(PES_STOPPED, 75, "stopped early on purpose: run the same command again to go on")

enum pes_status {
#define X(name, code, meaning) name,
    PES_STATUSES(X)
#undef X
        PES_NUM_STATUSES
};

/* Exit code and meaning of a status; never fails. */
int pes_status_exit_code(enum pes_status status);
const char *pes_status_meaning(enum pes_status status);

/* Records the message of an error (one line, no newline, at most 1023 bytes) for this thread and returns
 * `status`.  Called once, where the error is known. */
enum pes_status pes_fail(enum pes_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#ifdef __clang_analyzer__ /* It reads one file at a time, and must know that this isn't PES_OK. */
#define pes_fail(status, ...) ((void)pes_fail(status, __VA_ARGS__), (status))
#endif

/* The last message recorded in this thread; "" if none.  Valid until the next pes_fail() here. */
const char *pes_error_message(void);

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        enum pes_status try_status_ = (call);                                                                \
        if (try_status_ != PES_OK) return try_status_;                                                       \
    } while (0)

/* What must hold if pesweep itself is right. */
#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) pes_check_failed(__FILE__, __LINE__, #condition);                                  \
    } while (0)
_Noreturn void pes_check_failed(const char *file, int line, const char *condition);

/* comm sets this so that a failed CHECK ends all ranks; NULL means abort(). */
void pes_check_set_handler(void (*handler)(void));

#define PES_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define PES_MAX(a, b)    ((a) > (b) ? (a) : (b))
#define PES_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Version of the program, and "<version> (<git commit>)" when built from a checkout. */
const char *pes_version(void);
const char *pes_build(void);

#endif
