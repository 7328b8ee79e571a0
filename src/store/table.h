/* table.h - every dataset of a results file as a row: the layout's variables and the store's own columns.
 *
 * The list drives creation, the size estimate and the reader; its order is the order in the file. */
#ifndef PESWEEP_SRC_STORE_TABLE_H
#define PESWEEP_SRC_STORE_TABLE_H

#include "hdf.h"
#include "pesweep/store.h"

/* The axes that only the store has, after those of variable.h: X(symbol, name, meaning). */
#define STORE_AXES(X)                                                                                        \
    X(TRIAL, "trial", "trained model, in the order of the sweep")                                            \
    X(RUN, "run_number", "start of the program")                                                             \
    X(RUN_TEXT, "run_length", "byte of a text")                                                              \
    X(MESSAGE_TEXT, "message_length", "byte of a text")                                                      \
    X(VARIABLE, "variable", "result variable of a trial, in the order of the checksum")                      \
    X(TENSOR, "tensor", "tensor of a parameter set")                                                         \
    X(TENSOR_AXIS, "tensor_axis", "axis of a tensor, slowest first")                                         \
    X(MODEL, "model", "checkpoint that was read")

enum axis {
    AXIS_LAST_OF_LAYOUT = PES_NUM_DIMENSIONS - 1,
#define X(symbol, name, meaning) AXIS_##symbol,
    STORE_AXES(X)
#undef X
        NUM_AXES
};
const char *store_axis_name(enum axis axis);

/* The groups of a file and what is in them, up to a row without a name. */
struct store_group {
    const char *name, *help;
    bool inspected; /* only in files of heads */
};
extern const struct store_group store_groups[];
const char *store_axis_meaning(enum axis axis);
/* Names of the places along an axis whose places have names, NULL for numbered ones; the number of the first.
 */
const char *const *store_place_names(enum axis axis);
int64_t store_first_place(enum axis axis, size_t size);

enum { STORE_RUNS = 64, STORE_RUN_BYTES = 8192, STORE_MESSAGE_BYTES = 256, STORE_TENSOR_AXES = 3 };

/* What the store itself keeps: X(symbol, group, name, element, rank, axes, fill, unit, meaning).  Columns of
 * /trials depend on the sweep alone; whatever depends on when and where it ran stands in /provenance. */
#define STORE_COLUMNS(X)                                                                                     \
    X(STATUS, "trials", "status", U8, 1, AXIS_TRIAL, 0, 0, "", "state; only finished trials have results")   \
    X(REASON, "trials", "reason", U8, 1, AXIS_TRIAL, 0, 0, "", "why the trial failed or diverged")           \
    X(STEPS, "trials", "steps", I64, 1, AXIS_TRIAL, 0, 0, "", "finished optimizer steps")                    \
    X(CHECKSUM, "trials", "checksum", U64, 1, AXIS_TRIAL, 0, 0, "",                                          \
      "XXH3-64 of the row: its variables as provenance/variable_path lists them, each padded to 8 bytes")    \
    X(RUN, "provenance", "run", I32, 1, AXIS_TRIAL, 0, -1, "",                                               \
      "entry of runs that trained it; -1: none yet")                                                         \
    X(RANK, "provenance", "rank", I32, 1, AXIS_TRIAL, 0, -1, "", "MPI rank that trained it; -1: none yet")   \
    X(STARTED, "provenance", "started", F64, 1, AXIS_TRIAL, 0, NAN, "s",                                     \
      "when its last part began, since 1970-01-01 00:00 UTC")                                                \
    X(ENDED, "provenance", "ended", F64, 1, AXIS_TRIAL, 0, NAN, "s",                                         \
      "when its row was written, since 1970-01-01 00:00 UTC")                                                \
    X(TRAIN_SECONDS, "provenance", "train_seconds", F64, 1, AXIS_TRIAL, 0, NAN, "s", "spent training")       \
    X(MEASURE_SECONDS, "provenance", "measure_seconds", F64, 1, AXIS_TRIAL, 0, NAN, "s",                     \
      "spent on evaluations, spectra and probes")                                                            \
    X(MESSAGE, "provenance", "message", CHAR, 2, AXIS_TRIAL, AXIS_MESSAGE_TEXT, 0, "",                       \
      "what there was to say about a failed or diverged trial")                                              \
    X(RUNS, "provenance", "runs", CHAR, 2, AXIS_RUN, AXIS_RUN_TEXT, 0, "",                                   \
      "a JSON text per start of the program: command, hosts, ranks, versions, times")                        \
    X(FENCE, "provenance", "fence", I64, 0, 0, 0, 0, "", "starts so far; ranks of an older one stop writing")

