/* The operators that move, pick, convolve and normalise: the same bits on every
 * instruction set and thread count, and their edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/cpu_cases.h"

#define S4(a, b, c, d) \
    { \
        4, \
        { \
            a, b, c, d \
        } \
    }
#define AXIS(op_, n_in_, a, b, axis_, out_) \
    { \
        .op = op_, .n_in = n_in_, .in = {a, b}, .out = out_, .attrs = { \
            .reduce = {.axis = axis_} \
        } \
    }
#define SLICE(op_, x, axis_, start_, stop_, out_) \
    { \
        .op = op_, .n_in = 1, .in = {x}, .out = out_, .attrs = { \
            .slice = {axis_, start_, stop_} \
        } \
    }
#define SWAP(x, a_, b_, out_) \
    { \
        .op = NN_OP_TRANSPOSE, .n_in = 1, .in = {x}, .out = out_, .attrs = { \
            .transpose = {a_, b_} \
        } \
    }
#define CONV(x, w, o, y, stride_, padding_) \
    {.op = NN_OP_CONV2D, \
     .n_in = 3, \
     .in = {x, w, S1(o)}, \
     .out = y, \
     .attrs = {.conv = {stride_, padding_}}, \
     .panels = 2, \
     .close = 1e-4}, \
        {.op = NN_OP_CONV2D_GRAD_INPUT, \
         .n_in = 2, \
         .in = {y, w}, \
         .out = x, \
         .attrs = {.conv = {stride_, padding_}}, \
         .panels = 2, \
         .close = 1e-4}, \
        {.op = NN_OP_CONV2D_GRAD_WEIGHT, \
         .n_in = 2, \
         .in = {y, x}, \
         .out = w, \
         .attrs = {.conv = {stride_, padding_}}, \
         .panels = PANELS_OUT, \
         .close = 1e-3}, \
    { \
        .op = NN_OP_CONV2D_GRAD_BIAS, .n_in = 1, .in = {y}, .out = S1(o), \
        .close = 1e-3 \
    }
#define POOL(x, y, ...) \
    {.op = NN_OP_MAX_POOL2D, \
     .n_in = 1, \
     .in = {x}, \
     .out = y, \
     .attrs = {.pool = {__VA_ARGS__}}}, \
        {.op = NN_OP_MAX_POOL2D_GRAD, \
         .n_in = 2, \
         .in = {y, x}, \
         .out = x, \
         .attrs = {.pool = {__VA_ARGS__}}}, \
        {.op = NN_OP_AVG_POOL2D, \
         .n_in = 1, \
         .in = {x}, \
         .out = y, \
         .attrs = {.pool = {__VA_ARGS__}}}, \
    { \
        .op = NN_OP_AVG_POOL2D_GRAD, .n_in = 1, .in = {y}, .out = x, \
        .attrs = { \
            .pool = {__VA_ARGS__} \
        } \
    }
#define BATCH_NORM(x, c) \
    {.op = NN_OP_BATCH_NORM, \
     .n_in = 5, \
     .in = {x, S1(c), S1(c), S1(c), S1(c)}, \
     .fill = {ANY, ANY, ANY, ANY, POSITIVE}, \
     .out = x, \
     .attrs = {.norm = {1e-2, false}}, \
     .close = 1e-4}, \
        {.op = NN_OP_BATCH_NORM_GRAD_INPUT, \
         .n_in = 5, \
         .in = {x, x, S1(c), S1(c), S1(c)}, \
         .fill = {ANY, ANY, ANY, ANY, POSITIVE}, \
         .out = x, \
         .attrs = {.norm = {1e-2, true}}, \
         .close = 1e-2}, \
        {.op = NN_OP_BATCH_NORM_GRAD_INPUT, \
         .n_in = 5, \
         .in = {x, x, S1(c), S1(c), S1(c)}, \
         .fill = {ANY, ANY, ANY, ANY, POSITIVE}, \
         .out = x, \
         .attrs = {.norm = {1e-2, false}}, \
         .close = 1e-4}, \
        {.op = NN_OP_BATCH_NORM_GRAD_WEIGHT, \
         .n_in = 4, \
         .in = {x, x, S1(c), S1(c)}, \
         .fill = {ANY, ANY, ANY, POSITIVE}, \
         .out = S1(c), \
         .attrs = {.norm = {1e-2, true}}, \
         .close = 1e-1}, \
    { \
        .op = NN_OP_BATCH_NORM_GRAD_BIAS, .n_in = 1, .in = {x}, .out = S1(c), \
        .close = 1e-2 \
    }
#define LAYER_NORM(x, d) \
    {.op = NN_OP_LAYER_NORM, \
     .n_in = 3, \
     .in = {x, d, d}, \
     .out = x, \
     .attrs = {.norm = {.eps = 1e-2}}, \
     .close = 1e-4}, \
        {.op = NN_OP_LAYER_NORM_GRAD_INPUT, \
         .n_in = 3, \
         .in = {x, x, d}, \
         .out = x, \
         .attrs = {.norm = {.eps = 1e-2}}, \
         .close = 1e-3}, \
    { \
        .op = NN_OP_LAYER_NORM_GRAD_WEIGHT, .n_in = 2, .in = {x, x}, .out = d, \
        .attrs = {.norm = {.eps = 1e-2}}, .close = 1e-2 \
    }

static const struct op_case cases[] = {
    {.op = NN_OP_SQRT_GRAD,
     .n_in = 2,
     .in = {S1(1003), S1(1003)},
     .fill = {ANY, POSITIVE},
     .out = S1(1003),
     .close = 1e-3},
    AXIS(NN_OP_MAX, 1, S2(33, 31), S0, NN_AXIS_ALL, S0),
    AXIS(NN_OP_MAX, 1, S3(50, 33, 31), S0, 1, S2(50, 31)),
    AXIS(NN_OP_MAX, 1, S2(300, 310), S0, 1, S1(300)),
    AXIS(NN_OP_MAX_GRAD, 2, S2(50, 31), S3(50, 33, 31), 1, S3(50, 33, 31)),
    AXIS(NN_OP_MAX_GRAD, 2, S0, S2(33, 31), NN_AXIS_ALL, S2(33, 31)),
    AXIS(NN_OP_CAT, 2, S2(300, 31), S2(300, 33), 1, S2(300, 64)),
    AXIS(NN_OP_CAT, 2, S3(3, 2, 5), S3(4, 2, 5), 0, S3(7, 2, 5)),
    SLICE(NN_OP_SLICE, S3(300, 33, 7), 1, 5, 31, S3(300, 26, 7)),
    SLICE(NN_OP_SLICE, S1(9), 0, 2, 2, S1(0)),
    SLICE(NN_OP_SLICE_GRAD, S3(300, 26, 7), 1, 5, 31, S3(300, 33, 7)),
    SWAP(S2(300, 331), 0, 1, S2(331, 300)),
    SWAP(S4(5, 3, 4, 7), 3, 1, S4(5, 7, 4, 3)),
    SWAP(S3(4, 5, 3), 0, 1, S3(5, 4, 3)),
    SWAP(S2(4, 5), 1, 1, S2(4, 5)),
    {.op = NN_OP_EMBEDDING,
     .n_in = 2,
     .in = {S2(5, 33), S1(1700)},
     .fill = {ANY, INDEX},
     .out = S2(1700, 33)},
    {.op = NN_OP_EMBEDDING_GRAD,
     .n_in = 2,
     .in = {S2(1700, 33), S1(1700)},
     .fill = {ANY, INDEX},
     .out = S2(5, 33),
     .close = 1e-3},
    CONV(S4(5, 1, 28, 28), S4(6, 1, 5, 5), 6, S4(5, 6, 28, 28), 1, 2),
    CONV(S4(9, 6, 14, 14), S4(16, 6, 5, 5), 16, S4(9, 16, 10, 10), 1, 0),
    CONV(S4(3, 3, 9, 7), S4(35, 3, 3, 2), 35, S4(3, 35, 5, 4), 2, 1),
    CONV(S4(1, 2, 5, 5), S4(70, 2, 4, 3), 70, S4(1, 70, 4, 4), 3, 4),
    CONV(S4(2, 40, 3, 3), S4(1, 40, 3, 3), 1, S4(2, 1, 1, 1), 1, 0),
    CONV(S4(2, 1, 40, 40), S4(2, 1, 1, 1), 2, S4(2, 2, 40, 40), 1, 0),
    POOL(S4(7, 6, 28, 28), S4(7, 6, 14, 14), 2, 2, 0),
    POOL(S4(2, 3, 9, 7), S4(2, 3, 5, 4), 3, 2, 1),
    POOL(S4(2, 3, 9, 7), S4(2, 3, 7, 5), 3, 1, 0),
    BATCH_NORM(S2(300, 33), 33),
    BATCH_NORM(S4(9, 6, 14, 13), 6),
    BATCH_NORM(S3(5, 40, 1), 40),
    LAYER_NORM(S2(300, 33), S1(33)),
    LAYER_NORM(S4(5, 6, 7, 3), S2(7, 3)),
};
enum { CASES = sizeof cases / sizeof *cases };

static void every_backend_gives_the_same_bits(void **state)
{
    (void)state;
    check_same_bits(cases, CASES);
}

static void float32_comes_close_to_float64(void **state)
{
    (void)state;
    check_close_to_float64(cases, CASES);
}

/* mean and var of (B,C,...) on every backend, against float64, and what the
 * running ones become. */
