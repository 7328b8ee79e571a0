/* inspect.c - the spectral measures of every head of a checkpoint, dealt out over the ranks.
 *
 * Each head is measured into a small row of its own, with one layer and one head; rank 0 puts the small rows
 * into the model's row.  Null draws of a head are its own streams, so results don't depend on who measures.
 */
#include <string.h>

#include "checkpoint.h"
#include "pesweep/comm.h"
#include "pesweep/log.h"
#include "pesweep/spectrum.h"

enum { TAG_ROWS = 20 };

static const char *const group_names[] = {"spectra", "spectra_folded"};

/* --- variables --- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

static bool is_wanted(const struct pes_variable *variable, const struct pes_inspection *inspection)
{
    bool folded = !strcmp(variable->group, group_names[1]);
    if (folded ? !inspection->folded : strcmp(variable->group, group_names[0]) || !inspection->raw)
        return false;
    if (!variable->rank) return false; /* the null of a size, not of a head */
    bool null = ends_with(variable->name, "_null_mean") || ends_with(variable->name, "_null_deviation") ||
                ends_with(variable->name, "_z");
    /* Needs the token tables, which no spectrum of a checkpoint reads. */
    return (!null || inspection->nulls) && strcmp(variable->name, "copying");
}

static size_t add_wanted(const struct pes_variable *from, const struct pes_inspection *inspection,
                         struct pes_variable *to)
{
    size_t count = 0;
    for (const struct pes_variable *v = from; v->name; v++) {
        if (!is_wanted(v, inspection)) continue;
        if (to) to[count] = *v;
        count++;
    }
    return count;
}

static enum pes_status make_layout(const size_t *size, const struct pes_inspection *inspection,
                                   const struct pes_variable *more, struct pes_arena *arena,
                                   struct pes_layout **layout)
{
    const struct pes_measure *const families[] = {&pes_measure_content, &pes_measure_phase,
                                                  inspection->composition ? &pes_measure_composition : NULL};
    size_t most = 1, used = 0;
    for (size_t f = 0; f < PES_COUNT(families); f++)
        if (families[f]) most += add_wanted(families[f]->variables, inspection, NULL);
    struct pes_variable *variables = pes_arena_take(arena, most, sizeof *variables);
    if (!variables) return PES_MEMORY;
    for (size_t f = 0; f < PES_COUNT(families); f++)
        if (families[f]) used += add_wanted(families[f]->variables, inspection, variables + used);
    const struct pes_variable *const arrays[] = {variables, more};
    return pes_layout_create(size, arrays, more ? 2 : 1, arena, layout);
}

enum pes_status pes_inspect_layout(const struct pes_pretrained *const *models, size_t num_models,
                                   const struct pes_inspection *inspection, const struct pes_variable *more,
                                   struct pes_arena *arena, struct pes_layout **layout)
{
    size_t size[PES_NUM_DIMENSIONS] = {[PES_DIM_RE_IM] = 2, [PES_DIM_PART] = 2};
    for (size_t m = 0; m < num_models; m++) {
        const struct pes_pretrained_about *about = &models[m]->about;
        size_t modes = (size_t)PES_MAX(about->D, inspection->composition ? about->Dv : 0);
        size[PES_DIM_LAYER] = PES_MAX(size[PES_DIM_LAYER], (size_t)about->L);
        size[PES_DIM_HEAD] = PES_MAX(size[PES_DIM_HEAD], (size_t)about->H);
        size[PES_DIM_MODE] = PES_MAX(size[PES_DIM_MODE], modes);
        size[PES_DIM_FREQUENCY] = PES_MAX(size[PES_DIM_FREQUENCY], (size_t)about->pairs);
    }
    if (inspection->composition) {
        size[PES_DIM_LAYER_FROM] = size[PES_DIM_LAYER];
        size[PES_DIM_HEAD_FROM] = size[PES_DIM_HEAD];
    }
    return make_layout(size, inspection, more, arena, layout);
}

/* --- one head --- */

struct place {
    const struct pes_inspection *inspection;
    const struct pes_row *row;
    const char *group;
    int layer, head;
    bool folded;
    struct pes_arena *arena;
};

static const size_t first[PES_MAX_RANK];

static void put(const struct place *place, const char *name, double value)
{
    pes_row_put(place->row, place->group, name, first, value);
}

static void put_block(const struct place *place, const char *name, int inner, const size_t *extent,
                      const double *block)
{
    pes_row_put_block(place->row, place->group, name, first, inner, extent, block);
}

