/* text.h - growing strings, exact numbers, nearest names. */
#ifndef PESWEEP_TEXT_H
#define PESWEEP_TEXT_H

#include "pesweep/base.h"

/* A growing string.  Starts as {0}.  After an allocation failure `failed` is true and appends do nothing. */
struct pes_text {
    char *data; /* NUL-terminated, or NULL while empty */
    size_t length, capacity;
    bool failed;
};
void pes_text_append(struct pes_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void pes_text_append_bytes(struct pes_text *text, const void *bytes, size_t count);
void pes_text_destroy(struct pes_text *text);
const char *pes_text_get(const struct pes_text *text); /* "" while empty */

/* Numbers of the YAML 1.2 core schema, in plain decimal only: no leading zeros, no hex, octal, underscores,
 * no nan or inf, no trailing characters.  False if `text` isn't one, or it is too large for the type, or it
 * isn't zero and would become zero. */
bool pes_text_parse_int(const char *text, int64_t *value);
bool pes_text_parse_real(const char *text, double *value);

/* An inclusive range of integers, "0..15"; `first` may be above `last`. */
bool pes_text_parse_range(const char *text, int64_t *first, int64_t *last);

/* The fewest digits that read back as the same double: "0.001", "1e-05", "3".  Exponents are used below 1e-4
 * and from 1e16 on. */
const char *pes_text_format_real(double value, char buffer[32]);

/* The nearest of `count` names by edit distance (Damerau-Levenshtein, case ignored), or NULL if none is near
 * (distance > max(1, length/3)).  Names over 63 bytes are not looked at. */
const char *pes_text_nearest(const char *word, const char *const *names, size_t count);

/* `text` for a message: control characters as "?", clipped to 60 bytes at a character's border. */
const char *pes_text_shown(const char *text, char buffer[72]);

/* XXH3 of bytes: 128 bits as 32 lower-case hex digits, 64 bits as a number. */
void pes_hash_hex(const void *bytes, size_t count, char hex[33]);
uint64_t pes_hash(const void *bytes, size_t count);

#endif
