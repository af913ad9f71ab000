/* Training steps whose calls stand in every order against PyTorch
 * (tests/golden/step-order.json). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "nn/train.h"
#include "tests/unit/order_fixture.h"

static struct nn_train_order order_of(const json_t *list)
{
    struct nn_train_order o = {.n = (int)json_array_size(list)};
    int i, p;

    for (i = 0; i < o.n; i++)
        for (p = 0; p < NN_PART_COUNT; p++)
            if (strcmp(json_string_value(json_array_get(list, (size_t)i)),
                       nn_part_name((enum nn_part)p)) == 0)
                o.part[i] = (enum nn_part)p;
    return o;
}

/* The first step finds no gradients and passes, as in PyTorch. */
static void check_raises(struct fixture *f, double lr)
{
    float loss;

    (void)step(f, lr);
    assert_int_equal(
        nn_trainer_step(f->trainer, NULL, 0, N, lr, &loss, &f->err),
        ERR_CONFIG);
    assert_non_null(strstr(f->err.msg, "between forward and backward"));
}

static void check_run(const json_t *run, enum nn_execution execution)
{
    const json_t *losses = json_object_get(run, "losses");
    const char *name = json_string_value(json_object_get(run, "optimizer"));
    double lr = json_real_value(json_object_get(run, "lr"));
    bool linear =
        strcmp(json_string_value(json_object_get(run, "model")), "linear") == 0;
    struct nn_trainer_opts opts = {.optim = optimizer(name),
                                   .execution = execution};
    struct fixture f;
    size_t i;

    opts.order = order_of(json_object_get(run, "order"));
    open_trainer(&f, linear, opts);
    if (!losses)
        check_raises(&f, lr);
    for (i = 0; i < json_array_size(losses); i++) {
        double want = json_real_value(json_array_get(losses, i));
        float got = step(&f, lr);

        if (fabs((double)got - want) > 1e-5)
            fail_msg("%s: loss %zu is %.9g, not %.9g", name, i, (double)got,
                     want);
    }
    close_trainer(&f);
}

static void every_order_follows_pytorch(void **state)
{
    json_t *all = json_load_file("tests/golden/step-order.json", 0, NULL);
    const json_t *runs = json_object_get(all, "runs");
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(runs), 312);
    for (i = 0; i < json_array_size(runs); i++) {
        check_run(json_array_get(runs, i), NN_EXEC_RECORDED);
        check_run(json_array_get(runs, i), NN_EXEC_EAGER);
    }
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_follows_pytorch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
