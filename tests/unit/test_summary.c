#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "nn/backend.h"
#include "nn/base/mem.h"
#include "nn/custom.h"
#include "pipeline/summary.h"
#include "tests/unit/device_fixture.h"

static const char *const all[] = {"sgd", "sgd_momentum", "adam", "adamw"};
static struct nn_backend *be;

static int open_backend(void **state)
{
    struct err err = {0};

    (void)state;
    return device_open(&be, 1, &err);
}

static int close_backend(void **state)
{
    (void)state;
    nn_backend_close(be);
    return 0;
}

static struct nn_layer_spec linear(int64_t out, bool bias)
{
    return (struct nn_layer_spec){
        .type = NN_LAYER_LINEAR, .out = out, .bias = bias};
}

static struct nn_layer_spec plain(enum nn_layer_type type)
{
    return (struct nn_layer_spec){.type = type};
}

static struct nn_model *build(const struct nn_layer_spec *spec, size_t n)
{
    const struct nn_shape sample = nn_shape2(28, 28);
    struct nn_model *m = NULL;
    struct err err = {0};

    assert_int_equal(nn_model_new(&m, be,
                                  &(struct nn_model_spec){spec, n, sample},
                                  NULL, NULL, &err),
                     0);
    return m;
}

/* The recipe's network with h hidden units. */
static struct nn_model *mlp(int64_t h)
{
    const struct nn_layer_spec spec[] = {linear(h, true), plain(NN_LAYER_RELU),
                                         linear(10, true)};

    return build(spec, 3);
}

static struct pl_summary summary_of(const struct nn_model *m)
{
    return (struct pl_summary){.model = m,
                               .name = "mlp",
                               .dataset = "mnist",
                               .batch = 128,
                               .optimizers = all,
                               .n_optimizers = 4};
}

static void expect_text(const struct nn_model *m, bool markdown,
                        const char *want)
{
    const struct pl_summary s = summary_of(m);
    struct err err = {0};
    struct str out = {0};

    assert_int_equal(pl_summary_write(&out, &s, markdown, &err), 0);
    assert_string_equal(out.text, want);
    str_free(&out);
}

static void one_hidden_layer_is_worked_out_in_full(void **state)
{
    struct nn_model *m = mlp(64);

    (void)state;
    expect_text(m, false,
                "Model mlp on mnist\n"
                "layer  type    input          output     parameters\n"
                "0      linear  (128, 28, 28)  (128, 64)      50,240\n"
                "1      relu    (128, 64)      (128, 64)           0\n"
                "2      linear  (128, 64)      (128, 10)         650\n"
                "\n"
                "Working\n"
                "  0.weight: 64 × 784 = 50,176\n"
                "  0.bias: 64\n"
                "  2.weight: 10 × 64 = 640\n"
                "  2.bias: 10\n"
                "  sum: 50,176 + 64 + 640 + 10 = 50,890 parameters\n"
                "  formula for h hidden units: (784 + 1 + 10)·h + 10 = 795·h + "
                "10; h = 64: 50,890\n"
                "  ✔ counted over the tensors of the built model: 50,890\n"
                "  memory: 50,890 × 4 bytes (float32) = 203,560 bytes = 198.79 "
                "KiB (÷ 1024) = 203.56 kB (÷ 1000)\n"
                "\n"
                "Memory of training\n"
                "what                   how                                    "
                "bytes     KiB\n"
                "parameters             50,890 × 4                           "
                "203,560  198.79\n"
                "gradients              50,890 × 4                           "
                "203,560  198.79\n"
                "state of sgd           keeps none                             "
                "    0    0.00\n"
                "state of sgd_momentum  momentum_buffer: 50,890 × 4          "
                "203,560  198.79\n"
                "state of adam          exp_avg, exp_avg_sq: 2 × 50,890 × 4  "
                "407,120  397.58\n"
                "state of adamw         exp_avg, exp_avg_sq: 2 × 50,890 × 4  "
                "407,120  397.58\n"
                "outputs, batch of 128  128 × 138 × 4                         "
                "70,656   69.00\n"
                "Outputs are those of each layer, for one batch. Adam and "
                "AdamW also keep one step counter.\n");
    nn_model_free(m);
}

