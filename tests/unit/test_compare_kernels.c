/* Kernels of made-up profiles side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "pipeline/compare_kernels.h"
#include "pipeline/compare_text.h"
#include "tests/unit/compare_fixture.h"

#define HEAD \
    "layer,op,role,phase,kernel,count,total_us,mean_us,min_us,max_us,share," \
    "grid,block,registers,shared_bytes,blocks_per_sm,bytes\n"
#define COPY "\"Memcpy HtoD (Pageable -> Device)\""

/* Five steps with a batch of 32, and with one of 1,024 as a GPU might do it:
 * another kernel, more blocks, a split sum. */
static const char small[] = HEAD
    ",batch,,h2d," COPY ",10,60,6,5,8,0.1,,,0,0,0,50176\n"
    "0,linear,forward,forward,sgemm_32x32,5,50,10,9,11,.1,8x1x1,128x1x1,90,"
    "8192,4,0\n"
    "1,relu,forward,forward,k_relu,5,10,2,1,3,.1,8x1x1,256x1x1,16,0,8,0\n"
    "2,linear,forward,forward,sgemm_32x32,5,25,5,4,6,.1,1x1x1,128x1x1,90,8192,"
    "4,0\n"
    "2,linear_grad_input,grad_input,backward,sgemm_nn,5,20,4,3,5,.1,8x1x1,"
    "128x1x1,90,8192,4,0\n"
    "2,linear_grad_weight,grad_weight,backward,sgemm_nt,5,20,4,3,5,.1,8x1x1,"
    "128x1x1,90,8192,4,0\n"
    "0,linear_grad_weight,grad_weight,backward,sgemm_nt,5,50,10,9,11,.1,"
    "56x2x1,128x1x1,90,8192,4,0\n"
    ",adam,update,optimizer,k_adam,5,40,8,7,9,.1,200x1x1,256x1x1,32,0,8,0\n";
static const char large[] = HEAD
    ",batch,,h2d," COPY ",10,1500,150,140,160,0.1,,,0,0,0,1605632\n"
    "0,linear,forward,forward,\"void gemm<float, 128>(Params<float>, int)\",5,"
    "200,40,39,41,.1,32x2x1,256x1x1,120,16384,2,0\n"
    "1,relu,forward,forward,k_relu,5,15,3,2,4,.1,256x1x1,256x1x1,16,0,8,0\n"
    "2,linear,forward,forward,sgemm_32x32,5,30,6,5,7,.1,32x1x1,128x1x1,90,"
    "8192,4,0\n"
    "2,linear_grad_input,grad_input,backward,sgemm_nn,5,40,8,7,9,.1,256x1x1,"
    "128x1x1,90,8192,4,0\n"
    "2,linear_grad_weight,grad_weight,backward,sgemm_nt,5,100,20,19,21,.1,"
    "8x1x1,128x1x1,90,8192,4,0\n"
    "0,linear_grad_weight,grad_weight,backward,sgemm_nt_splitk,5,250,50,49,51,"
    ".1,56x2x8,128x1x1,90,8192,4,0\n"
    "0,linear_grad_weight,grad_weight,backward,splitKreduce,5,20,4,3,5,.1,"
    "784x1x1,256x1x1,24,0,8,0\n"
    ",adam,update,optimizer,k_adam,5,42,8.4,8,9,.1,200x1x1,256x1x1,32,0,8,0\n";

struct work {
    struct made made;
    struct pl_pairs p;
    struct str text;
};

static int set_up(void **state)
{
    struct work *w = test_calloc(1, sizeof *w);

    *state = w;
    make_cells(&w->made, 2);
    put_facts(&w->made, 0, 32, "NVIDIA T4", ",\n  \"gpu.busy\": 0.18");
    put_facts(&w->made, 1, 1024, "NVIDIA T4", ",\n  \"gpu.busy\": 0.81");
    put(&w->made, 0, "kernels.csv", small);
    put(&w->made, 1, "kernels.csv", large);
    return 0;
}

static int tear_down(void **state)
{
    struct work *w = *state;

    str_free(&w->text);
    remove_cells(&w->made);
    test_free(w);
    return 0;
}

static void must_read(struct work *w)
{
    struct err err = {0};

    if (pl_pairs_read(&w->p, &w->made.cells, &err) != 0)
        fail_msg("%s", err.msg);
}

static const struct pl_kernel_pair *pair(const struct work *w,
                                         const char *label)
{
    size_t i;

    for (i = 0; i < w->p.n; i++) {
        struct str s = {0};
        bool same;

        pl_pair_add_label(&s, &w->p.pair[i]);
        same = strcmp(s.text, label) == 0;
        str_free(&s);
        if (same)
            return &w->p.pair[i];
    }
    fail_msg("no pair %s", label);
    return NULL;
}

