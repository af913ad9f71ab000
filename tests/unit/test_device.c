/* Training on a device (TEST_DEVICE=cuda; the CPU stands in for it otherwise)
 * against training on the CPU: the same bits, however steps are run and batches
 * get there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/rng.h"
#include "nn/train.h"
#include "tests/unit/device_fixture.h"

/* 24 steps in three epochs: 250 samples leave 26 for the last batch. */
enum { SIDE = 8, IN = SIDE * SIDE, CLASSES = 5, N = 250, BATCH = 32 };
enum { EPOCHS = 3, STEPS = EPOCHS * ((N + BATCH - 1) / BATCH) };

struct problem {
    uint8_t x[N][IN];
    int32_t label[N];
    int64_t order[EPOCHS][N];
    struct nn_data data;
};

/* What is compared: every loss and all parameters in the end. */
struct trained {
    float loss[STEPS];
    float *value; /* n_value of them */
    size_t n_value;
};

struct way {
    struct nn_backend_config config;
    enum nn_execution execution;
    bool cpu;
    bool waits; /* for each step's loss */
};

static const struct nn_layer_spec mlp[] = {
    {.type = NN_LAYER_FLATTEN},
    {.type = NN_LAYER_LINEAR, .out = 37, .bias = true},
    {.type = NN_LAYER_BATCH_NORM, .eps = 1e-5, .momentum = 0.1},
    {.type = NN_LAYER_RELU},
    {.type = NN_LAYER_DROPOUT, .p = 0.25},
    {.type = NN_LAYER_LINEAR, .out = CLASSES, .bias = true},
};
static const struct nn_layer_spec cnn[] = {
    {.type = NN_LAYER_CONV2D,
     .out = 3,
     .bias = true,
     .kernel = 3,
     .padding = 1},
    {.type = NN_LAYER_RELU},
    {.type = NN_LAYER_MAX_POOL2D, .kernel = 2},
    {.type = NN_LAYER_FLATTEN},
    {.type = NN_LAYER_LAYER_NORM, .eps = 1e-5},
    {.type = NN_LAYER_LINEAR, .out = CLASSES, .bias = true},
};

static void make_problem(struct problem *p)
{
    struct rng_mt g;

    memset(p, 0, sizeof *p);
    rng_mt_seed(&g, 11);
    for (int i = 0; i < N; i++) {
        p->label[i] = i % CLASSES;
        for (int k = 0; k < IN; k++)
            p->x[i][k] = (uint8_t)(rng_mt_uniform(&g, 0, 128) +
                                   (float)(k % CLASSES == i % CLASSES) * 99);
    }
    for (int e = 0; e < EPOCHS; e++)
        for (int i = 0; i < N; i++)
            p->order[e][i] = (i * 37 + e * 101) % N;
    p->data = (struct nn_data){.n = N,
                               .sample = nn_shape2(SIDE, SIDE),
                               .dtype = NN_U8,
                               .x = p->x,
                               .divide = 255,
                               .label = p->label,
                               .classes = CLASSES};
}

static void collect(struct nn_trainer *t, float *loss, int *at)
{
    struct nn_step_result r[NN_RESULTS];
    struct err err = {0};
    int n;

    if (nn_trainer_collect(t, r, &n, &err) != 0)
        fail_msg("%s", err.msg);
    for (int i = 0; i < n; i++)
        loss[(*at)++] = r[i].loss;
}

static void train(struct nn_trainer *t, const struct problem *p, bool waits,
                  float loss[STEPS])
{
    struct err err = {0};
    int at = 0;

    for (int e = 0; e < EPOCHS; e++) {
        for (int64_t first = 0; first < N; first += BATCH) {
            int64_t n = N - first < BATCH ? N - first : BATCH;

            if (nn_trainer_launch(t, p->order[e], first, n, 0.01 / (e + 1),
                                  &err) != 0)
                fail_msg("%s", err.msg);
            if (waits)
                collect(t, loss, &at);
        }
        collect(t, loss, &at);
    }
    assert_int_equal(at, STEPS);
}

static void read_model(const struct nn_model *m, struct trained *out)
{
    float *at;

    out->n_value = 0;
    for (int i = 0; i < m->params.n; i++)
        out->n_value += (size_t)nn_tensor_numel(m->params.t[i]);
    at = out->value = mem_array(out->n_value, sizeof *at);
    assert_non_null(at);
    for (int i = 0; i < m->params.n; i++) {
        assert_int_equal(nn_tensor_get(m->params.t[i], at, NULL), 0);
        at += nn_tensor_numel(m->params.t[i]);
    }
}

static struct trained run(const struct problem *p,
                          const struct nn_layer_spec *layer, size_t n_layer,
                          enum nn_optim_type optim, struct way way)
{
    struct nn_trainer_opts opts = {
        .loss = {.type = NN_LOSS_CROSS_ENTROPY},
        .optim = {.type = optim,
                  .momentum = optim == NN_OPTIM_SGD ? 0.9 : 0,
                  .beta1 = 0.9,
                  .beta2 = 0.999,
                  .eps = 1e-8},
        .microbatches = 1,
        .fusion = NN_FUSION_ALL,
        .execution = way.execution,
        .dropout_seed = 3};
    struct trained out = {.value = NULL};
    struct nn_backend *be;
    struct nn_model *model = NULL;
    struct nn_trainer *t = NULL;
    struct err err = {0};
    struct rng_mt g;

