/* report.c - everything that `pesweep analyze` writes, in order. */
#include "output.h"

#include <math.h>
#include <string.h>

static const struct figure *const families[] = {figures_training, figures_heads, figures_spectra};

static size_t count_figures(void)
{
    size_t count = 0;
    for (size_t f = 0; f < PES_COUNT(families); f++)
        for (const struct figure *figure = families[f]; figure->name; figure++)
            count++;
    return count;
}

/* A figure that can't be drawn is said so; only a lack of memory ends the report. */
static enum pes_status draw_all(struct canvas *canvas, struct pes_report *report)
{
    report->figures = pes_arena_take(canvas->study->arena, count_figures(), sizeof *report->figures);
    if (!report->figures) return PES_MEMORY;
    for (size_t f = 0; f < PES_COUNT(families); f++)
        for (const struct figure *figure = families[f]; figure->name; figure++) {
            struct pes_report_figure *shown = &report->figures[report->num_figures++];
            *shown =
                (struct pes_report_figure){figure->name, figure->title, figure->caption, report->no_figures};
            if (report->no_figures) continue;
            enum pes_status status = figure->draw(canvas, &shown->missing);
            if (status == PES_MEMORY) return status;
            if (status != PES_OK)
                shown->missing = pes_arena_copy_text(canvas->study->arena, pes_error_message());
        }
    return PES_OK;
}
