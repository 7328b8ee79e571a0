/* yaml_text.c - bytes of a sweep file to checked UTF-8, and its lines.
 *
 * Whatever passes here has no NUL, no control characters and no broken sequences, so that libyaml's own
 * reader finds nothing to say. */
#include "yaml_tree.h"

#include <string.h>

/* A place while walking through text.  Line breaks are those of YAML 1.1: \n, \r\n, \r, U+0085, U+2028,
 * U+2029. */
struct place {
    int line, column;
    bool after_return;
};

static void advance(struct place *place, uint32_t character)
{
    bool second_half = character == '\n' && place->after_return;
    place->after_return = character == '\r';
    if (second_half) return;
    if (character == '\n' || character == '\r' || character == 0x85 || character == 0x2028 ||
        character == 0x2029) {
        place->line++;
        place->column = 1;
    } else {
        place->column++;
    }
}

/* One character of UTF-8; its length, or 0 if the bytes are none (RFC 3629: shortest form, no surrogates). */
static size_t take_utf8(const unsigned char *bytes, size_t left, uint32_t *character)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = bytes[0];
    size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (!length || length > left) return 0;
    uint32_t value = length == 1 ? lead : lead & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if (bytes[i] >> 6 != 2) return 0;
        value = value << 6 | (bytes[i] & 0x3FU);
    }
    *character = value;
    return value < least[length] || value > 0x10FFFF || value >> 11 == 27 ? 0 : length;
}

/* One character of UTF-16; its length in bytes, or 0. */
static size_t take_utf16(const unsigned char *bytes, size_t left, bool big_endian, uint32_t *character)
{
    if (left < 2) return 0;
    uint32_t unit = (uint32_t)(big_endian ? bytes[0] << 8 | bytes[1] : bytes[1] << 8 | bytes[0]);
    *character = unit;
    if (unit >> 11 != 27) return 2;
    if (unit >> 10 != 54 || left < 4) return 0;
    uint32_t low = (uint32_t)(big_endian ? bytes[2] << 8 | bytes[3] : bytes[3] << 8 | bytes[2]);
    if (low >> 10 != 55) return 0;
    *character = 0x10000 + ((unit & 0x3FF) << 10 | (low & 0x3FF));
    return 4;
}

static size_t put_utf8(char *out, uint32_t character)
{
    size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length; i-- > 1; character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3F));
    out[0] = (char)(lead[length] | character);
    return length;
}

static bool is_control(uint32_t character)
{
    bool allowed = character == '\t' || character == '\n' || character == '\r' || character == 0x85;
    return (!allowed && (character < ' ' || (character >= 0x7F && character < 0xA0))) ||
           character == 0xFFFE || character == 0xFFFF;
}

enum pes_status pes_yaml_decode(const char *path, const char *bytes, size_t count, struct pes_arena *arena,
                                char **text, size_t *text_bytes)
{
    const unsigned char *in = (const unsigned char *)bytes, *end = in + count;
    bool little = count >= 2 && in[0] == 0xFF && in[1] == 0xFE,
         big = count >= 2 && in[0] == 0xFE && in[1] == 0xFF;
    bool utf16 = little || big;
    if (utf16) in += 2;
    /* Two bytes of UTF-16 make at most three of UTF-8. */
    char *out = pes_arena_take(arena, count / 2 * 3 + 4, 1);
    if (!out) return PES_MEMORY;
    size_t used = 0;
    struct place place = {1, 1, false};
    while (in < end) {
        uint32_t character = 0;
        size_t left = (size_t)(end - in);
        size_t length = utf16 ? take_utf16(in, left, big, &character) : take_utf8(in, left, &character);
        if (!length)
            return pes_fail(PES_INPUT, "%s:%d:%d: byte 0x%02X is not valid %s; save the file as UTF-8", path,
                            place.line, place.column, in[0], utf16 ? "UTF-16" : "UTF-8");
        if (is_control(character))
            return pes_fail(PES_INPUT,
                            "%s:%d:%d: control character 0x%02X (%s); a sweep file is text in UTF-8", path,
                            place.line, place.column, (unsigned)character,
                            character ? "not printable" : "NUL; or UTF-16 without its mark");
        in += length;
        /* A mark of byte order may begin a document; libyaml counts it as an indentation. */
        if (character == 0xFEFF && place.column == 1) continue;
        used += put_utf8(out + used, character);
        advance(&place, character);
    }
    out[used] = 0;
    *text = out;
    *text_bytes = used;
    return PES_OK;
}

const char *pes_yaml_line(const char *text, int line, size_t *length)
{
    struct place place = {1, 1, false};
    const unsigned char *c = (const unsigned char *)text;
    const unsigned char *start = c, *end = c + strlen(text);
    *length = 0;
    while (c < end && place.line <= line) {
        uint32_t character = 0;
        int before = place.line;
        if (place.column == 1 && !(place.after_return && *c == '\n')) start = c;
        c += take_utf8(c, (size_t)(end - c), &character);
        advance(&place, character);
        if (place.line == before && place.line == line) *length = (size_t)(c - start);
    }
    return place.line < line ? "" : (const char *)start;
}
