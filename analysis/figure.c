/* figure.c - a figure is a file of numbers and a gnuplot script beside it; names reach gnuplot only as quoted
 * text in the script, never through a shell. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Okabe & Ito 2008; wine (Tol 2021) for their yellow, which is faint on white. */
const char *figure_color(size_t series)
{
    static const char *const colors[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#56b4e9", "#e69f00", "#000000", "#882255"};
    return colors[series % PES_COUNT(colors)];
}

/* Weyl's sequence: spread evenly, never the same twice in a row. */
double figure_jitter(size_t i)
{
    double place = (double)(i + 1) * 0.61803398874989484820;
    return 2 * (place - floor(place)) - 1;
}

/* Braces would end gnuplot's blocks even inside quotes, and a quote ends the text unless doubled. */
const char *figure_quote(struct canvas *canvas, const char *text)
{
    char *quoted = pes_arena_take(canvas->study->arena, 2 * strlen(text) + 1, 1), *to = quoted;
    if (!quoted) return "";
    for (; *text; text++) {
        if (*text == '\'') *to++ = '\'';
        *to++ = *text == '{' ? '(' : *text == '}' ? ')' : (unsigned char)*text < 0x20 ? ' ' : *text;
    }
    return quoted;
}

enum pes_status figure_begin(struct canvas *canvas, const char *name, int width, int height)
{
    char file[128];
    canvas->name = name;
    canvas->num_blocks = 0;
    canvas->keyed = false;
    snprintf(file, sizeof file, "%s.dat", name);
    TRY(write_open(canvas->folder, file, &canvas->data));
    snprintf(file, sizeof file, "%s.gp", name);
    enum pes_status status = write_open(canvas->folder, file, &canvas->script);
    if (status != PES_OK) {
        (void)fclose(canvas->data);
        return status;
    }
    fprintf(canvas->data, "# %s.dat - numbers behind %s.svg; blocks are parted by two empty lines\n", name,
            name);
    fprintf(canvas->script,
            "# %s.gp - gnuplot %s.gp draws %s.svg and %s.pdf from %s.dat\n"
            "set encoding utf8\n"
            "data = '%s.dat'\n"
            "do for [kind in 'svg pdf'] {\n"
            "if (kind eq 'pdf' && !strstrt(GPVAL_TERMINALS, 'pdfcairo')) { break }\n"
            "if (kind eq 'svg') {\n"
            "  set terminal svg size %d,%d fixed font 'sans-serif,12' background '#ffffff' noenhanced\n"
            "} else {\n"
            "  set terminal pdfcairo size %.2f,%.2f font 'Sans,10' noenhanced\n"
            "}\n"
            "set output '%s.'.kind\n"
            "set datafile missing '?'\n"
            "set border 3 lc rgb '#404040'\n"
            "set tics nomirror out scale 0.6 textcolor rgb '#202020'\n"
            "set grid ytics lc rgb '#e4e4e4' lw 1\n"
            "set key samplen 1.5 spacing 1.1\n"
            "set style fill transparent solid 0.2 noborder\n",
            name, name, name, name, name, name, width, height, width / 96.0, height / 96.0, name);
    return PES_OK;
}

/* To gnuplot a block of comments alone is none, and the next would have its number. */
static void fill_block(struct canvas *canvas)
{
    if (canvas->num_blocks && ftell(canvas->data) == canvas->block_start) fputs("? ?\n", canvas->data);
}

size_t figure_block(struct canvas *canvas, const char *comment)
{
    fill_block(canvas);
    fprintf(canvas->data, "%s# block %zu: ", canvas->num_blocks ? "\n\n" : "", canvas->num_blocks);
    for (const char *c = comment; *c; c++)
        fputc((unsigned char)*c < 0x20 ? ' ' : *c, canvas->data);
    fputc('\n', canvas->data);
    canvas->block_start = ftell(canvas->data);
    return canvas->num_blocks++;
}

void figure_number(struct canvas *canvas, double x)
{
    if (isfinite(x))
        fprintf(canvas->data, "%.9g ", x);
    else
        fputs("? ", canvas->data);
}

void figure_layout(struct canvas *canvas, size_t num_panels, size_t columns, bool key)
{
    size_t rows = (num_panels + columns - 1) / columns, series = canvas->groups->num_series;
    fprintf(canvas->script, "set multiplot layout %zu,%zu", PES_MAX(rows, 1),
            PES_MIN(columns, PES_MAX(num_panels, 1)));
    if (key) { /* an empty title keeps a strip free for it above the panels */
        fputs(" title \" ", canvas->script);
        for (size_t line = 3; series > 6 && line < series; line += 3)
            fputs("\\n ", canvas->script);
        fputs("\"\nset key at screen 0.5, screen 0.995 center top horizontal", canvas->script);
    }
    fputs("\n", canvas->script);
}

void figure_key(struct canvas *canvas, const char *with)
{
    const struct groups *groups = canvas->groups;
    for (size_t s = 0; s < groups->num_series && !canvas->keyed; s++)
        fprintf(canvas->script, ", \\\n  NaN with %s lc rgb '%s' title '%s'", with, figure_color(s),
                figure_quote(canvas, groups->series[s]));
    fputs("\nunset key\n", canvas->script);
    canvas->keyed = true;
}

void figure_bands(struct canvas *canvas, const size_t *block, const bool *any, const char *with)
{
    const struct groups *groups = canvas->groups;
    fputs("plot NaN notitle", canvas->script);
    for (size_t s = 0; s < groups->num_series; s++)
        if (any[s])
            fprintf(canvas->script,
                    ", \\\n  data index %zu using 1:3:4 with filledcurves fc rgb '%s' notitle", block[s],
                    figure_color(s));
    for (size_t s = 0; s < groups->num_series; s++)
        if (any[s])
            fprintf(canvas->script, ", \\\n  data index %zu using 1:2 with %s lw 2 dt %d lc rgb '%s' notitle",
                    block[s], with, s < 8 ? 1 : 2, figure_color(s));
    char key[96];
    snprintf(key, sizeof key, "%s lw 2", with);
    figure_key(canvas, key);
}

size_t figure_every(struct canvas *canvas, size_t n, size_t most)
{
    canvas->thinned |= n >= most;
    return 1 + n / most;
}

size_t figure_panels(const struct canvas *canvas)
{
    return PES_MIN(canvas->groups->num_panels, (size_t)FIGURE_MOST_PANELS);
}

size_t figure_columns(size_t panels)
{
    return panels <= 3 ? PES_MAX(panels, 1) : panels == 4 ? 2 : 3;
}

int figure_height(size_t panels, int each)
{
    size_t columns = figure_columns(panels);
    return each * (int)((PES_MAX(panels, 1) + columns - 1) / columns) + 40;
}

int figure_width(size_t panels, int each)
{
    return each * (int)figure_columns(panels) + 60;
}

const char *figure_sizes(const struct canvas *canvas, size_t panel, char text[64])
{
    size_t least = SIZE_MAX, most = 0, count;
    for (size_t s = 0; s < canvas->groups->num_series; s++) {
        (void)groups_members(canvas->groups, s, panel, &count);
        if (count) least = PES_MIN(least, count);
        most = PES_MAX(most, count);
    }
    if (!most)
        strcpy(text, "n = 0");
    else if (least == most)
        snprintf(text, 64, "n = %zu", most);
    else
        snprintf(text, 64, "n = %zu to %zu", least, most);
    return text;
}

void figure_title(struct canvas *canvas, size_t panel)
{
    const char *name = canvas->groups->panels[panel];
    char sizes[64];
    fprintf(canvas->script, "set title '%s%s%s'\n", figure_quote(canvas, name), *name ? ", " : "",
            figure_sizes(canvas, panel, sizes));
}

static void heads_title(struct canvas *canvas, size_t panel, size_t heads)
{
    const char *name = canvas->groups->panels[panel];
    fprintf(canvas->script, "set title '%s%sn = %zu heads'\n", figure_quote(canvas, name), *name ? ", " : "",
            heads);
}

enum pes_status figure_scatter(struct canvas *canvas, size_t panel, figure_points *points, const void *data,
                               const char *line)
{
    const struct groups *groups = canvas->groups;
    size_t first = canvas->num_blocks, heads = 0;
    size_t *count = pes_arena_take(canvas->study->arena, groups->num_series, sizeof *count);
    if (!count) return PES_MEMORY;
    for (size_t s = 0; s < groups->num_series; s++) {
        (void)figure_block(canvas, groups->series[s]);
        count[s] = points(canvas, data, s, panel);
        heads += count[s];
    }
    heads_title(canvas, panel, heads);
    fprintf(canvas->script, "plot %s notitle", line);
    for (size_t s = 0; s < groups->num_series; s++)
        if (count[s])
            fprintf(canvas->script,
                    ", \\\n  data index %zu using 1:2 with points pt %d ps 0.45 lc rgb '%s' notitle",
                    first + s, s < 8 ? 7 : 9, figure_color(s));
    figure_key(canvas, "points pt 7 ps 0.8");
    return PES_OK;
}

void figure_series_tics(struct canvas *canvas)
{
    fputs("set xtics (", canvas->script);
    for (size_t s = 0; s < canvas->groups->num_series; s++)
        fprintf(canvas->script, "%s'%s' %zu", s ? ", " : "", figure_quote(canvas, canvas->groups->series[s]),
                s);
    fprintf(canvas->script, ") rotate by -30\nset xrange [-0.6:%g]\nunset xlabel\n",
            (double)canvas->groups->num_series - 0.4);
}

/* Starts `gnuplot argument` in a folder (NULL: here). */
static enum pes_status start_plot(const char *gnuplot, const char *folder, const char *argument,
                                  struct plot *plot)
{
    int ends[2];
    snprintf(plot->argument, sizeof plot->argument, "%s", argument);
    if (pipe(ends)) return pes_fail(PES_IO, "no pipe to gnuplot: %s", strerror(errno));
    plot->child = fork();
    plot->said = ends[0];
    if (plot->child < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return pes_fail(PES_IO, "gnuplot can't be started: %s", strerror(errno));
    }
    if (plot->child == 0) {
        int null = open("/dev/null", O_RDWR);
        char *arguments[] = {(char *)(uintptr_t)gnuplot, (char *)(uintptr_t)argument, NULL};
        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(ends[1], 2) < 0) _exit(126);
        if (folder && chdir(folder)) _exit(126);
        (void)close(ends[0]);
        (void)close(ends[1]);
        execvp(gnuplot, arguments);
        _exit(127);
    }
    (void)close(ends[1]);
    (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC); /* or the next gnuplot would hold it */
    return PES_OK;
}

