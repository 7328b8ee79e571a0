/* output.c - files that commands write. */
#include "output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pesweep/arena.h"

static enum pes_status failed(const struct pes_output *output, const char *action)
{
    return pes_fail(PES_IO, "%s: cannot %s: %s", output->path ? output->path : "standard output", action,
                    strerror(errno));
}

enum pes_status pes_output_open(struct pes_output *output, const char *path)
{
    static const char ending[] = ".part";
    *output = (struct pes_output){.path = path, .file = stdout};
    if (!path) return PES_OK;
    output->part = pes_allocate(strlen(path) + sizeof ending, 1);
    if (!output->part) return PES_MEMORY;
    strcat(strcpy(output->part, path), ending);
    output->file = fopen(output->part, "wb");
    if (output->file) return PES_OK;
    enum pes_status status = failed(output, "create");
    pes_free(output->part);
    return status;
}

enum pes_status pes_output_close(struct pes_output *output, enum pes_status status)
{
    bool written = !fflush(output->file) && !ferror(output->file);
    if (output->part) written = written && !fsync(fileno(output->file));
    if (status == PES_OK && !written) status = failed(output, "write");
    if (!output->part) return status;
    if (fclose(output->file) && status == PES_OK) status = failed(output, "write");
    if (status == PES_OK && rename(output->part, output->path))
        status = failed(output, "rename its temporary file");
    if (status != PES_OK) unlink(output->part);
    pes_free(output->part);
    return status;
}

void pes_output_csv_text(FILE *file, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, file);
        return;
    }
    putc('"', file);
    for (; *text; text++) {
        if (*text == '"') putc('"', file);
        putc(*text, file);
    }
    putc('"', file);
}