static void markdown_has_headings_lists_and_tables(void **state)
{
    struct nn_model *m = mlp(64);
    const struct pl_summary s = summary_of(m);
    struct err err = {0};
    struct str out = {0};

    (void)state;
    assert_int_equal(pl_summary_write(&out, &s, true, &err), 0);
    assert_non_null(strstr(
        out.text,
        "# Model `mlp` on `mnist`\n\n"
        "| layer | type   | input         | output    | parameters |\n"
        "|-------|--------|---------------|-----------|-----------:|\n"
        "| 0     | linear | (128, 28, 28) | (128, 64) |     50,240 |\n"));
    assert_non_null(strstr(out.text, "\n## Working\n\n- 0.weight: 64 × 784"));
    str_free(&out);
    nn_model_free(m);
}

static void formula_holds_for_every_width(void **state)
{
    int64_t h;

    (void)state;
    for (h = 1; h < 40; h += 7) {
        struct nn_model *m = mlp(h);

        assert_int_equal(pl_summary_parameters(m), 795 * h + 10);
        assert_int_equal(nn_model_count(m), 795 * h + 10);
        nn_model_free(m);
    }
}

static void two_hidden_layers_have_no_formula(void **state)
{
    const struct nn_layer_spec spec[] = {linear(64, true), plain(NN_LAYER_TANH),
                                         linear(32, true), plain(NN_LAYER_RELU),
                                         linear(10, true)};
    struct nn_model *m = build(spec, 5);
    const struct pl_summary s = summary_of(m);
    struct err err = {0};
    struct str out = {0};

    (void)state;
    assert_int_equal(pl_summary_write(&out, &s, false, &err), 0);
    assert_null(strstr(out.text, "formula"));
    /* 64 * 784 + 64 + 32 * 64 + 32 + 10 * 32 + 10 */
    assert_non_null(
        strstr(out.text, "sum: 50,176 + 64 + 2,048 + 32 + 320 + 10 = 52,650"));
    str_free(&out);
    nn_model_free(m);
}

static void missing_biases_are_not_counted(void **state)
{
    const struct nn_layer_spec spec[] = {
        plain(NN_LAYER_FLATTEN), linear(64, false), plain(NN_LAYER_GELU),
        linear(10, false)};
    struct nn_model *m = build(spec, 4);
    const struct pl_summary s = summary_of(m);
    struct err err = {0};
    struct str out = {0};

    (void)state;
    assert_int_equal(pl_summary_write(&out, &s, false, &err), 0);
    assert_null(strstr(out.text, "bias"));
    assert_non_null(strstr(out.text, "(784 + 10)·h = 794·h; h = 64: 50,816\n"));
    /* A flattened input is a view: it takes no memory of its own. */
    assert_non_null(strstr(out.text, "128 × 138 × 4"));
    str_free(&out);
    nn_model_free(m);
}

static int rows_of_ten(const struct nn_own_layer *l, const struct nn_shape *in,
                       int n_in, struct nn_shape *y, struct err *err)
{
    (void)l;
    (void)n_in;
    (void)err;
    *y = nn_shape2(in[0].dim[0], 10);
    return 0;
}

static void own_layer_is_counted_by_its_parameters(void **state)
{
    static const struct nn_own_param params[] = {
        {"W", 2, {NN_DIM_OUT, NN_DIM_IN}, NN_INIT_UNIFORM},
        {"b", 1, {NN_DIM_OUT}, NN_INIT_ZEROS}};
    const struct nn_custom c = {.name = "my_linear", .n_in = 3};
    const struct nn_own_layer own = {&c, params, 2, true, rows_of_ten};
    const struct nn_layer_spec spec = {
        .type = NN_LAYER_OWN, .own = &own, .out = 10};
    struct nn_model *m = build(&spec, 1);
    const struct pl_summary s = summary_of(m);
    struct err err = {0};
    struct str out = {0};

    (void)state;
    assert_int_equal(pl_summary_write(&out, &s, false, &err), 0);
    assert_non_null(strstr(out.text, "0.W: 10 × 784 = 7,840\n"));
    assert_non_null(strstr(out.text, "0.b: 10\n"));
    assert_non_null(strstr(out.text, "sum: 7,840 + 10 = 7,850 parameters\n"));
    str_free(&out);
    pl_summary_csv(&out, &s);
    assert_non_null(strstr(out.text, "0,my_linear,"));
    assert_non_null(strstr(out.text, ",7840,10,7850\n"));
    str_free(&out);
    nn_model_free(m);
}

