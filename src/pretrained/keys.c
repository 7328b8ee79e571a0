/* keys.c - values of config.json.
 *
 * Families spell one thing in several ways; null counts as absence, as their own code takes it. */
#include <stdarg.h>
#include <string.h>

#include "checkpoint.h"
#include "pesweep/text.h"

const json_t *checkpoint_key(const json_t *config, const char *names)
{
    while (*names) {
        size_t length = strcspn(names, " ");
        char name[64];
        CHECK(length < sizeof name);
        memcpy(name, names, length);
        name[length] = 0;
        const json_t *value = json_object_get(config, name);
        if (value && !json_is_null(value)) return value;
        names += length + (names[length] == ' ');
    }
    return NULL;
}

enum pes_status checkpoint_count(const struct pes_pretrained *model, const char *names, int fallback,
                                 int *value)
{
    const json_t *found = checkpoint_key(model->config, names);
    *value = fallback;
    if (!found && fallback) return PES_OK;
    if (!found) return pes_fail(PES_INPUT, "%s: none of the keys %s is there", model->config_path, names);
    json_int_t number = json_is_integer(found) ? json_integer_value(found) : 0;
    if (number < 1 || number > 1 << 24)
        return pes_fail(PES_INPUT, "%s: %s is not a whole number from 1 to %d", model->config_path, names,
                        1 << 24);
    *value = (int)number;
    return PES_OK;
}

double checkpoint_real(const json_t *config, const char *names, double fallback)
{
    const json_t *found = checkpoint_key(config, names);
    return json_is_number(found) ? json_number_value(found) : fallback;
}

bool checkpoint_flag(const struct pes_pretrained *model, const char *names, bool fallback)
{
    const json_t *found = checkpoint_key(model->config, names);
    return json_is_boolean(found) ? json_is_true(found) : fallback;
}

void checkpoint_note(struct pes_pretrained *model, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pes_text_append(model->notes, "%s\n", line);
}