enum column {
#define X(symbol, group, name, element, rank, axis0, axis1, fill, unit, help) COLUMN_##symbol,
    STORE_COLUMNS(X)
#undef X
        NUM_COLUMNS
};

/* Where a dataset's values come from. */
enum content {
    CONTENT_FIELD,  /* rows of finished trials; which = field of the layout */
    CONTENT_COLUMN, /* as the run goes; which = enum column */
    /* The rest is written at creation. */
    CONTENT_KEY,
    CONTENT_LABEL,
    CONTENT_AXIS,   /* values of a swept key; which = axis of the sweep */
    CONTENT_CONFIG, /* every value of a trial, defaults included */
    CONTENT_SETTINGS,
    CONTENT_SWEEP_TEXT,
    CONTENT_VARIABLE_PATH,
    CONTENT_VARIABLE_AXES,
    CONTENT_PARAMETER_SET, /* the rest is the table of tensors */
    CONTENT_TENSOR_NAME,
    CONTENT_TENSOR_SET,
    CONTENT_TENSOR_RANK,
    CONTENT_TENSOR_SHAPE,
    CONTENT_TENSOR_OFFSET,
    CONTENT_TENSOR_COUNT,
    CONTENT_TENSOR_DECAYS
};

struct dataset {
    enum content content;
    size_t which;
    const char *group, *name;
    enum element element;
    int rank;
    enum axis axes[PES_MAX_RANK + 1]; /* slowest first */
    double fill;
    /* The fill value is written at creation and told as _FillValue where it is NaN; else unwritten bytes are
     * 0. */
    bool filled;
    const char *unit, *help;
};

/* One tensor of one parameter set: how to cut a row of /weights. */
struct tensor_row {
    int32_t set, rank;
    int64_t shape[STORE_TENSOR_AXES], offset, count;
    const char *name;
    bool decays;
};

struct file_table {
    const char *format; /* the root's attribute; NULL = a results file's */
    const struct pes_sweep *sweep;
    const struct pes_layout *layout;
    size_t size[NUM_AXES];
    size_t num_datasets;
    struct dataset *datasets;
    size_t num_tensors; /* 0 unless the layout has a variable in /weights */
    const struct tensor_row *tensors;
    const int32_t *sets; /* [trials] parameter set of each trial; NULL without tensors */
};

/* The arena owns everything but sweep and layout, which must outlive the table. */
enum pes_status store_table_create(const struct pes_sweep *sweep, const struct pes_layout *layout,
                                   struct pes_arena *arena, struct file_table **table);

/* One of the store's own columns; lives for ever. */
const struct dataset *store_column(enum column column);
/* What a file of heads has besides its layout's variables. */
const struct dataset *store_heads_columns(size_t *count);

/* Parameter sets and their tensors, for store_table_create. */
enum pes_status store_list_tensors(const struct pes_sweep *sweep, struct pes_arena *arena,
                                   struct tensor_row **tensors, size_t *num_tensors, int32_t **sets);

/* Elements of a dataset, and of one entry along its slowest axis. */
size_t store_num_elements(const struct file_table *table, const struct dataset *dataset);
size_t store_entry_elements(const struct file_table *table, const struct dataset *dataset);

/* Bytes of a file with these datasets: exact for the numbers, within a few per cent for the rest. */
uint64_t store_table_bytes(const struct file_table *table, struct pes_arena *arena);

/* The lines "path=value\n" of every value that applies under blocks ("task.", ..., ended by NULL), in path
 * order; the arena owns the text.  NULL: no memory. */
const char *store_config_text(const struct pes_config *config, const char *const *blocks,
                              struct pes_arena *arena);
extern const char *const store_trial_blocks[], *const store_setting_blocks[];

#endif
