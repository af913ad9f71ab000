/* A GPU's own records of training steps (TEST_DEVICE=cuda, a GPU or its
 * double): which operator each kernel, copy and fill does. A process has one
 * set of records, so each case runs in one of its own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/apart_fixture.h"
#include "tests/unit/trace_device_fixture.h"

static const struct nn_backend_config strict = {.numerics = NN_NUMERICS_STRICT};

static int count(const struct nn_device_trace *t, enum nn_event_kind kind)
{
    int n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += t->event[i].kind == kind;
    return n;
}

static void assert_whole(const struct nn_device_trace *t)
{
    assert_string_equal(t->refused, "");
    assert_int_equal(t->dropped, 0);
    assert_int_equal(t->invalid, 0);
    assert_true(count(t, NN_EVENT_KERNEL) > 0);
}

/* Kernels, copies and fills of a call in a step of its phase's name. */
static int events_under(const struct traced *f, const struct nn_call *call,
                        const struct prof_span *step)
{
    int n = 0;

    for (size_t i = 0; i < f->t->n; i++) {
        const struct nn_device_event *e = &f->t->event[i];
        const struct prof_span *s = traced_span(f, e->span);

        if (e->kind == NN_EVENT_CALL || !s || s->step != step->step)
            continue;
        n += s->arg == call;
    }
    return n;
}

static const struct prof_span *step_span(const struct traced *f, int64_t step)
{
    for (size_t i = 0; i < f->n_span; i++)
        if (f->span[i]->kind == PROF_STEP && f->span[i]->step == step)
            return f->span[i];
    fail_msg("step %lld has no span", (long long)step);
    return NULL;
}

/* ---- eager --------------------------------------------------------------- */

static void every_operator_of_an_eager_step_has_its_kernels(void **state)
{
    const struct nn_step *step;
    struct traced f;

    (void)state;
    traced_run(&f, &strict, NN_EXEC_EAGER, 2);
    assert_whole(f.t);
    step = nn_trainer_recorded(f.trainer, BATCH);
    assert_non_null(step);
    for (int i = 0; i < step->n_call; i++) {
        const struct nn_call *call = &step->call[i];
        int n = events_under(&f, call, step_span(&f, 2));

        if (n == 0 && call->op != NN_OP_CLEAR_GRAD) /* dropped, not written */
            fail_msg("nothing is known of %s %s %s", nn_op_name(call->op),
                     call->layer, nn_role_name(call->role));
        assert_int_equal(n, events_under(&f, call, step_span(&f, 1)));
    }
    traced_close(&f);
}

/* By the names of two kernels. */
static void kernels_lie_under_the_operator_that_launched_them(void **state)
{
    static const struct {
        const char *kernel;
        enum nn_op_id op;
    } some[] = {{"adam_f32", NN_OP_ADAM}, {"gather_", NN_OP_BATCH}};
    int seen[2] = {0};
    struct traced f;

    (void)state;
    traced_run(&f, &strict, NN_EXEC_EAGER, 1);
    assert_whole(f.t);
    for (size_t i = 0; i < f.t->n; i++) {
        const struct nn_device_event *e = &f.t->event[i];
        const struct prof_span *s = traced_span(&f, e->span);

        for (int k = 0; k < 2 && e->kind == NN_EVENT_KERNEL; k++) {
            if (strncmp(e->name, some[k].kernel, strlen(some[k].kernel)) != 0)
                continue;
            assert_non_null(s);
            assert_string_equal(s->name, nn_op_name(some[k].op));
            assert_int_equal(((const struct nn_call *)s->arg)->op, some[k].op);
            seen[k]++;
        }
    }
    assert_int_equal(seen[0], 2);
    assert_int_equal(seen[1], 4); /* x and y */
    traced_close(&f);
}

static bool is_launch(const struct nn_device_event *e)
{
    return e->kind == NN_EVENT_CALL && (strstr(e->name, "cudaLaunchKernel") ||
                                        strstr(e->name, "cuLaunchKernel"));
}

