#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "pipeline/node_write.h"
#include "tests/unit/yaml_fixture.h"

/* What exact errors look like is in tests/bad/config. */

static struct pl_node *parse_from(struct fixture *f, const char *text,
                                  size_t from)
{
    f->file =
        (struct pl_file){.path = "a.yaml", .text = text, .len = strlen(text)};
    f->d.n = f->d.errors = 0;
    return pl_yaml_parse(&f->file, from, &f->arena, &f->d);
}

static struct pl_node *parse(struct fixture *f, const char *text)
{
    return parse_from(f, text, 0);
}

/* The flow text of what text parses to. */
static const char *flow(struct fixture *f, const char *text)
{
    struct pl_node *n = parse(f, text);

    assert_non_null(n);
    str_clear(&f->out);
    pl_write_flow(&f->out, n);
    return f->out.text;
}

static void nodes_know_where_they_stand(void **state)
{
    struct fixture *f = *state;
    struct pl_node *root = parse(f, "a: 1\nb:\n  - x\n  - {c: \"yz\"}\n");
    const struct pl_pair *b = pl_node_pair(root, "b");
    const struct pl_node *item = b->value->items[1];
    const struct pl_node *c = pl_node_get(item, "c");

    assert_int_equal(root->kind, PL_MAP);
    assert_int_equal(b->key_loc.line, 2);
    assert_int_equal(b->key_loc.col, 1);
    assert_int_equal(item->loc.line, 4);
    assert_int_equal(item->loc.col, 5);
    assert_int_equal(item->loc.len, 9);
    assert_int_equal(c->loc.col, 9);
    assert_int_equal(c->loc.len, 4);
    assert_true(c->quoted);
    assert_false(pl_node_get(root, "a")->quoted);
    assert_int_equal(root->weight, 6);
    assert_int_equal(root->depth, 3);
}

static void columns_count_characters_not_bytes(void **state)
{
    struct fixture *f = *state;
    struct pl_node *root = parse(f, "名前: 値\n");

    assert_int_equal(root->pairs[0].value->loc.col, 5);
    assert_int_equal(root->pairs[0].value->loc.len, 1);
}

static void a_value_behind_other_text_keeps_its_column(void **state)
{
    struct fixture *f = *state;
    struct pl_node *n = parse_from(f, "é.b={type: sgd}", 5);

    assert_non_null(n);
    assert_int_equal(n->loc.col, 5);
    assert_int_equal(pl_node_get(n, "type")->loc.col, 12);
}

static void words_are_texts_and_only_null_is_null(void **state)
{
    struct fixture *f = *state;
    struct pl_node *n = parse(
        f, "{on: yes, y: no, a: ~, b: null, c: , d: 'null', e: Null, f: 010}");
    static const struct {
        const char *key;
        enum pl_node_kind kind;
    } want[] = {{"on", PL_SCALAR}, {"y", PL_SCALAR}, {"a", PL_NULL},
                {"b", PL_NULL},    {"c", PL_NULL},   {"d", PL_SCALAR},
                {"e", PL_NULL},    {"f", PL_SCALAR}};
    size_t i;

    assert_non_null(n);
    for (i = 0; i < sizeof want / sizeof *want; i++)
        assert_int_equal(pl_node_get(n, want[i].key)->kind, want[i].kind);
}

static void aliases_share_what_they_name(void **state)
{
    struct fixture *f = *state;
    struct pl_node *n = parse(f, "a: &x {k: 1}\nb: *x\nc: &x 2\nd: *x\n");

    assert_ptr_equal(pl_node_get(n, "a"), pl_node_get(n, "b"));
    assert_string_equal(pl_node_get(n, "d")->text, "2");
}

