/* The training step against a plain reading of its definition, bit for bit:
 * chains of fma, pieces added in a pairwise tree, one optimizer pass. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/eval.h"
#include "nn/train.h"
#include "tests/unit/device_fixture.h"

enum {
    IN = 7,
    HID = 5,
    OUT = 3,
    N = 23,
    PARAMS = HID * IN + HID + OUT * HID + OUT
};

/* 23 samples with number targets: mse needs no exp, so that plain C can say
 * what every bit is. */
struct problem {
    float x[N][IN], y[N][OUT];
    struct nn_data data;
};

static void make_problem(struct problem *p)
{
    struct rng_mt g;
    int i, k;

    memset(p, 0, sizeof *p);
    rng_mt_seed(&g, 7);
    for (i = 0; i < N; i++) {
        for (k = 0; k < IN; k++)
            p->x[i][k] = rng_mt_uniform(&g, -1.0f, 1.0f);
        for (k = 0; k < OUT; k++)
            p->y[i][k] = rng_mt_uniform(&g, -1.0f, 1.0f);
    }
    p->data.n = N;
    p->data.sample = nn_shape1(IN);
    p->data.dtype = NN_F32;
    p->data.x = p->x;
    p->data.divide = 1.0f;
    p->data.target = &p->y[0][0];
    p->data.target_width = OUT;
}

/* All parameters (or gradients) in the order of the state dictionary. */
struct weights {
    float w0[HID][IN], b0[HID], w2[OUT][HID], b2[OUT];
};

struct piece {
    struct weights g;
    float loss;
};

static void plain_linear(const float *w, const float *b, const float *x, int in,
                         int out, float *y)
{
    int o, k;

    for (o = 0; o < out; o++) {
        y[o] = b[o];
        for (k = 0; k < in; k++)
            y[o] = fmaf(x[k], w[o * in + k], y[o]);
        y[o] += 0.0f;
    }
}

/* Gradients and loss of rows [lo, hi) of a batch of total rows. */
static void plain_piece(const struct problem *p, const struct weights *w,
                        int lo, int hi, int total, struct piece *out)
{
    float scale = (float)(1.0 / (double)(total * OUT));
    int s, o, k;

    memset(out, 0, sizeof *out);
    for (s = lo; s < hi; s++) {
        float h[HID], y[OUT], dy[OUT], dh[HID];

        plain_linear(&w->w0[0][0], w->b0, p->x[s], IN, HID, h);
        for (k = 0; k < HID; k++)
            h[k] = h[k] > 0.0f ? h[k] : 0.0f;
        plain_linear(&w->w2[0][0], w->b2, h, HID, OUT, y);
        for (o = 0; o < OUT; o++) {
            float d = y[o] - p->y[s][o];

            out->loss += (d * d) * scale;
            dy[o] = (d * 2.0f) * (1.0f * scale);
            out->g.b2[o] += dy[o];
            for (k = 0; k < HID; k++)
                out->g.w2[o][k] = fmaf(h[k], dy[o], out->g.w2[o][k]);
        }
        for (k = 0; k < HID; k++) {
            dh[k] = 0.0f;
            for (o = 0; o < OUT; o++)
                dh[k] = fmaf(dy[o], w->w2[o][k], dh[k]);
            dh[k] = h[k] <= 0.0f ? 0.0f : dh[k] + 0.0f;
            out->g.b0[k] += dh[k];
            for (o = 0; o < IN; o++)
                out->g.w0[k][o] = fmaf(p->x[s][o], dh[k], out->g.w0[k][o]);
        }
    }
}

static void plain_add(struct piece *a, const struct piece *b)
{
    float *x = &a->g.w0[0][0];
    const float *y = &b->g.w0[0][0];
    int i;

    for (i = 0; i < PARAMS; i++)
        x[i] = x[i] + y[i];
    a->loss += b->loss;
}

/* Pieces added as neighbours, level by level, an odd one carried. */
static void plain_batch(const struct problem *p, const struct weights *w,
                        int batch, int m, struct piece *out)
{
    struct piece piece[16];
    int n = 0, i, at = 0;

    for (i = 0; i < m; i++) {
        int size = batch / m + (i < batch % m);

        if (size == 0)
            continue;
        plain_piece(p, w, at, at + size, batch, &piece[n++]);
        at += size;
    }
    for (; n > 1; n = (n + 1) / 2) {
        for (i = 0; i + 1 < n; i += 2) {
            plain_add(&piece[i], &piece[i + 1]);
            piece[i / 2] = piece[i];
        }
        if (n % 2)
            piece[n / 2] = piece[n - 1];
    }
    *out = piece[0];
}

