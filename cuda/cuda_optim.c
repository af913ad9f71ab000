/* The optimizers and gradient clipping. A parameter, its gradient and its state
 * lie alike. */
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_optim.h"

/* Numbers of a parameter; -1: the operands differ. */
static int64_t flat_size(const struct nn_call *call)
{
    const struct nn_tensor *p = call->in[0];

    for (int i = 1; i < call->n_in; i++)
        if (call->in[i]->layout != p->layout ||
            !nn_shape_eq(&call->in[i]->shape, &p->shape))
            return -1;
    return nn_tensor_numel(call->out[0]) == 1 ? nn_tensor_numel(p) : -1;
}

static int clear_flag(struct cuda *cu, const struct nn_call *call,
                      struct err *err)
{
    return CU(cudaMemsetAsync(cuda_data(call->out[0]), 0, sizeof(int32_t),
                              cu->stream),
              err);
}

CUDA_OP(sgd)
{
    int64_t n = flat_size(call);
    struct k_sgd o = {(float)call->attrs.sgd.momentum,
                      (float)call->attrs.sgd.weight_decay,
                      call->attrs.sgd.nesterov};
    int rc;

    if (n < 0)
        return cuda_shape_error(call, err);
    rc = clear_flag(cu, call, err);
    if (rc != 0 || n == 0)
        return rc;
    return CU(k_sgd(cuda_data(call->in[0]), cuda_data(call->in[1]),
                    call->n_in > 2 ? cuda_data(call->in[2]) : NULL, n, &o,
                    cu->scalars, cuda_data(call->out[0]), cu->stream),
              err);
}

CUDA_OP(adam)
{
    double beta1 = call->attrs.adam.beta1, beta2 = call->attrs.adam.beta2;
    struct k_adam o = {.beta1 = (float)beta1,
                       .one_minus_beta1 = (float)(1.0 - beta1),
                       .beta2 = (float)beta2,
                       .one_minus_beta2 = (float)(1.0 - beta2),
                       .eps = (float)call->attrs.adam.eps,
                       .weight_decay = (float)call->attrs.adam.weight_decay,
                       .decoupled = call->attrs.adam.decoupled};
    struct k_adam_block b = {.p = cuda_data(call->in[0]),
                             .g = cuda_data(call->in[1]),
                             .m = cuda_data(call->in[2]),
                             .v = cuda_data(call->in[3]),
                             .n = flat_size(call)};
    int rc;

    if (b.n < 0)
        return cuda_shape_error(call, err);
    rc = clear_flag(cu, call, err);
    if (rc != 0 || b.n == 0)
        return rc;
    return CU(k_adam(&b, &o, cu->scalars, cuda_data(call->out[0]), cu->stream),
              err);
}

/* Adds the sum of t's squares to *total: rows first, then their tree. */
static int add_squares(struct cuda *cu, const struct nn_tensor *t, float *total,
                       float *sums, struct err *err)
{
    int64_t n = nn_tensor_numel(t);
    int64_t rows = t->shape.ndim > 0 ? t->shape.dim[0] : 1;
    int rc;

    if (n == 0)
        return 0;
    rc = CU(k_row_squares(sums, cuda_data(t), rows, n / rows, cu->stream), err);
    return rc == 0 ? CU(k_add_tree(total, sums, rows, cu->stream), err) : rc;
}

static int64_t most_rows(const struct nn_call *call)
{
    int64_t most = 1;

    for (int i = 0; i < call->attrs.clip.n; i++) {
        const struct nn_tensor *t = call->attrs.clip.grads[i];

        if (t->shape.ndim > 0 && t->shape.dim[0] > most)
            most = t->shape.dim[0];
    }
    return most;
}

/* Scratch holds the factor, then the sums of one gradient's rows. */
CUDA_OP(clip)
{
    struct nn_tensor *const *grads = call->attrs.clip.grads;
    float *norm = cuda_data(call->out[0]), *factor;
    const int n = call->attrs.clip.n;
    void *work;
    int rc, i;

    for (i = 0; i < n; i++)
        if (grads[i]->dtype != NN_F32)
            return cuda_shape_error(call, err);
    if (nn_tensor_numel(call->out[0]) != 1)
        return cuda_shape_error(call, err);
    rc = cuda_workspace(cu, (size_t)(most_rows(call) + 1) * sizeof(float),
                        &work, err);
    factor = work;
    if (rc == 0)
        rc = CU(cudaMemsetAsync(norm, 0, sizeof *norm, cu->stream), err);
    for (i = 0; rc == 0 && i < n; i++)
        rc = add_squares(cu, grads[i], norm, factor + 1, err);
    if (rc == 0)
        rc = CU(k_clip_factor(norm, factor, (float)call->attrs.clip.max_norm,
                              cu->stream),
                err);
    for (i = 0; rc == 0 && i < n; i++)
        if (nn_tensor_numel(grads[i]) > 0)
            rc = CU(k_clip_scale(cuda_data(grads[i]), nn_tensor_numel(grads[i]),
                                 factor, cu->stream),
                    err);
    return rc;
}
