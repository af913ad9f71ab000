#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "pipeline/recipe.h"
#include "pipeline/schema.h"
#include "pipeline/stage.h"
#include "tests/unit/yaml_fixture.h"

enum colour { RED, GREEN };
static const char *const colours[] = {"red", "green", NULL};
static const char *const keys[] = {"a", "b", NULL};

struct point {
    const char *name;
    int type;
    double x;
    int64_t n;
    const struct pl_node *node;
};

#define AT(m) offsetof(struct point, m)
static const struct pl_field point_fields[] = {
    {.name = "type",
     .type = PL_T_ENUM,
     .offset = AT(type),
     .flags = PL_F_REQUIRED,
     .choices = colours},
    {.name = "x", .type = PL_T_NUMBER, .offset = AT(x), .def = "0.5"},
    {.name = "n",
     .type = PL_T_INT,
     .offset = AT(n),
     .def = "-1",
     .min = 0,
     .max = 9,
     .when = "green"},
};
#undef AT
static const struct pl_schema point_schema = {
    .name = "point",
    PL_FIELDS(point_fields),
    .size = sizeof(struct point),
    .short_key = "type",
    .name_offset = offsetof(struct point, name),
    .node_offset = offsetof(struct point, node),
    .has_node = true,
};

struct all {
    bool yes;
    int64_t bytes;
    double seconds;
    const char *text, *path, *place, *sha, *stage;
    struct point one, *two;
    struct pl_list words, points, named;
    const struct pl_node *raw;
};

#define AT(m) offsetof(struct all, m)
static const struct pl_field all_fields[] = {
    {.name = "yes", .type = PL_T_BOOL, .offset = AT(yes), .def = "true"},
    {.name = "bytes", .type = PL_T_SIZE, .offset = AT(bytes), .def = "1KiB"},
    {.name = "seconds",
     .type = PL_T_DURATION,
     .offset = AT(seconds),
     .def = "2m"},
    {.name = "text", .type = PL_T_STRING, .offset = AT(text)},
    {.name = "path", .type = PL_T_PATH, .offset = AT(path)},
    {.name = "place", .type = PL_T_PLACE, .offset = AT(place)},
    {.name = "sha", .type = PL_T_SHA256, .offset = AT(sha)},
    {.name = "stage", .type = PL_T_STAGE, .offset = AT(stage)},
    {.name = "one",
     .type = PL_T_STRUCT,
     .offset = AT(one),
     .sub = &point_schema,
     .def = "red"},
    {.name = "two",
     .type = PL_T_STRUCT,
     .offset = AT(two),
     .flags = PL_F_POINTER,
     .sub = &point_schema},
    {.name = "words",
     .type = PL_T_LIST,
     .offset = AT(words),
     .flags = PL_F_ONE,
     .elem = PL_T_STRING,
     .def = "a b"},
    {.name = "points",
     .type = PL_T_LIST,
     .offset = AT(points),
     .elem = PL_T_STRUCT,
     .sub = &point_schema},
    {.name = "named",
     .type = PL_T_NAMED,
     .offset = AT(named),
     .choices = keys,
     .sub = &point_schema},
    {.name = "raw", .type = PL_T_NODE, .offset = AT(raw)},
};
#undef AT
static const struct pl_schema all_schema = {
    .name = "all",
    PL_FIELDS(all_fields),
    .size = sizeof(struct all),
};

static size_t read_all(struct fixture *f, struct all *out, const char *text)
{
    const struct pl_node *n;

    f->file = (struct pl_file){
        .path = "dir/a.yaml", .text = text, .len = strlen(text), .dir = "dir"};
    n = pl_yaml_parse(&f->file, 0, &f->arena, &f->d);
    assert_non_null(n);
    return pl_schema_read(&all_schema, out, n, "all", NULL, &f->arena, &f->d);
}

static void what_is_missing_has_its_default(void **state)
{
    struct fixture *f = *state;
    struct all a;

    assert_int_equal(read_all(f, &a, "{}"), 0);
    assert_true(a.yes);
    assert_int_equal(a.bytes, 1024);
    assert_true(a.seconds == 120);
    assert_null(a.text);
    assert_int_equal(a.one.type, RED);
    assert_true(a.one.x == 0.5);
    assert_int_equal(a.one.n, -1);
    assert_null(a.two);
    assert_int_equal(a.words.n, 2);
    assert_string_equal(((const char *const *)a.words.items)[1], "b");
    assert_int_equal(a.points.n, 0);
}

static void every_type_is_read(void **state)
{
    struct fixture *f = *state;
    const struct point *p;
    struct all a;

    assert_int_equal(
        read_all(f, &a,
                 "{yes: false, bytes: 2MiB, seconds: 1.5h, text: no, path: x/y,"
                 " place: https://h/x, one: {type: green, n: 3, x: 1e-3},"
                 " two: green, words: bare, points: [red, {type: green}],"
                 " named: {b: green, a: {type: red, x: 2}}, raw: [1],"
                 " stage: s, sha: AB345678901234567890123456789012"
                 "345678901234567890123456789012cd}"),
        0);
    assert_false(a.yes);
    assert_int_equal(a.bytes, 2 << 20);
    assert_true(a.seconds == 5400);
    assert_string_equal(a.text, "no");
    assert_string_equal(a.path, "dir/x/y");
    assert_string_equal(a.place, "https://h/x");
    assert_int_equal(a.one.n, 3);
    assert_true(a.one.x == 1e-3);
    assert_non_null(a.one.node);
    assert_int_equal(a.two->type, GREEN);
    assert_int_equal(a.words.n, 1);
    p = a.points.items;
    assert_int_equal(p[1].type, GREEN);
    p = a.named.items;
    assert_string_equal(p[0].name, "b");
    assert_string_equal(p[1].name, "a");
    assert_int_equal(a.raw->kind, PL_SEQ);
    assert_memory_equal(a.sha, "ab34", 4);
    assert_string_equal(a.stage, "s");
}

