/* analyze.h - the two halves of `pesweep analyze`. */
#ifndef PESWEEP_SRC_COMMAND_ANALYZE_H
#define PESWEEP_SRC_COMMAND_ANALYZE_H

#include "pesweep/report.h"

/* Compares the groups of a tidy table and prints what it finds. */
enum pes_status analyze_table(const char *path, const struct pes_table_options *options, bool json);

#endif
