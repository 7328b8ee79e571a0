/* forward_parts.h - what the files of the forward pass share. */
#ifndef PESWEEP_PRETRAINED_FORWARD_PARTS_H
#define PESWEEP_PRETRAINED_FORWARD_PARTS_H

#include "forward.h"

/* What stands around attention, an architecture a row. */
struct body {
    const char *model_types;
    const char *positions; /* table added to the embedding, its first row is that of position -offset */
    int offset;
    const char *embed_norm;
    const char *second_norm, *gate, *up, *down;
    const char *final_norm;
    const char *activation; /* where config.json doesn't say */
};

enum activation { GELU, GELU_TANH, RELU, SILU };

struct forward {
    const struct pes_pretrained *model;
    const struct body *body;
    const struct pes_weight *embed, *unembed, *positions;
    size_t V, C;
    double epsilon;
    enum activation activation;
    bool parallel;
    int window; /* keys a query sees in layers with one; 0 = all */
    const json_t *layer_kinds;
    struct pes_arena *arena; /* scratch */
};

enum pes_status forward_block_norm(const struct forward *forward, int layer, const char *name, size_t rows,
                                   const double *x, double *out);

#endif
