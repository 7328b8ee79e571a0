/* forward.c - blocks of transformers around the heads of pes_pretrained_head.
 *
 *   x' = x + attention(n1(x));  x'' = x' + mlp(n2(x'))   or side by side:  x'' = x + attention(n1(x)) +
 * mlp(n2(x)) */
#include "forward_parts.h"

#include <math.h>
#include <string.h>

#include "pesweep/linalg.h"

enum { ROWS_AT_ONCE = 1024 };

/* Names as in architectures.c. */
static const struct body bodies[] = {
    {"gpt2", "wpe.weight", 0, NULL, "ln_2", NULL, "mlp.c_fc", "mlp.c_proj", "ln_f", "gelu_new"},
    {"gpt_neo", "wpe.weight", 0, NULL, "ln_2", NULL, "mlp.c_fc", "mlp.c_proj", "ln_f", "gelu_new"},
    {"gpt_neox", NULL, 0, NULL, "post_attention_layernorm", NULL, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h",
     "final_layer_norm", "gelu"},
    {"bloom", NULL, 0, "word_embeddings_layernorm", "post_attention_layernorm", NULL, "mlp.dense_h_to_4h",
     "mlp.dense_4h_to_h", "ln_f", "gelu_new"},
    {"opt", "embed_positions.weight", 2, NULL, "final_layer_norm", NULL, "fc1", "fc2", "final_layer_norm",
     "relu"},
    {"llama mistral qwen2", NULL, 0, NULL, "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj",
     "mlp.down_proj", "norm", "silu"},
};

/* --- preparation --- */

static const struct pes_weight *find_whole(const struct pes_pretrained *model, const char *name,
                                           bool prefixed)
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", prefixed ? model->prefix : "", name);
    return pes_weights_find(model->weights, path);
}

static enum pes_status read_activation(struct forward *forward)
{
    static const struct {
        const char *name;
        enum activation activation;
    } known[] = {
        {"gelu", GELU}, {"gelu_new", GELU_TANH}, {"gelu_fast", GELU_TANH}, {"gelu_pytorch_tanh", GELU_TANH},
        {"relu", RELU}, {"silu", SILU},          {"swish", SILU}};
    const char *name = json_string_value(
        checkpoint_key(forward->model->config, "activation_function hidden_act hidden_activation"));
    if (!name) name = forward->body->activation;
    for (size_t i = 0; i < PES_COUNT(known); i++)
        if (!strcmp(name, known[i].name)) {
            forward->activation = known[i].activation;
            return PES_OK;
        }
    char safe[96];
    return pes_fail(PES_INPUT, "%s: the activation '%s' is unknown", forward->model->config_path,
                    pes_weight_safe_name(name, safe));
}

static enum pes_status find_tables(struct forward *forward)
{
    const struct pes_pretrained *model = forward->model;
    const struct body *body = forward->body;
    forward->C = (size_t)model->about.C;
    forward->embed = find_whole(model, model->architecture->embed, true);
    forward->unembed = find_whole(model, model->architecture->head, false);
    if (!forward->unembed) forward->unembed = forward->embed;
    const struct pes_weight *const both[] = {forward->embed, forward->unembed};
    for (size_t i = 0; i < 2; i++)
        if (!both[i] || both[i]->rank != 2 || both[i]->shape[1] != forward->C)
            return pes_fail(PES_INPUT, "%s: there is no table '%s%s' of width %zu", model->about.path,
                            model->prefix, model->architecture->embed, forward->C);
    if (forward->embed->shape[0] != forward->unembed->shape[0])
        return pes_fail(PES_INPUT, "%s: embedding and output matrix have different vocabularies",
                        model->about.path);
    forward->V = (size_t)forward->embed->shape[0];
    if (!body->positions) return PES_OK;
    forward->positions = find_whole(model, body->positions, true);
    if (!forward->positions || forward->positions->rank != 2 || forward->positions->shape[1] != forward->C)
        return pes_fail(PES_INPUT, "%s: there is no table '%s%s' of width %zu", model->about.path,
                        model->prefix, body->positions, forward->C);
    return PES_OK;
}