static void has(const struct work *w, const char *part)
{
    if (!strstr(w->text.text, part))
        fail_msg("'%s' is not in\n%s", part, w->text.text);
}

static void has_not(const struct work *w, const char *part)
{
    if (w->text.text && strstr(w->text.text, part))
        fail_msg("'%s' is in\n%s", part, w->text.text);
}

static void why(struct work *w)
{
    must_read(w);
    str_clear(&w->text);
    pl_kernels_why(&w->p, &w->text);
    assert_false(w->text.failed);
}

static void kernels_are_paired_and_split_sums_added(void **state)
{
    struct work *w = *state;
    const struct pl_kernel_pair *p;

    must_read(w);
    assert_true(w->p.kernels);
    assert_int_equal(w->p.n, 8);
    p = pair(w, "linear_grad_weight 0");
    assert_int_equal(p->side[0].n, 1);
    assert_int_equal(p->side[1].n, 2);
    assert_float_equal(p->side[1].us, 54, 1e-9);
    assert_float_equal(pl_pair_ratio(&w->p, p), 5.4, 1e-9);
    assert_int_equal(p->group, PL_PAIR_LINEAR);
    assert_int_equal(pair(w, "batch")->group, PL_PAIR_COPY);
    assert_float_equal(pair(w, "batch")->side[0].calls, 2, 1e-9);
    assert_float_equal(w->p.profile[0].us, 55, 1e-9);
    assert_float_equal(pl_pairs_work(&w->p), 32, 0);
    assert_string_equal(pl_pairs_first_layer(&w->p), "0");
}

static void sums_go_by_phase_group_and_key(void **state)
{
    struct work *w = *state;
    const enum pl_pair_group linear = PL_PAIR_LINEAR;

    must_read(w);
    assert_float_equal(pl_pairs_sum(&w->p, 0, pl_pair_in_phase, "backward"), 18,
                       1e-9);
    assert_float_equal(pl_pairs_sum(&w->p, 0, pl_pair_in_group, &linear), 33,
                       1e-9);
    assert_float_equal(
        pl_pairs_sum(&w->p, 1, pl_pair_has_key, "linear.grad_weight"), 74,
        1e-9);
    assert_float_equal(pl_pairs_sum(&w->p, 1, pl_pair_is_linear_backward, NULL),
                       82, 1e-9);
}

static void reasons_rest_on_the_figures(void **state)
{
    struct work *w = *state;

    why(w);
    has(w, "- The kernels of a step take 55 us with batch_size=32 and 439 us "
           "with batch_size=1024, 7.99 times as long for 32 times the "
           "samples. That is 1,719 ns a sample against 429 ns: a sample "
           "costs less with batch_size=1024.\n");
    has(w, "- Linear has 60 % of that time with batch_size=32 and 29 % with "
           "batch_size=1024: most of it with batch_size=32 alone.\n");
    has(w, "- Linear takes 3.07 times as long forward and 4.56 times "
           "backward: backward grows more.\n");
    has(w, "is that of `linear_grad_weight 0`, 5.40, the smallest that of "
           "`linear 2`, 1.20.\n");
    has(w, "- `linear 0`: another kernel. `sgemm_32x32` on 8 blocks with "
           "batch_size=32, `gemm<float, 128>` on 64 blocks with "
           "batch_size=1024. 8 times the blocks in 4 times the time: more of "
           "them ran side by side");
    has(w, "- `linear_grad_weight 2`: the same kernel, `sgemm_nt` on 8 blocks "
           "with batch_size=32 and 8 with batch_size=1024. As many blocks in 5 "
           "times the time: a block takes longer, since this operator sums "
           "over the samples.\n");
    has(w, "; 2 kernels in place of 1.");
    has(w, "- The optimizer takes 8 us with batch_size=32 and 8.40 us with "
           "batch_size=1024 (1.05 times): its work is set by the parameters");
    has(w, "100,352 bytes in 12 us, 8.36 GB/s; with batch_size=1024: 3,211,264 "
           "bytes in 300 us, 10.7 GB/s: what a copy costs at any size weighs "
           "less.\n");
    has(w, "works in 18 % of the last step with batch_size=32 and in 81 % of "
           "the last step with batch_size=1024: with batch_size=32 it waits "
           "for the host");
}

