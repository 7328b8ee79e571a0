/* csv.c - tidy tables: comma-separated values as RFC 4180 has them, read strictly.
 *
 * The text is copied once and cut up in place: a decoded cell is never longer than it was written. */
#include "internal.h"
#include "pesweep/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reader {
    const char *path;
    char *at, *end; /* *end is a NUL */
    int line;
};

static bool ends_cell(const struct reader *reader, const char *p)
{
    return p == reader->end || *p == ',' || *p == '\n' || *p == '\r';
}

/* Decodes the cell that starts here; at ends on what follows it, which the caller overwrites with a NUL. */
static enum pes_status read_cell(struct reader *reader, char **cell, char **cell_end)
{
    char *p = reader->at, *to = p;
    int line = reader->line;
    *cell = p;
    if (*p != '"') {
        while (!ends_cell(reader, p))
            p++;
        *cell_end = reader->at = p;
        return PES_OK;
    }
    for (p++;; p++) {
        if (p == reader->end)
            return pes_fail(PES_INPUT, "%s:%d: a quote is opened here and never closed", reader->path, line);
        if (*p == '"' && *++p != '"') break;
        if (*p == '\n') reader->line++;
        *to++ = *p;
    }
    if (!ends_cell(reader, p))
        return pes_fail(PES_INPUT, "%s:%d: text follows a closing quote", reader->path, reader->line);
    *cell_end = to;
    reader->at = p;
    return PES_OK;
}

static void end_line(struct reader *reader)
{
    if (*reader->at == '\r') reader->at++;
    if (*reader->at == '\n') reader->at++;
    reader->line++;
}

/* Reads a line's cells, keeping the first `capacity` of them; *count is how many there are. */
static enum pes_status read_record(struct reader *reader, size_t capacity, char **cells, size_t *count)
{
    *count = 0;
    for (bool more = true; more;) {
        char *cell = NULL, *cell_end = NULL;
        TRY(read_cell(reader, &cell, &cell_end));
        more = reader->at < reader->end && *reader->at == ',';
        if (more)
            reader->at++;
        else if (reader->at < reader->end)
            end_line(reader);
        if (*count < capacity) {
            cells[*count] = cell;
            *cell_end = '\0';
        }
        ++*count;
    }
    return PES_OK;
}

static void skip_empty_lines(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == '\n' || *reader->at == '\r'))
        end_line(reader);
}

static enum pes_status read_names(struct reader *reader, struct pes_arena *arena, struct pes_table *table)
{
    size_t commas = 0;
    for (const char *p = reader->at; p < reader->end; p++)
        commas += *p == ',';
    table->names = pes_arena_take(arena, commas + 1, sizeof *table->names);
    if (!table->names) return PES_MEMORY;
    int line = reader->line;
    TRY(read_record(reader, commas + 1, table->names, &table->num_columns));
    for (size_t c = 0; c < table->num_columns; c++)
        if (pes_table_find(table, table->names[c]) != (long)c)
            return pes_fail(PES_INPUT, "%s:%d: two columns are named '%s'", reader->path, line,
                            table->names[c]);
    return PES_OK;
}

static enum pes_status read_rows(struct reader *reader, struct pes_arena *arena, struct pes_table *table)
{
    size_t most = 1;
    for (const char *p = reader->at; p < reader->end; p++)
        most += *p == '\n' || *p == '\r';
    table->cells = pes_arena_take(arena, most * table->num_columns, sizeof *table->cells);
    if (!table->cells) return PES_MEMORY;
    for (;;) {
        skip_empty_lines(reader);
        if (reader->at == reader->end) return PES_OK;
        size_t count;
        int line = reader->line;
        TRY(read_record(reader, table->num_columns, table->cells + table->num_rows * table->num_columns,
                        &count));
        if (count != table->num_columns)
            return pes_fail(PES_INPUT, "%s:%d: %zu cells, the first line names %zu columns", reader->path,
                            line, count, table->num_columns);
        table->num_rows++;
    }
}

enum pes_status pes_table_parse(const char *path, const char *text, size_t bytes, struct pes_arena *arena,
                                struct pes_table *table)
{
    *table = (struct pes_table){0};
    if (memchr(text, '\0', bytes))
        return pes_fail(PES_INPUT, "%s: not a text file (it has a NUL byte)", path);
    char *copy = pes_arena_take(arena, bytes + 2, 1);
    if (!copy) return PES_MEMORY;
    memcpy(copy, text, bytes);
    struct reader reader = {path, copy, copy + bytes, 1};
    if (bytes >= 3 && !memcmp(copy, "\xef\xbb\xbf", 3)) reader.at += 3;
    skip_empty_lines(&reader);
    if (reader.at == reader.end)
        return pes_fail(PES_INPUT, "%s: an empty table; its first line names columns", path);
    TRY(read_names(&reader, arena, table));
    return read_rows(&reader, arena, table);
}

enum pes_status pes_table_read(const char *path, struct pes_arena *arena, struct pes_table *table)
{
    FILE *file = fopen(path, "rb");
    if (!file) return pes_fail(PES_IO, "%s: can't be opened: %s", path, strerror(errno));
    struct pes_text text = {0};
    char buffer[1 << 14];
    size_t got;
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
        pes_text_append_bytes(&text, buffer, got);
    enum pes_status status = PES_OK;
    if (ferror(file)) status = pes_fail(PES_IO, "%s: can't be read: %s", path, strerror(errno));
    if (text.failed) status = pes_fail(PES_MEMORY, "%s: no memory for the table", path);
    (void)fclose(file);
    if (status == PES_OK) status = pes_table_parse(path, pes_text_get(&text), text.length, arena, table);
    pes_text_destroy(&text);
    return status;
}

long pes_table_find(const struct pes_table *table, const char *name)
{
    for (size_t c = 0; c < table->num_columns; c++)
        if (!strcmp(table->names[c], name)) return (long)c;
    return -1;
}

static bool is_missing(const char *cell)
{
    static const char *const words[] = {"", "NA", "NaN", "nan", "null"};
    for (size_t i = 0; i < PES_COUNT(words); i++)
        if (!strcmp(cell, words[i])) return true;
    return false;
}

enum pes_status pes_table_numbers(const struct pes_table *table, const char *name, struct pes_arena *arena,
                                  double **numbers)
{
    long column = pes_table_find(table, name);
    if (column < 0) {
        const char *near = pes_text_nearest(name, (const char *const *)table->names, table->num_columns);
        return pes_fail(PES_INPUT, "no column is named '%s'%s%s%s", name, near ? "; did you mean '" : "",
                        near ? near : "", near ? "'?" : "");
    }
    *numbers = pes_arena_take(arena, table->num_rows, sizeof **numbers);
    if (!*numbers) return PES_MEMORY;
    for (size_t r = 0; r < table->num_rows; r++) {
        const char *cell = table->cells[r * table->num_columns + (size_t)column];
        char *rest;
        (*numbers)[r] = is_missing(cell) ? NAN : strtod(cell, &rest);
        if (!is_missing(cell) && (*rest || cell[0] == ' '))
            return pes_fail(PES_INPUT, "row %zu: '%s' in the column %s is not a number", r + 1, cell, name);
    }
    return PES_OK;
}
