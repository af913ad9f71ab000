/* The rows of nn/op.h by their definitions, and the edges: NaN, infinities,
 * -0, aliasing, empty tensors, labels out of range, calls without a kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nn/base/rng.h"
#include "tests/unit/cpu_fixture.h"

#define EACH_CPU(be) \
    struct nn_backend *be = cpus.be[0]; \
    for (int each_ = 0; each_ < cpus.n; be = cpus.be[++each_ % cpus.n])

/* out = op(a) or op(a, b), all vectors of n. */
static void apply(struct nn_backend *be, enum nn_op_id op, float *out,
                  const float *a, const float *b, int64_t n)
{
    struct nn_tensor *ta = vector_of(be, n, a);
    struct nn_tensor *tb = b ? vector_of(be, n, b) : NULL;
    struct nn_tensor *ty = vector_of(be, n, a);
    struct nn_call call = call_of(op, b ? 2 : 1, ta, tb, NULL, ty);

    run_call(be, &call);
    get(ty, out);
    nn_tensor_free(ta);
    nn_tensor_free(tb);
    nn_tensor_free(ty);
}

static void relu_keeps_nan_and_has_no_minus_zero(void **state)
{
    float x[5] = {NAN, -0.0f, -1.0f, 2.0f, -INFINITY}, y[5];

    (void)state;
    EACH_CPU(be)
    {
        apply(be, NN_OP_RELU, y, x, NULL, 5);
        assert_true(isnan(y[0]));
        assert_false(signbit(y[1]));
        assert_true(y[1] == 0 && y[2] == 0 && y[3] == 2 && y[4] == 0);
    }
}

static void relu_grad_follows_the_sign_of_the_output(void **state)
{
    float dy[4] = {1, 2, 3, 4}, y[4] = {0, 5, -1, NAN}, dx[4];

    (void)state;
    EACH_CPU(be)
    {
        apply(be, NN_OP_RELU_GRAD, dx, dy, y, 4);
        assert_true(dx[0] == 0 && dx[1] == 2 && dx[2] == 0 && dx[3] == 4);
    }
}

/* The definition of lanes16. */
static float lanes16(const float *x, int64_t n)
{
    float lane[16] = {0};

    for (int64_t i = 0; i < n; i++)
        lane[i % 16] += x[i];
    for (int w = 8; w >= 1; w /= 2)
        for (int j = 0; j < w; j++)
            lane[j] += lane[j + w];
    return lane[0];
}

static void sum_over_all_is_lanes16(void **state)
{
    static const int64_t sizes[] = {1, 15, 16, 17, 33, 1000, 70001};
    float *x = malloc(70001 * sizeof *x);

    (void)state;
    assert_non_null(x);
    fill_random(x, 70001, 3);
    EACH_CPU(be)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct nn_tensor *t = vector_of(be, sizes[i], x);
        struct nn_tensor *y = tensor_new(be, nn_shape0(), NN_F32, NN_ROWS);
        struct nn_call call = call_of(NN_OP_SUM, 1, t, NULL, NULL, y);
        float want = lanes16(x, sizes[i]);

        call.attrs.reduce.axis = NN_AXIS_ALL;
        run_call(be, &call);
        assert_true(get1(y) == want);
        call.op = NN_OP_MEAN;
        run_call(be, &call);
        assert_true(get1(y) == want / (float)sizes[i]);
        nn_tensor_free(t);
        nn_tensor_free(y);
    }
    free(x);
}

/* exp and log of the backend itself, the rest by the definition. */
static void cross_entropy_is_what_the_table_says(void **state)
{
    enum { B = 5, C = 21 };
    int32_t label[B] = {0, 20, 7, 3, 3};
    float x[B * C], e[C], want = 0.0f;
    const float scale = (float)(1.0 / B);

    (void)state;
    fill_random(x, B * C, 9);
    for (int r = 0; r < B; r++) {
        const float *row = x + r * C;
        float max = row[0], s, log_s;

        for (int c = 0; c < C; c++)
            max = row[c] > max ? row[c] : max;
        for (int c = 0; c < C; c++)
            e[c] = row[c] - max;
        apply(cpus.be[0], NN_OP_EXP, e, e, NULL, C);
        s = lanes16(e, C);
        apply(cpus.be[0], NN_OP_LOG, &log_s, &s, NULL, 1);
        want += (log_s + (max - row[label[r]])) * scale;
    }
    EACH_CPU(be)
    {
        struct nn_tensor *tx =
            tensor_of(be, nn_shape2(B, C), NN_F32, NN_ROWS, x);
        struct nn_tensor *tl = labels_of(be, B, label);
        struct nn_tensor *y = tensor_new(be, nn_shape0(), NN_F32, NN_ROWS);
        struct nn_call call = call_of(NN_OP_CROSS_ENTROPY, 2, tx, tl, NULL, y);

        call.attrs.loss.scale = 1.0 / B;
        run_call(be, &call);
        assert_true(get1(y) == want);
        nn_tensor_free(tx);
        nn_tensor_free(tl);
        nn_tensor_free(y);
    }
}

