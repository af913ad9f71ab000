/* A tape, and operands for the operators of custom_fixture.h. */
#ifndef CUSTOM_TAPE_H
#define CUSTOM_TAPE_H

#include "nn/base/rng.h"
#include "tests/unit/custom_fixture.h"
#include "tests/unit/device_fixture.h"

enum { B = 7, IN = 6, OUT = 5, MOST = 64 };

struct fixture {
    struct nn_backend *be;
    struct nn_tape *tape;
    struct rng_mt gen;
    struct err err;
    int released, *at;
    struct nn_custom linear, thin, relu, loss; /* outlive the tape */
};

static inline int setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);

    *state = f;
    if (!f || device_open(&f->be, 1, &f->err) != 0)
        return -1;
    f->at = &f->released;
    f->linear = own_linear(&f->at, true);
    f->thin = own_linear(&f->at, false);
    f->relu = own_relu(&f->at);
    f->loss = own_cross_entropy(&f->at);
    rng_mt_seed(&f->gen, 5);
    return nn_tape_new(&f->tape, f->be, &f->err);
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    nn_tape_free(f->tape);
    nn_backend_close(f->be);
    mem_free(f);
    return mem_live() == 0 ? 0 : -1;
}

/* A leaf of numbers within +-2. */
static inline struct nn_tensor *leaf(struct fixture *f, struct nn_shape s,
                                     enum nn_dtype dtype, enum nn_layout layout)
{
    float v[MOST];
    double d[MOST];
    struct nn_tensor *t;
    int64_t i;

    assert_true(nn_shape_numel(&s) <= MOST);
    for (i = 0; i < nn_shape_numel(&s); i++)
        d[i] = (double)(v[i] = rng_mt_uniform(&f->gen, -2.0f, 2.0f));
    assert_int_equal(
        nn_tensor_new(&t, f->be, &s, dtype, layout, NN_CAT_PARAMETER, &f->err),
        0);
    assert_int_equal(
        nn_tensor_set(t, dtype == NN_F32 ? (const void *)v : (const void *)d,
                      &f->err),
        0);
    assert_int_equal(nn_tensor_require_grad(t, &f->err), 0);
    return t;
}

static inline struct nn_tensor *labels(struct fixture *f)
{
    static const int32_t v[B] = {0, 4, 2, 1, 3, 4, 0};
    struct nn_shape s = nn_shape1(B);
    struct nn_tensor *t;

    assert_int_equal(
        nn_tensor_new(&t, f->be, &s, NN_I32, NN_ROWS, NN_CAT_INPUT, &f->err),
        0);
    assert_int_equal(nn_tensor_set(t, v, &f->err), 0);
    return t;
}

static inline void drop(struct nn_tensor *t)
{
    if (t)
        nn_tensor_free(t->grad);
    nn_tensor_free(t);
}

/* Backward from y with fixed numbers as its gradient. */
static inline int back(struct fixture *f, struct nn_tensor *y, bool retain)
{
    float v[MOST];
    struct nn_tensor *g;
    int64_t i;

    for (i = 0; i < nn_tensor_numel(y); i++)
        v[i] = 0.37f * (float)(i % 5) - 0.6f;
    assert_int_equal(nn_tape_tensor(f->tape, &y->shape, NN_F32,
                                    NN_CAT_TEMPORARY, &g, &f->err),
                     0);
    assert_int_equal(nn_tensor_set(g, v, &f->err), 0);
    return nn_tape_backward_from(f->tape, y, g, retain, &f->err);
}

/* The operands of a linear operator: x, W, b, and y. */
struct linear {
    struct nn_tensor *in[3], *y;
};

static inline struct linear linear_new(struct fixture *f, enum nn_layout layout)
{
    struct linear l = {0};

    rng_mt_seed(&f->gen, 11);
    l.in[0] = leaf(f, nn_shape2(B, IN), NN_F32, NN_ROWS);
    l.in[1] = leaf(f, nn_shape2(OUT, IN), NN_F32, layout);
    l.in[2] = leaf(f, nn_shape1(OUT), NN_F32, NN_ROWS);
    return l;
}

static inline void linear_drop(struct linear *l)
{
    int i;

    for (i = 0; i < 3; i++)
        drop(l->in[i]);
}

#endif
