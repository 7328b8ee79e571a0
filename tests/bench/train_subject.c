/* train_subject.c - see train_subject.h. */
#include "train_subject.h"

#include "machine.h"
#include "pesweep/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct bench_size bench_sizes[] = {
    {"small", 2, 64, 4, 128, 32, 1000, 10, false, "learned"},
    {"medium", 4, 128, 8, 512, 64, 1000, 10, false, "learned"},
    {"published", 6, 256, 16, 512, 128, 1000, 10, false, "learned"},
    {"b4", 2, 128, 4, 0, 256, 64, 0, true, "learned,rope"}, /* language model: a class per token */
    {.name = NULL},
};

static enum pes_status set_number(struct pes_config *config, struct pes_arena *arena, const char *path,
                                  double value)
{
    char text[32];
    snprintf(text, sizeof text, "%g", value);
    return pes_config_set(config, arena, path, text);
}

static enum pes_status configure(struct subject *s, const struct bench_size *size, const char *pe,
                                 const struct bench_settings *settings)
{
    const struct pes_key_table *keys = pes_sweep_keys();
    struct pes_config *config = keys ? pes_config_create(keys, s->arena) : NULL;
    if (!config) return PES_MEMORY;
    TRY(pes_config_set(config, s->arena, "task.kind", size->classes ? "relative_distance" : "copy"));
    TRY(pes_config_set(config, s->arena, "model.pe", pe));
    TRY(pes_config_set(config, s->arena, "model.causal", size->causal ? "true" : "false"));
    TRY(set_number(config, s->arena, "model.layers", size->layers));
    TRY(set_number(config, s->arena, "model.d_model", size->d_model));
    TRY(set_number(config, s->arena, "model.heads", size->heads));
    TRY(set_number(config, s->arena, "model.d_ff", size->d_ff));
    TRY(pes_config_set(config, s->arena, "model.activation", "relu"));
    TRY(set_number(config, s->arena, "train.dropout", settings->dropout));
    TRY(pes_config_set(config, s->arena, "train.lr", "1e-4"));
    TRY(pes_config_set(config, s->arena, "train.steps", "1000000"));
    for (int i = 0; i < settings->num_texts; i++) {
        char *path = pes_arena_copy_text(s->arena, settings->texts[i]),
             *equals = path ? strchr(path, '=') : NULL;
        if (!equals) return pes_fail(PES_INPUT, "%s: a setting is written key=value", settings->texts[i]);
        *equals = 0;
        TRY(pes_config_set(config, s->arena, path, equals + 1));
    }
    TRY(pes_config_resolve(config, s->arena));
    struct pes_task_shape task = {.T = size->T,
                                  .V = size->vocab,
                                  .classes = size->classes ? size->classes : size->vocab,
                                  .objective = size->classes ? PES_OBJECTIVE_CLASSIFY : PES_OBJECTIVE_LM};
    TRY(pes_model_configure(config, &task, &s->config));
    return pes_optimizer_configure(config, &s->optimizer);
}

/* Random tokens and labels. */
static enum pes_status fill_batch(struct subject *s, int B)
{
    const struct pes_shape *shape = &s->config.shape;
    struct pes_stream stream = {{1, PES_RNG_TEST, 0}, 0};
    bool lm = s->config.objective == PES_OBJECTIVE_LM;
    size_t tokens = (size_t)B * (size_t)shape->T, labels = lm ? tokens : (size_t)B;
    int32_t *ids = pes_arena_take(s->arena, tokens, sizeof *ids),
            *wanted = pes_arena_take(s->arena, labels, sizeof *ids);
    if (!ids || !wanted) return PES_MEMORY;
    for (size_t i = 0; i < tokens; i++)
        ids[i] = (int32_t)pes_stream_below(&stream, (uint64_t)shape->V);
    for (size_t i = 0; i < labels; i++)
        wanted[i] = (int32_t)pes_stream_below(&stream, (uint64_t)shape->classes);
    s->batch = (struct pes_batch){.B = B, .T = shape->T, .ids = ids, .labels = wanted};
    s->labels = (int64_t)labels;
    return PES_OK;
}

enum pes_status subject_make(struct subject *s, const struct bench_size *size, const char *pe,
                             const struct bench_settings *settings)
{
    TRY(configure(s, size, pe, settings));
    TRY(pes_model_create(&s->config, s->arena, &s->model));
    int usual = settings->micro_batch ? settings->micro_batch : pes_model_micro_batch(&s->config);
    s->micro_batch = PES_MIN(usual, settings->batch);
    TRY(pes_workspace_create(s->model, s->micro_batch, true, s->arena, &s->workspace));
    size_t count = s->model->tensors.num_parameters;
    s->parameters = pes_arena_take(s->arena, count, sizeof(real));
    s->gradient = pes_arena_take(s->arena, count, sizeof(real));
    s->m = pes_arena_take(s->arena, count, sizeof(real));
    s->v = pes_arena_take(s->arena, count, sizeof(real));
    if (!s->parameters || !s->gradient || !s->m || !s->v) return PES_MEMORY;
    pes_model_init(s->model, 1, s->parameters);
    return fill_batch(s, settings->batch);
}