static void equal_content_has_equal_text(void **state)
{
    static const char *const same[] = {
        "{one: {type: green, n: 3}, words: [a, b], bytes: 1024}",
        "{bytes: 1KiB, one: {n: +3, x: .5, type: green}, yes: true}"};
    struct fixture *f = *state;
    struct all a;
    size_t i;

    for (i = 0; i < 2; i++) {
        assert_int_equal(read_all(f, &a, same[i]), 0);
        str_clear(&f->out);
        pl_schema_canonical(&all_schema, &a, &f->out);
        assert_string_equal(f->out.text,
                            "{yes: true, bytes: 1024, seconds: 120, one: "
                            "{type: green, x: 0.5, n: 3}, words: [\"a\", "
                            "\"b\"]}");
    }
}

static void the_text_leaves_out_what_is_not_given(void **state)
{
    struct fixture *f = *state;
    struct all a;

    assert_int_equal(
        read_all(f, &a, "{one: green, named: {a: red}, raw: {k: 'v w'}}"), 0);
    pl_schema_canonical(&all_schema, &a, &f->out);
    assert_non_null(strstr(f->out.text, "one: {type: green, x: 0.5}"));
    assert_non_null(strstr(f->out.text, "named: {a: {type: red, x: 0.5}}"));
    assert_non_null(strstr(f->out.text, "raw: {k: \"v w\"}"));
}

static void mistakes_are_counted(void **state)
{
    struct fixture *f = *state;
    struct all a;

    assert_int_equal(read_all(f, &a,
                              "{yes: no, bytes: 1KB, one: {n: 10}, zwei: 1,"
                              " points: [{type: red, n: 1}], named: {c: red},"
                              " sha: 12}"),
                     8);
}

static void note(void *user, const char *value)
{
    str_addf(user, "%s;", value);
}

static void references_are_visited(void **state)
{
    struct fixture *f = *state;
    struct pl_train_with w = {.dataset = "mnist", .model = "mlp"};
    struct all a;

    pl_schema_visit(&pl_train_schema, &w, PL_T_DATASET, note, &f->out);
    pl_schema_visit(&pl_train_schema, &w, PL_T_MODEL, note, &f->out);
    assert_int_equal(read_all(f, &a, "{stage: s}"), 0);
    pl_schema_visit(&all_schema, &a, PL_T_STAGE, note, &f->out);
    assert_string_equal(f->out.text, "mnist;mlp;s;");
}

static void names_are_words(void **state)
{
    struct fixture *f = *state;
    struct pl_loc none = {NULL, 0, 0, 0};
    char lengthy[66];

    memset(lengthy, 'a', 65);
    lengthy[65] = '\0';
    assert_true(pl_name_check("a", "stage", none, &f->d));
    assert_true(pl_name_check("Q2_b-c", "stage", none, &f->d));
    assert_true(pl_name_check(lengthy + 1, "stage", none, &f->d));
    assert_false(pl_name_check(lengthy, "stage", none, &f->d));
    assert_false(pl_name_check("", "stage", none, &f->d));
    assert_false(pl_name_check("2a", "stage", none, &f->d));
    assert_false(pl_name_check("a/b", "stage", none, &f->d));
    assert_false(pl_name_check("a@b=1", "stage", none, &f->d));
}

/* A table's fields lie inside of its struct, do not overlap, and have what
 * their type needs. */
static void check_table(const struct pl_schema *s)
{
    size_t i, k;

    for (i = 0; i < s->n_fields; i++) {
        const struct pl_field *f = &s->fields[i];
        size_t size = f->flags & PL_F_POINTER ? sizeof(void *)
                                              : pl_type_size(f->type, f->sub);

        assert_true(f->offset + size <= s->size);
        assert_non_null(f->help);
        if (f->flags & PL_F_REQUIRED)
            assert_non_null(f->example);
        if (f->type == PL_T_ENUM)
            assert_non_null(f->choices);
        assert_true(f->own + sizeof(char *) <= s->size);
        for (k = 0; k < i; k++) {
            assert_string_not_equal(f->name, s->fields[k].name);
            assert_true(f->offset != s->fields[k].offset);
        }
        if (f->sub)
            check_table(f->sub);
    }
}

static void the_tables_of_all_kinds_are_sound(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; pl_stage_kinds[i]; i++)
        check_table(pl_stage_kinds[i]->with);
    check_table(&pl_dataset_schema);
    check_table(&pl_model_schema);
    check_table(&pl_operator_schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_missing_has_its_default),
        TEST(every_type_is_read),
        TEST(equal_content_has_equal_text),
        TEST(the_text_leaves_out_what_is_not_given),
        TEST(mistakes_are_counted),
        TEST(references_are_visited),
        TEST(names_are_words),
        cmocka_unit_test(the_tables_of_all_kinds_are_sound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
