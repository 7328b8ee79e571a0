/* text.c - growing strings, exact numbers, nearest names, hashes.
 *
 * Numbers are read and written in the "C" locale: the program never calls setlocale(). */
#include "pesweep/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "pesweep/arena.h"

/* Room for `more` bytes and the final NUL. */
static bool reserve(struct pes_text *text, size_t more)
{
    if (text->failed) return false;
    if (more < text->capacity - text->length) return true;
    size_t needed = text->length + more + 1;
    size_t capacity = PES_MAX(2 * text->capacity, (size_t)64);
    if (needed <= more || capacity < text->capacity) {
        text->failed = true;
        return false;
    }
    capacity = PES_MAX(capacity, needed);
    char *data = pes_reallocate(text->data, capacity, 1);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void pes_text_append_bytes(struct pes_text *text, const void *bytes, size_t count)
{
    if (!reserve(text, count)) return;
    if (count) memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = 0;
}

void pes_text_append(struct pes_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) {
        text->failed = true;
    } else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
}

void pes_text_destroy(struct pes_text *text)
{
    pes_free(text->data);
    *text = (struct pes_text){0};
}

const char *pes_text_get(const struct pes_text *text)
{
    return text->data ? text->data : "";
}

static const char *skip_digits(const char *c)
{
    while (*c >= '0' && *c <= '9')
        c++;
    return c;
}

/* End of [-+]?(0|[1-9][0-9]*) at `text`, NULL if there is none. */
static const char *skip_integer(const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    const char *end = skip_digits(digits);
    bool leading_zero = *digits == '0' && end - digits > 1;
    return end == digits || leading_zero ? NULL : end;
}

bool pes_text_parse_int(const char *text, int64_t *value)
{
    const char *end = skip_integer(text);
    if (!end || *end) return false;
    errno = 0;
    long long number = strtoll(text, NULL, 10);
    if (errno) return false;
    *value = number;
    return true;
}

bool pes_text_parse_range(const char *text, int64_t *first, int64_t *last)
{
    const char *end = skip_integer(text);
    if (!end || strncmp(end, "..", 2) != 0) return false;
    char buffer[32];
    size_t length = (size_t)(end - text);
    if (length >= sizeof buffer) return false;
    memcpy(buffer, text, length);
    buffer[length] = 0;
    return pes_text_parse_int(buffer, first) && pes_text_parse_int(end + 2, last);
}

/* [-+]? ( . [0-9]+ | integer ( . [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
bool pes_text_parse_real(const char *text, double *value)
{
    const char *c = text + (*text == '-' || *text == '+');
    if (*c == '.') {
        const char *end = skip_digits(c + 1);
        if (end == c + 1) return false;
        c = end;
    } else {
        if (*c == '-' || *c == '+') return false;
        c = skip_integer(c);
        if (!c) return false;
        if (*c == '.') c = skip_digits(c + 1);
    }
    bool zero = true;
    for (const char *digit = text; digit < c; digit++)
        zero = zero && !(*digit >= '1' && *digit <= '9');
    if (*c == 'e' || *c == 'E') {
        c++;
        c += *c == '-' || *c == '+';
        const char *end = skip_digits(c);
        if (end == c) return false;
        c = end;
    }
    if (*c) return false;
    double number = strtod(text, NULL);
    if (!isfinite(number) || (number == 0 && !zero)) return false;
    *value = number;
    return true;
}

/* The least number of digits that reads back; fixed notation for exponents -4 to 15, as in Python's repr. */
const char *pes_text_format_real(double value, char buffer[32])
{
    if (!isfinite(value)) {
        strcpy(buffer, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return buffer;
    }
    int decimals = 0;
    do
        snprintf(buffer, 32, "%.*e", decimals, value);
    while (strtod(buffer, NULL) != value && ++decimals <= 16);
    int exponent = atoi(strchr(buffer, 'e') + 1);
    if (exponent >= -4 && exponent < 16) {
        char plain[400]; /* any double fits, though these have at most 24 characters */
        snprintf(plain, sizeof plain, "%.*f", PES_MAX(0, decimals - exponent), value);
        CHECK(strlen(plain) < 32);
        strcpy(buffer, plain);
    }
    return buffer;
}

enum { LONGEST_NAME = 63 };

/* Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours, case ignored. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST_NAME + 1];
    size_t *before = rows[0], *previous = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *oldest = before;
        before = previous;
        previous = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            size_t least = previous[j - 1] + (x != y);
            least = PES_MIN(least, previous[j] + 1);
            least = PES_MIN(least, row[j - 1] + 1);
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                least = PES_MIN(least, before[j - 2] + 1);
            row[j] = least;
        }
    }
    return row[b_length];
}

const char *pes_text_nearest(const char *word, const char *const *names, size_t count)
{
    size_t length = strlen(word);
    if (!length || length > LONGEST_NAME) return NULL;
    size_t least = PES_MAX((size_t)1, length / 3) + 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length > LONGEST_NAME) continue;
        size_t distance = edit_distance(word, length, names[i], name_length);
        if (distance >= least) continue;
        least = distance;
        nearest = names[i];
    }
    return nearest;
}

const char *pes_text_shown(const char *text, char buffer[72])
{
    size_t used = 0;
    for (; used < 60 && text[used]; used++) {
        unsigned char c = (unsigned char)text[used];
        buffer[used] = c < ' ' || c == 127 ? '?' : (char)c;
    }
    if (text[used]) {
        while (used && ((unsigned char)text[used] & 0xC0) == 0x80) /* inside a UTF-8 sequence */
            used--;
        memcpy(buffer + used, "...", 3);
        used += 3;
    }
    buffer[used] = 0;
    return buffer;
}

void pes_hash_hex(const void *bytes, size_t count, char hex[33])
{
    XXH128_hash_t hash = XXH3_128bits(bytes, count);
    snprintf(hex, 33, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

uint64_t pes_hash(const void *bytes, size_t count)
{
    return XXH3_64bits(bytes, count);
}
