/* maps.c - mean attention and mean raw scores of each head over many sequences, and their Toeplitz structure.
 */
#include "attention.h"

#include <math.h>

#include "pesweep/spectrum.h"

enum pes_status pes_maps_create(const struct pes_measurement *m, struct pes_maps *maps)
{
    const struct pes_model_config *config = &m->model->config;
    *maps = (struct pes_maps){.T = (size_t)pes_data_shape(m->data)->T,
                              .L = (size_t)config->shape.L,
                              .H = (size_t)config->shape.H,
                              .real_only = config->pad == PES_PAD_MASK};
    size_t entries = maps->L * maps->H * maps->T;
    maps->attention = pes_arena_take(m->arena, entries, maps->T * sizeof *maps->attention);
    maps->scores = pes_arena_take(m->arena, entries, maps->T * sizeof *maps->scores);
    maps->longer = pes_arena_take(m->arena, maps->T, sizeof *maps->longer);
    return maps->attention && maps->scores && maps->longer ? PES_OK : PES_MEMORY;
}

void pes_maps_batch(struct pes_maps *maps, const struct pes_batch *batch)
{
    for (int b = 0; b < batch->B; b++) {
        int length = maps->real_only ? pes_behaviour_length(batch, b) : batch->T;
        for (int t = 0; t < length; t++)
            maps->longer[t]++;
        maps->length = PES_MAX(maps->length, length);
    }
}

void pes_maps_observe(struct pes_maps *maps, const struct pes_observation *seen, int length)
{
    size_t T = maps->T, n = maps->real_only ? (size_t)length : T;
    size_t head = ((size_t)seen->layer * maps->H + (size_t)seen->head) * T * T;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            maps->attention[head + i * T + j] += (double)seen->probabilities[i * T + j];
            maps->scores[head + i * T + j] += (double)seen->scores[i * T + j];
        }
}

/* Sums become means; (i, j) is there in as many sequences as the later of the two. */
static void divide(const struct pes_maps *maps, double *map)
{
    for (size_t i = 0; i < maps->T; i++)
        for (size_t j = 0; j < maps->T; j++) {
            int64_t count = maps->longer[PES_MAX(i, j)];
            map[i * maps->T + j] = count ? map[i * maps->T + j] / (double)count : NAN;
        }
}

/* Mean over queries i >= from of the mean score at (i, i + offset), each weighted by its sequences. */
static void relative_kernel(const struct pes_maps *maps, const double *scores, size_t from, double *kernel)
{
    for (size_t k = 0; k < PES_KERNEL_OFFSETS; k++) {
        size_t back = PES_KERNEL_OFFSETS - 1 - k;
        double sum = 0, count = 0;
        for (size_t i = PES_MAX(from, back); i < (size_t)maps->length; i++) {
            sum += (double)maps->longer[i] * scores[i * maps->T + i - back];
            count += (double)maps->longer[i];
        }
        kernel[k] = count > 0 ? sum / count : NAN;
    }
}

static enum pes_status finish_head(const struct pes_maps *maps, const struct pes_measurement *m, size_t layer,
                                   size_t head)
{
    size_t T = maps->T, n = (size_t)maps->length, at[] = {layer, head};
    double *attention = maps->attention + (layer * maps->H + head) * T * T;
    double *scores = maps->scores + (layer * maps->H + head) * T * T;
    divide(maps, attention);
    divide(maps, scores);
    pes_row_put_block(m->row, "attention", "map", at, 2, (size_t[]){T, T}, attention);
    pes_row_put_block(m->row, "attention", "scores", at, 2, (size_t[]){T, T}, scores);

    double kernel[PES_KERNEL_OFFSETS];
    relative_kernel(maps, scores, (size_t)pes_data_shape(m->data)->behaviour_from, kernel);
    pes_row_put_block(m->row, "probes", "relative_kernel", at, 1, (size_t[]){PES_KERNEL_OFFSETS}, kernel);

    double *present = pes_arena_take(m->arena, n * n, sizeof *present);
    size_t whole = (size_t)m->model->config.shape.T;
    double *diagonals = pes_arena_take(m->arena, 2 * whole - 1, sizeof *diagonals);
    if (!present || !diagonals) return PES_MEMORY;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            present[i * n + j] = scores[i * T + j];
    struct pes_toeplitz toeplitz;
    TRY(pes_spectrum_toeplitz((int)n, present, m->model->config.shape.causal, m->arena, &toeplitz));
    pes_row_put(m->row, "probes", "toeplitz_fraction", at, toeplitz.fraction);
    pes_row_put(m->row, "probes", "toeplitz_fraction_centred", at, toeplitz.fraction_centred);
    /* Diagonals count from the longest sequence of the model: those of n x n stand shape.T - n places later.
     */
    for (size_t d = 0; d < 2 * whole - 1; d++)
        diagonals[d] = d >= whole - n && d < whole + n - 1 ? toeplitz.diagonals[d - (whole - n)] : NAN;
    pes_row_put_block(m->row, "attention", "score_diagonals", at, 1, (size_t[]){2 * whole - 1}, diagonals);
    return PES_OK;
}

enum pes_status pes_maps_finish(struct pes_maps *maps, const struct pes_measurement *m)
{
    for (size_t l = 0; l < maps->L; l++)
        for (size_t h = 0; h < maps->H; h++) {
            struct pes_arena_mark mark = pes_arena_mark(m->arena);
            TRY(finish_head(maps, m, l, h));
            pes_arena_rewind(m->arena, mark);
        }
    return PES_OK;
}
