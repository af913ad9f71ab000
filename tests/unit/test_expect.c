#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/expect.h"

static const char curve[] = "step,loss,test,flat\n"
                            "1,0.5,,2\n2,0.25,0.9,2\n3,0.125,0.8,2\n";

static struct pl_metrics metrics, values;
static struct arena arena;
static char folder[64], curve_path[80];

static int set_up(void **state)
{
    (void)state;
    pl_metrics_set(&metrics, "test.accuracy", 0.97);
    pl_metrics_set(&metrics, "test.loss", 0.5);
    pl_metrics_set(&metrics, "manual.loss", 0.50001);
    pl_metrics_set(&metrics, "broken", NAN);
    pl_metrics_set(&values, "x.grad", 6);
    (void)snprintf(folder, sizeof folder, "/tmp/test_expect-XXXXXX");
    if (metrics.failed || values.failed || !mkdtemp(folder))
        return -1;
    (void)snprintf(curve_path, sizeof curve_path, "%s/curve.csv", folder);
    return io_write_file(curve_path, curve, strlen(curve), NULL);
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(curve_path);
    (void)rmdir(folder);
    pl_metrics_clear(&metrics);
    pl_metrics_clear(&values);
    arena_free(&arena);
    return mem_live() == 0 ? 0 : -1;
}

static struct pl_verdict assess(const struct pl_expect *e, const char *device)
{
    const struct pl_judged of = {.stage = "train",
                                 .dir = folder,
                                 .device = device,
                                 .metrics = &metrics,
                                 .values = &values};
    struct pl_verdict v;
    struct err err = {0};

    assert_int_equal(pl_expect_assess(&v, e, &of, &arena, &err), 0);
    return v;
}

static void relations_compare_as_they_are_named(void **state)
{
    static const struct {
        enum pl_relation relation;
        double bound;
        enum pl_outcome outcome;
    } cases[] = {
        {PL_REL_GT, 0.97, PL_FAILED},  {PL_REL_GT, 0.96, PL_PASSED},
        {PL_REL_GE, 0.97, PL_PASSED},  {PL_REL_GE, 0.971, PL_FAILED},
        {PL_REL_LT, 0.97, PL_FAILED},  {PL_REL_LT, 0.98, PL_PASSED},
        {PL_REL_LE, 0.97, PL_PASSED},  {PL_REL_LE, 0.96, PL_FAILED},
        {PL_REL_EQ, 0.97, PL_PASSED},  {PL_REL_EQ, 0.9700001, PL_FAILED},
        {PL_REL_EXISTS, 0, PL_PASSED},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pl_expect e = {.metric = "test.accuracy",
                                    .relation = cases[i].relation,
                                    .bound = cases[i].bound};

        assert_int_equal(assess(&e, "cpu").outcome, cases[i].outcome);
    }
}

static void close_uses_both_tolerances(void **state)
{
    struct pl_expect e = {
        .metric = "test.loss", .relation = PL_REL_CLOSE, .bound = 0.4};

    (void)state;
    assert_int_equal(assess(&e, "cpu").outcome, PL_FAILED);
    e.atol = 0.05;
    assert_int_equal(assess(&e, "cpu").outcome, PL_FAILED);
    e.rtol = 0.13;
    assert_int_equal(assess(&e, "cpu").outcome, PL_PASSED);
}

static void close_to_compares_two_metrics(void **state)
{
    struct pl_expect e = {.metric = "test.loss",
                          .other = "manual.loss",
                          .relation = PL_REL_CLOSE_TO,
                          .atol = 1e-4};
    struct pl_verdict v = assess(&e, "cpu");

    (void)state;
    assert_int_equal(v.outcome, PL_PASSED);
    assert_string_equal(v.measured, "0.5 and 0.50001");
    e.other = "manual.los";
    v = assess(&e, "cpu");
    assert_int_equal(v.outcome, PL_FAILED);
    assert_non_null(strstr(v.measured, "did you mean 'manual.loss'?"));
}

static void null_satisfies_nothing(void **state)
{
    static const enum pl_relation all[] = {
        PL_REL_GT, PL_REL_GE,    PL_REL_LT,    PL_REL_LE,
        PL_REL_EQ, PL_REL_CLOSE, PL_REL_EXISTS};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        const struct pl_expect e = {
            .metric = "broken", .relation = all[i], .atol = INFINITY};
        struct pl_verdict v = assess(&e, "cpu");

        assert_int_equal(v.outcome, PL_FAILED);
        assert_string_equal(v.measured, "null");
    }
}

