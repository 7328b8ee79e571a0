/* explorer.c - the numbers behind the report's explorer, small enough for a page. */
#include "output.h"

#include <math.h>
#include <string.h>

enum {
    MOST_TRIALS = 2000,
    MOST_HEADS = 30000,
    MOST_POINTS = 200000,
    MOST_EIGENVALUES = 100000,
    MOST_PIXELS = 2000000
};
enum { MOST_ACROSS = 48 }; /* pixels of an attention map */

static const char *const curve_names[] = {"test_accuracy", "test_loss", "train_loss"};
static const struct {
    const char *group, *name, *shown;
} head_measures[] = {
    {"probes", "previous_token_score", "previous-token score"},
    {"spectra_folded", "rotational_fraction", "rotational fraction (folded)"},
    {"probes", "ablation_drop", "accuracy lost without the head"},
    {"probes", "induction_score", "induction score"},
    {"spectra_folded", "phase_fraction", "phase fraction (folded)"},
    {"spectra_folded", "symmetry_score", "symmetry score (folded)"},
    {"spectra_folded", "departure_from_normality", "departure from normality (folded)"},
    {"spectra_folded", "effective_rank", "effective rank (folded)"},
    {"probes", "toeplitz_fraction_centred", "Toeplitz fraction (centred)"},
    {"probes", "contraction", "contraction"},
    {"probes", "attention_entropy", "attention entropy"},
};

/* Five digits are more than a picture shows. */
static void put_number(struct pes_text *json, double x)
{
    if (isfinite(x))
        pes_text_append(json, "%.5g", x);
    else
        pes_text_append(json, "null");
}

/* Of very many trials every so manieth is shown. */
static size_t trial_step(const struct pes_study *study)
{
    return 1 + (study->num_trials - 1) / MOST_TRIALS;
}

static enum pes_status put_trials(const struct tables *tables, struct pes_text *json)
{
    struct pes_study *study = tables->study;
    const struct pes_sweep *sweep = study->sweep;
    const struct pes_column *columns[64];
    size_t num = 0;
    pes_text_append(json, "\"unit\":\"%s\",\"axes\":[", study_unit(study));
    for (size_t a = 0; a < sweep->num_axes; a++) {
        pes_text_append(json, a ? "," : "");
        write_json_text(json, sweep->axes[a].name);
    }
    pes_text_append(json, "],\"metrics\":[");
    for (size_t f = 0; f < study->layout->num_fields && num < PES_COUNT(columns); f++) {
        const struct pes_variable *variable = &study->layout->fields[f].variable;
        if (strcmp(variable->group, "trials") || variable->rank) continue;
        TRY(pes_study_column(study, "trials", variable->name, &columns[num]));
        pes_text_append(json, num++ ? "," : "");
        write_json_text(json, variable->name);
    }
    pes_text_append(json, "],\"trials\":[");
    for (size_t t = 0; t < study->num_trials; t += trial_step(study)) {
        pes_text_append(json, "%s{\"id\":%zu,\"label\":", t ? ",\n" : "", t);
        write_json_text(json, sweep->trials[t].label);
        pes_text_append(json, ",\"status\":\"%s\",\"axes\":[",
                        pes_outcome_name((enum pes_outcome)study->status[t]));
        for (size_t a = 0; a < sweep->num_axes; a++) {
            const char *value = pes_study_axis_text(study, t, a);
            if (!value) return PES_MEMORY;
            pes_text_append(json, a ? "," : "");
            write_json_text(json, *value ? value : "-");
        }
        pes_text_append(json, "],\"metrics\":[");
        for (size_t c = 0; c < num; c++) {
            pes_text_append(json, c ? "," : "");
            put_number(json, pes_study_finished(study, t) ? *pes_column_of(columns[c], t) : NAN);
        }
        pes_text_append(json, "]}");
    }
    pes_text_append(json, "],\n");
    return PES_OK;
}

