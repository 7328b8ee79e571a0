/* manual.c - the manual page, from the words of `pesweep help`. */
#include "help.h"

#include <stdlib.h>
#include <string.h>

/* Text of the page: roff reads a backslash, and a dot or quote at the start of a line, as its own. */
static void put_text(FILE *out, const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        start = *text == '\n';
    }
}

static void put_verbatim(FILE *out, const char *text)
{
    fprintf(out, ".nf\n");
    put_text(out, text);
    fprintf(out, ".fi\n");
}

/* The argument of a macro stands in quotes. */
static void put_heading(FILE *out, const char *macro, const char *text)
{
    fprintf(out, ".%s \"", macro);
    put_text(out, text);
    fprintf(out, "\"\n");
}

static void put_option(FILE *out, const struct pes_help_option *option)
{
    fprintf(out, ".TP\n\\fB");
    if (option->short_name[0]) {
        put_text(out, option->short_name);
        fprintf(out, "\\fR, \\fB");
    }
    put_text(out, option->name);
    fprintf(out, "\\fR");
    if (option->argument[0]) {
        fprintf(out, " \\fI");
        put_text(out, option->argument);
        fprintf(out, "\\fR");
    }
    fprintf(out, "\n");
    put_text(out, pes_text_get(&option->meaning));
    fprintf(out, "\n");
}

static void put_command(FILE *out, const struct pes_command *command)
{
    put_heading(out, "SS", command->name);
    fprintf(out, ".nf\n\\fB");
    put_text(out, command->usage);
    fprintf(out, "\\fR\n.fi\n.PP\n");
    put_text(out, command->summary);
    fprintf(out, ".\n");
    struct pes_text remarks = {0};
    struct pes_help_option option;
    const char *at = command->help;
    while (pes_help_next_option(&at, &option, &remarks)) {
        put_option(out, &option);
        pes_text_destroy(&option.meaning);
    }
    const char *text = pes_text_get(&remarks);
    if (text[strspn(text, "\n")]) {
        fprintf(out, ".PP\n");
        put_text(out, text + strspn(text, "\n"));
    }
    pes_text_destroy(&remarks);
}

static enum pes_status put_page(FILE *out, const struct pes_help_page *page)
{
    char *text = NULL, title[64];
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);
    if (!memory) return pes_fail(PES_MEMORY, "no memory for the manual");
    page->print(memory, false);
    if (fclose(memory) != 0) {
        free(text);
        return pes_fail(PES_MEMORY, "no memory for the manual");
    }
    snprintf(title, sizeof title, "%s", page->name);
    for (char *c = title; *c; c++)
        *c = *c == '-' ? ' ' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    put_heading(out, "SH", title);
    put_verbatim(out, text);
    free(text);
    return PES_OK;
}

enum pes_status pes_help_print_manual(FILE *out)
{
    fprintf(out,
            ".TH PESWEEP 1 \"\" \"pesweep %s\" \"User Commands\"\n"
            ".SH NAME\n"
            "pesweep \\- sweeps of small transformers over positional encodings, analysed spectrally\n"
            ".SH SYNOPSIS\n"
            ".nf\n"
            "\\fBpesweep\\fR \\fIcommand\\fR ...\n"
            "\\fBmpirun \\-n\\fR \\fIN\\fR \\fBpesweep run\\fR \\fIsweep.yaml\\fR [\\fB\\-o\\fR "
            "\\fIresults.h5\\fR]\n"
            ".fi\n"
            ".SH DESCRIPTION\n"
            "pesweep trains very many small transformers over a grid of positional encodings, head subsets, "
            "seeds and\n"
            "symmetry constraints on the ranks of one MPI job, measures every attention head spectrally, and "
            "leaves one\n"
            "HDF5 file from which every figure and every test can be made again.\n"
            ".PP\n"
            "Errors are one line on standard error; colour is used on terminals alone, and never if\n"
            "\\fBNO_COLOR\\fR is set or \\fBTERM\\fR is \\fIdumb\\fR.\n"
            ".SH COMMANDS\n",
            pes_version());
    for (size_t i = 0; pes_commands[i]; i++)
        put_command(out, pes_commands[i]);
    for (const struct pes_help_page *page = pes_help_pages; page->name; page++)
        TRY(put_page(out, page));
    return ferror(out) ? pes_fail(PES_IO, "standard output can't be written") : PES_OK;
}
