/* The small problem of make_step_order.py and a trainer on it. Included after
 * cmocka.h. */
#ifndef TESTS_UNIT_ORDER_FIXTURE_H
#define TESTS_UNIT_ORDER_FIXTURE_H

#include <string.h>

#include "nn/train.h"
#include "tests/unit/device_fixture.h"

enum { N = 8, IN = 3 };
struct problem {
    float x[N][IN], y[N];
    struct nn_data data;
};

/* As data() of make_step_order.py. */
static void make_problem(struct problem *p)
{
    int i, k;

    memset(p, 0, sizeof *p);
    for (i = 0; i < N; i++) {
        for (k = 0; k < IN; k++)
            p->x[i][k] = (float)((7 * i + 3 * k) % 11 - 5) / 8.0f;
        p->y[i] = (float)((5 * i) % 7 - 3) / 4.0f;
    }
    p->data.n = N;
    p->data.sample = nn_shape1(IN);
    p->data.dtype = NN_F32;
    p->data.x = p->x;
    p->data.divide = 1.0f;
    p->data.target = p->y;
    p->data.target_width = 1;
}

static struct nn_optim_spec optimizer(const char *name)
{
    struct nn_optim_spec s = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};

    if (strcmp(name, "adam") == 0)
        s.type = NN_OPTIM_ADAM;
    if (strcmp(name, "adamw") == 0) {
        s.type = NN_OPTIM_ADAMW;
        s.weight_decay = 0.1;
    }
    if (strcmp(name, "sgd_momentum") == 0)
        s.momentum = 0.9;
    return s;
}

struct fixture {
    struct problem p;
    struct nn_backend *be;
    struct nn_model *model;
    struct nn_trainer *trainer;
    struct err err;
};

static void open_model(struct fixture *f, bool linear)
{
    static const struct nn_layer_spec spec[] = {
        {.type = NN_LAYER_LINEAR, .out = 4, .bias = true},
        {.type = NN_LAYER_TANH},
        {.type = NN_LAYER_LINEAR, .out = 1, .bias = true},
    };
    struct nn_model_spec m = {.layer = linear ? spec + 2 : spec,
                              .n = linear ? 1 : 3,
                              .sample = nn_shape1(IN)};
    struct rng_mt g;

    memset(f, 0, sizeof *f);
    make_problem(&f->p);
    rng_mt_seed(&g, 1);
    assert_int_equal(device_open(&f->be, 1, &f->err), 0);
    assert_int_equal(nn_model_new(&f->model, f->be, &m, &g, NULL, &f->err), 0);
}

static void open_trainer(struct fixture *f, bool linear,
                         struct nn_trainer_opts opts)
{
    open_model(f, linear);
    opts.loss.type = NN_LOSS_MSE;
    if (opts.microbatches == 0)
        opts.microbatches = 1;
    if (nn_trainer_new(&f->trainer, f->model, &f->p.data, &opts, &f->err))
        fail_msg("%s", f->err.msg);
}

static void close_trainer(struct fixture *f)
{
    nn_trainer_free(f->trainer);
    nn_model_free(f->model);
    nn_backend_close(f->be);
}

static float step(struct fixture *f, double lr)
{
    float loss;

    if (nn_trainer_step(f->trainer, NULL, 0, N, lr, &loss, &f->err))
        fail_msg("%s", f->err.msg);
    return loss;
}

#endif
