#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/diag.h"
#include "pipeline/utf8.h"

struct fixture {
    struct arena arena;
    struct pl_diag d;
    struct str out;
};

static int setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);

    if (!f)
        return -1;
    f->d.arena = &f->arena;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    arena_free(&f->arena);
    str_free(&f->out);
    mem_free(f);
    return mem_live() == 0 ? 0 : -1;
}

static struct pl_file file_of(const char *text)
{
    return (struct pl_file){
        .path = "a.yaml", .text = text, .len = strlen(text)};
}

static const char *printed(struct fixture *f)
{
    pl_diag_print(&f->d, &f->out, false);
    assert_false(f->out.failed);
    return f->out.text ? f->out.text : "";
}

static void an_error_shows_its_line_and_a_help(void **state)
{
    struct fixture *f = *state;
    struct pl_file file = file_of("a: 1\n  batchsize: 128\n");

    pl_diag_error(&f->d, (struct pl_loc){&file, 2, 3, 9}, "unknown key '%s'",
                  "batchsize");
    pl_diag_help(&f->d, "did you mean '%s'?", "batch_size");
    assert_string_equal(printed(f),
                        "a.yaml:2:3: error: unknown key 'batchsize'\n"
                        "    2 |   batchsize: 128\n"
                        "      |   ^~~~~~~~~\n"
                        "      = help: did you mean 'batch_size'?\n"
                        "1 error; nothing was run\n");
}

static void the_caret_stands_right_behind_wide_characters(void **state)
{
    struct fixture *f = *state;
    /* two wide characters, one with an accent put on, a tab */
    struct pl_file file = file_of("名前: e\xcc\x81\t値x");

    pl_diag_error(&f->d, (struct pl_loc){&file, 1, 8, 2}, "wrong");
    assert_string_equal(printed(f), "a.yaml:1:8: error: wrong\n"
                                    "    1 | 名前: e\xcc\x81→値x\n"
                                    "      |         ^~~\n"
                                    "1 error; nothing was run\n");
}

static void what_cannot_be_shown_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct pl_file file = file_of("a\x1b[31m\xff"
                                  "b");

    pl_diag_error(&f->d, (struct pl_loc){&file, 1, 2, 1}, "bad \x1b[0m text");
    assert_string_equal(printed(f),
                        "a.yaml:1:2: error: bad \xef\xbf\xbd[0m text\n"
                        "    1 | a\xef\xbf\xbd[31m\xef\xbf\xbd"
                        "b\n"
                        "      |  ^\n"
                        "1 error; nothing was run\n");
}

static void a_long_line_is_cut_around_the_place(void **state)
{
    struct fixture *f = *state;
    char text[2001];
    struct pl_file file;
    const char *line;

    memset(text, 'x', 2000);
    text[2000] = '\0';
    text[999] = 'Y';
    file = file_of(text);
    pl_diag_error(&f->d, (struct pl_loc){&file, 1, 1000, 1}, "here");
    line = strchr(printed(f), '\n') + 1;
    assert_true(strcspn(line, "\n") < 140);
    assert_int_equal(strcspn(line, "Y"), strcspn(strchr(line, '\n') + 1, "^"));
}

static void a_place_behind_the_last_line_is_shown(void **state)
{
    struct fixture *f = *state;
    struct pl_file file = file_of("a: [\n");

    pl_diag_error(&f->d, (struct pl_loc){&file, 2, 1, 1}, "not closed");
    assert_string_equal(printed(f), "a.yaml:2:1: error: not closed\n"
                                    "    2 | \n"
                                    "      | ^\n"
                                    "1 error; nothing was run\n");
}

static void errors_come_in_the_order_of_the_file(void **state)
{
    struct fixture *f = *state;
    struct pl_file a = file_of("1\n2\n3\n"), b = file_of("1\n");
    const char *text;

    b.path = "b.yaml";
    pl_diag_error(&f->d, (struct pl_loc){&a, 3, 1, 1}, "third");
    pl_diag_error(&f->d, (struct pl_loc){&b, 1, 1, 1}, "other");
    pl_diag_error(&f->d, (struct pl_loc){&a, 1, 2, 1}, "second");
    pl_diag_error(&f->d, (struct pl_loc){&a, 1, 1, 1}, "first");
    text = printed(f);
    assert_true(strstr(text, "first") < strstr(text, "second"));
    assert_true(strstr(text, "second") < strstr(text, "third"));
    assert_true(strstr(text, "third") < strstr(text, "other"));
    assert_non_null(strstr(text, "4 errors; nothing was run\n"));
}