/* The other way round: nothing may be said that was said above. */
static void reasons_turn_with_the_figures(void **state)
{
    struct work *w = *state;

    put(&w->made, 1, "kernels.csv",
        HEAD
        ",batch,,h2d," COPY ",10,6000,600,1,1,0.1,,,0,0,0,1605632\n"
        "0,linear,forward,forward,sgemm_32x32,5,4000,1,1,1,.1,256x1x1,128x1x1,"
        "90,0,4,0\n"
        "1,relu,forward,forward,k_relu,5,15,3,2,4,.1,256x1x1,256x1x1,16,0,8,"
        "0\n"
        "2,linear,forward,forward,sgemm_32x32,5,800,1,1,1,.1,32x1x1,128x1x1,"
        "90,0,4,0\n"
        "2,linear_grad_input,grad_input,backward,sgemm_nn,5,640,1,1,1,.1,"
        "256x1x1,128x1x1,90,0,4,0\n"
        "2,linear_grad_weight,grad_weight,backward,sgemm_nt,5,20,1,1,1,.1,"
        "8x1x1,128x1x1,90,0,4,0\n"
        "0,linear_grad_weight,grad_weight,backward,sgemm_nt,5,50,1,1,1,.1,"
        "56x2x1,128x1x1,90,0,4,0\n"
        ",adam,update,optimizer,k_adam,5,120,1,1,1,.1,200x1x1,256x1x1,32,0,8,"
        "0\n");
    put_facts(&w->made, 1, 1024, "NVIDIA T4", ",\n  \"gpu.busy\": 0.4");
    why(w);
    has(w, "a sample costs more with batch_size=1024.\n");
    has(w, "forward grows more.\n");
    has(w, "8 blocks with batch_size=32 and 256 with batch_size=1024. 32 times "
           "the blocks in 80 times the time: a block takes longer.\n");
    has(w, "8 with batch_size=1024. As many blocks in 1 times the time: a "
           "block takes as long.\n");
    has(w, "(3 times), though its work is set by the parameters");
    has(w, "GB/s: more slowly.\n");
    has(w, "it waits for the host in most of both");
    has_not(w, "side by side");
    has_not(w, "costs less");
    has_not(w, "another kernel");
    has_not(w, "backward grows more");
}

static void equal_batches_have_no_samples_to_speak_of(void **state)
{
    struct work *w = *state;

    put_facts(&w->made, 1, 32, "NVIDIA T4", "");
    why(w);
    has(w, "439 us with batch_size=1024, 7.99 times as long.\n");
    has_not(w, "sample");
    has_not(w, "optimizer");
    has_not(w, "The device works");
}

static void what_is_missing_is_said(void **state)
{
    struct work *w = *state;

    put(&w->made, 1, "kernels.csv",
        HEAD "0,linear,forward,forward,sgemm_32x32,5,50,10,9,11,.1,8x1x1,"
             "128x1x1,90,0,4,0\n");
    must_read(w);
    pl_kernels_lacks(&w->p, &w->text);
    has(w, "Layer 0 has no grad_input: the input of the first layer needs no "
           "gradient.\n");
    has(w, "`linear_grad_input 2` is missing with batch_size=1024.\n");
    has_not(w, "Layer 2");
    has_not(w, "`linear 0` is missing");
    str_clear(&w->text);
    pl_kernels_md(&w->p, "q3, step", "../", &w->made.arena, &w->text);
    has(w, "# Kernels compared: q3, step\n");
    str_clear(&w->text);
    pl_kernels_csv(&w->p, &w->text);
    has(w, "2,linear,forward,forward,batch_size=1024,,,0,,\n");
}

static void tables_name_every_kernel(void **state)
{
    struct work *w = *state;

    must_read(w);
    pl_kernels_md(&w->p, "q3, step", "../", &w->made.arena, &w->text);
    assert_false(w->text.failed);
    has(w, "sgemm_nt_splitk + splitKreduce");
    has(w, "56x2x8 of 128x1x1 + 784x1x1 of 256x1x1");
    has(w, "- `gemm<float, 128>`: `void gemm<float, 128>(Params<float>, "
           "int)`\n");
    has(w, "![batch_size=32](<../step/b0/gpu_track.svg>)");
    has(w, "of 32x");
    has_not(w, "SIMULATED");
    has_not(w, "Operators, not kernels");
    str_clear(&w->text);
    pl_kernels_csv(&w->p, &w->text);
    has(w, "0,linear_grad_weight,grad_weight,backward,batch_size=1024,"
           "sgemm_nt_splitk + splitKreduce,"
           "56x2x8/128x1x1 + 784x1x1/256x1x1,2,54.000,5.4000\n");
}