static void a_nan_logit_makes_its_row_nan(void **state)
{
    float x[2 * 3] = {1, NAN, 2, 1, 2, 3}, y[6];

    (void)state;
    EACH_CPU(be)
    {
        struct nn_tensor *tx =
            tensor_of(be, nn_shape2(2, 3), NN_F32, NN_ROWS, x);
        struct nn_call call = call_of(NN_OP_SOFTMAX, 1, tx, NULL, NULL, tx);

        run_call(be, &call); /* in place */
        get(tx, y);
        assert_true(isnan(y[0]) && isnan(y[1]) && isnan(y[2]));
        assert_true(y[3] > 0 && y[5] < 1);
        nn_tensor_free(tx);
    }
}

static void check_bad_label(struct nn_backend *be, int32_t label,
                            enum nn_dtype dtype, const char *message)
{
    float x[2 * 10] = {0};
    int32_t labels[2] = {3, label};
    struct nn_tensor *tx = tensor_of(be, nn_shape2(2, 10), dtype, NN_ROWS, x);
    struct nn_tensor *tl = labels_of(be, 2, labels);
    struct nn_tensor *g = tensor_of(be, nn_shape0(), dtype, NN_ROWS, x);
    struct nn_tensor *dx = tensor_of(be, nn_shape2(2, 10), dtype, NN_ROWS, x);
    struct nn_call call = call_of(NN_OP_CROSS_ENTROPY, 2, tx, tl, NULL, g);
    struct err err = {0};

    assert_int_equal(result_of(be, &call, &err), ERR_CORRUPT);
    assert_string_equal(err.msg, message);
    call = call_of(NN_OP_CROSS_ENTROPY_GRAD, 3, g, tx, tl, dx);
    err_clear(&err);
    assert_int_equal(result_of(be, &call, &err), ERR_CORRUPT);
    assert_string_equal(err.msg, message);
    nn_tensor_free(tx);
    nn_tensor_free(tl);
    nn_tensor_free(g);
    nn_tensor_free(dx);
}

static void a_label_out_of_range_is_an_error(void **state)
{
    (void)state;
    EACH_CPU(be)
    {
        check_bad_label(be, 10, NN_F32, "label 10 of row 1 is outside 0 to 9");
        check_bad_label(be, -1, NN_F32, "label -1 of row 1 is outside 0 to 9");
        check_bad_label(be, INT32_MIN, NN_F64,
                        "label -2147483648 of row 1 is outside 0 to 9");
    }
}

static void argmax_takes_the_first_largest_and_nan_wins(void **state)
{
    float x[4 * 3] = {1, 3, 3, 2, NAN, 5, NAN, NAN, 9, -INFINITY, -2, -3};
    int32_t y[4];

    (void)state;
    EACH_CPU(be)
    {
        struct nn_tensor *tx =
            tensor_of(be, nn_shape2(4, 3), NN_F32, NN_ROWS, x);
        struct nn_tensor *ty = tensor_new(be, nn_shape1(4), NN_I32, NN_ROWS);
        struct nn_call call = call_of(NN_OP_ARGMAX, 1, tx, NULL, NULL, ty);

        run_call(be, &call);
        get(ty, y);
        assert_true(y[0] == 1 && y[1] == 1 && y[2] == 0 && y[3] == 1);
        nn_tensor_free(tx);
        nn_tensor_free(ty);
    }
}

static void dropout_keeps_by_the_words_of_philox(void **state)
{
    enum { B = 3, N = 37, FIRST = 4, STEP = 6, LAYER = 2 };
    const uint32_t key[2] = {0x89abcdef, 0x01234567};
    float x[B * N], y[B * N];

    (void)state;
    fill_random(x, B * N, 1);
    EACH_CPU(be)
    {
        struct nn_tensor *t =
            tensor_of(be, nn_shape2(B, N), NN_F32, NN_ROWS, x);
        struct nn_call call = call_of(NN_OP_DROPOUT, 1, t, NULL, NULL, t);
        struct nn_scalars scalars = {.step = STEP};

        call.attrs.dropout.p = 0.3;
        call.attrs.dropout.seed = 0x0123456789abcdef;
        call.attrs.dropout.layer = LAYER;
        call.attrs.dropout.first = FIRST;
        assert_int_equal(be->ops->set_scalars(be, &scalars, NULL), 0);
        run_call(be, &call);
        get(t, y);
        for (uint32_t i = 0; i < B * N; i++) {
            uint32_t e = i % N, word[4];
            uint32_t counter[4] = {LAYER, STEP, FIRST + i / N, e / 4};

            rng_philox(word, key, counter);
            if (rng_philox_uniform(word[e % 4]) >= 0.3f)
                assert_true(y[i] == x[i] * (float)(1 / (1 - 0.3)));
            else
                assert_true(y[i] == 0.0f);
        }
        nn_tensor_free(t);
    }
}

