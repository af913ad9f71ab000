#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "nn/data.h"

static char folder[200], path[256];

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/test_data_csv.XXXXXX",
                   tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(path, sizeof path, "%s/data.csv", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

static int try_open(struct nn_data **out, const char *text,
                    const struct nn_csv_opts *opts, struct err *err)
{
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
    return nn_data_open_csv(out, path, opts, err);
}

static struct nn_data *open_text(const char *text,
                                 const struct nn_csv_opts *opts)
{
    struct nn_data *d;
    struct err err = {0};

    if (try_open(&d, text, opts, &err) != 0)
        fail_msg("%s", err.msg);
    return d;
}

/* The message of opening text, behind the path. */
static void check_error(const char *text, const struct nn_csv_opts *opts,
                        int code, const char *msg)
{
    struct nn_data *d = (struct nn_data *)&d;
    struct err err = {0};

    assert_int_equal(try_open(&d, text, opts, &err), code);
    assert_null(d);
    assert_int_equal(strncmp(err.msg, path, strlen(path)), 0);
    assert_string_equal(err.msg + strlen(path), msg);
}

static const struct nn_csv_opts classify = {.target = "y", .classes = 3};
static const struct nn_csv_opts regress = {.target = "y"};

static void columns_become_features_and_labels(void **state)
{
    struct nn_data *d = open_text("x1,y,x2\n1,0,2.5\n-3e-1,2,.5\n", &classify);
    static const float x[] = {1.0f, 2.5f, -0.3f, 0.5f};

    (void)state;
    assert_int_equal(d->n, 2);
    assert_int_equal(d->sample.ndim, 1);
    assert_int_equal(d->sample.dim[0], 2);
    assert_int_equal(d->dtype, NN_F32);
    assert_memory_equal(d->x, x, sizeof x);
    assert_true(d->divide == 1.0f);
    assert_int_equal(d->label[0], 0);
    assert_int_equal(d->label[1], 2);
    assert_null(d->target);
    assert_int_equal(d->classes, 3);
    assert_int_equal(d->target_width, 0);
    nn_data_free(d);
}

static void without_classes_the_target_is_a_number(void **state)
{
    struct nn_data *d = open_text("x,y\n1,0.1\n2,-7\n", &regress);

    (void)state;
    assert_null(d->label);
    assert_true(d->target[0] == 0.1f && d->target[1] == -7.0f);
    assert_int_equal(d->target_width, 1);
    assert_int_equal(d->classes, 0);
    nn_data_free(d);
}

static void features_come_in_the_order_asked_for(void **state)
{
    static const char *const names[] = {"c", "a"};
    const struct nn_csv_opts opts = {
        .target = "y", .features = names, .n_features = 2};
    struct nn_data *d = open_text("id,a,b,c,y\nrow 1,1,,3,4\n", &opts);
    const float *x = d->x;

    (void)state;
    assert_int_equal(d->sample.dim[0], 2);
    assert_true(x[0] == 3.0f && x[1] == 1.0f);
    nn_data_free(d);
}

static void blanks_quotes_crlf_and_a_byte_order_mark_do_not_matter(void **state)
{
    struct nn_data *d = open_text("\xef\xbb\xbf\" x, \"\"1\"\" \" ,\ty \r\n"
                                  " \"1.5\"\t, 1 \r\n2,2.0\r\n\r\n  \n",
                                  &classify);
    static const char *const names[] = {"x, \"1\""};
    const struct nn_csv_opts by_name = {
        .target = "y", .features = names, .n_features = 1, .classes = 3};
    const float *x = d->x;

    (void)state;
    assert_int_equal(d->n, 2);
    assert_true(x[0] == 1.5f && x[1] == 2.0f);
    assert_int_equal(d->label[0], 1);
    assert_int_equal(d->label[1], 2);
    nn_data_free(d);
    assert_int_equal(nn_data_open_csv(&d, path, &by_name, NULL), 0);
    nn_data_free(d);
}

static void the_last_line_need_not_end(void **state)
{
    struct nn_data *d = open_text("x,y\n1,2\n3,\"4\"", &regress);

    (void)state;
    assert_int_equal(d->n, 2);
    assert_true(d->target[1] == 4.0f);
    nn_data_free(d);
}

static void a_newline_in_quotes_counts_as_a_line_but_not_as_a_row(void **state)
{
    static const char *const names[] = {"x"};
    const struct nn_csv_opts opts = {
        .target = "y", .features = names, .n_features = 1};
    struct nn_data *d = open_text("x,note,y\n1,\"a\n\nb\",2\n3,c,4\n", &opts);

    (void)state;
    assert_int_equal(d->n, 2);
    nn_data_free(d);
    check_error("x,note,y\n1,\"a\n\nb\",2\n3,c,d\n", &opts, ERR_CORRUPT,
                ":5: column 'y': 'd' is not a finite number");
}

static void a_number_is_read_as_a_double_and_rounded_once(void **state)
{
    struct nn_data *d =
        open_text("x,y\n0.1,16777217.0000001\n1e-60,3.4028234e38\n", &regress);
    const float *x = d->x;

    (void)state;
    assert_true(x[0] == 0.1f && x[1] == 0.0f);
    assert_true(d->target[0] == (float)16777217.0000001);
    assert_true(d->target[1] == 3.4028234e38f);
    nn_data_free(d);
}

static void unknown_and_repeated_columns_are_errors(void **state)
{
    static const char *const twice[] = {"a", "a"};
    static const char *const unknown[] = {"a", "q"};
    static const char *const target[] = {"a", "y"};
    struct nn_csv_opts opts = {.target = "y", .n_features = 2};
    const char *text = "a,b,y\n1,2,3\n";

    (void)state;
    opts.features = twice;
    check_error(text, &opts, ERR_CONFIG,
                ":1: column 'a' is listed twice as a feature");
    opts.features = unknown;
    check_error(text, &opts, ERR_CONFIG,
                ":1: no column is named 'q', the header has 'a', 'b', 'y'");
    opts.features = target;
    check_error(text, &opts, ERR_CONFIG,
                ":1: column 'y' is the target and cannot be a feature");
    opts.n_features = 0;
    check_error(text, &opts, ERR_CONFIG,
                ":1: no feature is left beside the target 'y'");
    opts.target = "";
    check_error("a,,y\n1,2,3\n", &opts, ERR_CONFIG,
                ":1: no column is named '', the header has 'a', '', 'y'");
    opts.target = "z";
    check_error("a,b,c,d,e,f,g,h,i\n1,2,3,4,5,6,7,8,9\n", &opts, ERR_CONFIG,
                ":1: no column is named 'z', the header has 'a', 'b', 'c', "
                "'d', 'e', 'f', 'g', 'h', ...");
}

static void an_unnamed_column_may_stand_beside_listed_features(void **state)
{
    static const char *const names[] = {"x"};
    const struct nn_csv_opts opts = {
        .target = "y", .features = names, .n_features = 1};
    struct nn_data *d = open_text(",,x,y\n0,a,1,2\n1,b,3,4\n", &opts);

    (void)state;
    assert_int_equal(d->sample.dim[0], 1);
    nn_data_free(d);
}

static void classes_out_of_range_are_an_error(void **state)
{
    struct nn_csv_opts opts = {.target = "y", .classes = -1};
    struct nn_data *d;

    (void)state;
    assert_int_equal(try_open(&d, "x,y\n1,2\n", &opts, NULL), ERR_CONFIG);
    opts.classes = INT64_C(1) << 31;
    assert_int_equal(try_open(&d, "x,y\n1,2\n", &opts, NULL), ERR_CONFIG);
    assert_null(d);
}

/* A short file cannot ask for memory that its rows could never fill. */
static void many_columns_and_many_empty_lines_are_cheap(void **state)
{
    struct str s = {0};
    struct nn_data *d;
    int i;

    (void)state;
    for (i = 0; i < 100000; i++)
        str_addf(&s, "x%d,", i);
    str_add(&s, "y\n");
    for (i = 0; i < 1000000; i++)
        str_addc(&s, '\n');
    assert_false(s.failed);
    assert_int_equal(try_open(&d, s.text, &regress, NULL), ERR_CORRUPT);
    str_free(&s);
}

static void text_cut_anywhere_never_crashes(void **state)
{
    static const char good[] = "\xef\xbb\xbfx, \"z \"\"1\",y\r\n1,2,0\r\n"
                               "\"3\" ,\"4\",1\n5,-6e-7,2.0\n\n";
    long live = mem_live();
    size_t len, i;

    (void)state;
    for (len = 0; len < sizeof good; len++) {
        for (i = 0; i < len; i++) {
            char text[sizeof good];
            struct nn_data *d;

            memcpy(text, good, len);
            text[len] = '\0';
            if (i > 0)
                text[i] = "\",\n\r0\x80"[i % 6];
            if (try_open(&d, text, &classify, NULL) == 0)
                assert_in_range(d->n, 1, 3);
            else
                assert_null(d);
            nn_data_free(d);
        }
    }
    assert_int_equal(mem_live(), live);
}

static void every_failed_allocation_is_survived(void **state)
{
    struct nn_data *d;
    long live = mem_live(), n;
    int rc = ERR_NOMEM;

    (void)state;
    nn_data_free(open_text("\"x\",y\n1,\"0\"\n", &classify));
    for (n = 1; rc != 0; n++) {
        struct err err = {0};

        mem_fail_after(n);
        rc = nn_data_open_csv(&d, path, &classify, &err);
        mem_fail_after(0);
        if (rc != 0) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_null(d);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_true(n > 5);
    nn_data_free(d);
    assert_int_equal(mem_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_become_features_and_labels),
        cmocka_unit_test(without_classes_the_target_is_a_number),
        cmocka_unit_test(features_come_in_the_order_asked_for),
        cmocka_unit_test(
            blanks_quotes_crlf_and_a_byte_order_mark_do_not_matter),
        cmocka_unit_test(the_last_line_need_not_end),
        cmocka_unit_test(a_newline_in_quotes_counts_as_a_line_but_not_as_a_row),
        cmocka_unit_test(a_number_is_read_as_a_double_and_rounded_once),
        cmocka_unit_test(unknown_and_repeated_columns_are_errors),
        cmocka_unit_test(an_unnamed_column_may_stand_beside_listed_features),
        cmocka_unit_test(classes_out_of_range_are_an_error),
        cmocka_unit_test(many_columns_and_many_empty_lines_are_cheap),
        cmocka_unit_test(text_cut_anywhere_never_crashes),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
