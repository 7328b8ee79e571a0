/* write.c - folders, files and tables; every write is checked when its file is closed. */
#include "output.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum pes_status write_folder(const char *path)
{
    char part[4096];
    size_t length = strlen(path);
    if (!length || length >= sizeof part)
        return pes_fail(PES_INPUT, "'%s' can't be the name of a folder", path);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != '\0') continue;
        char end = part[i];
        part[i] = '\0';
        struct stat facts;
        if (mkdir(part, 0777) && (errno != EEXIST || stat(part, &facts) || !S_ISDIR(facts.st_mode)))
            return pes_fail(PES_IO, "%s: the folder can't be made: %s", part,
                            errno == EEXIST ? "a file of that name is there" : strerror(errno));
        part[i] = end;
    }
    return PES_OK;
}

enum pes_status write_open(const char *folder, const char *name, FILE **file)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return pes_fail(PES_INPUT, "%s/%s: the path is too long", folder, name);
    *file = fopen(path, "w");
    return *file ? PES_OK : pes_fail(PES_IO, "%s: can't be written: %s", path, strerror(errno));
}

enum pes_status write_close(FILE *file, const char *folder, const char *name)
{
    bool failed = ferror(file);
    if (fclose(file) || failed)
        return pes_fail(PES_IO, "%s/%s: can't be written: %s", folder, name, strerror(errno));
    return PES_OK;
}

void write_html(struct pes_text *text, const char *plain)
{
    for (; *plain; plain++) {
        const char *entity = *plain == '&'   ? "&amp;"
                             : *plain == '<' ? "&lt;"
                             : *plain == '>' ? "&gt;"
                             : *plain == '"' ? "&quot;"
                                             : NULL;
        if (entity)
            pes_text_append_bytes(text, entity, strlen(entity));
        else
            pes_text_append_bytes(text, plain, 1);
    }
}

/* '<' is escaped too, so that the text can stand inside a script element. */
void write_json_text(struct pes_text *text, const char *plain)
{
    pes_text_append_bytes(text, "\"", 1);
    for (; *plain; plain++) {
        if (*plain == '"' || *plain == '\\')
            pes_text_append(text, "\\%c", *plain);
        else if ((unsigned char)*plain < 0x20 || *plain == '<')
            pes_text_append(text, "\\u%04x", (unsigned)*plain);
        else
            pes_text_append_bytes(text, plain, 1);
    }
    pes_text_append_bytes(text, "\"", 1);
}

void write_json_number(struct pes_text *text, double x)
{
    char number[32];
    const char *shown = isfinite(x) ? pes_text_format_real(x, number) : "null";
    pes_text_append_bytes(text, shown, strlen(shown));
}

void write_base64(struct pes_text *text, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < count; i += 3) {
        unsigned long word = (unsigned long)bytes[i] << 16;
        if (i + 1 < count) word |= (unsigned long)bytes[i + 1] << 8;
        if (i + 2 < count) word |= bytes[i + 2];
        char four[4];
        for (int k = 0; k < 4; k++)
            four[k] = i + (size_t)k > count ? '=' : digits[word >> (18 - 6 * k) & 63];
        pes_text_append_bytes(text, four, sizeof four);
    }
}

/* ---- tables ---- */

enum { FLUSH_AT = 1 << 20 };
#define MOST_HTML_ROWS 1000

