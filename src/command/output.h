/* output.h - a file that a command writes: whole under its name, or not there at all. */
#ifndef PESWEEP_SRC_COMMAND_OUTPUT_H
#define PESWEEP_SRC_COMMAND_OUTPUT_H

#include <stdio.h>

#include "pesweep/base.h"

struct pes_output {
    const char *path; /* as given; NULL = standard output */
    char *part;       /* temporary name; NULL = standard output */
    FILE *file;
};

/* Opens <path>.part for writing, or standard output for a NULL path. */
enum pes_status pes_output_open(struct pes_output *output, const char *path);
/* With PES_OK makes the file durable and renames it, replacing an older one; else removes it.  Returns
 * `status`, or PES_IO if anything could not be written. */
enum pes_status pes_output_close(struct pes_output *output, enum pes_status status);

/* One field of a CSV table (RFC 4180): quoted where it must be. */
void pes_output_csv_text(FILE *file, const char *text);

#endif