static void missing_metric_names_the_near_one(void **state)
{
    const struct pl_expect e = {
        .metric = "test.acuracy", .relation = PL_REL_GT, .points = 20};
    struct pl_verdict v = assess(&e, "cpu");

    (void)state;
    assert_int_equal(v.outcome, PL_FAILED);
    assert_string_equal(v.measured, "there is no metric 'test.acuracy'; did "
                                    "you mean 'test.accuracy'?");
    assert_true(v.points == 0 && v.of == 20);
}

static void missing_metric_lists_what_there_is(void **state)
{
    const struct pl_expect e = {.metric = "zzz", .relation = PL_REL_GT};

    (void)state;
    assert_string_equal(assess(&e, "cpu").measured,
                        "there is no metric 'zzz'; there are: test.accuracy, "
                        "test.loss, manual.loss, broken");
}

static void other_device_is_not_assessed(void **state)
{
    const struct pl_expect e = {.metric = "test.loss",
                                .relation = PL_REL_LT,
                                .bound = 1,
                                .points = 10,
                                .requires_device = "cuda"};
    struct pl_verdict v = assess(&e, "cpu");

    (void)state;
    assert_int_equal(v.outcome, PL_NOT_ASSESSED);
    assert_string_equal(v.measured, "not assessed: no cuda");
    assert_int_equal(assess(&e, "cuda").outcome, PL_PASSED);
}

static void a_simulated_device_wins_and_loses_no_points(void **state)
{
    const struct pl_judged of = {.stage = "train",
                                 .dir = folder,
                                 .device = "cuda",
                                 .simulated = true,
                                 .metrics = &metrics};
    struct pl_expect e = {
        .metric = "test.loss", .relation = PL_REL_LT, .bound = 1, .points = 10};
    struct pl_verdict v;
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_expect_assess(&v, &e, &of, &arena, &err), 0);
    assert_int_equal(v.outcome, PL_NOT_ASSESSED);
    assert_string_equal(v.measured, "not assessed: the device is simulated");
    e.points = 0;
    assert_int_equal(pl_expect_assess(&v, &e, &of, &arena, &err), 0);
    assert_int_equal(v.outcome, PL_PASSED);
    e.requires_device = "cuda";
    assert_int_equal(pl_expect_assess(&v, &e, &of, &arena, &err), 0);
    assert_int_equal(v.outcome, PL_NOT_ASSESSED);
}

static void manual_is_left_to_a_person(void **state)
{
    const struct pl_expect e = {
        .manual = true, .text = "explain the curve", .points = 5};
    struct pl_verdict v = assess(&e, "cpu");

    (void)state;
    assert_int_equal(v.outcome, PL_BY_HAND);
    assert_string_equal(v.expectation, "explain the curve");
}

static void file_must_be_there(void **state)
{
    struct pl_expect e = {.file = "no-such-file", .relation = PL_REL_EXISTS};

    (void)state;
    assert_int_equal(assess(&e, "cpu").outcome, PL_FAILED);
    e.file = ".";
    assert_int_equal(assess(&e, "cpu").outcome, PL_PASSED);
    assert_string_equal(assess(&e, "cpu").expectation, ". exists");
}

static void a_column_counts_by_its_last_number(void **state)
{
    struct pl_expect e = {.file = "curve.csv",
                          .column = "loss",
                          .relation = PL_REL_LT,
                          .bound = 0.2};

    (void)state;
    assert_int_equal(assess(&e, "cpu").outcome, PL_PASSED);
    assert_string_equal(assess(&e, "cpu").measured, "0.125");
    assert_string_equal(assess(&e, "cpu").expectation,
                        "last loss of curve.csv < 0.2");
    e.column = "test";
    assert_int_equal(assess(&e, "cpu").outcome, PL_FAILED);
    assert_string_equal(assess(&e, "cpu").measured, "0.8");
    e.relation = PL_REL_CLOSE_TO;
    e.other = "test.accuracy";
    e.rtol = 0.5;
    assert_int_equal(assess(&e, "cpu").outcome, PL_PASSED);
    e.column = "lost";
    assert_int_equal(assess(&e, "cpu").outcome, PL_FAILED);
    assert_string_equal(assess(&e, "cpu").measured,
                        "curve.csv has no column 'lost'");
}

