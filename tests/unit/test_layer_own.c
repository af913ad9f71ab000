/* Layers and a loss made from operators of the user's own, in a model and in
 * training; squeeze, and what bce_with_logits takes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nn/eval.h"
#include "nn/train.h"
#include "tests/unit/custom_fixture.h"
#include "tests/unit/device_fixture.h"

enum { N = 23, H = 4, W = 2, HID = 5, CLASSES = 3, MOST = 128 };

struct problem {
    float x[N][H][W];
    int32_t label[N];
    float target[N];
    struct nn_data data;
};

/* Samples of (4, 2) in so many classes. */
static void make_problem(struct problem *p, int classes)
{
    struct rng_mt g;
    int i, k;

    memset(p, 0, sizeof *p);
    rng_mt_seed(&g, 7);
    for (i = 0; i < N; i++) {
        for (k = 0; k < H * W; k++)
            p->x[i][k / W][k % W] = rng_mt_uniform(&g, -1.0f, 1.0f);
        p->label[i] = (int32_t)rng_mt_uniform(&g, 0.0f, (float)classes);
        p->x[i][0][0] += (float)p->label[i]; /* something to be learnt */
        p->target[i] = (float)p->label[i];
    }
    p->data.n = N;
    p->data.sample = nn_shape2(H, W);
    p->data.dtype = NN_F32;
    p->data.x = p->x;
    p->data.divide = 1.0f;
    p->data.label = p->label;
    p->data.classes = classes;
}

static int released, *const released_at = &released;

/* (B, in), (out, in), [(out)] -> (B, out) */
static int linear_shape(const struct nn_own_layer *l, const struct nn_shape *in,
                        int n_in, struct nn_shape *y, struct err *err)
{
    assert_int_equal(n_in, l->custom->n_in);
    if (in[0].ndim != 2 || in[0].dim[1] != in[1].dim[1])
        return err_set(err, ERR_SHAPE, "my_linear takes rows");
    *y = nn_shape2(in[0].dim[0], in[1].dim[0]);
    return 0;
}

static int same_shape(const struct nn_own_layer *l, const struct nn_shape *in,
                      int n_in, struct nn_shape *y, struct err *err)
{
    (void)l;
    (void)n_in;
    (void)err;
    *y = in[0];
    return 0;
}

static int one_number(const struct nn_own_layer *l, const struct nn_shape *in,
                      int n_in, struct nn_shape *y, struct err *err)
{
    (void)l;
    (void)in;
    (void)n_in;
    (void)err;
    *y = nn_shape0();
    return 0;
}

static const struct nn_own_param weight_and_bias[] = {
    {"weight", 2, {NN_DIM_OUT, NN_DIM_IN}, NN_INIT_UNIFORM},
    {"bias", 1, {NN_DIM_OUT}, NN_INIT_UNIFORM},
};

/* The operators, and the layers that are made from them. */
struct own {
    struct nn_custom linear, thin, relu, loss;
    struct nn_own_layer linear_layer, thin_layer, relu_layer;
};

static void make_own(struct own *o)
{
    o->linear = own_linear(&released_at, true);
    o->thin = own_linear(&released_at, false);
    o->relu = own_relu(&released_at);
    o->loss = own_cross_entropy(&released_at);
    o->linear_layer = (struct nn_own_layer){&o->linear, weight_and_bias, 2,
                                            true, linear_shape};
    o->thin_layer =
        (struct nn_own_layer){&o->thin, weight_and_bias, 1, true, linear_shape};
    o->relu_layer = (struct nn_own_layer){&o->relu, NULL, 0, false, same_shape};
}

static struct nn_layer_spec layer(const struct nn_own_layer *own, int64_t out)
{
    return (struct nn_layer_spec){.type = NN_LAYER_OWN, .own = own, .out = out};
}

struct fixture {
    struct nn_backend *be;
    struct nn_model *model;
    struct err err;
};

static int open_model(struct fixture *f, const struct nn_layer_spec *spec,
                      size_t n, int threads)
{
    struct nn_model_spec all = {spec, n, nn_shape2(H, W)};
    struct rng_mt g;

    memset(f, 0, sizeof *f);
    rng_mt_seed(&g, 3);
    assert_int_equal(device_open(&f->be, threads, &f->err), 0);
    return nn_model_new(&f->model, f->be, &all, &g, NULL, &f->err);
}

static void close_model(struct fixture *f)
{
    nn_model_free(f->model);
    nn_backend_close(f->be);
}