static enum pes_status put_curves(const struct tables *tables, struct pes_text *json)
{
    struct pes_study *study = tables->study;
    const struct pes_column *steps, *curves[PES_COUNT(curve_names)];
    TRY(pes_study_column(study, "curves", "evaluation_step", &steps));
    for (size_t c = 0; c < PES_COUNT(curve_names); c++) {
        TRY(pes_study_column(study, "curves", curve_names[c], &curves[c]));
        if (!curves[c]) steps = NULL;
    }
    pes_text_append(json, "\"curveNames\":[\"test_accuracy\",\"test_loss\",\"train_loss\"],\"curves\":[");
    size_t n = steps ? steps->field->count : 0, every = 1;
    while (n / every * (study->num_trials / trial_step(study)) > MOST_POINTS / PES_COUNT(curve_names))
        every++;
    bool first = true;
    for (size_t t = 0; t < study->num_trials && steps; t += trial_step(study)) {
        if (!pes_study_finished(study, t)) continue;
        pes_text_append(json, "%s{\"trial\":%zu,\"steps\":[", first ? "" : ",\n", t);
        first = false;
        const double *step = pes_column_of(steps, t);
        for (size_t i = 0; i < n && step[i] >= 0; i += every)
            pes_text_append(json, "%s%.0f", i ? "," : "", step[i]);
        pes_text_append(json, "],\"values\":[");
        for (size_t c = 0; c < PES_COUNT(curve_names); c++) {
            pes_text_append(json, c ? ",[" : "[");
            for (size_t i = 0; i < n && step[i] >= 0; i += every) {
                pes_text_append(json, i ? "," : "");
                put_number(json, pes_column_of(curves[c], t)[i]);
            }
            pes_text_append(json, "]");
        }
        pes_text_append(json, "]}");
    }
    pes_text_append(json, "],\n");
    return PES_OK;
}

static enum pes_status put_heads(const struct tables *tables, struct pes_text *json)
{
    struct pes_study *study = tables->study;
    const struct pes_column *columns[PES_COUNT(head_measures)];
    size_t num = 0, heads = study->layout->size[PES_DIM_HEAD],
           all = heads * study->layout->size[PES_DIM_LAYER];
    pes_text_append(json, "\"headNames\":[");
    for (size_t m = 0; m < PES_COUNT(head_measures); m++) {
        TRY(pes_study_column(study, head_measures[m].group, head_measures[m].name, &columns[num]));
        if (!columns[num]) continue;
        pes_text_append(json, num++ ? "," : "");
        write_json_text(json, head_measures[m].shown);
    }
    pes_text_append(json, "],\"heads\":[");
    size_t every = trial_step(study), written = 0;
    while (study->num_trials / every * all > MOST_HEADS)
        every += trial_step(study);
    for (size_t t = 0; t < study->num_trials && num >= 2; t += every)
        for (size_t i = 0; pes_study_finished(study, t) && i < all; i++) {
            bool known = false;
            for (size_t c = 0; c < num; c++)
                known |= isfinite(pes_column_of(columns[c], t)[i]);
            if (!known) continue;
            pes_text_append(json, "%s[%zu,%zu,%zu", written++ ? ",\n" : "", t, i / heads, i % heads);
            for (size_t c = 0; c < num; c++) {
                pes_text_append(json, ",");
                put_number(json, pes_column_of(columns[c], t)[i]);
            }
            pes_text_append(json, "]");
        }
    pes_text_append(json, "],\n");
    return PES_OK;
}

/* Mean over blocks of b x b entries of one head's map [T][T], NaN left out, as a byte of its largest; true
 * if there is any. */
static bool shrink_map(const double *map, size_t T, size_t b, unsigned char *pixels, double *largest)
{
    size_t across = (T + b - 1) / b;
    double mean[MOST_ACROSS * MOST_ACROSS];
    *largest = 0;
    for (size_t i = 0; i < across * across; i++) {
        double sum = 0, known = 0;
        for (size_t q = i / across * b; q < PES_MIN(T, (i / across + 1) * b); q++)
            for (size_t k = i % across * b; k < PES_MIN(T, (i % across + 1) * b); k++)
                if (isfinite(map[q * T + k])) {
                    sum += map[q * T + k];
                    known++;
                }
        mean[i] = known > 0 ? sum / known : 0;
        *largest = PES_MAX(*largest, mean[i]);
    }
    for (size_t i = 0; i < across * across; i++)
        pixels[i] = *largest > 0 ? (unsigned char)lrint(255 * PES_MAX(mean[i], 0) / *largest) : 0;
    return *largest > 0;
}

