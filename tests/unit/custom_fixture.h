/* Operators written by hand, as a user would write them: what is made of calls
 * and has a backward of its own, beside the built-in one. */
#ifndef CUSTOM_FIXTURE_H
#define CUSTOM_FIXTURE_H

#include "nn/base/mem.h"
#include "nn/custom.h"

/* What forward keeps for backward; counts its own end. */
struct kept {
    struct nn_tensor *t[3];
    int *released;
};

static inline void kept_release(void *state)
{
    struct kept *k = state;

    ++*k->released;
    mem_free(k);
}

static inline int kept_new(const struct nn_custom *c, void **state,
                           struct nn_tensor *const *keep, int n,
                           struct err *err)
{
    struct kept *k = mem_zalloc(sizeof *k);
    int *const *released = c->user;
    int i;

    *state = k;
    if (!k)
        return err_set(err, ERR_NOMEM, "out of memory");
    k->released = *released;
    for (i = 0; i < n; i++)
        k->t[i] = keep[i];
    return 0;
}

static inline int op1(struct nn_tape *tape, enum nn_op_id op,
                      struct nn_tensor *a, struct nn_tensor **out,
                      struct err *err)
{
    return nn_tape_apply(tape, op, &a, 1, NULL, out, err);
}

static inline int op2(struct nn_tape *tape, enum nn_op_id op,
                      struct nn_tensor *a, struct nn_tensor *b,
                      struct nn_tensor **out, struct err *err)
{
    struct nn_tensor *in[2] = {a, b};

    return nn_tape_apply(tape, op, in, 2, NULL, out, err);
}

static inline int product(struct nn_tape *tape, struct nn_tensor *a, bool ta,
                          struct nn_tensor *b, bool tb, struct nn_tensor **out,
                          struct err *err)
{
    union nn_attrs attrs = {.matmul = {ta, tb}};
    struct nn_tensor *in[2] = {a, b};

    return nn_tape_apply(tape, NN_OP_MATMUL, in, 2, &attrs, out, err);
}

static inline int sum_over(struct nn_tape *tape, struct nn_tensor *x, int axis,
                           struct nn_tensor **out, struct err *err)
{
    union nn_attrs attrs = {.reduce = {axis}};

    return nn_tape_apply(tape, NN_OP_SUM, &x, 1, &attrs, out, err);
}

/* y = x @ transpose(W) + b; without b where n_in is 2 */
static inline int linear_forward(const struct nn_custom *c,
                                 struct nn_tape *tape,
                                 struct nn_tensor *const *in,
                                 struct nn_tensor **out, void **state,
                                 struct err *err)
{
    int rc = kept_new(c, state, in, 2, err);

    if (rc == 0)
        rc = product(tape, in[0], false, in[1], true, out, err);
    if (rc == 0 && c->n_in > 2)
        rc = op2(tape, NN_OP_ADD, *out, in[2], out, err);
    return rc;
}

/* dx = g @ W; dW = transpose(g) @ x; db = sum(g, 0) */
static inline int linear_backward(const struct nn_custom *c,
                                  struct nn_tape *tape, void *state,
                                  struct nn_tensor *grad,
                                  struct nn_tensor **grad_in, struct err *err)
{
    struct kept *k = state;
    int rc = 0;

    if (k->t[0]->requires_grad)
        rc = product(tape, grad, false, k->t[1], false, &grad_in[0], err);
    if (rc == 0)
        rc = product(tape, grad, true, k->t[0], false, &grad_in[1], err);
    if (rc == 0 && c->n_in > 2)
        rc = sum_over(tape, grad, 0, &grad_in[2], err);
    return rc;
}

static inline int relu_forward(const struct nn_custom *c, struct nn_tape *tape,
                               struct nn_tensor *const *in,
                               struct nn_tensor **out, void **state,
                               struct err *err)
{
    int rc = op1(tape, NN_OP_RELU, in[0], out, err);