static void same_values(const struct nn_tensor *a, const struct nn_tensor *b)
{
    float v[MOST], w[MOST];
    struct err err = {0};

    assert_true(nn_shape_eq(&a->shape, &b->shape));
    assert_true(nn_tensor_numel(a) <= MOST);
    assert_int_equal(nn_tensor_get(a, v, &err), 0);
    assert_int_equal(nn_tensor_get(b, w, &err), 0);
    assert_memory_equal(v, w, (size_t)nn_tensor_numel(a) * sizeof *v);
}

static void same_params(const struct nn_model *a, const struct nn_model *b)
{
    int i;

    assert_int_equal(a->params.n, b->params.n);
    for (i = 0; i < a->params.n; i++) {
        assert_string_equal(a->params.t[i]->name, b->params.t[i]->name);
        same_values(a->params.t[i], b->params.t[i]);
    }
}

static void begins_with_the_values_of_the_built_in_layer(void **state)
{
    struct own o;
    struct fixture a, b;

    (void)state;
    make_own(&o);
    struct nn_layer_spec own[] = {layer(&o.linear_layer, HID),
                                  layer(&o.relu_layer, 0),
                                  layer(&o.linear_layer, CLASSES)};
    static const struct nn_layer_spec built_in[] = {
        {.type = NN_LAYER_LINEAR, .out = HID, .bias = true},
        {.type = NN_LAYER_RELU},
        {.type = NN_LAYER_LINEAR, .out = CLASSES, .bias = true}};

    assert_int_equal(open_model(&a, own, 3, 1), 0);
    assert_int_equal(open_model(&b, built_in, 3, 1), 0);
    same_params(a.model, b.model);
    assert_int_equal(nn_model_count(a.model), nn_model_count(b.model));
    assert_string_equal(a.model->params.t[3]->name, "2.bias");
    assert_string_equal(nn_layer_kind(&a.model->layer[0]), "my_linear");
    assert_string_equal(nn_layer_kind(&b.model->layer[0]), "linear");
    assert_string_equal(nn_layer_type_name(NN_LAYER_OWN), "own");
    close_model(&a);
    close_model(&b);
}

static void parameters_can_begin_with_zeros_and_ones(void **state)
{
    static const struct nn_own_param params[] = {
        {"W", 2, {NN_DIM_OUT, NN_DIM_IN}, NN_INIT_ONES},
        {"b", 1, {NN_DIM_OUT}, NN_INIT_ZEROS},
    };
    struct fixture f;
    struct own o;
    float w[HID * H * W], b[HID];
    int i;

    (void)state;
    make_own(&o);
    o.linear_layer.param = params;
    struct nn_layer_spec spec = layer(&o.linear_layer, HID);

    assert_int_equal(open_model(&f, &spec, 1, 1), 0);
    assert_string_equal(f.model->params.t[0]->name, "0.W");
    assert_int_equal(nn_tensor_get(f.model->params.t[0], w, &f.err), 0);
    assert_int_equal(nn_tensor_get(f.model->params.t[1], b, &f.err), 0);
    for (i = 0; i < HID * H * W; i++)
        assert_true(w[i] == 1.0f);
    for (i = 0; i < HID; i++)
        assert_true(b[i] == 0.0f);
    close_model(&f);
}

static void refused(const struct nn_layer_spec *spec, const char *text)
{
    struct fixture f;

    assert_int_equal(open_model(&f, spec, 1, 1), ERR_CONFIG);
    assert_null(f.model);
    assert_string_equal(f.err.msg, text);
    close_model(&f);
}

static void layer_that_does_not_fit_is_an_error(void **state)
{
    struct nn_layer_spec spec;
    struct own o;

    (void)state;
    make_own(&o);
    spec = layer(&o.linear_layer, 0);
    refused(&spec, "a my_linear layer needs out: the size of its weight");
    o.linear_layer.flat = false;
    spec = layer(&o.linear_layer, HID);
    refused(&spec, "my_linear takes rows");
    o.linear_layer.n_param = 1;
    refused(&spec, "a my_linear layer gives its operator x and 1 parameters, "
                   "and it takes 3 tensors");
    o.relu_layer.shape = one_number;
    spec = layer(&o.relu_layer, 0);
    refused(&spec, "a layer gives one row a sample, and my_relu gives () for "
                   "a batch of 2");
}

static struct nn_trainer_opts sgd(const struct nn_loss *loss,
                                  int64_t microbatches,
                                  enum nn_execution execution)
{
    return (struct nn_trainer_opts){.loss = *loss,
                                    .optim = {.momentum = 0.9},
                                    .microbatches = microbatches,
                                    .fusion = NN_FUSION_ALL,
                                    .execution = execution};
}

