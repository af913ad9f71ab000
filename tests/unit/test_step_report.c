/* What is told of a recorded training step. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/step_report.h"
#include "tests/unit/order_fixture.h"

/* The trainer's recorded step after two steps. */
static struct pl_step_view view(struct fixture *f)
{
    struct pl_step_view v = {.model = f->model, .loss = "mse"};

    (void)step(f, 0.01);
    (void)step(f, 0.01);
    v.step = nn_trainer_recorded(f->trainer, N);
    assert_non_null(v.step);
    return v;
}

static void check_line(bool linear, struct nn_trainer_opts opts,
                       const char *want)
{
    struct fixture f;
    struct pl_step_view v;
    struct str s = {0};

    open_trainer(&f, linear, opts);
    v = view(&f);
    pl_step_line(&v, &s);
    assert_string_equal(s.text, want);
    str_free(&s);
    close_trainer(&f);
}

static void line_names_layers_loss_and_optimizer(void **state)
{
    struct nn_trainer_opts opts = {.optim = optimizer("adamw"),
                                   .clip_grad_norm = 1.0};
    int fusion;

    (void)state;
    for (fusion = NN_FUSION_NONE; fusion <= NN_FUSION_ALL; fusion++) {
        opts.fusion = (enum nn_fusion)fusion;
        check_line(false, opts,
                   "one step: forward (0 linear, 1 tanh, 2 linear), loss "
                   "(mse), zero_grad, backward (loss, 2, 1, 0), step "
                   "(clip_grad_norm, adamw)");
    }
}

static void line_tells_pieces_and_a_step_that_does_nothing(void **state)
{
    struct nn_trainer_opts opts = {
        .optim = optimizer("sgd"),
        .microbatches = 3,
        .order = {{NN_PART_ZERO_GRAD, NN_PART_FORWARD, NN_PART_STEP,
                   NN_PART_BACKWARD},
                  4}};

    (void)state;
    check_line(true, opts,
               "one step: zero_grad, forward (0 linear), loss (mse), backward "
               "(loss, 0); forward to backward for each of 3 pieces; step "
               "finds no gradients and changes nothing");
}

static void places_are_those_of_the_recorded_calls(void **state)
{
    struct nn_trainer_opts opts = {
        .optim = optimizer("sgd"),
        .order = {{NN_PART_STEP, NN_PART_FORWARD, NN_PART_LOSS,
                   NN_PART_ZERO_GRAD, NN_PART_BACKWARD},
                  5}};
    const int want[NN_PART_COUNT] = {4, 2, 3, 5, 1};
    int place[NN_PART_COUNT];
    struct pl_step_view v;
    struct fixture f;

    (void)state;
    open_trainer(&f, false, opts);
    v = view(&f);
    pl_step_places(&v, place);
    assert_memory_equal(place, want, sizeof want);
    close_trainer(&f);
}

/* Names are the user's. */
static void layer_called_loss_is_a_layer(void **state)
{
    static const struct nn_layer_spec spec = {
        .type = NN_LAYER_LINEAR, .name = "loss", .out = 1, .bias = true};
    struct nn_trainer_opts opts = {.loss = {.type = NN_LOSS_MSE},
                                   .microbatches = 1,
                                   .optim = optimizer("sgd")};
    struct rng_mt g;
    struct pl_step_view v;
    struct str s = {0};
    struct fixture f = {.trainer = NULL};

    (void)state;
    make_problem(&f.p);
    rng_mt_seed(&g, 1);
    assert_int_equal(device_open(&f.be, 1, &f.err), 0);
    assert_int_equal(
        nn_model_new(&f.model, f.be,
                     &(struct nn_model_spec){&spec, 1, f.p.data.sample}, &g,
                     NULL, &f.err),
        0);
    assert_int_equal(
        nn_trainer_new(&f.trainer, f.model, &f.p.data, &opts, &f.err), 0);
    v = view(&f);
    pl_step_line(&v, &s);
    assert_string_equal(s.text, "one step: forward (loss linear), loss (mse), "
                                "zero_grad, backward (loss, loss), step (sgd)");
    str_free(&s);
    close_trainer(&f);
}

static void table_has_a_row_for_each_call(void **state)
{
    struct nn_trainer_opts opts = {.optim = optimizer("sgd_momentum"),
                                   .fusion = NN_FUSION_ALL};
    struct pl_step_view v;
    struct fixture f;
    struct str s = {0};
    const char *p;
    int rows = 0;

    (void)state;
    open_trainer(&f, false, opts);
    v = view(&f);
    pl_step_line(&v, &s);
    assert_non_null(strstr(s.text, "step (sgd_momentum)"));
    str_free(&s);
    s = (struct str){0};
    assert_int_equal(pl_step_markdown(&v, &s, &f.err), 0);
    for (p = s.text; (p = strstr(p, "\n| ")) != NULL; p++)
        rows++;
    assert_int_equal(rows, v.step->n_call + 1); /* and the head */
    assert_non_null(strstr(s.text, "| linear + tanh "));
    assert_non_null(strstr(s.text, "| (8, 3), 0.weight (4, 3), 0.bias (4,) "));
    assert_non_null(strstr(s.text, "| grad 2.weight (1, 4) "));
    /* 4 * 3 + 4 + 4 + 1 numbers: no gap between tensors is counted */
    assert_non_null(
        strstr(s.text, "| parameters (21,), gradients (21,), state (21,) "));
    assert_non_null(strstr(s.text, "| parameters (21,), state (21,) "));
    assert_non_null(strstr(s.text, "|   252 |\n"));
    str_free(&s);
    close_trainer(&f);
}

static void every_allocation_may_fail(void **state)
{
    struct nn_trainer_opts opts = {.optim = optimizer("sgd")};
    struct pl_step_view v;
    struct fixture f;
    int rc = ERR_NOMEM, n;

    (void)state;
    open_trainer(&f, false, opts);
    v = view(&f);
    for (n = 1; rc != 0; n++) {
        struct str s = {0};
        long live = mem_live();

        err_clear(&f.err);
        mem_fail_after(n);
        rc = pl_step_markdown(&v, &s, &f.err);
        mem_fail_after(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        str_free(&s);
        assert_int_equal(mem_live(), live);
    }
    assert_true(n > 10);
    close_trainer(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_names_layers_loss_and_optimizer),
        cmocka_unit_test(line_tells_pieces_and_a_step_that_does_nothing),
        cmocka_unit_test(places_are_those_of_the_recorded_calls),
        cmocka_unit_test(layer_called_loss_is_a_layer),
        cmocka_unit_test(table_has_a_row_for_each_call),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
