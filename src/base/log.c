/* log.c - messages, the progress line, and the log file of JSON lines.
 *
 * The log file is a convenience: when it can't be written any more it is given up with one warning, and the
 * run goes on. */
#include "pesweep/log.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_INTERVAL    0.2  /* seconds between two progress texts */
#define FIRST_PLAIN_INTERVAL 10.0 /* so that a short run says something too; then twice as long each time */
#define PLAIN_INTERVAL       60.0

static struct {
    FILE *file;
    bool quiet, json;
    bool line_shown;      /* the cursor stands behind a progress line */
    double last_progress; /* clock of the last one shown, or of the opening */
    double plain_interval;
    char speaker[128];
} state;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

enum pes_status pes_log_open(const char *path, bool quiet, bool json)
{
    pes_log_close();
    state.quiet = quiet;
    state.json = json;
    state.last_progress = now();
    state.plain_interval = FIRST_PLAIN_INTERVAL;
    if (path) {
        state.file = fopen(path, "a");
        if (!state.file) return pes_fail(PES_IO, "%s: the log can't be opened: %s", path, strerror(errno));
        setvbuf(state.file, NULL, _IOLBF, 0);
    }
    return PES_OK;
}

void pes_log_close(void)
{
    pes_log_progress_end();
    if (state.file) fclose(state.file);
    state.file = NULL;
    state.quiet = state.json = false;
}

void pes_log_set_speaker(const char *speaker)
{
    snprintf(state.speaker, sizeof state.speaker, "%s", speaker ? speaker : "");
}

/* One line to the log file; gives the file up if it can't be written. */
static void append(const char *line)
{
    if (!state.file) return;
    if (fprintf(state.file, "%s\n", line) < 0) {
        int error = errno;
        fclose(state.file);
        state.file = NULL;
        fprintf(stderr, "pesweep: warning: the log file is given up: %s\n", strerror(error));
    }
}

/* Whether lines can be moved over and coloured. */
static bool on_terminal(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

/* Bold red, yellow, plain: "" where there is no colour (https://no-color.org). */
static const char *colour(const char *code)
{
    const char *forbidden = getenv("NO_COLOR");
    return on_terminal() && !(forbidden && *forbidden) ? code : "";
}
#define ERROR_COLOUR   "\x1b[1;31m"
#define WARNING_COLOUR "\x1b[33m"
#define NO_COLOUR      "\x1b[0m"

/* A line that fills the terminal would wrap, and its beginning couldn't be reached any more. */
static int room_on_line(void)
{
    struct winsize size;
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    return PES_MAX(columns - 1, 1);
}

static void clear_line(void)
{
    if (state.line_shown) fputs("\r\x1b[K", stderr);
    state.line_shown = false;
}

static void append_message(const char *level, const char *message)
{
    if (!state.file) return;
    char time_text[32] = "";
    time_t seconds = time(NULL);
    struct tm utc;
    if (gmtime_r(&seconds, &utc)) strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *object = json_pack("{s:s, s:s, s:s}", "event", level, "time", time_text, "message", message);
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (line) append(line);
    free(line);
}

static void say(const char *level, const char *prefix, const char *hue, bool shown, const char *format,
                va_list arguments)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, arguments);
    if (shown) {
        clear_line();
        const char *on = colour(hue), *off = *on ? NO_COLOUR : "";
        fprintf(stderr, "%spesweep:%s %s%s%s%s%s%s\n", on, off, state.speaker, state.speaker[0] ? ": " : "",
                *prefix ? on : "", prefix, *prefix ? off : "", text);
    }
    append_message(level, text);
}

void pes_log_info(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("info", "", "", !state.quiet, format, arguments);
    va_end(arguments);
}

void pes_log_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("warning", "warning: ", WARNING_COLOUR, true, format, arguments);
    va_end(arguments);
}

void pes_log_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("error", "", ERROR_COLOUR, true, format, arguments);
    va_end(arguments);
}

void pes_log_event(const char *json)
{
    append(json);
    if (!state.json) return;
    printf("%s\n", json);
    fflush(stdout);
}

bool pes_log_progress_wanted(void)
{
    if (state.quiet) return false;
    return now() - state.last_progress >= (on_terminal() ? TERMINAL_INTERVAL : state.plain_interval);
}

void pes_log_progress(const char *text)
{
    if (!pes_log_progress_wanted()) return;
    state.last_progress = now();
    state.plain_interval = PES_MIN(2 * state.plain_interval, PLAIN_INTERVAL);
    if (on_terminal()) {
        fprintf(stderr, "\r%.*s\x1b[K", room_on_line(), text);
        fflush(stderr);
        state.line_shown = true;
    } else {
        fprintf(stderr, "pesweep: %s\n", text);
    }
}

void pes_log_progress_end(void)
{
    if (state.line_shown) fputc('\n', stderr);
    state.line_shown = false;
}
