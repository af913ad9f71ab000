/* memory_events.csv.gz: written, read back, and all that may be wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "pipeline/memory_file.h"
#include "tests/unit/memory_fixture.h"

static struct nn_step_memory *record(void)
{
    struct nn_trainer_opts o = {
        .optim = {.type = NN_OPTIM_ADAM, .beta1 = .9, .beta2 = .999, .eps = 1},
        .microbatches = 1};
    struct memory_fixture f;
    struct nn_step_memory *m;

    o.loss.type = NN_LOSS_CROSS_ENTROPY;
    o.loss.pos_weight = 1.0;
    memory_open(&f, "a \"b\", \n c", &o, 1, 12);
    m = memory_of(&f, 12, 0, 3, NULL);
    memory_close(&f);
    return m;
}

static void same_record(const struct nn_step_memory *a,
                        const struct nn_step_memory *b)
{
    size_t i;
    int k;

    assert_int_equal(a->n_tensor, b->n_tensor);
    assert_int_equal(a->n_event, b->n_event);
    assert_int_equal(a->n_span, b->n_span);
    for (i = 0; i < a->n_tensor; i++) {
        const struct nn_memory_tensor *t = &a->tensor[i], *u = &b->tensor[i];

        assert_string_equal(t->name, u->name);
        assert_int_equal(t->shape.ndim, u->shape.ndim);
        for (k = 0; k < t->shape.ndim; k++)
            assert_int_equal(t->shape.dim[k], u->shape.dim[k]);
        assert_int_equal(t->dtype, u->dtype);
        assert_int_equal(t->kind, u->kind);
        assert_int_equal(t->bytes, u->bytes);
    }
    for (i = 0; i < a->n_event; i++) {
        const struct nn_memory_event *e = &a->event[i], *o = &b->event[i];

        assert_int_equal(e->at, o->at);
        assert_int_equal(e->tensor, o->tensor);
        assert_int_equal(e->action, o->action);
        assert_true(e->step == o->step && e->call == o->call);
        assert_int_equal(e->phase, o->phase);
    }
    for (i = 0; i < a->n_span; i++) {
        const struct nn_memory_span *s = &a->span[i], *o = &b->span[i];

        assert_true(s->step == o->step && s->phase == o->phase);
        assert_true(s->call == o->call && s->n_call == o->n_call);
        assert_true(s->begin == o->begin && s->end == o->end);
    }
    assert_int_equal(a->first_step, b->first_step);
    assert_int_equal(a->n_step, b->n_step);
    assert_int_equal(a->n_call, b->n_call);
    assert_int_equal(a->begin, b->begin);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->timed, b->timed);
    assert_int_equal(a->padding, b->padding);
    assert_int_equal(a->held, b->held);
}

/* Packed in a file of its own. */
static void pack(char path[64], const struct str *csv)
{
    struct str packed = {0};

    (void)snprintf(path, 64, "/tmp/test_memory_file-XXXXXX");
    assert_true(close(mkstemp(path)) == 0);
    pl_gzip(&packed, csv->text, csv->len);
    assert_false(packed.failed);
    assert_int_equal(io_write_file(path, packed.text, packed.len, NULL), 0);
    str_free(&packed);
}

static void what_is_written_comes_back_to_the_bit(void **unused)
{
    struct nn_step_memory *m = record();
    struct pl_memory_run run = {"adam, \"x\"\nh=256", m, 4096, 100};
    struct pl_memory_file f;
    struct str csv = {0}, again = {0};
    struct err err = {0};
    char path[64];

    (void)unused;
    pl_memory_csv(&run, "cpu (2 threads)", &csv);
    assert_false(csv.failed);
    pack(path, &csv);
    assert_int_equal(pl_memory_file_read(&f, path, &err), 0);
    assert_int_equal(unlink(path), 0);
    same_record(m, f.memory);
    assert_string_equal(f.label.text, run.label);
    assert_string_equal(f.device.text, "cpu (2 threads)");
    assert_int_equal(f.workspace, 4096);
    assert_int_equal(f.resident, 100);
    run = (struct pl_memory_run){f.label.text, f.memory, 4096, 100};
    pl_memory_csv(&run, f.device.text, &again);
    assert_string_equal(csv.text, again.text);
    pl_memory_file_free(&f);
    str_free(&csv);
    str_free(&again);
    nn_step_memory_free(m);
    assert_int_equal(mem_live(), 0);
}

