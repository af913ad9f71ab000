/* Figures and sentences over made-up step times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/compare_times.h"
#include "tests/unit/svg_fixture.h"

enum { MOST = 4 };

/* Times of batches 32, 128, 512, 2048, on a device that says nothing more. */
struct made_up {
    struct pl_timed t[MOST];
    struct pl_timed *at[MOST];
    struct pl_timed_series s;
    struct pl_compare_cell cell[MOST];
};

static void make(struct made_up *m, const double *ms, size_t n)
{
    static const double x[MOST] = {32, 128, 512, 2048};
    static const char *const text[MOST] = {"32", "128", "512", "2048"};
    size_t i;
    int k;

    memset(m, 0, sizeof *m);
    for (i = 0; i < n; i++) {
        struct pl_timed *t = &m->t[i];

        m->cell[i].label = text[i];
        *t = (struct pl_timed){.cell = &m->cell[i],
                               .x = x[i],
                               .x_text = text[i],
                               .median_ms = ms[i],
                               .p10_ms = 0.9 * ms[i],
                               .p90_ms = 1.2 * ms[i],
                               .samples_per_s = 1e3 * x[i] / ms[i]};
        t->flag = "";
        t->method = "clock";
        t->execution = "eager";
        t->data = "host";
        t->fusion = "none";
        t->numerics = "strict";
        t->device = "cpu (2 threads, avx2)";
        t->last_ms = 2 * ms[i];
        t->last_ratio = 2;
        t->steps = 5;
        t->busy = t->kernels = t->launches = t->blocks = NAN;
        t->optimizer = t->blocks_per_sm = t->host_us = t->h2d_bytes =
            t->h2d_us = NAN;
        t->sync_us = t->peak_gflops = NAN;
        for (k = 0; k < NN_PHASE_COUNT; k++)
            t->share[k] = NAN;
        t->work.flops = 818176 * x[i]; /* of 784-256-10 */
        m->at[i] = t;
    }
    m->s = (struct pl_timed_series){
        .name = "eager", .key = "", .at = m->at, .n = n};
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want)))
        fail_msg("%.15g, not %.15g", got, want);
}

static void says(const struct made_up *m, const char *want)
{
    struct str out = {0};

    pl_timed_reasons(&out, &m->s, "batch_size");
    if (!out.text || !strstr(out.text, want))
        fail_msg("not said: %s\nbut: %s", want, out.text ? out.text : "");
    str_free(&out);
}

static void does_not_say(const struct made_up *m, const char *unwanted)
{
    struct str out = {0};

    pl_timed_reasons(&out, &m->s, "batch_size");
    if (out.text && strstr(out.text, unwanted))
        fail_msg("said: %s\nin: %s", unwanted, out.text);
    str_free(&out);
}

/* ---- figures ---- */

static void ratios_are_of_the_last_over_the_first(void **state)
{
    static const double ms[] = {0.1, 0.1, 0.2, 0.8};
    struct made_up m;

    (void)state;
    make(&m, ms, 4);
    assert_near(pl_timed_step_ratio(&m.s), 8);
    assert_near(pl_timed_work_ratio(&m.s), 64);
    m.t[0].work.flops = 0; /* no products: x itself is the work */
    assert_near(pl_timed_work_ratio(&m.s), 64);
    make(&m, ms, 1);
    assert_true(isnan(pl_timed_step_ratio(&m.s)));
    assert_true(isnan(pl_timed_work_ratio(&m.s)));
}

/* 0.0262 GFLOP in 0.1 ms; 1 / 320,000 s a sample. */
static void rates_are_over_the_median(void **state)
{
    static const double ms[] = {0.1, 0.4};
    struct made_up m;

    (void)state;
    make(&m, ms, 2);
    assert_near(pl_timed_gflop_s(&m.t[0]), 261.81632);
    assert_near(pl_timed_us_each(&m.t[0]), 3.125);
    assert_true(isnan(pl_timed_h2d_gb_s(&m.t[0])));
    m.t[0].h2d_bytes = 100480;
    m.t[0].h2d_us = 8;
    assert_near(pl_timed_h2d_gb_s(&m.t[0]), 12.56);
    m.t[0].work.flops = 0;
    assert_true(isnan(pl_timed_gflop_s(&m.t[0])));
}

/* Flat from 32 to 512, then by 4 for 4: slopes 0, 0, 1 at the middles 64, 256,
 * 1024. Half way between the last two, on a log scale, is 512. */