static enum pes_status measure_null(const struct place *place, const struct pes_form *form,
                                    const struct pes_content *content)
{
    uint32_t step = (uint32_t)place->layer << 17 | (uint32_t)place->head << 1 | place->folded;
    const struct pes_rng rng = {place->inspection->seed, PES_RNG_NULL_MODEL, step};
    struct pes_null null;
    TRY(pes_spectrum_null_matched(form->n, content->singular_values, form->dimension,
                                  place->inspection->nulls, &rng, place->arena, &null));
#define X(ratio, unit, meaning)                                                                              \
    put(place, #ratio "_null_mean", null.mean[PES_RATIO_##ratio]);                                           \
    put(place, #ratio "_null_deviation", null.deviation[PES_RATIO_##ratio]);                                 \
    put(place, #ratio "_z", pes_spectrum_z(&null, PES_RATIO_##ratio, content->ratio));
    PES_CONTENT_RATIOS(X)
#undef X
    return PES_OK;
}

static enum pes_status measure_content(const struct place *place, const struct pes_head *head)
{
    struct pes_form form;
    struct pes_content content;
    TRY(pes_spectrum_form(head, place->folded, place->arena, &form));
    TRY(pes_spectrum_form_content(&form, place->inspection->seed, place->arena, &content));
#define X(name, unit, meaning) put(place, #name, content.name);
    PES_CONTENT_SCALARS(X)
#undef X
    put(place, "flags", content.flags);
    put_block(place, "eigenvalues", 2, (const size_t[]){form.n, 2}, content.eigenvalues);
    put_block(place, "singular_values", 1, &form.n, content.singular_values);
    return place->inspection->nulls ? measure_null(place, &form, &content) : PES_OK;
}

/* One of two eigenvalues of every frequency's matrix, values[pairs][2][re, im]. */
static enum pes_status put_eigenvalue(const struct place *place, const char *name, size_t pairs, size_t which,
                                      const double *values)
{
    double *block = pes_arena_take(place->arena, 2 * pairs, sizeof *block);
    if (!block) return PES_MEMORY;
    for (size_t t = 0; t < pairs; t++)
        memcpy(block + 2 * t, values + 4 * t + 2 * which, 2 * sizeof *block);
    put_block(place, name, 2, (const size_t[]){pairs, 2}, block);
    return PES_OK;
}

static enum pes_status measure_phase(const struct place *place, const struct pes_head *head)
{
    struct pes_phase phase;
    TRY(pes_spectrum_phase(head, place->folded, place->arena, &phase));
#define X(name, unit, meaning) put(place, #name, phase.name);
    PES_PHASE_SCALARS(X)
#undef X
    put(place, "phase_flags", phase.flags);
    size_t pairs = (size_t)phase.pairs;
    put_block(place, "angular_frequency", 1, &pairs, head->frequencies);
    put_block(place, "frequency_energy", 1, &pairs, phase.frequency_energy);
    put_block(place, "phase_energy", 1, &pairs, phase.phase_energy);
    put_block(place, "phase_angle", 1, &pairs, phase.phase_angle);
    TRY(put_eigenvalue(place, "real_eigenvalue_1", pairs, 0, phase.real_eigenvalues));
    TRY(put_eigenvalue(place, "real_eigenvalue_2", pairs, 1, phase.real_eigenvalues));
    TRY(put_eigenvalue(place, "imaginary_eigenvalue_1", pairs, 0, phase.imaginary_eigenvalues));
    return put_eigenvalue(place, "imaginary_eigenvalue_2", pairs, 1, phase.imaginary_eigenvalues);
}

static enum pes_status measure_values(const struct place *place, const struct pes_head *head)
{
    struct pes_form form;
    struct pes_content content;
    TRY(pes_spectrum_value_form(head, place->folded, place->arena, &form));
    TRY(pes_spectrum_form_content(&form, place->inspection->seed, place->arena, &content));
    put_block(place, "ov_eigenvalues", 2, (const size_t[]){form.n, 2}, content.eigenvalues);
    put_block(place, "ov_singular_values", 1, &form.n, content.singular_values);
    put(place, "ov_fro2", content.fro2);
    put(place, "ov_symmetry_score", content.symmetry_score);
    put(place, "ov_rotational_fraction", content.rotational_fraction);
    put(place, "ov_positive_fraction", content.positive_fraction);
    put(place, "ov_effective_rank", content.effective_rank);
    put(place, "ov_flags", content.flags);
    return PES_OK;
}

static enum pes_status measure_head(struct place place, const struct pes_head *head)
{
    for (int folded = 0; folded < 2; folded++) {
        if (!(folded ? place.inspection->folded : place.inspection->raw)) continue;
        place.folded = folded;
        place.group = group_names[folded];
        struct pes_arena_mark mark = pes_arena_mark(place.arena);
        TRY(measure_content(&place, head));
        if (head->pairs) TRY(measure_phase(&place, head));
        if (place.inspection->composition) TRY(measure_values(&place, head));
        pes_arena_rewind(place.arena, mark);
    }
    return PES_OK;
}

/* --- what is a layer's: sums over its heads, and how its heads read those of earlier layers --- */

static enum pes_status get_layer(const struct pes_pretrained *model, int layer, struct pes_arena *arena,
                                 struct pes_head **heads)
{
    *heads = pes_arena_take(arena, (size_t)model->about.H, sizeof **heads);
    if (!*heads) return PES_MEMORY;
    for (int h = 0; h < model->about.H; h++)
        TRY(pes_pretrained_head(model, layer, h, true, arena, &(*heads)[h]));
    return PES_OK;
}

static enum pes_status measure_sums(struct place place, int H, const struct pes_head *heads)
{
    for (int folded = 0; folded < 2; folded++) {
        if (!(folded ? place.inspection->folded : place.inspection->raw)) continue;
        place.group = group_names[folded];
        double symmetry, directionality;
        TRY(pes_spectrum_layer(H, heads, folded, place.arena, &symmetry, &directionality));
        put(&place, "layer_symmetry", symmetry);
        put(&place, "layer_directionality", directionality);
    }
    return PES_OK;
}

/* rows[H]: the small rows of the later layer's heads. */
static enum pes_status measure_composition(const struct pes_pretrained *model, int layer,
                                           const struct pes_head *later, const struct pes_row *rows,
                                           struct pes_arena *arena)
{
    size_t H = (size_t)model->about.H;
    double *scores = pes_arena_take(arena, H * H, sizeof *scores);
    if (!scores) return PES_MEMORY;
    for (int from = 0; from < layer; from++) {
        struct pes_arena_mark mark = pes_arena_mark(arena);
        struct pes_head *earlier;
        TRY(get_layer(model, from, arena, &earlier));
        TRY(pes_spectrum_k_composition((int)H, later, (int)H, earlier, arena, scores));
        const size_t index[] = {0, 0, (size_t)from, 0};
        for (size_t h = 0; h < H; h++)
            pes_row_put_block(&rows[h], "spectra_folded", "k_composition", index, 1, &H, scores + h * H);
        pes_arena_rewind(arena, mark);
    }
    return PES_OK;
}

/* --- ranks --- */

struct share {
    const struct pes_pretrained *model;
    const struct pes_inspection *inspection;
    struct pes_layout *layout; /* of small rows */
    int rank, size;
};

/* Whose a head is: heads go round, or whole layers where heads are measured together. */
static int owner(const struct share *share, int layer, int head)
{
    return (share->inspection->composition ? layer : layer * share->model->about.H + head) % share->size;
}

static size_t num_owned(const struct share *share, int rank)
{
    size_t count = 0;
    for (int layer = 0; layer < share->model->about.L; layer++)
        for (int h = 0; h < share->model->about.H; h++)
            count += owner(share, layer, h) == rank;
    return count;
}

static struct pes_row small_row(const struct share *share, unsigned char *rows, size_t number)
{
    return (struct pes_row){share->layout, rows + number * share->layout->row_bytes};
}

static enum pes_status measure_together(const struct share *share, int layer, unsigned char *rows,
                                        size_t number, struct pes_arena *arena)
{
    size_t H = (size_t)share->model->about.H;
    struct pes_head *heads;
    struct pes_row *each = pes_arena_take(arena, H, sizeof *each);
    if (!each) return PES_MEMORY;
    TRY(get_layer(share->model, layer, arena, &heads));
    for (size_t h = 0; h < H; h++)
        each[h] = small_row(share, rows, number + h);
    const struct place place = {share->inspection, &each[0], NULL, layer, 0, false, arena};
    TRY(measure_sums(place, (int)H, heads));
    return share->inspection->folded ? measure_composition(share->model, layer, heads, each, arena) : PES_OK;
}

static enum pes_status measure_share(const struct share *share, unsigned char *rows)
{
    struct pes_arena *arena = pes_arena_create();
    if (!arena) return PES_MEMORY;
    size_t number = 0, total = num_owned(share, share->rank);
    enum pes_status status = PES_OK;
    for (int layer = 0; layer < share->model->about.L && status == PES_OK; layer++)
        for (int h = 0; h < share->model->about.H && status == PES_OK; h++) {
            if (owner(share, layer, h) != share->rank) continue;
            struct pes_row row = small_row(share, rows, number);
            struct pes_arena_mark mark = pes_arena_mark(arena);
            struct pes_head head;
            pes_row_clear(&row);
            status =
                pes_pretrained_head(share->model, layer, h, share->inspection->composition, arena, &head);
            const struct place place = {share->inspection, &row, NULL, layer, h, false, arena};
            if (status == PES_OK) status = measure_head(place, &head);
            pes_arena_rewind(arena, mark);
            bool last = h == share->model->about.H - 1;
            number++;
            if (status == PES_OK && share->inspection->composition && last)
                status = measure_together(share, layer, rows, number - (size_t)share->model->about.H, arena);
            pes_arena_rewind(arena, mark);
            if (status == PES_OK && number == 1) {
                /* From now on one block holds all that a head takes: several would go back to the system
                 * after each head, which clears their pages. */
                if (!pes_arena_take(arena, 1, pes_arena_peak_bytes(arena))) status = PES_MEMORY;
                pes_arena_rewind(arena, mark);
            }
            if (share->rank == 0 && pes_log_progress_wanted()) {
                char text[96];
                snprintf(text, sizeof text, "%zu of %zu heads of this rank", number, total);
                pes_log_progress(text);
            }
        }
    pes_log_progress_end();
    pes_arena_destroy(arena);
    return status;
}

/* A small row into its place in the model's row: everything behind layer and head is contiguous. */
static void place_row(const struct pes_row *small, const struct pes_row *row, int layer, int head)
{
    for (size_t f = 0; f < small->layout->num_fields; f++) {
        const struct pes_field *from = &small->layout->fields[f];
        const struct pes_variable *variable = &from->variable;
        const struct pes_field *to = pes_layout_find(row->layout, variable->group, variable->name);
        CHECK(to && variable->dimensions[0] == PES_DIM_LAYER);
        bool by_head = variable->rank > 1 && variable->dimensions[1] == PES_DIM_HEAD;
        if (!by_head && head) continue;
        size_t bytes = from->count * pes_type_bytes(variable->type);
        size_t number = by_head ? (size_t)layer * to->extent[1] + (size_t)head : (size_t)layer;
        memcpy(row->bytes + to->offset + number * bytes, small->bytes + from->offset, bytes);
    }
}

static void place_share(const struct share *share, int rank, unsigned char *rows, const struct pes_row *row)
{
    size_t number = 0;
    for (int layer = 0; layer < share->model->about.L; layer++)
        for (int h = 0; h < share->model->about.H; h++)
            if (owner(share, layer, h) == rank) {
                struct pes_row small = small_row(share, rows, number++);
                place_row(&small, row, layer, h);
            }
}

/* Rank 0 takes the others' small rows, one rank after another. */
static enum pes_status gather(const struct share *share, unsigned char *rows, const struct pes_row *row)
{
    if (share->rank != 0) {
        size_t count = num_owned(share, share->rank);
        for (size_t i = 0; i < count; i++)
            TRY(pes_comm_send(0, TAG_ROWS, rows + i * share->layout->row_bytes, share->layout->row_bytes));
        return PES_OK;
    }
    place_share(share, 0, rows, row);
    for (int rank = 1; rank < share->size; rank++) {
        size_t count = num_owned(share, rank);
        unsigned char *received = pes_allocate(PES_MAX(count, (size_t)1), share->layout->row_bytes);
        if (!received) pes_comm_abort(pes_status_exit_code(PES_MEMORY));
        for (size_t i = 0; i < count; i++)
            pes_comm_receive(rank, TAG_ROWS, received + i * share->layout->row_bytes,
                             share->layout->row_bytes);
        place_share(share, rank, received, row);
        pes_free(received);
    }
    return PES_OK;
}

enum pes_status pes_inspect_run(const struct pes_pretrained *model, const struct pes_inspection *inspection,
                                const struct pes_row *row)
{
    size_t size[PES_NUM_DIMENSIONS];
    memcpy(size, row->layout->size, sizeof size);
    size[PES_DIM_LAYER] = size[PES_DIM_HEAD] = 1;
    struct share share = {
        .model = model, .inspection = inspection, .rank = pes_comm_rank(), .size = pes_comm_size()};
    struct pes_arena *arena = pes_arena_create();
    enum pes_status status = arena ? make_layout(size, inspection, NULL, arena, &share.layout) : PES_MEMORY;
    unsigned char *rows = NULL;
    if (status == PES_OK) {
        rows = pes_allocate(num_owned(&share, share.rank) + 1, share.layout->row_bytes);
        status = rows ? measure_share(&share, rows) : PES_MEMORY;
    }
    status = pes_comm_worst(status);
    if (status == PES_OK) status = gather(&share, rows, row);
    if (status == PES_OK && share.rank == 0) pes_spectrum_rank_heads(row, model->about.L, model->about.H);
    pes_free(rows);
    pes_arena_destroy(arena);
    return status;
}
