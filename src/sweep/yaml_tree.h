/* yaml_tree.h - a sweep file as a tree of nodes, each with its place.
 *
 * Read through libyaml's events, and narrower than YAML: one document, a map at the top, no anchors, aliases,
 * tags or merge keys, no key twice in one map, at most 16 levels. */
#ifndef PESWEEP_SWEEP_YAML_TREE_H
#define PESWEEP_SWEEP_YAML_TREE_H

#include "pesweep/arena.h"

enum pes_yaml_kind { PES_YAML_SCALAR, PES_YAML_LIST, PES_YAML_MAP };

/* Elements of a list and keys of a map are chained by `next`; a key holds its value. */
struct pes_yaml {
    enum pes_yaml_kind kind;
    bool quoted;      /* any style but plain */
    int line, column; /* from 1; columns count characters */
    const char *text; /* SCALAR */
    size_t count;     /* elements of a LIST, keys of a MAP */
    struct pes_yaml *first, *next, *value;
};

/* A checked text (pes_yaml_decode) as a tree; the tree and its texts live in `arena`.  PES_INPUT with
 * file:line:column. */
enum pes_status pes_yaml_read(const char *path, const char *text, size_t text_bytes, struct pes_arena *arena,
                              struct pes_yaml **root);

/* Records `path:line:column: ...` and returns PES_INPUT. */
enum pes_status pes_yaml_fail(const char *path, const struct pes_yaml *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef __clang_analyzer__ /* as for pes_fail */
#define pes_yaml_fail(...) ((void)pes_yaml_fail(__VA_ARGS__), PES_INPUT)
#endif

/* Puts the node's place in front of the last message; returns `status`, untouched unless it is PES_INPUT. */
enum pes_status pes_yaml_place(const char *path, const struct pes_yaml *node, enum pes_status status);

/* The node as YAML on one line; the arena owns it, NULL without memory. */
const char *pes_yaml_format(const struct pes_yaml *node, struct pes_arena *arena);

/* Bytes in UTF-8, or UTF-16 with a mark, to checked UTF-8 without a mark at its start, NUL or other control
 * characters (yaml_text.c).  *text ends in NUL and lives in the arena. */
enum pes_status pes_yaml_decode(const char *path, const char *bytes, size_t count, struct pes_arena *arena,
                                char **text, size_t *text_bytes);

/* The text of a line, from 1, up to its end; "" beyond the last one.  *length in bytes. */
const char *pes_yaml_line(const char *text, int line, size_t *length);

#endif