static const struct body *find_body(const struct pes_pretrained *model)
{
    for (size_t i = 0; i < PES_COUNT(bodies) && model->architecture; i++)
        if (!strcmp(bodies[i].model_types, model->architecture->model_types)) return &bodies[i];
    return NULL;
}

enum pes_status forward_create(const struct pes_pretrained *model, struct pes_arena *arena,
                               struct forward **out)
{
    struct forward *forward = pes_arena_take(arena, 1, sizeof *forward);
    if (!forward) return PES_MEMORY;
    forward->model = model;
    forward->arena = arena;
    forward->body = find_body(model);
    if (!forward->body)
        return pes_fail(
            PES_INPUT,
            "%s: %s has no forward pass here; gpt2, gpt_neo, gpt_neox, bloom, opt, llama, mistral "
            "and qwen2 have",
            model->about.path, model->about.architecture);
    if (model->post_norm || checkpoint_flag(model, "apply_residual_connection_post_layernorm", false))
        return pes_fail(PES_INPUT, "%s: blocks with the norm behind attention have no forward pass here",
                        model->config_path);
    forward->epsilon = checkpoint_real(model->config, "layer_norm_epsilon layer_norm_eps rms_norm_eps", 1e-5);
    forward->parallel = !strcmp(model->architecture->model_types, "gpt_neox") &&
                        checkpoint_flag(model, "use_parallel_residual", true);
    forward->layer_kinds = checkpoint_key(model->config, "attention_layers layer_types");
    /* One window for all layers, unless a list names those that have it. */
    if (forward->layer_kinds || !strcmp(model->about.architecture, "mistral"))
        forward->window = (int)checkpoint_real(model->config, "window_size sliding_window", 0);
    TRY(read_activation(forward));
    *out = forward;
    return find_tables(forward);
}

size_t forward_vocabulary(const struct forward *forward)
{
    return forward->V;
}

int32_t forward_beginning(const struct forward *forward)
{
    double token = checkpoint_real(forward->model->config, "bos_token_id eos_token_id", 0);
    return token >= 0 && token < (double)forward->V ? (int32_t)token : 0;
}

/* --- norms and matrices --- */

/* out[rows, C] = norm(x), by the tensors `name`.weight and, if there is one, `name`.bias. */
static enum pes_status normalise(const struct forward *forward, const struct pes_weight *weight,
                                 const struct pes_weight *bias, size_t rows, const double *x, double *out)
{
    size_t C = forward->C;
    bool centred = forward->model->architecture->norm == NORM_LAYER;
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    double *gain = pes_arena_take(forward->arena, C, sizeof *gain),
           *shift = pes_arena_take(forward->arena, C, sizeof *shift);
    if (!gain || !shift) return PES_MEMORY;
    if (weight->count != C || (bias && bias->count != C))
        return pes_fail(PES_INPUT, "%s: '%s' is not %zu numbers", weight->file, weight->name, C);
    TRY(pes_weight_read(weight, 0, C, gain));
    if (bias) TRY(pes_weight_read(bias, 0, C, shift));
    for (size_t n = 0; n < rows; n++) {
        const double *row = x + n * C;
        double mean = 0, square = 0;
        for (size_t c = 0; c < C && centred; c++)
            mean += row[c] / (double)C;
        for (size_t c = 0; c < C; c++)
            square += (row[c] - mean) * (row[c] - mean);
        double scale = 1 / sqrt(square / (double)C + forward->epsilon);
        for (size_t c = 0; c < C; c++)
            out[n * C + c] = (row[c] - mean) * scale * gain[c] + shift[c];
    }
    pes_arena_rewind(forward->arena, mark);
    return PES_OK;
}

