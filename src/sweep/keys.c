/* keys.c - the core rows of the key table, and the assembly of the one table with the plug-ins' rows. */
#include "pesweep/sweep.h"

static const char *const activations[] = {"relu", "gelu", NULL};
static const char *const kv_sources[] = {"residual", "embedding", NULL};
static const char *const pads[] = {"attend", "mask", NULL};
static const char *const attentions[] = {"mha", "mla", NULL};
static const char *const inits[] = {"framework", "normal", NULL};
static const char *const schedules[] = {"constant", "linear", "cosine", NULL};
static const char *const decays[] = {"matrices", "all", NULL};
static const char *const ablations[] = {"each", "pairs", "lists", NULL};
static const char *const spacings[] = {"log", "linear", NULL};
static const char *const weights[] = {"final", "none", NULL};
static const char *const attention_types[] = {"f32", "none", NULL};

/* Rows by type; a NULL default means that the value must be given. */
#define BOOL_KEY(p, d, h)                                                                                    \
    {                                                                                                        \
        .path = p, .type = PES_VALUE_BOOL, .fallback = d, .unit = "", .help = h                              \
    }
#define INT_KEY(p, low, high, d, u, h)                                                                       \
    {                                                                                                        \
        .path = p, .type = PES_VALUE_INT, .min = low, .max = high, .fallback = d, .unit = u, .help = h       \
    }
#define REAL_KEY(p, low, high, open, d, u, h)                                                                \
    {                                                                                                        \
        .path = p, .type = PES_VALUE_REAL, .min = low, .max = high, .min_open = open, .fallback = d,         \
        .unit = u, .help = h                                                                                 \
    }
#define CHOICE_KEY(p, c, d, h)                                                                               \
    {                                                                                                        \
        .path = p, .type = PES_VALUE_CHOICE, .choices = c, .fallback = d, .unit = "", .help = h              \
    }
#define SET_KEY(p, d, h)                                                                                     \
    {                                                                                                        \
        .path = p, .type = PES_VALUE_SET, .fallback = d, .unit = "", .help = h                               \
    }
#define END                                                                                                  \
    {                                                                                                        \
        .path = NULL                                                                                         \
    }

/* Seeds stay within what a double holds exactly, since they become coordinates of the results file. */
#define LARGEST_SEED 9007199254740991.0

static const struct pes_key task_keys[] = {
    CHOICE_KEY("task.kind", pes_task_names, NULL, "task that the model learns"),
    INT_KEY("task.data_seed", 0, LARGEST_SEED, "0", "",
            "decides data, split into training and test, and order of batches"),
    END,
};

static const struct pes_key model_keys[] = {
    INT_KEY("model.layers", 1, 64, "2", "", "transformer blocks"),
    INT_KEY("model.d_model", 1, 16384, "64", "", "width of the residual stream"),
    INT_KEY("model.heads", 1, 64, "4", "", "attention heads of a block; they divide d_model"),
    INT_KEY("model.d_ff", 0, 65536, "128", "", "width of the feed-forward part; 0 = attention only"),
    CHOICE_KEY("model.activation", activations, "gelu", "activation of the feed-forward part"),
    BOOL_KEY("model.causal", "false", "queries see no later positions"),
    CHOICE_KEY("model.kv_source", kv_sources, "residual",
               "what keys and values are made from: the normalised stream, or the embedding in every layer"),
    CHOICE_KEY("model.pad", pads, "attend",
               "padding of short sequences: seen as tokens like any other, or masked out"),
    INT_KEY("model.max_length", 0, 65536, "0", "tokens",
            "longest sequence that position tables hold; 0 = the task's own length"),
    BOOL_KEY("model.final_norm", "true", "a norm before the output layer"),
    CHOICE_KEY("model.attention", attentions, "mha", "multi-head, or multi-head latent attention"),
    CHOICE_KEY("model.pe", pes_position_names, "nope", "positional scheme"),
    SET_KEY("model.pe_heads", "all", "heads that the scheme acts on, the others have none"),
    SET_KEY("model.pe_layers", "all", "layers in which the scheme acts"),
    CHOICE_KEY("model.symmetry", pes_symmetry_names, "none",
               "exact constraint on M = W_q^T W_k, by parameters"),
    CHOICE_KEY("model.value_symmetry", pes_symmetry_names, "none",
               "exact constraint on each head's value-output product W_o W_v, by parameters"),
    CHOICE_KEY("model.penalty.kind", pes_penalty_names, "none", "soft constraint on M, added to the loss"),
    CHOICE_KEY("model.init", inits, "framework",
               "initial weights: uniform within 1/sqrt(fan-in), or normal with one deviation"),
    END,
};
static const struct pes_key mla_keys[] = {
    INT_KEY("model.d_latent", 1, 16384, "32", "", "width of the latent that keys and values are made from"),
    INT_KEY("model.d_rope", 0, 1024, "16", "", "width of the decoupled rotary part of each head"),
    BOOL_KEY("model.latent_norm", "false", "an RMSNorm on each latent, as in the released models"),
    BOOL_KEY("model.published_rotation", "false",
             "read the table of sines and cosines as the published code does, which makes it no rotation"),
    BOOL_KEY("model.published_query", "false",
             "one rotary query for all heads, as the published code has it"),
    BOOL_KEY("model.published_positions", "false",
             "also add a learned vector per position, starting at 0, as the published code does"),
    END,
};
static const struct pes_key penalty_keys[] = {
    REAL_KEY("model.penalty.weight", 0, 1e6, true, "10", "",
             "weight of the penalty, a mean over heads and layers"),
    END,
};
static const struct pes_key normal_keys[] = {
    REAL_KEY("model.init_std", 0, 10, false, "0", "",
             "deviation of the initial weights; 0 = 0.8/sqrt(d_model)"),
    END,
};