/* Thirty steps with batches of two sizes; the last loss. */
static float train(struct fixture *f, const struct problem *p,
                   const struct nn_trainer_opts *opts)
{
    struct nn_trainer *t;
    float loss = 0.0f;
    int step;

    assert_int_equal(nn_trainer_new(&t, f->model, &p->data, opts, &f->err), 0);
    for (step = 0; step < 30; step++)
        if (nn_trainer_step(t, NULL, 0, step % 2 ? N : 13, 0.1, &loss, &f->err))
            fail_msg("%s", f->err.msg);
    nn_trainer_free(t);
    return loss;
}

/* Without bias every operator is defined as the built-in one is, so training
 * must be the same in every bit. */
static void training_has_the_bits_of_the_built_in_layers(void **state)
{
    static const struct nn_layer_spec built_in[] = {
        {.type = NN_LAYER_LINEAR, .out = HID},
        {.type = NN_LAYER_RELU},
        {.type = NN_LAYER_LINEAR, .out = CLASSES}};
    const struct nn_loss plain = {.type = NN_LOSS_CROSS_ENTROPY};
    struct nn_eval_opts eval = {.batch_size = 7};
    struct problem p;
    struct own o;
    int m;

    (void)state;
    make_problem(&p, CLASSES);
    make_own(&o);
    const struct nn_loss mine = {.type = NN_LOSS_CUSTOM, .custom = &o.loss};
    struct nn_layer_spec own[] = {layer(&o.thin_layer, HID),
                                  layer(&o.relu_layer, 0),
                                  layer(&o.thin_layer, CLASSES)};

    for (m = 1; m <= 3; m += 2) {
        struct nn_trainer_opts a_opts = sgd(&mine, m, NN_EXEC_RECORDED);
        struct nn_trainer_opts b_opts = sgd(&plain, m, NN_EXEC_RECORDED);
        struct nn_eval_result ra, rb;
        struct fixture a, b;
        float la, lb;

        assert_int_equal(open_model(&a, own, 3, 2), 0);
        assert_int_equal(open_model(&b, built_in, 3, 1), 0);
        la = train(&a, &p, &a_opts);
        lb = train(&b, &p, &b_opts);
        assert_memory_equal(&la, &lb, sizeof la);
        same_params(a.model, b.model);
        assert_int_equal(
            nn_evaluate(&ra, a.model, &p.data, &mine, &eval, &a.err), 0);
        assert_int_equal(
            nn_evaluate(&rb, b.model, &p.data, &plain, &eval, &b.err), 0);
        assert_true(ra.has_accuracy && ra.correct == rb.correct);
        assert_true(ra.loss == rb.loss && ra.loss < 1.0);
        close_model(&a);
        close_model(&b);
    }
    assert_int_equal(mem_live(), 0);
}

static void recorded_and_eager_steps_have_the_same_bits(void **state)
{
    struct problem p;
    struct own o;
    int m;

    (void)state;
    make_problem(&p, CLASSES);
    make_own(&o);
    const struct nn_loss mine = {.type = NN_LOSS_CUSTOM, .custom = &o.loss};
    struct nn_layer_spec own[] = {layer(&o.linear_layer, HID),
                                  {.type = NN_LAYER_DROPOUT, .p = 0.25},
                                  layer(&o.relu_layer, 0),
                                  {.type = NN_LAYER_LINEAR, .out = CLASSES}};

    for (m = 1; m <= 3; m += 2) {
        struct nn_trainer_opts eager = sgd(&mine, m, NN_EXEC_EAGER);
        struct nn_trainer_opts recorded = sgd(&mine, m, NN_EXEC_RECORDED);
        struct fixture a, b;
        float la, lb;

        assert_int_equal(open_model(&a, own, 4, 1), 0);
        assert_int_equal(open_model(&b, own, 4, 2), 0);
        la = train(&a, &p, &eager);
        lb = train(&b, &p, &recorded);
        assert_memory_equal(&la, &lb, sizeof la);
        same_params(a.model, b.model);
        close_model(&a);
        close_model(&b);
    }
    assert_int_equal(mem_live(), 0);
}