/* fast: the products are a library's, which may launch through the driver */
static void each_kernel_has_one_launch_before_it(void **state)
{
    const struct nn_backend_config fast = {.numerics = NN_NUMERICS_FAST};
    const struct nn_device_event *call = NULL;
    struct traced f;
    int launches = 0;

    (void)state;
    traced_run(&f, &fast, NN_EXEC_EAGER, 3);
    assert_whole(f.t);
    for (size_t i = 0; i < f.t->n; i++) {
        const struct nn_device_event *e = &f.t->event[i];

        assert_true(e->end >= e->begin);
        assert_true(i == 0 || e->begin >= f.t->event[i - 1].begin);
        launches += is_launch(e);
        if (e->kind == NN_EVENT_CALL) {
            assert_int_equal(e->tid, gettid());
            assert_null(strstr(e->name, "_v"));
            continue;
        }
        assert_int_equal(traced_calls_of(&f, e, &call), 1);
        if (f.t->device.simulated) /* a GPU's clock may differ by some ns */
            assert_true(call->begin <= e->begin);
        assert_int_equal(call->span, e->span);
        assert_int_not_equal(e->stream, 0);
        assert_int_equal(e->graph, 0);
        assert_null(e->call);
        if (e->kind == NN_EVENT_KERNEL)
            assert_true(is_launch(call));
    }
    assert_int_equal(launches, count(f.t, NN_EVENT_KERNEL));
    traced_close(&f);
}

static void without_a_profiler_nothing_is_under_a_span(void **state)
{
    struct traced f;
    float loss;

    (void)state;
    traced_open(&f, &strict);
    assert_int_equal(f.be->ops->trace_begin(f.be, NULL), 0);
    traced_train(&f, NN_EXEC_RECORDED);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            nn_trainer_step(f.trainer, NULL, 0, BATCH, 0.01, &loss, NULL), 0);
    traced_end(&f);
    assert_whole(f.t);
    for (size_t i = 0; i < f.t->n; i++)
        assert_int_equal(f.t->event[i].span, 0);
    traced_close(&f);
}

/* ---- copies -------------------------------------------------------------- */

/* Copies under BATCH of the last step: how many of that name, their bytes. */
static int batch_copies(const struct traced *f, const char *name,
                        uint64_t *bytes)
{
    int n = 0;

    *bytes = 0;
    for (size_t i = 0; i < f->t->n; i++) {
        const struct nn_device_event *e = &f->t->event[i];
        const struct prof_span *s = traced_span(f, e->span);

        if (e->kind != NN_EVENT_COPY || !s || s->step != 2 ||
            strcmp(s->name, "batch") != 0 || strcmp(e->name, name) != 0)
            continue;
        *bytes += e->bytes;
        n++;
    }
    return n;
}

enum { X_BYTES = BATCH * IN * 4, Y_BYTES = BATCH * 4 };

static void pageable_batches_are_copied_while_the_host_waits(void **state)
{
    const struct nn_backend_config how = {.numerics = NN_NUMERICS_STRICT,
                                          .data = NN_DATA_PAGEABLE};
    uint64_t bytes;
    struct traced f;

    (void)state;
    traced_run(&f, &how, NN_EXEC_EAGER, 2);
    assert_whole(f.t);
    assert_int_equal(
        batch_copies(&f, "Memcpy HtoD (Pageable -> Device)", &bytes), 2);
    assert_int_equal(bytes, X_BYTES + Y_BYTES);
    traced_close(&f);
}

static void pinned_batches_are_copied_on_a_stream_of_their_own(void **state)
{
    const struct nn_backend_config how = {.numerics = NN_NUMERICS_STRICT,
                                          .data = NN_DATA_PINNED};
    uint32_t streams[2] = {0};
    uint64_t bytes;
    struct traced f;

    (void)state;
    traced_run(&f, &how, NN_EXEC_RECORDED, 2);
    assert_whole(f.t);
    assert_true(batch_copies(&f, "Memcpy HtoD (Pinned -> Device)", &bytes) > 0);
    assert_int_equal(bytes % (X_BYTES + Y_BYTES), 0);
    assert_int_equal(batch_copies(&f, "Memcpy DtoD (Device -> Device)", &bytes),
                     2);
    assert_int_equal(bytes, X_BYTES + Y_BYTES);
    for (size_t i = 0; i < f.t->n; i++) {
        const struct nn_device_event *e = &f.t->event[i];

        if (strcmp(e->name, "Memcpy HtoD (Pinned -> Device)") == 0)
            streams[0] = e->stream;
        if (e->kind == NN_EVENT_KERNEL)
            streams[1] = e->stream;
    }
    assert_int_not_equal(streams[0], streams[1]);
    traced_close(&f);
}

