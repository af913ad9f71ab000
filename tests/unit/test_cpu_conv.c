/* Convolution, bit for bit, against plain loops over the chains that nn/op.h
 * fixes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/cpu_fixture.h"

/* One convolution as nn/op.h has it, in plain loops. */
struct conv {
    int64_t b, c, h, w, o, k, oh, ow, stride, padding;
};

/* The place in x that output (r,s) meets with (i,j); -1: padding */
static int64_t place(const struct conv *v, int64_t r, int64_t s, int64_t i,
                     int64_t j)
{
    int64_t row = r * v->stride + i - v->padding;
    int64_t col = s * v->stride + j - v->padding;

    return row < 0 || row >= v->h || col < 0 || col >= v->w ? -1
                                                            : row * v->w + col;
}

static float naive_output(const struct conv *v, const float *x, const float *w,
                          float bias, int64_t r, int64_t s)
{
    float sum = bias;

    for (int64_t c = 0; c < v->c; c++)
        for (int64_t i = 0; i < v->k; i++)
            for (int64_t j = 0; j < v->k; j++) {
                int64_t at = place(v, r, s, i, j);
                float a = at < 0 ? 0.0f : x[c * v->h * v->w + at];

                sum = fmaf(w[(c * v->k + i) * v->k + j], a, sum);
            }
    return sum + 0.0f;
}

static void naive_forward(const struct conv *v, float *y, const float *x,
                          const float *w, const float *bias)
{
    for (int64_t b = 0; b < v->b; b++)
        for (int64_t o = 0; o < v->o; o++)
            for (int64_t r = 0; r < v->oh; r++)
                for (int64_t s = 0; s < v->ow; s++)
                    *y++ =
                        naive_output(v, x + b * v->c * v->h * v->w,
                                     w + o * v->c * v->k * v->k, bias[o], r, s);
}

static float naive_term(const struct conv *v, const float *x, const float *dy,
                        int64_t i, int64_t j, float sum)
{
    for (int64_t r = 0; r < v->oh; r++)
        for (int64_t s = 0; s < v->ow; s++) {
            int64_t at = place(v, r, s, i, j);

            sum = fmaf(dy[r * v->ow + s], at < 0 ? 0.0f : x[at], sum);
        }
    return sum;
}

static void naive_grad_weight(const struct conv *v, float *dw, const float *x,
                              const float *dy)
{
    for (int64_t o = 0; o < v->o; o++)
        for (int64_t c = 0; c < v->c; c++)
            for (int64_t i = 0; i < v->k; i++)
                for (int64_t j = 0; j < v->k; j++) {
                    float sum = 0.0f;

                    for (int64_t b = 0; b < v->b; b++)
                        sum = naive_term(v, x + (b * v->c + c) * v->h * v->w,
                                         dy + (b * v->o + o) * v->oh * v->ow, i,
                                         j, sum);
                    *dw++ = sum + 0.0f;
                }
}

/* dx of one sample and (c, i, j): chains over the outputs, added in place. */
static void naive_spread(const struct conv *v, float *dx, const float *w,
                         const float *dy, int64_t i, int64_t j)
{
    int64_t step = v->c * v->k * v->k, area = v->oh * v->ow;

    for (int64_t r = 0; r < v->oh; r++)
        for (int64_t s = 0; s < v->ow; s++) {
            int64_t at = place(v, r, s, i, j);
            float sum = 0.0f;

            for (int64_t o = 0; o < v->o; o++)
                sum = fmaf(dy[o * area + r * v->ow + s], w[o * step], sum);
            if (at >= 0)
                dx[at] += sum + 0.0f;
        }
}

static void naive_grad_input(const struct conv *v, float *dx, const float *w,
                             const float *dy)
{
    memset(dx, 0, (size_t)(v->b * v->c * v->h * v->w) * sizeof *dx);
    for (int64_t b = 0; b < v->b; b++)
        for (int64_t c = 0; c < v->c; c++)
            for (int64_t i = 0; i < v->k; i++)
                for (int64_t j = 0; j < v->k; j++)
                    naive_spread(v, dx + (b * v->c + c) * v->h * v->w,
                                 w + (c * v->k + i) * v->k + j,
                                 dy + b * v->o * v->oh * v->ow, i, j);
}

static void run_conv(struct nn_backend *be, const struct conv *v,
                     enum nn_op_id op, struct nn_tensor *a, struct nn_tensor *b,
                     struct nn_tensor *c, struct nn_tensor *out)
{
    struct nn_call call = call_of(op, c ? 3 : 2, a, b, c, out);

    call.attrs.conv.stride = v->stride;
    call.attrs.conv.padding = v->padding;
    run_call(be, &call);
}

static void check_conv(struct nn_backend *be, const struct conv *v)
{
    struct nn_shape xs = {4, {v->b, v->c, v->h, v->w}};
    struct nn_shape ws = {4, {v->o, v->c, v->k, v->k}};
    struct nn_shape ys = {4, {v->b, v->o, v->oh, v->ow}};
    float *x = random_floats(nn_shape_numel(&xs), 3);
    float *w = random_floats(nn_shape_numel(&ws), 5);
    float *bias = random_floats(v->o, 7);
    float *y = random_floats(nn_shape_numel(&ys), 9);
    struct nn_tensor *tx = tensor_of(be, xs, NN_F32, NN_ROWS, x);
    struct nn_tensor *tw = tensor_of(be, ws, NN_F32, NN_WEIGHT, w);
    struct nn_tensor *tb = vector_of(be, v->o, bias);
    struct nn_tensor *ty = tensor_of(be, ys, NN_F32, NN_ROWS, y);

    naive_grad_weight(v, w, x, y); /* first: it needs x and dy as drawn */
    run_conv(be, v, NN_OP_CONV2D_GRAD_WEIGHT, ty, tx, NULL, tw);
    assert_same(w, tw, "grad_weight", be);
    naive_grad_input(v, x, w, y);
    run_conv(be, v, NN_OP_CONV2D_GRAD_INPUT, ty, tw, NULL, tx);
    assert_same(x, tx, "grad_input", be);
    naive_forward(v, y, x, w, bias);
    run_conv(be, v, NN_OP_CONV2D, tx, tw, tb, ty);
    assert_same(y, ty, "forward", be);
    nn_tensor_free(tx);
    nn_tensor_free(tw);
    nn_tensor_free(tb);
    nn_tensor_free(ty);
    free(x);
    free(w);
    free(bias);
    free(y);
}

static void convolution_is_the_chain_that_the_table_says(void **state)
{
    static const struct conv convs[] = {
        {3, 1, 12, 11, 6, 5, 12, 11, 1, 2},
        {4, 6, 8, 8, 16, 5, 4, 4, 1, 0},
        {2, 3, 9, 7, 35, 3, 5, 4, 2, 1},
        {1, 2, 6, 5, 66, 2, 3, 3, 3, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++)
        for (int k = 0; k < cpus.n; k++)
            check_conv(cpus.be[k], &convs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolution_is_the_chain_that_the_table_says),
    };

    return cmocka_run_group_tests(tests, cpus_open, cpus_close);
}
