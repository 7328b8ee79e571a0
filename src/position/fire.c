/* fire.c - functional interpolation: a bias from a small network that sees the distance relative to the
 * position.
 *
 * bias_h(i, j) = b2_h + sum_m w2_hm relu(w1_m u + b1_m),  u = psi(|i - j|) / psi(max(L, i, j)),
 * psi(x) = log(1 + c x).  c and L are trained from model.fire_c and model.fire_threshold.  The paper's models
 * are causal, where max(i, j) = i.  The bias is symmetric in i and j, so each pair is computed once. */
#include "pesweep/position.h"

#include <math.h>

enum { HIDDEN = 32 };

static const struct pes_key keys[] = {{.path = "model.fire_c",
                                       .type = PES_VALUE_REAL,
                                       .min = 0,
                                       .max = 1e6,
                                       .min_open = true,
                                       .fallback = "0.1",
                                       .unit = "",
                                       .help = "starting value of c in log(1 + c distance)"},
                                      {.path = "model.fire_threshold",
                                       .type = PES_VALUE_REAL,
                                       .min = 0,
                                       .max = 1e9,
                                       .fallback = "512",
                                       .unit = "token",
                                       .help = "starting value of the position below which distances are not "
                                               "relative to the position"},
                                      {.path = NULL}};

static enum pes_status declare_layer(const struct pes_position_site *site, struct pes_tensor_table *table,
                                     int layer)
{
    const size_t one[] = {1}, hidden[] = {HIDDEN}, heads[] = {(size_t)site->shape.H};
    const size_t matrix[] = {(size_t)site->shape.H, HIDDEN};
    TRY(pes_tensor_add_layer(table, layer, "attn.fire_c", PES_TENSOR_GAIN, 1, 0, 1, one));
    TRY(pes_tensor_add_layer(table, layer, "attn.fire_limit", PES_TENSOR_GAIN, 1, 0, 1, one));
    TRY(pes_tensor_add_layer(table, layer, "attn.fire_w1", PES_TENSOR_WEIGHT, 1, 0, 1, hidden));
    TRY(pes_tensor_add_layer(table, layer, "attn.fire_b1", PES_TENSOR_BIAS, 1, 0, 1, hidden));
    TRY(pes_tensor_add_layer(table, layer, "attn.fire_w2", PES_TENSOR_WEIGHT, HIDDEN, 0, 2, matrix));
    return pes_tensor_add_layer(table, layer, "attn.fire_b2", PES_TENSOR_BIAS, HIDDEN, 0, 1, heads);
}

static enum pes_status declare(const struct pes_position_site *site, struct pes_tensor_table *table)
{
    for (int layer = 0; layer < site->shape.L; layer++)
        if (site->layers >> layer & 1) TRY(declare_layer(site, table, layer));
    return PES_OK;
}

/* One head's network with c and L as they are now. */
struct network {
    double c, limit;
    const real *w1, *b1, *w2;
    double b2;
};

static struct network network_of(const struct pes_position_site *site,
                                 const struct pes_parameters *parameters, int layer, int head)
{
    double c0 = pes_config_real(site->config, "model.fire_c");
    double limit0 = pes_config_real(site->config, "model.fire_threshold");
    return (struct network){
        .c = fmax(fabs(c0 * (double)*pes_parameters_get(parameters, layer, "attn.fire_c")), 1e-8),
        .limit = fabs(limit0 * (double)*pes_parameters_get(parameters, layer, "attn.fire_limit")),
        .w1 = pes_parameters_get(parameters, layer, "attn.fire_w1"),
        .b1 = pes_parameters_get(parameters, layer, "attn.fire_b1"),
        .w2 = pes_parameters_get(parameters, layer, "attn.fire_w2") + head * HIDDEN,
        .b2 = (double)pes_parameters_get(parameters, layer, "attn.fire_b2")[head],
    };
}

/* u for the pair with the larger position `high`; psi(0) = 0, so u = 0 at distance 0. */
static double place(const struct network *network, int high, int distance)
{
    if (!distance) return 0;
    return log1p(network->c * distance) / log1p(network->c * fmax(network->limit, high));
}

