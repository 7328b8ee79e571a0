/* maps.c - mean attention and mean raw scores of each head over many sequences, and their Toeplitz structure.
 */
#include "attention.h"

#include <math.h>

#include "pesweep/spectrum.h"

enum pes_status pes_maps_create(const struct pes_measurement *m, struct pes_maps *maps)
{
    const struct pes_model_config *config = &m->model->config;
    *maps = (struct pes_maps){
        .T = (size_t)pes_data_shape(m->data)->T, .L = (size_t)config->shape.L, .H = (size_t)config->shape.H};
    size_t entries = maps->L * maps->H * maps->T;
    maps->attention = pes_arena_take(m->arena, entries, maps->T * sizeof *maps->attention);
    maps->scores = pes_arena_take(m->arena, entries, maps->T * sizeof *maps->scores);
    return maps->attention && maps->scores ? PES_OK : PES_MEMORY;
}

void pes_maps_observe(struct pes_maps *maps, const struct pes_observation *seen)
{
    size_t T = maps->T, head = ((size_t)seen->layer * maps->H + (size_t)seen->head) * T * T;
    for (size_t i = 0; i < T * T; i++) {
        maps->attention[head + i] += (double)seen->probabilities[i];
        maps->scores[head + i] += (double)seen->scores[i];
    }
}

/* Mean over queries i >= from of the mean score at (i, i + offset). */
static void relative_kernel(size_t T, const double *scores, size_t from, double *kernel)
{
    for (size_t k = 0; k < PES_KERNEL_OFFSETS; k++) {
        size_t back = PES_KERNEL_OFFSETS - 1 - k, first = PES_MAX(from, back);
        double sum = 0;
        for (size_t i = first; i < T; i++)
            sum += scores[i * T + i - back];
        kernel[k] = first < T ? sum / (double)(T - first) : NAN;
    }
}

static void put(const struct pes_measurement *m, const char *name, const size_t *at, double value)
{
    if (m->final)
        pes_row_put(m->row, "probes", name, at, value);
    else
        pes_row_put(m->row, "curves", name, (size_t[]){m->checkpoint, at[0], at[1]}, value);
}

/* What has T x T or T numbers, at the end. */
static enum pes_status put_maps(const struct pes_maps *maps, const struct pes_measurement *m,
                                const size_t *at, const double *attention, const double *scores,
                                const struct pes_toeplitz *toeplitz, const struct pes_scores *spectrum)
{
    size_t T = maps->T, whole = (size_t)m->model->config.shape.T;
    double *diagonals = pes_arena_take(m->arena, 2 * whole - 1, sizeof *diagonals);
    if (!diagonals) return PES_MEMORY;
    pes_row_put_block(m->row, "attention", "map", at, 2, (size_t[]){T, T}, attention);
    pes_row_put_block(m->row, "attention", "scores", at, 2, (size_t[]){T, T}, scores);
    pes_row_put_block(m->row, "attention", "score_eigenvalues", at, 1, &T, spectrum->eigenvalues);
    /* Diagonals count from the longest sequence of the model: those of the task's stand that much later. */
    for (size_t d = 0; d < 2 * whole - 1; d++)
        diagonals[d] = d >= whole - T && d < whole + T - 1 ? toeplitz->diagonals[d - (whole - T)] : NAN;
    pes_row_put_block(m->row, "attention", "score_diagonals", at, 1, (size_t[]){2 * whole - 1}, diagonals);
    return PES_OK;
}

static enum pes_status finish_head(const struct pes_maps *maps, const struct pes_measurement *m,
                                   int64_t sequences, size_t layer, size_t head)
{
    size_t T = maps->T, at[] = {layer, head};
    double *attention = maps->attention + (layer * maps->H + head) * T * T;
    double *scores = maps->scores + (layer * maps->H + head) * T * T;
    for (size_t i = 0; i < T * T; i++) {
        attention[i] /= (double)sequences;
        scores[i] /= (double)sequences;
    }
    double kernel[PES_KERNEL_OFFSETS];
    relative_kernel(T, scores, (size_t)pes_data_shape(m->data)->behaviour_from, kernel);
    if (m->final)
        pes_row_put_block(m->row, "probes", "relative_kernel", at, 1, (size_t[]){PES_KERNEL_OFFSETS}, kernel);
    else
        pes_row_put_block(m->row, "curves", "relative_kernel", (size_t[]){m->checkpoint, layer, head}, 1,
                          (size_t[]){PES_KERNEL_OFFSETS}, kernel);
    struct pes_toeplitz toeplitz;
    struct pes_scores spectrum;
    TRY(pes_spectrum_toeplitz((int)T, scores, m->model->config.shape.causal, m->arena, &toeplitz));
    TRY(pes_spectrum_scores((int)T, scores, m->arena, &spectrum));
    put(m, "toeplitz_fraction", at, toeplitz.fraction);
    put(m, "toeplitz_fraction_centred", at, toeplitz.fraction_centred);
    put(m, "mean_score_spread", at, spectrum.spread);
    put(m, "mean_score_condition", at, spectrum.condition);
    return m->final ? put_maps(maps, m, at, attention, scores, &toeplitz, &spectrum) : PES_OK;
}

enum pes_status pes_maps_finish(struct pes_maps *maps, const struct pes_measurement *m, int64_t sequences)
{
    for (size_t l = 0; l < maps->L; l++)
        for (size_t h = 0; h < maps->H; h++) {
            struct pes_arena_mark mark = pes_arena_mark(m->arena);
            TRY(finish_head(maps, m, sequences, l, h));
            pes_arena_rewind(m->arena, mark);
        }
    return PES_OK;
}