void subject_run(struct subject *s, bool backward)
{
    const int T = s->batch.T, per_sequence = s->config.objective == PES_OBJECTIVE_LM ? T : 1;
    struct pes_pass pass = {.gradient = backward ? s->gradient : NULL,
                            .scale = 1.0 / (double)s->labels,
                            .training = true,
                            .seed = 1,
                            .step = s->steps};
    struct pes_loss loss = {0};
    for (int first = 0; first < s->batch.B; first += s->micro_batch) {
        struct pes_batch part = s->batch;
        part.B = PES_MIN(s->micro_batch, s->batch.B - first);
        part.ids += first * T;
        part.labels += first * per_sequence;
        part.first += (uint64_t)first;
        pes_model_run(s->model, s->workspace, &part, &pass, &loss);
    }
    s->loss = loss.sum / (double)loss.count;
}

double subject_step(struct subject *s, double *phases)
{
    double times[NUM_PHASES + 1] = {machine_now()};
    memset(s->gradient, 0, s->model->tensors.num_parameters * sizeof(real));
    pes_model_prepare(s->model, s->workspace, s->parameters, NULL);
    times[1] = times[2] = machine_now();
    subject_run(s, true);
    times[3] = machine_now();
    (void)pes_model_finish(s->model, s->workspace, s->gradient);
    times[4] = machine_now();
    s->steps++;
    (void)pes_optimizer_step(&s->optimizer, &s->model->tensors, s->optimizer.lr, s->steps, s->parameters,
                             s->m, s->v, s->gradient);
    times[5] = machine_now();
    for (int p = 0; p < NUM_PHASES; p++)
        phases[p] += times[p + 1] - times[p];
    return times[NUM_PHASES] - times[0];
}

/* --- for other programs -------------------------------------------------------------------------------- */

struct entry {
    const char *prefix, *name, *type;
    const void *data;
    size_t shape[3], rank, element_bytes;
};

static size_t entry_bytes(const struct entry *entry)
{
    size_t bytes = entry->element_bytes;
    for (size_t d = 0; d < entry->rank; d++)
        bytes *= entry->shape[d];
    return bytes;
}

static void put_entry(FILE *file, const struct entry *entry, bool first, size_t offset)
{
    fprintf(file, "%s\"%s%s\":{\"dtype\":\"%s\",\"shape\":[", first ? "" : ",", entry->prefix, entry->name,
            entry->type);
    for (size_t d = 0; d < entry->rank; d++)
        fprintf(file, "%s%zu", d ? "," : "", entry->shape[d]);
    fprintf(file, "],\"data_offsets\":[%zu,%zu]}", offset, offset + entry_bytes(entry));
}

static size_t put_header(FILE *file, const struct entry *entries, size_t count)
{
    size_t offset = 0;
    long start = ftell(file);
    fputc('{', file);
    for (size_t i = 0; i < count; i++) {
        put_entry(file, &entries[i], i == 0, offset);
        offset += entry_bytes(&entries[i]);
    }
    fputc('}', file);
    return (size_t)(ftell(file) - start);
}

enum pes_status subject_save(struct subject *s, const char *path)
{
    const struct pes_tensor_table *table = &s->model->tensors;
    const char *type = sizeof(real) == sizeof(double) ? "F64" : "F32";
    size_t count = 0, B = (size_t)s->batch.B, T = (size_t)s->batch.T;
    struct entry *entries = pes_arena_take(s->arena, 2 * table->num_tensors + 3, sizeof *entries);
    if (!entries) return PES_MEMORY;
    memset(s->gradient, 0, table->num_parameters * sizeof(real));
    pes_model_prepare(s->model, s->workspace, s->parameters, NULL);
    subject_run(s, true);
    (void)pes_model_finish(s->model, s->workspace, s->gradient);
    for (size_t t = 0; t < 2 * table->num_tensors; t++) {
        const struct pes_tensor *tensor = &table->tensors[t / 2];
        const real *values = t % 2 ? s->gradient : s->parameters;
        struct entry *entry = &entries[count++];
        *entry = (struct entry){t % 2 ? "gradient." : "", tensor->name, type, values + tensor->offset, {0},
                                (size_t)tensor->rank,     sizeof(real)};
        memcpy(entry->shape, tensor->shape, entry->rank * sizeof *entry->shape);
    }
    entries[count++] = (struct entry){"", "batch.ids", "I32", s->batch.ids, {B, T}, 2, sizeof(int32_t)};
    entries[count++] =
        (struct entry){"", "batch.labels", "I32", s->batch.labels, {(size_t)s->labels}, 1, sizeof(int32_t)};
    entries[count++] = (struct entry){"", "loss", "F64", &s->loss, {1}, 1, sizeof s->loss};
    FILE *file = fopen(path, "wb");
    if (!file) return pes_fail(PES_IO, "%s: %s", path, strerror(errno));
    /* The header's length stands before it: written twice, the second time in its place. */
    unsigned char length[8] = {0};
    fwrite(length, 1, sizeof length, file);
    size_t header = put_header(file, entries, count);
    for (size_t i = 0; i < count; i++)
        fwrite(entries[i].data, 1, entry_bytes(&entries[i]), file);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)header >> (8 * i));
    bool failed = fseek(file, 0, SEEK_SET) || fwrite(length, 1, sizeof length, file) != sizeof length;
    failed = ferror(file) || failed;
    failed = fclose(file) || failed;
    return failed ? pes_fail(PES_IO, "%s can't be written: %s", path, strerror(errno)) : PES_OK;
}