static void bias_forward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                         int layer, int head, int T, real *bias)
{
    struct network network = network_of(site, parameters, layer, head);
    for (int high = 0; high < T; high++)
        for (int low = 0; low <= high; low++) {
            double u = place(&network, high, high - low), sum = network.b2;
            for (int m = 0; m < HIDDEN; m++)
                sum += (double)network.w2[m] * fmax((double)network.w1[m] * u + (double)network.b1[m], 0);
            bias[(size_t)low * (size_t)T + (size_t)high] = (real)sum;
            bias[(size_t)high * (size_t)T + (size_t)low] = (real)sum;
        }
}

struct network_gradient {
    double c, limit, w1[HIDDEN], b1[HIDDEN], w2[HIDDEN], b2;
};

/* Adds the gradients of one pair, given d = d loss / d bias. */
static void add_pair(const struct network *network, int high, int distance, double d,
                     struct network_gradient *sum)
{
    double u = place(network, high, distance), du = 0;
    sum->b2 += d;
    for (int m = 0; m < HIDDEN; m++) {
        double before = (double)network->w1[m] * u + (double)network->b1[m];
        if (before <= 0) continue;
        double dbefore = d * (double)network->w2[m];
        sum->w2[m] += d * before;
        sum->w1[m] += dbefore * u;
        sum->b1[m] += dbefore;
        du += dbefore * (double)network->w1[m];
    }
    if (!distance) return;
    double c = network->c, norm_at = fmax(network->limit, high), norm = log1p(c * norm_at);
    sum->c += du * (distance / (1 + c * distance) - u * norm_at / (1 + c * norm_at)) / norm;
    if (network->limit > high) sum->limit -= du * u * c / (1 + c * norm_at) / norm;
}

static void bias_backward(const struct pes_position_site *site, const struct pes_parameters *parameters,
                          int layer, int head, int T, const real *dbias)
{
    struct network network = network_of(site, parameters, layer, head);
    struct network_gradient sum = {0};
    for (int high = 0; high < T; high++)
        for (int low = 0; low <= high; low++) {
            double d = (double)dbias[(size_t)low * (size_t)T + (size_t)high];
            if (low < high) d += (double)dbias[(size_t)high * (size_t)T + (size_t)low];
            add_pair(&network, high, high - low, d, &sum);
        }
    double c_gain = (double)*pes_parameters_get(parameters, layer, "attn.fire_c");
    double limit_gain = (double)*pes_parameters_get(parameters, layer, "attn.fire_limit");
    double dc = copysign(pes_config_real(site->config, "model.fire_c"), c_gain);
    double dlimit = copysign(pes_config_real(site->config, "model.fire_threshold"), limit_gain);
    *pes_parameters_gradient(parameters, layer, "attn.fire_c") += (real)(dc * sum.c);
    *pes_parameters_gradient(parameters, layer, "attn.fire_limit") += (real)(dlimit * sum.limit);
    real *dw1 = pes_parameters_gradient(parameters, layer, "attn.fire_w1");
    real *db1 = pes_parameters_gradient(parameters, layer, "attn.fire_b1");
    real *dw2 = pes_parameters_gradient(parameters, layer, "attn.fire_w2") + head * HIDDEN;
    for (int m = 0; m < HIDDEN; m++) {
        dw1[m] += (real)sum.w1[m];
        db1[m] += (real)sum.b1[m];
        dw2[m] += (real)sum.w2[m];
    }
    pes_parameters_gradient(parameters, layer, "attn.fire_b2")[head] += (real)sum.b2;
}

const struct pes_position pes_position_fire = {
    .name = "fire",
    .summary = "a bias from a small network of the distance relative to the position",
    .source = "Li et al. 2023, arXiv 2310.04418, sec. 4",
    .family = PES_POSITION_ADDITIVE,
    .keys = keys,
    .declare = declare,
    .bias_dense = true,
    .bias_forward = bias_forward,
    .bias_backward = bias_backward,
};