static void an_order_is_of_each_number_beside_the_next(void **state)
{
    static const struct {
        const char *column;
        enum pl_order order;
        enum pl_outcome outcome;
    } cases[] = {
        {"step", PL_INCREASING, PL_PASSED},
        {"step", PL_NOT_DECREASING, PL_PASSED},
        {"step", PL_DECREASING, PL_FAILED},
        {"loss", PL_DECREASING, PL_PASSED},
        {"loss", PL_NOT_INCREASING, PL_PASSED},
        {"loss", PL_INCREASING, PL_FAILED},
        {"test", PL_DECREASING, PL_PASSED},
        {"flat", PL_INCREASING, PL_FAILED},
        {"flat", PL_DECREASING, PL_FAILED},
        {"flat", PL_NOT_INCREASING, PL_PASSED},
        {"flat", PL_NOT_DECREASING, PL_PASSED},
    };
    struct pl_expect e = {.file = "curve.csv", .relation = PL_REL_ORDER};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        e.column = cases[i].column;
        e.order = cases[i].order;
        assert_int_equal(assess(&e, "cpu").outcome, cases[i].outcome);
    }
    e.column = "loss";
    e.order = PL_INCREASING;
    assert_string_equal(assess(&e, "cpu").measured,
                        "0.5 before 0.25 (numbers 1 and 2 of 3)");
    assert_string_equal(assess(&e, "cpu").expectation,
                        "loss of curve.csv is increasing");
}

static void a_value_is_no_metric(void **state)
{
    struct pl_expect e = {.value = "x.grad", .relation = PL_REL_EQ, .bound = 6};

    (void)state;
    assert_int_equal(assess(&e, "cpu").outcome, PL_PASSED);
    e.value = "test.loss";
    assert_int_equal(assess(&e, "cpu").outcome, PL_FAILED);
    assert_string_equal(assess(&e, "cpu").measured,
                        "there is no value 'test.loss'; there are: x.grad");
    e.value = "x.gard";
    assert_string_equal(assess(&e, "cpu").measured,
                        "there is no value 'x.gard'; did you mean 'x.grad'?");
}

static void stage_that_did_not_end_fails_its_expectations(void **state)
{
    const struct pl_expect e = {
        .metric = "test.loss", .relation = PL_REL_LT, .bound = 1};
    struct pl_judged of = {.stage = "train", .dir = "/tmp", .device = "cpu"};
    struct pl_verdict v;
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_expect_assess(&v, &e, &of, &arena, &err), 0);
    assert_int_equal(v.outcome, PL_FAILED);
    assert_string_equal(v.measured, "the stage did not end");
    of.became = "did not run (needs a, which failed)";
    assert_int_equal(pl_expect_assess(&v, &e, &of, &arena, &err), 0);
    assert_int_equal(v.outcome, PL_FAILED);
    assert_string_equal(v.measured, "did not run (needs a, which failed)");
}

static void expectation_is_shown_as_a_sentence(void **state)
{
    struct pl_expect e = {
        .metric = "test.accuracy", .relation = PL_REL_GT, .bound = 0.97};

    (void)state;
    assert_string_equal(assess(&e, "cpu").expectation, "test.accuracy > 0.97");
    e.relation = PL_REL_CLOSE;
    e.atol = 1e-8;
    e.rtol = 0.01;
    assert_string_equal(assess(&e, "cpu").expectation,
                        "test.accuracy close to 0.97 (atol 1.0e-08, rtol "
                        "0.01)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relations_compare_as_they_are_named),
        cmocka_unit_test(close_uses_both_tolerances),
        cmocka_unit_test(a_column_counts_by_its_last_number),
        cmocka_unit_test(an_order_is_of_each_number_beside_the_next),
        cmocka_unit_test(a_value_is_no_metric),
        cmocka_unit_test(close_to_compares_two_metrics),
        cmocka_unit_test(null_satisfies_nothing),
        cmocka_unit_test(missing_metric_names_the_near_one),
        cmocka_unit_test(missing_metric_lists_what_there_is),
        cmocka_unit_test(other_device_is_not_assessed),
        cmocka_unit_test(a_simulated_device_wins_and_loses_no_points),
        cmocka_unit_test(manual_is_left_to_a_person),
        cmocka_unit_test(file_must_be_there),
        cmocka_unit_test(stage_that_did_not_end_fails_its_expectations),
        cmocka_unit_test(expectation_is_shown_as_a_sentence),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