static void resident_batches_cost_their_rows(void **state)
{
    uint64_t bytes;
    struct traced f;

    (void)state;
    traced_run(&f, &strict, NN_EXEC_RECORDED, 2);
    assert_whole(f.t);
    assert_int_equal(batch_copies(&f, "Memcpy HtoD (Pinned -> Device)", &bytes),
                     1);
    assert_in_range(bytes, BATCH * 8, BATCH * 8 + 256); /* and scalars */
    traced_close(&f);
}

/* ---- recorded ------------------------------------------------------------ */

static bool is_call_of(const struct nn_step *step, const struct nn_call *call)
{
    return call >= step->call && call < step->call + step->n_call;
}

/* The call of the step behind that one which gives the device work. */
static const struct nn_call *next_call(const struct nn_call *call)
{
    do
        call++;
    while (call->op == NN_OP_CLEAR_GRAD);
    return call;
}

/* Device work of the graph launch with that correlation: all calls of the
 * step, in their order, and then what keeps its results for the host. */
static void check_replay(const struct traced *f, const struct nn_step *step,
                         uint32_t correlation)
{
    const struct nn_call *at = step->call, *end = at + step->n_call - 1;

    for (size_t i = 0; i < f->t->n; i++) {
        const struct nn_device_event *e = &f->t->event[i];

        if (e->kind == NN_EVENT_CALL || e->correlation != correlation)
            continue;
        assert_int_not_equal(e->graph, 0);
        if (!e->call) {
            assert_true(at == end);
            continue;
        }
        assert_true(is_call_of(step, e->call));
        assert_true(e->call == at || e->call == next_call(at));
        at = e->call;
    }
    assert_true(at == end);
}

/* The launches of graphs under spans, each under one of its own. */
static int check_launches(const struct traced *f,
                          const struct nn_step *const *s)
{
    int n = 0;

    for (size_t i = 0; i < f->t->n; i++) {
        const struct nn_device_event *e = &f->t->event[i];
        const struct prof_span *span = traced_span(f, e->span);

        if (strcmp(e->name, "cudaGraphLaunch") != 0)
            continue;
        assert_non_null(span);
        assert_string_equal(span->name, "graph_launch");
        assert_null(span->arg);
        check_replay(f, s[n], e->correlation);
        n++;
    }
    return n;
}

static void each_kernel_of_a_replayed_step_has_its_operator(void **state)
{
    const struct nn_step *step;
    struct traced f;

    (void)state;
    traced_run(&f, &strict, NN_EXEC_RECORDED, 3);
    assert_whole(f.t);
    step = nn_trainer_recorded(f.trainer, BATCH);
    assert_non_null(step);
    assert_int_equal(
        check_launches(&f, (const struct nn_step *[]){step, step, step}), 3);
    traced_close(&f);
}

static void steps_of_two_sizes_are_told_apart(void **state)
{
    const struct nn_step *full, *last;
    struct traced f;

    (void)state;
    traced_open(&f, &strict);
    assert_int_equal(f.be->ops->trace_begin(f.be, NULL), 0);
    traced_train(&f, NN_EXEC_RECORDED);
    for (int i = 0; i < 3; i++) {
        traced_step(&f, BATCH);
        traced_step(&f, LAST);
    }
    traced_end(&f);
    assert_whole(f.t);
    full = nn_trainer_recorded(f.trainer, BATCH);
    last = nn_trainer_recorded(f.trainer, LAST);
    assert_true(full && last && full != last);
    assert_int_equal(
        check_launches(&f, (const struct nn_step *[]){full, last, full, last}),
        4);
    traced_close(&f);
}

static void phases_of_a_replayed_step_are_spans_too(void **state)
{
    int h2d = 0, replay = 0;
    struct traced f;

    (void)state;
    traced_run(&f, &strict, NN_EXEC_RECORDED, 2);
    for (size_t i = 0; i < f.n_span; i++) {
        const struct prof_span *s = f.span[i];

        if (s->kind != PROF_PHASE || s->step == 0)
            continue;
        h2d += strcmp(s->name, "h2d") == 0;
        replay += strcmp(s->name, "replay") == 0;
    }
    assert_int_equal(h2d, 2);
    assert_int_equal(replay, 2);
    traced_close(&f);
}

/* ---- facts --------------------------------------------------------------- */

