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

enum pes_status table_open(struct table *table, const char *folder, const char *name,
                           const char *const *columns, size_t num_columns, struct pes_text *html)
{
    *table = (struct table){folder, name, NULL, NULL, html, columns, num_columns, 0, 0};
    char file[256];
    snprintf(file, sizeof file, "%s.csv", name);
    TRY(write_open(folder, file, &table->csv));
    snprintf(file, sizeof file, "%s.json", name);
    enum pes_status status = write_open(folder, file, &table->json);
    if (status != PES_OK) {
        (void)fclose(table->csv);
        return status;
    }
    if (html) pes_text_append(html, "<table class=\"sortable\"><thead><tr>");
    fputs("{\"columns\": [", table->json);
    for (size_t c = 0; c < num_columns; c++) {
        fprintf(table->csv, "%s%s", columns[c], c + 1 < num_columns ? "," : "\n");
        fprintf(table->json, "\"%s\"%s", columns[c], c + 1 < num_columns ? ", " : "],\n\"data\": [");
        if (!html) continue;
        pes_text_append(html, "<th>");
        write_html(html, columns[c]);
        pes_text_append(html, "</th>");
    }
    if (html) pes_text_append(html, "</tr></thead><tbody>\n");
    return PES_OK;
}

/* One cell as it stands in CSV and in JSON; `plain` for HTML. */
static void put(struct table *table, const char *csv, const char *json, const char *plain, bool number)
{
    bool first = table->column == 0, last = table->column + 1 == table->num_columns;
    fprintf(table->csv, "%s%s", csv, last ? "\n" : ",");
    fprintf(table->json, "%s%s%s", first ? (table->row ? ",\n[" : "\n[") : "", json, last ? "]" : ", ");
    if (table->html) {
        pes_text_append(table->html, "%s<td%s>", first ? "<tr>" : "", number ? " class=\"n\"" : "");
        write_html(table->html, plain);
        pes_text_append(table->html, "</td>%s", last ? "</tr>\n" : "");
    }
    table->column = last ? 0 : table->column + 1;
    table->row += last;
}

void table_text(struct table *table, const char *plain)
{
    struct pes_text csv = {0}, json = {0};
    bool quoted = strpbrk(plain, ",\"\r\n") != NULL;
    if (quoted) pes_text_append(&csv, "\"");
    for (const char *c = plain; *c; c++)
        pes_text_append(&csv, "%s%c", *c == '"' ? "\"" : "", *c);
    if (quoted) pes_text_append(&csv, "\"");
    write_json_text(&json, plain);
    put(table, pes_text_get(&csv), pes_text_get(&json), plain, false);
    pes_text_destroy(&csv);
    pes_text_destroy(&json);
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
        snprintf(number, sizeof number, "%.10g", x);
        put(table, number, number, shown, true);
    }
}

void table_count(struct table *table, size_t x)
{
    char number[32];
    snprintf(number, sizeof number, "%zu", x);
    put(table, number, number, number, true);
}

enum pes_status table_close(struct table *table)
{
    char file[256];
    CHECK(table->column == 0);
    if (table->html) pes_text_append(table->html, "</tbody></table>\n");
    fputs("\n]}\n", table->json);
    snprintf(file, sizeof file, "%s.csv", table->name);
    enum pes_status status = write_close(table->csv, table->folder, file);
    snprintf(file, sizeof file, "%s.json", table->name);
    enum pes_status other = write_close(table->json, table->folder, file);
    return status != PES_OK ? status : other;
}