enum pes_status table_open(struct table *table, const struct tables *tables, const char *name,
                           const char *const *columns, size_t num_columns, struct pes_text *html)
{
    *table = (struct table){
        .folder = tables->folder, .name = name, .html = html, .columns = columns, .num_columns = num_columns};
    char file[256];
    snprintf(file, sizeof file, "%s.csv", name);
    TRY(write_open(table->folder, file, &table->csv_file));
    if (tables->json) {
        snprintf(file, sizeof file, "%s.json", name);
        enum pes_status status = write_open(table->folder, file, &table->json_file);
        if (status != PES_OK) {
            (void)fclose(table->csv_file);
            return status;
        }
    }
    table->json_wanted = tables->json;
    if (html) pes_text_append(html, "<table class=\"sortable\"><thead><tr>");
    pes_text_append(&table->json, "{\"columns\": [");
    for (size_t c = 0; c < num_columns; c++) {
        pes_text_append(&table->csv, "%s%s", columns[c], c + 1 < num_columns ? "," : "\n");
        pes_text_append(&table->json, "\"%s\"%s", columns[c], c + 1 < num_columns ? ", " : "],\n\"data\": [");
        if (!html) continue;
        pes_text_append(html, "<th>");
        write_html(html, columns[c]);
        pes_text_append(html, "</th>");
    }
    if (html) pes_text_append(html, "</tr></thead><tbody>\n");
    return PES_OK;
}

void table_part(const struct table *table, struct table *part)
{
    *part = (struct table){.columns = table->columns,
                           .num_columns = table->num_columns,
                           .row = 1, /* another row stands before its first */
                           .json_wanted = table->json_wanted};
}

/* What has been collected goes to the files; what can't be written shows when they are closed. */
static void flush(struct table *table)
{
    if (table->csv_file) (void)fwrite(pes_text_get(&table->csv), 1, table->csv.length, table->csv_file);
    if (table->json_file) (void)fwrite(pes_text_get(&table->json), 1, table->json.length, table->json_file);
    table->csv.length = table->json.length = 0;
}

void table_join(struct table *table, struct table *part)
{
    size_t comma = table->row || !part->json.length ? 0 : 1; /* none before the first row of all */
    CHECK(part->column == 0);
    flush(table);
    table->failed |= part->failed || part->csv.failed || part->json.failed;
    (void)fwrite(pes_text_get(&part->csv), 1, part->csv.length, table->csv_file);
    if (table->json_file)
        (void)fwrite(pes_text_get(&part->json) + comma, 1, part->json.length - comma, table->json_file);
    table->row += part->row - 1;
    pes_text_destroy(&part->csv);
    pes_text_destroy(&part->json);
}

static void append(struct pes_text *text, const char *bytes)
{
    pes_text_append_bytes(text, bytes, strlen(bytes));
}

/* A cell as it stands in CSV and in JSON; `plain` for HTML. */
static void put(struct table *table, const char *csv, const char *json, const char *plain, bool number)
{
    bool first = table->column == 0, last = table->column + 1 == table->num_columns;
    append(&table->csv, csv);
    append(&table->csv, last ? "\n" : ",");
    if (table->json_wanted) {
        append(&table->json, !first ? ", " : table->row ? ",\n[" : "\n[");
        append(&table->json, json);
        if (last) append(&table->json, "]");
    }
    if (table->html && table->row < MOST_HTML_ROWS) {
        append(table->html, first ? "<tr>" : "");
        append(table->html, number ? "<td class=\"n\">" : "<td>");
        write_html(table->html, plain);
        append(table->html, last ? "</td></tr>\n" : "</td>");
    }
    table->column = last ? 0 : table->column + 1;
    table->row += last;
    if (last && table->csv_file && table->csv.length > FLUSH_AT) {
        table->failed |= table->csv.failed || table->json.failed;
        flush(table);
    }
}