static const struct pes_key train_keys[] = {
    INT_KEY("train.steps", 1, 1e8, NULL, "steps", "optimizer steps"),
    INT_KEY("train.batch", 1, 65536, "128", "sequences", "sequences of an optimizer step"),
    REAL_KEY("train.lr", 0, 10, true, "1e-3", "", "peak of the learning rate"),
    CHOICE_KEY("train.schedule", schedules, "cosine", "learning rate after warm-up"),
    REAL_KEY("train.warmup", 0, 1, false, "0", "share of steps",
             "linear warm-up: step s (from 0) of w has (s + 1)/w of the peak"),
    INT_KEY("train.warmup_steps", -1, 1e8, "-1", "steps",
            "the same as a number of steps; -1 = from train.warmup"),
    BOOL_KEY("train.published", "false", "warm-up as s/w, so that the first step has rate 0"),
    {.path = "train.betas",
     .type = PES_VALUE_REALS,
     .min = 0,
     .max = 0.999999999,
     .length = 2,
     .fallback = "[0.9, 0.999]",
     .unit = "",
     .help = "decay of AdamW's first and second moment"},
    REAL_KEY("train.eps", 0, 1, true, "1e-8", "", "added to the root of AdamW's second moment"),
    REAL_KEY("train.weight_decay", 0, 10, false, "0.01", "", "decoupled weight decay of AdamW"),
    CHOICE_KEY("train.decay", decays, "matrices", "what decays: weight matrices alone, or every parameter"),
    REAL_KEY("train.clip", 0, 1e9, false, "0", "", "largest norm of the gradient; 0 = no limit"),
    REAL_KEY("train.dropout", 0, 0.95, false, "0", "", "dropout of attention, blocks and embedding"),
    REAL_KEY("train.loss_bound", 0, 1e30, true, "1e4", "", "a training loss above it counts as diverged"),
    INT_KEY("train.micro_batch", 0, 65536, "0", "sequences",
            "sequences worked on at a time; 0 = by cache size"),
    INT_KEY("train.seed", 0, LARGEST_SEED, "0", "", "decides initial weights and dropout"),
    END,
};
static const struct pes_key falling_keys[] = {
    REAL_KEY("train.lr_min", 0, 10, false, "0", "", "learning rate that the schedule ends at"),
    INT_KEY("train.hold_steps", 0, 1e8, "0", "steps", "further steps at the peak before the rate falls"),
    END,
};