static void dropout_of_everything_gives_zeros(void **state)
{
    float x[5] = {1, 2, 3, 4, 5}, y[5];

    (void)state;
    EACH_CPU(be)
    {
        struct nn_tensor *t = vector_of(be, 5, x);
        struct nn_call call = call_of(NN_OP_DROPOUT, 1, t, NULL, NULL, t);

        call.attrs.dropout.p = 1.0;
        run_call(be, &call);
        get(t, y);
        for (int i = 0; i < 5; i++)
            assert_true(y[i] == 0.0f);
        nn_tensor_free(t);
    }
}

/* In-place results equal those of a separate output. */
static void outputs_may_be_inputs(void **state)
{
    static const enum nn_op_id ops[] = {
        NN_OP_RELU_GRAD, NN_OP_TANH_GRAD, NN_OP_GELU_GRAD, NN_OP_ADD,
        NN_OP_SUB,       NN_OP_DIV,       NN_OP_MUL,       NN_OP_SOFTMAX_GRAD,
    };
    float a[333], b[333], want[333], got[333];

    (void)state;
    fill_random(a, 333, 1);
    fill_random(b, 333, 2);
    EACH_CPU(be)
    for (size_t i = 0; i < sizeof ops / sizeof *ops * 2; i++) {
        struct nn_tensor *ta = vector_of(be, 333, a);
        struct nn_tensor *tb = vector_of(be, 333, b);
        struct nn_tensor *out = i % 2 ? ta : tb;
        struct nn_call call = call_of(ops[i / 2], 2, ta, tb, NULL, out);

        apply(be, ops[i / 2], want, a, b, 333);
        run_call(be, &call);
        get(out, got);
        assert_memory_equal(got, want, sizeof want);
        nn_tensor_free(ta);
        nn_tensor_free(tb);
    }
}

static void empty_tensors_do_nothing(void **state)
{
    (void)state;
    EACH_CPU(be)
    {
        struct nn_shape s = nn_shape2(0, 7);
        struct nn_tensor *x = tensor_new(be, s, NN_F32, NN_ROWS);
        struct nn_tensor *w =
            tensor_new(be, nn_shape2(5, 7), NN_F32, NN_WEIGHT);
        struct nn_tensor *y = tensor_new(be, nn_shape2(0, 5), NN_F32, NN_ROWS);
        struct nn_tensor *label = tensor_new(be, nn_shape1(0), NN_I32, NN_ROWS);
        struct nn_tensor *loss = tensor_new(be, nn_shape0(), NN_F32, NN_ROWS);
        struct nn_call calls[] = {
            call_of(NN_OP_RELU, 1, x, NULL, NULL, x),
            call_of(NN_OP_ADD, 2, x, x, NULL, x),
            call_of(NN_OP_LINEAR, 2, x, w, NULL, y),
            call_of(NN_OP_LINEAR_GRAD_WEIGHT, 2, y, x, NULL, w),
            call_of(NN_OP_SOFTMAX, 1, y, NULL, NULL, y),
            call_of(NN_OP_CROSS_ENTROPY, 2, y, label, NULL, loss),
            call_of(NN_OP_COPY, 1, x, NULL, NULL, x),
            call_of(NN_OP_FILL, 0, NULL, NULL, NULL, x),
            call_of(NN_OP_DROPOUT, 1, x, NULL, NULL, x),
            call_of(NN_OP_MSE, 2, x, x, NULL, loss),
        };

        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            run_call(be, &calls[i]);
        assert_true(get1(loss) == 0.0f);
        nn_tensor_free(x);
        nn_tensor_free(w);
        nn_tensor_free(y);
        nn_tensor_free(label);
        nn_tensor_free(loss);
    }
}

