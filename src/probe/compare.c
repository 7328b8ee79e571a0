/* compare.c - the model with some heads changed against the model as it is, on the same sequences.
 *
 * The unchanged model runs once and keeps the stream that enters each layer and what its heads put out; a
 * changed one starts at the first layer that differs, with the heads that differ.  Work goes over a few
 * micro-batches at a time, so that preparing a change is paid once for all of them. */
#include "probe.h"

#include <math.h>
#include <stdio.h>

/* Bytes of kept streams, and micro-batches of a group at most. */
enum { STREAM_BYTES = 32 << 20, MOST_IN_GROUP = 32 };

/* Sums over sequences s of D_s (right answers lost), R_s (scored labels) and E_s (loss gained).  The first
 * two are small integers, so their sums are exact. */
struct sums {
    int64_t D, DD, DR;
    double E, EE, ER;
};

/* One micro-batch and what the unchanged model made of it. */
struct part {
    struct pes_batch batch;
    real *streams;    /* [L][N][C] */
    real *attended;   /* [L][N][C] */
    uint8_t *correct; /* [rows] */
    double *loss;     /* [rows] */
};

struct work {
    const struct pes_measurement *m;
    size_t rows_per_sequence;
    int64_t R, RR, sequences;
    struct sums *sums; /* [num_cases] */
    uint8_t *correct;  /* [rows] of the changed model */
    double *loss;
};

int64_t pes_probe_sequences(const struct pes_measurement *m, int64_t wanted)
{
    return PES_MIN(wanted, pes_data_num_test(m->data));
}

enum pes_status pes_probe_poll(const struct pes_measurement *m)
{
    return m->interrupted && m->interrupted(m->context) ? PES_STOPPED : PES_OK;
}

uint64_t *pes_probe_single_head(const struct pes_measurement *m, size_t layer, size_t head)
{
    uint64_t *sets = pes_arena_take(m->arena, (size_t)m->model->config.shape.L, sizeof *sets);
    if (sets) sets[layer] = UINT64_C(1) << head;
    return sets;
}

static bool is_scored(const struct pes_batch *batch, size_t row)
{
    return batch->labels[row] >= 0 && (!batch->scored || batch->scored[row]);
}

static void count_labels(struct work *work, const struct pes_batch *batch)
{
    for (size_t s = 0; s < (size_t)batch->B; s++) {
        int64_t R = 0;
        for (size_t r = s * work->rows_per_sequence; r < (s + 1) * work->rows_per_sequence; r++)
            R += is_scored(batch, r);
        work->R += R;
        work->RR += R * R;
        work->sequences++;
    }
}

static void add_differences(const struct work *work, const struct part *part, struct sums *sums)
{
    for (size_t s = 0; s < (size_t)part->batch.B; s++) {
        int64_t D = 0, R = 0;
        double E = 0;
        for (size_t r = s * work->rows_per_sequence; r < (s + 1) * work->rows_per_sequence; r++) {
            if (!is_scored(&part->batch, r)) continue;
            R++;
            D += (int64_t)part->correct[r] - (int64_t)work->correct[r];
            E += work->loss[r] - part->loss[r];
        }
        sums->D += D, sums->DD += D * D, sums->DR += D * R;
        sums->E += E, sums->EE += E * E, sums->ER += E * (double)R;
    }
}

/* Ratio estimator x = sum X_s / sum R_s with error sqrt(n/(n - 1) sum (X_s - x R_s)^2) / sum R_s (Cochran
 * 1977, section 6.4); with one label per sequence it is the mean and its paired standard error. */
static void ratio(double X, double XX, double XR, const struct work *work, double *mean, double *error)
{
    double R = (double)work->R, RR = (double)work->RR, n = (double)work->sequences;
    *mean = X / R;
    double residuals = XX - 2 * *mean * XR + *mean * *mean * RR;
    *error = sqrt(n / (n - 1) * PES_MAX(residuals, 0)) / R;
}

