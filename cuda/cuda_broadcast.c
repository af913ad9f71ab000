/* Operators that broadcast. */
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_elem.h"

CUDA_OP(binary)
{
    const struct nn_tensor *a = call->in[0], *b = call->in[1];
    const struct nn_tensor *y = call->out[0];
    struct nn_walk w;

    if (!nn_walk_init(&w, &y->shape, &a->shape, &b->shape))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(y) == 0)
        return 0;
    return CU(k_binary(call->op, y->dtype, cuda_data(y), cuda_data(a),
                       cuda_data(b), &w, cu->stream),
              err);
}

CUDA_OP(expand)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    const struct nn_shape scalar = {.ndim = 0};
    struct nn_walk w;

    if (!nn_walk_init(&w, &y->shape, &x->shape, &scalar))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(y) == 0)
        return 0;
    return CU(k_expand(y->dtype, cuda_data(y), cuda_data(x), &w, cu->stream),
              err);
}

/* Parts the walk over x into what y keeps and what is summed. */
static struct k_sum_to parts_of(const struct nn_walk *w)
{
    struct k_sum_to s = {.results = 1, .terms = 1};

    for (int i = 0; i < w->ndim; i++) {
        if (w->step[1][i] != 0) {
            s.kept[s.n_kept] = w->dim[i];
            s.kept_step[s.n_kept++] = w->step[0][i];
            s.results *= w->dim[i];
        } else {
            s.summed[s.n_summed] = w->dim[i];
            s.summed_step[s.n_summed++] = w->step[0][i];
            s.terms *= w->dim[i];
        }
    }
    return s;
}

CUDA_OP(sum_to)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    struct k_sum_to s;
    struct nn_walk w;

    if (!nn_walk_init(&w, &x->shape, &x->shape, &y->shape))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(y) == 0)
        return 0;
    if (nn_tensor_numel(x) == 0)
        return CU(
            k_fill(y->dtype, cuda_data(y), 0.0, nn_tensor_numel(y), cu->stream),
            err);
    s = parts_of(&w);
    return CU(k_sum_to(y->dtype, cuda_data(y), cuda_data(x), &s, cu->stream),
              err);
}
