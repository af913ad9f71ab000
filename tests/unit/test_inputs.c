#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/config.h"
#include "pipeline/inputs.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"

/* A stage kind with a table of its own. */
struct with {
    int64_t epochs;
    double lr;
    const char *title;
    const char *dataset;
};
static const struct pl_field fields[] = {
    {.name = "epochs",
     .type = PL_T_INT,
     .offset = offsetof(struct with, epochs),
     .def = "5"},
    {.name = "lr",
     .type = PL_T_NUMBER,
     .offset = offsetof(struct with, lr),
     .def = "0.1"},
    {.name = "title",
     .type = PL_T_STRING,
     .offset = offsetof(struct with, title)},
    {.name = "dataset",
     .type = PL_T_DATASET,
     .offset = offsetof(struct with, dataset)},
};
static const struct pl_schema schema = {
    .name = "test",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .size = sizeof(struct with),
};
static const struct pl_stage_kind kind = {
    .name = "test", .with = &schema, .version = 3};

static struct arena arena;

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return mem_live() == 0 ? 0 : -1;
}

static struct pl_inputs collect(struct with *w, const struct pl_config *c)
{
    const struct pl_stage s = {.id = "s", .kind = &kind, .with = w};
    struct pl_inputs in = {.arena = &arena};
    struct err err = {0};

    assert_int_equal(pl_inputs_collect(&in, c, &s, &err), 0);
    return in;
}

static void assert_reason(const struct pl_inputs *was,
                          const struct pl_inputs *now, const char *want)
{
    struct str s = {0};

    str_add(&s, "");
    pl_inputs_reason(&s, was, now);
    assert_string_equal(s.text, want);
    str_free(&s);
}

static void all_changes_are_told_where_there_are_several(void **state)
{
    static const struct pl_config none;
    struct with a = {5, 0.1, "x", NULL}, b = {10, 0.1, "x", NULL};
    struct with c = {10, 0.2, "y", NULL};
    struct pl_inputs was = collect(&a, &none), one = collect(&b, &none);
    struct pl_inputs three = collect(&c, &none);

    (void)state;
    assert_string_equal(pl_inputs_changes(&was, &was), "");
    assert_string_equal(pl_inputs_changes(&was, &one), "");
    assert_string_equal(pl_inputs_changes(&was, &three),
                        "with.epochs 5 -> 10\nwith.lr 0.1 -> 0.2\n"
                        "with.title x -> y");
}

static void values_stand_under_their_keys(void **state)
{
    static const struct pl_config none;
    struct with w = {5, 0.01, "a: {b}, 'c'", NULL};
    struct pl_inputs in = collect(&w, &none);

    (void)state;
    assert_string_equal(pl_inputs_get(&in, "kind"), "test");
    assert_string_equal(pl_inputs_get(&in, "version"), "3");
    assert_string_equal(pl_inputs_get(&in, "with.epochs"), "5");
    assert_string_equal(pl_inputs_get(&in, "with.lr"), "0.01");
    assert_string_equal(pl_inputs_get(&in, "with.title"), "a: {b}, 'c'");
    assert_null(pl_inputs_get(&in, "with"));
}

static void changed_value_is_the_reason(void **state)
{
    static const struct pl_config none;
    struct with a = {5, 0.1, "x", NULL}, b = {10, 0.1, "x", NULL};
    struct pl_inputs was = collect(&a, &none), now = collect(&b, &none);

    (void)state;
    assert_reason(&was, &now, "with.epochs 5 -> 10");
    b.lr = 0.2;
    b.title = NULL;
    now = collect(&b, &none);
    assert_reason(&was, &now, "with.epochs 5 -> 10, and 2 more");
    assert_reason(&was, &was, "");
}

static void long_values_are_cut_between_characters(void **state)
{
    struct pl_inputs was = {.arena = &arena}, now = {.arena = &arena};
    char text[64] = {0};
    size_t i;

    (void)state;
    memset(text, 'x', 39);
    for (i = 39; i < 51; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    pl_inputs_add(&was, "k", "");
    pl_inputs_add(&now, "k", text);
    assert_reason(&was, &now,
                  "k '' -> xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...");
}

static void changed_needs_are_named_by_their_stage(void **state)
{
    struct pl_inputs was = {.arena = &arena}, now = {.arena = &arena};

    (void)state;
    pl_inputs_add(&was, "needs.fetch-mnist", "aaa");
    pl_inputs_add(&now, "needs.fetch-mnist", "bbb");
    assert_reason(&was, &now, "input from fetch-mnist changed");
}

static void hash_tells_keys_from_values(void **state)
{
    struct pl_inputs a = {.arena = &arena}, b = {.arena = &arena};
    struct err err = {0};
    char x[65], y[65];

    (void)state;
    pl_inputs_add(&a, "k", "1\nl 1\n2");
    pl_inputs_add(&b, "k", "1");
    pl_inputs_add(&b, "l", "2");
    assert_int_equal(pl_inputs_hash(x, &a, &err), 0);
    assert_int_equal(pl_inputs_hash(y, &b, &err), 0);
    assert_string_not_equal(x, y);
}

/* A data set of one file; its mirror counts only while nothing fixes what the
 * file holds. */
static void mirrors_count_only_without_a_hash(void **state)
{
    struct pl_data_file file = {.role = "train", .path = "a.csv"};
    struct pl_node scalar = {.kind = PL_SCALAR, .text = "data", .len = 4};
    struct pl_pair pair = {.key = "mirrors", .value = &scalar};
    const struct pl_node node = {.kind = PL_MAP, .pairs = &pair, .n = 1};
    const char *mirror = "/tmp/here/data";
    struct pl_dataset ds = {.name = "d",
                            .node = &node,
                            .type = PL_DATA_CSV,
                            .mirrors = {&mirror, 1},
                            .files = {&file, 1}};
    const struct pl_config c = {.datasets = &ds, .n_datasets = 1};
    struct with w = {.dataset = "d"};
    struct pl_inputs in = collect(&w, &c);

    (void)state;
    assert_string_equal(pl_inputs_get(&in, "datasets.d.mirrors"), "data");
    file.sha256 =
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523"
        "609";
    in = collect(&w, &c);
    assert_null(pl_inputs_get(&in, "datasets.d.mirrors"));
    assert_null(pl_inputs_get(&in, "datasets.d.mirrors.0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_stand_under_their_keys),
        cmocka_unit_test(all_changes_are_told_where_there_are_several),
        cmocka_unit_test(changed_value_is_the_reason),
        cmocka_unit_test(long_values_are_cut_between_characters),
        cmocka_unit_test(changed_needs_are_named_by_their_stage),
        cmocka_unit_test(hash_tells_keys_from_values),
        cmocka_unit_test(mirrors_count_only_without_a_hash),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
