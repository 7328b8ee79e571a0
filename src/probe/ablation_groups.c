/* ablation_groups.c - accuracy and loss without several heads at once: every pair of heads of a layer, or
 * lists of heads that the sweep file names.
 *
 * Two heads that can stand in for each other cost little alone and much together. */
#include "probe.h"

#include <string.h>

#include "pesweep/text.h"

/* clang-format off */
static const struct pes_variable variables[] = {
    PES_EFFECT_VARIABLES("ablation_pair", "without both heads, on the whole test set; NaN for a head with itself",
                         3, {PES_DIM_LAYER, PES_DIM_HEAD, PES_DIM_OTHER_HEAD}),
    PES_EFFECT_VARIABLES("ablation_list", "without all heads of the list, on the whole test set", 1, {PES_DIM_LIST}),
    {.name = NULL},
};
/* clang-format on */

/* --- lists --------------------------------------------------------------------------------------------- */

/* "layer.head" at *text, moved past it. */
static enum pes_status read_head(const char **text, int L, int H, int *layer, int *head)
{
    long number[2];
    const char *c = *text;
    for (int i = 0; i < 2; i++) {
        int digits = 0;
        for (number[i] = 0; *c >= '0' && *c <= '9' && digits < 9; c++, digits++)
            number[i] = 10 * number[i] + (*c - '0');
        if (!digits || (!i && *c++ != '.'))
            return pes_fail(
                PES_INPUT,
                "measure.ablate_lists: heads are written layer.head, blanks between them and commas "
                "between lists, as in '0.1 0.3, 1.0'; this is not: '%s'",
                *text);
    }
    if (number[0] >= L || number[1] >= H)
        return pes_fail(
            PES_INPUT, "measure.ablate_lists names head %ld.%ld, but there are %d layers of %d heads, from 0",
            number[0], number[1], L, H);
    *layer = (int)number[0];
    *head = (int)number[1];
    *text = c;
    return PES_OK;
}

enum pes_status pes_probe_read_lists(const char *text, int L, int H, size_t *num_lists, uint64_t *sets)
{
    uint64_t set[64];
    size_t count = 0;
    CHECK(L <= (int)PES_COUNT(set));
    while (true) {
        size_t members = 0;
        memset(set, 0, sizeof set);
        for (text += strspn(text, " "); *text && *text != ','; text += strspn(text, " "), members++) {
            int layer, head;
            TRY(read_head(&text, L, H, &layer, &head));
            if (set[layer] >> head & 1)
                return pes_fail(PES_INPUT, "measure.ablate_lists has head %d.%d in a list twice", layer,
                                head);
            if (*text && *text != ',' && *text != ' ')
                return pes_fail(PES_INPUT, "measure.ablate_lists: a blank or a comma belongs before '%s'",
                                text);
            set[layer] |= UINT64_C(1) << head;
        }
        if (!members) return pes_fail(PES_INPUT, "measure.ablate_lists has a list without heads");
        if (sets) memcpy(sets + count * (size_t)L, set, (size_t)L * sizeof *sets);
        count++;
        if (!*text++) break;
    }
    *num_lists = count;
    return PES_OK;
}

/* --- measure ------------------------------------------------------------------------------------------- */

static bool wanted(const struct pes_config *settings)
{
    return strcmp(pes_config_text(settings, "measure.ablate"), "each") != 0;
}

static enum pes_status run_pairs(const struct pes_measurement *m)
{
    size_t L = (size_t)m->model->config.shape.L, H = (size_t)m->model->config.shape.H, count = 0;
    struct pes_probe_case *cases = pes_arena_take(m->arena, L * H * H / 2 + 1, sizeof *cases);
    struct pes_probe_effect *effects = pes_arena_take(m->arena, L * H * H / 2 + 1, sizeof *effects);
    if (!cases || !effects) return PES_MEMORY;
    for (size_t l = 0; l < L; l++)
        for (size_t h = 0; h < H; h++)
            for (size_t other = h + 1; other < H; other++, count++) {
                uint64_t *sets = pes_probe_single_head(m, l, h);
                if (!sets) return PES_MEMORY;
                sets[l] |= UINT64_C(1) << other;
                cases[count] = (struct pes_probe_case){(int)l, {.ablate = sets}};
            }
    TRY(pes_probe_compare(m, 0, pes_data_num_test(m->data), count, cases, effects));
    for (size_t l = 0; l < L; l++)
        for (size_t h = 0; h < H; h++)
            for (size_t other = h + 1; other < H; other++, effects++) {
                pes_probe_put(m, "probes", "ablation_pair", (size_t[]){l, h, other}, effects);
                pes_probe_put(m, "probes", "ablation_pair", (size_t[]){l, other, h}, effects);
            }
    return PES_OK;
}

static enum pes_status run_lists(const struct pes_measurement *m)
{
    const char *text = pes_config_text(m->settings, "measure.ablate_lists");
    int L = m->model->config.shape.L, H = m->model->config.shape.H;
    size_t count;
    TRY(pes_probe_read_lists(text, L, H, &count, NULL));
    uint64_t *sets = pes_arena_take(m->arena, count * (size_t)L, sizeof *sets);
    struct pes_probe_case *cases = pes_arena_take(m->arena, count, sizeof *cases);
    struct pes_probe_effect *effects = pes_arena_take(m->arena, count, sizeof *effects);
    if (!sets || !cases || !effects) return PES_MEMORY;
    TRY(pes_probe_read_lists(text, L, H, &count, sets));
    for (size_t c = 0; c < count; c++) {
        int first = 0;
        while (!sets[c * (size_t)L + (size_t)first])
            first++;
        cases[c] = (struct pes_probe_case){first, {.ablate = sets + c * (size_t)L}};
    }
    TRY(pes_probe_compare(m, 0, pes_data_num_test(m->data), count, cases, effects));
    for (size_t c = 0; c < count; c++)
        pes_probe_put(m, "probes", "ablation_list", &c, &effects[c]);
    return PES_OK;
}

static enum pes_status run(const struct pes_measurement *m)
{
    if (!m->final) return PES_OK;
    bool pairs = strcmp(pes_config_text(m->settings, "measure.ablate"), "pairs") == 0;
    return pairs ? run_pairs(m) : run_lists(m);
}

const struct pes_measure pes_measure_ablation_groups = {
    .name = "ablation_groups",
    .summary = "accuracy and loss without pairs of heads, or lists of heads",
    .source = "after Michel et al. 2019, arXiv 1905.10650, sec. 4: heads taken away together",
    .variables = variables,
    .wanted = wanted,
    .run = run,
};
