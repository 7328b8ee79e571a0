/* describe.c - a row's layout as text, and back. */
#include "describe.h"

#include <stdlib.h>
#include <string.h>

#include "pesweep/base.h"

void store_describe_layout(const struct pes_layout *layout, struct pes_text *text)
{
    for (size_t f = 0; f < layout->num_fields; f++) {
        const struct pes_field *field = &layout->fields[f];
        const struct pes_variable *variable = &field->variable;
        pes_text_append(text, "%s/%s %d", variable->group, variable->name, (int)variable->type);
        for (int d = 0; d < variable->rank; d++)
            pes_text_append(text, " %s:%zu", pes_dimension_name(variable->dimensions[d]), field->extent[d]);
        pes_text_append(text, "\n");
    }
}

bool store_find_dimension(const char *name, size_t length, enum pes_dimension *dimension)
{
    for (int d = 0; d < PES_NUM_DIMENSIONS; d++) {
        const char *known = pes_dimension_name((enum pes_dimension)d);
        if (strlen(known) == length && !strncmp(known, name, length)) {
            *dimension = (enum pes_dimension)d;
            return true;
        }
    }
    return false;
}

/* A whole number before one of `ends`, or before the end of the text; moves *text to it. */
static bool take_number(char **text, const char *ends, size_t *value)
{
    char *end;
    if (**text < '0' || **text > '9') return false;
    unsigned long long number = strtoull(*text, &end, 10);
    if (number > SIZE_MAX / 2 || (*end && !strchr(ends, *end))) return false;
    *text = end;
    *value = (size_t)number;
    return true;
}

/* One line, which is cut to pieces; adds to the sizes of dimensions. */
static bool parse_line(char *line, struct pes_variable *variable, size_t *size)
{
    char *slash = strchr(line, '/'), *space = slash ? strchr(slash, ' ') : NULL;
    size_t type, extent;
    if (!space) return false;
    *slash = *space++ = 0;
    *variable = (struct pes_variable){.group = line, .name = slash + 1, .unit = "", .help = ""};
    if (!take_number(&space, " ", &type) || type > PES_U8) return false;
    variable->type = (enum pes_type)type;
    while (*space == ' ') {
        char *name = ++space, *colon = strchr(name, ':');
        enum pes_dimension dimension;
        if (!colon || variable->rank == PES_MAX_RANK ||
            !store_find_dimension(name, (size_t)(colon - name), &dimension))
            return false;
        space = colon + 1;
        if (!take_number(&space, " ", &extent) || !extent) return false;
        if (size[dimension] && size[dimension] != extent) return false;
        size[dimension] = extent;
        variable->dimensions[variable->rank++] = dimension;
    }
    return !*space;
}

enum pes_status store_parse_layout(const char *text, struct pes_arena *arena, struct pes_layout **layout)
{
    size_t num = 0, size[PES_NUM_DIMENSIONS] = {0};
    for (const char *c = text; *c; c++)
        num += *c == '\n';
    char *lines = pes_arena_copy_text(arena, text);
    struct pes_variable *variables = pes_arena_take(arena, num + 1, sizeof *variables);
    if (!lines || !variables) return PES_MEMORY;
    for (size_t v = 0; v < num; v++) {
        char *end = strchr(lines, '\n');
        *end = 0;
        if (!parse_line(lines, &variables[v], size)) return PES_INPUT;
        lines = end + 1;
    }
    if (!num || *lines) return PES_INPUT;
    const struct pes_variable *arrays[] = {variables};
    return pes_layout_create(size, arrays, 1, arena, layout);
}
