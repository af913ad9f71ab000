#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/cpu_fixture.h"

/* One product with everything that nn/op.h says about it, term by term. */
struct naive {
    int64_t m, n, k;
    const float *a;
    int64_t a_row, a_col;
    const float *b;
    int64_t b_row, b_col;
    const float *bias;
    int relu;
};

static void naive_product(float *c, const struct naive *p)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float s = p->bias ? p->bias[j] : 0.0f;

            for (int64_t k = 0; k < p->k; k++)
                s = fmaf(p->a[i * p->a_row + k * p->a_col],
                         p->b[k * p->b_row + j * p->b_col], s);
            s += 0.0f;
            c[i * p->n + j] = p->relu && s <= 0.0f ? 0.0f : s;
        }
}

/* batch, in, out */
static const int64_t shapes[][3] = {
    {1, 1, 1},     {1, 784, 10},  {31, 33, 10},  {33, 31, 33}, {128, 784, 65},
    {7, 513, 17},  {13, 300, 97}, {85, 5, 8},    {2, 0, 3},    {170, 64, 31},
    {64, 257, 16}, {5, 784, 1},   {1, 1000, 40}, {3, 2, 256},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* With TEST_SMALL=1, where each access is judged and takes its time. */
static bool too_large(const int64_t *s)
{
    return getenv("TEST_SMALL") && (s[1] > 100 || s[0] > 100);
}

static void check_forward(struct nn_backend *be, const int64_t *s, int act,
                          enum nn_layout layout)
{
    int64_t m = s[0], k = s[1], n = s[2];
    float *x = random_floats(m * k, 1);
    float *w = random_floats(n * k, 2);
    float *b = random_floats(n, 3);
    float *want = random_floats(m * n, 4);
    struct naive p = {m, n, k, x, k, 1, w, 1, k, b, act};
    struct nn_tensor *tx = tensor_of(be, nn_shape2(m, k), NN_F32, NN_ROWS, x);
    struct nn_tensor *tw = tensor_of(be, nn_shape2(n, k), NN_F32, layout, w);
    struct nn_tensor *tb = vector_of(be, n, b);
    struct nn_tensor *ty = tensor_new(be, nn_shape2(m, n), NN_F32, NN_ROWS);
    struct nn_call call = call_of(NN_OP_LINEAR, 3, tx, tw, tb, ty);

    call.attrs.linear.act = act ? NN_ACT_RELU : NN_ACT_NONE;
    naive_product(want, &p);
    run_call(be, &call);
    assert_same(want, ty, "linear", be);
    call.n_in = 2;
    p.bias = NULL;
    naive_product(want, &p);
    run_call(be, &call);
    assert_same(want, ty, "linear without bias", be);
    nn_tensor_free(tx);
    nn_tensor_free(tw);
    nn_tensor_free(tb);
    nn_tensor_free(ty);
    free(x);
    free(w);
    free(b);
    free(want);
}

static void linear_is_a_chain_of_fma(void **state)
{
    (void)state;
    for (int c = 0; c < cpus.n; c++)
        for (int i = 0; i < SHAPES; i++) {
            if (too_large(shapes[i]))
                continue;
            check_forward(cpus.be[c], shapes[i], i % 2, NN_WEIGHT);
            check_forward(cpus.be[c], shapes[i], 1 - i % 2, NN_ROWS);
        }
}

static void check_grads(struct nn_backend *be, const int64_t *s,
                        enum nn_layout layout)
{
    int64_t m = s[0], k = s[1], n = s[2];
    float *x = random_floats(m * k, 1);
    float *w = random_floats(n * k, 2);
    float *dy = random_floats(m * n, 3);
    float *want = random_floats(m * k + n * k, 4);
    struct naive in = {m, k, n, dy, n, 1, w, k, 1, NULL, 0};
    struct naive weight = {n, k, m, dy, 1, n, x, k, 1, NULL, 0};
    struct nn_tensor *tx = tensor_of(be, nn_shape2(m, k), NN_F32, NN_ROWS, x);
    struct nn_tensor *tw = tensor_of(be, nn_shape2(n, k), NN_F32, layout, w);
    struct nn_tensor *ty = tensor_of(be, nn_shape2(m, n), NN_F32, NN_ROWS, dy);
    struct nn_call call;

    call = call_of(NN_OP_LINEAR_GRAD_WEIGHT, 2, ty, tx, NULL, tw);
    naive_product(want, &weight);
    run_call(be, &call);
    assert_same(want, tw, "linear_grad_weight", be);
    if (layout == NN_WEIGHT)
        assert_true(padding_is_zero(tw));
    assert_int_equal(nn_tensor_set(tw, w, NULL), 0);
    call = call_of(NN_OP_LINEAR_GRAD_INPUT, 2, ty, tw, NULL, tx);
    naive_product(want, &in);
    run_call(be, &call);
    assert_same(want, tx, "linear_grad_input", be);
    nn_tensor_free(tx);
    nn_tensor_free(tw);
    nn_tensor_free(ty);
    free(x);
    free(w);
    free(dy);
    free(want);
}

static void gradients_of_linear_are_chains_of_fma(void **state)
{
    (void)state;
    for (int c = 0; c < cpus.n; c++)
        for (int i = 0; i < SHAPES; i++) {
            if (too_large(shapes[i]))
                continue;
            check_grads(cpus.be[c], shapes[i], NN_WEIGHT);
            check_grads(cpus.be[c], shapes[i], NN_ROWS);
        }
}

static void bias_gradient_is_a_chain_over_samples(void **state)
{
    (void)state;
    for (int c = 0; c < cpus.n; c++)
        for (int i = 0; i < SHAPES; i++) {
            if (too_large(shapes[i]))
                continue;
            int64_t m = shapes[i][0], n = shapes[i][1];
            float *dy = random_floats(m * n, 5);
            float *want = random_floats(n, 6);
            struct nn_tensor *t =
                tensor_of(cpus.be[c], nn_shape2(m, n), NN_F32, NN_ROWS, dy);
            struct nn_tensor *db = vector_of(cpus.be[c], n, want);
            struct nn_call call =
                call_of(NN_OP_LINEAR_GRAD_BIAS, 1, t, NULL, NULL, db);

            for (int64_t j = 0; j < n; j++) {
                want[j] = 0.0f;
                for (int64_t r = 0; r < m; r++)
                    want[j] += dy[r * n + j];
            }
            run_call(cpus.be[c], &call);
            assert_same(want, db, "linear_grad_bias", cpus.be[c]);
            nn_tensor_free(t);
            nn_tensor_free(db);
            free(dy);
            free(want);
        }
}

static void check_matmul(struct nn_backend *be, const int64_t *s, bool ta,
                         bool tb)
{
    int64_t m = s[0], k = s[1], n = s[2];
    float *a = random_floats(m * k, 1);
    float *b = random_floats(n * k, 2);
    float *want = random_floats(m * n, 4);
    struct naive p = {m, n,          k,          a,    ta ? 1 : k, ta ? m : 1,
                      b, tb ? 1 : n, tb ? k : 1, NULL, 0};
    struct nn_shape sa = ta ? nn_shape2(k, m) : nn_shape2(m, k);
    struct nn_shape sb = tb ? nn_shape2(n, k) : nn_shape2(k, n);
    struct nn_tensor *ta_ = tensor_of(be, sa, NN_F32, NN_ROWS, a);
    struct nn_tensor *tb_ = tensor_of(be, sb, NN_F32, NN_ROWS, b);
    struct nn_tensor *tc = tensor_new(be, nn_shape2(m, n), NN_F32, NN_ROWS);
    struct nn_call call = call_of(NN_OP_MATMUL, 2, ta_, tb_, NULL, tc);

    call.attrs.matmul.ta = ta;
    call.attrs.matmul.tb = tb;
    naive_product(want, &p);
    run_call(be, &call);
    assert_same(want, tc, "matmul", be);
    nn_tensor_free(ta_);
    nn_tensor_free(tb_);
    nn_tensor_free(tc);
    free(a);
    free(b);
    free(want);
}

static void matmul_is_a_chain_of_fma_however_transposed(void **state)
{
    (void)state;
    for (int c = 0; c < cpus.n; c++)
        for (int i = 0; i < SHAPES; i++)
            for (int t = 0; t < 4 && !too_large(shapes[i]); t++)
                check_matmul(cpus.be[c], shapes[i], t & 1, t & 2);
}

/* A product that underflows to -0 from +0 must come out as +0. */
static void no_output_is_minus_zero(void **state)
{
    float tiny = 0x1p-100f, minus = -0x1p-100f;

    (void)state;
    for (int c = 0; c < cpus.n; c++) {
        struct nn_backend *be = cpus.be[c];
        struct nn_shape s = nn_shape2(1, 1);
        struct nn_tensor *a = tensor_of(be, s, NN_F32, NN_ROWS, &tiny);
        struct nn_tensor *b = tensor_of(be, s, NN_F32, NN_ROWS, &minus);
        struct nn_tensor *y = tensor_new(be, s, NN_F32, NN_ROWS);
        struct nn_call call = call_of(NN_OP_MATMUL, 2, a, b, NULL, y);

        run_call(be, &call);
        assert_false(signbit(get1(y)));
        nn_tensor_free(a);
        nn_tensor_free(b);
        nn_tensor_free(y);
    }
}

/* An infinity in x times a zero of the padding is NaN: not to be stored. */
static void padding_survives_infinite_inputs(void **state)
{
    float x[6] = {INFINITY, 1, 2, NAN, 3, 4}, dy[2 * 5] = {1, 2, 3, 4, 5};

    (void)state;
    for (int c = 0; c < cpus.n; c++) {
        struct nn_backend *be = cpus.be[c];
        struct nn_tensor *tx =
            tensor_of(be, nn_shape2(2, 3), NN_F32, NN_ROWS, x);
        struct nn_tensor *ty =
            tensor_of(be, nn_shape2(2, 5), NN_F32, NN_ROWS, dy);
        struct nn_tensor *dw =
            tensor_new(be, nn_shape2(5, 3), NN_F32, NN_WEIGHT);
        struct nn_call call =
            call_of(NN_OP_LINEAR_GRAD_WEIGHT, 2, ty, tx, NULL, dw);

        run_call(be, &call);
        assert_true(padding_is_zero(dw));
        nn_tensor_free(tx);
        nn_tensor_free(ty);
        nn_tensor_free(dw);
    }
}

static void fused_activation_equals_the_operator_after(void **state)
{
    static const struct {
        enum nn_act act;
        enum nn_op_id op;
    } acts[] = {{NN_ACT_RELU, NN_OP_RELU},
                {NN_ACT_TANH, NN_OP_TANH},
                {NN_ACT_SIGMOID, NN_OP_SIGMOID}};
    float *x = random_floats(9 * 40, 1);
    float *w = random_floats(40 * 45, 2);
    float want[9 * 45];

    (void)state;
    for (int i = 0; i < cpus.n * 3; i++) {
        struct nn_backend *be = cpus.be[i / 3];
        struct nn_shape s = nn_shape2(9, 45);
        struct nn_tensor *tx =
            tensor_of(be, nn_shape2(9, 40), NN_F32, NN_ROWS, x);
        struct nn_tensor *tw =
            tensor_of(be, nn_shape2(45, 40), NN_F32, NN_WEIGHT, w);
        struct nn_tensor *y = tensor_new(be, s, NN_F32, NN_ROWS);
        struct nn_call call = call_of(NN_OP_LINEAR, 2, tx, tw, NULL, y);
        struct nn_call after = call_of(acts[i % 3].op, 1, y, NULL, NULL, y);

        run_call(be, &call);
        run_call(be, &after);
        get(y, want);
        call.attrs.linear.act = acts[i % 3].act;
        run_call(be, &call);
        assert_same(want, y, "fused linear", be);
        nn_tensor_free(tx);
        nn_tensor_free(tw);
        nn_tensor_free(y);
    }
    free(x);
    free(w);
}

static void shapes_that_do_not_fit_are_an_error(void **state)
{
    struct nn_backend *be = cpus.be[0];
    struct nn_tensor *x = tensor_new(be, nn_shape2(2, 3), NN_F32, NN_ROWS);
    struct nn_tensor *w = tensor_new(be, nn_shape2(4, 5), NN_F32, NN_WEIGHT);
    struct nn_tensor *y = tensor_new(be, nn_shape2(2, 4), NN_F32, NN_ROWS);
    struct nn_call call = call_of(NN_OP_LINEAR, 2, x, w, NULL, y);
    struct err err = {0};

    (void)state;
    assert_int_equal(nn_backend_run(be, &call, &err), ERR_SHAPE);
    assert_string_equal(err.msg,
                        "linear: operands do not fit each other: float32 "
                        "(2, 3), float32 (4, 5) weight -> float32 (2, 4)");
    nn_tensor_free(x);
    nn_tensor_free(w);
    nn_tensor_free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_is_a_chain_of_fma),
        cmocka_unit_test(gradients_of_linear_are_chains_of_fma),
        cmocka_unit_test(bias_gradient_is_a_chain_over_samples),
        cmocka_unit_test(matmul_is_a_chain_of_fma_however_transposed),
        cmocka_unit_test(no_output_is_minus_zero),
        cmocka_unit_test(padding_survives_infinite_inputs),
        cmocka_unit_test(fused_activation_equals_the_operator_after),
        cmocka_unit_test(shapes_that_do_not_fit_are_an_error),
    };

    return cmocka_run_group_tests(tests, cpus_open, cpus_close);
}
