/* The page, the picture and torch's files of a memory timeline. With
 * MEMORY_PAGES=DIR it leaves pages there for a browser (tests/cli/memory_page
 * .bats): small.html of three optimizers, compared.html of the same with times,
 * large.html of 100,000 events in each of three runs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "nn/base/io.h"
#include "pipeline/json_file.h"
#include "pipeline/memory_timeline.h"
#include "tests/unit/memory_fixture.h"
#include "tests/unit/svg_fixture.h"

enum { B = 12, RUNS = 3 };

static const char hostile[] = "</script><b>\"&'\\ \xc3\xa9";
static const char *const labels[] = {"sgd", "sgd_momentum", "adam <&>"};

static const struct nn_optim_spec optims[] = {
    {.type = NN_OPTIM_SGD},
    {.type = NN_OPTIM_SGD, .momentum = 0.9},
    {.type = NN_OPTIM_ADAM, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8},
};

/* Times of calls that take longer and longer, as pairs of begin and end. */
static struct nn_step_memory *record_timed(const struct memory_fixture *f,
                                           struct nn_step_memory *untimed,
                                           int64_t begin)
{
    int n = untimed->n_step * untimed->n_call, i;
    int64_t *ns = mem_array(2 * (size_t)n, sizeof *ns);
    struct nn_step_memory *m;

    assert_non_null(ns);
    for (i = 0; i < n; i++) {
        ns[2 * i] = begin;
        begin += 3000 + 100 * i;
        ns[2 * i + 1] = begin;
    }
    m = memory_of(f, B, 0, untimed->n_step, ns);
    mem_free(ns);
    nn_step_memory_free(untimed);
    return m;
}

static struct nn_step_memory *record(int optim, int steps, bool timed)
{
    struct nn_trainer_opts o = {.optim = optims[optim], .microbatches = 1};
    struct memory_fixture f;
    struct nn_step_memory *m;

    o.loss.type = NN_LOSS_CROSS_ENTROPY;
    o.loss.pos_weight = 1.0;
    memory_open(&f, hostile, &o, 1, B);
    m = memory_of(&f, B, 0, steps, NULL);
    if (timed)
        m = record_timed(&f, m, 1000 * optim);
    memory_close(&f);
    return m;
}

struct fixture {
    struct pl_memory_run run[RUNS];
    struct pl_memory_runs runs;
};

static void open_timed(struct fixture *f, int steps, bool timed)
{
    int i;

    for (i = 0; i < RUNS; i++)
        f->run[i] = (struct pl_memory_run){labels[i], record(i, steps, timed),
                                           4096, 100};
    f->runs = (struct pl_memory_runs){"Memory of <three> & \"more\"", f->run,
                                      RUNS, false};
}

static void open_runs(struct fixture *f, int steps)
{
    open_timed(f, steps, false);
}

static void close_runs(struct fixture *f)
{
    size_t i;

    for (i = 0; i < RUNS; i++) {
        struct nn_step_memory *m = (struct nn_step_memory *)f->run[i].memory;

        nn_step_memory_free(m);
    }
    assert_int_equal(mem_live(), 0);
}

static void page_is_one_file_and_hostile_names_stay_text(void **unused)
{
    struct fixture f;
    struct str page = {0}, again = {0};
    const char *data, *end;
    json_error_t e;
    json_t *root, *names;

    (void)unused;
    open_runs(&f, 3);
    pl_memory_html(&f.runs, &page);
    pl_memory_html(&f.runs, &again);
    assert_string_equal(page.text, again.text);
    assert_int_equal(count(page.text, "://"), 0);
    assert_int_equal(count(page.text, " src="), 0);
    assert_int_equal(count(page.text, "<b>"), 0);
    assert_int_equal(count(page.text, "<three>"), 0);
    assert_int_equal(count(page.text, "</script>"), 2);
    data = strchr(strstr(page.text, "id=\"data\""), '>') + 1;
    end = strstr(data, "</script>");
    root = json_loadb(data, (size_t)(end - data), 0, &e);
    assert_non_null(root);
    names = json_object_get(json_array_get(json_object_get(root, "runs"), 0),
                            "tensors");
    assert_string_equal(
        json_string_value(json_array_get(json_array_get(names, 0), 0)),
        "</script><b>\"&'\\ \xc3\xa9.weight");
    json_decref(root);
    str_free(&page);
    str_free(&again);
    close_runs(&f);
}

