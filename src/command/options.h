/* options.h - the command line of one command, read by a table of its options. */
#ifndef PESWEEP_SRC_COMMAND_OPTIONS_H
#define PESWEEP_SRC_COMMAND_OPTIONS_H

#include "pesweep/base.h"

enum pes_option_kind {
    PES_OPTION_FLAG,   /* bool: present or not */
    PES_OPTION_INT,    /* int64_t within [min, max] */
    PES_OPTION_REAL,   /* double within [min, max] */
    PES_OPTION_TEXT,   /* const char *, not empty */
    PES_OPTION_CHOICE, /* int: index into `choices` */
    PES_OPTION_TIME    /* double, seconds: see pes_schedule_parse_time */
};

struct pes_option {
    const char *name;       /* "--ranks" */
    const char *short_name; /* "-n", or NULL */
    enum pes_option_kind kind;
    void *value;                /* where it goes; left alone if the option isn't given */
    double min, max;            /* INT, REAL */
    const char *const *choices; /* CHOICE: ended by NULL */
};

/* Reads argv[1..]: `--name value`, `--name=value`, `-o value`, `--` ends the options; every other word is an
 * operand and goes to operands[], which has room for `max_operands`.  PES_INPUT for an unknown option (with
 * the nearest known one), a doubled one, a missing, unreadable or disallowed value, and too few or too many
 * operands
 * (`what` names them: "SWEEP"). */
enum pes_status pes_options_parse(int argc, char **argv, const struct pes_option *options, size_t num_options,
                                  const char **operands, size_t min_operands, size_t max_operands,
                                  const char *what);

#endif
