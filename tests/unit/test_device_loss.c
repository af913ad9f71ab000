/* The loss of a recorded step and its gradient, which a device may do together:
 * the bits of the CPU, whatever stands around them (TEST_DEVICE=cuda; the CPU
 * stands in for it otherwise). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/rng.h"
#include "nn/train.h"
#include "tests/unit/device_fixture.h"

enum { IN = 5, MOST_CLASSES = 70, MOST = 130, STEPS = 4, ALL = STEPS * MOST };

struct problem {
    float x[ALL][IN];
    int32_t label[ALL];
    struct nn_data data;
};

/* What may matter to the loss of a batch. */
struct shape {
    int64_t batch, classes, microbatches;
    double smoothing;
};

static const struct shape shapes[] = {
    {1, 2, 1, 0},   {7, 3, 1, 0},      {32, 10, 1, 0.1}, {63, 16, 1, 0},
    {64, 10, 1, 0}, {65, 10, 1, 0},    {64, 40, 1, 0.2}, {130, 70, 1, 0},
    {32, 10, 3, 0}, {130, 33, 2, 0.1}, {5, 1, 1, 0},
};

static void make_problem(struct problem *p, int64_t classes)
{
    struct rng_mt g;

    memset(p, 0, sizeof *p);
    rng_mt_seed(&g, 7);
    for (int i = 0; i < ALL; i++) {
        p->label[i] = (int32_t)((i * 29) % classes);
        for (int k = 0; k < IN; k++)
            p->x[i][k] = (float)rng_mt_uniform(&g, -2, 2);
    }
    p->data = (struct nn_data){.n = ALL,
                               .sample = nn_shape1(IN),
                               .dtype = NN_F32,
                               .x = p->x,
                               .label = p->label,
                               .classes = (int32_t)classes};
}

/* A linear layer, its trainer and the backend they are on. */
struct training {
    struct nn_backend *be;
    struct nn_model *model;
    struct nn_trainer *t;
};

static void begin(struct training *r, const struct problem *p,
                  const struct shape *s, bool cpu)
{
    const struct nn_layer_spec layer = {
        .type = NN_LAYER_LINEAR, .out = s->classes, .bias = true};
    const struct nn_backend_config config = {NN_NUMERICS_STRICT, NN_DATA_DEVICE,
                                             true};
    struct nn_trainer_opts opts = {.loss = {.type = NN_LOSS_CROSS_ENTROPY,
                                            .label_smoothing = s->smoothing},
                                   .optim = {.type = NN_OPTIM_SGD},
                                   .microbatches = s->microbatches,
                                   .fusion = NN_FUSION_ALL,
                                   .execution =
                                       cpu ? NN_EXEC_EAGER : NN_EXEC_RECORDED};
    struct err err = {0};
    struct rng_mt g;

    memset(r, 0, sizeof *r);
    rng_mt_seed(&g, 5);
    if ((cpu ? nn_cpu_open(&r->be, 1, NULL, &err)
             : device_open_as(&r->be, 1, &config, &err)) != 0 ||
        nn_model_new(&r->model, r->be,
                     &(struct nn_model_spec){&layer, 1, p->data.sample}, &g,
                     NULL, &err) != 0 ||
        nn_trainer_new(&r->t, r->model, &p->data, &opts, &err) != 0)
        fail_msg("%s", err.msg);
}

static void end(struct training *r)
{
    nn_trainer_free(r->t);
    nn_model_free(r->model);
    nn_backend_close(r->be);
}

/* Losses of STEPS steps, then the weights. */
static void run(float out[STEPS + MOST_CLASSES * IN], const struct problem *p,
                const struct shape *s, bool cpu)
{
    struct training r;
    struct err err = {0};

    begin(&r, p, s, cpu);
    for (int i = 0; i < STEPS; i++)
        if (nn_trainer_step(r.t, NULL, i * s->batch, s->batch, 0.1, &out[i],
                            &err) != 0)
            fail_msg("%s", err.msg);
    assert_int_equal(nn_tensor_get(r.model->params.t[0], out + STEPS, NULL), 0);
    end(&r);
}

static void a_replayed_loss_has_the_cpus_bits(void **state)
{
    static struct problem p;

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *s = &shapes[i];
        float want[STEPS + MOST_CLASSES * IN] = {0};
        float got[STEPS + MOST_CLASSES * IN] = {0};

        make_problem(&p, s->classes);
        run(want, &p, s, true);
        run(got, &p, s, false);
        for (int k = 0; k < STEPS + MOST_CLASSES * IN; k++)
            if (memcmp(&got[k], &want[k], sizeof *got) != 0)
                fail_msg("shape %zu, number %d: %a, not %a", i, k,
                         (double)got[k], (double)want[k]);
    }
    assert_int_equal(mem_live(), 0);
}

/* The error of the last of three steps, whose batch has a bad label. */
static struct err bad_label(const struct problem *p, bool cpu)
{
    const struct shape s = {16, 5, 1, 0};
    struct training r;
    struct err err = {0};
    float loss;

    begin(&r, p, &s, cpu);
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            nn_trainer_step(r.t, NULL, i * s.batch, s.batch, 0.1, &loss, &err),
            i < 2 ? 0 : ERR_CORRUPT);
    end(&r);
    return err;
}

static void a_replayed_step_tells_of_a_label_that_is_no_class(void **state)
{
    static struct problem p;

    (void)state;
    for (int32_t label = -1; label <= 5; label += 6) {
        make_problem(&p, 5);
        p.label[2 * 16 + 11] = label;
        assert_string_equal(bad_label(&p, false).msg, bad_label(&p, true).msg);
        assert_non_null(strstr(bad_label(&p, true).msg, "of row 11"));
    }
    assert_int_equal(mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_replayed_loss_has_the_cpus_bits),
        cmocka_unit_test(a_replayed_step_tells_of_a_label_that_is_no_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
