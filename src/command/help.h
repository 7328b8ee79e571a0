/* help.h - what `pesweep help` prints, and the manual page and shell completion made from the same words. */
#ifndef PESWEEP_SRC_COMMAND_HELP_H
#define PESWEEP_SRC_COMMAND_HELP_H

#include <jansson.h>
#include <stdio.h>

#include "pesweep/command.h"
#include "pesweep/text.h"

/* One option as a command's help describes it.  The help is a line for each, "  -o, --output FILE   meaning",
 * with further lines of the meaning indented by eight blanks or more; other lines are remarks. */
struct pes_help_option {
    char short_name[3];          /* "-o", or "" */
    char name[32], argument[32]; /* "--output", "FILE" or "" */
    struct pes_text meaning;     /* on one line; choices stand in it as "a | b | c" */
};

/* Reads on in a command's help: true with an option, whose meaning the caller destroys; false at the end,
 * where *at is NULL.  Remarks that were passed over are appended to `remarks` if it isn't NULL. */
bool pes_help_next_option(const char **at, struct pes_help_option *option, struct pes_text *remarks);

/* A reference page. */
struct pes_help_page {
    const char *name, *summary;
    void (*print)(FILE *out, bool markdown);
    json_t *(*describe)(void); /* a new reference, NULL: no memory */
};
extern const struct pes_help_page pes_help_pages[]; /* ended by name NULL */

/* A new reference to what an object holds: name, usage, summary, options.  NULL: no memory. */
json_t *pes_help_describe_command(const struct pes_command *command);
/* The object, which is given up, and a newline; NULL is a lack of memory. */
enum pes_status pes_help_print_json(FILE *out, json_t *object);

/* The page for man(1), in roff with the macros of man(7). */
enum pes_status pes_help_print_manual(FILE *out);
/* A script for bash: commands, their options and fixed operands; file names elsewhere. */
enum pes_status pes_help_print_completion(FILE *out);

#endif