void table_text(struct table *table, const char *plain)
{
    struct pes_text csv = {0}, json = {0};
    bool quoted = strpbrk(plain, ",\"\r\n") != NULL;
    if (!quoted && !table->json_wanted) {
        put(table, plain, "", plain, false);
        return;
    }
    if (quoted) pes_text_append(&csv, "\"");
    for (const char *c = plain; *c; c++)
        pes_text_append_bytes(&csv, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    if (quoted) pes_text_append(&csv, "\"");
    if (table->json_wanted) write_json_text(&json, plain);
    table->failed |= csv.failed || json.failed;
    put(table, pes_text_get(&csv), pes_text_get(&json), plain, false);
    pes_text_destroy(&csv);
    pes_text_destroy(&json);
}

/* Ten digits as by %.10g, which takes most of the time of a table with millions of numbers: scaled to an
 * integer of ten digits, trailing zeros dropped.  Very large and small ones are left to it. */
static void format_number(double x, char text[32])
{
    static const double power[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13};
    double size = fabs(x);
    char digits[16], *to = text;
    if (size == 0) {
        strcpy(text, "0");
        return;
    }
    if (!(size >= 1e-4 && size < 9.999999999e9)) {
        snprintf(text, 32, "%.10g", x);
        return;
    }
    /* Digits before the point; -k: k zeros after it. */
    int whole = size < 1e-3 ? -3 : size < 1e-2 ? -2 : size < 1e-1 ? -1 : size < 1 ? 0 : 1;
    while (whole > 0 && size >= power[whole])
        whole++;
    int64_t scaled = llrint(size * power[10 - whole]);
    if (scaled >= 10000000000) { /* rounded up to the next power of ten */
        scaled /= 10;
        whole++;
    }
    for (int i = 9; i >= 0; i--, scaled /= 10)
        digits[i] = (char)('0' + scaled % 10);
    int last = 10; /* digits kept */
    while (last > PES_MAX(whole, 1) && digits[last - 1] == '0')
        last--;
    if (x < 0) *to++ = '-';
    if (whole <= 0) {
        *to++ = '0';
        *to++ = '.';
        for (int i = whole; i < 0; i++)
            *to++ = '0';
    }
    for (int i = 0; i < last; i++) {
        if (i == whole && whole > 0) *to++ = '.';
        *to++ = digits[i];
    }
    *to = '\0';
}

void table_number(struct table *table, double x)
{
    char number[32], shown[32] = "";
    if (isnan(x)) {
        put(table, "", "null", "", true);
    } else if (isinf(x)) {
        put(table, x > 0 ? "inf" : "-inf", x > 0 ? "\"inf\"" : "\"-inf\"", x > 0 ? "\u221e" : "-\u221e",
            true);
    } else {
        if (table->html) snprintf(shown, sizeof shown, "%.5g", x);
        format_number(x, number);
        put(table, number, number, shown, true);
    }
}

void table_count(struct table *table, size_t x)
{
    char number[24], *digit = number + sizeof number;
    *--digit = '\0';
    do /* printf takes ten times as long, and tables have millions of these */
        *--digit = (char)('0' + x % 10);
    while (x /= 10);
    put(table, digit, digit, digit, true);
}

static void drop(struct table *table)
{
    pes_text_destroy(&table->csv);
    pes_text_destroy(&table->json);
}

void table_abandon(struct table *table)
{
    (void)fclose(table->csv_file);
    if (table->json_file) (void)fclose(table->json_file);
    drop(table);
}

enum pes_status table_close(struct table *table)
{
    char file[256];
    CHECK(table->column == 0);
    if (table->html) {
        pes_text_append(table->html, "</tbody></table>\n");
        if (table->row > MOST_HTML_ROWS)
            pes_text_append(table->html,
                            "<p class=\"note\">The first %d of %zu rows; all stand in tables/%s.csv.</p>\n",
                            MOST_HTML_ROWS, table->row, table->name);
    }
    append(&table->json, "\n]}\n");
    bool failed = table->failed || table->csv.failed || table->json.failed;
    flush(table);
    drop(table);
    snprintf(file, sizeof file, "%s.csv", table->name);
    enum pes_status status = write_close(table->csv_file, table->folder, file), other = PES_OK;
    snprintf(file, sizeof file, "%s.json", table->name);
    if (table->json_file) other = write_close(table->json_file, table->folder, file);
    TRY(status);
    TRY(other);
    return failed ? pes_fail(PES_MEMORY, "no memory for the table %s", table->name) : PES_OK;
}