static void one_without_kernels_makes_them_operators(void **state)
{
    static const char ops[] =
        "layer,op,role,phase,count,total_us,mean_us,min_us,max_us,share\n"
        ",batch,,h2d,5,50,10,9,11,.1\n"
        "0,linear,forward,forward,5,500,100,90,110,.5\n";
    struct work *w = *state;
    char path[120];

    put(&w->made, 0, "ops.csv", ops);
    put(&w->made, 1, "ops.csv", ops);
    put_facts(&w->made, 0, 32, "cpu (2 threads)", "");
    (void)snprintf(path, sizeof path, "%s/kernels.csv", w->made.sub[1]);
    assert_int_equal(unlink(path), 0);
    must_read(w);
    assert_false(w->p.kernels);
    pl_kernels_md(&w->p, "q3, step", "../", &w->made.arena, &w->text);
    has(w, "# Operators (CPU) compared: q3, step\n");
    has(w, "**Operators, not kernels**: this ran on cpu (2 threads), ");
    has(w, "## Linear (operators)");
    has(w, "cpu_track.svg");
    has_not(w, "grid of block");
    /* a device that recorded nothing is no CPU */
    put_facts(&w->made, 0, 32, "NVIDIA T4", "");
    str_clear(&w->text);
    must_read(w);
    pl_kernels_md(&w->p, "q3, step", "../", &w->made.arena, &w->text);
    has(w, "the device (NVIDIA T4) recorded none. These are the times in which "
           "the host gave it the work.");
}

static void what_is_no_profile_is_an_error(void **state)
{
    static const struct {
        const char *name, *text, *message;
    } bad[] = {
        {"kernels.csv", "layer,op\n", "kernels.csv has no column 'role'"},
        {"kernels.csv", HEAD "0,linear\n",
         "line 2 of kernels.csv has 2 fields, its head 17"},
        {"kernels.csv", HEAD "0,a,,forward,k,many,1,1,1,1,1,,,0,0,0,0\n",
         "'many' in line 2 of kernels.csv is no number"},
        {"kernels.csv", HEAD "0,a,,forward,k,1,-1,1,1,1,1,,,0,0,0,0\n",
         "line 2 of kernels.csv has a negative time"},
        {"step_times.csv", "device\n", "step_times.csv has no rows"},
        {"metrics.json", "{\"traced.steps\": 0}",
         "no step of 'batch_size=1024' was traced, so that its operators are "
         "not known; see its schedule"},
    };
    struct work *w = *state;
    size_t i;

    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};

        (void)tear_down(state);
        (void)set_up(state);
        w = *state;
        put(&w->made, 1, bad[i].name, bad[i].text);
        assert_int_not_equal(pl_pairs_read(&w->p, &w->made.cells, &err), 0);
        assert_string_equal(err.msg, bad[i].message);
    }
}

static void names_of_kernels_are_cut(void **state)
{
    static const char *const names[][2] = {
        {"void k(int)", "k"},
        {"ampere_sgemm_32x32_sliced1x4_tn", "ampere_sgemm_32x32_sliced1x4_tn"},
        {"Memcpy HtoD (Pageable -> Device)",
         "Memcpy HtoD (Pageable -> Device)"},
        {"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>("
         "cutlass_80_simt_sgemm_128x64_8x5_nn_align1::Params)",
         "cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1...>"},
        {"void splitKreduce_kernel<32, 16, int, float, float, float, float, "
         "true, false, false>(Params<float>)",
         "splitKreduce_kernel<...>"},
        {"(anonymous namespace)::k(float*)", "(anonymous namespace)::k"},
        {"", ""},
        {"a<b", "a<b"},
    };
    struct str s = {0};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        str_clear(&s);
        str_add(&s, "");
        pl_add_kernel_name(&s, names[i][0]);
        assert_string_equal(s.text, names[i][1]);
    }
    str_free(&s);
}

/* The n-th allocation fails, for every n. */
static void running_out_of_memory_is_an_error(void **state)
{
    struct work *w = *state;
    struct err err = {0};
    long n;
    int rc = -1;

    for (n = 1; rc != 0 && n < 1000; n++) {
        memset(&err, 0, sizeof err);
        arena_free(&w->made.arena);
        mem_fail_after(n);
        rc = pl_pairs_read(&w->p, &w->made.cells, &err);
        mem_fail_after(0);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 10);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(kernels_are_paired_and_split_sums_added),
        CASE(sums_go_by_phase_group_and_key),
        CASE(reasons_rest_on_the_figures),
        CASE(reasons_turn_with_the_figures),
        CASE(equal_batches_have_no_samples_to_speak_of),
        CASE(what_is_missing_is_said),
        CASE(tables_name_every_kernel),
        CASE(one_without_kernels_makes_them_operators),
        CASE(what_is_no_profile_is_an_error),
        CASE(names_of_kernels_are_cut),
        CASE(running_out_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