static void csv_has_a_row_a_layer(void **state)
{
    struct nn_model *m = mlp(64);
    const struct pl_summary s = summary_of(m);
    struct str out = {0};

    (void)state;
    pl_summary_csv(&out, &s);
    assert_string_equal(out.text,
                        "layer,type,input,output,weights,biases,parameters\n"
                        "0,linear,\"(28, 28)\",\"(64,)\",50176,64,50240\n"
                        "1,relu,\"(64,)\",\"(64,)\",0,0,0\n"
                        "2,linear,\"(64,)\",\"(10,)\",640,10,650\n");
    str_free(&out);
    nn_model_free(m);
}

static void state_bytes_follow_the_optimizer(void **state)
{
    (void)state;
    assert_int_equal(pl_summary_state_bytes("sgd", 50890), 0);
    assert_int_equal(pl_summary_state_bytes("sgd_momentum", 50890), 203560);
    assert_int_equal(pl_summary_state_bytes("adam", 50890), 407120);
    assert_int_equal(pl_summary_state_bytes("adamw", 50890), 407120);
    assert_int_equal(pl_summary_state_bytes("lion", 50890), -1);
}

static void unknown_optimizer_is_an_error(void **state)
{
    static const char *const names[] = {"lion"};
    struct nn_model *m = mlp(4);
    struct pl_summary s = summary_of(m);
    struct err err = {0};
    struct str out = {0};

    (void)state;
    s.optimizers = names;
    s.n_optimizers = 1;
    assert_int_equal(pl_summary_write(&out, &s, false, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "'lion' is no optimizer: sgd, sgd_momentum, "
                                 "adam and adamw are");
    str_free(&out);
    nn_model_free(m);
}

static void model_that_was_built_otherwise_is_an_error(void **state)
{
    struct nn_model *m = mlp(4);
    const struct pl_summary s = summary_of(m);
    struct err err = {0};
    struct str out = {0};

    (void)state;
    m->layer[2].out = nn_shape1(11);
    assert_int_equal(pl_summary_write(&out, &s, false, &err), ERR_CORRUPT);
    m->layer[2].out = nn_shape1(10);
    str_free(&out);
    nn_model_free(m);
}

static void every_failed_allocation_is_survived(void **state)
{
    struct nn_model *m = mlp(64);
    const struct pl_summary s = summary_of(m);
    long live = mem_live(), n;
    int rc = ERR_NOMEM;

    (void)state;
    for (n = 1; rc != 0; n++) {
        struct err err = {0};
        struct str out = {0};

        mem_fail_after(n);
        rc = pl_summary_write(&out, &s, true, &err);
        mem_fail_after(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        str_free(&out);
        assert_int_equal(mem_live(), live);
        assert_true(n < 1000);
    }
    assert_true(n > 5);
    nn_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_hidden_layer_is_worked_out_in_full),
        cmocka_unit_test(markdown_has_headings_lists_and_tables),
        cmocka_unit_test(formula_holds_for_every_width),
        cmocka_unit_test(two_hidden_layers_have_no_formula),
        cmocka_unit_test(missing_biases_are_not_counted),
        cmocka_unit_test(own_layer_is_counted_by_its_parameters),
        cmocka_unit_test(csv_has_a_row_a_layer),
        cmocka_unit_test(state_bytes_follow_the_optimizer),
        cmocka_unit_test(unknown_optimizer_is_an_error),
        cmocka_unit_test(model_that_was_built_otherwise_is_an_error),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, open_backend, close_backend);
}