/* Waits for its end; what it wrote to standard error is in the message of a failure. */
static enum pes_status end_plot(const char *gnuplot, const struct plot *plot)
{
    char said[700], buffer[512];
    size_t length = 0;
    ssize_t got;
    while ((got = read(plot->said, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR))
        for (ssize_t i = 0; i < got && length + 1 < sizeof said; i++)
            said[length++] = buffer[i] == '\n' ? ' ' : buffer[i];
    said[length] = '\0';
    (void)close(plot->said);
    int state;
    while (waitpid(plot->child, &state, 0) < 0)
        if (errno != EINTR) return pes_fail(PES_IO, "gnuplot was lost: %s", strerror(errno));
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return PES_OK;
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127) return pes_fail(PES_IO, "%s isn't installed", gnuplot);
    return pes_fail(PES_IO, "%s: gnuplot failed: %s", plot->argument, said);
}

bool figure_gnuplot_works(const char *gnuplot)
{
    struct plot plot;
    return start_plot(gnuplot, NULL, "--version", &plot) == PES_OK && end_plot(gnuplot, &plot) == PES_OK;
}

void figure_wait(struct canvas *canvas, size_t most)
{
    for (; canvas->num_plots > most; canvas->num_plots--) {
        struct plot oldest = canvas->plots[0];
        memmove(canvas->plots, canvas->plots + 1, (canvas->num_plots - 1) * sizeof oldest);
        if (end_plot(canvas->gnuplot, &oldest) != PES_OK)
            oldest.figure->missing = pes_arena_copy_text(canvas->study->arena, pes_error_message());
    }
}

enum pes_status figure_end(struct canvas *canvas)
{
    char file[128];
    fill_block(canvas);
    fputs("unset multiplot\nset output\nreset\n}\n", canvas->script);
    snprintf(file, sizeof file, "%s.dat", canvas->name);
    enum pes_status status = write_close(canvas->data, canvas->folder, file);
    snprintf(file, sizeof file, "%s.gp", canvas->name);
    enum pes_status other = write_close(canvas->script, canvas->folder, file);
    TRY(status);
    TRY(other);
    figure_wait(canvas, PES_MIN((size_t)pes_stat_threads(), PES_COUNT(canvas->plots)) - 1);
    struct plot *plot = &canvas->plots[canvas->num_plots];
    plot->figure = canvas->shown;
    TRY(start_plot(canvas->gnuplot, canvas->folder, file, plot));
    canvas->num_plots++;
    return PES_OK;
}
