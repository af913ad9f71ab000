/* Normalisation over the samples of a channel (batch) and over a row (layer).
 */
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_elem.h"
#include "cuda/k_norm.h"
#include "cuda/k_rows.h"

/* x (B,C,...) as (samples, channels, places), with scratch for terms like x,
 * then for sums of each sample's channels, then for two vectors (C). */
struct batch_norm {
    struct k_batch_norm o;
    int64_t samples;
    enum nn_dtype dtype;
    char *terms, *parts, *s, *t;
};

static bool batch_norm_of(struct batch_norm *b, const struct nn_tensor *x)
{
    if (x->shape.ndim < 2)
        return false;
    *b = (struct batch_norm){.o = {.n = nn_tensor_numel(x),
                                   .channels = x->shape.dim[1],
                                   .places = 1,
                                   .x = cuda_data(x)},
                             .samples = x->shape.dim[0],
                             .dtype = x->dtype};
    for (int i = 2; i < x->shape.ndim; i++)
        b->o.places *= x->shape.dim[i];
    return true;
}

static int batch_norm_scratch(struct batch_norm *b, struct cuda *cu,
                              struct err *err)
{
    size_t size = nn_dtype_size(b->dtype), c = (size_t)b->o.channels;
    size_t parts = (size_t)b->samples * c;
    void *work;
    int rc = cuda_workspace(cu, ((size_t)b->o.n + parts + 2 * c + 1) * size,
                            &work, err);

    if (rc != 0)
        return rc;
    b->terms = work;
    b->parts = b->terms + (size_t)b->o.n * size;
    b->s = b->parts + parts * size;
    b->t = b->s + c * size;
    return 0;
}

static bool is_vector(const struct nn_tensor *t, const struct batch_norm *b)
{
    return nn_tensor_numel(t) == b->o.channels;
}

/* sum (C) of x: 16 lanes over the places of a sample, a chain over samples */
static int channel_sums(struct cuda *cu, const struct batch_norm *b, void *sum,
                        const void *x, struct err *err)
{
    struct k_axis places = {b->samples * b->o.channels, b->o.places, 1};
    struct k_axis samples = {1, b->samples, b->o.channels};
    int rc = 0;

    if (b->o.places != 1) {
        rc = CU(k_sum(b->dtype, b->parts, x, &places, true, false, cu->stream),
                err);
        x = b->parts;
    }
    return rc == 0
               ? CU(k_sum(b->dtype, sum, x, &samples, false, false, cu->stream),
                    err)
               : rc;
}

static int channel_means(struct cuda *cu, const struct batch_norm *b,
                         void *mean, const void *x, struct err *err)
{
    double n = (double)(b->samples * b->o.places);
    int rc = channel_sums(cu, b, mean, x, err);

    return rc == 0
               ? CU(k_divide(b->dtype, mean, n, b->o.channels, cu->stream), err)
               : rc;
}

CUDA_OP(batch_stats)
{
    struct nn_tensor *const *out = call->out;
    struct batch_norm b;
    int rc;

    if (!batch_norm_of(&b, call->in[0]) || !is_vector(out[0], &b) ||
        !is_vector(out[1], &b))
        return cuda_shape_error(call, err);
    if (b.samples * b.o.places < 2)
        return err_set(err, ERR_SHAPE,
                       "batch_norm needs more than one value a channel to "
                       "train, and this batch has %d",
                       (int)(b.samples * b.o.places));
    rc = batch_norm_scratch(&b, cu, err);
    b.o.mean = cuda_data(out[0]);
    if (rc == 0)
        rc = channel_means(cu, &b, cuda_data(out[0]), b.o.x, err);
    if (rc == 0)
        rc = CU(k_square_centred(b.dtype, b.terms, &b.o, cu->stream), err);
    return rc == 0 ? channel_means(cu, &b, cuda_data(out[1]), b.terms, err)
                   : rc;
}

CUDA_OP(batch_norm)
{
    struct nn_tensor *const *in = call->in;
    struct batch_norm b;

    if (!batch_norm_of(&b, in[0]) || !is_vector(in[1], &b) ||
        !is_vector(in[2], &b) || !is_vector(in[3], &b) ||
        !is_vector(in[4], &b) || nn_tensor_numel(call->out[0]) != b.o.n)
        return cuda_shape_error(call, err);
    if (b.o.n == 0)
        return 0;
    b.o.w = cuda_data(in[1]);
    b.o.b = cuda_data(in[2]);
    b.o.mean = cuda_data(in[3]);
    b.o.var = cuda_data(in[4]);
    b.o.eps = call->attrs.norm.eps;
    return CU(k_batch_norm(b.dtype, cuda_data(call->out[0]), &b.o, cu->stream),
              err);
}

CUDA_OP(batch_norm_grad_input)
{
    struct nn_tensor *const *in = call->in;
    bool train = call->attrs.norm.train;
    struct batch_norm b;
    int rc;

    if (!batch_norm_of(&b, in[1]) || !is_vector(in[2], &b) ||
        !is_vector(in[3], &b) || !is_vector(in[4], &b) ||
        nn_tensor_numel(in[0]) != b.o.n ||
        nn_tensor_numel(call->out[0]) != b.o.n)
        return cuda_shape_error(call, err);
    if (b.o.n == 0)
        return 0;
    b.o.dy = cuda_data(in[0]);
    b.o.w = cuda_data(in[2]);
    b.o.mean = cuda_data(in[3]);
    b.o.var = cuda_data(in[4]);
    b.o.eps = call->attrs.norm.eps;
    rc = batch_norm_scratch(&b, cu, err);
    if (rc == 0 && train)
        rc = CU(k_times_xhat(b.dtype, b.terms, &b.o, cu->stream), err);
    if (rc == 0 && train)
        rc = channel_means(cu, &b, b.t, b.terms, err);
    if (rc == 0 && train)
        rc = channel_means(cu, &b, b.s, b.o.dy, err);
    if (rc != 0)
        return rc;
    return CU(k_batch_norm_grad(b.dtype, cuda_data(call->out[0]), &b.o,
                                train ? b.s : NULL, train ? b.t : NULL,
                                cu->stream),
              err);
}

