#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/model.h"
#include "nn/optim.h"
#include "nn/tape.h"
#include "tests/unit/device_fixture.h"

static const struct nn_layer_spec mlp[] = {
    {.type = NN_LAYER_LINEAR, .out = 256, .bias = true},
    {.type = NN_LAYER_RELU},
    {.type = NN_LAYER_LINEAR, .out = 10, .bias = true},
};

static struct nn_backend *cpu(void)
{
    struct nn_backend *be;
    struct err err = {0};

    assert_int_equal(device_open(&be, 1, &err), 0);
    return be;
}

/* The first and last numbers and the sum of a parameter, as PyTorch's. */
static void check_values(const json_t *want, const struct nn_tensor *t)
{
    int64_t n = nn_tensor_numel(t), i;
    const json_t *first = json_object_get(want, "first");
    const json_t *last = json_object_get(want, "last");
    float *v = mem_array((size_t)n, sizeof *v);
    struct err err = {0};
    double sum = 0.0;

    assert_non_null(v);
    assert_int_equal(nn_tensor_get(t, v, &err), 0);
    for (i = 0; i < (int64_t)json_array_size(first); i++)
        assert_true((double)v[i] ==
                    json_real_value(json_array_get(first, (size_t)i)));
    for (i = 0; i < 4; i++)
        assert_true((double)v[n - 4 + i] ==
                    json_real_value(json_array_get(last, (size_t)i)));
    for (i = 0; i < n; i++)
        sum += (double)v[i];
    assert_true(fabs(sum - json_real_value(json_object_get(want, "sum64"))) <
                1e-9);
    mem_free(v);
}

static void initial_weights_are_pytorchs(void **state)
{
    json_t *root = json_load_file("tests/golden/generator.json", 0, NULL);
    const json_t *want = json_object_get(root, "linear_784_256_then_256_10");
    struct nn_shape sample = nn_shape2(28, 28);
    struct nn_backend *be = cpu();
    struct nn_model *m;
    struct err err = {0};
    struct rng_mt g;
    int i;

    (void)state;
    rng_mt_seed(&g, 0);
    assert_int_equal(nn_model_new(&m, be,
                                  &(struct nn_model_spec){mlp, 3, sample}, &g,
                                  NULL, &err),
                     0);
    assert_int_equal(m->params.n, 4);
    assert_int_equal(nn_model_count(m), 203530);
    for (i = 0; i < 4; i++) {
        const json_t *p = json_object_get(want, m->params.t[i]->name);

        assert_non_null(p);
        check_values(p, m->params.t[i]);
    }
    nn_model_free(m);
    nn_backend_close(be);
    json_decref(root);
}

static void layers_that_do_not_fit_are_named(void **state)
{
    const struct nn_layer_spec twice[] = {
        {.type = NN_LAYER_RELU, .name = "a"},
        {.type = NN_LAYER_RELU, .name = "a"},
    };
    const struct nn_layer_spec empty[] = {
        {.type = NN_LAYER_RELU},
        {.type = NN_LAYER_LINEAR, .out = 0},
    };
    struct nn_shape sample = nn_shape1(4);
    struct nn_backend *be = cpu();
    struct nn_model *m;
    struct err err = {0};
    size_t bad = 9;

    (void)state;
    assert_int_equal(nn_model_new(&m, be,
                                  &(struct nn_model_spec){twice, 2, sample},
                                  NULL, &bad, &err),
                     ERR_CONFIG);
    assert_string_equal(err.msg, "two layers are named 'a'");
    assert_int_equal(bad, 1);
    assert_null(m);
    err_clear(&err);
    assert_int_equal(nn_model_new(&m, be,
                                  &(struct nn_model_spec){empty, 2, sample},
                                  NULL, &bad, &err),
                     ERR_CONFIG);
    assert_int_equal(bad, 1);
    nn_backend_close(be);
}

