/* test_task_data.c - data sets: split, order of epochs, batches, failures. */
#include "task_support.h"

static struct pes_data *open_data(const char *kind, const char *settings)
{
    struct pes_data *data;
    assert_int_equal(pes_data_open(configure(kind, settings), arena, &data), PES_OK);
    return data;
}

/* Samples of 60 small random tokens hardly ever agree, so a hash tells which sample a sequence is. */
static uint64_t fingerprint(const struct pes_batch *batch, int b)
{
    uint64_t hash = 1469598103934665603u;
    for (int t = 0; t < batch->T; t++)
        hash = (hash ^ (uint64_t)batch->ids[b * batch->T + t]) * 1099511628211u;
    return hash;
}

static int find(const uint64_t *known, int count, uint64_t wanted)
{
    for (int i = 0; i < count; i++)
        if (known[i] == wanted) return i;
    return -1;
}

#define COUNT_SET "task.words=60 task.samples=50 task.test_fraction=0.3 task.length=64"

static void a_finite_set_is_split_once_and_every_epoch_has_each_sample_once(void **unused)
{
    (void)unused;
    struct pes_data *data = open_data("count", COUNT_SET);
    assert_int_equal(pes_data_num_test(data), 15);
    assert_int_equal(pes_data_num_train(data), 35);
    struct pes_batch batch;
    uint64_t test[15], epoch[2][35];
    assert_int_equal(pes_data_test_batch(data, 0, 15, arena, &batch), PES_OK);
    for (int b = 0; b < 15; b++)
        test[b] = fingerprint(&batch, b);
    /* Batches of 10 run across the end of the epoch: 70 sequences are two epochs exactly. */
    for (int step = 0; step < 7; step++) {
        assert_int_equal(pes_data_train_batch(data, step, 10, arena, &batch), PES_OK);
        assert_int_equal(batch.B, 10);
        assert_int_equal(batch.T, 64);
        assert_int_equal(batch.first, 0);
        for (int b = 0; b < 10; b++) {
            int place = step * 10 + b;
            epoch[place / 35][place % 35] = fingerprint(&batch, b);
        }
    }
    int moved = 0;
    for (int i = 0; i < 35; i++) {
        assert_int_equal(find(test, 15, epoch[0][i]), -1);
        assert_int_equal(find(epoch[0], i, epoch[0][i]), -1);
        assert_true(find(epoch[1], 35, epoch[0][i]) >= 0);
        moved += epoch[0][i] != epoch[1][i];
    }
    assert_true(moved > 25);
    pes_data_close(data);
}

static void a_batch_is_a_function_of_its_step(void **unused)
{
    (void)unused;
    const char *kinds[] = {"count", "random_map"}, *settings[] = {COUNT_SET, "task.length=16"};
    for (int k = 0; k < 2; k++) {
        struct pes_data *forwards = open_data(kinds[k], settings[k]),
                        *backwards = open_data(kinds[k], settings[k]);
        struct pes_batch batch[12], again;
        for (int step = 0; step < 12; step++)
            assert_int_equal(pes_data_train_batch(forwards, step, 8, arena, &batch[step]), PES_OK);
        for (int step = 11; step >= 0; step--) {
            assert_int_equal(pes_data_train_batch(backwards, step, 8, arena, &again), PES_OK);
            size_t tokens = 8 * (size_t)again.T;
            assert_memory_equal(again.ids, batch[step].ids, tokens * sizeof *again.ids);
            assert_memory_equal(again.labels, batch[step].labels, (k ? tokens : 8) * sizeof *again.labels);
            if (again.scored) assert_memory_equal(again.scored, batch[step].scored, tokens);
            if (again.mask) assert_memory_equal(again.mask, batch[step].mask, tokens);
        }
        pes_data_close(forwards);
        pes_data_close(backwards);
    }
}

static void what_is_kept_in_memory_is_what_the_task_generates(void **unused)
{
    (void)unused;
    const struct pes_config *config =
        configure("relative_distance", "task.samples=40 task.test_fraction=0.5");
    struct pes_data *data;
    assert_int_equal(pes_data_open(config, arena, &data), PES_OK);
    const struct pes_task_shape *shape = pes_data_shape(data);
    const struct pes_task *task = pes_data_task(data);
    void *state;
    assert_int_equal(task->open(config, shape, arena, &state), PES_OK);
    struct pes_batch test, train;
    assert_int_equal(pes_data_test_batch(data, 0, 20, arena, &test), PES_OK);
    assert_int_equal(pes_data_train_batch(data, 0, 20, arena, &train), PES_OK);
    size_t T = (size_t)shape->T;
    int32_t ids[64], label;
    uint8_t mask[64];
    struct pes_sample sample = {ids, &label, mask, NULL};
    for (uint64_t number = 0; number < 40; number++) {
        struct pes_stream stream = pes_task_stream(0, number);
        task->sample(config, shape, state, number, &stream, &sample);
        int found = 0;
        for (size_t b = 0; b < 40; b++) {
            const struct pes_batch *batch = b < 20 ? &test : &train;
            size_t row = b % 20;
            if (memcmp(batch->ids + row * T, ids, T * sizeof *ids) != 0) continue;
            found++;
            assert_int_equal(batch->labels[row], label);
            assert_memory_equal(batch->mask + row * T, mask, T);
        }
        assert_int_equal(found, 1);
    }
    pes_data_close(data);
}