enum pes_status forward_block_norm(const struct forward *forward, int layer, const char *name, size_t rows,
                                   const double *x, double *out)
{
    const struct pes_weight *weight;
    TRY(checkpoint_need(forward->model, layer, name, ".weight", forward->C, 0, &weight));
    return normalise(forward, weight, checkpoint_find(forward->model, layer, name, ".bias"), rows, x, out);
}

static enum pes_status whole_norm(const struct forward *forward, const char *name, size_t rows,
                                  const double *x, double *out)
{
    char full[128];
    snprintf(full, sizeof full, "%s.weight", name);
    const struct pes_weight *weight = find_whole(forward->model, full, true);
    if (!weight)
        return pes_fail(PES_INPUT, "%s: there is no tensor '%s%s'", forward->model->about.path,
                        forward->model->prefix, full);
    snprintf(full, sizeof full, "%s.bias", name);
    return normalise(forward, weight, find_whole(forward->model, full, true), rows, x, out);
}

/* out[rows, outputs] = x[rows, inputs] W^T, W a block of rows at a time; transposed: W is stored [inputs,
 * outputs]. */
static enum pes_status multiply(const struct forward *forward, const struct pes_weight *weight,
                                bool transposed, size_t rows, size_t inputs, size_t outputs, const double *x,
                                double *out)
{
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    size_t length = transposed ? inputs : outputs, width = transposed ? outputs : inputs;
    double *block =
        pes_arena_take(forward->arena, PES_MIN(length, (size_t)ROWS_AT_ONCE) * width, sizeof *block);
    if (!block) return PES_MEMORY;
    for (size_t first = 0; first < length; first += ROWS_AT_ONCE) {
        size_t count = PES_MIN(length - first, (size_t)ROWS_AT_ONCE);
        TRY(checkpoint_rows(weight, first, count, width, block));
        if (transposed)
            pes_dgemm(false, false, rows, outputs, count, 1, x + first, inputs, block, width, first ? 1 : 0,
                      out, outputs);
        else
            pes_dgemm(false, true, rows, count, inputs, 1, x, inputs, block, width, 0, out + first, outputs);
    }
    pes_arena_rewind(forward->arena, mark);
    return PES_OK;
}

/* The same by a layer's tensors, with the bias if there is one. */
static enum pes_status apply(const struct forward *forward, int layer, const char *name, size_t rows,
                             size_t inputs, size_t outputs, const double *x, double *out)
{
    const struct pes_weight *weight, *bias = checkpoint_find(forward->model, layer, name, ".bias");
    bool transposed = forward->model->architecture->transposed;
    TRY(checkpoint_need(forward->model, layer, name, ".weight", transposed ? inputs : outputs,
                        transposed ? outputs : inputs, &weight));
    TRY(multiply(forward, weight, transposed, rows, inputs, outputs, x, out));
    if (!bias) return PES_OK;
    TRY(checkpoint_need(forward->model, layer, name, ".bias", outputs, 0, &bias));
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    double *shift = pes_arena_take(forward->arena, outputs, sizeof *shift);
    if (!shift) return PES_MEMORY;
    TRY(pes_weight_read(bias, 0, outputs, shift));
    for (size_t i = 0; i < rows * outputs; i++)
        out[i] += shift[i % outputs];
    pes_arena_rewind(forward->arena, mark);
    return PES_OK;
}

/* --- ends --- */

enum pes_status forward_embed(const struct forward *forward, size_t S, size_t T, const int32_t *tokens,
                              double *x)
{
    size_t C = forward->C;
    if (forward->positions && T + (size_t)forward->body->offset > forward->positions->shape[0])
        return pes_fail(PES_INPUT, "%s: %zu tokens are more than its table of positions has",
                        forward->model->about.path, T);
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    double *position = pes_arena_take(forward->arena, C, sizeof *position);
    if (!position) return PES_MEMORY;
    for (size_t n = 0; n < S * T; n++) {
        CHECK(tokens[n] >= 0 && (size_t)tokens[n] < forward->V);
        TRY(checkpoint_rows(forward->embed, (size_t)tokens[n], 1, C, x + n * C));
        if (!forward->positions) continue;
        TRY(checkpoint_rows(forward->positions, n % T + (size_t)forward->body->offset, 1, C, position));
        for (size_t c = 0; c < C; c++)
            x[n * C + c] += position[c];
    }
    pes_arena_rewind(forward->arena, mark);
    return forward->body->embed_norm ? whole_norm(forward, forward->body->embed_norm, S * T, x, x) : PES_OK;
}

