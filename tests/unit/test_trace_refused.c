/* What keeps a GPU from recording itself, injected into its double
 * (TEST_DEVICE=cuda with LD_LIBRARY_PATH): training goes on, and the trace says
 * in a sentence why it is not whole. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "tests/unit/apart_fixture.h"
#include "tests/unit/trace_device_fixture.h"

static const struct nn_backend_config strict = {.numerics = NN_NUMERICS_STRICT};

/* Nothing can be injected into a real GPU. */
static void need_double(void)
{
    struct nn_backend *be;
    bool simulated;

    assert_int_equal(device_open(&be, 1, NULL), 0);
    simulated = strstr(be->description, "SIMULATED") != NULL;
    nn_backend_close(be);
    if (!simulated)
        apart_skip("this needs the double of a GPU");
}

/* Begins and ends: the sentence. */
static struct nn_device_trace *refused_trace(void)
{
    struct nn_device_trace *t;
    struct traced f;

    traced_open(&f, &strict);
    assert_int_equal(f.be->ops->trace_begin(f.be, NULL), 0);
    assert_int_equal(f.be->ops->trace_end(f.be, &t, NULL), 0);
    nn_backend_close(f.be);
    return t;
}

static void each_refusal_is_a_sentence_of_its_own(void **state)
{
    static const struct {
        int code;
        const char *words;
    } all[] = {
        {35, "NVreg_RestrictProfilingToAdminUsers"},
        {35, "--cap-add=SYS_ADMIN"},
        {39, "nsys, ncu, cuda-gdb or compute-sanitizer"},
        {33, "vGPU"},
        {40, "vGPU"},
        {41, "confidential-computing"},
        {42, "CMP"},
        {43, "MIG"},
        {45, "WSL"},
        {15, "older than the CUDA toolkit"},
        {999, "cuptiSubscribe: "},
        {999, "(999)"},
    };
    char what[64];

    (void)state;
    need_double();
    for (int i = 0; i < (int)(sizeof all / sizeof *all); i++) {
        struct nn_device_trace *t;

        (void)snprintf(what, sizeof what, "cuptiSubscribe@%d=%d", i + 1,
                       all[i].code);
        (void)setenv("FAKE_CUDA_FAIL", what, 1);
        t = refused_trace();
        if (!strstr(t->refused, all[i].words))
            fail_msg("%s: %s", what, t->refused);
        assert_int_equal(t->n, 0);
        assert_null(strchr(t->refused, '\n'));
        nn_device_trace_free(t);
    }
}

static void break_cupti(void)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    char dir[] = "/tmp/pipeline-no-cupti-XXXXXX", to[400], at[400];
    static const char *const libs[] = {"libpipeline_cuda.so", "libcuda.so.1"};

    if (!path || !mkdtemp(dir))
        return;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(to, sizeof to, "%s/%s", path, libs[i]);
        (void)snprintf(at, sizeof at, "%s/%s", dir, libs[i]);
        (void)symlink(to, at);
    }
    for (int major = 12; major <= 14; major++) {
        FILE *out;

        (void)snprintf(at, sizeof at, "%s/libcupti.so.%d", dir, major);
        out = fopen(at, "w");
        if (out)
            (void)fclose(out);
    }
    (void)setenv("LD_LIBRARY_PATH", dir, 1);
}

static void remove_broken(void)
{
    const char *dir = getenv("LD_LIBRARY_PATH");
    char at[400];
    static const char *const all[] = {"libpipeline_cuda.so", "libcuda.so.1",
                                      "libcupti.so.12", "libcupti.so.13",
                                      "libcupti.so.14"};

    for (int i = 0; i < 5; i++) {
        (void)snprintf(at, sizeof at, "%s/%s", dir, all[i]);
        (void)unlink(at);
    }
    (void)rmdir(dir);
}

static void a_missing_library_is_named_with_its_package(void **state)
{
    struct traced f;

    (void)state;
    need_double();
    traced_run(&f, &strict, NN_EXEC_RECORDED, 2);
    assert_non_null(strstr(f.t->refused, "need libcupti.so."));
    assert_non_null(strstr(f.t->refused, "package cuda-cupti-"));
    assert_int_equal(f.t->n, 0);
    traced_close(&f);
    remove_broken();
}

/* ---- records ------------------------------------------------------------- */

static void dropped_records_are_counted(void **state)
{
    struct traced f;

    (void)state;
    need_double();
    (void)setenv("FAKE_CUPTI_DROP", "3", 1);
    traced_run(&f, &strict, NN_EXEC_EAGER, 1);
    assert_int_equal(f.t->dropped, 3);
    assert_int_equal(f.t->invalid, 0);
    assert_true(f.t->n > 0);
    traced_close(&f);
}

