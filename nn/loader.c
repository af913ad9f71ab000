#include "nn/loader.h"

#include "nn/base/mem.h"

/* torch.empty((), dtype=torch.int64).random_(): uniform in [0, 2^63). */
static uint64_t draw_seed(struct rng_mt *gen)
{
    return rng_mt_u64(gen) % (1ull << 63);
}

static int check_opts(const struct nn_data *data,
                      const struct nn_loader_opts *o, struct err *err)
{
    if (o->batch_size < 1)
        return err_set(err, ERR_CONFIG,
                       "batch size must be 1 or more, not %lld",
                       (long long)o->batch_size);
    if (o->extra_iters < 0)
        return err_set(err, ERR_CONFIG,
                       "the extra iterations of an epoch must be 0 or more, "
                       "not %d",
                       o->extra_iters);
    if (data->n > RNG_MT_MAX_PERMUTATION)
        return err_set(err, ERR_CONFIG,
                       "%lld samples are more than the 2^32 that can be put in "
                       "order",
                       (long long)data->n);
    if (o->drop_last && o->batch_size > data->n)
        return err_set(err, ERR_CONFIG,
                       "%lld samples do not fill one batch of %lld, and the "
                       "last partial batch is dropped",
                       (long long)data->n, (long long)o->batch_size);
    return 0;
}

int nn_loader_new(struct nn_loader **out, const struct nn_data *data,
                  struct rng_mt *gen, const struct nn_loader_opts *opts,
                  struct err *err)
{
    struct nn_loader *l;
    int64_t i;
    int rc;

    *out = NULL;
    rc = check_opts(data, opts, err);
    if (rc != 0)
        return rc;
    l = mem_zalloc(sizeof *l);
    if (l)
        l->order = mem_array((size_t)data->n, sizeof *l->order);
    if (!l || !l->order) {
        nn_loader_free(l);
        return err_set(err, ERR_NOMEM,
                       "out of memory for the order of %lld samples",
                       (long long)data->n);
    }
    for (i = 0; i < data->n; i++)
        l->order[i] = i;
    l->data = data;
    l->gen = gen;
    l->opts = *opts;
    *out = l;
    return 0;
}

void nn_loader_free(struct nn_loader *l)
{
    if (!l)
        return;
    mem_free(l->order);
    mem_free(l);
}

void nn_loader_begin_epoch(struct nn_loader *l)
{
    struct rng_mt sampler;

    l->start = *l->gen;
    l->in_epoch = true;
    (void)draw_seed(l->gen); /* for the workers, of which we have none */
    if (!l->opts.shuffle)
        return;
    rng_mt_seed(&sampler, draw_seed(l->gen));
    rng_mt_permutation(&sampler, l->order, l->data->n);
}

void nn_loader_end_epoch(struct nn_loader *l)
{
    int i;

    for (i = 0; i < l->opts.extra_iters; i++)
        (void)draw_seed(l->gen);
    l->in_epoch = false;
}

int64_t nn_loader_batches(const struct nn_loader *l)
{
    int64_t full = l->data->n / l->opts.batch_size;
    bool partial = l->data->n % l->opts.batch_size != 0;

    return full + (partial && !l->opts.drop_last);
}

void nn_loader_batch(const struct nn_loader *l, int64_t i, int64_t *first,
                     int64_t *count)
{
    int64_t left;

    *first = i * l->opts.batch_size;
    left = l->data->n - *first;
    *count = left < l->opts.batch_size ? left : l->opts.batch_size;
}

const struct rng_mt *nn_loader_state(const struct nn_loader *l)
{
    return l->in_epoch ? &l->start : l->gen;
}

void nn_loader_restore(struct nn_loader *l, const struct rng_mt *state)
{
    *l->gen = *state;
    l->in_epoch = false;
}
