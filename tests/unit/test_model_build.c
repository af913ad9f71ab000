#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/model_build.h"
#include "pipeline/yaml.h"

static void layer_types_are_those_of_nn(void **state)
{
    const struct pl_field *layers = pl_schema_field(&pl_model_schema, "layers");
    const struct pl_field *type = pl_schema_field(layers->sub, "type");
    int t;

    (void)state;
    for (t = 0; t < NN_LAYER_OWN; t++)
        assert_string_equal(type->choices[t],
                            nn_layer_type_name((enum nn_layer_type)t));
    assert_null(type->choices[NN_LAYER_OWN]);
}

static void layers_are_handed_to_nn(void **state)
{
    static const char text[] =
        "layers: [{type: linear, out: 7, bias: false, name: first}, gelu,\n"
        "         {type: dropout, p: 0.25}, {type: linear, out: 2}]\n";
    struct pl_file file = {
        .path = "a.yaml", .text = text, .len = sizeof text - 1};
    struct arena arena = {0};
    struct pl_diag d = {.arena = &arena};
    struct nn_layer_spec *spec;
    struct pl_model m;
    size_t n;

    (void)state;
    assert_int_equal(pl_schema_read(&pl_model_schema, &m,
                                    pl_yaml_parse(&file, 0, &arena, &d),
                                    "models.m", NULL, &arena, &d),
                     0);
    pl_model_check(&m, &d);
    assert_int_equal(d.errors, 0);
    assert_int_equal(pl_model_layers(&spec, &n, &m, NULL), 0);
    assert_int_equal(n, 4);
    assert_int_equal(spec[0].type, NN_LAYER_LINEAR);
    assert_int_equal(spec[0].out, 7);
    assert_false(spec[0].bias);
    assert_string_equal(spec[0].name, "first");
    assert_int_equal(spec[1].type, NN_LAYER_GELU);
    assert_true(spec[2].p == 0.25);
    assert_true(spec[3].bias);
    assert_string_equal(spec[3].name, "");
    mem_free(spec);
    arena_free(&arena);
    assert_int_equal(mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_types_are_those_of_nn),
        cmocka_unit_test(layers_are_handed_to_nn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
