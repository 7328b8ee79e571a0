/* train_subject.h - a model of one of the benchmark's sizes with a batch, and the training step that is
 * timed.
 */
#ifndef PESWEEP_BENCH_TRAIN_SUBJECT_H
#define PESWEEP_BENCH_TRAIN_SUBJECT_H

#include "pesweep/model.h"
#include "pesweep/optimizer.h"

/* Layers, width, heads, feed-forward width (0 = attention only) and length; `pe` is the default choice. */
struct bench_size {
    const char *name;
    int layers, d_model, heads, d_ff, T, vocab, classes;
    bool causal;
    const char *pe;
};
extern const struct bench_size bench_sizes[]; /* ended by name NULL */

enum { MAX_SETTINGS = 16 };
struct bench_settings {
    const char *texts[MAX_SETTINGS]; /* "model.key=value", after the size's own */
    int batch, micro_batch, num_texts;
    double dropout;
};

enum { NUM_PHASES = 5 }; /* prepare, forward, backward, finish, optimizer */

/* One model with everything that a step needs. */
struct subject {
    struct pes_arena *arena;
    struct pes_model_config config;
    struct pes_optimizer optimizer;
    struct pes_model *model;
    struct pes_workspace *workspace;
    real *parameters, *gradient, *m, *v;
    struct pes_batch batch;
    int64_t labels;
    int micro_batch;
    uint32_t steps;
    double loss;
};

/* Everything lives in s->arena, which the caller has made and destroys. */
enum pes_status subject_make(struct subject *s, const struct bench_size *size, const char *pe,
                             const struct bench_settings *settings);

/* The batch, micro-batch by micro-batch: s->loss, and the gradient added to s->gradient if `backward`. */
void subject_run(struct subject *s, bool backward);

/* One step; adds its seconds by phase (forward and backward together under backward) and returns their sum.
 */
double subject_step(struct subject *s, double *phases);

/* Writes parameters, batch, loss and gradient before any step to a safetensors file: tensors under their own
 * names, "gradient.<name>", "batch.ids" [B, T], "batch.labels", "loss" [1]. */
enum pes_status subject_save(struct subject *s, const char *path);

#endif