static void knee_lies_where_the_slope_passes_a_half(void **state)
{
    static const double bent[] = {0.1, 0.1, 0.1, 0.4};
    static const double early[] = {0.1, 0.1, 0.4, 1.6};
    static const double flat[] = {0.1, 0.11, 0.12, 0.13};
    static const double steep[] = {0.1, 0.4, 1.6, 6.4};
    static const double back[] = {0.1, 0.4, 0.4, 1.6};
    struct made_up m;
    double x;

    (void)state;
    make(&m, bent, 4);
    assert_int_equal(pl_timed_knee(&m.s, &x), PL_KNEE_FOUND);
    assert_near(x, 512);
    make(&m, early, 4);
    assert_int_equal(pl_timed_knee(&m.s, &x), PL_KNEE_FOUND);
    assert_near(x, 128);
    make(&m, back, 4); /* steep, flat, steep: the last rise counts */
    assert_int_equal(pl_timed_knee(&m.s, &x), PL_KNEE_FOUND);
    assert_near(x, 512);
    make(&m, flat, 4);
    assert_int_equal(pl_timed_knee(&m.s, &x), PL_KNEE_ABOVE);
    make(&m, steep, 4);
    assert_int_equal(pl_timed_knee(&m.s, &x), PL_KNEE_BELOW);
    make(&m, steep, 2);
    assert_int_equal(pl_timed_knee(&m.s, &x), PL_KNEE_BELOW);
    make(&m, steep, 1);
    assert_int_equal(pl_timed_knee(&m.s, &x), PL_KNEE_UNKNOWN);
    assert_true(isnan(x));
}

/* ---- sentences ---- */

static void the_ratio_is_told_with_its_figures(void **state)
{
    static const double less[] = {0.1, 0.1, 0.2, 0.8};
    static const double behind[] = {0.1, 0.4, 1, 4};
    static const double equal[] = {0.1, 0.4, 1.6, 6.4};
    static const double more[] = {0.1, 0.6, 3.2, 12.8};
    struct made_up m;

    (void)state;
    make(&m, less, 4);
    says(&m, "From batch_size 32 to 2,048 the work of a step grows 64.0 "
             "times (0.0262 to 1.68 GFLOP), its time 8.00 times (0.100 to "
             "0.800 ms): 0.125 of the work's ratio, nowhere near it");
    make(&m, behind, 4);
    says(&m, "its time 40.0 times (0.100 to 4.00 ms): 0.625 of the work's "
             "ratio, behind it");
    make(&m, equal, 4);
    says(&m, "1.00 of the work's ratio, about in proportion");
    make(&m, more, 4);
    says(&m, "2.00 of the work's ratio, more than in proportion");
}

static void the_knee_is_told_or_that_there_is_none(void **state)
{
    static const double bent[] = {0.1, 0.1, 0.1, 0.4};
    static const double flat[] = {0.1, 0.11, 0.12, 0.13};
    static const double steep[] = {0.1, 0.4, 1.6, 6.4};
    struct made_up m;

    (void)state;
    make(&m, bent, 4);
    says(&m, "The knee is at batch_size 512");
    make(&m, flat, 4);
    says(&m, "no knee in this range");
    says(&m, "still below 1/2 at its end");
    make(&m, steep, 4);
    says(&m, "no knee in this range");
    says(&m, "above 1/2 from the first point on");
}

static void rates_decide_what_more_work_at_once_is_good_for(void **state)
{
    static const double less[] = {0.1, 0.1, 0.2, 0.8};
    static const double equal[] = {0.1, 0.4, 1.6, 6.4};
    static const double more[] = {0.1, 0.6, 3.2, 12.8};
    struct made_up m;

    (void)state;
    make(&m, less, 4);
    says(&m, "The products run at 262 and 2,095 GFLOP/s at 32 and 2,048: "
             "more work at once makes better use of the device");
    does_not_say(&m, "peak");
    m.t[0].peak_gflops = m.t[3].peak_gflops = 4000;
    says(&m, "6.55 % and 52.4 % of the device's float32 peak: in the end "
             "arithmetic sets the time (compute-bound)");
    m.t[0].peak_gflops = m.t[3].peak_gflops = 67000;
    says(&m, "0.391 % and 3.13 % of the device's float32 peak: more work");
    make(&m, equal, 4);
    says(&m, "about the same rate, so their time follows the work");
    make(&m, more, 4);
    says(&m, "more work at once runs at a lower rate");
}