static void the_device_and_its_kernels_are_described(void **state)
{
    struct traced f;

    (void)state;
    traced_run(&f, &strict, NN_EXEC_EAGER, 1);
    assert_true(f.t->device.name[0] != '\0');
    assert_true(f.t->device.major >= 7 && f.t->device.sms > 0);
    assert_int_equal(f.t->device.warp, 32);
    assert_true(f.t->device.cupti > 0 && f.t->device.runtime >= 12000);
    assert_true(f.t->device.registers_per_sm > 0);
    for (size_t i = 0; i < f.t->n; i++) {
        const struct nn_device_event *e = &f.t->event[i];

        if (e->kind != NN_EVENT_KERNEL)
            continue;
        assert_true(e->grid[0] > 0 && e->grid[1] > 0 && e->grid[2] > 0);
        assert_true(e->block[0] > 0 && e->registers > 0);
        assert_true(e->blocks_per_sm > 0);
        /* 2048 threads fit, and 65536 registers, of which each takes 32 */
        if (f.t->device.simulated && e->block[0] == 256 && e->shared == 0)
            assert_int_equal(e->blocks_per_sm, 8);
    }
    traced_close(&f);
}

static void fills_have_names_and_bytes(void **state)
{
    struct nn_device_trace *t;
    struct traced f;
    int n = 0;

    (void)state;
    traced_open(&f, &strict);
    assert_int_equal(f.be->ops->trace_begin(f.be, NULL), 0);
    traced_train(&f, NN_EXEC_EAGER);
    assert_int_equal(f.be->ops->trace_end(f.be, &t, NULL), 0);
    for (size_t i = 0; i < t->n; i++)
        if (t->event[i].kind == NN_EVENT_FILL) {
            assert_string_equal(t->event[i].name, "Memset (Device)");
            assert_true(t->event[i].bytes > 0);
            n++;
        }
    assert_true(n > 0); /* fresh memory is zeroed */
    nn_device_trace_free(t);
    traced_close(&f);
}

/* ---- begin and end ------------------------------------------------------- */

static void records_begin_once(void **state)
{
    struct nn_device_trace *t;
    struct err err = {0};
    struct traced f;

    (void)state;
    traced_open(&f, &strict);
    assert_int_equal(f.be->ops->trace_end(f.be, &t, &err), ERR_DEVICE);
    assert_string_equal(err.msg, "the GPU's own records have not begun");
    assert_int_equal(f.be->ops->trace_begin(f.be, NULL), 0);
    err_clear(&err);
    assert_int_equal(f.be->ops->trace_begin(f.be, &err), ERR_DEVICE);
    assert_string_equal(err.msg, "the GPU's own records have begun already");
    assert_int_equal(f.be->ops->trace_end(f.be, &t, NULL), 0);
    assert_string_equal(t->refused, "");
    nn_device_trace_free(t);
    /* in the same process a second set is refused, and that is no error */
    assert_int_equal(f.be->ops->trace_begin(f.be, NULL), 0);
    assert_int_equal(f.be->ops->trace_end(f.be, &t, NULL), 0);
    assert_non_null(strstr(t->refused, "once already"));
    assert_int_equal(t->n, 0);
    assert_true(t->device.sms > 0);
    nn_device_trace_free(t);
    traced_close(&f);
}

static void closing_ends_what_was_begun(void **state)
{
    struct traced f;

    (void)state;
    traced_open(&f, &strict);
    assert_int_equal(f.be->ops->trace_begin(f.be, NULL), 0);
    traced_train(&f, NN_EXEC_RECORDED);
    traced_step(&f, BATCH);
    traced_close(&f);
}

static const struct apart_case cases[] = {
    APART(every_operator_of_an_eager_step_has_its_kernels),
    APART(kernels_lie_under_the_operator_that_launched_them),
    APART(each_kernel_has_one_launch_before_it),
    APART(without_a_profiler_nothing_is_under_a_span),
    APART(pageable_batches_are_copied_while_the_host_waits),
    APART(pinned_batches_are_copied_on_a_stream_of_their_own),
    APART(resident_batches_cost_their_rows),
    APART(each_kernel_of_a_replayed_step_has_its_operator),
    APART(steps_of_two_sizes_are_told_apart),
    APART(phases_of_a_replayed_step_are_spans_too),
    APART(the_device_and_its_kernels_are_described),
    APART(fills_have_names_and_bytes),
    APART(records_begin_once),
    APART(closing_ends_what_was_begun),
};

int main(int argc, char **argv)
{
    return apart_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