static void batch_statistics_are_kept(void **state)
{
    float *x = random_floats(4 * 3 * 50, 11);
    double want_mean = 0, want_var = 0;

    (void)state;
    for (int i = 0; i < 200; i++) /* of channel 1 */
        want_mean += (double)x[(i / 50 * 3 + 1) * 50 + i % 50] / 200;
    for (int i = 0; i < 200; i++)
        want_var +=
            pow((double)x[(i / 50 * 3 + 1) * 50 + i % 50] - want_mean, 2) / 200;
    for (int k = 0; k < cpus.n; k++) {
        struct nn_backend *be = cpus.be[k];
        float zero[3] = {0}, one[3] = {1, 1, 1}, got[3];
        struct nn_tensor *t =
            tensor_of(be, (struct nn_shape)S3(4, 3, 50), NN_F32, NN_ROWS, x);
        struct nn_tensor *mean = vector_of(be, 3, zero);
        struct nn_tensor *var = vector_of(be, 3, zero);
        struct nn_tensor *running_mean = vector_of(be, 3, zero);
        struct nn_tensor *running_var = vector_of(be, 3, one);
        struct nn_tensor *n = tensor_new(be, nn_shape0(), NN_I64, NN_ROWS);
        struct nn_call stats =
            call_of(NN_OP_BATCH_STATS, 1, t, NULL, NULL, mean);
        struct nn_call update =
            call_of(NN_OP_BATCH_NORM_UPDATE, 2, mean, var, NULL, running_mean);
        int64_t count;

        stats.out[1] = update.in[1] = var;
        stats.n_out = 2;
        update.out[1] = running_var;
        update.out[2] = n;
        update.n_out = 3;
        update.attrs.running.momentum = 0.1;
        update.attrs.running.n = 200;
        run_call(be, &stats);
        run_call(be, &update);
        run_call(be, &update);
        get(mean, got);
        assert_true(fabs((double)got[1] - want_mean) < 1e-6);
        get(var, got);
        assert_true(fabs((double)got[1] - want_var) < 1e-6);
        get(running_mean, got);
        assert_true(fabs((double)got[1] - 0.19 * want_mean) < 1e-6);
        get(running_var, got);
        assert_true(
            fabs((double)got[1] - (0.81 + 0.19 * want_var * 200 / 199)) < 1e-6);
        get(n, &count);
        assert_int_equal(count, 2);
        nn_tensor_free(t);
        nn_tensor_free(mean);
        nn_tensor_free(var);
        nn_tensor_free(running_mean);
        nn_tensor_free(running_var);
        nn_tensor_free(n);
    }
    free(x);
}

