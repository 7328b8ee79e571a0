/* log.h - what is said while running: one progress line on a terminal, plain lines elsewhere, JSON events on
 * request.  Everything goes to standard error except JSON events and results, so output can be piped. */
#ifndef PESWEEP_LOG_H
#define PESWEEP_LOG_H

#include "pesweep/base.h"

/* Appends every line (as JSON) to `path` too; NULL = none.  quiet: warnings and errors only.  PES_IO if the
 * file can't be opened. */
enum pes_status pes_log_open(const char *path, bool quiet, bool json);
void pes_log_close(void);

/* Words put in front of every message of this process ("rank 3 on node7"); NULL or "" = none. */
void pes_log_set_speaker(const char *speaker);

/* "pesweep: message" on standard error (after clearing a progress line), and in the log file. */
void pes_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pes_log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void pes_log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* One JSON object (no newline) to the log file, and to standard output with --json. */
void pes_log_event(const char *json);

/* Replaces the progress line on a terminal, clipped to its width; elsewhere (a pipe, a file, TERM=dumb)
 * prints a line after 10 s, and then at longer distances up to 60 s.  True from wanted: a new text would be
 * shown now, so that it needn't be made otherwise. */
bool pes_log_progress_wanted(void);
void pes_log_progress(const char *text);
void pes_log_progress_end(void);

#endif