static void state_is_none_one_or_two_times_the_parameters(void **state)
{
    const struct nn_optim_spec specs[] = {
        {.type = NN_OPTIM_SGD},
        {.type = NN_OPTIM_SGD, .momentum = 0.9},
        {.type = NN_OPTIM_ADAM},
        {.type = NN_OPTIM_ADAMW},
    };
    const int blocks[] = {0, 1, 2, 2};
    struct nn_shape sample = nn_shape1(4);
    struct nn_backend *be = cpu();
    struct nn_model *m;
    struct err err = {0};
    size_t i;

    (void)state;
    assert_int_equal(nn_model_new(&m, be,
                                  &(struct nn_model_spec){mlp, 3, sample}, NULL,
                                  NULL, &err),
                     0);
    for (i = 0; i < 4; i++) {
        size_t before = be->live_bytes;
        struct nn_optim *o;

        assert_int_equal(nn_optim_new(&o, m, &specs[i], &err), 0);
        assert_int_equal(o->n_state, blocks[i]);
        assert_int_equal(be->live_bytes - before,
                         (size_t)blocks[i] * m->params.flat->st->size + 4);
        nn_optim_free(o);
        assert_int_equal(be->live_bytes, before);
    }
    nn_model_free(m);
    nn_backend_close(be);
}

/* Dropout's mask is the same forward, backward and in any cut of the batch. */
static void dropout_depends_on_the_position_in_the_batch(void **state)
{
    const struct nn_layer_spec drop[] = {{.type = NN_LAYER_DROPOUT, .p = 0.5}};
    struct nn_forward_opts whole = {.train = true, .dropout_seed = 5};
    struct nn_forward_opts rest = whole;
    struct nn_scalars scalars = {.step = 3};
    struct nn_shape sample = nn_shape1(6), s8 = nn_shape2(8, 6);
    float ones[48], a[48], b[48];
    struct nn_backend *be = cpu();
    struct nn_tensor *x, *part, *out;
    struct nn_model *m;
    struct nn_tape *tape;
    struct err err = {0};
    int i, kept = 0;

    (void)state;
    for (i = 0; i < 48; i++)
        ones[i] = 1.0f;
    assert_int_equal(nn_model_new(&m, be,
                                  &(struct nn_model_spec){drop, 1, sample},
                                  NULL, NULL, &err),
                     0);
    assert_int_equal(nn_tape_new(&tape, be, &err), 0);
    assert_int_equal(be->ops->set_scalars(be, &scalars, &err), 0);
    assert_int_equal(nn_tape_tensor(tape, &s8, NN_F32, NN_CAT_INPUT, &x, &err),
                     0);
    assert_int_equal(nn_tensor_set(x, ones, &err), 0);
    assert_int_equal(nn_model_forward(m, tape, x, &whole, &out, &err), 0);
    assert_int_equal(nn_tensor_get(out, a, &err), 0);
    rest.first = 5;
    assert_int_equal(nn_tape_rows(tape, x, 5, 3, &part, &err), 0);
    assert_int_equal(nn_model_forward(m, tape, part, &rest, &out, &err), 0);
    assert_int_equal(nn_tensor_get(out, b, &err), 0);
    assert_memory_equal(a + 30, b, 18 * sizeof *a);
    for (i = 0; i < 48; i++) {
        assert_true(a[i] == 0.0f || a[i] == 2.0f);
        kept += a[i] != 0.0f;
    }
    assert_in_range(kept, 10, 38);
    whole.train = false;
    assert_int_equal(nn_model_forward(m, tape, x, &whole, &out, &err), 0);
    assert_ptr_equal(out, x);
    nn_tape_free(tape);
    nn_model_free(m);
    nn_backend_close(be);
}

static void every_failed_allocation_leaves_nothing(void **state)
{
    struct nn_shape sample = nn_shape1(4);
    struct nn_backend *be = cpu();
    struct nn_optim_spec adam = {.type = NN_OPTIM_ADAM};
    long n, live = mem_live();
    int rc = -1;

    (void)state;
    for (n = 1; rc != 0 && n < 200; n++) {
        struct nn_optim *o = NULL;
        struct nn_model *m;
        struct err err = {0};
        struct rng_mt g;

        rng_mt_seed(&g, 0);
        mem_fail_after(n);
        rc = nn_model_new(&m, be, &(struct nn_model_spec){mlp, 3, sample}, &g,
                          NULL, &err);
        if (rc == 0)
            rc = nn_optim_new(&o, m, &adam, &err);
        mem_fail_after(0);
        if (rc != 0) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_null(o);
        }
        nn_optim_free(o);
        nn_model_free(m);
        assert_true(test_live_is(live));
    }
    assert_int_equal(rc, 0);
    nn_backend_close(be);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initial_weights_are_pytorchs),
        cmocka_unit_test(layers_that_do_not_fit_are_named),
        cmocka_unit_test(state_is_none_one_or_two_times_the_parameters),
        cmocka_unit_test(dropout_depends_on_the_position_in_the_batch),
        cmocka_unit_test(every_failed_allocation_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