/* ---- files that are wrong ---- */

#define HEAD "memory,1\nrun,adam,cpu\nsteps,0,2,3,100,900,1\nbytes,0,4096,0,0\n"
#define TENSORS \
    "tensor,w,2x3,float32,parameters,24\ntensor,g,2x3,float32,gradients,24\n"
#define EVENTS \
    "event,100,0,preexisting,-1,-1,\nevent,200,1,create,0,1,backward\n"
#define SPAN "span,0,backward,1,2,150,300\n"
#define COUNTS "counts,2,2,1\n"
static const char good[] = HEAD COUNTS TENSORS EVENTS SPAN;

static int read_text(const char *text, size_t len, struct err *err)
{
    struct pl_memory_file f;
    int rc = pl_memory_csv_read(&f, text, len, "m.csv", err);

    if (rc == 0)
        pl_memory_file_free(&f);
    assert_null(f.memory);
    return rc;
}

static void every_shorter_file_is_an_error(void **unused)
{
    size_t len = strlen(good), i;

    (void)unused;
    assert_int_equal(read_text(good, len, NULL), 0);
    for (i = 0; i < len; i++) {
        char *text = mem_strndup(good, i);
        struct pl_memory_file f;

        assert_int_equal(pl_memory_csv_read(&f, text, i, "m.csv", NULL),
                         ERR_CORRUPT);
        mem_free(text);
    }
    assert_int_equal(mem_live(), 0);
}

static void wrong_rows_are_named_with_their_line(void **unused)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "line 1 of m.csv is not what a profile writes: a row 'memory' is "
             "due, not ''"},
        {"memory,2\n", "line 1 of m.csv is not what a profile writes: format 1 "
                       "is due, not '2'"},
        {"memory,1,\n", "the row is over"},
        {"memory,1\nrun,a\n", "line 2 of m.csv is not what a profile writes: a "
                              "device is due, not 'the end of the row'"},
        {HEAD "counts,1,0\n", "line 5"},
        {HEAD "counts,1,-1,0\n", "a count of events is due, not '-1'"},
        {HEAD "counts,99999999999,0,0\n", "a count of tensors is due"},
        {HEAD "counts,60000000,0,0\n" TENSORS, "a row 'tensor' is due, not ''"},
        {HEAD "counts,1,0,0\n" TENSORS, "due, not 'another row'"},
        {HEAD COUNTS "tensor,w,2y3,float32,parameters,24\n", "not '2y3'"},
        {HEAD COUNTS "tensor,w,2x,float32,parameters,24\n", "not '2x'"},
        {HEAD COUNTS "tensor,w,-2,float32,parameters,24\n", "not '-2'"},
        {HEAD COUNTS "tensor,w,9000000000x9000000000,float32,parameters,4\n",
         "a shape as"},
        {HEAD COUNTS "tensor,w,1x1x1x1x1x1x1,float32,parameters,4\n",
         "a shape as"},
        {HEAD COUNTS "tensor,w,2,float31,parameters,24\n", "not 'float31'"},
        {HEAD COUNTS "tensor,w,2,float32,weights,24\n", "not 'weights'"},
        {HEAD COUNTS "tensor,w,2,float32,parameters,1e3x\n", "not '1e3x'"},
        {HEAD COUNTS "tensor,w,2,float32,parameters,9007199254740993\n",
         "below 2^53 in all"},
        {HEAD COUNTS TENSORS "event,100,2,create,0,1,forward\n",
         "line 8 of m.csv is not what a profile writes: the number of a tensor "
         "is due, not '2'"},
        {HEAD COUNTS TENSORS "event,99,0,preexisting,-1,-1,\n",
         "a time within the run"},
        {HEAD COUNTS TENSORS "event,901,0,preexisting,-1,-1,\n",
         "a time within the run"},
        {HEAD COUNTS TENSORS "event,100,0,preexisting,0,1,forward\n",
         "can happen to the tensor is due, not 'preexisting'"},
        {HEAD COUNTS TENSORS "event,100,0,destroy,0,1,forward\n",
         "not 'destroy'"},
        {HEAD COUNTS TENSORS "event,100,0,create,2,1,forward\n",
         "one of the steps is due, not '2'"},
        {HEAD COUNTS TENSORS "event,100,0,create,0,3,forward\n",
         "one of the calls is due, not '3'"},
        {HEAD COUNTS TENSORS "event,100,0,create,0,1,sideways\n",
         "not 'sideways'"},
        {HEAD COUNTS TENSORS
         "event,200,0,preexisting,-1,-1,\nevent,199,1,create,0,1,backward\n",
         "line 9"},
        {HEAD COUNTS TENSORS EVENTS "span,0,backward,1,3,150,300\n",
         "calls of the step are due, not '3'"},
        {HEAD COUNTS TENSORS EVENTS "span,0,backward,1,2,150,149\n",
         "an end after the begin is due, not '149'"},
        {HEAD COUNTS TENSORS EVENTS SPAN SPAN, "the end of the file is due"},
        {"memory,1\nrun,a,b\nsteps,0,0,3,1,2,1\n", "1 step or more is due"},
        {"memory,1\nrun,a,b\nsteps,0,70000,70000,1,2,1\n", "calls a step"},
        {"memory,1\nrun,a,b\nsteps,0,1,1,5,4,1\n", "an end in ns"},
    };
    size_t i;

    (void)unused;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};

        assert_int_equal(read_text(bad[i].text, strlen(bad[i].text), &err),
                         ERR_CORRUPT);
        if (!strstr(err.msg, bad[i].says))
            fail_msg("%zu: '%s' is not in '%s'", i, bad[i].says, err.msg);
        assert_int_equal(mem_live(), 0);
    }
}

