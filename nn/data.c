#include "nn/data.h"

#include "nn/base/mem.h"
#include "nn/base/rng.h"

void nn_data_free(struct nn_data *d)
{
    if (!d)
        return;
    mem_free(d->own_x);
    mem_free(d->own_y);
    mem_free(d->own_rows);
    io_map_close(&d->map);
    mem_free(d);
}

int64_t nn_data_row(const struct nn_data *d, int64_t i)
{
    return d->rows ? d->rows[i] : i;
}

/* The samples picked[0 .. n) of base, by rows of base's own base. */
static struct nn_data *subset(const struct nn_data *base, const int64_t *picked,
                              int64_t n)
{
    struct nn_data *d = mem_zalloc(sizeof *d);
    int64_t i;

    if (!d)
        return NULL;
    *d = *base;
    d->own_x = NULL;
    d->own_y = NULL;
    d->map = (struct io_map){0};
    d->own_rows = mem_array((size_t)n, sizeof *d->own_rows);
    if (!d->own_rows) {
        nn_data_free(d);
        return NULL;
    }
    for (i = 0; i < n; i++)
        d->own_rows[i] = nn_data_row(base, picked[i]);
    d->rows = d->own_rows;
    d->n = n;
    return d;
}

int nn_data_split(struct nn_data **train, struct nn_data **validation,
                  const struct nn_data *base, int64_t n_validation,
                  uint64_t seed, struct err *err)
{
    struct rng_mt g;
    int64_t *order, n_train;

    *train = NULL;
    *validation = NULL;
    if (n_validation < 1 || n_validation >= base->n)
        return err_set(err, ERR_CONFIG,
                       "a validation split of %lld samples does not leave "
                       "both parts some of the %lld there are",
                       (long long)n_validation, (long long)base->n);
    if (base->n > RNG_MT_MAX_PERMUTATION)
        return err_set(err, ERR_CONFIG,
                       "%lld samples are more than the 2^32 that can be split",
                       (long long)base->n);
    n_train = base->n - n_validation;
    order = mem_array((size_t)base->n, sizeof *order);
    if (order) {
        rng_mt_seed(&g, seed);
        rng_mt_permutation(&g, order, base->n);
        *train = subset(base, order, n_train);
        *validation = subset(base, order + n_train, n_validation);
        mem_free(order);
    }
    if (*train && *validation)
        return 0;
    nn_data_free(*train);
    nn_data_free(*validation);
    *train = NULL;
    *validation = NULL;
    return err_set(err, ERR_NOMEM, "out of memory splitting %lld samples",
                   (long long)base->n);
}
