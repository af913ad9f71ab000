/* One table of calls, run on every instruction set and thread count, which
 * must agree to the bit, and in float64, which must come close. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/cpu_cases.h"

#define ELEM1(op_, n, f) \
    { \
        .op = op_, .n_in = 1, .in = {S1(n)}, .fill = {f}, .out = S1(n) \
    }
#define ELEM2(op_, n, f) \
    { \
        .op = op_, .n_in = 2, .in = {S1(n), S1(n)}, .fill = {ANY, f}, \
        .out = S1(n) \
    }
#define SIZES1(op, f) \
    ELEM1(op, 1, f), ELEM1(op, 31, f), ELEM1(op, 33, f), ELEM1(op, 784, f), \
        ELEM1(op, 30011, f)
#define SIZES2(op, f) \
    ELEM2(op, 1, f), ELEM2(op, 31, f), ELEM2(op, 33, f), ELEM2(op, 784, f), \
        ELEM2(op, 100003, f)
#define ROWS1(op_, b, c) \
    { \
        .op = op_, .n_in = 1, .in = {S2(b, c)}, .out = S2(b, c) \
    }
#define ROWS2(op_, b, c) \
    { \
        .op = op_, .n_in = 2, .in = {S2(b, c), S2(b, c)}, .out = S2(b, c), \
        .close = 1e-3 \
    }
#define ROW_SIZES(m, op) \
    m(op, 1, 1), m(op, 3, 10), m(op, 31, 33), m(op, 5, 784), m(op, 1700, 10)
#define POW(p) \
    { \
        .op = NN_OP_POW, .n_in = 1, .in = {S1(333)}, .fill = {POSITIVE}, \
        .out = S1(333), .attrs = {.scalar = p}, .close = 1e-3 \
    }
#define CE(b, c, ...) \
    { \
        .op = NN_OP_CROSS_ENTROPY, .n_in = 2, .in = {S2(b, c), S1(b)}, \
        .fill = {ANY, LABEL}, .out = S0, .attrs = { \
            .loss = {.scale = 1.0 / b, __VA_ARGS__} \
        } \
    }
#define CE_EACH(b, c, ...) \
    { \
        .op = NN_OP_CROSS_ENTROPY, .n_in = 2, .in = {S2(b, c), S1(b)}, \
        .fill = {ANY, LABEL}, .out = S1(b), .attrs = { \
            .loss = {.per_sample = true, __VA_ARGS__} \
        } \
    }
#define CE_GRAD(b, c, ...) \
    { \
        .op = NN_OP_CROSS_ENTROPY_GRAD, .n_in = 3, \
        .in = {S0, S2(b, c), S1(b)}, .fill = {ANY, ANY, LABEL}, \
        .out = S2(b, c), .attrs = { \
            .loss = {.scale = 1.0 / b, __VA_ARGS__} \
        } \
    }
#define PAIR(op_, b, c, ...) \
    { \
        .op = op_, .n_in = 2, .in = {S2(b, c), S2(b, c)}, .fill = {ANY, UNIT}, \
        .out = S0, .attrs = { \
            .loss = {.scale = 1e-3, __VA_ARGS__} \
        } \
    }
#define PAIR_EACH(op_, b, c, ...) \
    { \
        .op = op_, .n_in = 2, .in = {S2(b, c), S2(b, c)}, .fill = {ANY, UNIT}, \
        .out = S1(b), .attrs = { \
            .loss = {.per_sample = true, __VA_ARGS__} \
        } \
    }
#define PAIR_GRAD(op_, b, c, ...) \
    { \
        .op = op_, .n_in = 3, .in = {S0, S2(b, c), S2(b, c)}, \
        .fill = {ANY, ANY, UNIT}, .out = S2(b, c), .attrs = { \
            .loss = {.scale = 1.0 / b, __VA_ARGS__} \
        } \
    }
#define BROADCAST(op_, a, b, out_) \
    { \
        .op = op_, .n_in = 2, .in = {a, b}, .fill = {ANY, POSITIVE}, \
        .out = out_, .close = 1e-2 \
    }
#define REDUCE(op_, x, a, out_) \
    { \
        .op = op_, .n_in = 1, .in = {x}, .out = out_, \
        .attrs = {.reduce = {.axis = a}}, .close = 1e-3 \
    }
#define SUM_TO(x, out_) \
    { \
        .op = NN_OP_SUM_TO, .n_in = 1, .in = {x}, .out = out_, .close = 1e-3 \
    }
#define SGD(n_in_, s, ...) \
    { \
        .op = NN_OP_SGD, .n_in = n_in_, .in = {s, s, s}, .out = S1(1), \
        .attrs = {.sgd = {__VA_ARGS__}}, .f32_only = true, .int_out = true, \
        .weight = true \
    }
#define ADAM(s, ...) \
    { \
        .op = NN_OP_ADAM, .n_in = 4, .in = {s, s, s, s}, \
        .fill = {ANY, ANY, ANY, POSITIVE}, .out = S1(1), \
        .attrs = {.adam = {.beta1 = 0.9, .beta2 = 0.999, __VA_ARGS__}}, \
        .f32_only = true, .int_out = true, .weight = true \
    }
#define DROP(s, p_) \
    { \
        .op = NN_OP_DROPOUT, .n_in = 1, .in = {s}, .out = s, .attrs = { \
            .dropout = {.p = p_, \
                        .seed = 0x123456789abcdef, \
                        .layer = 3, \
                        .first = 5} \
        } \
    }

static const struct op_case cases[] = {
    SIZES1(NN_OP_RELU, ANY),
    SIZES1(NN_OP_TANH, ANY),
    SIZES1(NN_OP_SIGMOID, ANY),
    SIZES1(NN_OP_GELU, ANY),
    SIZES1(NN_OP_NEG, ANY),
    SIZES1(NN_OP_EXP, ANY),
    SIZES1(NN_OP_LOG, POSITIVE),
    SIZES1(NN_OP_LOG1P, POSITIVE),
    SIZES1(NN_OP_SQRT, POSITIVE),
    SIZES1(NN_OP_ABS, ANY),
    SIZES2(NN_OP_LOG1P_GRAD, POSITIVE),
    SIZES2(NN_OP_ABS_GRAD, ANY),
    SIZES2(NN_OP_RELU_GRAD, ANY),
    SIZES2(NN_OP_TANH_GRAD, ANY),
    SIZES2(NN_OP_SIGMOID_GRAD, ANY),
    SIZES2(NN_OP_GELU_GRAD, ANY),
    POW(-1.0),
    POW(0.0),
    POW(0.5),
    POW(1.0),
    POW(2.0),
    POW(3.0),
    POW(2.5),
    {.op = NN_OP_SCALE,
     .n_in = 1,
     .in = {S1(1001)},
     .out = S1(1001),
     .attrs = {.scalar = 0.1}},
    {.op = NN_OP_COPY, .n_in = 1, .in = {S2(3, 7)}, .out = S1(21)},
    ROW_SIZES(ROWS1, NN_OP_SOFTMAX),
    ROW_SIZES(ROWS1, NN_OP_LOG_SOFTMAX),
    ROW_SIZES(ROWS2, NN_OP_SOFTMAX_GRAD),
    ROW_SIZES(ROWS2, NN_OP_LOG_SOFTMAX_GRAD),
    {.op = NN_OP_ARGMAX,
     .n_in = 1,
     .in = {S2(300, 10)},
     .out = S1(300),
     .int_out = true},
    CE(1, 1, .label_smoothing = 0),
    CE(128, 10, .label_smoothing = 0),
    CE(1700, 33, .label_smoothing = 0.1),
    CE_EACH(31, 10, .label_smoothing = 0),
    CE_EACH(31, 784, .label_smoothing = 0.25),
    CE_GRAD(128, 10, .label_smoothing = 0),
    CE_GRAD(1700, 33, .label_smoothing = 0.1),
    PAIR(NN_OP_BCE_WITH_LOGITS, 31, 33, .pos_weight = 1),
    PAIR(NN_OP_BCE_WITH_LOGITS, 301, 33, .pos_weight = 3),
    PAIR_EACH(NN_OP_BCE_WITH_LOGITS, 31, 1, .pos_weight = 1),
    PAIR_EACH(NN_OP_BCE_WITH_LOGITS, 31, 19, .pos_weight = 0.5),
    PAIR_GRAD(NN_OP_BCE_WITH_LOGITS_GRAD, 33, 7, .pos_weight = 1),
    PAIR_GRAD(NN_OP_BCE_WITH_LOGITS_GRAD, 1033, 7, .pos_weight = 3),
    PAIR(NN_OP_MSE, 31, 33, .pos_weight = 1),
    PAIR(NN_OP_MSE, 1001, 40, .pos_weight = 1),
    PAIR_EACH(NN_OP_MSE, 31, 33, .pos_weight = 1),
    PAIR_EACH(NN_OP_MSE, 31, 1, .pos_weight = 1),
    PAIR_GRAD(NN_OP_MSE_GRAD, 1033, 70, .pos_weight = 1),
    BROADCAST(NN_OP_ADD, S2(33, 31), S1(31), S2(33, 31)),
    BROADCAST(NN_OP_SUB, S2(33, 31), S2(33, 1), S2(33, 31)),
    BROADCAST(NN_OP_MUL, S2(7, 1), S2(1, 9), S2(7, 9)),
    BROADCAST(NN_OP_DIV, S3(2, 3, 5), S3(1, 3, 1), S3(2, 3, 5)),
    BROADCAST(NN_OP_MAXIMUM, S2(33, 31), S1(31), S2(33, 31)),
    BROADCAST(NN_OP_MAXIMUM_SHARE, S2(33, 1), S2(1, 31), S2(33, 31)),
    BROADCAST(NN_OP_ADD, S1(100001), S1(100001), S1(100001)),
    BROADCAST(NN_OP_MUL, S0, S2(300, 301), S2(300, 301)),
    BROADCAST(NN_OP_ADD, S3(1, 300, 301), S2(300, 301), S3(1, 300, 301)),
    BROADCAST(NN_OP_SUB, S2(900, 101), S1(101), S2(900, 101)),
    REDUCE(NN_OP_SUM, S2(33, 31), NN_AXIS_ALL, S0),
    REDUCE(NN_OP_SUM, S2(33, 31), 0, S1(31)),
    REDUCE(NN_OP_SUM, S2(33, 31), 1, S1(33)),
    REDUCE(NN_OP_SUM, S3(5, 33, 31), 1, S2(5, 31)),
    REDUCE(NN_OP_SUM, S3(500, 33, 31), 1, S2(500, 31)),
    REDUCE(NN_OP_MEAN, S3(500, 3, 310), 2, S2(500, 3)),
    REDUCE(NN_OP_MEAN, S2(500, 784), NN_AXIS_ALL, S0),
    REDUCE(NN_OP_MEAN, S2(1, 1), 0, S1(1)),
    SUM_TO(S2(33, 31), S1(31)),
    SUM_TO(S2(33, 31), S2(33, 1)),
    SUM_TO(S2(33, 31), S0),
    SUM_TO(S3(7, 33, 31), S2(33, 1)),
    SUM_TO(S3(7, 33, 31), S3(7, 1, 31)),
    SUM_TO(S2(900, 1001), S1(1001)),
    SUM_TO(S2(9, 5), S2(9, 5)),
    {.op = NN_OP_EXPAND, .n_in = 1, .in = {S1(31)}, .out = S2(33, 31)},
    {.op = NN_OP_EXPAND, .n_in = 1, .in = {S2(33, 1)}, .out = S2(33, 301)},
    {.op = NN_OP_EXPAND, .n_in = 1, .in = {S0}, .out = S3(2, 3, 50000)},
    DROP(S2(33, 31), 0.5),
    DROP(S2(129, 784), 0.1),
    DROP(S1(17), 0.9),
    SGD(2, S1(1001), .momentum = 0),
    SGD(2, S2(33, 31), .weight_decay = 0.01),
    SGD(3, S2(33, 31), .momentum = 0.9),
    SGD(3, S2(259, 403), .momentum = 0.9, .nesterov = true,
        .weight_decay = 0.01),
    ADAM(S1(1001), .eps = 1e-8),
    ADAM(S2(33, 31), .eps = 1e-8, .weight_decay = 0.01),
    ADAM(S2(33, 31), .eps = 0),
    ADAM(S2(259, 403), .eps = 1e-8, .decoupled = true),
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

/* What the table leaves out is tested by files of its own. */
static void the_table_covers_the_operators(void **state)
{
    static const enum nn_op_id elsewhere[] = {
        NN_OP_LINEAR, NN_OP_LINEAR_GRAD_INPUT, NN_OP_LINEAR_GRAD_BIAS,
        NN_OP_LINEAR_GRAD_WEIGHT, NN_OP_MATMUL, NN_OP_FILL, NN_OP_ADD_INTO,
        NN_OP_CLEAR_GRAD, NN_OP_BATCH, NN_OP_CLIP_GRAD_NORM,
        NN_OP_RESHAPE, /* a view */
        /* test_cpu_image.c */
        NN_OP_SQRT_GRAD, NN_OP_MAX, NN_OP_MAX_GRAD, NN_OP_TRANSPOSE,
        NN_OP_SLICE, NN_OP_SLICE_GRAD, NN_OP_CAT, NN_OP_CAST, NN_OP_EMBEDDING,
        NN_OP_EMBEDDING_GRAD, NN_OP_CONV2D, NN_OP_CONV2D_GRAD_INPUT,
        NN_OP_CONV2D_GRAD_WEIGHT, NN_OP_CONV2D_GRAD_BIAS, NN_OP_MAX_POOL2D,
        NN_OP_MAX_POOL2D_GRAD, NN_OP_AVG_POOL2D, NN_OP_AVG_POOL2D_GRAD,
        NN_OP_BATCH_STATS, NN_OP_BATCH_NORM, NN_OP_BATCH_NORM_GRAD_INPUT,
        NN_OP_BATCH_NORM_GRAD_WEIGHT, NN_OP_BATCH_NORM_GRAD_BIAS,
        NN_OP_BATCH_NORM_UPDATE, NN_OP_LAYER_NORM, NN_OP_LAYER_NORM_GRAD_INPUT,
        NN_OP_LAYER_NORM_GRAD_WEIGHT, NN_OP_CUSTOM, /* never run */
    };
    bool seen[NN_OP_COUNT] = {false};

    (void)state;
    for (int i = 0; i < CASES; i++)
        seen[cases[i].op] = true;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        seen[elsewhere[i]] = true;
    for (int i = 0; i < NN_OP_COUNT; i++)
        if (!seen[i])
            fail_msg("%s is not tested", nn_op_name((enum nn_op_id)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backend_gives_the_same_bits),
        cmocka_unit_test(float32_comes_close_to_float64),
        cmocka_unit_test(the_table_covers_the_operators),
    };

    return cmocka_run_group_tests(tests, cpus_open, cpus_close);
}
