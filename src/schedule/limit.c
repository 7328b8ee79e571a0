/* limit.c - times as SLURM writes them, and the end of the job we are in.
 *
 * The job's end is asked for once and then watched with a clock of our own: a signal that announces it can
 * come up to a minute early, late, or together with the end. */
#include "limit.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pesweep/comm.h"
#include "pesweep/log.h"
#include "pesweep/schedule.h"
#include "pesweep/text.h"

#define ANSWER_SECONDS 10.0 /* patience with squeue */

extern char **environ;

/* Digits from *text on, at most 9 of them; moves *text behind them. */
static bool digits(const char **text, double *value)
{
    size_t length = strspn(*text, "0123456789");
    if (length == 0 || length > 9) return false;
    *value = 0;
    for (size_t i = 0; i < length; i++)
        *value = 10 * *value + ((*text)[i] - '0');
    *text += length;
    return true;
}

/* "90", "90s", "1.5h": a number of seconds, or with the unit named. */
static bool parse_plain(const char *text, double *seconds)
{
    char number[32];
    size_t length = strlen(text);
    if (length == 0 || length >= sizeof number) return false;
    memcpy(number, text, length + 1);
    double unit = 1;
    switch (text[length - 1]) {
    case 'd':
        unit = 86400;
        break;
    case 'h':
        unit = 3600;
        break;
    case 'm':
        unit = 60;
        break;
    case 's':
        break;
    default:
        unit = 0;
    }
    if (unit > 0)
        number[length - 1] = 0;
    else
        unit = 1;
    double value;
    if (!isdigit((unsigned char)number[0]) || !pes_text_parse_real(number, &value)) return false;
    *seconds = value * unit;
    return *seconds < 1e10;
}

bool pes_schedule_parse_time(const char *text, double *seconds)
{
    if (!strpbrk(text, ":-")) return parse_plain(text, seconds);
    double days = 0, part[3] = {0};
    bool has_days = strchr(text, '-') != NULL;
    if (has_days && (!digits(&text, &days) || *text++ != '-')) return false;
    int parts = 0;
    do {
        if (parts == 3 || !digits(&text, &part[parts++])) return false;
    } while (*text == ':' && *text++);
    if (*text) return false;
    double hours, minutes, rest;
    if (has_days || parts == 3) { /* days-hours[:minutes[:seconds]], hours:minutes:seconds */
        hours = part[0];
        minutes = part[1];
        rest = part[2];
    } else { /* minutes:seconds */
        hours = 0;
        minutes = part[0];
        rest = part[1];
    }
    /* Only the largest unit written may be large. */
    if (rest >= 60 || ((has_days || parts == 3) && minutes >= 60) || (has_days && hours >= 24)) return false;
    *seconds = 86400 * days + 3600 * hours + 60 * minutes + rest;
    return true;
}

double pes_limit_margin(double seconds_left)
{
    /* Three seconds are what a job script needs at the least to put itself back into the queue. */
    return PES_MIN(30, PES_MAX(0.02 * seconds_left, PES_MIN(3, 0.25 * seconds_left)));
}

/* First line that a command prints, "" if it fails or takes too long. */
static void first_line(char *const *command, char *line, size_t line_bytes)
{
    line[0] = 0;
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
    posix_spawn_file_actions_addclose(&actions, pipe_ends[1]);
    pid_t child;
    int failed = posix_spawnp(&child, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    size_t used = 0;
    double end = pes_clock() + ANSWER_SECONDS;
    while (!failed && used < line_bytes - 1) {
        struct pollfd poller = {.fd = pipe_ends[0], .events = POLLIN};
        double left = end - pes_clock();
        if (left <= 0) break;
        int ready = poll(&poller, 1, (int)(1000 * left) + 1);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) break;
        ssize_t got = read(pipe_ends[0], line + used, line_bytes - 1 - used);
        if (got <= 0) break;
        used += (size_t)got;
    }
    close(pipe_ends[0]);
    if (!failed) {
        int status = 0;
        if (pes_clock() >= end) kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) used = 0;
    }
    line[used] = 0;
    line[strcspn(line, "\r\n")] = 0;
}

double pes_limit_of_job(void)
{
    const char *job = getenv("SLURM_JOB_ID");
    if (!job || !*job) return INFINITY;
    const char *end_time = getenv("SLURM_JOB_END_TIME"); /* seconds since 1970, in newer versions */
    int64_t end;
    if (end_time && pes_text_parse_int(end_time, &end)) return (double)end - (double)time(NULL);
    char id[64], line[128];
    if (strlen(job) >= sizeof id) return INFINITY;
    memcpy(id, job, strlen(job) + 1);
    char squeue[] = "squeue", no_header[] = "--noheader", jobs[] = "--jobs", format[] = "--format=%L";
    char *command[] = {squeue, no_header, jobs, id, format, NULL};
    first_line(command, line, sizeof line);
    char *text = line + strspn(line, " ");
    text[strcspn(text, " ")] = 0;
    double seconds;
    if (strcmp(text, "UNLIMITED") == 0) return INFINITY;
    if (strpbrk(text, ":-") && pes_schedule_parse_time(text, &seconds)) return seconds;
    pes_log_warning(
        "SLURM doesn't say when job %s ends (squeue: '%s'): give --time-limit so that trials are saved in "
        "time",
        id, text);
    return INFINITY;
}