enum pes_status forward_logits(const struct forward *forward, size_t rows, const double *x, double *logits)
{
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    double *normed = pes_arena_take(forward->arena, rows * forward->C, sizeof *normed);
    if (!normed) return PES_MEMORY;
    TRY(whole_norm(forward, forward->body->final_norm, rows, x, normed));
    TRY(multiply(forward, forward->unembed, false, rows, forward->C, forward->V, normed, logits));
    pes_arena_rewind(forward->arena, mark);
    return PES_OK;
}

/* --- behind attention --- */

static double activate(const struct forward *forward, double x)
{
    switch (forward->activation) {
    case GELU:
        return 0.5 * x * (1 + erf(x / sqrt(2)));
    case GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case RELU:
        return x > 0 ? x : 0;
    case SILU:
    default:
        return x / (1 + exp(-x));
    }
}

/* Width of the hidden layer: the file's own. */
static enum pes_status hidden_width(const struct forward *forward, int layer, size_t *F)
{
    const struct pes_weight *weight = checkpoint_find(forward->model, layer, forward->body->up, ".weight");
    if (!weight || weight->rank != 2)
        return pes_fail(PES_INPUT, "%s: layer %d has no matrix '%s.weight'", forward->model->about.path,
                        layer, forward->body->up);
    *F = (size_t)weight->shape[forward->model->architecture->transposed];
    return PES_OK;
}

static enum pes_status add_mlp(const struct forward *forward, int layer, size_t rows, const double *normed,
                               double *x)
{
    size_t C = forward->C, F = 0;
    TRY(hidden_width(forward, layer, &F));
    double *hidden = pes_arena_take(forward->arena, rows * F, sizeof *hidden), *gate = NULL;
    double *out = pes_arena_take(forward->arena, rows * C, sizeof *out);
    if (!hidden || !out) return PES_MEMORY;
    TRY(apply(forward, layer, forward->body->up, rows, C, F, normed, hidden));
    if (forward->body->gate) {
        gate = pes_arena_take(forward->arena, rows * F, sizeof *gate);
        if (!gate) return PES_MEMORY;
        TRY(apply(forward, layer, forward->body->gate, rows, C, F, normed, gate));
    }
    for (size_t i = 0; i < rows * F; i++)
        hidden[i] = gate ? hidden[i] * activate(forward, gate[i]) : activate(forward, hidden[i]);
    TRY(apply(forward, layer, forward->body->down, rows, F, C, hidden, out));
    for (size_t i = 0; i < rows * C; i++)
        x[i] += out[i];
    return PES_OK;
}

enum pes_status forward_finish(const struct forward *forward, int layer, size_t rows, const double *attention,
                               double *x)
{
    size_t C = forward->C;
    struct pes_arena_mark mark = pes_arena_mark(forward->arena);
    double *normed = pes_arena_take(forward->arena, rows * C, sizeof *normed);
    if (!normed) return PES_MEMORY;
    if (forward->parallel)
        TRY(forward_block_norm(forward, layer, forward->body->second_norm, rows, x, normed));
    for (size_t i = 0; i < rows * C; i++)
        x[i] += attention[i];
    if (!forward->parallel)
        TRY(forward_block_norm(forward, layer, forward->body->second_norm, rows, x, normed));
    TRY(add_mlp(forward, layer, rows, normed, x));
    pes_arena_rewind(forward->arena, mark);
    return PES_OK;
}