static void merged_keys_give_way(void **state)
{
    struct fixture *f = *state;
    const char *base = "b: &b {x: 1, y: 2}\nc: &c {y: 3, z: 4}\n";
    static const struct {
        const char *map, *want;
    } row[] = {{"{<<: *b, x: 9}", "{y: 2, x: 9}"},
               {"{x: 9, <<: *b}", "{x: 9, y: 2}"},
               {"{<<: [*b, *c]}", "{x: 1, y: 2, z: 4}"},
               {"{<<: [*c, *b]}", "{y: 3, z: 4, x: 1}"},
               {"{\"<<\": *b}", "{\"<<\": {x: 1, y: 2}}"}};
    size_t i;

    for (i = 0; i < sizeof row / sizeof *row; i++) {
        char text[200];
        struct pl_node *n;

        (void)snprintf(text, sizeof text, "%sd: %s\n", base, row[i].map);
        n = parse(f, text);
        assert_non_null(n);
        str_clear(&f->out);
        pl_write_flow(&f->out, pl_node_get(n, "d"));
        assert_string_equal(f->out.text, row[i].want);
    }
}

static void a_large_map_finds_its_keys(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};
    struct pl_node *n;
    char key[24];
    int i;

    for (i = 0; i < 5000; i++)
        str_addf(&s, "k%d: %d\n", i, i);
    n = parse(f, s.text);
    assert_non_null(n);
    for (i = 0; i < 5000; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        assert_string_equal(pl_node_get(n, key)->text, key + 1);
    }
    assert_null(pl_node_get(n, "k5000"));
    str_free(&s);
}

static void crlf_tabs_and_comments_are_fine(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(flow(f, "a: 1\t# one\r\nb: |\r\n  x\r\n  y\r\n"),
                        "{a: 1, b: \"x\\ny\\n\"}");
    assert_string_equal(flow(f, "%YAML 1.2\n---\na: [1, 2, ]\n...\n"),
                        "{a: [1, 2]}");
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Errors out, in a moment. */
static void refused_soon(struct fixture *f, const char *text)
{
    double start = seconds();

    assert_null(parse(f, text));
    assert_true(f->d.errors > 0);
    assert_true(seconds() - start < 2.0); /* 0.1 without sanitizers */
}

static void hostile_files_are_refused_soon(void **state)
{
    static const char *const units[] = {"[", "{a: ", "- ", "? ", "a: &a [*a, "};
    struct fixture *f = *state;
    struct str s = {0};
    size_t i;
    int k;

    for (i = 0; i < sizeof units / sizeof *units; i++) {
        str_clear(&s);
        for (k = 0; k < 100000; k++)
            str_add(&s, units[i]);
        refused_soon(f, s.text);
    }
    str_clear(&s);
    for (k = 0; k < 1000000; k++)
        str_addf(&s, "k%d: 1\n", k);
    refused_soon(f, s.text);
    str_free(&s);
}

static void an_alias_bomb_is_refused(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};
    int i, k;

    str_add(&s, "a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (i = 1; i < 9; i++) {
        str_addf(&s, "%c: &%c [", 'a' + i, 'a' + i);
        for (k = 0; k < 9; k++)
            str_addf(&s, "%s*%c", k ? ", " : "", 'a' + i - 1);
        str_add(&s, "]\n");
    }
    refused_soon(f, s.text);
    str_free(&s);
}

static void sixty_four_levels_are_fine(void **state)
{
    struct fixture *f = *state;
    char text[160];

    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    assert_non_null(parse(f, text));
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    text[130] = '\0';
    assert_null(parse(f, text));
}

static void running_out_of_memory_is_told(void **state)
{
    struct fixture *f = *state;
    const char *text = "a: &x {k: 1, l: [2, 3]}\nb: {<<: *x, m: 4}\n";
    struct pl_node *n = NULL;
    long i;

    for (i = 1; i < 1000 && !n; i++) {
        arena_free(&f->arena);
        f->d.nomem = false;
        mem_fail_after(i);
        n = parse(f, text);
        mem_fail_after(0);
        assert_true(n || f->d.nomem);
    }
    assert_non_null(n);
    assert_true(i > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nodes_know_where_they_stand),
        TEST(columns_count_characters_not_bytes),
        TEST(a_value_behind_other_text_keeps_its_column),
        TEST(words_are_texts_and_only_null_is_null),
        TEST(aliases_share_what_they_name),
        TEST(merged_keys_give_way),
        TEST(a_large_map_finds_its_keys),
        TEST(crlf_tabs_and_comments_are_fine),
        TEST(hostile_files_are_refused_soon),
        TEST(an_alias_bomb_is_refused),
        TEST(sixty_four_levels_are_fine),
        TEST(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