static void the_optimizer_is_a_part_that_does_not_grow(void **state)
{
    static const double ms[] = {0.1, 0.1, 0.2, 0.8};
    struct made_up m;

    (void)state;
    make(&m, ms, 4);
    does_not_say(&m, "optimizer");
    m.t[0].share[NN_PHASE_OPTIMIZER] = 0.4;
    m.t[3].share[NN_PHASE_OPTIMIZER] = 0.02;
    says(&m, "it takes 40.0 % and 2.00 % of the traced steps at 32 and "
             "2,048, a part of the time that does not grow");
    m.t[3].share[NN_PHASE_OPTIMIZER] = 0.38;
    says(&m, "so it is not what keeps the time down");
    m.t[0].share[NN_PHASE_OPTIMIZER] = 0.05;
    m.t[3].share[NN_PHASE_OPTIMIZER] = 0.01;
    says(&m, "too little to matter");
    m.t[0].busy = m.t[3].busy = 0.5; /* phases are the host's now */
    does_not_say(&m, "optimizer");
    m.t[0].optimizer = 0.3;
    m.t[3].optimizer = 0.01;
    says(&m, "30.0 % and 1.00 % of the device's time at 32 and 2,048, a part "
             "of the time that does not grow");
}

static void a_device_that_waits_is_launch_bound(void **state)
{
    static const double ms[] = {0.05, 0.05, 0.1, 0.5};
    struct made_up m;

    (void)state;
    make(&m, ms, 4);
    does_not_say(&m, "device works");
    m.t[0].busy = 0.12;
    m.t[0].launches = 14;
    m.t[0].host_us = 80; /* of 100 */
    m.t[3].busy = 0.93;
    m.t[3].launches = 14;
    m.t[3].host_us = 90; /* of 1,000 */
    says(&m, "At batch_size 32 the device works 12.0 % of the last traced "
             "step; its 14 launches take the host 80.0 of 100 µs: launches "
             "set the time, not the work (launch-bound)");
    says(&m, "At batch_size 2,048 the device works 93.0 % of the last traced "
             "step; its 14 launches take the host 90.0 of 1,000 µs: its own "
             "work sets the time");
    m.t[0].host_us = 20;
    says(&m, "20.0 of 100 µs: it waits for most of the step");
    does_not_say(&m, "launch-bound");
    m.t[0].host_us = 80;
    m.t[3].busy = 0.2;
    m.t[3].host_us = 800;
    says(&m, "(launch-bound), still");
}

static void blocks_copies_and_waits_are_told(void **state)
{
    static const double ms[] = {0.05, 0.05, 0.1, 0.5};
    struct made_up m;

    (void)state;
    make(&m, ms, 4);
    m.t[0].blocks_per_sm = 0.2;
    m.t[3].blocks_per_sm = 4;
    says(&m, "A kernel has 0.200 and 4.00 blocks for each multiprocessor at "
             "32 and 2,048 (mean by time): only the larger one");
    m.t[3].blocks_per_sm = 0.9;
    says(&m, "a part of the device is idle even while it works");
    m.t[0].blocks_per_sm = m.t[3].blocks_per_sm = 3;
    says(&m, "each of them has something to do");
    does_not_say(&m, "Copies");
    m.t[0].h2d_bytes = 100480;
    m.t[0].h2d_us = 8;
    m.t[3].h2d_bytes = 6430720;
    m.t[3].h2d_us = 500;
    says(&m, "Copies from the host move 0.100 MB in 8.00 µs (12.6 GB/s, 8.00 "
             "% of the step) at 32, 6.43 MB in 500 µs (12.9 GB/s, 50.0 % of "
             "the step) at 2,048: they are a large part of the time there");
    m.t[3].h2d_us = 100;
    says(&m, "they are a small part of the time");
    m.t[0].sync_us = 10;
    m.t[3].sync_us = 400;
    says(&m, "The host waits for the device for 10.0 and 400 µs of a step");
}

/* A T4 moves 320 GB/s. */
static void memory_is_told_of_a_card_that_is_known(void **state)
{
    static const double ms[] = {0.05, 0.05, 0.1, 0.5};
    struct made_up m;

    (void)state;
    make(&m, ms, 4);
    m.t[3].work.bytes = 100e6; /* 200 GB/s */
    does_not_say(&m, "bandwidth");
    m.t[3].device = "cuda:0 (Tesla T4, sm_75)";
    says(&m, "at least 100 MB a step, 200 GB/s, 62.5 % of the memory's "
             "bandwidth: it is a large part of the time (memory-bound)");
    m.t[3].work.bytes = 10e6;
    says(&m, "20.0 GB/s, 6.25 % of the memory's bandwidth: it does not set");
}

