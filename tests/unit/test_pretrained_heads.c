/* test_pretrained_heads.c - heads of every architecture against the library that defines it: the scores it
 * had before its softmax come out of pes_head at every offset, so that names, packing, order of rows,
 * pairing, frequencies, groups, biases and scale are all right; and the gain of the norm in front. */
#include "pretrained_fixture.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static double dot(int count, const double *a, const double *b)
{
    double sum = 0;
    for (int c = 0; c < count; c++)
        sum += a[c] * b[c];
    return sum;
}

struct sides {
    double q[64], k[64], rq[64], rk[64];
};

/* One head at query i and key j; the divisors are those of norms on queries and keys. */
static double score(const struct pes_head *head, const double *x, int i, int j, double query_rms,
                    double key_rms)
{
    const double *query = x + i * head->C, *key = x + j * head->C;
    bool apart = head->rq != head->wq;
    struct sides s;
    assert_true(head->D <= 64 && 2 * head->pairs <= 64);
    for (int e = 0; e < head->D; e++) {
        s.q[e] = (dot(head->C, head->wq + e * head->C, query) + head->bq[e]) / query_rms;
        s.k[e] = (dot(head->C, head->wk + e * head->C, key) + head->bk[e]) / key_rms;
    }
    for (int e = 0; e < 2 * head->pairs; e++) {
        s.rq[e] = apart ? dot(head->C, head->rq + e * head->C, query) / query_rms : s.q[e];
        s.rk[e] = apart ? dot(head->C, head->rk + e * head->C, key) : s.k[e];
    }
    int turning = head->rotates ? 2 * head->pairs : 0;
    double sum = 0;
    for (int e = apart ? 0 : turning; e < head->D; e++)
        sum += s.q[e] * s.k[e];
    for (int t = 0; 2 * t < turning; t++) {
        const double *q = s.rq + 2 * t, *k = s.rk + 2 * t, angle = head->frequencies[t] * (i - j);
        sum += (q[0] * k[0] + q[1] * k[1]) * cos(angle) + (q[0] * k[1] - q[1] * k[0]) * sin(angle);
    }
    return sum * head->scale;
}

static void check_layer(const struct pes_pretrained *model, const struct pes_weights *expected, int layer,
                        struct pes_arena *arena, const char *name)
{
    const struct pes_pretrained_about *about = pes_pretrained_about(model);
    size_t count = 0, query_count = 0, key_count = 0;
    const double *x = expected_values(expected, arena, "x", layer, &count);
    const double *scores = expected_values(expected, arena, "scores", layer, NULL);
    const double *gain = expected_values(expected, arena, "gain", layer, NULL);
    const double *query_rms = expected_values(expected, arena, "query_rms", layer, &query_count);
    const double *key_rms = expected_values(expected, arena, "key_rms", layer, &key_count);
    int T = (int)count / about->C, R = about->H / about->num_key_heads;
    for (int h = 0; h < about->H; h++) {
        struct pes_head head;
        must(pes_pretrained_head(model, layer, h, true, arena, &head));
        assert_int_equal(head.gain != NULL, gain != NULL);
        for (int c = 0; gain && c < about->C; c++)
            assert_true(fabs(head.gain[c] - gain[c]) < 1e-6);
        for (int i = 0; i < T; i++)
            for (int j = 0; j < T; j++) {
                double wanted = scores[(h * T + i) * T + j];
                if (about->causal && j > i) continue;
                double q = !query_rms ? 1 : query_rms[query_count > (size_t)T ? h * T + i : i];
                double k = !key_rms ? 1 : key_rms[key_count > (size_t)T ? h / R * T + j : j];
                /* A model with windows has masked entries at 0. */
                if (wanted == 0) continue;
                double got = score(&head, x, i, j, q, k);
                if (!(fabs(got - wanted) < 1e-5 * fmax(1, fabs(wanted))))
                    fail_msg("%s layer %d head %d query %d key %d: %.9g, not %.9g", name, layer, h, i, j, got,
                             wanted);
            }
    }
}

static void check_model(const char *path, const char *name, const char *architecture)
{
    char file[512];
    struct pes_pretrained *model;
    struct pes_weights *expected;
    struct pes_arena *arena = pes_arena_create();
    must(pes_pretrained_open(path, 0, &model));
    must(pes_weights_open(fixture_path(name, "expected.safetensors", file), &expected));
    assert_string_equal(pes_pretrained_about(model)->architecture, architecture);
    assert_int_equal(pes_pretrained_about(model)->L, 2);
    for (int layer = 0; layer < 2; layer++)
        check_layer(model, expected, layer, arena, name);
    pes_weights_close(expected);
    pes_pretrained_close(model);
    pes_arena_destroy(arena);
}

static const struct {
    const char *name, *architecture;
} models[] = {
    {"gpt2", "gpt2"},
    {"gpt2-lm", "gpt2"},
    {"gpt-neo", "gpt_neo"},
    {"pythia", "gpt_neox"},
    {"gpt-j", "gptj"},
    {"bloom", "bloom"},
    {"mpt", "mpt"},
    {"falcon-rw", "falcon"},
    {"falcon-7b", "falcon"},
    {"falcon-40b", "falcon"},
    {"opt", "opt"},
    {"opt-post", "opt"},
    {"llama", "llama"},
    {"llama-bias-yarn", "llama"},
    {"llama-linear", "llama"},
    {"mistral", "mistral"},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
    {"phi", "phi"},
    {"phi3", "phi3"},
    {"gemma", "gemma"},
    {"gemma2", "gemma2"},
    {"gemma3", "gemma3_text"},
    {"bert", "bert"},
    {"t5", "t5"},
    {"deepseek-v2", "deepseek_v2"},
    {"deepseek-v3", "deepseek_v3"},
};

static void every_architecture_gives_the_scores_of_its_own_library(void **state)
{
    (void)state;
    char path[512];
    for (size_t m = 0; m < PES_COUNT(models); m++)
        check_model(fixture_path(models[m].name, "", path), models[m].name, models[m].architecture);
}

/* The same weights beside a config.json with the position keys as older versions of the library wrote them.
 */
static void older_spellings_of_position_keys_mean_the_same(void **state)
{
    (void)state;
    char old[512], weights[512];
    size_t found = 0;
    for (size_t m = 0; m < PES_COUNT(models); m++) {
        if (access(fixture_path(models[m].name, "config-v4.json", old), F_OK)) continue;
        found++;
        char folder[] = "/tmp/pretrained-XXXXXX", link[600], config[600];
        assert_non_null(mkdtemp(folder));
        snprintf(link, sizeof link, "%s/model.safetensors", folder);
        snprintf(config, sizeof config, "%s/config.json", folder);
        assert_int_equal(symlink(fixture_path(models[m].name, "model.safetensors", weights), link), 0);
        assert_int_equal(symlink(old, config), 0);
        check_model(folder, models[m].name, models[m].architecture);
        unlink(link);
        unlink(config);
        rmdir(folder);
    }
    assert_int_equal(found, 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_architecture_gives_the_scores_of_its_own_library),
        cmocka_unit_test(older_spellings_of_position_keys_mean_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