static void one_value_a_channel_has_no_statistics(void **state)
{
    struct nn_backend *be = cpus.be[0];
    struct nn_tensor *x = tensor_new(be, nn_shape2(1, 3), NN_F32, NN_ROWS);
    struct nn_tensor *mean = tensor_new(be, nn_shape1(3), NN_F32, NN_ROWS);
    struct nn_call stats = call_of(NN_OP_BATCH_STATS, 1, x, NULL, NULL, mean);
    struct err err = {0};

    (void)state;
    stats.out[1] = mean;
    stats.n_out = 2;
    assert_int_equal(be->ops->run(be, &stats, &err), ERR_SHAPE);
    assert_non_null(strstr(err.msg, "more than one value a channel"));
    nn_tensor_free(x);
    nn_tensor_free(mean);
}

static void an_index_outside_the_table_is_an_error(void **state)
{
    static const int32_t index[] = {0, 5};
    struct nn_backend *be = cpus.be[0];
    struct nn_tensor *table = tensor_new(be, nn_shape2(5, 3), NN_F32, NN_ROWS);
    struct nn_tensor *at = labels_of(be, 2, index);
    struct nn_tensor *y = tensor_new(be, nn_shape2(2, 3), NN_F32, NN_ROWS);
    struct nn_call call = call_of(NN_OP_EMBEDDING, 2, table, at, NULL, y);
    struct err err = {0};

    (void)state;
    assert_int_equal(result_of(be, &call, &err), ERR_CORRUPT);
    assert_string_equal(err.msg, "index 5 at place 1 is outside 0 to 4");
    nn_tensor_free(table);
    nn_tensor_free(at);
    nn_tensor_free(y);
}