static void byte_0_and_a_long_name_are_errors(void **unused)
{
    struct str text = {0};
    struct err err = {0};
    int i;

    (void)unused;
    assert_int_equal(read_text(good, sizeof good, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "byte 0"));
    str_add(&text, HEAD COUNTS "tensor,");
    for (i = 0; i < 128; i++)
        str_addc(&text, 'n');
    str_add(&text, ",2,float32,parameters,8\n");
    err_clear(&err);
    assert_int_equal(read_text(text.text, text.len, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "127 bytes"));
    str_free(&text);
    assert_int_equal(mem_live(), 0);
}

static void file_that_is_not_packed_or_not_there_is_an_error(void **unused)
{
    struct pl_memory_file f;
    struct err err = {0};

    (void)unused;
    assert_int_not_equal(pl_memory_file_read(&f, "README.md", &err), 0);
    err_clear(&err);
    assert_int_not_equal(pl_memory_file_read(&f, "tests/nowhere", &err), 0);
    assert_int_equal(mem_live(), 0);
}

static void no_memory_is_an_error_wherever_it_ends(void **unused)
{
    struct pl_memory_file f;
    long n;
    int rc = ERR_NOMEM;

    (void)unused;
    for (n = 1; rc != 0; n++) {
        mem_fail_after(n);
        rc = pl_memory_csv_read(&f, good, strlen(good), "m.csv", NULL);
        mem_fail_after(0);
        if (rc == 0)
            pl_memory_file_free(&f);
        else
            assert_int_equal(rc, ERR_NOMEM);
        assert_int_equal(mem_live(), 0);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back_to_the_bit),
        cmocka_unit_test(every_shorter_file_is_an_error),
        cmocka_unit_test(wrong_rows_are_named_with_their_line),
        cmocka_unit_test(byte_0_and_a_long_name_are_errors),
        cmocka_unit_test(file_that_is_not_packed_or_not_there_is_an_error),
        cmocka_unit_test(no_memory_is_an_error_wherever_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