static void test_batches_are_the_same_in_any_cut(void **unused)
{
    (void)unused;
    const char *kinds[] = {"count", "induction", "copy"};
    const char *settings[] = {COUNT_SET, "task.test_samples=15", "task.test_samples=15"};
    for (int k = 0; k < 3; k++) {
        struct pes_data *data = open_data(kinds[k], settings[k]);
        struct pes_batch whole, part;
        assert_int_equal(pes_data_test_batch(data, 0, 15, arena, &whole), PES_OK);
        for (int first = 0; first < 15; first += 4) {
            int B = PES_MIN(4, 15 - first);
            assert_int_equal(pes_data_test_batch(data, first, B, arena, &part), PES_OK);
            assert_int_equal(part.first, first);
            for (int b = 0; b < B; b++)
                assert_true(fingerprint(&part, b) == fingerprint(&whole, first + b));
        }
        pes_data_close(data);
    }
}

static void endless_training_never_meets_the_test_set(void **unused)
{
    (void)unused;
    struct pes_data *data = open_data("random_map", "task.length=32 task.test_samples=40");
    assert_int_equal(pes_data_num_train(data), 0);
    struct pes_batch test, train;
    assert_int_equal(pes_data_test_batch(data, 0, 40, arena, &test), PES_OK);
    uint64_t known[40], seen[400];
    for (int b = 0; b < 40; b++)
        known[b] = fingerprint(&test, b);
    for (int step = 0; step < 10; step++) {
        assert_int_equal(pes_data_train_batch(data, step, 40, arena, &train), PES_OK);
        for (int b = 0; b < 40; b++) {
            uint64_t one = fingerprint(&train, b);
            assert_int_equal(find(known, 40, one), -1);
            assert_int_equal(find(seen, step * 40 + b, one), -1);
            seen[step * 40 + b] = one;
        }
    }
    pes_data_close(data);
}

static void the_bytes_foretold_are_about_the_bytes_used(void **unused)
{
    (void)unused;
    const struct pes_config *config = configure("relative_distance", "task.samples=20000");
    size_t foretold;
    assert_int_equal(pes_data_bytes(config, &foretold), PES_OK);
    struct pes_arena *own = pes_arena_create();
    struct pes_data *data;
    assert_int_equal(pes_data_open(config, own, &data), PES_OK);
    double ratio = (double)pes_arena_bytes(own) / (double)foretold;
    assert_true(ratio > 0.8 && ratio < 1.2);
    pes_data_close(data);
    pes_arena_destroy(own);
}

static void every_failing_allocation_is_reported(void **unused)
{
    (void)unused;
    const char *kinds[] = {"count", "relative_distance", "random_map", "associative_recall"};
    const char *settings[] = {"task.words=60 task.samples=20000 task.length=64", "task.vocab=60000",
                              "task.vocab=65536", ""};
    for (int k = 0; k < 4; k++) {
        const struct pes_config *config = configure(kinds[k], settings[k]);
        bool finished = false;
        for (long n = 1; !finished && n < 100; n++) {
            (void)pes_allocate_fail_after(n);
            struct pes_arena *own = pes_arena_create();
            if (!own) continue;
            struct pes_data *data = NULL;
            struct pes_batch batch;
            enum pes_status status = pes_data_open(config, own, &data);
            if (status == PES_OK) {
                status = pes_data_train_batch(data, 0, 4000, own, &batch);
                pes_data_close(data);
            }
            long made = pes_allocate_fail_after(0);
            finished = made < n;
            assert_int_equal(status, finished ? PES_OK : PES_MEMORY);
            pes_arena_destroy(own);
        }
        assert_true(finished);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finite_set_is_split_once_and_every_epoch_has_each_sample_once),
        cmocka_unit_test(a_batch_is_a_function_of_its_step),
        cmocka_unit_test(what_is_kept_in_memory_is_what_the_task_generates),
        cmocka_unit_test(test_batches_are_the_same_in_any_cut),
        cmocka_unit_test(endless_training_never_meets_the_test_set),
        cmocka_unit_test(the_bytes_foretold_are_about_the_bytes_used),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_keys, drop_keys);
}
