/* layout.c - the layout of a file as it describes itself. */
#include <string.h>

#include "describe.h"
#include "results.h"

enum pes_status results_read_texts(const struct results *results, const char *group, const char *name,
                                   struct pes_arena *arena, char ***texts, size_t *num)
{
    hid_t dataset = results_open_dataset(results, group, name);
    if (dataset < 0 || !hdf_has_type(dataset, ELEMENT_TEXT)) {
        hdf_close(&dataset);
        hdf_forget();
        return pes_fail(PES_INPUT, "%s is damaged: the texts %s/%s are missing", results->path, group, name);
    }
    enum pes_status status = hdf_read_texts(results->path, dataset, arena, texts, num);
    hdf_close(&dataset);
    return status;
}

static bool find_type(hid_t dataset, enum pes_type *type)
{
    static const enum pes_type types[] = {PES_F32, PES_F64, PES_I64, PES_I32, PES_U8};
    for (size_t i = 0; i < PES_COUNT(types); i++)
        if (hdf_has_type(dataset, (enum element)types[i])) {
            *type = types[i];
            return true;
        }
    return false;
}

/* One variable from its path, its dimensions' names and its dataset; adds to the sizes of dimensions. */
static bool describe(const struct results *results, char *path, const char *axes, struct pes_arena *arena,
                     struct pes_variable *variable, size_t *size)
{
    char *slash = strchr(path, '/'), unit[64] = "", help[512] = "";
    if (!slash) return false;
    *slash = 0;
    variable->group = path;
    variable->name = slash + 1;
    while (*axes) {
        size_t length = strcspn(axes, " ");
        if (variable->rank == PES_MAX_RANK ||
            !store_find_dimension(axes, length, &variable->dimensions[variable->rank++]))
            return false;
        axes += length + (axes[length] == ' ');
    }
    hid_t dataset = results_open_dataset(results, variable->group, variable->name);
    size_t extents[PES_MAX_RANK + 1];
    bool ok = dataset >= 0 && hdf_extents(dataset, extents, PES_MAX_RANK + 1) == variable->rank + 1 &&
              extents[0] == results->num_trials && find_type(dataset, &variable->type);
    for (int d = 0; d < variable->rank && ok; d++) {
        size_t *known = &size[variable->dimensions[d]];
        ok = extents[d + 1] && (!*known || *known == extents[d + 1]);
        *known = extents[d + 1];
    }
    if (ok) {
        hdf_get_text(dataset, "units", unit, sizeof unit);
        hdf_get_text(dataset, "long_name", help, sizeof help);
        variable->unit = pes_arena_copy_text(arena, unit);
        variable->help = pes_arena_copy_text(arena, help);
        ok = variable->unit && variable->help;
    }
    hdf_close(&dataset);
    hdf_forget();
    return ok;
}

enum pes_status results_read_layout(struct results *results, struct pes_arena *arena,
                                    struct pes_layout **layout)
{
    char **paths, **axes;
    size_t num, num_axes, size[PES_NUM_DIMENSIONS] = {0};
    TRY(results_read_texts(results, "provenance", "variable_path", arena, &paths, &num));
    TRY(results_read_texts(results, "provenance", "variable_dimensions", arena, &axes, &num_axes));
    struct pes_variable *variables = pes_arena_take(arena, num + 1, sizeof *variables);
    if (!variables) return PES_MEMORY;
    for (size_t v = 0; v < num; v++)
        if (v >= num_axes || !describe(results, paths[v], axes[v], arena, &variables[v], size))
            return pes_fail(PES_INPUT, "%s is damaged: the variable %s%s%s is missing or not as described",
                            results->path, paths[v], variables[v].name ? "/" : "",
                            variables[v].name ? variables[v].name : "");
    const struct pes_variable *arrays[] = {variables};
    TRY(pes_layout_create(size, arrays, 1, arena, layout));
    return results_open_fields(results, *layout);
}
