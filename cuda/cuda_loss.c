/* Losses and their gradients. */
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_elem.h"
#include "cuda/k_loss.h"
#include "cuda/k_rows.h"

static struct k_loss loss_of(const struct nn_call *call)
{
    double eps = call->attrs.loss.label_smoothing;
    struct k_loss o = {.scale = call->attrs.loss.scale,
                       .keep = 1.0 - eps,
                       .pos_weight = call->attrs.loss.pos_weight,
                       .smooth = eps != 0.0,
                       .op = (int)call->op};

    return o;
}

/* The terms go straight to out where it has one place for each, else to
 * scratch. */
static int terms_place(struct cuda *cu, const struct nn_call *call, int64_t n,
                       void **terms, struct err *err)
{
    const struct nn_tensor *out = call->out[0];

    if (call->attrs.loss.per_sample && nn_tensor_numel(out) == n) {
        *terms = cuda_data(out);
        return 0;
    }
    return cuda_workspace(cu, (size_t)(n + 1) * nn_dtype_size(out->dtype),
                          terms, err);
}

/* logits (B, C) and B targets */
static bool is_classification(const struct nn_call *call, struct k_loss *o)
{
    const struct nn_tensor *x = call->in[call->n_in - 2];
    const struct nn_tensor *t = call->in[call->n_in - 1];

    if (x->shape.ndim != 2 || nn_tensor_numel(t) != x->shape.dim[0])
        return false;
    if (x->shape.dim[1] > 0)
        o->share = call->attrs.loss.label_smoothing / (double)x->shape.dim[1];
    return true;
}

CUDA_OP(cross_entropy)
{
    const struct nn_tensor *x = call->in[0], *out = call->out[0];
    int64_t n = nn_tensor_numel(call->in[1]);
    struct k_loss o = loss_of(call);
    void *terms;
    int rc;

    if (!is_classification(call, &o) || x->shape.dim[1] < 1 ||
        nn_tensor_numel(out) != (call->attrs.loss.per_sample ? n : 1))
        return cuda_shape_error(call, err);
    rc = terms_place(cu, call, n, &terms, err);
    if (rc == 0 && n > 0)
        rc = CU(k_cross_entropy(x->dtype, terms, cuda_data(x),
                                cuda_data(call->in[1]), n, x->shape.dim[1], &o,
                                cu->fault, cu->stream),
                err);
    if (rc != 0 || call->attrs.loss.per_sample)
        return rc;
    return CU(k_chain(x->dtype, cuda_data(out), terms, n, o.scale, cu->stream),
              err);
}

CUDA_OP(cross_entropy_grad)
{
    const struct nn_tensor *g = call->in[0], *x = call->in[1];
    struct k_loss o = loss_of(call);

    if (!is_classification(call, &o) || nn_tensor_numel(g) != 1 ||
        nn_tensor_numel(call->out[0]) != nn_tensor_numel(x))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(x) == 0)
        return 0;
    return CU(k_cross_entropy_grad(x->dtype, cuda_data(call->out[0]),
                                   cuda_data(g), cuda_data(x),
                                   cuda_data(call->in[2]), x->shape.dim[0],
                                   x->shape.dim[1], &o, cu->fault, cu->stream),
              err);
}

/* The mean of each row of terms, where out has a place for each row. */
static int row_means(struct cuda *cu, const struct nn_call *call,
                     const void *terms, int64_t n, int64_t rows,
                     struct err *err)
{
    const struct nn_tensor *out = call->out[0];
    struct k_axis a = {rows, rows > 0 ? n / rows : 0, 1};
    void *y = cuda_data(out);
    int rc;

    if (rows == 0 || a.len == 1)
        return 0;
    rc = CU(k_sum(out->dtype, y, terms, &a, true, false, cu->stream), err);
    if (rc != 0)
        return rc;
    return CU(k_scale(out->dtype, y, y, 1.0 / (double)a.len, rows, cu->stream),
              err);
}

static int pair_loss(struct cuda *cu, const struct nn_call *call,
                     struct err *err)
{
    const struct nn_tensor *x = call->in[0], *y = call->in[1];
    int64_t n = nn_tensor_numel(x);
    int64_t rows = x->shape.ndim > 0 ? x->shape.dim[0] : 1;
    struct k_loss o = loss_of(call);
    bool per_sample = call->attrs.loss.per_sample;
    void *terms;
    int rc;

    if (nn_tensor_numel(y) != n ||
        nn_tensor_numel(call->out[0]) != (per_sample ? rows : 1))
        return cuda_shape_error(call, err);
    rc = terms_place(cu, call, n, &terms, err);
    if (rc == 0 && n > 0)
        rc = CU(k_pair_loss(call->op, x->dtype, terms, cuda_data(x),
                            cuda_data(y), n, &o, cu->stream),
                err);
    if (rc != 0)
        return rc;
    if (per_sample)
        return row_means(cu, call, terms, n, rows, err);
    return CU(k_chain(x->dtype, cuda_data(call->out[0]), terms, n, o.scale,
                      cu->stream),
              err);
}

static int pair_grad(struct cuda *cu, const struct nn_call *call,
                     struct err *err)
{
    const struct nn_tensor *g = call->in[0], *x = call->in[1];
    int64_t n = nn_tensor_numel(x);
    struct k_loss o = loss_of(call);

    if (nn_tensor_numel(call->in[2]) != n || nn_tensor_numel(g) != 1 ||
        nn_tensor_numel(call->out[0]) != n)
        return cuda_shape_error(call, err);
    if (n == 0)
        return 0;
    return CU(k_pair_grad(call->op, x->dtype, cuda_data(call->out[0]),
                          cuda_data(g), cuda_data(x), cuda_data(call->in[2]), n,
                          &o, cu->stream),
              err);
}

CUDA_OP(bce)
{
    return pair_loss(cu, call, err);
}

CUDA_OP(bce_grad)
{
    return pair_grad(cu, call, err);
}

CUDA_OP(mse)
{
    return pair_loss(cu, call, err);
}

CUDA_OP(mse_grad)
{
    return pair_grad(cu, call, err);
}