/* Every head's map of a trial: bytes as base64, and the value that a byte of 255 stands for. */
static enum pes_status put_maps(struct pes_study *study, const struct pes_field *field, size_t trial,
                                struct pes_text *json)
{
    size_t T = field->extent[2], heads = field->count / (T * T), b = (T + MOST_ACROSS - 1) / MOST_ACROSS;
    size_t pixels = ((T + b - 1) / b) * ((T + b - 1) / b);
    double *maps = pes_allocate(field->count + heads, sizeof *maps), *largest = maps + field->count;
    unsigned char *bytes = pes_allocate(heads * pixels, 1);
    enum pes_status status = maps && bytes ? PES_OK : PES_MEMORY;
    if (status == PES_OK) status = pes_study_part(study, field, trial, 1, maps);
    if (status == PES_OK) {
        for (size_t h = 0; h < heads; h++)
            (void)shrink_map(maps + h * T * T, T, b, bytes + h * pixels, &largest[h]);
        pes_text_append(json, ",\"maps\":\"");
        write_base64(json, bytes, heads * pixels);
        pes_text_append(json, "\",\"largest\":[");
        for (size_t h = 0; h < heads; h++) {
            pes_text_append(json, h ? "," : "");
            put_number(json, largest[h]);
        }
        pes_text_append(json, "]");
    }
    pes_free(maps);
    pes_free(bytes);
    return status;
}

/* Eigenvalues and attention maps of every head, of as many trials as a page can hold. */
static enum pes_status put_details(const struct tables *tables, struct pes_text *json)
{
    struct pes_study *study = tables->study;
    const struct pes_field *map = pes_layout_find(study->layout, "attention", "map");
    const struct pes_column *eigenvalues;
    TRY(pes_study_column(study, "spectra_folded", "eigenvalues", &eigenvalues));
    size_t values = eigenvalues ? eigenvalues->field->count : 0, T = map ? map->extent[2] : 0;
    size_t b = (T + MOST_ACROSS - 1) / MOST_ACROSS, across = b ? (T + b - 1) / b : 0;
    size_t pixels = map ? map->count / (T * T) * across * across : 0, every = trial_step(study);
    while (every < study->num_trials && (study->num_trials / every * values > MOST_EIGENVALUES ||
                                         study->num_trials / every * pixels > MOST_PIXELS))
        every += trial_step(study);
    pes_text_append(json,
                    "\"shape\":{\"layers\":%zu,\"heads\":%zu,\"modes\":%zu,\"across\":%zu,\"block\":%zu},",
                    study->layout->size[PES_DIM_LAYER], study->layout->size[PES_DIM_HEAD],
                    eigenvalues ? eigenvalues->field->extent[2] : 0, across, b);
    pes_text_append(json, "\"details\":[");
    bool first = true;
    for (size_t t = 0; t < study->num_trials && (values || pixels); t += every) {
        if (!pes_study_finished(study, t)) continue;
        pes_text_append(json, "%s{\"trial\":%zu,\"eigenvalues\":[", first ? "" : ",\n", t);
        first = false;
        for (size_t i = 0; i < values; i++) {
            pes_text_append(json, i ? "," : "");
            put_number(json, pes_column_of(eigenvalues, t)[i]);
        }
        pes_text_append(json, "]");
        if (map) TRY(put_maps(study, map, t, json));
        pes_text_append(json, "}");
    }
    pes_text_append(json, "]");
    return PES_OK;
}

enum pes_status explorer_data(const struct tables *tables, struct pes_text *json)
{
    pes_text_append(json, "{");
    TRY(put_trials(tables, json));
    TRY(put_curves(tables, json));
    TRY(put_heads(tables, json));
    TRY(put_details(tables, json));
    pes_text_append(json, "}");
    return json->failed ? PES_MEMORY : PES_OK;
}