static void loss_gives_one_number_a_sample(void **state)
{
    struct nn_layer_spec spec = {.type = NN_LAYER_LINEAR, .out = CLASSES};
    struct nn_eval_opts eval = {.batch_size = 7};
    struct nn_eval_result r;
    struct fixture f;
    struct problem p;
    struct own o;

    (void)state;
    make_problem(&p, CLASSES);
    make_own(&o);
    struct nn_loss loss = {.type = NN_LOSS_CUSTOM, .custom = &o.relu};

    assert_int_equal(open_model(&f, &spec, 1, 1), 0);
    assert_int_equal(nn_evaluate(&r, f.model, &p.data, &loss, &eval, &f.err),
                     ERR_CONFIG);
    assert_string_equal(f.err.msg, "a loss takes the model's outputs and the "
                                   "targets, and my_relu takes 1 tensor");
    err_clear(&f.err);
    o.relu.n_in = 2; /* (B, 3) for outputs of (B, 3) */
    assert_int_equal(nn_evaluate(&r, f.model, &p.data, &loss, &eval, &f.err),
                     ERR_SHAPE);
    assert_string_equal(f.err.msg,
                        "a loss gives one number a sample, float32 (7,) here, "
                        "and my_relu gives float32 (7, 3)");
    close_model(&f);
}

static void squeeze_drops_dimensions_of_one(void **state)
{
    static const struct nn_layer_spec spec[] = {
        {.type = NN_LAYER_LINEAR, .out = 1}, {.type = NN_LAYER_SQUEEZE}};
    static const struct nn_layer_spec none[] = {{.type = NN_LAYER_SQUEEZE}};
    struct fixture f;

    (void)state;
    assert_int_equal(open_model(&f, spec, 2, 1), 0);
    assert_int_equal(f.model->out.ndim, 0);
    close_model(&f);
    refused(none,
            "a squeeze layer takes samples with a dimension of 1, not (4, 2)");
}

static void squeezed_logits_train_with_bce(void **state)
{
    static const struct nn_layer_spec spec[] = {
        {.type = NN_LAYER_LINEAR, .out = 1, .bias = true},
        {.type = NN_LAYER_SQUEEZE}};
    struct nn_loss loss = {.type = NN_LOSS_BCE_WITH_LOGITS, .pos_weight = 1.0};
    struct nn_eval_opts eval = {.batch_size = 1};
    struct nn_eval_result r, one;
    struct nn_trainer_opts opts = sgd(&loss, 3, NN_EXEC_RECORDED);
    struct fixture f;
    struct problem p;

    (void)state;
    make_problem(&p, 2);
    assert_int_equal(open_model(&f, spec, 2, 1), 0);
    train(&f, &p, &opts);
    assert_int_equal(nn_evaluate(&one, f.model, &p.data, &loss, &eval, &f.err),
                     0);
    eval.batch_size = N;
    assert_int_equal(nn_evaluate(&r, f.model, &p.data, &loss, &eval, &f.err),
                     0);
    assert_memory_equal(&r, &one, sizeof r);
    assert_true(r.has_accuracy && r.accuracy > 0.7 && r.loss < 0.6);
    close_model(&f);
}

static void bce_takes_outputs_of_the_shape_of_its_targets(void **state)
{
    const struct nn_loss bce = {.type = NN_LOSS_BCE_WITH_LOGITS};
    struct nn_shape one = nn_shape1(1), two = nn_shape1(2), none = nn_shape0();
    struct nn_shape box = nn_shape2(1, 2);
    struct err err = {0};
    struct problem p;

    (void)state;
    make_problem(&p, 2);
    assert_int_equal(nn_loss_check(&bce, &p.data, &none, &err), 0);
    assert_int_equal(nn_loss_check(&bce, &p.data, &one, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "the model gives (B, 1) and the targets are "
                                 "(B): put a squeeze layer last");
    err_clear(&err);
    assert_int_equal(nn_loss_check(&bce, &p.data, &two, &err), ERR_CONFIG);
    assert_non_null(strstr(err.msg, "one logit"));
    err_clear(&err);
    p.data.label = NULL;
    p.data.target = p.target;
    p.data.target_width = 2;
    assert_int_equal(nn_loss_check(&bce, &p.data, &two, &err), 0);
    assert_int_equal(nn_loss_check(&bce, &p.data, &box, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "the model gives (B, 1, 2) and the targets "
                                 "are (B, 2): put a flatten layer last");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_with_the_values_of_the_built_in_layer),
        cmocka_unit_test(parameters_can_begin_with_zeros_and_ones),
        cmocka_unit_test(layer_that_does_not_fit_is_an_error),
        cmocka_unit_test(training_has_the_bits_of_the_built_in_layers),
        cmocka_unit_test(recorded_and_eager_steps_have_the_same_bits),
        cmocka_unit_test(loss_gives_one_number_a_sample),
        cmocka_unit_test(squeeze_drops_dimensions_of_one),
        cmocka_unit_test(squeezed_logits_train_with_bce),
        cmocka_unit_test(bce_takes_outputs_of_the_shape_of_its_targets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
