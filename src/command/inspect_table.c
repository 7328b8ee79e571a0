/* inspect_table.c - what `pesweep inspect` prints: a line per layer, means over its heads. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "inspect.h"

/* X(title, group, variable) */
#define COLUMNS(X)                                                                                           \
    X("rotational", "spectra", "rotational_fraction")                                                        \
    X("z", "spectra", "rotational_fraction_z")                                                               \
    X("rotational_f", "spectra_folded", "rotational_fraction")                                               \
    X("z_f", "spectra_folded", "rotational_fraction_z")                                                      \
    X("directional", "spectra", "directional_fraction")                                                      \
    X("directional_f", "spectra_folded", "directional_fraction")                                             \
    X("phase", "spectra", "phase_fraction")                                                                  \
    X("phase_f", "spectra_folded", "phase_fraction")                                                         \
    X("eff_rank", "spectra", "effective_rank")                                                               \
    X("previous", "behaviours", "previous_token_score")                                                      \
    X("induction", "behaviours", "induction_score")

static const struct {
    const char *title, *group, *name;
} columns[] = {
#define X(title, group, name) {title, group, name},
    COLUMNS(X)
#undef X
};

static bool is_shown(const struct pes_layout *layout, size_t column)
{
    return pes_layout_find(layout, columns[column].group, columns[column].name) != NULL;
}

/* Mean over a layer's heads that have a number; NaN if none has. */
static double layer_mean(const struct pes_row *row, size_t column, int layer, int H)
{
    double sum = 0;
    int count = 0;
    for (int h = 0; h < H; h++) {
        double value = pes_row_get(row, columns[column].group, columns[column].name,
                                   (const size_t[]){(size_t)layer, (size_t)h});
        if (isnan(value)) continue;
        sum += value;
        count++;
    }
    return count ? sum / count : NAN;
}

/* Heads without a spectrum: non-finite weights. */
static int num_unusable(const struct pes_row *row, int layer, int H)
{
    const char *group = pes_layout_find(row->layout, "spectra", "flags") ? "spectra" : "spectra_folded";
    int count = 0;
    for (int h = 0; h < H; h++)
        count += (int)pes_row_get(row, group, "flags", (const size_t[]){(size_t)layer, (size_t)h}) & 1;
    return count;
}

void pes_inspect_print(const struct pes_pretrained_about *about, const char *label, const struct pes_row *row)
{
    printf("%s: %s, %s positions, %d layers of %d heads (%d key heads), width %d, heads of %d rows\n", label,
           about->architecture, about->scheme, about->L, about->H, about->num_key_heads, about->C, about->D);
    for (const char *line = about->notes; *line;) {
        int length = (int)strcspn(line, "\n");
        printf("  %.*s\n", length, line);
        line += length + (line[length] == '\n');
    }
    printf("%5s", "layer");
    for (size_t c = 0; c < PES_COUNT(columns); c++)
        if (is_shown(row->layout, c)) printf("  %13s", columns[c].title);
    printf("\n");
    for (int layer = 0; layer < about->L; layer++) {
        printf("%5d", layer);
        for (size_t c = 0; c < PES_COUNT(columns); c++)
            if (is_shown(row->layout, c)) printf("  %13.4f", layer_mean(row, c, layer, about->H));
        int unusable = num_unusable(row, layer, about->H);
        if (unusable) printf("  (%d heads with weights that aren't finite)", unusable);
        printf("\n");
    }
    printf("\n");
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *pes_inspect_json(const struct pes_pretrained_about *about, const char *label,
                         const struct pes_row *row)
{
    json_t *layers = json_array();
    for (int layer = 0; layer < about->L; layer++) {
        json_t *means =
            json_pack("{s:i, s:i}", "layer", layer, "heads_not_finite", num_unusable(row, layer, about->H));
        for (size_t c = 0; c < PES_COUNT(columns); c++) {
            char key[96];
            bool folded = !strcmp(columns[c].group, "spectra_folded");
            snprintf(key, sizeof key, "%s%s", folded ? "folded_" : "", columns[c].name);
            if (is_shown(row->layout, c))
                json_object_set_new(means, key, number(layer_mean(row, c, layer, about->H)));
        }
        json_array_append_new(layers, means);
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:o}", "label", label, "path",
                     about->path, "architecture", about->architecture, "scheme", about->scheme, "layers",
                     about->L, "heads", about->H, "key_heads", about->num_key_heads, "width", about->C,
                     "head_width", about->D, "notes", about->notes, "layer_means", layers);
}