CUDA_OP(batch_norm_grad)
{
    const bool weight = call->op == NN_OP_BATCH_NORM_GRAD_WEIGHT;
    struct nn_tensor *const *in = call->in;
    struct batch_norm b;
    int rc;

    if (!batch_norm_of(&b, in[weight ? 1 : 0]) ||
        nn_tensor_numel(in[0]) != b.o.n || !is_vector(call->out[0], &b) ||
        (weight && (!is_vector(in[2], &b) || !is_vector(in[3], &b))))
        return cuda_shape_error(call, err);
    if (b.o.channels == 0)
        return 0;
    rc = batch_norm_scratch(&b, cu, err);
    b.o.dy = cuda_data(in[0]);
    if (rc == 0 && weight && b.o.n > 0) {
        b.o.mean = cuda_data(in[2]);
        b.o.var = cuda_data(in[3]);
        b.o.eps = call->attrs.norm.eps;
        rc = CU(k_times_xhat(b.dtype, b.terms, &b.o, cu->stream), err);
    }
    return rc == 0 ? channel_sums(cu, &b, cuda_data(call->out[0]),
                                  weight ? b.terms : b.o.dy, err)
                   : rc;
}

CUDA_OP(batch_norm_update)
{
    struct nn_tensor *const *in = call->in, *const *out = call->out;
    double momentum = call->attrs.running.momentum;
    double n = (double)call->attrs.running.n;
    int64_t c = nn_tensor_numel(in[0]);
    int rc;

    if (nn_tensor_numel(in[1]) != c || nn_tensor_numel(out[0]) != c ||
        nn_tensor_numel(out[1]) != c || nn_tensor_numel(out[2]) != 1 || n < 2)
        return cuda_shape_error(call, err);
    rc = CU(k_move_towards(in[0]->dtype, cuda_data(out[0]), cuda_data(in[0]),
                           momentum, 1.0, c, cu->stream),
            err);
    if (rc == 0)
        rc =
            CU(k_move_towards(in[1]->dtype, cuda_data(out[1]), cuda_data(in[1]),
                              momentum, n / (n - 1.0), c, cu->stream),
               err);
    return rc == 0 ? CU(k_count(cuda_data(out[2]), cu->stream), err) : rc;
}

/* x as rows of as many numbers as w has; false where they do not fit. */
static bool layer_norm_of(struct k_layer_norm *o, const struct nn_call *call,
                          const struct nn_tensor *x, const struct nn_tensor *w)
{
    int64_t cols = nn_tensor_numel(w), n = nn_tensor_numel(x);

    if (cols < 1 || n % cols != 0)
        return false;
    *o = (struct k_layer_norm){.rows = n / cols,
                               .cols = cols,
                               .x = cuda_data(x),
                               .w = cuda_data(w),
                               .eps = call->attrs.norm.eps};
    return true;
}

CUDA_OP(layer_norm)
{
    struct nn_tensor *const *in = call->in;
    struct k_layer_norm o;

    if (!layer_norm_of(&o, call, in[0], in[1]) ||
        nn_tensor_numel(in[2]) != o.cols ||
        nn_tensor_numel(call->out[0]) != o.rows * o.cols)
        return cuda_shape_error(call, err);
    o.b = cuda_data(in[2]);
    if (o.rows == 0)
        return 0;
    return CU(
        k_layer_norm(in[0]->dtype, cuda_data(call->out[0]), &o, cu->stream),
        err);
}

CUDA_OP(layer_norm_grad_input)
{
    struct nn_tensor *const *in = call->in;
    int64_t n = nn_tensor_numel(in[1]);
    struct k_layer_norm o;

    if (!layer_norm_of(&o, call, in[1], in[2]) || nn_tensor_numel(in[0]) != n ||
        nn_tensor_numel(call->out[0]) != n)
        return cuda_shape_error(call, err);
    o.dy = cuda_data(in[0]);
    if (o.rows == 0)
        return 0;
    return CU(k_layer_norm_grad(in[1]->dtype, cuda_data(call->out[0]), &o,
                                cu->stream),
              err);
}

CUDA_OP(layer_norm_grad_weight)
{
    const struct nn_tensor *x = call->in[1], *dw = call->out[0];
    int64_t n = nn_tensor_numel(x);
    struct k_layer_norm o;
    struct k_axis rows;
    void *products;
    int rc;

    if (!layer_norm_of(&o, call, x, dw) || nn_tensor_numel(call->in[0]) != n)
        return cuda_shape_error(call, err);
    o.dy = cuda_data(call->in[0]);
    rows = (struct k_axis){1, o.rows, o.cols};
    rc = cuda_workspace(cu, (size_t)(n + 1) * nn_dtype_size(x->dtype),
                        &products, err);
    if (rc == 0 && o.rows > 0)
        rc = CU(k_row_times_xhat(x->dtype, products, &o, cu->stream), err);
    return rc == 0 ? CU(k_sum(x->dtype, cuda_data(dw), products, &rows, false,
                              false, cu->stream),
                        err)
                   : rc;
}