static void picture_is_well_formed(void **unused)
{
    struct fixture f;
    struct str svg = {0};

    (void)unused;
    open_runs(&f, 5);
    pl_memory_svg(&f.runs, &svg);
    assert_false(svg.failed);
    expect_well_formed(svg.text);
    assert_int_equal(count(svg.text, "<polygon"), 7);
    assert_int_equal(count(svg.text, "class=\"line s1 d1\" points"), 1);
    /* P * 4: of sgd, momentum and adam in words, of sgd in the legend. */
    assert_int_equal(count(svg.text, "795.04 KiB"), 2 + 3 + 2 + 2);
    assert_int_equal(count(svg.text, ">step 4<"), 1);
    assert_int_equal(count(svg.text, "nan"), 0);
    str_free(&svg);
    close_runs(&f);
}

/* A picture of many events stays a picture. */
static void picture_of_many_events_is_small(void **unused)
{
    struct fixture f;
    struct str svg = {0};

    (void)unused;
    open_runs(&f, 2000);
    pl_memory_svg(&f.runs, &svg);
    expect_well_formed(svg.text);
    assert_true(svg.len < 1000000);
    str_free(&svg);
    close_runs(&f);
}

static json_t *parse(const struct str *s)
{
    json_error_t e;
    json_t *root = json_loadb(s->text, s->len, 0, &e);

    assert_non_null(root);
    return root;
}

static int64_t number(const json_t *row, size_t i)
{
    return json_integer_value(json_array_get(row, i));
}

static void json_has_times_and_nine_columns(void **unused)
{
    struct nn_step_memory *m = record(2, 3, false);
    struct str s = {0};
    json_t *root, *times, *sizes;
    int64_t last = -1;
    size_t i, k;

    (void)unused;
    pl_memory_json(m, &s);
    root = parse(&s);
    times = json_array_get(root, 0);
    sizes = json_array_get(root, 1);
    assert_true(json_array_size(times) > 20);
    assert_int_equal(json_array_size(times), json_array_size(sizes));
    for (i = 0; i < json_array_size(times); i++) {
        const json_t *row = json_array_get(sizes, i);

        assert_true(number(times, i) > last);
        last = number(times, i);
        assert_int_equal(json_array_size(row), 9);
        assert_int_equal(number(row, 0), 0);
        assert_int_equal(number(row, 1), 814120);
        for (k = 0; k < 9; k++)
            assert_true(number(row, k) >= 0);
    }
    assert_int_equal(number(json_array_get(sizes, i - 1), 2), 1628240);
    assert_int_equal(number(json_array_get(sizes, i - 1), 6), 814120);
    json_decref(root);
    str_free(&s);
    nn_step_memory_free(m);
}

/* Rows add up to what is live at the end. */
static void raw_json_has_actions_and_signed_bytes(void **unused)
{
    struct nn_step_memory *m = record(1, 2, false);
    struct nn_memory_sums sums;
    struct str s = {0};
    int64_t all = 0, seen[5] = {0};
    json_t *root;
    size_t i;

    (void)unused;
    pl_memory_raw_json(m, &s);
    root = parse(&s);
    for (i = 0; i < json_array_size(root); i++) {
        const json_t *row = json_array_get(root, i);

        assert_int_equal(json_array_size(row), 4);
        assert_in_range(number(row, 1), 1, 4);
        assert_in_range(number(row, 3), 0, 7);
        assert_int_equal(number(row, 0) == -1, number(row, 1) == 1);
        seen[number(row, 1)]++;
        all += number(row, 2);
    }
    nn_memory_sum_up(m, &sums);
    assert_int_equal(all, sums.last);
    assert_int_equal(seen[1], 4);     /* the parameters */
    assert_int_equal(seen[3] % 2, 0); /* out of one version, into the next */
    assert_true(seen[3] > 0 && seen[2] > seen[4]);
    json_decref(root);
    str_free(&s);
    nn_step_memory_free(m);
}