static void plain_sgd(struct weights *w, struct weights *m,
                      const struct weights *g, float lr)
{
    float *p = &w->w0[0][0], *mom = &m->w0[0][0];
    const float *grad = &g->w0[0][0];
    int i;

    for (i = 0; i < PARAMS; i++) {
        mom[i] = fmaf(0.9f, mom[i], grad[i]);
        if (fabsf(mom[i]) < 0x1p-100f)
            mom[i] = 0.0f;
        p[i] = fmaf(-lr, mom[i], p[i]);
    }
}

struct fixture {
    struct nn_backend *be;
    struct nn_model *model;
    struct nn_trainer *trainer;
    struct err err;
};

static void open_trainer(struct fixture *f, const struct problem *p,
                         struct nn_trainer_opts opts, int threads)
{
    static const struct nn_layer_spec spec[] = {
        {.type = NN_LAYER_LINEAR, .out = HID, .bias = true},
        {.type = NN_LAYER_RELU},
        {.type = NN_LAYER_LINEAR, .out = OUT, .bias = true},
    };
    struct rng_mt g;

    memset(f, 0, sizeof *f);
    rng_mt_seed(&g, 3);
    assert_int_equal(device_open(&f->be, threads, &f->err), 0);
    assert_int_equal(
        nn_model_new(&f->model, f->be,
                     &(struct nn_model_spec){spec, 3, p->data.sample}, &g, NULL,
                     &f->err),
        0);
    assert_int_equal(
        nn_trainer_new(&f->trainer, f->model, &p->data, &opts, &f->err), 0);
}

static void close_trainer(struct fixture *f)
{
    nn_trainer_free(f->trainer);
    nn_model_free(f->model);
    nn_backend_close(f->be);
}

static void read_weights(struct fixture *f, struct weights *w)
{
    float *at[4] = {&w->w0[0][0], w->b0, &w->w2[0][0], w->b2};
    int i;

    for (i = 0; i < 4; i++)
        assert_int_equal(nn_tensor_get(f->model->params.t[i], at[i], &f->err),
                         0);
}

static struct nn_trainer_opts momentum_opts(int64_t microbatches)
{
    struct nn_trainer_opts o = {.loss = {.type = NN_LOSS_MSE},
                                .optim = {.momentum = 0.9},
                                .microbatches = microbatches};

    return o;
}

static void check_against_plain(const struct problem *p, int m, int threads,
                                enum nn_fusion fusion)
{
    struct nn_trainer_opts opts = momentum_opts(m);
    struct weights w, mom, got;
    struct fixture f;
    struct piece want;
    float loss;
    int step;

    opts.fusion = fusion;
    opts.execution = threads % 2 ? NN_EXEC_RECORDED : NN_EXEC_EAGER;
    open_trainer(&f, p, opts, threads);
    read_weights(&f, &w);
    memset(&mom, 0, sizeof mom);
    for (step = 0; step < 6; step++) {
        int batch = step % 2 ? N : 13; /* both recorded steps are used again */

        plain_batch(p, &w, batch, m, &want);
        plain_sgd(&w, &mom, &want.g, 0.1f);
        if (nn_trainer_step(f.trainer, NULL, 0, batch, 0.1, &loss, &f.err))
            fail_msg("%s", f.err.msg);
        read_weights(&f, &got);
        assert_memory_equal(&loss, &want.loss, sizeof loss);
        assert_memory_equal(&got, &w, sizeof got);
    }
    close_trainer(&f);
}

static void step_is_what_its_definition_says(void **state)
{
    struct problem p;
    int m, threads;

    (void)state;
    make_problem(&p);
    for (threads = 1; threads <= 3; threads++)
        for (m = 1; m <= 8; m++)
            check_against_plain(&p, m, threads,
                                m % 2 ? NN_FUSION_ALL : NN_FUSION_NONE);
}

static void more_pieces_than_samples_are_fine(void **state)
{
    struct problem p;

    (void)state;
    make_problem(&p);
    check_against_plain(&p, 15, 1, NN_FUSION_ALL);
}

