/* The roofline against figures worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/backend.h"
#include "pipeline/predict.h"

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.15g, not %.15g", got, want);
}

static struct nn_tensor tensor(int64_t a, int64_t b)
{
    return (struct nn_tensor){.shape = b ? nn_shape2(a, b) : nn_shape1(a),
                              .dtype = NN_F32};
}

static const struct pl_card *card(const char *name)
{
    size_t i;

    for (i = 0; i < PL_CARDS; i++)
        if (strcmp(pl_cards[i].name, name) == 0)
            return &pl_cards[i];
    fail_msg("there is no %s", name);
    return NULL;
}

/* 784-256 at batch 32: 2 * 32 * 784 * 256 each way. */
static void products_are_two_operations_a_multiply_add(void **state)
{
    struct nn_tensor x = tensor(32, 784), w = tensor(256, 784);
    struct nn_tensor b = tensor(256, 0), y = tensor(32, 256);
    const struct nn_call forward = {.op = NN_OP_LINEAR,
                                    .n_in = 3,
                                    .n_out = 1,
                                    .in = {&x, &w, &b},
                                    .out = {&y}};
    const struct nn_call weight = {.op = NN_OP_LINEAR_GRAD_WEIGHT,
                                   .n_in = 2,
                                   .n_out = 1,
                                   .in = {&y, &x},
                                   .out = {&w}};
    const struct nn_call input = {.op = NN_OP_LINEAR_GRAD_INPUT,
                                  .n_in = 2,
                                  .n_out = 1,
                                  .in = {&y, &w},
                                  .out = {&x}};
    struct pl_work work = pl_work_of(&forward, NN_DATA_PAGEABLE);

    (void)state;
    assert_near(work.flops, 12845056);
    assert_near(work.bytes, 4.0 * (32 * 784 + 256 * 784 + 256 + 32 * 256));
    assert_int_equal(work.launches, 1);
    assert_near(pl_work_of(&weight, 0).flops, 12845056);
    assert_near(pl_work_of(&input, 0).flops, 12845056);
}

/* 6 channels of 5x5 over 1x28x28 at batch 2: 2 * 2 * 6 * 24 * 24 * 25. */
static void convolutions_count_their_window(void **state)
{
    struct nn_tensor x = {.shape = {4, {2, 1, 28, 28}}};
    struct nn_tensor w = {.shape = {4, {6, 1, 5, 5}}};
    struct nn_tensor y = {.shape = {4, {2, 6, 24, 24}}};
    const struct nn_call forward = {
        .op = NN_OP_CONV2D, .n_in = 2, .n_out = 1, .in = {&x, &w}, .out = {&y}};
    const struct nn_call weight = {.op = NN_OP_CONV2D_GRAD_WEIGHT,
                                   .n_in = 2,
                                   .n_out = 1,
                                   .in = {&y, &x},
                                   .out = {&w}};

    (void)state;
    assert_near(pl_work_of(&forward, 0).flops, 345600);
    assert_near(pl_work_of(&weight, 0).flops, 345600);
}

/* Adam reads p, g, m, v and writes p, m, v: 7 words a parameter; SGD 3. */
static void optimizers_move_their_state_both_ways(void **state)
{
    struct nn_tensor p = tensor(1000, 0);
    struct nn_tensor flag = {.shape = {1, {1}}, .dtype = NN_I32};
    struct nn_call c = {.op = NN_OP_ADAM,
                        .n_in = 4,
                        .n_out = 1,
                        .in = {&p, &p, &p, &p},
                        .out = {&flag}};

    (void)state;
    assert_near(pl_work_of(&c, 0).bytes, 7 * 4000.0 + 4);
    c.op = NN_OP_SGD;
    c.n_in = 2;
    assert_near(pl_work_of(&c, 0).bytes, 3 * 4000.0 + 4);
}

static void batches_cross_the_link_unless_they_lie_on_the_device(void **state)
{
    struct nn_tensor x = tensor(32, 784);
    struct nn_tensor y = {.shape = {1, {32}}, .dtype = NN_I32};
    const struct nn_call c = {.op = NN_OP_BATCH, .n_out = 2, .out = {&x, &y}};
    struct pl_work copied = pl_work_of(&c, NN_DATA_PAGEABLE);
    struct pl_work resident = pl_work_of(&c, NN_DATA_DEVICE);

    (void)state;
    assert_near(copied.link_bytes, 100480);
    assert_int_equal(copied.launches, 2);
    assert_true(copied.bytes == 0);
    assert_true(resident.link_bytes == 0 && resident.bytes > 0);
    assert_int_equal(resident.launches, 1);
}