static void records_without_times_are_counted_and_not_shown(void **state)
{
    struct traced f;

    (void)state;
    need_double();
    (void)setenv("FAKE_CUPTI_TIMELESS", "5", 1);
    traced_run(&f, &strict, NN_EXEC_EAGER, 1);
    assert_int_equal(f.t->invalid, 5);
    assert_int_equal(f.t->dropped, 0);
    for (size_t i = 0; i < f.t->n; i++)
        assert_true(f.t->event[i].begin > 0);
    traced_close(&f);
}

/* More than the buffers that were made at the beginning hold. */
static void a_long_run_grows_buffers_and_loses_nothing(void **state)
{
    enum { STEPS = 3000 };
    struct traced f;
    int launches = 0;

    (void)state;
    need_double();
    traced_run(&f, &strict, NN_EXEC_RECORDED, STEPS);
    assert_string_equal(f.t->refused, "");
    assert_int_equal(f.t->dropped, 0);
    for (size_t i = 0; i < f.t->n; i++)
        launches += strcmp(f.t->event[i].name, "cudaGraphLaunch") == 0;
    assert_int_equal(launches, STEPS);
    assert_true(f.t->overhead > 0);
    traced_close(&f);
}

/* ---- failures ------------------------------------------------------------ */

/* Steps are the same whatever CUPTI does. A buffer that it does not hand back
 * is lost with it. */
static int trains_on(void *function)
{
    struct nn_device_trace *t = NULL;
    char what[80];
    struct traced f;
    float loss = 0.0f;
    bool ok;

    (void)snprintf(what, sizeof what, "%s@1=999", (const char *)function);
    (void)setenv("FAKE_CUDA_FAIL", what, 1);
    traced_open(&f, &strict);
    ok = f.be->ops->trace_begin(f.be, NULL) == 0;
    if (ok) {
        traced_train(&f, NN_EXEC_RECORDED);
        for (int i = 0; i < 3; i++)
            traced_step(&f, BATCH);
        ok = nn_trainer_step(f.trainer, NULL, 0, BATCH, 0.01, &loss, NULL) ==
                 0 &&
             f.be->ops->trace_end(f.be, &t, NULL) == 0;
    }
    if (!ok)
        return 1;
    ok = strstr(t->refused, (const char *)function) || t->n > 0;
    f.t = t;
    traced_free(&f);
    if (strcmp(function, "cuptiActivityFlushAll") == 0)
        return ok && mem_live() == 1 ? 0 : 3;
    return ok && mem_live() == 0 ? 0 : 2;
}

static void each_call_of_cupti_may_fail(void **state)
{
    static const char *const functions[] = {
        "cuptiGetVersion",
        "cuptiGetCallbackName",
        "cuptiSetThreadIdType",
        "cuptiSubscribe",
        "cuptiUnsubscribe",
        "cuptiEnableCallback",
        "cuptiGetGraphNodeId",
        "cuptiActivityRegisterCallbacks",
        "cuptiActivityEnable",
        "cuptiActivityEnableDriverApi",
        "cuptiActivityDisable",
        "cuptiActivityFlushAll",
        "cuptiActivityGetNextRecord",
        "cuptiActivityGetNumDroppedRecords",
        "cuptiActivityPushExternalCorrelationId",
        "cuptiActivityPopExternalCorrelationId",
    };

    (void)state;
    need_double();
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (status_of(trains_on, (void *)(uintptr_t)functions[i]) != 0)
            fail_msg("%s failed, and not only the trace is without it",
                     functions[i]);
}

/* n: the allocation of trace_begin and trace_end that fails. */
static int runs_out(void *n)
{
    struct nn_device_trace *t;
    struct traced f;
    int rc;

    traced_open(&f, &strict);
    mem_fail_after(*(const int *)n);
    rc = f.be->ops->trace_begin(f.be, NULL);
    mem_fail_after(0);
    if (rc == 0) {
        traced_train(&f, NN_EXEC_RECORDED);
        traced_step(&f, BATCH);
        traced_step(&f, BATCH);
        mem_fail_after(*(const int *)n);
        rc = f.be->ops->trace_end(f.be, &t, NULL);
        mem_fail_after(0);
        if (rc == 0)
            f.t = t;
    }
    traced_close(&f);
    return rc == 0 ? 0 : rc == ERR_NOMEM ? 1 : 2;
}

static void memory_may_run_out_at_any_time(void **state)
{
    int n, status = 1;

    (void)state;
    need_double();
    for (n = 1; status == 1 && n < 100; n++)
        status = status_of(runs_out, &n);
    assert_int_equal(status, 0);
    assert_true(n > 6);
}

static const struct apart_case cases[] = {
    APART(each_refusal_is_a_sentence_of_its_own),
    APART_IN(a_missing_library_is_named_with_its_package, break_cupti),
    APART(dropped_records_are_counted),
    APART(records_without_times_are_counted_and_not_shown),
    APART(a_long_run_grows_buffers_and_loses_nothing),
    APART(each_call_of_cupti_may_fail),
    APART(memory_may_run_out_at_any_time),
};

int main(int argc, char **argv)
{
    return apart_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