static void diverging_run_stops_with_step_and_rate(void **state)
{
    struct fixture f;
    struct problem p;
    float loss;
    int rc = 0, i;

    (void)state;
    make_problem(&p);
    open_trainer(&f, &p, momentum_opts(1), 1);
    for (i = 0; rc == 0 && i < 1000; i++)
        rc = nn_trainer_step(f.trainer, NULL, 0, N, 1e6, &loss, &f.err);
    assert_int_equal(rc, ERR_NONFINITE);
    assert_non_null(strstr(f.err.msg, "learning rate 1e+06"));
    assert_non_null(strstr(f.err.msg, "step"));
    close_trainer(&f);
}

static void steps_after_the_first_allocate_nothing(void **state)
{
    struct fixture f;
    struct problem p;
    float loss;
    long live;

    (void)state;
    make_problem(&p);
    open_trainer(&f, &p, momentum_opts(4), 1);
    assert_int_equal(nn_trainer_step(f.trainer, NULL, 0, N, 0.1, &loss, &f.err),
                     0);
    live = mem_live();
    mem_fail_after(1); /* any allocation would fail the step */
    assert_int_equal(nn_trainer_step(f.trainer, NULL, 0, N, 0.1, &loss, &f.err),
                     0);
    mem_fail_after(0);
    assert_int_equal(mem_live(), live);
    close_trainer(&f);
}

static void recorded_step_knows_phases_roles_and_live_ranges(void **state)
{
    const struct nn_step *s;
    struct fixture f;
    struct problem p;
    int seen[NN_PHASE_COUNT] = {0}, last = 0, i, weights = 0;
    float loss;

    (void)state;
    make_problem(&p);
    open_trainer(&f, &p, momentum_opts(1), 1);
    assert_null(nn_trainer_recorded(f.trainer, N));
    assert_int_equal(nn_trainer_step(f.trainer, NULL, 0, N, 0.1, &loss, &f.err),
                     0);
    s = nn_trainer_recorded(f.trainer, N);
    assert_non_null(s);
    for (i = 0; i < s->n_call; i++) {
        assert_true((int)s->call[i].phase >= last); /* h2d ... optimizer */
        last = (int)s->call[i].phase;
        seen[last]++;
        weights += s->call[i].role == NN_ROLE_GRAD_WEIGHT;
    }
    for (i = NN_PHASE_H2D; i < NN_PHASE_COUNT; i++)
        assert_true(seen[i] > 0);
    assert_int_equal(weights, 2);
    for (i = 0; i < s->n_value; i++) {
        const struct nn_value *v = &s->value[i];

        assert_true(v->first_write <= v->last_use);
        if (v->st == f.model->params.flat->st)
            assert_int_equal(v->first_write, -1); /* lived before */
        if (strcmp(v->name, "x") == 0)
            assert_int_equal(v->first_write, 0);
    }
    close_trainer(&f);
}

static void evaluation_does_not_depend_on_its_batch_size(void **state)
{
    struct nn_loss loss = {.type = NN_LOSS_MSE};
    struct nn_eval_result r, first;
    struct fixture f;
    struct problem p;
    int64_t b;

    (void)state;
    make_problem(&p);
    open_trainer(&f, &p, momentum_opts(1), 2);
    for (b = 1; b <= N + 1; b++) {
        struct nn_eval_opts opts = {.batch_size = b};

        assert_int_equal(
            nn_evaluate(&r, f.model, &p.data, &loss, &opts, &f.err), 0);
        assert_int_equal(r.samples, N);
        assert_false(r.has_accuracy);
        if (b == 1)
            first = r;
        assert_memory_equal(&r.loss, &first.loss, sizeof r.loss);
    }
    close_trainer(&f);
}

static void loss_that_does_not_fit_is_an_error(void **state)
{
    struct nn_trainer_opts opts = momentum_opts(1);
    struct fixture f;
    struct nn_trainer *t;
    struct problem p;

    (void)state;
    make_problem(&p);
    open_trainer(&f, &p, opts, 1);
    opts.loss.type = NN_LOSS_CROSS_ENTROPY;
    assert_int_equal(nn_trainer_new(&t, f.model, &p.data, &opts, &f.err),
                     ERR_CONFIG);
    assert_null(t);
    assert_non_null(strstr(f.err.msg, "class labels"));
    close_trainer(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_is_what_its_definition_says),
        cmocka_unit_test(more_pieces_than_samples_are_fine),
        cmocka_unit_test(diverging_run_stops_with_step_and_rate),
        cmocka_unit_test(steps_after_the_first_allocate_nothing),
        cmocka_unit_test(recorded_step_knows_phases_roles_and_live_ranges),
        cmocka_unit_test(evaluation_does_not_depend_on_its_batch_size),
        cmocka_unit_test(loss_that_does_not_fit_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