static void casts_round_once(void **state)
{
    static const int64_t big[] = {16777217, -3, 0};
    static const uint8_t bytes[] = {0, 200, 255};
    struct nn_backend *be = cpus.be[0];
    struct nn_tensor *l = tensor_new(be, nn_shape1(3), NN_I64, NN_ROWS);
    struct nn_tensor *u = tensor_new(be, nn_shape1(3), NN_U8, NN_ROWS);
    struct nn_tensor *f = tensor_new(be, nn_shape1(3), NN_F32, NN_ROWS);
    struct nn_tensor *d = tensor_new(be, nn_shape1(3), NN_F64, NN_ROWS);
    struct nn_call call = call_of(NN_OP_CAST, 1, l, NULL, NULL, f);
    double wide[3];
    float got[3];

    (void)state;
    assert_int_equal(nn_tensor_set(l, big, NULL), 0);
    assert_int_equal(nn_tensor_set(u, bytes, NULL), 0);
    run_call(be, &call);
    get(f, got);
    assert_true(got[0] == 16777216.0f && got[1] == -3.0f);
    call = call_of(NN_OP_CAST, 1, u, NULL, NULL, d);
    run_call(be, &call);
    get(d, wide);
    assert_true(wide[1] == 200.0 && wide[2] == 255.0);
    wide[0] = 0.1;
    assert_int_equal(nn_tensor_set(d, wide, NULL), 0);
    call = call_of(NN_OP_CAST, 1, d, NULL, NULL, f);
    run_call(be, &call);
    get(f, got);
    assert_true(got[0] == 0.1f);
    nn_tensor_free(l);
    nn_tensor_free(u);
    nn_tensor_free(f);
    nn_tensor_free(d);
}

static void the_largest_is_the_first_and_nan_wins(void **state)
{
    static const float x[] = {1, 3, 3, 2, NAN, 5, -1, -1, -2};
    static const float dy[] = {10, 20, 30};
    static const float want[] = {0, 10, 0, 0, 20, 0, 30, 0, 0};
    float y[3];

    (void)state;
    for (int k = 0; k < cpus.n; k++) {
        struct nn_backend *be = cpus.be[k];
        struct nn_tensor *tx =
            tensor_of(be, nn_shape2(3, 3), NN_F32, NN_ROWS, x);
        struct nn_tensor *dx = tensor_new(be, nn_shape2(3, 3), NN_F32, NN_ROWS);
        struct nn_tensor *ty = tensor_new(be, nn_shape1(3), NN_F32, NN_ROWS);
        struct nn_tensor *tdy = vector_of(be, 3, dy);
        struct nn_call max = call_of(NN_OP_MAX, 1, tx, NULL, NULL, ty);
        struct nn_call grad = call_of(NN_OP_MAX_GRAD, 2, tdy, tx, NULL, dx);

        max.attrs.reduce.axis = grad.attrs.reduce.axis = 1;
        run_call(be, &max);
        get(ty, y);
        assert_true(y[0] == 3 && isnan(y[1]) && y[2] == -1);
        run_call(be, &grad);
        assert_same(want, dx, "max_grad", be);
        nn_tensor_free(tx);
        nn_tensor_free(dx);
        nn_tensor_free(ty);
        nn_tensor_free(tdy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backend_gives_the_same_bits),
        cmocka_unit_test(float32_comes_close_to_float64),
        cmocka_unit_test(batch_statistics_are_kept),
        cmocka_unit_test(one_value_a_channel_has_no_statistics),
        cmocka_unit_test(an_index_outside_the_table_is_an_error),
        cmocka_unit_test(casts_round_once),
        cmocka_unit_test(the_largest_is_the_first_and_nan_wins),
    };

    return cmocka_run_group_tests(tests, cpus_open, cpus_close);
}