static enum pes_status take_part(const struct pes_measurement *m, int64_t first, int B, struct work *work,
                                 struct part *part)
{
    const struct pes_shape *shape = &m->model->config.shape;
    TRY(pes_data_sample_batch(m->data, first, B, m->arena, &part->batch));
    size_t rows = (size_t)B * work->rows_per_sequence;
    size_t kept = (size_t)shape->L * (size_t)(B * part->batch.T) * (size_t)shape->C;
    part->streams = pes_arena_take(m->arena, kept, sizeof(real));
    part->attended = pes_arena_take(m->arena, kept, sizeof(real));
    part->correct = pes_arena_take(m->arena, rows, sizeof *part->correct);
    part->loss = pes_arena_take(m->arena, rows, sizeof *part->loss);
    if (!part->streams || !part->attended || !part->correct || !part->loss) return PES_MEMORY;
    struct pes_pass pass = {.streams = part->streams,
                            .attended = part->attended,
                            .save_streams = true,
                            .row_correct = part->correct,
                            .row_loss = part->loss};
    struct pes_loss loss = {0};
    pes_model_run(m->model, m->workspace, &part->batch, &pass, &loss);
    count_labels(work, &part->batch);
    return pes_probe_poll(m);
}

static enum pes_status run_case(const struct pes_measurement *m, const struct pes_probe_case *one,
                                struct work *work, const struct part *parts, size_t num_parts,
                                struct sums *sums)
{
    pes_model_prepare(m->model, m->workspace, m->parameters, &one->change);
    for (size_t p = 0; p < num_parts; p++) {
        struct pes_pass pass = {.streams = parts[p].streams,
                                .attended = parts[p].attended,
                                .first_layer = one->first_layer,
                                .row_correct = work->correct,
                                .row_loss = work->loss};
        struct pes_loss loss = {0};
        pes_model_run(m->model, m->workspace, &parts[p].batch, &pass, &loss);
        add_differences(work, &parts[p], sums);
        TRY(pes_probe_poll(m));
    }
    return PES_OK;
}

enum pes_status pes_probe_compare(const struct pes_measurement *m, int64_t first, int64_t end,
                                  size_t num_cases, const struct pes_probe_case *cases,
                                  struct pes_probe_effect *effects)
{
    const struct pes_shape *shape = &m->model->config.shape;
    size_t T = (size_t)pes_data_shape(m->data)->T, micro = (size_t)m->micro_batch;
    struct work work = {.m = m, .rows_per_sequence = m->model->config.objective == PES_OBJECTIVE_LM ? T : 1};
    work.sums = pes_arena_take(m->arena, num_cases, sizeof *work.sums);
    work.correct = pes_arena_take(m->arena, micro * work.rows_per_sequence, sizeof *work.correct);
    work.loss = pes_arena_take(m->arena, micro * work.rows_per_sequence, sizeof *work.loss);
    if (!work.sums || !work.correct || !work.loss) return PES_MEMORY;

    size_t stream_bytes = 2 * (size_t)shape->L * micro * T * (size_t)shape->C * sizeof(real);
    size_t group = PES_MIN(PES_MAX(STREAM_BYTES / stream_bytes, 1), MOST_IN_GROUP);
    struct part parts[MOST_IN_GROUP];
    while (first < end) {
        struct pes_arena_mark mark = pes_arena_mark(m->arena);
        pes_model_prepare(m->model, m->workspace, m->parameters, NULL);
        size_t num_parts = 0;
        for (; num_parts < group && first < end; num_parts++) {
            int B = (int)PES_MIN((int64_t)micro, end - first);
            TRY(take_part(m, first, B, &work, &parts[num_parts]));
            first += B;
        }
        for (size_t c = 0; c < num_cases; c++)
            TRY(run_case(m, &cases[c], &work, parts, num_parts, &work.sums[c]));
        pes_arena_rewind(m->arena, mark);
    }
    for (size_t c = 0; c < num_cases; c++) {
        const struct sums *s = &work.sums[c];
        ratio((double)s->D, (double)s->DD, (double)s->DR, &work, &effects[c].drop, &effects[c].drop_error);
        ratio(s->E, s->EE, s->ER, &work, &effects[c].loss_change, &effects[c].loss_change_error);
        effects[c].lost = s->D;
        effects[c].scored = work.R;
    }
    return PES_OK;
}

void pes_probe_put(const struct pes_measurement *m, const char *group, const char *name, const size_t *at,
                   const struct pes_probe_effect *effect)
{
    const struct {
        const char *what;
        double value;
    } numbers[] = {{"drop", effect->drop},
                   {"drop_error", effect->drop_error},
                   {"loss_change", effect->loss_change},
                   {"loss_change_error", effect->loss_change_error}};
    for (size_t i = 0; i < PES_COUNT(numbers); i++) {
        char full[64];
        snprintf(full, sizeof full, "%s_%s", name, numbers[i].what);
        pes_row_put(m->row, group, full, at, numbers[i].value);
    }
}
