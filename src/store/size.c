/* size.c - how large a results file will be. */
#include <string.h>

#include "create.h"

/* What the library adds, measured: object headers, attributes, links, scales and their references. */
enum { DATASET_BYTES = 1600, FILE_BYTES = 8192, HEAP_OBJECT_BYTES = 16, HEAP_REFERENCE_BYTES = 16 };

/* Long texts are alike for all trials: this many are looked at. */
enum { SAMPLE = 64 };

static uint64_t text_bytes(const struct file_table *table, const struct dataset *dataset,
                           struct pes_arena *arena)
{
    size_t num = dataset->rank ? table->size[dataset->axes[0]] : 1, looked = PES_MIN(num, (size_t)SAMPLE);
    const char *texts[SAMPLE];
    if (!looked || store_fill_content(table, dataset, 0, looked, arena, texts) != PES_OK) return 0;
    double bytes = 0;
    for (size_t i = 0; i < looked; i++)
        bytes += HEAP_REFERENCE_BYTES + HEAP_OBJECT_BYTES + (double)((strlen(texts[i]) + 8) / 8 * 8);
    return (uint64_t)(bytes / (double)looked * (double)num);
}

uint64_t store_table_bytes(const struct file_table *table, struct pes_arena *arena)
{
    uint64_t bytes = FILE_BYTES;
    const char *previous = "";
    for (size_t d = 0; d < table->num_datasets; d++) {
        const struct dataset *dataset = &table->datasets[d];
        bytes += DATASET_BYTES;
        if (dataset->element == ELEMENT_TEXT)
            bytes += text_bytes(table, dataset, arena);
        else
            bytes += (uint64_t)store_num_elements(table, dataset) * hdf_element_bytes(dataset->element);
        if (strcmp(previous, dataset->group)) bytes += 8 * (uint64_t)table->size[AXIS_TRIAL]; /* its scale */
        previous = dataset->group;
    }
    return bytes;
}

uint64_t pes_store_file_bytes(const struct pes_sweep *sweep, const struct pes_layout *layout)
{
    struct pes_arena *arena = pes_arena_create();
    struct file_table *table;
    uint64_t bytes = 0;
    if (arena && store_table_create(sweep, layout, arena, &table) == PES_OK)
        bytes = store_table_bytes(table, arena);
    pes_arena_destroy(arena);
    return bytes;
}