static void flags_of_the_profiles_are_repeated(void **state)
{
    static const double ms[] = {0.05, 0.05, 0.1, 0.5};
    struct made_up m;

    (void)state;
    make(&m, ms, 4);
    does_not_say(&m, "with care");
    m.t[1].flag = "noise";
    m.t[3].flag = "drift+noise";
    says(&m, "meanwhile: 128 (noise), 2,048 (drift+noise).");
}

static void two_runs_are_held_against_each_other(void **state)
{
    static const double ms[] = {0.4, 0.5, 1, 4}, half[] = {0.1, 0.25, 1, 4};
    struct made_up a, b;
    struct str out = {0};

    (void)state;
    make(&a, ms, 4);
    make(&b, half, 3);
    b.s.name = "recorded";
    pl_timed_between(&out, &a.s, &b.s, "batch_size");
    assert_string_equal(
        out.text,
        "- At batch_size 32 recorded takes 0.250 of the time of eager "
        "(0.100 and 0.400 ms).\n"
        "- At batch_size 128 recorded takes 0.500 of the time of eager "
        "(0.250 and 0.500 ms).\n"
        "- At batch_size 512 recorded takes 1.00 of the time of eager (1.00 "
        "and 1.00 ms).\n");
    str_free(&out);
}

/* ---- files ---- */

static struct pl_timed_all all_of(struct made_up *m)
{
    return (struct pl_timed_all){.x = "batch_size",
                                 .at = m->t,
                                 .n = m->s.n,
                                 .series = &m->s,
                                 .n_series = 1};
}

static void what_a_cpu_cannot_have_is_left_out(void **state)
{
    static const double ms[] = {0.1, 0.1, 0.2, 0.8};
    struct pl_timed_all all;
    struct made_up m;
    struct str out = {0};

    (void)state;
    make(&m, ms, 4);
    all = all_of(&m);
    pl_timed_md(&out, &all);
    assert_null(strstr(out.text, "predicted"));
    str_clear(&out);
    all.n_predicted = 1;
    pl_timed_md(&out, &all);
    assert_non_null(strstr(out.text, "**predicted, not measured**"));
    assert_null(strstr(out.text, "GPU busy"));
    assert_null(strstr(out.text, "SIMULATED"));
    assert_null(strstr(out.text, "% of peak"));
    str_clear(&out);
    pl_timed_csv(&out, &all);
    assert_non_null(
        strstr(out.text, "\neager,2048,2048,0.8,0.72,0.96,1.6,2,2560000,8,64,"
                         "1.67562445e+09,2094.53056,,,,,,,,,,,,,,,,,clock,"
                         "eager,host,none,strict,\"cpu (2 threads, avx2)\"\n"));
    str_free(&out);
}

static void what_is_simulated_says_so_everywhere(void **state)
{
    static const double ms[] = {0.1, 0.1, 0.2, 0.8};
    struct pl_timed_all all;
    struct made_up m;
    struct str out = {0};
    struct err err = {0};

    (void)state;
    make(&m, ms, 4);
    all = all_of(&m);
    all.simulated = all.has_gpu = true;
    m.t[0].busy = 0.5;
    pl_timed_md(&out, &all);
    assert_non_null(strstr(out.text, "**SIMULATED"));
    assert_non_null(strstr(out.text, "GPU busy (%)"));
    str_clear(&out);
    assert_int_equal(pl_timed_svg(&out, &all, &err), 0);
    expect_well_formed(out.text);
    assert_non_null(strstr(out.text, ">SIMULATED<"));
    assert_non_null(strstr(out.text, "in proportion to the work"));
    assert_non_null(strstr(out.text, ">2,048<"));
    assert_non_null(strstr(out.text, "class=\"band f0\""));
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_of_the_last_over_the_first),
        cmocka_unit_test(rates_are_over_the_median),
        cmocka_unit_test(knee_lies_where_the_slope_passes_a_half),
        cmocka_unit_test(the_ratio_is_told_with_its_figures),
        cmocka_unit_test(the_knee_is_told_or_that_there_is_none),
        cmocka_unit_test(rates_decide_what_more_work_at_once_is_good_for),
        cmocka_unit_test(the_optimizer_is_a_part_that_does_not_grow),
        cmocka_unit_test(a_device_that_waits_is_launch_bound),
        cmocka_unit_test(blocks_copies_and_waits_are_told),
        cmocka_unit_test(memory_is_told_of_a_card_that_is_known),
        cmocka_unit_test(flags_of_the_profiles_are_repeated),
        cmocka_unit_test(two_runs_are_held_against_each_other),
        cmocka_unit_test(what_a_cpu_cannot_have_is_left_out),
        cmocka_unit_test(what_is_simulated_says_so_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