static const struct pes_key measure_keys[] = {
    INT_KEY("measure.evaluate_every", 0, 1e8, "0", "steps",
            "distance of the evaluations of loss and accuracy; 0 = about 100 of them"),
    INT_KEY("measure.evaluate_sequences", 0, 1e9, "512", "sequences",
            "test sequences of these evaluations, the last one apart, which takes all; 0 = all"),
    INT_KEY("measure.checkpoints", 2, 10000, "24", "",
            "checkpoints for spectra, behaviours and probes, first and last step included"),
    CHOICE_KEY("measure.checkpoint_spacing", spacings, "log", "spacing of the checkpoints over the steps"),
    BOOL_KEY("measure.spectra", "true", "spectral measures of every head"),
    BOOL_KEY("measure.behaviours", "true", "attention behaviours of every head"),
    BOOL_KEY("measure.ablate_heads", "true", "accuracy without each head"),
    CHOICE_KEY(
        "measure.ablate", ablations, "each",
        "what ablation takes away at the end: each head alone, or also every pair of heads of a block, "
        "or also the lists of measure.ablate_lists"),
    BOOL_KEY("measure.published_ablation", "false",
             "also ablate as the published code does: accuracy over training and test samples together, and "
             "under mla columns of the latents in place of heads"),
    BOOL_KEY("measure.phase_zeroing", "true", "accuracy without the sine terms of each rotating head"),
    BOOL_KEY("measure.symmetrisation", "true",
             "loss with the symmetric or antisymmetric part of each head's M alone"),
    INT_KEY("measure.attention_maps", 0, 1e6, "256", "sequences",
            "test sequences of the mean maps; 0 = no maps"),
    INT_KEY("measure.probe_sequences", 1, 1e6, "256", "sequences",
            "test sequences of the behaviours and probes at checkpoints"),
    INT_KEY("measure.contraction_sequences", 0, 1e6, "16", "sequences",
            "test sequences of the contraction of scores by position; 0 = not measured"),
    INT_KEY("measure.nulls", 0, 10000, "20", "", "draws of the matched null of each head; 0 = none"),
    END,
};

static const struct pes_key list_keys[] = {
    {.path = "measure.ablate_lists",
     .type = PES_VALUE_TEXT,
     .unit = "",
     .help =
         "lists of heads to be taken away together, each head as layer.head: '0.1 0.3, 1.0' has two lists"},
    END,
};

static const struct pes_key store_keys[] = {
    CHOICE_KEY("store.weights", weights, "final", "parameters of each trial in the results file"),
    CHOICE_KEY("store.attention", attention_types, "f32", "type of the mean attention maps and scores"),
    END,
};

/* In the order of the reference page: a plug-in's rows follow the choice that they belong to. */
static const struct pes_key_table *build(struct pes_arena *arena)
{
    struct pes_key_source sources[256];
    size_t used = 0;
#define ADD(rows, path, name)                                                                                \
    do {                                                                                                     \
        CHECK(used < PES_COUNT(sources));                                                                    \
        sources[used++] = (struct pes_key_source){rows, path, name};                                         \
    } while (0)
    ADD(task_keys, NULL, NULL);
    for (size_t i = 0; pes_tasks[i]; i++)
        ADD(pes_tasks[i]->keys, "task.kind", pes_tasks[i]->name);
    ADD(model_keys, NULL, NULL);
    ADD(mla_keys, "model.attention", "mla");
    ADD(normal_keys, "model.init", "normal");
    for (size_t i = 0; pes_penalties[i]; i++)
        if (pes_penalties[i]->head) ADD(penalty_keys, "model.penalty.kind", pes_penalties[i]->name);
    for (size_t i = 0; pes_positions[i]; i++)
        ADD(pes_positions[i]->keys, "model.pe", pes_positions[i]->name);
    ADD(train_keys, NULL, NULL);
    ADD(falling_keys, "train.schedule", "linear");
    ADD(falling_keys, "train.schedule", "cosine");
    ADD(measure_keys, NULL, NULL);
    ADD(list_keys, "measure.ablate", "lists");
    ADD(store_keys, NULL, NULL);
#undef ADD
    return pes_key_table_create(sources, used, arena);
}

/* The table is as constant as the rows; without memory for it nothing can be done at all. */
const struct pes_key_table *pes_sweep_keys(void)
{
    static struct pes_arena *volatile owner; /* volatile: a leak checker must find it */
    static const struct pes_key_table *table;
    if (!table) {
        owner = pes_arena_create();
        CHECK(owner);
        table = build(owner);
        CHECK(table);
    }
    return table;
}
