#include "nn/data.h"

#include <math.h>

#include "nn/base/mem.h"
#include "nn/base/rng.h"

static const double pi = 0x1.921fb54442d18p+1;
static const double blob_radius = 4.0;
static const double max_noise = 1e6;

static int check_opts(const struct nn_synthetic_opts *o, struct err *err)
{
    if (o->kind != NN_SYN_BLOBS && o->kind != NN_SYN_MOONS)
        return err_set(err, ERR_CONFIG, "%d is no kind of synthetic data",
                       (int)o->kind);
    if (o->kind == NN_SYN_MOONS && o->classes != 2)
        return err_set(err, ERR_CONFIG, "two moons have 2 classes, not %lld",
                       (long long)o->classes);
    if (o->kind == NN_SYN_MOONS && o->features != 2)
        return err_set(err, ERR_CONFIG, "two moons have 2 features, not %lld",
                       (long long)o->features);
    if (o->classes < 2 || o->classes > INT32_MAX)
        return err_set(err, ERR_CONFIG,
                       "blobs need 2 classes or more, not %lld",
                       (long long)o->classes);
    if (o->features < 2)
        return err_set(err, ERR_CONFIG,
                       "blobs need 2 features or more, not %lld",
                       (long long)o->features);
    if (o->n < o->classes)
        return err_set(err, ERR_CONFIG,
                       "%lld samples do not give each of %lld classes one",
                       (long long)o->n, (long long)o->classes);
    if (o->n > INT64_MAX / (int64_t)sizeof(float) / o->features)
        return err_set(err, ERR_CONFIG,
                       "%lld samples of %lld features are more than memory "
                       "can hold",
                       (long long)o->n, (long long)o->features);
    if (!(o->noise >= 0 && o->noise <= max_noise))
        return err_set(err, ERR_CONFIG, "noise must be from 0 to %g, not %g",
                       max_noise, o->noise);
    return 0;
}

/* The place of sample i before noise, in the first two features. */
static void place(double at[2], const struct nn_synthetic_opts *o, int64_t i)
{
    int64_t label = i % o->classes, k = i / o->classes;
    int64_t last = (o->n - 1 - label) / o->classes; /* largest k of the label */
    double t = last > 0 ? pi * (double)k / (double)last : 0.0;
    double a = 2.0 * pi * (double)label / (double)o->classes;

    if (o->kind == NN_SYN_BLOBS) {
        at[0] = blob_radius * rng_cos(a);
        at[1] = blob_radius * rng_sin(a);
    } else if (label == 0) {
        at[0] = rng_cos(t);
        at[1] = rng_sin(t);
    } else {
        at[0] = 1.0 - rng_cos(t);
        at[1] = 0.5 - rng_sin(t);
    }
}

static void fill(float *x, int32_t *label, const struct nn_synthetic_opts *o)
{
    struct rng_mt g;
    int64_t i, j;

    rng_mt_seed(&g, o->seed);
    rng_mt_normal(&g, x, o->n * o->features);
    for (i = 0; i < o->n; i++) {
        float *row = x + i * o->features;
        double at[2];

        place(at, o, i);
        label[i] = (int32_t)(i % o->classes);
        for (j = 0; j < o->features; j++)
            row[j] = (float)fma(o->noise, (double)row[j], j < 2 ? at[j] : 0.0);
    }
}

int nn_data_new_synthetic(struct nn_data **out,
                          const struct nn_synthetic_opts *opts, struct err *err)
{
    struct nn_data *d;
    int rc;

    *out = NULL;
    rc = check_opts(opts, err);
    if (rc != 0)
        return rc;
    d = mem_zalloc(sizeof *d);
    if (d) {
        d->own_x = mem_array((size_t)(opts->n * opts->features), sizeof(float));
        d->own_y = mem_array((size_t)opts->n, sizeof(int32_t));
    }
    if (!d || !d->own_x || !d->own_y) {
        nn_data_free(d);
        return err_set(err, ERR_NOMEM,
                       "out of memory for %lld samples of %lld features",
                       (long long)opts->n, (long long)opts->features);
    }
    fill(d->own_x, d->own_y, opts);
    d->n = opts->n;
    d->sample.ndim = 1;
    d->sample.dim[0] = opts->features;
    d->dtype = NN_F32;
    d->x = d->own_x;
    d->divide = 1.0f;
    d->label = d->own_y;
    d->classes = opts->classes;
    *out = d;
    return 0;
}
