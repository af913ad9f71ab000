/* Layers of images and norms: names, first weights, outputs and running
 * statistics are those of torch.nn (PyTorch 1.13, manual_seed(0)):
 *
 *   Sequential(Conv2d(1, 2, 3, padding=1), BatchNorm2d(2), ReLU(),
 *              MaxPool2d(2), Flatten(), LayerNorm(8), Linear(8, 3))
 *   x = (torch.arange(48).reshape(3, 1, 4, 4) % 7).float() / 4 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/model.h"
#include "nn/tape.h"
#include "tests/unit/device_fixture.h"

static const struct nn_layer_spec specs[] = {
    {.type = NN_LAYER_CONV2D,
     .out = 2,
     .bias = true,
     .kernel = 3,
     .padding = 1},
    {.type = NN_LAYER_BATCH_NORM, .eps = 1e-5, .momentum = 0.1},
    {.type = NN_LAYER_RELU},
    {.type = NN_LAYER_MAX_POOL2D, .kernel = 2},
    {.type = NN_LAYER_FLATTEN},
    {.type = NN_LAYER_LAYER_NORM, .eps = 1e-5},
    {.type = NN_LAYER_LINEAR, .out = 3, .bias = true},
};
enum { LAYERS = sizeof specs / sizeof *specs, SAMPLES = 3, OUT = 3 };

struct fixture {
    struct nn_backend *be;
    struct nn_model *m;
    struct err err;
};

static int setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);
    struct nn_shape sample = nn_shape2(4, 4); /* counts as (1, 4, 4) */
    struct rng_mt g;

    *state = f;
    if (!f || device_open(&f->be, 1, &f->err) != 0)
        return -1;
    rng_mt_seed(&g, 0);
    return nn_model_new(&f->m, f->be,
                        &(struct nn_model_spec){specs, LAYERS, sample}, &g,
                        NULL, &f->err);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    nn_model_free(f->m);
    nn_backend_close(f->be);
    mem_free(f);
    return mem_live() == 0 ? 0 : -1;
}

static void forward(struct fixture *f, bool train, float out[SAMPLES * OUT])
{
    struct nn_forward_opts opts = {.train = train, .fusion = NN_FUSION_ALL};
    struct nn_shape s = {3, {SAMPLES, 4, 4}};
    struct nn_tensor *x, *y;
    struct nn_tape *tape;
    float v[SAMPLES * 16];

    for (int i = 0; i < SAMPLES * 16; i++)
        v[i] = (float)(i % 7) / 4;
    assert_int_equal(nn_tape_new(&tape, f->be, &f->err), 0);
    assert_int_equal(
        nn_tape_tensor(tape, &s, NN_F32, NN_CAT_INPUT, &x, &f->err), 0);
    assert_int_equal(nn_tensor_set(x, v, &f->err), 0);
    if (nn_model_forward(f->m, tape, x, &opts, &y, &f->err) != 0)
        fail_msg("%s", f->err.msg);
    assert_int_equal(nn_tensor_numel(y), SAMPLES * OUT);
    assert_int_equal(nn_tensor_get(y, out, &f->err), 0);
    nn_tape_free(tape);
}

static void assert_close(const float *got, const double *want, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want[i]) < 2e-6))
            fail_msg("number %d is %.9g, not %.9g", i, (double)got[i], want[i]);
}

