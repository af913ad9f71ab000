/* Four PyTorch runs on MNIST, step by step (tests/golden/training.json). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "nn/eval.h"
#include "nn/loader.h"
#include "nn/train.h"
#include "tests/unit/device_fixture.h"
#include "tests/unit/mnist_fixture.h"

struct run {
    struct nn_backend *be;
    struct nn_model *model;
    struct nn_trainer *trainer;
    struct nn_loader *loader;
    struct rng_mt gen;
    struct nn_loss loss;
};

static struct nn_optim_spec optimizer(const char *name)
{
    struct nn_optim_spec s = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};

    if (strcmp(name, "adam") == 0)
        s.type = NN_OPTIM_ADAM;
    if (strcmp(name, "sgd_momentum") == 0)
        s.momentum = 0.9;
    return s;
}

static int64_t whole(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static void start(struct run *r, const json_t *o, const struct mnist *m,
                  enum nn_numerics numerics)
{
    const struct nn_backend_config how = {.numerics = numerics};
    struct nn_layer_spec spec[8] = {{0}};
    size_t n = 0;
    struct nn_loader_opts order = {.batch_size = whole(o, "batch_size"),
                                   .shuffle = true};
    struct nn_trainer_opts opts = {.microbatches = 1,
                                   .fusion = NN_FUSION_ALL,
                                   .execution = NN_EXEC_RECORDED};
    struct err err = {0};
    int64_t i;

    memset(r, 0, sizeof *r);
    for (i = 0; i < whole(o, "hidden_layers"); i++) {
        spec[n].type = NN_LAYER_LINEAR;
        spec[n].bias = true;
        spec[n++].out = whole(o, "hidden_dim");
        spec[n++].type = NN_LAYER_RELU;
    }
    spec[n].type = NN_LAYER_LINEAR;
    spec[n].bias = true;
    spec[n++].out = 10;
    opts.optim =
        optimizer(json_string_value(json_object_get(o, "optim_method")));
    assert_int_equal(device_open_as(&r->be, 2, &how, &err), 0);
    rng_mt_seed(&r->gen, (uint64_t)whole(o, "seed"));
    assert_int_equal(
        nn_model_new(&r->model, r->be,
                     &(struct nn_model_spec){spec, n, m->train->sample},
                     &r->gen, NULL, &err),
        0);
    assert_int_equal(nn_model_count(r->model), whole(o, "parameters"));
    assert_int_equal(nn_loader_new(&r->loader, m->train, &r->gen, &order, &err),
                     0);
    assert_int_equal(
        nn_trainer_new(&r->trainer, r->model, m->train, &opts, &err), 0);
}

static void end(struct run *r)
{
    nn_trainer_free(r->trainer);
    nn_loader_free(r->loader);
    nn_model_free(r->model);
    nn_backend_close(r->be);
}

static void check_loss(const json_t *losses, int64_t step, float loss)
{
    double want = json_real_value(json_array_get(losses, (size_t)step));
    double tolerance = step < 20 ? 1e-5 : test_device() ? 1e-4 : 1e-3;

    if (fabs((double)loss - want) > tolerance)
        fail_msg("loss of step %lld is %.9g, not %.9g within %g",
                 (long long)step, (double)loss, want, tolerance);
}

/* most: that many steps of it. */
static void epoch(struct run *r, const json_t *o, double lr, int64_t most,
                  double *mean)
{
    const json_t *losses = json_object_get(o, "first_losses");
    struct err err = {0};
    int64_t i, first, count, n = nn_loader_batches(r->loader), seen = 0;
    float loss;

    nn_loader_begin_epoch(r->loader);
    *mean = 0.0;
    for (i = 0; i < n && i < most; i++) {
        nn_loader_batch(r->loader, i, &first, &count);
        if (nn_trainer_step(r->trainer, r->loader->order, first, count, lr,
                            &loss, &err) != 0)
            fail_msg("%s", err.msg);
        if (r->trainer->step - 1 < (int64_t)json_array_size(losses))
            check_loss(losses, r->trainer->step - 1, loss);
        *mean += (double)loss * (double)count;
        seen += count;
    }
    *mean /= (double)seen;
    nn_loader_end_epoch(r->loader);
}

static void near(const json_t *o, const char *key, double got, double tolerance)
{
    double want = json_number_value(json_object_get(o, key));

    if (!(fabs(got - want) <= tolerance))
        fail_msg("%s is %.6f, not %.6f within %g", key, got, want, tolerance);
}

static void check_run(const json_t *o, const struct mnist *m)
{
    const json_t *epochs = json_object_get(o, "by_epoch");
    struct nn_eval_opts opts = {.batch_size = 1000};
    struct nn_eval_result result;
    struct err err = {0};
    struct run r;
    double mean;
    size_t e;

    start(&r, o, m, NN_NUMERICS_STRICT);
    for (e = 0; e < json_array_size(epochs); e++) {
        const json_t *want = json_array_get(epochs, e);

        epoch(&r, o, json_number_value(json_object_get(o, "lr")), INT64_MAX,
              &mean);
        if (nn_evaluate(&result, r.model, m->test, &r.loss, &opts, &err) != 0)
            fail_msg("%s", err.msg);
        print_message("epoch %zu: train %.6f test %.6f accuracy %.4f\n", e + 1,
                      mean, result.loss, result.accuracy);
        near(want, "train_loss", mean, 2e-3);
        near(want, "test_loss", result.loss, 1e-2);
        near(want, "test_accuracy", result.accuracy, 0.003);
    }
    end(&r);
}

/* The first steps only: the double of a GPU is slow. */
static void check_first(const json_t *o, const struct mnist *m,
                        enum nn_numerics numerics, int64_t most)
{
    struct run r;
    double mean;

    start(&r, o, m, numerics);
    epoch(&r, o, json_number_value(json_object_get(o, "lr")), most, &mean);
    end(&r);
}

static void losses_follow_pytorch_in_four_runs(void **state)
{
    json_t *root = json_load_file("tests/golden/training.json", 0, NULL);
    const json_t *runs = json_object_get(root, "runs");
    struct err err = {0};
    struct mnist m;
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(runs), 4);
    assert_int_equal(mnist_open(&m, &err), 0);
    for (i = 0; i < 4; i++)
        if (test_device()) {
            check_first(json_array_get(runs, i), &m, NN_NUMERICS_FAST, 100);
            check_first(json_array_get(runs, i), &m, NN_NUMERICS_STRICT, 5);
        } else
            check_run(json_array_get(runs, i), &m);
    mnist_close(&m);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_follow_pytorch_in_four_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