static void gzip_comes_back_and_is_the_same_each_time(void **unused)
{
    struct str text = {0}, a = {0}, b = {0};
    unsigned char out[60000];
    z_stream z;
    int i;

    (void)unused;
    for (i = 0; i < 5000; i++)
        str_addf(&text, "%d, ", i * i % 977);
    pl_gzip(&a, text.text, text.len);
    pl_gzip(&b, text.text, text.len);
    assert_false(a.failed);
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.text, b.text, a.len);
    memset(&z, 0, sizeof z);
    z.next_in = (unsigned char *)a.text;
    z.avail_in = (uInt)a.len;
    z.next_out = out;
    z.avail_out = sizeof out;
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, text.len);
    assert_memory_equal(out, text.text, text.len);
    (void)inflateEnd(&z);
    str_free(&text);
    str_free(&a);
    str_free(&b);
}

static void bytes_have_the_unit_that_fits(void **unused)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.00 KiB"},
                 {814120, "795.04 KiB"},
                 {1628240, "1.55 MiB"},
                 {(int64_t)3 << 40, "3.00 TiB"}};
    size_t i;

    (void)unused;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str s = {0};

        pl_memory_add_bytes(&s, cases[i].bytes);
        assert_string_equal(s.text, cases[i].text);
        str_free(&s);
    }
}

static void no_memory_is_remembered(void **unused)
{
    struct fixture f;
    long n;

    (void)unused;
    open_runs(&f, 1);
    for (n = 1; n < 40; n++) {
        struct str a = {0}, b = {0};
        bool failed;

        mem_fail_after(n);
        pl_memory_html(&f.runs, &a);
        failed = a.failed;
        pl_memory_svg(&f.runs, &b);
        mem_fail_after(0);
        assert_true(failed || n > 8);
        assert_true(b.failed || n > 8);
        str_free(&a);
        str_free(&b);
    }
    close_runs(&f);
}

static void leave_page(const char *dir, const char *name, int steps, bool timed)
{
    char *path = io_join(dir, name);
    struct fixture f;
    struct str page = {0};
    struct err err = {0};

    open_timed(&f, steps, timed);
    pl_memory_html(&f.runs, &page);
    assert_false(page.failed);
    if (steps > 100)
        assert_true(f.run[0].memory->n_event >= 100000);
    assert_int_equal(io_write_file(path, page.text, page.len, &err), 0);
    str_free(&page);
    mem_free(path);
    close_runs(&f);
}

static void pages_are_left_for_a_browser(void **unused)
{
    const char *dir = getenv("MEMORY_PAGES");

    (void)unused;
    if (!dir)
        skip();
    leave_page(dir, "small.html", 3, false);
    leave_page(dir, "compared.html", 3, true);
    leave_page(dir, "large.html", 4000, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(page_is_one_file_and_hostile_names_stay_text),
        cmocka_unit_test(picture_is_well_formed),
        cmocka_unit_test(picture_of_many_events_is_small),
        cmocka_unit_test(json_has_times_and_nine_columns),
        cmocka_unit_test(raw_json_has_actions_and_signed_bytes),
        cmocka_unit_test(gzip_comes_back_and_is_the_same_each_time),
        cmocka_unit_test(bytes_have_the_unit_that_fits),
        cmocka_unit_test(no_memory_is_remembered),
        cmocka_unit_test(pages_are_left_for_a_browser),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