static void names_and_shapes_are_those_of_the_state_dict(void **state)
{
    static const char *const params[] = {"0.weight", "0.bias",   "1.weight",
                                         "1.bias",   "5.weight", "5.bias",
                                         "6.weight", "6.bias"};
    static const char *const buffers[] = {"1.running_mean", "1.running_var",
                                          "1.num_batches_tracked"};
    struct fixture *f = *state;
    struct nn_shape conv = {4, {2, 1, 3, 3}};

    assert_int_equal(f->m->params.n, 8);
    for (int i = 0; i < 8; i++)
        assert_string_equal(f->m->params.t[i]->name, params[i]);
    assert_int_equal(f->m->buffers.n, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(f->m->buffers.t[i]->name, buffers[i]);
    assert_true(nn_shape_eq(&f->m->params.t[0]->shape, &conv));
    assert_int_equal(f->m->buffers.t[2]->dtype, NN_I64);
    assert_int_equal(nn_model_count(f->m), 20 + 4 + 16 + 27);
}

static void first_weights_are_pytorchs(void **state)
{
    static const float want[] = {-0x1.471aacp-9f, 0x1.6e3650p-3f,
                                 -0x1.18eec8p-2f};
    struct fixture *f = *state;
    float v[24];

    assert_int_equal(nn_tensor_get(f->m->params.t[0], v, &f->err), 0);
    assert_memory_equal(v, want, sizeof want);
    assert_int_equal(nn_tensor_get(f->m->params.t[1], v, &f->err), 0);
    assert_true(v[0] == -0x1.cececcp-3f && v[1] == -0x1.2946a6p-3f);
    assert_int_equal(nn_tensor_get(f->m->params.t[6], v, &f->err), 0);
    assert_true(v[0] == 0x1.06ff4ep-3f && v[1] == 0x1.2ca1eep-2f);
    assert_int_equal(nn_tensor_get(f->m->params.t[2], v, &f->err), 0);
    assert_true(v[0] == 1.0f && v[1] == 1.0f);
}

static void outputs_are_pytorchs_in_training_and_after(void **state)
{
    static const double train[] = {
        0.1287422776222229,  -0.6252274513244629, 0.5676143169403076,
        0.25389254093170166, -0.2360517382621765, 0.5461245775222778,
        -0.7122344970703125, 0.4751991033554077,  0.34686797857284546};
    static const double evaluated[] = {
        -0.06802719831466675, -0.5383045673370361,  0.5683889389038086,
        0.33065879344940186,  -0.23681852221488953, 0.5133418440818787,
        0.24261769652366638,  1.1141443252563477,   0.7599444389343262};
    static const double mean[] = {-0.029387984424829483, -0.04487689584493637};
    static const double var[] = {0.9065647125244141, 0.9071592092514038};
    struct fixture *f = *state;
    float out[SAMPLES * OUT], running[2];
    int64_t batches;

    forward(f, true, out);
    assert_close(out, train, SAMPLES * OUT);
    assert_int_equal(nn_tensor_get(f->m->buffers.t[0], running, &f->err), 0);
    assert_close(running, mean, 2);
    assert_int_equal(nn_tensor_get(f->m->buffers.t[1], running, &f->err), 0);
    assert_close(running, var, 2);
    forward(f, false, out);
    assert_close(out, evaluated, SAMPLES * OUT);
    assert_int_equal(nn_tensor_get(f->m->buffers.t[2], &batches, &f->err), 0);
    assert_int_equal(batches, 1); /* evaluation does not count */
}

static void expect_error(struct fixture *f, const struct nn_layer_spec *spec,
                         struct nn_shape sample, const char *message)
{
    struct nn_model *m;
    struct err err = {0};

    assert_int_equal(nn_model_new(&m, f->be,
                                  &(struct nn_model_spec){spec, 1, sample},
                                  NULL, NULL, &err),
                     ERR_CONFIG);
    assert_null(m);
    assert_string_equal(err.msg, message);
}

static void layers_that_do_not_fit_are_named(void **state)
{
    struct nn_layer_spec conv = {
        .type = NN_LAYER_CONV2D, .out = 2, .kernel = 5};
    struct nn_layer_spec pool = {
        .type = NN_LAYER_MAX_POOL2D, .kernel = 2, .padding = 2};
    struct nn_layer_spec norm = {.type = NN_LAYER_BATCH_NORM};

    expect_error(*state, &conv, nn_shape2(4, 4),
                 "a kernel of 5 does not fit into (1, 4, 4) with padding 0");
    expect_error(*state, &conv, nn_shape1(16),
                 "a conv2d layer takes samples of (channels, height, width), "
                 "not (16,)");
    expect_error(*state, &pool, nn_shape2(4, 4),
                 "padding 2 of a max_pool2d layer is more than half its kernel "
                 "of 2");
    expect_error(*state, &norm, nn_shape1(4),
                 "eps 0 must be above 0, and momentum 0 within 0 to 1");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(names_and_shapes_are_those_of_the_state_dict),
        CASE(first_weights_are_pytorchs),
        CASE(outputs_are_pytorchs_in_training_and_after),
        CASE(layers_that_do_not_fit_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
