#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/config_fixture.h"

static void the_command_line_wins(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml", base);
    must_load(f, "a.yaml",
              (const char *const[]){"lr=0.01", "stages.train.with.epochs=3",
                                    "optim_method=sgd_momentum", NULL});
    assert_true(train(f)->lr == 0.01);
    assert_int_equal(train(f)->epochs, 3);
    assert_int_equal(train(f)->optimizer.type, PL_OPT_SGD_MOMENTUM);
    assert_string_equal(f->c->recipe,
                        "lr=0.01 epochs=5 optim_method=sgd_momentum");
}

static void the_command_line_takes_maps_lists_and_indices(void **state)
{
    struct fixture *f = *state;
    const struct pl_layer *l;

    write_file(f, "a.yaml", base);
    must_load(f, "a.yaml",
              (const char *const[]){
                  "stages.train.with.optimizer={type: sgd, momentum: 0.5}",
                  "stages.train.with.checkpoint.every_n_epochs=2",
                  "models.mlp.layers.0.out=16", "models.mlp.layers.1=tanh",
                  NULL});
    l = pl_config_model(f->c, "mlp")->layers.items;
    assert_int_equal(train(f)->optimizer.type, PL_OPT_SGD);
    assert_true(train(f)->optimizer.momentum == 0.5);
    assert_int_equal(train(f)->checkpoint.every_n_epochs, 2);
    assert_int_equal(l[0].out, 16);
    assert_int_equal(l[1].type, NN_LAYER_TANH);
}

static void a_setting_joins_the_short_form(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml", base);
    must_load(f, "a.yaml",
              (const char *const[]){"stages.train.with.optimizer.beta1=0.8",
                                    "defaults.optimizer.eps=1e-6", NULL});
    assert_int_equal(train(f)->optimizer.type, PL_OPT_ADAM);
    assert_true(train(f)->optimizer.beta1 == 0.8);
    assert_true(train(f)->optimizer.eps == 1e-6);
}

static void a_tilde_removes_own_and_inherited_keys(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml", base);
    must_load(
        f, "a.yaml",
        (const char *const[]){"stages.train.with.lr=5", "~stages.train.with.lr",
                              "defaults.optimizer={type: sgd, momentum: 0.8}",
                              "~stages.train.with.optimizer.momentum", NULL});
    assert_true(train(f)->lr == 1e-3);
    assert_int_equal(train(f)->optimizer.type, PL_OPT_SGD);
    assert_true(train(f)->optimizer.momentum == -1);
}

static void a_value_on_the_command_line_is_taken_by_the_letter(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml", base);
    must_load(f, "a.yaml",
              (const char *const[]){
                  "stages.train.expect=[{metric: train.loss, lt: 1, why: x}]",
                  "stages.train.expect.0.why=a # b: {c} = 'd'", NULL});
    assert_string_equal(pl_config_stage(f->c, "train")->expect[0].why,
                        "a # b: {c} = 'd'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_command_line_wins),
        TEST(the_command_line_takes_maps_lists_and_indices),
        TEST(a_setting_joins_the_short_form),
        TEST(a_tilde_removes_own_and_inherited_keys),
        TEST(a_value_on_the_command_line_is_taken_by_the_letter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