    return rc == 0 ? kept_new(c, state, out, 1, err) : rc;
}

static inline int relu_backward(const struct nn_custom *c, struct nn_tape *tape,
                                void *state, struct nn_tensor *grad,
                                struct nn_tensor **grad_in, struct err *err)
{
    struct kept *k = state;

    (void)c;
    return op2(tape, NN_OP_RELU_GRAD, grad, k->t[0], grad_in, err);
}

/* The rows of the unit matrix that t (B) names. */
static inline int one_hot(struct nn_tape *tape, struct nn_tensor *t,
                          int64_t classes, enum nn_dtype dtype,
                          struct nn_tensor **out, struct err *err)
{
    struct nn_shape s = nn_shape2(classes, classes);
    float f[64] = {0};
    double d[64] = {0};
    struct nn_tensor *unit;
    int64_t i;
    int rc = nn_tape_tensor(tape, &s, dtype, NN_CAT_TEMPORARY, &unit, err);

    for (i = 0; i < classes && classes <= 8; i++)
        f[i * classes + i] = (float)(d[i * classes + i] = 1.0);
    if (rc == 0)
        rc = nn_tensor_set(
            unit, dtype == NN_F32 ? (const void *)f : (const void *)d, err);
    return rc == 0 ? op2(tape, NN_OP_EMBEDDING, unit, t, out, err) : rc;
}

/* l = -sum(log_softmax(x) * onehot(t), 1) */
static inline int cross_entropy_forward(const struct nn_custom *c,
                                        struct nn_tape *tape,
                                        struct nn_tensor *const *in,
                                        struct nn_tensor **out, void **state,
                                        struct err *err)
{
    struct kept *k;
    int rc = kept_new(c, state, in, 2, err);

    if (rc != 0)
        return rc;
    k = *state;
    rc = one_hot(tape, in[1], in[0]->shape.dim[1], in[0]->dtype, &k->t[1], err);
    if (rc == 0)
        rc = op1(tape, NN_OP_LOG_SOFTMAX, in[0], out, err);
    if (rc == 0)
        rc = op2(tape, NN_OP_MUL, *out, k->t[1], out, err);
    if (rc == 0)
        rc = sum_over(tape, *out, 1, out, err);
    return rc == 0 ? op1(tape, NN_OP_NEG, *out, out, err) : rc;
}

/* dx = (softmax(x) - onehot(t)) * g */
static inline int cross_entropy_backward(const struct nn_custom *c,
                                         struct nn_tape *tape, void *state,
                                         struct nn_tensor *grad,
                                         struct nn_tensor **grad_in,
                                         struct err *err)
{
    struct nn_shape column = nn_shape2(grad->shape.dim[0], 1);
    struct kept *k = state;
    struct nn_tensor *y, *g;
    int rc = op1(tape, NN_OP_SOFTMAX, k->t[0], &y, err);

    (void)c;
    if (rc == 0)
        rc = op2(tape, NN_OP_SUB, y, k->t[1], &y, err);
    if (rc == 0)
        rc = nn_tape_reshape(tape, grad, &column, &g, err);
    return rc == 0 ? op2(tape, NN_OP_MUL, y, g, grad_in, err) : rc;
}

/* released is where the ends of states are counted; it outlives the tape. */
static inline struct nn_custom own_linear(int *const *released, bool bias)
{
    return (struct nn_custom){"my_linear",     bias ? 3 : 2, linear_forward,
                              linear_backward, kept_release, released};
}

static inline struct nn_custom own_relu(int *const *released)
{
    return (struct nn_custom){
        "my_relu", 1, relu_forward, relu_backward, kept_release, released};
}

static inline struct nn_custom own_cross_entropy(int *const *released)
{
    return (struct nn_custom){"my_cross_entropy",    2,
                              cross_entropy_forward, cross_entropy_backward,
                              kept_release,          released};
}

#endif