static void only_the_first_twenty_are_kept(void **state)
{
    struct fixture *f = *state;
    struct pl_file a = file_of("1\n");
    int i;

    for (i = 0; i < 25; i++)
        pl_diag_error(&f->d, (struct pl_loc){&a, 1, 1, 1}, "number %d", i);
    pl_diag_help(&f->d, "for nobody");
    assert_int_equal(f->d.n, PL_DIAG_MAX);
    assert_int_equal(f->d.errors, 25);
    assert_null(strstr(printed(f), "nobody"));
    assert_non_null(strstr(
        f->out.text, "25 errors (the first 20 are shown); nothing was run\n"));
}

static void the_same_error_counts_once(void **state)
{
    struct fixture *f = *state;
    struct pl_file a = file_of("1\n");

    pl_diag_error(&f->d, (struct pl_loc){&a, 1, 1, 1}, "same");
    pl_diag_error(&f->d, (struct pl_loc){&a, 1, 1, 1}, "same");
    pl_diag_help(&f->d, "once more");
    assert_int_equal(f->d.errors, 1);
    assert_null(f->d.item[0].help);
}

static void an_error_may_have_no_place(void **state)
{
    struct fixture *f = *state;

    pl_diag_error(&f->d, (struct pl_loc){NULL, 0, 0, 0}, "built in");
    assert_string_equal(printed(f),
                        "error: built in\n1 error; nothing was run\n");
}

static void the_nearest_word_is_found(void **state)
{
    static const char *const names[] = {"batch_size", "epochs", "lr", "seed"};

    (void)state;
    assert_string_equal(pl_nearest("batchsize", names, 4), "batch_size");
    assert_string_equal(pl_nearest("eopchs", names, 4), "epochs");
    assert_string_equal(pl_nearest("lrr", names, 4), "lr");
    assert_string_equal(pl_nearest("bath_sizes", names, 4), "batch_size");
    assert_null(pl_nearest("optimizer", names, 4));
    assert_null(pl_nearest("x", names, 4));
    assert_null(pl_nearest("", names, 4));
}

static void suggestions_list_what_there_is(void **state)
{
    static const char *const names[] = {"epochs", "lr"};
    struct fixture *f = *state;
    struct pl_file a = file_of("1\n");

    pl_diag_error(&f->d, (struct pl_loc){&a, 1, 1, 1}, "one");
    pl_diag_suggest(&f->d, "optimizer", names, 2);
    assert_string_equal(f->d.item[0].help, "there are: epochs, lr");
    pl_diag_error(&f->d, (struct pl_loc){&a, 1, 2, 1}, "two");
    pl_diag_suggest(&f->d, "epoch", names, 2);
    assert_string_equal(f->d.item[1].help, "did you mean 'epochs'?");
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc3",
                                      "\xe0\x80\x80",
                                      "\xed\xa0\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80\x80"};
    uint32_t cp;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(utf8_decode(bad[i], strlen(bad[i]), &cp), 0);
    assert_int_equal(utf8_decode("\xf0\x9f\x98\x80", 4, &cp), 4);
    assert_int_equal(cp, 0x1f600);
    assert_int_equal(utf8_width(cp), 2);
    assert_int_equal(utf8_width(0x301), 0);
    assert_int_equal(utf8_width('a'), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_error_shows_its_line_and_a_help),
        TEST(the_caret_stands_right_behind_wide_characters),
        TEST(what_cannot_be_shown_is_replaced),
        TEST(a_long_line_is_cut_around_the_place),
        TEST(a_place_behind_the_last_line_is_shown),
        TEST(errors_come_in_the_order_of_the_file),
        TEST(only_the_first_twenty_are_kept),
        TEST(the_same_error_counts_once),
        TEST(an_error_may_have_no_place),
        cmocka_unit_test(the_nearest_word_is_found),
        TEST(suggestions_list_what_there_is),
        cmocka_unit_test(bytes_that_are_not_utf8_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