static void fill_copy_add_and_clear_keep_the_padding(void **state)
{
    float rows[33 * 5], got[33 * 5];
    struct nn_shape s = nn_shape2(33, 5);

    (void)state;
    fill_random(rows, 33 * 5, 4);
    EACH_CPU(be)
    {
        struct nn_tensor *w = tensor_of(be, s, NN_F32, NN_WEIGHT, rows);
        struct nn_tensor *v = tensor_new(be, s, NN_F32, NN_WEIGHT);
        struct nn_tensor *r = tensor_new(be, s, NN_F32, NN_ROWS);
        struct nn_call fill = call_of(NN_OP_FILL, 0, NULL, NULL, NULL, v);
        struct nn_call add = call_of(NN_OP_ADD_INTO, 1, w, NULL, NULL, v);
        struct nn_call copy = call_of(NN_OP_COPY, 1, v, NULL, NULL, r);
        struct nn_call clear =
            call_of(NN_OP_CLEAR_GRAD, 0, NULL, NULL, NULL, v);

        fill.attrs.scalar = 1.5;
        run_call(be, &fill);
        run_call(be, &add);
        run_call(be, &copy);
        assert_true(padding_is_zero(v));
        get(r, got);
        for (int i = 0; i < 33 * 5; i++)
            assert_true(got[i] == 1.5f + rows[i]);
        run_call(be, &clear);
        get(v, got);
        for (int i = 0; i < 33 * 5; i++)
            assert_true(got[i] == 0.0f);
        nn_tensor_free(w);
        nn_tensor_free(v);
        nn_tensor_free(r);
    }
}

static void a_call_without_a_kernel_is_an_error(void **state)
{
    struct nn_backend *be = cpus.be[0];
    struct nn_tensor *x = tensor_new(be, nn_shape1(4), NN_F16, NN_ROWS);
    struct nn_tensor *d = tensor_new(be, nn_shape1(4), NN_F64, NN_ROWS);
    struct nn_tensor *f = tensor_new(be, nn_shape1(4), NN_F32, NN_ROWS);
    struct nn_call call = call_of(NN_OP_RELU, 1, x, NULL, NULL, x);
    struct err err = {0};

    (void)state;
    assert_false(be->ops->supports(be, &call));
    assert_int_equal(be->ops->run(be, &call, &err), ERR_SHAPE);
    assert_string_equal(err.msg, "relu is not in the cpu backend for: "
                                 "float16 (4,) -> float16 (4,)");
    call = call_of(NN_OP_ADD, 2, f, d, NULL, f);
    assert_false(be->ops->supports(be, &call));
    call = call_of(NN_OP_SGD, 2, d, d, NULL, f);
    assert_false(be->ops->supports(be, &call));
    call = call_of(NN_OP_LINEAR, 1, f, NULL, NULL, f);
    assert_false(be->ops->supports(be, &call));
    nn_tensor_free(x);
    nn_tensor_free(d);
    nn_tensor_free(f);
}

static void an_unknown_instruction_set_is_an_error(void **state)
{
    struct nn_backend *be;
    struct err err = {0};

    (void)state;
    assert_int_equal(nn_cpu_open(&be, 1, "mmx", &err), ERR_DEVICE);
    assert_null(be);
}

static void description_names_threads_and_instruction_set(void **state)
{
    (void)state;
    assert_string_equal(cpus.be[0]->description, "cpu (1 thread, scalar)");
    for (int i = 1; i < cpus.n; i++)
        if (strstr(cpus.be[i]->description, "cpu (2 threads, scalar)"))
            return;
    fail_msg("no description names two threads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relu_keeps_nan_and_has_no_minus_zero),
        cmocka_unit_test(relu_grad_follows_the_sign_of_the_output),
        cmocka_unit_test(sum_over_all_is_lanes16),
        cmocka_unit_test(cross_entropy_is_what_the_table_says),
        cmocka_unit_test(a_nan_logit_makes_its_row_nan),
        cmocka_unit_test(a_label_out_of_range_is_an_error),
        cmocka_unit_test(argmax_takes_the_first_largest_and_nan_wins),
        cmocka_unit_test(dropout_keeps_by_the_words_of_philox),
        cmocka_unit_test(dropout_of_everything_gives_zeros),
        cmocka_unit_test(outputs_may_be_inputs),
        cmocka_unit_test(empty_tensors_do_nothing),
        cmocka_unit_test(fill_copy_add_and_clear_keep_the_padding),
        cmocka_unit_test(a_call_without_a_kernel_is_an_error),
        cmocka_unit_test(an_unknown_instruction_set_is_an_error),
        cmocka_unit_test(description_names_threads_and_instruction_set),
    };

    return cmocka_run_group_tests(tests, cpus_open, cpus_close);
}