    rng_mt_seed(&g, 5);
    if ((way.cpu ? nn_cpu_open(&be, 1, NULL, &err)
                 : device_open_as(&be, 2, &way.config, &err)) != 0 ||
        nn_model_new(&model, be,
                     &(struct nn_model_spec){layer, n_layer, p->data.sample},
                     &g, NULL, &err) != 0 ||
        nn_trainer_new(&t, model, &p->data, &opts, &err) != 0)
        fail_msg("%s", err.msg);
    train(t, p, way.waits, out.loss);
    read_model(model, &out);
    nn_trainer_free(t);
    nn_model_free(model);
    nn_backend_close(be);
    return out;
}

static void same(struct trained a, struct trained b)
{
    for (int i = 0; i < STEPS; i++)
        if (memcmp(&a.loss[i], &b.loss[i], sizeof *a.loss) != 0)
            fail_msg("loss of step %d is %a, not %a", i, (double)b.loss[i],
                     (double)a.loss[i]);
    assert_int_equal(a.n_value, b.n_value);
    assert_memory_equal(a.value, b.value, a.n_value * sizeof *a.value);
    mem_free(b.value);
}

#define MODELS(x) (x), sizeof(x) / sizeof *(x)

static const struct way on_cpu = {.cpu = true, .waits = true};

/* Every way in strict numerics, against the CPU. */
static void check_strict(const struct nn_layer_spec *layer, size_t n,
                         enum nn_optim_type optim)
{
    struct problem p;
    struct trained want;

    make_problem(&p);
    want = run(&p, layer, n, optim, on_cpu);
    for (int data = NN_DATA_DEVICE; data <= NN_DATA_PAGEABLE; data++)
        for (int waits = 0; waits < 2; waits++) {
            struct way w = {
                .config = {NN_NUMERICS_STRICT, (enum nn_data_path)data, true},
                .execution = NN_EXEC_RECORDED,
                .waits = waits != 0};

            same(want, run(&p, layer, n, optim, w));
            w.execution = NN_EXEC_EAGER;
            same(want, run(&p, layer, n, optim, w));
        }
    mem_free(want.value);
}

static void strict_training_is_the_cpus_in_every_way(void **state)
{
    (void)state;
    check_strict(MODELS(mlp), NN_OPTIM_ADAM);
    check_strict(MODELS(cnn), NN_OPTIM_SGD);
    assert_int_equal(mem_live(), 0);
}

static void fast_training_is_the_same_in_every_way(void **state)
{
    struct problem p;
    struct way w = {.config = {NN_NUMERICS_FAST, NN_DATA_DEVICE, true},
                    .execution = NN_EXEC_EAGER};
    struct trained eager;

    (void)state;
    make_problem(&p);
    eager = run(&p, MODELS(mlp), NN_OPTIM_ADAM, w);
    w.execution = NN_EXEC_RECORDED;
    for (int data = NN_DATA_DEVICE; data <= NN_DATA_PAGEABLE; data++) {
        w.config.data = (enum nn_data_path)data;
        same(eager, run(&p, MODELS(mlp), NN_OPTIM_ADAM, w));
    }
    mem_free(eager.value);
    assert_int_equal(mem_live(), 0);
}

/* x (ROWS, 1) times w (1, 1) and a bias. */
static void a_product_may_have_millions_of_rows(void **state)
{
    enum { ROWS = 64 * 65536 + 3 };
    struct nn_call c = {.op = NN_OP_LINEAR, .n_in = 3, .n_out = 1, .layer = ""};
    const struct nn_shape shape[] = {nn_shape2(ROWS, 1), nn_shape2(1, 1),
                                     nn_shape1(1), nn_shape2(ROWS, 1)};
    const float w = 3.0f, b = 0.5f;
    float *x = mem_array(ROWS, sizeof *x);
    struct nn_backend *be;

    (void)state;
    assert_non_null(x);
    assert_int_equal(device_open(&be, 2, NULL), 0);
    for (int i = 0; i < ROWS; i++)
        x[i] = (float)i;
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            nn_tensor_new(i < 3 ? &c.in[i] : &c.out[0], be, &shape[i], NN_F32,
                          i == 1 ? NN_WEIGHT : NN_ROWS, NN_CAT_TEMPORARY, NULL),
            0);
    assert_int_equal(nn_tensor_set(c.in[0], x, NULL), 0);
    assert_int_equal(nn_tensor_set(c.in[1], &w, NULL), 0);
    assert_int_equal(nn_tensor_set(c.in[2], &b, NULL), 0);
    assert_int_equal(nn_backend_run(be, &c, NULL), 0);
    assert_int_equal(nn_tensor_get(c.out[0], x, NULL), 0);
    for (int i = 0; i < ROWS; i++)
        assert_true(x[i] == fmaf((float)i, w, b));
    for (int i = 0; i < 3; i++)
        nn_tensor_free(c.in[i]);
    nn_tensor_free(c.out[0]);
    nn_backend_close(be);
    mem_free(x);
    assert_int_equal(mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_training_is_the_cpus_in_every_way),
        cmocka_unit_test(fast_training_is_the_same_in_every_way),
        cmocka_unit_test(a_product_may_have_millions_of_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
