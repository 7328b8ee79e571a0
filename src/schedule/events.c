/* events.c - what happens, said twice: a line for people, a JSON object for programs. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pesweep/log.h"
#include "pesweep/text.h"
#include "run.h"

/* Adds the time, passes the object on and frees it.  Without memory an event is lost, the run isn't. */
static void send(const char *event, json_t *object)
{
    char time_text[32] = "";
    time_t seconds = time(NULL);
    struct tm utc;
    if (gmtime_r(&seconds, &utc)) strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *whole = json_pack("{s:s, s:s}", "event", event, "time", time_text);
    char *text = NULL;
    if (whole && object && json_object_update(whole, object) == 0) text = json_dumps(whole, JSON_COMPACT);
    json_decref(object);
    json_decref(whole);
    if (text) pes_log_event(text);
    free(text);
}

/* A text that may hold bytes that aren't UTF-8 (file names, messages cut short): those become '?'. */
static json_t *any_text(const char *text)
{
    json_t *whole = json_string(text);
    if (whole) return whole;
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", text);
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c >= 0x80) *c = '?';
    return json_string(copy);
}

void pes_event_run_started(const struct run *run, const char *description, size_t wanted, size_t finished)
{
    json_t *details = json_loads(description ? description : "{}", 0, NULL);
    send("run_started",
         json_pack("{s:s, s:o, s:I, s:I, s:I, s:o?}", "sweep", run->sweep->name, "file",
                   any_text(run->output_path), "trials", (json_int_t)run->sweep->num_trials, "to_train",
                   (json_int_t)wanted, "finished", (json_int_t)finished, "run", details));
}

void pes_event_trial_started(const struct run *run, size_t trial, int rank)
{
    send("trial_started",
         json_pack("{s:I, s:s, s:s, s:i}", "trial", (json_int_t)trial, "label",
                   run->sweep->trials[trial].label, "key", run->sweep->trials[trial].key, "rank", rank));
}

void pes_event_trial_ended(const struct run *run, int rank, const struct report *report,
                           const struct run_tally *tally)
{
    size_t trial = (size_t)report->trial;
    const struct pes_trial *details = &run->sweep->trials[trial];
    const struct pes_train_result *result = &report->result;
    if (result->outcome != PES_OUTCOME_DONE)
        pes_log_warning("trial %zu (%s) %s at step %lld: %s", trial, details->label,
                        pes_outcome_name(result->outcome), (long long)result->steps, result->message);
    send("trial_ended",
         json_pack("{s:I, s:s, s:s, s:i, s:s, s:s, s:o, s:I, s:I, s:f, s:f, s:I, s:I}", "trial",
                   (json_int_t)trial, "label", details->label, "key", details->key, "rank", rank, "outcome",
                   pes_outcome_name(result->outcome), "reason", pes_reason_name(result->reason), "message",
                   any_text(result->message), "first_step", (json_int_t)report->first_step, "steps",
                   (json_int_t)result->steps, "train_seconds", result->train_seconds, "measure_seconds",
                   result->measure_seconds, "ended",
                   (json_int_t)(tally->done + tally->failed + tally->diverged), "to_train",
                   (json_int_t)tally->wanted));
}

void pes_event_run_ended(enum pes_status status, const struct run_tally *tally, double seconds,
                         double idle_share)
{
    send("run_ended",
         json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:f, s:f}", "meaning", pes_status_meaning(status),
                   "exit_code", pes_status_exit_code(status), "to_train", (json_int_t)tally->wanted, "done",
                   (json_int_t)tally->done, "failed", (json_int_t)tally->failed, "diverged",
                   (json_int_t)tally->diverged, "seconds", seconds, "idle_share", idle_share));
}

/* "2 d 3 h", "1 h 20 min", "45 s". */
static const char *duration(double seconds, char text[32])
{
    if (seconds < 90)
        snprintf(text, 32, "%.0f s", PES_MAX(seconds, 0));
    else if (seconds < 5400)
        snprintf(text, 32, "%.0f min", seconds / 60);
    else if (seconds < 48 * 3600)
        snprintf(text, 32, "%.0f h %.0f min", floor(seconds / 3600), floor(fmod(seconds, 3600) / 60));
    else
        snprintf(text, 32, "%.0f d %.0f h", floor(PES_MIN(seconds, 1e9) / 86400),
                 floor(fmod(seconds, 86400) / 3600));
    return text;
}

void pes_progress_show(const struct run_tally *tally, const struct run_progress *progress)
{
    size_t ended = tally->done + tally->failed + tally->diverged;
    struct pes_text line = {0};
    char left[32];
    pes_text_append(&line, "%zu/%zu trials", ended, tally->wanted);
    if (tally->failed) pes_text_append(&line, ", %zu failed", tally->failed);
    if (tally->diverged) pes_text_append(&line, ", %zu diverged", tally->diverged);
    pes_text_append(&line, ", %d running", progress->running);
    if (ended && progress->seconds > 0) {
        double per_minute = 60 * (double)ended / progress->seconds;
        pes_text_append(&line, per_minute < 1 ? ", %.1f/h" : ", %.1f/min",
                        per_minute < 1 ? 60 * per_minute : per_minute);
    }
    pes_text_append(&line, ", idle %.0f %%, %s left", 100 * progress->idle_share,
                    duration(progress->seconds_left, left));
    pes_log_progress(pes_text_get(&line));
    pes_text_destroy(&line);
}

void pes_event_progress(const struct run_tally *tally, const struct run_progress *progress)
{
    send("progress",
         json_pack("{s:I, s:I, s:i, s:f, s:f, s:f}", "ended",
                   (json_int_t)(tally->done + tally->failed + tally->diverged), "to_train",
                   (json_int_t)tally->wanted, "running", progress->running, "seconds", progress->seconds,
                   "idle_share", progress->idle_share, "seconds_left", progress->seconds_left));
}
