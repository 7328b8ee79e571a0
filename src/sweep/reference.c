/* reference.c - the reference of the sweep file, from the key table alone. */
#include "pesweep/sweep.h"

#include <string.h>

static const char *type_name(enum pes_value_type type)
{
    static const char *const names[] = {"bool", "integer", "number",   "choice",
                                        "text", "set",     "integers", "numbers"};
    return names[type];
}

/* Rows that are the same but for their owner are printed once. */
static bool same_row(const struct pes_key *a, const struct pes_key *b)
{
    return a == b || (!strcmp(a->path, b->path) && a->min == b->min && a->max == b->max &&
                      a->min_open == b->min_open && a->choices == b->choices && a->length == b->length &&
                      !strcmp(a->fallback ? a->fallback : "", b->fallback ? b->fallback : "") &&
                      !strcmp(a->unit, b->unit) && !strcmp(a->help, b->help));
}

static bool printed_before(const struct pes_key_table *table, size_t e)
{
    for (size_t before = 0; before < e; before++)
        if (same_row(table->entries[before].key, table->entries[e].key)) return true;
    return false;
}

/* ", with task.kind: count, copy" */
static void print_owners(FILE *out, const struct pes_key_table *table, size_t e, const char *format)
{
    if (!table->entries[e].owner_path) return;
    fprintf(out, format, table->entries[e].owner_path);
    const char *separator = "";
    for (size_t i = e; i < table->num_entries; i++) {
        if (!same_row(table->entries[i].key, table->entries[e].key)) continue;
        fprintf(out, "%s%s", separator, table->entries[i].owner);
        separator = ", ";
    }
}

static void print_text(FILE *out, const struct pes_key_table *table, size_t e)
{
    const struct pes_key *key = table->entries[e].key;
    char allowed[512];
    fprintf(out, "  %s", strchr(key->path, '.') + 1);
    fprintf(out, key->fallback ? " (default %s)" : " (must be given)", key->fallback);
    fprintf(out, "\n      %s.\n      Allowed: %s%s%s", key->help,
            pes_key_allowed(key, allowed, sizeof allowed), *key->unit ? "; unit: " : "", key->unit);
    print_owners(out, table, e, "; only with %s: ");
    fprintf(out, ".\n");
}

/* A cell of a table: "|" would end it. */
static void print_cell(FILE *out, const char *text)
{
    for (; *text; text++)
        fprintf(out, *text == '|' ? "\\|" : "%c", *text);
}

static void print_markdown(FILE *out, const struct pes_key_table *table, size_t e)
{
    const struct pes_key *key = table->entries[e].key;
    char allowed[512];
    fprintf(out, "| `%s` | %s | ", strchr(key->path, '.') + 1, type_name(key->type));
    print_cell(out, pes_key_allowed(key, allowed, sizeof allowed));
    fprintf(out, key->fallback ? " | `%s` | %s | " : " | required | %s%s | ",
            key->fallback ? key->fallback : "", key->unit);
    print_cell(out, key->help);
    print_owners(out, table, e, "; only with `%s`: ");
    fprintf(out, " |\n");
}

static const char intro[] =
    "A sweep file is one YAML map. Its keys are name, the blocks task, model, train, measure and store,\n"
    "the axes grid and zip, exclude, include, and claims.\n\n"
    "  name: relative-distance\n"
    "  task:  {kind: relative_distance, vocab: 64, between: 20, side: 8, samples: 20000}\n"
    "  model: {layers: 3, d_model: 64, heads: 4, pe: rope}\n"
    "  train: {steps: 3000, batch: 128, lr: 1e-3, warmup: 0.06}\n"
    "  grid:\n"
    "    pe_heads: [all, [0], [0, 1], none]   # a key that takes a list takes a list of lists here\n"
    "    penalty: [none, {kind: symmetry, weight: 10}]   # a block of keys takes maps, or its kind\n"
    "    seed: 0..15                          # an inclusive range of integers; also in lists: [0..3, "
    "10..13]\n"
    "  exclude:\n"
    "    - {pe_heads: none, penalty: symmetry}\n"
    "  include:\n"
    "    - {pe_heads: all, seed: 100}         # one more trial; what it doesn't name comes from the "
    "blocks\n\n"
    "Any key of task, model and train is a constant in its block, or an axis in grid or zip under its full "
    "name\n"
    "(model.d_model) or the end of it where that is unique (pe). grid is a product, its first key slowest. "
    "zip pairs\n"
    "equally long lists: {d_model: [32, 64], heads: [2, 4]}, or a list of such maps. A value that stands "
    "twice on an\n"
    "axis, a constant that axes hide in every trial, an exclude that matches nothing, and a value without "
    "any "
    "effect are\n"
    "errors. Combinations that are the same trial run once.\n\n"
    "Numbers are plain decimal: 1e-4 and .5 are numbers; 0x10, 010, 1_000, nan and inf are refused. Only "
    "true and\n"
    "false are bools. What stands in quotes is text. Anchors, aliases, tags and merge keys are refused.\n\n"
    "claims are what the analysis judges:\n\n"
    "  claims:\n"
    "    - {name: all-wins, metric: final.test_accuracy, axis: pe_heads, better: all, than: others}\n"
    "    - {name: slower, metric: steps_to(test_accuracy, 0.9), where: {pe_heads: all}, test: log_rank,\n"
    "       ratio: [{penalty: symmetry}, {penalty: none}], threshold: 1.5, alpha: 0.05}\n"
    "    - {name: deposit, metric: final.first_deposit_share, above: 0.8, where: {pe_heads: all}}\n\n"
    "metric is final.<variable> or steps_to(<variable>, <level>). The comparison is by axis, better and than "
    "(a value,\n"
    "or others), as a ratio of two selections of trials, or with a number that the metric is above or below; "
    "where\n"
    "restricts all of them. An axis whose values follow from the compared one (zip) belongs to it. test is "
    "permutation,\n"
    "mann_whitney, sign_flip (the only one for above and below) or log_rank (steps_to only); threshold is "
    "the "
    "smallest\n"
    "effect that counts.\n";

static void print_block(FILE *out, const struct pes_key_table *table, const char *block, bool markdown)
{
    size_t length = strlen(block);
    fprintf(
        out,
        markdown
            ? "\n#### %s\n\n| key | type | allowed | default | unit | meaning |\n|---|---|---|---|---|---|\n"
            : "\n%s:\n",
        block);
    for (size_t e = 0; e < table->num_entries; e++) {
        const char *path = table->entries[e].key->path;
        if (strncmp(path, block, length) != 0 || path[length] != '.' || printed_before(table, e)) continue;
        if (markdown)
            print_markdown(out, table, e);
        else
            print_text(out, table, e);
    }
}

void pes_sweep_print_reference(FILE *out, bool markdown)
{
    static const char *const blocks[] = {"task", "model", "train", "measure", "store"};
    const struct pes_key_table *table = pes_sweep_keys();
    if (!markdown) fputs(intro, out);
    for (size_t i = 0; i < PES_COUNT(blocks); i++)
        print_block(out, table, blocks[i], markdown);
}