static void what_does_not_run_costs_nothing(void **state)
{
    struct nn_tensor g = tensor(1000, 0);
    struct nn_call c = {.op = NN_OP_CLEAR_GRAD, .n_out = 1, .out = {&g}};

    (void)state;
    assert_near(pl_work_of(&c, 0).bytes, 4000);
    c.attrs.set_to_none = true;
    assert_int_equal(pl_work_of(&c, 0).launches, 0);
    assert_true(pl_work_of(&c, 0).bytes == 0);
    c.op = NN_OP_RESHAPE;
    assert_int_equal(pl_work_of(&c, 0).launches, 0);
}

static void expect(const struct pl_work *w, bool recorded, double us,
                   enum pl_bound by)
{
    struct pl_predicted p = pl_predict_op(card("T4"), w, recorded);

    assert_near(p.us, us);
    assert_string_equal(pl_bound_name(p.by), pl_bound_name(by));
}

/* A T4 does 8100 GFLOP/s, 320 GB/s from memory, 16 GB/s from the host. */
static void an_operator_takes_its_longest_need(void **state)
{
    const struct pl_work compute = {81e6, 320, 0, 1};  /* 10 us */
    const struct pl_work memory = {8100, 6.4e6, 0, 1}; /* 20 us */
    const struct pl_work link = {0, 0, 480e3, 2};      /* 30 us */
    const struct pl_work small = {8100, 320, 0, 1};    /* 1 ns */

    (void)state;
    expect(&compute, false, 10, PL_BOUND_COMPUTE);
    expect(&compute, true, 10.58, PL_BOUND_COMPUTE);
    expect(&memory, false, 20, PL_BOUND_MEMORY);
    expect(&memory, true, 20.58, PL_BOUND_MEMORY);
    expect(&link, false, 30, PL_BOUND_LINK);
    expect(&link, true, 30, PL_BOUND_LINK);
    expect(&small, false, 6.4, PL_BOUND_LAUNCH);
    expect(&small, true, 0.581, PL_BOUND_LAUNCH);
}

static void a_step_is_the_sum_of_its_operators(void **state)
{
    struct pl_step_op op[3] = {{.work = {81e6, 0, 0, 1}},
                               {.work = {0, 0, 480e3, 2}},
                               {.work = {0, 0, 0, 0}}};
    const struct pl_step_work step = {.op = op, .n = 3};
    struct pl_predicted eager = pl_predict_step(card("T4"), &step, false);
    struct pl_predicted replay = pl_predict_step(card("T4"), &step, true);

    (void)state;
    assert_near(eager.us, 40);
    assert_int_equal(eager.by, PL_BOUND_LINK);
    assert_near(replay.us, 15 + 10.58 + 30);
    assert_int_equal(replay.by, PL_BOUND_LINK);
    op[1].work.link_bytes = 16e3;
    replay = pl_predict_step(card("T4"), &step, true);
    assert_near(replay.us, 15 + 10.58 + 12.8);
    assert_int_equal(replay.by, PL_BOUND_LAUNCH);
}

static void cards_are_known_by_the_names_of_their_devices(void **state)
{
    static const struct {
        const char *device, *card;
    } cases[] = {
        {"cuda:0 (Tesla T4, sm_75)", "T4"},
        {"cuda:1 (NVIDIA A100-SXM4-80GB, sm_80)", "A100"},
        {"cuda:0 (NVIDIA H100 80GB HBM3, sm_90)", "H100"},
        {"cuda:0 (NVIDIA H200, sm_90)", "H200"},
        {"cuda:0 (NVIDIA H100 PCIe, sm_90)", NULL},
        {"cuda:0 (NVIDIA H200 NVL, sm_90)", NULL},
        {"cuda:0 (NVIDIA A100-SXM4-80GB MIG 1g.10gb, sm_80)", NULL},
        {"cuda:0 (NVIDIA T400, sm_75)", NULL},
        {"cuda:0 (SIMULATED T4, sm_75)", NULL},
        {"cpu (2 threads, avx2)", NULL},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pl_card *c = pl_card_find(cases[i].device);

        if (cases[i].card)
            assert_ptr_equal(c, card(cases[i].card));
        else
            assert_null(c);
    }
}

static void every_constant_has_its_source(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < PL_CARDS; i++) {
        assert_non_null(strstr(pl_cards[i].source, "data sheet"));
        assert_true(pl_cards[i].sms > 0 && pl_cards[i].gflops > 1000);
        assert_true(pl_cards[i].memory_gb_s > pl_cards[i].link_gb_s);
    }
    assert_non_null(strstr(pl_launch_source, "github.com/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_two_operations_a_multiply_add),
        cmocka_unit_test(convolutions_count_their_window),
        cmocka_unit_test(optimizers_move_their_state_both_ways),
        cmocka_unit_test(batches_cross_the_link_unless_they_lie_on_the_device),
        cmocka_unit_test(what_does_not_run_costs_nothing),
        cmocka_unit_test(an_operator_takes_its_longest_need),
        cmocka_unit_test(a_step_is_the_sum_of_its_operators),
        cmocka_unit_test(cards_are_known_by_the_names_of_their_devices),
        cmocka_unit_test(every_constant_has_its_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
