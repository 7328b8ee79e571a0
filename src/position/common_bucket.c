/* common_bucket.c - T5's logarithmic buckets of offsets. */
#include "common.h"

#include <math.h>

const struct pes_key pes_position_bucket_keys[] = {
    {.path = "model.t5_buckets",
     .type = PES_VALUE_INT,
     .min = 2,
     .max = 4096,
     .fallback = "32",
     .unit = "",
     .help = "rows of the bias table; half of them for keys after the query unless the model is causal"},
    {.path = "model.t5_max_distance",
     .type = PES_VALUE_INT,
     .min = 2,
     .max = 1048576,
     .fallback = "128",
     .unit = "token",
     .help = "offsets from here on share the last bucket"},
    {.path = NULL}};

/* Half of the buckets of a direction hold one distance each, the others grow by a constant factor up to
 * max_distance.  The small addition keeps exact powers on their own side of the floor. */
int pes_position_bucket(int offset, int num_buckets, int max_distance, bool causal)
{
    int buckets = num_buckets, first = 0, distance = -offset;
    if (!causal) {
        buckets /= 2;
        if (offset > 0) first = buckets;
        if (distance < 0) distance = -distance;
    }
    if (distance < 0) distance = 0;
    int exact = buckets / 2;
    if (distance < exact) return first + distance;
    double place = log((double)distance / exact) / log((double)max_distance / exact) * (buckets - exact);
    int bucket = exact + (int)floor(place + 1e-9);
    return first + PES_MIN(bucket, buckets - 1);
}

enum pes_status pes_position_check_buckets(const struct pes_position_site *site)
{
    int64_t buckets = pes_config_int(site->config, "model.t5_buckets");
    int64_t distance = pes_config_int(site->config, "model.t5_max_distance");
    int64_t least = site->shape.causal ? 2 : 4, exact = site->shape.causal ? buckets / 2 : buckets / 4;
    if (buckets < least)
        return pes_fail(PES_INPUT, "t5_buckets is %lld, but both directions need at least %lld",
                        (long long)buckets, (long long)least);
    if (distance <= exact)
        return pes_fail(PES_INPUT, "t5_max_distance %lld is not beyond the %lld exact buckets of %lld",
                        (long long)distance, (long long)exact, (long long)buckets);
    return PES_OK;
}

static int bucket_of(const struct pes_position_site *site, int offset)
{
    return pes_position_bucket(offset, (int)pes_config_int(site->config, "model.t5_buckets"),
                               (int)pes_config_int(site->config, "model.t5_max_distance"),
                               site->shape.causal);
}

void pes_position_bucket_forward(const struct pes_position_site *site, const real *table, int head, int T,
                                 real *bias)
{
    for (int d = 1 - T; d < T; d++)
        bias[d + T - 1] = table[bucket_of(site, -d) * site->shape.H + head];
}

void pes_position_bucket_backward(const struct pes_position_site *site, real *dtable, int head, int T,
                                  const real *dbias)
{
    for (int d = 1 - T; d < T; d++)
        dtable[bucket_of(site, -d) * site->shape.H + head] += dbias[d + T - 1];
}
